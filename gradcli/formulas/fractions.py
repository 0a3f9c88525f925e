"""Products as fractions: numbers, what stands above and below the line, and how many operations
that takes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from gradcli.formulas.powers import Number
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.elementwise import arithmetic, exponential

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
            reachable([root])
            if any(o is not None and o not in costs for o in root.operands)
            else [root]
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
                    [costs[o] for o in node.operands if o is not None]
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
        """Return whether a number that is not whole is written with a point."""
        below = value.denominator
        if below > _LONGEST or max(value.numerator, -value.numerator) > _LONGEST:
            return True
        return below & (below - 1) == 0 and below <= 1024

    def fraction(self, number: Number, pieces: list[Piece]) -> Expr:
        """A number times powers, those with negative exponents below the line."""
        pieces = sorted(pieces, key=lambda piece: piece[:2])
        above = [self.raise_to(node, exponent) for _, _, node, exponent in pieces if exponent > 0]
        below = [self.raise_to(node, -exponent) for _, _, node, exponent in pieces if exponent < 0]
        if number.denominator != 1:
            size = number if number > 0 else -number
            is_decimal = self._is_decimal(number) and (
                size.numerator != 1 or size.denominator > 1024
            )
            if not is_decimal or (
                below and size.denominator <= _LONGEST and size.numerator <= _LONGEST
            ):
                below.insert(0, self.graph.constant(number.denominator))
                number = number.numerator
        return quotient_of(number, self.number, above, below)

    def raise_to(self, node: Expr, exponent: Number) -> Expr:
        if exponent == 1:
            return node
        if exponent == _HALF:
            return self.graph.apply(exponential.sqrt, (node,))
        return self.graph.apply(exponential.pow_, (node, self.number(exponent)))
