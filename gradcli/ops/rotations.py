"""Eigenvalues and singular values of matrices of scalars by plane rotations, after Jacobi: references, as in `textbook`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.textbook import EQUAL, GUARD, Matrix, completed, identity, largest, plainly, without_derivative, without_formula


def _rotation(m: Any, off: Any, difference: Any, small: Any) -> tuple[Any, Any] | None:
    """Cosine and sine that make a symmetric matrix of two rows diagonal; None where it is a multiple of the identity."""
    if abs(m.plain(off)) <= small and abs(m.plain(difference)) <= small:
        return None
    root = m.sqrt(difference * difference + 4 * off * off)
    tangent = 2 * off / (difference + root if m.plain(difference) >= 0 else difference - root)
    cosine = 1 / m.sqrt(1 + tangent * tangent)
    return cosine, tangent * cosine


def _rotate(x: Matrix, p: int, q: int, cosine: Any, sine: Any) -> None:
    x[:, p], x[:, q] = cosine * x[:, p] - sine * x[:, q], sine * x[:, p] + cosine * x[:, q]


def _sweeps(m: Any, n: int, small: Any, rotate: Callable[[int, int], Any]) -> None:
    """Jacobi's rotations of all pairs in turn until they change nothing, and then twice more for the derivatives."""
    without_formula(m)
    settled = 0
    while settled < 3:
        change = max((rotate(p, q) for q in range(n) for p in range(q)), default=0)
        settled += bool(settled or not change > small)


def _clusters(m: Any, values: Any, digits: int) -> list[list[int]]:
    """The places of values in ascending order, those together that are equal to so many digits."""
    plain = [m.plain(v) for v in values]
    close = max(map(abs, plain), default=0) * m.m.mpf(10) ** -digits
    found: list[list[int]] = []
    for i in sorted(range(len(plain)), key=plain.__getitem__):
        if found and abs(plain[i] - plain[found[-1][-1]]) <= close:
            found[-1].append(i)
        else:
            found.append([i])
    return [sorted(places) for places in found]


def _turn(m: Any, values: Any, like: Matrix | None, vectors: Matrix, *others: Matrix) -> list[int]:
    """The order of ascending values; vectors take a library's signs, and its basis where values are equal, others with them.

    The library's vectors stand in ascending order.
    """
    order: list[int] = []
    for places in _clusters(m, values, m.m.dps - GUARD):
        if like is not None:
            overlap = plainly(m, vectors[:, places]).T @ like[:, len(order) : len(order) + len(places)]
            if len(places) > 1:
                turn = completed(m, np.empty((len(places), 0), dtype=object), overlap)
            else:
                turn = np.where(overlap < 0, -m.one, m.one)
            for part in (vectors, *others):
                part[:, places] = part[:, places] @ turn
        order += places
    return order


def _blur(m: Any, values: Any, source: Any, *vectors: Matrix) -> None:
    """Take the derivatives by the source from vectors of equal values: any basis of theirs would do as well."""
    for places in _clusters(m, values, EQUAL):
        if len(places) > 1:
            for part in vectors:
                part[:, places] = part[:, places] + without_derivative(m, source)


def symmetric_eigen(m: Any, x: Matrix, like: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues in ascending order, and eigenvectors turned towards others (C. G. J. Jacobi, 1846)."""
    x, v, source = x.copy(), identity(m, len(x)), x.sum()
    small = largest(m, x) * m.m.mpf(10) ** (GUARD - m.m.dps)

    def rotate(p: int, q: int) -> Any:
        before = abs(m.plain(x[p, q]))
        turn = _rotation(m, x[p, q], x[q, q] - x[p, p], small)
        if turn is not None:
            for part in (x, x.T, v):
                _rotate(part, p, q, *turn)
        return before

    _sweeps(m, len(x), small, rotate)
    order = _turn(m, np.diagonal(x), like, v, x, x.T)
    values = np.diagonal(x)
    _blur(m, values, source, v)
    return values[order], v[:, order]


def singular_values(m: Any, x: Matrix, like: Matrix | None = None) -> tuple[Matrix, Matrix, Matrix]:
    """x @ V with orthogonal columns, singular values in descending order, and V turned towards others.

    There must be no more columns than rows. By rotations of pairs of columns (M. R. Hestenes, Journal of the SIAM 6,
    1958). What is zero to the precision of m becomes a square root of zero, which has no derivative.
    """
    n = x.shape[1]
    x, v, source = x.copy(), identity(m, n), x.sum()
    top = largest(m, x)
    small = len(x) * top**2 * m.m.mpf(10) ** (GUARD - m.m.dps)

    def rotate(p: int, q: int) -> Any:
        off = x[:, p] @ x[:, q]
        turn = _rotation(m, off, x[:, q] @ x[:, q] - x[:, p] @ x[:, p], small)
        if turn is not None:
            for part in (x, v):
                _rotate(part, p, q, *turn)
        return abs(m.plain(off))

    _sweeps(m, n, small, rotate)
    order = _turn(m, (x * x).sum(axis=0), None if like is None else like[:, ::-1], v, x)[::-1]
    squares = (x * x).sum(axis=0)
    _blur(m, squares, source, v, x)
    tiny = top**2 * m.m.mpf(10) ** (-3 * m.m.dps // 2)
    sizes = [m.sqrt(s) if m.plain(s) > tiny else without_derivative(m, s) for s in squares[order]]
    return x[:, order], np.array(sizes, dtype=object), v[:, order]
