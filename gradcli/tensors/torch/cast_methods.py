"""Methods that keep a tensor's entries, in another dtype or in other memory."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import NoneType
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes, views
from gradcli.tensors.core.casts import cast, clone_of
from gradcli.tensors.core.in_place import check_writable, update
from gradcli.tensors.core.levels import Batched, by_example, in_front, rewrapped
from gradcli.tensors.core.modes import Mode, check_device, state
from gradcli.tensors.core.modes import device as torch_device
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import regraph
from gradcli.tensors.dispatch.apply import region
from gradcli.tensors.dispatch.library_calls import caller
from gradcli.tensors.torch.introspection import check_shapes


def _to(
    x: Tensor, *arguments: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The same entries in another dtype; its gradient is cast back."""
    for place, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, dtypes.dtype) or argument in (float, int, bool) or dtypes.of_pytorch(argument) is not None:
            dtype = argument
        elif isinstance(argument, (bool, np.bool_)):
            continue
        elif place or not isinstance(argument, (str, int, torch_device, NoneType)):
            raise TypeError(f"to(): its argument {place + 1} is no dtype, no device and no tensor, but {type(argument).__name__}")
        else:
            device = argument
    check_device(device)
    if dtype is None or dtypes.as_numpy(dtype) == x.array.dtype:
        return clone_of(x) if copy else x
    return cast(x, dtypes.as_numpy(dtype))


def _type(x: Tensor, dtype: Any = None) -> Any:
    if dtype is None:
        return f"torch.{x.dtype.tensor_type}"
    if isinstance(dtype, str):
        raise ValueError(f"invalid type: {dtype!r}: gradcli has dtypes, such as torch.float64")
    if not (isinstance(dtype, (type, dtypes.dtype)) or dtypes.of_pytorch(dtype) is not None):
        raise TypeError("dtype must be a type or a dtype")
    return _to(x, dtype)


