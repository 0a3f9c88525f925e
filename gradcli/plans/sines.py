"""Sines and cosines of blocks, from tangents: NumPy's tangent runs in vector registers where its sine does not.

sin(x) = 2t/(1 + t**2) with t = tan(x/2) is well conditioned everywhere. cos(x) is the sine of pi/2 - x: with
y = pi/4 - x/2 rounded, e what rounding left of it, and t = tan(y), it is 2t/(1 + t**2) + 2e sin(x). Beside its zeros
the terms cancel: there, and where |x| is over `_FAR`, NumPy's own functions are called.

Measured against mpmath at 50 digits (tests/test_trigonometry.py repeats it), over all magnitudes and beside multiples of
pi/2: at most 4 units in the last place.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

SCRATCH = 3
_FAR = 2.0**18
_SMALL = 2.0**-18  # a cosine below is beside a zero
_QUARTER, _REST = 0.7853981633974483, 3.061616997868383e-17  # pi/4 in two parts


def sine_and_cosine(x: Any, sine: Any, cosine: Any, half: Any, size: Any, rest: Any) -> None:
    """The sine and the cosine of x into arrays (either may be None), with three buffers of x's shape."""
    if not (np.maximum.reduce(x, None) < _FAR and np.minimum.reduce(x, None) > -_FAR):  # also for NaN
        if sine is not None:
            np.sin(x, sine)
        if cosine is not None:
            np.cos(x, cosine)
        return
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


@cache
def pays() -> bool:
    """Whether this is faster than NumPy's own functions here: where its tangent has a loop for the processor's vector registers.

    That is so where AVX-512 is, and nowhere else so far: the loops of sines and cosines take five times longer there, elsewhere as
    long as tangents. What NumPy reports decides, not a clock: on one machine the same numbers give the same bits at all times.
    """
    from numpy.lib import introspect

    loops = introspect.opt_func_info(func_name="^tan$", signature="float64")
    targets = [loop.get("current") or "baseline" for signatures in loops.values() for loop in signatures.values()]
    return bool(targets) and not any(target.startswith("baseline") for target in targets)
