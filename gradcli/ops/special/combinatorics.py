"""Counting, continued to real numbers: factorials, binomial coefficients, beta, multivariate gamma, zeta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.calling.signatures import declare
from gradcli.ops.constants import LN_PI
from gradcli.ops.registry import elementwise, function
from gradcli.ops.room import nodes_for
from gradcli.ops.spec import Op
from gradcli.ops.special.gamma import digamma, gamma, lgamma
from gradcli.ops.writing import OfSciPy

# -- Functions that sympy does not have, as classes of it: their derivatives, and what computes
# them.


def by_mpmath(value: Any) -> dict[str, Any]:
    """Return what computes a function that sympy does not have: of a context of mpmath, and for sympy's own lambdify."""

    def of_numbers(*given: Any) -> Any:
        import mpmath

        return value(mpmath.mp, *given)

    return {"by_mpmath": staticmethod(value), "_imp_": staticmethod(of_numbers)}


def by_order(s: Any, name: str, reference: Any, factor: Any = 1, formula: Any = None) -> Any:
    """A function that sympy does not have, or has no limits of: of its order, which is one more in its derivative.

    factor   what the function of the next order is multiplied by there
    formula  what sympy has in its place but at some points: ``formula(x, n)``
    """

    def fdiff(self: Any, place: int) -> Any:
        return factor * self.func(self.args[0], int(self.args[1]) + 1)

    written = {"formula": formula and staticmethod(formula)}
    return type(name, (s.Function,), {"fdiff": fdiff, **written, **by_mpmath(lambda m, x, n: reference(m, x, int(n)))})


def in_sympy(name: str, reference: Any, slope: Any) -> Any:
    """A function that sympy does not have: its derivative by the last argument, and by parameters one order more.

    The static parameters are these orders, which are 0 where there are none.
    """

    def symbolic(s: Any, *arguments: Any, **static: int) -> Any:
        parameters = len(arguments) - 1

        def fdiff(self: Any, place: int) -> Any:
            values, orders = self.args[: parameters + 1], [int(n) for n in self.args[parameters + 1 :]]
            if place == parameters + 1:
                return slope(s, values, orders)
            orders[place - 1] += 1
            return self.func(*values, *orders)

        def value(m: Any, *given: Any) -> Any:
            return reference(m, *given[: parameters + 1], *[int(n) for n in given[parameters + 1 :]])

        made = type(name, (s.Function,), {"fdiff": fdiff, **by_mpmath(value)})
        return made(*arguments, *(static.values() or (0,) * parameters))

    return symbolic


# B(2k) of Euler and Maclaurin's formula.
_FRACTIONS = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330), (854513, 138)
)  # fmt: skip
_STEPS = 12  # by which q is moved before the series is used
_WIDE = 8 * float(np.finfo(np.longdouble).eps / np.finfo(np.float64).eps)  # its rounding beside a float's, where the sum is in long double
_ENOUGH = 8  # where it suffices of Hurwitz's zeta function, whose series has small factors below 0


def _rise(x: Any, y: Any) -> Any:
    """Return what digamma gains from x to x + y."""
    return digamma(x + y) - digamma(x)


def _by_size(m: Any, out: Any, x: Any, y: Any) -> Any:
    """The rounding of an exponential, whose exponent is off by some units of the operands."""
    return (8000 + 16 * (m.abs(x) + m.abs(y))) * m.abs(out)


