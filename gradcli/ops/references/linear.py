"""References of functions of linear algebra, by the textbook algorithms of `factors` and products of arrays of scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import factors, of
from gradcli.ops.references.entries import Array, array, common, entries, number, reduced, size_of, total
from gradcli.ops.references.products import contracted, dot, matmul, outer
from gradcli.ops.references.reducing import length
from gradcli.ops.references.scalar_algorithms import identity
from gradcli.ops.references.shapes import objects

for _name, _product in (("torch_mm", matmul), ("torch_mv", matmul), ("torch_bmm", matmul), ("torch_dot", dot), ("torch_vdot", dot)):

    @of(_name)
    def ranked(m: Any, x: Any, y: Any, product: Any = _product) -> Any:
        return product(m, x, y)


@of("vdot")
def vdot(m: Any, x: Any, y: Any) -> Any:
    return number(total(m, [v * w for v, w in zip(entries(x), entries(y), strict=True)]))


@of("vecdot")
def vecdot(m: Any, x: Any, y: Any, axis: int) -> Any:
    return reduced(objects(objects(x) * objects(y)), axis, False, lambda row: total(m, row))


@of("inner")
def inner(m: Any, x: Any, y: Any) -> Any:
    if not np.ndim(x) or not np.ndim(y):
        return objects(x) * objects(y)
    left, right = [("x", i) for i in range(np.ndim(x) - 1)], [("y", i) for i in range(np.ndim(y) - 1)]
    return contracted(m, [x, y], [[*left, "over"], [*right, "over"]], [*left, *right])


def _over(x: Any, y: Any, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(np.ndim(x) - axes, np.ndim(x))), list(range(axes))
    pairs = [list(a) if isinstance(a, (tuple, list)) else [a] for a in axes]
    return [a % np.ndim(x) for a in pairs[0]], [a % np.ndim(y) for a in pairs[1]]


for _name in ("tensordot", "torch_tensordot"):

    @of(_name)
    def tensordot(m: Any, x: Any, y: Any, axes: Any) -> Any:
        """The sum of products over pairs of axes; one entry along an axis goes with any number of them."""
        first, second = _over(x, y, axes)
        left: list[Any] = [("x", a) for a in range(np.ndim(x))]
        right: list[Any] = [("y", a) for a in range(np.ndim(y))]
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            left[a] = right[b] = ("over", i)
        return contracted(m, [x, y], [left, right], [name for name in (*left, *right) if name[0] != "over"])


@of("kron")
def kron(m: Any, x: Any, y: Any) -> Any:
    return np.kron(objects(x), objects(y))


@of("chain_matmul", "multi_dot")
def chain_matmul(m: Any, *matrices: Any) -> Any:
    product = matrices[0]
    for factor in matrices[1:]:
        product = matmul(m, product, factor)
    return product


@of("matvec")
def matvec(m: Any, x: Any, y: Any) -> Any:
    return matmul(m, x, objects(y)[..., None])[..., 0]


@of("vecmat")
def vecmat(m: Any, x: Any, y: Any) -> Any:
    return matmul(m, objects(x)[..., None, :], y)[..., 0, :]


for _name, _product in (
    ("addmm", matmul), ("addmv", matmul), ("baddbmm", matmul), ("addr", outer),
    ("addbmm", lambda m, x, y: reduced(matmul(m, x, y), 0, False, lambda row: total(m, row))),
):  # fmt: skip

    @of(_name)
    def fused(m: Any, x: Any, first: Any, second: Any, beta: Any, alpha: Any, product: Any = _product) -> Any:
        made = product(m, first, second) * (m.one * alpha)
        return made if beta == 0 else made + objects(x) * (m.one * beta)


def _cross(m: Any, x: Any, y: Any) -> Array:
    """The vector product along the last axis, by the signs of permutations; a vector of the plane has 0 as its third entry."""
    signs = {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (0, 2, 1): -1, (2, 1, 0): -1, (1, 0, 2): -1}
    lead = common(np.shape(x)[:-1], np.shape(y)[:-1])
    found = np.full((*lead, 3), m.zero, dtype=object)
    first, second = (np.broadcast_to(objects(v), (*lead, np.shape(v)[-1])) for v in (x, y))
    for (i, j, k), sign in signs.items():
        if j < first.shape[-1] and k < second.shape[-1]:
            found[..., i] = found[..., i] + sign * first[..., j] * second[..., k]
    return found


@of("cross")
def cross(m: Any, x: Any, y: Any, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    left, right = np.moveaxis(objects(x), axisa, -1), np.moveaxis(objects(y), axisb, -1)
    found = _cross(m, left, right)
    return found[..., 2] if left.shape[-1] == right.shape[-1] == 2 else np.moveaxis(found, -1, axisc)


@of("torch_cross", "linalg_cross")
def torch_cross(m: Any, x: Any, y: Any, axis: int | None) -> Any:
    place = np.shape(x).index(3) if axis is None else axis
    return np.moveaxis(_cross(m, np.moveaxis(objects(x), place, -1), np.moveaxis(objects(y), place, -1)), -1, place)


def turned(x: Any) -> Array:
    return np.swapaxes(objects(x), -1, -2)


# Equations.


@of("torch_solve_triangular")
def torch_solve_triangular(m: Any, x: Any, y: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if left:
        return factors.solve_triangular(m, x, y, upper=upper, unitriangular=unitriangular)
    return turned(factors.solve_triangular(m, turned(x), turned(y), upper=not upper, unitriangular=unitriangular))


@of("scipy_solve_triangular")
def scipy_solve_triangular(m: Any, x: Any, y: Any, trans: Any, lower: Any, unit_diagonal: bool, upper: Any) -> Any:
    above = upper if upper is not None else not lower
    matrix = turned(x) if trans in (1, 2, "T", "C") else objects(x)
    above = above != (trans in (1, 2, "T", "C"))
    right = objects(y)[:, None] if np.ndim(y) == 1 else objects(y)
    found = factors.solve_triangular(m, matrix, right, upper=above, unitriangular=unit_diagonal)
    return found[:, 0] if np.ndim(y) == 1 else found


@of("triangular_solve")
def triangular_solve(m: Any, y: Any, x: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    found = factors.solve_triangular(m, turned(x) if transpose else x, y, upper=upper != transpose, unitriangular=unitriangular)
    return found, np.broadcast_to(objects(x), (*common(np.shape(x)[:-2], np.shape(y)[:-2]), *np.shape(x)[-2:]))


def _triangle(m: Any, x: Any, upper: bool, unit: bool = False) -> Array:
    """One triangle of each matrix, zeros in the other, and ones on the diagonal if asked for."""
    values = objects(x)
    rows, columns = values.shape[-2:]
    out = np.full(values.shape, m.zero, dtype=object)
    for i in range(rows):
        for j in range(columns):
            if i == j and unit:
                out[..., i, j] = m.one
            elif j >= i if upper else j <= i:
                out[..., i, j] = values[..., i, j]
    return out


@of("cholesky_inverse")
def cholesky_inverse(m: Any, x: Any, upper: bool) -> Any:
    factor = _triangle(m, x, upper)
    product = matmul(m, turned(factor), factor) if upper else matmul(m, factor, turned(factor))
    return factors.inv(m, product, check_errors=True)


def _no_info(x: Any) -> Array:
    return array([0] * size_of(np.shape(x)[:-2]), np.shape(x)[:-2])


_NOTHING = array([], (0,))


@of("torch_linalg_lu")
def torch_linalg_lu(m: Any, x: Any, pivot: bool) -> Any:
    return factors.lu(m, x, pivot=pivot)


def _packed(m: Any, x: Any, pivot: bool) -> tuple[Array, Array]:
    """L and U in one matrix, and LAPACK's pivots."""
    p, lower, upper = factors.lu(m, x, pivot=pivot)
    out = np.full(np.shape(x), m.zero, dtype=object)
    rows, columns = np.shape(x)[-2:]
    for i in range(rows):
        for j in range(columns):
            out[..., i, j] = lower[..., i, j] if j < i else upper[..., i, j]
    return out, factors.exchanges(m, p, count=min(rows, columns))


