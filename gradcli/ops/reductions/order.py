"""Order: sorting, order statistics, and the entries they choose.

What is chosen is an operation of whole numbers (`argsort` and its like), which is not differentiated; the entries
at these indices are. So one entry takes the gradient of each result, the first of equal ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, MistypedArgumentError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.shapes import part_of, reshape, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.carrying import entries
from gradcli.ops.elementwise.arithmetic import ceil, floor, rint
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.logic import isfinite, isnan, less, where
from gradcli.ops.facts import Function, noted
from gradcli.ops.looping import reduced_text
from gradcli.ops.reductions import carried, extended
from gradcli.ops.reductions.carried import count, reduced
from gradcli.ops.reductions.sums import AXES, equal_to_result_vjp, max_, min_, sum_
from gradcli.ops.registry import composite, function, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.structure import to_int
from gradcli.ops.writing import Shape, axes_of, one_axis, witness

TIES = (noted("equal entries", "the whole gradient to the first of them"),)
_LAST_TIES = (noted("equal entries", "the whole gradient to the last of them"),)

def _first(forward: Function) -> Function:
    """argmax or argmin: the first NaN, if there is one, else the first extreme."""

    def run(x: Any, axis: Any, keepdims: bool) -> Any:
        x = np.asarray(x)
        if isinstance(axis, tuple):
            axis = one_axis(axis, x.ndim)
        if not x.size and not count(x.shape, axis):
            raise EvaluationError("the largest or smallest of no entries does not exist")
        return forward(x, axis=axis if x.ndim else None, keepdims=keepdims)

    return run


def _arg(name: str, forward: Function, carries: Function, doc: str) -> Op:
    run = _first(forward)
    return structural(
        name, "x", run, witness(f"reducing.{name}"),
        shape=reduced, static=AXES, result="int", doc=doc, ulps=0, carries=carries, kinks=TIES,
        numpy=lambda shapes, axis, keepdims: reduced_text(f"np.{name}", shapes, axis, keepdims),
    )  # fmt: skip


argmax = _arg(
    "argmax", np.argmax, carried.extreme_place(1.0), "The index of the (first) largest entry. Not differentiated.",
)
argmin = _arg(
    "argmin", np.argmin, carried.extreme_place(-1.0), "The index of the (first) smallest entry. Not differentiated.",
)


def _argsort(x: Any, axis: int | None, descending: bool) -> Any:
    x = np.asarray(x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not x.ndim:
        return np.int64(0)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # stable in the other direction, too; NaN counts as the largest
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _sorted_shape(x: Shape, axis: int | None, **_: Any) -> Shape:
    if axis is None:
        return (math.prod(x),)
    axes_of(axis, len(x))
    return x


argsort = structural(
    "argsort", "x", _argsort, witness("reducing.argsort"), shape=_sorted_shape, static={"axis": -1, "descending": False}, result="int",
    ulps=0, carries=carried.sorted_places, kinks=TIES,
    doc="The indices that sort along an axis, equal entries in their order, NaN last. Not differentiated.",
    numpy=lambda shapes, axis, descending: "" if descending else f"np.argsort({{0}}, axis={axis}, kind='stable')",
    torch=lambda shapes, axis, descending: f"torch.argsort({{0}}, dim={axis}, descending={descending}, stable=True)",
    jax=lambda shapes, axis, descending: f"jnp.argsort({{0}}, axis={axis}, descending={descending}, stable=True)",
)  # fmt: skip


def _running_extreme(better: Function) -> Function:
    def run(x: Any, axis: int) -> Any:
        x = np.asarray(x)
        if not x.ndim:
            return np.int64(0)
        moved = np.moveaxis(x, axis, 0)
        out = np.zeros(moved.shape, np.int64)
        for i in range(1, len(moved)):
            best = np.take_along_axis(moved, out[i - 1][None], 0)[0]
            with np.errstate(invalid="ignore"):
                out[i] = np.where(better(moved[i], best) | np.isnan(moved[i]), i, out[i - 1])
        return np.moveaxis(out, 0, axis)

    return run


def _argcum(name: str, better: Function, doc: str) -> Op:
    run = _running_extreme(better)
    return structural(
        name, "x", run, witness(f"reducing.{name}"), shape=_sorted_shape, static={"axis": REQUIRED}, result="int",
        public=False, ulps=0, doc=doc, kinks=_LAST_TIES,
    )  # fmt: skip


argcummax = _argcum("argcummax", np.greater_equal, "The index of the (last) largest entry so far.")
argcummin = _argcum("argcummin", np.less_equal, "The index of the (last) smallest entry so far.")

PAIR = ("values", "indices")
_LAST = {"axis": -1}


def _sort(x: Any, axis: int | None, descending: bool, stable: bool) -> Any:
    order = argsort(x, axis=axis, descending=descending)
    flat = reshape(x, shape=(-1,)) if axis is None else x
    return take_along(flat, order, axis=-1 if axis is None else axis), order


@function(kinks=TIES, examples=("sort(x)",))
def sort(x: Any, *, axis: Any = -1) -> Any:
    """The entries in ascending order along an axis."""
    return _sort(x, axis, False, True)[0]


torch_sort = composite(
    "torch_sort", "x", _sort, static={**_LAST, "descending": False, "stable": False}, results=PAIR,
    kinks=TIES, public=False, doc="torch.sort: the entries in order along an axis, and their indices.",
)  # fmt: skip


@function(kinks=TIES)
def msort(x: Any) -> Any:
    """The entries in ascending order along the first axis."""
    return _sort(x, 0, False, True)[0]


def chosen(x: Any, index: Any, axis: int, keepdims: bool) -> Any:
    """Entries at indices that have one entry along an axis, and the indices."""
    values = take_along(x, index, axis=axis)
    if keepdims or not x.shape:
        return values, index
    rest = reduced(x.shape, axis)
    return reshape(values, shape=rest), reshape(index, shape=rest)


def _extreme_of(choose: Op, reduce: Op, pair: Op) -> Function:
    def body(x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
        if y is not None:
            if keepdims or axis is not None:
                raise MistypedArgumentError(f"{reduce.name} of two arrays takes neither an axis nor keepdims")
            return pair(x, y)
        if axis is None:
            if keepdims:
                raise ArgumentError("keepdims (keepdim) needs the argument axis (dim) here", help="write amax(x, keepdim=True)")
            return reduce(x)
        place = one_axis(axis, len(x.shape))
        return chosen(x, choose(x, axis=place, keepdims=True), place, keepdims)

    return body


torch_max = composite(
    "torch_max", "x y?", _extreme_of(argmax, max_, maximum), static=AXES, results=PAIR, public=False,
    kinks=TIES, doc="torch.max: of all entries; of two arrays; or along an axis, then with the indices.",
)  # fmt: skip
torch_min = composite(
    "torch_min", "x y?", _extreme_of(argmin, min_, minimum), static=AXES, results=PAIR, public=False,
    kinks=TIES, doc="torch.min: of all entries; of two arrays; or along an axis, then with the indices.",
)  # fmt: skip


def _running(choose: Op) -> Function:
    def body(x: Any, axis: int) -> Any:
        one_axis(axis, max(len(x.shape), 1))
        index = choose(x, axis=axis)
        return take_along(x, index, axis=axis), index

    return body


cummax = composite(
    "cummax", "x", _running(argcummax), copied=True, static={"axis": REQUIRED}, results=PAIR,
    kinks=_LAST_TIES,
    doc="The largest entry so far along an axis, and its index (the last of equal ones).", examples=("cummax(x, 0)[0]",),
)  # fmt: skip
cummin = composite(
    "cummin", "x", _running(argcummin), copied=True, static={"axis": REQUIRED}, results=PAIR,
    kinks=_LAST_TIES,
    doc="The smallest entry so far along an axis, and its index (the last of equal ones).", examples=("cummin(x, 0)[0]",),
)  # fmt: skip


def _rank(x: Any, k: int, axis: Any, keepdims: bool) -> Any:
    """The k-th smallest entry along an axis, counting from 0."""
    place = one_axis(axis, len(x.shape))
    if not x.shape:
        return x, argsort(x, axis=0)
    return chosen(x, part_of(argsort(x, axis=place), place, k, k + 1), place, keepdims)


@function(results=PAIR, copied=True, kinks=TIES, examples=("kthvalue(x, 2)[0]",))
def kthvalue(x: Any, *, k: int, axis: int = -1, keepdims: bool = False) -> Any:
    """The k-th smallest entry along an axis, counting from 1, and its index."""
    n = x.shape[axis] if x.shape else 1
    if not 1 <= k <= n:
        raise ArgumentError(f"kthvalue: k must be from 1 to {n}, not {k}")
    return _rank(x, k - 1, axis, keepdims)


@function(results=PAIR, copied=True, kinks=TIES, examples=("topk(x, 2)[0]",))
def topk(x: Any, *, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest entries along an axis, the largest first, and their indices."""
    if not x.shape:
        return x, argsort(x, axis=0)
    place = one_axis(axis, len(x.shape))
    if not 0 <= k <= x.shape[place]:
        raise ArgumentError(f"topk: k must be from 0 to {x.shape[place]}, not {k}")
    index = part_of(argsort(x, axis=place, descending=largest), place, 0, k)
    return take_along(x, index, axis=place), index


