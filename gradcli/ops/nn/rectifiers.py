"""Rectifiers: activations of pieces, linear or exponential, with PyTorch's choices at kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.elementwise import bent, extended
from gradcli.ops.elementwise.bounds import maximum
from gradcli.ops.elementwise.exponential import exp
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, less, less_equal, logical_not, logical_or, where
from gradcli.ops.elementwise.pieces import Pieces
from gradcli.ops.extended import LONG_DOUBLE, Entrywise
from gradcli.ops.facts import SAME, Choice, Function, Kink
from gradcli.ops.registry import composite, elementwise
from gradcli.ops.text import number_in_c
from gradcli.ops.writing import witness


def _below_zero_if_flat(parameter: str) -> Function:
    """Where what a parameter scales below 0 is flat: there, if it is 0."""
    return lambda out, x, **static: logical_not(greater(x, 0)) if static[parameter] == 0 else None


relu = elementwise(
    "relu", "x", lambda x: np.maximum(x, 0), lambda m, x: x if x > 0 or x != x else m.zero,
    Pieces(lambda out, x: less_equal(out, 0)),
    kind="piecewise", symbolic=lambda s, x: s.Max(x, 0), saves=("out",), ulps=0, integral=True, selects=True,
    extended=Entrywise((lambda x: np.where(x > 0, LONG_DOUBLE(1), LONG_DOUBLE(0)),)), kinks=(Kink(lambda x: x == 0, "x = 0", "0", SAME),),
    doc="x where it is positive, 0 elsewhere.", examples=("relu(x)",), as_ufunc=(maximum, 0.0),
    between=(),
    c="g_maximum({0}, 0)",
    numpy="np.maximum({0}, 0.0)",
    torch="torch.relu({0})",
)


def _hardtanh(x: Any, min_val: float, max_val: float) -> Any:
    if min_val > max_val:
        raise ArgumentError(f"hardtanh: min_val ({min_val}) must not be greater than max_val ({max_val})")
    return np.minimum(np.maximum(x, min_val), max_val)


def _hardtanh_in_jax(out: Any, x: Any, min_val: float, max_val: float) -> Any:
    """JAX has the slope 1 at both ends, but not in its relu6."""
    if (min_val, max_val) == (0, 6):
        return where(logical_or(less_equal(x, min_val), greater_equal(x, max_val)), 0.0, 1.0)
    return where(logical_or(less(x, min_val), greater(x, max_val)), 0.0, 1.0)


def _hardtanh_in_c(min_val: float, max_val: float) -> str:
    return "" if min_val > max_val else f"g_minimum(g_maximum({{0}}, {number_in_c(min_val)}), {number_in_c(max_val)})"


hardtanh = elementwise(
    "hardtanh", "x", _hardtanh,
    lambda m, x, min_val, max_val: m.one * min_val if x < min_val else m.one * max_val if x > max_val else x,
    Pieces(lambda out, x, min_val, max_val: logical_or(less_equal(x, min_val), greater_equal(x, max_val))),
    kind="piecewise", static={"min_val": -1.0, "max_val": 1.0}, saves=("x",), ulps=0, extended=extended.HARDTANH,
    kinks=(Kink(lambda x, min_val, max_val: x in (min_val, max_val), "x = min_val or x = max_val", "0", Choice("1", (_hardtanh_in_jax,))),),
    wider=bent.hardtanh,
    doc="x limited to the range from min_val to max_val; the derivative is 0 at both.", examples=("hardtanh(x)",),
    rounds=lambda m, out, x, min_val, max_val: m.where(m.equal(out, x), 0.0, m.abs(out)),  # that of its ends
    between=(),
    c=_hardtanh_in_c,
    numpy=lambda shapes, min_val, max_val: f"np.clip({{0}}, {min_val!r}, {max_val!r})",
)
relu6 = composite(
    "relu6", "x", lambda x: hardtanh(x, min_val=0.0, max_val=6.0), kinks=hardtanh.kinks,
    doc="x limited to the range from 0 to 6; the derivative is 0 at both.",
)
hardsigmoid = elementwise(
    "hardsigmoid", "x", lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda m, x: m.zero if x <= -3 else m.one if x >= 3 else (x + 3) / 6,
    Pieces(lambda out, x: logical_or(less_equal(x, -3), greater_equal(x, 3)), lambda out, x: where(equal(x, x), 1.0, x) / 6),
    kind="piecewise", saves=("x",), extended=extended.HARDSIGMOID,
    kinks=(Kink(lambda x: x in (-3, 3), "x = -3 or x = 3", "0", SAME),),
    doc="x/6 + 1/2, limited to the range from 0 to 1. (PyTorch rounds the slope 1/6 to float32.)", ulps=2,
    between=(),
    c="(g_minimum(g_maximum({0} + 3, 0), 6) / 6)",
    numpy="(np.clip({0:sum} + 3.0, 0.0, 6.0) / 6.0)",
)
hardswish = elementwise(
    "hardswish", "x", lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda m, x: m.zero if x <= -3 else x if x >= 3 else x * (x + 3) / 6,
    Pieces(lambda out, x: less_equal(x, -3), lambda out, x: where(greater_equal(x, 3), 1.0, (2 * x + 3) / 6)),
    kind="piecewise", saves=("x",), extended=extended.HARDSWISH,
    kinks=(Kink(lambda x: x in (-3, 3), "x = -3 or x = 3", "0 at -3 and 1 at 3", SAME),),
    doc="x*hardsigmoid(x).", ulps=3,
    between=(-1.5,),
    c="g_hardswish({0})",
    numpy="({0:atom} * np.clip({0:sum} + 3.0, 0.0, 6.0) / 6.0)",
)
def _leaky_in_jax(out: Any, x: Any, negative_slope: float) -> Any:
    return where(less(x, 0), negative_slope, 1.0)


leaky_relu = elementwise(
    "leaky_relu", "x", lambda x, negative_slope: np.where(np.greater(x, 0), x, x * negative_slope)[()],
    lambda m, x, negative_slope: x if x > 0 else x * negative_slope,
    Pieces(_below_zero_if_flat("negative_slope"), lambda out, x, negative_slope: where(greater(x, 0), 1.0, negative_slope)),
    kind="piecewise", static={"negative_slope": 0.01}, saves=("x",), algebraic=True, extended=extended.LEAKY,
    kinks=(Kink(lambda x, **_: x == 0, "x = 0", "negative_slope", Choice("1", (_leaky_in_jax,))),),
    wider=bent.leaky_relu,
    doc="x where it is positive, negative_slope*x elsewhere.", examples=("leaky_relu(x, 0.1)",),
    between=(0.0,),
    c=lambda negative_slope: f"g_leaky({{0}}, {number_in_c(negative_slope)})",
    numpy=lambda shapes, negative_slope: f"np.where({{0:atom}} > 0, {{0}}, {{0:atom}} * {negative_slope!r})",
)


def _exponential_below(scale: float, alpha: float, x: Any, width: float = 1.0) -> Any:
    """scale*x above 0, and alpha*(exp(x/width) - 1) below."""
    return np.where(np.greater(x, 0), x * scale, np.expm1(np.minimum(x, 0) / width if width > 0 else x / width) * alpha)[()]


def _exponential_below_in_c(scale: float, alpha: float, width: float = 1.0) -> str:
    return f"g_exponential_below({{0}}, {number_in_c(scale)}, {number_in_c(alpha)}, {number_in_c(width)})" if width else ""


elu = elementwise(
    "elu", "x", lambda x, alpha: _exponential_below(1.0, alpha, x), lambda m, x, alpha: x if x > 0 else m.expm1(x) * alpha,
    Pieces(_below_zero_if_flat("alpha"), lambda out, x, alpha: where(greater(x, 0), 1.0, exp(x) * alpha)),
    kind="piecewise", static={"alpha": 1.0}, saves=("x",), kinks=(Kink(lambda x, **_: x == 0, "x = 0", "alpha", SAME),), ulps=3,
    wider=bent.elu, extended=extended.ELU,
    doc="x where it is positive, alpha*(exp(x) - 1) elsewhere.", examples=("elu(x)",),
    between=(0.0,),
    c=lambda alpha: _exponential_below_in_c(1.0, alpha),
    numpy=lambda shapes, alpha: f"_exponential_below({{0}}, 1.0, {alpha!r}, 1.0)",
)


def _celu(x: Any, alpha: float) -> Any:
    if not alpha:
        raise ArgumentError("celu: alpha must not be 0")
    return _exponential_below(1.0, alpha, x, alpha)


celu = elementwise(
    "celu", "x", _celu, lambda m, x, alpha: x if x > 0 else m.expm1(x / alpha) * alpha,
    lambda out, x, alpha: where(greater(x, 0), 1.0, exp(x / alpha)),
    kind="piecewise", static={"alpha": 1.0}, saves=("x",), ulps=3,
    wider=bent.celu, extended=extended.CELU,
    doc="x where it is positive, alpha*(exp(x/alpha) - 1) elsewhere: elu with the slope 1 at 0.",
    between=(0.0,),
    c=lambda alpha: _exponential_below_in_c(1.0, alpha, alpha),
    numpy=lambda shapes, alpha: f"_exponential_below({{0}}, 1.0, {alpha!r}, {alpha!r})",
)
_SCALE = 1.0507009873554804934193349852946
_SLOPE = 1.6732632423543772848170429916717 * _SCALE
selu = elementwise(
    "selu", "x", lambda x: _exponential_below(_SCALE, _SLOPE, x), witness("functions.selu"),
    lambda out, x: where(greater(x, 0), _SCALE, exp(x) * _SLOPE),
    kind="piecewise", saves=("x",), ulps=3, extended=extended.SELU,
    kinks=(Kink(lambda x: x == 0, "x = 0", f"{_SLOPE}, the slope from below", SAME),),
    doc="elu with alpha and a scale that keep mean 0 and variance 1 through many layers.",
    between=(),
    c=lambda: _exponential_below_in_c(_SCALE, _SLOPE),
    numpy=lambda shapes: f"_exponential_below({{0}}, {float(_SCALE)!r}, {float(_SLOPE)!r}, 1.0)",
)
