"""Differences from one precision to the next: what stands at two of them is a mismatch, whatever else is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.check.comparison import Comparison
from gradcli.report.verdicts import Verdict

_STABLE, _STABLE_LIMIT = 30, 12  # digits that stay; of limits from both sides
_ALL_FLOATS = 400  # digits at which nothing that floats can tell from zero cancels
_FAR = 40  # digits by which a number may be smaller than the largest, and not be what cancellation left

Seen = dict[int, tuple[Any, Any]]  # of the entries that differ: the reference and the engine without rounding


class Trail:
    """The entries that differed at the precisions so far."""

    def __init__(self) -> None:
        self._before: list[Seen] = []
        self._now: list[Seen] = []
        self._digits = 0

    def ended(self, digits: int, comparisons: Sequence[Comparison]) -> bool:
        """Whether more digits would tell nothing new: no entry differs, or all that do have stayed the same."""
        self._digits = digits
        self._before = self._now or [{} for _ in comparisons]
        self._now = [
            {i: (c.reference[i], c.engine[i]) for i, verdict in enumerate(c.verdicts) if verdict is Verdict.MISMATCH} for c in comparisons
        ]
        return (digits >= _ALL_FLOATS and self._all_stand(comparisons)) or not any(self._now)

    def close(self, comparisons: Sequence[Comparison]) -> None:
        """What differs, and was not seen to stay so, is undetermined."""
        for place, comparison in enumerate(comparisons):
            for i in self._now[place]:
                if not self._stands(place, comparison, i):
                    comparison.verdicts[i] = Verdict.UNDETERMINED
                    comparison.reasons[i] = f"a difference that was seen at {self._digits} digits only: the limit of the cross-check"

    def _all_stand(self, comparisons: Sequence[Comparison]) -> bool:
        return all(self._stands(place, c, i) for place, c in enumerate(comparisons) for i in self._now[place])

    def _stands(self, place: int, comparison: Comparison, i: int) -> bool:
        before = self._before[place].get(i)
        if before is None:
            return False
        m, now = comparison.m, self._now[place][i]
        digits = _STABLE if i not in comparison.sides else _STABLE_LIMIT
        same = all(_same(m, x, y, digits) for x, y in zip(before, now, strict=True))
        sizes = [abs(v) for v in now if not isinstance(v, bool) and m.isfinite(v)]
        small = not any(size > m.mpf(10) ** -_FAR * (1 + comparison.largest) for size in sizes)
        return same and (self._digits >= _ALL_FLOATS or not small)


def _same(m: Any, x: Any, y: Any, digits: int) -> bool:
    if isinstance(x, bool) or not m.isfinite(x) or not m.isfinite(y):
        return bool(x == y) or (x != x and y != y)
    return bool(abs(x - y) <= m.mpf(10) ** -digits * abs(y))
