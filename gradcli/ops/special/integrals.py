"""Further functions of scipy.special.

These are transformations, robust losses, polynomials, integrals that have names, and Bessel
functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.carrying import steady
from gradcli.ops.constants import PI, TWO_BY_PI, number_of
from gradcli.ops.elementwise.arithmetic import abs_, floor, remainder, sign, square
from gradcli.ops.elementwise.exponential import exp, log, xlogy
from gradcli.ops.elementwise.logic import equal, greater, less, logical_and, logical_or, where
from gradcli.ops.elementwise.trigonometric import cos, cosh, hypot, sin, sinh
from gradcli.ops.registry import (
    REQUIRED,
    Kink,
    OfSciPy,
    Op,
    composite,
    declare,
    elementwise,
    function,
    nodes_for,
)
from gradcli.ops.special.gamma import digamma, gamma, in_sympy, lgamma, next_order
from gradcli.ops.special.hypergeometric import exprel, hypergeometric, spherical_jn
from gradcli.ops.text import ATOM


def _lambert(x: Any, k: int) -> Any:
    from scipy import special

    value = special.lambertw(np.asarray(x, complex), k)
    return np.where(np.abs(value.imag) > 0, np.nan, value.real).astype(
        np.result_type(np.asarray(x).dtype, np.float32)
    )[()]


lambertw: Op = elementwise(
    "lambertw",
    "x",
    _lambert,
    lambda m, x, k: m.lambertw(x, k),
    lambda out, x, k: exp(-out) / (1 + out),
    symbolic=lambda s, x, k: s.LambertW(x, k),
    static={"k": 0},
    saves="out",
    ulps=64,
    domain="x > -0.367879",
    doc="Lambert's function: the w with w*exp(w) = x, of branch 0 or -1, where it is real.",
    numpy="special.lambertw({0}, {k}).real",
)


@function(
    forward=OfSciPy, partials=(lambda out, x: hypergeometric(-square(x), above=(1.0,), below=(0.5,)),),
    symbolic=lambda s, x: s.sqrt(s.pi) / 2 * s.exp(-(x**2)) * s.erfi(x), ulps=2000, carries=steady,
)
def dawsn(x: Any) -> Any:
    """Dawson's integral exp(-x**2)*(integral of exp(t**2) from 0 to x)."""
    return x * hypergeometric(-square(x), above=(1.0,), below=(1.5,))


@function(
    forward=OfSciPy, partials=(lambda out, m: hypergeometric(m, above=(1.5, 1.5), below=(2.0,)) * PI / 8,), domain="m < 1",
    ulps=2000, carries=(1.0,),
)
def ellipk(m: Any) -> Any:
    """The complete elliptic integral of the first kind of the parameter m (the modulus squared)."""
    return hypergeometric(m, above=(0.5, 0.5), below=(1.0,)) * PI / 2


@function(
    forward=OfSciPy, partials=(lambda out, m: hypergeometric(m, above=(0.5, 1.5), below=(2.0,)) * PI / -8,), domain="m <= 1",
    ulps=2000, carries=(1.0,),
)
def ellipe(m: Any) -> Any:
    """The complete elliptic integral of the second kind of the parameter m (the modulus
    squared).
    """
    return hypergeometric(m, above=(-0.5, 0.5), below=(1.0,)) * PI / 2


# Functions made of others


@function(domain="x > 0 and y > 0")
def rel_entr(x: Any, y: Any) -> Any:
    """x*log(x/y), 0 where x is 0, and infinite beyond."""
    beyond = logical_or(logical_or(less(x, 0), less(y, 0)), logical_and(equal(y, 0), greater(x, 0)))
    return where(beyond, math.inf, where(equal(x, 0), 0.0, xlogy(x, x / y)))


@function(domain="x > 0")
def boxcox(x: Any, lmbda: Any) -> Any:
    """The transformation of Box and Cox, (x**lmbda - 1)/lmbda, and log(x) for lmbda = 0."""
    zero = equal(x, 0)
    size = log(where(zero, 1.0, x))
    return where(zero, (x**lmbda - 1) / where(zero, lmbda, 1.0), size * exprel(lmbda * size))


@function()
def huber(delta: Any, r: Any) -> Any:
    """scipy.special.huber: r**2/2 up to delta, delta*(abs(r) - delta/2) beyond."""
    size = abs_(r)
    losses = where(greater(size, delta), delta * (size - delta / 2), square(r) / 2)
    return where(less(delta, 0), math.inf, losses)


