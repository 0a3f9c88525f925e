"""Products as fractions, and in equal forms that may be shorter.

The forms are quotients of functions by their names, double angles, hyperbolic functions, and
exponentials in sums.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any, TypeVar

from gradcli.formulas.algebra import Algebra, Quantity, family_of
from gradcli.formulas.powers import (
    HALVES,
    LONGEST,
    Number,
    Value,
    common,
    is_decimal,
    lean,
    power,
    product,
)
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.constants import PI
from gradcli.ops.elementwise import arithmetic, exponential

N = TypeVar("N")


def quotient_of(top: N, number: Callable[[N], Expr], above: list[Expr], below: list[Expr]) -> Expr:
    """Write ``top*above/below`` from left to right.

    A factor of 1 is left out where there is another factor, and -1 becomes a minus.
    """
    result: Expr | None = None
    if not above or top not in (1, -1):
        result = number(top)
    elif top == -1:
        result, above = -above[0], above[1:]
    for factor in above:
        result = factor if result is None else result * factor
    assert result is not None
    if below:
        divisor = below[0]
        for factor in below[1:]:
            divisor = divisor * factor
        result = result / divisor
    return result


Piece = tuple[
    int, tuple[str, int], Expr, Number
]  # rank and place among the factors, base, exponent

_HALF = Fraction(1, 2)
_LARGEST = int(sys.float_info.max)


def _nearest_float(value: Any) -> float:
    """Return the float nearest to a number, or infinity if it is too large for floats."""
    return float(value) if abs(value) <= _LARGEST else math.inf if value > 0 else -math.inf


class Fractions:
    """Builds fractions in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._costs: dict[Expr, int] = {}

    def cost(self, root: Expr) -> int:
        """Count the operations in a formula as printed: its signs, operators and calls."""
        costs = self._costs
        if root in costs:
            return costs[root]
        for node in (
            reachable([root]) if any(o not in costs for o in root.given_operands) else [root]
        ):
            if node in costs:
                continue
            if node.op is None:
                negative = (
                    node.is_constant and isinstance(node.payload, (int, float)) and node.payload < 0
                )
                costs[node] = int(negative)
            else:
                costs[node] = (not node.op.transparent) + sum(
                    [costs[o] for o in node.given_operands]
                )
        return costs[root]

    def number(self, value: Number) -> Expr:
        if value.denominator == 1 and -(10**15) < value < 10**15:
            return self.graph.constant(int(value))
        if is_decimal(value):
            return self.graph.constant(_nearest_float(value))
        return self.graph.apply(arithmetic.div, (value.numerator, value.denominator))

    def fraction(self, number: Number, pieces: list[Piece]) -> Expr:
        """Write a number times powers, with those of negative exponents in the denominator."""
        pieces = self._join_roots(sorted(pieces, key=lambda piece: piece[:2]))
        above = [self.raise_to(node, exponent) for _, _, node, exponent in pieces if exponent > 0]
        below = [self.raise_to(node, -exponent) for _, _, node, exponent in pieces if exponent < 0]
        if number.denominator != 1:
            size = number if number > 0 else -number
            with_point = is_decimal(number) and (size.numerator != 1 or size.denominator > LONGEST)
            if not with_point or (
                below and HALVES % size.denominator == 0 and size.numerator <= LONGEST
            ):
                below.insert(0, self.graph.constant(number.denominator))
                number = number.numerator
        return quotient_of(number, self.number, above, below)

    def _join_roots(self, pieces: list[Piece]) -> list[Piece]:
        """sqrt(pi)*sqrt(2) as sqrt(2*pi), in the place of the first one."""
        for exponent in (_HALF, -_HALF):
            roots = [p for p in pieces if p[3] == exponent and p[2].is_constant and not p[2].shape]
            if len(roots) > 1:
                inside = [p[2] for p in sorted(roots, key=lambda p: p[2].payload == PI)]
                joined: Piece = (*roots[0][:2], reduce(mul, inside), exponent)
                pieces = [joined if p is roots[0] else p for p in pieces if p not in roots[1:]]
        return pieces

    def raise_to(self, node: Expr, exponent: Number) -> Expr:
        if exponent == 1:
            return node
        if exponent == _HALF:
            return self.graph.apply(exponential.sqrt, (node,))
        return self.graph.apply(exponential.pow_, (node, self.number(exponent)))


# -- Products with names that are shorter, which the algebra does not take apart again -----------


