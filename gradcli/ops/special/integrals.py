"""Integrals that have names: of exponentials, sines and logarithms; and sin(x)/x, which is one's integrand."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.carrying import logarithm, steady
from gradcli.ops.constants import PI
from gradcli.ops.domains import EVERYWHERE, at, of
from gradcli.ops.elementwise import extended
from gradcli.ops.elementwise.exponential import exp, log
from gradcli.ops.elementwise.hyperbolic import cosh, sinh
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.elementwise.trigonometric import cos
from gradcli.ops.registry import composite, elementwise
from gradcli.ops.spec import Op
from gradcli.ops.special.outside_sympy import by_order
from gradcli.ops.writing import scipy_special


def _half_turns(x: Any) -> tuple[Any, Any]:
    """sin(pi*x) and cos(pi*x), exact where they vanish."""
    whole = np.rint(x)
    rest = x - whole
    sign = 1 - 2 * np.mod(whole, 2)
    return sign * np.sin(np.pi * rest), sign * np.sin(np.pi * (0.5 - np.abs(rest)))


def _quotient(x: Any, n: int, turns: bool) -> Any:
    x = np.asarray(x)
    u = x * np.pi if turns else x
    sin, cos = _half_turns(x) if turns else (np.sin(u), np.cos(u))
    size = np.where(u == 0, 1, u)
    far = np.where(u == 0, 1, sin) / size
    for k, trigonometric in zip(range(1, n + 1), (cos, -sin, -cos, sin) * n, strict=False):
        far = (trigonometric - k * far) / size
    inner = np.clip(u, -float(n), float(n))
    powers = range((n + 1) // 2, (n + 1) // 2 + 20 + 2 * n)
    near = sum((-1) ** k / ((2 * k + 1) * math.factorial(2 * k - n)) * inner ** (2 * k - n) for k in powers)
    return np.where(np.abs(u) <= n, near, far)[()]


def _quotient_written(value: str, slope: str, n: int, turns: bool) -> str:
    """By functions for the value, of half turns, and for the slope."""
    if n > 1:
        return ""
    if n:
        return f"{slope}({math.pi!r} * {{0:atom}})" if turns else f"{slope}({{0}})"
    return f"{value}({{0}})" if turns else f"{value}({{0:atom}} / {math.pi!r})"


def _quotient_reference(m: Any, x: Any, n: int, turns: bool) -> Any:
    if turns and not n:
        return m.sincpi(x)
    if (enclosed := getattr(m, "sine_quotient", None)) is not None:
        return enclosed(m.pi * x if turns else x, n)
    if x == 0:
        return m.cospi(m.mpf(n) / 2) / (n + 1)
    with m.workprec(m.prec + (n + 2) * max(0, -m.mag(x)) + 10 * n):
        u = m.pi * x if turns else x
        sin, cos = (m.sinpi(x), m.cospi(x)) if turns else (m.sin(x), m.cos(x))
        value = sin / u
        for k in range(1, n + 1):
            value = ((cos, -sin, -cos, sin)[(k - 1) % 4] - k * value) / u
    return +value


def _quotient_symbolic(s: Any, x: Any, n: int, turns: bool) -> Any:
    def formula(x: Any, n: int) -> Any:
        u = s.pi * x if turns else x
        return s.diff(s.sin(u) / u, x, n) / (s.pi**n if turns else 1)

    reference = partial(_quotient_reference, turns=turns)
    return by_order(s, "sine_quotient", reference, s.pi if turns else 1, formula)(x, n)


sine_quotient: Op = elementwise(
    "sine_quotient", "x", _quotient, _quotient_reference,
    lambda out, x, n, turns: sine_quotient(x, n=n + 1, turns=turns) * (PI if turns else 1), symbolic=_quotient_symbolic,
    static={"n": 0, "turns": False}, saves=("x",), public=False, ulps=8,
    written={
        (0, False): "sinc({x:atom}/pi)", (1, False): "((cos({x}) - sinc({x:atom}/pi))/{x:atom})",
        (1, True): "((cos(pi*{x:atom}) - sinc({x}))/(pi*{x:atom}))",
    },
    latex={
        (0, False): r"\frac{{\sin\left({x}\right)}}{{{x}}}",
        (1, True): r"\frac{{\cos\left(\pi {x:atom}\right) - \operatorname{{sinc}}\left({x}\right)}}{{\pi {x:atom}}}",
    },
    doc="The n-th derivative of sin(u)/u at u = x, or at u = pi*x, which counts half turns.",
    carries=lambda m, out, x, e, n, turns: e * ((math.pi if turns else 1.0) / (n + 2)),
    numpy=lambda shapes, n, turns: _quotient_written("np.sinc", "_sine_slope", n, turns),
    scalar=lambda n, turns: _quotient_written("g_sinc", "g_sine_slope", n, turns),
)
sinc = elementwise(
    "sinc", "x", lambda x: _quotient(x, 0, True), lambda m, x: m.sincpi(x), lambda out, x: sine_quotient(x, n=1, turns=True) * PI,
    extended=extended.SINC,
    symbolic=lambda s, x: _quotient_symbolic(s, x, n=0, turns=True), saves=("x",), ulps=5,
    doc="sin(pi*x)/(pi*x), and 1 at x = 0.", examples=("sinc(x)",),
    carries=lambda m, out, x, e: e * (math.pi / 2),
    c="g_sinc({0})",
    numpy="np.sinc({0})",
    moderate=True,
)
si = elementwise(
    "Si", "x", lambda x: scipy_special("sici")(x)[0], lambda m, x: m.si(x), lambda out, x: sine_quotient(x, n=0),
    symbolic=lambda s, x: s.Si(x), saves=("x",), doc="The sine integral, of sin(t)/t from 0 to x.", ulps=4,
    carries=steady,
    numpy="special.sici({0})[0]",
    torch="",
    jax="",
)
ci = elementwise(
    "Ci", "x", lambda x: np.where(np.less(x, 0), np.nan, scipy_special("sici")(x)[1])[()], lambda m, x: m.ci(x),
    lambda out, x: cos(x) / x, symbolic=lambda s, x: s.Ci(x), saves=("x",), domain=of(x="(0, inf)"),
    doc="The cosine integral, of cos(t)/t from infinity to x.", ulps=400,
    carries=lambda m, out, x, e: logarithm(m, x, e),
    numpy="special.sici({0})[1]",
    torch="",
    jax="",
)
shi = elementwise(
    "Shi", "x", lambda x: scipy_special("shichi")(x)[0], lambda m, x: m.shi(x), lambda out, x: where(equal(x, 0), 1.0, sinh(x) / x),
    symbolic=lambda s, x: s.Shi(x), saves=("x",), doc="The hyperbolic sine integral, of sinh(t)/t from 0 to x.", ulps=16,
    between=(),
    numpy="special.shichi({0})[0]",
    torch="",
    jax="",
)
chi = elementwise(
    "Chi", "x", lambda x: np.where(np.less(x, 0), np.nan, scipy_special("shichi")(x)[1])[()], lambda m, x: m.chi(x),
    lambda out, x: cosh(x) / x, symbolic=lambda s, x: s.Chi(x), saves=("x",), domain=of(x="(0, inf)"),
    doc="The hyperbolic cosine integral, euler + log(x) + the integral of (cosh(t) - 1)/t from 0 to x.", ulps=16,
    between=(0.0,),
    numpy="special.shichi({0})[1]",
    torch="",
    jax="",
)
ei = elementwise(
    "Ei", "x", scipy_special("expi"), lambda m, x: m.ei(x), lambda out, x: exp(x) / x, symbolic=lambda s, x: s.Ei(x),
    aliases=("expi",), saves=("x",),
    domain=EVERYWHERE - at(x=0), doc="The exponential integral, of exp(t)/t from -infinity to x.", ulps=100,
    between=(0.0,),
    numpy="special.expi({0})",
    torch="",
)
li = elementwise(
    "li", "x", lambda x: scipy_special("expi")(np.log(x)), lambda m, x: m.li(x), lambda out, x: 1 / log(x),
    symbolic=lambda s, x: s.li(x), saves=("x",), domain=(of(x="[0, inf)") - at(x=1)).told("x > 0, x is not 1"),
    doc="The logarithmic integral, of 1/log(t) from 0 to x.", ulps=400,
    between=(0.0, 1.0),
    numpy="special.expi(np.log({0}))",
    jax="np.where({0:atom} == 0, 0.0, special.expi(np.log({0})))",
    torch="",
)


def _expn(x: Any, n: int) -> Any:
    from scipy import special

    return special.exp1(x) if n == 1 else special.expn(n, x)


expn: Op = elementwise(
    "expn", "x", _expn, lambda m, x, n: m.expint(n, x),
    lambda out, x, n: -expn(x, n=n - 1) if n else -out * (1 + 1 / x), symbolic=lambda s, x, n: s.expint(n, x),
    static={"n": 1}, saves=("x", "out"), domain=of(x="(0, inf)"), ulps=24, examples=("expn(2, x)",),
    written="expn({n}, {x})", latex=r"E_{{{n}}}\left({x}\right)",
    doc="The exponential integral of order n, of exp(-x*t)/t**n from 1 to infinity. In a program the order comes first.",
    between=(0.0,),
    numpy=lambda shapes, n: f"special.expn({n}, {{0}})",
    torch="",
)
spherical_bessel_j0 = composite(
    "spherical_bessel_j0", "x", lambda x: sine_quotient(x, n=0), doc="sin(x)/x, and 1 at x = 0.", examples=("spherical_bessel_j0(x)",),
)
e1 = composite("E1", "x", lambda x: expn(x, n=1), aliases=("exp1",), doc="The exponential integral expn(1, x).", domain=of(x="(0, inf)"))
sici = composite("sici", "x", lambda x: (si(x), ci(x)), results=("si", "ci"), doc="Si(x) and Ci(x).", examples=("sici(x)[0]",))
shichi = composite("shichi", "x", lambda x: (shi(x), chi(x)), results=("shi", "chi"), doc="Shi(x) and Chi(x).")

declare(NUMPY, expn=signature("expn", "n, x"))
