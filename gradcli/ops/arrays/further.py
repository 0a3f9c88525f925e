"""Further functions of sampled values and of polynomials: unwrapped angles, differences in a row, products, derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.differences import diff
from gradcli.ops.arrays.sequences import convolve
from gradcli.ops.arrays.shapes import getitem, reshape
from gradcli.ops.elementwise.arithmetic import abs_, remainder
from gradcli.ops.elementwise.logic import equal, greater, isnan, less, logical_and, where
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import AXES, max_, min_, prod, sum_
from gradcli.ops.registry import composite
from gradcli.ops.room import nodes_for, room_for
from gradcli.ops.structure import detach


def _unwrap(p: Any, discont: Any, axis: int, period: float) -> Any:
    steps = diff(p, n=1, axis=axis)
    half = period / 2
    turned = remainder(steps + half, period) - half
    turned = where(logical_and(equal(turned, -half), greater(steps, 0)), half, turned)
    jumps = half if discont is None else max(discont, half)
    corrections = where(less(abs_(steps), jumps), 0.0, turned - steps)
    axis = axis % len(p.shape)
    before = ((None, None, None),) * axis
    first = getitem(p, index=(*before, (0, 1, None)))
    rest = getitem(p, index=(*before, (1, None, None))) + detach(cumsum(corrections, axis=axis))
    return concatenate(first, rest, axis=axis)


def _nan_extreme(name: str) -> Any:
    reduce, worst = (max_, -math.inf) if name == "nanmax" else (min_, math.inf)

    def body(x: Any, axis: Any, keepdims: bool) -> Any:
        none = equal(sum_(where(isnan(x), 0.0, 1.0), axis=axis, keepdims=keepdims), 0)
        return where(none, math.nan, reduce(where(isnan(x), worst, x), axis=axis, keepdims=keepdims))

    return body


def _vector(p: Any) -> Any:
    return reshape(p, shape=(1,)) if not p.shape else p


def _added(sign: float) -> Any:
    def body(a: Any, b: Any) -> Any:
        a, b = _vector(a), _vector(b)
        n = max(a.shape[0], b.shape[0])
        longer = [v if v.shape[0] == n else concatenate(np.zeros(n - v.shape[0]), v, axis=0) for v in (a, b)]
        return longer[0] + longer[1] if sign > 0 else longer[0] - longer[1]

    return body


def _polyder(p: Any, m: int) -> Any:
    if m < 0:
        raise ArgumentError("polyder: the order of the derivative must be at least 0")
    nodes_for(2 * min(m, p.shape[0]), "polyder")
    for _ in range(min(m, p.shape[0])):
        n = p.shape[0]
        p = getitem(p, index=((0, n - 1, None),)) * np.arange(n - 1.0, 0.0, -1.0)
    return p


def _polyint(p: Any, m: int) -> Any:
    nodes_for(2 * m, "polyint")
    room_for(m, p.shape[0] + m)  # numbers to divide by
    for _ in range(m):
        p = concatenate(p / np.arange(float(p.shape[0]), 0.0, -1.0), np.zeros(1), axis=0)
    return p


unwrap = composite(
    "unwrap", "p", _unwrap, static={"discont": None, "axis": -1, "period": 2 * math.pi}, examples=("unwrap([0.5, 6.5, 12.7])",),
    doc="Angles along an axis, moved by periods so that no step is larger than half of one.",
)  # fmt: skip
for _name, _what in (("nanmax", "largest"), ("nanmin", "smallest")):
    composite(_name, "x", _nan_extreme(_name), static=AXES, doc=f"The {_what} of the entries that are numbers; NaN where none is.")
composite(
    "nanprod", "x", lambda x, axis, keepdims: prod(where(isnan(x), 1.0, x), axis=axis, keepdims=keepdims), static=AXES,
    doc="The product of the entries that are numbers.",
)  # fmt: skip
composite("ediff1d", "x", lambda x: diff(reshape(x, shape=(-1,)), n=1, axis=0),
    doc="The differences of neighbours among all entries, in a row.")
composite(
    "polymul", "a b", lambda a, b: convolve(_vector(a), _vector(b), mode="full"),
    doc="The product of two polynomials, the highest coefficients first.",
)  # fmt: skip
composite("polyadd", "a b", _added(1.0), doc="The sum of two polynomials, the highest coefficients first.")
composite("polysub", "a b", _added(-1.0), doc="The difference of two polynomials, the highest coefficients first.")
composite("polyder", "p", _polyder, static={"m": 1}, doc="The m-th derivative of a polynomial, the highest coefficient first.")
composite("polyint", "p", _polyint, static={"m": 1}, doc="A polynomial integrated m times, the highest coefficient first, constants 0.")
