"""Error functions, and incomplete gamma and beta functions with their derivatives by all
parameters, to any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.ops import extended
from gradcli.ops.constants import (
    HALF_SQRT_PI,
    PI,
    SQRT_2,
    SQRT_2_BY_PI,
    SQRT_TWO_PI,
    TWO_BY_SQRT_PI,
)
from gradcli.ops.elementwise.exponential import exp, exp_square, log, log1p, xlog1py, xlogy
from gradcli.ops.elementwise.logic import clip, equal, greater, isnan, less, minimum, where
from gradcli.ops.registry import Function, OfSciPy, Op, declare, elementwise, function
from gradcli.ops.special.gamma import betaln, digamma, in_sympy, lgamma, polygamma

erf = elementwise(
    "erf", "x", OfSciPy("erf"), "erf", lambda out, x: exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The error function. >>> erf(x/sqrt(2))",
    carries=(),
)


erfc = elementwise(
    "erfc", "x", OfSciPy("erfc"), "erfc", lambda out, x: -exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The complementary error function, 1 - erf(x), accurate in the tail.", ulps=12,
    carries=(),
)


erfi = elementwise(
    "erfi", "x", OfSciPy("erfi"), "erfi", lambda out, x: exp_square(x, c=1.0) * TWO_BY_SQRT_PI,
    doc="The imaginary error function, -i*erf(i*x).", ulps=160,
    carries=(),
)


@function(
    forward=OfSciPy("erfcx"), partials=(lambda out, x: 2 * x * out - TWO_BY_SQRT_PI,), saves="x out", backward="SpecialErfcx", ulps=600,
    carries=(),
)
def erfcx(x: Any) -> Any:
    """exp(x**2)*erfc(x), without underflow."""
    return exp(x * x) * erfc(x)


erfinv = elementwise(
    "erfinv", "x", OfSciPy("erfinv"), "erfinv", lambda out, x: exp_square(out, c=1.0) * HALF_SQRT_PI,
    saves="out", domain="-1 <= x <= 1", doc="The inverse of erf; infinite at -1 and 1, and so is "
    "its derivative.",
    carries=(-1.0, 1.0),
)


# -- Voigt's profile -----------------------------------------------------------------------------


def _faddeeva(x: Any, y: Any, n: int, imaginary: int) -> Any:
    """A part of a derivative of exp(-z**2)*erfc(-i*z), by recurrence."""
    from scipy import special

    z = np.add(x, 1j * np.asarray(y))
    found = [special.wofz(z)]
    for k in range(n):
        constant = 0 if k else 2j / math.sqrt(math.pi)
        found.append(constant - 2 * z * found[k] - 2 * k * found[k - 1])
    part = np.where(np.less(y, 0), np.nan, found[n].imag if imaginary else found[n].real)
    return part.astype(np.result_type(x, y, np.float32))[()]


def _faddeeva_reference(m: Any, x: Any, y: Any, n: int, imaginary: int) -> Any:
    """Tricomi's function (DLMF 7.11, 7.18), left of 0, where its branch is the right one."""
    if not hasattr(m, "quad"):  # balls
        return m.faddeeva(x, y, n, imaginary)
    if y < 0:
        return m.nan
    z = m.mpc(-abs(x), y)
    value = (
        m.mpc(0, 1) ** n
        * m.factorial(n)
        / m.sqrt(m.pi)
        * m.hyperu(m.mpf(n + 1) / 2, m.mpf(1) / 2, -z * z)
    )
    if imaginary:
        return value.imag * (-1) ** (n + 1) if x > 0 else value.imag
    return value.real * (-1) ** n if x > 0 else value.real


def _faddeeva_in_numpy(shapes: Any, n: int, imaginary: int) -> str:
    z, found = "({0} + 1j*{1})", ["special.wofz({0} + 1j*{1})"]
    for k in range(n):
        found.append(
            f"({-2 * k}*{found[k - 1]} - 2*{z}*{found[k]})"
            if k
            else f"(2j/np.sqrt(np.pi) - 2*{z}*{found[0]})"
        )
    return f"{found[n]}.{'imag' if imaginary else 'real'}"


def _faddeeva_rounds(m: Any, out: Any, x: Any, y: Any, n: int, imaginary: int) -> Any:
    """A part has the error of the whole, which the recurrence takes further for each derivative."""
    return 100 * math.factorial(n + 1) * (m.abs(x) + m.abs(y) + 1.0) ** (n - 1)


