"""References of factors of matrices, norms, functions of matrices and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import factors, of
from gradcli.ops.references.entries import Array, array, entries, reduced, total
from gradcli.ops.references.equations import NOTHING, no_info
from gradcli.ops.references.linear import turned
from gradcli.ops.references.products import matmul
from gradcli.ops.references.reducing import length
from gradcli.ops.references.scalar_algorithms import identity, plainly
from gradcli.ops.references.shapes import objects


@of("cholesky_ex")
def cholesky_ex(m: Any, x: Any, upper: bool, check_errors: bool) -> Any:
    return factors.cholesky(m, x, upper=upper), no_info(x)


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
    return (NOTHING, factors.qr(m, x)[1]) if mode == "r" else _complete_qr(m, x) if mode == "complete" else factors.qr(m, x)


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
    return factors.inv(m, x, check_errors=check_errors), no_info(x)


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
    squares = reduced(missed * missed, -2, False, lambda row: total(m, row)) if n > columns else NOTHING
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
        NOTHING if driver == "gelsy" else squares,
        NOTHING if driver == "gels" else rank,
        plainly(m, sizes) if driver in ("gelsd", "gelss") else NOTHING,
    )
