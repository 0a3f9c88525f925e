"""Axes along which results are cut when operands are cut into chunks.

An operation moves the axis along which its operands are cut. The finding is the axis of the result,
or how chunks come together in it.

It follows from the operation's record, the shapes of the result and the operands, the axis of each
operand along which it is cut (None for anything that all chunks have in common), and the static
parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy import broadcast_shapes, ndarray

from gradcli.ops.axes import Fold, NoLoop
from gradcli.ops.carrying import reduced_shape
from gradcli.ops.structure import output
from gradcli.ops.writing import Shape, axes_of

if TYPE_CHECKING:
    from gradcli.ops.spec import Op

Cuts = Sequence[int | None]
_WHOLE = (None, None, None)  # the slice of a whole axis


class Uncut(Exception):
    """Why an operation cannot be done chunk by chunk."""


class Found(NamedTuple):
    """The finding of a rule.

    axis   of the result, along which it is cut; None if all chunks come together in it
    fold   the operation of two operands by which they do
    """

    axis: int | None = None
    fold: str = ""


def layout(
    op: Op, out: Shape, shapes: Sequence[Shape | None], cuts: Cuts, static: Mapping[str, Any]
) -> Found:
    """Return the layout of a result some of whose operands are cut.

    None stands for an operand that was left out. Raises Uncut.
    """
    present = [
        Cut(shape, cut) for shape, cut in zip(shapes, cuts, strict=True) if shape is not None
    ]
    given, places = [x.shape for x in present], [x.axis for x in present]
    if op.elementwise:
        return Found(entries(op.name, present))
    if op.axes is not None:
        return _by_axes(op, out, present, static)
    if op.leaves_unchanged or op is output:
        return Found(next(cut for cut in places if cut is not None))
    if op.core_dims is not None and len(present) == len(shapes):
        return _behind(op.name, op.core_dims, given, places)
    if "axis" in op.static:
        return _along(op.name, out, given, places, static["axis"])
    raise Uncut(f"{op.name} needs all chunks at once")


def _same(places: Sequence[int], what: str) -> int:
    if len(set(places)) > 1:
        raise Uncut(f"{what} meets arrays that are cut along different axes")
    return places[0]


class Cut(NamedTuple):
    """An array of a shape, and its axis that is cut; None if all chunks have it in common."""

    shape: Shape
    axis: int | None


def entries(name: str, arrays: Iterable[tuple[Shape, int | None]]) -> int | None:
    """Return the cut axis of the result of an operation on entries.

    Axes are aligned at their ends.
    """
    arrays = list(arrays)
    places = [cut - len(shape) for shape, cut in arrays if cut is not None]
    return max(len(shape) for shape, _ in arrays) + _same(places, name) if places else None


def _by_axes(op: Op, out: Shape, operands: Sequence[Cut], static: Mapping[str, Any]) -> Found:
    m = Chunks(op.name, out)
    assert op.axes is not None
    try:
        found: Cut = op.axes(m, *operands, **static)
    except NoLoop:
        raise Uncut(f"{op.name} needs all chunks at once") from None
    return Found(found.axis, m.fold)


class Chunks:
    """Reading of axes (axes.py) that follows the axis that is cut.

    It notes by which fold chunks come together.
    """

    def __init__(self, name: str, out: Shape) -> None:
        self.name = name
        self.out = out
        self.fold = ""

    def arrange(self, x: Cut, order: Iterable[int | None]) -> Cut:
        places = list(order)
        shape = tuple(1 if place is None else x.shape[place] for place in places)
        return Cut(shape, None if x.axis is None else places.index(x.axis))

    def reshape(self, x: Cut, shape: Shape) -> Cut:
        """Reshape; the cut axis remains an axis if as many entries stand before it."""
        if x.axis is None:
            return Cut(shape, None)
        for axis, extent in enumerate(shape):
            if extent == x.shape[x.axis] and prod(shape[:axis]) == prod(x.shape[: x.axis]):
                return Cut(shape, axis)
        raise Uncut(f"reshape to {shape} takes the axis apart that is cut")

    def repeat(self, x: Cut, shape: Shape) -> Cut:
        return Cut(shape, None if x.axis is None else len(shape) - len(x.shape) + x.axis)

    def fold_axes(self, x: Cut, fold: Fold, axis: Any, keepdims: bool) -> Cut:
        axes = axes_of(axis, x.shape)
        shape = reduced_shape(x.shape, axis, keepdims)
        if x.axis is None:
            return Cut(shape, None)
        if x.axis in axes:
            self.fold = fold.name
            return Cut(shape, None)
        return Cut(shape, x.axis if keepdims else x.axis - sum(gone < x.axis for gone in axes))

    def product(self, x: Cut, y: Cut) -> Cut:
        return Cut(broadcast_shapes(x.shape, y.shape), entries(self.name, (x, y)))

    def choose(self, x: Cut, index: Sequence[Any]) -> Cut:
        """Choose entries by a subscript that leaves the cut axis whole."""
        assert x.axis is not None
        place = _places(index, len(x.shape))[x.axis]
        if place is None:
            raise Uncut(_PICKED)
        return Cut(self.out, place)

    def scatter(self, x: Cut, index: Sequence[Any], shape: Shape) -> Cut:
        places = _places(index, len(shape))
        if x.axis not in places:
            raise Uncut(_PICKED)
        return Cut(shape, places.index(x.axis))

    def pick(self, x: Cut, index: Cut, axis: int) -> Cut:
        return self.put(x, index, axis, index.shape)

    def put(self, x: Cut, index: Cut, axis: int, shape: Shape) -> Cut:
        place = entries(self.name, (x, index))
        if place in axes_of(axis, shape):
            raise Uncut(f"{self.name} goes along the axis that is cut")
        return Cut(shape, place)


def _along(name: str, out: Shape, shapes: Sequence[Shape], cuts: Cuts, axis: Any) -> Found:
    """Return the layout of an operation along axes, one of which may be new.

    It leaves the other axes alone if its operands have the same ones.
    """
    if len(set(map(len, shapes))) > 1:
        raise Uncut(f"{name} needs all chunks at once")
    cut = _same([cut for cut in cuts if cut is not None], name)
    axes = axes_of(axis, max(out, shapes[0], key=len))
    if len(out) > len(shapes[0]):
        return Found(cut + (axes[0] <= cut))
    if cut in axes:
        raise Uncut(f"{name} goes along the axis that is cut")
    return Found(cut if len(out) == len(shapes[0]) else cut - sum(axis < cut for axis in axes))


def _behind(name: str, core: Sequence[int], shapes: Sequence[Shape], cuts: Cuts) -> Found:
    """Return the layout of an operation on the last axes.

    It does the same for all places of the axes before them.
    """
    ranks = [len(shape) - n for shape, n in zip(shapes, core, strict=True)]
    place = _same(
        [cut - rank for cut, rank in zip(cuts, ranks, strict=True) if cut is not None], name
    )
    if place >= 0:
        raise Uncut(f"{name} works on matrices whose rows or columns are cut")
    return Found(max(ranks) + place)


def _places(index: Sequence[Any], rank: int) -> list[int | None]:
    """Return, for each axis of an array, the axis of its subscripted result that keeps it whole.

    That axis has all of the entries in their order. It is None if there is none.
    """
    if any(part is Ellipsis for part in index) or sum(hasattr(part, "array") for part in index) > 1:
        raise Uncut("a subscript by several arrays, or with an ellipsis, needs all chunks at once")
    found: list[int | None] = []
    at = 0
    for part in index:
        if part is None:
            at += 1
            continue
        array = part if isinstance(part, ndarray) else getattr(part, "array", None)
        if array is not None and array.dtype == bool:
            raise Uncut("a subscript by a mask needs all chunks at once")
        found.append(at if array is None and part == _WHOLE else None)
        at += array.ndim if array is not None else isinstance(part, tuple)
    found += range(at, at + rank - len(found))
    return found


_PICKED = "a subscript takes entries along the axis that is cut"
