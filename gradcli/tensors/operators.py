"""Python's operators of tensors: those of two operands by name (methods.py), the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.operand import Operand
from gradcli.ops.elementwise import arithmetic, exponential, logic
from gradcli.ops.linalg import products

OPERATORS = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div, "pow": exponential.pow_,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "matmul": products.matmul,
}  # fmt: skip
COMPARISONS = {
    "eq": logic.equal, "ne": logic.not_equal, "lt": logic.less, "le": logic.less_equal, "gt": logic.greater, "ge": logic.greater_equal,
}  # fmt: skip


class Operators(Operand):
    """What Python asks of a number, beyond the arithmetic of every carrier."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.apply_op(arithmetic.abs_, (self,), {})

    # booleans and whole numbers

    def _bits(self, function: Any, *others: Any) -> Any:
        from gradcli.tensors.tensor import Tensor

        arrays = [o.array if isinstance(o, Tensor) else o for o in (self, *others)]
        if any(np.asarray(a).dtype.kind == "f" for a in arrays):
            if not others:
                raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
            raise NotImplementedError(f"\"{function.__name__}_cpu\" not implemented for 'Float'")
        return Tensor(np.asarray(function(*arrays)))

    def __invert__(self) -> Any:
        return self._bits(np.bitwise_not)

    def __and__(self, other: Any) -> Any:
        return self._bits(np.bitwise_and, other)

    def __or__(self, other: Any) -> Any:
        return self._bits(np.bitwise_or, other)

    def __xor__(self, other: Any) -> Any:
        return self._bits(np.bitwise_xor, other)

    def __lshift__(self, other: Any) -> Any:
        return self._bits(np.left_shift, other)

    def __rshift__(self, other: Any) -> Any:
        return self._bits(np.right_shift, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # in place

    def _updated(self, name: str, other: Any) -> Any:
        from gradcli.tensors.inplace import update

        return update(self, name, (other,), {})  # type: ignore[arg-type]

    def __iadd__(self, other: Any) -> Any:
        return self._updated("__add__", other)

    def __isub__(self, other: Any) -> Any:
        return self._updated("__sub__", other)

    def __imul__(self, other: Any) -> Any:
        return self._updated("__mul__", other)

    def __itruediv__(self, other: Any) -> Any:
        return self._updated("__truediv__", other)

    def __ipow__(self, other: Any) -> Any:
        return self._updated("__pow__", other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._updated("__floordiv__", other)

    def __imod__(self, other: Any) -> Any:
        return self._updated("__mod__", other)

    # transposes

    @property
    def T(self) -> Any:
        from gradcli.ops.arrays.shapes import transpose

        return self.apply_op(transpose, (self,), {"axes": None})

    @property
    def mT(self) -> Any:
        from gradcli.ops.arrays.shapes import swapaxes

        return self.apply_op(swapaxes, (self,), {"axis1": -1, "axis2": -2})

    H, mH = T, mT
