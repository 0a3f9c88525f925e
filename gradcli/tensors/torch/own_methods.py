"""Methods that are no functions of the catalogue.

They tell what entries are and where, convert to other dtypes and other memory, and work on bits.
The file also has the limits of dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import NoneType
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, as_numpy, of_numpy, of_pytorch, untaken
from gradcli.tensors.core.in_place import (
    as_tensor,
    cast,
    check_writable,
    clone_of,
    common_shape,
    mask_of,
    update,
)
from gradcli.tensors.core.levels import Batched, by_example, in_front, rewrap
from gradcli.tensors.core.modes import Mode, check_device, state
from gradcli.tensors.core.modes import device as torch_device
from gradcli.tensors.core.tensor import Tensor, address, regraph, stands_in_order, start, strides
from gradcli.tensors.dispatch.apply import check_annotations, region
from gradcli.tensors.dispatch.library_calls import caller
from gradcli.texts import words


def array(x: Any) -> np.ndarray:
    """Return the entries of a tensor, or a number."""
    if not isinstance(x, (Tensor, bool, int, float, np.ndarray, np.generic)):
        raise TypeError(f"a tensor or a number is wanted, not {type(x).__name__}")
    return x.array if isinstance(x, Tensor) else np.asarray(x)


# -- entries ---------------------------------------------------------------------------------------


def _is_close(
    x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    if x.dtype != other.dtype:
        raise RuntimeError(
            f"both tensors must have one dtype, not {x.dtype.name} and {other.dtype.name}"
        )
    common_shape(x.array.shape, other.array.shape)
    return as_tensor(np.isclose(x.array, other.array, rtol, atol, equal_nan))


# PyTorch's tolerances, relative and absolute, by dtype; those of whole numbers are 0.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any, expected: Any, *, rtol: Any = None, atol: Any = None, equal_nan: bool = False,
    check_dtype: bool = True, msg: str = "",
) -> None:  # fmt: skip
    """Raise AssertionError unless two tensors are of one shape and dtype, and close."""
    x, y = as_tensor(actual), as_tensor(expected)
    if rtol is atol is None:
        rtol, atol = _TOLERANCES.get(x.dtype.name, (0, 0))
    second = y.array if check_dtype else y.array.astype(x.array.dtype)
    np.testing.assert_allclose(x.array, second, rtol, atol, equal_nan, msg, strict=True)


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    """Truth of any or all entries; of bytes, as bytes."""

    def run(
        x: Tensor,
        dim: Any = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: bool = False,
    ) -> Tensor:
        found = reduce(
            x.array, axis=_axes(dim if axis is None else axis), keepdims=keepdim or keepdims
        )
        return Tensor(np.asarray(found, np.uint8 if x.array.dtype == np.uint8 else np.bool_))

    return run


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _equal(x: Tensor, other: Tensor) -> bool:
    return np.array_equal(x.array, other.array)


def _nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    places = np.nonzero(np.atleast_1d(x.array))
    if as_tuple:
        return tuple(map(Tensor, places))
    return Tensor(np.stack(places[: x.array.ndim] or [places[0][:0]], 1))


def _count_nonzero(x: Tensor, *dims: Any, dim: Any = None) -> Tensor:
    axis = dim if not dims else dims[0] if len(dims) == 1 else dims
    return as_tensor(np.count_nonzero(x.array, axis=None if axis in ((), []) else _axes(axis)))


def _unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    given: Any = (x, False, return_inverse, return_counts, dim)
    found: Any = np.unique(*given)  # NumPy's of tensors, which passes gradients
    return tuple(map(as_tensor, found)) if isinstance(found, tuple) else found


def _bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if x.array.dtype.kind not in "iu":
        raise untaken("bincount", x.array.dtype)
    return Tensor(np.bincount(x.array, None if weights is None else weights.array, minlength))


def _isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    given = (array(elements), array(test_elements))
    return as_tensor(np.isin(*given, assume_unique=assume_unique, invert=invert))


def _search_sorted(
    sorted_sequence: Tensor, values: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None,
) -> Tensor:  # fmt: skip
    if side not in (None, "left", "right") or (side == "left" and right):
        raise RuntimeError(f"searchsorted: side is 'left' or 'right', as right says, not {side!r}")
    if sorted_sequence.array.ndim != 1:
        raise RuntimeError("searchsorted: the sorted sequence must have one axis")
    where: Any = side or ("right" if right else "left")
    found = np.searchsorted(sorted_sequence.array, array(values), where)
    return Tensor(np.asarray(found, np.int32 if out_int32 else np.int64))


def _bucketize(
    x: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    return _search_sorted(boundaries, x, out_int32=out_int32, right=right)


def _matrix_rank(
    A: Tensor,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Tensor:
    """Return how many singular values are above atol, or above rtol times the largest."""
    return as_tensor(
        np.linalg.matrix_rank(A.array, tol if atol is None else atol, hermitian, rtol=rtol)
    )


# -- indices and limits ----------------------------------------------------------------------------


def _triangle(indices: Callable[..., Any]) -> Callable[..., Tensor]:
    def make(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
    ) -> Tensor:
        check_device(device)
        if row < 0 or col < 0:
            raise RuntimeError(f"a triangle has no negative extents: {row}, {col}")
        kind = np.int64 if dtype is None else as_numpy(dtype)
        return Tensor(np.stack(indices(row, offset, col)).astype(kind))

    return make


class _Limits:
    """Facts that NumPy knows of a dtype's numbers, under PyTorch's names."""

    fields: tuple[str, ...] = ("min", "max")
    kinds = "iu"
    other = "finfo"

    def __init__(self, kind: Any = None) -> None:
        found = of_numpy(as_numpy(dtypes.get_default_dtype() if kind is None else kind))
        if found.numpy.kind not in self.kinds:
            raise TypeError(
                f"torch.{type(self).__name__}() is not of {found}: use torch.{self.other}"
            )
        self.dtype = found.name
        self.bits = found.itemsize * 8
        limits: Any = (
            dtypes.limits(found.numpy) if found.is_floating_point else np.iinfo(found.numpy)
        )
        number: Any = float if found.is_floating_point else int
        self.max = number(limits.max)
        self.min = number(limits.min)
        if found.is_floating_point:
            self.eps = float(limits.eps)
            self.resolution = 10.0**-limits.precision
            self.tiny = self.smallest_normal = float(limits.tiny)

    def __repr__(self) -> str:
        parts = [
            f"{name}={getattr(self, name):{'g' if 'eps' in self.fields else ''}}"
            for name in self.fields
        ]
        return f"{type(self).__name__}({', '.join(parts)}, dtype={self.dtype})"


class finfo(_Limits):
    """Limits of floats."""

    fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    kinds = FLOATS
    other = "iinfo"


class iinfo(_Limits):
    """Limits of whole numbers."""


_OF_ENTRIES: dict[str, Callable[..., Any]] = {
    "allclose": lambda *given, **named: bool(_is_close(*given, **named).array.all()), "isclose": _is_close,
    "equal": _equal, "all": _truth(np.all), "any": _truth(np.any), "nonzero": _nonzero, "argwhere": _nonzero, "unique": _unique,
    "count_nonzero": _count_nonzero, "bincount": _bincount,
}  # fmt: skip
_OF_TENSORS: dict[str, Callable[..., Any]] = {
    "numel": lambda x: x.array.size, "get_device": lambda x: -1, "is_complex": lambda x: False,
    "is_floating_point": lambda x: x.dtype.is_floating_point,
    "is_signed": lambda x: x.array.dtype.kind not in "ub",
}  # fmt: skip


def _index_put(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Return x with values put to places; bytes are masks, as in indices."""
    masks = [
        Tensor(mask_of(part.array)) if getattr(part, "dtype", None) is dtypes.uint8 else part
        for part in indices
    ]
    return caller("index_put")(x, tuple(masks), values, accumulate)


