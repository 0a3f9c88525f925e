"""Gamma functions, the logistic function, sums of exponentials, and counting.

Functions that count are continued to real numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops import extended
from gradcli.ops.carrying import joined_rounds
from gradcli.ops.constants import LN2, LN_PI
from gradcli.ops.elementwise.exponential import exp, expm1
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.elementwise.trigonometric import tanh
from gradcli.ops.registry import (
    Kink,
    OfSciPy,
    Op,
    declare,
    elementwise,
    function,
    nodes_for,
    piecewise,
    witness,
)
from gradcli.ops.text import number_in_c

# Below this, SciPy and mpmath add up a term for each pole on the way, which may never end.
_FAR = -100.0
# Where the functions may rise or fall anew: the poles, of which the last is at 0.
_POLES = (-math.inf, 0.0)


def _polygamma(x: Any, n: int) -> Any:
    from scipy import special

    if not n:
        return special.digamma(x)
    if n > 2_000:  # derivatives need higher orders than users may ask for
        raise ArgumentError("polygamma: the order must be at most 1000")
    far = (np.asarray(x) < _FAR) & np.isfinite(x)
    found = special.polygamma(n, np.where(far, 1 - x, x))
    return (
        np.where(far, (-1) ** n * found - _cotangent_slope(np.where(far, x, np.nan), n), found)[()]
        if far.any()
        else found[()]
    )


def _cotangent_slope(x: Any, n: int) -> Any:
    """Return the n-th derivative of pi*cot(pi*x), which the reflection formula contains."""
    from mpmath import cot, diff, mp, workprec

    def at(x: float) -> float:
        if x != x or x == round(x):
            return math.nan if x != x else math.inf if n % 2 == 0 else -math.inf
        with workprec(200 + 20 * n):
            return float(diff(lambda t: mp.pi * cot(mp.pi * t), x, n))

    return np.vectorize(at, otypes=[np.result_type(x)])(x)


polygamma: Op = elementwise(
    "polygamma",
    "x",
    _polygamma,
    witness("arrays.polygamma"),
    lambda out, x, n: polygamma(x, n=n + 1),
    symbolic=lambda s, x, n: s.polygamma(n, x),
    static={"n": 1},
    domain="x is not 0, -1, -2, ...",
    written="polygamma({n}, {x})",
    latex=r"\psi^{{({n})}}\left({x}\right)",
    doc="The n-th derivative of digamma, called polygamma(n, x) or polygamma(x, n): n is the one "
    "that is a whole number. "
    ">>> polygamma(1, x)",
    ulps=16,
    carries=_POLES,
    numpy="special.polygamma({n}, {0})",
    torch=lambda shapes, n: f"_polygamma({n}, {{0}}, {float(math.factorial(n))!r})" if n else "torch.special.digamma({0})",
)
digamma = elementwise(
    "digamma psi",
    "x",
    OfSciPy("digamma"),
    "digamma",
    lambda out, x: polygamma(x, n=1),
    domain="x is not 0, -1, -2, ...",
    latex=r"\psi\left({x}\right)",
    doc="The derivative of lgamma.",
    ulps=200,
    carries=_POLES,
)
gamma = elementwise(
    "gamma",
    "x",
    OfSciPy("gamma"),
    "gamma",
    lambda out, x: out * digamma(x),
    saves="x out",
    domain="x is not 0, -1, -2, ...",
    latex=r"\Gamma\left({x}\right)",
    doc="The gamma function. >>> gamma(x)",
    ulps=10,
    carries=(*_POLES, 1.4616321449683622),
)


lgamma = elementwise(
    "lgamma gammaln loggamma",
    "x",
    OfSciPy("gammaln"),
    lambda m, x: m.log(abs(m.gamma(x))) if x < 0 else m.loggamma(x),
    lambda out, x: digamma(x),
    symbolic=lambda s, x: s.loggamma(x),
    domain="x is not 0, -1, -2, ...",
    doc="The logarithm of the absolute value of gamma(x).",
    ulps=40,
    rounding=lambda m, out, x: 40 * m.abs(out) + 4 * m.abs(x),  # SciPy's error next to zeros
    carries=(*_POLES, 1.4616321449683622),
)


def _sigmoid(x: Any) -> Any:
    # e^-|x| never overflows, and the quotient keeps full accuracy in both tails.
    small = np.exp(-np.abs(x))
    return np.where(np.greater_equal(x, 0), 1 / (1 + small), small / (1 + small))[()]


def _sigmoid_slope(out: Any, x: Any) -> Any:
    return out * sigmoid(-x)


@function(
    "sigmoid expit", forward=_sigmoid, partials=(_sigmoid_slope,), saves="x out", carries=(),
    numpy="special.expit({0})", torch="torch.sigmoid({0})",
)
def sigmoid(x: Any) -> Any:
    """1/(1 + exp(-x)), accurate in both tails.

    >>> sigmoid(w*x + b)
    """
    return 1 / (1 + exp(-x))


# Functions whose derivative is commonly computed from the result, where its digits cancel: 1 - y*y
# for y = tanh(x).
BY_RESULT = (expm1, tanh, sigmoid)


logaddexp = elementwise(
    "logaddexp",
    "x y",
    np.logaddexp,
    # The larger of enclosures that overlap contains both.
    lambda m, x, y: getattr(m, "maximum", max)(x, y) + m.log1p(m.exp(-abs(x - y))),
    lambda out, x, y: sigmoid(x - y),
    lambda out, x, y: sigmoid(y - x),
    symbolic=lambda s, x, y: s.log(s.exp(x) + s.exp(y)),
    rounding=joined_rounds,
    doc="log(exp(x) + exp(y)), without overflow.",
    ulps=8,
    carries=((), ()),
)


@function()
def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y), without overflow."""
    return logaddexp(x * LN2, y * LN2) / LN2


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    smooth = np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))
    return np.where(np.greater(scaled, threshold), x, smooth / beta)[()]


