"""References of factors of matrices and of equations, by the textbook algorithms on scalars.

Which of several vectors LAPACK returns (a sign, a basis of what is left over) is read off LAPACK's own result; no number is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references.products import array, entries, size_of, total, whole
from gradcli.ops.references.scalar_algorithms import (
    GUARD,
    Matrix,
    berkowitz,
    blurred,
    completed,
    doolittle,
    eliminate,
    exponential,
    floats,
    gram_schmidt,
    identity,
    largest,
    over_batches,
    plainly,
    quotient,
    rounding,
    valued,
    without_derivative,
    without_formula,
)
from gradcli.ops.references.scalar_algorithms import cholesky as cholesky_of

# -- Eigenvalues and singular values of matrices of scalars by plane rotations, after Jacobi -------


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


_FEW = 4  # rows up to which cofactors are as many small determinants


def one_triangle(m: Any, x: Matrix, upper: bool, mirrored: bool) -> Matrix:
    """The values of one triangle of a matrix, the other being zero or its mirror image."""
    n, columns = x.shape
    values = []
    for i in range(n):
        for j in range(columns):
            if j >= i if upper else j <= i:
                values.append(x[i, j])
            else:
                values.append(x[j, i] if mirrored else m.zero)
    return array(values, x.shape)


def symmetric(m: Any, x: Matrix, upper: bool) -> Matrix:
    """Scalars with the values of one triangle, and the derivatives shared evenly by both."""
    return valued(m, (x + x.T) / (2 * m.one), one_triangle(m, x, upper, True))


def _same(*shapes: Any, **_: Any) -> Any:
    return shapes[-1]




read = over_batches(lambda m, x, upper, mirrored: valued(m, x, one_triangle(m, x, upper, mirrored)), _same)


def substituted(m: Any, x: Matrix, y: Matrix, upper: bool, unitriangular: bool) -> Matrix:
    """The z with x @ z = y, row by row."""
    n, columns = y.shape
    found: dict[tuple[int, int], Any] = {}
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = range(i + 1, n) if upper else range(i)
        for c in range(columns):
            rest = y[i, c]
            if known:
                rest = rest - total(m, [x[i, k] * found[k, c] for k in known])
            found[i, c] = rest if unitriangular else quotient(m, rest, x[i, i])
    return array([found[i, c] for i in range(n) for c in range(columns)], (n, columns))


solve_triangular = over_batches(substituted, _same)


def _solve_matrices(m: Any, x: Any, y: Any) -> Any:
    return over_batches(eliminate, _same)(m, x, y)


def solve(m: Any, x: Any, y: Any) -> Any:
    return _solve_matrices(m, x, y[:, None])[..., 0] if np.ndim(y) == 1 else _solve_matrices(m, x, y)


def _lu(m: Any, x: Matrix, pivot: bool) -> tuple[Matrix, Matrix, Matrix]:
    factors, order = doolittle(m, x, pivot)
    n, columns = x.shape
    k = min(n, columns)
    p = array([m.one if order[j] == i else m.zero for i in range(n) for j in range(n)], (n, n))
    below = [factors[i, j] if j < i else m.one if j == i else m.zero for i in range(n) for j in range(k)]
    above = [factors[i, j] if j >= i else m.zero for i in range(k) for j in range(columns)]
    return p, array(below, (n, k)), array(above, (k, columns))


lu = over_batches(_lu, lambda x, pivot: [(x[0], x[0]), (x[0], min(x)), (min(x), x[1])])


def exchanges(m: Any, p: Any, count: int) -> Any:
    """The row, counting from 1, that each row has to be exchanged with to bring every row to its place, one after the other."""
    n = np.shape(p)[-1]
    flat, found = entries(p), []
    for start in range(0, len(flat), n * n) if n else ():
        at = list(range(n))
        for column in range(count):
            wanted = next(row for row in range(n) if flat[start + row * n + column] == 1)
            place = at.index(wanted)
            at[column], at[place] = at[place], at[column]
            found.append(place + 1)
    return array(found, (*np.shape(p)[:-2], count))


def permutation(m: Any, pivots: Any, n: int) -> Any:
    """Return where a matrix of ones has them, once its rows have been exchanged."""
    lead, k = np.shape(pivots)[:-1], np.shape(pivots)[-1]
    numbers, found = whole(pivots), []
    for batch in range(size_of(lead)):
        rows = list(range(n))
        for i, j in enumerate(numbers[batch * k : (batch + 1) * k]):
            rows[i], rows[j - 1] = rows[j - 1], rows[i]
        found += [rows[column] == row for row in range(n) for column in range(n)]
    return array(found, (*lead, n, n))


def _cholesky(m: Any, x: Matrix, upper: bool) -> Matrix:
    factor = cholesky_of(m, symmetric(m, x, upper))
    return factor.T if upper else factor


cholesky = over_batches(_cholesky, _same)


def _orthogonal(m: Any, x: Matrix) -> tuple[Matrix, Matrix]:
    """Q and R of a matrix with no more columns than rows, signs as LAPACK has them."""
    like, r = np.linalg.qr(floats(m, x))
    return gram_schmidt(m, x, like, [-1 if r[i, i] < 0 else 1 for i in range(len(r))])


def _qr(m: Any, x: Matrix) -> tuple[Matrix, Matrix]:
    n = min(x.shape)
    q, r = _orthogonal(m, x[:, :n])
    return q, np.column_stack([r, q.T @ x[:, n:]])


qr = over_batches(_qr, lambda x: [(x[0], min(x)), (min(x), x[1])])


def _complement(m: Any, x: Matrix) -> Matrix:
    rest = np.linalg.qr(floats(m, x), mode="complete")[0][:, x.shape[1] :]
    return completed(m, _orthogonal(m, x)[0], rest)


complement = over_batches(_complement, lambda x: (x[0], x[0] - x[1]))


def _without(x: Matrix, row: int, column: int) -> Matrix:
    """A matrix without one row and one column."""
    n, columns = x.shape
    return array([x[i, j] for i in range(n) if i != row for j in range(columns) if j != column], (n - 1, columns - 1))


def cofactors(m: Any, x: Matrix) -> Matrix:
    """The adjugate: signed determinants of what is left without a row and a column."""
    n = len(x)
    if (
        n > _FEW
        and (size := m.of_matrices("determinant", x)) is not None
        and (inverse := m.of_matrices("solution", x, identity(m, n))) is not None
    ):
        scaled: Matrix = inverse[0] * size[0][()]
        return scaled
    return array([berkowitz(m, _without(x, i, j)) * (-1) ** (i + j) for j in range(n) for i in range(n)], (n, n))


adjugate = over_batches(cofactors, _same)


def _adjugate_jvp(m: Any, x: Matrix, h: Matrix) -> Matrix:
    n = len(x)
    if n < 2:
        return array([m.zero] * (n * n), (n, n))
    slopes = []
    for j in range(n):
        for i in range(n):
            minor, change = cofactors(m, _without(x, i, j)), _without(h, i, j).T
            slopes.append(total(m, entries(minor * change)) * (-1) ** (i + j))
    return array(slopes, (n, n))


adjugate_jvp = over_batches(_adjugate_jvp, _same)


det = over_batches(berkowitz, lambda x: ())


matrix_exp = over_batches(exponential, _same)


def _eigh(m: Any, x: Matrix, UPLO: Any) -> tuple[Matrix, Matrix]:
    return symmetric_eigen(m, symmetric(m, x, UPLO.upper() == "U"), np.linalg.eigh(floats(m, x), UPLO)[1])


eigh = over_batches(_eigh, lambda x, UPLO: [x[:1], x])


def _svd(m: Any, x: Matrix, full_matrices: bool) -> tuple[Matrix, Matrix, Matrix]:
    u, _, vh = np.linalg.svd(floats(m, x), True)
    if x.shape[0] < x.shape[1]:
        right, sizes, left = _tall_svd(m, x.T, vh.T, u)
    else:
        left, sizes, right = _tall_svd(m, x, u, vh.T)
    k = len(sizes)
    return (left, sizes, right.T) if full_matrices else (left[:, :k], sizes, right[:, :k].T)


def _tall_svd(m: Any, x: Matrix, u: Matrix, v: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The square U, the singular values and V of a matrix with no more columns than rows, turned like a library's."""
    left, sizes, right = singular_values(m, x, v)
    rank = sum(m.plain(s) != 0 for s in sizes)
    left = left[:, :rank]
    beyond = completed(m, left, u[:, rank:])
    beyond[:, : len(sizes) - rank] = blurred(m, beyond[:, : len(sizes) - rank], x)
    return np.column_stack([left, beyond]), sizes, right


