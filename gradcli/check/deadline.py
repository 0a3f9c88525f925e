"""Time limits that hold inside any Python code: a timer that raises in the main thread."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OutOfTime(Exception):
    """The time limit has passed."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block after some seconds; without timers (other threads, Windows) there is no limit."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not usable:
        yield
        return
    if seconds <= 0:
        raise OutOfTime
    started = time.monotonic()

    def ring(signum: int, frame: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, outer - (time.monotonic() - started)))