def _softplus_partial(out: Any, x: Any, beta: float, threshold: float) -> Any:
    slope = sigmoid(x * beta) if beta != 1 else sigmoid(x)
    return slope if threshold == math.inf else where(greater(x * beta, threshold), 1.0, slope)


def _softplus_of(x: Any, beta: Any, threshold: float) -> Any:
    curve = logaddexp(x * beta, 0.0) / beta
    return curve if threshold == math.inf else where(greater(x * beta, threshold), x, curve)


def _softplus_in_c(beta: float, threshold: float) -> str:
    scale, limit = number_in_c(beta), number_in_c(threshold)
    curve = "g_softplus({0})" if beta == 1 else f"(g_softplus({{0}} * {scale}) / {scale})"
    return (
        curve if threshold == math.inf else f"g_choose({{0}} * {scale} > {limit}, {{0}}, {curve})"
    )


softplus: Op = piecewise(
    "softplus",
    "x beta:number",
    _softplus,
    lambda m, x, beta, threshold: x if x * beta > threshold else m.log1p(m.exp(x * beta)) / beta,
    _softplus_partial,
    symbolic=lambda s, x, beta, threshold: s.log(1 + s.exp(x * beta)) / beta,
    static={"beta": 1, "threshold": math.inf},
    saves="x",
    ulps=4,
    extended=extended.BODY,
    kinks=Kink(lambda x, beta, threshold: x * beta == threshold, "beta*x = threshold", "that of "
    "the curve"),
    doc="log(1 + exp(beta*x))/beta, without overflow; x itself where beta*x exceeds threshold "
    "(PyTorch's is 20). >>> softplus(x)",
    definition=_softplus_of,
    carries=(),
    c=_softplus_in_c,
    numpy=lambda shapes, **given: f"_softplus({{0}}, "
    f"{', '.join(repr(float(x)) for x in given.values() if x != math.inf)})",
)

declare("""
    numpy:
        polygamma(n@x, x)
    torch:
        polygamma(n@x!, x)
""")


# -- Functions that sympy does not have, as classes of it: their derivatives, and what computes
# them.


