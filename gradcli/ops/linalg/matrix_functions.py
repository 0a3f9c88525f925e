"""Powers, products and the exponential of matrices; matrices made of vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LinAlgError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import getitem, reshape, stack
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import less, where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg import perturbation
from gradcli.ops.linalg.matrices import (
    as_column,
    as_matrix,
    as_row,
    column_range,
    for_rows,
    lower_part,
    matrix,
    no_info,
    parts_of,
    square,
    transposed,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import function, structural
from gradcli.ops.room import nodes_for, room_for
from gradcli.ops.spec import Op
from gradcli.ops.text import POWER, Form
from gradcli.ops.writing import Shape, witness

# -- Inverses and determinants over the last two axes ----------------------------------------------
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


def _inv_shape(x: Shape, check_errors: bool = True) -> Shape:
    return square(x, "inv")


def _inv_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, check_errors: bool) -> tuple[Any]:
    return (-matmul(matmul(transposed(out), cotangent), transposed(out)),)


inv = structural(
    "inv", "x", _inv, witness("factors.inv"), vjp=_inv_vjp, shape=_inv_shape, static={"check_errors": True},
    saves=("out",), core_dims=(2,), aliases=("inverse",), domain="a regular matrix", backward="LinalgInvEx",
    latex=Form("{x:atom}^{{-1}}", POWER), doc="The inverse of a matrix.", examples=("inv(X.T @ X)",), ulps=64,
    extended=Whole("equations.INV"),
    carries=perturbation.inverse,
    numpy=lambda shapes, check_errors: "np.linalg.inv({0})",
)  # fmt: skip


def _adjugate(x: Any) -> Any:
    # From the singular values, so that a singular matrix has its adjugate too.
    if x.shape[-1] == 0 or not np.isfinite(x).all():
        return x * np.nan
    u, s, vt = np.linalg.svd(x)
    rows = s.shape[-1]
    others = np.ones_like(s)
    for i in range(rows):
        others[..., i] = np.prod(np.delete(s, i, axis=-1), axis=-1)
    orientation = np.linalg.det(u) * np.linalg.det(vt)
    product = np.swapaxes(vt, -1, -2) * others[..., None, :] @ np.swapaxes(u, -1, -2)
    return product * np.round(orientation)[..., None, None]


def _adjugate_shape(x: Shape, h: Shape | None = None) -> Shape:
    return np.broadcast_shapes(square(x, "adjugate"), h or x)


def _adjugate_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    # <c, adj(x)> is the derivative of det in the direction c.T, and second derivatives are symmetric.
    return (transposed(adjugate_jvp(x, transposed(cotangent))),)


adjugate = structural(
    "adjugate", "x", _adjugate, witness("factors.adjugate"), vjp=_adjugate_vjp, shape=_adjugate_shape, saves=("x", "out"), core_dims=(2,),
    work=for_rows(power=4), ulps=64,
    doc="The transposed matrix of cofactors: det(x)*inv(x), and defined for singular matrices as well.",
    numpy="_adjugate({0})",
)  # fmt: skip


def _adjugate_jvp(x: Any, h: Any) -> Any:
    # In the basis of the singular vectors x is diagonal, where the derivative has a closed form without a division.
    if x.shape[-1] == 0 or not (np.isfinite(x).all() and np.isfinite(h).all()):
        return x * h * np.nan
    u, s, vt = np.linalg.svd(x)
    g = np.swapaxes(u, -1, -2) @ h @ np.swapaxes(vt, -1, -2)
    n = s.shape[-1]
    out = np.zeros_like(g)
    for i in range(n):
        for j in range(n):
            if i != j:
                others = np.prod(np.delete(s, [i, j], axis=-1), axis=-1)
                out[..., i, j] = -others * g[..., i, j]
                out[..., i, i] += others * g[..., j, j]
    orientation = np.round(np.linalg.det(u) * np.linalg.det(vt))[..., None, None]
    return np.swapaxes(vt, -1, -2) @ out @ np.swapaxes(u, -1, -2) * orientation


def _adjugate_jvp_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    by_x = None
    if wanted[0] and x.shape[-1] < 4:
        # the slope does not depend on matrices of two rows, and is bilinear in those of three
        by_x = zeros(x.shape, x) if x.shape[-1] < 3 else transposed(adjugate_jvp(h, transposed(cotangent)))
    elif wanted[0]:
        # tr(Y h) A - A h Y with Y = inv(x) and A = adj(x), differentiated through both
        y, a = inv(x), adjugate(x)
        inner = as_matrix(sum_(cotangent * a, axis=(-2, -1)))
        by_y = inner * transposed(h) - matmul(transposed(matmul(a, h)), cotangent)
        by_a = as_matrix(sum_(y * transposed(h), axis=(-2, -1))) * cotangent - matmul(cotangent, transposed(matmul(h, y)))
        by_x = -matmul(matmul(transposed(y), by_y), transposed(y)) + transposed(adjugate_jvp(x, transposed(by_a)))
    return by_x, transposed(adjugate_jvp(x, transposed(cotangent))) if wanted[1] else None


adjugate_jvp = structural(
    "adjugate_jvp", "x h", _adjugate_jvp, witness("factors.adjugate_jvp"), vjp=_adjugate_jvp_vjp,
    shape=_adjugate_shape, saves=("x", "h"), core_dims=(2, 2), public=False, ulps=64,
    doc="The derivative of the adjugate in a direction, at singular matrices too.",
)  # fmt: skip


def _det_shape(x: Shape) -> Shape:
    return square(x, "det")[:-2]


def _det_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    return (as_matrix(cotangent) * transposed(adjugate(x)),)


det = structural(
    "det", "x", np.linalg.det, witness("factors.det"), vjp=_det_vjp, shape=_det_shape, saves=("x",), core_dims=(2,),
    work=for_rows(0.4, power=2), backward="LinalgDet", extended=Whole("equations.DET"),
    doc="The determinant. Its gradient is the cofactor matrix, at singular matrices too "
    "(PyTorch returns zeros there).",
    sign=r"\det", examples=("log(det(A))",), ulps=64,
    carries=perturbation.determinant,
    numpy="np.linalg.det({0})",
)  # fmt: skip


def _slogdet_vjp(wanted: Any, cotangent: tuple[Any, Any], out: Any, x: Any) -> tuple[Any]:
    return (as_matrix(cotangent[1]) * transposed(inv(x, check_errors=False)) if cotangent[1] is not None else None,)


@function(
    vjp=_slogdet_vjp, forward=lambda x: tuple(np.linalg.slogdet(x)), outputs=2, shape=lambda x: (square(x, "slogdet")[:-2], x[:-2]),
    saves=("x",), core_dims=(2,), work=for_rows(0.4, power=2), domain="a regular matrix", backward="LinalgSlogdet",
    ulps=64, extended=Whole("equations.SLOGDET"), carries=perturbation.log_determinant, numpy="np.linalg.slogdet({0})",
)  # fmt: skip
def slogdet(x: Any) -> Any:
    """The sign of the determinant and the logarithm of its size, without overflow: slogdet(A)[1]."""
    size = det(x)
    return sign(size), log(abs_(size))


@function(domain="a matrix with a positive determinant", examples=("logdet(X.T @ X)",))
def logdet(x: Any) -> Any:
    """The logarithm of the determinant, without overflow: NaN (and no gradient) if it is negative, -inf if it is 0."""
    sign, size = parts_of(slogdet, x)
    return where(less(sign, 0), math.nan, size)


@function(results=("inverse", "info"), aside={1: "int32"})
def inv_ex(x: Any, *, check_errors: bool = False) -> Any:
    """The inverse of a matrix, and zeros; of a singular matrix, infinities."""
    return inv(x, check_errors=check_errors), no_info(x)


@function(results=("sign", "logabsdet"), public=False)
def named_slogdet(x: Any) -> Any:
    """The sign of the determinant and the logarithm of its size."""
    return parts_of(slogdet, x)


_A = "x|A|input"
declare(
    TORCH,
    det=signature("det", _A), logdet=signature("logdet", _A),
    **{name: signature("inv", _A) for name in ("inv", "linalg.inv", "inverse")},
    **{name: signature("named_slogdet", _A) for name in ("slogdet", "linalg.slogdet")},
    **{"linalg.inv_ex": signature("inv_ex", f"{_A}, *, check_errors")},
)
declare(NUMPY, slogdet=signature("named_slogdet", "x"))
declare(
    SCIPY,
    inv=signature("inv", "x, -overwrite_a, -check_finite, -assume_a, -lower"),
    det=signature("det", "x, -overwrite_a, -check_finite"),
)


# The numerator of the Padé approximant of exp of degree 13, good to double precision up to this norm (N. J. Higham, 2005).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_NORM = 5.37


def _matrix_exp(x: Any) -> Any:
    """By a rational approximation of exp(x/2**k), squared k times; SciPy's is off by more digits."""
    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    small = np.where(finite, x, 0).astype(np.float64)
    norm = np.abs(small).sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True, initial=0)
    halvings = np.maximum(np.ceil(np.log2(np.maximum(norm, _PADE_NORM) / _PADE_NORM)), 0)
    small = small / 2**halvings
    square = small @ small
    powers = [np.eye(x.shape[-1]), square, square @ square]
    powers.append(powers[2] @ square)
    low = [sum(_PADE[2 * i + odd] * power for i, power in enumerate(powers)) for odd in (0, 1)]
    high = [sum(_PADE[8 + 2 * i + odd] * power for i, power in enumerate(powers[1:])) for odd in (0, 1)]
    even, odd = low[0] + powers[3] @ high[0], small @ (low[1] + powers[3] @ high[1])
    result = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        result = np.where(k < halvings, result @ result, result)
    return np.where(finite, result, np.nan).astype(x.dtype)


