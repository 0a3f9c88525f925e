"""References of continuous distributions: densities as textbooks print them, one number at a time."""

from __future__ import annotations

from typing import Any

from gradcli.ops.references.curves import Curve, bell, ln_beta, ln_gamma, normal_quantile, power_of, psi, state, tail

_EVERY = "pdf logpdf cdf logcdf sf logsf ppf isf median mean var std entropy"
_NO_QUANTILES = "pdf logpdf cdf logcdf sf logsf mean var std entropy"

state("norm", Curve(
    0, bell, cdf=lambda m, z: tail(m, -z), sf=tail, logcdf=lambda m, z: m.function("log_ndtr", z),
    logsf=lambda m, z: m.function("log_ndtr", -z), ppf=normal_quantile, isf=lambda m, q: -normal_quantile(m, q), mean=lambda m: m.zero,
    var=lambda m: m.one, entropy=lambda m: (1 + m.log(2 * m.m.pi)) / 2,
), _EVERY)  # fmt: skip
state("uniform", Curve(
    0, lambda m, z: m.zero, 0, 1, cdf=lambda m, z: z, sf=lambda m, z: 1 - z, ppf=lambda m, q: q, isf=lambda m, q: 1 - q,
    mean=lambda m: m.one / 2, var=lambda m: m.one / 12, entropy=lambda m: m.zero,
), _EVERY)  # fmt: skip
state("expon", Curve(
    0, lambda m, z: -z, 0, cdf=lambda m, z: -m.expm1(-z), sf=lambda m, z: m.exp(-z), logsf=lambda m, z: -z,
    ppf=lambda m, q: -m.log1p(-q), isf=lambda m, q: -m.log(q), mean=lambda m: m.one, var=lambda m: m.one, entropy=lambda m: m.one,
), _EVERY)  # fmt: skip
state("gamma", Curve(
    1, lambda m, z, a: power_of(m, z, a - 1) - z - ln_gamma(m, a), 0, cdf=lambda m, z, a: m.function("gammainc", a, z),
    sf=lambda m, z, a: m.function("gammaincc", a, z), mean=lambda m, a: a, var=lambda m, a: a,
    entropy=lambda m, a: a + ln_gamma(m, a) - (a - 1) * psi(m, a),
), _NO_QUANTILES)  # fmt: skip
state("beta", Curve(
    2, lambda m, z, a, b: power_of(m, z, a - 1) + power_of(m, 1 - z, b - 1) - ln_beta(m, a, b), 0, 1,
    cdf=lambda m, z, a, b: m.function("betainc", a, b, z), sf=lambda m, z, a, b: m.function("betainc", b, a, 1 - z),
    mean=lambda m, a, b: a / (a + b), var=lambda m, a, b: a / (a + b) * b / (a + b) / (a + b + 1),
    entropy=lambda m, a, b: (a + b - 2) * psi(m, a + b) - (a - 1) * psi(m, a) - (b - 1) * psi(m, b) + ln_beta(m, a, b),
), _NO_QUANTILES)  # fmt: skip


def _student(m: Any, z: Any, v: Any) -> Any:
    return -(v + 1) / 2 * m.log1p(z * z / v) - m.log(v) / 2 - ln_beta(m, v / 2, m.one / 2)


def _student_tail(m: Any, z: Any, v: Any) -> Any:
    """The probability above z."""
    tail = m.function("betainc", v / 2, m.one / 2, v / (v + z * z)) / 2
    return tail if z > 0 else 1 - tail


state("t", Curve(
    1, _student, sf=_student_tail, cdf=lambda m, z, v: _student_tail(m, -z, v), mean=lambda m, v: m.zero if v > 1 else m.inf,
    var=lambda m, v: v / (v - 2) if v > 2 else m.inf if v > 1 else m.nan,
    entropy=lambda m, v: (v + 1) / 2 * (psi(m, (v + 1) / 2) - psi(m, v / 2)) + m.log(v) / 2 + ln_beta(m, v / 2, m.one / 2),
), _NO_QUANTILES)  # fmt: skip
state("chi2", Curve(
    1, lambda m, z, v: power_of(m, z / 2, v / 2 - 1) - z / 2 - ln_gamma(m, v / 2) - m.log(m.one * 2), 0,
    cdf=lambda m, z, v: m.function("gammainc", v / 2, z / 2), sf=lambda m, z, v: m.function("gammaincc", v / 2, z / 2),
    mean=lambda m, v: v, var=lambda m, v: 2 * v,
    entropy=lambda m, v: v / 2 + m.log(m.one * 2) + ln_gamma(m, v / 2) + (1 - v / 2) * psi(m, v / 2),
), _NO_QUANTILES)  # fmt: skip


