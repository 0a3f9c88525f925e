"""Convolutions and their transposes, in one to three dimensions: products of filters with windows."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import reshape, swapaxes
from gradcli.ops.arrays.windows import add_up, each, extent, inner, nested, read, small_image, strided
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import function


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


def _convolutions(n: int) -> None:
    """Register the functions for n dimensions."""
    name, transposed = f"conv{n}d", f"conv_transpose{n}d"
    example = f"{small_image(n)}, {nested('w', n + 1)}"

    @function(name, backward="Convolution", examples=(f"F.{name}({example})",))
    def convolution(
        input: Any, weight: Any, bias: Any = None, *, stride: Any = 1, padding: Any = None, dilation: Any = 1, groups: int = 1
    ) -> Any:
        """The cross-correlation of images with filters, as layers of networks compute it."""
        images = _batch(name, input, weight, n, weight.shape[1] * groups if len(weight.shape) > 1 else 0)
        filters, per_group = _grouped(name, groups, weight.shape[0]), weight.shape[1]
        sizes = tuple(weight.shape[2:])
        steps, gaps = each(name, "stride", stride, n, 1), each(name, "dilation", dilation, n, 1)
        tables = []
        for size, step, gap, (before, after), length in zip(
            sizes, steps, gaps, _around(name, padding, sizes, steps, gaps), images.shape[2:], strict=True
        ):
            count = extent(length + before + after, size, step, 0, gap)
            if count < 1:
                raise ShapeError(f"{name}: filters of size {sizes} do not fit into images of shape {tuple(input.shape)}")
            tables.append(strided(length, count, size, step, before, gap))
        columns = read(images, tables, 0.0)
        places, windows = math.prod(sizes), tuple(columns.shape[n + 2 :])
        rows = reshape(columns, shape=(images.shape[0], groups, per_group * places, math.prod(windows)))
        products = matmul(reshape(weight, shape=(groups, filters, per_group * places)), rows)
        result = reshape(products, shape=(images.shape[0], weight.shape[0], *windows))
        return _finished(name, result, bias, n, len(input.shape) == n + 2)

    @function(transposed, backward="Convolution", examples=(f"F.{transposed}({example})",))
    def transpose(
        input: Any, weight: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
        dilation: Any = 1,
    ) -> Any:  # fmt: skip
        """The transpose of a convolution by its images: it adds multiples of the filters up."""
        images = _batch(transposed, input, weight, n, weight.shape[0] if weight.shape else 0)
        per_group, channels = _grouped(transposed, groups, weight.shape[0]), groups * weight.shape[1]
        sizes, windows = tuple(weight.shape[2:]), tuple(images.shape[2:])
        steps, gaps = each(transposed, "stride", stride, n, 1), each(transposed, "dilation", dilation, n, 1)
        around, further = each(transposed, "padding", padding, n), each(transposed, "output_padding", output_padding, n)
        if any(f >= max(step, gap) for f, step, gap in zip(further, steps, gaps, strict=True)):
            raise ArgumentError(f"{transposed}: output_padding must be smaller than the stride or the dilation")
        padded = tuple(
            (count - 1) * step + gap * (size - 1) + 1 + f
            for count, step, gap, size, f in zip(windows, steps, gaps, sizes, further, strict=True)
        )
        if any(length <= 2 * p for length, p in zip(padded, around, strict=True)):
            raise ShapeError(f"{transposed}: nothing is left of the axes {padded} without a padding of {around}")
        rows = reshape(images, shape=(images.shape[0], groups, per_group, math.prod(windows)))
        filters = swapaxes(reshape(weight, shape=(groups, per_group, -1)), axis1=1, axis2=2)
        columns = reshape(matmul(filters, rows), shape=(images.shape[0], channels, *sizes, *windows))
        tables = [
            strided(length, count, size, step, 0, gap)
            for length, count, size, step, gap in zip(padded, windows, sizes, steps, gaps, strict=True)
        ]
        return _finished(transposed, inner(add_up(columns, tables, padded), around), bias, n, len(input.shape) == n + 2)


for _n in (1, 2, 3):
    _convolutions(_n)
