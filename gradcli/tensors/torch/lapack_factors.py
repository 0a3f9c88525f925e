"""Factors of matrices as LAPACK leaves them, of which PyTorch has no derivatives: Householder's, and those of symmetric matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.dispatch.named_results import named_results
from gradcli.tensors.torch.no_derivatives import to_be_derived, underived


def _geqrf(x: Tensor) -> Any:
    """The triangle with the reflections under it, and their weights."""
    from scipy.linalg import lapack

    array = x.array
    if array.dtype.kind != "f" or array.dtype.itemsize == 2:
        raise dtypes.untaken("geqrf", x.array.dtype)
    if array.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    *lead, m, n = array.shape
    factor = lapack.sgeqrf if array.dtype == np.float32 else lapack.dgeqrf
    factors, weights = np.empty((*lead, n, m), array.dtype), np.empty((*lead, min(m, n)), array.dtype)
    if array.size:
        for place in np.ndindex(*lead):
            found = factor(np.asfortranarray(array[place]))
            factors[place], weights[place] = found[0].T, found[1]
    parts = (Tensor(factors.swapaxes(-1, -2)), Tensor(weights))  # by columns, as LAPACK leaves them
    return named_results("geqrf", ("a", "tau"), to_be_derived("geqrf", "GeqrfBackward0", parts, [x]))


def _ldl(name: str, A: Tensor, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of Bunch and Kaufman: a unit triangle and blocks of one and two in one matrix, exchanges, and LAPACK's report."""
    from scipy.linalg import lapack

    array = A.array
    if array.ndim < 2:
        raise RuntimeError("torch.linalg.ldl_factor_ex: The input tensor A must have at least 2 dimensions.")
    *lead, m, n = array.shape
    if m != n:
        raise RuntimeError(f"torch.linalg.ldl_factor_ex: A must be batches of square matrices, but they are {m} by {n} matrices")
    if array.dtype.kind != "f":
        raise RuntimeError(f"torch.linalg.ldl_factor_ex: Expected a floating point or complex tensor as input. Got {A.dtype.in_messages}")
    factor = lapack.ssytrf if array.dtype == np.float32 else lapack.dsytrf
    factors, pivots, reports = np.empty((*lead, n, n), array.dtype), np.empty((*lead, n), np.int32), np.empty(lead, np.int32)
    for place in np.ndindex(*lead) if array.size else ():
        found, exchanged, reports[place] = factor(np.asfortranarray(array[place]), lower=1)
        factors[place], pivots[place] = np.tril(found).T, exchanged
    if check_errors and reports.any():
        raise RuntimeError(f"torch.{name}: the block of order {int(reports.max())} is singular")
    made = (Tensor(factors.swapaxes(-1, -2)), Tensor(pivots), Tensor(reports))
    underived("aten::linalg_ldl_factor_ex", made[0], [A])
    return made


def _ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    found = _ldl("linalg.ldl_factor", A, True)
    return named_results("linalg_ldl_factor", ("LD", "pivots"), found[:2])


def _ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    found = _ldl("linalg.ldl_factor_ex", A, check_errors)
    return named_results("linalg_ldl_factor_ex", ("LD", "pivots", "info"), found)


def _ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution of a symmetric equation whose matrix has been factored."""
    if pivots.array.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.in_messages}")
    lead = np.broadcast_shapes(LD.array.shape[:-2], B.array.shape[:-2])
    factors, exchanged = (
        np.broadcast_to(LD.array, (*lead, *LD.array.shape[-2:])),
        np.broadcast_to(pivots.array, (*lead, LD.array.shape[-1])),
    )
    solutions = np.array(np.broadcast_to(B.array, (*lead, *B.array.shape[-2:])), order="C")
    for place in np.ndindex(*lead):
        _solve(factors[place], exchanged[place], solutions[place])
    by_columns = np.ascontiguousarray(solutions.swapaxes(-1, -2)).swapaxes(-1, -2)
    found: Tensor = underived("aten::linalg_ldl_solve", Tensor(by_columns), [LD, B])
    return found


def _solve(factors: np.ndarray, exchanged: np.ndarray, b: np.ndarray) -> None:
    """L @ D @ L.T @ x = b in the place of b: down through the triangle and the blocks, and up through its transpose.

    A positive pivot is a block of one, the row of which was exchanged with another one; two negative ones are a block of two.
    """
    n, k, steps = len(exchanged), 0, []
    while k < n:
        size = 1 if exchanged[k] > 0 else 2
        last, other = k + size - 1, abs(int(exchanged[k])) - 1
        steps.append((k, size, last, other))
        b[[last, other]] = b[[other, last]]
        b[k + size :] -= factors[k + size :, k : k + size] @ b[k : k + size]
        block = np.tril(factors[k : k + size, k : k + size])
        b[k : k + size] = np.linalg.solve(block + np.tril(block, -1).T, b[k : k + size])
        k += size
    for first, size, last, other in reversed(steps):
        b[first : first + size] -= factors[first + size :, first : first + size].T @ b[first + size :]
        b[[last, other]] = b[[other, last]]


def _cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor and LAPACK's report, which is the order of the first minor that is not positive: so far the factor goes."""
    try:
        found = call("cholesky_ex", TORCH, (A,), {"upper": upper, "check_errors": check_errors})
        return named_results("linalg_cholesky_ex", ("L", "info"), tuple(found))
    except LinAlgError:
        if check_errors:
            raise
    from scipy.linalg import lapack

    factor = lapack.spotrf if A.array.dtype == np.float32 else lapack.dpotrf
    *lead, n, _ = A.array.shape
    factors, reports = np.empty((*lead, n, n), A.array.dtype), np.empty(lead, np.int32)
    for place in np.ndindex(*lead):
        part, reports[place] = factor(np.asfortranarray(A.array[place]), lower=1, clean=1)
        factors[place] = part if upper else part.T
    parts = (Tensor(factors.swapaxes(-1, -2)), Tensor(reports))
    to_be_derived("linalg_cholesky_ex of what is not positive definite", "LinalgCholeskyExBackward0", parts[0], [A])
    return named_results("linalg_cholesky_ex", ("L", "info"), parts)


FACTORS: dict[str, Callable[..., Any]] = {
    name: checked(by_example(function), name, "torch.linalg")
    for name, function in (
        ("ldl_factor", _ldl_factor),
        ("ldl_factor_ex", _ldl_factor_ex),
        ("ldl_solve", _ldl_solve),
        ("cholesky_ex", _cholesky_ex),
    )
}
GEQRF = checked(by_example(_geqrf), "geqrf")
GEQRF_METHOD = checked(by_example(_geqrf), "geqrf", "Tensor")
