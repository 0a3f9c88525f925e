"""Time limits that a user gives: a timer that raises in the main thread, and a look at the clock between the steps of a check anywhere.

Only what somebody asked for with ``timeout`` or ``--timeout`` depends on a clock; without it no timer is touched.
"""

from __future__ import annotations

import gc
import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_AGAIN = 0.05  # seconds after which a limit that somebody swallowed rings again
_LONGEST = 1e8  # seconds; beyond, there is no limit
_RIGHT_AFTER = 1e-4
_SOON = 1e-6  # the shortest that a timer can be set to


class OutOfTime(BaseException):
    """A time limit has passed. Not an Exception, so that no library swallows it on the way."""


class _Limits(threading.local):
    """The limits that a thread is in, the outermost first."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, OutOfTime]] = []


_limits = _Limits()


def check() -> None:
    """Raise the OutOfTime of a limit of this thread that has passed. Loops of a check call it, so that limits hold without timers, too."""
    if _limits.ends:
        _raise_passed(time.monotonic())


def _raise_passed(now: float) -> None:
    for end, own in _limits.ends:
        if now >= end:
            raise own


class deadline:
    """Raise the given OutOfTime in the block after some seconds; None is no limit. Of nested limits the one that ends first counts.

    The exception of this limit is told from another's by identity. In the main thread a timer interrupts any Python code; in other
    threads, and without timers (Windows), `check` does at the next step. A timer and a handler of the user's keep working: they ring
    in time inside of the block, and are as if nothing had been after it.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds if seconds is not None and seconds < _LONGEST else None
        self.own = OutOfTime()
        self.alarm: _Alarm | None = None

    def __enter__(self) -> OutOfTime:
        if self.seconds is not None:
            first = not _limits.ends
            _limits.ends.append((time.monotonic() + self.seconds, self.own))
            if first and _Alarm.usable():
                self.alarm = _Alarm()
                self.alarm.begin()
            elif _ringing and threading.current_thread() is threading.main_thread():
                _ringing[0].set()
        return self.own

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self.seconds is not None:
            try:
                _limits.ends[:] = [limit for limit in _limits.ends if limit[1] is not self.own]
            finally:
                if self.alarm is not None:
                    self.alarm.end()


_ringing: list[_Alarm] = []  # that of the main thread, while it is in a limit


class _Alarm:
    """The timer of the process, shared by our limits and whoever had set it before."""

    def __init__(self) -> None:
        self.handler: Any = None  # the user's
        self.due: float | None = None  # when the user's timer rings next
        self.interval = 0.0
        self.unraisable: Callable[[Any], Any] = sys.unraisablehook

    @staticmethod
    def usable() -> bool:
        main = threading.current_thread() is threading.main_thread()
        if not main or not hasattr(signal, "setitimer"):
            return False
        return signal.getsignal(signal.SIGALRM) is not None  # None: a handler that is not Python's

    def begin(self) -> None:
        left, self.interval = signal.getitimer(signal.ITIMER_REAL)
        self.due = time.monotonic() + left if left else None
        self.unraisable, sys.unraisablehook = sys.unraisablehook, self.not_lost
        self.handler = signal.signal(signal.SIGALRM, self.ring)
        _ringing[:] = [self]
        self.set()

    def set(self) -> None:
        """Ring when the first of all is due; again soon, should that be swallowed."""
        ends = [end for end, _ in _limits.ends] + ([] if self.due is None else [self.due])
        if ends:
            signal.setitimer(signal.ITIMER_REAL, max(_SOON, min(ends) - time.monotonic()), _AGAIN)

    def end(self) -> None:
        _ringing.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        if sys.unraisablehook == self.not_lost:
            sys.unraisablehook = self.unraisable
        if self.due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(_SOON, self.due - time.monotonic()), self.interval)

    def ring(self, signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.due is not None and now >= self.due:
            self.users_turn(signum, frame)
        if self not in _ringing:
            return
        if frame is not None and frame.f_globals is globals():  # not out of our own entering and leaving, but right after it
            signal.setitimer(signal.ITIMER_REAL, _RIGHT_AFTER, _AGAIN)
        elif not _is_cleaning_up(frame):
            self.set_again(now)
            _raise_passed(now)

    def set_again(self, now: float) -> None:
        """Nothing has passed yet where the timer was early, or the user's: it is set anew. Else it rings again by itself."""
        if all(end > now for end, _ in _limits.ends):
            self.set()

    def users_turn(self, signum: int, frame: FrameType | None) -> None:
        """What the user's own timer does, and what its handler makes of the timer and of itself."""
        self.due = time.monotonic() + self.interval if self.interval else None
        if not callable(self.handler):
            if self.handler == signal.SIG_DFL:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.raise_signal(signal.SIGALRM)
            return
        signal.setitimer(signal.ITIMER_REAL, self.interval, self.interval)
        signal.signal(signal.SIGALRM, self.handler)
        try:
            self.handler(signum, frame)
        finally:
            left, self.interval = signal.getitimer(signal.ITIMER_REAL)
            self.due = time.monotonic() + left if left else None
            self.handler = signal.signal(signal.SIGALRM, self.ring)
            self.set()

    def not_lost(self, unraisable: Any) -> None:
        """An OutOfTime that fell into a destructor is no news: the timer rings again."""
        if not isinstance(unraisable.exc_value, OutOfTime):
            self.unraisable(unraisable)


def _is_cleaning_up(frame: FrameType | None) -> bool:
    """Whether the interrupted code must not be left: this module's, a destructor's, the garbage collector's callbacks'."""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_globals is globals() or frame.f_code.co_name == "__del__" or frame.f_code in callbacks:
            return True
        frame = frame.f_back
    return False


def usable_limit(seconds: float | None) -> bool:
    """Whether a number of seconds can be a time limit."""
    return seconds is None or (not math.isnan(seconds) and seconds > 0)
