"""References of distributions: densities as textbooks print them, one number at a time, placed by loc and scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, is_nan

Scalar = Any


class Curve:
    """A distribution in standard form: its functions take m, a point and the shapes."""

    def __init__(self, shapes: int, log_density: Callable[..., Any], low: Any = None, high: Any = None, **functions: Any) -> None:
        self.shapes, self.log_density, self.low, self.high = shapes, log_density, low, high
        self.fits: Callable[..., bool] = functions.pop("fits", lambda *shapes: all(s > 0 for s in shapes))
        self.functions: Mapping[str, Callable[..., Any]] = functions

    def ends(self, shapes: Any) -> tuple[Any, Any]:
        return tuple(end(*shapes) if callable(end) else end for end in (self.low, self.high))  # type: ignore[return-value]

    def at(self, m: Any, name: str, x: Scalar, shapes: tuple[Any, ...], loc: Scalar, scale: Scalar) -> Scalar:
        """One function at one number."""
        if not self.fits(*shapes) or (scale is not None and not scale > 0):
            return m.nan
        if name in ("ppf", "isf", "median"):
            return self._from_probability(m, name, x, shapes, loc, scale)
        if name in ("mean", "var", "std", "entropy"):
            return self._moment(m, name, shapes, loc, scale)
        z = x if loc is None else x - loc
        z = z if scale is None else z / scale
        if is_nan(m, z):
            return z
        low, high = self.ends(shapes)
        if name in ("pdf", "logpdf"):
            if (low is not None and z < low) or (high is not None and z > high):
                return m.zero if name == "pdf" else -m.inf
            logarithm = self.log_density(m, z, *shapes)
            logarithm = logarithm if scale is None else logarithm - m.log(scale)
            return m.exp(logarithm) if name == "pdf" else logarithm
        return self._cumulative(m, name, z, shapes, low, high)

    def _cumulative(self, m: Any, name: str, z: Scalar, shapes: Any, low: Any, high: Any) -> Scalar:
        start = name[3:] if name.startswith("log") else name
        if low is not None and z <= low:
            value = m.zero if start == "cdf" else m.one
        elif high is not None and z > high:
            value = m.one if start == "cdf" else m.zero
        else:
            if name in self.functions:
                return self.functions[name](m, z, *shapes)
            value = self.functions[start](m, z, *shapes)
        return value if start == name else -m.inf if m.plain(value) == 0 else m.log(value)

    def _from_probability(self, m: Any, name: str, q: Scalar, shapes: Any, loc: Scalar, scale: Scalar) -> Scalar:
        if name == "median":
            q = m.one / 2
        if q < 0 or q > 1:
            return m.nan
        value = self.functions["isf" if name == "isf" else "ppf"](m, q, *shapes)
        return self._placed(value, loc, scale)

    @staticmethod
    def _placed(value: Scalar, loc: Scalar, scale: Scalar) -> Scalar:
        value = value if scale is None else scale * value
        return value if loc is None else loc + value

    def _moment(self, m: Any, name: str, shapes: Any, loc: Scalar, scale: Scalar) -> Scalar:
        if name == "mean":
            return self._placed(self.functions["mean"](m, *shapes), loc, scale)
        if name == "entropy":
            value = self.functions["entropy"](m, *shapes)
            return value if scale is None else value + m.log(scale)
        variance = self.functions["var"](m, *shapes)
        if scale is not None:
            variance = variance * scale * scale
        return variance if name == "var" else m.sqrt(variance)


class Counts(Curve):
    """A distribution of whole numbers."""

    def at(self, m: Any, name: str, x: Scalar, shapes: tuple[Any, ...], loc: Scalar, scale: Scalar = None) -> Scalar:
        if name in ("mean", "var", "std", "entropy"):
            return super().at(m, name, x, shapes, loc, None)
        if not self.fits(*shapes):
            return m.nan
        k = x if loc is None else x - loc
        low, high = self.ends(shapes)
        if name in ("pmf", "logpmf"):
            at = m.plain(k) if hasattr(k, "value") else k
            if k < low or (high is not None and k > high) or m.floor(at) != at:
                return m.zero if name == "pmf" else -m.inf
            logarithm = self.log_density(m, k, *shapes)
            return m.exp(logarithm) if name == "pmf" else logarithm
        at = m.floor(k)
        start = name[3:] if name.startswith("log") else name
        if at < low:
            value = m.zero if start == "cdf" else m.one
        elif high is not None and at >= high:
            value = m.one if start == "cdf" else m.zero
        else:
            value = self.functions[start](m, at, *shapes)
        return value if start == name else -m.inf if m.plain(value) == 0 else m.log(value)


def state(name: str, curve: Curve, functions: str) -> None:
    """The references of a distribution's functions."""
    for function in functions.split():
        of(f"{name}_{function}")(_reference(curve, function))


