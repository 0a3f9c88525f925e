"""Python's operators of tensors: those that records name, and those of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.graph.nodes import Operand
from gradcli.ops.arrays.shapes import swapaxes, transpose
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import slow_path
from gradcli.tensors.dispatch.fast_path import fast_path
from gradcli.tensors.torch.bits import BIT_OPERATORS

_OPERANDS = (Operand, int, float, np.ndarray, np.generic)
_NO_STATIC: Mapping[str, Any] = MappingProxyType({})


def _operator(op: Op, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The method of an operator, from the left or the right; Python asks the other operand if it is no number."""
    path, taken = fast_path(op) or _no_path, _OPERANDS if op.elementwise else (Operand, np.ndarray)

    def operator(self: Tensor, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        tensor = path(operands, _NO_STATIC)
        if tensor is not None:
            return tensor
        return slow_path(op, operands, _NO_STATIC) if isinstance(other, taken) else NotImplemented

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


# -- transposes -------------------------------------------------------------------------------------------------


def _transposed(x: Tensor) -> Any:
    return transpose(x, axes=None)


def _matrix_transposed(x: Tensor) -> Any:
    if x.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is of matrices, not of {x.ndim} axes: tensor.mH is of batches of them")
    return _matrices_transposed(x)


def _matrices_transposed(x: Tensor) -> Any:
    if x.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return swapaxes(x, axis1=-1, axis2=-2) if x.ndim else _transposed(x)


def _imaginary(x: Tensor) -> Any:
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


OPERATORS: dict[str, Any] = {
    **_recorded(), "__pos__": _unchanged, "__abs__": _abs, **BIT_OPERATORS,
    "T": property(_transposed), "mT": property(_matrices_transposed), "mH": property(_matrices_transposed),
    "H": property(_matrix_transposed), "real": property(_unchanged), "imag": property(_imaginary),
}  # fmt: skip