@function()
def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta**2*(sqrt(1 + (r/delta)**2) - 1), a smooth huber."""
    return where(less(delta, 0), math.inf, delta * r * (r / (delta + hypot(delta, r))))


def _rgamma_slope(out: Any, x: Any) -> Any:
    at_pole = logical_and(equal(out, 0), less(x, 1))  # of gamma: by the reflection formula
    pole = where(at_pole, x, 0.0)
    return where(
        at_pole,
        gamma(1 - pole) * (cos(PI * pole) - digamma(1 - pole) * pole * sinc(pole)),
        -out * digamma(x),
    )


rgamma = elementwise(
    "rgamma", "x", OfSciPy, "rgamma", _rgamma_slope, symbolic=lambda s, x: 1 / s.gamma(x), saves="x out",
    ulps=400, doc="1/gamma(x), and 0 at the poles of gamma.",
)


@function(domain="z > 0 and m >= 0")
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, gamma(z + m)/gamma(z): the product z*(z + 1)*... of m factors."""
    n = (
        number_of(m) if getattr(m, "is_constant", False) else None
    )  # other carriers have no such field
    if n is not None and n in range(_FACTORS):
        return math.prod((z + k for k in range(int(n))), start=1.0 + 0 * z)
    return _sign_of_gamma(z + m) * _sign_of_gamma(z) * exp(lgamma(z + m) - lgamma(z))


_FACTORS = 20  # below which whole numbers make a polynomial


def _sign_of_gamma(x: Any) -> Any:
    return where(less(x, 0), 1 - 2 * remainder(floor(x), 2), 1.0)


# Orthogonal polynomials, by their recurrences


def _recurrence(name: str, first: Any, step: Any) -> Any:
    def body(x: Any, n: Any) -> Any:
        nodes_for(4 * n, name)
        before = 1.0 + 0 * x
        value = first(x)
        if not n:
            return before
        for k in range(1, n):
            before, value = value, step(k, x, value, before)
        return value

    return body


_POLYNOMIALS = {
    "eval_legendre": (lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1), "legendre_polynomial_p", "Legendre"),
    "eval_chebyt": (lambda x: x, lambda k, x, p, q: 2 * x * p - q, "chebyshev_polynomial_t", "Chebyshev, of the first kind"),
    "eval_chebyu": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q, "chebyshev_polynomial_u", "Chebyshev, of the second kind"),
    "eval_hermite": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q, "hermite_polynomial_h", "Hermite, the physicists'"),
    "eval_hermitenorm": (lambda x: x, lambda k, x, p, q: x * p - k * q, "hermite_polynomial_he", "Hermite, the probabilists'"),
    "eval_laguerre": (lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1), "laguerre_polynomial_l", "Laguerre"),
}
for _name, (_first, _step, _torch, _who) in _POLYNOMIALS.items():
    composite(
        f"{_name} {_torch}",
        "x",
        _recurrence(_name, _first, _step),
        static={"n": REQUIRED},
        doc=f"The polynomial of {_who}, of degree n. In SciPy's spelling the degree comes first: "
        f"{_name}(2, x).",
    )
    declare(f"numpy torch:\n{_name}(n, x)\n{_torch} = {_name}(x|input, n, -out)")


# -- Integrals that have names: of exponentials, sines and logarithms; and sin(x)/x, which is one's
# integrand.


def half_turns(x: Any) -> tuple[Any, Any]:
    """sin(pi*x) and cos(pi*x), exact where they vanish."""
    whole = np.rint(x)
    rest = x - whole
    sign = 1 - 2 * np.mod(whole, 2)
    return sign * np.sin(np.pi * rest), sign * np.sin(np.pi * (0.5 - np.abs(rest)))


def _quotient(x: Any, n: int, turns: bool) -> Any:
    x = np.asarray(x)
    u = x * np.pi if turns else x
    sin, cos = half_turns(x) if turns else (np.sin(u), np.cos(u))
    size = np.where(u == 0, 1, u)
    found = np.where(u == 0, 1, sin) / size
    if n:
        near = 1.0 + 0 * u
        for k in range(12, 0, -1):
            near = 1 - u * u * near / (2.0 * k * (2.0 * k + 3))
        found = np.where(np.abs(u) <= 1, -u / 3 * near, (cos - found) / size)
    return np.where(np.isinf(x), 0.0, found)[()]


