"""References of torch.distributions where its parameters are its own: densities in these, and divergences as their integrals are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.references import of
from gradcli.ops.references.curves import bell, choices, information, ln_beta, ln_gamma, normal_quantile, power_of, psi, tail
from gradcli.ops.references.elementary import each, size_of

Scalar = Any


def told(name: str, **functions: Callable[..., Any]) -> None:
    """References of a class's methods: functions of m and numbers."""
    for method, function in functions.items():
        of(f"torch_{name}_{method}")(_over(function))


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, *operands: each(lambda *row: function(m, *row), *operands)


told(
    "exponential",
    log_prob=lambda m, x, r: m.log(r) - r * x if x >= 0 else -m.inf, cdf=lambda m, x, r: -m.expm1(-r * x) if x > 0 else m.zero,
    icdf=lambda m, q, r: -m.log1p(-q) / r, entropy=lambda m, r: 1 - m.log(r), mean=lambda m, r: 1 / r, variance=lambda m, r: 1 / r / r,
    stddev=lambda m, r: 1 / r,
)  # fmt: skip
told(
    "gamma",
    log_prob=lambda m, x, a, r: a * m.log(r) + power_of(m, x, a - 1) - r * x - ln_gamma(m, a) if x >= 0 else -m.inf,
    cdf=lambda m, x, a, r: m.function("gammainc", a, r * x) if x > 0 else m.zero,
    entropy=lambda m, a, r: a - m.log(r) + ln_gamma(m, a) + (1 - a) * psi(m, a), mean=lambda m, a, r: a / r,
    variance=lambda m, a, r: a / r / r, stddev=lambda m, a, r: m.sqrt(a) / r,
)  # fmt: skip
told(
    "lognormal",
    log_prob=lambda m, x, n, s: bell(m, (m.log(x) - n) / s) - m.log(s) - m.log(x) if x > 0 else -m.inf,
    cdf=lambda m, x, n, s: tail(m, (n - m.log(x)) / s) if x > 0 else m.zero,
    icdf=lambda m, q, n, s: m.exp(n + s * normal_quantile(m, q)), entropy=lambda m, n, s: (1 + m.log(2 * m.m.pi)) / 2 + m.log(s) + n,
    mean=lambda m, n, s: m.exp(n + s * s / 2), variance=lambda m, n, s: m.expm1(s * s) * m.exp(2 * n + s * s),
    stddev=lambda m, n, s: m.sqrt(m.expm1(s * s)) * m.exp(n + s * s / 2),
)  # fmt: skip


def _limited(m: Any, x: Scalar) -> Scalar:
    return m.zero if x < 0 else m.one if x > 1 else x


told(
    "uniform",
    log_prob=lambda m, x, a, b: -m.log(b - a) if a <= x < b else -m.inf, cdf=lambda m, x, a, b: _limited(m, (x - a) / (b - a)),
    icdf=lambda m, q, a, b: a + q * (b - a), entropy=lambda m, a, b: m.log(b - a), mean=lambda m, a, b: (a + b) / 2,
    variance=lambda m, a, b: (b - a) * (b - a) / 12, stddev=lambda m, a, b: (b - a) / m.sqrt(12 * m.one),
)  # fmt: skip
told(
    "poisson",
    log_prob=lambda m, x, r: power_of(m, r, x) - r - ln_gamma(m, x + 1), mean=lambda m, r: r, variance=lambda m, r: r,
    stddev=lambda m, r: m.sqrt(r),
)  # fmt: skip


