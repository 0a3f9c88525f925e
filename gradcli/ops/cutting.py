"""Where operations leave the axis along which operands are cut into chunks: the axis of the result, or how chunks come together in it.

A rule of a record takes the shape of the result, those of the operands, the axis of each operand along which it is cut (None for what all
chunks have in common), and the static parameters. `layout` has what follows from the other fields of a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gradcli.ops.fixed import Fixed
from gradcli.ops.writing import Shape, axes_of

if TYPE_CHECKING:
    from gradcli.ops.spec import Op

Shapes = Sequence[Shape]
Cuts = Sequence[int | None]
_WHOLE = (None, None, None)  # a slice


class Uncut(Exception):
    """Why an operation cannot be done chunk by chunk."""


class Found(Fixed):
    """What a rule finds.

    axis   of the result, along which it is cut; None if all chunks come together in it
    fold   the operation of two operands by which they do
    """

    axis: int | None = None
    fold: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Found) and (self.axis, self.fold) == (other.axis, other.fold)

    def __hash__(self) -> int:
        return hash((self.axis, self.fold))


def layout(op: Op, out: Shape, shapes: Sequence[Shape | None], cuts: Cuts, static: Mapping[str, Any]) -> Found:
    """The layout of a result some of whose operands are cut; None stands for an operand that was left out. Raises Uncut."""
    present = [(shape, cut) for shape, cut in zip(shapes, cuts, strict=True) if shape is not None]
    given, places = [shape for shape, _ in present], [cut for _, cut in present]
    if op.elementwise:
        return entries(op.name, out, given, places)
    if op.loops.cut is not None:
        found: Found = op.loops.cut(out, given, places, **static)
        return found
    if op.facts.folds:
        return _reduced(op.facts.folds, given, places, **static)
    if op.core_dims is not None and len(present) == len(shapes):
        return _behind(op.name, op.core_dims, given, places)
    if "axis" in op.static:
        return _along(op.name, out, given, places, static["axis"])
    raise Uncut(f"{op.name} needs all chunks at once")


def _same(places: Sequence[int], what: str) -> int:
    if len(set(places)) > 1:
        raise Uncut(f"{what} meets arrays that are cut along different axes")
    return places[0]


def _only(cuts: Cuts) -> int:
    (cut,) = (cut for cut in cuts if cut is not None)
    return cut


def entries(name: str, out: Shape, shapes: Shapes, cuts: Cuts) -> Found:
    """Of an operation on entries: axes are aligned at their ends."""
    places = [cut - len(shape) for shape, cut in zip(shapes, cuts, strict=True) if cut is not None]
    return Found(len(out) + _same(places, name))


def _reduced(fold: str, shapes: Shapes, cuts: Cuts, axis: Any, keepdims: bool) -> Found:
    cut, axes = _only(cuts), axes_of(axis, len(shapes[0]))
    if cut in axes:
        return Found(None, fold)
    return Found(cut if keepdims else cut - sum(axis < cut for axis in axes))


def _along(name: str, out: Shape, shapes: Shapes, cuts: Cuts, axis: Any) -> Found:
    """An operation along axes leaves the others alone, where its operands have the same ones."""
    if len(set(map(len, shapes))) > 1:
        raise Uncut(f"{name} needs all chunks at once")
    cut = _same([cut for cut in cuts if cut is not None], name)
    axes = axes_of(axis, len(shapes[0]))
    if cut in axes:
        raise Uncut(f"{name} goes along the axis that is cut")
    return Found(cut if len(out) == len(shapes[0]) else cut - sum(axis < cut for axis in axes))


def _behind(name: str, core: Sequence[int], shapes: Shapes, cuts: Cuts) -> Found:
    """An operation on the last axes does the same for all places of the axes before them."""
    ranks = [len(shape) - n for shape, n in zip(shapes, core, strict=True)]
    place = _same([cut - rank for cut, rank in zip(cuts, ranks, strict=True) if cut is not None], name)
    if place >= 0:
        raise Uncut(f"{name} works on matrices whose rows or columns are cut")
    return Found(max(ranks) + place)


# -- rules of records ----------------------------------------------------------------------------------------------------


def as_it_is(out: Shape, shapes: Shapes, cuts: Cuts, **_: Any) -> Found:
    """The operand's."""
    return Found(_only(cuts))