def _quotient_in_numpy(shapes: Any, n: int, turns: bool) -> str:
    if n:
        return f"_sine_slope({math.pi!r} * {{0:atom}})" if turns else "_sine_slope({0})"
    return "np.sinc({0})" if turns else f"np.sinc({{0:atom}} / {math.pi!r})"


def _quotient_reference(m: Any, x: Any, n: int, turns: bool) -> Any:
    if turns and not n:
        return m.sincpi(x)
    if (enclosed := getattr(m, "sine_quotient", None)) is not None:
        return enclosed(m.pi * x if turns else x, n)
    if x == 0:
        return m.mpf(1 - n)
    with m.workprec(m.prec + (n + 2) * max(0, -m.mag(x)) + 10):
        u = m.pi * x if turns else x
        sin, cos = (m.sinpi(x), m.cospi(x)) if turns else (m.sin(x), m.cos(x))
        value = (cos - sin / u) / u if n else sin / u
    return +value


def _quotient_symbolic(s: Any, x: Any, n: int, turns: bool) -> Any:
    def formula(x: Any, n: int) -> Any:
        u = s.pi * x if turns else x
        return s.diff(s.sin(u) / u, x, n) / (s.pi**n if turns else 1)

    reference = partial(_quotient_reference, turns=turns)
    return in_sympy("sine_quotient", reference, next_order(s.pi if turns else 1), formula)(
        s, x, n=n
    )


def _quotient_slope(out: Any, x: Any, n: int, turns: bool) -> Any:
    scale = PI if turns else 1.0
    if not n:
        return sine_quotient(x, n=1, turns=turns) * scale
    second = spherical_jn(x * scale, n=2)
    return (2 * second - sine_quotient(x, n=0, turns=turns)) / 3 * scale


sine_quotient: Op = elementwise(
    "sine_quotient", "x", _quotient, _quotient_reference,
    _quotient_slope, symbolic=_quotient_symbolic,
    static={"n": 0, "turns": False}, public=False, ulps=8,
    written={
        (0, False): "sinc({x:atom}/pi)", (1, False): "((cos({x}) - sinc({x:atom}/pi))/{x:atom})",
        (1, True): "((cos(pi*{x:atom}) - sinc({x}))/(pi*{x:atom}))",
    },
    latex={
        (0, False): r"\frac{{\sin\left({x}\right)}}{{{x}}}",
        (1, True): r"\frac{{\cos\left(\pi {x:atom}\right) - "
        r"\operatorname{{sinc}}\left({x}\right)}}{{\pi {x:atom}}}",
    },
    doc="sin(u)/u at u = x, or at u = pi*x, which counts half turns; or its derivative by u (n = 1).",
    numpy=_quotient_in_numpy,
)


@function(
    forward=lambda x: _quotient(x, 0, True), partials=(lambda out, x: sine_quotient(x, n=1, turns=True) * PI,),
    ulps=5, carries=lambda m, out, x, e: e * (math.pi / 2), numpy="np.sinc({0})",
)
def sinc(x: Any) -> Any:
    """sin(pi*x)/(pi*x), and 1 at x = 0.

    >>> sinc(x)
    """
    return sine_quotient(x, n=0, turns=True)


def _integral(name: str, family: str, place: int, partial: Any, doc: str, **record: Any) -> Op:
    """Return a trigonometric or hyperbolic integral.

    SciPy computes two at once; the second one is for positive numbers.
    """
    both = OfSciPy(family)
    return elementwise(
        name,
        "x",
        lambda x: np.where(np.less(x, 0), np.nan, both(x)[1])[()] if place else both(x)[0],
        lambda m, x: getattr(m, name.lower())(x),
        partial,
        symbolic=lambda s, x: getattr(s, name)(x),
        doc=doc,
        domain="x > 0" * place,
        numpy=f"special.{family}({{0}})[{place}]",
        **record,
    )


