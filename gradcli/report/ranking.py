"""Worst first, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappush, heappushpop
from typing import Generic, TypeVar

from gradcli.report.outcomes import ERROR, FAILED, XPASSED, Outcome
from gradcli.report.verdicts import Verdict

T = TypeVar("T")


def gravity(outcome: Outcome) -> int:
    """Failures by their verdict, then what could not be evaluated, what passes against expectation, what was not reached, and the rest."""
    if not outcome.reached:
        return 1
    if outcome.status == FAILED:
        asserted = outcome.record.asserted is not None and outcome.record.asserted.holds is False
        verdict = Verdict.MISMATCH if asserted else outcome.verdict or Verdict.SKIPPED
        return 4 + verdict.gravity
    return {ERROR: 3, XPASSED: 2}.get(outcome.status, 0)


class Worst(Generic[T]):
    """The gravest of many findings, at most ``limit``; iterated worst first, and of the equally grave the earliest first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.seen = 0
        self._heap: list[tuple[int, int, T]] = []  # the mildest and latest on top

    def add(self, outcome: Outcome, make: Callable[[Outcome], T]) -> None:
        """Keep what ``make`` makes of the outcome, unless enough graver ones are known."""
        grave, place = gravity(outcome), -self.seen
        if len(self._heap) < self.limit:
            heappush(self._heap, (grave, place, make(outcome)))
        elif (grave, place) > self._heap[0][:2]:
            heappushpop(self._heap, (grave, place, make(outcome)))
        self.seen += 1  # at last: one of which nothing can be made is not among them

    @property
    def left_out(self) -> int:
        return self.seen - len(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[T]:
        return (item for _, _, item in sorted(self._heap, key=lambda entry: entry[:2], reverse=True))
