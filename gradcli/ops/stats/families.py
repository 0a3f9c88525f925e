"""Families of distributions, declared in standard form: from it their functions follow, with SciPy's loc and scale."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

from gradcli.ops.calling.meanings import declare_class
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.elementwise.arithmetic import floor
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, less, less_equal, logical_and, logical_not, logical_or, where
from gradcli.ops.registry import Composite, Function, composite, declare
from gradcli.ops.special.combinatorics import betaln
from gradcli.ops.special.error_functions import entr
from gradcli.ops.special.gamma import lgamma
from gradcli.ops.special.incomplete import betainc, gammainc, gammaincc

MADE: dict[str, Composite] = {}  # the functions of all families
INF, NAN = float("inf"), float("nan")
_MOMENTS = ("mean", "var", "std", "entropy", "median", "variance", "stddev", "probs", "logits")  # which take no x
_QUANTILES = ("ppf", "isf", "icdf")
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
        self._functions = functions = {**({"mean": 0.0, "median": 0.0} if symmetric else {}), **functions}
        self._low, self._high, self._valid, self._symmetric, self._discrete = low, high, valid, symmetric, "logpmf" in functions
        names = ["logpmf", "pmf"] if self._discrete else ["logpdf", "pdf"]
        names += _ENDS if _ENDS.keys() & functions else ()
        names += ("ppf", "isf", "median") if "ppf" in functions else ()
        names += [moment for moment in ("mean", "var", "entropy") if moment in functions]
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
        if name in ("isf", "median"):
            quantile = self._functions["ppf"]
            if name == "median":
                return lambda *shapes: quantile(0.5, *shapes)
            return lambda q, *shapes: -quantile(q, *shapes) if self._symmetric else quantile(1 - q, *shapes)
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
        if name in ("mean", "median"):
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
