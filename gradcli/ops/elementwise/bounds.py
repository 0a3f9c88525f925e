"""Values held to bounds: the larger and the smaller of two, and values limited to a range."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gradcli.ops import extended
from gradcli.ops.elementwise.logic import Pieces, equal, greater, greater_equal, isnan, less, less_equal, logical_and, logical_or, where
from gradcli.ops.extended import Entrywise
from gradcli.ops.registry import SAME, Choice, Function, Kink, Op, declare, function, piecewise


def _extreme(name: str, sympy: str, ufunc: np.ufunc, wins: Function, beyond: Op, behind: Op, **record: Any) -> Op:
    """The one of two values that lies beyond the other one."""

    def slope(out: Any, x: Any, y: Any) -> Any:
        return where(equal(x, y), 0.5, 1.0)

    return piecewise(
        name, "x y", ufunc, lambda m, x, y: x + y if x != x or y != y else x if wins(x, y) else y,
        Pieces(lambda out, x, y: behind(x, y), slope), Pieces(lambda out, x, y: beyond(x, y), slope),
        symbolic=lambda s, x, y: getattr(s, sympy)(x, y), saves="x y", dtype="number", algebra="extreme", ulps=0,
        kinks=Kink(lambda x, y: x == y, "x = y", "half to each operand", SAME),
        extended=Entrywise((lambda x, y: wins(x, y) + (x == y) * 0.5, lambda x, y: wins(y, x) + (x == y) * 0.5)),
        carries=((), ()), **record,
    )  # fmt: skip


maximum = _extreme(
    "maximum", "Max", np.maximum, operator.gt, greater, less, doc="The larger of two values; NaN if either is. >>> maximum(0, 1 - x)",
)  # fmt: skip
minimum = _extreme(
    "minimum", "Min", np.minimum, operator.lt, less, greater, doc="The smaller of two values; NaN if either is. >>> minimum(x, 1)",
)  # fmt: skip


def _clip_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    inside: Any = True
    if low is not None:
        inside = greater_equal(x, low)
    if high is not None:
        inside = logical_and(inside, less_equal(x, high)) if low is not None else less_equal(x, high)
    below = above = None
    if low is not None and wanted[1]:
        below = where(less(x, low) if high is None else logical_and(less(x, low), less(low, high)), cotangent, 0.0)
    if high is not None and wanted[2]:
        above = where(greater(x, high) if low is None else logical_or(greater(x, high), less(high, low)), cotangent, 0.0)
    return where(inside, cotangent, 0.0) if wanted[0] else None, below, above


def _clip_jax_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    """JAX's clip is minimum(maximum(x, low), high), whose ties are shared."""
    raised = x if low is None else maximum(x, low)
    inner = cotangent if high is None else cotangent * _share(less(raised, high), equal(raised, high))
    to_x = inner if low is None else inner * _share(greater(x, low), equal(x, low))
    return to_x, None if low is None else inner - to_x, None if high is None else cotangent - inner


def _share(wins: Any, ties: Any) -> Any:
    return where(wins, 1.0, where(ties, 0.5, 0.0))


def _clip(x: Any, low: Any, high: Any) -> Any:
    bounded = x if low is None else np.maximum(x, low)
    return bounded if high is None else np.minimum(bounded, high)


def _clip_reference(m: Any, x: Any, low: Any, high: Any) -> Any:
    if low is not None and low > x:
        x = low
    return high if high is not None and high < x else x


clip = piecewise(
    "clip clamp",
    "x low? high?",
    _clip,
    _clip_reference,
    vjp=_clip_vjp,
    extended=extended.CLIP,
    symbolic=lambda s, x, low, high: s.Min(s.Max(x, -s.oo if low is None else low), s.oo if high is None else high),
    kinks=Kink(
            lambda x, low, high: x in (low, high), "x = low or x = high", "1 for x (PyTorch's clamp)", Choice("1/2 for x", _clip_jax_vjp)
        ),
    saves="x low high",
    dtype="number",
    backward="Clamp", doc="x limited to the range from low to high; either bound may be None. >>> clip(x, -1, 1)",
    ulps=0,
    carries=((), (), ()),
    c={
        (True, True, True): "g_minimum(g_maximum({0}, {1}), {2})", (True, True, False): "g_maximum({0}, {1})",
        (True, False, True): "g_minimum({0}, {1})", (True, False, False): "({0})",
    },
    numpy={
        (True, True, True): "np.clip({0}, {1}, {2})",
        (True, True, False): "np.maximum({0}, {1})",
        (True, False, True): "np.minimum({0}, {1})",
    },
)


@function(kinks=Kink(lambda x, low: x == low, "x = min", "1 for x"))
def clamp_min(x: Any, min: Any) -> Any:
    """x, or min where x is below it."""
    return clip(x, min, None)


@function(kinks=Kink(lambda x, high: x == high, "x = max", "1 for x"))
def clamp_max(x: Any, max: Any) -> Any:
    """x, or max where x is above it."""
    return clip(x, None, max)


@function()
def fmax(x: Any, y: Any) -> Any:
    """The larger of two values, ignoring NaN; of equal ones the first, which gets the gradient.

    >>> fmax(x, 0)
    """
    return where(logical_or(greater_equal(x, y), isnan(y)), x, y)


@function()
def fmin(x: Any, y: Any) -> Any:
    """The smaller of two values, ignoring NaN; of equal ones the first, which gets the gradient."""
    return where(logical_or(less_equal(x, y), isnan(y)), x, y)


declare("""
    numpy:
        clip(x, low|a_min|min, high|a_max|max, -out)
        clamp = clip(x, low|min, high|max)
    torch:
        clip clamp = clip(x, low|min, high|max)
""")
