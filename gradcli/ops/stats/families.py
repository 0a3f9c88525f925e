"""Families of distributions.

They are declared in standard form, from which their functions follow, with SciPy's loc and scale.
PyTorch's names and parameters for them, distributions of vectors and of labels, and the divergences
between two distributions of a family are here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.reshaping import diag_embed, diagonal, expand_dims
from gradcli.ops.arrays.shapes import swapaxes
from gradcli.ops.calling.meanings import declare_class, refuse_classes
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
from gradcli.ops.elementwise.arithmetic import abs_, affine, floor, square
from gradcli.ops.elementwise.exponential import (
    exp,
    exp_square,
    expm1,
    log,
    log1p,
    pow_,
    xlog1py,
    xlogy,
)
from gradcli.ops.elementwise.logic import (
    clip,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from gradcli.ops.elementwise.trigonometric import atan2, sin, tan
from gradcli.ops.linalg.equations_and_factors import cholesky, solve_triangular
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.nn.activations import log_softmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import Composite, Function, composite, declare
from gradcli.ops.special.gamma import betaln, digamma, gamma, lgamma, sigmoid, softplus
from gradcli.ops.special.incomplete import (
    betainc,
    entr,
    erf,
    erfc,
    gammainc,
    gammaincc,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
)
from gradcli.ops.special.integrals import i0e, i1e

MADE: dict[str, Composite] = {}  # the functions of all families
INF, NAN = float("inf"), float("nan")
_MOMENTS = ("mean", "entropy", "probs", "logits")  # functions that take no x
_QUANTILES = ("ppf", "icdf")
# The values below and above the support.
_ENDS = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-INF, 0.0), "logsf": (0.0, -INF)}
_MIRRORED = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf"}
_FOLLOWS: dict[str, tuple[str, Function]] = {
    "logcdf": ("cdf", log), "logsf": ("sf", log),
}


def declare_family(
    library: str,
    name: str,
    parameters: str,
    methods: Mapping[str, Any],
    first: str = "x",
    ignored: str = "",
    properties: str = "",
    **record: Any,
) -> None:
    """Declare a library's class of distributions.

    parameters  as in `signature`; those that may be left out end in a question mark
    methods     for each method its body, of x (or q) and the parameters, or the composite that it
                is
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
            MADE[called] = made = composite(
                called, f"{start}{kind} {operands}", body, public=False, doc=doc, **record
            )
        variable = f"{start.removesuffix(':index')}|value, " if start else ""
        declare(f"{library}:\n{name}.{method} = {made.name}({variable}{spelled})")
    kept = f"{spelled}, {ignored}" if ignored else spelled
    declare_class(
        library,
        name,
        kept,
        {method: f"{name}.{method}" for method in methods},
        properties=properties,
    )