def summed_to(out: Shape, shapes: Shapes, cuts: Cuts, shape: Shape) -> Found:
    """Of sums over what broadcasting would have repeated."""
    place = _only(cuts) - len(shapes[0])
    gone = -place > len(out) or out[place] != shapes[0][place]
    return Found(None, "add") if gone else Found(len(out) + place)


def repeated(out: Shape, shapes: Shapes, cuts: Cuts, shape: Shape) -> Found:
    """Of entries repeated along axes in front."""
    return Found(len(out) - len(shapes[0]) + _only(cuts))


def reshaped(out: Shape, shapes: Shapes, cuts: Cuts, shape: Shape) -> Found:
    """The axis stays one where as many entries stand before it."""
    cut, old = _only(cuts), shapes[0]
    for axis, extent in enumerate(out):
        if extent == old[cut] and prod(out[:axis]) == prod(old[:cut]):
            return Found(axis)
    raise Uncut(f"reshape to {out} takes the axis apart that is cut")


def transposed(out: Shape, shapes: Shapes, cuts: Cuts, axes: Sequence[int] | None) -> Found:
    """Of axes in another order."""
    rank = len(out)
    order = range(rank)[::-1] if axes is None else [axis % rank for axis in axes]
    return Found(list(order).index(_only(cuts)))


def exchanged(out: Shape, shapes: Shapes, cuts: Cuts, axis1: int, axis2: int) -> Found:
    """Of two axes that change places."""
    cut, one, other = _only(cuts), axis1 % len(out), axis2 % len(out)
    return Found({one: other, other: one}.get(cut, cut))


def _places(index: Sequence[Any], rank: int) -> list[int | None]:
    """For each axis of an array, that of its subscripted result which has all of its entries in their order; None if there is none."""
    if any(part is Ellipsis for part in index) or sum(hasattr(part, "array") for part in index) > 1:
        raise Uncut("a subscript by several arrays, or with an ellipsis, needs all chunks at once")
    found: list[int | None] = []
    at = 0
    for part in index:
        if part is None:
            at += 1
            continue
        array = getattr(part, "array", None)
        if array is not None and array.dtype == bool:
            raise Uncut("a subscript by a mask needs all chunks at once")
        found.append(at if part == _WHOLE else None)
        at += array.ndim if array is not None else isinstance(part, tuple)
    found += range(at, at + rank - len(found))
    return found


_PICKED = "a subscript takes entries along the axis that is cut"


def indexed(out: Shape, shapes: Shapes, cuts: Cuts, index: Sequence[Any]) -> Found:
    """Of a subscript that leaves the axis whole."""
    place = _places(index, len(shapes[0]))[_only(cuts)]
    if place is None:
        raise Uncut(_PICKED)
    return Found(place)


def unindexed(out: Shape, shapes: Shapes, cuts: Cuts, index: Sequence[Any], shape: Shape) -> Found:
    """The way back."""
    places = _places(index, len(out))
    if _only(cuts) not in places:
        raise Uncut(_PICKED)
    return Found(places.index(_only(cuts)))


# -- entries that go from chunk to chunk ---------------------------------------------------------------------------------


def turned(out: Shape, shapes: Shapes, cuts: Cuts, **_: Any) -> int | None:
    """Of entries in another order along axes, or of arrays in a row: the axis stays."""
    return _same([cut for cut in cuts if cut is not None], "what joins arrays")


def moved(out: Shape, shapes: Shapes, cuts: Cuts, axis: Any, **_: Any) -> int | None:
    """The same along an axis, or among all entries of a vector."""
    return turned(out, shapes, cuts) if axis is not None or len(shapes[0]) == 1 else regrouped(out, shapes, cuts)


