"""Operations that move entries: shapes, indexing, joining; and their companions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import pytorch
from gradcli.ops.arrays import extended
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import REQUIRED, Op, Shape, axes_of, on_arrays, one_axis, shape_by_example


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


Index = tuple[Any, ...]


def numpy_index(index: Index) -> Index:
    """The index as NumPy takes it; slices are stored as tuples because they must be hashable."""
    return tuple(
        part.array if isinstance(part, StaticArray) else slice(*part) if isinstance(part, tuple) else part for part in index
    )


def _reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def _reshape_shape(old: Shape, shape: Any) -> Shape:
    wanted = tuple(shape)
    known = math.prod(n for n in wanted if n != -1)
    size = math.prod(old)
    if wanted.count(-1) == 1 and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in wanted)
    if any(n < 0 for n in wanted) or known != size:
        raise ShapeError(f"cannot reshape an array of shape {old} into {wanted}")
    return wanted


def _reshape_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, shape: Any) -> tuple[Any]:
    return (reshape(cotangent, shape=x.shape),)


reshape = structural(
    "reshape", "x", _reshape, on_arrays(_reshape), vjp=_reshape_vjp, shape=_reshape_shape, static={"shape": -1}, linear=True,
    integral=True, extended=extended.RESHAPED, backward="View", shares="view", misfit=pytorch.unreshapable,
    result="same", doc="The same entries in another shape; one extent may be -1.", examples=("reshape(x, (2, -1))",), ulps=0,
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
    if not isinstance(x, (np.ndarray, np.generic)) or x.ndim or x.dtype.hasobject:
        return np.broadcast_to(x, shape)
    repeated: np.ndarray = np.ndarray(shape, x.dtype, x, strides=(0,) * len(shape))  # a third of the time
    repeated.flags.writeable = False
    return repeated


broadcast_to = structural(
    "broadcast_to", "x", _broadcast, on_arrays(np.broadcast_to),
    vjp=lambda wanted, cotangent, out, x, shape: (sum_to(cotangent, shape=x.shape),),
    shape=_broadcast_shape, static={"shape": ()}, linear=True, result="same", ulps=0,
    integral=True, extended=extended.AS_IT_IS, backward="Expand", shares="view", misfit=pytorch.unexpandable,
    doc="The entries repeated along new or one-entry axes.", examples=("broadcast_to(x, (3, 2))",),
)  # fmt: skip


def _sum_to(x: Any, shape: Shape) -> Any:
    if np.shape(x) == shape:
        return x
    lead = np.ndim(x) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and np.shape(x)[lead + i] != 1)
    return np.reshape(np.asarray(x).sum(axis=axes), shape)[()]


def _sum_to_shape(old: Shape, shape: Shape) -> Shape:
    return _broadcast_shape(shape, old) and tuple(shape)


sum_to: Op = structural(
    "sum_to_size", "x", _sum_to, on_arrays(_sum_to),
    vjp=lambda wanted, cotangent, out, x, shape: (broadcast_to(cotangent, shape=x.shape),),
    shape=_sum_to_shape, static={"shape": ()}, linear=True, rounding="terms", ulps=4,
    integral=True, doc="The sum over the axes along which broadcasting would have repeated an array of the given shape.", backward="Sum.1",
)  # fmt: skip


def _transpose_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axes: Any) -> tuple[Any]:
    return (transpose(cotangent, axes=None if axes is None else tuple(np.argsort([a % len(axes) for a in axes]).tolist())),)


def _transpose(x: Any, axes: Any) -> Any:
    return np.transpose(x, axes)


transpose = structural(
    "transpose", "x", _transpose, on_arrays(_transpose), vjp=_transpose_vjp, shape=shape_by_example(_transpose),
    static={"axes": None}, linear=True, integral=True, result="same", extended=extended.TRANSPOSED,
    doc="The axes reversed, or in the given order.", examples=("x.T",), ulps=0, backward="Permute", shares="view",
)  # fmt: skip


def _swap(x: Any, axis1: int, axis2: int) -> Any:
    return np.swapaxes(x, axis1, axis2)


swapaxes: Op = structural(
    "swapaxes", "x", _swap, on_arrays(_swap),
    vjp=lambda wanted, cotangent, out, x, axis1, axis2: (swapaxes(cotangent, axis1=axis1, axis2=axis2),),
    shape=shape_by_example(_swap), static={"axis1": 0, "axis2": 1}, linear=True, result="same", doc="Two axes exchanged.", ulps=0,
    backward="Transpose", shares="view",
)  # fmt: skip


def _getitem(x: Any, index: Index) -> Any:
    return np.asarray(x)[numpy_index(index)]


def _getitem_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, index: Index) -> tuple[Any]:
    return (scatter_add(cotangent, index=index, shape=x.shape),)


getitem = structural(
    "getitem", "x", _getitem, on_arrays(_getitem), vjp=_getitem_vjp, shape=shape_by_example(_getitem),
    static={"index": ()}, linear=True, integral=True, result="same", extended=extended.ENTRIES,
    public=False, doc="x[index], as in NumPy.", ulps=0, backward=pytorch.node_of_getitem, shares="view",
)  # fmt: skip


def _scatter_add(x: Any, index: Index, shape: Shape) -> Any:
    out = np.zeros(shape, dtype=np.asarray(x).dtype)
    place = numpy_index(index)
    if any(isinstance(part, StaticArray) for part in index):
        np.add.at(out, place, x)
    else:
        out[place] = x
    return out


scatter_add = structural(
    "scatter_add", "x", _scatter_add, on_arrays(_scatter_add),
    vjp=lambda wanted, cotangent, out, x, index, shape: (getitem(cotangent, index=index),),
    shape=lambda old, index, shape: shape, static={"index": (), "shape": ()}, linear=True, public=False, ulps=1, backward="Index",
    doc="An array of zeros into which x is added at an index: the transpose of indexing.",
)  # fmt: skip


def _joined(wanted: Sequence[bool], parts: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(part if want else None for want, part in zip(wanted, parts, strict=True))


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


def _concatenate_vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    axis = axis % cotangent.ndim
    parts, start = [], 0
    for array in arrays:
        stop = start + array.shape[axis]
        index = (*((None, None, None),) * axis, (start, stop, None))
        parts.append(getitem(cotangent, index=index))
        start = stop
    return _joined(wanted, parts)


concatenate = structural(
    "concatenate", "*arrays", _concatenate, on_arrays(_concatenate), vjp=_concatenate_vjp,
    shape=shape_by_example(_concatenate), static={"axis": 0}, linear=True, result="same", aliases=("cat", "concat"), ulps=0,
    integral=True, extended=extended.JOINED, doc="Arrays joined along an axis.", examples=("concatenate([x, y])",),
    backward="Cat", edges=True, misfit=pytorch.uncatenable,
)  # fmt: skip


def _stack(*arrays: Any, axis: int) -> Any:
    return np.stack(arrays, axis=axis)


def _stack_vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    lead = ((None, None, None),) * (axis % cotangent.ndim)
    return _joined(wanted, [getitem(cotangent, index=(*lead, i)) for i in range(len(arrays))])


def _stack_shape(*shapes: Shape, axis: int) -> Shape:
    if len(set(shapes)) > 1:
        raise ShapeError(f"all rows of an array must have one shape, not {' and '.join(str(s) for s in dict.fromkeys(shapes))}")
    place = axes_of(axis, len(shapes[0]) + 1)[0]
    return (*shapes[0][:place], len(shapes), *shapes[0][place:])


stack = structural(
    "stack", "*arrays", _stack, on_arrays(_stack), vjp=_stack_vjp, shape=_stack_shape, static={"axis": 0}, linear=True,
    integral=True, extended=extended.STACKED, result="same", doc="Arrays of one shape joined along a new axis; [x, y] is stack([x, y]).",
    examples=("stack([x, y], axis=1)",), ulps=0, edges=True, misfit=pytorch.unstackable,
)  # fmt: skip


def _flip(x: Any, axis: Any) -> Any:
    return np.flip(x, axis)


def _flip_shape(old: Shape, axis: Any) -> Shape:
    axes_of(axis, len(old))
    return old


flip: Op = structural(
    "flip", "x", _flip, on_arrays(_flip), vjp=lambda wanted, cotangent, out, x, axis: (flip(cotangent, axis=axis),),
    shape=_flip_shape, static={"axis": None}, linear=True, result="same", ulps=0, doc="The entries in reverse order along axes.",
)  # fmt: skip


def part_of(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """A slice along one axis."""
    return getitem(x, index=(*((None, None, None),) * (axis % len(x.shape)), (start, stop, step)))


def _squeeze(x: Any, axis: Any) -> Any:
    axes = axes_of(axis, len(x.shape))
    return reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes or n != 1))


def _numpy_squeeze(x: Any, axis: Any) -> Any:
    if axis is not None and any(x.shape[a] != 1 for a in axes_of(axis, len(x.shape))):
        raise ShapeError(f"cannot squeeze an axis of more than one entry from the shape {tuple(x.shape)}")
    return _squeeze(x, axis)


def _expand_dims(x: Any, axis: Any) -> Any:
    count = len(axis) if isinstance(axis, tuple) else 1
    axes = axes_of(axis, len(x.shape) + count)
    rest = iter(x.shape)
    return reshape(x, shape=tuple(1 if i in axes else next(rest) for i in range(len(x.shape) + count)))


def _t(x: Any) -> Any:
    if len(x.shape) > 2:
        raise ShapeError(f"t() expects at most 2 axes, not {len(x.shape)}")
    return transpose(x, axes=None) if len(x.shape) == 2 else x


def _flatten(x: Any, start_dim: int, end_dim: int) -> Any:
    if not x.shape:
        return reshape(x, shape=(1,))
    first, last = one_axis(start_dim, len(x.shape)), one_axis(end_dim, len(x.shape))
    if first > last:
        raise ShapeError("flatten: start_dim must not come after end_dim")
    return reshape(x, shape=(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


flatten = composite(
    "flatten", "x", _flatten, static={"start_dim": 0, "end_dim": -1}, backward="View", doc="Axes from start_dim to end_dim as one.",
)
ravel = composite("ravel", "x", lambda x: reshape(x, shape=(-1,)), backward="View", doc="All entries along one axis.")
t = composite("t", "x", _t, backward="T", doc="The transpose of a matrix; vectors and numbers as they are.")
squeeze = composite("squeeze", "x", _numpy_squeeze, static={"axis": None}, doc="Axes of one entry removed.", backward="Squeeze")
torch_squeeze = composite(
    "torch_squeeze", "x", _squeeze, static={"axis": None}, public=False, doc="Axes removed that have one entry.",
    backward=lambda given, static: f"Squeeze.{min(2, len(given['axis'])) if isinstance(given.get('axis'), (list, tuple)) else 0}",
)
expand_dims = composite(
    "expand_dims", "x", _expand_dims, static={"axis": REQUIRED}, aliases=("unsqueeze",), backward="Unsqueeze",
    doc="New axes of one entry.", examples=("expand_dims(x, 0)",),
)
declare(NUMPY, ravel=signature("ravel", "x, -order"))
declare(
    TORCH,
    squeeze=signature("torch_squeeze", "x, axis+"),
    view=signature("reshape", "x, shape|size+"),
    permute=signature("transpose", "x, axes+"),
)