def _astype(x: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """NumPy's name for a copy in another dtype."""
    kind = np.dtype(dtype) if isinstance(dtype, str) else dtypes.as_numpy(dtype)
    return _to(x, dtypes.of_numpy(kind), copy=copy)


def _type_as(x: Tensor, other: Tensor) -> Tensor:
    return _to(x, other.dtype)


def _in(kind: dtypes.dtype) -> Callable[[Tensor], Tensor]:
    """The method that converts to this dtype."""
    return lambda x: _to(x, kind)


def _on_the_processor(x: Tensor, *, memory_format: Any = None) -> Tensor:
    return x


def _pinned(x: Tensor, device: Any = None) -> Tensor:
    return x


def _itself(x: Tensor) -> Tensor:
    return x


def _positive(x: Tensor) -> Tensor:
    if x.array.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


CASTS: dict[str, Callable[..., Any]] = {
    "to": _to, "astype": _astype, "type": _type, "type_as": _type_as,
    "float": _in(dtypes.float32), "double": _in(dtypes.float64), "half": _in(dtypes.float16), "bfloat16": _in(dtypes.bfloat16),
    "long": _in(dtypes.int64),
    "int": _in(dtypes.int32), "short": _in(dtypes.int16), "bool": _in(dtypes.bool_), "char": _in(dtypes.int8), "byte": _in(dtypes.uint8),
    "clone": clone_of, "cpu": _on_the_processor, "pin_memory": _pinned,
    "positive": _positive, "resolve_conj": _itself, "resolve_neg": _itself,
}  # fmt: skip


# -- Methods about a tensor's memory: where its entries are in it, and other arrangements of it ----


# -- where it is --------------------------------------------------------------------------------------------------


def _stride(x: Tensor, dim: int | None = None) -> Any:
    found = views.strides(x.array)
    return found if dim is None else found[dim]


def _storage_offset(x: Tensor) -> int:
    return views.start(x.array)


def _is_contiguous(x: Tensor, *, memory_format: Any = None) -> bool:
    return views.stands_in_order(x.array)


# -- other arrangements -------------------------------------------------------------------------------------------


def _contiguous(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself if its entries are in memory in their order, or a copy of which that holds."""
    if views.stands_in_order(x.array):
        return x
    if isinstance(x, Batched):
        found: Tensor = rewrapped(_contiguous(x.physical), x.levels)
        return found
    copied = clone_of(x)
    copied.array = np.ascontiguousarray(copied.array)
    return copied


def _view(x: Tensor, *shape: Any) -> Tensor:
    """The entries in another shape, without a copy."""
    result: Tensor = caller("view")(x, *shape)
    if x.array.size and not isinstance(x, Batched) and not np.may_share_memory(result.array, x.array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(index(n) for n in (given if isinstance(given, (tuple, list)) else (given,)))


def _as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of a tensor's storage with these sizes, strides and offset."""
    memory = x.physical.array if isinstance(x, Batched) else x.array
    offset = views.start(memory) if storage_offset is None else int(storage_offset)
    return region(x, _sizes(size), _sizes(stride), offset)


def rearranged(x: Tensor, arrange: Callable[[Tensor], Tensor]) -> Tensor:
    """Make x the view of itself that a function makes of it."""
    if isinstance(x, Batched):
        rearranged(x.physical, lambda now: in_front(arrange(rewrapped(now, x.levels)), x.levels))
        return x
    check_writable(x)
    if state.before_writing is not None:
        state.before_writing(x)
    x._refresh()
    now = Tensor(x.array)
    now._version_counter, now._inference, now._view = x._version_counter, x._inference, x._view
    now.node, now._requires_grad, now._accumulator = x.node, x._requires_grad, x._accumulator
    now._tangents = x._tangents
    if state.recorder is not None:
        state.recorder.rename(now, x)
    follow = x.node is not None and x._view is None and not state.inference  # what arrives at a node has the shape of its result
    with Mode(recording=state.recording or follow):
        result = arrange(now)
    x.array, x._tangents = result.array, result._tangents
    x._version_counter[0] += 1
    if result.node is not None and result is not now and (x._view is None or state.recording):
        regraph(x, result.node)
    if state.recorder is not None:
        state.recorder.rename(x, result)
    return x


MEMORY: dict[str, Callable[..., Any]] = {
    "stride": _stride, "storage_offset": _storage_offset, "is_contiguous": _is_contiguous, "contiguous": _contiguous, "view": _view,
    "as_strided": _as_strided,
}  # fmt: skip


# -- Functions of bits and of divisors: of whole numbers and booleans, promoted as PyTorch does,
# without derivatives.


def _promoted(name: str, booleans: bool, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two operands as arrays of their common dtype, which is no float."""
    arrays = [o.array if isinstance(o, Tensor) else o for o in (x, y)]
    kind = dtypes.result_type(arrays)
    if kind.kind in dtypes.FLOATS or (kind.kind == "b" and not booleans):
        raise dtypes.untaken(name, kind)
    check_shapes(*arrays)
    left, right = (np.asarray(a).astype(kind) for a in arrays)  # which wraps around
    return left, right


def _pairs(name: str, function: Callable[..., Any], booleans: bool = True, numbers: bool = True) -> Callable[[Any, Any], Tensor]:
    @by_example
    def run(x: Any, other: Any) -> Tensor:
        for operand, second in ((x, other), (other, x)):
            if not isinstance(operand, Tensor) and not (numbers and isinstance(second, Tensor) and isinstance(operand, _OPERANDS)):
                raise TypeError(f"{name}(): an operand must be Tensor, not {type(operand).__name__}")
        return Tensor(np.asarray(function(*_promoted(name, booleans, x, other))))

    run.__name__ = run.__qualname__ = name
    return run


@by_example
def bitwise_not(x: Tensor) -> Tensor:
    if x.array.dtype.kind in dtypes.FLOATS:
        raise dtypes.untaken("bitwise_not", x.array.dtype)
    return Tensor(np.asarray(np.bitwise_not(x.array)))


_OF_OPERATORS = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
_NAMES = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
BITS: dict[str, Callable[..., Tensor]] = {
    "bitwise_not": bitwise_not,
    **{name: _pairs(name, _OF_OPERATORS[sign], "shift" not in sign) for sign, name in _NAMES.items()},
    "gcd": _pairs("gcd", np.gcd, booleans=False, numbers=False), "lcm": _pairs("lcm", np.lcm, booleans=False, numbers=False),
}  # fmt: skip


def _operators(sign: str, name: str) -> dict[str, Callable[..., Any]]:
    """The methods of an operator: from the left, from the right, and in place."""
    function = BITS[name]

    def left(x: Tensor, other: Any) -> Any:
        return function(x, other) if isinstance(other, _OPERANDS) else NotImplemented

    def right(x: Tensor, other: Any) -> Any:
        return function(other, x) if isinstance(other, _OPERANDS) else NotImplemented

    def in_place(x: Tensor, other: Any) -> Tensor:
        return update(x, name, (other,), {})

    return {f"__{sign}__": left, f"__r{sign}__": right, f"__i{sign}__": in_place}


def _invert(x: Tensor) -> Tensor:
    if x.array.dtype.kind in dtypes.FLOATS:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    found: Tensor = bitwise_not(x)
    return found


_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)
BIT_OPERATORS: dict[str, Callable[..., Any]] = {
    "__invert__": _invert,
    **{method: function for sign, name in _NAMES.items() for method, function in _operators(sign, name).items()},
}