class Family:
    """Family of distributions in standard form.

    It consists of functions of x and the shapes, or numbers; those that are missing follow from
    others.

    - ``shapes``: names of the shapes
    - ``low``, ``high``: the ends of the support, numbers or functions of the shapes; None for
      infinity
    - ``valid``: whether shapes are those of a distribution; None if all have to be positive
    - ``symmetric``: whether the distribution is that of -x, around 0
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        functions: Mapping[str, Any],
        low: Any = None,
        high: Any = None,
        valid: Function | None = None,
        symmetric: bool = False,
    ) -> None:
        self._functions = functions = {**({"mean": 0.0} if symmetric else {}), **functions}
        self._low = low
        self._high = high
        self._valid = valid
        self._symmetric = symmetric
        self._discrete = "logpmf" in functions
        names = ["logpmf", "pmf"] if self._discrete else ["logpdf", "pdf"]
        names += _ENDS if _ENDS.keys() & functions else ()
        names += [name for name in ("ppf", "mean", "entropy") if name in functions]
        parameters = ", ".join([*shapes.split(), "loc?"] + ["scale?"] * (not self._discrete))
        declare_family(
            SCIPY,
            name,
            parameters,
            {method: self._method(method) for method in names},
            "k" if self._discrete else "x",
        )

    def _formula(self, name: str) -> Function:
        """Return the function of that name in standard form, or what it follows from."""
        found = self._functions.get(name)
        if found is not None:
            return found if callable(found) else lambda *_: found
        if self._symmetric and _MIRRORED.get(name) in self._functions:
            mirrored = self._formula(_MIRRORED[name])
            return lambda z, *shapes: mirrored(-z, *shapes)
        source, after = _FOLLOWS.get(name) or (f"log{name}", exp)
        # A tail follows from the logarithm of the other tail.
        if name not in _FOLLOWS and source not in self._functions:
            source, after = f"log{_MIRRORED[name]}", lambda logarithm: -expm1(logarithm)
        start = self._formula(source)
        return lambda *operands: after(start(*operands))

    def _method(self, name: str) -> Function:
        """Return the function of that name, with loc and scale behind the shapes."""
        formula = self._formula(name)
        of_numbers = name in _MOMENTS
        rule = (
            self._tail
            if name in _ENDS
            else self._quantile
            if name in _QUANTILES
            else self._moment
            if of_numbers
            else self._density
        )
        # Here the logarithm of the scale itself reveals an invalid one.
        tells = name == "logpdf" and self._low is None and self._high is None

        def body(*operands: Any) -> Any:
            *given, loc, scale = (*operands, None) if self._discrete else operands
            value = rule(name, formula, loc, scale, *given)
            shapes = given[not of_numbers :]
            fits = (
                [greater(shape, 0) for shape in shapes]
                if self._valid is None
                else [self._valid(*shapes)]
            )
            fits += [] if scale is None or tells else [greater(scale, 0)]
            return where(reduce(logical_and, fits), value, NAN) if fits else value

        return body

    def _support(self, shapes: Any) -> tuple[Any, Any]:
        return tuple(end(*shapes) if callable(end) else end for end in (self._low, self._high))

    def _density(
        self, name: str, formula: Function, loc: Any, scale: Any, x: Any, *shapes: Any
    ) -> Any:
        z = _standardize(x, loc, scale)
        low, high = self._support(shapes)
        outside = [] if low is None else [less(z, low)]
        outside += [] if high is None else [greater(z, high)]
        # k is a whole number, but k - loc need not be one.
        if self._discrete and loc is not None:
            outside += [logical_not(equal(floor(z), z))]
        value = formula(z, *shapes)
        logarithmic = name.startswith("log")
        if scale is not None:
            value = value - log(scale) if logarithmic else value / scale
        return (
            where(reduce(logical_or, outside), -INF if logarithmic else 0.0, value)
            if outside
            else value
        )

    def _tail(
        self, name: str, formula: Function, loc: Any, scale: Any, x: Any, *shapes: Any
    ) -> Any:
        """cdf, sf and their logarithms; of whole numbers that at or below x."""
        z = _standardize(x, loc, scale)
        z, is_below, is_above = (
            (floor(z), less, greater_equal) if self._discrete else (z, less_equal, greater)
        )
        value, (below, above) = formula(z, *shapes), _ENDS[name]
        low, high = self._support(shapes)
        value = value if low is None else where(is_below(z, low), below, value)
        return value if high is None else where(is_above(z, high), above, value)

    def _quantile(
        self, name: str, formula: Function, loc: Any, scale: Any, q: Any, *shapes: Any
    ) -> Any:
        return where(
            logical_or(less(q, 0), greater(q, 1)), NAN, affine(formula(q, *shapes), scale, loc)
        )

    def _moment(self, name: str, formula: Function, loc: Any, scale: Any, *shapes: Any) -> Any:
        value = formula(*shapes)
        if name == "mean":
            return affine(value, scale, loc)
        if scale is not None:
            value = value + log(scale)
        return value if loc is None else value + 0 * loc  # gives it the shape of loc


def _standardize(x: Any, loc: Any, scale: Any) -> Any:
    moved = x if loc is None else x - loc
    return moved if scale is None else moved / scale


# -- Distributions of whole numbers: their probabilities are differentiated by their parameters,
# and by k as the formulas say.


def _is_probability(p: Any) -> Any:
    return logical_and(greater_equal(p, 0), less_equal(p, 1))


Family("poisson", "mu", {
    "logpmf": lambda k, mu: xlogy(k, mu) - lgamma(k + 1) - mu, "cdf": lambda k, mu: gammaincc(k + 1, mu),
    "sf": lambda k, mu: gammainc(k + 1, mu), "mean": lambda mu: mu,
}, 0, valid=lambda mu: greater_equal(mu, 0))
Family("binom", "n p", {
    "logpmf": lambda k, n, p: xlogy(k, p) + xlog1py(n - k, -p) - log(n + 1) - betaln(n - k + 1, k + 1),
    "cdf": lambda k, n, p: betainc(n - k, k + 1, 1 - p), "sf": lambda k, n, p: betainc(k + 1, n - k, p),
    "mean": lambda n, p: n * p,
}, 0, lambda n, p: n, valid=lambda n, p: logical_and(greater_equal(n, 0), _is_probability(p)))
Family("bernoulli", "p", {
    "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), "cdf": lambda k, p: 1 - p, "sf": lambda k, p: p,
    "mean": lambda p: p, "entropy": lambda p: entr(p) + entr(1 - p),
}, 0, 1, valid=_is_probability)
Family("geom", "p", {
    "logpmf": lambda k, p: xlog1py(k - 1, -p) + log(p), "cdf": lambda k, p: -expm1(k * log1p(-p)), "sf": lambda k, p: (1 - p) ** k,
    "mean": lambda p: 1 / p,
}, 1, valid=lambda p: logical_and(greater(p, 0), less_equal(p, 1)))
Family("nbinom", "n p", {
    "logpmf": lambda k, n, p: n * log(p) + xlog1py(k, -p) - log(n + k) - betaln(n, k + 1), "cdf": lambda k, n, p: betainc(n, k + 1, p),
    "sf": lambda k, n, p: betainc(k + 1, n, 1 - p), "mean": lambda n, p: n * (1 - p) / p,
}, 0, valid=lambda n, p: logical_and(greater(n, 0), logical_and(greater(p, 0), less_equal(p, 1))))


# -- Continuous distributions of one variable ----------------------------------------------------


_LN_TWO_BY_PI = exactly("log(2/pi)", lambda m: m.log(2 / m.pi))
OF_BELL = exactly("((1 + log(2*pi))/2)", lambda m: (1 + m.log(2 * m.pi)) / 2)
_OF_GUMBEL = exactly("(1 - digamma(1))", lambda m: 1 + m.euler)


def _normal(z: Any) -> Any:
    return -square(z) / 2 - HALF_LN_TWO_PI


Family("norm", "", {
    "logpdf": _normal, "pdf": lambda z: exp_square(z, c=-0.5) / SQRT_TWO_PI, "cdf": ndtr, "logcdf": log_ndtr,
    "ppf": ndtri, "entropy": OF_BELL,
}, symmetric=True)
Family("uniform", "", {
    "logpdf": lambda z: 0 * z, "cdf": lambda z: z, "sf": lambda z: 1 - z, "ppf": lambda q: q, "mean": 0.5,
    "entropy": 0.0,
}, 0, 1)
Family("expon", "", {
    "logpdf": lambda z: -z, "logsf": lambda z: -z, "ppf": lambda q: -log1p(-q),
    "mean": 1.0, "entropy": 1.0,
}, 0)
Family("gamma", "a", {
    "logpdf": lambda z, a: xlogy(a - 1, z) - z - lgamma(a), "cdf": lambda z, a: gammainc(a, z), "sf": lambda z, a: gammaincc(a, z),
    "mean": lambda a: a, "entropy": lambda a: a + lgamma(a) + (1 - a) * digamma(a),
}, 0)
Family("beta", "a b", {
    "logpdf": lambda z, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b), "cdf": lambda z, a, b: betainc(a, b, z),
    # Near 0, the distance to 1 has no digits of z left.
    "sf": lambda z, a, b: where(less(betainc(a, b, z), 0.5), 1 - betainc(a, b, z), betainc(b, a, 1 - z)), "mean": lambda a, b: a / (a + b),
    "entropy": lambda a, b: betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b),
}, 0, 1)


def _student_below(z: Any, df: Any) -> Any:
    """Return the distribution function of Student's t.

    Half of the incomplete beta function of df/(df + z**2) is the tail on the side of z.
    """
    tail = betainc(df / 2, 0.5, df / (df + square(z))) / 2
    return where(less(z, 0), tail, 1 - tail)


Family("t", "df", {
    "logpdf": lambda z, df: -(df + 1) / 2 * log1p(square(z) / df) - log(df) / 2 - betaln(df / 2, 0.5), "cdf": _student_below,
    "mean": lambda df: where(greater(df, 1), 0.0, INF),
    "entropy": lambda df: (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2)) + log(df) / 2 + betaln(df / 2, 0.5),
}, symmetric=True)
Family("chi2", "df", {
    "logpdf": lambda z, df: xlogy(df / 2 - 1, z) - z / 2 - lgamma(df / 2) - df * LN2 / 2, "cdf": lambda z, df: gammainc(df / 2, z / 2),
    "sf": lambda z, df: gammaincc(df / 2, z / 2), "mean": lambda df: df,
    "entropy": lambda df: df / 2 + LN2 + lgamma(df / 2) + (1 - df / 2) * digamma(df / 2),
}, 0)


Family("lognorm", "s", {
    "logpdf": lambda z, s: where(less_equal(z, 0), -INF, -square(log(z) / s) / 2 - log(s) - log(z) - HALF_LN_TWO_PI),
    "cdf": lambda z, s: ndtr(log(z) / s),
    "sf": lambda z, s: ndtr(-log(z) / s), "logcdf": lambda z, s: log_ndtr(log(z) / s), "logsf": lambda z, s: log_ndtr(-log(z) / s),
    "ppf": lambda q, s: exp(s * ndtri(q)), "mean": lambda s: exp(square(s) / 2),
    "entropy": lambda s: log(s) + OF_BELL,
}, 0)
Family("laplace", "", {
    "logpdf": lambda z: -abs_(z) - LN2, "cdf": lambda z: where(less(z, 0), exp(-abs_(z)) / 2, 1 - exp(-abs_(z)) / 2),
    "ppf": lambda q: where(less(q, 0.5), log(2 * q), -log(2 * (1 - q))),
    "logcdf": lambda z: where(less(z, 0), z - LN2, log1p(-exp(-abs_(z)) / 2)),
    "entropy": exactly("(1 + log(2))", lambda m: 1 + m.log(2)),
}, symmetric=True)
Family("logistic", "", {
    "logpdf": lambda z: -z - 2 * softplus(-z), "pdf": lambda z: sigmoid(z) * sigmoid(-z), "cdf": sigmoid,
    "logcdf": lambda z: -softplus(-z), "ppf": logit,
    "entropy": 2.0,
}, symmetric=True)
Family("cauchy", "", {
    "logpdf": lambda z: -log1p(square(z)) - LN_PI, "pdf": lambda z: 1 / (PI * (1 + square(z))), "cdf": lambda z: atan2(1.0, -z) / PI,
    "ppf": lambda q: -1 / tan(PI * q),
    "mean": NAN, "entropy": exactly("log(4*pi)", lambda m: m.log(4 * m.pi)),
}, symmetric=True)
Family("halfnorm", "", {
    "logpdf": lambda z: LN2 + _normal(z), "cdf": lambda z: erf(z / SQRT_2),
    "sf": lambda z: erfc(z / SQRT_2), "ppf": lambda q: ndtri((1 + q) / 2), "mean": SQRT_2_BY_PI,
    "entropy": exactly("((1 + log(pi/2))/2)", lambda m: (1 + m.log(m.pi / 2)) / 2),
}, 0)
Family("halfcauchy", "", {
    "logpdf": lambda z: _LN_TWO_BY_PI - log1p(square(z)), "cdf": lambda z: 2 * atan2(z, 1.0) / PI,
    "sf": lambda z: 2 * atan2(1.0, z) / PI,
    "ppf": lambda q: tan(PI * q / 2), "mean": INF,
    "entropy": LN_TWO_PI,
}, 0)
Family("pareto", "b", {
    "logpdf": lambda z, b: log(b) - (b + 1) * log(z), "sf": lambda z, b: pow_(z, -b), "logsf": lambda z, b: -b * log(z),
    "ppf": lambda q, b: pow_(1 - q, -1 / b),
    "mean": lambda b: where(greater(b, 1), b / (b - 1), INF),
    "entropy": lambda b: 1 + 1 / b - log(b),
}, 1)


Family("weibull_min", "c", {
    "logpdf": lambda z, c: log(c) + xlogy(c - 1, z) - pow_(z, c), "logsf": lambda z, c: -pow_(z, c),
    "ppf": lambda q, c: pow_(-log1p(-q), 1 / c),
    "mean": lambda c: gamma(1 + 1 / c),
    "entropy": lambda c: EULER_GAMMA * (1 - 1 / c) - log(c) + 1,
}, 0)
Family("gumbel_r", "", {
    "logpdf": lambda z: -z - exp(-z), "logcdf": lambda z: -exp(-z),
    "ppf": lambda q: -log(-log(q)), "mean": EULER_GAMMA, "entropy": _OF_GUMBEL,
})
Family("gumbel_l", "", {
    "logpdf": lambda z: z - exp(z), "logsf": lambda z: -exp(z),
    "ppf": lambda q: log(-log1p(-q)), "mean": exactly("digamma(1)", lambda m: -m.euler), "entropy": _OF_GUMBEL,
})
Family("invgamma", "a", {
    "logpdf": lambda z, a: -(a + 1) * log(z) - 1 / z - lgamma(a), "cdf": lambda z, a: gammaincc(a, 1 / z),
    "sf": lambda z, a: gammainc(a, 1 / z),
    "mean": lambda a: where(greater(a, 1), 1 / (a - 1), INF),
    "entropy": lambda a: a + lgamma(a) - (1 + a) * digamma(a),
}, 0)


def _mass(a: Any, b: Any) -> Any:
    """Return the probability between two points, from the tails on their side."""
    return where(greater(a, 0), ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))


Family("truncnorm", "a b", {
    "logpdf": lambda z, a, b: _normal(z) - log(_mass(a, b)), "cdf": lambda z, a, b: _mass(a, z) / _mass(a, b),
    "sf": lambda z, a, b: _mass(z, b) / _mass(a, b),
}, lambda a, b: a, lambda a, b: b, valid=less)
Family("vonmises", "kappa", {
    "logpdf": lambda z, kappa: -2 * kappa * square(sin(z / 2)) - log(i0e(kappa)) - LN_TWO_PI,
    "entropy": lambda kappa: LN_TWO_PI + log(i0e(kappa)) + kappa * (1 - i1e(kappa) / i0e(kappa)),
})


# -- PyTorch's names and parameters, and the divergences between two of a family -----------------


_METHODS = {"log_prob": "logpdf", "cdf": "cdf", "icdf": "ppf", "entropy": "entropy", "mean": "mean", }


def _declare(name: str, parameters: str, methods: Mapping[str, Any]) -> None:
    declare_family(TORCH, name, parameters, methods, ignored="-validate_args", properties="mean")


def _of_scipy(
    name: str, family: str, keeps: str, parameters: Function | None = None, **methods: Function
) -> None:
    """Declare a family that SciPy has, too.

    keeps       its parameters in PyTorch's order: SciPy's under PyTorch's names, or PyTorch's own
    parameters  SciPy's shapes, loc and scale of those
    methods     what is otherwise in PyTorch
    """
    count = len(keeps.split(", "))
    for method, theirs in _METHODS.items():
        made = MADE.get(f"{family}_{theirs}")
        if made is not None:
            methods.setdefault(
                method, made if parameters is None else _move_parameters(made, count, parameters)
            )
    _declare(name, keeps, methods)


def _move_parameters(function: Function, count: int, parameters: Function) -> Function:
    return lambda *operands: function(*operands[:-count], *parameters(*operands[-count:]))


_of_scipy("Normal", "norm", "loc, scale")
_of_scipy("Laplace", "laplace", "loc, scale")
_of_scipy("Cauchy", "cauchy", "loc, scale")
_of_scipy("Gumbel", "gumbel_r", "loc, scale")
_of_scipy("HalfNormal", "halfnorm", "scale")
_of_scipy("HalfCauchy", "halfcauchy", "scale")
_of_scipy("StudentT", "t", "df, loc, scale")
_of_scipy("Beta", "beta", "a|concentration1, b|concentration0")
_of_scipy("Chi2", "chi2", "df")
_of_scipy("Pareto", "pareto", "scale, b|alpha")
_of_scipy("Weibull", "weibull_min", "scale, c|concentration")
_of_scipy("InverseGamma", "invgamma", "a|concentration, scale|rate")
_of_scipy("VonMises", "vonmises", "loc, kappa|concentration")
_of_scipy("Exponential", "expon", "rate", lambda rate: (None, 1 / rate))
_of_scipy("Gamma", "gamma", "concentration, rate", lambda a, rate: (a, None, 1 / rate))
_of_scipy("LogNormal", "lognorm", "loc, scale", lambda loc, scale: (scale, None, exp(loc)))
_of_scipy(
    "Uniform", "uniform", "low, high", lambda low, high: (low, high - low),
    log_prob=lambda x, low, high: where(logical_and(greater_equal(x, low), less(x, high)), -log(high - low), -INF),
)
_declare("Poisson", "rate", {
    "log_prob": lambda x, rate: xlogy(x, rate) - rate - lgamma(x + 1), "mean": lambda rate: rate,

})

_EPSILON = 2.0**-52


def clamp_probabilities(probs: Any) -> Any:
    """Limit probabilities as PyTorch does before it takes logarithms.

    They stay away from 0 and 1 by a unit in the last place.
    """
    return clip(probs, _EPSILON, 1 - _EPSILON)


def _chance(probs: Any, logits: Any) -> Any:
    return sigmoid(logits) if probs is None else probs


def _successes(x: Any, y: Any, probs: Any, logits: Any) -> Any:
    """Return the logarithm of the probability of x successes and y failures in one order."""
    if probs is None:
        return -x * softplus(-logits) - y * softplus(logits)
    return xlogy(x, clamp_probabilities(probs)) + xlog1py(y, -clamp_probabilities(probs))


def _choices(n: Any, k: Any) -> Any:
    return -betaln(n - k + 1, k + 1) - log(n + 1)


_declare("Bernoulli", "probs?, logits?", {
    "log_prob": lambda x, p, logits: _successes(x, 1 - x, p, logits), "mean": _chance,
    "entropy": lambda p, logits: entr(_chance(p, logits)) + entr(_rest(p, logits)),


})


def _rest(probs: Any, logits: Any) -> Any:
    return sigmoid(-logits) if probs is None else 1 - probs


_declare("Binomial", "total_count?, probs?, logits?", {
    "log_prob": lambda x, n, p, logits: _choices(_trials(n), x) + _successes(x, _trials(n) - x, p, logits),
    "mean": lambda n, p, logits: _trials(n) * _chance(p, logits),

})


def _trials(n: Any) -> Any:
    return 1.0 if n is None else n


_declare("Geometric", "probs?, logits?", {
    "log_prob": lambda x, p, logits: _successes(1.0, x, p, logits), "mean": lambda p, logits: _rest(p, logits) / _chance(p, logits),

})
_declare("NegativeBinomial", "total_count, probs?, logits?", {
    "log_prob": lambda x, n, p, logits: _successes(x, n, p, logits) - betaln(n, x + 1) - log(n + x),
    "mean": lambda n, p, logits: n * _chance(p, logits) / _rest(p, logits),

})


def declare_divergence(name: str, parameters: str, body: Function) -> None:
    """Declare the divergence of two distributions of a family.

    The parameters of the second one are marked by ``other_``.
    """
    words = parameters.split()
    both = " ".join([*words, *(f"other_{word}" for word in words)])
    record = f"kl_{name.lower()}"
    composite(
        record,
        both,
        body,
        public=False,
        doc=f"torch.distributions.kl_divergence of a {name} from another one.",
    )
    declare(f"torch:\n{name}.kl_{name} = {record}({both.replace('?', '').replace(' ', ', ')})")


def _normals(m: Any, s: Any, n: Any, t: Any) -> Any:
    ratio = square(s / t)
    return (ratio + square((m - n) / t) - 1 - log(ratio)) / 2


def _betas(a: Any, b: Any, c: Any, d: Any) -> Any:
    both = (c - a + d - b) * digamma(a + b)
    return betaln(c, d) - betaln(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b) + both


def _bernoullis(p: Any, logits: Any, q: Any, others: Any) -> Any:
    one = _chance(p, logits)
    rest = _rest(p, logits)
    return -entr(one) - entr(rest) - _successes(one, rest, q, others)


for _each, _operands, _body in (
    ("Normal", "loc scale", _normals),
    ("LogNormal", "loc scale", _normals),
    ("Beta", "a b", _betas),
    ("Gamma", "concentration rate",
     lambda a, r, b, s: b * log(r / s) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) + (s - r) * (a / r)),
    ("Bernoulli", "probs? logits?", _bernoullis),
    ("Exponential", "rate", lambda r, s: s / r - 1 - log(s / r)),
):
    declare_divergence(_each, _operands, _body)

refuse_classes("""
    Independent: distributions.{} is not supported; sum over the last axis: sum(Normal(m, s).log_prob(x), axis=-1)
    TransformedDistribution MixtureSameFamily RelaxedBernoulli RelaxedOneHotCategorical LowRankMultivariateNormal Wishart LKJCholesky \
