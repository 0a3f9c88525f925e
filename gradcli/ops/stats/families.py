"""How families of distributions are declared: in standard form, from which their functions follow, with SciPy's loc and scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.ops.calling.meanings import declare_class
from gradcli.ops.calling.prefixes import SCIPY
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import floor
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt, xlog1py, xlogy
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, less, less_equal, logical_and, logical_not, logical_or, where
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite
from gradcli.ops.spec import Composite
from gradcli.ops.special.combinatorics import betaln
from gradcli.ops.special.error_functions import entr
from gradcli.ops.special.gamma import lgamma
from gradcli.ops.special.incomplete import betainc, gammainc, gammaincc

MADE: dict[str, Composite] = {}  # the functions of all families
INF, NAN = float("inf"), float("nan")
_MOMENTS = ("mean", "var", "std", "entropy", "median")
_QUANTILES = ("ppf", "isf")
_MORE = {
    "pdf": "The density", "logpdf": "The logarithm of the density", "pmf": "The probability", "logpmf": "The logarithm of the probability",
    "cdf": "The probability of at most x", "logcdf": "Its logarithm: of the probability of at most x",
    "sf": "The probability of more than x", "logsf": "The logarithm of the probability of more than x",
    "ppf": "The quantile: the inverse of cdf", "isf": "The inverse of sf", "mean": "The mean", "var": "The variance",
    "std": "The standard deviation", "entropy": "The differential entropy", "median": "The median",
}  # fmt: skip


class Family:
    """A family of distributions in standard form: functions of x and the shapes; those that are missing follow from others.

    shapes      names of the shapes
    low, high   the ends of the support, numbers or functions of the shapes; None for infinity
    valid       whether shapes are those of a distribution; None if all have to be positive
    """

    def __init__(
        self, name: str, shapes: str, functions: Mapping[str, Any], low: Any = None, high: Any = None, valid: Function | None = None
    ) -> None:
        self.name, self.shapes, self.low, self.high = name, shapes.split(), low, high
        self.functions, self._valid = dict(functions), valid

    def end(self, end: Any, shapes: Any) -> Any:
        return end(*shapes) if callable(end) else end

    def outside(self, z: Any, shapes: Any) -> tuple[Any, Any]:
        """Return whether z is below and above the support, None where nothing is."""
        low, high = self.end(self.low, shapes), self.end(self.high, shapes)
        return None if low is None else less(z, low), None if high is None else greater(z, high)

    def checked(self, value: Any, shapes: Any, scale: Any) -> Any:
        """A value, NaN for parameters that are none of the family's."""
        fits = [self._valid(*shapes)] if self._valid is not None else [greater(shape, 0) for shape in shapes]
        fits += [] if scale is None else [greater(scale, 0)]
        if not fits:
            return value
        every = fits[0]
        for fit in fits[1:]:
            every = logical_and(every, fit)
        return where(every, value, NAN)

    def has(self, name: str) -> bool:
        return name in self.functions


def _placed(x: Any, loc: Any, scale: Any) -> Any:
    moved = x if loc is None else x - loc
    return moved if scale is None else moved / scale


def _spread(z: Any, loc: Any, scale: Any) -> Any:
    scaled = z if scale is None else z * scale
    return scaled if loc is None else scaled + loc


