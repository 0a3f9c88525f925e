"""Medians and quantiles: entries of a certain rank, and what lies between two of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.shapes import reshape, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.carrying import entries
from gradcli.ops.elementwise.arithmetic import ceil, floor, rint
from gradcli.ops.elementwise.logic import isfinite, isnan, less, where
from gradcli.ops.extended import Whole
from gradcli.ops.facts import Function, Kink
from gradcli.ops.reductions.along import count
from gradcli.ops.reductions.selection import PAIR, TIES, argsort, chosen, sort
from gradcli.ops.reductions.sums import AXES, equal_to_result_vjp, sum_
from gradcli.ops.registry import composite, structural
from gradcli.ops.structure import to_int
from gradcli.ops.writing import axes_of, one_axis, witness


def _lower_median(x: Any, ignore: bool = False) -> Any:
    flat = np.sort(np.ravel(x))
    n = int(np.sum(~np.isnan(flat))) if flat.dtype.kind == "f" else flat.size
    if n < flat.size and not (ignore and n):
        return flat.dtype.type(np.nan)
    if not n:
        return np.float64(np.nan)
    return flat[(n - 1) // 2]


lower_median = structural(
    "lower_median", "x", _lower_median, witness("reducing.median_from_below"), shape=lambda x: (), saves=("x", "out"), ulps=0,
    public=False, integral=True, extended=Whole("choosing.MEDIAN"),
    vjp=lambda wanted, cotangent, out, x: equal_to_result_vjp(wanted, cotangent, out, x, None, False), backward="Median",
    kinks=(Kink(lambda *_: False, "several entries equal to the median", "shared evenly among them"),),
    doc="torch.median of all entries: the lower one of two in the middle.",
    between=(), among=entries,
)  # fmt: skip


lower_nanmedian = structural(
    "lower_nanmedian", "x", lambda x: _lower_median(x, ignore=True),
    witness("reducing.nanmedian_from_below"),
    shape=lambda x: (), saves=("x", "out"), ulps=0, public=False, integral=True, backward="Nanmedian", kinks=lower_median.kinks,
    extended=Whole("choosing.MEDIAN_OF_NUMBERS"),
    vjp=lambda wanted, cotangent, out, x: equal_to_result_vjp(wanted, cotangent, out, x, None, False),
    doc="torch.nanmedian of all entries: the lower one of two in the middle, of those that are numbers.",
    between=(), among=entries,
)  # fmt: skip


def _valid(x: Any, axis: int) -> Any:
    """How many entries along an axis are numbers."""
    return sum_(where(isnan(x), 0.0, 1.0), axis=axis, keepdims=True)


def _torch_median(x: Any, axis: Any, keepdims: bool, ignore_nan: bool = False) -> Any:
    if axis is None:
        if keepdims:
            raise ArgumentError("keepdims (keepdim) needs the argument axis (dim) here")
        return (lower_nanmedian if ignore_nan else lower_median)(x)
    if not x.shape:
        return x, argsort(x, axis=0)
    place, order = one_axis(axis, len(x.shape)), argsort(x, axis=one_axis(axis, len(x.shape)))
    n, valid = x.shape[place], _valid(x, one_axis(axis, len(x.shape)))
    # NaN is sorted last: it is the median unless it is ignored
    rank = floor((valid - 1) / 2) if ignore_nan else where(less(valid, n), n - 1.0, (n - 1.0) // 2)
    rank = where(less(rank, 0), n - 1.0, rank)
    return chosen(x, take_along(order, to_int(rank), axis=place), place, keepdims)


torch_median = composite(
    "torch_median", "x", _torch_median, static=AXES, results=PAIR, public=False, kinks=TIES,
    copied=True,
    doc="torch.median: the lower one of the middle entries; along an axis with its index.",
)  # fmt: skip
torch_nanmedian = composite(
    "torch_nanmedian", "x", lambda x, axis, keepdims: _torch_median(x, axis, keepdims, True), copied=True, static=AXES, results=PAIR,
    public=False, kinks=TIES, doc="torch.nanmedian: the median of the entries that are numbers.",
)  # fmt: skip

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(x: Any, q: Any, axis: Any, keepdims: bool, interpolation: str, ignore_nan: bool = False) -> Any:
    if interpolation not in METHODS:
        raise ArgumentError(f"quantile: the interpolation must be one of {', '.join(METHODS)}, not {interpolation!r}")
    if len(q.shape) > 1:
        raise ArgumentError("quantile: q must be a number or an array of one axis")
    axes = axes_of(axis, len(x.shape))
    kept = tuple(a for a in range(len(x.shape)) if a not in axes)
    lead = tuple(x.shape[a] for a in kept)
    n = count(x.shape, axis)
    if not n:
        raise EvaluationError("the quantile of no entries does not exist")
    rows = reshape(transpose(x, axes=(*kept, *axes)) if x.shape else x, shape=(*lead, n))
    ordered = sort(rows, axis=-1)
    valid = _valid(rows, -1)
    ranks = (reshape(q, shape=(-1,)) if q.shape else q) * (
        where(less(valid, 1), math.nan, valid - 1) if ignore_nan else where(less(valid, n), math.nan, n - 1.0)
    )
    below, above = _ranked(ordered, floor(ranks)), _ranked(ordered, ceil(ranks))
    if interpolation == "linear":  # at an entry the slope by q is that to the next one; of infinite ones only what is between counts
        after = where(less(floor(ranks), n - 1.0), floor(ranks) + 1, ranks)
        above = _ranked(ordered, where(isfinite(_ranked(ordered, after)), after, ceil(ranks)))
    if interpolation == "lower":
        found = below
    elif interpolation == "higher":
        found = above
    elif interpolation == "nearest":
        found = _ranked(ordered, rint(ranks))
    else:
        weight = 0.5 if interpolation == "midpoint" else ranks - floor(ranks)
        found = below + (above - below) * weight
    shape = tuple(1 if a in axes else s for a, s in enumerate(x.shape)) if keepdims else lead
    if not q.shape:
        return reshape(found, shape=shape)
    order = (len(lead), *range(len(lead)))
    return reshape(transpose(found, axes=order), shape=(q.shape[0], *shape))


def _ranked(ordered: Any, rank: Any) -> Any:
    """Entries by their rank; the last one, a NaN, where the rank is NaN. A rank below 0 is none, as of a share below 0."""
    last = ordered.shape[-1] - 1.0
    place = to_int(where(isnan(rank), last, where(less(rank, 0), last + 1, rank)))
    return take_along(ordered, place, axis=-1)


quantile = composite(
    "quantile", "x q", _quantile, static={**AXES, "interpolation": "linear"}, kinks=TIES,
    doc="The quantiles of the entries at q from 0 to 1, interpolated between the two nearest entries.",
    examples=("quantile(x, 0.5)",),
)  # fmt: skip
nanquantile = composite(
    "nanquantile", "x q", lambda x, q, axis, keepdims, interpolation: _quantile(x, q, axis, keepdims, interpolation, True),
    static={**AXES, "interpolation": "linear"}, kinks=TIES, doc="The quantiles of the entries that are numbers.",
)  # fmt: skip


def _percentile(function: Function) -> Function:
    return lambda x, q, **static: function(x, q / 100, **static)


percentile = composite(
    "percentile", "x q", _percentile(quantile), static={**AXES, "interpolation": "linear"}, kinks=TIES,
    doc="The quantiles at q from 0 to 100.", examples=("percentile(x, 50)",),
)  # fmt: skip
nanpercentile = composite(
    "nanpercentile", "x q", _percentile(nanquantile), static={**AXES, "interpolation": "linear"}, kinks=TIES,
    doc="The quantiles at q from 0 to 100 of the entries that are numbers.",
)  # fmt: skip


def _median(x: Any, axis: Any, keepdims: bool, ignore_nan: bool = False) -> Any:
    return _quantile(x, np.float64(0.5), axis, keepdims, "midpoint", ignore_nan)


median = composite(
    "median", "x", _median, static=AXES, kinks=TIES, examples=("median(x)",),
    doc="The median: the middle entry, or the mean of the two in the middle (torch.median: the lower one).",
)  # fmt: skip
nanmedian = composite(
    "nanmedian", "x", lambda x, axis, keepdims: _median(x, axis, keepdims, True), static=AXES, kinks=TIES,
    doc="The median of the entries that are numbers.",
)  # fmt: skip

_METHOD = "x, q, axis, -out, -overwrite_input, interpolation|method, keepdims, -weights"
declare(
    NUMPY,
    **{name: signature(name, _METHOD) for name in ("quantile", "nanquantile", "percentile", "nanpercentile")},
    **{name: signature(name, "x, axis, -out, -overwrite_input, keepdims") for name in ("median", "nanmedian")},
)
declare(
    TORCH,
    median=signature("torch_median", "x, axis, keepdims"),
    nanmedian=signature("torch_nanmedian", "x, axis, keepdims"),
    **{name: signature(name, "x, q, axis, keepdims, *, interpolation") for name in ("quantile", "nanquantile")},
)
