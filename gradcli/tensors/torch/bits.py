"""Functions of bits and of divisors: of whole numbers and booleans, promoted as PyTorch does, without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.introspection import check_shapes


def _promoted(name: str, booleans: bool, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two operands as arrays of their common dtype, which is no float."""
    arrays = [o.array if isinstance(o, Tensor) else o for o in (x, y)]
    kind = dtypes.result_type(arrays)
    if kind.kind in dtypes.FLOATS or (kind.kind == "b" and not booleans):
        raise dtypes.untaken(name, kind)
    check_shapes(*arrays)
    left, right = (np.asarray(a).astype(kind) for a in arrays)  # which wraps around
    return left, right


def _pairs(name: str, function: Callable[..., Any], booleans: bool = True) -> Callable[[Any, Any], Tensor]:
    @by_example
    def run(x: Any, other: Any) -> Tensor:
        if not isinstance(x, Tensor) and not isinstance(other, Tensor):
            raise TypeError(f"{name}(): argument 'other' must be Tensor, not {type(other).__name__}")
        return Tensor(np.asarray(function(*_promoted(name, booleans, x, other))))

    run.__name__ = run.__qualname__ = name
    return run


@by_example
def bitwise_not(x: Tensor) -> Tensor:
    if x.array.dtype.kind in dtypes.FLOATS:
        raise dtypes.untaken("bitwise_not", x.array.dtype)
    return Tensor(np.asarray(np.bitwise_not(x.array)))


BITS: dict[str, Callable[..., Tensor]] = {
    "bitwise_not": bitwise_not,
    "bitwise_and": _pairs("bitwise_and", np.bitwise_and),
    "bitwise_or": _pairs("bitwise_or", np.bitwise_or),
    "bitwise_xor": _pairs("bitwise_xor", np.bitwise_xor),
    "bitwise_left_shift": _pairs("bitwise_left_shift", np.left_shift, booleans=False),
    "bitwise_right_shift": _pairs("bitwise_right_shift", np.right_shift, booleans=False),
    "gcd": _pairs("gcd", np.gcd, booleans=False),
    "lcm": _pairs("lcm", np.lcm, booleans=False),
}  # fmt: skip
_OF_OPERATORS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip


def _operator(name: str, reflected: bool = False) -> Callable[[Tensor, Any], Any]:
    function = BITS[name]

    def operator(x: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, np.ndarray, np.generic)):
            return NotImplemented
        return function(other, x) if reflected else function(x, other)

    return operator


def _in_place(name: str) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, other: update(x, name, (other,), {})


def _invert(x: Tensor) -> Tensor:
    if x.array.dtype.kind in dtypes.FLOATS:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    found: Tensor = bitwise_not(x)
    return found


BIT_OPERATORS: dict[str, Callable[..., Any]] = {
    "__invert__": _invert,
    **{f"__{sign}__": _operator(name) for sign, name in _OF_OPERATORS.items()},
    **{f"__r{sign}__": _operator(name, reflected=True) for sign, name in _OF_OPERATORS.items()},
    **{f"__i{sign}__": _in_place(name) for sign, name in _OF_OPERATORS.items()},
}