def _svd_shapes(x: Any, full_matrices: bool) -> Any:
    n, columns = x
    k = min(n, columns)
    return [(n, n if full_matrices else k), (k,), (columns if full_matrices else k, columns)]


svd = over_batches(_svd, _svd_shapes)


def pinv(m: Any, x: Any, rtol: Any, atol: Any, hermitian: bool) -> Any:
    """Matrix by matrix, each with tolerances of its own."""
    batch, (n, columns) = x.shape[:-2], x.shape[-2:]
    unit = max(n, columns) * float(np.finfo(m.precision).eps)
    out = np.empty((*batch, columns, n), dtype=object)
    for place in np.ndindex(batch):
        absolute = 0.0 if atol is None else float(np.broadcast_to(atol, batch)[place])
        relative = (0.0 if absolute > 0 else unit) if rtol is None else float(np.broadcast_to(rtol, batch)[place])
        given = valued(m, x[place], one_triangle(m, x[place], False, True)) if hermitian else x[place]
        tall = given.shape[0] >= given.shape[1]
        found = pseudoinverse(m, given if tall else given.T, relative, absolute)
        out[place] = found if tall else found.T
    return out


def pseudoinverse(m: Any, x: Matrix, rtol: float, atol: float) -> Matrix:
    """Of the matrix of fixed rank that is nearest to first order: x @ v @ inv(u.T @ x @ v) @ u.T @ x."""
    rough = np.linalg.svd(floats(m, x), compute_uv=False)
    if x.size and rough[-1] > max(2 * atol, 2 * rtol * rough[0], 1e-9 * rough[0]):  # no doubt about the rank
        return eliminate(m, x.T @ x, x.T)
    u, sizes, v = singular_values(m, plainly(m, x))
    rank = sum(s > max(m.m.mpf(atol), rtol * sizes[0]) for s in sizes)
    u, v = u[:, :rank], v[:, :rank]
    left, right = x @ v, u.T @ x
    middle = u.T @ left
    found: Matrix = eliminate(m, right @ right.T, right).T @ (middle @ eliminate(m, left.T @ left, left.T)) + m.zero
    return found
