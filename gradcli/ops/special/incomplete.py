"""Error functions, and incomplete gamma and beta functions.

They have derivatives by all parameters.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
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
from gradcli.ops.special.gamma import betaln, digamma, in_sympy, lgamma

erf = elementwise(
    "erf", "x", OfSciPy, "erf", lambda out, x: exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The error function. >>> erf(x/sqrt(2))",
    carries=(),
)


erfc = elementwise(
    "erfc", "x", OfSciPy, "erfc", lambda out, x: -exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The complementary error function, 1 - erf(x), accurate in the tail.", ulps=12,
    carries=(),
)


erfi = elementwise(
    "erfi", "x", OfSciPy, "erfi", lambda out, x: exp_square(x, c=1.0) * TWO_BY_SQRT_PI,
    doc="The imaginary error function, -i*erf(i*x).", ulps=160,
    carries=(),
)


@function(
    forward=OfSciPy, partials=(lambda out, x: where(equal(out, 0), 0.0, 2 * x * out - TWO_BY_SQRT_PI),), saves="x out",
    backward="SpecialErfcx", ulps=600, carries=(),
)
def erfcx(x: Any) -> Any:
    """exp(x**2)*erfc(x), without underflow."""
    return exp(x * x) * erfc(x)


erfinv = elementwise(
    "erfinv", "x", OfSciPy, "erfinv", lambda out, x: exp_square(out, c=1.0) * HALF_SQRT_PI,
    saves="out", domain="-1 <= x <= 1", doc="The inverse of erf; infinite at -1 and 1, and so is "
    "its derivative.",
    carries=(-1.0, 1.0),
)


# -- Voigt's profile -----------------------------------------------------------------------------


def _faddeeva(x: Any, y: Any, n: int, imaginary: int) -> Any:
    """Return a part of a derivative of exp(-z**2)*erfc(-i*z), by recurrence."""
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
    if not hasattr(m, "quad"):  # a context of balls
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
    part = value.imag if imaginary else value.real
    return part * (-1) ** (n + imaginary) if x > 0 else part


def _faddeeva_in_numpy(shapes: Any, n: int, imaginary: int) -> str:
    z = "({0} + 1j*{1})"
    found = ["special.wofz({0} + 1j*{1})"]
    for k in range(n):
        found.append(
            f"({-2 * k}*{found[k - 1]} - 2*{z}*{found[k]})"
            if k
            else f"(2j/np.sqrt(np.pi) - 2*{z}*{found[0]})"
        )
    return f"{found[n]}.{'imag' if imaginary else 'real'}"


def _faddeeva_rounds(m: Any, out: Any, x: Any, y: Any, n: int, imaginary: int) -> Any:
    """Bound the rounding of a part, which has the error of the whole.

    The recurrence carries this error further for each derivative.
    """
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


def _owens_t_slope(out: Any, h: Any, a: Any) -> Any:
    return exp_square(h, c=-0.5) * exp_square(h * a, c=-0.5) / (1 + a * a) / PI / 2


def _owens_t(h: Any, a: Any) -> Any:
    from scipy import special

    near = a * _owens_t_slope(None, h, a / 3**0.5)  # where SciPy's digits are wrong
    return np.where(np.abs(a) < 3e-5, near, special.owens_t(h, a))[()]


def _owens_t_reference(m: Any, h: Any, a: Any) -> Any:
    if abs(a) > 1:
        near, far = (m.erfc(min(abs(x), 1e9) / m.sqrt(2)) for x in (h, h * a))
        return m.sign(a) * (near + far - near * far) / 4 - _owens_t_reference(m, h * a, 1 / a)
    # Euler's series of atan(a), each term with as many terms of the exponential function's.
    square = 1 + a * a
    k = 0
    found = m.zero
    half, term = h * h * square / 2, a / square
    part = parts = m.exp(-half)
    while abs(term) > abs(found) * m.eps and abs(h) < 200:  # further out no float is so small
        found += term * parts
        k += 1
        term -= term * (1 + 2 * k / square) / (2 * k + 1)
        part *= half / k
        parts += part
    return found / (2 * m.pi)


owens_t = elementwise(
    "owens_t", "h a", _owens_t, _owens_t_reference,
    lambda out, h, a: exp_square(h, c=-0.5) * erf(a * h / SQRT_2) / SQRT_TWO_PI / -2, _owens_t_slope,
    symbolic=in_sympy("owens_t", _owens_t_reference, (
        lambda s, _, at, __: s.exp(-at[0]**2 / 2) * s.erf(at[0] * at[1] / s.sqrt(2)) / -s.sqrt(8 * s.pi),
        lambda s, _, at, __: s.exp(-at[0]**2 * (1 + at[1]**2) / 2) / (1 + at[1]**2) / (2 * s.pi),
    )),
    numpy="special.owens_t({0}, {1})", ulps=3000,
    doc="Owen's function: the probability that X > h and 0 < Y < a*X of standard normal X and Y.",
)


# -- Probabilities: the normal distribution, log-odds, entropy -----------------------------------


def _ndtr(x: Any) -> Any:
    # SciPy loses digits in the tail, where it squares a rounded x/sqrt(2).
    from scipy import special

    tail = exp_square(x, c=-0.5) * special.erfcx(np.maximum(-np.asarray(x), 0) / float(SQRT_2)) / 2
    return np.where(np.less(x, -0.5), tail, special.ndtr(x))[()]


def _log_ndtr(x: Any) -> Any:
    from scipy import special

    beside = np.log1p(-_ndtr(-np.maximum(x, -1)))
    return np.where(np.less(x, -1), special.log_ndtr(x), beside)[()]


def _log_ndtr_reference(m: Any, x: Any) -> Any:
    tail = m.erfc(abs(x) / m.sqrt(2)) / 2
    return m.log1p(-tail) if x > 0 else m.log(tail)


@function(
    forward=_ndtr, partials=(lambda out, x: exp_square(x, c=-0.5) / SQRT_TWO_PI,), ulps=11, carries=(),
    numpy="special.ndtr({0})",
)
def ndtr(x: Any) -> Any:
    """The probability that a standard normal variable is below x, accurate in the tail."""
    return erfc(-x / SQRT_2) / 2


log_ndtr = elementwise(
    "log_ndtr", "x", _log_ndtr, _log_ndtr_reference,
    # Beyond 1, this avoids the overflow of erfcx.
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
    "ndtri", "x", OfSciPy, _ndtri, lambda out, x: exp_square(out, c=0.5) * SQRT_TWO_PI,
    symbolic=lambda s, x: s.sqrt(2) * s.erfinv(2 * x - 1), saves="out", domain="0 <= x <= 1", backward="SpecialNdtri",
    doc="The inverse of ndtr: the quantile of the standard normal distribution.",
    carries=(0.0, 1.0),
)


@function(domain="0 < x < 2")
def erfcinv(x: Any) -> Any:
    """The inverse of erfc, accurate near 0."""
    return -ndtri(x / 2) / SQRT_2


@function(
    forward=OfSciPy, partials=(lambda out, x: where(isnan(out), out, 1 / (x * (1 - x))),), saves="x out", domain="0 <= x <= 1",
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
    forward=OfSciPy, partials=(lambda out, x: where(less(x, 0), float("nan"), -log(x) - 1),), symbolic=lambda s, x: -x * s.log(x),
    domain="x >= 0", backward="SpecialEntr", ulps=3, carries=(0.0, 0.36787944117144233),
)
def entr(x: Any) -> Any:
    """-x*log(x), and 0 at x = 0, where the derivative is infinite."""
    return where(less(x, 0), -math.inf, -xlogy(x, x))


declare("""
    numpy scipy torch:
        logit = torch_logit(x, eps)
