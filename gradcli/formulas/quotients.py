"""A number, factors above the line and factors below it, as one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradcli.graph.nodes import Expr

N = TypeVar("N")


def quotient_of(top: N, number: Callable[[N], Expr], above: list[Expr], below: list[Expr]) -> Expr:
    """``top*above/below`` from left to right; 1 is not written where there is a factor, and -1 is a minus."""
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
