"""Sines and cosines of blocks by few calls of NumPy, whose own take a call of the C library for each entry.

By tangents, where NumPy has a loop for them in vector registers: sin(x) = 2t/(1 + t**2) with t = tan(x/2) is well conditioned
everywhere. cos(x) is the sine of pi/2 - x: with y = pi/4 - x/2 rounded, e what rounding left of it, and t = tan(y), it is
2t/(1 + t**2) + 2e sin(x). Beside its zeros the terms cancel: there NumPy's own function is called.

By a table elsewhere: x is a multiple of pi/512 and a rest r. The multiple is taken off in three parts of pi/512, whose products with
it are exact but for the last (W. J. Cody and W. Waite, 1980); its sine S and cosine C are looked up; and with q = tan(r/2)
sin(x) = S + sin(r)(C - qS) and cos(x) = C - sin(r)(S + qC), where sin(r) and q are Taylor's polynomials, whose next terms are below
2e-19 of sin(r) and 4e-13 of q, which is multiplied by r.

Arguments too large for either go to NumPy's functions one by one, so that an entry's result is the same in any block.

Measured against balls of 400 bits (tests/test_trigonometry.py repeats it), over all magnitudes and beside multiples of pi/2: at most
4 units in the last place by tangents, and 2 by the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

SCRATCH = 4  # buffers for both ways
_SMALL = 2.0**-18  # a cosine below is beside a zero
_QUARTER, _REST = 0.7853981633974483, 3.061616997868383e-17  # pi/4 in two parts

TURN = 1024  # entries of the table: r is so small that two terms are enough, and both tables fit into a first-level cache
_PI = Fraction(0x3243F6A8885A308D313198A2E03707344A4093822299F31D008, 1 << 200)
TABLE_FAR = 6144.0  # multiples below have 20 bits, as many as the first two parts of pi/512 leave of a float's 53
TANGENTS_FAR = 2.0**18
_MAGIC = np.array(1.5 * 2.0**52)  # added, it leaves the nearest whole number in the last bits

Way = Callable[..., None]


@cache
def way() -> Way:
    """The faster of both here: tangents where NumPy has a loop for the processor's vector registers, which is so with AVX-512.

    What NumPy reports decides, not a clock: on one machine the same numbers give the same bits at all times.
    """
    from numpy.lib import introspect

    loops = introspect.opt_func_info(func_name="^tan$", signature="float64")
    targets = [loop.get("current") or "baseline" for signatures in loops.values() for loop in signatures.values()]
    in_vectors = bool(targets) and not any(target.startswith("baseline") for target in targets)
    return by_tangents if in_vectors else by_table


def by_tangents(x: Any, sine: Any, cosine: Any, half: Any, size: Any, rest: Any, _: Any) -> None:
    """The sine and the cosine of x into arrays (either may be None), with buffers of x's shape."""
    np.multiply(x, 0.5, half)
    if sine is not None:
        np.tan(half, sine)
        np.square(sine, size)
        np.add(size, 1.0, size)
        np.divide(sine, size, sine)
        np.add(sine, sine, sine)
    if cosine is not None:
        np.subtract(_QUARTER, half, cosine)
        np.add(cosine, half, rest)
        np.subtract(_QUARTER, rest, rest)  # exact near every zero of the cosine (T. J. Dekker, 1971: fast two-sum)
        np.add(rest, _REST, rest)
        np.tan(cosine, cosine)
        np.square(cosine, size)
        np.add(size, 1.0, half)
        if sine is None:
            np.subtract(1.0, size, size)
            np.divide(size, half, size)
        np.multiply(rest, size if sine is None else sine, rest)
        np.divide(cosine, half, cosine)
        np.add(cosine, rest, cosine)
        np.add(cosine, cosine, cosine)
        if not np.abs(cosine, half).min() > _SMALL:
            beside = half <= _SMALL
            cosine[beside] = np.cos(x[beside])
    _far(x, sine, cosine, TANGENTS_FAR, half)