def _reference(curve: Curve, function: str) -> Callable[..., Any]:
    without = function in ("mean", "var", "std", "entropy", "median")

    def reference(m: Any, *operands: Any) -> Any:
        x, rest = (None, operands) if without else (operands[0], operands[1:])

        def at(*row: Any) -> Any:
            point, values = (None, row) if without else (row[0], row[1:])
            shapes, places = values[: curve.shapes], values[curve.shapes :]
            return curve.at(m, function, point, tuple(shapes), *places)

        given = rest if without else (x, *rest)
        if all(v is None for v in given):
            return np.asarray(at(*given), dtype=object)
        return each(at, *given)

    return reference


def _ln_gamma(m: Any, x: Any) -> Any:
    return m.function("lgamma", x)


def _ln_beta(m: Any, a: Any, b: Any) -> Any:
    return m.function("betaln", a, b)


def _psi(m: Any, x: Any) -> Any:
    return m.function("digamma", x)


def _power_of(m: Any, x: Any, a: Any) -> Any:
    """The logarithm of x**a, of 0**0 too."""
    return m.function("xlogy", m.one * a, x)


def _bell(m: Any, z: Any) -> Any:
    return -(m.log(2 * m.m.pi) + z * z) / 2


def _tail(m: Any, z: Any) -> Any:
    """The probability that a standard normal variable is above z."""
    return m.function("erfc", z / m.sqrt(m.one * 2)) / 2


def _normal_quantile(m: Any, q: Any) -> Any:
    return m.function("ndtri", q)


_EVERY = "pdf logpdf cdf logcdf sf logsf ppf isf median mean var std entropy"
_NO_QUANTILES = "pdf logpdf cdf logcdf sf logsf mean var std entropy"

state("norm", Curve(
    0, _bell, cdf=lambda m, z: _tail(m, -z), sf=_tail, logcdf=lambda m, z: m.function("log_ndtr", z),
    logsf=lambda m, z: m.function("log_ndtr", -z), ppf=_normal_quantile, isf=lambda m, q: -_normal_quantile(m, q), mean=lambda m: m.zero,
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
    1, lambda m, z, a: _power_of(m, z, a - 1) - z - _ln_gamma(m, a), 0, cdf=lambda m, z, a: m.function("gammainc", a, z),
    sf=lambda m, z, a: m.function("gammaincc", a, z), mean=lambda m, a: a, var=lambda m, a: a,
    entropy=lambda m, a: a + _ln_gamma(m, a) - (a - 1) * _psi(m, a),
), _NO_QUANTILES)  # fmt: skip
state("beta", Curve(
    2, lambda m, z, a, b: _power_of(m, z, a - 1) + _power_of(m, 1 - z, b - 1) - _ln_beta(m, a, b), 0, 1,
    cdf=lambda m, z, a, b: m.function("betainc", a, b, z), sf=lambda m, z, a, b: m.function("betainc", b, a, 1 - z),
    mean=lambda m, a, b: a / (a + b), var=lambda m, a, b: a / (a + b) * b / (a + b) / (a + b + 1),
    entropy=lambda m, a, b: (a + b - 2) * _psi(m, a + b) - (a - 1) * _psi(m, a) - (b - 1) * _psi(m, b) + _ln_beta(m, a, b),
), _NO_QUANTILES)  # fmt: skip