@of("lu_factor")
def lu_factor(m: Any, x: Any, pivot: bool) -> Any:
    return _packed(m, x, pivot)


@of("lu_factor_ex")
def lu_factor_ex(m: Any, x: Any, pivot: bool, check_errors: bool) -> Any:
    return (*_packed(m, x, pivot), _no_info(x))


@of("torch_lu")
def torch_lu(m: Any, x: Any, pivot: bool, get_infos: bool) -> Any:
    return (*_packed(m, x, pivot), _no_info(x)) if get_infos else _packed(m, x, pivot)


def _exchanged(m: Any, pivots: Any, n: int) -> Array:
    """The permutation matrix of LAPACK's pivots."""
    return m.map(lambda holds: m.one if holds else m.zero, factors.permutation(m, pivots, n=n))


@of("lu_unpack")
def lu_unpack(m: Any, x: Any, pivots: Any, unpack_data: bool, unpack_pivots: bool) -> Any:
    rows, columns = np.shape(x)[-2:]
    k = min(rows, columns)
    p = _exchanged(m, pivots, rows) if unpack_pivots else _NOTHING
    if not unpack_data:
        return p, _NOTHING, _NOTHING
    return p, _triangle(m, objects(x)[..., :, :k], False, True), _triangle(m, objects(x)[..., :k, :], True)


