"""Operation on a batch: on arrays with more axes in front.

One example stands behind each place of these axes. The result for a batch follows from the
operation's record. An operation on entries makes the same of them, and so does one on the last axes
of its operands (`Op.core_dims`). For an operation along axes, the parameters that name the axes
move. An operation that moves entries declares how (axes.py). Others are applied by their
definitions to examples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import behind, broadcast_to, getitem, reshape, scatter_add, transpose
from gradcli.ops.axes import NoLoop
from gradcli.ops.linalg.matrices import as_column, as_row, transpose_matrix
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape

_AXES = ("axis", "axis1", "axis2")
Lead = tuple[int, ...]


def on_batch(op: Op, lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return the result for all examples, or None if the record does not tell it.

    The lead's axes are in front; ``lead`` gives their extents. Each of the ``operands`` has all of
    these axes; for an operation on last axes, it may have one entry along some. An operand that is
    left out is None.
    """
    if op.leaves_unchanged and op.axes is None:
        return op(*operands, **static)
    if op.adds == "products":
        return _product(op, lead, *operands)
    if op.core_dims is not None:
        return _on_last_axes(op, op.core_dims, lead, operands, static)
    is_along = "axis" in static or "axis1" in static
    found = _along(op, lead, operands, static) if is_along else None
    rule = op.body if op.axes is None or is_along else partial(op.axes, _Batch)
    if found is not None or rule is None:
        return found
    try:
        return rule(*[None if x is None else Example(lead, x) for x in operands], **static).array
    except NoLoop:
        return None


def _apart(x: Any, lead: Lead, count: int) -> Any:
    """Insert ``count`` axes of one entry between an array's axes in front and its own."""
    return (
        reshape(x, shape=(*x.shape[: len(lead)], *(1,) * count, *x.shape[len(lead) :]))
        if count
        else x
    )


class Example(Operand):
    """An array of a batch as its examples are, in whose shape the axes in front do not count."""

    __slots__ = ("array", "lead")

    def __init__(self, lead: Lead, array: Any) -> None:
        self.lead = lead
        self.array = array

    @property
    def shape(self) -> Shape:
        return tuple(self.array.shape[len(self.lead) :])

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        rank = max(len(x.shape) for x in operands if isinstance(x, Example))
        given = [
            x if x is None else self._in_front(x, rank if op.elementwise else None)
            for x in operands
        ]
        found = (
            op(*given, **static)
            if op.elementwise
            else on_batch(op, self.lead, given, {**op.static, **static})
        )
        if found is None:
            raise NoLoop
        return Example(self.lead, found)

    def _in_front(self, x: Any, rank: int | None) -> Any:
        """Return an operand with the batch's axes in front of ``rank`` others.

        Without a rank, they are in front of the operand's own axes.
        """
        if not isinstance(x, Example):
            return x if rank is not None else broadcast_to(x, shape=(*self.lead, *np.shape(x)))
        return _apart(x.array, self.lead, 0 if rank is None else rank - len(x.shape))


class _Batch:
    """The reading of axes (axes.py) in which the axes in front stay there."""

    @staticmethod
    def arrange(x: Example, order: Sequence[int]) -> Example:
        front = len(x.lead)
        return Example(
            x.lead, transpose(x.array, axes=(*range(front), *[front + place for place in order]))
        )

    @staticmethod
    def reshape(x: Example, shape: Shape) -> Example:
        return Example(x.lead, reshape(x.array, shape=(*x.lead, *shape)))

    @staticmethod
    def repeat(x: Example, shape: Shape) -> Example:
        return Example(
            x.lead,
            broadcast_to(
                _apart(x.array, x.lead, len(shape) - len(x.shape)), shape=(*x.lead, *shape)
            ),
        )

    @staticmethod
    def choose(x: Example, index: tuple[Any, ...]) -> Example:
        return Example(x.lead, getitem(x.array, index=behind(x.lead, index)))

    @staticmethod
    def scatter(x: Example, index: tuple[Any, ...], shape: Shape) -> Example:
        return Example(
            x.lead, scatter_add(x.array, index=behind(x.lead, index), shape=(*x.lead, *shape))
        )


def _along(op: Op, lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Apply an operation along axes, whose numbers grow by the number of axes in front."""
    rank = len(operands[0].shape) - len(lead)
    if not rank or static.get("axis", 0) is None:
        return _flat(op, lead, operands, static)
    moved = {
        name: _behind(axis, rank, len(lead), grown=op.variadic)
        for name, axis in static.items()
        if name in _AXES
    }
    if "shape" in static:
        moved["shape"] = (*lead, *static["shape"])
    return op(*operands, **{**static, **moved})


def _behind(axis: Any, rank: int, lead: int, *, grown: bool = False) -> Any:
    """Return the number of an axis when ``lead`` others stand in front.

    With ``grown``, an axis counted from the end stays as it is, as the result may have another
    rank.
    """
    if isinstance(axis, (tuple, list)):
        return tuple([_behind(part, rank, lead) for part in axis])
    return axis if grown and axis < 0 else axis % rank + lead if axis < 0 else axis + lead


def _product(op: Op, lead: Lead, x: Any, y: Any) -> Any:
    """Multiply vectors as matrices of one row or column, which the result then lacks.

    Many vectors times one matrix are multiplied as a matrix.
    """
    front = len(lead)
    is_row, is_column = (len(z.shape) == front + 1 for z in (x, y))
    of_x, of_y = (len(z.shape) == front + 2 and math.prod(z.shape[:front]) == 1 for z in (x, y))
    if is_column and of_x:
        return op(y, transpose_matrix(reshape(x, shape=x.shape[front:])))
    if is_row and of_y:
        return op(x, reshape(y, shape=y.shape[front:]))
    product = _on_last_axes(
        op, (2, 2), lead, (as_row(x) if is_row else x, as_column(y) if is_column else y), {}
    )
    shape = product.shape
    return reshape(
        product, shape=(*shape[:-2], *shape[-2:-1] * (not is_row), *shape[-1:] * (not is_column))
    )


def _on_last_axes(
    op: Op, core: tuple[int, ...], lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]
) -> Any:
    batch = [len(x.shape) - len(lead) - n for x, n in zip(operands, core, strict=True)]
    if min(batch) < 0:
        return None
    return op(
        *(_apart(x, lead, max(batch) - n) for x, n in zip(operands, batch, strict=True)), **static
    )


def _flat(op: Op, lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Apply an operation along the one axis of all entries of an example.

    This is for an operation without an axis, or an example that has none.
    """
    if (
        len(operands) > 1
        or op.shape is None
        or static.get("ord") is not None
        or "axis" not in static
    ):
        return None
    (x,) = operands
    shape = op.shape(tuple(x.shape[len(lead) :]), **static)
    along = {**static, "axis": len(lead), **({"keepdims": False} if "keepdims" in static else {})}
    return reshape(op(reshape(x, shape=(*lead, -1)), **along), shape=(*lead, *shape))
