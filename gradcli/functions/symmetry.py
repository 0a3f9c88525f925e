"""Functions of symmetric matrices that read one triangle of them, as NumPy's cholesky and eigh do, or refuse all others.

By the entries of the other triangle such a function has no slope, and by those that it reads twice what a function of a symmetric
matrix has. Its gradient is right if it is so along symmetric directions, in which the matrix stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from gradcli.functions.arguments import Make
from gradcli.functions.subject import OUTSIDE, Subject

TOLD = "right along symmetric directions: the function is one of symmetric matrices '{}'"
_MOVE = 1e-3


def is_of_symmetric(subject: Subject, name: str) -> bool:
    """Whether an argument is a symmetric matrix of which the function ignores the entries above or below the diagonal, or demands it."""
    matrix = subject.floats[name]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2 or not np.array_equal(matrix, matrix.T):
        return False
    noise = _MOVE * float(np.abs(matrix).max(initial=1.0)) * np.random.default_rng(11).standard_normal(matrix.shape)
    one, other = (_after(subject, {name: matrix + part(noise)}) for part in _TRIANGLES)
    if one is other is Reaction.NONE:
        return _after(subject, {name: matrix + symmetrized(noise)}) is not Reaction.NONE
    return (one is Reaction.SAME) is not (other is Reaction.SAME)


def symmetrized(slopes: np.ndarray) -> np.ndarray:
    """The slopes along symmetric directions, shared evenly by both entries."""
    return np.asarray((slopes + slopes.T) / 2)


def symmetrizing(name: str, make: Make) -> Make:
    """Makes of a matrix its symmetric part before the function sees it."""

    def made(which: str, value: Any, numbers: Any) -> Any:
        found = make(which, value, numbers)
        return (found + found.T) / 2 if which == name else found

    return made


_TRIANGLES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (lambda x: np.triu(x, 1), lambda x: np.tril(x, -1))


class Reaction(Enum):
    """What becomes of a function's value."""

    SAME, OTHER, NONE = range(3)


def _after(subject: Subject, floats: dict[str, np.ndarray]) -> Reaction:
    try:
        found = subject.numbers(floats)
    except OUTSIDE:
        return Reaction.NONE
    same = all(np.array_equal(one, other) for one, other in zip(found, subject.value, strict=True))
    return Reaction.SAME if same else Reaction.OTHER
