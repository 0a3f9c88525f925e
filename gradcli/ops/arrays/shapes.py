"""Operations that move entries: shapes and indexing, and their companions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import axes, pytorch
from gradcli.ops.axes import numpy_index
from gradcli.ops.carrying import error_of_adding, error_of_taking, kept_shape
from gradcli.ops.constants import number_inside, same_shape
from gradcli.ops.registry import (
    Op,
    Shape,
    axes_of,
    declare,
    function,
    one_axis,
    record_named,
    room_for,
    shape_by_example,
    structural,
)
from gradcli.ops.text import (
    ATOM,
    LARGEST_ARRAY,
    POWER,
    Form,
    Piece,
    Unprintable,
    fits_along,
    index_text,
    indexed_in_latex,
    list_operands,
    order_text,
    runs_backwards,
    subscript_text,
)


class StaticArray:
    """An index array as part of a program: hashable and compared by content."""

    __slots__ = ("array", "key")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.key = (array.dtype.str, array.shape, array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticArray) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return (
            repr(self.array.tolist())
            if self.array.size <= LARGEST_ARRAY
            else f"an array of shape {self.array.shape}"
        )

    def __str__(self) -> str:
        if not (0 < self.array.size <= LARGEST_ARRAY and self.array.ndim):
            raise Unprintable
        return str(self.array.tolist())


_Array = np.ndarray
_FEW = 4_096  # up to this many entries, an array is read faster than a broadcast view of one
Index = tuple[Any, ...]
ALL = (None, None, None)  # the slice of a whole axis


def _simpler_transpose(out: Any, x: Any, axes: Any) -> Any:
    if x.ndim != 2 or axes not in (None, (1, 0)):
        return x if x.ndim < 2 else None
    return x.operand if x.op is transpose and x.static["axes"] is None else transpose(x, axes=None)


def _simpler_scatter(out: Any, x: Any, index: Any, shape: Any) -> Any:
    """Write out an entry put into a short vector of zeros: [0, v, 0]."""
    if len(shape) != 1 or shape[0] > 8 or len(index) != 1 or type(index[0]) is not int:
        return None
    zero = x.graph.constant(0)
    return stack(*[x if i == index[0] % shape[0] else zero for i in range(shape[0])], axis=0)


def _reshape(x: Any, shape: Any) -> Any:
    if min(shape, default=0) < -1:
        # NumPy infers any negative extent from the others.
        raise ValueError(f"cannot reshape to the negative extents {shape}")
    if -1 in shape and 0 in shape:
        raise ValueError(
            f"cannot reshape to {tuple(shape)} because the unspecified dimension size -1 can be "
            "any value"
        )
    return x.reshape(shape) if type(x) is _Array else np.reshape(x, shape)


reshape: Op = structural(
    "reshape", "x", _reshape, "arrays.reshape",
    vjp=lambda cotangent, out, x, shape: reshape(cotangent, shape=x.shape),
    shape=shape_by_example(_reshape), static={"shape": -1},
    ulps=0, doc="The same entries in another shape; one extent may be -1. >>> reshape(x, (2, -1))",
    backward="View", memory="view",
    written="reshape({x}, {shape})", algebra="reshaping", simpler=same_shape,
    axes=axes.reshape,
    numpy="np.reshape({0}, {shape})",
)


def _broadcast_shape(old: Shape, shape: Shape) -> Shape:
    wanted = tuple(shape)
    try:
        fits = np.broadcast_shapes(old, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"cannot broadcast an array of shape {old} to {wanted}")
    return wanted


def _broadcast(x: Any, shape: Shape) -> Any:
    if not isinstance(x, (_Array, np.generic)) or x.ndim > len(shape) or math.prod(shape) > _FEW:
        return np.broadcast_to(x, shape)
    filled = np.empty(shape, x.dtype)  # takes a fifth of the time of a view
    filled[...] = x
    return filled


broadcast_to: Op = structural(
    "broadcast_to", "x", _broadcast, "arrays.broadcast_to",
    vjp=lambda cotangent, out, x, shape: record_named("sum_to_size")(cotangent, shape=x.shape),
    shape=_broadcast_shape, static={"shape": ()}, ulps=0,
    written="broadcast_to({x}, {shape})", algebra="repetition",
    axes=lambda m, x, shape: m.repeat(x, shape),
    simpler=same_shape, backward="Expand", memory="view",
    doc="The entries repeated along new or one-entry axes. >>> broadcast_to(x, (3, 2))",
    numpy="np.broadcast_to({0}, {shape})",
)


def _transpose_vjp(cotangent: Any, out: Any, x: Any, axes: Any) -> Any:
    return transpose(
        cotangent,
        axes=None
        if axes is None
        else tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes))),
    )


def _transpose(x: Any, axes: Any) -> Any:
    return x.transpose(axes) if type(x) is _Array else np.transpose(x, axes)


def _transpose_written(x: Piece, axes: Any) -> tuple[str, int]:
    if axes is None:
        return f"{x.base()}.T", ATOM
    n = len(axes)
    return f"{x.base()}.mT" if axes == (
        *range(n - 2),
        n - 1,
        n - 2,
    ) else f"transpose({x}, {axes})", ATOM


transpose: Op = structural(
    "transpose", "x", _transpose, "arrays.transpose", vjp=_transpose_vjp, shape=shape_by_example(_transpose),
    static={"axes": None}, ulps=0,
    doc="The axes reversed, or in the given order. >>> x.T", backward="Permute", memory="view",
    written=_transpose_written, latex={(None,): Form(r"{x:atom}^{{\mathsf T}}", POWER)},
    simpler=_simpler_transpose, axes=axes.transpose,
    numpy=lambda shapes, axes: f"np.transpose({{0}}, {order_text(shapes, axes)})",
    torch=lambda shapes, axes: f"torch.permute({{0}}, {order_text(shapes, axes)})",
)


def swapaxes(x: Any, *, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    first, second = one_axis(axis1, x.shape), one_axis(axis2, x.shape)
    if first == second:
        return x
    order = list(range(len(x.shape)))
    order[first], order[second] = second, first
    return transpose(x, axes=None if order == sorted(order, reverse=True) else tuple(order))


def _getitem(x: Any, index: Index) -> Any:
    return (x if hasattr(x, "dtype") else np.asarray(x))[numpy_index(index)]


def _simpler_getitem(out: Any, x: Any, index: Index) -> Any:
    """[x, y][1] is y, and an entry of a constant a number."""
    if index and type(index[0]) is int and x.op is stack and x.static["axis"] == 0:
        return getitem(x.operands[index[0]], index=index[1:]) if index[1:] else x.operands[index[0]]
    if x.is_constant and isinstance(x.payload, np.ndarray) and not out.shape:
        return np.asarray(x.payload[numpy_index(index)]).item()
    return number_inside(out, x)


def _with_room(x: Any, index: Index) -> Any:
    """Return x[index] if there is room for it.

    NumPy goes through all entries that arrays choose, even those of no bytes.
    """
    arrays = [part.array for part in index if isinstance(part, StaticArray)]
    if arrays and not any(array.dtype == np.bool_ for array in arrays):
        others = _getitem(
            x, tuple((0, 1, None) if isinstance(part, StaticArray) else part for part in index)
        )
        with suppress(ValueError):  # where they do not broadcast, NumPy's error below is better
            room_for(*others.shape, np.broadcast(*arrays).size)
    return _getitem(x, index)


indexed_shape = shape_by_example(_with_room)


def behind(lead: Shape, index: Index) -> Index:
    """Return the same index for an array with more axes in front.

    Raises NoLoop if NumPy would put axes of the index before these.
    """
    arrays = any(isinstance(part, StaticArray) for part in index)
    places = [
        i
        for i, part in enumerate(index)
        if isinstance(part, StaticArray) or (arrays and type(part) is int)
    ]
    if places and places[-1] - places[0] >= len(places):
        raise axes.NoLoop
    return (*(ALL,) * len(lead), *index)


def _of_numpy(index: Index) -> str:
    # NumPy takes a tensor of one entry for a number.
    return f"numpy.s_[{subscript_text(index)}]".replace("np.", "numpy.")


getitem: Op = structural(
    "getitem", "x", _getitem, "arrays.getitem",
    vjp=lambda cotangent, out, x, index: scatter_add(cotangent, index=index, shape=x.shape),
    shape=indexed_shape, static={"index": ()},
    ulps=0, public=False, doc="x[index], as in NumPy.",
    backward=pytorch.node_of_getitem, memory="view", written=index_text, latex=indexed_in_latex, simpler=_simpler_getitem,
    axes=lambda m, x, index: m.choose(x, index),
    numpy=lambda shapes, index: f"{{0:base}}[{subscript_text(index)}]",
    torch=lambda shapes, index: (
        f"_taken({{0}}, {_of_numpy(index)})" if any(map(runs_backwards, index)) else f"{{0:base}}[{subscript_text(index)}]"
    ),
)


def _scatter_add(x: Any, index: Index, shape: Shape) -> Any:
    # This array is of the library that holds the chunks of x.
    out = np.zeros(shape, x.dtype) if type(x) is _Array else np.zeros_like(x, shape=shape)
    place = numpy_index(index)
    if StaticArray in map(type, index):
        np.add.at(out, place, x)
    else:
        out[place] = x
    return out


scatter_add: Op = structural(
    "scatter_add", "x", _scatter_add, "arrays.scatter_add",
    vjp=lambda cotangent, out, x, index, shape: getitem(cotangent, index=index),
    shape=lambda old, index, shape: shape, static={"index": (), "shape": ()}, public=False, ulps=1, rounding="terms",
    doc="An array of zeros into which x is added at an index: the transpose of indexing.", simpler=_simpler_scatter,
    axes=lambda m, x, index, shape: m.scatter(x, index, shape),
    numpy=lambda shapes, index, shape: f"_scatter_add({{0}}, np.s_[{subscript_text(index)}], "
    f"{shape!r})",
    torch=lambda shapes, index, shape: f"_scatter_add({{0}}, {_of_numpy(index)}, {shape!r})",
)


# -- Entries addressed by arrays of whole numbers along an axis, and put back --------------------


def _places(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    grid: list[np.ndarray] = list(np.indices(index.shape, sparse=True))
    if grid:
        grid[axis] = index
    return tuple(grid)


def _take_along(x: Any, index: Any, axis: int) -> Any:
    index = np.asarray(index)
    return np.asarray(x)[_places(index, axis)] if index.ndim else np.asarray(x)[()]


def _take_along_shape(x: Shape, index: Shape, axis: int) -> Shape:
    place = one_axis(axis, x)
    if len(x) != len(index) or any(
        i > n for d, (n, i) in enumerate(zip(x, index, strict=True)) if d != place
    ):
        raise ShapeError(
            f"an index of shape {index} does not fit an array of shape {x} along axis {axis}"
        )
    return index


take_along: Op = structural(
    "take_along", "x index:index", _take_along, "arrays.take_along",
    vjp=(lambda cotangent, out, x, index, axis: add_along(cotangent, index, axis=axis, shape=x.shape), None),
    shape=_take_along_shape, static={"axis": -1}, saves="index", dtype="same", ulps=0, carries=error_of_taking,
    backward="Gather", axes=lambda m, x, index, axis: m.pick(x, index, axis),
    doc="The entries at indices along an axis, an index for each entry of the result: out[i, j] = "
    "x[index[i, j], j].",
    numpy=lambda shapes, axis: f"np.take_along_axis({{0}}, {{1}}, {axis})" if fits_along(shapes, axis) else "",
    torch=lambda shapes, axis: f"torch.take_along_dim({{0}}, {{1:atom}} % {shapes[0][axis]}, "
    f"{axis})" if fits_along(shapes, axis) else "",
)


def _add_along(x: Any, index: Any, axis: int, shape: Shape) -> Any:
    x, index = np.asarray(x), np.asarray(index)
    out = np.zeros(shape, dtype=x.dtype)
    np.add.at(out, _places(index, axis) if index.ndim else (), x)
    return out[()]


add_along: Op = structural(
    "add_along", "x index:index", _add_along, "arrays.add_along",
    vjp=(lambda cotangent, out, x, index, axis, shape: take_along(cotangent, index, axis=axis), None),
    shape=lambda x, index, axis, shape: shape, static={"axis": -1, "shape": ()}, saves="index",
    public=False, ulps=4, rounding="terms", carries=error_of_adding,
    axes=lambda m, x, index, axis, shape: m.put(x, index, axis, shape),
    doc="Zeros with x added at indices along an axis: the transpose of take_along.",
    numpy="_add_along({0}, {1}, {axis}, {shape})",
)


# -- Arrays in a row, and in reverse order ---------------------------------------------------------


def _stack_vjp(cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    lead = (ALL,) * (axis % cotangent.ndim)
    return tuple([getitem(cotangent, index=(*lead, i)) for i in range(len(arrays))])


def _stack_shape(*shapes: Shape, axis: int) -> Shape:
    if len(set(shapes)) > 1:
        raise ShapeError(
            "all rows of an array must have one shape, not "
            f"{' and '.join(str(s) for s in dict.fromkeys(shapes))}"
        )
    place = axes_of(axis, (*shapes[0], 1))[0]
    return (*shapes[0][:place], len(shapes), *shapes[0][place:])


@function(
    vjp=_stack_vjp, forward=lambda *arrays, axis: np.stack(arrays, axis), shape=_stack_shape, ulps=0, parts=None,
    written={(0,): "[{arrays}]"}, numpy=lambda shapes, axis: f"np.stack([{list_operands(shapes)}], "
    f"{axis})",
)
def stack(*arrays: Any, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis; [x, y] is stack([x, y]).

    >>> stack([x, y], axis=1)
    """
    shape = tuple(arrays[0].shape)
    place = axes_of(axis, (*shape, 1))[0]
    return record_named("concatenate")(
        *(reshape(x, shape=(*shape[:place], 1, *shape[place:])) for x in arrays), axis=place
    )