ContinuousBernoulli Kumaraswamy LogisticNormal GeneralizedPareto: distributions.{} is not supported; write its log-density as a formula
    OneHotCategorical: distributions.{} is not supported; write sum(x*log_softmax(logits), axis=-1)
""")


# -- Distributions of vectors and of labels ------------------------------------------------------


def _factor(covariance: Any, precision: Any, triangle: Any) -> Any:
    """Return the Cholesky factor of the covariance, however the covariance was given."""
    if triangle is not None:
        return triangle
    if precision is not None:
        return cholesky(inv(precision))
    if covariance is None:
        raise ArgumentError(
            "MultivariateNormal needs a covariance_matrix, a precision_matrix or a scale_tril"
        )
    return cholesky(covariance)


def _half_log_determinant(factor: Any) -> Any:
    return sum_(log(diagonal(factor, offset=0, axis1=-2, axis2=-1)), axis=-1)


def _of_factor(away: Any, factor: Any) -> Any:
    solved = solve_triangular(factor, expand_dims(away, axis=-1), upper=False)
    return -sum_(square(solved) + LN_TWO_PI, axis=(-2, -1)) / 2 - _half_log_determinant(factor)


def _entropy(factor: Any) -> Any:
    return sum_(log(diagonal(factor, offset=0, axis1=-2, axis2=-1)) + OF_BELL, axis=-1)


def _matrix(cov: Any, n: int) -> Any:
    """Return the covariance as a matrix, from a number, variances, or a matrix, as in SciPy."""
    if cov is None:
        return np.eye(n)
    return (
        cov * np.eye(n)
        if not cov.shape
        else diag_embed(cov, offset=0, dim1=-2, dim2=-1)
        if len(cov.shape) == 1 and n > 1
        else cov
    )


def _scipy_normal(x: Any, mean: Any, cov: Any) -> Any:
    sizes = [v.shape[-1] for v in (mean, cov) if v is not None and v.shape]
    n = sizes[0] if sizes else x.shape[-1] if x.shape and mean is None and cov is None else 1
    if not x.shape or (n == 1 and x.shape[-1] != 1):
        x = expand_dims(x, axis=-1)
    return _of_factor(x if mean is None else x - mean, cholesky(_matrix(cov, n)))


def _normal_divergence(m: Any, c: Any, p: Any, t: Any, n: Any, d: Any, q: Any, u: Any) -> Any:
    one, other = _factor(c, p, t), _factor(d, q, u)
    spread = sum_(square(solve_triangular(other, one, upper=False)), axis=(-2, -1))
    apart = sum_(
        square(solve_triangular(other, expand_dims(n - m, axis=-1), upper=False)), axis=(-2, -1)
    )
    return (
        _half_log_determinant(other)
        - _half_log_determinant(one)
        + (spread + apart - one.shape[-1]) / 2
    )


declare_family(
    TORCH, "MultivariateNormal", "loc, covariance_matrix?, precision_matrix?, scale_tril?", {
        "log_prob": lambda x, loc, *spread: _of_factor(x - loc, _factor(*spread)),
        "entropy": lambda loc, *spread: _entropy(_factor(*spread)),
        "mean": lambda loc, *spread: loc,
    }, ignored="-validate_args", properties="mean",
)
declare_divergence("MultivariateNormal", "loc covariance_matrix? precision_matrix? scale_tril?", _normal_divergence)


def _scipy_entropy(mean: Any, cov: Any) -> Any:
    n = next((v.shape[-1] for v in (mean, cov) if v is not None and v.shape), 1)
    return _entropy(cholesky(_matrix(cov, n)))


declare_family(
    SCIPY, "multivariate_normal", "mean?, cov?",
    {"pdf": lambda *operands: exp(_scipy_normal(*operands)), "logpdf": _scipy_normal, "entropy": _scipy_entropy},
    ignored="-allow_singular, -seed",
)


# Shares of a whole


def _dirichlet(x: Any, alpha: Any) -> Any:
    return (
        sum_(xlogy(alpha - 1, x), axis=-1)
        + lgamma(sum_(alpha, axis=-1))
        - sum_(lgamma(alpha), axis=-1)
    )


def _scipy_dirichlet(x: Any, alpha: Any) -> Any:
    """Compute SciPy's dirichlet, which has the shares along the first axis.

    SciPy computes a missing last share from the others; here it raises ArgumentError.
    """
    if x.shape and x.shape[0] == alpha.shape[0] - 1:
        raise ArgumentError("dirichlet: give all shares: the last one is 1 less the others")
    return _dirichlet(x if len(x.shape) < 2 else swapaxes(x, axis1=0, axis2=-1), alpha)


def _dirichlet_entropy(alpha: Any) -> Any:
    whole = sum_(alpha, axis=-1)
    n = alpha.shape[-1]
    return (
        sum_(lgamma(alpha), axis=-1)
        - lgamma(whole)
        - (n - whole) * digamma(whole)
        - sum_((alpha - 1) * digamma(alpha), axis=-1)
    )


def _dirichlets(one: Any, other: Any) -> Any:
    whole = sum_(one, axis=-1)
    shares = sum_((one - other) * (digamma(one) - expand_dims(digamma(whole), axis=-1)), axis=-1)
    return (
        lgamma(whole)
        - sum_(lgamma(one), axis=-1)
        - lgamma(sum_(other, axis=-1))
        + sum_(lgamma(other), axis=-1)
        + shares
    )


declare_family(
    TORCH, "Dirichlet", "concentration", {
        "log_prob": _dirichlet, "entropy": _dirichlet_entropy, "mean": lambda alpha: alpha / sum_(alpha, axis=-1, keepdims=True),
    }, ignored="-validate_args", properties="mean",
)
declare_divergence("Dirichlet", "concentration", _dirichlets)
declare_family(
    SCIPY, "dirichlet", "alpha", {"pdf": lambda x, alpha: exp(_scipy_dirichlet(x, alpha)), "logpdf": _scipy_dirichlet}, ignored="-seed",
)


# Labels


def _log_shares(probs: Any, logits: Any) -> Any:
    if probs is None:
        return log_softmax(logits, axis=-1)
    return log(clamp_probabilities(probs / sum_(probs, axis=-1, keepdims=True)))


def _categorical(x: Any, probs: Any, logits: Any) -> Any:
    logarithms = _log_shares(probs, logits)
    return sum_(
        where(equal(expand_dims(x, axis=-1), np.arange(logarithms.shape[-1])), logarithms, 0.0),
        axis=-1,
    )


def _shares(probs: Any, logits: Any) -> Any:
    return (
        exp(log_softmax(logits, axis=-1))
        if probs is None
        else probs / sum_(probs, axis=-1, keepdims=True)
    )


declare_family(
    TORCH, "Categorical", "probs?, logits?",
    {"log_prob": _categorical, "probs": _shares, "logits": _log_shares,
     "entropy": lambda probs, logits: -sum_(_shares(probs, logits) * _log_shares(probs, logits), axis=-1)},
    ignored="-validate_args", properties="probs logits", first="x:index",
)
declare_divergence(
    "Categorical", "probs? logits?",
    lambda p, logits, q, others: sum_(_shares(p, logits) * (_log_shares(p, logits) - _log_shares(q, others)), axis=-1),
)