faddeeva: Op = elementwise(
    "faddeeva", "x y", _faddeeva, _faddeeva_reference,
    lambda out, x, y, n, imaginary: faddeeva(x, y, n=n + 1, imaginary=imaginary),
    lambda out, x, y, n, imaginary: faddeeva(x, y, n=n + 1, imaginary=1 - imaginary) * (1 if imaginary else -1),
    static={"n": 0, "imaginary": 0}, public=False, ulps=2000, rounding=_faddeeva_rounds,
    symbolic=in_sympy("faddeeva", _faddeeva_reference, (
        lambda s, function, values, orders: function(*values, orders[0] + 1, orders[1]),
        lambda s, function, values, orders: (-1) ** (1 - orders[1]) * function(*values, orders[0] + 1, 1 - orders[1]),
    )),
    doc="The real or imaginary part of the n-th derivative of exp(-z**2)*erfc(-i*z) at z = x + i*y.",
    numpy=_faddeeva_in_numpy, domain="y >= 0",
)


@function(domain="sigma >= 0 and gamma >= 0")
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Voigt's profile: the density of the sum of a normal variable of the standard deviation sigma
    and a Cauchy variable of the half width gamma.

    >>> voigt_profile(x, 0.5, y)
    """
    pointed = equal(sigma, 0)
    width = where(pointed, 1.0, sigma) * SQRT_2
    profile = faddeeva(x / width, gamma / width, n=0, imaginary=0) / (width * 2 * HALF_SQRT_PI)
    return where(pointed, gamma / (PI * (x * x + gamma * gamma)), profile)


# -- Probabilities: the normal distribution, log-odds, entropy -----------------------------------


def _log_ndtr_reference(m: Any, x: Any) -> Any:
    tail = m.erfc(abs(x) / m.sqrt(2)) / 2
    return m.log1p(-tail) if x > 0 else m.log(tail)


@function(
    forward=OfSciPy("ndtr"), partials=(lambda out, x: exp_square(x, c=-0.5) / SQRT_TWO_PI,), ulps=11, carries=(),
    numpy="special.ndtr({0})",
)
def ndtr(x: Any) -> Any:
    """The probability that a standard normal variable is below x, accurate in the tail."""
    return erfc(-x / SQRT_2) / 2


log_ndtr = elementwise(
    "log_ndtr", "x", OfSciPy("log_ndtr"), _log_ndtr_reference,
    # beyond 1 without the overflow of erfcx
    lambda out, x: where(
        greater(x, 1), exp_square(x, c=-0.5) / (SQRT_TWO_PI * ndtr(x)), 1 / erfcx(-minimum(x, 1) / SQRT_2) * SQRT_2_BY_PI
    ),
    symbolic=lambda s, x: s.log(s.erfc(-x / s.sqrt(2), evaluate=False) / 2), backward="SpecialLogNdtr", ulps=12,
    doc="The logarithm of ndtr, without underflow.",
    carries=(),
    numpy="special.log_ndtr({0})",
)


def _ndtri(m: Any, x: Any) -> Any:
    with m.workprec(m.prec + (max(0, -m.mag(x)) if x else 0)):
        value = m.sqrt(2) * m.erfinv(2 * x - 1)
    return +value


ndtri = elementwise(
    "ndtri", "x", OfSciPy("ndtri"), _ndtri, lambda out, x: exp_square(out, c=0.5) * SQRT_TWO_PI,
    symbolic=lambda s, x: s.sqrt(2) * s.erfinv(2 * x - 1), saves="out", domain="0 <= x <= 1", backward="SpecialNdtri",
    doc="The inverse of ndtr: the quantile of the standard normal distribution.",
    carries=(0.0, 1.0),
)


@function(domain="0 < x < 2")
def erfcinv(x: Any) -> Any:
    """The inverse of erfc, accurate near 0."""
    return -ndtri(x / 2) / SQRT_2


@function(
    forward=OfSciPy("logit"), partials=(lambda out, x: where(isnan(out), out, 1 / (x * (1 - x))),), saves="x out", domain="0 <= x <= 1",
    carries=(0.0, 1.0),
)
def logit(x: Any) -> Any:
    """The inverse of sigmoid, log(x/(1 - x)); infinite at 0 and 1, and so is its derivative."""
    return log(x / (1 - x))


@function()
def torch_logit(x: Any, *, eps: Any = None) -> Any:
    """logit of x limited to the range from eps to 1 - eps."""
    return logit(x if eps is None else clip(x, eps, 1 - eps))


@function(
    forward=OfSciPy("entr"), partials=(lambda out, x: where(less(x, 0), float("nan"), -log(x) - 1),), symbolic=lambda s, x: -x * s.log(x),
    domain="x >= 0", backward="SpecialEntr", extended=extended.ENTROPY, ulps=3, carries=(0.0, 0.36787944117144233),
)
def entr(x: Any) -> Any:
    """-x*log(x), and 0 at x = 0, where the derivative is infinite."""
    return where(less(x, 0), -math.inf, -xlogy(x, x))


declare("""
    numpy scipy torch:
        logit = torch_logit(x, eps)
