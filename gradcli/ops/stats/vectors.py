"""Distributions of vectors and of labels: normal, Dirichlet, multinomial and categorical ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.reshaping import diag_embed, diagonal, expand_dims
from gradcli.ops.arrays.shapes import swapaxes
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.constants import LN_TWO_PI
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, log, xlogy
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.linalg.equations_and_factors import cholesky, solve_triangular
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.nn.softmax_and_attention import log_softmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.special.gamma import digamma, lgamma
from gradcli.ops.stats.continuous import OF_BELL
from gradcli.ops.stats.families import declare_family
from gradcli.ops.stats.torch_families import declare_divergence, held


def _factor(covariance: Any, precision: Any, triangle: Any) -> Any:
    """The Cholesky factor of the covariance, however that was given."""
    if triangle is not None:
        return triangle
    if precision is not None:
        return cholesky(inv(precision))
    if covariance is None:
        raise ArgumentError("MultivariateNormal needs a covariance_matrix, a precision_matrix or a scale_tril")
    return cholesky(covariance)


def _half_log_determinant(factor: Any) -> Any:
    return sum_(log(diagonal(factor, offset=0, axis1=-2, axis2=-1)), axis=-1)


def _of_factor(away: Any, factor: Any) -> Any:
    solved = solve_triangular(factor, expand_dims(away, axis=-1), upper=False)
    return -sum_(square(solved) + LN_TWO_PI, axis=(-2, -1)) / 2 - _half_log_determinant(factor)


def _entropy(factor: Any) -> Any:
    return sum_(log(diagonal(factor, offset=0, axis1=-2, axis2=-1)) + OF_BELL, axis=-1)


def _matrix(cov: Any, n: int) -> Any:
    """A covariance as SciPy takes it: a number, variances, or a matrix."""
    if cov is None:
        return np.eye(n)
    return cov * np.eye(n) if not cov.shape else diag_embed(cov, offset=0, dim1=-2, dim2=-1) if len(cov.shape) == 1 and n > 1 else cov


def _scipy_normal(x: Any, mean: Any, cov: Any) -> Any:
    sizes = [v.shape[-1] for v in (mean, cov) if v is not None and v.shape]
    if not sizes and not x.shape:  # of one number
        variance = 1.0 if cov is None else cov
        return -(square(x if mean is None else x - mean) / variance + LN_TWO_PI + log(variance)) / 2
    n = sizes[0] if sizes else 1 if not (mean is None and cov is None) else x.shape[-1]
    if n == 1 and (not x.shape or x.shape[-1] != 1):
        x = expand_dims(x, axis=-1)
    if not x.shape:
        x = expand_dims(x, axis=-1)
    matrix = _matrix(cov, n)
    return _of_factor(x if mean is None else x - mean, cholesky(matrix))


def _normal_divergence(m: Any, c: Any, p: Any, t: Any, n: Any, d: Any, q: Any, u: Any) -> Any:
    one, other = _factor(c, p, t), _factor(d, q, u)
    spread = sum_(square(solve_triangular(other, one, upper=False)), axis=(-2, -1))
    apart = sum_(square(solve_triangular(other, expand_dims(n - m, axis=-1), upper=False)), axis=(-2, -1))
    return _half_log_determinant(other) - _half_log_determinant(one) + (spread + apart - one.shape[-1]) / 2


declare_family(
    TORCH, "MultivariateNormal", "loc, covariance_matrix?, precision_matrix?, scale_tril?", {
        "log_prob": lambda x, loc, *spread: _of_factor(x - loc, _factor(*spread)),
        "entropy": lambda loc, *spread: _entropy(_factor(*spread)),
        "mean": lambda loc, *spread: loc,
    }, ignored="-validate_args", properties="mean",
)  # fmt: skip
declare_divergence("MultivariateNormal", "loc covariance_matrix? precision_matrix? scale_tril?", _normal_divergence)


def _scipy_entropy(mean: Any, cov: Any) -> Any:
    n = next((v.shape[-1] for v in (mean, cov) if v is not None and v.shape), 1)
    return _entropy(cholesky(_matrix(cov, n)))


declare_family(
    SCIPY, "multivariate_normal", "mean?, cov?",
    {"pdf": lambda *operands: exp(_scipy_normal(*operands)), "logpdf": _scipy_normal, "entropy": _scipy_entropy},
    ignored="-allow_singular, -seed",
)  # fmt: skip


# Shares of a whole


def _dirichlet(x: Any, alpha: Any) -> Any:
    return sum_(xlogy(alpha - 1, x), axis=-1) + lgamma(sum_(alpha, axis=-1)) - sum_(lgamma(alpha), axis=-1)


def _scipy_dirichlet(x: Any, alpha: Any) -> Any:
    """SciPy has the shares along the first axis, and takes the last one as what is left where it is missing."""
    if x.shape and x.shape[0] == alpha.shape[0] - 1:
        raise ArgumentError("dirichlet: give all shares: the last one is 1 less the others")
    return _dirichlet(x if len(x.shape) < 2 else swapaxes(x, axis1=0, axis2=-1), alpha)


def _dirichlet_entropy(alpha: Any) -> Any:
    whole, n = sum_(alpha, axis=-1), alpha.shape[-1]
    return sum_(lgamma(alpha), axis=-1) - lgamma(whole) - (n - whole) * digamma(whole) - sum_((alpha - 1) * digamma(alpha), axis=-1)


def _dirichlets(one: Any, other: Any) -> Any:
    whole = sum_(one, axis=-1)
    shares = sum_((one - other) * (digamma(one) - expand_dims(digamma(whole), axis=-1)), axis=-1)
    return lgamma(whole) - sum_(lgamma(one), axis=-1) - lgamma(sum_(other, axis=-1)) + sum_(lgamma(other), axis=-1) + shares


declare_family(
    TORCH, "Dirichlet", "concentration", {
        "log_prob": _dirichlet, "entropy": _dirichlet_entropy, "mean": lambda alpha: alpha / sum_(alpha, axis=-1, keepdims=True),
    }, ignored="-validate_args", properties="mean",
)  # fmt: skip
declare_divergence("Dirichlet", "concentration", _dirichlets)
declare_family(
    SCIPY, "dirichlet", "alpha", {"pdf": lambda x, alpha: exp(_scipy_dirichlet(x, alpha)), "logpdf": _scipy_dirichlet}, ignored="-seed",
)  # fmt: skip


def _multinomial(x: Any, n: Any, p: Any) -> Any:
    return lgamma(n + 1) + sum_(xlogy(x, p) - lgamma(x + 1), axis=-1)


declare_family(
    SCIPY, "multinomial", "n, p", {"pmf": lambda *operands: exp(_multinomial(*operands)), "logpmf": _multinomial}, ignored="-seed",
)  # fmt: skip


# Labels


def _log_shares(probs: Any, logits: Any) -> Any:
    if probs is None:
        return log_softmax(logits, axis=-1)
    return log(held(probs / sum_(probs, axis=-1, keepdims=True)))


def _categorical(x: Any, probs: Any, logits: Any) -> Any:
    logarithms = _log_shares(probs, logits)
    return sum_(where(equal(expand_dims(x, axis=-1), np.arange(logarithms.shape[-1])), logarithms, 0.0), axis=-1)


def _one_hot(x: Any, probs: Any, logits: Any) -> Any:
    return sum_(where(equal(x, 1), _log_shares(probs, logits), 0.0), axis=-1)


def _shares(probs: Any, logits: Any) -> Any:
    return exp(log_softmax(logits, axis=-1)) if probs is None else probs / sum_(probs, axis=-1, keepdims=True)


def _information(probs: Any, logits: Any) -> Any:
    return -sum_(_shares(probs, logits) * _log_shares(probs, logits), axis=-1)


def _categoricals(p: Any, logits: Any, q: Any, others: Any) -> Any:
    return sum_(_shares(p, logits) * (_log_shares(p, logits) - _log_shares(q, others)), axis=-1)


for _name, _density in (("Categorical", _categorical), ("OneHotCategorical", _one_hot)):
    declare_family(
        TORCH, _name, "probs?, logits?", {"log_prob": _density, "entropy": _information, "probs": _shares, "logits": _log_shares},
        ignored="-validate_args", properties="probs logits", first="x:index" if _density is _categorical else "x",
    )  # fmt: skip
    declare_divergence(_name, "probs? logits?", _categoricals)
