"""Airy's functions and Fresnel's integrals, which oscillate ever faster."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.constants import PI
from gradcli.ops.registry import Op, declare, elementwise, function
from gradcli.ops.special.gamma import in_sympy
from gradcli.ops.special.integrals import half_turns
from gradcli.ops.text import ATOM

_LEFT, _RIGHT = -1e5, 103.0  # between which SciPy has values of Airy's functions


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


def _quarter_turns(x: Any) -> Any:
    """x**2 but for whole turns, with all digits: the square is the sum of three products of halves
    of x.
    """
    high = (2.0**27 + 1) * x
    high = high - (high - x)
    low = x - high
    return np.fmod(high * high, 4) + np.fmod(2 * high * low, 4) + np.fmod(low * low, 4)


def _fresnel(x: Any, cosine: int, n: int) -> Any:
    """SciPy's integral; beyond 30 terms of the asymptotic series, of a phase with all its digits.
    From 1e17 on numbers are even, and the derivative is that at 0.
    """
    from scipy import special

    near = special.fresnel(np.clip(x, -30.0, 30.0))[cosine]
    size = np.abs(np.asarray(x, float))
    s, c = half_turns(_quarter_turns(np.where(size >= 1e17, 0.0, size)) / 2)
    z = np.clip(size, 30.0, 1e17)
    u = 1 / (np.pi * z**2)
    f, g = (1 - 3 * u**2 + 105 * u**4) / (np.pi * z), u * (1 - 15 * u**2) / (np.pi * z)
    far = np.copysign(0.5 + (f * s - g * c if cosine else -f * c - g * s), x)
    found = (c if cosine else s) + 0.0 * size if n else np.where(np.abs(x) > 30, far, near)
    return np.asarray(found).astype(np.asarray(near).dtype)[()]


def _fresnel_reference(m: Any, x: Any, cosine: int, n: int) -> Any:
    if n:
        return (m.cospi if cosine else m.sinpi)(x * x / 2)
    return (m.fresnelc if cosine else m.fresnels)(x)


def _fresnel_slope(s: Any, function: Any, values: Any, orders: Any) -> Any:
    (x,), (cosine, n) = values, orders
    return function(x, 1 - cosine, 1) * (-1) ** cosine * s.pi * x if n else function(x, cosine, 1)


fresnel_integral: Op = elementwise(
    "fresnel_integral", "x", _fresnel, _fresnel_reference,
    lambda out, x, cosine, n: (-PI if cosine else PI) * x * fresnel_integral(x, cosine=1 - cosine, n=1)
    if n else fresnel_integral(x, cosine=cosine, n=1),
    symbolic=in_sympy("fresnel_integral", _fresnel_reference, _fresnel_slope), static={"cosine": 0, "n": 0}, public=False, ulps=60,
    written={(0, 0): "fresnel({x})[0]", (1, 0): "fresnel({x})[1]", (0, 1): "sin(pi*{x:power}**2/2)", (1, 1): "cos(pi*{x:power}**2/2)"},
    latex={(0, 0): r"S\left({x}\right)", (1, 0): r"C\left({x}\right)",
        (0, 1): r"\sin\left(\frac{{\pi {x:atom}^{{2}}}}{{2}}\right)", (1, 1): r"\cos\left(\frac{{\pi {x:atom}^{{2}}}}{{2}}\right)"},
    numpy=lambda shapes, cosine, n: (f"np.{'cos' if cosine else 'sin'}({math.pi / 2!r} * np.square({{0}}))" if n
        else f"special.fresnel({{0}})[{cosine}]"),
    doc="Fresnel's integral of the sine or cosine of pi*t**2/2 from 0 to x, or its derivative.",
)


@function(results="S C")
def fresnel(x: Any) -> Any:
    """Fresnel's integrals of sin(pi*t**2/2) and of cos(pi*t**2/2) from 0 to x.

    >>> fresnel(x)[1]
    """
    return (fresnel_integral(x, cosine=0, n=0), fresnel_integral(x, cosine=1, n=0))


declare("""
    numpy:
        airy fresnel(x|z)
""")
