"""Order: sorting, order statistics, and the entries they choose.

What is chosen is an operation of whole numbers (`argsort` and its like), which is not
differentiated; the entries at these indices are. So one entry takes the gradient of each result,
the first of equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, MistypedArgumentError
from gradcli.ops import carrying
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import (
    part_of,
    reshape,
    take_along,
    transpose,
    vector_of,
)
from gradcli.ops.carrying import ordered_shape, reduced_shape
from gradcli.ops.elementwise.arithmetic import ceil, floor, rint
from gradcli.ops.elementwise.logic import (
    equal,
    isfinite,
    isnan,
    less,
    maximum,
    minimum,
    where,
)
from gradcli.ops.reductions.cumulative import rows_along
from gradcli.ops.reductions.sums import AXES, equal_to_result_vjp, max_, min_, sum_
from gradcli.ops.registry import (
    REQUIRED,
    Function,
    Op,
    axes_of,
    declare,
    function,
    noted_kink,
    one_axis,
    room_for,
    structural,
)
from gradcli.ops.structure import to_int
from gradcli.ops.text import reduced_text

TIES = (noted_kink("equal entries", "the whole gradient to the first of them"),)
_LAST_TIES = (noted_kink("equal entries", "the whole gradient to the last of them"),)


def _first(x: Any, axis: Any, keepdims: bool, best: Function = np.argmax) -> Any:
    """Return the place of the first NaN, or of the first extreme if there is no NaN."""
    x = np.asarray(x)
    if isinstance(axis, tuple):
        axis = one_axis(axis, x.shape)
    return best(x, axis=axis if x.ndim else None, keepdims=keepdims)


argmax = structural(
    "argmax", "x", _first, "arrays.argmax", shape=reduced_shape, static=AXES, dtype="int", ulps=0, carries=carrying.largest_place,
    kinks=TIES, doc="The index of the (first) largest entry. Not differentiated.",
    numpy=partial(reduced_text, "np.argmax"),
)


@function(
    forward=partial(_first, best=np.argmin), shape=reduced_shape, dtype="int", ulps=0, parts=None, kinks=TIES,
    numpy=partial(reduced_text, "np.argmin"),
)
def argmin(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The index of the (first) smallest entry. Not differentiated."""
    return argmax(-x, axis=axis, keepdims=keepdims)


def _argsort(x: Any, axis: int | None, descending: bool) -> Any:
    x = np.asarray(x)
    if axis is None:
        x = x.reshape(-1)
        axis = 0
    if not x.ndim:
        return np.int64(0)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Stable in descending order, too. NaN counts as the largest.
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _argsort_text(shapes: Any, axis: int | None, descending: bool) -> str:
    if not descending:
        return f"np.argsort({{0}}, axis={axis}, stable=True)"
    if axis is None or not shapes[0]:
        return ""
    return (
        f"({shapes[0][axis] - 1} - np.flip(np.argsort(np.flip({{0}}, {axis}), axis={axis}, "
        f"stable=True), {axis}))"
    )


argsort = structural(
    "argsort", "x", _argsort, "arrays.argsort", shape=ordered_shape, static={"axis": -1, "descending": False}, dtype="int",
    ulps=0, carries=carrying.sorted_places, kinks=TIES,
    doc="The indices that sort along an axis, equal entries in their order, NaN last. Not "
    "differentiated.",
    numpy=_argsort_text,
    torch="torch.argsort({0}, dim={axis}, descending={descending}, stable=True)",
)


def _argcummax(x: Any, axis: int) -> Any:
    x = np.asarray(x)
    if not x.ndim:
        return np.int64(0)
    best = (x == np.maximum.accumulate(x, axis=axis)) | np.isnan(x)
    place = np.expand_dims(np.arange(x.shape[axis]), tuple(range(1, x.ndim - axis % x.ndim)))
    return np.maximum.accumulate(np.where(best, place, 0), axis=axis)


argcummax = structural(
    "argcummax", "x", _argcummax, "arrays.argcummax", shape=ordered_shape, static={"axis": REQUIRED}, dtype="int",
    public=False, ulps=0, doc="The index of the (last) largest entry so far.", kinks=_LAST_TIES,
)

PAIR = "values indices"


@function(results=PAIR, kinks=TIES)
def torch_sort(x: Any, *, axis: Any = -1, descending: bool = False, stable: bool = False) -> Any:
    """torch.sort: the entries in order along an axis, and their indices."""
    order = argsort(x, axis=axis, descending=descending)
    return take_along(
        vector_of(x) if axis is None else x, order, axis=-1 if axis is None else axis
    ), order


@function(kinks=TIES)
def sort(x: Any, *, axis: Any = -1) -> Any:
    """The entries in ascending order along an axis.

    >>> sort(x)
    """
    return torch_sort(x, axis=axis)[0]


