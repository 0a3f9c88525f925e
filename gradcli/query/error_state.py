"""NumPy's error state, which is the process's: what is not finite is told by results and verdicts, not by its warnings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def quiet(function: Callable[P, R]) -> Callable[P, R]:
    """A function that does the same whatever state was set, and leaves it as it was."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        import numpy as np

        with np.errstate(all="ignore"):
            return function(*arguments, **named)

    return called
