"""How references of distributions are placed by loc and scale, limited to the support, and taken apart into functions."""

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
        return tuple(end(*shapes) if callable(end) else end for end in (self.low, self.high))

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


def ln_gamma(m: Any, x: Any) -> Any:
    return m.function("lgamma", x)


def ln_beta(m: Any, a: Any, b: Any) -> Any:
    return m.function("betaln", a, b)


def psi(m: Any, x: Any) -> Any:
    return m.function("digamma", x)


def power_of(m: Any, x: Any, a: Any) -> Any:
    """The logarithm of x**a, of 0**0 too."""
    return m.function("xlogy", m.one * a, x)


def bell(m: Any, z: Any) -> Any:
    return -(m.log(2 * m.m.pi) + z * z) / 2


def tail(m: Any, z: Any) -> Any:
    """The probability that a standard normal variable is above z."""
    return m.function("erfc", z / m.sqrt(m.one * 2)) / 2


def normal_quantile(m: Any, q: Any) -> Any:
    return m.function("ndtri", q)


def choices(m: Any, n: Any, k: Any) -> Any:
    """The logarithm of n over k."""
    return ln_gamma(m, n + 1) - ln_gamma(m, k + 1) - ln_gamma(m, n - k + 1)


def information(m: Any, p: Any) -> Any:
    return m.zero if m.plain(p) == 0 else -p * m.log(p)
