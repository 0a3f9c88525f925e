"""Images read at places that are themselves results: grid_sample, its grids, and entries put back where they were found."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import add_along, take_along
from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, swapaxes
from gradcli.ops.arrays.windows import each, nested
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, floor, rint
from gradcli.ops.elementwise.logic import equal, greater_equal, less_equal, logical_and, where
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.structure import to_int

_PADDINGS = ("zeros", "border", "reflection")
_MODES = ("bilinear", "nearest", "bicubic")


def _reflected(at: Any, length: int, corners: bool) -> Any:
    """Coordinates mirrored at the first and last entries (corners), or at the outer edges of these."""
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    if low == high:
        return at * 0
    far = abs_(at - low)
    turns = floor(far / (high - low))
    rest = far - turns * (high - low)
    return where(equal(turns, 2 * floor(turns / 2)), rest + low, (high - low) - rest + low)


def _within(at: Any, length: int, padding: str, corners: bool) -> Any:
    """Coordinates brought back to the image, as the padding says; constant on its border and beyond."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        at = _reflected(at, length, corners)
    return where(less_equal(at, 0), 0.0, where(greater_equal(at, length - 1), length - 1.0, at))


def _entries(x: Any, places: list[Any]) -> Any:
    """The entries of images at whole coordinates, 0 outside; places of shape (images, points)."""
    lengths = tuple(x.shape[2:])
    inside: Any = True
    flat: Any = 0.0
    for place, length in zip(places, lengths, strict=True):
        within = logical_and(greater_equal(place, 0), less_equal(place, length - 1))
        inside = within if inside is True else logical_and(inside, within)
        flat = flat * length + place
    index = to_int(rint(where(inside, flat, 0.0)))
    images, channels, points = x.shape[0], x.shape[1], index.shape[1]
    spread = broadcast_to(reshape(index, shape=(images, 1, points)), shape=(images, channels, points))
    found = take_along(reshape(x, shape=(images, channels, math.prod(lengths))), spread, axis=2)
    return where(reshape(inside, shape=(images, 1, points)), found, 0.0)


def _cubic(t: Any) -> list[Any]:
    """Keys' weights with a = -3/4 of the four neighbours, at t of the way between the inner two."""
    a, u = -0.75, 1 - t
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, u + 1)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, u)]
    return [far[0], near[0], near[1], far[1]]


def _grid_sample(x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool | None) -> Any:
    n = len(x.shape) - 2
    if n not in (2, 3) or len(grid.shape) != n + 2 or grid.shape[-1] != n or grid.shape[0] != x.shape[0] or not all(x.shape[1:]):
        raise ShapeError(f"grid_sample: an array of shape {tuple(x.shape)} and a grid of shape {tuple(grid.shape)} do not fit")
    if mode not in _MODES or padding_mode not in _PADDINGS or (mode == "bicubic" and n == 3):
        raise ArgumentError(f"grid_sample: mode {mode!r} with padding_mode {padding_mode!r} does not exist for {n} dimensions")
    corners, lengths = bool(align_corners), tuple(x.shape[2:])
    points = reshape(grid, shape=(grid.shape[0], math.prod(grid.shape[1:-1]), n))
    taps = []  # along each axis, the places to read and their weights
    for i, length in enumerate(lengths):
        unit = getitem(points, index=(..., n - 1 - i)) + 1
        at = unit * ((length - 1) / 2) if corners else (unit * length - 1) / 2
        if mode == "bicubic":
            below = floor(at)
            places = [_within(below + k, length, padding_mode, corners) for k in range(-1, 3)]
            taps.append(list(zip([rint(p) for p in places], _cubic(at - below), strict=True)))
            continue
        at = _within(at, length, padding_mode, corners)
        if mode == "nearest":
            taps.append([(rint(at), None)])
        else:
            below = floor(at)
            taps.append([(below, 1 - (at - below)), (below + 1, at - below)])
    total: Any = None
    for corner in itertools.product(*taps):
        term = _entries(x, [place for place, _ in corner])
        for _, weight in corner:
            if weight is not None:
                term = term * reshape(weight, shape=(weight.shape[0], 1, weight.shape[1]))
        total = term if total is None else total + term
    return reshape(total, shape=(*x.shape[:2], *grid.shape[1:-1]))


