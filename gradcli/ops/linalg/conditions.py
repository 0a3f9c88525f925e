"""What matrices must be where a function of them is defined: as conditions of domains, on arrays with leading batch axes."""

from __future__ import annotations

from typing import Any

import numpy as np

_APART = 1e-8  # of the largest, by which values differ that are not repeated


def is_regular(x: Any, **_: Any) -> bool:
    return bool(np.all(np.linalg.matrix_rank(x) == np.shape(x)[-1]))


def is_symmetric(x: Any, **_: Any) -> bool:
    return bool(np.array_equal(x, np.swapaxes(x, -1, -2)))


def is_positive_definite(x: Any, **_: Any) -> bool:
    return is_symmetric(x) and bool(np.all(np.linalg.eigvalsh(x) > 0))


def has_positive_determinant(x: Any, **_: Any) -> bool:
    return bool(np.all(np.linalg.det(x) > 0))


def has_nonzero_diagonal(x: Any, **_: Any) -> bool:
    return bool(np.all(np.diagonal(x, axis1=-2, axis2=-1) != 0))


def has_independent_columns(x: Any, **_: Any) -> bool:
    """As many of the first columns as there are rows at most."""
    first = np.asarray(x)[..., : np.shape(x)[-2]]
    return bool(np.all(np.linalg.matrix_rank(first) == first.shape[-1]))


def has_independent_columns_but_one(x: Any, **_: Any) -> bool:
    """Those that are eliminated: of a square or wide matrix, one fewer than it has rows."""
    rows, columns = np.shape(x)[-2:]
    first = np.asarray(x)[..., : min(columns, rows - 1)] if columns >= rows else np.asarray(x)
    return bool(np.all(np.linalg.matrix_rank(first) == first.shape[-1])) if first.size else True


def _apart(values: Any) -> bool:
    largest = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    return bool(np.all(np.abs(np.diff(np.sort(values, axis=-1), axis=-1)) > _APART * largest))


def is_apart(x: Any, **_: Any) -> bool:
    """A symmetric matrix without repeated eigenvalues."""
    return is_symmetric(x) and _apart(np.linalg.eigvalsh(x))


def has_full_rank_apart(x: Any, **_: Any) -> bool:
    """Of full rank without repeated singular values."""
    values = np.linalg.svd(x, compute_uv=False)
    return _apart(values) and bool(np.all(values > _APART * np.max(values, axis=-1, keepdims=True, initial=0.0)))
