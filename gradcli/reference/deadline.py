"""Time limits that a user gives: looked at between the steps of a check, where everything of ours
and of libraries is whole.

Nothing is ever interrupted: no timer, no signal. Only what somebody asked for with ``timeout`` or
``--timeout`` depends on a clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

REACHED = "the time limit that was given (--timeout) was reached"
_LONGEST = 1e8  # seconds; beyond, there is no limit

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
    """The things one by one, with a look at the time before each of them."""
    for thing in things:
        still_in_time()
        yield thing


@contextmanager
def deadline(seconds: float | None) -> Iterator[OutOfTime]:
    """A limit of some seconds on the block: `still_in_time` in it raises the given OutOfTime after
    them; None is no limit.

    Of nested limits the one that ends first counts; the exception of this limit is told from
    another's by identity. Limits are those of a thread: what is in one does not hurry the others.
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


LARGEST = 250_000  # scalar operations of one pass of the composed reference
_WORK = 2_000_000  # scalar operations of all passes; some thirty microseconds each


class Undecided(Exception):
    """No source of truth within the limits."""


@dataclass
class Budget:
    """Scalar operations in multi-precision that are left."""

    left: int = _WORK

    def allows(self, work: int) -> bool:
        return work <= self.left

    def spend(self, work: int) -> None:
        """Raises Undecided where so much is not left."""
        if work > self.left:
            raise Undecided(f"the limit of {_WORK:,} scalar operations of the cross-check")
        self.left -= work