@of("lu_solve")
def lu_solve(m: Any, x: Any, pivots: Any, y: Any, left: bool, adjoint: bool) -> Any:
    """The matrix is put together again, and the equations with it are solved."""
    p = _exchanged(m, pivots, np.shape(x)[-1])
    whole_matrix = matmul(m, p, matmul(m, _triangle(m, x, False, True), _triangle(m, x, True)))
    matrix = turned(whole_matrix) if adjoint else whole_matrix
    return factors.solve(m, matrix, y) if left else turned(factors.solve(m, turned(matrix), turned(y)))


def _is_vector(x: Any, y: Any) -> bool:
    return np.ndim(y) == 1 or (np.ndim(y) == np.ndim(x) - 1 and np.shape(y) == np.shape(x)[:-1])


@of("torch_solve")
def torch_solve(m: Any, x: Any, y: Any, left: bool) -> Any:
    if _is_vector(x, y):
        return factors.solve(m, x, objects(y)[..., None])[..., 0]
    return factors.solve(m, x, y) if left else turned(factors.solve(m, turned(x), turned(y)))


@of("solve_ex")
def solve_ex(m: Any, x: Any, y: Any, left: bool, check_errors: bool) -> Any:
    return torch_solve(m, x, y, left), _no_info(x)


@of("scipy_solve")
def scipy_solve(m: Any, x: Any, y: Any, transpose: bool) -> Any:
    return factors.solve(m, turned(x) if transpose else x, y)


@of("tensorsolve")
def tensorsolve(m: Any, x: Any, y: Any, axes: Any) -> Any:
    values = objects(x)
    if axes is not None:
        named = list(axes) if isinstance(axes, (tuple, list)) else [axes]
        values = np.moveaxis(values, named, range(values.ndim - len(named), values.ndim))
    rest, n = values.shape[np.ndim(y) :], np.size(y)
    return factors.solve(m, values.reshape(n, n), objects(y).ravel()).reshape(rest)


@of("tensorinv")
def tensorinv(m: Any, x: Any, ind: int) -> Any:
    first, rest = np.shape(x)[:ind], np.shape(x)[ind:]
    n = size_of(first)
    return factors.inv(m, objects(x).reshape(n, n), check_errors=True).reshape(*rest, *first)


# Factors.


@of("cholesky_ex")
def cholesky_ex(m: Any, x: Any, upper: bool, check_errors: bool) -> Any:
    return factors.cholesky(m, x, upper=upper), _no_info(x)


@of("scipy_cholesky")
def scipy_cholesky(m: Any, x: Any, lower: bool) -> Any:
    return factors.cholesky(m, x, upper=not lower)


def _complete_qr(m: Any, x: Any) -> tuple[Array, Array]:
    q, r = factors.qr(m, x)
    rows, columns = np.shape(x)[-2:]
    if rows <= columns:
        return q, r
    below = np.full((*np.shape(x)[:-2], rows - columns, columns), m.zero, dtype=object)
    return np.concatenate([q, factors.complement(m, x)], axis=-1), np.concatenate([r, below], axis=-2)


@of("numpy_qr")
def numpy_qr(m: Any, x: Any, mode: str) -> Any:
    if mode == "r":
        return factors.qr(m, x)[1]
    return _complete_qr(m, x) if mode in ("complete", "full") else factors.qr(m, x)


@of("torch_qr")
def torch_qr(m: Any, x: Any, mode: str) -> Any:
    return (_NOTHING, factors.qr(m, x)[1]) if mode == "r" else _complete_qr(m, x) if mode == "complete" else factors.qr(m, x)


@of("old_qr")
def old_qr(m: Any, x: Any, some: bool) -> Any:
    return factors.qr(m, x) if some else _complete_qr(m, x)


@of("logdet")
def logdet(m: Any, x: Any) -> Any:
    sign, size = factors.slogdet(m, x)
    return array([m.nan if s < 0 else v for s, v in zip(entries(sign), entries(size), strict=True)], np.shape(size))