def _f(m: Any, z: Any, n: Any, d: Any) -> Any:
    """With n/d of the first power, and (1 + n z/d) to minus the half sum."""
    ratio = n / d
    return n / 2 * m.log(ratio) + power_of(m, z, n / 2 - 1) - (n + d) / 2 * m.log(1 + ratio * z) - ln_beta(m, n / 2, d / 2)


state("f", Curve(
    2, _f, 0, cdf=lambda m, z, n, d: m.function("betainc", n / 2, d / 2, n * z / (d + n * z)),
    sf=lambda m, z, n, d: m.function("betainc", d / 2, n / 2, d / (d + n * z)), mean=lambda m, n, d: d / (d - 2) if d > 2 else m.inf,
    var=lambda m, n, d: 2 * d * d * (n + d - 2) / n / (d - 2) / (d - 2) / (d - 4) if d > 4 else m.inf,
), "pdf logpdf cdf logcdf sf logsf mean var std")  # fmt: skip


def _log_normal(m: Any, z: Any, s: Any) -> Any:
    if m.plain(z) == 0:
        return -m.inf
    return bell(m, m.log(z) / s) - m.log(s * z)


state("lognorm", Curve(
    1, _log_normal, 0, cdf=lambda m, z, s: tail(m, -m.log(z) / s), sf=lambda m, z, s: tail(m, m.log(z) / s),
    logcdf=lambda m, z, s: m.function("log_ndtr", m.log(z) / s), logsf=lambda m, z, s: m.function("log_ndtr", -m.log(z) / s),
    ppf=lambda m, q, s: m.exp(s * normal_quantile(m, q)), isf=lambda m, q, s: m.exp(-s * normal_quantile(m, q)),
    mean=lambda m, s: m.exp(s * s / 2), var=lambda m, s: m.exp(s * s) * (m.exp(s * s) - 1),
    entropy=lambda m, s: m.log(s) + (1 + m.log(2 * m.m.pi)) / 2,
), _EVERY)  # fmt: skip
state("laplace", Curve(
    0, lambda m, z: -(z if z > 0 else -z) - m.log(m.one * 2), cdf=lambda m, z: m.exp(z) / 2 if z < 0 else 1 - m.exp(-z) / 2,
    sf=lambda m, z: 1 - m.exp(z) / 2 if z < 0 else m.exp(-z) / 2, ppf=lambda m, q: m.log(2 * q) if q < 0.5 else -m.log(2 - 2 * q),
    isf=lambda m, q: -m.log(2 * q) if q < 0.5 else m.log(2 - 2 * q), mean=lambda m: m.zero, var=lambda m: 2 * m.one,
    logcdf=lambda m, z: z - m.log(m.one * 2) if z < 0 else m.log1p(-m.exp(-z) / 2),
    logsf=lambda m, z: -z - m.log(m.one * 2) if z >= 0 else m.log1p(-m.exp(z) / 2),
    entropy=lambda m: 1 + m.log(m.one * 2),
), _EVERY)  # fmt: skip


def _logistic(m: Any, z: Any) -> Any:
    size = z if z > 0 else -z
    return -size - 2 * m.log1p(m.exp(-size))


def _log_below(m: Any, z: Any) -> Any:
    return z - m.log1p(m.exp(z)) if z < 0 else -m.log1p(m.exp(-z))