""")


# -- Incomplete gamma and beta functions ---------------------------------------------------------


# -- How a value is differentiated by parameters in floats: an integral of the density's derivative.


def _factor(slope: Function, n: int, k: int = 0) -> Any:
    """Return what n derivatives by one parameter and k by another multiply exp(f) by; those of f
    are ``slope(i, j)``.
    """
    if n:
        return sum(
            math.comb(n - 1, p)
            * math.comb(k, q)
            * _factor(slope, n - 1 - p, k - q)
            * slope(p + 1, q)
            for p in range(n)
            for q in range(k + 1)
        )
    return (
        sum(math.comb(k - 1, q) * _factor(slope, 0, k - 1 - q) * slope(0, q + 1) for q in range(k))
        if k
        else 1.0
    )


_STEP = 1 / 8
_STEPS = np.arange(-4.0, 20.0, _STEP)
_POINTS = np.exp(_STEPS - np.exp(-_STEPS))
_WEIGHTS = _STEP * _POINTS * (1 + np.exp(-_STEPS))


def _integral(integrand: Function, scale: Any) -> Any:
    """The integral from 0 to infinity by the double exponential rule, of what changes no faster
    than in steps of the scale.
    """
    return scale * sum(
        weight * integrand(scale * point) for point, weight in zip(_POINTS, _WEIGHTS, strict=True)
    )


def _psi(n: int, x: Any) -> Any:
    return polygamma(x, n=n) if n else digamma(x)


def _gamma_slope(a: Any) -> Callable[[Any], Function]:
    """Derivatives by a of the density's logarithm, where that of x is given: the others are the
    same at all points, and computed once.
    """
    psi = cache(lambda n: _psi(n, a))
    return lambda logarithm: lambda i, _: (logarithm if i == 1 else 0.0) - psi(i - 1)


def _gammainc(a: Any, x: Any, n: int) -> Any:
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    outside = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    if not inside.any():
        return outside[()]
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    far = x > a + 1
    low, high, front, slope = (
        np.where(far, 0.5 * a, x),
        np.where(far, x, a + 2),
        lgamma(a),
        _gamma_slope(a),
    )

    def below(u: Any) -> Any:  # in place of the integrand's x stands low*exp(-u)
        logarithm = np.log(low) - u
        return np.exp(a * logarithm - np.exp(logarithm) - front) * _factor(slope(logarithm), n)

    def beyond(u: Any) -> Any:
        logarithm = np.log(high + u)
        return np.exp((a - 1) * logarithm - high - u - front) * _factor(slope(logarithm), n)

    found = np.where(far, -_integral(beyond, high / (high + a)), _integral(below, 1 / (a + low)))
    return np.where(inside, found, outside)[()]


def _derivative_by_parameters(name: str, function: Any, orders: Any) -> Any:
    """A derivative by parameters: by their series, where scalars have them, and by mpmath's
    differences at as many digits as they take.
    """

    def at(m: Any, *arguments: Any) -> Any:
        *parameters, x = arguments
        counts = orders[: len(parameters)]
        enclosed = getattr(m, "by_parameters", None)
        if enclosed is not None:
            return enclosed(name, counts, *arguments)
        if not any(counts):
            return function(m, *parameters, x)
        lost = sum(
            count * abs(m.mag(value)) for count, value in zip(counts, parameters, strict=True)
        )  # by steps as small as these
        with m.workprec(m.prec + 40 + 2 * lost):
            value = m.diff(
                lambda *where: function(m, *where, x),
                tuple(parameters),
                tuple(counts),
                relative=True,
            )
        return +value

    return at


def _regularized_gamma(sign: int) -> Function:
    """The reference of P(a, x) (sign 1) or Q(a, x), and of its n-th derivative by a: by the smaller
    of the two.
    """

    def reference(m: Any, a: Any, x: Any, n: int = 0) -> Any:
        if a <= 0 or x < 0:
            return m.nan
        if x == 0 or x == m.inf:
            return m.one if not n and (x > 0) == (sign > 0) else m.zero
        is_far = bool(x > a + 1)
        name, start = ("gammaincc", ()) if is_far else ("gammainc", (0,))
        found = _derivative_by_parameters(
            name, lambda m, a, x: m.gammainc(a, *start, x, regularized=True), (n,)
        )(m, a, x)
        return found if is_far == (sign < 0) else -found if n else 1 - found

    return reference


_gammainc_reference, _gammaincc_reference = _regularized_gamma(1), _regularized_gamma(-1)


def _density_in_sympy(sign: int) -> Any:
    def slope(s: Any, function: Any, values: Any, orders: Any) -> Any:
        a, x = values
        at = s.Dummy(positive=True)
        return sign * s.diff(s.exp((at - 1) * s.log(x) - x - s.loggamma(at)), at, orders[0]).subs(
            at, a
        )

    return slope


def gamma_density(a: Any, x: Any, n: int = 0) -> Any:
    """The n-th derivative by a of x**(a - 1) e**-x/gamma(a)."""
    density = exp(xlogy(a - 1, x) - x - lgamma(a))
    return density * _factor(_gamma_slope(a)(log(x)), n) if n else density


gammainc_slope: Op = elementwise(
    "gammainc_slope", "a x", _gammainc, _gammainc_reference,
    lambda out, a, x, n: gammainc_slope(a, x, n=n + 1), lambda out, a, x, n: gamma_density(a, x, n),
    symbolic=in_sympy("gammainc", _gammainc_reference, _density_in_sympy(1)), static={"n": 1}, public=False, ulps=4000,
    domain="a > 0 and x >= 0", doc="The n-th derivative of gammainc(a, x) by a.",
)


@function(
    forward=OfSciPy("gammainc"), partials=(lambda out, a, x: gammainc_slope(a, x, n=1), lambda out, a, x: gamma_density(a, x)), ulps=200,
    domain="a > 0 and x >= 0", carries=((0.0,), (0.0,)),
)
def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function: the integral of t**(a - 1)*exp(-t)/gamma(a) from 0 to x.

    >>> gammainc(a, x)
    """
    return gammainc_slope(a, x, n=0)