@of("named_slogdet")
def named_slogdet(m: Any, x: Any) -> Any:
    return factors.slogdet(m, x)


@of("inv_ex")
def inv_ex(m: Any, x: Any, check_errors: bool) -> Any:
    return factors.inv(m, x, check_errors=check_errors), _no_info(x)


@of("eigvalsh")
def eigvalsh(m: Any, x: Any, UPLO: str) -> Any:
    return factors.eigh(m, x, UPLO=UPLO, signs="numpy")[0]


@of("torch_eigh")
def torch_eigh(m: Any, x: Any, UPLO: str) -> Any:
    return factors.eigh(m, x, UPLO=UPLO, signs="torch")


@of("numpy_eigh")
def numpy_eigh(m: Any, x: Any, UPLO: str, signs: str) -> Any:
    return factors.eigh(m, x, UPLO=UPLO, signs=signs)


@of("scipy_eigh")
def scipy_eigh(m: Any, x: Any, lower: bool, eigvals_only: bool) -> Any:
    found = factors.eigh(m, x, UPLO="L" if lower else "U", signs="numpy")
    return found[0] if eigvals_only else found


@of("svdvals")
def svdvals(m: Any, x: Any) -> Any:
    return factors.svd(m, x, full_matrices=False, signs="numpy")[1]


@of("numpy_svd")
def numpy_svd(m: Any, x: Any, full_matrices: bool, compute_uv: bool, signs: str) -> Any:
    return factors.svd(m, x, full_matrices=full_matrices, signs=signs) if compute_uv else svdvals(m, x)


@of("torch_svd")
def torch_svd(m: Any, x: Any, full_matrices: bool) -> Any:
    return factors.svd(m, x, full_matrices=full_matrices, signs="torch")


