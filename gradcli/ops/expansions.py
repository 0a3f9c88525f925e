"""Calls of functions made of operations, written down while they run: what a result was expanded from."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any


class Expansion:
    """One call: the function's name, what it was given (in any nesting), what it gave, and the calls in its body in their order."""

    __slots__ = ("given", "inner", "name", "result")

    def __init__(self, name: str, given: Any, result: Any, inner: list[Expansion]) -> None:
        self.name, self.given, self.result, self.inner = name, given, result, inner


# Where the call under way writes down those in its body; None, as nearly always, where nobody asks.
UNDER_WAY: ContextVar[list[Expansion] | None] = ContextVar("UNDER_WAY", default=None)


def expanded(name: str, given: Any, function: Callable[[], Any]) -> Expansion:
    """A call of a function, written down with all calls of composites that it makes."""
    inner: list[Expansion] = []
    before = UNDER_WAY.set(inner)
    try:
        result = function()
    finally:
        UNDER_WAY.reset(before)
    return Expansion(name, given, result, inner)


def calls_in(function: Callable[[], Any]) -> list[Expansion]:
    """The calls of composites that a function makes."""
    calls: list[Expansion] = []
    before = UNDER_WAY.set(calls)
    try:
        function()
    finally:
        UNDER_WAY.reset(before)
    return calls
