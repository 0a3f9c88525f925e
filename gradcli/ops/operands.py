"""Values whose operators are operations, so that rules and definitions read as mathematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.linalg import products
from gradcli.ops.spec import Carrier, Op


class Operand(Carrier):
    """Operators of a value that rules compute with: each applies the registered operation."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.add, (self, other), {})

    def __radd__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.add, (other, self), {})

    def __sub__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.sub, (self, other), {})

    def __rsub__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.sub, (other, self), {})

    def __mul__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.mul, (self, other), {})

    def __rmul__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.mul, (other, self), {})

    def __truediv__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.div, (self, other), {})

    def __rtruediv__(self, other: Any) -> Any:
        return self.apply_op(arithmetic.div, (other, self), {})

    def __pow__(self, other: Any) -> Any:
        return self.apply_op(exponential.pow_, (self, other), {})

    def __rpow__(self, other: Any) -> Any:
        return self.apply_op(exponential.pow_, (other, self), {})

    def __matmul__(self, other: Any) -> Any:
        return self.apply_op(products.matmul, (self, other), {})

    def __neg__(self) -> Any:
        return self.apply_op(arithmetic.neg, (self,), {})


class Entry(Operand):
    """A number of a context (mpmath's names, or sympy), with which the definition of a function of entries computes."""

    __slots__ = ("m", "value")

    def __init__(self, m: Any, value: Any) -> None:
        self.m, self.value = m, value

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Entry:
        rule = op.symbolic if op.symbolic is not None and hasattr(self.m, "Symbol") else op.reference
        return Entry(self.m, rule(self.m, *map(self._number, operands), **static))

    def _number(self, operand: Any) -> Any:
        if isinstance(operand, Entry):
            return operand.value
        if isinstance(operand, Constant):
            return operand.reference(self.m)
        return (self.m.Rational if hasattr(self.m, "Symbol") else self.m.mpf)(operand) if isinstance(operand, float) else operand


class Opened(Operand):
    """An array of numbers of a domain, with which the definition of a function computes.

    m  the domain (`Algebra`): applies operations to arrays of its numbers
    """

    __slots__ = ("array", "m")
    __array_ufunc__ = None  # NumPy's scalars and arrays leave mixed operators to the carrier

    def __init__(self, m: Any, array: Any) -> None:
        self.m, self.array = m, np.asarray(array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        found = self.m.apply(op, static, list(map(self._entries, operands)))
        made = type(self)
        return tuple(made(self.m, part) for part in found) if isinstance(found, tuple) else made(self.m, found)

    def _entries(self, operand: Any) -> Any:
        if operand is None:
            return None
        if isinstance(operand, Opened):
            return operand.array
        if isinstance(operand, Constant):
            return self.m.constant(operand)
        array = np.asarray(operand)
        return self.m.map(lambda x: self.m.m.mpf(float(x)), array) if array.dtype.kind == "f" else array.astype(object)