@of("old_svd")
def old_svd(m: Any, x: Any, some: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        rows, columns = np.shape(x)[-2:]
        u, v = (np.full((*np.shape(x)[:-2], n, n), m.zero, dtype=object) for n in (rows, columns))
        return u, svdvals(m, x), v
    u, s, vh = factors.svd(m, x, full_matrices=not some, signs="torch")
    return u, s, turned(vh)


# Norms.


@of("vector_norm")
def vector_norm(m: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, None if axis == () else axis, keepdims, lambda row: length(m, row, ord))


@of("matrix_norm")
def matrix_norm(m: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    rows, columns = (a % np.ndim(x) for a in axis)
    matrices = np.moveaxis(objects(x), (rows, columns), (-2, -1))
    if ord in (None, "fro"):
        found = reduced(matrices, (-2, -1), False, lambda row: length(m, row, 2))
    elif ord in ("nuc", 2, -2):
        sizes = svdvals(m, matrices)
        found = reduced(sizes, -1, False, lambda row: total(m, row) if ord == "nuc" else m.extreme("max" if ord > 0 else "min", row))
    else:
        sums = reduced(m.map(m.magnitude, matrices), -2 if abs(ord) == 1 else -1, False, lambda row: total(m, row))
        found = reduced(sums, -1, False, lambda row: m.extreme("max" if ord > 0 else "min", row))
    return np.expand_dims(found, (rows, columns)) if keepdims else found


@of("numpy_norm")
def numpy_norm(m: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    axes = axis if axis is not None else None if ord is None else tuple(range(np.ndim(x)))
    if ord is not None and isinstance(axes, tuple) and len(axes) == 2:
        return matrix_norm(m, x, ord, axes, keepdims)
    return vector_norm(m, x, ord, axes, keepdims)


@of("torch_norm")
def torch_norm(m: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord == "nuc":
        return matrix_norm(m, x, ord, (0, 1) if axis is None else axis, keepdims)
    return vector_norm(m, x, 2 if ord in ("fro", None) else ord, axis, keepdims)


@of("cond")
def cond(m: Any, x: Any, ord: Any) -> Any:
    if ord in (None, 2, -2):
        sizes = svdvals(m, x)
        return sizes[..., -1] / sizes[..., 0] if ord == -2 else sizes[..., 0] / sizes[..., -1]
    inverse = factors.inv(m, x, check_errors=False)
    product = matrix_norm(m, x, ord, (-2, -1), False) * matrix_norm(m, inverse, ord, (-2, -1), False)
    return m.map(lambda v: m.inf if m.plain(v) != m.plain(v) else v, product)


# Functions of matrices.


@of("matrix_power")
def matrix_power(m: Any, x: Any, power: int) -> Any:
    found = np.broadcast_to(identity(m, np.shape(x)[-1]), np.shape(x))
    for _ in range(abs(power)):
        found = matmul(m, found, x)
    return factors.inv(m, found, check_errors=True) if power < 0 else found


def _powers(m: Any, v: Any, exponents: range) -> list[Any]:
    found = []
    for k in exponents:
        power = m.one
        for _ in range(k):
            power = power * v
        found.append(power)
    return found


@of("vander")
def vander(m: Any, x: Any, count: int | None, increasing: bool) -> Any:
    n = np.size(x) if count is None else count
    exponents = range(n) if increasing else range(n - 1, -1, -1)
    return array([power for v in entries(x) for power in _powers(m, v, exponents)], (np.size(x), n))


@of("torch_vander")
def torch_vander(m: Any, x: Any, count: int | None) -> Any:
    shape = np.shape(x) or (1,)
    n = shape[-1] if count is None else count
    return array([power for v in entries(x) for power in _powers(m, v, range(n))], (*shape, n))


def _reflections(m: Any, x: Array, tau: Array) -> Array:
    """The product of the reflections 1 - tau*v*v.T, as a square matrix."""
    n = x.shape[0]
    product = identity(m, n)
    for k, factor in enumerate(tau):
        v = [m.zero if i < k else m.one if i == k else x[i, k] for i in range(n)]
        product = product @ (identity(m, n) - array([factor * a * b for a in v for b in v], (n, n)))
    return product


def _of_each(m: Any, x: Any, tau: Any) -> Array:
    values, scales = objects(x), objects(tau)
    batch, n = values.shape[:-2], values.shape[-2]
    out = np.empty((*batch, n, n), dtype=object)
    for place in np.ndindex(batch):
        out[place] = _reflections(m, values[place], scales[place])
    return out


@of("householder_product")
def householder_product(m: Any, x: Any, tau: Any) -> Any:
    return _of_each(m, x, tau)[..., : np.shape(x)[-1]]


@of("ormqr")
def ormqr(m: Any, x: Any, tau: Any, y: Any, left: bool, transpose: bool) -> Any:
    q = _of_each(m, x, tau)
    q = turned(q) if transpose else q
    return matmul(m, q, y) if left else matmul(m, y, q)


# Least squares.


@of("numpy_pinv")
def numpy_pinv(m: Any, x: Any, rcond: Any, hermitian: bool, rtol: Any) -> Any:
    cutoff = rcond if rcond is not None else rtol if rtol is not None else 1e-15
    return factors.pinv(m, objects(x), rtol=cutoff, atol=None, hermitian=hermitian)


def _least_squares(m: Any, x: Any, y: Any, rtol: Any) -> tuple[Array, Array, Array, Array]:
    n, columns = np.shape(x)[-2:]
    solution = matmul(m, factors.pinv(m, objects(x), rtol=rtol, atol=None, hermitian=False), y)
    missed = matmul(m, x, solution) - objects(y)
    sizes = svdvals(m, x)
    unit = max(n, columns) * m.one / 2**52 if rtol is None else m.one * rtol
    rank = reduced(sizes, -1, False, lambda row: sum(v > unit * row[0] for v in row))
    squares = reduced(missed * missed, -2, False, lambda row: total(m, row)) if n > columns else _NOTHING
    return solution, squares, rank, sizes


@of("lstsq")
def lstsq(m: Any, x: Any, y: Any, rcond: Any) -> Any:
    right = objects(y)[:, None] if np.ndim(y) == 1 else objects(y)
    solution, *rest = _least_squares(m, x, right, rcond)
    return (solution[:, 0] if np.ndim(y) == 1 else solution, *rest)


@of("torch_lstsq")
def torch_lstsq(m: Any, x: Any, y: Any, rcond: Any, driver: Any) -> Any:
    driver = driver or "gelsy"
    vector = np.ndim(y) == np.ndim(x) - 1 and np.shape(y) == np.shape(x)[:-1]
    right = objects(y)[..., None] if vector else objects(y)
    solution, squares, rank, sizes = _least_squares(m, x, right, None if driver == "gels" else rcond)
    return (
        solution[..., 0] if vector else solution,
        _NOTHING if driver == "gelsy" else squares,
        _NOTHING if driver == "gels" else rank,
        sizes if driver in ("gelsd", "gelss") else _NOTHING,
    )


