"""The relations of an assert between computed floats, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.graph.interpret import forward
from gradcli.language.run import Lowered, Sides
from gradcli.language.scope import Scope
from gradcli.report.records import Asserted
from gradcli.report.verdicts import Worst

_ROUNDING = 64  # times epsilon: how far two sides that are said to be equal may be apart


def rounding_of(scope: Scope) -> float:
    """How far the sides of an equality may be apart, relative to their size, where it has no tolerance of its own."""
    return _ROUNDING * float(np.finfo(scope.precision).eps)


def compared(scope: Scope, lowered: Lowered) -> list[Asserted]:
    """What becomes of each relation of an assert at the bound values.

    ``==`` holds to rounding. The others compare floats as they are, and none of them holds of NaN. A tolerance is absolute:
    it widens ``==``, ``<`` and the like, and ``!=`` asks for more than it between the sides.
    """
    nodes = [side for sides in lowered.relations for side in (sides.left, sides.right)]
    values = forward(nodes, scope.values, scope.precision)
    several = len(lowered.relations) > 1
    return [_compared(scope, lowered, sides, values, several) for sides in lowered.relations]


def _compared(scope: Scope, lowered: Lowered, sides: Sides, values: Any, several: bool) -> Asserted:
    left, right = np.asarray(values[sides.left], float), np.asarray(values[sides.right], float)
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError:
        error = ShapeError(f"an assert of shapes {left.shape} and {right.shape}, which do not broadcast")
        raise error.at(sides.relation.span, lowered.statement.source) from None
    fine, off = holds(sides.relation.symbol, left, right, lowered.within, rounding_of(scope))
    worst = None
    if not fine.all():
        place = np.unravel_index(int(np.argmax(np.where(fine, -1.0, np.where(np.isnan(off), np.inf, off)))), off.shape)
        worst = Worst(tuple(int(i) for i in place), float(left[place]), float(right[place]))
    source, span = lowered.statement.source, sides.relation.span
    return Asserted(
        bool(fine.all()), left[()], right[()], float(lowered.within or 0.0), worst, sides.relation.symbol,
        source.text[span.start : span.end] if several else "",
    )  # fmt: skip


def holds(symbol: str, left: np.ndarray, right: np.ndarray, within: float | None, rounding: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a relation holds of floats, and how far the sides are apart."""
    room = within or 0.0
    with np.errstate(all="ignore"):
        off = np.abs(left - right)
        if symbol == "==":
            allowed = room if within is not None else rounding * np.maximum(np.abs(left), np.abs(right))
            return (off <= allowed) | (left == right) | (np.isnan(left) & np.isnan(right)), off
        if symbol == "!=":
            return (off > room) & (left != right), off
        low, high = (left, right) if symbol in ("<", "<=") else (right, left)
        fine = low < high + room if len(symbol) == 1 else low <= high + room
    return fine, off
