"""Eigenvalues of symmetric matrices and singular values, with their vectors.

They are over the last two axes. Norms and condition numbers are here, too.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gradcli.errors import (
    ArgumentError,
    LinAlgError,
    MistypedArgumentError,
    ShapeError,
)
from gradcli.ops.arrays.reshaping import movedim
from gradcli.ops.arrays.shapes import reshape, vector_of
from gradcli.ops.carrying import reduced_shape
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.elementwise.logic import greater, isnan, logical_and, logical_not, where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import (
    as_column,
    as_row,
    column_range,
    diagonal_matrix,
    matrix,
    need_finite,
    nothing,
    results_of,
    row_range,
    square,
    transpose_matrix,
    with_unit_diagonal,
    without_diagonal,
)
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import max_, min_, norm, sum_
from gradcli.ops.registry import (
    Function,
    Op,
    Shape,
    axes_of,
    declare,
    function,
    need_axes,
    noted_kink,
    structural,
    witness,
)
from gradcli.ops.structure import detach, output, to_int

# Where the references are not enclosures.
_EQUAL_VALUES = ("where eigenvalues are equal to the program's precision: those are the end of an "
"iteration")
_EQUAL_SIZES = ("where singular values are 0 or equal, to the program's precision: those are the "
"end of an iteration")


def _in_double(forward: Function) -> Function:
    """LAPACK in double precision: so the signs of vectors depend on the numbers alone."""

    def run(x: Any, *settings: Any, **named: Any) -> tuple[Any, ...]:
        need_finite(x, "no such decomposition")
        try:
            return tuple(
                part.astype(x.dtype)
                for part in forward(np.asarray(x, np.float64), *settings, **named)
            )
        except np.linalg.LinAlgError:
            raise LinAlgError("the decomposition of the matrix did not converge") from None

    return run


def _upper(UPLO: str) -> bool:
    if UPLO not in ("L", "U", "l", "u"):
        raise ArgumentError(f"UPLO must be 'L' or 'U', not {UPLO!r}")
    return UPLO in "Uu"


@_in_double
def _eigh(x: Any, UPLO: Any) -> Any:
    return np.linalg.eigh(x, UPLO)


def _eigh_shape(x: Shape, UPLO: str = "L") -> tuple[Shape, Shape]:
    _upper(UPLO)
    return square(x, "eigh")[:-1], x


def _differences(row: Any, column: Any) -> Any:
    return with_unit_diagonal(as_row(row) - as_column(column))


def _eigh_vjp(cotangent: tuple[Any, Any], out: Any, x: Any, UPLO: str) -> Any:
    values, vectors = output(out, place=0), output(out, place=1)
    by_values, by_vectors = cotangent
    inner = 0.0 if by_values is None else diagonal_matrix(by_values)
    if by_vectors is not None:
        turned = matmul(transpose_matrix(vectors), by_vectors)
        inner = inner + 0.5 * (turned - transpose_matrix(turned)) / _differences(values, values)
    return matmul(vectors, matmul(inner, transpose_matrix(vectors)))


eigh: Op = structural(
    "eigh", "x", _eigh, witness("factors.eigh", work=12, ends=_EQUAL_VALUES), vjp=_eigh_vjp, shape=_eigh_shape,
    static={"UPLO": "L"}, results="eigenvalues eigenvectors", saves="out", core_dims=(2,), backward="LinalgEigh",
    kinks=noted_kink("equal eigenvalues", "that of LAPACK's eigenvectors"), extended=Whole("EIGH"),
    domain="a symmetric matrix; for gradients of vectors, one without repeated eigenvalues",
    doc="The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors, signs as "
    "NumPy has them: a "
    "tuple. One triangle is read, and the gradient is symmetric. >>> eigh(A)[0]",
)


@_in_double
def _svd(x: Any, full_matrices: bool) -> Any:
    return np.linalg.svd(x, full_matrices)


def _svd_shape(x: Shape, full_matrices: bool = True) -> tuple[Shape, Shape, Shape]:
    *batch, n, m = matrix(x, "svd")
    k = min(n, m)
    return (
        (*batch, n, n if full_matrices else k),
        (*batch, k),
        (*batch, m if full_matrices else k, m),
    )


def _svd_vjp(cotangent: tuple[Any, Any, Any], out: Any, x: Any, full_matrices: bool) -> Any:
    u, s, vh = (output(out, place=i) for i in range(3))
    by_u, by_s, by_vh = cotangent
    n = u.shape[-2]
    m = vh.shape[-1]
    k = s.shape[-1]
    if full_matrices and n != m:
        u, vh = column_range(u, None, k), row_range(vh, None, k)
        by_u = None if by_u is None else column_range(by_u, None, k)
        by_vh = None if by_vh is None else row_range(by_vh, None, k)
    inner = 0.0 if by_s is None else diagonal_matrix(by_s)
    if by_u is not None or by_vh is not None:
        squares = _differences(s, s) * with_unit_diagonal(as_row(s) + as_column(s))
        if by_u is not None:
            inner = inner + _skew(matmul(transpose_matrix(u), by_u)) / squares * as_row(s)
        if by_vh is not None:
            inner = inner + as_column(s) * (_skew(matmul(vh, transpose_matrix(by_vh))) / squares)
    slope = matmul(u, matmul(inner, vh))
    if by_u is not None and n > k:
        slope = slope + matmul(_orthogonal_part(u, by_u / as_row(s)), vh)
    if by_vh is not None and m > k:
        slope = slope + matmul(
            u,
            transpose_matrix(
                _orthogonal_part(transpose_matrix(vh), transpose_matrix(by_vh / as_column(s)))
            ),
        )
    return slope


def _skew(x: Any) -> Any:
    return without_diagonal(x - transpose_matrix(x))


def _orthogonal_part(u: Any, x: Any) -> Any:
    """Return the part of columns that is orthogonal to those of u."""
    return x - matmul(u, matmul(transpose_matrix(u), x))


svd: Op = structural(
    "svd", "x", _svd, witness("factors.svd", work=12, ends=_EQUAL_SIZES), vjp=_svd_vjp, shape=_svd_shape,
    static={"full_matrices": True}, results="U S Vh", saves="out", core_dims=(2,), backward="LinalgSvd",
    domain="for gradients of vectors, a matrix of full rank without repeated singular values",
    doc="U, the singular values S in descending order, and V transposed, with x = U @ diag(S) @ "
    "Vt, signs as NumPy "
    "has them: a tuple. Columns of U and V beyond the singular values count as constants, as in "
    "PyTorch. >>> svd(A)[1]",
)


@function(
    backward="LinalgSvd",
    kinks=noted_kink("equal singular values, or singular values of 0", "that of "
    "LAPACK's singular vectors"),
)
def svdvals(x: Any) -> Any:
    """The singular values in descending order.

    >>> svdvals(A)
    """
    return results_of(svd, x, full_matrices=False)[1]


@function(
    backward="LinalgEigh",
    kinks=eigh.kinks,
    domain="a symmetric matrix",
)
def eigvalsh(x: Any, *, UPLO: Any = "L") -> Any:
    """The eigenvalues of a symmetric matrix in ascending order.

    >>> eigvalsh(A)
    """
    return results_of(eigh, x, UPLO=UPLO)[0]


@function(backward="LinalgEigh", results="eigenvalues eigenvectors")
def named_eigh(x: Any, *, UPLO: Any = "L") -> Any:
    """eigh of NumPy and PyTorch: eigenvalues in ascending order, and eigenvectors."""
    return results_of(eigh, x, UPLO=UPLO)


@function()
def scipy_eigh(x: Any, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    """scipy.linalg.eigh: eigenvalues in ascending order, and eigenvectors unless eigvals_only."""
    values, vectors = results_of(eigh, x, UPLO="L" if lower else "U")
    return values if eigvals_only else (values, vectors)


@function(results="U S Vh", backward="LinalgSvd")
def named_svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """svd of NumPy and PyTorch: U, S and V transposed; S alone without compute_uv."""
    return results_of(svd, x, full_matrices=full_matrices) if compute_uv else svdvals(x)


@function(results="U S V")
def old_svd(x: Any, *, some: bool = True, compute_uv: bool = True) -> tuple[Any, Any, Any]:
    """torch.svd: U, S and V (not transposed), reduced if some."""
    u, s, vh = results_of(svd, x, full_matrices=not (some and compute_uv))
    if not compute_uv:
        u, vh = 0.0 * u, 0.0 * vh  # zeros, with all columns, as in PyTorch
    return u, s, transpose_matrix(vh)


_MATRIX = "x|A|input"


# -- The pseudoinverse of matrices of any rank, and least squares --------------------------------


_EPSILON = 2.0**-52
_OF_LOW_RANK = ("where singular values count as zero: the others' vectors are the end of an "
"iteration")


def _pinv_shape(x: Shape, **_: Any) -> Shape:
    *batch, n, m = matrix(x, "pinv")
    return (*batch, m, n)


def _pinv(x: Any, rtol: Any, atol: Any) -> Any:
    need_finite(x, "no pseudoinverse")
    if rtol is None:
        rtol = 0.0 if atol else max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
    if atol and x.size:
        sizes = np.linalg.norm(x, 2, axis=(-2, -1))
        rtol = np.maximum(rtol, atol / np.where(sizes > 0, sizes, 1))
    return np.linalg.pinv(x, rtol)


def _pinv_vjp(cotangent: Any, out: Any, x: Any, rtol: Any, atol: Any) -> Any:
    g, pt = transpose_matrix(cotangent), transpose_matrix(out)
    k = matmul(out, g)
    pk = matmul(pt, k)
    return (
        pk
        - matmul(pk, matmul(out, x))
        - transpose_matrix(matmul(k, out))
        + matmul(matmul(g - matmul(x, k), out), pt)
    )


pinv: Op = structural(
    "pinv", "x", _pinv, witness("factors.pinv", work=2, ends=_OF_LOW_RANK), vjp=_pinv_vjp, shape=_pinv_shape,
    static={"rtol": None, "atol": None}, saves="x out", core_dims=(2,),
    backward="LinalgPinv", kinks=noted_kink("a matrix of low rank", "that at a fixed rank"),
    doc="The pseudoinverse (Moore-Penrose). Singular values up to rtol times the largest, or up "
    "to atol, count as zero, and the "
    "gradient is that at a fixed rank. >>> pinv(A) @ b",
)


def _least_squares(x: Any, y: Any, rtol: float | None, vector: bool) -> tuple[Any, Any, Any, Any]:
    """Solve least squares.

    The results are the solution, the sums of squared residuals (if there are more rows than
    columns), the rank and the singular values.
    """
    right = as_column(y) if vector else y
    solution = matmul(pinv(x, rtol=rtol), right)
    *_, n, m = x.shape
    missed = matmul(x, solution) - right
    sizes = svdvals(x)
    cutoff = (max(n, m) * _EPSILON if rtol is None else rtol) * column_range(sizes, None, 1)
    rank = to_int(sum_(where(greater(sizes, cutoff), 1.0, 0.0), axis=-1))
    found = reshape(solution, shape=solution.shape[:-1]) if vector else solution
    return found, sum_(missed * missed, axis=-2) if n > m else nothing(x), rank, sizes


@function(results="solution residuals rank singular_values:", backward="LinalgLstsq")
def torch_lstsq(
    x: Any,
    y: Any,
    *,
    rcond: float | None = None,
    driver: Literal["gels", "gelsy", "gelsd", "gelss", None] = None,
) -> tuple[Any, Any, Any, Any]:
    """torch.linalg.lstsq: the z of least norm with the least norm of x @ z - y, and what else LAPACK's
    driver tells.
    """
    driver = driver or "gelsy"
    vector = len(y.shape) == len(x.shape) - 1 and tuple(y.shape) == tuple(x.shape[:-1])
    tolerance = rcond if driver != "gels" else None
    solution, residuals, rank, sizes = _least_squares(x, y, tolerance, vector)
    return (
        solution,
        nothing(x) if driver == "gelsy" else residuals,
        nothing(x) if driver == "gels" else rank,
        detach(sizes if driver in ("gelsd", "gelss") else nothing(x)),
    )


@function(
    numpy="x, y|b, rcond",
    scipy="x, y|b, rcond|cond, -overwrite_a, -overwrite_b, -check_finite, -lapack_driver",
    results="solution residuals rank singular_values",
)
def lstsq(x: Any, y: Any, *, rcond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """The z of least norm with the least norm of x @ z - y; the sums of squared residuals (none unless x has more rows than
    columns), the rank of x and its singular values.

    >>> lstsq(A, b)[0]
    """
    return _least_squares(x, y, rcond, len(y.shape) == 1)


_A, _B = "x|A|input", "y|B|b"
declare(f"""
    numpy:
        eigh = named_eigh(x, UPLO)
        svd = named_svd(x, full_matrices, compute_uv, -hermitian)
        pinv(x, rtol|rcond=1e-15, -hermitian)
    scipy:
        svd = named_svd(x, full_matrices, compute_uv, -overwrite_a, -check_finite, -lapack_driver)
        svdvals(x, -overwrite_a, -check_finite)
        eigh = scipy_eigh(x, -b, lower, eigvals_only, -overwrite_a)
        eigvalsh = scipy_eigh(x, -b, lower, -overwrite_a; eigvals_only=True)
        pinv(x, atol, rtol, -return_rank, -check_finite)
    torch:
        eigh = named_eigh({_MATRIX}, UPLO)
        eigvalsh({_MATRIX}, UPLO)
        svdvals({_MATRIX}, -driver)
        svd Tensor.svd = old_svd({_MATRIX}, some, compute_uv)
        linalg.svd = named_svd({_MATRIX}, full_matrices, -driver)
        linalg.pinv = pinv({_A}, rtol|rcond, atol, -hermitian)
        pinverse = pinv({_A}, rtol|rcond=1e-15)
        lstsq = torch_lstsq({_A}, {_B}, rcond, *, driver)
