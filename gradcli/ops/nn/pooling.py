"""Pooling: the means, largest entries and norms of windows over the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.arrays.windows import Table, adaptive, each, extent, outer, read, small_image, strided
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.facts import Function, noted
from gradcli.ops.reductions.order import argmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite
from gradcli.ops.spec import REQUIRED
from gradcli.ops.structure import to_int


def _checked(name: str, x: Any, n: int) -> tuple[int, ...]:
    if len(x.shape) not in (n + 1, n + 2):
        raise ShapeError(f"{name} needs an array of {n + 1} or {n + 2} axes, not the shape {tuple(x.shape)}")
    return tuple(x.shape[-n:])


def _windows(name: str, x: Any, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """Tables of pooling windows, and how many places each has within the padded axes."""
    lengths = _checked(name, x, n)
    sizes = each(name, "kernel_size", kernel_size, n, 1)
    steps = sizes if stride in (None, ()) else each(name, "stride", stride, n, 1)
    around, gaps = each(name, "padding", padding, n), each(name, "dilation", dilation, n, 1)
    tables, counts = [], []
    for length, size, step, pad, gap in zip(lengths, sizes, steps, around, gaps, strict=True):
        if 2 * pad > size:
            raise ArgumentError(f"{name}: the padding may be at most half of the kernel_size, not {pad} of {size}")
        windows = extent(length, size, step, pad, gap, ceil_mode)
        if windows < 1:
            raise ShapeError(f"{name}: no window of size {sizes} fits into the axes {lengths}")
        tables.append(strided(length, windows, size, step, pad, gap))
        starts = np.arange(windows) * step - pad
        counts.append(np.minimum(starts + size, length + pad) - starts)
    return tables, counts


def _summed(x: Any, tables: Sequence[Table]) -> Any:
    n = len(tables)
    return sum_(read(x, tables, 0.0), axis=tuple(range(-2 * n, -n)))


def _inside(tables: Sequence[Table]) -> list[np.ndarray]:
    """How many entries windows have along each axis."""
    return [(table >= 0).sum(axis=1) for table in tables]


def _average(n: int) -> Function:
    def body(
        x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any = None
    ) -> Any:
        tables, counts = _windows(f"avg_pool{n}d", x, n, kernel_size, stride, padding, 1, ceil_mode)
        if divisor_override == 0:
            raise ArgumentError(f"avg_pool{n}d: divisor_override must not be 0")
        whole = outer(counts if count_include_pad else _inside(tables), np.multiply)
        return _summed(x, tables) / (whole.astype(float) if divisor_override is None else float(divisor_override))

    return body


def _largest(x: Any, tables: Sequence[Table]) -> tuple[Any, Any]:
    """The largest entry of each window, and its place among all entries of these axes."""
    n, lead = len(tables), tuple(x.shape[: -len(tables)])
    windows = tuple(len(table) for table in tables)
    shape = (*lead, math.prod(table.shape[1] for table in tables), *windows)
    entries = reshape(read(x, tables, -math.inf), shape=shape)
    first = argmax(entries, axis=len(lead), keepdims=True)
    strides = [math.prod(x.shape[len(x.shape) - n + i + 1 :]) for i in range(n)]
    places = outer([table.T * stride for table, stride in zip(tables, strides, strict=True)], np.add).reshape(shape[len(lead) :])
    index = take_along(np.broadcast_to(places, shape), first, axis=len(lead))
    result = (*lead, *windows)
    return reshape(take_along(entries, first, axis=len(lead)), shape=result), to_int(reshape(index, shape=result))


def _maximum(n: int) -> Function:
    def body(
        x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool
    ) -> Any:
        tables, _ = _windows(f"max_pool{n}d", x, n, kernel_size, stride, padding, dilation, ceil_mode)
        values, places = _largest(x, tables)
        return (values, places) if return_indices else values

    return body


def _covering(name: str, x: Any, n: int, output_size: Any) -> list[Table]:
    lengths = _checked(name, x, n)
    wanted = tuple(output_size) if isinstance(output_size, tuple) else (output_size,) * n
    if len(wanted) == n:
        wanted = tuple(length if w is None else w for w, length in zip(wanted, lengths, strict=True))
    return [adaptive(*pair) for pair in zip(lengths, each(name, "output_size", wanted, n), strict=True)]


def _adaptive_average(n: int) -> Function:
    def body(x: Any, output_size: Any) -> Any:
        return covering_means(x, _covering(f"adaptive_avg_pool{n}d", x, n, output_size))

    return body


def covering_means(x: Any, tables: Sequence[Table]) -> Any:
    return _summed(x, tables) / outer(_inside(tables), np.multiply).astype(float)


def _adaptive_maximum(n: int) -> Function:
    def body(x: Any, output_size: Any, return_indices: bool) -> Any:
        values, places = _largest(x, _covering(f"adaptive_max_pool{n}d", x, n, output_size))
        return (values, places) if return_indices else values

    return body


def _norms(n: int) -> Function:
    def body(x: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
        tables, counts = _windows(f"lp_pool{n}d", x, n, kernel_size, stride, 0, 1, ceil_mode)
        # PyTorch's: the mean of the powers times the whole kernel's size, also where a window reaches beyond the end
        whole = math.prod(table.shape[1] for table in tables) / outer(counts, np.multiply)
        powers = _summed(x ** float(norm_type), tables) * whole
        nothing = equal(powers, 0)
        return where(nothing, 0.0, where(nothing, 1.0, powers) ** (1.0 / norm_type))

    return body


_FIRST = (noted("equal largest entries", "the whole gradient to the first of them"),)
_PLACED = {"kernel_size": REQUIRED, "stride": None}
for _n in (1, 2, 3):
    _image, _size = small_image(_n), {1: "2", 2: "2", 3: "(1, 2, 2)"}[_n]
    _of = f"of windows over the last {_n} axes" if _n > 1 else "of windows over the last axis"
    composite(
        f"avg_pool{_n}d", "input", _average(_n), doc=f"The means {_of}.",
        static={**_PLACED, "padding": 0, "ceil_mode": False, "count_include_pad": True, **({"divisor_override": None} if _n > 1 else {})},
        examples=(f"F.avg_pool{_n}d({_image}, {_size})",),
    )  # fmt: skip
    composite(
        f"max_pool{_n}d", "input", _maximum(_n), doc=f"The largest entries {_of}; with return_indices, also their places.",
        static={**_PLACED, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}, kinks=_FIRST,
        backward=f"MaxPool{_n}DWithIndices",
        examples=(f"F.max_pool{_n}d({_image}, {_size})",),
    )  # fmt: skip
    composite(
        f"adaptive_avg_pool{_n}d", "input", _adaptive_average(_n), static={"output_size": REQUIRED},
        doc=f"The means {_of}, so many that the result has output_size.",
        examples=(f"F.adaptive_avg_pool{_n}d({_image}, {_size})",),
    )  # fmt: skip
    composite(
        f"adaptive_max_pool{_n}d", "input", _adaptive_maximum(_n), static={"output_size": REQUIRED, "return_indices": False},
        kinks=_FIRST,
        doc=f"The largest entries {_of}, so many that the result has output_size; with return_indices, also their places.",
        examples=(f"F.adaptive_max_pool{_n}d({_image}, {_size})",),
    )  # fmt: skip
    composite(
        f"lp_pool{_n}d", "input", _norms(_n), static={"norm_type": REQUIRED, **_PLACED, "ceil_mode": False},
        doc=f"The norms of order norm_type {_of}; the gradient of a norm of 0 is 0.",
        examples=(f"F.lp_pool{_n}d({_image}, 2, {_size})",),
    )  # fmt: skip
_WITH = "input, kernel_size, stride, padding, dilation, ceil_mode"
declare(
    TORCH,
    **{f"max_pool{n}d_with_indices": signature(f"max_pool{n}d", _WITH, return_indices=True) for n in (1, 2, 3)},
    **{
        f"adaptive_max_pool{n}d_with_indices": signature(f"adaptive_max_pool{n}d", "input, output_size", return_indices=True)
        for n in (1, 2, 3)
    },
)
