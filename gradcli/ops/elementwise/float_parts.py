"""How numbers are written: sign, mantissa and exponent, and the values that are no numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops import extended
from gradcli.ops.carrying import exponent, sign, steady
from gradcli.ops.constants import PI
from gradcli.ops.elementwise.arithmetic import floor
from gradcli.ops.elementwise.exponential import exp2
from gradcli.ops.elementwise.logic import Pieces, equal, isfinite, isnan, less, logical_not, where
from gradcli.ops.registry import Kink, Number, declare, flat, function, piecewise
from gradcli.ops.text import number_in_c

copysign = piecewise(
    "copysign", "x y:signed", np.copysign, lambda m, x, y: -x if bool(x < 0) != bool(y < 0) else x,
    lambda out, x, y: where(equal(x, 0), 0.0, out / x), lambda out, x, y: 0.0, saves="x: x out", ulps=0,
    extended=extended.COPYSIGN,
    symbolic=lambda s, x, y: s.Abs(x) * s.sign(y), doc="x with the sign of y; its derivative by y is 0.",
    kinks=(
        Kink(lambda x, y: x == 0, "x = 0", "0 for both"), Kink(lambda x, y: y == 0, "y = 0", "the sign that y's zero has, 0 for y"),
    ),
    carries=lambda m, out, x, y, e, f: e + m.where(m.logical_and(m.less_equal(m.abs(y), f), m.greater(f, 0.0)), 2 * m.abs(x), 0.0),
)
signbit = flat(
    "signbit", "x:signed", np.signbit, lambda m, x: x < 0, dtype="bool",
    doc="Whether x has a minus sign.",
    carries=sign,
)


@function(
    forward=np.heaviside, partials=(None, None), kind="flat", kinks=Kink(lambda x, values: x == 0, "x = 0", "0, as everywhere"),
    carries=((0.0,), ()),
)  # fmt: skip
def heaviside(x: Any, values: Any) -> Any:
    """0 for negative x, 1 for positive x, values at 0. The derivative is 0, also by values."""
    return where(equal(x, 0), values, where(less(x, 0), 0.0, 1.0))


@function(kinks=Kink(lambda x: x == 0, "x = 0", "0, as everywhere"))
def angle(x: Any) -> Any:
    """The angle of a real number: 0, or pi if it is negative. The derivative is 0."""
    return where(isnan(x), x, where(less(x, 0), PI, 0.0))


gap = flat(
    "gap", "x y", lambda x, y: np.nextafter(x, y) - x, lambda m, x, y: m.mpf(math.nextafter(float(x), float(y))) - m.mpf(float(x)),
    None, None, public=False, memory="format", doc="What the next float after x, towards y, has beyond x.",
    numpy="(np.nextafter({0}, {1}) - {0:term})",
)


@function(memory="format")
def nextafter(x: Any, y: Any) -> Any:
    """The next float after x, towards y; its derivative by x is 1."""
    return x + gap(x, y)


@function("real conj conjugate conj_physical resolve_conj resolve_neg")
def real(x: Any) -> Any:
    """x itself: all numbers are real."""
    return x


_LARGEST_BFLOAT16 = float.fromhex("0x1.fep127")


def _finite(x: Any) -> Any:
    if getattr(x, "dtype", None) is not None and x.dtype.kind == "V":  # bfloat16, whose limits NumPy does not know
        return np.nan_to_num(x.astype(np.float32), posinf=_LARGEST_BFLOAT16, neginf=-_LARGEST_BFLOAT16)
    return np.nan_to_num(x)


def _finite_reference(m: Any, x: Any) -> Any:
    if -math.inf < x < math.inf:
        return x
    largest = float(np.finfo(np.float64).max)
    return m.zero + (largest if x > 0 else -largest if x < 0 else 0.0)


finite = piecewise(
    "finite", "x", _finite, _finite_reference, Pieces(lambda out, x: logical_not(isfinite(x))), symbolic=lambda s, x: x,
    saves="x", ulps=0, dtype="same", extended=extended.NUMBERS, memory="format", public=False, written="nan_to_num({x})",
    doc="x with NaN replaced by 0, and infinities by the largest numbers; the derivative there is 0.", backward="NanToNum",
    carries=steady,
    c=f"g_nan_to_num({{0}}, {number_in_c(0.0)}, g_largest(), -g_largest())",
    numpy="np.nan_to_num({0})",
)


@function(
    numpy="x, -copy, nan, posinf, neginf", torch="x, nan, posinf, neginf", memory="format",
    backward="NanToNum",
)  # fmt: skip
def nan_to_num(x: Any, *, nan: Number = None, posinf: Number = None, neginf: Number = None) -> Any:
    """x with NaN replaced by 0 and infinities by the largest numbers, or by those given; the derivative there is 0.

    >>> nan_to_num(1/x, posinf=10)
    """
    found = finite(x)
    for replaced, by in ((isnan(x), nan), (equal(x, math.inf), posinf), (equal(x, -math.inf), neginf)):
        found = found if by is None else where(replaced, by, found)
    return found


def _exponent(x: Any) -> Any:
    return np.frexp(x)[1].astype(np.asarray(x).dtype)[()]


binary_exponent = flat(
    "binary_exponent", "x", _exponent, lambda m, x: m.mpf(m.frexp(x)[1]) if m.isfinite(x) else m.zero, None,
    public=False, written="frexp({x})[1]", doc="The whole number e with abs(x) = m * 2**e and 0.5 <= m < 1.",
    kinks=Kink(lambda x: abs(math.frexp(float(x))[0]) == 0.5, "powers of 2", "0, as everywhere"),
    carries=exponent,
    numpy="np.frexp({0})[1]",
)


@function(results="mantissa exponent:int32")
def frexp(x: Any) -> tuple[Any, Any]:
    """The mantissa m and the exponent e of x = m * 2**e, with 0.5 <= abs(m) < 1. The exponent's derivative is 0.

    >>> frexp(x)[0]
    """
    exponent = binary_exponent(x)
    half = floor(exponent * 0.5)  # in two steps, so that 2**-e does not overflow
    return x * exp2(-half) * exp2(half - exponent), exponent


@function(numpy="x|x1, other|x2")
def ldexp(x: Any, other: Any) -> Any:
    """x * 2**other."""
    return x * exp2(other)


declare("""
    numpy:
        heaviside(x|x1, values|x2)
""")
