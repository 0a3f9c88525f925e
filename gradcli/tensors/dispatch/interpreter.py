"""Operations on tensors that are batched or move: in place of the slow path while there may be such.

A batched operand makes it an operation on physical tensors, with the levels' axes in front. A tangent makes it the operation as it is
one level further out, and what the record's rules say of how its result moves, computed there, too: so levels nest to any depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.sweep import guarded
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.batching import on_batch
from gradcli.ops.carrying import multilinear
from gradcli.ops.elementwise.logic import Pieces
from gradcli.ops.spec import Op
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.levels import (
    Batched,
    Levels,
    extents,
    in_front,
    innermost,
    levels_of,
    memory_of,
    one_by_one,
    rewrapped,
    set_tangent,
    tangent_of,
)
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply, plain


def interpret(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result of an operation on operands of which some may be batched, and some may move."""
    for operand in operands:
        if isinstance(operand, Batched):
            return _of_batch(op, operands, static)
    place = innermost(operands)
    return plain(op, operands, static) if place is None else _moving(op, operands, static, place)


# -- batches ----------------------------------------------------------------------------------------------------


def _of_batch(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    levels = levels_of(operands)
    if op.elementwise:
        result = apply(op, _side_by_side(operands, levels), static)
    else:
        full = op.core_dims is None  # what is of the last axes broadcasts those in front
        physical = [None if x is None else in_front(_array(x), levels, full=full) for x in operands]
        result = on_batch(op, extents(levels), physical, {**op.static, **static})
        if result is None:
            return one_by_one(lambda *parts: apply(op, parts, static), operands, {})
    if isinstance(result, tuple):
        return tuple(rewrapped(part, levels) for part in result)
    return rewrapped(result, levels)


def _array(x: Any) -> Any:
    return x if isinstance(x, (Tensor, np.ndarray)) else np.asarray(x)


def _side_by_side(operands: Sequence[Any], levels: Levels) -> list[Any]:
    """Operands as their examples broadcast: axes of one entry stand between the levels' and those of fewer."""
    rank = max([len(x.shape) for x in operands if isinstance(x, (Tensor, np.ndarray))])
    kinds = {x.dtype for x in operands if isinstance(x, Tensor)}
    if len(kinds) > 1:  # the rank of an example counts for its dtype, not that of the batch
        operands = _promoted(operands)
    return [in_front(x, levels, rank) if isinstance(x, Batched) else x for x in operands]


def _promoted(operands: Sequence[Any]) -> list[Any]:
    examples = [np.empty((1,) * x.ndim, x.dtype.numpy) if isinstance(x, Tensor) else x for x in operands]
    common = dtypes.result_type([e for e in examples if e is not None])
    floats = common.kind in dtypes.FLOATS
    return [x.to(dtypes.of_numpy(common)) if floats and isinstance(x, Tensor) and x.dtype.is_floating_point else x for x in operands]


# -- tangents ---------------------------------------------------------------------------------------------------


def _moving(op: Op, operands: Sequence[Any], static: Mapping[str, Any], place: int) -> Any:
    level = state.forward_levels[place]
    before = state.change(forward_levels=state.forward_levels[:place])
    try:
        result = apply(op, operands, static)
        constants = dtypes.set_constants(None if op.always else (result[0] if isinstance(result, tuple) else result).array.dtype)
        try:
            tangents = _tangent(op, operands, {**op.static, **static}, result, [tangent_of(x, level) for x in operands])
        finally:
            dtypes.set_constants(constants)
    finally:
        state.change(**before)
    if tangents is not None:
        single = not isinstance(result, tuple)
        for part, tangent in zip((result,) if single else result, (tangents,) if single else tangents, strict=True):
            if tangent is not None and part.array.dtype.kind in dtypes.FLOATS:
                own = _apart(tangent, part, operands, level)
                set_tangent(part, level, own if own.dtype == part.dtype else cast(own, part.array.dtype))
    return result


def _tangent(op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any, tangents: Sequence[Any]) -> Any:
    """How the result of an operation moves, as its operands do; of several results, each; None if it does not."""
    if (op.partials is None and op.vjp is None) or (isinstance(result, Tensor) and result.array.dtype.kind not in dtypes.FLOATS):
        return None
    if op.linear and not op.elementwise:
        moving = [t if t is not None or x is None else _still(x) for x, t in zip(operands, tangents, strict=True)]
        return apply(op, moving, static)
    if op.accuracy.carries is multilinear:
        parts = [apply(op, [*operands[:i], t, *operands[i + 1 :]], static) for i, t in enumerate(tangents) if t is not None]
        return sum(parts[1:], parts[0])
    total: Any = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        term = (
            _through(op.partials[i], operands, static, result, tangent)
            if op.partials is not None
            else _pushed(op, operands, static, result, i, tangent)
        )
        if term is None:
            continue
        if op.outputs > 1:
            total = (
                term if total is None else tuple(y if x is None else x if y is None else x + y for x, y in zip(total, term, strict=True))
            )
        else:
            term = term if term.shape == result.shape else broadcast_to(term, shape=tuple(result.shape))
            total = term if total is None else total + term
    return total if total is not None or op.outputs > 1 else _still(result)


def _apart(tangent: Tensor, part: Tensor, operands: Sequence[Any], level: Any) -> Tensor:
    """A tangent in memory of its own, unless what moves by it is a view: whoever writes to the one does not write to the other."""
    for x in operands:
        other = tangent_of(x, level)
        shared = other is not None and np.may_share_memory(memory_of(tangent), memory_of(other))
        if shared and not np.may_share_memory(memory_of(part), memory_of(x)):
            copied: Tensor = clone(tangent)
            return copied
    return tangent


def _still(x: Any) -> Tensor:
    array = x.array if isinstance(x, Tensor) else np.asarray(x)
    return Tensor(np.zeros(array.shape, array.dtype))


def _through(partial: Any, operands: Sequence[Any], static: Mapping[str, Any], result: Any, tangent: Tensor) -> Any:
    if partial is None:
        return None
    values = [result, *operands]
    if type(partial) is Pieces:
        return partial.flowing(guarded, tangent, values, static)
    return guarded(tangent, partial(*values, **static))


def _pushed(op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any, place: int, tangent: Tensor) -> Any:
    """J t from a VJP rule: u -> vjp(u) is linear, and J t is the transpose of it applied to t."""
    assert op.vjp is not None
    wanted = tuple(i == place for i in range(len(operands)))
    parts = result if op.outputs > 1 else (result,)
    keep = state.recording
    before = state.change(recording=True)
    try:
        cotangents = tuple(Tensor(np.zeros(part.array.shape, part.array.dtype), True) for part in parts)
        given: Any = cotangents if op.outputs > 1 else cotangents[0]
        pulled = op.vjp(wanted, given, result, *operands, **static)
        part = pulled[place] if place < len(pulled) else None
        if part is None or not part.requires_grad:
            return None
        if part.shape != tangent.shape:
            tangent = broadcast_to(tangent, shape=tuple(part.shape))
        found = grad([part], cotangents, [tangent], create_graph=keep, allow_unused=True)
    finally:
        state.change(**before)
    return tuple(found) if op.outputs > 1 else found[0]