def with_absolutes(algebra: Algebra, value: Value) -> Value:
    """x*sign(x) as abs(x), and sign(x)/x as 1/abs(x)."""
    for number, _ in value[1]:
        powers = dict(value[1])
        base = algebra.bases[number]
        of = base.operands[0] if base.op is arithmetic.sign else None
        if of is None or not of[1]:
            continue
        found = [powers.get(b, 0) / e for b, e in of[1]]
        side = 1 if min(found) >= 1 else -1 if {*found} == {-1} else 0
        if side:
            absolute = algebra.function(arithmetic.abs_, [of], {})
            names = ((number, -1),), power(of[1], -side), power(absolute[1], side)
            value = value[0], reduce(product, names, value[1])
    return value


def _angles(
    algebra: Algebra, value: Value
) -> Iterator[tuple[tuple[Any, ...], Quantity, Number, Number]]:
    """Return the sines and cosines in a product: their operands, and the exponents of both."""
    powers = {
        (base.op, base.operands[0]): exponent
        for base, exponent in [(algebra.bases[b], e) for b, e in value[1]]
        if family_of(base.op)
    }
    for family, operand in dict.fromkeys([(family_of(op), operand) for op, operand in powers]):
        assert operand is not None
        sine, cosine = [powers.get((op, operand), 0) for op in family[:2]]
        yield family, Quantity(algebra, operand), sine, cosine


def with_ratios(algebra: Algebra, value: Value) -> Value:
    """sin(x)/cos(x) as tan(x), and 1/cos(x) as sec(x) where nothing else is above the line."""
    bases = algebra.bases
    alone = value[0] in (1, -1) and all(
        family_of(bases[b].op) or (e < 0 and not bases[b].by) for b, e in value[1]
    )
    raised = {bases[b].of for b, _ in value[1]}
    for (sine, cosine, tan, cot, csc, sec, _), x, s, c in _angles(algebra, value):
        if not raised.isdisjoint([sine(x).value, cosine(x).value]):  # sin(x)**(n - 1)*cos(x)
            continue
        t = min((0, s, -c), key=lambda t: sum(2 + (abs(e) != 1) for e in (s - t, c + t, t) if e))
        if min(s, c) < 0 and (t or (alone and max(s, c) <= 0)):
            names = [
                power(algebra.function(op, [x.value], {})[1], max(exponent, 0) - before)
                for op, exponent, before in (
                    (tan, t, 0), (cot, -t, 0), (sine, s - t, s), (csc, t - s, 0), (cosine, c + t, c), (sec, -c - t, 0),
                )
            ]  # fmt: skip
            value = value[0], reduce(product, names, value[1])
    return value


def double_angle(algebra: Algebra, value: Value) -> Value:
    """2*sin(x)*cos(x) as sin(2*x)."""
    for (sine, cosine, *_), x, s, c in _angles(algebra, value):
        if s == c:
            one = sine(2 * x) / (2 * sine(x) * cosine(x))
            value = algebra.times(value, algebra.raise_to(one.value, s))
    return value


def hyperbolic(algebra: Algebra, value: Value) -> Value:
    """exp(x)/(exp(2*x) + 1) as 1/(2*cosh(x))."""
    bases = algebra.bases
    for number, exponent in value[1]:
        terms = bases[number].terms or {}
        if len(terms) != 2 or exponent.denominator != 1:
            continue
        (m, c), (n, d) = terms.items()
        raised = power(product(m, power(n, -1)), _HALF)
        if abs(c) == abs(d) and all(bases[b].by and not bases[b].of for b, _ in raised):
            from gradcli.ops.elementwise.trigonometric import cosh, sinh

            function = cosh if c == d else sinh
            half = algebra.function(function, [algebra.logarithm((1, raised))], {})
            mean = power(product(m, n), exponent * _HALF)
            value = algebra.times(
                (value[0], product(value[1], ((number, -exponent), *mean))),
                algebra.raise_to(algebra.times((2 * c, ()), half), exponent),
            )
    return value


def exponentials_inside(algebra: Algebra, value: Value) -> Value:
    """(exp(x) - 1)*exp(-x) as 1 - exp(-x): of what stands beside a sum, as much as it has."""
    bases = algebra.bases
    for number, exponent in value[1]:
        outside, terms = dict(value[1]), bases[number].terms or {}
        factor = [
            (b, lean(max(lowest, Fraction(outside[b]) / exponent)))
            for b, lowest in common([power(m, -1) for m in terms])
            if bases[b].by and not bases[b].of and outside.get(b, 0) * exponent < 0
        ]
        if factor:
            inside = {product(m, tuple(factor)): c for m, c in terms.items()}
            base = bases.sum(inside, signed=True)[1].number
            changed = (number, -exponent), (base, exponent), *power(tuple(factor), -exponent)
            value = value[0], product(value[1], changed)
    return value
