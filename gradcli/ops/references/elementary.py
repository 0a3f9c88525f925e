"""References of functions entry by entry: arithmetic, powers, how numbers are written, and special functions of one scalar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.entries import total


def each(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of scalars at every place of arrays that broadcast; None stands for one that is missing."""
    given = [np.asarray(x, dtype=object) for x in arrays if x is not None]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    columns = iter([np.broadcast_to(x, shape).ravel().tolist() for x in given])
    lists = [[None] * int(np.prod(shape)) if x is None else next(columns) for x in arrays]
    return np.fromiter((function(*row) for row in zip(*lists, strict=True)), dtype=object).reshape(shape)


def is_nan(m: Any, x: Any) -> bool:
    value = m.plain(x)
    return bool(value != value)


def size_of(x: Any) -> Any:
    return -x if x < 0 else x


def towards_zero(m: Any, x: Any) -> Any:
    return m.floor(x) if m.plain(x) > 0 else m.ceil(x)


def nearest(m: Any, x: Any) -> Any:
    """The nearest whole number, of two the even one."""
    at = m.plain(x)
    below = m.floor(at)
    if at - below == m.one / 2:
        return below if below % 2 == 0 else below + 1
    return below if at - below < m.one / 2 else below + 1


@of("clamp_min")
def clamp_min(m: Any, x: Any, low: Any) -> Any:
    return each(lambda v, b: b if v < b else v, x, low)


@of("clamp_max")
def clamp_max(m: Any, x: Any, high: Any) -> Any:
    return each(lambda v, b: b if v > b else v, x, high)


@of("fmax")
def fmax(m: Any, x: Any, y: Any) -> Any:
    return each(lambda v, w: v if is_nan(m, w) or v >= w else w, x, y)


@of("fmin")
def fmin(m: Any, x: Any, y: Any) -> Any:
    return each(lambda v, w: v if is_nan(m, w) or v <= w else w, x, y)


@of("torch_add")
def torch_add(m: Any, x: Any, y: Any, alpha: Any) -> Any:
    return each(lambda v, w: v + alpha * w, x, y)


@of("torch_sub")
def torch_sub(m: Any, x: Any, y: Any, alpha: Any) -> Any:
    return each(lambda v, w: v - alpha * w, x, y)


@of("rsub")
def rsub(m: Any, x: Any, y: Any, alpha: Any) -> Any:
    return each(lambda v, w: w - alpha * v, x, y)


@of("torch_div")
def torch_div(m: Any, x: Any, y: Any, rounding_mode: Any) -> Any:
    rounded = {None: lambda v: v, "floor": m.floor, "trunc": lambda v: towards_zero(m, v)}[rounding_mode]
    return each(lambda v, w: rounded(v / w), x, y)


@of("round_decimals")
def round_decimals(m: Any, x: Any, decimals: int) -> Any:
    unit = m.one * 10 ** abs(decimals)
    return each(lambda v: nearest(m, v * unit) / unit if decimals > 0 else nearest(m, v / unit) * unit, x)


@of("frac")
def frac(m: Any, x: Any) -> Any:
    return each(lambda v: v - towards_zero(m, v), x)


@of("modf")
def modf(m: Any, x: Any) -> Any:
    return frac(m, x), each(lambda v: towards_zero(m, v), x)


@of("divmod")
def divmod_(m: Any, x: Any, y: Any) -> Any:
    quotient = each(lambda v, w: m.floor(v / w), x, y)
    return quotient, each(lambda v, w, q: v - w * q, x, y, quotient)


@of("ieee_remainder")
def ieee_remainder(m: Any, x: Any, y: Any) -> Any:
    return each(lambda v, w: v - w * nearest(m, v / w), x, y)


@of("exp10")
def exp10(m: Any, x: Any) -> Any:
    return each(lambda v: m.power(m.one * 10, v), x)


@of("math_log")
def math_log(m: Any, x: Any, base: Any) -> Any:
    return each(lambda v, b: m.log(v) if b is None else m.log(v) / m.log(b), x, base)


@of("nextafter")
def nextafter(m: Any, x: Any, y: Any) -> Any:
    """The next float: beyond x by what the floats say."""

    def moved(v: Any, w: Any) -> Any:
        at, to = float(m.plain(v)), float(m.plain(w))
        return v + (m.m.mpf(math.nextafter(at, to)) - m.m.mpf(at))

    return each(moved, x, y)


@of("real")
def real(m: Any, x: Any) -> Any:
    return x


@of("frexp")
def frexp(m: Any, x: Any) -> Any:
    """x = mantissa * 2**exponent, by halving and doubling."""

    def exponent(v: Any) -> int:
        size, e = abs(m.plain(v)), 0
        if not m.m.isfinite(size):
            return 0
        while size >= 1:
            size, e = size / 2, e + 1
        while size and size < m.one / 2:
            size, e = size * 2, e - 1
        return e

    def mantissa(v: Any, e: int) -> Any:
        return v / 2**e if e >= 0 else v * 2**-e

    powers = each(exponent, x)
    return each(mantissa, x, powers), powers


