"""Convolutions and their transposes, in one to three dimensions: products of filters with windows."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import reshape, swapaxes
from gradcli.ops.arrays.windows import add_up, each, extent, inner, nested, read, small_image, strided
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import composite


def _batch(name: str, x: Any, weight: Any, n: int, channels: int) -> Any:
    """Images with their batch axis, their channels fitting the filters'."""
    if len(x.shape) not in (n + 1, n + 2) or len(weight.shape) != n + 2:
        shapes = f"{tuple(x.shape)} and {tuple(weight.shape)}"
        raise ShapeError(f"{name} needs images of {n + 1} or {n + 2} axes and filters of {n + 2}, not the shapes {shapes}")
    if x.shape[-n - 1] != channels:
        raise ShapeError(f"{name}: images of {x.shape[-n - 1]} channels do not fit filters for {channels}")
    return x if len(x.shape) == n + 2 else reshape(x, shape=(1, *x.shape))


def _finished(name: str, result: Any, bias: Any, n: int, batched: bool) -> Any:
    if bias is not None:
        if tuple(bias.shape) != (result.shape[1],):
            raise ShapeError(f"{name}: a bias of shape {tuple(bias.shape)} for {result.shape[1]} channels")
        result = result + reshape(bias, shape=(-1, *(1,) * n))
    return result if batched else reshape(result, shape=result.shape[1:])


def _grouped(name: str, groups: int, channels: int) -> int:
    """How many channels each group has."""
    if groups < 1 or channels % groups:
        raise ArgumentError(f"{name}: {channels} channels do not fall into {groups} groups")
    return channels // groups


def _around(name: str, padding: Any, sizes: tuple[int, ...], steps: tuple[int, ...], gaps: tuple[int, ...]) -> list[tuple[int, int]]:
    """The padding before and after each axis."""
    if not isinstance(padding, str):
        return [(p, p) for p in each(name, "padding", padding or 0, len(sizes))]
    if padding not in ("same", "valid"):
        raise ArgumentError(f"{name}: padding must be 'same', 'valid' or numbers, not {padding!r}")
    if padding == "same" and any(step != 1 for step in steps):
        raise ArgumentError(f"{name}: padding='same' needs a stride of 1")
    total = [gap * (size - 1) if padding == "same" else 0 for size, gap in zip(sizes, gaps, strict=True)]
    return [(t // 2, t - t // 2) for t in total]


def _convolution(n: int) -> Function:
    name = f"conv{n}d"

    def body(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        images = _batch(name, x, weight, n, weight.shape[1] * groups if len(weight.shape) > 1 else 0)
        filters, per_group = _grouped(name, groups, weight.shape[0]), weight.shape[1]
        sizes = tuple(weight.shape[2:])
        steps, gaps = each(name, "stride", stride, n, 1), each(name, "dilation", dilation, n, 1)
        tables = []
        for size, step, gap, (before, after), length in zip(
            sizes, steps, gaps, _around(name, padding, sizes, steps, gaps), images.shape[2:], strict=True
        ):
            count = extent(length + before + after, size, step, 0, gap)
            if count < 1:
                raise ShapeError(f"{name}: filters of size {sizes} do not fit into images of shape {tuple(x.shape)}")
            tables.append(strided(length, count, size, step, before, gap))
        columns = read(images, tables, 0.0)
        places, windows = math.prod(sizes), tuple(columns.shape[n + 2 :])
        rows = reshape(columns, shape=(images.shape[0], groups, per_group * places, math.prod(windows)))
        products = matmul(reshape(weight, shape=(groups, filters, per_group * places)), rows)
        result = reshape(products, shape=(images.shape[0], weight.shape[0], *windows))
        return _finished(name, result, bias, n, len(x.shape) == n + 2)

    return body


def _transposed(n: int) -> Function:
    name = f"conv_transpose{n}d"

    def body(
        x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
    ) -> Any:
        images = _batch(name, x, weight, n, weight.shape[0] if weight.shape else 0)
        per_group, channels = _grouped(name, groups, weight.shape[0]), groups * weight.shape[1]
        sizes, windows = tuple(weight.shape[2:]), tuple(images.shape[2:])
        steps, gaps = each(name, "stride", stride, n, 1), each(name, "dilation", dilation, n, 1)
        around, further = each(name, "padding", padding, n), each(name, "output_padding", output_padding, n)
        if any(f >= max(step, gap) for f, step, gap in zip(further, steps, gaps, strict=True)):
            raise ArgumentError(f"{name}: output_padding must be smaller than the stride or the dilation")
        padded = tuple(
            (count - 1) * step + gap * (size - 1) + 1 + f
            for count, step, gap, size, f in zip(windows, steps, gaps, sizes, further, strict=True)
        )
        if any(length <= 2 * p for length, p in zip(padded, around, strict=True)):
            raise ShapeError(f"{name}: nothing is left of the axes {padded} without a padding of {around}")
        rows = reshape(images, shape=(images.shape[0], groups, per_group, math.prod(windows)))
        filters = swapaxes(reshape(weight, shape=(groups, per_group, -1)), axis1=1, axis2=2)
        columns = reshape(matmul(filters, rows), shape=(images.shape[0], channels, *sizes, *windows))
        tables = [
            strided(length, count, size, step, 0, gap)
            for length, count, size, step, gap in zip(padded, windows, sizes, steps, gaps, strict=True)
        ]
        return _finished(name, inner(add_up(columns, tables, padded), around), bias, n, len(x.shape) == n + 2)

    return body


for _n in (1, 2, 3):
    composite(
        f"conv{_n}d", "input weight bias?", _convolution(_n), backward="Convolution",
        static={"stride": 1, "padding": None, "dilation": 1, "groups": 1},
        doc=f"The cross-correlation of images of {_n} dimension(s) with filters, as layers of networks compute it.",
        examples=(f"F.conv{_n}d({small_image(_n)}, {nested('w', _n + 1)})",),
    )  # fmt: skip
    composite(
        f"conv_transpose{_n}d", "input weight bias?", _transposed(_n), backward="Convolution",
        static={"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1},
        doc=f"The transpose of conv{_n}d by its images: it adds multiples of the filters up.",
        examples=(f"F.conv_transpose{_n}d({small_image(_n)}, {nested('w', _n + 1)})",),
    )  # fmt: skip