def _mode(x: Any, axis: int, keepdims: bool) -> Any:
    if not x.shape:
        return x, argsort(x, axis=0)
    place = one_axis(axis, len(x.shape))
    return chosen(x, argmode(x, axis=place), place, keepdims)


def _argmode(x: Any, axis: int) -> Any:
    x = np.moveaxis(np.asarray(x), axis, -1)
    out = np.zeros((*x.shape[:-1], 1), np.int64)
    for place in np.ndindex(x.shape[:-1]):
        values, counts = np.unique(x[place], return_counts=True)
        out[(*place, 0)] = np.flatnonzero(x[place] == values[np.argmax(counts)])[-1]
    return np.moveaxis(out, -1, axis)


argmode = structural(
    "argmode", "x", _argmode, witness("reducing.argmode"), result="int", ulps=0, public=False,
    kinks=_LAST_TIES,
    static={"axis": -1}, shape=lambda x, axis: reduced(x, axis, True),
    doc="The index of the (last) most frequent entry along an axis, of the smallest if several are.",
)  # fmt: skip
mode = composite(
    "mode", "x", _mode, copied=True, static={"axis": -1, "keepdims": False}, results=PAIR, kinks=_LAST_TIES,
    doc="The most frequent entry along an axis, and its index.",
)  # fmt: skip


