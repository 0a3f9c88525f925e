"""Python's operators and plain methods of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.carrier import Operand
from gradcli.ops import arithmetic, exponential, logic, products
from gradcli.ops.spec import Op

_OPERANDS = (Operand, int, float, np.ndarray, np.generic)
_Method = Callable[[Any, Any], Any]


def _operator(op: Op) -> _Method:
    """The method of an operator; Python asks the other operand if this is no number."""

    def operator(self: Any, other: Any) -> Any:
        return self.apply_op(op, (self, other), {}) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _reflected(op: Op) -> _Method:
    """The method for the operand on the right."""

    def operator(self: Any, other: Any) -> Any:
        return self.apply_op(op, (other, self), {}) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


class Operators(Operand):
    """What Python asks of a number, beyond the arithmetic of every carrier."""

    __slots__ = ()

    # a number on the left: the tensor is the first operand where the order does not matter, as in PyTorch

    __add__ = __radd__ = _operator(arithmetic.add)
    __mul__ = __rmul__ = _operator(arithmetic.mul)
    __sub__, __rsub__ = _operator(arithmetic.sub), _reflected(arithmetic.sub)
    __truediv__, __rtruediv__ = _operator(arithmetic.div), _reflected(arithmetic.div)
    __floordiv__, __rfloordiv__ = _operator(arithmetic.floor_divide), _reflected(arithmetic.floor_divide)
    __mod__, __rmod__ = _operator(arithmetic.remainder), _reflected(arithmetic.remainder)
    __pow__, __rpow__ = _operator(exponential.pow_), _reflected(exponential.pow_)
    __matmul__, __rmatmul__ = _operator(products.matmul), _reflected(products.matmul)

    __eq__, __ne__ = _operator(logic.equal), _operator(logic.not_equal)
    __lt__, __le__ = _operator(logic.less), _operator(logic.less_equal)
    __gt__, __ge__ = _operator(logic.greater), _operator(logic.greater_equal)
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
        from gradcli.ops.shapes import transpose

        return self.apply_op(transpose, (self,), {"axes": None})

    @property
    def mT(self) -> Any:
        from gradcli.ops.shapes import swapaxes

        return self.apply_op(swapaxes, (self,), {"axis1": -1, "axis2": -2})

    H, mH = T, mT