def _flip_vjp(cotangent: Any, out: Any, x: Any, axis: Any) -> Any:
    return flip(cotangent, axis=axis)


@function(
    vjp=_flip_vjp,
    forward=np.flip, shape=kept_shape, ulps=0, parts=None,
    numpy=lambda shapes, axis: f"np.flip({{0}}, {axes_of(axis, shapes[0])!r})",
)
def flip(x: Any, *, axis: Any = None) -> Any:
    """The entries in reverse order along axes."""
    axes = axes_of(axis, x.shape)
    return getitem(
        x, index=tuple((None, None, -1 if i in axes else None) for i in range(len(x.shape)))
    )


def part_of(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """Return a slice along one axis."""
    return getitem(x, index=(*(ALL,) * (axis % len(x.shape)), (start, stop, step)))


def rows_of(x: Any, places: np.ndarray, axis: int) -> Any:
    """Return the entries at constant places along an axis, which is counted from the first."""
    return getitem(x, index=(*(ALL,) * axis, StaticArray(places)))


def vector_of(x: Any) -> Any:
    """All entries of an array along one axis."""
    return reshape(x, shape=(-1,))


def shape_with(shape: Shape, axis: int, *extents: int) -> Shape:
    """Return a shape with other extents in the place of an axis.

    The axis is counted from the first.
    """
    return (*shape[:axis], *extents, *shape[axis + 1 :])


def laid_along(vector: Any, axis: int, shape: Shape) -> Any:
    """Lay a vector along one of the axes of a shape; the others have one entry."""
    return reshape(vector, shape=shape_with((1,) * len(shape), axis, *vector.shape))


def parts_of(x: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Parts of these sizes along an axis, in order."""
    return tuple(
        part_of(x, axis, start, stop) for start, stop in pairwise(accumulate(sizes, initial=0))
    )


declare("""
    torch:
        view = reshape(x, shape|size+!)
""")