def _of_one(m: Any, p: Scalar, logit: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The probabilities of success and of failure, and their logarithms as PyTorch has them."""
    if p is None:
        return 1 / (1 + m.exp(-logit)), 1 / (1 + m.exp(logit)), -m.log1p(m.exp(-logit)), -m.log1p(m.exp(logit))
    unit = m.one / 2**52
    near = unit if p < unit else 1 - unit if p > 1 - unit else p
    return p, 1 - p, m.log(near), m.log(1 - near)


def _both(m: Any, x: Scalar, y: Scalar, p: Scalar, logit: Scalar) -> Scalar:
    _, _, success, failure = _of_one(m, p, logit)
    return x * success + y * failure


def _two(m: Any, p: Scalar, logit: Scalar) -> tuple[Scalar, Scalar]:
    return _of_one(m, p, logit)[:2]


def _entropy_of_one(m: Any, p: Scalar, logit: Scalar) -> Scalar:
    return sum(information(m, v) for v in _two(m, p, logit))


def _spread_of_one(m: Any, p: Scalar, logit: Scalar) -> Scalar:
    one, rest = _two(m, p, logit)
    return one * rest


told(
    "bernoulli",
    log_prob=lambda m, x, p, t: _both(m, x, 1 - x, p, t), mean=lambda m, p, t: _two(m, p, t)[0], entropy=_entropy_of_one,
    variance=_spread_of_one, stddev=lambda m, p, t: m.sqrt(_spread_of_one(m, p, t)),
)  # fmt: skip


def _times_in_all(m: Any, n: Scalar) -> Scalar:
    return m.one if n is None else n


def _binomial(m: Any, x: Scalar, n: Scalar, p: Scalar, t: Scalar) -> Scalar:
    n = _times_in_all(m, n)
    return choices(m, n, x) + _both(m, x, n - x, p, t)


told(
    "binomial",
    log_prob=_binomial, mean=lambda m, n, p, t: _times_in_all(m, n) * _two(m, p, t)[0],
    variance=lambda m, n, p, t: _times_in_all(m, n) * _spread_of_one(m, p, t),
)  # fmt: skip


def _odds_against(m: Any, p: Scalar, t: Scalar) -> Scalar:
    one, rest = _two(m, p, t)
    return rest / one


told(
    "geometric",
    log_prob=lambda m, x, p, t: _both(m, m.one, x, p, t), mean=_odds_against,
    variance=lambda m, p, t: _odds_against(m, p, t) / _two(m, p, t)[0],
)  # fmt: skip
told(
    "negativebinomial",
    log_prob=lambda m, x, n, p, t: choices(m, n + x - 1, x) + _both(m, x, n, p, t), mean=lambda m, n, p, t: n / _odds_against(m, p, t),
    variance=lambda m, n, p, t: n / _odds_against(m, p, t) / _two(m, p, t)[1],
)  # fmt: skip

# Divergences


def diverging(name: str, function: Callable[..., Any]) -> None:
    of(f"kl_{name}")(_over(function))


def _normals(m: Any, n: Scalar, s: Scalar, k: Scalar, t: Scalar) -> Scalar:
    return m.log(t) - m.log(s) + (s * s + (n - k) * (n - k)) / (2 * t * t) - m.one / 2


diverging("normal", _normals)
diverging("lognormal", _normals)
diverging("exponential", lambda m, r, s: m.log(r) - m.log(s) + s / r - 1)
diverging("halfnormal", lambda m, s, t: m.log(t) - m.log(s) + (s / t * (s / t) - 1) / 2)
diverging("poisson", lambda m, r, s: r * m.log(r / s) + s - r)
diverging("laplace", lambda m, n, s, k, t: m.log(t) - m.log(s) + (s * m.exp(-size_of(n - k) / s) + size_of(n - k)) / t - 1)
diverging("uniform", lambda m, a, b, c, d: m.log(d - c) - m.log(b - a) if c <= a and b <= d else m.inf)
diverging(
    "beta",
    lambda m, a, b, c, d: ln_beta(m, c, d) - ln_beta(m, a, b) + (a - c) * (psi(m, a) - psi(m, a + b)) + (b - d) * (psi(m, b) - psi(m,
        a + b)),
)  # fmt: skip
diverging(
    "gamma",
    lambda m, a, r, b, s: (a - b) * psi(m, a) - ln_gamma(m, a) + ln_gamma(m, b) + b * (m.log(r) - m.log(s)) + a * s / r - a,
)  # fmt: skip


def _of_trials(m: Any, p: Scalar, t: Scalar, q: Scalar, u: Scalar) -> Scalar:
    one, rest = _two(m, p, t)
    return -information(m, one) - information(m, rest) - _both(m, one, rest, q, u)


diverging("bernoulli", _of_trials)
diverging("geometric", lambda m, p, t, q, u: _of_trials(m, p, t, q, u) / _two(m, p, t)[0])
