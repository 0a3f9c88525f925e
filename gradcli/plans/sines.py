"""Sines and cosines of blocks by tangents, where NumPy has a loop for these in vector registers and none for sines.

sin(x) = 2t/(1 + t**2) with t = tan(x/2) is well conditioned everywhere. cos(x) is the sine of pi/2 - x: with y = pi/4 - x/2 rounded,
e what rounding left of it, and t = tan(y), it is 2t/(1 + t**2) + 2e sin(x). Beside its zeros the terms cancel: there, and where
arguments are too large, NumPy's own function is called, so that an entry's result is the same in any block.

Measured against balls of 400 bits, over all magnitudes and beside multiples of pi/2: at most 4 units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_SMALL = 2.0**-18  # a cosine below is beside a zero
_QUARTER, _REST = 0.7853981633974483, 3.061616997868383e-17  # pi/4 in two parts
_FAR = 2.0**18


def faster(ufunc: Any) -> Callable[[Any, Any], Any] | None:
    """Return what computes NumPy's sine or cosine of doubles into an array in less time here; None for all else."""
    return {np.sin: sine, np.cos: cosine}.get(ufunc) if _has_vectors() else None


@cache
def _has_vectors() -> bool:
    """Return whether NumPy has a loop of tangents in vector registers, as with AVX-512: what it reports decides, not a clock."""
    from numpy.lib import introspect

    loops = introspect.opt_func_info(func_name="^tan$", signature="float64")
    targets = [loop.get("current") or "baseline" for signatures in loops.values() for loop in signatures.values()]
    return bool(targets) and not any(target.startswith("baseline") for target in targets)


def sine(x: Any, out: Any) -> None:
    x = _apart(x, out)
    np.multiply(x, 0.5, out)
    np.tan(out, out)
    size = np.square(out)
    np.add(size, 1.0, size)
    np.divide(out, size, out)
    np.add(out, out, out)
    _as_numpy(np.sin, x, out, np.abs(x, size) < _FAR)


def cosine(x: Any, out: Any) -> None:
    x = _apart(x, out)
    half = np.multiply(x, 0.5)
    np.subtract(_QUARTER, half, out)
    rest = np.add(out, half)
    np.subtract(_QUARTER, rest, rest)  # exact near every zero of the cosine (T. J. Dekker, 1971: fast two-sum)
    np.add(rest, _REST, rest)
    np.tan(out, out)
    size = np.square(out)
    np.add(size, 1.0, half)
    np.subtract(1.0, size, size)
    np.multiply(rest, np.divide(size, half, size), rest)
    np.divide(out, half, out)
    np.add(out, rest, out)
    np.add(out, out, out)
    _as_numpy(np.cos, x, out, (np.abs(x, size) < _FAR) & (np.abs(out, half) > _SMALL))


def _apart(x: Any, out: Any) -> Any:
    """Return the arguments, copied where the results will overwrite them: they are needed again at the end."""
    return x.copy() if np.may_share_memory(x, out) else x


def _as_numpy(function: Any, x: Any, out: Any, near: Any) -> None:
    """Compute by NumPy what is not near."""
    if not near.all():
        out[~near] = function(x[~near])