def _student(m: Any, z: Any, v: Any) -> Any:
    return -(v + 1) / 2 * m.log1p(z * z / v) - m.log(v) / 2 - _ln_beta(m, v / 2, m.one / 2)


def _student_tail(m: Any, z: Any, v: Any) -> Any:
    """The probability above z."""
    tail = m.function("betainc", v / 2, m.one / 2, v / (v + z * z)) / 2
    return tail if z > 0 else 1 - tail


state("t", Curve(
    1, _student, sf=_student_tail, cdf=lambda m, z, v: _student_tail(m, -z, v), mean=lambda m, v: m.zero if v > 1 else m.inf,
    var=lambda m, v: v / (v - 2) if v > 2 else m.inf if v > 1 else m.nan,
    entropy=lambda m, v: (v + 1) / 2 * (_psi(m, (v + 1) / 2) - _psi(m, v / 2)) + m.log(v) / 2 + _ln_beta(m, v / 2, m.one / 2),
), _NO_QUANTILES)  # fmt: skip
state("chi2", Curve(
    1, lambda m, z, v: _power_of(m, z / 2, v / 2 - 1) - z / 2 - _ln_gamma(m, v / 2) - m.log(m.one * 2), 0,
    cdf=lambda m, z, v: m.function("gammainc", v / 2, z / 2), sf=lambda m, z, v: m.function("gammaincc", v / 2, z / 2),
    mean=lambda m, v: v, var=lambda m, v: 2 * v,
    entropy=lambda m, v: v / 2 + m.log(m.one * 2) + _ln_gamma(m, v / 2) + (1 - v / 2) * _psi(m, v / 2),
), _NO_QUANTILES)  # fmt: skip


def _f(m: Any, z: Any, n: Any, d: Any) -> Any:
    """With n/d of the first power, and (1 + n z/d) to minus the half sum."""
    ratio = n / d
    return n / 2 * m.log(ratio) + _power_of(m, z, n / 2 - 1) - (n + d) / 2 * m.log(1 + ratio * z) - _ln_beta(m, n / 2, d / 2)


state("f", Curve(
    2, _f, 0, cdf=lambda m, z, n, d: m.function("betainc", n / 2, d / 2, n * z / (d + n * z)),
    sf=lambda m, z, n, d: m.function("betainc", d / 2, n / 2, d / (d + n * z)), mean=lambda m, n, d: d / (d - 2) if d > 2 else m.inf,
    var=lambda m, n, d: 2 * d * d * (n + d - 2) / n / (d - 2) / (d - 2) / (d - 4) if d > 4 else m.inf,
), "pdf logpdf cdf logcdf sf logsf mean var std")  # fmt: skip


def _log_normal(m: Any, z: Any, s: Any) -> Any:
    if m.plain(z) == 0:
        return -m.inf
    return _bell(m, m.log(z) / s) - m.log(s * z)


