"""Airy's functions and Fresnel's integrals, which oscillate ever faster."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.carrying import steady
from gradcli.ops.constants import PI
from gradcli.ops.elementwise.trigonometric import cos, sin
from gradcli.ops.registry import OfSciPy, Op, declare, elementwise, function
from gradcli.ops.special.gamma import in_sympy
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
