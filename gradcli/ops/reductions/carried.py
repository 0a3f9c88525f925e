"""How errors carry through reductions and running sums and products, and what these round themselves, in whole arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.carrying import on_arrays
from gradcli.ops.writing import Shape, axes_of

# -- What reducing along axes leaves: its shape, and how many entries go into one ------------------


def reduced(shape: Shape, axis: Any = None, keepdims: bool = False, **_: Any) -> Shape:
    """The shape that a reduction leaves."""
    axes = axes_of(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def count(shape: Shape, axis: Any) -> int:
    """How many entries go into one entry of the result."""
    return math.prod(shape[a] for a in axes_of(axis, len(shape)))


_PAIRWISE = 24  # additions that an entry goes through in a sum by pairs, beside two for each doubling
_BLOCK = 8_192  # entries that plans add up at a time


def additions(x: Any, terms: float, *, whole: bool) -> float:
    """How many partial sums an entry may go through in a sum of so many: by pairs in memory that is in one piece, else in any order.

    whole  whether all entries are added up
    """
    if whole and terms > 1 and in_one_piece(x):
        return min(terms, _PAIRWISE + 2 * math.log2(terms) + terms / _BLOCK)
    return terms


def in_one_piece(x: Any) -> bool:
    """Return whether an array is without gaps; of a node, whether its value will be: what is computed entry by entry, and what is given."""
    if isinstance(x, np.ndarray):
        return bool(x.flags.c_contiguous or x.flags.f_contiguous)
    op = getattr(x, "op", None)
    return op is None or bool(op.elementwise)


def _along(x: Any, axis: Any) -> float:
    terms = count(np.shape(x), axis)
    return additions(x, terms, whole=terms == math.prod(x.shape))


def softmax(m: Any, out: Any, x: Any, e: Any, axis: Any) -> Any:
    """Each exponential moves by a factor of at most exp(e), and so does their sum."""
    grown = m.expm1(m.filled(e, x))
    total = m.sum(out * grown, axis=axis, keepdims=True)
    return out * (grown + total + grown * total)


def log_softmax(m: Any, out: Any, x: Any, e: Any, axis: Any) -> Any:
    return e + m.log1p(m.sum(m.exp(out) * m.expm1(m.filled(e, x)), axis=axis, keepdims=True))


def _apart(m: Any, x: Any, axis: Any) -> Any:
    return x - m.max(x, axis=axis, keepdims=True)


def _far(m: Any, apart: Any) -> Any:
    """How far an exponent is from the largest; beyond, its exponential is 0."""
    return m.minimum(m.abs(apart), 800.0)


def _weighted(m: Any, apart: Any, axis: Any) -> Any:
    """How far exponents are from their largest, each as much as its exponential counts in the sum."""
    raised = m.exp(apart)
    return m.sum(raised * _far(m, apart), axis=axis, keepdims=True) / m.sum(raised, axis=axis, keepdims=True)


def softmax_rounds(m: Any, out: Any, x: Any, axis: Any) -> Any:
    apart = _apart(m, x, axis)
    return out * (16 + _along(x, axis) + _far(m, apart) + _weighted(m, apart, axis))


def log_softmax_rounds(m: Any, out: Any, x: Any, axis: Any) -> Any:
    apart = _apart(m, x, axis)
    total = m.abs(apart - out)  # log1p of the sum of all others, each of which counts by how far it is
    return 2 * m.abs(apart) + m.abs(out) + total * (32 + _along(x, axis)) + m.minimum(total, 1.0) * _farthest(m, apart, axis)


def _farthest(m: Any, apart: Any, axis: Any) -> Any:
    """As `_weighted`, among all but the largest."""
    raised = m.where(m.less(apart, 0.0), m.exp(apart), 0.0)
    total = m.sum(raised, axis=axis, keepdims=True)
    return m.sum(raised * _far(m, apart), axis=axis, keepdims=True) / m.maximum(total, 1e-300) + 1.0


def logsumexp_rounds(m: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    top = m.max(x, axis=axis, keepdims=keepdims)
    if not keepdims:
        weighted = m.sum(_weighted(m, _apart(m, x, axis), axis), axis=axis, keepdims=False)
    else:
        weighted = _weighted(m, _apart(m, x, axis), axis)
    return 2 * m.abs(out) + 2 * m.abs(top) + 16 + _along(x, axis) + weighted


@on_arrays
def logcumsumexp_rounds(m: Any, out: Any, x: Any, axis: Any) -> Any:
    """Each step's own, and of those before it as much as their exponentials count."""
    if not np.ndim(out):
        return 0.0 * out
    along = np.moveaxis(np.where(np.isfinite(out), out, -1e300), axis, 0)
    found = 16 * (np.where(along > -1e300, np.abs(along), 0.0) + 2)
    for i in range(1, len(found)):
        found[i] += found[i - 1] * np.exp(np.minimum(along[i - 1] - along[i], 0.0))
    return np.moveaxis(found, 0, axis)