""")


# -- How a value is differentiated by a parameter in floats: an integral of the density's
# derivative. There are none of these by a parameter again.


_STEP = 1 / 8
_STEPS = np.arange(-4.0, 20.0, _STEP)
_POINTS = np.exp(_STEPS - np.exp(-_STEPS))
_WEIGHTS = _STEP * _POINTS * (1 + np.exp(-_STEPS))


def _integral(integrand: Function, scale: Any) -> Any:
    """Compute the integral from 0 to infinity by the double exponential rule.

    The integrand must change no faster than in steps of the scale.
    """
    return scale * sum(
        weight * integrand(scale * point) for point, weight in zip(_POINTS, _WEIGHTS, strict=True)
    )


def _refuse_second(name: str) -> Function:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ArgumentError(f"{name} has no second derivatives by its parameters")

    return refuse


# -- Incomplete gamma and beta functions ---------------------------------------------------------


def _gammainc(a: Any, x: Any) -> Any:
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    outside = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    far = x > a + 1
    low, high = np.where(far, 0.5 * a, x), np.where(far, x, a + 2)
    front, middle = lgamma(a), digamma(a)

    def below(u: Any) -> Any:  # low*exp(-u) replaces the variable of the integrand
        logarithm = np.log(low) - u
        return np.exp(a * logarithm - np.exp(logarithm) - front) * (logarithm - middle)

    def beyond(u: Any) -> Any:
        logarithm = np.log(high + u)
        return np.exp((a - 1) * logarithm - high - u - front) * (logarithm - middle)

    found = np.where(far, -_integral(beyond, high / (high + a)), _integral(below, 1 / (a + low)))
    return np.where(inside, found, outside)[()]


def _derivative_by_parameters(name: str, function: Any, orders: Any) -> Any:
    """Return a function that computes a derivative by parameters.

    It uses their series where scalars have them, and otherwise mpmath's differences at as many
    digits as they need.
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
        )  # bits lost to differences with steps as small as the parameters make them
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
    """Return the reference of P(a, x) (sign 1) or Q(a, x), and of its n-th derivative by a.

    It is computed from the smaller of P and Q.
    """

    def reference(m: Any, a: Any, x: Any, n: int = 0) -> Any:
        if a <= 0 or x < 0:
            return m.nan
        if x == 0 or x == m.inf:
            return m.one if not n and (x > 0) == (sign > 0) else m.zero
        is_far = float(x - a) > 1  # of a ball its middle decides: both ways are right
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


def gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) e**-x/gamma(a)."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


_gamma_in_sympy = in_sympy("gammainc", _gammainc_reference, _density_in_sympy(1))
gammainc_slope: Op = elementwise(
    "gammainc_slope", "a x", _gammainc, partial(_gammainc_reference, n=1),
    _refuse_second("gammainc"), lambda out, a, x: gamma_density(a, x) * (log(x) - digamma(a)),
    symbolic=partial(_gamma_in_sympy, n=1), public=False, ulps=4000,
    domain="a > 0 and x >= 0", doc="The derivative of gammainc(a, x) by a.",
)
gammainc: Op = elementwise(
    "gammainc", "a x", OfSciPy, _gammainc_reference,
    lambda out, a, x: gammainc_slope(a, x), lambda out, a, x: gamma_density(a, x),
    symbolic=_gamma_in_sympy, ulps=200, domain="a > 0 and x >= 0",
    doc="The regularized lower incomplete gamma function: the integral of t**(a - 1)*exp(-t)/gamma(a) from 0 to x. >>> gammainc(a, x)",
    carries=((0.0,), (0.0,)),
)
gammaincc: Op = elementwise(
    "gammaincc", "a x", OfSciPy, _gammaincc_reference,
    lambda out, a, x: -gammainc_slope(a, x), lambda out, a, x: -gamma_density(a, x),
    symbolic=in_sympy("gammaincc", _gammaincc_reference, _density_in_sympy(-1)), ulps=400, domain="a > 0 and x >= 0",
    doc="The regularized upper incomplete gamma function, 1 - gammainc(a, x). >>> gammaincc(a, x)",
    carries=((0.0,), (0.0,)),
)