state("lognorm", Curve(
    1, _log_normal, 0, cdf=lambda m, z, s: _tail(m, -m.log(z) / s), sf=lambda m, z, s: _tail(m, m.log(z) / s),
    logcdf=lambda m, z, s: m.function("log_ndtr", m.log(z) / s), logsf=lambda m, z, s: m.function("log_ndtr", -m.log(z) / s),
    ppf=lambda m, q, s: m.exp(s * _normal_quantile(m, q)), isf=lambda m, q, s: m.exp(-s * _normal_quantile(m, q)),
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
    0, lambda m, z: m.log(m.one * 2) + _bell(m, z), 0, cdf=lambda m, z: m.function("erf", z / m.sqrt(m.one * 2)),
    sf=lambda m, z: 2 * _tail(m, z), ppf=lambda m, q: -_normal_quantile(m, (1 - q) / 2), isf=lambda m, q: -_normal_quantile(m, q / 2),
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
    1, lambda m, z, b: m.log(b) - (b + 1) * m.log(z), 1, cdf=lambda m, z, b: -m.expm1(-b * m.log(z)), sf=lambda m, z, b: m.exp(-b * m.log(z)),
    logsf=lambda m, z, b: -b * m.log(z), ppf=lambda m, q, b: m.exp(-m.log(1 - q) / b), isf=lambda m, q, b: m.exp(-m.log(q) / b),
    mean=lambda m, b: b / (b - 1) if b > 1 else m.inf, var=lambda m, b: b / (b - 1) / (b - 1) / (b - 2) if b > 2 else m.inf,
    entropy=lambda m, b: 1 / b + 1 - m.log(b),
), _EVERY)  # fmt: skip


def _gamma_at(m: Any, x: Any) -> Any:
    return m.function("gamma", x)


state("weibull_min", Curve(
    1, lambda m, z, c: m.log(c) + _power_of(m, z, c - 1) - m.power(z, c), 0, cdf=lambda m, z, c: -m.expm1(-m.power(z, c)),
    sf=lambda m, z, c: m.exp(-m.power(z, c)), logsf=lambda m, z, c: -m.power(z, c),
    ppf=lambda m, q, c: m.power(-m.log1p(-q), 1 / c), isf=lambda m, q, c: m.power(-m.log(q), 1 / c), mean=lambda m, c: _gamma_at(m, (c + 1) / c),
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
    1, lambda m, z, a: -m.log(z) * (a + 1) - 1 / z - _ln_gamma(m, a), 0, cdf=lambda m, z, a: m.function("gammaincc", a, 1 / z),
    sf=lambda m, z, a: m.function("gammainc", a, 1 / z), mean=lambda m, a: 1 / (a - 1) if a > 1 else m.inf,
    var=lambda m, a: 1 / (a - 1) / (a - 1) / (a - 2) if a > 2 else m.inf,
    entropy=lambda m, a: a + _ln_gamma(m, a) - (1 + a) * _psi(m, a),
), _NO_QUANTILES)  # fmt: skip
state("powerlaw", Curve(
    1, lambda m, z, a: m.log(a) + _power_of(m, z, a - 1), 0, 1, cdf=lambda m, z, a: m.power(z, a), logcdf=lambda m, z, a: a * m.log(z),
    sf=lambda m, z, a: -m.expm1(a * m.log(z)), ppf=lambda m, q, a: m.power(q, 1 / a), isf=lambda m, q, a: m.power(1 - q, 1 / a),
    mean=lambda m, a: a / (a + 1), var=lambda m, a: a / (a + 2) / (a + 1) / (a + 1), entropy=lambda m, a: 1 - 1 / a - m.log(a),
), _EVERY)  # fmt: skip
state("skewnorm", Curve(
    1, lambda m, z, a: m.log(m.one * 2) + _bell(m, z) + m.function("log_ndtr", a * z), fits=lambda a: True,
    mean=lambda m, a: a * m.sqrt(2 / m.m.pi / (1 + a * a)), var=lambda m, a: 1 - 2 * a * a / (1 + a * a) / m.m.pi,
), "pdf logpdf mean var std")  # fmt: skip


def _between(m: Any, a: Any, b: Any) -> Any:
    """The probability between two points, by the tails that are the smaller ones."""
    return _tail(m, a) - _tail(m, b) if a > 0 else _tail(m, -b) - _tail(m, -a)


