"""Python's operators and plain methods of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.carrier import Operand
from gradcli.ops import arithmetic, exponential, logic, products
from gradcli.ops.spec import Op


def _known(other: Any) -> bool:
    return isinstance(other, (Operand, int, float, np.ndarray, np.generic))


class Operators(Operand):
    """What Python asks of a number, beyond the arithmetic of every carrier."""

    __slots__ = ()

    def _with(self, op: Op, x: Any, y: Any) -> Any:
        return self.apply_op(op, (x, y), {}) if _known(x) and _known(y) else NotImplemented

    # a number on the left: the tensor is the first operand where the order does not matter, as in PyTorch

    def __add__(self, other: Any) -> Any:
        return self._with(arithmetic.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(arithmetic.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(arithmetic.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(arithmetic.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with(arithmetic.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(arithmetic.mul, self, other)

    def __truediv__(self, other: Any) -> Any:
        return self._with(arithmetic.div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(arithmetic.div, other, self)

    def __pow__(self, other: Any) -> Any:
        return self._with(exponential.pow_, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._with(exponential.pow_, other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._with(products.matmul, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(arithmetic.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(arithmetic.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._with(arithmetic.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with(arithmetic.remainder, other, self)

    def __rmatmul__(self, other: Any) -> Any:
        return self._with(products.matmul, other, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.apply_op(arithmetic.abs_, (self,), {})

    def __eq__(self, other: object) -> Any:
        return self._with(logic.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return self._with(logic.not_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return self._with(logic.less, self, other)

    def __le__(self, other: Any) -> Any:
        return self._with(logic.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._with(logic.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._with(logic.greater_equal, self, other)

    __hash__ = object.__hash__

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
        from gradcli.ops.shapes import transpose

        return self.apply_op(transpose, (self,), {"axes": None})

    @property
    def mT(self) -> Any:
        from gradcli.ops.shapes import swapaxes

        return self.apply_op(swapaxes, (self,), {"axis1": -1, "axis2": -2})

    H, mH = T, mT
