"""Time limits that hold inside any Python code: a timer that raises in the main thread."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN = 0.05  # seconds after which a limit that somebody swallowed rings again
_LONGEST = 1e8  # seconds; beyond, there is no limit


class OutOfTime(BaseException):
    """A time limit has passed. Not an Exception, so that no library swallows it on the way."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[OutOfTime]:
    """Raise the given OutOfTime in the block after some seconds; nested limits keep the outer one.

    The exception of this limit is told from an outer one's by identity. Without timers (other threads, Windows)
    there is no limit.
    """
    own = OutOfTime()
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not usable or not seconds < _LONGEST:
        yield own
        return
    outer, _ = signal.getitimer(signal.ITIMER_REAL)
    if outer and outer <= seconds:
        yield own  # the outer limit comes first
        return
    started = time.monotonic()

    def ring(signum: int, frame: Any) -> None:
        raise own

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _AGAIN)
        yield own
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)
            if outer:
                signal.setitimer(signal.ITIMER_REAL, max(1e-3, outer - (time.monotonic() - started)), _AGAIN)


def usable_limit(seconds: float | None) -> bool:
    """Whether a number of seconds can be a time limit."""
    return seconds is None or (not math.isnan(seconds) and seconds > 0)
