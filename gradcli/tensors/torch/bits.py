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


_OF_OPERATORS = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
_NAMES = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
BITS: dict[str, Callable[..., Tensor]] = {
    "bitwise_not": bitwise_not,
    **{name: _pairs(name, _OF_OPERATORS[sign], "shift" not in sign) for sign, name in _NAMES.items()},
    "gcd": _pairs("gcd", np.gcd, booleans=False), "lcm": _pairs("lcm", np.lcm, booleans=False),
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
