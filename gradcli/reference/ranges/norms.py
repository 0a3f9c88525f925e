"""Quotients by roots of sums of squares: x/sqrt(x**2 + y**2) lies between -1 and 1 wherever it is defined."""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb, fmpq

from gradcli.reference.ranges.cells import UNIT, Cell, Factor, Product, Sum
from gradcli.reference.ranges.intervals import ONE, Interval, high, multiply, real_power, whole_power
from gradcli.reference.ranges.values import At


def bounded(cell: Product, ranges: Mapping[Cell, Interval | None], at: At) -> Interval | None:
    """The range of a product with such quotients in it; None if there are none."""
    left = {f.base: f.exponent for f in cell.factors}
    total: Interval = (ONE, ONE)
    some = False
    for factor in cell.factors:
        for base in list(left):
            q = _square_in(factor, base) if left[base] > 0 and left[base].q == 1 else None
            if q is None or left[factor.base] >= 0:
                continue
            # |u**k * S**(-k/2)| <= q**(-k/2), as S >= q*u**2
            k = min(int(left[base].p), int((-2 * left[factor.base]).floor()))
            if k < 1 or not _rest_is_positive(factor.base, base, q, at):
                continue
            size = high(arb(q) ** arb(fmpq(-k, 2)))
            total = multiply(total, (-size, size))
            left[base] -= k
            left[factor.base] += fmpq(k, 2)
            some = True
    if not some:
        return None
    for base, exponent in left.items():
        x = ranges[base]
        assert x is not None
        if exponent != 0:
            positive = (max(x[0], arb(0)), x[1])
            total = multiply(total, whole_power(x, int(exponent.p)) if exponent.q == 1 else real_power(positive, exponent))
    return total


def _square_in(factor: Factor, base: Cell) -> fmpq | None:
    """The coefficient of the square of a cell in a sum that is divided by."""
    if not isinstance(factor.base, Sum) or factor.exponent >= 0:
        return None
    square = base.cells.product([(base, UNIT), (base, UNIT)])
    found = next((q for q, term in factor.base.terms if term is square), None)
    return found if found is not None and found > 0 else None


def _rest_is_positive(total: Cell, base: Cell, q: fmpq, at: At) -> bool:
    square = base.cells.product([(base, UNIT), (base, UNIT)])
    rest = at.value(base.cells.sum([(UNIT, total), (-q, square)])).interval
    return rest is not None and bool(rest[0] >= 0)
