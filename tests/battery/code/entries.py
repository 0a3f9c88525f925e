"""What an entry is: a function, a claim about its gradient, the point, and what must come out. The truth of each is by hand or by a peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Function = Callable[..., Any]
FINE, WRONG, OPEN = ("agree", "kink", "ill-conditioned"), ("mismatch",), ("undetermined",)


class Entry(NamedTuple):
    """A claim about the gradient of a function.

    gradient  what somebody wrote; None where a framework's own is held (``by`` among the options)
    open      why a check may leave it undecided, where it may
    options   those of `check_gradient`: wrt, by, seed, order, rtol
    """

    title: str
    function: Function
    gradient: Function | None
    at: Mapping[str, Any]
    right: bool
    open: str | None
    options: Mapping[str, Any]


def about(
    function: Function, at: Mapping[str, Any], right: Function | None = None, wrong: Mapping[str, Function] | None = None,
    open: str | None = None, **options: Any,
) -> list[Entry]:  # fmt: skip
    """A function with its gradient as it should be, and with the mistakes that people make in it."""
    name = function.__name__
    found = [] if right is None else [Entry(name, function, right, at, True, open, options)]
    return found + [
        Entry(f"{name}: {what}", function, gradient, at, False, open, options)
        for what, gradient in (wrong or {}).items()
    ]


def held(
    by: str, at: Mapping[str, Any], right: Mapping[str, Function] | None = None, wrong: Mapping[str, Function] | None = None,
    open: str | None = None, **options: Any,
) -> list[Entry]:  # fmt: skip
    """Functions whose gradient is their framework's own, with custom rules in it that are right or wrong."""
    return [
        Entry(title, function, None, at, is_right, open, {"by": by, **options})
        for is_right, functions in ((True, right or {}), (False, wrong or {}))
        for title, function in functions.items()
    ]


def some(*shape: int, state: int = 0) -> Any:
    """Numbers of size one, none of which is near to zero."""
    random = np.random.default_rng(state)
    return random.choice([-1.0, 1.0], shape) * random.uniform(0.2, 1.8, shape)


def positive(*shape: int, state: int = 0) -> Any:
    return np.abs(some(*shape, state=state))


def definite(n: int, state: int = 0) -> Any:
    """A symmetric, positive definite matrix."""
    factor = some(n, n, state=state)
    return factor @ factor.T + n * np.eye(n)


def regular(n: int, state: int = 0) -> Any:
    """A matrix that is far from a singular one."""
    return some(n, n, state=state) + 2 * n * np.eye(n)
