"""Carriers of values whose operators are operations, so that rules read as mathematics."""

from __future__ import annotations

from typing import Any

from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.linalg import products
from gradcli.ops.spec import Carrier


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