def _below(a: Any, b: Any, x: Any, by: int) -> Any:
    """Return the derivative of the incomplete beta function where x is below its mean."""
    front, middle = betaln(a, b), digamma(a + b) - digamma(b if by else a)

    def integrand(u: Any) -> Any:  # x*exp(-u) replaces the variable of the integrand
        logarithm, rest = np.log(x) - u, np.log(1 - x - x * np.expm1(-u))
        return np.exp(a * logarithm + (b - 1) * rest - front) * (
            (rest if by else logarithm) + middle
        )

    return _integral(integrand, 1 / (a + (b + 1) * x / (1 - x)))


def _betainc(a: Any, b: Any, x: Any, by: int) -> Any:
    a, b, x = np.broadcast_arrays(*(np.asarray(v, float) for v in (a, b, x)))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    outside = np.where((x == 0) | (x == 1), 0.0, np.nan)
    a = np.where(inside, a, 1.0)
    b = np.where(inside, b, 1.0)
    safe = np.where(inside, x, 0.5)
    low = safe <= (a + 1) / (a + b + 2)
    below = _below(a, b, np.where(low, safe, 0.5 * (a + 1) / (a + b + 2)), by)
    beyond = -_below(b, a, np.where(low, 0.5 * (b + 1) / (a + b + 2), 1 - safe), 1 - by)
    return np.where(inside, np.where(low, below, beyond), outside)[()]


def _betainc_reference(m: Any, a: Any, b: Any, x: Any, n: int = 0, k: int = 0) -> Any:
    if a <= 0 or b <= 0 or x < 0 or x > 1:
        return m.nan
    if x == 0 or x == 1:
        return m.zero if n or k or not x else m.one

    def below(a: Any, b: Any, x: Any) -> Any:
        """Sum the hypergeometric series whose terms are all positive.

        mpmath's own function fails where b is a whole number.
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


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x**(a - 1) (1 - x)**(b - 1)/beta(a, b)."""
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


def _beta_density_slope(out: Any, a: Any, b: Any, x: Any, by: int) -> Any:
    logarithm, own = (log1p(-x), b) if by else (log(x), a)
    return beta_density(a, b, x) * (logarithm + digamma(a + b) - digamma(own))


_beta_by_sympy = in_sympy("betainc", _betainc_reference, _beta_in_sympy)
betainc_slope: Op = elementwise(
    "betainc_slope", "a b x", _betainc, lambda m, a, b, x, by: _betainc_reference(m, a, b, x, 1 - by, by),
    _refuse_second("betainc"), _refuse_second("betainc"), _beta_density_slope,
    symbolic=lambda s, a, b, x, by: _beta_by_sympy(s, a, b, x, n=1 - by, k=by), static={"by": 0}, public=False, ulps=4000,
    domain="a > 0 and b > 0 and 0 <= x <= 1", doc="The derivative of betainc(a, b, x) by a, or by b.",
)
betainc: Op = elementwise(
    "betainc", "a b x", OfSciPy, _betainc_reference,
    lambda out, a, b, x: betainc_slope(a, b, x, by=0), lambda out, a, b, x: betainc_slope(a, b, x, by=1),
    lambda out, a, b, x: beta_density(a, b, x),
    symbolic=_beta_by_sympy, ulps=400, domain="a > 0 and b > 0 and 0 <= x <= 1", carries=((0.0,), (0.0,), (0.0, 1.0)),
    doc="The regularized incomplete beta function: the integral of t**(a - 1)*(1 - t)**(b - 1)/beta(a, b) from 0 to x. "
    ">>> betainc(a, b, x)",
)


declare("""
    numpy:
        voigt_profile(x, sigma, gamma)
        owens_t(h, a)
    numpy scipy torch:
        gammainc gammaincc(a|input|self, x|other, -out)
    torch:
        igamma = gammainc(a|input, x|other, -out)
        igammac = gammaincc(a|input, x|other, -out)
""")