beta = elementwise(
    "beta", "x y", OfSciPy("beta"), lambda m, x, y: m.beta(x, y),
    lambda out, x, y: -out * _rise(x, y), lambda out, x, y: -out * _rise(y, x),
    symbolic=lambda s, x, y: s.gamma(x) * s.gamma(y) / s.gamma(x + y), saves="x y out", rounds=_by_size,
    ulps=8000, domain="x > 0 and y > 0", doc="The beta function, gamma(x)*gamma(y)/gamma(x + y).",
    between=((0.0,), (0.0,)), above=0.0,
    torch="_beta({0}, {1})",
    jax="_beta({0}, {1})",
)
betaln = elementwise(
    "betaln", "x y", OfSciPy("betaln"), lambda m, x, y: m.log(abs(m.beta(x, y))),
    lambda out, x, y: -_rise(x, y), lambda out, x, y: -_rise(y, x),
    symbolic=lambda s, x, y: s.loggamma(x) + s.loggamma(y) - s.loggamma(x + y), ulps=40,
    domain="x > 0 and y > 0",
    doc="The logarithm of beta(x, y), without overflow.", rounding="operands",
    between=((0.0,), (0.0,)), above=0.0,
    torch="",
    composed=lambda x, y: lgamma(x) + lgamma(y) - lgamma(x + y),
)
binomial = elementwise(
    "binomial", "n k", OfSciPy("binom"), lambda m, n, k: m.binomial(n, k),
    lambda out, n, k: out * _rise(n - k + 1, k), lambda out, n, k: out * _rise(k + 1, n - 2 * k),
    symbolic=lambda s, n, k: s.gamma(n + 1) / (s.gamma(k + 1) * s.gamma(n - k + 1)), saves="n k out",
    aliases="binom comb", domain="n > -1 and -1 < k < n + 1",
    doc="The binomial coefficient n over k, with gamma functions as factorials.", example="binomial(n, 2)", ulps=8000,
    rounds=_by_size,
    torch="_binomial({0}, {1})",
    jax="_binomial({0}, {1})",
)


@function(numpy="x|n, -exact", domain="x > -1")
def factorial(x: Any) -> Any:
    """x!, which is gamma(x + 1).

    >>> factorial(5)
    """
    return gamma(x + 1)


@function(numpy="n|N, k, -exact", domain="n > -1 and -1 < k < n + 1")
def perm(n: Any, k: Any) -> Any:
    """The number of ways to line up k of n things, gamma(n + 1)/gamma(n - k + 1)."""
    return binomial(n, k) * gamma(k + 1)


