"""Boxes: their sides, as shares of those of the whole box, and their halves."""

from __future__ import annotations

from collections.abc import Iterable

from flint import arb

from gradcli.reference.ranges.intervals import Interval, middle

Box = tuple[Interval, ...]


class Sides:
    """The sides of a box that matter to a cell: those of its variables that are not points."""

    def __init__(self, box: Box, leaves: Iterable[int]) -> None:
        self.places = [k for k in sorted(leaves) if box[k][0] < box[k][1]]
        self.whole = {k: box[k][1] - box[k][0] for k in self.places}

    def share(self, box: Box, k: int) -> float:
        return float(((box[k][1] - box[k][0]) / self.whole[k]).mid())

    def is_below(self, box: Box, share: float) -> bool:
        """Whether all sides are that small."""
        return all(box[k][1] - box[k][0] <= self.whole[k] * share for k in self.places)

    def widest(self, box: Box) -> int:
        return max(self.places, key=lambda k: self.share(box, k))

    def halves(self, box: Box, k: int | None = None) -> list[Box]:
        """A box cut in two, across its widest side or another."""
        k = self.widest(box) if k is None else k
        a, b = box[k]
        m = middle((a, b))
        return [with_side(box, k, half) for half in ((a, m), (m, b))]


def with_side(box: Box, k: int, side: Interval) -> Box:
    """A box with another side."""
    return (*box[:k], side, *box[k + 1 :])


def round_numbers(x: Interval) -> list[float]:
    """The roundest floats in an interval, the roundest first; if there are none, the one in its middle."""
    m = float(middle(x).mid()) if x[0] < x[1] else float(x[0])
    found = [p for digits in range(17) if x[0] <= arb(p := round(m, digits)) <= x[1]]
    return found or [m]


def thin(point: Iterable[float]) -> Box:
    """A point as a box."""
    return tuple((arb(p), arb(p)) for p in point)
