"""Products: as fractions, with the operations that these take, and in other forms that equal them and
may be shorter: quotients of functions by their names, double angles.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any, TypeVar

from gradcli.formulas.algebra import Algebra, Quantity, family_of
from gradcli.formulas.powers import Number, Value, power, product
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.constants import PI
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.spec import Op

N = TypeVar("N")


def quotient_of(top: N, number: Callable[[N], Expr], above: list[Expr], below: list[Expr]) -> Expr:
    """``top*above/below`` from left to right; 1 is not written where there is a factor, and -1 is a
    minus.
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
]  # rank and place among the factors, what is raised, the exponent

_LONGEST = 10**6  # of the numbers above and below in a fraction that is written out
_HALVES = 1024  # the largest power of 2 below in a number that is written with a point
_HALF = Fraction(1, 2)
_LARGEST = int(sys.float_info.max)


def _nearest_float(value: Any) -> float:
    """Return the float that is nearest to a number; infinity for what is too large, as floats have
    it.
    """
    return float(value) if abs(value) <= _LARGEST else math.inf if value > 0 else -math.inf


class Fractions:
    """Builds fractions in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._costs: dict[Expr, int] = {}

    def cost(self, root: Expr) -> int:
        """The operations in a formula as it is printed: each sign, operator and call."""
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
        if value.denominator == 1:
            return self.graph.constant(
                int(value) if -(10**15) < value < 10**15 else _nearest_float(value)
            )
        if self._is_decimal(value):
            return self.graph.constant(_nearest_float(value))
        assert isinstance(value, Fraction)
        return self.graph.apply(arithmetic.div, (value.numerator, value.denominator))

    def _is_decimal(self, value: Number) -> bool:
        """Return whether a number that is not whole is written with a point: 0.75 and 9.81 are, 2/5
        and 1/3 are not.
        """
        below, longest = value.denominator, max(value.denominator, abs(value.numerator))
        if longest > _LONGEST or _HALVES % below == 0:
            return True
        return longest > 9 and 10**20 % below == 0

    def fraction(self, number: Number, pieces: list[Piece]) -> Expr:
        """A number times powers, those with negative exponents below the line."""
        pieces = self._join_roots(sorted(pieces, key=lambda piece: piece[:2]))
        above = [self.raise_to(node, exponent) for _, _, node, exponent in pieces if exponent > 0]
        below = [self.raise_to(node, -exponent) for _, _, node, exponent in pieces if exponent < 0]
        if number.denominator != 1:
            size = number if number > 0 else -number
            is_decimal = self._is_decimal(number) and (
                size.numerator != 1 or size.denominator > _LONGEST
            )
            if not is_decimal or (
                below and _HALVES % size.denominator == 0 and size.numerator <= _LONGEST
            ):
                below.insert(0, self.graph.constant(number.denominator))
                number = number.numerator
        return quotient_of(number, self.number, above, below)

    def _join_roots(self, pieces: list[Piece]) -> list[Piece]:
        """sqrt(pi)*sqrt(2) as sqrt(2*pi), in the place of the first one."""
        for exponent in (_HALF, -_HALF):
            numbers = [p for p in pieces if p[2].is_constant and not p[2].shape]
            roots = [p for p in numbers if p[3] == exponent]
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


# -- Quotients of functions as the functions that they are: sin(x)/cos(x) as tan(x), 1/cos(x) as
# sec(x).


def ratios(
    algebra: Algebra, plain: Mapping[int, Number], alone: bool, cost: Callable[[Value], int]
) -> tuple[list[tuple[Op, Value, Number, int]], list[int]]:
    """Functions, their operands, exponents and places for powers of such functions, and the bases
    that they stand for.

    alone  whether nothing else stands above the line, so that 1/cos(x) needs a 1
    cost   the operations of an operand
    """
    bases = algebra.bases
    pairs: dict[Any, dict[Op, int]] = {}
    for number in plain:
        base = bases[number]
        if base.op is not None and family_of(base.op):
            pairs.setdefault(base.operands[0], {})[base.op] = number
    pieces: list[tuple[Op, Value, Number, int]] = []
    used: list[int] = []
    for operand, numbers in pairs.items():
        sin, cos, tan, cot, csc, sec, _ = family_of(next(iter(numbers)))
        s, c = plain.get(numbers.get(sin, -1), 0), plain.get(numbers.get(cos, -1), 0)
        if s >= 0 and c >= 0:
            continue
        argument = cost(operand)
        _, _, t = min(
            (_weight(s - t, c + t, t, argument), i, t)
            for i, t in enumerate(dict.fromkeys((0, s, -c)))
        )
        s, c = s - t, c + t
        lonely = alone and s <= 0 and c <= 0
        if not t and not lonely:
            continue
        names: list[tuple[Op, Number]] = []
        if t:
            names.append((tan, t) if t > 0 else (cot, -t))
        for function, exponent, reciprocal in ((sin, s, csc), (cos, c, sec)):
            if exponent:
                names.append((reciprocal, -exponent) if exponent < 0 else (function, exponent))
        place = min(numbers.values())
        pieces += [
            (function, operand, exponent, place + i) for i, (function, exponent) in enumerate(names)
        ]
        used += numbers.values()
    return pieces, used


def _weight(s: Number, c: Number, t: Number, argument: int) -> int:
    return sum(2 + argument + (abs(e) != 1) for e in (s, c, t) if e)


def double_angle(algebra: Algebra, value: Value) -> Value | None:
    """2*sin(x)*cos(x) as sin(2*x)."""
    bases = algebra.bases
    powers = dict(value[1])
    for number, exponent in value[1]:
        op = bases[number].op
        family = family_of(op)
        if op is None or op not in family[:1] or exponent < 1 or exponent.denominator != 1:
            continue
        operand = bases[number].operands[0]
        assert operand is not None
        x = Quantity(algebra, operand)
        whole: Value = (2 * op(x) * family[1](x)).value
        if all(powers.get(b) == exponent * e for b, e in whole[1]):
            twice = algebra.function(op, [algebra.times((2, ()), operand)], {})
            rest = (value[0], product(value[1], power(whole[1], -exponent)))
            return algebra.times(
                rest,
                algebra.raise_to((1 / Fraction(whole[0]), ()), exponent),
                algebra.raise_to(twice, exponent),
            )
    return None