state("truncnorm", Curve(
    2, lambda m, z, a, b: _bell(m, z) - m.log(_between(m, a, b)), lambda a, b: a, lambda a, b: b, fits=lambda a, b: a < b,
    cdf=lambda m, z, a, b: _between(m, a, z) / _between(m, a, b), sf=lambda m, z, a, b: _between(m, z, b) / _between(m, a, b),
), "pdf logpdf cdf logcdf sf logsf")  # fmt: skip


def _bessel_ratio(m: Any, k: Any) -> Any:
    return m.function("i1e", k) / m.function("i0e", k)


state("vonmises", Curve(
    1, lambda m, z, k: k * (m.function("cos", z) - 1) - m.log(2 * m.m.pi * m.function("i0e", k)),
    entropy=lambda m, k: m.log(2 * m.m.pi) + m.log(m.function("i0e", k)) + k - k * _bessel_ratio(m, k),
), "pdf logpdf entropy")  # fmt: skip

# Of whole numbers

_OF_COUNTS = "pmf logpmf cdf logcdf sf logsf mean var std"


def _choices(m: Any, n: Any, k: Any) -> Any:
    """The logarithm of n over k."""
    return _ln_gamma(m, n + 1) - _ln_gamma(m, k + 1) - _ln_gamma(m, n - k + 1)


state("poisson", Counts(
    1, lambda m, k, mu: _power_of(m, mu, k) - mu - _ln_gamma(m, k + 1), 0, fits=lambda mu: mu >= 0,
    cdf=lambda m, k, mu: m.function("gammaincc", k + m.one, mu), sf=lambda m, k, mu: m.function("gammainc", k + m.one, mu),
    mean=lambda m, mu: mu, var=lambda m, mu: mu,
), _OF_COUNTS)  # fmt: skip
state("binom", Counts(
    2, lambda m, k, n, p: _choices(m, n, k) + _power_of(m, p, k) + _power_of(m, 1 - p, n - k), 0, lambda n, p: n,
    fits=lambda n, p: n >= 0 and 0 <= p <= 1, cdf=lambda m, k, n, p: m.function("betainc", n - k, k + m.one, 1 - p),
    sf=lambda m, k, n, p: m.function("betainc", k + m.one, n - k, p), mean=lambda m, n, p: n * p, var=lambda m, n, p: (n - n * p) * p,
), _OF_COUNTS)  # fmt: skip


def _information(m: Any, p: Any) -> Any:
    return m.zero if m.plain(p) == 0 else -p * m.log(p)


state("bernoulli", Counts(
    1, lambda m, k, p: m.log(p) if k == 1 else m.log(1 - p), 0, 1, fits=lambda p: 0 <= p <= 1, cdf=lambda m, k, p: 1 - p,
    sf=lambda m, k, p: p, mean=lambda m, p: p, var=lambda m, p: p - p * p,
    entropy=lambda m, p: _information(m, p) + _information(m, 1 - p),
), _OF_COUNTS + " entropy")  # fmt: skip
state("geom", Counts(
    1, lambda m, k, p: _power_of(m, 1 - p, k - 1) + m.log(p), 1, fits=lambda p: 0 < p <= 1, cdf=lambda m, k, p: 1 - m.power(1 - p, k),
    sf=lambda m, k, p: m.power(1 - p, k), mean=lambda m, p: 1 / p, var=lambda m, p: (1 / p - 1) / p,
), _OF_COUNTS)  # fmt: skip
state("nbinom", Counts(
    2, lambda m, k, n, p: _choices(m, n + k - 1, k) + n * m.log(p) + _power_of(m, 1 - p, k), 0, fits=lambda n, p: n > 0 and 0 < p <= 1,
    cdf=lambda m, k, n, p: m.function("betainc", n, k + m.one, p), sf=lambda m, k, n, p: m.function("betainc", k + m.one, n, 1 - p),
    mean=lambda m, n, p: n * (1 - p) / p, var=lambda m, n, p: n * (1 - p) / p / p,
), _OF_COUNTS)  # fmt: skip
