"""Reductions as NumPy's keywords widen them: of the entries where a mask holds, beginning with a number, around a given mean.

Each is what the operation of its name is, made of operations, for calls with ``where``, ``initial`` or ``mean``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.elementwise.arithmetic import abs_, sign, square
from gradcli.ops.elementwise.bounds import minimum
from gradcli.ops.elementwise.exponential import exp, log, sqrt
from gradcli.ops.elementwise.logic import equal, isfinite, isnan, less_equal, logical_and, logical_not, where
from gradcli.ops.facts import Function
from gradcli.ops.reductions.along import count, reduced
from gradcli.ops.registry import is_number
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach


def is_truth(mask: Any) -> bool:
    """Whether a mask is one, whatever carries it."""
    kind = getattr(mask, "kind", None)
    if isinstance(kind, str):
        return kind == "bool"
    array = getattr(mask, "array", mask)
    return bool(np.asarray(array).dtype.kind == "b")


def mask_for(name: str, x: Any, mask: Any) -> Any:
    """A mask in the shape of x."""
    if not is_truth(mask):
        raise TypeMismatchError(f"{name}: where must be booleans, such as x > 0")
    shape = tuple(x.shape)
    try:
        fits = np.broadcast_shapes(shape, tuple(mask.shape)) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{name}: a mask of shape {tuple(mask.shape)} does not fit an array of shape {shape}")
    return broadcast_to(mask, shape=shape) if tuple(mask.shape) != shape else mask


def _number(name: str, initial: Any) -> Any:
    if tuple(initial.shape):
        raise ShapeError(f"{name}: initial must be a number, not an array of shape {tuple(initial.shape)}")
    return initial


def _kept(name: str, x: Any, mask: Any, otherwise: float) -> Any:
    return x if mask is None else where(mask_for(name, x, mask), x, otherwise)


def how_many(name: str, x: Any, mask: Any, axis: Any, keepdims: bool, total: Function) -> Any:
    """How many entries a mask keeps."""
    return total(where(mask_for(name, x, mask), 1.0, 0.0), axis=axis, keepdims=keepdims)


def begun(name: str, reduce: Any, unit: float, combine: Function) -> Function:
    """A sum or a product of the chosen entries and a first number."""

    def body(x: Any, mask: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
        result = reduce(_kept(name, x, mask, unit), axis=axis, keepdims=keepdims)
        return result if initial is None else combine(result, _number(name, initial))

    return body


def extreme(name: str, reduce: Any, lowest: float, combine: Op) -> Function:
    """The largest (or smallest) of the chosen entries and a first number."""

    def body(x: Any, mask: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
        if initial is None:
            raise ArgumentError(f"{name} of the entries where a mask holds needs initial=, its value where there are none")
        start = _number(name, initial)
        if not count(tuple(x.shape), axis):
            return broadcast_to(start, shape=reduced(tuple(x.shape), axis, keepdims))
        return combine(reduce(_kept(name, x, mask, lowest), axis=axis, keepdims=keepdims), start)

    return body


def average(name: str, total: Function) -> Function:
    """The mean of the chosen entries."""

    def body(x: Any, mask: Any, axis: Any, keepdims: bool) -> Any:
        chosen = total(_kept(name, x, mask, 0.0), axis=axis, keepdims=keepdims)
        return chosen / how_many(name, x, mask, axis, keepdims, total)

    return body


def around(name: str, total: Function, length: Function, root: bool, without_nan: bool = False) -> Function:
    """The variance (or its root) of the chosen entries, around their mean or one that is given."""

    def body(x: Any, mask: Any, mean: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
        chosen = None if mask is None else mask_for(name, x, mask)
        if without_nan:
            number = logical_not(isnan(x))
            chosen = number if chosen is None else logical_and(chosen, number)
        kept = x if chosen is None else where(chosen, x, 0.0)
        n = count(tuple(x.shape), axis) if chosen is None else total(where(chosen, 1.0, 0.0), axis=axis, keepdims=True)
        centre = total(kept, axis=axis, keepdims=True) / n if mean is None else _centre(name, x, mean)
        apart = kept - centre
        apart = apart if chosen is None else where(chosen, apart, 0.0)
        result = length(apart, axis=axis, keepdims=keepdims) if root else total(square(apart), axis=axis, keepdims=keepdims)
        if chosen is None and is_number(ddof):
            size = np.float64(max(n - ddof, 0))
            return result / (np.sqrt(size) if root else size)
        left = n - ddof
        left = left if chosen is None else reshape(left, shape=tuple(result.shape))
        left = where(less_equal(left, 0), math.nan if without_nan else 0.0, left)
        return result / (sqrt(left) if root else left)

    return body


def _centre(name: str, x: Any, mean: Any) -> Any:
    try:
        fits = np.broadcast_shapes(tuple(x.shape), tuple(mean.shape)) == tuple(x.shape)
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: a mean of shape {tuple(mean.shape)} does not fit an array of shape {tuple(x.shape)}",
            help="mean(..., keepdims=True) keeps its axes",
        )
    return mean


_LARGEST_EXPONENT = 709.0  # whose exponential is finite


def log_of_scaled_sum(total: Function, plain: Function, largest: Function) -> Function:
    """log(sum(b*exp(x))) without overflow, and the sign of the sum: what has the factor 0 counts for nothing, however large."""

    def body(x: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
        if b is None and not return_sign:
            return plain(x, axis=axis, keepdims=keepdims)
        if b is not None:
            shape = np.broadcast_shapes(tuple(x.shape), tuple(b.shape))
            x, b = (v if tuple(v.shape) == shape else broadcast_to(v, shape=shape) for v in (x, b))
        counted = x if b is None else where(equal(b, 0), -math.inf, x)
        top = largest(counted, axis=axis, keepdims=True)
        top = detach(where(isfinite(top), top, 0.0))  # moving it changes nothing
        above = x - top
        if b is not None:
            above = where(equal(b, 0), minimum(above, _LARGEST_EXPONENT), above)
        scaled = total(exp(above) if b is None else b * exp(above), axis=axis, keepdims=True)
        size = reshape(log(abs_(scaled) if return_sign else scaled) + top, shape=reduced(tuple(x.shape), axis, keepdims))
        return (size, sign(reshape(scaled, shape=tuple(size.shape)))) if return_sign else size

    return body
