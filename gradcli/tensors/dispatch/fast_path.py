"""Applying an operation the fast path.

Nearly always operands are one or two tensors of one float dtype, or a tensor and a number, and nothing watches. What
is left to ask is then known of an operation beforehand. All else takes the slow path, to the same results. Written for
speed: operands are read one by one, in local variables.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.ops.recording import kept_places
from gradcli.ops.spec import Op
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Shaped
from gradcli.tensors.core.node_names import kind_of
from gradcli.tensors.core.saved_values import INFERENCE, NOT_KEPT
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.kernels import as_array, computed, in_own_memory

Path = Callable[[Sequence[Any], Mapping[str, Any]], Any]
_NUMBERS = frozenset({int, float})
_Array, _DOUBLE, _SINGLE = np.ndarray, np.dtype(np.float64), np.dtype(np.float32)


@cache
def fast_path(op: Op) -> Path | None:
    """A function of the operands and static parameters that gives a tensor, or None where the slow path must be taken."""
    one_float = op.outputs == 1 and op.result == "float" and (op.partials is not None or op.vjp is not None)
    if not one_float or op.variadic or op.indices or op.operands[0] == "condition" or op.torch.shares:
        return None
    return _of_one(op) if len(op.operands) == 1 else _of_two(op) if len(op.operands) == 2 else None


def _of_one(op: Op) -> Path:
    forward, elementwise, any_rank = op.forward, op.elementwise, op.on_scalars is None
    ufunc = isinstance(getattr(forward, "__self__", forward), np.ufunc)  # or its reduce
    keeps_out, keeps_x = (place in kept_places(op, 1, 1)[0] for place in range(2))
    always = kind_of(op, (), {}) if elementwise else None

    def path(operands: Sequence[Any], static: Mapping[str, Any]) -> Tensor | None:
        (x,) = operands
        if type(x) is not Tensor or not state.usual:
            return None
        a: Any = x.array
        dtype = a.dtype
        if dtype is not _DOUBLE and dtype is not _SINGLE:  # those of 16 bits are computed in float32
            return None
        source = x.node
        if x._view is not None:
            source = x.source() if state.recording else None
        elif source is None and x._requires_grad and state.recording:
            source = x.leaf_node()
        if ufunc and (any_rank or a.ndim):
            try:
                out = state.silently(forward, a, **static) if static else state.silently(forward, a)
            except Exception:  # the slow path says what is wrong
                return None
            if not elementwise and type(out) is _Array and not out.flags.c_contiguous:
                out = in_own_memory(out, (a,))
        else:
            out = computed(op, (a,), static)
            if type(out) is _Array:
                out = in_own_memory(out, (a,))
        if type(out) is not _Array or out.dtype is not dtype:
            out = as_array(op, out, dtype)
        tensor = Tensor(out)
        if source is not None and state.recording:
            kind = always or kind_of(op, (a,), static)
            versions = []
            if keeps_x:
                if x._inference:
                    raise RuntimeError(INFERENCE)
                counter = x._version_counter
                versions.append((counter, counter[0], 1))
            else:
                a = NOT_KEPT if elementwise else Shaped(a)
            if keeps_out:
                versions.append((tensor._version_counter, 0, 0))
            kept = out if keeps_out else NOT_KEPT if elementwise else Shaped(out)
            tensor.node = kind(op, (source,), static, out.shape, dtype, [kept, a], versions or None)
            tensor._requires_grad = True
        return tensor

    return path


def _of_two(op: Op) -> Path:
    forward, elementwise, any_rank = op.forward, op.elementwise, op.on_scalars is None
    ufunc = isinstance(forward, np.ufunc)
    if forward is np.power:
        forward = operator.pow  # which knows squares
    keeps = [[place in kept_places(op, 2, wanted)[0] for place in range(3)] for wanted in range(4)]
    always = kind_of(op, (), {}) if elementwise else None

    def path(operands: Sequence[Any], static: Mapping[str, Any]) -> Tensor | None:
        x, y = operands
        a: Any
        b: Any
        left = right = None
        wanted = 0
        number = False
        if type(x) is Tensor:
            a = x.array
            left = x.node
            if x._view is not None:
                left = x.source() if state.recording else None
            elif left is None and x._requires_grad and state.recording:
                left = x.leaf_node()
            if left is not None:
                wanted = 2
        elif elementwise and type(x) in _NUMBERS:
            a = x
            number = True
        else:
            return None
        if type(y) is Tensor:
            b = y.array
            dtype = b.dtype
            if not number and a.dtype is not dtype:
                return None
            right = y.node
            if y._view is not None:
                right = y.source() if state.recording else None
            elif right is None and y._requires_grad and state.recording:
                right = y.leaf_node()
            if right is not None:
                wanted += 1
        elif elementwise and type(y) in _NUMBERS and not number:
            b = y
            dtype = a.dtype
        else:
            return None
        if (dtype is not _DOUBLE and dtype is not _SINGLE) or not state.usual:
            return None
        if ufunc and (any_rank or a is x or a.ndim):
            try:
                out = state.silently(forward, a, b)
            except Exception:  # the slow path says what is wrong
                return None
        else:
            out = computed(op, (a, b), static)
            if type(out) is _Array:
                out = in_own_memory(out, (a, b))
        if type(out) is not _Array or out.dtype is not dtype:
            out = as_array(op, out, dtype)
        tensor = Tensor(out)
        if wanted and state.recording:
            keeps_out, keeps_x, keeps_y = keeps[wanted]
            kind = always or kind_of(op, (a, b), static)
            versions = []
            if not keeps_x:
                a = NOT_KEPT if elementwise else Shaped(a)
            elif a is not x:
                if x._inference:
                    raise RuntimeError(INFERENCE)
                counter = x._version_counter
                versions.append((counter, counter[0], 1))
            if not keeps_y:
                b = NOT_KEPT if elementwise else Shaped(b)
            elif b is not y:
                if y._inference:
                    raise RuntimeError(INFERENCE)
                counter = y._version_counter
                versions.append((counter, counter[0], 2))
            if keeps_out:
                versions.append((tensor._version_counter, 0, 0))
            kept = out if keeps_out else NOT_KEPT if elementwise else Shaped(out)
            holds = keeps_out or keeps_x or keeps_y
            tensor.node = kind(op, (left, right), static, out.shape, dtype, [kept, a, b], versions if holds else None)
            tensor._requires_grad = True
        return tensor

    return path
