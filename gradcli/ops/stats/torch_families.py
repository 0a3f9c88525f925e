"""Distributions under PyTorch's names and parameters, those of vectors and labels, and the divergences between two of a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.reshaping import diag_embed, diagonal, expand_dims
from gradcli.ops.arrays.shapes import swapaxes
from gradcli.ops.calling.meanings import refuse_classes
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.constants import LN_TWO_PI
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.exponential import exp, log, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import clip, equal, greater_equal, less, logical_and, where
from gradcli.ops.linalg.equations_and_factors import cholesky, solve_triangular
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.nn.activations import log_softmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import Function, composite, declare
from gradcli.ops.special.gamma import betaln, digamma, lgamma, sigmoid, softplus
from gradcli.ops.special.incomplete import entr
from gradcli.ops.stats.families import INF, MADE, OF_BELL, declare_family

_METHODS = {"log_prob": "logpdf", "cdf": "cdf", "icdf": "ppf", "entropy": "entropy", "mean": "mean", "variance": "var", "stddev": "std"}


def _declared(name: str, parameters: str, methods: Mapping[str, Any]) -> None:
    declare_family(TORCH, name, parameters, methods, ignored="-validate_args", properties="mean variance stddev")


def _of_scipy(name: str, family: str, keeps: str, parameters: Function | None = None, lacking: str = "", **methods: Function) -> None:
    """Declare a family that SciPy has, too.

    keeps       its parameters in PyTorch's order: SciPy's under PyTorch's names, or PyTorch's own
    parameters  SciPy's shapes, loc and scale of those
    lacking     methods that PyTorch does not have, or has in another form
    methods     what is otherwise in PyTorch
    """
    count = len(keeps.split(", "))
    for method, theirs in _METHODS.items():
        made = MADE.get(f"{family}_{theirs}")
        if made is not None and method not in lacking.split():
            methods.setdefault(method, made if parameters is None else _moved(made, count, parameters))
    _declared(name, keeps, methods)


def _moved(function: Function, count: int, parameters: Function) -> Function:
    return lambda *operands: function(*operands[:-count], *parameters(*operands[-count:]))


_of_scipy("Normal", "norm", "loc, scale")
_of_scipy("Laplace", "laplace", "loc, scale")
_of_scipy("Cauchy", "cauchy", "loc, scale", lacking="mean variance stddev")
_of_scipy("Gumbel", "gumbel_r", "loc, scale")
_of_scipy("HalfNormal", "halfnorm", "scale")
_of_scipy("HalfCauchy", "halfcauchy", "scale", lacking="variance stddev")
_of_scipy("StudentT", "t", "df, loc, scale", lacking="cdf icdf")
_of_scipy("Beta", "beta", "a|concentration1, b|concentration0", lacking="cdf icdf")
_of_scipy("Chi2", "chi2", "df")
_of_scipy("Pareto", "pareto", "scale, b|alpha")
_of_scipy("Weibull", "weibull_min", "scale, c|concentration")
_of_scipy("InverseGamma", "invgamma", "a|concentration, scale|rate")
_of_scipy("VonMises", "vonmises", "loc, kappa|concentration", lacking="entropy")
_of_scipy("Exponential", "expon", "rate", lambda rate: (None, 1 / rate))
_of_scipy("Gamma", "gamma", "concentration, rate", lambda a, rate: (a, None, 1 / rate))
_of_scipy("LogNormal", "lognorm", "loc, scale", lambda loc, scale: (scale, None, exp(loc)))
_of_scipy(
    "Uniform", "uniform", "low, high", lambda low, high: (low, high - low),
    log_prob=lambda x, low, high: where(logical_and(greater_equal(x, low), less(x, high)), -log(high - low), -INF),
)  # fmt: skip
_declared("Poisson", "rate", {
    "log_prob": lambda x, rate: xlogy(x, rate) - rate - lgamma(x + 1), "mean": lambda rate: rate, "variance": lambda rate: rate,
    "stddev": sqrt,
})  # fmt: skip

_EPSILON = 2.0**-52


def held(probs: Any) -> Any:
    """Probabilities as PyTorch's logarithms take them: away from 0 and 1 by a unit in the last place."""
    return clip(probs, _EPSILON, 1 - _EPSILON)


def _chance(probs: Any, logits: Any) -> Any:
    return sigmoid(logits) if probs is None else probs


def _successes(x: Any, y: Any, probs: Any, logits: Any) -> Any:
    """The logarithm of the probability of x successes and y failures in one order."""
    if probs is None:
        return -x * softplus(-logits) - y * softplus(logits)
    return xlogy(x, held(probs)) + xlog1py(y, -held(probs))


def _choices(n: Any, k: Any) -> Any:
    return -betaln(n - k + 1, k + 1) - log(n + 1)


_declared("Bernoulli", "probs?, logits?", {
    "log_prob": lambda x, p, logits: _successes(x, 1 - x, p, logits), "mean": _chance,
    "entropy": lambda p, logits: entr(_chance(p, logits)) + entr(_rest(p, logits)),
    "variance": lambda p, logits: _chance(p, logits) * _rest(p, logits),
    "stddev": lambda p, logits: sqrt(_chance(p, logits) * _rest(p, logits)),
})  # fmt: skip


def _rest(probs: Any, logits: Any) -> Any:
    return sigmoid(-logits) if probs is None else 1 - probs


