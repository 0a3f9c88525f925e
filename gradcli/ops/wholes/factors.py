"""LU, Cholesky and QR factors in long double: LAPACK's, corrected by what they leave over; and determinants by the pivots."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.equations import doubles_of, inverse_of, one_of, part, refined, solved, substituted
from gradcli.ops.wholes.products import product, turned


def _half(x: Any) -> Any:
    """The lower triangle, its diagonal halved."""
    return (part(x, False) + part(x, False, True)) / 2


def _completed(x: Any, n: int, ones: int) -> Any:
    """A square, by rows and columns of zeros or of the identity."""
    whole = np.zeros((*x.shape[:-2], n, n), x.dtype) + ones * np.eye(n, dtype=x.dtype)
    whole[..., : x.shape[-2], : x.shape[-1]] = x
    return whole


def lu(x: Any, pivot: bool) -> tuple[Any, Any, Any]:
    """P, L and U. With F = inv(L) E inv(U), E being left over, L lacks L times what of F is below its diagonal, and U the rest times U."""
    from scipy import linalg

    if not pivot:
        raise NotCovered("LU factors without exchanges of so many entries")
    n, m = x.shape[-2:]
    p, *factors = np.vectorize(linalg.lu, signature="(n,m)->(n,n),(n,k),(k,m)")(doubles_of(x))
    start = np.stack([_completed(factor, max(n, m), 1) for factor in factors])
    exchanged, inverses = _completed(product(turned(p).astype(LONG_DOUBLE), x), max(n, m), 1), inverse_of(start)

    def correction(both: Any) -> Any:
        left = inverses[0] @ (exchanged - product(*both)).astype(np.float64) @ inverses[1]
        return np.stack([start[0] @ part(left, False, True), part(left, True) @ start[1]])

    lower, upper = refined(start, correction)
    k = min(n, m)
    return p.astype(LONG_DOUBLE), lower[..., :n, :k], upper[..., :k, :m]


def _lu_back(c: Any, out: Any, x: Any, pivot: bool) -> tuple[Any]:
    """With F = inv(L) P.T dA inv(U), dL is L times what of F is below its diagonal, dU the rest of it times U."""
    p, (n, m) = out[0], x.shape[-2:]
    lower, upper = (_completed(factor, max(n, m), 1) for factor in out[1:])
    by_l, by_u = (_completed(cotangent, max(n, m), 0) for cotangent in c[1:])
    inner = part(product(turned(lower), by_l), False, True) + part(product(by_u, turned(upper)), True)
    half = substituted(turned(lower), inner, True, True)
    return (product(p, turned(substituted(upper, turned(half), True))[..., :n, :m]),)


LU = Formulas(lu, _lu_back)


def _slogdet(x: Any) -> tuple[Any, Any]:
    """The sign, which doubles tell, and the logarithm of the size by the pivots of elimination."""
    sign = np.linalg.slogdet(doubles_of(x))[0].astype(LONG_DOUBLE)
    return sign, np.log(np.abs(np.diagonal(lu(x, True)[2], axis1=-2, axis2=-1))).sum(axis=-1)


def _det(x: Any) -> Any:
    sign, size = _slogdet(x)
    return sign * np.exp(size)


def _by_inverse(c: Any, x: Any) -> tuple[Any]:
    return (c[..., None, None] * turned(solved(x, one_of(x))),)


SLOGDET = Formulas(_slogdet, lambda c, out, x: _by_inverse(c[1], x))
DET = Formulas(_det, lambda c, out, x: _by_inverse(c * out, x))


def _cholesky(x: Any, upper: bool) -> Any:
    """With F = inv(L) E inv(L).T of what the factor leaves over, it lacks L times half of F."""
    whole = turned(x) if upper else x
    whole = part(whole, False) + turned(part(whole, False, True))
    try:
        start = np.linalg.cholesky(doubles_of(whole))
    except np.linalg.LinAlgError:
        raise NotCovered("a matrix of so many entries that is not positive definite") from None
    inverse = inverse_of(start)

    def correction(lower: Any) -> Any:
        return start @ _half(inverse @ (whole - product(lower, turned(lower))).astype(np.float64) @ turned(inverse))

    found = refined(start, correction)
    return turned(found) if upper else found


def _cholesky_back(c: Any, out: Any, x: Any, upper: bool) -> tuple[Any]:
    """With F = inv(L) dA inv(L).T, dL is L times half of F (I. Murray, 2016)."""
    lower, by_l = (turned(out), turned(c)) if upper else (out, c)
    half = substituted(turned(lower), _half(product(turned(lower), by_l)), True)
    slope = turned(substituted(turned(lower), turned(half), True))
    return ((slope + turned(slope)) / 2,)


CHOLESKY = Formulas(_cholesky, _cholesky_back)


def _qr(x: Any) -> tuple[Any, Any]:
    """Columns of x @ inv(R) are made orthonormal, whose signs are those of LAPACK's R: these are no mathematics."""
    k = min(x.shape[-2:])
    start = product(x[..., :k], inverse_of(np.linalg.qr(doubles_of(x))[1][..., :k]).astype(LONG_DOUBLE))
    one = np.eye(k, dtype=LONG_DOUBLE)
    q = refined(start, lambda q: product(q, turned(_half(one - product(turned(q), q)))))
    return q, part(product(turned(q), x), True)


def _qr_back(c: Any, out: Any, x: Any) -> tuple[Any]:
    """With F = Q.T dA inv(R), Q.T dQ is the skew matrix W that has F's entries below the diagonal, and dR = (F - W) R."""
    (by_q, by_r), (q, r) = c, out
    k = q.shape[-1]
    square, rest = r[..., :k], by_r[..., k:]
    by_q = by_q + product(x[..., k:], turned(rest))  # R2 = Q.T A2
    by_w = product(turned(q), by_q)
    by_f = product(by_r[..., :k], turned(square))
    by_w = by_w - by_f
    inner = by_f + part(by_w - turned(by_w), False, True)
    outside = by_q - product(q, product(turned(q), by_q))
    slope = turned(substituted(square, turned(product(q, inner) + outside), True))
    return (np.concatenate([slope, product(q, rest)], axis=-1) if r.shape[-1] > k else slope,)


QR = Formulas(_qr, _qr_back)
