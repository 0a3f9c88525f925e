"""Values whose operators are operations, so that rules and definitions read as mathematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.linalg import products
from gradcli.ops.spec import Carrier, Op


def _both(op: Op) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Return the operator of a value before another, and behind it."""
    return lambda self, other: self.apply_op(
        op, (self, other), {}
    ), lambda self, other: self.apply_op(op, (other, self), {})


class Operand(Carrier):
    """Operators of a value that rules compute with: each applies the registered operation."""

    __slots__ = ()
    __add__, __radd__ = _both(arithmetic.add)
    __sub__, __rsub__ = _both(arithmetic.sub)
    __mul__, __rmul__ = _both(arithmetic.mul)
    __truediv__, __rtruediv__ = _both(arithmetic.div)
    __pow__, __rpow__ = _both(exponential.pow_)
    __matmul__ = _both(products.matmul)[0]

    def __neg__(self) -> Any:
        return self.apply_op(arithmetic.neg, (self,), {})


class Entry(Operand):
    """Number of a context, either mpmath's names or sympy.

    The definition of a function of entries computes with it.
    """

    __slots__ = ("m", "value")

    def __init__(self, m: Any, value: Any) -> None:
        self.m = m
        self.value = value

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Entry:
        rule = (
            op.symbolic if op.symbolic is not None and hasattr(self.m, "Symbol") else op.reference
        )
        return Entry(self.m, rule(self.m, *map(self._number, operands), **static))

    def _number(self, operand: Any) -> Any:
        if isinstance(operand, Entry):
            return operand.value
        if isinstance(operand, Constant):
            return operand.reference(self.m)
        return (
            (self.m.Rational if hasattr(self.m, "Symbol") else self.m.mpf)(operand)
            if isinstance(operand, float)
            else operand
        )


class Opened(Operand):
    """An array of numbers of a domain, with which the definition of a function computes.

    m  the domain (`Algebra`): applies operations to arrays of its numbers
    """

    __slots__ = ("array", "m")
    __array_ufunc__ = None  # NumPy leaves mixed operators to this class

    def __init__(self, m: Any, array: Any) -> None:
        self.m = m
        self.array = np.asarray(array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        found = self.m.apply(op, static, list(map(self._entries, operands)))
        made = type(self)
        return (
            tuple(made(self.m, part) for part in found)
            if isinstance(found, tuple)
            else made(self.m, found)
        )

    def _entries(self, operand: Any) -> Any:
        if operand is None:
            return None
        if isinstance(operand, Opened):
            return operand.array
        if isinstance(operand, Constant):
            return self.m.constant(operand)
        array = np.asarray(operand)
        return (
            self.m.map(lambda x: self.m.m.mpf(float(x)), array)
            if array.dtype.kind in "fiu"
            else array.astype(object)
        )
