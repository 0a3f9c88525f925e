"""Applying an operation to tensors: promotion of dtypes, the result, and its node in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.ops.promotion import INTEGRAL
from gradcli.ops.shapes import broadcast_to, getitem, reshape, swapaxes, transpose
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach, output, to_float
from gradcli.tensors import dtypes
from gradcli.tensors.mistakes import explained
from gradcli.tensors.modes import state
from gradcli.tensors.naming import node_name
from gradcli.tensors.node import Node, save
from gradcli.tensors.tensor import Tensor
from gradcli.tensors.views import View

VIEWS = frozenset({reshape, transpose, swapaxes, getitem, broadcast_to, detach})


def apply(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result of an operation, a tensor or a tuple of tensors, with a node if something requires grad.

    Python numbers and arrays among the operands are weak: they take the dtype of the tensors.
    """
    arrays = [o.array if isinstance(o, Tensor) else o.item() if isinstance(o, np.generic) else o for o in operands]
    dtype = _common(op, operands, arrays)
    try:
        with np.errstate(all="ignore"):
            as_it_is = op is broadcast_to and arrays[0].shape == static["shape"]  # NumPy's view would be read-only
            result = arrays[0].view() if as_it_is else op.forward(*arrays, **static)
    except GradcliError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise explained(op, arrays, static, error) from None
    recorded = state.recording and any(isinstance(o, Tensor) and o.requires_grad for o in operands)
    if recorded:
        recorded = op.partials is not None or op.vjp is not None
    if isinstance(result, tuple):
        return _several(op, operands, arrays, static, tuple(_settled(op, part, dtype) for part in result), recorded)
    out = _settled(op, result, dtype)
    view = None
    if op in VIEWS:
        source = operands[0]
        if isinstance(source, Tensor) and np.may_share_memory(out, source.array):
            view = source
    elif (out.base is not None or any(out is a for a in arrays)) and _shares_memory(out, arrays):
        out = out.copy()
    tensor = Tensor(out)
    if view is not None:
        tensor._version_counter = view._version_counter
        if op is not detach:
            tensor._view = View.of(view, op, static)
    if state.anomaly:
        from gradcli.tensors.anomaly import check_forward

        check_forward(op, arrays, out)
    if recorded and out.dtype.kind == "f":
        _record(tensor, op, operands, arrays, static)
    if state.recorder is not None:
        state.recorder.note(op, operands, static, tensor)
    return tensor


def _shares_memory(out: np.ndarray, arrays: Sequence[Any]) -> bool:
    return any(isinstance(a, np.ndarray) and np.may_share_memory(out, a) for a in arrays)


def _record(tensor: Tensor, op: Op, operands: Sequence[Any], arrays: Sequence[Any], static: Mapping[str, Any]) -> None:
    nodes = tuple([o.gradient_node() if isinstance(o, Tensor) and o.requires_grad else None for o in operands])
    node = Node(op, nodes, static, tensor.array.shape, tensor.array.dtype, node_name(op, operands, arrays, static))
    save(node, tuple([n is not None for n in nodes]), operands, arrays, tensor.array, tensor._version_counter)
    tensor.node = node
    tensor._requires_grad = True


def _several(
    op: Op, operands: Sequence[Any], arrays: Sequence[Any], static: Mapping[str, Any], results: tuple[np.ndarray, ...], recorded: bool
) -> tuple[Tensor, ...]:
    tensors = tuple(Tensor(part) for part in results)
    if recorded:
        nodes = tuple([o.gradient_node() if isinstance(o, Tensor) and o.requires_grad else None for o in operands])
        shapes, kinds = tuple(r.shape for r in results), tuple(r.dtype for r in results)
        node = Node(op, nodes, static, shapes, kinds, node_name(op, operands, arrays, static))
        save(node, tuple([n is not None for n in nodes]), operands, arrays, results, tensors[0]._version_counter)
        for i, tensor in enumerate(tensors):
            if tensor.array.dtype.kind == "f":
                tensor.node = Node(output, (node,), {"place": i}, tensor.array.shape, tensor.array.dtype, node.label)
                tensor._requires_grad = True
    if state.recorder is not None:
        state.recorder.note(op, operands, static, tensors)
    return tensors


def _settled(op: Op, result: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    out = result if type(result) is np.ndarray else np.asarray(result)
    if dtype is not None and out.dtype != dtype and out.dtype.kind == "f" and op.result != "bool":
        return out.astype(dtype)
    return out.astype(np.int64) if out.dtype == np.uint64 else out


def _common(op: Op, operands: Sequence[Any], arrays: list[Any]) -> np.dtype[Any] | None:
    """The dtype of a result that is a float; operands of other dtypes are converted in place of the list."""
    first: np.dtype[Any] | None = None
    same = True
    for operand, array in zip(operands, arrays, strict=True):
        if isinstance(operand, Tensor):
            if first is None:
                first = array.dtype
            elif array.dtype != first:
                same = False
        elif array is not None and (first is None or not isinstance(array, (int, float)) or isinstance(array, bool)):
            same = False
    if same and first is not None and first.kind == "f":
        return first
    if op.result == "bool" or op.result == "int":
        return None
    return _promoted(op, operands, arrays)


def _promoted(op: Op, operands: Sequence[Any], arrays: list[Any]) -> np.dtype[Any] | None:
    skipped = op.index_places if not op.variadic else frozenset()
    deciding = [
        a if isinstance(o, Tensor) or not isinstance(a, np.ndarray) else _weak(a)
        for i, (o, a) in enumerate(zip(operands, arrays, strict=True))
        if a is not None and i not in skipped and not (op.operands[0] == "condition" and i == 0) and not isinstance(a, tuple)
    ]
    if not deciding:
        return dtypes.get_default_dtype().numpy if op.result == "float" else None
    target = dtypes.result_type(deciding)
    if target.kind != "f":
        if op.result == "same" or (op.name in INTEGRAL and op is not to_float):
            _check_whole(op, arrays, target)
            return None
        if op.name in ("mean", "var", "std"):
            kind = dtypes.of_numpy(target).tensor_type.removesuffix("Tensor")
            raise RuntimeError(
                f"{op.name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {kind}"
            )
        target = dtypes.get_default_dtype().numpy
    for i, array in enumerate(arrays):
        if i in skipped or (op.operands[0] == "condition" and i == 0):
            continue
        if isinstance(array, np.ndarray) and array.dtype != target:
            arrays[i] = array.astype(target)
        elif isinstance(array, (bool, int)) and op.kind == "structural":
            arrays[i] = np.asarray(array, target)
    return target


def _check_whole(op: Op, arrays: list[Any], target: np.dtype[Any]) -> None:
    """Refuse what PyTorch has no arithmetic of whole numbers and booleans for."""
    flags = [isinstance(a, np.ndarray) and a.dtype.kind == "b" for a in arrays]
    if op.name == "neg" and target.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. Use the `~` or `logical_not()` operator instead."
        )
    if op.name == "sub" and any(flags):
        raise RuntimeError(
            f"Subtraction, the `-` operator, with {'two bool tensors' if all(flags) else 'a bool tensor'} is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def _weak(array: np.ndarray) -> Any:
    """An array of a rule decides by its kind only."""
    return bool(0) if array.dtype.kind == "b" else 0 if array.dtype.kind in "iu" else 0.0