state("logistic", Curve(
    0, _logistic, cdf=lambda m, z: 1 / (1 + m.exp(-z)), sf=lambda m, z: 1 / (1 + m.exp(z)), logcdf=_log_below,
    logsf=lambda m, z: _log_below(m, -z), ppf=lambda m, q: m.log(q) - m.log(1 - q), isf=lambda m, q: m.log(1 - q) - m.log(q),
    mean=lambda m: m.zero, var=lambda m: m.m.pi * m.m.pi / 3, entropy=lambda m: 2 * m.one,
), _EVERY)  # fmt: skip
state("cauchy", Curve(
    0, lambda m, z: -m.log(m.m.pi * (1 + z * z)), cdf=lambda m, z: m.function("atan2", m.one, -z) / m.m.pi,
    sf=lambda m, z: m.function("atan2", m.one, z) / m.m.pi, ppf=lambda m, q: -m.function("cot", m.m.pi * q),
    isf=lambda m, q: m.function("cot", m.m.pi * q), mean=lambda m: m.nan, var=lambda m: m.nan, entropy=lambda m: m.log(4 * m.m.pi),
), _EVERY)  # fmt: skip
state("halfnorm", Curve(
    0, lambda m, z: m.log(m.one * 2) + bell(m, z), 0, cdf=lambda m, z: m.function("erf", z / m.sqrt(m.one * 2)),
    sf=lambda m, z: 2 * tail(m, z), ppf=lambda m, q: -normal_quantile(m, (1 - q) / 2), isf=lambda m, q: -normal_quantile(m, q / 2),
    mean=lambda m: m.sqrt(2 / m.m.pi), var=lambda m: 1 - 2 / m.m.pi, entropy=lambda m: (1 + m.log(m.m.pi / 2)) / 2,
), _EVERY)  # fmt: skip
state("halfcauchy", Curve(
    0, lambda m, z: m.log(2 / m.m.pi / (1 + z * z)), 0, cdf=lambda m, z: 2 / m.m.pi * m.function("atan2", z, m.one),
    sf=lambda m, z: 2 / m.m.pi * m.function("atan2", m.one, z), ppf=lambda m, q: m.function("tan", q * m.m.pi / 2),
    isf=lambda m, q: m.function("cot", q * m.m.pi / 2), mean=lambda m: m.inf, var=lambda m: m.inf, entropy=lambda m: m.log(2 * m.m.pi),
), _EVERY)  # fmt: skip
state("rayleigh", Curve(
    0, lambda m, z: m.log(z) - z * z / 2, 0, cdf=lambda m, z: -m.expm1(-z * z / 2), sf=lambda m, z: m.exp(-z * z / 2),
    logsf=lambda m, z: -z * z / 2, ppf=lambda m, q: m.sqrt(-2 * m.log1p(-q)), isf=lambda m, q: m.sqrt(-2 * m.log(q)),
    mean=lambda m: m.sqrt(m.m.pi / 2), var=lambda m: (4 - m.m.pi) / 2,
    entropy=lambda m: 1 - m.log(m.one * 2) / 2 + m.m.euler / 2,
), _EVERY)  # fmt: skip
state("maxwell", Curve(
    0, lambda m, z: m.log(2 / m.m.pi) / 2 + 2 * m.log(z) - z * z / 2, 0, cdf=lambda m, z: m.function("gammainc", m.one * 3 / 2, z * z / 2),
    sf=lambda m, z: m.function("gammaincc", m.one * 3 / 2, z * z / 2), mean=lambda m: m.sqrt(8 / m.m.pi), var=lambda m: 3 - 8 / m.m.pi,
    entropy=lambda m: m.m.euler + m.log(2 * m.m.pi) / 2 - m.one / 2,
), _NO_QUANTILES)  # fmt: skip
state("pareto", Curve(
    1, lambda m, z, b: m.log(b) - (b + 1) * m.log(z), 1, cdf=lambda m, z, b: -m.expm1(-b * m.log(z)), sf=lambda m, z,
        b: m.exp(-b * m.log(z)),
    logsf=lambda m, z, b: -b * m.log(z), ppf=lambda m, q, b: m.exp(-m.log(1 - q) / b), isf=lambda m, q, b: m.exp(-m.log(q) / b),
    mean=lambda m, b: b / (b - 1) if b > 1 else m.inf, var=lambda m, b: b / (b - 1) / (b - 1) / (b - 2) if b > 2 else m.inf,
    entropy=lambda m, b: 1 / b + 1 - m.log(b),
), _EVERY)  # fmt: skip


def _gamma_at(m: Any, x: Any) -> Any:
    return m.function("gamma", x)


