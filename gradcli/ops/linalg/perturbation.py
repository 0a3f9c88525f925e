"""How errors of matrices carry into what is computed of them: perturbation theory, with terms of second order (N. J. Higham, Accuracy and
Stability of Numerical Algorithms; G. W. Stewart and J. Sun, Matrix Perturbation Theory).

Errors are arrays of the operands' shapes, and contain what a backward stable algorithm makes of rounding. Where they are so large that a
matrix may be singular, or eigenvalues change places, the bound is infinite, or what holds of any result.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _swap(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _inverse(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.full(np.shape(x), np.inf)


def _frobenius(x: Any) -> Any:
    return np.sqrt(np.sum(np.square(x), axis=(-2, -1), keepdims=True))


def _solved(inverse: Any, off: Any, right: Any) -> Any:
    """How far (A + E)^-1 (b + f) is from A^-1 b: ``right`` is a bound of E @ result + f, ``off`` that of E.

    (I + A^-1 E)^-1 = I - A^-1 E + ..., whose terms from the second on are no larger in the norm of rows than their sum.
    """
    size = np.abs(inverse)
    first = size @ right
    reach = np.max(np.sum(size @ off, axis=-1, keepdims=True), axis=-2, keepdims=True, initial=0.0)
    rest = np.where(reach < 1, reach / (1 - reach), np.inf)
    return np.where(np.isfinite(rest), (first + rest * np.max(first, axis=-2, keepdims=True, initial=0.0)) * (1 + rest), np.inf)


def inverse(m: Any, out: Any, x: Any, e: Any, **_: Any) -> Any:
    off = m.filled(e, x)
    return _solved(out, off, off @ np.abs(out))


def solution(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    vector = np.ndim(y) == 1
    result, right = (out[..., None], np.broadcast_to(f, np.shape(y))[..., None]) if vector else (out, f)
    off = m.filled(e, x)
    found = _solved(_inverse(x), off, off @ np.abs(result) + right)
    return found[..., 0] if vector else found


def triangular_solution(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any, upper: bool, unitriangular: bool) -> Any:
    x, off = ((np.triu if upper else np.tril)(part, int(unitriangular) if upper else -int(unitriangular)) for part in (x, m.filled(e, x)))
    return _solved(_inverse(x + unitriangular * np.eye(np.shape(x)[-1])), off, off @ np.abs(out) + f)


def _relative_determinant(x: Any, off: Any) -> Any:
    """By how much of itself a determinant moves: det(I + M) - 1 is the trace of M, but for products of two and more entries."""
    moved = np.abs(_inverse(x)) @ off
    every = np.sum(moved, axis=(-2, -1))
    moved_diagonal = np.trace(moved, axis1=-2, axis2=-1)
    return np.where(every < 0.5, (moved_diagonal + every * every) / (1 - every), np.inf)


def _by_rows(x: Any, off: Any) -> Any:
    """Hadamard's bound: how far a determinant can move whose rows are so long."""
    long, more = np.sqrt(np.sum(np.square(x), axis=-1)), np.sqrt(np.sum(np.square(off), axis=-1))
    whole = long + more
    share = np.divide(more, whole, out=np.zeros(whole.shape), where=whole > 0)
    return np.prod(whole, axis=-1) * -np.expm1(np.sum(np.log1p(-share), axis=-1))


def determinant(m: Any, out: Any, x: Any, e: Any) -> Any:
    off = m.filled(e, x)
    near = np.abs(out) * _relative_determinant(x, off)
    return np.fmin(np.where(np.isnan(near), np.inf, near), _by_rows(x, off))


def log_determinant(m: Any, out: Any, x: Any, e: Any) -> Any:
    relative = _relative_determinant(x, m.filled(e, x))
    known = relative < 1
    return np.where(known, 0.0, 2.0), np.where(known, -np.log1p(-np.where(known, relative, 0.0)), np.inf)