@of("ldexp")
def ldexp(m: Any, x: Any, other: Any) -> Any:
    return each(lambda v, e: v * m.power(m.one * 2, e), x, other)


@of("addcmul")
def addcmul(m: Any, x: Any, first: Any, second: Any, value: Any) -> Any:
    return each(lambda v, a, b, k: v + (1 if k is None else k) * a * b, x, first, second, value)


@of("addcdiv")
def addcdiv(m: Any, x: Any, first: Any, second: Any, value: Any) -> Any:
    return each(lambda v, a, b, k: v + (1 if k is None else k) * a / b, x, first, second, value)


@of("deg2rad")
def deg2rad(m: Any, x: Any) -> Any:
    return each(lambda v: v * m.m.pi / 180, x)


@of("rad2deg")
def rad2deg(m: Any, x: Any) -> Any:
    return each(lambda v: v * 180 / m.m.pi, x)


@of("torch_logit")
def torch_logit(m: Any, x: Any, eps: Any) -> Any:
    def log_odds(v: Any) -> Any:
        if eps is not None:
            low, high = m.one * eps, 1 - m.one * eps
            v = low if v < low else high if v > high else v
        return m.log(v) - m.log(1 - v)

    return each(log_odds, x)


for _name, _of, _order in (("j0", "jv", 0), ("j1", "jv", 1), ("y0", "yv", 0), ("y1", "yv", 1), ("k0", "kv", 0), ("k1", "kv", 1)):

    @of(_name)
    def bessel(m: Any, x: Any, of_kind: str = _of, order: int = _order) -> Any:
        return each(lambda v: m.function(of_kind, v, v=order), x)


@of("factorial")
def factorial(m: Any, x: Any) -> Any:
    """x! = x * (x - 1)!, from a larger one on: gamma at x + 3 over the factors between."""
    return each(lambda v: m.function("gamma", v + 3) / ((v + 1) * (v + 2)), x)


@of("perm")
def perm(m: Any, n: Any, k: Any) -> Any:
    return each(lambda v, w: m.function("gamma", v + 1) / m.function("gamma", v - w + 1), n, k)


@of("mvlgamma")
def mvlgamma(m: Any, x: Any, p: int) -> Any:
    def joint(v: Any) -> Any:
        constant = m.log(m.m.pi) * (p * (p - 1)) / 4
        return constant + total(m, [m.log(m.function("gamma", v + (m.one - i) / 2)) for i in range(1, p + 1)])

    return each(joint, x)


@of("zeta")
def zeta(m: Any, x: Any, q: Any) -> Any:
    return each(lambda v, w: m.function("hurwitz_zeta", v, m.one if w is None else w), x, q)


def polygamma(m: Any, x: Any, n: int) -> Any:
    """The n-th derivative of digamma. Far to the left by reflection (DLMF 5.15.6), as mpmath counts every pole on the way."""
    if not n or x > -50 or not m.isfinite(x):
        return m.psi(n, x)
    if x == m.nint(x):
        return m.psi(n, -1)
    slopes = {1: 1}  # of the cotangent as a polynomial in it, by its powers: (c**k)' = -k*c**(k - 1) - k*c**(k + 1)
    for _ in range(n):
        before, slopes = slopes, {}
        for power, factor in before.items():
            for to in (power - 1, power + 1):
                slopes[to] = slopes.get(to, 0) - power * factor
    cotangent = m.cot(m.pi * (x - m.nint(x)))
    turned = sum((factor * cotangent**power for power, factor in slopes.items()), m.zero)
    return (-1) ** n * m.psi(n, 1 - x) - m.pi ** (n + 1) * turned


@of("spherical_bessel_j0")
def spherical_bessel_j0(m: Any, x: Any) -> Any:
    return each(lambda v: m.one if m.plain(v) == 0 else m.function("sin", v) / v, x)


@of("E1")
def e1(m: Any, x: Any) -> Any:
    """The exponential integral, -Ei(-x) for positive x."""
    return each(lambda v: -m.function("Ei", -v), x)


@of("sici")
def sici(m: Any, x: Any) -> Any:
    return each(lambda v: m.function("Si", v), x), each(lambda v: m.function("Ci", v), x)


@of("shichi")
def shichi(m: Any, x: Any) -> Any:
    """By the exponential integral: Shi = (Ei(x) - Ei(-x))/2 and Chi = (Ei(x) + Ei(-x))/2, for positive x."""
    up, down = each(lambda v: m.function("Ei", v), x), each(lambda v: m.function("Ei", -v), x)
    return (up - down) / 2, (up + down) / 2