def _affine_grid(theta: Any, size: Any, align_corners: bool | None) -> Any:
    n = len(size) - 2 if isinstance(size, tuple) else 0
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1):
        raise ShapeError(f"affine_grid: matrices of shape {tuple(theta.shape)} do not fit the size {size}")
    room_for(2, n + 1, *size[2:])
    lines = [np.linspace(-1, 1, m) * (1 if align_corners else (m - 1) / m) if m > 1 else np.zeros(1) for m in size[2:]]
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], axis=-1).reshape(-1, n + 1)
    return reshape(matmul(base, swapaxes(theta, axis1=1, axis2=2)), shape=(size[0], *size[2:], n))


def _unpooled(n: int) -> Function:
    name = f"max_unpool{n}d"

    def body(x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
        if len(x.shape) not in (n + 1, n + 2) or tuple(indices.shape) != tuple(x.shape):
            raise ShapeError(f"{name}: an array of shape {tuple(x.shape)} and indices of shape {tuple(indices.shape)} do not fit")
        sizes, around = each(name, "kernel_size", kernel_size, n, 1), each(name, "padding", padding, n)
        steps = sizes if stride in (None, ()) else each(name, "stride", stride, n, 1)
        lead, windows = tuple(x.shape[:-n]), tuple(x.shape[-n:])
        lengths = tuple((w - 1) * s + k - 2 * p for w, s, k, p in zip(windows, steps, sizes, around, strict=True))
        if output_size is not None:
            lengths = each(name, "output_size", output_size[-n:] if isinstance(output_size, tuple) else output_size, n, 1)
        flat = (*lead, math.prod(windows))
        put = add_along(reshape(x, shape=flat), reshape(indices, shape=flat), axis=-1, shape=(*lead, math.prod(lengths)))
        return reshape(put, shape=(*lead, *lengths))

    return body


grid_sample = composite(
    "grid_sample", "input grid", _grid_sample, static={"mode": "bilinear", "padding_mode": "zeros", "align_corners": None},
    doc="Images read at the places that a grid gives, from -1 to 1 along every axis, the last one first.",
    examples=("F.grid_sample([[[x, y]]], [[[[0.2, 0.1]]]])",),
)  # fmt: skip
affine_grid = composite(
    "affine_grid", "theta", _affine_grid, static={"size": REQUIRED, "align_corners": None}, backward="AffineGridGenerator",
    doc="The grid for grid_sample that an affine map gives.", examples=("F.affine_grid([[x, y]], (1, 1, 2, 2))",),
)  # fmt: skip


def _by_number(x: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    if interpolation_mode not in range(3) or padding_mode not in range(3):
        raise ArgumentError("grid_sampler: the modes are numbers from 0 to 2")
    return _grid_sample(x, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


for _n in (2, 3):
    composite(
        f"grid_sampler_{_n}d", "input grid", _by_number, public=False,
        static={"interpolation_mode": REQUIRED, "padding_mode": REQUIRED, "align_corners": REQUIRED},
        doc="torch.grid_sampler: grid_sample with numbers for its modes.",
    )  # fmt: skip
declare(
    TORCH,
    **{
        name: signature(f"grid_sampler_{n}d", "input, grid, interpolation_mode, padding_mode, align_corners")
        for name, n in (("grid_sampler", 2), ("grid_sampler_2d", 2), ("grid_sampler_3d", 3))
    },
)
for _n in (1, 2, 3):
    composite(
        f"max_unpool{_n}d", "input indices", _unpooled(_n), indices=frozenset({"indices"}),
        static={"kernel_size": REQUIRED, "stride": None, "padding": 0, "output_size": None},
        doc=f"Zeros with entries at the places where max_pool{_n}d found them.",
        examples=(f"F.max_unpool{_n}d({nested('x', _n)}, {nested('[0, 2, 4]', _n)}, {(1, 1, 2)[-_n:] if _n > 1 else 2})",),
    )  # fmt: skip
