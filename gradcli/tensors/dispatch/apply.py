"""Applying an operation to tensors: promotion of dtypes, the result, and its node in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to, getitem
from gradcli.ops.calling.inputs import unmasked
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.halves import computed_with, is_half
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, node_of_part
from gradcli.tensors.core.node_names import kind_of
from gradcli.tensors.core.saved_values import save
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import View
from gradcli.tensors.dispatch.fast_path import fast_path
from gradcli.tensors.dispatch.kernels import as_array, computed, in_own_memory

_Sources = tuple[Node | None, ...]


class _Traits(NamedTuple):
    """What applying an operation asks of its record, worked out once."""

    view: bool  # the result shares its operand's memory where NumPy lets it
    new: bool  # the result never shares memory
    differentiable: bool


@cache
def _traits(op: Op) -> _Traits:
    return _Traits(bool(op.torch.shares), isinstance(op.forward, np.ufunc), op.partials is not None or op.vjp is not None)


def apply(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result of an operation, a tensor or a tuple of tensors, with a node if something requires grad.

    Python numbers and arrays among the operands are weak: they take the dtype of the tensors.
    """
    path = fast_path(op)
    if path is not None:
        tensor = path(operands, static)
        if tensor is not None:
            return tensor
    return slow_path(op, operands, static)


