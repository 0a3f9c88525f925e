"""References of linear equations, and of factors that are made for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import factors, of
from gradcli.ops.references.entries import Array, array, common, entries, size_of
from gradcli.ops.references.linear import turned
from gradcli.ops.references.products import matmul
from gradcli.ops.references.scalar_algorithms import valued
from gradcli.ops.references.shapes import objects


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
    """Of the product of the triangle that is read with its transpose; with the derivatives of a product of whole matrices."""
    values = objects(x)
    factor = np.empty(values.shape, dtype=object)
    for place in np.ndindex(values.shape[:-2]):
        factor[place] = valued(m, values[place], factors.one_triangle(m, values[place], upper, False))
    product = matmul(m, turned(factor), factor) if upper else matmul(m, factor, turned(factor))
    return factors.inv(m, product, check_errors=True)


def no_info(x: Any) -> Array:
    return array([0] * size_of(np.shape(x)[:-2]), np.shape(x)[:-2])


NOTHING = array([], (0,))


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
    return (*_packed(m, x, pivot), no_info(x))


@of("torch_lu")
def torch_lu(m: Any, x: Any, pivot: bool, get_infos: bool) -> Any:
    return (*_packed(m, x, pivot), no_info(x)) if get_infos else _packed(m, x, pivot)


def _exchanged(m: Any, pivots: Any, n: int) -> Array:
    """The permutation matrix of LAPACK's pivots."""
    ones = factors.permutation(m, pivots, n=n)
    return array([m.one if holds else m.zero for holds in entries(ones)], np.shape(ones))


@of("lu_unpack")
def lu_unpack(m: Any, x: Any, pivots: Any, unpack_data: bool, unpack_pivots: bool) -> Any:
    rows, columns = np.shape(x)[-2:]
    k = min(rows, columns)
    p = _exchanged(m, pivots, rows) if unpack_pivots else NOTHING
    if not unpack_data:
        return p, NOTHING, NOTHING
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
    return torch_solve(m, x, y, left), no_info(x)


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