def _take_chosen(
    x: Any, axis: int, keepdims: bool, choose: Callable[[int], Any]
) -> tuple[Any, Any]:
    """Return the entries that are chosen along an axis, and their indices.

    ``choose(axis)`` are these indices, of one entry along the axis unless it is kept.
    """
    place = one_axis(axis, x.shape)
    if not x.shape:
        return x, argsort(x, axis=0)
    index = choose(place)
    values = take_along(x, index, axis=place)
    if keepdims:
        return values, index
    rest = reduced_shape(x.shape, place)
    return reshape(values, shape=rest), reshape(index, shape=rest)


def _extreme_of(choose: Op, reduce: Op, pair: Op) -> None:
    """Register PyTorch's form of the largest or smallest entry."""

    def body(x: Any, y: Any = None, *, axis: Any = None, keepdims: bool = False) -> Any:
        if y is not None:
            if keepdims or axis is not None:
                raise MistypedArgumentError(
                    f"{reduce.name} of two arrays takes neither an axis nor keepdims"
                )
            return pair(x, y)
        if axis is None:
            if keepdims:
                raise ArgumentError(
                    "keepdims (keepdim) needs the argument axis (dim) here",
                    help="write amax(x, keepdim=True)",
                )
            return reduce(x)
        return _take_chosen(x, axis, keepdims, lambda place: choose(x, axis=place, keepdims=True))

    body.__doc__ = (
        f"torch.{reduce.name}: of all entries; of two arrays; or along an axis, then "
        "with the indices."
    )
    function(f"torch_{reduce.name}", results=PAIR, memory="own", kinks=TIES)(body)


_extreme_of(argmax, max_, maximum)
_extreme_of(argmin, min_, minimum)


@function(memory="own", results=PAIR, kinks=_LAST_TIES)
def cummax(x: Any, *, axis: int, largest: bool = True) -> Any:
    """The largest (or smallest) entry so far along an axis, and its index (the last of equal ones).

    >>> cummax(x, 0)[0]
    """
    one_axis(axis, x.shape or (1,))
    index = argcummax(x if largest else -x, axis=axis)
    return take_along(x, index, axis=axis), index


@function(results=PAIR, memory="own", kinks=TIES)
def kthvalue(x: Any, *, k: int, axis: int = -1, keepdims: bool = False) -> Any:
    """The k-th smallest entry along an axis, counting from 1, and its index.

    >>> kthvalue(x, 2)[0]
    """
    n = x.shape[axis] if x.shape else 1
    if not 1 <= k <= n:
        raise ArgumentError(f"kthvalue: k must be from 1 to {n}, not {k}")
    return _take_chosen(
        x, axis, keepdims, lambda place: part_of(argsort(x, axis=place), place, k - 1, k)
    )