PLAIN_METHODS: dict[str, Callable[..., Any]] = {
    **_OF_TENSORS, "size": lambda x, dim=None: x.shape if dim is None else x.array.shape[dim],
    **dict.fromkeys(("dim", "ndimension"), lambda x: x.array.ndim), "nelement": _OF_TENSORS["numel"],
    "element_size": lambda x: x.array.itemsize, "data_ptr": lambda x: address(x.array),
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **{name: by_example(function) for name, function in _OF_ENTRIES.items()},
    "index_put": _index_put,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: check_annotations(function, name) for name, function in {
        **METHODS, **_OF_TENSORS,
        "isin": by_example(_isin), "searchsorted": by_example(_search_sorted), "bucketize": by_example(_bucketize),
        "tril_indices": _triangle(np.tril_indices), "triu_indices": _triangle(np.triu_indices),
    }.items()},
    "finfo": finfo, "iinfo": iinfo,
}  # fmt: skip
OF_MATRICES: dict[str, Any] = {
    "matrix_rank": check_annotations(by_example(_matrix_rank), "matrix_rank"),
    "LinAlgError": LinAlgError,
}


# -- The same entries in another dtype -------------------------------------------------------------


def _to(
    x: Tensor, *arguments: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return the same entries in another dtype; the gradient is cast back."""
    for place, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif (
            isinstance(argument, dtypes.dtype)
            or argument in (float, int, bool)
            or of_pytorch(argument) is not None
        ):
            dtype = argument
        elif isinstance(argument, (bool, np.bool_)):
            continue
        elif place or not isinstance(argument, (str, int, torch_device, NoneType)):
            raise TypeError(
                f"to(): its argument {place + 1} is no dtype, no device and no tensor, but "
                f"{type(argument).__name__}"
            )
        else:
            device = argument
    check_device(device)
    if dtype is None or as_numpy(dtype) == x.array.dtype:
        return clone_of(x) if copy else x
    return cast(x, as_numpy(dtype))


def _type(x: Tensor, dtype: Any = None) -> Any:
    if dtype is None:
        return f"torch.{x.dtype.tensor_type}"
    if isinstance(dtype, str):
        raise ValueError(f"invalid type: {dtype!r}: gradcli has dtypes, such as torch.float64")
    if not (isinstance(dtype, (type, dtypes.dtype)) or of_pytorch(dtype) is not None):
        raise TypeError("dtype must be a type or a dtype")
    return _to(x, dtype)


def _astype(x: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """NumPy's name for a copy in another dtype."""
    kind = np.dtype(dtype) if isinstance(dtype, str) else as_numpy(dtype)
    return _to(x, of_numpy(kind), copy=copy)


def _type_as(x: Tensor, other: Tensor) -> Tensor:
    return _to(x, other.dtype)


def _in(kind: dtypes.dtype) -> Callable[[Tensor], Tensor]:
    """Return the method that converts to this dtype."""
    return lambda x: _to(x, kind)


def _positive(x: Tensor) -> Tensor:
    if x.array.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


CASTS: dict[str, Callable[..., Any]] = {
    "to": _to, "astype": _astype, "type": _type, "type_as": _type_as,
    **{name: _in(dtypes.NAMES[name]) for name in words("float double half bfloat16 long int short "
    "bool")},
    "char": _in(dtypes.int8), "byte": _in(dtypes.uint8), "clone": clone_of, "positive": _positive,
    "cpu": lambda x, *, memory_format=None: x, "pin_memory": lambda x, device=None: x,
    **dict.fromkeys(("resolve_conj", "resolve_neg"), lambda x: x),
}  # fmt: skip


# -- Methods about a tensor's memory: where its entries are in it, and other arrangements of it --


def _stride(x: Tensor, dim: int | None = None) -> Any:
    found = strides(x.array)
    return found if dim is None else found[dim]


def _contiguous(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor itself if its entries are in order in memory, or else a copy.

    The entries of the copy are in order.
    """
    if stands_in_order(x.array):
        return x
    if isinstance(x, Batched):
        found: Tensor = rewrap(_contiguous(x.physical), x.levels)
        return found
    copied = clone_of(x)
    copied.array = np.ascontiguousarray(copied.array)
    return copied


def _view(x: Tensor, *shape: Any) -> Tensor:
    """Return the entries in another shape, without a copy."""
    result: Tensor = caller("view")(x, *shape)
    if (
        x.array.size
        and not isinstance(x, Batched)
        and not np.may_share_memory(result.array, x.array)
    ):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(index(n) for n in (given if isinstance(given, (tuple, list)) else (given,)))


def _as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of a tensor's storage with these sizes, strides and offset."""
    memory = x.physical.array if isinstance(x, Batched) else x.array
    offset = start(memory) if storage_offset is None else int(storage_offset)
    return region(x, _sizes(size), _sizes(stride), offset)


def rearrange(x: Tensor, arrange: Callable[[Tensor], Tensor]) -> Tensor:
    """Make x the view of itself that a function makes of it."""
    if isinstance(x, Batched):
        rearrange(x.physical, lambda now: in_front(arrange(rewrap(now, x.levels)), x.levels))
        return x
    check_writable(x)
    if state.before_writing is not None:
        state.before_writing(x)
    x._refresh()
    now = Tensor(x.array)
    now.__dict__.update(x.__dict__)
    now.node = x.node
    now._requires_grad = x._requires_grad
    now._version_counter = x._version_counter
    state.recorder.rename(now, x)
    # A cotangent has the shape of its node's result, which changes here.
    follow = x.node is not None and x._view is None
    with Mode(recording=state.recording or follow):
        result = arrange(now)
    x.array = result.array
    x._version_counter[0] += 1
    if result.node is not None and result is not now and (x._view is None or state.recording):
        regraph(x, result.node)
    state.recorder.rename(x, result)
    return x


MEMORY: dict[str, Callable[..., Any]] = {
    "stride": _stride, "storage_offset": lambda x: start(x.array),
    "is_contiguous": lambda x, *, memory_format=None: stands_in_order(x.array), "contiguous": _contiguous, "view": _view,
    "as_strided": _as_strided,
}  # fmt: skip


# -- Functions of bits and of divisors: of whole numbers and booleans, promoted as PyTorch does,
# without derivatives.


_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)


def _pairs(
    name: str,
    function: Callable[..., Any],
    booleans: bool = True,
    others: tuple[type, ...] = _OPERANDS,
) -> Callable[..., Tensor]:
    """Return a function of two operands in their common dtype, which is no float.

    others  what the second one may be beside a tensor, or the first one beside a second tensor
    """

    @by_example
    def run(x: Any, other: Any) -> Tensor:
        for operand, second in ((x, other), (other, x)):
            if not isinstance(operand, Tensor) and not (
                isinstance(second, Tensor) and isinstance(operand, others)
            ):
                raise TypeError(
                    f"{name}(): an operand must be Tensor, not {type(operand).__name__}"
                )
        arrays = [o.array if isinstance(o, Tensor) else o for o in (x, other)]
        kind = dtypes.result_type(arrays)
        if kind.kind in FLOATS or (kind.kind == "b" and not booleans):
            raise untaken(name, kind)
        common_shape(*map(np.shape, arrays))
        # large values wrap around
        return as_tensor(function(*(np.asarray(a).astype(kind) for a in arrays)))

    run.__name__ = run.__qualname__ = name
    return run


@by_example
def bitwise_not(x: Tensor) -> Tensor:
    if x.array.dtype.kind in FLOATS:
        raise untaken("bitwise_not", x.array.dtype)
    return as_tensor(np.bitwise_not(x.array))


_SIGNS = {
    "and": ("bitwise_and", np.bitwise_and), "or": ("bitwise_or", np.bitwise_or), "xor": ("bitwise_xor", np.bitwise_xor),
    "lshift": ("bitwise_left_shift", np.left_shift), "rshift": ("bitwise_right_shift", np.right_shift),
}  # fmt: skip
BITS: dict[str, Callable[..., Tensor]] = {
    "bitwise_not": bitwise_not,
    **{
        name: _pairs(name, function, "shift" not in sign)
        for sign, (name, function) in _SIGNS.items()
    },
    **{
        function.__name__: _pairs(function.__name__, function, False, ())
        for function in (np.gcd, np.lcm)
    },
}


def _operators(sign: str, name: str) -> dict[str, Callable[..., Any]]:
    """Return the methods of an operator: from the left, from the right, and in place."""
    function = BITS[name]
    return {
        f"__{sign}__": lambda x, other: (
            function(x, other) if isinstance(other, _OPERANDS) else NotImplemented
        ),
        f"__r{sign}__": lambda x, other: (
            function(other, x) if isinstance(other, _OPERANDS) else NotImplemented
        ),
        f"__i{sign}__": lambda x, other: update(x, name, (other,), {}),
    }


def _invert(x: Tensor) -> Tensor:
    if x.array.dtype.kind in FLOATS:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    found: Tensor = bitwise_not(x)
    return found


BIT_OPERATORS: dict[str, Callable[..., Any]] = {
    "__invert__": _invert,
    **{
        method: function
        for sign, (name, _) in _SIGNS.items()
        for method, function in _operators(sign, name).items()
    },
}
