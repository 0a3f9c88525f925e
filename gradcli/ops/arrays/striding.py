"""Entries addressed by strides through the memory of an array.

These are views of views, and what is written through them.

An array stands in memory with steps between the entries along each axis, its ``source``. A region
of that memory has a size, strides and an offset from the array's first entry. Entries of the region
that do not belong to the array are zeros.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.arrays.joining_and_splitting import mix
from gradcli.ops.arrays.shapes import (
    StaticArray,
    broadcast_to,
    getitem,
    reshape,
    scatter_add,
    vector_of,
)
from gradcli.ops.axes import entry_numbers
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import Shape, function

Strides = tuple[int, ...]


def last_place(size: Shape, stride: Strides) -> int:
    """Return how far a region's last entry is from its first; -1 if it has none."""
    return -1 if 0 in size else sum(s * (n - 1) for s, n in zip(stride, size, strict=True))


def _places(size: Shape, stride: Strides, offset: int) -> Any:
    """Return the places in memory of the entries of a region."""
    places = np.array(offset)
    for n, step in zip(size, stride, strict=True):
        places = np.add.outer(places, np.arange(n) * step)
    return places


def _memory(
    shape: Shape, size: Shape, stride: Strides, offset: int, source: Strides
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the memory of an array and a region, and where the entries of both are in it.

    The memory has the numbers of the array's entries, -1 where there is none.
    """
    own, region = _places(shape, source, 0), _places(size, stride, offset)
    first, last = (extreme(own, initial=extreme(region, initial=0)) for extreme in (np.min, np.max))
    memory = np.full(last - first + 1, -1)
    memory[own - first] = entry_numbers(shape)
    return memory, own - first, region - first


def _entries(shape: Shape, **region: Any) -> tuple[StaticArray]:
    """Return the index of a region's entries among those of an array and a final zero.

    The array has the given shape; the zero follows its entries.
    """
    memory, _, places = _memory(shape, **region)
    return (StaticArray(memory[places]),)


def _as_strided_vjp(cotangent: Any, out: Any, x: Any, **region: Any) -> Any:
    n = math.prod(x.shape)
    sums = scatter_add(cotangent, index=_entries(x.shape, **region), shape=(n + 1,))
    return reshape(getitem(sums, index=((0, n, None),)), shape=tuple(x.shape))


@function(vjp=_as_strided_vjp, shape=lambda old, size, **_: size, ulps=0, public=False)
def as_strided(
    x: Any, *, size: Shape = (), stride: Strides = (), offset: int = 0, source: Strides = ()
) -> Any:
    """A region of the memory that x is laid out in."""
    n = math.prod(x.shape)
    filled = scatter_add(vector_of(x), index=((0, n, None),), shape=(n + 1,))
    return getitem(
        filled, index=_entries(x.shape, size=size, stride=stride, offset=offset, source=source)
    )


def _sources(shape: Shape, size: Shape, **region: Any) -> Any:
    """Return the source of each entry of an array into whose memory another is written.

    It is a number among the entries of both.
    """
    memory, own, places = _memory(shape, size, **region)
    memory[places] = entry_numbers(size, math.prod(shape))
    return memory[own]


def _kept(cotangent: Any, out: Any, base: Any, new: Any, **region: Any) -> Any:
    """Return what flows back to the base: nothing where new entries are."""
    return where(_sources(base.shape, **region) < math.prod(base.shape), cotangent, 0.0)


def _taken(cotangent: Any, out: Any, base: Any, new: Any, **region: Any) -> Any:
    return as_strided(cotangent, **region)


@function(vjp=(_kept, _taken), shape=lambda base, new, **_: base, ulps=0, dtype="float", public=False)
def as_strided_scatter(
    base: Any,
    new: Any,
    *,
    size: Shape = (),
    stride: Strides = (),
    offset: int = 0,
    source: Strides = (),
) -> Any:
    """The base with new entries in a region of the memory that it is laid out in."""
    places = _sources(base.shape, size, stride=stride, offset=offset, source=source)
    return mix(base, broadcast_to(new, shape=size), places)
