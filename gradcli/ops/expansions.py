"""Calls of functions made of operations, written down while they run: what a result was expanded from."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, repr=False, slots=True)
class Expansion:
    """One call: the function's name, what it was given (in any nesting), what it gave, and the calls in its body in their order."""

    name: str
    given: Any
    result: Any
    inner: list[Expansion] = field(default_factory=list)


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
