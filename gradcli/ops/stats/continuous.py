"""Continuous distributions of one variable, in standard form."""

from __future__ import annotations

from typing import Any

from gradcli.ops.constants import (
    EULER_GAMMA,
    HALF_LN_TWO_PI,
    LN2,
    LN_PI,
    LN_TWO_PI,
    PI,
    SQRT_2,
    SQRT_2_BY_PI,
    SQRT_TWO_PI,
    exactly,
)
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.exponential import exp, exp_square, expm1, log, log1p, pow_, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import greater, less, less_equal, where
from gradcli.ops.elementwise.trigonometric import atan2, sin, tan
from gradcli.ops.special.bessel import i0e, i1e
from gradcli.ops.special.combinatorics import betaln
from gradcli.ops.special.error_functions import erf, erfc, log_ndtr, logit, ndtr, ndtri
from gradcli.ops.special.gamma import digamma, gamma, lgamma, sigmoid, softplus
from gradcli.ops.special.incomplete import betainc, gammainc, gammaincc
from gradcli.ops.stats.families import INF, NAN, Family

_TWO_BY_PI = exactly("(2/pi)", lambda m: 2 / m.pi)
_LN_TWO_BY_PI = exactly("log(2/pi)", lambda m: m.log(2 / m.pi))
_HALF_LN_TWO_BY_PI = exactly("(log(2/pi)/2)", lambda m: m.log(2 / m.pi) / 2)
OF_BELL = exactly("((1 + log(2*pi))/2)", lambda m: (1 + m.log(2 * m.pi)) / 2)
_OF_GUMBEL = {
    "var": exactly("(pi**2/6)", lambda m: m.pi * m.pi / 6),
    "entropy": exactly("(1 - digamma(1))", lambda m: 1 + m.euler),
}  # fmt: skip


def _normal(z: Any) -> Any:
    return -square(z) / 2 - HALF_LN_TWO_PI


Family("norm", "", {
    "logpdf": _normal, "pdf": lambda z: exp_square(z, c=-0.5) / SQRT_TWO_PI, "cdf": ndtr, "logcdf": log_ndtr,
    "ppf": ndtri, "var": 1.0, "entropy": OF_BELL,
}, symmetric=True)  # fmt: skip
Family("uniform", "", {
    "logpdf": lambda z: 0 * z, "cdf": lambda z: z, "sf": lambda z: 1 - z, "ppf": lambda q: q, "mean": 0.5,
    "var": exactly("(1/12)", lambda m: m.mpf(1) / 12),
    "entropy": 0.0,
}, 0, 1)  # fmt: skip
Family("expon", "", {
    "logpdf": lambda z: -z, "logsf": lambda z: -z, "ppf": lambda q: -log1p(-q),
    "isf": lambda q: -log(q), "mean": 1.0, "var": 1.0, "entropy": 1.0,
}, 0)  # fmt: skip
Family("gamma", "a", {
    "logpdf": lambda z, a: xlogy(a - 1, z) - z - lgamma(a), "cdf": lambda z, a: gammainc(a, z), "sf": lambda z, a: gammaincc(a, z),
    "mean": lambda a: a, "var": lambda a: a, "entropy": lambda a: a + lgamma(a) + (1 - a) * digamma(a),
}, 0)  # fmt: skip
Family("beta", "a b", {
    "logpdf": lambda z, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b), "cdf": lambda z, a, b: betainc(a, b, z),
    # beside 0 the distance to 1 has no digits of z left
    "sf": lambda z, a, b: where(less(betainc(a, b, z), 0.5), 1 - betainc(a, b, z), betainc(b, a, 1 - z)), "mean": lambda a, b: a / (a + b),
    "var": lambda a, b: a * b / (square(a + b) * (a + b + 1)),
    "entropy": lambda a, b: betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b),
}, 0, 1)  # fmt: skip


def _student_below(z: Any, df: Any) -> Any:
    """Half of the incomplete beta function of df/(df + z**2), which is the tail on the side of z."""
    tail = betainc(df / 2, 0.5, df / (df + square(z))) / 2
    return where(less(z, 0), tail, 1 - tail)


Family("t", "df", {
    "logpdf": lambda z, df: -(df + 1) / 2 * log1p(square(z) / df) - log(df) / 2 - betaln(df / 2, 0.5), "cdf": _student_below,
    "mean": lambda df: where(greater(df, 1), 0.0, INF),
    "var": lambda df: where(greater(df, 2), df / (df - 2), where(greater(df, 1), INF, NAN)),
    "entropy": lambda df: (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2)) + log(df) / 2 + betaln(df / 2, 0.5),
}, symmetric=True)  # fmt: skip
Family("chi2", "df", {
    "logpdf": lambda z, df: xlogy(df / 2 - 1, z) - z / 2 - lgamma(df / 2) - df * LN2 / 2, "cdf": lambda z, df: gammainc(df / 2, z / 2),
    "sf": lambda z, df: gammaincc(df / 2, z / 2), "mean": lambda df: df, "var": lambda df: 2 * df,
    "entropy": lambda df: df / 2 + LN2 + lgamma(df / 2) + (1 - df / 2) * digamma(df / 2),
}, 0)  # fmt: skip