def _root_mean_square(m: Any, e: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    left = count(x.shape, axis) - ddof
    return m.sqrt(m.sum(m.square(m.filled(e, x)), axis=axis, keepdims=keepdims) / left) if left > 0 else math.inf


def var(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    """Its square root is a norm of the deviations."""
    moved = _root_mean_square(m, e, x, axis, keepdims, ddof)
    return (2 * m.sqrt(m.abs(out)) + moved) * moved


def std(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    return _root_mean_square(m, e, x, axis, keepdims, ddof)


def _var_off(m: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> tuple[Any, Any]:
    """Return what sums round, relative to the variance, and what the mean's own error adds to it: its square, since deviations cancel."""
    terms, added = count(x.shape, axis), _along(x, axis)
    largest = m.max(m.abs(x), axis=axis, keepdims=keepdims)
    off = m.square((added + 2) * m.unit * largest) * (terms / (terms - ddof) if terms > ddof else 1.0)
    return added + 8, off


def var_rounds(m: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    relative, off = _var_off(m, out, x, axis, keepdims, ddof)
    return m.abs(out) * relative + off / m.unit


def std_rounds(m: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    relative, off = _var_off(m, out, x, axis, keepdims, ddof)
    return m.abs(out) * (relative + 2) + m.where(m.less(m.sqrt(off), m.abs(out)), off / m.maximum(m.abs(out), 1e-300), m.sqrt(off)) / m.unit


def norm(m: Any, out: Any, x: Any, e: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """A norm moves by no more than that of the errors; other orders rise with the size of every entry."""
    errors = m.filled(e, x)
    if ord is None or ord >= 1:
        return m.at(errors)
    size = m.abs(x)
    if ord == 0:
        return m.sum(m.where(m.logical_and(m.less_equal(size, errors), m.greater(errors, 0.0)), 1.0, 0.0), axis=axis, keepdims=keepdims)
    high, low = m.at(size + errors), m.at(m.maximum(size - errors, 0.0))
    return m.maximum(high - out, out - low) + norm_rounds(m, high, x, ord, axis, keepdims) * (3 * m.unit)


def norm_rounds(m: Any, out: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord == 0 or (ord is not None and math.isinf(ord)):
        return 0.0 * out
    return m.abs(out) * ((_along(x, axis) + 12) * max(1.0, 1 / abs(ord or 2)) + 8)


def product_of_entries(m: Any, out: Any, x: Any, e: Any, axis: Any = None, **_: Any) -> Any:
    """A product of entries that are as far off as they may be, less the product of their sizes."""
    most = m.at(m.abs(x) + e)
    return (most - m.abs(out)) + (8 * m.unit_of_arrays * (count(x.shape, axis) + 2)) * most


@on_arrays
def product_rounds(m: Any, out: Any, x: Any, axis: Any = None, **_: Any) -> Any:
    terms = count(x.shape, axis)
    relative = 2 * terms * m.abs(out)
    if not np.any(np.abs(out) < m.smallest_normal * np.where(np.abs(x) > 1, np.abs(x), 1.0).max(initial=1.0) ** min(terms, 8)):
        return relative
    # a part of the product may have underflown, in any order, and the rest multiplies what that has lost
    return relative + np.where(np.abs(m.at(np.where(np.equal(x, 0), 0.0, 1.0))) > 0, 1.0, 0.0) * (
        terms * m.smallest / m.unit * m.at(np.maximum(np.abs(x), 1.0))
    )


@on_arrays
def horner(m: Any, out: Any, c: Any, x: Any, e: Any, f: Any, axis: int) -> Any:
    """Each result's error is that of c, that of x times the one before, and its own operand's, times x."""
    size, off = np.abs(x), np.broadcast_to(f, np.shape(x))
    later = np.concatenate([np.take(np.abs(out), range(1, out.shape[axis]), axis), np.take(np.zeros_like(out), range(1), axis)], axis)
    moved = np.concatenate([np.take(off, range(1, out.shape[axis]), axis), np.take(np.zeros_like(out), range(1), axis)], axis)
    return m.at(np.broadcast_to(e, out.shape) + moved * later, np.broadcast_to(size + off, out.shape))


@on_arrays
def horner_rounds(m: Any, out: Any, c: Any, x: Any, axis: int) -> Any:
    return m.at(2 * np.abs(out) + np.abs(c), np.abs(x)) if np.ndim(out) else 0.0


# -- Which indices are not certain where what is ordered is off by its errors, and what is
# addressed by such indices.
#
# An index is marked by 0 where it is certain, by -1 where it may be any along its axis; by a
# number that several share where they may have changed places among themselves.


def _ends(x: Any, e: Any) -> tuple[np.ndarray, np.ndarray]:
    off = np.broadcast_to(e, np.shape(x))
    return np.where(off > 0, np.nextafter(x + off, math.inf), x), np.where(off > 0, np.nextafter(x - off, -math.inf), x)


@on_arrays
def sorted_places(m: Any, out: Any, x: Any, e: Any, axis: int | None, descending: bool) -> Any:
    """Entries whose intervals overlap, directly or by others between them, may have changed places."""
    if not np.ndim(out):
        return np.zeros((), int)
    off = np.broadcast_to(e, np.shape(x))
    if axis is None:
        x, off, axis = np.reshape(x, -1), np.reshape(off, -1), 0
    high, low = (np.moveaxis(np.take_along_axis(end, np.asarray(out), axis), axis, -1) for end in _ends(x, off))
    if descending:
        high, low = -low, -high
    reached = np.maximum.accumulate(high, axis=-1)
    apart = np.concatenate([np.ones((*high.shape[:-1], 1), bool), ~(reached[..., :-1] > low[..., 1:])], axis=-1)
    group = np.cumsum(apart, axis=-1)
    alone = apart & np.concatenate([apart[..., 1:], np.ones((*high.shape[:-1], 1), bool)], axis=-1)
    return np.moveaxis(np.where(alone, 0, group), -1, axis)


def _extreme_place(m: Any, out: Any, high: Any, low: Any, axis: Any, keepdims: bool) -> Any:
    axis = axis[0] if isinstance(axis, tuple) else axis
    if not np.ndim(high):
        return np.zeros(np.shape(out), int)
    if axis is None:
        high, low, index = high.reshape(-1), low.reshape(-1), np.reshape(out, -1)
        axis = 0
    else:
        index = np.asarray(out) if keepdims else np.expand_dims(out, axis)
    best = np.take_along_axis(low, index, axis)
    others = np.array(high)
    np.put_along_axis(others, index, -np.inf, axis)
    return np.reshape(np.where(np.any(others > best, axis=axis, keepdims=True), -1, 0), np.shape(out))


@on_arrays
def largest_place(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool) -> Any:
    high, low = _ends(x, e)
    return _extreme_place(m, out, high, low, axis, keepdims)


@on_arrays
def smallest_place(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool) -> Any:
    high, low = _ends(x, e)
    return _extreme_place(m, out, -low, -high, axis, keepdims)


def _spread(values: Any, errors: Any, marks: Any, axis: int) -> np.ndarray:
    """How far the entries are apart that share a mark along an axis, errors included; 0 where an index is certain."""
    high, low = (np.moveaxis(part, axis, -1) for part in (values + errors, values - errors))
    moved = np.moveaxis(marks, axis, -1)
    rows = np.arange(math.prod(moved.shape[:-1])).reshape(*moved.shape[:-1], 1)
    _, group = np.unique((rows * (moved.max(initial=0) + 1) + moved).reshape(-1), return_inverse=True)
    top, bottom = np.full(group.max(initial=0) + 1, -np.inf), np.full(group.max(initial=0) + 1, np.inf)
    np.maximum.at(top, group, high.reshape(-1))
    np.minimum.at(bottom, group, low.reshape(-1))
    return np.moveaxis(np.where(moved > 0, (top - bottom)[group].reshape(moved.shape), 0.0), -1, axis)


@on_arrays
def taken(m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    own = m.at(errors, index)
    if type(marks) is float or not np.ndim(out):
        return own
    marks = np.broadcast_to(marks, np.shape(out))
    range_ = np.max(x + errors, axis=axis, keepdims=True) - np.min(x - errors, axis=axis, keepdims=True)
    return np.where(marks < 0, range_, np.maximum(own, _spread(out, own, np.maximum(marks, 0), axis)))


@on_arrays
def added(m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int, shape: Any) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    if type(marks) is float or not np.ndim(x):
        return m.at(errors, index)
    marks = np.broadcast_to(marks, np.shape(x))
    own = m.at(np.maximum(errors, _spread(x, errors, np.maximum(marks, 0), axis)), index)
    return own + np.sum(np.where(marks < 0, np.abs(x) + errors, 0.0), axis=axis, keepdims=True)


@on_arrays
def extreme(m: Any, out: Any, x: Any, source: Any, index: Any, e: Any, f: Any, marks: Any, **_: Any) -> Any:
    return max(np.max(e, initial=0.0), np.max(f, initial=0.0)) if type(marks) is float else None