def by_table(x: Any, sine: Any, cosine: Any, n: Any, index: Any, r: Any, other: Any) -> None:
    """The sine and the cosine of x into arrays (either may be None), with buffers of x's shape."""
    sines, cosines, by_step, mask, parts, terms = _table()
    a = other if sine is None else sine
    b = other if cosine is None else cosine
    index = index.view(np.int64)
    np.multiply(x, by_step, n)
    np.add(n, _MAGIC, n)
    np.bitwise_and(n.view(np.int64), mask, index)
    np.subtract(n, _MAGIC, n)
    np.multiply(n, parts[0], a)
    np.subtract(x, a, r)
    np.multiply(n, parts[1], a)
    np.subtract(r, a, r)
    np.multiply(n, parts[2], a)  # counts only beside multiples of pi/2: in the end, then, not in the polynomials
    z = np.square(r, n)
    np.multiply(z, terms[0], b)
    np.subtract(b, terms[1], b)
    np.multiply(b, z, b)
    np.multiply(b, r, b)
    np.subtract(a, b, a)  # in this order a zero keeps its sign
    np.subtract(r, a, a)  # the sine of the rest
    np.multiply(z, terms[2], z)
    np.add(z, terms[3], z)
    q = np.multiply(z, r, z)
    sines.take(index, out=r, mode="clip")
    cosines.take(index, out=b, mode="clip")
    if sine is not None:
        size = np.multiply(q, r, index.view(np.float64))
        np.subtract(b, size, size)
        np.multiply(size, a, size)
    if cosine is not None:
        np.multiply(q, b, q)
        np.add(q, r, q)
        np.multiply(q, a, q)
        np.subtract(b, q, cosine)
    if sine is not None:
        np.add(r, size, sine)
    _far(x, sine, cosine, TABLE_FAR, n)


def _far(x: Any, sine: Any, cosine: Any, limit: float, size: Any) -> None:
    """NumPy's own results where the argument is not within a limit."""
    if np.maximum.reduce(x, None) < limit and np.minimum.reduce(x, None) > -limit:  # not so for NaN
        return
    beyond = ~(np.abs(x, size) < limit)
    for target, function in ((sine, np.sin), (cosine, np.cos)):
        if target is not None:
            target[beyond] = function(x[beyond])


@cache
def _table() -> tuple[Any, ...]:
    """Sines and cosines of multiples of pi/512, its inverse, what is left of multiples in a turn, its parts, coefficients of Taylor."""
    step = 2 * _PI / TURN
    quarter = TURN // 4
    rising = [float(_sine(step * k)) for k in range(quarter + 1)]
    sines = np.array([*rising, *rising[-2:0:-1], *[-s for s in rising], *[-s for s in rising[-2:0:-1]]])
    cosines = np.roll(sines, -quarter)
    sines[0] = -0.0  # which a zero of either sign outlives
    parts = []
    for bits in (33, 33, 53):
        parts.append(np.array(float(_rounded_down(step, bits))))
        step -= Fraction(float(parts[-1]))
    terms = [np.array(float(Fraction(1, n))) for n in (120, 6, 24, 2)]
    return sines, cosines, np.array(float(TURN / (2 * _PI))), np.array(TURN - 1), parts, terms


def _rounded_down(number: Fraction, bits: int) -> Fraction:
    """A positive number in binary, to so many places."""
    unit = Fraction(2) ** (math.frexp(number)[1] - bits)
    return number // unit * unit


def _sine(x: Fraction) -> Fraction:
    """To some 60 digits, by Taylor's series in numbers of 200 bits."""
    unit = 1 << 200
    fixed = int(x * unit)
    square = fixed * fixed // unit
    total = term = fixed
    for n in range(2, 44, 2):
        term = -term * square // unit // (n * (n + 1))
        total += term
    return Fraction(total, unit)
