"""References of torch.distributions where its parameters are its own: densities in these, and divergences as their integrals are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import factors, of
from gradcli.ops.references.distributions import (
    _bell,
    _choices,
    _information,
    _ln_beta,
    _ln_gamma,
    _normal_quantile,
    _power_of,
    _psi,
    _tail,
)
from gradcli.ops.references.elementary import each, size_of
from gradcli.ops.references.entries import lined, total
from gradcli.ops.references.scalar_algorithms import eliminate, identity

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
    log_prob=lambda m, x, a, r: a * m.log(r) + _power_of(m, x, a - 1) - r * x - _ln_gamma(m, a) if x >= 0 else -m.inf,
    cdf=lambda m, x, a, r: m.function("gammainc", a, r * x) if x > 0 else m.zero,
    entropy=lambda m, a, r: a - m.log(r) + _ln_gamma(m, a) + (1 - a) * _psi(m, a), mean=lambda m, a, r: a / r,
    variance=lambda m, a, r: a / r / r, stddev=lambda m, a, r: m.sqrt(a) / r,
)  # fmt: skip
told(
    "lognormal",
    log_prob=lambda m, x, n, s: _bell(m, (m.log(x) - n) / s) - m.log(s) - m.log(x) if x > 0 else -m.inf,
    cdf=lambda m, x, n, s: _tail(m, (n - m.log(x)) / s) if x > 0 else m.zero,
    icdf=lambda m, q, n, s: m.exp(n + s * _normal_quantile(m, q)), entropy=lambda m, n, s: (1 + m.log(2 * m.m.pi)) / 2 + m.log(s) + n,
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
    log_prob=lambda m, x, r: _power_of(m, r, x) - r - _ln_gamma(m, x + 1), mean=lambda m, r: r, variance=lambda m, r: r,
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
    return sum(_information(m, v) for v in _two(m, p, logit))


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
    return _choices(m, n, x) + _both(m, x, n - x, p, t)


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
    log_prob=lambda m, x, n, p, t: _choices(m, n + x - 1, x) + _both(m, x, n, p, t), mean=lambda m, n, p, t: n / _odds_against(m, p, t),
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
    lambda m, a, b, c, d: _ln_beta(m, c, d) - _ln_beta(m, a, b) + (a - c) * (_psi(m, a) - _psi(m, a + b)) + (b - d) * (_psi(m, b) - _psi(m, a + b)),
)  # fmt: skip
diverging(
    "gamma",
    lambda m, a, r, b, s: (a - b) * _psi(m, a) - _ln_gamma(m, a) + _ln_gamma(m, b) + b * (m.log(r) - m.log(s)) + a * s / r - a,
)  # fmt: skip


def _of_trials(m: Any, p: Scalar, t: Scalar, q: Scalar, u: Scalar) -> Scalar:
    one, rest = _two(m, p, t)
    return -_information(m, one) - _information(m, rest) - _both(m, one, rest, q, u)


diverging("bernoulli", _of_trials)
diverging("geometric", lambda m, p, t, q, u: _of_trials(m, p, t, q, u) / _two(m, p, t)[0])


# Vectors


def _spread_over(arrays: list[Any], inner: list[int], make: Callable[..., Any]) -> Any:
    """A function of parts with so many axes each, over the axes before them, which broadcast; None stays."""
    given = [None if x is None else np.asarray(x, dtype=object) for x in arrays]
    outer = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(given, inner, strict=True) if x is not None))
    full = [
        None if x is None else np.broadcast_to(x, (*outer, *x.shape[x.ndim - n :])) for x, n in zip(given, inner, strict=True)
    ]
    found = np.empty(outer, dtype=object)
    for place in np.ndindex(outer):
        found[place] = make(*(None if x is None else x[place] for x in full))
    return found


def _triangle(m: Any, c: Any, p: Any, t: Any) -> Any:
    if t is not None:
        return t
    return _lower(m, c if p is None else eliminate(m, p, identity(m, len(p))))


def _lower(m: Any, matrix: Any) -> Any:
    """The triangle of a symmetric matrix, whose entries beyond the diagonal count as one half each."""
    return np.asarray(factors.cholesky(m, matrix, upper=False), dtype=object)


def _substituted(m: Any, triangle: Any, row: Any) -> list[Any]:
    """The z with triangle z = row, from the first on."""
    found: list[Any] = []
    for i, value in enumerate(row):
        known = total(m, [triangle[i, j] * found[j] for j in range(i)])
        found.append((value - known) / triangle[i, i])
    return found


def _normal_vector(m: Any, away: Any, triangle: Any) -> Scalar:
    squares = [v * v for v in _substituted(m, triangle, away)]
    logs = total(m, [m.log(triangle[i, i]) for i in range(len(away))])
    return -total(m, squares) / 2 - logs - m.log(2 * m.m.pi) * len(away) / 2


@of("multivariatenormal_log_prob")
def multivariatenormal_log_prob(m: Any, x: Any, loc: Any, c: Any, p: Any, t: Any) -> Any:
    return _spread_over([x, loc, c, p, t], [1, 1, 2, 2, 2], lambda v, n, *of: _normal_vector(m, v - n, _triangle(m, *of)))


@of("multivariatenormal_entropy")
def multivariatenormal_entropy(m: Any, loc: Any, c: Any, p: Any, t: Any) -> Any:
    def one(n: Any, *of: Any) -> Scalar:
        factor = _triangle(m, *of)
        return total(m, [m.log(factor[i, i]) + (1 + m.log(2 * m.m.pi)) / 2 for i in range(len(factor))])

    return _spread_over([loc, c, p, t], [1, 2, 2, 2], one)


@of("multivariatenormal_mean")
def multivariatenormal_mean(m: Any, loc: Any, *_: Any) -> Any:
    return loc


@of("kl_multivariatenormal")
def kl_multivariatenormal(m: Any, *arrays: Any) -> Any:
    def one(n: Any, c: Any, p: Any, t: Any, k: Any, d: Any, q: Any, u: Any) -> Scalar:
        first, second = _triangle(m, c, p, t), _triangle(m, d, q, u)
        size = len(first)
        parts = [v * v for column in first.T for v in _substituted(m, second, column)]
        parts += [v * v for v in _substituted(m, second, k - n)]
        logs = total(m, [m.log(second[i, i]) - m.log(first[i, i]) for i in range(size)])
        return logs + (total(m, parts) - size) / 2

    return _spread_over(list(arrays), [1, 2, 2, 2] * 2, one)


def _square(m: Any, cov: Any, n: int) -> Any:
    """The matrix that SciPy makes of a covariance."""
    if cov is None:
        return identity(m, n)
    if cov.ndim == 2:
        return cov
    found = np.full((n, n), m.zero, dtype=object)
    for i in range(n):
        found[i, i] = cov.item() if cov.ndim == 0 else cov[i if cov.size > 1 else 0]
    return found


@of("multivariate_normal_logpdf")
def multivariate_normal_logpdf(m: Any, x: Any, mean: Any, cov: Any) -> Any:
    x = np.asarray(x, dtype=object)
    mean, cov = (None if v is None else np.asarray(v, dtype=object) for v in (mean, cov))
    extents = [v.shape[-1] for v in (mean, cov) if v is not None and v.ndim]
    n = extents[0] if extents else 1 if mean is not None or cov is not None or x.ndim == 0 else x.shape[-1]
    rows = x if n == x.shape[-1:] or (x.ndim and x.shape[-1] == n) else x[..., None]
    triangle = _lower(m, _square(m, cov, n))
    found = np.empty(rows.shape[:-1], dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = _normal_vector(m, rows[place] if mean is None else rows[place] - mean, triangle)
    return found


@of("multivariate_normal_pdf")
def multivariate_normal_pdf(m: Any, x: Any, mean: Any, cov: Any) -> Any:
    return m.map(m.exp, multivariate_normal_logpdf(m, x, mean, cov))


@of("multivariate_normal_entropy")
def multivariate_normal_entropy(m: Any, mean: Any, cov: Any) -> Any:
    mean, cov = (None if v is None else np.asarray(v, dtype=object) for v in (mean, cov))
    n = next((v.shape[-1] for v in (mean, cov) if v is not None and v.ndim), 1)
    factor = _lower(m, _square(m, cov, n))
    return np.asarray(total(m, [m.log(factor[i, i]) + (1 + m.log(2 * m.m.pi)) / 2 for i in range(n)]), dtype=object)


def _weighted_logs(m: Any, x: Any, a: Any) -> Scalar:
    parts = [_power_of(m, v, w - 1) - _ln_gamma(m, w) for v, w in zip(x, a, strict=True)]
    return total(m, parts) + _ln_gamma(m, total(m, list(a)))


@of("dirichlet_log_prob")
def dirichlet_log_prob(m: Any, x: Any, a: Any) -> Any:
    return _spread_over([x, a], [1, 1], lambda v, w: _weighted_logs(m, v, w))


@of("scipy_dirichlet_logpdf")
def scipy_dirichlet_logpdf(m: Any, x: Any, a: Any) -> Any:
    x = np.asarray(x, dtype=object)
    return dirichlet_log_prob(m, x if x.ndim == 1 else x.swapaxes(0, -1), a)


@of("scipy_dirichlet_pdf")
def scipy_dirichlet_pdf(m: Any, x: Any, a: Any) -> Any:
    return m.map(m.exp, scipy_dirichlet_logpdf(m, x, a))


@of("dirichlet_entropy")
def dirichlet_entropy(m: Any, a: Any) -> Any:
    def one(w: Any) -> Scalar:
        whole = total(m, list(w))
        parts = [_ln_gamma(m, v) - (v - 1) * (_psi(m, v) - _psi(m, whole)) for v in w]
        return total(m, parts) - _ln_gamma(m, whole)

    return _spread_over([a], [1], one)


@of("dirichlet_mean")
def dirichlet_mean(m: Any, a: Any) -> Any:
    return lined(a, -1, lambda row: [v / total(m, row) for v in row])


@of("kl_dirichlet")
def kl_dirichlet(m: Any, a: Any, b: Any) -> Any:
    def one(v: Any, w: Any) -> Scalar:
        whole, other = total(m, list(v)), total(m, list(w))
        parts = [_ln_gamma(m, q) - _ln_gamma(m, p) + (p - q) * (_psi(m, p) - _psi(m, whole)) for p, q in zip(v, w, strict=True)]
        return total(m, parts) + _ln_gamma(m, whole) - _ln_gamma(m, other)

    return _spread_over([a, b], [1, 1], one)


@of("multinomial_logpmf")
def multinomial_logpmf(m: Any, x: Any, n: Any, p: Any) -> Any:
    def one(k: Any, count: Any, q: Any) -> Scalar:
        parts = [_power_of(m, chance, v) - _ln_gamma(m, m.one * v + 1) for v, chance in zip(k, q, strict=True)]
        return total(m, parts) + _ln_gamma(m, m.one * np.asarray(count, dtype=object).item() + 1)

    return _spread_over([x, n, p], [1, 0, 1], one)


@of("multinomial_pmf")
def multinomial_pmf(m: Any, x: Any, n: Any, p: Any) -> Any:
    return m.map(m.exp, multinomial_logpmf(m, x, n, p))


def _labels(m: Any, p: Any, t: Any) -> list[tuple[Scalar, Scalar]]:
    """The share of each label, and its logarithm as PyTorch has it."""
    if p is None:
        top = max(t, key=m.plain)
        rest = m.log(total(m, [m.exp(v - top) for v in t]))
        return [(m.exp(v - top - rest), v - top - rest) for v in t]
    whole, unit = total(m, list(p)), m.one / 2**52
    shares = [v / whole for v in p]
    return [(s, m.log(unit if s < unit else 1 - unit if s > 1 - unit else s)) for s in shares]


@of("categorical_log_prob")
def categorical_log_prob(m: Any, x: Any, p: Any, t: Any) -> Any:
    return _spread_over([x, p, t], [0, 1, 1], lambda k, *of: _labels(m, *of)[int(np.asarray(k, dtype=object).item())][1])


@of("onehotcategorical_log_prob")
def onehotcategorical_log_prob(m: Any, x: Any, p: Any, t: Any) -> Any:
    def one(marks: Any, *of: Any) -> Scalar:
        return total(m, [found[1] for mark, found in zip(marks, _labels(m, *of), strict=True) if m.plain(mark) == 1])

    return _spread_over([x, p, t], [1, 1, 1], one)


@of("categorical_entropy")
def categorical_entropy(m: Any, p: Any, t: Any) -> Any:
    return _spread_over([p, t], [1, 1], lambda *of: -total(m, [s * log for s, log in _labels(m, *of)]))


def _in_rows(m: Any, p: Any, t: Any, place: int) -> Any:
    given = np.asarray(t if p is None else p, dtype=object)
    found = np.empty(given.shape, dtype=object)
    for at in np.ndindex(given.shape[:-1]):
        for i, pair in enumerate(_labels(m, None if p is None else given[at], None if p is not None else given[at])):
            found[(*at, i)] = pair[place]
    return found


@of("categorical_probs")
def categorical_probs(m: Any, p: Any, t: Any) -> Any:
    return _in_rows(m, p, t, 0)


@of("categorical_logits")
def categorical_logits(m: Any, p: Any, t: Any) -> Any:
    return _in_rows(m, p, t, 1)


@of("kl_categorical")
def kl_categorical(m: Any, *arrays: Any) -> Any:
    def one(p: Any, t: Any, q: Any, u: Any) -> Scalar:
        pairs = zip(_labels(m, p, t), _labels(m, q, u), strict=True)
        return total(m, [share * (mine - other) for (share, mine), (_, other) in pairs])

    return _spread_over(list(arrays), [1, 1, 1, 1], one)