si = _integral(
    "Si", "sici", 0, lambda out, x: sine_quotient(x, n=0), "The sine integral, of sin(t)/t from 0 "
    "to x.", ulps=4,
)
ci = _integral(
    "Ci", "sici", 1, lambda out, x: cos(x) / x, "The cosine integral, of cos(t)/t from infinity "
    "to x.", ulps=400,
)
shi = _integral(
    "Shi", "shichi", 0, lambda out, x: where(equal(x, 0), 1.0, sinh(x) / x),
    "The hyperbolic sine integral, of sinh(t)/t from 0 to x.", ulps=16,
)
chi = _integral(
    "Chi", "shichi", 1, lambda out, x: cosh(x) / x,
    "The hyperbolic cosine integral, euler + log(x) + the integral of (cosh(t) - 1)/t from 0 to x.", ulps=16,
)
ei = elementwise(
    "Ei expi", "x", OfSciPy("expi"), "ei", lambda out, x: exp(x) / x, symbolic="Ei",
    domain="x is not 0", doc="The exponential integral, of exp(t)/t from -infinity to x.", ulps=100,
)


@function(domain="x > 0, x is not 1")
def li(x: Any) -> Any:
    """The logarithmic integral, of 1/log(t) from 0 to x."""
    return ei(log(x))


def _expn(x: Any, n: int) -> Any:
    from scipy import special

    return special.exp1(x) if n == 1 else special.expn(n, x)


expn: Op = elementwise(
    "expn", "x", _expn, lambda m, x, n: m.expint(n, x),
    lambda out, x, n: -expn(x, n=n - 1) if n else -out * (1 + 1 / x),
    static={"n": 1}, saves="x out", domain="x > 0", ulps=24,
    written="expn({n}, {x})", latex=r"E_{{{n}}}\left({x}\right)",
    doc="The exponential integral of order n, of exp(-x*t)/t**n from 1 to infinity. In a program "
    "the order comes first. >>> expn(2, x)",
    numpy="special.expn({n}, {0})",
)


@function(results="si ci")
def sici(x: Any) -> Any:
    """Si(x) and Ci(x).

    >>> sici(x)[0]
    """
    return (si(x), ci(x))


@function(results="shi chi")
def shichi(x: Any) -> Any:
    """Shi(x) and Chi(x)."""
    return (shi(x), chi(x))


declare("""
    numpy:
        lambertw(x|z, k, -tol)
        exprel dawsn(x)
        ellipk ellipe(m)
        expn(n, x)
        E1 exp1 = expn(x; n=1)
        spherical_bessel_j0 = sine_quotient(x; n=0)
""")


# -- Bessel functions of a real argument; their order is a number known beforehand ---------------


def _bessel(
    name: str, word: str, slope: Callable[[Op, Any, float], Any], doc: str, **record: Any
) -> Op:
    def partial(out: Any, x: Any, v: float) -> Any:
        return slope(op, x, v)

    forward = OfSciPy(name)
    op = elementwise(
        f"{name} {word}",
        "x",
        lambda x, v: forward(v, x),
        lambda m, x, v: getattr(m, word)(v, x),
        partial,
        static={"v": 0},
        doc=f"{doc} In a program the order comes first: {name}(1, x). >>> {name}(1, x)",
        written=f"{name}({{v}}, {{x}})",
        latex=rf"{word[-1].upper()}_{{{{{{v}}}}}}\left({{x}}\right)",
        numpy=f"special.{name}({{v}}, {{0}})",
        **record,
    )
    return op


def _falling(op: Op, x: Any, v: float) -> Any:
    return -op(x, v=1) if v == 0 else (op(x, v=v - 1) - op(x, v=v + 1)) / 2


def _out_of_phase(m: Any, out: Any, x: Any, v: float) -> Any:
    """Bound the rounding of functions that oscillate.

    Near zeros of the function it is the rounding of the phase, which is relative to x, times the
    amplitude.
    """
    return 1500 * m.abs(out) + m.where(m.greater(m.abs(x), abs(v)), 4 * m.sqrt(m.abs(x)), 0.0)


jv = _bessel(
    "jv", "besselj", _falling, "The Bessel function of the first kind and of order v.", ulps=1500, rounding=_out_of_phase,
    domain="x >= 0, or v an integer",
)
yv = _bessel(
    "yv", "bessely", _falling, "The Bessel function of the second kind and of order v.", ulps=1500, rounding=_out_of_phase,
    domain="x > 0",
)
iv = _bessel(
    "iv", "besseli",
    lambda op, x, v: op(x, v=1) if v == 0 else (op(x, v=v - 1) + op(x, v=v + 1)) / 2,
    "The modified Bessel function of the first kind and of order v.", domain="x >= 0, or v an "
    "integer", ulps=16,
)
kv = _bessel(
    "kv", "besselk",
    lambda op, x, v: -op(x, v=1) if v == 0 else -(op(x, v=v - 1) + op(x, v=v + 1)) / 2,
    "The modified Bessel function of the second kind and of order v.", domain="x > 0", ulps=40,
)


