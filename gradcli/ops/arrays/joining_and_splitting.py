"""Arrays put together, and taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, PlaceError, ShapeError
from gradcli.ops.arrays.reshaping import at_least_1d, atleast_2d, atleast_3d
from gradcli.ops.arrays.shapes import ALL, StaticArray, getitem, part_of, parts_of, reshape, vector_of
from gradcli.ops.registry import declare, function, nodes_for, one_axis, shape_by_example, structural, witness
from gradcli.ops.text import listed

# -- Arrays in a row, along an axis that they have -------------------------------------------------


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


def _concatenate_vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    parts = parts_of(cotangent, axis, [array.shape[axis] for array in arrays])
    return tuple(part if want else None for want, part in zip(wanted, parts, strict=True))


concatenate = structural(
    "concatenate cat concat", "*arrays", _concatenate, witness("arrays.concatenate"), vjp=_concatenate_vjp,
    shape=shape_by_example(_concatenate), static={"axis": 0}, ulps=0,
    doc="Arrays joined along an axis. >>> concatenate([x, y])", backward="Cat",
    numpy=lambda shapes, axis: f"np.concatenate([{listed(shapes)}], {axis})",
)  # fmt: skip


def flat_join(x: Any, y: Any) -> Any:
    """All entries of x, and then of y."""
    return concatenate(vector_of(x), vector_of(y), axis=0)


def mixed(x: Any, source: Any, places: np.ndarray) -> Any:
    """The entries of x and then of source, at constant places among all of these."""
    every = vector_of(x) if 0 in source.shape else flat_join(x, source)
    return getitem(every, index=(StaticArray(places),))


@function(public=False, backward="Cat")
def joined(*arrays: Any, axis: int | None) -> Any:
    """np.concatenate and torch.cat: arrays joined along an axis, or all their entries (axis=None)."""
    if axis is None:
        return concatenate(*(vector_of(x) for x in arrays), axis=0)
    if any(len(x.shape) != 1 for x in arrays):
        # PyTorch joins empty vectors with anything
        arrays = tuple(x for x in arrays if x.shape != (0,))
    return concatenate(*arrays, axis=axis)


_STACKED = "*arrays|tup|tensors, -dtype, -casting"


@function(numpy=_STACKED)
def hstack(*arrays: Any) -> Any:
    """Arrays joined along the second axis, vectors along the first."""
    parts = [at_least_1d(x) for x in arrays]
    return concatenate(*parts, axis=min(1, len(parts[0].shape) - 1))


@function("vstack row_stack", numpy=_STACKED)
def vstack(*arrays: Any) -> Any:
    """Arrays joined along the first axis, vectors as rows."""
    return concatenate(*(atleast_2d(x) for x in arrays), axis=0)


@function(numpy=_STACKED)
def dstack(*arrays: Any) -> Any:
    """Arrays joined along the third axis."""
    return concatenate(*(atleast_3d(x) for x in arrays), axis=2)


@function(numpy=_STACKED)
def column_stack(*arrays: Any) -> Any:
    """Arrays joined along the second axis, vectors as columns."""
    return concatenate(*(x if len(x.shape) > 1 else reshape(x, shape=(-1, 1)) for x in arrays), axis=1)


@function(numpy="x|arr, y|values, axis")
def append(x: Any, y: Any, *, axis: int | None = None) -> Any:
    """x and y joined along an axis, or all their entries."""
    return joined(x, y, axis=axis)


# -- Arrays taken apart: parts along an axis, as tuples --------------------------------------------


def place_along(name: str, x: Any, axis: int) -> int:
    """An axis, counted from the first, of an array that has to have one."""
    if not x.shape:
        raise ShapeError(f"{name} needs an array of at least one axis, not a number")
    return one_axis(axis, len(x.shape))


def _equal_parts(x: Any, axis: int, size: int) -> tuple[Any, ...]:
    """Parts of one size; the last one may be smaller."""
    n = x.shape[axis]
    return parts_of(x, axis, [min(size, n - start) for start in range(0, n, size)] if n else [0])


_SECTIONS = "x|ary, sections|indices_or_sections|indices|tensor_indices_or_sections, axis"


@function("tensor_split array_split", numpy=_SECTIONS)
def tensor_split(x: Any, *, sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of nearly equal parts along an axis, or of the parts between indices."""
    place = place_along("tensor_split", x, axis)
    if isinstance(sections, tuple):
        return tuple(part_of(x, place, start, stop) for start, stop in pairwise((0, *sections, None)))
    if sections < 1:
        raise ArgumentError(f"number of sections must be larger than 0, got {sections}")
    nodes_for(sections, "split")
    size, larger = divmod(x.shape[place], sections)
    return parts_of(x, place, [size + (i < larger) for i in range(sections)])


