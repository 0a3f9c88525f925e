"""torch.distributions: the same families under PyTorch's names and parameters, and the divergences between two of a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.ops.calling.meanings import refuse_classes
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.bounds import clip
from gradcli.ops.elementwise.exponential import exp, log, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import greater_equal, less, logical_and, where
from gradcli.ops.registry import Function, composite, declare
from gradcli.ops.special.combinatorics import betaln
from gradcli.ops.special.error_functions import entr
from gradcli.ops.special.gamma import digamma, lgamma, sigmoid, softplus
from gradcli.ops.stats import continuous  # noqa: F401 - whose functions are looked up
from gradcli.ops.stats.families import INF, MADE, declare_family

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
_of_scipy("FisherSnedecor", "f", "dfn|df1, dfd|df2")
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
""")