state("weibull_min", Curve(
    1, lambda m, z, c: m.log(c) + power_of(m, z, c - 1) - m.power(z, c), 0, cdf=lambda m, z, c: -m.expm1(-m.power(z, c)),
    sf=lambda m, z, c: m.exp(-m.power(z, c)), logsf=lambda m, z, c: -m.power(z, c),
    ppf=lambda m, q, c: m.power(-m.log1p(-q), 1 / c), isf=lambda m, q, c: m.power(-m.log(q), 1 / c), mean=lambda m,
        c: _gamma_at(m, (c + 1) / c),
    var=lambda m, c: _gamma_at(m, (c + 2) / c) - _gamma_at(m, (c + 1) / c) * _gamma_at(m, (c + 1) / c),
    entropy=lambda m, c: m.m.euler * (1 - 1 / c) - m.log(c) + 1,
), _EVERY)  # fmt: skip
state("gumbel_r", Curve(
    0, lambda m, z: -(z + m.exp(-z)), cdf=lambda m, z: m.exp(-m.exp(-z)), logcdf=lambda m, z: -m.exp(-z),
    sf=lambda m, z: -m.expm1(-m.exp(-z)), ppf=lambda m, q: -m.log(-m.log(q)), isf=lambda m, q: -m.log(-m.log1p(-q)),
    mean=lambda m: +m.m.euler, var=lambda m: m.m.pi * m.m.pi / 6, entropy=lambda m: 1 + m.m.euler,
), _EVERY)  # fmt: skip
state("gumbel_l", Curve(
    0, lambda m, z: z - m.exp(z), sf=lambda m, z: m.exp(-m.exp(z)), logsf=lambda m, z: -m.exp(z), cdf=lambda m, z: -m.expm1(-m.exp(z)),
    ppf=lambda m, q: m.log(-m.log1p(-q)), isf=lambda m, q: m.log(-m.log(q)), mean=lambda m: -m.m.euler,
    var=lambda m: m.m.pi * m.m.pi / 6, entropy=lambda m: 1 + m.m.euler,
), _EVERY)  # fmt: skip
state("invgamma", Curve(
    1, lambda m, z, a: -m.log(z) * (a + 1) - 1 / z - ln_gamma(m, a), 0, cdf=lambda m, z, a: m.function("gammaincc", a, 1 / z),
    sf=lambda m, z, a: m.function("gammainc", a, 1 / z), mean=lambda m, a: 1 / (a - 1) if a > 1 else m.inf,
    var=lambda m, a: 1 / (a - 1) / (a - 1) / (a - 2) if a > 2 else m.inf,
    entropy=lambda m, a: a + ln_gamma(m, a) - (1 + a) * psi(m, a),
), _NO_QUANTILES)  # fmt: skip
state("powerlaw", Curve(
    1, lambda m, z, a: m.log(a) + power_of(m, z, a - 1), 0, 1, cdf=lambda m, z, a: m.power(z, a), logcdf=lambda m, z, a: a * m.log(z),
    sf=lambda m, z, a: -m.expm1(a * m.log(z)), ppf=lambda m, q, a: m.power(q, 1 / a), isf=lambda m, q, a: m.power(1 - q, 1 / a),
    mean=lambda m, a: a / (a + 1), var=lambda m, a: a / (a + 2) / (a + 1) / (a + 1), entropy=lambda m, a: 1 - 1 / a - m.log(a),
), _EVERY)  # fmt: skip
state("skewnorm", Curve(
    1, lambda m, z, a: m.log(m.one * 2) + bell(m, z) + m.function("log_ndtr", a * z), fits=lambda a: True,
    mean=lambda m, a: a * m.sqrt(2 / m.m.pi / (1 + a * a)), var=lambda m, a: 1 - 2 * a * a / (1 + a * a) / m.m.pi,
), "pdf logpdf mean var std")  # fmt: skip


def _between(m: Any, a: Any, b: Any) -> Any:
    """The probability between two points, by the tails that are the smaller ones."""
    return tail(m, a) - tail(m, b) if a > 0 else tail(m, -b) - tail(m, -a)


state("truncnorm", Curve(
    2, lambda m, z, a, b: bell(m, z) - m.log(_between(m, a, b)), lambda a, b: a, lambda a, b: b, fits=lambda a, b: a < b,
    cdf=lambda m, z, a, b: _between(m, a, z) / _between(m, a, b), sf=lambda m, z, a, b: _between(m, z, b) / _between(m, a, b),
), "pdf logpdf cdf logcdf sf logsf")  # fmt: skip


def _bessel_ratio(m: Any, k: Any) -> Any:
    return m.function("i1e", k) / m.function("i0e", k)


state("vonmises", Curve(
    1, lambda m, z, k: k * (m.function("cos", z) - 1) - m.log(2 * m.m.pi * m.function("i0e", k)),
    entropy=lambda m, k: m.log(2 * m.m.pi) + m.log(m.function("i0e", k)) + k - k * _bessel_ratio(m, k),
), "pdf logpdf entropy")  # fmt: skip
