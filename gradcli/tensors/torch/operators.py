"""Python's operators of tensors: those that records name, and those of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.graph.operand import Operand
from gradcli.ops.arrays.shapes import swapaxes, transpose
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import slow_path
from gradcli.tensors.dispatch.fast_path import fast_path

_OPERANDS = (Operand, int, float, np.ndarray, np.generic)
_NO_STATIC: Mapping[str, Any] = MappingProxyType({})


def _operator(op: Op, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The method of an operator, from the left or the right; Python asks the other operand if it is no number."""
    path = fast_path(op) or _no_path

    def operator(self: Tensor, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        tensor = path(operands, _NO_STATIC)
        if tensor is not None:
            return tensor
        return slow_path(op, operands, _NO_STATIC) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _no_path(operands: Any, static: Any) -> None:
    """The fast path of operations that have none."""


def _in_place(name: str) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, other: update(x, name, (other,), {})


def _recorded() -> dict[str, Callable[..., Any]]:
    """The methods of the operations that are operators: from the left, from the right, and in place."""
    found: dict[str, Callable[..., Any]] = {}
    for op in registry().values():
        name = op.torch.operator
        if not name:
            continue
        found[f"__{name}__"] = _operator(op)
        if op.result != "bool":
            # with a number on the left, the tensor is the first operand where the order does not matter, as in PyTorch
            found[f"__r{name}__"] = _operator(op, reflected=not op.facts.commutes)
            if op.elementwise:
                found[f"__i{name}__"] = _in_place(f"__{name}__")
    return found


def _unchanged(x: Tensor) -> Tensor:
    return x


def _abs(x: Tensor) -> Any:
    return abs_(x)


# -- booleans and whole numbers ---------------------------------------------------------------------------------


@by_example
def _invert(x: Tensor) -> Tensor:
    if x.array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return Tensor(np.asarray(np.bitwise_not(x.array)))


def _bits(function: Any) -> Callable[[Tensor, Any], Tensor]:
    """A ufunc of bits as an operator."""

    @by_example
    def run(x: Tensor, other: Any) -> Tensor:
        arrays = [o.array if isinstance(o, Tensor) else o for o in (x, other)]
        if any(np.asarray(a).dtype.kind == "f" for a in arrays):
            raise NotImplementedError(f"\"{function.__name__}_cpu\" not implemented for 'Float'")
        return Tensor(np.asarray(function(*arrays)))

    return run


_AND, _OR, _XOR = _bits(np.bitwise_and), _bits(np.bitwise_or), _bits(np.bitwise_xor)


# -- transposes -------------------------------------------------------------------------------------------------


def _transposed(x: Tensor) -> Any:
    return transpose(x, axes=None)


def _matrices_transposed(x: Tensor) -> Any:
    return swapaxes(x, axis1=-1, axis2=-2)


OPERATORS: dict[str, Any] = {
    **_recorded(), "__pos__": _unchanged, "__abs__": _abs, "__invert__": _invert,
    "__and__": _AND, "__or__": _OR, "__xor__": _XOR, "__rand__": _AND, "__ror__": _OR, "__rxor__": _XOR,
    "__lshift__": _bits(np.left_shift), "__rshift__": _bits(np.right_shift),
    "T": property(_transposed), "H": property(_transposed), "mT": property(_matrices_transposed), "mH": property(_matrices_transposed),
}  # fmt: skip
