"""Functions of symmetric matrices that read one triangle of them: as NumPy's cholesky and eigh do.

By the entries of the other triangle such a function has no slope, and by those that it reads twice what a function of a symmetric
matrix has. Its gradient is right if it is so along symmetric directions, in which the matrix stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.functions.arguments import Make
from gradcli.functions.subject import OUTSIDE, Subject

TOLD = "right along symmetric directions: the function reads one triangle of '{}'"
_MOVE = 1e-3


def reads_one_triangle(subject: Subject, name: str) -> bool:
    """Whether an argument is a symmetric matrix of which the function ignores the entries above or below the diagonal."""
    matrix = subject.floats[name]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2 or not np.array_equal(matrix, matrix.T):
        return False
    noise = _MOVE * float(np.abs(matrix).max(initial=1.0)) * np.random.default_rng(11).standard_normal(matrix.shape)
    return sum(_same(subject, {name: matrix + part(noise)}) for part in _TRIANGLES) == 1


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


def _same(subject: Subject, floats: dict[str, np.ndarray]) -> bool:
    try:
        found = subject.numbers(floats)
    except OUTSIDE:
        return False
    return all(np.array_equal(one, other) for one, other in zip(found, subject.value, strict=True))
