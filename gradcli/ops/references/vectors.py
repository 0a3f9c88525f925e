"""References of distributions of vectors and of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import factors, of
from gradcli.ops.references.curves import ln_gamma, power_of, psi
from gradcli.ops.references.entries import lined, total
from gradcli.ops.references.scalar_algorithms import eliminate, identity

Scalar = Any


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
    parts = [power_of(m, v, w - 1) - ln_gamma(m, w) for v, w in zip(x, a, strict=True)]
    return total(m, parts) + ln_gamma(m, total(m, list(a)))


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
        parts = [ln_gamma(m, v) - (v - 1) * (psi(m, v) - psi(m, whole)) for v in w]
        return total(m, parts) - ln_gamma(m, whole)

    return _spread_over([a], [1], one)


@of("dirichlet_mean")
def dirichlet_mean(m: Any, a: Any) -> Any:
    return lined(a, -1, lambda row: [v / total(m, row) for v in row])


@of("kl_dirichlet")
def kl_dirichlet(m: Any, a: Any, b: Any) -> Any:
    def one(v: Any, w: Any) -> Scalar:
        whole, other = total(m, list(v)), total(m, list(w))
        parts = [ln_gamma(m, q) - ln_gamma(m, p) + (p - q) * (psi(m, p) - psi(m, whole)) for p, q in zip(v, w, strict=True)]
        return total(m, parts) + ln_gamma(m, whole) - ln_gamma(m, other)

    return _spread_over([a, b], [1, 1], one)


@of("multinomial_logpmf")
def multinomial_logpmf(m: Any, x: Any, n: Any, p: Any) -> Any:
    def one(k: Any, count: Any, q: Any) -> Scalar:
        parts = [power_of(m, chance, v) - ln_gamma(m, m.one * v + 1) for v, chance in zip(k, q, strict=True)]
        return total(m, parts) + ln_gamma(m, m.one * np.asarray(count, dtype=object).item() + 1)

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