""")


# -- Norms of vectors and matrices, and condition numbers ----------------------------------------


_LAST = (-2, -1)
_ORDERS = (1, -1, 2, -2, math.inf, -math.inf, "nuc")  # of matrices, besides the Frobenius norm


@function(backward="LinalgVectorNorm")
def vector_norm(x: Any, *, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of the entries along axes, as one vector: ord any number, inf or -inf.

    >>> vector_norm(x, 3)
    """
    axis = None if axis == () else axis
    if isinstance(ord, str):
        raise MistypedArgumentError(f"a vector has no norm {ord!r}")
    if ord == 2:
        ord = None
    if ord is not None and axis is None and len(x.shape) > 1:
        found = norm(vector_of(x), ord=ord)
        return reshape(found, shape=(1,) * len(x.shape)) if keepdims else found
    return norm(x, ord=ord, axis=axis, keepdims=keepdims)


@function()
def matrix_norm(x: Any, *, ord: Any = "fro", axis: Any = _LAST, keepdims: bool = False) -> Any:
    """A norm of matrices: 'fro', 'nuc' (the sum of the singular values), 2 and -2 (the largest and the smallest), 1 and -1 (of the
    sums of sizes along columns), inf and -inf (along rows).

    >>> matrix_norm(A, 'nuc')
    """
    need_axes("matrix_norm", x, 2)
    axes = axes_of(axis, x.shape)
    if len(axes) != 2:
        raise ShapeError(f"a norm of matrices needs two axes, not {axis}")
    if ord in (None, "fro"):
        return norm(x, axis=axes, keepdims=keepdims)
    if ord not in _ORDERS:
        raise ArgumentError(
            f"a norm of matrices has the order 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, not {ord!r}"
        )
    if 0 in (x.shape[axes[0]], x.shape[axes[1]]):
        return sum_(x, axis=axes, keepdims=keepdims)
    kept = reduced_shape(x.shape, axes, True)
    x = movedim(x, source=axes, destination=_LAST)
    sizes = (
        svdvals(x) if ord in (2, -2, "nuc") else sum_(abs_(x), axis=-2 if ord in (1, -1) else -1)
    )
    choose = sum_ if ord == "nuc" else max_ if ord > 0 else min_
    found = choose(sizes, axis=-1)
    return reshape(found, shape=kept) if keepdims else found