def slow_path(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The same the slow path, whatever the operands are and whoever watches."""
    if state.interpreter is not None:
        return state.interpreter(op, operands, static)
    return plain(op, operands, static)


def plain(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The same of tensors that are neither batched nor have tangents that count."""
    traits = _traits(op)
    arrays, sources, dtype, half = _read(op, operands)
    if sources is not None and not (traits.differentiable and state.recording and not state.inference):
        sources = None
    if op is getitem and type(static["index"][-1]) is int and ... not in static["index"]:
        static = {"index": (*static["index"], ...)}  # an entry, too, is a view
    given = arrays if not half or traits.view or op.always or op.torch.format else computed_with(op, arrays, dtype)
    out = arrays[0].view() if op is broadcast_to and arrays[0].shape == static["shape"] else computed(op, given, static)
    if type(out) is not np.ndarray or out.dtype is not dtype:
        if isinstance(out, tuple):
            parts = tuple([in_own_memory(as_array(op, part, dtype), arrays) for part in out])
            return _several(op, operands, arrays, static, parts, sources)
        out = as_array(op, out, dtype)
    if traits.new:
        tensor = Tensor(out)
    elif traits.view:
        tensor = viewing(out, operands[0], op.torch.shares)
    else:
        tensor = Tensor(in_own_memory(out, arrays))
    out = tensor.array  # the tensor's own: what a node keeps may share no memory with an operand
    if sources is not None and out.dtype.kind in dtypes.FLOATS:
        kind = kind_of(op, arrays, static)
        values = [out, *arrays]
        versions = save(op, _wanted(op, sources), tensor, operands, values)
        tensor.node = kind(op, sources, static, out.shape, out.dtype, values, versions)
        tensor._requires_grad = True
    if state.anomaly:
        remember(tensor.node, op, arrays, out)
    if state.recorder is not None:
        state.recorder.note(op, operands, static, tensor)
    return tensor


def viewing(out: np.ndarray, source: Any, shares: str = "view") -> Tensor:
    """The result of an operation that views its operand, if NumPy could share the memory."""
    if isinstance(source, Tensor) and (np.may_share_memory(out, source.array) or (not out.size and out.base is not None)):
        if min(out.strides, default=0) < 0:
            return Tensor(out.copy("K"))  # which PyTorch has no views of
        tensor = Tensor(out)
        tensor._version_counter, tensor._inference = source._version_counter, source._inference
        if shares == "view" and not source._inference:
            tensor._view = View.of(source)
        return tensor
    return Tensor(out)


def _wanted(op: Op, sources: _Sources) -> int:
    """The operands that require grad, as `save` takes them; not looked for where what is kept does not depend on them."""
    if not isinstance(op.saves, Mapping):
        return 0
    return sum(1 << place for place, source in enumerate(reversed(sources)) if source is not None)


def _several(
    op: Op, operands: Sequence[Any], arrays: Sequence[Any], static: Mapping[str, Any], results: tuple[np.ndarray, ...],
    sources: _Sources | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    tensors = tuple(Tensor(part) for part in results)
    if sources is not None:
        kind = kind_of(op, arrays, static)
        values = [results, *arrays]
        versions = save(op, _wanted(op, sources), tensors, operands, values)
        node = kind(op, sources, static, tuple([r.shape for r in results]), tuple([r.dtype for r in results]), values, versions)
        for place, tensor in enumerate(tensors):
            if tensor.array.dtype.kind in dtypes.FLOATS:
                tensor.node = node_of_part(node, place, tensor)
                tensor._requires_grad = True
        if state.anomaly:
            remember(node)
    if state.recorder is not None:
        state.recorder.note(op, operands, static, tensors)
    return tensors


def _read(op: Op, operands: Sequence[Any]) -> tuple[list[Any], _Sources | None, np.dtype[Any] | None, bool]:
    """The operands as arrays and numbers, of one dtype if need be; the nodes that their gradients will go to, None if
    none requires grad; the dtype of a result that is a float; and whether there are floats of 16 bits."""
    arrays: list[Any] = []
    sources: list[Node | None] = []
    common: np.dtype[Any] | None = None
    alike, half = True, False
    for operand in operands:
        if isinstance(operand, Tensor):
            array = operand.array
            if array.dtype is not common:
                alike = alike and (common is None or array.dtype == common)
                common = array.dtype
                half = half or is_half(common)
            source = operand.node
            if operand._view is not None or (source is None and operand._requires_grad):
                source = operand.source() if state.recording else None
            sources.append(source)
        else:
            array = operand.item() if isinstance(operand, np.generic) else unmasked(operand, "the array")
            weak = type(array) is int or type(array) is float
            alike = alike and (array is None or (weak and op.elementwise))
            sources.append(None)
        arrays.append(array)
    if not (alike and common is not None and common.kind in dtypes.FLOATS):
        common = None if op.result in ("bool", "int") else _promoted(op, operands, arrays)
        half = half or (common is not None and is_half(common))
    return arrays, tuple(sources) if any(sources) else None, common, half


def _promoted(op: Op, operands: Sequence[Any], arrays: list[Any]) -> np.dtype[Any] | None:
    skipped = op.index_places if not op.variadic else frozenset()
    deciding = [
        a if isinstance(o, Tensor) or not isinstance(a, np.ndarray) else _weak(a)
        for i, (o, a) in enumerate(zip(operands, arrays, strict=True))
        if a is not None and i not in skipped and not (op.operands[0] == "condition" and i == 0) and not isinstance(a, tuple)
    ]
    if not deciding:
        return dtypes.constant_float() if op.result == "float" else None
    target, whole = dtypes.result_type(deciding), None
    if op.torch.counts and target.kind == "b":
        target = dtypes.int64.numpy
    error = None if op.torch.refuses is None else op.torch.refuses(target, arrays)
    if error is not None:
        raise error
    if target.kind not in dtypes.FLOATS:
        if op.result == "same" or (op.facts.integral and not op.torch.floats):
            if not op.elementwise:
                return None
            whole = target
        else:
            target = dtypes.constant_float()
    # NumPy has no arithmetic of booleans for all that PyTorch has: it is that of zeros and ones
    kind = np.dtype(np.uint8) if whole is not None and whole.kind == "b" and op.result == "float" else target
    for i, array in enumerate(arrays):
        if i in skipped or (op.operands[0] == "condition" and i == 0):
            continue
        if isinstance(array, np.ndarray):
            if array.dtype != kind:
                arrays[i] = array.astype(kind)
        elif isinstance(array, (bool, int, float)) and (op.kind == "structural" or whole is not None):
            arrays[i] = np.asarray(array).astype(kind)  # which wraps around
    return target


def _weak(array: np.ndarray) -> Any:
    """An array of a rule decides by its kind only."""
    return bool(0) if array.dtype.kind == "b" else 0 if array.dtype.kind in "iu" else 0.0
