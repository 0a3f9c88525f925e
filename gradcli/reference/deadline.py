"""Time limits that a user gives, checked between the steps of a check.

There, all data of ours and of libraries is whole. Nothing is ever interrupted: there is no timer
and no signal. Only results that somebody limited with ``timeout`` or ``--timeout`` depend on a
clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

REACHED = "the time limit that was given (--timeout) was reached"
_LONGEST = 1e8  # seconds; a longer time is no limit

T = TypeVar("T")


class OutOfTime(BaseException):
    """A time limit has passed.

    Not an Exception, so that nothing that goes on without a source of truth swallows it on the way.
    """


class _Limits(threading.local):
    """The limits that a thread is in, the outermost first."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, OutOfTime]] = []


_limits = _Limits()


def still_in_time() -> None:
    """Raise the OutOfTime of a limit of this thread that has passed.

    Whatever may take long calls it between its steps, where nothing would be left half done.
    Without a limit it costs nothing to speak of.
    """
    if _limits.ends:
        now = time.monotonic()
        for end, own in _limits.ends:
            if now >= end:
                raise own


def in_time(things: Iterable[T]) -> Iterator[T]:
    """Yield the things one by one, with a look at the time before each of them."""
    for thing in things:
        still_in_time()
        yield thing


@contextmanager
def deadline(seconds: float | None) -> Iterator[OutOfTime]:
    """Limit the block to some seconds.

    After them `still_in_time` raises the given OutOfTime in it; None is no limit. Of nested limits
    the one that ends first counts, and the exception of this limit is told from another's by
    identity. Limits belong to a thread: one thread does not hurry the others.
    """
    own, ends = OutOfTime(), _limits.ends
    if seconds is not None and seconds < _LONGEST:
        ends.append((time.monotonic() + seconds, own))
    try:
        yield own
    finally:
        ends[:] = [limit for limit in ends if limit[1] is not own]


# -- What a cross-check may take, counted in work and never in seconds: the same input gets the
# same verdict on any machine.


LARGEST = 250_000  # most scalar operations in one pass of the composed reference
_WORK = 2_000_000  # most scalar operations in all passes; some thirty microseconds each


class Undecided(Exception):
    """No source of truth within the limits."""


@dataclass
class Budget:
    """Scalar operations in multi-precision that are left."""

    left: int = _WORK

    def allows(self, work: int) -> bool:
        return work <= self.left

    def spend(self, work: int) -> None:
        """Take work from the budget, or raise Undecided if not so much is left."""
        if work > self.left:
            raise Undecided(f"the limit of {_WORK:,} scalar operations of the cross-check")
        self.left -= work