@function()
def numpy_norm(x: Any, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm, and torch.linalg.norm: of one axis or a vector a vector norm, of two axes or a
    matrix a matrix norm.
    """
    if isinstance(axis, tuple) and len(axis) > 2:
        raise ShapeError(f"norm works along one or two axes, not {axis}")
    count = len(x.shape) if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if ord is None or count == 1:
        return vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)
    if count != 2:
        raise ShapeError(
            f"norm of an array of shape {tuple(x.shape)} with ord={ord!r} needs an axis, or two"
        )
    return matrix_norm(x, ord=ord, axis=_LAST if axis is None else axis, keepdims=keepdims)


@function(backward="LinalgVectorNorm")
def torch_norm(x: Any, *, ord: Any = "fro", axis: Any = None, keepdims: bool = False) -> Any:
    """torch.norm: the vector norm of the entries along axes, 'fro' being 2; 'nuc' the nuclear norm
    of matrices.
    """
    if ord == "nuc":
        return matrix_norm(
            x,
            ord=ord,
            axis=_LAST if axis is None and len(x.shape) == 2 else axis,
            keepdims=keepdims,
        )
    return vector_norm(x, ord=None if ord == "fro" else ord, axis=axis, keepdims=keepdims)


@function(
    torch="x|A|input, ord|p", numpy="x, ord|p", domain="a regular matrix"
)
def cond(x: Any, *, ord: Any = None) -> Any:
    """The condition number: the ratio of the largest to the smallest singular value, or the product of the norms of the
    matrix and of its inverse.

    >>> cond(A)
    """
    if 0 in x.shape[-2:]:
        return sum_(x, axis=_LAST)
    if ord in (None, 2, -2):
        sizes = svdvals(x)
        largest = column_range(sizes, None, 1)
        smallest = column_range(sizes, -1, None)
        return reshape(smallest / largest if ord == -2 else largest / smallest, shape=x.shape[:-2])
    size = matrix_norm(x, ord=ord)
    found = size * matrix_norm(inv(x, check_errors=False), ord=ord)
    return where(logical_and(isnan(found), logical_not(isnan(size))), math.inf, found)


_AXES = "axis, keepdims, -out, -dtype"
declare(f"""
    torch:
        linalg.norm = numpy_norm(x|A|input, ord, {_AXES})
        Tensor.norm norm = torch_norm(x, ord|p, {_AXES})
        vector_norm(x, ord, {_AXES})
        matrix_norm(x|A|input, ord, {_AXES})
        nuclear_norm = matrix_norm(x, axis, keepdims; ord='nuc')
        frobenius_norm = vector_norm(x, axis!, keepdims)
    numpy:
        vector_norm matrix_norm(x, ord, axis, keepdims)
""")
