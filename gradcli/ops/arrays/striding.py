"""Entries addressed by strides through the memory that an array is laid out in: views of views, and what is written through them.

An array stands in memory with steps between the entries along each axis, its ``source``; a region of that memory has a size,
strides and an offset from the array's first entry. Entries of the region that are none of the array's are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.registry import structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, witness

Strides = tuple[int, ...]


def strided(memory: np.ndarray, size: Shape, stride: Strides, offset: int) -> np.ndarray:
    """A region of an array of one axis."""
    steps = [s * memory.itemsize for s in stride]
    if memory.dtype.hasobject:
        return np.lib.stride_tricks.as_strided(memory[offset:], size, steps)
    return np.ndarray(size, memory.dtype, memory, offset * memory.itemsize, steps)


def overlaps(size: Shape, stride: Strides) -> bool:
    """Return whether several places of a region may be one entry of memory."""
    if 0 in size:
        return False
    reached = 0
    for step, n in sorted((s, n) for s, n in zip(stride, size, strict=True) if n > 1):
        if step <= reached:
            return True
        reached += step * (n - 1)
    return False


def last_place(size: Shape, stride: Strides) -> int:
    """How far a region's last entry is from its first; -1 if it has none."""
    return -1 if 0 in size else sum(s * (n - 1) for s, n in zip(stride, size, strict=True))


def _memory(dtype: Any, *regions: tuple[Shape, Strides, int]) -> tuple[np.ndarray, int]:
    """Zeros that regions fit into, and where the offset 0 is in them."""
    reach = [(offset, offset + last_place(size, stride) + 1) for size, stride, offset in regions if 0 not in size]
    start = min((low for low, _ in reach), default=0)
    return np.zeros(max((high for _, high in reach), default=0) - min(start, 0), dtype), -min(start, 0)


def _laid_out(x: Any, source: Strides, size: Shape, stride: Strides, offset: int) -> tuple[np.ndarray, int]:
    array = np.asarray(x)
    memory, origin = _memory(array.dtype, (array.shape, source, 0), (size, stride, offset))
    strided(memory, array.shape, source, origin)[...] = array
    return memory, origin


def _as_strided(x: Any, size: Shape, stride: Strides, offset: int, source: Strides) -> Any:
    memory, origin = _laid_out(x, source, size, stride, offset)
    return strided(memory, size, stride, origin + offset if memory.size else 0).copy()


def _scatter(base: Any, new: Any, size: Shape, stride: Strides, offset: int, source: Strides) -> Any:
    memory, origin = _laid_out(base, source, size, stride, offset)
    strided(memory, size, stride, origin + offset if memory.size else 0)[...] = new
    return strided(memory, np.shape(base), source, origin).copy()


def _sum(x: Any, shape: Shape, size: Shape, stride: Strides, offset: int, source: Strides) -> Any:
    array = np.asarray(x)
    memory, origin = _memory(array.dtype, (shape, source, 0), (size, stride, offset))
    start = origin + offset if memory.size else 0
    if overlaps(size, stride):
        np.add.at(memory, strided(np.arange(memory.size), size, stride, start), array)
    else:
        strided(memory, size, stride, start)[...] = array
    return strided(memory, shape, source, origin).copy()


def _as_strided_vjp(
    wanted: Any, cotangent: Any, out: Any, x: Any, size: Shape, stride: Strides, offset: int, source: Strides
) -> tuple[Any]:
    summed = strided_sum(cotangent, shape=tuple(x.shape), size=size, stride=stride, offset=offset, source=source)
    if overlaps(tuple(x.shape), source):  # entries of one memory share what arrives there
        ones = np.ones(x.shape)
        summed = summed / _sum(ones, tuple(x.shape), tuple(x.shape), source, 0, source)
    return (summed,)


as_strided: Op = structural(
    "as_strided", "x", _as_strided, witness("moving.as_strided"), vjp=_as_strided_vjp,
    shape=lambda old, size, stride, offset, source: size, static={"size": (), "stride": (), "offset": 0, "source": ()}, moves=True,
    result="same", public=False,
    doc="A region of the memory that x is laid out in.",
)  # fmt: skip


def _scatter_vjp(
    wanted: Sequence[bool], cotangent: Any, out: Any, base: Any, new: Any, size: Shape, stride: Strides, offset: int, source: Strides
) -> tuple[Any, Any]:
    place = {"size": size, "stride": stride, "offset": offset, "source": source}
    kept = as_strided_scatter(cotangent, 0.0, **place) if wanted[0] else None
    return kept, as_strided(cotangent, **place) if wanted[1] else None


as_strided_scatter: Op = structural(
    "as_strided_scatter", "base new", _scatter, witness("moving.as_strided_scatter"), vjp=_scatter_vjp,
    shape=lambda base, new, size, stride, offset, source: base, static={"size": (), "stride": (), "offset": 0, "source": ()},
    moves=True, public=False,
    doc="The base with new entries in a region of the memory that it is laid out in.",
)  # fmt: skip


def _sum_vjp(
    wanted: Any, cotangent: Any, out: Any, x: Any, shape: Shape, size: Shape, stride: Strides, offset: int, source: Strides
) -> tuple[Any]:
    return (strided_sum(cotangent, shape=size, size=shape, stride=source, offset=-offset, source=stride),)


def _summed_in_memory(m: Any, x: Any, shape: Shape, size: Shape, stride: Strides, offset: int, source: Strides) -> Any:
    memory, origin = _memory(int, (shape, source, 0), (size, stride, offset))
    places = np.arange(memory.size)
    region = strided(places, size, stride, origin + offset if memory.size else 0)
    return m.chosen(m.added(x, (region,), memory.shape), (strided(places, shape, source, origin),))


strided_sum: Op = structural(
    "strided_sum", "x", _sum, witness("moving.strided_sum"),
    vjp=_sum_vjp,
    shape=lambda old, shape, size, stride, offset, source: shape,
    static={"shape": (), "size": (), "stride": (), "offset": 0, "source": ()}, linear=True, public=False, ulps=1, rounding="terms",
    axes=_summed_in_memory, doc="Zeros of a shape to which x is added in a region of the memory that they are laid out in.",
)  # fmt: skip
