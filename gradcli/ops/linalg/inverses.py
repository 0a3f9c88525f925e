"""Inverses and determinants over the last two axes.

The multi-precision references of determinants need no division, so that they are right at singular matrices too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.domains import given
from gradcli.ops.elementwise.logic import less, where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg import perturbation
from gradcli.ops.linalg.conditions import has_positive_determinant, is_regular
from gradcli.ops.linalg.matrices import as_matrix, no_info, parts_of, square, transposed, zeros
from gradcli.ops.linalg.products import matmul
from gradcli.ops.linalg.work import for_rows
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite, structural
from gradcli.ops.text import POWER, Form
from gradcli.ops.writing import Shape, witness


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
    saves=("out",), core_dims=(2,), aliases=("inverse",), domain=given(is_regular, "a regular matrix"), backward="LinalgInvEx",
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
    work=for_rows(power=4), ulps=64, extended=Whole("pseudoinverses.ADJUGATE"),
    doc="The transposed matrix of cofactors: det(x)*inv(x), and defined for singular matrices as well.",
    carries=perturbation.adjugate,
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
    extended=Whole("pseudoinverses.ADJUGATE_SLOPE"), doc="The derivative of the adjugate in a direction, at singular matrices too.",
    carries=perturbation.adjugate_slope,
)  # fmt: skip


def _det_shape(x: Shape) -> Shape:
    return square(x, "det")[:-2]


def _det_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    return (as_matrix(cotangent) * transposed(adjugate(x)),)


det = structural(
    "det", "x", np.linalg.det, witness("factors.det"), vjp=_det_vjp, shape=_det_shape, saves=("x",), core_dims=(2,),
    work=for_rows(0.4, power=2), backward="LinalgDet", extended=Whole("pseudoinverses.DET"),
    doc="The determinant. Its gradient is the cofactor matrix, at singular matrices too "
    "(PyTorch returns zeros there).",
    sign=r"\det", examples=("log(det(A))",), ulps=64,
    carries=perturbation.determinant,
    numpy="np.linalg.det({0})",
)  # fmt: skip


def _slogdet_vjp(wanted: Any, cotangent: tuple[Any, Any], out: Any, x: Any) -> tuple[Any]:
    return (as_matrix(cotangent[1]) * transposed(inv(x, check_errors=False)) if cotangent[1] is not None else None,)


slogdet = structural(
    "slogdet", "x", lambda x: tuple(np.linalg.slogdet(x)), witness("factors.slogdet"), vjp=_slogdet_vjp, outputs=2,
    shape=lambda x: (square(x, "slogdet")[:-2], x[:-2]), saves=("x",), core_dims=(2,), work=for_rows(0.4, power=2),
    domain=given(is_regular, "a regular matrix"), backward="LinalgSlogdet",
    doc="The sign of the determinant and the logarithm of its size, without overflow: slogdet(A)[1].", ulps=64,
    extended=Whole("equations.SLOGDET"),
    carries=perturbation.log_determinant,
    numpy="np.linalg.slogdet({0})",
)  # fmt: skip


def _logdet(x: Any) -> Any:
    sign, size = parts_of(slogdet, x)
    return where(less(sign, 0), math.nan, size)


logdet = composite(
    "logdet", "x", _logdet, domain=given(has_positive_determinant, "a matrix with a positive determinant"), examples=("logdet(X.T @ X)",),
    doc="The logarithm of the determinant, without overflow: NaN (and no gradient) if it is negative, -inf if it is 0.",
)  # fmt: skip


def _with_info(x: Any, check_errors: bool) -> Any:
    return inv(x, check_errors=check_errors), no_info(x)


inv_ex = composite(
    "inv_ex", "x", _with_info, static={"check_errors": False}, results=("inverse", "info"),
    aside={1: "int32"},
    doc="The inverse of a matrix, and zeros; of a singular matrix, infinities.",
)  # fmt: skip
named_slogdet = composite(
    "named_slogdet", "x", lambda x: parts_of(slogdet, x), results=("sign", "logabsdet"), public=False,
    doc="The sign of the determinant and the logarithm of its size.",
)  # fmt: skip
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