def in_sympy(name: str, reference: Any, slope: Any, formula: Any = None) -> Any:
    """Define a function for sympy that sympy does not have, or has no limits of.

    Its derivative by the last argument is given. The derivative by each argument before it is the
    function with one order more. The static parameters are these orders, which are 0 where there
    are none.

    - ``slope``: ``slope(s, function, values, orders)`` is the derivative by the last argument;
      there is one for each argument where none of them has an order
    - ``formula``: ``formula(x, n)`` is sympy's expression for the function, except at some points
    """

    def symbolic(s: Any, *arguments: Any, **static: int) -> Any:
        count = len(arguments)

        def value(m: Any, *given: Any) -> Any:
            return reference(m, *given[:count], *map(int, given[count:]))

        def of_numbers(*given: Any) -> Any:  # for sympy's own lambdify
            import mpmath

            return value(mpmath.mp, *given)

        def fdiff(self: Any, place: int) -> Any:
            values = self.args[:count]
            orders = list(map(int, self.args[count:]))
            if isinstance(slope, tuple):
                return slope[place - 1](s, self.func, values, orders)
            if place == count:
                return slope(s, self.func, values, orders)
            orders[place - 1] += 1
            return self.func(*values, *orders)

        fields = {
            "fdiff": fdiff,
            "by_mpmath": staticmethod(value),
            "_imp_": staticmethod(of_numbers),
        }
        if formula is not None:
            fields["formula"] = staticmethod(formula)
        return type(name, (s.Function,), fields)(
            *arguments, *(static.values() or (0,) * (count - 1) * (not isinstance(slope, tuple)))
        )

    return symbolic


def next_order(factor: Any = 1) -> Any:
    """Return the slope of a function whose derivative is the next order, times a factor."""
    return lambda s, function, values, orders: factor * function(*values, orders[0] + 1)


# -- Counting: factorials, binomial coefficients, beta, multivariate gamma, zeta -----------------


def _cancellation(m: Any, x: Any) -> Any:
    """Bound the rounding of logarithms of gamma functions up to x, which SciPy subtracts."""
    return 40 + 8 * (m.abs(x) + 2) * m.log(m.abs(x) + 2)


beta = elementwise(
    "beta", "x y", OfSciPy("beta"), "beta",
    lambda out, x, y: out * (digamma(x) - digamma(x + y)), lambda out, x, y: out * (digamma(y) - digamma(x + y)),
    symbolic=lambda s, x, y: s.gamma(x) * s.gamma(y) / s.gamma(x + y), saves="x y out",
    domain="x > 0 and y > 0", doc="The beta function, gamma(x)*gamma(y)/gamma(x + y).",
    rounding=lambda m, out, x, y: m.abs(out) * _cancellation(m, x + y), ulps=400,
    carries=(_POLES, _POLES),
)


@function(
    forward=OfSciPy("betaln"),
    partials=(lambda out, x, y: digamma(x) - digamma(x + y), lambda out, x, y: digamma(y) - digamma(x + y)),
    domain="x > 0 and y > 0", rounding=lambda m, out, x, y: 40 * m.abs(out) + _cancellation(m, x + y), ulps=400,
    carries=(_POLES, _POLES),
)
def betaln(x: Any, y: Any) -> Any:
    """The logarithm of beta(x, y), without overflow."""
    return lgamma(x) + lgamma(y) - lgamma(x + y)


