"""Arrays put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, PlaceError, ShapeError
from gradcli.ops import cutting
from gradcli.ops.arrays.reshaping import at_least_1d, atleast_2d, atleast_3d
from gradcli.ops.arrays.shapes import ASKED, getitem, part_of, reshape
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.facts import Function
from gradcli.ops.looping import listed
from gradcli.ops.registry import composite, function, structural
from gradcli.ops.room import nodes_for, room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import Shape, axes_of, one_axis, shape_by_example, witness

# -- Arrays in a row, along an axis that they have -------------------------------------------------


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


_concatenate_by_example = shape_by_example(_concatenate)


def _concatenate_shape(*shapes: Shape, axis: int) -> Shape:
    if sum(map(math.prod, shapes)) <= ASKED:
        shape: Shape = _concatenate_by_example(*shapes, axis=axis)
        return shape
    place = axes_of(axis, len(shapes[0]))[0]
    if len({(len(s), *s[:place], *s[place + 1 :]) for s in shapes}) > 1:
        raise ShapeError(f"all arrays must have one shape but along axis {place}, not {' and '.join(map(str, dict.fromkeys(shapes)))}")
    return (*shapes[0][:place], sum(s[place] for s in shapes), *shapes[0][place + 1 :])


def _concatenate_vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    axis = axis % cotangent.ndim
    parts, start = [], 0
    for array in arrays:
        stop = start + array.shape[axis]
        index = (*((None, None, None),) * axis, (start, stop, None))
        parts.append(getitem(cotangent, index=index))
        start = stop
    return tuple(part if want else None for want, part in zip(wanted, parts, strict=True))


concatenate = structural(
    "concatenate", "*arrays", _concatenate, witness("moving.concatenate"), vjp=_concatenate_vjp,
    shape=_concatenate_shape, static={"axis": 0}, moves=True, result="same", aliases=("cat", "concat"),
    doc="Arrays joined along an axis.", examples=("concatenate([x, y])",), backward="Cat",
    across=cutting.turned,
    numpy=lambda shapes, axis: f"np.concatenate([{listed(shapes)}], {axis})",
)  # fmt: skip


def _joined(*arrays: Any, axis: int | None) -> Any:
    if axis is None:
        return concatenate(*(reshape(x, shape=(-1,)) for x in arrays), axis=0)
    if any(len(x.shape) != 1 for x in arrays):
        # PyTorch joins empty vectors with anything
        arrays = tuple(x for x in arrays if tuple(x.shape) != (0,))
    return concatenate(*arrays, axis=axis)


def _stacked(name: str, along: int, raised: Function, doc: str, *aliases: str) -> None:
    def body(*arrays: Any) -> Any:
        parts = [raised(x) for x in arrays]
        return concatenate(*parts, axis=min(along, len(parts[0].shape) - 1))

    composite(name, "*arrays", body, aliases=aliases, doc=doc)
    declare(NUMPY, **dict.fromkeys((name, *aliases), signature(name, "*arrays|tup|tensors, -dtype, -casting")))


def _column(x: Any) -> Any:
    return x if len(x.shape) > 1 else reshape(x, shape=(-1, 1))


composite(
    "joined", "*arrays", _joined, static={"axis": REQUIRED}, public=False, backward="Cat",
    doc="np.concatenate and torch.cat: arrays joined along an axis, or all their entries (axis=None).",
)  # fmt: skip
_stacked("hstack", 1, at_least_1d, "Arrays joined along the second axis, vectors along the first.")
_stacked("vstack", 0, atleast_2d, "Arrays joined along the first axis, vectors as rows.", "row_stack")
_stacked("dstack", 2, atleast_3d, "Arrays joined along the third axis.")
_stacked("column_stack", 1, _column, "Arrays joined along the second axis, vectors as columns.")


@function(numpy="**arrays|tensors", examples=("block_diag(x, y)",))
def block_diag(*arrays: Any) -> Any:
    """A matrix with matrices along its diagonal and zeros elsewhere."""
    if any(len(x.shape) > 2 for x in arrays):
        raise ShapeError("block_diag needs matrices")
    blocks = [atleast_2d(x) for x in arrays]
    width = sum(b.shape[1] for b in blocks)
    room_for(sum(b.shape[0] for b in blocks), width)
    rows, before = [], 0
    for block in blocks:
        height, columns = block.shape
        sides = np.zeros((height, before)), block, np.zeros((height, width - before - columns))
        rows.append(concatenate(*(side for side in sides if side is block or side.shape[1]), axis=1))
        before += columns
    return concatenate(*rows, axis=0)


@function(numpy="x|arr, y|values, axis")
def append(x: Any, y: Any, *, axis: int | None = None) -> Any:
    """x and y joined along an axis, or all their entries."""
    return _joined(x, y, axis=axis)


declare(
    NUMPY,
    **dict.fromkeys(("concatenate", "cat", "concat"), signature("joined", "*arrays|tensors, axis, -out, -dtype, -casting", axis=0)),
    stack=signature("stack", "*arrays|tensors, axis, -out, -dtype, -casting"),
)


# -- Arrays taken apart: parts along an axis, as tuples --------------------------------------------


ALL = (None, None, None)  # the slice of a whole axis


def _place(name: str, x: Any, axis: int) -> int:
    if not x.shape:
        raise ShapeError(f"{name} expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return one_axis(axis, len(x.shape))


def _parts(x: Any, axis: int, sizes: list[int]) -> tuple[Any, ...]:
    """Parts of these sizes, in order."""
    return tuple(part_of(x, axis, start, stop) for start, stop in pairwise(accumulate(sizes, initial=0)))


def _equal_parts(x: Any, axis: int, size: int) -> tuple[Any, ...]:
    """Parts of one size; the last one may be smaller."""
    n = x.shape[axis]
    return _parts(x, axis, [min(size, n - start) for start in range(0, n, size)] if n else [0])


def _split_with_sizes(x: Any, sizes: Any, axis: int) -> tuple[Any, ...]:
    place, sizes = _place("split", x, axis), sizes if isinstance(sizes, tuple) else (sizes,)
    if min(sizes, default=0) < 0 or sum(sizes) != x.shape[place]:
        raise ShapeError(f"split: the sizes {sizes} are not of {x.shape[place]} entries in all")
    return _parts(x, place, list(sizes))


def _tensor_split(x: Any, sections: Any, axis: int) -> tuple[Any, ...]:
    """Nearly equal parts, or parts between indices."""
    place = _place("tensor_split", x, axis)
    if isinstance(sections, tuple):
        return tuple(part_of(x, place, start, stop) for start, stop in pairwise((0, *sections, None)))
    if sections < 1:
        raise ArgumentError(f"number of sections must be larger than 0, got {sections}")
    nodes_for(sections, "split")
    size, larger = divmod(x.shape[place], sections)
    return _parts(x, place, [size + (i < larger) for i in range(sections)])


def _split(x: Any, sections: Any, axis: int) -> tuple[Any, ...]:
    place = _place("split", x, axis)
    if not isinstance(sections, tuple) and (sections < 1 or x.shape[place] % sections):
        raise ShapeError(f"split: {x.shape[place]} entries have no {sections} equal parts")
    return _tensor_split(x, sections, axis)


def _along(name: str, axis: int, fewest: int, what: str) -> None:
    def body(x: Any, sections: Any) -> tuple[Any, ...]:
        if len(x.shape) < fewest:
            raise ShapeError(f"{name} needs an array of at least {fewest} axes, not of shape {tuple(x.shape)}")
        return _split(x, sections, min(axis, len(x.shape) - 1))

    doc = f"A tuple of parts along the {what}."
    composite(name, "x", body, static={"sections": REQUIRED}, doc=doc)
    declare(NUMPY, **{name: signature(name, "x|ary, sections|indices_or_sections|indices")})


def _select(x: Any, axis: int, index: int) -> Any:
    place = _place("select", x, axis)
    if not -x.shape[place] <= index < x.shape[place]:
        raise PlaceError(f"select: there is no entry {index} along an axis of {x.shape[place]}")
    return getitem(x, index=(*(ALL,) * place, int(index)))


def _narrow(x: Any, axis: int, start: int, length: int) -> Any:
    place = _place("narrow", x, axis)
    n = x.shape[place]
    if not -n <= start <= n or not 0 <= length <= n - (start % n if start < 0 else start):
        raise ShapeError(f"narrow: no {length} entries from {start} on along an axis of {n}")
    first = start + n if start < 0 else start
    return part_of(x, place, first, first + length)


def _of_sections(body: Function) -> dict[str, Any]:
    return {"body": body, "static": {"sections": REQUIRED, "axis": 0}}


split = composite(
    "split", "x", **_of_sections(_split), examples=("split(x, [1, 3])[1]",),
    doc="A tuple of equal parts along an axis, or of the parts between indices (torch.split: parts of a size, or of sizes).",
)  # fmt: skip
tensor_split = composite(
    "tensor_split", "x", **_of_sections(_tensor_split), aliases=("array_split",),
    doc="A tuple of nearly equal parts along an axis, or of the parts between indices.",
)  # fmt: skip


@function(public=False, sealed=True)
def torch_split(x: Any, *, sizes: Any, axis: int = 0) -> tuple[Any, ...]:
    """torch.split: a tuple of parts of a size, or of sizes, along an axis."""
    if isinstance(sizes, tuple):
        return _split_with_sizes(x, sizes, axis)
    place = _place("split", x, axis)
    if sizes < 0 or (not sizes and x.shape[place]):
        raise ArgumentError(f"split: parts of {sizes} entries cannot make up {x.shape[place]}")
    return _equal_parts(x, place, sizes or 1)


split_with_sizes = composite(
    "split_with_sizes", "x", _split_with_sizes, static={"sizes": REQUIRED, "axis": 0},
    sealed=True,
    doc="A tuple of parts of given sizes along an axis.",
)  # fmt: skip


@function(sealed=True, examples=("chunk(x, 2)[0]",))
def chunk(x: Any, *, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of at most so many parts of one size along an axis; the last one may be smaller."""
    place = _place("chunk", x, axis)
    if chunks < 1:
        raise ArgumentError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = x.shape[place]
    if not n:
        nodes_for(chunks, "chunk")
    return _equal_parts(x, place, -(-n // chunks)) if n else _parts(x, place, [0] * chunks)


@function(sealed=True, aliases=("unstack",))
def unbind(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of the entries along an axis."""
    place = _place("unbind", x, axis)
    return tuple(getitem(x, index=(*(ALL,) * place, i)) for i in range(x.shape[place]))


select = composite(
    "select", "x", _select, static={"axis": REQUIRED, "index": REQUIRED},
    doc="One entry along an axis, without it.",
)  # fmt: skip
narrow = composite(
    "narrow", "x", _narrow, static={"axis": REQUIRED, "start": REQUIRED, "length": REQUIRED},
    doc="So many entries along an axis, from start on.",
)  # fmt: skip
_along("hsplit", 1, 1, "second axis (the first of a vector)")
_along("vsplit", 0, 2, "first axis")
_along("dsplit", 2, 3, "third axis")

_SECTIONS = "x|ary, sections|indices_or_sections|indices|tensor_indices_or_sections, axis"
declare(
    NUMPY,
    split=signature("split", _SECTIONS),
    **dict.fromkeys(("array_split", "tensor_split"), signature("tensor_split", _SECTIONS)),
    split_with_sizes=signature("split_with_sizes", "x, sizes|split_sizes, axis"),
)
_SIZES = "x|tensor, sizes|split_size_or_sections|split_size, axis"
declare(
    TORCH,
    split=signature("torch_split", _SIZES),
)