def regrouped(out: Shape, shapes: Shapes, cuts: Cuts, **_: Any) -> int | None:
    """Of the same entries in another shape: the longest axis is cut."""
    return max(range(len(out)), key=lambda axis: out[axis], default=None)


def sliced(out: Shape, shapes: Shapes, cuts: Cuts, index: Sequence[Any]) -> int | None:
    """Of a subscript by slices and numbers; a number along the cut leaves none."""
    return _sliced(index, len(shapes[0]))[_only(cuts)]


def unsliced(out: Shape, shapes: Shapes, cuts: Cuts, index: Sequence[Any], shape: Shape) -> int | None:
    """The way back; a part that is not cut comes into an array along whose longest axis it is chosen."""
    places = _sliced(index, len(out))
    (cut,) = cuts
    return regrouped(out, shapes, cuts) if cut is None else places.index(cut)


def _sliced(index: Sequence[Any], rank: int) -> list[int | None]:
    """For each axis of an array, that of its subscripted result to which it leads; None if there is none."""
    if any(part is Ellipsis or hasattr(part, "array") for part in index):
        raise Uncut("a subscript by arrays, or with an ellipsis, needs all chunks at once")
    return _places([_WHOLE if isinstance(part, tuple) else part for part in index], rank)


def stacked(out: Shape, shapes: Shapes, cuts: Cuts, axis: int) -> Found:
    """Of arrays along a new axis."""
    cut = _same([cut for cut in cuts if cut is not None], "stack")
    return Found(cut + (cut >= axis % len(out)))


def product(out: Shape, shapes: Shapes, cuts: Cuts) -> Found:
    """Of x @ y, which sums over the last axis of x and the last but one of y, or the only one."""
    x, y = map(len, shapes)
    inner = x - 1, max(y - 2, 0)
    summed = [cut == axis for cut, axis in zip(cuts, inner, strict=True)]
    if any(summed):
        if any(cut is not None and not over for cut, over in zip(cuts, summed, strict=True)):
            raise Uncut("a product of matrices meets arrays that are cut along different axes")
        return Found(None, "add")
    of_x, of_y = cuts
    if of_x is not None and of_y is not None:
        if min(x, y) < 3 or max(of_x - x, of_y - y) >= -2:
            raise Uncut("a product of two matrices that are cut, but not along the axis that is summed over, needs all chunks at once")
        return Found(len(out) + _same([of_x - x, of_y - y], "a product of matrices"))
    if of_x is not None:
        return Found(len(out) - (x - of_x - (y == 1)))
    assert of_y is not None
    return Found(len(out) - (y - of_y - (x == 1 and of_y < y - 2)))


def dot(out: Shape, shapes: Shapes, cuts: Cuts) -> Found:
    """Of NumPy's dot where it is a matrix product, or a product with a number."""
    if not all(shapes):
        return entries("dot", out, shapes, cuts)
    if max(map(len, shapes)) > 2:
        raise Uncut("dot of arrays with more than two axes needs all chunks at once")
    return product(out, shapes, cuts)


def table_of_products(out: Shape, shapes: Shapes, cuts: Cuts) -> Found:
    """Of all products of entries of two vectors."""
    if None not in cuts:
        raise Uncut("outer of two arrays that are cut needs all chunks at once")
    return Found(0 if cuts[0] is not None else 1)


def contracted(out: Shape, shapes: Shapes, cuts: Cuts, subscripts: str) -> Found:
    """Of Einstein's sums: the cut runs along a letter."""
    left, right = subscripts.replace(" ", "").split("->")
    letters = {term[cut] for term, cut in zip(left.split(","), cuts, strict=True) if cut is not None}
    if len(letters) > 1 or "." in left:
        raise Uncut("einsum meets arrays that are cut along different axes, or has an ellipsis")
    (letter,) = letters
    if any(term.count(letter) > 1 for term in left.split(",")):
        raise Uncut("einsum takes a diagonal of the axis that is cut")
    return Found(right.index(letter)) if letter in right else Found(None, "add")
