"""Powers, products and the exponential of matrices; matrices made of vectors."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LinAlgError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import at_least_1d, tril
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import less, where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.equations_and_factors import solve
from gradcli.ops.linalg.matrices import (
    as_column,
    as_matrix,
    as_row,
    column_range,
    matrix,
    no_info,
    results_of,
    row_range,
    square,
    transpose_matrix,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import (
    Op,
    declare,
    function,
    room_for,
    structural,
    witness,
)
from gradcli.ops.text import POWER, Form

# -- Inverses and determinants over the last two axes ---------------------------------------------
#
# The multi-precision references of determinants need no division, so that they are right at
# singular matrices too.


def _inv(x: Any, check_errors: bool) -> Any:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        if check_errors:
            raise LinAlgError("the matrix is singular: it has no inverse") from None
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-2]):
        try:
            out[place] = np.linalg.inv(x[place])
        except np.linalg.LinAlgError:
            out[place] = _adjugate(x[place]) / 0.0
    return out


@function(
    "inv inverse",
    vjp=lambda cotangent, out, x, check_errors: -matmul(matmul(transpose_matrix(out), cotangent), transpose_matrix(out)),
    forward=_inv, shape=lambda x, **_: square(x, "inv"), saves="out", core_dims=(2,),
    domain="a regular matrix", backward="LinalgInvEx", latex=Form("{x:atom}^{{-1}}", POWER),
    numpy="np.linalg.inv({0})",
)
def inv(x: Any, *, check_errors: bool = True) -> Any:
    """The inverse of a matrix.

    >>> inv(X.T @ X)
    """
    if check_errors:
        return solve(x, with_unit_diagonal(zeros(x.shape, x)))
    return adjugate(x) / as_matrix(det(x))


def _adjugate(x: Any) -> Any:
    """Compute the adjugate from the singular values, so that singular matrices have one, too."""
    if x.shape[-1] == 0 or not np.isfinite(x).all():
        return x * np.nan
    u, s, vt = np.linalg.svd(x)
    others = np.prod(np.where(np.eye(x.shape[-1]) == 0, s[..., None, :], 1.0), axis=-1)
    orientation = np.round(np.linalg.det(u) * np.linalg.det(vt))[..., None, None]
    return transpose_matrix(vt) * others[..., None, :] @ transpose_matrix(u) * orientation


def _minors(x: Any) -> Any:
    """Return the matrices without one row and one column, for each pair of these."""
    n = x.shape[-1]
    rest = np.nonzero(~np.eye(n, dtype=bool))[1].reshape(n, max(n - 1, 0))
    return getitem(
        x, index=(..., StaticArray(rest[:, None, :, None]), StaticArray(rest[:, None, :]))
    )


def _signs(x: Any) -> np.ndarray:
    """Return the signs of cofactors."""
    places = np.arange(x.shape[-1])
    return (-1) ** np.add.outer(places, places)


def _adjugate_vjp(cotangent: Any, out: Any, x: Any) -> Any:
    slopes = sum_(
        transpose_matrix(adjugate(_minors(x))) * _minors(transpose_matrix(cotangent)), axis=(-2, -1)
    )
    return slopes * _signs(x)


@function(
    vjp=_adjugate_vjp, forward=_adjugate, shape=lambda x: square(x, "adjugate"), saves="x out", core_dims=(2,),
    numpy="_adjugate({0})",
)
def adjugate(x: Any) -> Any:
    """The transposed matrix of cofactors: det(x)*inv(x), and defined for singular matrices
    as well.
    """
    return transpose_matrix(det(_minors(x)) * _signs(x))


det = structural(
    "det", "x", np.linalg.det, "factors.det",
    vjp=lambda cotangent, out, x: as_matrix(cotangent) * transpose_matrix(adjugate(x)),
    shape=lambda x: square(x, "det")[:-2], saves="x", core_dims=(2,),
    backward="LinalgDet", extended=Whole("DET"),
    doc="The determinant. Its gradient is the cofactor matrix, at singular matrices too "
    "(PyTorch returns zeros there). >>> log(det(A))",
    numpy="np.linalg.det({0})",
)


@function(
    vjp=lambda cotangent, out, x: (
        None if cotangent[1] is None else as_matrix(cotangent[1]) * transpose_matrix(inv(x, check_errors=False))
    ),
    forward=lambda x: tuple(np.linalg.slogdet(x)), results="sign logabsdet",
    shape=lambda x: (square(x, "slogdet")[:-2], x[:-2]),
    saves="x", core_dims=(2,), domain="a regular matrix", backward="LinalgSlogdet",
    extended=Whole("SLOGDET"), numpy="np.linalg.slogdet({0})",
)
def slogdet(x: Any) -> Any:
    """The sign of the determinant and the logarithm of its size, without overflow:
    slogdet(A)[1].
    """
    size = det(x)
    return sign(size), log(abs_(size))


@function(domain="a matrix with a positive determinant")
def logdet(x: Any) -> Any:
    """The logarithm of the determinant, without overflow: NaN (and no gradient) if it is negative, -inf if it is 0.

    >>> logdet(X.T @ X)
    """
    sign, size = results_of(slogdet, x)
    return where(less(sign, 0), math.nan, size)


@function(results="inverse info:int32")
def inv_ex(x: Any, *, check_errors: bool = False) -> Any:
    """The inverse of a matrix, and zeros; of a singular matrix, infinities."""
    return inv(x, check_errors=check_errors), no_info(x)


@function(torch="x|A|input, ind")
def tensorinv(x: Any, *, ind: int = 2) -> Any:
    """The inverse of x as a map from its axes behind the first ``ind`` to these.

    >>> tensorinv(A, ind=1)
    """
    if ind <= 0:
        raise ArgumentError(f"tensorinv: ind must be at least 1, not {ind}")
    first, rest = x.shape[:ind], x.shape[ind:]
    n = math.prod(first)
    return reshape(inv(reshape(x, shape=(n, n))), shape=(*rest, *first))


@function(results="sign logabsdet")
def named_slogdet(x: Any) -> Any:
    """The sign of the determinant and the logarithm of its size."""
    return results_of(slogdet, x)


_A = "x|A|input"


def _matrix_exp(x: Any) -> Any:
    from scipy import linalg

    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    return np.where(finite, linalg.expm(np.where(finite, x, 0)), np.nan).astype(x.dtype)


matrix_exp: Op = structural(
    "matrix_exp expm", "x", _matrix_exp, witness("factors.matrix_exp", work=15),
    vjp=lambda cotangent, out, x: matrix_exp_jvp(transpose_matrix(x), cotangent),
    shape=lambda x: square(x, "matrix_exp"),
    saves="x", core_dims=(2,), backward="LinalgMatrixExp",
    doc="The exponential of a matrix: the sum of x**k/k!. >>> matrix_exp(A)",
)


def _blocks(*parts: Any) -> Any:
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    parts = tuple(broadcast_to(part, shape=shape) for part in parts)
    return concatenate(concatenate(*parts[:2], axis=-1), concatenate(*parts[2:], axis=-1), axis=-2)


def _matrix_exp_jvp(x: Any, h: Any) -> Any:
    """Compute the derivative of the matrix exponential in a direction.

    It stands in the place of h in the exponential of [[x, h], [0, x]] (R. Mathias, 1996).
    """
    n = x.shape[-1]
    return column_range(
        row_range(matrix_exp(_blocks(x, h, zeros(x.shape, x), x)), None, n), n, None
    )


def _second_derivative(cotangent: Any, out: Any, x: Any, h: Any) -> Any:
    """Compute the derivative by x of the derivative in a direction."""
    turned = transpose_matrix(x)
    n = x.shape[-1]
    none = zeros(x.shape, x)
    inner = matrix_exp_jvp(
        _blocks(turned, none, transpose_matrix(h), turned), _blocks(none, cotangent, none, none)
    )
    return column_range(row_range(inner, None, n), None, n) + column_range(
        row_range(inner, n, None), n, None
    )


matrix_exp_jvp: Op = function(
    "matrix_exp_jvp", vjp=(_second_derivative, lambda cotangent, out, x, h: matrix_exp_jvp(transpose_matrix(x), cotangent)),
    forward=_matrix_exp_jvp, shape=np.broadcast_shapes, saves="x h", core_dims=(2, 2),
    public=False,
)(_matrix_exp_jvp)


@function(numpy="x, power|n", memory="own")
def matrix_power(x: Any, *, power: int) -> Any:
    """The product of n copies of a matrix, or of its inverse if n is negative.

    >>> matrix_power(A, 3)
    """
    square(x.shape, "matrix_power")
    if power == 0:
        return with_unit_diagonal(zeros(x.shape, x))
    base = inv(x) if power < 0 else x
    result = base
    for bit in bin(abs(power))[3:]:
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, base)
    return result


@function(torch="**arrays|tensors", numpy="**arrays, -out")
def multi_dot(*arrays: Any) -> Any:
    """The product of several matrices; the first and the last may be vectors. It starts at the end that has fewer rows or columns.

    >>> multi_dot([x, A, B])
    """
    if len(arrays) < 2:
        raise ArgumentError("multi_dot needs at least two matrices")
    first, last = arrays[0], arrays[-1]
    if math.prod(first.shape[:-1]) <= math.prod(last.shape[1:]):
        return functools.reduce(matmul, arrays)
    return functools.reduce(lambda product, x: matmul(x, product), reversed(arrays))


@function(torch="x, count|N, increasing", numpy="x, count|N, increasing")
def vander(x: Any, *, count: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of a vector's entries, N columns with the exponents descending.

    >>> vander(x, 3)
    """
    x = at_least_1d(x)
    count = x.shape[-1] if count is None else count
    if count < 0:
        raise ArgumentError(f"vander: N must be at least 0, not {count}")
    room_for(*x.shape, count)
    column = as_column(x)
    exponents = np.arange(1, count)
    ones = where(np.ones((*x.shape, min(count, 1)), dtype=bool), 1.0, column)
    return (
        concatenate(ones, column**exponents, axis=-1)
        if increasing
        else concatenate(column ** exponents[::-1], ones, axis=-1)
    )


