"""Cholesky and QR factors in long double, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.equations import substituted
from gradcli.ops.wholes.products import product, turned


def below(x: Any, k: int = 0) -> Any:
    """The entries on and below a diagonal."""
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    return np.where(columns - rows <= k, x, x.dtype.type(0))


def cholesky(x: Any) -> Any:
    """The lower triangular factor, of the lower triangle."""
    lower = np.zeros(x.shape, LONG_DOUBLE)
    rest = np.array(x, LONG_DOUBLE)
    for k in range(x.shape[-1]):
        pivot = rest[..., k, k]
        if not np.all(pivot > 0):
            raise NotCovered("a matrix of so many entries that is not positive definite")
        lower[..., k:, k] = rest[..., k:, k] / np.sqrt(pivot)[..., None]
        column = lower[..., k + 1 :, k]
        rest[..., k + 1 :, k + 1 :] -= column[..., :, None] * column[..., None, :]
    return lower


def _cholesky(x: Any, upper: bool) -> Any:
    return turned(cholesky(turned(x))) if upper else cholesky(x)


def _cholesky_back(c: Any, out: Any, x: Any, upper: bool) -> tuple[Any]:
    """With F = inv(L) dA inv(L).T, dL is L times F's lower triangle, its diagonal halved (I. Murray, 2016)."""
    lower, by_l = (turned(out), turned(c)) if upper else (out, c)
    inner = product(turned(lower), by_l)
    inner = (below(inner) + below(inner, -1)) / 2
    half = substituted(turned(lower), inner, upper=True)
    slope = turned(substituted(turned(lower), turned(half), upper=True))
    return ((slope + turned(slope)) / 2,)


CHOLESKY = Formulas(_cholesky, _cholesky_back)


def orthonormal(x: Any) -> tuple[Any, Any]:
    """Q and R with a positive diagonal, of matrices with no more columns than rows; each column is made orthogonal twice."""
    q = np.array(x, LONG_DOUBLE)
    n = q.shape[-1]
    r = np.zeros((*q.shape[:-2], n, n), LONG_DOUBLE)
    for k in range(n):
        for _ in range(2):
            share = (q[..., :, :k] * q[..., :, k, None]).sum(axis=-2)
            q[..., :, k] -= (q[..., :, :k] * share[..., None, :]).sum(axis=-1)
            r[..., :k, k] += share
        size = np.sqrt((q[..., :, k] ** 2).sum(axis=-1))
        r[..., k, k] = size
        q[..., :, k] /= size[..., None]
    return q, r


def _qr(x: Any) -> tuple[Any, Any]:
    """With the signs that LAPACK gives the diagonal of R: those are no mathematics."""
    n, m = x.shape[-2:]
    k = min(n, m)
    q, r = orthonormal(x[..., :k])
    sign = np.sign(np.diagonal(np.linalg.qr(x.astype(np.float64))[1], axis1=-2, axis2=-1)).astype(LONG_DOUBLE)
    q, r = q * sign[..., None, :], r * sign[..., :, None]
    return q, np.concatenate([r, product(turned(q), x[..., k:])], axis=-1) if m > k else r


def _qr_back(c: Any, out: Any, x: Any) -> tuple[Any]:
    """With F = Q.T dA inv(R), Q.T dQ is the skew matrix W that has F's entries below the diagonal, and dR = (F - W) R."""
    (by_q, by_r), (q, r) = c, out
    k = q.shape[-1]
    square, rest = r[..., :k], by_r[..., k:]
    by_q = by_q + product(x[..., k:], turned(rest))  # R2 = Q.T A2
    by_w = product(turned(q), by_q)
    by_f = product(by_r[..., :k], turned(square))
    by_w = by_w - by_f
    inner = by_f + below(by_w - turned(by_w), -1)
    outside = by_q - product(q, product(turned(q), by_q))
    slope = turned(substituted(square, turned(product(q, inner) + outside), upper=True))
    return (np.concatenate([slope, product(q, rest)], axis=-1) if r.shape[-1] > k else slope,)


QR = Formulas(_qr, _qr_back)
