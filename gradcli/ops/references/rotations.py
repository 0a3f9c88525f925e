"""Eigenvalues and singular values of matrices of scalars by plane rotations, after Jacobi."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references.scalar_algorithms import (
    GUARD,
    Matrix,
    blurred,
    completed,
    identity,
    largest,
    plainly,
    rounding,
    without_derivative,
    without_formula,
)


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


def _until_settled(n: int, small: Any, rotate: Callable[[int, int], Any]) -> None:
    """Jacobi's rotations of all pairs in turn, until a round of them changes nothing."""
    while max((rotate(p, q) for q in range(n) for p in range(q)), default=0) > small:
        pass


def _twice(n: int, rotate: Callable[[int, int], Any]) -> None:
    """What changes no value any more, but derivatives: each round makes twice as many of them right, the first one first."""
    for _ in range(2):
        for q in range(n):
            for p in range(q):
                rotate(p, q)


def _clusters(m: Any, values: Any, noise: Any = 0) -> list[list[int]]:
    """The places of values in ascending order, those together that are equal to the program's precision.

    Values that would be 0 but for rounding, up to the noise, stand alone.
    """
    plain = [m.plain(v) for v in values]
    close = rounding(m, max(map(abs, plain), default=0))
    found: list[list[int]] = []
    for i in sorted(range(len(plain)), key=plain.__getitem__):
        alone = (found and 0 < plain[found[-1][-1]] <= noise) or 0 < plain[i] <= noise
        if found and not alone and abs(plain[i] - plain[found[-1][-1]]) <= close:
            found[-1].append(i)
        else:
            found.append([i])
    return [sorted(places) for places in found]


def _turn(m: Any, clusters: list[list[int]], like: Matrix, vectors: Matrix, *others: Matrix) -> None:
    """Give vectors a library's signs, and its basis where values are equal, and turn others with them.

    The library's vectors stand in ascending order.
    """
    start = 0
    for places in clusters:
        overlap = plainly(m, vectors[:, places]).T @ like[:, start : start + len(places)]
        several = len(places) > 1
        turn = completed(m, np.empty((len(places), 0), dtype=object), overlap) if several else np.where(overlap < 0, -m.one, m.one)
        for part in (vectors, *others):
            part[:, places] = part[:, places] @ turn
        start += len(places)


def _equal(m: Any, clusters: list[list[int]], source: Matrix, values: Matrix, left: Matrix, right: Matrix) -> None:
    """Where values are equal, they are u @ source @ v for their vectors as they stand, and the vectors have no derivatives."""
    for places in clusters:
        if len(places) > 1:
            u, v = plainly(m, left[:, places]), plainly(m, right[:, places])
            values[places] = (u * (source @ v)).sum(axis=0)
            for part in {id(left): left, id(right): right}.values():
                part[:, places] = blurred(m, part[:, places], source)


def _apart(m: Any, x: Matrix, like: Matrix) -> tuple[Matrix, Matrix] | None:
    """Eigenvalues and eigenvectors where they are enclosed, and apart for all that the program's precision can tell."""
    if len(x) < 2 or (found := m.of_matrices("eigensystem", x)) is None:
        return None
    values, vectors = found
    clusters = _clusters(m, values)
    if len(clusters) < len(x):
        return None
    vectors = vectors.copy()
    _turn(m, clusters, like, vectors)
    return values, vectors


def _full_rank(m: Any, x: Matrix, like: Matrix | None) -> tuple[Matrix, Matrix, Matrix] | None:
    """By the eigenvectors of x.T @ x, where these are enclosed and all singular values count."""
    if not x.size or x.shape[1] < 2 or (product := m.of_matrices("product", x.T, x)) is None:
        return None
    if (found := m.of_matrices("eigensystem", product[0])) is None:
        return None
    squares, right = found
    if not m.surely(lambda: all(m.plain(v) > 0 for v in squares)):
        return None
    sizes = m.map(m.sqrt, squares)
    noise = rounding(m, largest(m, x))
    clusters = _clusters(m, sizes, noise)
    if len(clusters) < len(sizes) or m.plain(sizes[0]) <= noise:
        return None
    right = right.copy()
    if like is not None:
        _turn(m, clusters, like[:, ::-1], right)
    left = m.of_matrices("product", x, right)[0] / sizes
    return left[:, ::-1], sizes[::-1], right[:, ::-1]


def symmetric_eigen(m: Any, x: Matrix, like: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues in ascending order, and eigenvectors turned towards others (C. G. J. Jacobi, 1846)."""
    if (found := _apart(m, x, like)) is not None:
        return found
    n, source = len(x), x
    without_formula(m)
    small = largest(m, x) * m.m.mpf(10) ** (GUARD - m.m.dps)

    def rotation_of(x: Matrix, v: Matrix) -> Callable[[int, int], Any]:
        def rotate(p: int, q: int) -> Any:
            before = abs(m.plain(x[p, q]))
            m.approximated("eigh", before)
            turn = _rotation(m, x[p, q], x[q, q] - x[p, p], small)
            if turn is not None:
                for part in (x, x.T, v):
                    _rotate(part, p, q, *turn)
            return before

        return rotate

    v = identity(m, n)
    _until_settled(n, small, rotation_of(plainly(m, x), v))
    x = v.T @ x @ v
    _twice(n, rotation_of(x, v))
    clusters = _clusters(m, np.diagonal(x))
    _turn(m, clusters, like, v)
    values, order = np.diagonal(x).copy(), list(itertools.chain(*clusters))
    _equal(m, clusters, source, values, v, v)
    return values[order], v[:, order]


def singular_values(m: Any, x: Matrix, like: Matrix | None = None) -> tuple[Matrix, Matrix, Matrix]:
    """U (of no meaning for values of 0), singular values in descending order, and V turned towards others.

    There must be no more columns than rows. By rotations of pairs of columns (M. R. Hestenes, Journal of the SIAM 6,
    1958). What is zero to the precision of m becomes a square root of zero, which has no derivative.
    """
    if (found := _full_rank(m, x, like)) is not None:
        return found
    n, source = x.shape[1], x
    without_formula(m)
    top = largest(m, x)
    small = len(x) * top**2 * m.m.mpf(10) ** (GUARD - m.m.dps)

    def rotation_of(x: Matrix, v: Matrix) -> Callable[[int, int], Any]:
        def rotate(p: int, q: int) -> Any:
            off = x[:, p] @ x[:, q]
            m.approximated("svd", off)
            turn = _rotation(m, off, x[:, q] @ x[:, q] - x[:, p] @ x[:, p], small)
            if turn is not None:
                for part in (x, v):
                    _rotate(part, p, q, *turn)
            return abs(m.plain(off))

        return rotate

    v = identity(m, n)
    _until_settled(n, small, rotation_of(plainly(m, x), v))
    x = x @ v
    _twice(n, rotation_of(x, v))
    tiny = top**2 * m.m.mpf(10) ** (-3 * m.m.dps // 2)
    sizes = m.map(lambda s: m.sqrt(s) if m.plain(s) > tiny else without_derivative(m, s), (x * x).sum(axis=0))
    clusters = _clusters(m, sizes, rounding(m, top))
    if like is not None:
        _turn(m, clusters, like[:, ::-1], v, x)
    left = x / m.map(lambda s: s if m.plain(s) else m.one, sizes)
    _equal(m, [places for places in clusters if m.plain(sizes[places[-1]]) != 0], source, sizes, left, v)
    order = list(itertools.chain(*clusters))[::-1]
    return left[:, order], sizes[order], v[:, order]
