"""Distributions of vectors and of labels: normal, Dirichlet, multinomial and categorical ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.reshaping import diag_embed, diagonal, expand_dims
from gradcli.ops.arrays.shapes import swapaxes
from gradcli.ops.calling.meanings import declare_class
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.constants import LN_TWO_PI
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, log, xlogy
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.linalg.equations_and_factors import cholesky, solve_triangular
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.nn.softmax_and_attention import log_softmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite, function
from gradcli.ops.special.gamma import digamma, lgamma
from gradcli.ops.stats.continuous import OF_BELL
from gradcli.ops.stats.torch_families import held


def _factor(x: Any, covariance: Any, precision: Any, triangle: Any) -> Any:
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


def _torch_normal(x: Any, loc: Any, covariance: Any, precision: Any, triangle: Any) -> Any:
    return _of_factor(x - loc, _factor(x, covariance, precision, triangle))


def _torch_normal_entropy(loc: Any, covariance: Any, precision: Any, triangle: Any) -> Any:
    factor = _factor(loc, covariance, precision, triangle)
    return _entropy(factor)


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
    one, other = _factor(m, c, p, t), _factor(n, d, q, u)
    spread = sum_(square(solve_triangular(other, one, upper=False)), axis=(-2, -1))
    apart = sum_(square(solve_triangular(other, expand_dims(n - m, axis=-1), upper=False)), axis=(-2, -1))
    return _half_log_determinant(other) - _half_log_determinant(one) + (spread + apart - one.shape[-1]) / 2


_GIVEN = "loc covariance_matrix? precision_matrix? scale_tril?"
_KEPT = _GIVEN.replace("?", "").replace(" ", ", ")
_OTHERS = _GIVEN.replace("loc", "other_loc").replace(" ", " other_").replace("other_other_", "other_")
composite("multivariatenormal_log_prob", f"x {_GIVEN}", _torch_normal, public=False,
    doc="log_prob of torch.distributions.MultivariateNormal.")
composite(
    "multivariatenormal_entropy", _GIVEN, _torch_normal_entropy, public=False, doc="entropy of torch.distributions.MultivariateNormal.",
)  # fmt: skip
composite(
    "multivariatenormal_mean", _GIVEN, lambda loc, *_: loc, public=False, doc="mean of torch.distributions.MultivariateNormal.",
)  # fmt: skip
composite(
    "kl_multivariatenormal", f"{_GIVEN} {_OTHERS}", _normal_divergence, public=False,
    doc="torch.distributions.kl_divergence of a MultivariateNormal from another one.",
)  # fmt: skip
declare(
    TORCH,
    **{
        "MultivariateNormal.log_prob": signature("multivariatenormal_log_prob", f"x|value, {_KEPT}"),
        "MultivariateNormal.entropy": signature("multivariatenormal_entropy", _KEPT),
        "MultivariateNormal.mean": signature("multivariatenormal_mean", _KEPT),
        "MultivariateNormal.kl_MultivariateNormal": signature(
            "kl_multivariatenormal", f"{_KEPT}, {_OTHERS.replace('?', '').replace(' ', ', ')}"
        ),
    },
)
declare_class(
    TORCH, "MultivariateNormal", f"{_KEPT}, -validate_args",
    {name: f"MultivariateNormal.{name}" for name in ("log_prob", "entropy", "mean")}, properties="mean",
)  # fmt: skip

composite(
    "multivariate_normal_logpdf", "x mean? cov?", _scipy_normal, public=False, doc="scipy.stats.multivariate_normal.logpdf.",
)  # fmt: skip
composite(
    "multivariate_normal_pdf", "x mean? cov?", lambda *operands: exp(_scipy_normal(*operands)), public=False,
    doc="scipy.stats.multivariate_normal.pdf.",
)  # fmt: skip


@function(public=False)
def multivariate_normal_entropy(mean: Any = None, cov: Any = None) -> Any:
    """scipy.stats.multivariate_normal.entropy."""
    n = next((v.shape[-1] for v in (mean, cov) if v is not None and v.shape), 1)
    return _entropy(cholesky(_matrix(cov, n)))


declare(
    SCIPY,
    **{
        f"multivariate_normal.{name}": signature(f"multivariate_normal_{name}", "x, mean, cov, -allow_singular") for name in ("pdf",
            "logpdf")
    },
    **{"multivariate_normal.entropy": signature("multivariate_normal_entropy", "mean, cov")},
)
declare_class(
    SCIPY, "multivariate_normal", "mean, cov, -allow_singular, -seed",
    {name: f"multivariate_normal.{name}" for name in ("pdf", "logpdf", "entropy")},
)  # fmt: skip


# Shares of a whole


def _dirichlet(x: Any, alpha: Any) -> Any:
    return sum_(xlogy(alpha - 1, x), axis=-1) + lgamma(sum_(alpha, axis=-1)) - sum_(lgamma(alpha), axis=-1)


def _scipy_dirichlet(x: Any, alpha: Any) -> Any:
    """SciPy has the shares along the first axis, and takes the last one as what is left where it is missing."""
    if x.shape and x.shape[0] == alpha.shape[0] - 1:
        raise ArgumentError("dirichlet: give all shares: the last one is 1 less the others")
    return _dirichlet(x if len(x.shape) < 2 else swapaxes(x, axis1=0, axis2=-1), alpha)


composite("dirichlet_log_prob", "x concentration", _dirichlet, public=False, doc="log_prob of torch.distributions.Dirichlet.")


@function(public=False)
def dirichlet_entropy(concentration: Any) -> Any:
    """entropy of torch.distributions.Dirichlet."""
    whole, n = sum_(concentration, axis=-1), concentration.shape[-1]
    return (
        sum_(lgamma(concentration), axis=-1)
        - lgamma(whole)
        - (n - whole) * digamma(whole)
        - sum_((concentration - 1) * digamma(concentration), axis=-1)
    )


@function(public=False)
def dirichlet_mean(concentration: Any) -> Any:
    """mean of torch.distributions.Dirichlet."""
    return concentration / sum_(concentration, axis=-1, keepdims=True)


@function(public=False)
def kl_dirichlet(concentration: Any, other_concentration: Any) -> Any:
    """kl_divergence of two Dirichlet distributions."""
    whole = sum_(concentration, axis=-1)
    shares = sum_((concentration - other_concentration) * (digamma(concentration) - expand_dims(digamma(whole), axis=-1)), axis=-1)
    return (
        lgamma(whole)
        - sum_(lgamma(concentration), axis=-1)
        - lgamma(sum_(other_concentration, axis=-1))
        + sum_(lgamma(other_concentration), axis=-1)
        + shares
    )


composite("scipy_dirichlet_logpdf", "x alpha", _scipy_dirichlet, public=False, doc="scipy.stats.dirichlet.logpdf.")


@function(public=False)
def scipy_dirichlet_pdf(x: Any, alpha: Any) -> Any:
    """scipy.stats.dirichlet.pdf."""
    return exp(_scipy_dirichlet(x, alpha))


declare(
    TORCH,
    **{
        "Dirichlet.log_prob": signature("dirichlet_log_prob", "x|value, concentration"),
        "Dirichlet.entropy": signature("dirichlet_entropy", "concentration"),
        "Dirichlet.mean": signature("dirichlet_mean", "concentration"),
        "Dirichlet.kl_Dirichlet": signature("kl_dirichlet", "concentration, other_concentration"),
    },
)  # fmt: skip
declare_class(
    TORCH, "Dirichlet", "concentration, -validate_args", {name: f"Dirichlet.{name}" for name in ("log_prob", "entropy", "mean")},
    properties="mean",
)  # fmt: skip
declare(SCIPY, **{f"dirichlet.{name}": signature(f"scipy_dirichlet_{name}", "x, alpha") for name in ("pdf", "logpdf")})
declare_class(SCIPY, "dirichlet", "alpha, -seed", {name: f"dirichlet.{name}" for name in ("pdf", "logpdf")})


def _scipy_multinomial(x: Any, n: Any, p: Any) -> Any:
    return lgamma(n + 1) + sum_(xlogy(x, p) - lgamma(x + 1), axis=-1)


composite(
    "multinomial_logpmf", "x n p", _scipy_multinomial, public=False, indices=frozenset({"x"}), doc="scipy.stats.multinomial.logpmf.",
)  # fmt: skip


@function(public=False, indices=frozenset({"x"}))
def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    """scipy.stats.multinomial.pmf."""
    return exp(_scipy_multinomial(x, n, p))


declare(SCIPY, **{f"multinomial.{name}": signature(f"multinomial_{name}", "x, n, p") for name in ("pmf", "logpmf")})
declare_class(SCIPY, "multinomial", "n, p, -seed", {name: f"multinomial.{name}" for name in ("pmf", "logpmf")})


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


_EITHER = "probs? logits?"
composite(
    "categorical_log_prob", f"x {_EITHER}", _categorical, public=False, indices=frozenset({"x"}),
    doc="log_prob of torch.distributions.Categorical.",
)  # fmt: skip
composite("onehotcategorical_log_prob", f"x {_EITHER}", _one_hot, public=False, doc="log_prob of torch.distributions.OneHotCategorical.")
composite("categorical_entropy", _EITHER, _information, public=False, doc="entropy of torch.distributions.Categorical.")
composite("categorical_probs", _EITHER, _shares, public=False, doc="probs of torch.distributions.Categorical.")
composite("categorical_logits", _EITHER, _log_shares, public=False, doc="logits of torch.distributions.Categorical.")
composite(
    "kl_categorical", f"{_EITHER} other_probs? other_logits?", _categoricals, public=False,
    doc="kl_divergence of two Categorical distributions.",
)  # fmt: skip
for _name in ("Categorical", "OneHotCategorical"):
    _own = f"{_name.lower()}_log_prob"
    declare(
        TORCH,
        **{
            f"{_name}.log_prob": signature(_own, "x|value, probs, logits"),
            f"{_name}.kl_{_name}": signature("kl_categorical", "probs, logits, other_probs, other_logits"),
            **{f"{_name}.{method}": signature(f"categorical_{method}", "probs, logits") for method in ("entropy", "probs", "logits")},
        },
    )
    declare_class(
        TORCH, _name, "probs, logits, -validate_args", {m: f"{_name}.{m}" for m in ("log_prob", "entropy", "probs", "logits")},
        properties="probs logits",
    )  # fmt: skip