def _matrix_exp_shape(x: Shape, h: Shape | None = None) -> Shape:
    return np.broadcast_shapes(square(x, "matrix_exp"), h or x)


def _matrix_exp_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    return (matrix_exp_jvp(transposed(x), cotangent),)


matrix_exp: Op = structural(
    "matrix_exp", "x", _matrix_exp, witness("factors.matrix_exp"), vjp=_matrix_exp_vjp, shape=_matrix_exp_shape, saves=("x",),
    core_dims=(2,), work=for_rows(15), ulps=64, aliases=("expm",), backward="LinalgMatrixExp",
    doc="The exponential of a matrix: the sum of x**k/k!.", examples=("matrix_exp(A)",),
)  # fmt: skip


def _beside(x: Any, h: Any) -> Any:
    """[[x, h], [0, x]], whose functions have their derivatives at x in the direction h in the place of h (R. Mathias, 1996)."""
    return np.concatenate([np.concatenate([x, h], axis=-1), np.concatenate([0 * x, x], axis=-1)], axis=-2)


def _matrix_exp_jvp(x: Any, h: Any) -> Any:
    n = x.shape[-1]
    return _matrix_exp(_beside(*np.broadcast_arrays(x, h)))[..., :n, n:]


def _matrix_exp_jvp_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    turned = transposed(x)
    by_x = None
    if wanted[0]:
        n, none = x.shape[-1], zeros(x.shape, x)
        whole = _blocks(turned, none, transposed(h), turned)
        inner = matrix_exp_jvp(whole, _blocks(none, cotangent, none, none))
        first, last = (None, n, None), (n, None, None)
        by_x = getitem(inner, index=(..., first, first)) + getitem(inner, index=(..., last, last))
    return by_x, matrix_exp_jvp(turned, cotangent) if wanted[1] else None