def _ratio(z: Any, n: Any, m: Any) -> Any:
    return xlogy(n / 2 - 1, z) + n / 2 * log(n / m) - (n + m) / 2 * log1p(n * z / m) - betaln(n / 2, m / 2)


def _ratio_variance(n: Any, m: Any) -> Any:
    return where(greater(m, 4), 2 * square(m) * (n + m - 2) / (n * square(m - 2) * (m - 4)), INF)


Family("f", "dfn dfd", {
    "logpdf": _ratio, "cdf": lambda z, n, m: betainc(n / 2, m / 2, n * z / (n * z + m)),
    "sf": lambda z, n, m: betainc(m / 2, n / 2, m / (n * z + m)), "mean": lambda n, m: where(greater(m, 2), m / (m - 2), INF) + 0 * n,
    "var": _ratio_variance,
}, 0)  # fmt: skip
Family("lognorm", "s", {
    "logpdf": lambda z, s: where(less_equal(z, 0), -INF, -square(log(z) / s) / 2 - log(s) - log(z) - HALF_LN_TWO_PI), "cdf": lambda z,
    s: ndtr(log(z) / s),
    "sf": lambda z, s: ndtr(-log(z) / s), "logcdf": lambda z, s: log_ndtr(log(z) / s), "logsf": lambda z, s: log_ndtr(-log(z) / s),
    "ppf": lambda q, s: exp(s * ndtri(q)), "isf": lambda q, s: exp(-s * ndtri(q)), "mean": lambda s: exp(square(s) / 2),
    "var": lambda s: expm1(square(s)) * exp(square(s)), "entropy": lambda s: log(s) + OF_BELL,
}, 0)  # fmt: skip
Family("laplace", "", {
    "logpdf": lambda z: -abs_(z) - LN2, "cdf": lambda z: where(less(z, 0), exp(-abs_(z)) / 2, 1 - exp(-abs_(z)) / 2),
    "ppf": lambda q: where(less(q, 0.5), log(2 * q), -log(2 * (1 - q))),
    "logcdf": lambda z: where(less(z, 0), z - LN2, log1p(-exp(-abs_(z)) / 2)),
    "var": 2.0,
    "entropy": exactly("(1 + log(2))", lambda m: 1 + m.log(2)),
}, symmetric=True)  # fmt: skip
Family("logistic", "", {
    "logpdf": lambda z: -z - 2 * softplus(-z), "pdf": lambda z: sigmoid(z) * sigmoid(-z), "cdf": sigmoid,
    "logcdf": lambda z: -softplus(-z), "ppf": logit,
    "var": exactly("(pi**2/3)", lambda m: m.pi * m.pi / 3), "entropy": 2.0,
}, symmetric=True)  # fmt: skip
Family("cauchy", "", {
    "logpdf": lambda z: -log1p(square(z)) - LN_PI, "pdf": lambda z: 1 / (PI * (1 + square(z))), "cdf": lambda z: atan2(1.0, -z) / PI,
    "ppf": lambda q: -1 / tan(PI * q),
    "mean": NAN, "var": NAN, "entropy": exactly("log(4*pi)", lambda m: m.log(4 * m.pi)),
}, symmetric=True)  # fmt: skip
Family("halfnorm", "", {
    "logpdf": lambda z: LN2 + _normal(z), "cdf": lambda z: erf(z / SQRT_2),
    "sf": lambda z: erfc(z / SQRT_2), "ppf": lambda q: ndtri((1 + q) / 2), "isf": lambda q: -ndtri(q / 2), "mean": SQRT_2_BY_PI,
    "var": exactly("(1 - 2/pi)", lambda m: 1 - 2 / m.pi),
    "entropy": exactly("((1 + log(pi/2))/2)", lambda m: (1 + m.log(m.pi / 2)) / 2),
}, 0)  # fmt: skip
Family("halfcauchy", "", {
    "logpdf": lambda z: _LN_TWO_BY_PI - log1p(square(z)), "cdf": lambda z: 2 * atan2(z, 1.0) / PI,
    "sf": lambda z: 2 * atan2(1.0, z) / PI,
    "ppf": lambda q: tan(PI * q / 2), "isf": lambda q: 1 / tan(PI * q / 2), "mean": INF, "var": INF,
    "entropy": LN_TWO_PI,
}, 0)  # fmt: skip
Family("rayleigh", "", {
    "logpdf": lambda z: log(z) - square(z) / 2, "pdf": lambda z: z * exp_square(z, c=-0.5),
    "sf": lambda z: exp_square(z, c=-0.5), "logsf": lambda z: -square(z) / 2, "ppf": lambda q: sqrt(-2 * log1p(-q)),
    "isf": lambda q: sqrt(-2 * log(q)), "mean": exactly("sqrt(pi/2)", lambda m: m.sqrt(m.pi / 2)),
    "var": exactly("(2 - pi/2)", lambda m: 2 - m.pi / 2),
    "entropy": exactly("(1 - (digamma(1) + log(2))/2)", lambda m: 1 + (m.euler - m.log(2)) / 2),
}, 0)  # fmt: skip
Family("maxwell", "", {
    "logpdf": lambda z: 2 * log(z) - square(z) / 2 + _HALF_LN_TWO_BY_PI, "pdf": lambda z: square(z) * exp_square(z, c=-0.5) * SQRT_2_BY_PI,
    "cdf": lambda z: gammainc(1.5, square(z) / 2), "sf": lambda z: gammaincc(1.5, square(z) / 2),
    "mean": exactly("sqrt(8/pi)", lambda m: m.sqrt(8 / m.pi)),
    "var": exactly("(3 - 8/pi)", lambda m: 3 - 8 / m.pi),
    "entropy": exactly("(log(2*pi)/2 - digamma(1) - 0.5)", lambda m: m.euler + (m.log(2 * m.pi) - 1) / 2),
}, 0)  # fmt: skip
Family("pareto", "b", {
    "logpdf": lambda z, b: log(b) - (b + 1) * log(z), "sf": lambda z, b: pow_(z, -b), "logsf": lambda z, b: -b * log(z),
    "ppf": lambda q, b: pow_(1 - q, -1 / b), "isf": lambda q, b: pow_(q, -1 / b),
    "mean": lambda b: where(greater(b, 1), b / (b - 1), INF), "var": lambda b: where(greater(b, 2), b / ((b - 2) * square(b - 1)), INF),
    "entropy": lambda b: 1 + 1 / b - log(b),
}, 1)  # fmt: skip