@function(numpy=_SECTIONS)
def split(x: Any, *, sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of equal parts along an axis, or of the parts between indices (torch.split: parts of a size, or of sizes).

    >>> split(x, [1, 3])[1]
    """
    n = x.shape[place_along("split", x, axis)]
    if not isinstance(sections, tuple) and (sections < 1 or n % sections):
        raise ShapeError(f"split: {n} entries have no {sections} equal parts")
    parts: tuple[Any, ...] = tensor_split(x, sections=sections, axis=axis)
    return parts


def _split_along(name: str, axis: int, fewest: int, what: str) -> None:
    def body(x: Any, *, sections: Any) -> tuple[Any, ...]:
        if len(x.shape) < fewest:
            raise ShapeError(f"{name} needs an array of at least {fewest} axes, not of shape {tuple(x.shape)}")
        parts: tuple[Any, ...] = split(x, sections=sections, axis=min(axis, len(x.shape) - 1))
        return parts

    body.__doc__ = f"A tuple of parts along the {what}."
    function(name, numpy="x|ary, sections|indices_or_sections|indices")(body)


_split_along("hsplit", 1, 1, "second axis (the first of a vector)")
_split_along("vsplit", 0, 2, "first axis")
_split_along("dsplit", 2, 3, "third axis")


@function(numpy="x, sizes|split_sizes, axis", memory="parts")
def split_with_sizes(x: Any, *, sizes: Any, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of parts of given sizes along an axis."""
    place, sizes = place_along("split", x, axis), sizes if isinstance(sizes, tuple) else (sizes,)
    if min(sizes, default=0) < 0 or sum(sizes) != x.shape[place]:
        raise ShapeError(f"split: the sizes {sizes} are not of {x.shape[place]} entries in all")
    return parts_of(x, place, sizes)


@function(memory="parts")
def torch_split(x: Any, *, sizes: Any, axis: int = 0) -> tuple[Any, ...]:
    """torch.split: a tuple of parts of a size, or of sizes, along an axis."""
    if isinstance(sizes, tuple):
        parts: tuple[Any, ...] = split_with_sizes(x, sizes=sizes, axis=axis)
        return parts
    place = place_along("split", x, axis)
    if sizes < 0 or (not sizes and x.shape[place]):
        raise ArgumentError(f"split: parts of {sizes} entries cannot make up {x.shape[place]}")
    return _equal_parts(x, place, sizes or 1)


@function(memory="parts")
def chunk(x: Any, *, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of at most so many parts of one size along an axis; the last one may be smaller.

    >>> chunk(x, 2)[0]
    """
    place = place_along("chunk", x, axis)
    if chunks < 1:
        raise ArgumentError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = x.shape[place]
    if not n:
        nodes_for(chunks, "chunk")
    return _equal_parts(x, place, -(-n // chunks)) if n else parts_of(x, place, [0] * chunks)


@function("unbind unstack", memory="parts")
def unbind(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of the entries along an axis."""
    place = place_along("unbind", x, axis)
    return tuple(getitem(x, index=(*(ALL,) * place, i)) for i in range(x.shape[place]))


@function()
def select(x: Any, *, axis: int, index: int) -> Any:
    """One entry along an axis, without it."""
    place = place_along("select", x, axis)
    if not -x.shape[place] <= index < x.shape[place]:
        raise PlaceError(f"select: there is no entry {index} along an axis of {x.shape[place]}")
    return getitem(x, index=(*(ALL,) * place, int(index)))


@function()
def narrow(x: Any, *, axis: int, start: int, length: int) -> Any:
    """Return so many entries along an axis, from start on."""
    place = place_along("narrow", x, axis)
    n = x.shape[place]
    first = start + n if start < 0 else start
    if not 0 <= first <= n or not 0 <= length <= n - first:
        raise ShapeError(f"narrow: no {length} entries from {start} on along an axis of {n}")
    return part_of(x, place, first, first + length)


declare(f"""
    numpy:
        concatenate cat concat = joined(*arrays|tensors, axis=0, -out, -dtype, -casting)
        stack(*arrays|tensors, axis, -out, -dtype, -casting)
        row_stack = vstack({_STACKED})
        array_split = tensor_split({_SECTIONS})
    torch:
        split = torch_split(x|tensor, sizes|split_size_or_sections|split_size, axis)
""")