_declared("Binomial", "total_count?, probs?, logits?", {
    "log_prob": lambda x, n, p, logits: _choices(_trials(n), x) + _successes(x, _trials(n) - x, p, logits),
    "mean": lambda n, p, logits: _trials(n) * _chance(p, logits),
    "variance": lambda n, p, logits: _trials(n) * _chance(p, logits) * _rest(p, logits),
})  # fmt: skip


def _trials(n: Any) -> Any:
    return 1.0 if n is None else n


_declared("Geometric", "probs?, logits?", {
    "log_prob": lambda x, p, logits: _successes(1.0, x, p, logits), "mean": lambda p, logits: _rest(p, logits) / _chance(p, logits),
    "variance": lambda p, logits: _rest(p, logits) / square(_chance(p, logits)),
})  # fmt: skip
_declared("NegativeBinomial", "total_count, probs?, logits?", {
    "log_prob": lambda x, n, p, logits: _successes(x, n, p, logits) - betaln(n, x + 1) - log(n + x),
    "mean": lambda n, p, logits: n * _chance(p, logits) / _rest(p, logits),
    "variance": lambda n, p, logits: n * _chance(p, logits) / square(_rest(p, logits)),
})  # fmt: skip


def declare_divergence(name: str, parameters: str, body: Function) -> None:
    """The divergence of two distributions of a family, the parameters of the second one marked by other_."""
    words = parameters.split()
    both = " ".join([*words, *(f"other_{word}" for word in words)])
    record = f"kl_{name.lower()}"
    composite(record, both, body, public=False, doc=f"torch.distributions.kl_divergence of a {name} from another one.")
    declare(f"torch:\n{name}.kl_{name} = {record}({both.replace('?', '').replace(' ', ', ')})")


def _normals(m: Any, s: Any, n: Any, t: Any) -> Any:
    ratio = square(s / t)
    return (ratio + square((m - n) / t) - 1 - log(ratio)) / 2


def _betas(a: Any, b: Any, c: Any, d: Any) -> Any:
    both = (c - a + d - b) * digamma(a + b)
    return betaln(c, d) - betaln(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b) + both


def _gammas(a: Any, r: Any, b: Any, s: Any) -> Any:
    return b * log(r / s) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) + (s - r) * (a / r)


def _laplaces(m: Any, s: Any, n: Any, t: Any) -> Any:
    away = abs_(m - n)
    return log(t / s) + s / t * exp(-away / s) + away / t - 1


def _bernoullis(p: Any, logits: Any, q: Any, others: Any) -> Any:
    one, rest = _chance(p, logits), _rest(p, logits)
    return -entr(one) - entr(rest) - _successes(one, rest, q, others)


for _each, _operands, _body in (
    ("Normal", "loc scale", _normals), ("LogNormal", "loc scale", _normals), ("Beta", "a b", _betas),
        ("Gamma", "concentration rate", _gammas),
    ("Laplace", "loc scale", _laplaces), ("Bernoulli", "probs? logits?", _bernoullis),
    ("Exponential", "rate", lambda r, s: s / r - 1 - log(s / r)),
    ("HalfNormal", "scale", lambda s, t: (square(s / t) - 1) / 2 - log(s / t)),
    ("Poisson", "rate", lambda r, s: r * (log(r) - log(s)) - (r - s)),
    ("Geometric", "probs? logits?", lambda p, logits, q, others: _bernoullis(p, logits, q, others) / _chance(p, logits)),
    ("Uniform", "low high", lambda a, b, c, d: where(logical_and(greater_equal(a, c), greater_equal(d, b)), log((d - c) / (b - a)), INF)),
):  # fmt: skip
    declare_divergence(_each, _operands, _body)

refuse_classes(TORCH, """
    Independent: distributions.{} is not supported; sum over the last axis: sum(Normal(m, s).log_prob(x), axis=-1)
    TransformedDistribution MixtureSameFamily RelaxedBernoulli RelaxedOneHotCategorical LowRankMultivariateNormal Wishart LKJCholesky \
ContinuousBernoulli Kumaraswamy LogisticNormal GeneralizedPareto: distributions.{} is not supported; write its log-density as a formula
    OneHotCategorical: distributions.{} is not supported; write sum(x*log_softmax(logits), axis=-1)
""")


# -- Distributions of vectors and of labels --------------------------------------------------------


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


# Labels


def _log_shares(probs: Any, logits: Any) -> Any:
    if probs is None:
        return log_softmax(logits, axis=-1)
    return log(held(probs / sum_(probs, axis=-1, keepdims=True)))


def _categorical(x: Any, probs: Any, logits: Any) -> Any:
    logarithms = _log_shares(probs, logits)
    return sum_(where(equal(expand_dims(x, axis=-1), np.arange(logarithms.shape[-1])), logarithms, 0.0), axis=-1)


def _shares(probs: Any, logits: Any) -> Any:
    return exp(log_softmax(logits, axis=-1)) if probs is None else probs / sum_(probs, axis=-1, keepdims=True)


def _information(probs: Any, logits: Any) -> Any:
    return -sum_(_shares(probs, logits) * _log_shares(probs, logits), axis=-1)


def _categoricals(p: Any, logits: Any, q: Any, others: Any) -> Any:
    return sum_(_shares(p, logits) * (_log_shares(p, logits) - _log_shares(q, others)), axis=-1)


declare_family(
    TORCH, "Categorical", "probs?, logits?",
    {"log_prob": _categorical, "entropy": _information, "probs": _shares, "logits": _log_shares},
    ignored="-validate_args", properties="probs logits", first="x:index",
)  # fmt: skip
declare_divergence("Categorical", "probs? logits?", _categoricals)