def _weibull_variance(c: Any) -> Any:
    return gamma(1 + 2 / c) - square(gamma(1 + 1 / c))


Family("weibull_min", "c", {
    "logpdf": lambda z, c: log(c) + xlogy(c - 1, z) - pow_(z, c), "logsf": lambda z, c: -pow_(z, c),
    "ppf": lambda q, c: pow_(-log1p(-q), 1 / c), "isf": lambda q, c: pow_(-log(q), 1 / c),
    "mean": lambda c: gamma(1 + 1 / c), "var": _weibull_variance,
    "entropy": lambda c: EULER_GAMMA * (1 - 1 / c) - log(c) + 1,
}, 0)  # fmt: skip
Family("gumbel_r", "", {
    "logpdf": lambda z: -z - exp(-z), "logcdf": lambda z: -exp(-z),
    "ppf": lambda q: -log(-log(q)), "isf": lambda q: -log(-log1p(-q)), "mean": EULER_GAMMA, **_OF_GUMBEL,
})  # fmt: skip
Family("gumbel_l", "", {
    "logpdf": lambda z: z - exp(z), "logsf": lambda z: -exp(z),
    "ppf": lambda q: log(-log1p(-q)), "isf": lambda q: log(-log(q)), "mean": exactly("digamma(1)", lambda m: -m.euler), **_OF_GUMBEL,
})  # fmt: skip
Family("invgamma", "a", {
    "logpdf": lambda z, a: -(a + 1) * log(z) - 1 / z - lgamma(a), "cdf": lambda z, a: gammaincc(a, 1 / z), "sf": lambda z,
    a: gammainc(a, 1 / z),
    "mean": lambda a: where(greater(a, 1), 1 / (a - 1), INF), "var": lambda a: where(greater(a, 2), 1 / (square(a - 1) * (a - 2)), INF),
    "entropy": lambda a: a + lgamma(a) - (1 + a) * digamma(a),
}, 0)  # fmt: skip
Family("powerlaw", "a", {
    "logpdf": lambda z, a: log(a) + xlogy(a - 1, z), "cdf": pow_, "logcdf": lambda z, a: a * log(z),
    "ppf": lambda q, a: pow_(q, 1 / a), "mean": lambda a: a / (a + 1),
    "var": lambda a: a / ((a + 2) * square(a + 1)), "entropy": lambda a: 1 - 1 / a - log(a),
}, 0, 1)  # fmt: skip
Family("skewnorm", "a", {
    "logpdf": lambda z, a: LN2 + _normal(z) + log_ndtr(a * z), "mean": lambda a: SQRT_2_BY_PI * a / sqrt(1 + square(a)),
    "var": lambda a: 1 - _TWO_BY_PI * square(a) / (1 + square(a)),
}, valid=lambda a: less_equal(a, INF))  # fmt: skip


def _mass(a: Any, b: Any) -> Any:
    """The probability between two points, from the tails on the side where they are."""
    return where(greater(a, 0), ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))


Family("truncnorm", "a b", {
    "logpdf": lambda z, a, b: _normal(z) - log(_mass(a, b)), "cdf": lambda z, a, b: _mass(a, z) / _mass(a, b),
    "sf": lambda z, a, b: _mass(z, b) / _mass(a, b),
}, lambda a, b: a, lambda a, b: b, valid=less)  # fmt: skip
Family("vonmises", "kappa", {
    "logpdf": lambda z, kappa: -2 * kappa * square(sin(z / 2)) - log(i0e(kappa)) - LN_TWO_PI,
    "entropy": lambda kappa: LN_TWO_PI + log(i0e(kappa)) + kappa * (1 - i1e(kappa) / i0e(kappa)),
})  # fmt: skip