def _either(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else logical_or(one, other)


def _log_density(family: Family) -> Function:
    function = family.functions["logpdf"]

    def logpdf(x: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        z = _placed(x, loc, scale)
        value = function(z, *shapes)
        out = _either(*family.outside(z, shapes))
        value = value if scale is None else value - log(scale)
        return family.checked(value if out is None else where(out, -INF, value), shapes, scale if out is not None else None)

    return logpdf


def _density(family: Family) -> Function:
    function = family.functions.get("pdf") or (lambda z, *shapes: exp(family.functions["logpdf"](z, *shapes)))

    def pdf(x: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        z = _placed(x, loc, scale)
        value = function(z, *shapes)
        out = _either(*family.outside(z, shapes))
        value = value if scale is None else value / scale
        return family.checked(value if out is None else where(out, 0.0, value), shapes, scale)

    return pdf


def _cumulative(family: Family, name: str, below: float, above: float) -> Function:
    """cdf, sf and their logarithms: what they are below and above the support, where it ends."""
    functions = family.functions
    start, complement = name.removeprefix("log"), {"cdf": "sf", "sf": "cdf"}
    function = functions.get(name)
    if function is None and name.startswith("log"):
        function = lambda z, *shapes: log(functions[start](z, *shapes))  # noqa: E731
    if function is None:
        function = lambda z, *shapes: 1 - functions[complement[name]](z, *shapes)  # noqa: E731

    def cumulative(x: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        z = _placed(x, loc, scale)
        value = function(z, *shapes)
        low, high = family.end(family.low, shapes), family.end(family.high, shapes)
        if low is not None:
            value = where(less_equal(z, low), below, value)
        if high is not None:
            value = where(greater(z, high), above, value)
        return family.checked(value, shapes, scale)

    return cumulative


def _quantile(family: Family, name: str) -> Function:
    functions = family.functions
    function = functions.get(name) or (lambda q, *shapes: functions["ppf"](1 - q, *shapes))

    def quantile(q: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        value = _spread(function(q, *shapes), loc, scale)
        return family.checked(where(logical_or(less(q, 0), greater(q, 1)), NAN, value), shapes, scale)

    return quantile


def _moment(family: Family, name: str) -> Function:
    functions = family.functions

    def moment(*rest: Any) -> Any:
        *shapes, loc, scale = rest
        if name == "mean":
            value = _spread(functions["mean"](*shapes), loc, scale)
        elif name == "median":
            value = _spread(functions["ppf"](0.5, *shapes) if "median" not in functions else functions["median"](*shapes), loc, scale)
        elif name == "entropy":
            value = functions["entropy"](*shapes)
            value = value if scale is None else value + log(scale)
        elif name == "var":
            value = functions["var"](*shapes)
            value = value if scale is None else value * scale**2
        else:
            value = functions["std"]() if "std" in functions else sqrt(functions["var"](*shapes))
            value = value if scale is None else value * scale
        if loc is not None and name != "mean" and name != "median":
            value = value + 0 * loc  # which has a shape
        return family.checked(value, shapes, scale)

    return moment


def register(family: Family, discrete: bool = False) -> None:
    """Make the functions of a family known, under SciPy's names."""
    made: dict[str, Function] = {}
    if discrete:
        made |= {"logpmf": _log_probability(family), "pmf": _probability(family)}
        made |= {name: _steps(family, name) for name in ("cdf", "sf", "logcdf", "logsf") if family.has("cdf")}
        ending = "loc?"
    else:
        made |= {"logpdf": _log_density(family), "pdf": _density(family)}
        if family.has("cdf") or family.has("sf"):
            made |= {"cdf": _cumulative(family, "cdf", 0.0, 1.0), "sf": _cumulative(family, "sf", 1.0, 0.0)}
            made |= {"logcdf": _cumulative(family, "logcdf", -INF, 0.0), "logsf": _cumulative(family, "logsf", 0.0, -INF)}
        if family.has("ppf"):
            made |= {name: _quantile(family, name) for name in _QUANTILES}
            made["median"] = _moment(family, "median")
        ending = "loc? scale?"
    moment = _discrete_moment if discrete else _moment
    made |= {name: moment(family, name) for name in ("mean", "var", "entropy") if family.has(name)}
    if family.has("var"):
        made["std"] = moment(family, "std")
    first = "k" if discrete else "x"
    of = ", ".join(family.shapes)
    for name, body in made.items():
        start = "" if name in _MOMENTS else "q " if name in _QUANTILES else f"{first} "
        record = f"{family.name}_{name}"
        MADE[record] = composite(
            record, f"{start}{' '.join(family.shapes)} {ending}", body, public=False, indices=frozenset({"k"} if "pmf" in name else ()),
            doc=f"{_MORE[name]} of the distribution {family.name}{f' of shapes {of}' if of else ''}, as scipy.stats.{family.name}.{name}.",
        )  # fmt: skip
        text = ", ".join([*([start.strip()] if start else []), *family.shapes, *(word.rstrip("?") for word in ending.split())])
        declare(SCIPY, **{f"{family.name}.{name}": signature(record, text)})
    keeps = ", ".join([*family.shapes, *(word.rstrip("?") for word in ending.split())])
    declare_class(SCIPY, family.name, keeps, {name: f"{family.name}.{name}" for name in made})


def _off(family: Family, z: Any, shapes: Any, loc: Any) -> Any:
    """Return whether a number is none of the support: k is whole, but not so what is left of it after loc."""
    out = _either(*family.outside(z, shapes))
    return out if loc is None else logical_or(out, logical_not(equal(floor(z), z)))


def _log_probability(family: Family) -> Function:
    def logpmf(k: Any, *rest: Any) -> Any:
        *shapes, loc = rest
        z = _placed(k, loc, None)
        out = _off(family, z, shapes, loc)
        return family.checked(where(out, -INF, family.functions["logpmf"](z, *shapes)), shapes, None)

    return logpmf


def _probability(family: Family) -> Function:
    def pmf(k: Any, *rest: Any) -> Any:
        *shapes, loc = rest
        z = _placed(k, loc, None)
        out = _off(family, z, shapes, loc)
        return family.checked(where(out, 0.0, exp(family.functions["logpmf"](z, *shapes))), shapes, None)

    return pmf


def _steps(family: Family, name: str) -> Function:
    """cdf and its kin: of the whole number at or below, which is one of the support, or not."""
    functions, start = family.functions, name.removeprefix("log")

    def steps(k: Any, *rest: Any) -> Any:
        *shapes, loc = rest
        z = floor(_placed(k, loc, None))
        low, high = family.end(family.low, shapes), family.end(family.high, shapes)
        value = functions[start](z, *shapes)
        value = where(less(z, low), 0.0 if start == "cdf" else 1.0, value)
        if high is not None:
            value = where(less(z, high), value, 1.0 if start == "cdf" else 0.0)
        return family.checked(log(value) if name != start else value, shapes, None)

    return steps


def _discrete_moment(family: Family, name: str) -> Function:
    def moment(*rest: Any) -> Any:
        *shapes, loc = rest
        value = sqrt(family.functions["var"](*shapes)) if name == "std" else family.functions[name](*shapes)
        moved = value if loc is None else value + loc if name == "mean" else value + 0 * loc
        return family.checked(moved, shapes, None)

    return moment


# -- Distributions of whole numbers: their probabilities are differentiated by their parameters,
# and by k as the formulas say.


def _chance(p: Any) -> Any:
    return logical_and(greater_equal(p, 0), less_equal(p, 1))


register(Family("poisson", "mu", {
    "logpmf": lambda k, mu: xlogy(k, mu) - lgamma(k + 1) - mu, "cdf": lambda k, mu: gammaincc(k + 1, mu),
    "sf": lambda k, mu: gammainc(k + 1, mu), "mean": lambda mu: mu, "var": lambda mu: mu,
}, 0, valid=lambda mu: greater_equal(mu, 0)), discrete=True)  # fmt: skip
register(Family("binom", "n p", {
    "logpmf": lambda k, n, p: xlogy(k, p) + xlog1py(n - k, -p) - log(n + 1) - betaln(n - k + 1, k + 1),
    "cdf": lambda k, n, p: betainc(n - k, k + 1, 1 - p), "sf": lambda k, n, p: betainc(k + 1, n - k, p),
    "mean": lambda n, p: n * p, "var": lambda n, p: n * p * (1 - p),
}, 0, lambda n, p: n, valid=lambda n, p: logical_and(greater_equal(n, 0), _chance(p))), discrete=True)  # fmt: skip
register(Family("bernoulli", "p", {
    "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), "cdf": lambda k, p: 1 - p, "sf": lambda k, p: p,
    "mean": lambda p: p, "var": lambda p: p * (1 - p), "entropy": lambda p: entr(p) + entr(1 - p),
}, 0, 1, valid=_chance), discrete=True)  # fmt: skip
register(Family("geom", "p", {
    "logpmf": lambda k, p: xlog1py(k - 1, -p) + log(p), "cdf": lambda k, p: -expm1(k * log1p(-p)), "sf": lambda k, p: (1 - p) ** k,
    "mean": lambda p: 1 / p, "var": lambda p: (1 - p) / p**2,
}, 1, valid=lambda p: logical_and(greater(p, 0), less_equal(p, 1))), discrete=True)  # fmt: skip
register(Family("nbinom", "n p", {
    "logpmf": lambda k, n, p: n * log(p) + xlog1py(k, -p) - log(n + k) - betaln(n, k + 1), "cdf": lambda k, n, p: betainc(n, k + 1, p),
    "sf": lambda k, n, p: betainc(k + 1, n, 1 - p), "mean": lambda n, p: n * (1 - p) / p, "var": lambda n, p: n * (1 - p) / p**2,
}, 0, valid=lambda n, p: logical_and(greater(n, 0), logical_and(greater(p, 0), less_equal(p, 1)))), discrete=True)  # fmt: skip
