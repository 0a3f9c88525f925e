"""Products as fractions: numbers, what stands above and below the line, and how many operations that takes."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

from gradcli.formulas.polynomials import Number
from gradcli.formulas.quotients import quotient_of
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.elementwise import arithmetic, exponential

Piece = tuple[int, tuple[str, int], Expr, Number]  # rank and place among the factors, what is raised, the exponent

_LONGEST = 10**6  # of the numbers above and below in a fraction that is written out
_HALF = Fraction(1, 2)
_LARGEST = int(sys.float_info.max)


def _rounded(value: Any) -> float:
    """Return the float that is nearest to a number; infinity for what is too large, as floats have it."""
    return math.copysign(math.inf, value) if abs(value) > _LARGEST else float(value)


class Fractions:
    """Builds fractions in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.decimals = False  # whether numbers with a point were written
        self._costs: dict[Expr, int] = {}

    def cost(self, root: Expr) -> int:
        """The operations in a formula as it is printed: each sign, operator and call."""
        costs = self._costs
        if root in costs:
            return costs[root]
        for node in reachable([root]) if any(o is not None and o not in costs for o in root.operands) else [root]:
            if node in costs:
                continue
            if node.op is None:
                negative = node.is_constant and isinstance(node.payload, (int, float)) and node.payload < 0
                costs[node] = int(negative)
            else:
                costs[node] = (not node.op.text.transparent) + sum([costs[o] for o in node.operands if o is not None])
        return costs[root]

    def number(self, value: Number) -> Expr:
        if value.denominator == 1:
            return self.graph.constant(int(value) if -(10**15) < value < 10**15 else _rounded(value))
        if self._is_decimal(value):
            return self.graph.constant(_rounded(value))
        assert isinstance(value, Fraction)
        return self.graph.apply(arithmetic.div, (value.numerator, value.denominator))

    def _is_decimal(self, value: Number) -> bool:
        """Whether a number that is not whole is written with a point."""
        below = value.denominator
        if below > _LONGEST or max(value.numerator, -value.numerator) > _LONGEST:
            return True
        if below & (below - 1) == 0 and below <= 1024:
            return True
        if not self.decimals:
            return False
        while below % 2 == 0:
            below //= 2
        while below % 5 == 0:
            below //= 5
        return below == 1

    def fraction(self, number: Number, pieces: list[Piece]) -> Expr:
        """A number times powers, those with negative exponents below the line."""
        pieces = sorted(pieces, key=lambda piece: piece[:2])
        above = [self.raised(node, exponent) for _, _, node, exponent in pieces if exponent > 0]
        below = [self.raised(node, -exponent) for _, _, node, exponent in pieces if exponent < 0]
        if number.denominator != 1:
            size = number if number > 0 else -number
            is_decimal = self._is_decimal(number) and (size.numerator != 1 or size.denominator > 1024)
            if not is_decimal or (below and not self.decimals and size.denominator <= _LONGEST and size.numerator <= _LONGEST):
                below.insert(0, self.graph.constant(number.denominator))
                number = number.numerator
        return quotient_of(number, self.number, above, below)

    def raised(self, node: Expr, exponent: Number) -> Expr:
        if exponent == 1:
            return node
        if exponent == _HALF:
            return self.graph.apply(exponential.sqrt, (node,))
        return self.graph.apply(exponential.pow_, (node, self.number(exponent)))