def _i0_slope(out: Any, x: Any) -> Any:
    return i1(x)


@function(
    "i0 modified_bessel_i0", forward=OfSciPy, partials=(_i0_slope,), ulps=6, latex=r"I_{{0}}\left({x}\right)",
    carries=(0.0,),
)
def i0(x: Any) -> Any:
    """The modified Bessel function iv(0, x)."""
    return iv(x, v=0)


@function(
    "i1 modified_bessel_i1", forward=OfSciPy, partials=(lambda out, x: (i0(x) + iv(x, v=2)) / 2,), ulps=16,
    latex=r"I_{{1}}\left({x}\right)", backward="SpecialI1", carries=(),
)
def i1(x: Any) -> Any:
    """The modified Bessel function iv(1, x)."""
    return iv(x, v=1)


def _i0e_slope(out: Any, x: Any) -> Any:
    return i1e(x) - sign(x) * out


@function(
    forward=OfSciPy, partials=(_i0e_slope,), kinks=Kink(lambda x: x == 0, "x = 0", "0"),
    backward="SpecialI0E", saves="x out", ulps=12, carries=(0.0,),
)
def i0e(x: Any) -> Any:
    """exp(-abs(x))*i0(x), without overflow."""
    return exp(-abs_(x)) * iv(x, v=0)


@function(
    forward=OfSciPy, partials=(lambda out, x: where(equal(x, 0), 0.5, i0e(x) - sign(x) * out - out / x),), backward="SpecialI1E",
    saves="x out", ulps=16, carries=(-1.5451371173815606, 1.5451371173815606),
)
def i1e(x: Any) -> Any:
    """exp(-abs(x))*i1(x), without overflow."""
    return exp(-abs_(x)) * iv(x, v=1)


_MOST_FACTORS = 1000  # of the product in a slope of Struve's function


def _struve_slope(op: Op, x: Any, v: float) -> Any:
    if v % 1 or not 0 <= v <= _MOST_FACTORS:
        raise ArgumentError(
            f"struve has derivatives of whole orders from 0 to {_MOST_FACTORS}, not {v}"
        )
    if not v:
        return TWO_BY_PI - op(x, v=1)
    # and x**v/(1*3*...*(2*v + 1)), by factors that do not overflow
    return (op(x, v=v - 1) - op(x, v=v + 1)) / 2 + math.prod(
        [x / k for k in range(3, 2 * int(v) + 2, 2)]
    ) / PI


struve = _bessel(
    "struve", "struveh", _struve_slope, "The Struve function of order v.", ulps=10_000,
    rounding=lambda m, out, x, v: 10_000 * m.abs(out) + m.where(m.greater(m.abs(x), 1.0), 400 + 4 * m.sqrt(m.abs(x)), 0.0),
    symbolic=in_sympy("struve", lambda m, x, v: m.struveh(v, x), lambda s, function, values, orders:
        function(*values, orders[0] - 1) - orders[0] / values[0] * function(*values, *orders)),
)

declare("""
    numpy:
        struve struveh = struve(v, x)
        jv jn besselj = jv(v, x|z)
        yv yn bessely = yv(v, x|z)
        iv besseli = iv(v, x|z)
        kv kn besselk = kv(v, x|z)
        j0 bessel_j0 = jv(x; v=0)
        j1 bessel_j1 = jv(x; v=1)
        y0 bessel_y0 = yv(x; v=0)
        y1 bessel_y1 = yv(x; v=1)
        k0 modified_bessel_k0 = kv(x; v=0)
        k1 modified_bessel_k1 = kv(x; v=1)
""")


# -- Airy's functions and Fresnel's integrals, which oscillate ever faster ------------------------


_LEFT, _RIGHT = -1e5, 103.0  # SciPy has values of Airy functions between these


def _airy(x: Any, n: int, second: int) -> Any:
    from scipy import special

    near = special.airy(np.clip(x, _LEFT, _RIGHT))[2 * second + n]
    limit = math.inf if second else -0.0 if n else 0.0
    far = np.vectorize(partial(_far_left, n=n, second=second), otypes=[np.asarray(near).dtype])
    left = np.less(x, _LEFT)
    waves = far(np.where(left, x, np.nan)) if left.any() else np.nan
    return np.where(left, waves, np.where(np.greater(x, _RIGHT), limit, near))[()]