gammaincc: Op = elementwise(
    "gammaincc", "a x", OfSciPy("gammaincc"), _gammaincc_reference,
    lambda out, a, x: -gammainc_slope(a, x, n=1), lambda out, a, x: -gamma_density(a, x),
    symbolic=in_sympy("gammaincc", _gammaincc_reference, _density_in_sympy(-1)), ulps=400, domain="a > 0 and x >= 0",
    doc="The regularized upper incomplete gamma function, 1 - gammainc(a, x). >>> gammaincc(a, x)",
    carries=((0.0,), (0.0,)),
)


def _beta_slope(a: Any, b: Any) -> Callable[[Any, Any], Function]:
    """Derivatives by a and b of the density's logarithm, where those of x and 1 - x are given: the
    others are computed once.
    """

    @cache
    def same(i: int, j: int) -> Any:
        found = _psi(i + j - 1, a + b)
        if not j:
            found = found - _psi(i - 1, a)
        return found if i else found - _psi(j - 1, b)

    def at(logarithm: Any, rest: Any) -> Function:
        own = {(1, 0): logarithm, (0, 1): rest}
        return lambda *orders: same(*orders) + own[orders] if orders in own else same(*orders)

    return at


def _below(n: int, k: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of the incomplete beta function where x is below its mean."""
    front, slope = betaln(a, b), _beta_slope(a, b)

    def integrand(u: Any) -> Any:  # in place of the integrand's x stands x*exp(-u)
        logarithm, rest = np.log(x) - u, np.log(1 - x - x * np.expm1(-u))
        return np.exp(a * logarithm + (b - 1) * rest - front) * _factor(
            slope(logarithm, rest), n, k
        )

    return _integral(integrand, 1 / (a + (b + 1) * x / (1 - x)))


def _betainc(a: Any, b: Any, x: Any, n: int, k: int) -> Any:
    a, b, x = np.broadcast_arrays(*(np.asarray(v, float) for v in (a, b, x)))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    outside = np.where((x == 0) | (x == 1), 0.0, np.nan)
    if not inside.any():
        return outside[()]
    a, b, safe = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    low = safe <= (a + 1) / (a + b + 2)
    below = _below(n, k, a, b, np.where(low, safe, 0.5 * (a + 1) / (a + b + 2)))
    beyond = -_below(k, n, b, a, np.where(low, 0.5 * (b + 1) / (a + b + 2), 1 - safe))
    return np.where(inside, np.where(low, below, beyond), outside)[()]


def _betainc_reference(m: Any, a: Any, b: Any, x: Any, n: int = 0, k: int = 0) -> Any:
    if a <= 0 or b <= 0 or x < 0 or x > 1:
        return m.nan
    if x == 0 or x == 1:
        return m.zero if n or k or not x else m.one

    def below(a: Any, b: Any, x: Any) -> Any:
        """Sum the hypergeometric series whose terms are all positive: mpmath's own function fails
        where b is a whole number.
        """
        return m.power(x, a) * m.power(1 - x, b) / (a * m.beta(a, b)) * m.hyp2f1(a + b, 1, a + 1, x)

    def part(m: Any, a: Any, b: Any, x: Any) -> Any:
        return below(a, b, x) if x * (a + b) <= a else 1 - below(b, a, 1 - x)

    return _derivative_by_parameters("betainc", part, (n, k))(m, a, b, x)


def _beta_in_sympy(s: Any, function: Any, values: Any, orders: Any) -> Any:
    p, q, x = values
    a, b = s.Dummy(positive=True), s.Dummy(positive=True)
    logarithm = (
        (a - 1) * s.log(x)
        + (b - 1) * s.log(1 - x)
        - s.loggamma(a)
        - s.loggamma(b)
        + s.loggamma(a + b)
    )
    return s.diff(s.exp(logarithm), a, orders[0], b, orders[1]).subs({a: p, b: q})


def beta_density(a: Any, b: Any, x: Any, n: int = 0, k: int = 0) -> Any:
    """The derivative by a and b, n and k times, of x**(a - 1) (1 - x)**(b - 1)/beta(a, b)."""
    density = exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
    return density * _factor(_beta_slope(a, b)(log(x), log1p(-x)), n, k) if n or k else density


betainc_slope: Op = elementwise(
    "betainc_slope", "a b x", _betainc, _betainc_reference,
    lambda out, a, b, x, n, k: betainc_slope(a, b, x, n=n + 1, k=k), lambda out, a, b, x, n, k: betainc_slope(a, b, x, n=n, k=k + 1),
    lambda out, a, b, x, n, k: beta_density(a, b, x, n, k),
    symbolic=in_sympy("betainc", _betainc_reference, _beta_in_sympy), static={"n": 1, "k": 0}, public=False,
    ulps=4000,
    domain="a > 0 and b > 0 and 0 <= x <= 1", doc="The derivative of betainc(a, b, x) by a and b, "
    "n and k times.",
)


@function(
    forward=OfSciPy("betainc"),
    partials=(
        lambda out, a, b, x: betainc_slope(a, b, x, n=1, k=0), lambda out, a, b, x: betainc_slope(a, b, x, n=0, k=1),
        lambda out, a, b, x: beta_density(a, b, x),
    ),
    ulps=400, domain="a > 0 and b > 0 and 0 <= x <= 1", carries=((0.0,), (0.0,), (0.0, 1.0)),
)
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function: the integral of t**(a - 1)*(1 - t)**(b - 1)/beta(a, b) from 0 to x.

    >>> betainc(a, b, x)
    """
    return betainc_slope(a, b, x, n=0, k=0)


declare("""
    numpy:
        voigt_profile(x, sigma, gamma)
    numpy scipy torch:
        gammainc gammaincc(a|input|self, x|other, -out)
    torch:
        igamma = gammainc(a|input, x|other, -out)
        igammac = gammaincc(a|input, x|other, -out)
""")