@function("householder_product orgqr", backward="LinalgHouseholderProduct")
def householder_product(x: Any, tau: Any) -> Any:
    """The first columns of the product of the reflections 1 - tau*v*v.T, v being the columns of x
    below its diagonal of ones.
    """
    rows, columns = matrix(x.shape, "householder_product")[-2:]
    if rows < columns or tau.shape[-1] > columns or tuple(tau.shape[:-1]) != tuple(x.shape[:-2]):
        raise ShapeError(
            f"householder_product: matrices of shape {tuple(x.shape)} and factors of shape "
            f"{tuple(tau.shape)} do not fit"
        )
    below = with_unit_diagonal(tril(x, k=-1))
    y = with_unit_diagonal(zeros(x.shape, x))
    for i in reversed(range(tau.shape[-1])):
        vector = column_range(below, i, i + 1)
        y = y - matmul(
            as_row(column_range(tau, i, i + 1)) * vector, matmul(transpose_matrix(vector), y)
        )
    return y


declare(f"""
    torch:
        householder_product orgqr = householder_product({_A}, tau|input2)
        det logdet({_A})
        inv linalg.inv inverse = inv({_A})
        slogdet linalg.slogdet = named_slogdet({_A})
        linalg.inv_ex = inv_ex({_A}, *, check_errors)
        matrix_power({_A}, power|n)
        matrix_exp linalg.matrix_exp = matrix_exp({_A})
        chain_matmul = multi_dot(**arrays|matrices)
        linalg.vander = vander(x, *, count|N; increasing=True)
    numpy:
        slogdet = named_slogdet(x)
        chain_matmul = multi_dot(**arrays|matrices)
    scipy:
        inv(x, -overwrite_a, -check_finite, -assume_a, -lower)
        det(x, -overwrite_a, -check_finite)
        expm = matrix_exp(x|A)
""")
