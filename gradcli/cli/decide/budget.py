"""``--budget SECONDS``: the time of a whole run. What it leaves no time for is said case by case, and nothing of it passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from gradcli.reference.deadline import OutOfTime, deadline

T = TypeVar("T")


class Budget:
    """The time that is left of a run, which begins now; None is all the time there is."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end: float | None = None
        self.leave(seconds)

    def leave(self, seconds: float | None) -> None:
        """So much is left from now on: in another process, what was left when it was asked."""
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def reason(self) -> str:
        """Why a case was not reached."""
        return f"not reached: the time of the run (--budget {self.seconds:g}) was spent"

    def within(self, decide: Callable[[], T], otherwise: Callable[[str], T]) -> T:
        """What is decided in the time that is left; else, what there is to say without deciding."""
        left = self.left
        if left is None:
            return decide()
        if left > 0:
            try:
                with deadline(left) as own:
                    return decide()
            except OutOfTime as late:
                if late is not own:
                    raise
        return otherwise(self.reason)