@function(results=PAIR, memory="own", kinks=TIES)
def topk(x: Any, *, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest entries along an axis, the largest first, and their indices.

    >>> topk(x, 2)[0]
    """

    def first(place: int) -> Any:
        if not 0 <= k <= x.shape[place]:
            raise ArgumentError(f"topk: k must be from 0 to {x.shape[place]}, not {k}")
        return part_of(argsort(x, axis=place, descending=largest), place, 0, k)

    return _take_chosen(x, axis, True, first)


def _most_frequent(x: Any, axis: int) -> Any:
    """Return the place of the last of the most frequent entries along an axis."""
    room_for(x.shape[axis], *x.shape)
    order = argsort(x, axis=axis)
    ordered = take_along(x, order, axis=axis)
    alike = equal(expand_dims(ordered, axis=axis), expand_dims(ordered, axis=axis + 1))
    counts = sum_(where(alike, 1.0, 0.0), axis=axis)
    first = argmax(counts, axis=axis, keepdims=True)
    last = to_int(first + take_along(counts, first, axis=axis) - 1)
    return take_along(order, last, axis=axis)


@function(memory="own", results=PAIR, kinks=_LAST_TIES)
def mode(x: Any, *, axis: int = -1, keepdims: bool = False) -> Any:
    """The most frequent entry along an axis, and its index."""
    return _take_chosen(x, axis, keepdims, partial(_most_frequent, x))


@function(results="min max", torch="x, *, axis, keepdims")
def aminmax(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest and the largest entry."""
    return min_(x, axis=axis, keepdims=keepdims), max_(x, axis=axis, keepdims=keepdims)


# -- Medians and quantiles: entries of a certain rank, and what lies between two of them ---------


def _lower_median(x: Any, ignore_nan: bool) -> Any:
    flat = np.sort(np.ravel(x))
    n = int(np.sum(~np.isnan(flat))) if flat.dtype.kind == "f" else flat.size
    if n < flat.size and not (ignore_nan and n):
        return flat.dtype.type(np.nan)
    return flat[(n - 1) // 2] if n else np.float64(np.nan)


lower_median = structural(
    "lower_median", "x", _lower_median, "arrays.median_from_below", shape=lambda x, ignore_nan: (), saves="x out", ulps=0,
    public=False, dtype="number", static={"ignore_nan": False},
    vjp=lambda cotangent, out, x, ignore_nan: equal_to_result_vjp(cotangent, out, x, None, False), backward="Median",
    kinks=noted_kink("several entries equal to the median", "shared evenly among them"),
    doc="torch.median of all entries: the lower one of two in the middle; of those that are "
    "numbers, if NaN is ignored.",
    carries=(),
)


def _valid(x: Any, axis: int) -> Any:
    """Return how many entries along an axis are numbers."""
    return sum_(where(isnan(x), 0.0, 1.0), axis=axis, keepdims=True)


@function(memory="own", results=PAIR, kinks=TIES)
def torch_median(
    x: Any, *, axis: Any = None, keepdims: bool = False, ignore_nan: bool = False
) -> Any:
    """torch.median: the lower one of the middle entries; along an axis with its index."""
    if axis is None:
        if keepdims:
            raise ArgumentError("keepdims (keepdim) needs the argument axis (dim) here")
        return lower_median(x, ignore_nan=ignore_nan)

    def middle(place: int) -> Any:
        n = x.shape[place]
        valid = _valid(x, place)
        # NaN is sorted last: it is the median unless NaNs are ignored.
        rank = (
            floor((valid - 1) / 2) if ignore_nan else where(less(valid, n), n - 1.0, (n - 1.0) // 2)
        )
        rank = where(less(rank, 0), n - 1.0, rank)
        return take_along(argsort(x, axis=place), to_int(rank), axis=place)

    return _take_chosen(x, axis, keepdims, middle)


@function(kinks=TIES)
def quantile(
    x: Any,
    q: Any,
    *,
    axis: Any = None,
    keepdims: bool = False,
    interpolation: Literal["linear", "lower", "higher", "nearest", "midpoint"] = "linear",
    percent: bool = False,
    ignore_nan: bool = False,
) -> Any:
    """The quantiles of the entries (that are numbers) at q from 0 to 1, or in percent, interpolated between the two nearest entries. The
    median is the middle entry, or the mean of the two in the middle (torch.median: the lower one).

    >>> quantile(x, 0.5)
    """
    q = q / 100 if percent else q
    if len(q.shape) > 1:
        raise ArgumentError("quantile: q must be a number or an array of one axis")
    rows = rows_along(x, axes_of(axis, x.shape))
    *lead, n = rows.shape
    if not n:
        raise EvaluationError("the quantile of no entries does not exist")
    ordered = sort(rows, axis=-1)
    valid = _valid(rows, -1)
    ranks = (vector_of(q) if q.shape else q) * (
        where(less(valid, 1), math.nan, valid - 1)
        if ignore_nan
        else where(less(valid, n), math.nan, n - 1.0)
    )
    rounded = {"lower": floor, "higher": ceil, "nearest": rint}.get(interpolation)
    if rounded is not None:
        found = _take_rank(ordered, rounded(ranks))
    else:
        whole = floor(ranks)
        upper = ceil(ranks)
        if (
            interpolation == "linear"
            # At an entry, the slope by q is that towards the next entry. An infinite next entry
            # counts only for q strictly between the two.
        ):
            after = where(less(whole, n - 1.0), whole + 1, ranks)
            upper = where(isfinite(_take_rank(ordered, after)), after, upper)
        below = _take_rank(ordered, whole)
        found = below + (_take_rank(ordered, upper) - below) * (
            0.5 if interpolation == "midpoint" else ranks - whole
        )
    shape = reduced_shape(x.shape, axis, keepdims)
    if not q.shape:
        return reshape(found, shape=shape)
    order = (len(lead), *range(len(lead)))
    return reshape(transpose(found, axes=order), shape=(q.shape[0], *shape))


def _take_rank(ordered: Any, rank: Any) -> Any:
    """Entries by their rank; the last one, a NaN, where the rank is NaN.

    A rank below 0 is none, as of a share below 0.
    """
    last = ordered.shape[-1] - 1.0
    place = to_int(where(isnan(rank), last, where(less(rank, 0), last + 1, rank)))
    return take_along(ordered, place, axis=-1)


_METHOD = "x, q, axis, -out, -overwrite_input, interpolation|method, keepdims, -weights"
_MIDDLE = "x, axis, -out, -overwrite_input, keepdims; q=0.5, interpolation='midpoint'"
declare(f"""
    numpy:
        msort = sort(x; axis=0)
        argsort sort(x, axis?, -kind, -fields|order, -stable)
        quantile({_METHOD})
        nanquantile = quantile({_METHOD}; ignore_nan=True)
        percentile = quantile({_METHOD}; percent=True)
        nanpercentile = quantile({_METHOD}; percent=True, ignore_nan=True)
        cummax(x, axis)
        cummin = cummax(x, axis; largest=False)
        median = quantile({_MIDDLE})
        nanmedian = quantile({_MIDDLE}, ignore_nan=True)
    torch:
        sort = torch_sort(x, axis, descending, *, stable)
        argsort(x, axis, descending, *, -stable)
        max = torch_max(x, axis@y, keepdims, *, y)
        min = torch_min(x, axis@y, keepdims, *, y)
        median = torch_median(x, axis, keepdims)
        nanmedian = torch_median(x, axis, keepdims; ignore_nan=True)
        quantile(x, q, axis, keepdims, *, interpolation)
        nanquantile = quantile(x, q, axis, keepdims, *, interpolation; ignore_nan=True)
""")