def _aminmax(x: Any, axis: Any, keepdims: bool) -> Any:
    return min_(x, axis=axis, keepdims=keepdims), max_(x, axis=axis, keepdims=keepdims)


aminmax = composite(
    "aminmax", "x", _aminmax, static=AXES, results=("min", "max"), doc="The smallest and the largest entry."
)

declare(NUMPY, **{name: signature(name, "x, axis?, -kind, -fields|order, -stable") for name in ("argsort", "sort")})
declare(
    TORCH,
    sort=signature("torch_sort", "x, axis, descending, *, stable"),
    argsort=signature("argsort", "x, axis, descending, *, -stable"),
    aminmax=signature("aminmax", "x, *, axis, keepdims"),
    max=signature("torch_max", "x, axis@y, keepdims, *, y"),
    min=signature("torch_min", "x, axis@y, keepdims, *, y"),
)


# -- Medians and quantiles: entries of a certain rank, and what lies between two of them -----------


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
    public=False, integral=True, extended=extended.MEDIAN,
    vjp=lambda wanted, cotangent, out, x: equal_to_result_vjp(wanted, cotangent, out, x, None, False), backward="Median",
    kinks=(noted("several entries equal to the median", "shared evenly among them"),),
    doc="torch.median of all entries: the lower one of two in the middle.",
    between=(), among=entries,
)  # fmt: skip


lower_nanmedian = structural(
    "lower_nanmedian", "x", lambda x: _lower_median(x, ignore=True),
    witness("reducing.nanmedian_from_below"),
    shape=lambda x: (), saves=("x", "out"), ulps=0, public=False, integral=True, backward="Nanmedian", kinks=lower_median.kinks,
    extended=extended.MEDIAN_OF_NUMBERS,
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