binomial = elementwise(
    "binomial binom comb", "n k", OfSciPy("binom"), "binomial",
    lambda out, n, k: out * (digamma(n + 1) - digamma(n - k + 1)), lambda out, n, k: out * (digamma(n - k + 1) - digamma(k + 1)),
    symbolic=lambda s, n, k: s.gamma(n + 1) / (s.gamma(k + 1) * s.gamma(n - k + 1)), saves="n k "
    "out",
    domain="n > -1 and -1 < k < n + 1",
    doc="The binomial coefficient n over k, with gamma functions as factorials. >>> binomial(n, 2)",
    rounding=lambda m, out, n, k: m.abs(out) * _cancellation(m, n), ulps=400,
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
    "mvlgamma multigammaln", numpy="x, p",
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

    first = np.equal(q, 1)
    far = np.greater(x, 1)
    finite = np.minimum(x, 1e10)  # SciPy gives no limits at infinity
    found = np.where(first, special.zeta(x), special.zeta(finite, np.where(q > _FAR, q, np.nan)))
    return (
        found
        if (first | far).all()
        else np.where(first | far, found, _zeta_slope(np.where(first | far, np.nan, x), q, 0))[()]
    )


def _zeta_slope(x: Any, q: Any, n: int) -> Any:
    """Return the slopes entry by entry, by mpmath, because SciPy has none of these.

    The digits are as many as a result has zeros before it.
    """
    from mpmath import ldexp, workprec, zeta

    def at(x: float, q: float) -> float:
        if x == 1 or not (-5 < x < math.inf and 0 < q < math.inf):
            return math.nan
        zeros = max(0, (x if x > 0 else 1) * math.log2(q))
        with workprec(100 + int(min(1200, zeros))):
            # For x < 0, mpmath counts down by ones from an integer q, but not from a number next to
            # it.
            return float(zeta(x, q + ldexp(1, -90) if x < 0 and q > 1e3 else q, n))

    return np.vectorize(at, otypes=[np.result_type(x, q, np.float32)])(x, q)[()]


def _zeta_rounds(m: Any, out: Any, x: Any, q: Any) -> Any:
    """SciPy's is off by some units of the operand, in the size of the values around zeros."""
    z = m.maximum(1 - x, 1.0)
    beside = 20 * m.minimum(q, 0.0) * 2 ** m.minimum(x, 99.0)  # terms that cancel between poles
    return (300 + 4 * m.abs(x)) * m.abs(out) - 10 * m.minimum(x, 0.0) * (z / 17.08) ** z - beside


def _zeta_reference(m: Any, x: Any, q: Any, n: int = 0) -> Any:
    if -100 < q < 0 and m.isint(x) and not n:
        return q**-x + _zeta_reference(m, x, q + 1)
    if not q > 0:
        return m.nan
    beside = m.ldexp(1, -m.prec - 10) if q > 1e3 and x < 0 else 0  # an integer takes mpmath q steps
    # mpmath's error is small relative to 1, not to its result.
    with m.workprec(m.prec + 20 + int(min(1200, max(0, max(1.0, float(x)) * m.mag(q))))):
        value = m.zeta(x, q + beside, n)
    return +value


def _zeta_by_q(s: Any, function: Any, values: Any, orders: Any) -> Any:
    (x, q), (n,) = values, orders
    return -x * function(x + 1, q, n) - n * function(x + 1, q, n - 1)


_zeta_symbolic = in_sympy("zeta", _zeta_reference, _zeta_by_q)  # sympy's has no derivative by x


zeta_slope: Op = elementwise(
    "zeta_slope", "x q", _zeta_slope, _zeta_reference,
    lambda out, x, q, n: zeta_slope(x, q, n=n + 1),
    lambda out, x, q, n: -x * zeta_slope(x + 1, q, n=n) - n * (zeta_slope(x + 1, q, n=n - 1) if n > 1 else hurwitz_zeta(x + 1, q)),
    symbolic=_zeta_symbolic, static={"n": 1}, public=False,
    domain="x > -5 and q > 0", doc="The n-th derivative of the Hurwitz zeta function by x.",
)
hurwitz_zeta: Op = elementwise(
    "hurwitz_zeta", "x q", _zeta, _zeta_reference,
    lambda out, x, q: zeta_slope(x, q, n=1), lambda out, x, q: -x * hurwitz_zeta(x + 1, q),
    symbolic=_zeta_symbolic, domain="x > -5 and q > 0, or q = 1", ulps=300,
    rounding=_zeta_rounds,
    written="zeta({x}, {q})", latex=r"\zeta\left({x}, {q}\right)",
    doc="The Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, 2, ...; of q = 1 its "
    "continuation.",
    numpy="special.zeta({0}, {1})",
)


@function(numpy="x, q|other", domain="x is not 1", backward="SpecialZeta")
def zeta(x: Any, q: Any = None) -> Any:
    """The Riemann zeta function, or with q Hurwitz's: q > 0, or q > -100 for whole x > 1. The
    derivative by x is for x > -5.

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