@function(
    numpy="x, p",
    aliases="multigammaln",
    domain="x > (p - 1)/2",
)
def mvlgamma(x: Any, *, p: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension p.

    >>> mvlgamma(x, 2)
    """
    if isinstance(p, bool) or not isinstance(p, int) or p < 1:
        raise ArgumentError(f"p must be a whole number of at least 1, not {p!r}")
    nodes_for(3 * p, "mvlgamma")
    total = lgamma(x)
    for j in range(1, p):
        total = total + lgamma(x - j / 2)
    return total + p * (p - 1) / 4 * LN_PI if p > 1 else total


def _zeta(x: Any, q: Any) -> Any:
    from scipy import special

    return np.where(np.equal(q, 1), special.zeta(x), _zeta_slope(x, q, 0))[()]


def _zeta_slope(x: Any, q: Any, n: int) -> Any:
    """Euler and Maclaurin's formula, differentiated n times by x: Taylor series in x are multiplied term by term."""
    x, q = np.broadcast_arrays(np.asarray(x), np.asarray(q))
    kind, x, q = np.result_type(x, q), x.astype(np.longdouble), q.astype(np.longdouble)

    def derivative(base: Any, power: Any, factor: list[Any]) -> Any:
        """The n-th derivative by x of base**-power(x)*factor(x), the factor as Taylor coefficients."""
        log_base = np.log(base) if n else 0
        return base**-power * sum(
            math.comb(n, i) * math.factorial(i) * factor[i] * (-log_base) ** (n - i) for i in range(min(n, len(factor) - 1) + 1)
        )

    one = np.ones_like(x)
    steps = np.where(x < 0, np.clip(np.ceil(_ENOUGH - q), 0, _ENOUGH), _STEPS)  # what is added up grows with them, and cancels there
    total = np.zeros_like(x)
    for k in range(_STEPS):
        total = total + np.where(k < steps, derivative(q + k, x, [one]), 0)
    unit = q + steps
    total = total + derivative(unit, x - 1, [(-1) ** i / (x - 1) ** (i + 1) for i in range(n + 1)]) + derivative(unit, x, [one]) / 2
    low = np.minimum(x, 6 * unit)  # beyond, the first term is all that counts
    rising = [low / unit, 1 / unit]  # x (x + 1) ... (x + 2k - 2) / unit**(2k - 1), as a polynomial in a step from x
    for k, (above, below) in enumerate(_FRACTIONS, 1):
        total = total + np.longdouble(above) / np.longdouble(below * math.factorial(2 * k)) * derivative(unit, x, rising)
        for shift in (2 * k - 1, 2 * k):
            pairs = zip([*rising, 0 * one], [0 * one, *rising], strict=True)
            rising = [(same * (low + shift) + lower) / unit for same, lower in pairs][: n + 1]
    return np.where((x > -5) & (q > 0), total, np.nan).astype(kind)[()]


def _zeta_rounds(m: Any, out: Any, x: Any, q: Any, n: int = 0) -> Any:
    """What is added up is rounded in long double: below 0 it cancels all but for a small part, and near the zeros of the sum all of it.

    SciPy's of q = 1 is off by some units of the operand, in the size of the values around zeros.
    """
    z = m.maximum(1 - x, 1.0)
    last = q + _ENOUGH
    summed = 8 * m.abs(out) + _WIDE * (q**-x * m.abs(m.log(q)) ** n + last ** (1 - x) * m.log(last) ** n)
    return summed if n else m.where(m.equal(q, 1), (300 + 4 * m.abs(x)) * m.abs(out) - 10 * m.minimum(x, 0.0) * (z / 17.08) ** z, summed)


def _zeta_reference(m: Any, x: Any, q: Any, n: int = 0) -> Any:
    if not q > 0:
        return m.nan
    with m.workprec(m.prec + int(min(1200, max(0, x * m.mag(q))))):  # mpmath's is accurate beside 1, not beside its result
        value = m.zeta(x, q, n)
    return +value


def _zeta_symbolic(s: Any, x: Any, q: Any, n: int = 0) -> Any:
    """Sympy's zeta has no derivative by x; mpmath's has."""

    def fdiff(self: Any, place: int) -> Any:
        x, q, n = self.args
        return self.func(x, q, n + 1) if place == 1 else -x * self.func(x + 1, q, n) - n * self.func(x + 1, q, n - 1)

    value = by_mpmath(lambda m, x, q, n: _zeta_reference(m, x, q, int(n)))
    return type("zeta", (s.Function,), {"fdiff": fdiff, **value})(x, q, n)


zeta_slope: Op = elementwise(
    "zeta_slope", "x q", _zeta_slope, _zeta_reference,
    lambda out, x, q, n: zeta_slope(x, q, n=n + 1),
    lambda out, x, q, n: -x * zeta_slope(x + 1, q, n=n) - n * (zeta_slope(x + 1, q, n=n - 1) if n > 1 else hurwitz_zeta(x + 1, q)),
    symbolic=_zeta_symbolic, static={"n": 1}, public=False, ulps=4,
    rounds=_zeta_rounds, domain="x > -5 and q > 0", doc="The n-th derivative of the Hurwitz zeta function by x.",
)
hurwitz_zeta: Op = elementwise(
    "hurwitz_zeta", "x q", _zeta, _zeta_reference,
    lambda out, x, q: zeta_slope(x, q, n=1), lambda out, x, q: -x * hurwitz_zeta(x + 1, q),
    symbolic=_zeta_symbolic, domain="x > -5 and q > 0, or q = 1", ulps=300,
    rounds=_zeta_rounds,
    written="zeta({x}, {q})", latex=r"\zeta\left({x}, {q}\right)",
    doc="The Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, 2, ...; of q = 1 its continuation.",
    numpy="special.zeta({0}, {1})",
)


@function(numpy="x, q|other", domain="x is not 1", backward="SpecialZeta")
def zeta(x: Any, q: Any = None) -> Any:
    """The Riemann zeta function, or with q Hurwitz's. The derivative by x is for x > -5.

    >>> zeta(x)
    """
    return hurwitz_zeta(x, 1.0 if q is None else q)


declare("""
    numpy:
        comb = binomial(n|N, k, -exact, -repetition)
        multigammaln = mvlgamma(x|a, p|d)
    torch:
        zeta(x, q|other!)
""")
