"""JAX's primitives of linear algebra, and its special functions, by those of NumPy and SciPy on traced arrays.

Where mathematics leaves a sign open, JAX's own result says which: columns of factors are turned as they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

Rule = Callable[..., Any]


def _triangular_solve(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:  # fmt: skip
    eye = np.eye(np.shape(a)[-1])
    a = np.tril(a) if lower else np.triu(a)
    a = a * (1 - eye) + eye if unit_diagonal else a
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    if left_side:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _lu(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    """Both factors in one matrix, by elimination of the rows in JAX's order."""
    _, pivots, order = _own(primitive, a, **parameters)
    n = np.shape(a)[-1]
    if np.shape(a)[-2] != n:
        raise TypeError("no rule for the factors of a matrix that is not square")
    rest = np.take_along_axis(a, order[..., None].astype(int) + np.zeros(n, int), -2)
    found = np.zeros(1)
    for k in range(n):
        row, column = rest[..., :1, :], rest[..., 1:, :1] / rest[..., :1, :1]
        found = found + _placed(row, n, k, k) + _placed(column, n, k + 1, k)
        rest = rest[..., 1:, 1:] - column * row[..., 1:]
    return [found, pivots, order]


def _placed(part: Any, n: int, above: int, before: int) -> Any:
    """A matrix of zeros with a part in it."""
    rows, columns = np.shape(part)[-2:]
    sides = [(above, n - above - rows), (before, n - before - columns)]
    return np.pad(part, [(0, 0)] * (np.ndim(part) - 2) + sides)


def _eigh(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, _ = _own(primitive, a, **parameters)
    values, vectors = np.linalg.eigh(a, "L" if parameters.get("lower", True) else "U")
    return [vectors * _turned(vectors, theirs), values]


def _svd(primitive: Any, a: Any, compute_uv: bool, full_matrices: bool, **parameters: Any) -> list[Any]:
    if not compute_uv:
        return [np.linalg.svd(a, compute_uv=False)]
    _, theirs, *_ = _own(primitive, a, compute_uv=compute_uv, full_matrices=full_matrices, **parameters)
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    if np.shape(theirs) != np.shape(u):
        raise TypeError("no rule for bases of a whole space")
    sign = _turned(u, theirs)
    return [s, u * sign, vt * np.swapaxes(sign, -1, -2)]


def _qr(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, *_ = _own(primitive, a, **parameters)
    q, r = np.linalg.qr(a)
    if np.shape(theirs) != np.shape(q) or parameters.get("pivoting"):
        raise TypeError("no rule for a whole basis, or one of columns in another order")
    sign = _turned(q, theirs)
    return [q * sign, r * np.swapaxes(sign, -1, -2)]


def _own(primitive: Any, a: Any, **parameters: Any) -> list[np.ndarray]:
    """JAX's own results."""
    return [np.asarray(part) for part in primitive.bind(import_module("jax").numpy.asarray(np.asarray(a)), **parameters)]


def _turned(ours: Any, theirs: np.ndarray) -> np.ndarray:
    """The signs that make columns of ours theirs."""
    return np.where(np.sum(np.asarray(ours) * theirs, axis=-2, keepdims=True) < 0, -1.0, 1.0)


def _special(name: str, *order: int) -> Rule:
    """A function of SciPy's, with its operands in this order."""

    def rule(*operands: Any, **_: Any) -> Any:
        return getattr(import_module("scipy.special"), name)(*(operands[i] for i in order))

    return rule


def _precise(x: Any, exponent_bits: int, mantissa_bits: int, **_: Any) -> Any:
    if exponent_bits < 11 or mantissa_bits < 52:
        raise TypeError("no rule for numbers that are rounded")
    return x


MATRICES: dict[str, Rule] = {
    "triangular_solve": _triangular_solve,
    "reduce_precision": _precise,
    "optimization_barrier": lambda *xs, **_: list(xs),
}
MATRICES |= {
    "bessel_i0e": _special("i0e", 0), "bessel_i1e": _special("i1e", 0), "igamma": _special("gammainc", 0, 1),
    "igammac": _special("gammaincc", 0, 1), "regularized_incomplete_beta": _special("betainc", 0, 1, 2),
}  # fmt: skip
FACTORS: dict[str, Rule] = {"lu": _lu, "eigh": _eigh, "svd": _svd, "qr": _qr}  # which get the primitive, too
