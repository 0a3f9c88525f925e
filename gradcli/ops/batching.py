"""An operation on a batch: on arrays with more axes in front, one example behind each of their places.

What an operation makes of a batch follows from its record. One on entries makes the same of them; one on the last axes of its operands
(`Op.core_dims`), too; of one along axes, the parameters move that say which. What is different says so itself (`Op.batched`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.spec import Op

_AXES = ("axis", "axis1", "axis2")
Lead = tuple[int, ...]


def on_batch(op: Op, lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result for all examples, the lead's axes in front; None if the record does not say.

    lead      the extents of the axes in front
    operands  each with all of these axes, or where the operation is one on last axes with one entry along some; None for one that is left
              out
    """
    if op.batched is not None:
        return op.batched(lead, *operands, **static)
    ranks = [len(x.shape) - len(lead) for x in operands if x is not None]
    if op.unchanged:
        return op(*operands, **static)
    if op.core_dims is not None:
        return _on_last_axes(op, op.core_dims, lead, operands, static)
    if "axis" not in static and "axis1" not in static:
        return None
    if not ranks[0] or static.get("axis", 0) is None:
        return _flat(op, lead, operands, static)
    moved = dict(static)
    for name in _AXES:
        if name in static:
            moved[name] = _behind(static[name], ranks[0], len(lead), grown=op.variadic)
    if "shape" in static:
        moved["shape"] = (*lead, *static["shape"])
    return op(*operands, **moved)


def _behind(axis: Any, rank: int, lead: int, *, grown: bool = False) -> Any:
    """An axis where so many others stand in front; counted from the end it stays as it is, as the result may have another rank."""
    if isinstance(axis, (tuple, list)):
        return tuple([_behind(part, rank, lead) for part in axis])
    return axis if grown and axis < 0 else axis % rank + lead if axis < 0 else axis + lead


def _on_last_axes(op: Op, core: tuple[int, ...], lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    batch = [len(x.shape) - len(lead) - n for x, n in zip(operands, core, strict=True)]
    if min(batch) < 0:
        return None
    filled = [
        x if n == max(batch) else reshape(x, shape=(*x.shape[: len(lead)], *(1,) * (max(batch) - n), *x.shape[len(lead) :]))
        for x, n in zip(operands, batch, strict=True)
    ]
    return op(*filled, **static)


def _flat(op: Op, lead: Lead, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Along the one axis of all entries of an example, where there is no axis, or an example has none."""
    if len(operands) > 1 or op.shape is None or static.get("ord") is not None or "axis" not in static:
        return None
    (x,) = operands
    shape = op.shape(tuple(x.shape[len(lead) :]), **static)
    along = {**static, "axis": len(lead), **({"keepdims": False} if "keepdims" in static else {})}
    return reshape(op(reshape(x, shape=(*lead, -1)), **along), shape=(*lead, *shape))
