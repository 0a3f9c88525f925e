"""Families of distributions, declared in standard form: from it their functions follow, with SciPy's loc and scale."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

from gradcli.ops.calling.meanings import declare_class
from gradcli.ops.calling.prefixes import SCIPY, TORCH
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
from gradcli.ops.elementwise.arithmetic import abs_, floor, square
from gradcli.ops.elementwise.exponential import exp, exp_square, expm1, log, log1p, pow_, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, less, less_equal, logical_and, logical_not, logical_or, where
from gradcli.ops.elementwise.trigonometric import atan2, sin, tan
from gradcli.ops.registry import Composite, Function, composite, declare
from gradcli.ops.special.gamma import betaln, digamma, gamma, lgamma, sigmoid, softplus
from gradcli.ops.special.incomplete import betainc, entr, erf, erfc, gammainc, gammaincc, log_ndtr, logit, ndtr, ndtri
from gradcli.ops.special.integrals import i0e, i1e

MADE: dict[str, Composite] = {}  # the functions of all families
INF, NAN = float("inf"), float("nan")
_MOMENTS = ("mean", "var", "std", "entropy", "variance", "stddev", "probs", "logits")  # which take no x
_QUANTILES = ("ppf", "icdf")
_ENDS = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-INF, 0.0), "logsf": (0.0, -INF)}  # below and above the support
_MIRRORED = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf"}
_FOLLOWS: dict[str, tuple[str, Function]] = {
    "std": ("var", sqrt), "logcdf": ("cdf", log), "logsf": ("sf", log),
}  # fmt: skip


def declare_family(
    library: str, name: str, parameters: str, methods: Mapping[str, Any], first: str = "x", ignored: str = "",
    properties: str = "", **record: Any,
) -> None:  # fmt: skip
    """Declare a library's class of distributions.

    parameters  as in `signature`; those that may be left out end in a question mark
    methods     for each method its body, of x (or q) and the parameters, or the composite that it is
    first       what methods call the variable
    """
    spelled = parameters.replace("?", "")
    operands = re.sub(r"\|\w+|,", "", parameters)
    for method, body in methods.items():
        start = "" if method in _MOMENTS else "q" if method in _QUANTILES else first
        made = body
        if not isinstance(body, Composite):
            called = f"torch_{name.lower()}_{method}" if library == TORCH else f"{name}_{method}"
            doc = f"{method} of the distribution {name}, as {library} has it."
            kind = ":index" if start and "pmf" in method else ""
            MADE[called] = made = composite(called, f"{start}{kind} {operands}", body, public=False, doc=doc, **record)
        variable = f"{start.removesuffix(':index')}|value, " if start else ""
        declare(f"{library}:\n{name}.{method} = {made.name}({variable}{spelled})")
    kept = f"{spelled}, {ignored}" if ignored else spelled
    declare_class(library, name, kept, {method: f"{name}.{method}" for method in methods}, properties=properties)


class Family:
    """A family of distributions in standard form: functions of x and the shapes, or numbers; those that are missing follow from others.

    shapes      names of the shapes
    low, high   the ends of the support, numbers or functions of the shapes; None for infinity
    valid       whether shapes are those of a distribution; None if all have to be positive
    symmetric   whether the distribution is that of -x, around 0
    """

    def __init__(
        self, name: str, shapes: str, functions: Mapping[str, Any], low: Any = None, high: Any = None, valid: Function | None = None,
        symmetric: bool = False,
    ) -> None:  # fmt: skip
        self._functions = functions = {**({"mean": 0.0} if symmetric else {}), **functions}
        self._low, self._high, self._valid, self._symmetric, self._discrete = low, high, valid, symmetric, "logpmf" in functions
        names = ["logpmf", "pmf"] if self._discrete else ["logpdf", "pdf"]
        names += _ENDS if _ENDS.keys() & functions else ()
        names += [name for name in ("ppf", "mean", "var", "entropy") if name in functions]
        names += ["std"] if "var" in functions else ()
        parameters = ", ".join([*shapes.split(), "loc?"] + ["scale?"] * (not self._discrete))
        declare_family(SCIPY, name, parameters, {method: self._method(method) for method in names}, "k" if self._discrete else "x")

    def _formula(self, name: str) -> Function:
        """Return the function of that name in standard form, or what it follows from."""
        found = self._functions.get(name)
        if found is not None:
            return found if callable(found) else lambda *_: found
        if self._symmetric and _MIRRORED.get(name) in self._functions:
            mirrored = self._formula(_MIRRORED[name])
            return lambda z, *shapes: mirrored(-z, *shapes)
        source, after = _FOLLOWS.get(name) or (f"log{name}", exp)
        if name not in _FOLLOWS and source not in self._functions:  # a tail, of the other one's logarithm
            source, after = f"log{_MIRRORED[name]}", lambda logarithm: -expm1(logarithm)
        start = self._formula(source)
        return lambda *operands: after(start(*operands))

    def _method(self, name: str) -> Function:
        """Return the function of that name, with loc and scale behind the shapes."""
        formula, of_numbers = self._formula(name), name in _MOMENTS
        rule = self._tail if name in _ENDS else self._quantile if name in _QUANTILES else self._moment if of_numbers else self._density
        tells = name == "logpdf" and self._low is None and self._high is None  # that the scale is none: by its logarithm

        def body(*operands: Any) -> Any:
            *given, loc, scale = (*operands, None) if self._discrete else operands
            value = rule(name, formula, loc, scale, *given)
            shapes = given[not of_numbers :]
            fits = [greater(shape, 0) for shape in shapes] if self._valid is None else [self._valid(*shapes)]
            fits += [] if scale is None or tells else [greater(scale, 0)]
            return where(reduce(logical_and, fits), value, NAN) if fits else value

        return body

    def _support(self, shapes: Any) -> tuple[Any, Any]:
        return tuple(end(*shapes) if callable(end) else end for end in (self._low, self._high))

    def _density(self, name: str, formula: Function, loc: Any, scale: Any, x: Any, *shapes: Any) -> Any:
        z = _placed(x, loc, scale)
        low, high = self._support(shapes)
        outside = [] if low is None else [less(z, low)]
        outside += [] if high is None else [greater(z, high)]
        if self._discrete and loc is not None:  # k is whole, but not so what is left of it after loc
            outside += [logical_not(equal(floor(z), z))]
        value, logarithmic = formula(z, *shapes), name.startswith("log")
        if scale is not None:
            value = value - log(scale) if logarithmic else value / scale
        return where(reduce(logical_or, outside), -INF if logarithmic else 0.0, value) if outside else value

    def _tail(self, name: str, formula: Function, loc: Any, scale: Any, x: Any, *shapes: Any) -> Any:
        """cdf, sf and their logarithms; of whole numbers that at or below x."""
        z = _placed(x, loc, scale)
        z, is_below, is_above = (floor(z), less, greater_equal) if self._discrete else (z, less_equal, greater)
        value, (below, above) = formula(z, *shapes), _ENDS[name]
        low, high = self._support(shapes)
        value = value if low is None else where(is_below(z, low), below, value)
        return value if high is None else where(is_above(z, high), above, value)

    def _quantile(self, name: str, formula: Function, loc: Any, scale: Any, q: Any, *shapes: Any) -> Any:
        return where(logical_or(less(q, 0), greater(q, 1)), NAN, _spread(formula(q, *shapes), loc, scale))

    def _moment(self, name: str, formula: Function, loc: Any, scale: Any, *shapes: Any) -> Any:
        value = formula(*shapes)
        if name == "mean":
            return _spread(value, loc, scale)
        if scale is not None:
            value = value + log(scale) if name == "entropy" else value * (scale**2 if name == "var" else scale)
        return value if loc is None else value + 0 * loc  # which has a shape


def _placed(x: Any, loc: Any, scale: Any) -> Any:
    moved = x if loc is None else x - loc
    return moved if scale is None else moved / scale


def _spread(z: Any, loc: Any, scale: Any) -> Any:
    scaled = z if scale is None else z * scale
    return scaled if loc is None else scaled + loc


# -- Distributions of whole numbers: their probabilities are differentiated by their parameters,
# and by k as the formulas say.


def _chance(p: Any) -> Any:
    return logical_and(greater_equal(p, 0), less_equal(p, 1))


Family("poisson", "mu", {
    "logpmf": lambda k, mu: xlogy(k, mu) - lgamma(k + 1) - mu, "cdf": lambda k, mu: gammaincc(k + 1, mu),
    "sf": lambda k, mu: gammainc(k + 1, mu), "mean": lambda mu: mu, "var": lambda mu: mu,
}, 0, valid=lambda mu: greater_equal(mu, 0))  # fmt: skip
Family("binom", "n p", {
    "logpmf": lambda k, n, p: xlogy(k, p) + xlog1py(n - k, -p) - log(n + 1) - betaln(n - k + 1, k + 1),
    "cdf": lambda k, n, p: betainc(n - k, k + 1, 1 - p), "sf": lambda k, n, p: betainc(k + 1, n - k, p),
    "mean": lambda n, p: n * p, "var": lambda n, p: n * p * (1 - p),
}, 0, lambda n, p: n, valid=lambda n, p: logical_and(greater_equal(n, 0), _chance(p)))  # fmt: skip
Family("bernoulli", "p", {
    "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), "cdf": lambda k, p: 1 - p, "sf": lambda k, p: p,
    "mean": lambda p: p, "var": lambda p: p * (1 - p), "entropy": lambda p: entr(p) + entr(1 - p),
}, 0, 1, valid=_chance)  # fmt: skip
Family("geom", "p", {
    "logpmf": lambda k, p: xlog1py(k - 1, -p) + log(p), "cdf": lambda k, p: -expm1(k * log1p(-p)), "sf": lambda k, p: (1 - p) ** k,
    "mean": lambda p: 1 / p, "var": lambda p: (1 - p) / p**2,
}, 1, valid=lambda p: logical_and(greater(p, 0), less_equal(p, 1)))  # fmt: skip
Family("nbinom", "n p", {
    "logpmf": lambda k, n, p: n * log(p) + xlog1py(k, -p) - log(n + k) - betaln(n, k + 1), "cdf": lambda k, n, p: betainc(n, k + 1, p),
    "sf": lambda k, n, p: betainc(k + 1, n, 1 - p), "mean": lambda n, p: n * (1 - p) / p, "var": lambda n, p: n * (1 - p) / p**2,
}, 0, valid=lambda n, p: logical_and(greater(n, 0), logical_and(greater(p, 0), less_equal(p, 1))))  # fmt: skip


# -- Continuous distributions of one variable ------------------------------------------------------


_LN_TWO_BY_PI = exactly("log(2/pi)", lambda m: m.log(2 / m.pi))
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
    "mean": 1.0, "var": 1.0, "entropy": 1.0,
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


Family("lognorm", "s", {
    "logpdf": lambda z, s: where(less_equal(z, 0), -INF, -square(log(z) / s) / 2 - log(s) - log(z) - HALF_LN_TWO_PI), "cdf": lambda z,
    s: ndtr(log(z) / s),
    "sf": lambda z, s: ndtr(-log(z) / s), "logcdf": lambda z, s: log_ndtr(log(z) / s), "logsf": lambda z, s: log_ndtr(-log(z) / s),
    "ppf": lambda q, s: exp(s * ndtri(q)), "mean": lambda s: exp(square(s) / 2),
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
    "sf": lambda z: erfc(z / SQRT_2), "ppf": lambda q: ndtri((1 + q) / 2), "mean": SQRT_2_BY_PI,
    "var": exactly("(1 - 2/pi)", lambda m: 1 - 2 / m.pi),
    "entropy": exactly("((1 + log(pi/2))/2)", lambda m: (1 + m.log(m.pi / 2)) / 2),
}, 0)  # fmt: skip
Family("halfcauchy", "", {
    "logpdf": lambda z: _LN_TWO_BY_PI - log1p(square(z)), "cdf": lambda z: 2 * atan2(z, 1.0) / PI,
    "sf": lambda z: 2 * atan2(1.0, z) / PI,
    "ppf": lambda q: tan(PI * q / 2), "mean": INF, "var": INF,
    "entropy": LN_TWO_PI,
}, 0)  # fmt: skip
Family("pareto", "b", {
    "logpdf": lambda z, b: log(b) - (b + 1) * log(z), "sf": lambda z, b: pow_(z, -b), "logsf": lambda z, b: -b * log(z),
    "ppf": lambda q, b: pow_(1 - q, -1 / b),
    "mean": lambda b: where(greater(b, 1), b / (b - 1), INF), "var": lambda b: where(greater(b, 2), b / ((b - 2) * square(b - 1)), INF),
    "entropy": lambda b: 1 + 1 / b - log(b),
}, 1)  # fmt: skip


def _weibull_variance(c: Any) -> Any:
    return gamma(1 + 2 / c) - square(gamma(1 + 1 / c))


Family("weibull_min", "c", {
    "logpdf": lambda z, c: log(c) + xlogy(c - 1, z) - pow_(z, c), "logsf": lambda z, c: -pow_(z, c),
    "ppf": lambda q, c: pow_(-log1p(-q), 1 / c),
    "mean": lambda c: gamma(1 + 1 / c), "var": _weibull_variance,
    "entropy": lambda c: EULER_GAMMA * (1 - 1 / c) - log(c) + 1,
}, 0)  # fmt: skip
Family("gumbel_r", "", {
    "logpdf": lambda z: -z - exp(-z), "logcdf": lambda z: -exp(-z),
    "ppf": lambda q: -log(-log(q)), "mean": EULER_GAMMA, **_OF_GUMBEL,
})  # fmt: skip
Family("gumbel_l", "", {
    "logpdf": lambda z: z - exp(z), "logsf": lambda z: -exp(z),
    "ppf": lambda q: log(-log1p(-q)), "mean": exactly("digamma(1)", lambda m: -m.euler), **_OF_GUMBEL,
})  # fmt: skip
Family("invgamma", "a", {
    "logpdf": lambda z, a: -(a + 1) * log(z) - 1 / z - lgamma(a), "cdf": lambda z, a: gammaincc(a, 1 / z), "sf": lambda z,
    a: gammainc(a, 1 / z),
    "mean": lambda a: where(greater(a, 1), 1 / (a - 1), INF), "var": lambda a: where(greater(a, 2), 1 / (square(a - 1) * (a - 2)), INF),
    "entropy": lambda a: a + lgamma(a) - (1 + a) * digamma(a),
}, 0)  # fmt: skip
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