def _mirrored(off: Any) -> Any:
    """Of a symmetric matrix, of which one triangle is read."""
    return np.maximum(off, _swap(off))


def cholesky_factor(m: Any, out: Any, x: Any, e: Any, upper: bool) -> Any:
    """L (lower half of L^-1 E L^-T), and its square for the rest."""
    factor = _swap(out) if upper else out
    size = np.abs(_inverse(factor))
    inner = size @ _mirrored(m.filled(e, x)) @ _swap(size)
    half = np.tril(inner, -1) + 0.5 * inner * np.eye(np.shape(x)[-1])
    norm = _frobenius(inner)
    found = np.tril(np.abs(factor) @ half) * (1 + 4 * norm) + np.tril(4 * norm * norm * _frobenius(factor) * np.ones(np.shape(x)))
    found = np.where(norm < 0.25, found, np.inf)
    return _swap(found) if upper else found


def orthogonal_factors(m: Any, out: Any, x: Any, e: Any) -> Any:
    """Both factors move by no more than a few times what E R^-1 is."""
    off, rows = m.filled(e, x), np.shape(out[1])[-2]
    moved = _frobenius(off[..., :rows] @ np.abs(_inverse(out[1][..., :rows])))
    small = moved < 0.1
    by_q = np.where(small, np.minimum(4 * moved, 2.0), 2.0)
    by_r = np.where(small, 4 * moved * (_frobenius(out[1]) + _frobenius(x)) + _frobenius(off), np.inf)
    return by_q * np.ones(np.shape(out[0])), np.triu(by_r * np.ones(np.shape(out[1])))


def _gaps(values: Any) -> Any:
    """How far each value is from the nearest other one."""
    apart = np.abs(values[..., :, None] - values[..., None, :]) + np.where(np.eye(np.shape(values)[-1]) > 0, np.inf, 0.0)
    return np.min(apart, axis=-1, initial=np.inf)


def _moved_values(norm: Any, first: Any, gaps: Any) -> Any:
    return np.fmin(norm, first + 2 * norm * norm / gaps)


def eigenvalues(m: Any, out: Any, x: Any, e: Any, **_: Any) -> Any:
    """Values move by no more than the norm of the error; vectors turn by it, over the gaps between values."""
    values, vectors = out
    off, size = _mirrored(m.filled(e, x)), np.abs(vectors)
    inner, norm, gaps = _swap(size) @ off @ size, _frobenius(off)[..., 0], _gaps(values)
    by_values = _moved_values(norm, np.diagonal(inner, axis1=-2, axis2=-1), gaps)
    apart = np.abs(values[..., :, None] - values[..., None, :])
    first = size @ np.where(apart > 0, inner / np.where(apart > 0, apart, 1.0), 0.0)
    turned = (norm / gaps)[..., None, :]
    return by_values, np.where(turned < 0.125, np.minimum(first + 16 * turned * turned, 2.0), 2.0)


def singular_values(m: Any, out: Any, x: Any, e: Any, **_: Any) -> Any:
    left, values, right = out
    off, n = m.filled(e, x), np.shape(values)[-1]
    norm, gaps = _frobenius(off)[..., 0], _gaps(values)
    inner = _swap(np.abs(left[..., :n])) @ off @ _swap(np.abs(right[..., :n, :]))
    by_values = _moved_values(norm, np.diagonal(inner, axis1=-2, axis2=-1), np.minimum(gaps, values))
    to_nothing = gaps if np.shape(x)[-1] == np.shape(x)[-2] else np.minimum(gaps, values)  # from what belongs to no value
    turned = norm / to_nothing
    each = np.where(turned < 0.125, np.minimum(8 * turned, 2.0), 2.0)
    by_left, by_right = np.full(np.shape(left), 2.0), np.full(np.shape(right), 2.0)
    by_left[..., :n] = each[..., None, :]
    by_right[..., :n, :] = each[..., :, None]
    return by_left, by_values, by_right
