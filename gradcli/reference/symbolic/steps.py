"""A limit on what sympy may do, counted in calls of Python's functions: the same on a busy and on an idle machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TooManySteps(BaseException):
    """The limit was reached. Not an Exception, so that no library swallows it on the way."""


@contextmanager
def steps(limit: int) -> Iterator[None]:
    """Raise TooManySteps in the block after so many calls."""
    left = limit

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call":
            left -= 1
            if left < 0:
                sys.setprofile(before)
                raise TooManySteps

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
    if left < 0:
        raise TooManySteps  # it was raised in what swallows it: a generator that nobody wants any more
