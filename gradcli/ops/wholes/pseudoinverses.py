"""Pseudoinverses, determinants and adjugates in long double, of matrices of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.equations import determinant, inverse
from gradcli.ops.wholes.products import product, turned
from gradcli.ops.wholes.spectra import singular

_SINGULAR = 1e-12  # how much smaller a singular value is than the largest where the inverse tells nothing
_MOST = 100  # rows of a singular matrix whose adjugate is differentiated


def _singular_parts(x: Any) -> tuple[Any, Any, Any]:
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    u, s, vh = singular(x, np.linalg.svd(doubles, full_matrices=False))
    return u, s, turned(vh)


def _symmetric(x: Any, hermitian: bool) -> Any:
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    return np.where(columns <= rows, x, turned(x)) if hermitian else x


def _pinv(x: Any, rtol: Any, atol: Any, hermitian: bool, epsilon: float) -> Any:
    if not x.size:
        return turned(x)
    u, s, v = _singular_parts(_symmetric(x, hermitian))
    absolute = np.zeros(()) if atol is None else np.asarray(atol)
    relative = np.where(absolute > 0, 0, max(x.shape[-2:]) * epsilon) if rtol is None else np.asarray(rtol)
    cut = np.maximum(absolute, relative * s[..., 0])[..., None]
    return product(v * np.where(s > cut, 1 / np.where(s > cut, s, 1), 0)[..., None, :], turned(u))


def _pinv_back(c: Any, out: Any, x: Any, hermitian: bool, **_: Any) -> tuple[Any]:
    """d pinv(A) = -P dA P + P P.T dA.T (1 - A P) + (1 - P A) dA.T P.T P (G. H. Golub and V. Pereyra, 1973)."""
    x, p, q, d = _symmetric(x, hermitian), out, turned(out), turned(c)
    inner = -product(product(q, c), q)
    beside = product(d, product(p, q))
    below = product(product(q, p), d)
    return (inner + (beside - product(x, product(p, beside))) + (below - product(product(below, p), x)),)


def _pinv_sizes(c: Any, out: Any, x: Any, hermitian: bool, **_: Any) -> tuple[Any]:
    x, p, q, d = np.abs(_symmetric(x, hermitian)), np.abs(out), turned(np.abs(out)), turned(c)
    inner, beside, below = product(product(q, c), q), product(d, product(p, q)), product(product(q, p), d)
    sides = beside + product(x, product(p, beside)) + below + product(product(below, p), x)
    # the pseudoinverse has rounding of its own, which grows as it does
    worse = product(product(q, turned(x)), inner + sides)
    return (inner + sides + worse,)


PINV = Formulas(_pinv, _pinv_back, _pinv_sizes)


def _regular(x: Any) -> bool:
    doubles = x.astype(np.float64)
    return not x.size or (np.isfinite(doubles).all() and bool(np.all(1 / np.linalg.cond(doubles) > _SINGULAR)))


def _but_one(s: Any) -> Any:
    """Products of all but one."""
    n = s.shape[-1]
    return np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(axis=-1)


def _but_two(s: Any) -> Any:
    """Products of all but two, and on the diagonal of all but one."""
    n = s.shape[-1]
    if n > _MOST:
        raise NotCovered("the derivative of the adjugate of a singular matrix of so many entries")
    eye = np.eye(n, dtype=bool)
    gone = eye[:, None, :] | eye[None, :, :]
    return np.where(gone, 1, s[..., None, None, :]).prod(axis=-1)


def _orientation(u: Any, v: Any) -> Any:
    return np.rint(determinant(u) * determinant(v))[..., None, None]


def _adjugate(x: Any) -> Any:
    if _regular(x):
        return determinant(x)[..., None, None] * inverse(x)
    u, s, v = _singular_parts(x)
    return product(v * _but_one(s)[..., None, :], turned(u)) * _orientation(u, v)


def _adjugate_slope(x: Any, h: Any) -> Any:
    """The derivative of the adjugate in a direction."""
    if _regular(x):
        y, h = inverse(x), np.broadcast_to(h, np.broadcast_shapes(x.shape, h.shape))
        trace = np.trace(product(y, h), axis1=-2, axis2=-1)[..., None, None]
        return determinant(x)[..., None, None] * (trace * y - product(product(y, h), y))
    u, s, v = _singular_parts(x)
    inner, others = product(product(turned(u), h), v), _but_two(s)
    eye = np.eye(s.shape[-1], dtype=LONG_DOUBLE)
    diagonal = np.diagonal(inner, axis1=-2, axis2=-1)
    own = ((1 - eye) * others * diagonal[..., None, :]).sum(axis=-1)
    return product(product(v, eye * own[..., None] - (1 - eye) * others * inner), turned(u)) * _orientation(u, v)


def _adjugate_sizes(x: Any, h: Any) -> Any:
    """How large the terms of the derivative are, by those of the inverse; of singular matrices by their singular values."""
    if _regular(x):
        y = inverse(x)
        size = np.abs(y)
        grown = product(product(size, np.abs(x)), size)
        trace = np.trace(product(grown, h), axis1=-2, axis2=-1)[..., None, None]
        return np.abs(determinant(x))[..., None, None] * (trace * grown + product(product(grown, h), grown))
    u, s, v = map(np.abs, _singular_parts(x))
    inner, others = product(product(turned(u), h), v), _but_two(s)
    diagonal = np.diagonal(inner, axis1=-2, axis2=-1)
    own = (others * diagonal[..., None, :]).sum(axis=-1)
    return product(product(v, np.eye(s.shape[-1]) * own[..., None] + others * inner), turned(u))


def _det_back(c: Any, out: Any, x: Any) -> tuple[Any]:
    return (c[..., None, None] * turned(_adjugate(x)),)


def _det_sizes(c: Any, out: Any, x: Any) -> tuple[Any]:
    if _regular(x):
        size = np.abs(inverse(x))
        found = np.abs(determinant(x))[..., None, None] * turned(product(product(size, np.abs(x)), size))
    else:
        u, s, v = map(np.abs, _singular_parts(x))
        found = turned(product(v * _but_one(s)[..., None, :], turned(u)))
    return (c[..., None, None] * found,)


def _det(x: Any) -> Any:
    return determinant(x)


DET = Formulas(_det, _det_back, _det_sizes)
ADJUGATE = Formulas(
    _adjugate,
    lambda c, out, x: (turned(_adjugate_slope(x, turned(c))),),
    lambda c, out, x: (turned(_adjugate_sizes(x, turned(c))),),
)


def _second(c: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    """With Y the inverse and D the determinant, D (tr(Y h) Y - Y h Y), differentiated by D, by Y in each place, and by h."""
    by_h = turned(_adjugate_slope(x, turned(c)))
    if not _regular(x):
        raise NotCovered("the second derivative of the adjugate of a singular matrix of so many entries")
    y, scale = inverse(x), determinant(x)[..., None, None]
    yh = product(y, h)
    trace = np.trace(yh, axis1=-2, axis2=-1)[..., None, None]
    along = (c * y).sum(axis=(-2, -1), keepdims=True)
    by_scale = (c * (trace * y - product(yh, y))).sum(axis=(-2, -1), keepdims=True)
    by_y = along * turned(h) + trace * c - product(c, turned(product(h, y))) - product(turned(yh), c)
    return scale * (by_scale * turned(y) - product(product(turned(y), by_y), turned(y))), by_h


def _second_sizes(c: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    by_h = turned(_adjugate_sizes(x, turned(c)))
    size, scale, h = np.abs(inverse(x)), np.abs(determinant(x))[..., None, None], np.abs(h)
    y = product(product(size, np.abs(x)), size)
    yh = product(y, h)
    trace = np.trace(yh, axis1=-2, axis2=-1)[..., None, None]
    along = (c * y).sum(axis=(-2, -1), keepdims=True)
    by_scale = (c * (trace * y + product(yh, y))).sum(axis=(-2, -1), keepdims=True)
    by_y = along * turned(h) + trace * c + product(c, turned(product(h, y))) + product(turned(yh), c)
    return scale * (by_scale * turned(y) + product(product(turned(y), by_y), turned(y))), by_h


ADJUGATE_SLOPE = Formulas(_adjugate_slope, _second, _second_sizes)