def _far_left(x: float, n: int, second: int) -> float:
    """Two terms of the asymptotic series, of a phase with all of its digits (DLMF 9.7.9)."""
    from mpmath import cos, mpf, pi, root, sin, sqrt, workprec

    if not math.isfinite(x):
        return math.nan
    with workprec(80 + 2 * math.frexp(x)[1]):
        z = -mpf(x)
        phase = 2 * z * sqrt(z) / 3
        c, s = cos(phase - pi / 4), sin(phase - pi / 4)
        waves = ((s, -c), (c, s)) if n else ((c, s), (-s, c))
        wave, beside = waves[second]
        term = mpf(-7 if n else 5) / 72 / phase
        size = root(z, 4) if n else 1 / root(z, 4)
        return float(size / sqrt(pi) * (wave + beside * term))


def _airy_reference(m: Any, x: Any, n: int, second: int) -> Any:
    return (m.airybi if second else m.airyai)(x, n)


def _airy_slope(s: Any, function: Any, values: Any, orders: Any) -> Any:
    n, second = orders
    return values[0] * function(*values, 0, second) if n else function(*values, 1, second)


def _airy_rounds(m: Any, out: Any, x: Any, n: int, second: int) -> Any:
    """SciPy's phase, and its exponent, have the rounding of the power 3/2 of the operand."""
    size = m.abs(x) + 1.0
    power = size * m.sqrt(size)
    wave = m.sqrt(m.sqrt(size)) if n else 1.0 / m.sqrt(m.sqrt(size))
    waves = m.where(m.less(x, _LEFT), 4.0, 400.0 + 8 * power) * wave
    return m.where(m.less(x, 0.0), waves, (200 + 8 * power) * m.abs(out))


airy_function: Op = elementwise(
    "airy_function", "x", _airy, _airy_reference,
    lambda out, x, n, second: x * airy_function(x, n=0, second=second) if n else airy_function(x, n=1, second=second),
    static={"n": 0, "second": 0}, public=False, ulps=400, rounding=_airy_rounds,
    written=lambda x, n, second: (f"airy({x})[{2 * second + n}]", ATOM),
    latex=lambda x, n, second: (rf"\operatorname{{{'Bi' if second else 'Ai'}}}{n * chr(39)}\left({x}\right)", ATOM),
    numpy=lambda shapes, n, second: f"special.airy({{0}})[{2 * second + n}]",
    symbolic=in_sympy("airy_function", _airy_reference, _airy_slope),
    doc="Airy's function Ai, or Bi, or the derivative of one.",
)


@function(results="Ai Aip Bi Bip")
def airy(x: Any) -> Any:
    """Airy's functions and their derivatives: Ai, Ai', Bi, Bi'.

    >>> airy(x)[0]
    """
    return tuple(airy_function(x, n=n, second=second) for second in (0, 1) for n in (0, 1))


_FRESNEL = OfSciPy("fresnel")
fresnel_integral: Op = elementwise(
    "fresnel_integral", "x", lambda x, cosine: _FRESNEL(x)[cosine], lambda m, x, cosine: (m.fresnelc if cosine else m.fresnels)(x),
    lambda out, x, cosine: (cos if cosine else sin)(PI * (x * x) / 2), static={"cosine": 0}, public=False,
    rounding=lambda m, out, x, cosine: 60 * m.abs(out) + 4 * m.abs(x), carries=steady, ulps=60,
    written={(0,): "fresnel({x})[0]", (1,): "fresnel({x})[1]"}, latex={(0,): r"S\left({x}\right)", (1,): r"C\left({x}\right)"},
    numpy="special.fresnel({0})[{cosine}]",
    doc="Fresnel's integral of the sine or cosine of pi*t**2/2 from 0 to x.",
)


@function(results="S C")
def fresnel(x: Any) -> Any:
    """Fresnel's integrals of sin(pi*t**2/2) and of cos(pi*t**2/2) from 0 to x.

    >>> fresnel(x)[1]
    """
    return (fresnel_integral(x, cosine=0), fresnel_integral(x, cosine=1))


declare("""
    numpy:
        airy fresnel(x|z)
""")