def _blocks(*parts: Any) -> Any:
    above, below = concatenate(*parts[:2], axis=-1), concatenate(*parts[2:], axis=-1)
    return concatenate(above, below, axis=-2)


matrix_exp_jvp: Op = structural(
    "matrix_exp_jvp", "x h", _matrix_exp_jvp, witness("factors.matrix_exp_jvp"), vjp=_matrix_exp_jvp_vjp, shape=_matrix_exp_shape,
    saves=("x", "h"), core_dims=(2, 2), work=for_rows(120), public=False, ulps=64,
    doc="The derivative of the matrix exponential in a direction.",
)  # fmt: skip


def _cheapest(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where to split each part of a chain of matrices so that its product takes the fewest multiplications."""
    n = len(extents) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)
            )
    return split


def _product(chain: Sequence[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = split[i, j]
    return matmul(_product(chain, split, i, k), _product(chain, split, k + 1, j))


def _vander(x: Any, count: int | None, increasing: bool) -> Any:
    count = x.shape[-1] if count is None else count
    if count < 0:
        raise ArgumentError(f"vander: N must be at least 0, not {count}")
    nodes_for(count, "vander")
    room_for(*x.shape, count)
    powers = [where(np.ones(x.shape, dtype=bool), 1.0, x)]
    while len(powers) < count:
        powers.append(powers[-1] * x if len(powers) > 1 else x)
    return stack(*(powers if increasing else reversed(powers)), axis=-1) if count else zeros((*x.shape, 0), x)


def _reflected(x: Any, tau: Any, y: Any, backwards: bool) -> Any:
    """Columns y after the reflections whose vectors are the columns of x below the diagonal."""
    below = with_unit_diagonal(lower_part(x, -1))
    places = range(tau.shape[-1])
    for i in reversed(places) if backwards else places:
        vector = column_range(below, i, i + 1)
        y = y - matmul(as_row(column_range(tau, i, i + 1)) * vector, matmul(transposed(vector), y))
    return y


@function(numpy="x, power|n", copied=True, examples=("matrix_power(A, 3)",))
def matrix_power(x: Any, *, power: int) -> Any:
    """The product of n copies of a matrix, or of its inverse if n is negative."""
    square(x.shape, "matrix_power")
    if not isinstance(power, int):
        raise ArgumentError(f"matrix_power needs a whole number, not {power!r}")
    if power == 0:
        return with_unit_diagonal(zeros(x.shape, x))
    base = inv(x) if power < 0 else x
    result = base
    for bit in bin(abs(power))[3:]:
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, base)
    return result


@function(torch="**arrays|tensors", numpy="**arrays, -out", examples=("multi_dot([x, A, B])",))
def multi_dot(*arrays: Any) -> Any:
    """The product of several matrices, in the order of the fewest multiplications; the first and the last may be vectors."""
    if len(arrays) < 2:
        raise ArgumentError("multi_dot needs at least two matrices")
    first, *middle, last = arrays
    if any(len(x.shape) != 2 for x in middle) or not {len(first.shape), len(last.shape)} <= {1, 2}:
        raise ShapeError("multi_dot needs matrices; the first and the last may be vectors")
    chain = [as_row(first) if len(first.shape) == 1 else first, *middle, as_column(last) if len(last.shape) == 1 else last]
    for x, y in itertools.pairwise(chain):
        if x.shape[-1] != y.shape[-2]:
            raise ShapeError(f"multi_dot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit")
    product = _product(chain, _cheapest([chain[0].shape[0], *(x.shape[1] for x in chain)]), 0, len(chain) - 1)
    return reshape(product, shape=(*first.shape[:-1], *last.shape[1:]))


@function(torch="x, count|N, increasing", numpy="x, count|N, increasing", examples=("vander(x, 3)",))
def vander(x: Any, *, count: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of a vector's entries, N columns with the exponents descending."""
    if len(x.shape) != 1:
        raise ShapeError(f"vander needs a vector, not an array of shape {tuple(x.shape)}")
    return _vander(x, count, increasing)


@function(public=False)
def torch_vander(x: Any, *, count: int | None = None) -> Any:
    """torch.linalg.vander: the powers of the entries along the last axis, the exponents ascending."""
    if count is not None and count < 2:
        raise ArgumentError(f"linalg.vander: N must be greater than 1, not {count}")
    return _vander(x if x.shape else reshape(x, shape=(1,)), count, True)


@function(aliases=("orgqr",), backward="LinalgHouseholderProduct")
def householder_product(x: Any, tau: Any) -> Any:
    """The first columns of the product of the reflections 1 - tau*v*v.T, v being the columns of x below its diagonal of
    ones.
    """
    rows, columns = matrix(x.shape, "householder_product")[-2:]
    if rows < columns or tau.shape[-1] > columns or tuple(tau.shape[:-1]) != tuple(x.shape[:-2]):
        raise ShapeError(f"householder_product: matrices of shape {tuple(x.shape)} and factors of shape {tuple(tau.shape)} do not fit")
    return _reflected(x, tau, with_unit_diagonal(zeros(x.shape, x)), True)


@function(torch="x|input|a, tau|input2, y|other|input3, left, transpose")
def ormqr(x: Any, tau: Any, y: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """The product of reflections, as of householder_product but square, or of its transpose, with y on its right or left."""
    if left:
        return _reflected(x, tau, y, not transpose)
    return transposed(_reflected(x, tau, transposed(y), transpose))


declare(
    TORCH,
    matrix_power=signature("matrix_power", f"{_A}, power|n"),
    **{name: signature("matrix_exp", _A) for name in ("matrix_exp", "linalg.matrix_exp")},
    chain_matmul=signature("multi_dot", "**arrays|matrices"),
    **{"linalg.vander": signature("torch_vander", "x, *, count|N")},
    **{name: signature("householder_product", f"{_A}, tau|input2") for name in ("householder_product", "orgqr")},
)
declare(SCIPY, expm=signature("matrix_exp", "x|A"))
