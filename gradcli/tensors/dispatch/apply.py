"""Applying an operation to tensors: promotion of dtypes, the result, and its node in the graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.ops.arrays.shapes import broadcast_to, getitem
from gradcli.ops.arrays.striding import as_strided, last_place, overlaps
from gradcli.ops.calling.inputs import unmasked
from gradcli.ops.recording import kept_places
from gradcli.ops.spec import Composite, Op
from gradcli.ops.writing import Shape
from gradcli.tensors.core import dtypes, views
from gradcli.tensors.core.dtypes import FLOATS, computed_with, is_half
from gradcli.tensors.core.levels import Batched, levels_of, memory_of, rewrapped, same_region, set_tangent, tangent_of
from gradcli.tensors.core.modes import Mode, silent, state
from gradcli.tensors.core.node import Node, Shaped, kind_of, node_of_part, remember
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import INFERENCE, NOT_KEPT, save
from gradcli.tensors.core.views import View, geometry
from gradcli.tensors.dispatch.checked_calls import explained

# -- The arrays of results: NumPy without warnings, its errors in PyTorch's words ------------------


_silent: list[Callable[..., Any]] = []  # each is used by one call at a time
_DOUBLE = np.dtype(np.float64)


def computed(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result as NumPy has it, infinities and NaNs without a warning."""
    forward, first = op.forward, arrays[0]
    if op.on_scalars is not None and type(first) is np.ndarray and not first.ndim and first.dtype is _DOUBLE:
        forward, arrays = op.on_scalars, [a[()] if type(a) is np.ndarray else a for a in arrays]
    try:
        run = _silent.pop()
    except IndexError:
        run = silent()
    try:
        return run(forward, *arrays, **static)
    except GradcliError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise explained(op, arrays, static, error) from None
    finally:
        _silent.append(run)


def as_array(op: Op, result: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    """The result as an array, of the dtype that the operands were promoted to, unless it is a truth or a place."""
    out = result if type(result) is np.ndarray else np.asarray(result)
    if out.dtype is dtype:
        return out
    floats = out.dtype.kind in FLOATS or (dtype is not None and dtype.kind not in FLOATS)
    if dtype is not None and out.dtype != dtype and floats and op.result not in ("bool", "int"):
        with np.errstate(all="ignore"):  # what is too large is infinite
            return out.astype(dtype)
    return out.astype(np.int64) if out.dtype == np.uint64 else out


def in_own_memory(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """The result in memory that no operand has, its entries in their order, so that it can be viewed in other shapes."""
    if not out.flags.c_contiguous:
        return np.ascontiguousarray(out)
    for array in arrays:
        if array is out or (out.base is not None and isinstance(array, np.ndarray) and np.may_share_memory(out, array)):
            return out.copy()
    return out


# -- Applying an operation the fast path -----------------------------------------------------------
#
# Nearly always operands are one or two tensors of one float dtype, or a tensor and a number, and
# nothing watches. What is left to ask is then known of an operation beforehand. All else takes
# the slow path, to the same results. Written for speed: operands are read one by one, in local
# variables.


Path = Callable[[Sequence[Any], Mapping[str, Any]], Any]
_NUMBERS = frozenset({int, float})
_Array, _DOUBLE_TENSOR, _SINGLE = np.ndarray, np.dtype(np.float64), np.dtype(np.float32)


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
        if dtype is not _DOUBLE_TENSOR and dtype is not _SINGLE:  # those of 16 bits are computed in float32
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
        if (dtype is not _DOUBLE_TENSOR and dtype is not _SINGLE) or not state.usual:
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


# -- Tensors that are regions of another one's memory, however its entries are arranged in it ------


def region(x: Tensor, size: Shape, stride: Shape, offset: int) -> Tensor:
    """A view of a tensor's storage with these sizes, strides and offset; of a batched one, that of each example."""
    if isinstance(x, Batched):
        from_first = offset - views.start(x.physical.array)
        own = views.strides(x.physical.array)[len(x.levels) :]
        if from_first < 0 or from_first + last_place(size, stride) > last_place(tuple(x.shape), own):
            raise RuntimeError(
                f"vmap: as_strided(size={list(size)}, stride={list(stride)}, storage_offset={from_first}) reaches out of the memory of an "
                f"example of size {list(x.shape)} and stride {list(own)}"
            )
        found: Tensor = rewrapped(_region_of_each(x.physical, len(x.levels), size, stride, from_first), x.levels)
        return found
    array = views.placed(x.array, size, stride, offset)
    return _shown(x, array, geometry(x.array, array), lambda tangent: same_region(x, tangent, size, stride, offset))


def _region_of_each(x: Tensor, lead: int, size: Shape, stride: Shape, offset: int) -> Tensor:
    """Of examples along so many axes in front, each as if it were alone in memory."""

    def shown(array: np.ndarray) -> np.ndarray:
        sizes, steps = (*array.shape[:lead], *size), (*views.strides(array)[:lead], *stride)
        return views.placed(array, sizes, steps, views.start(array) + offset)

    extents, own = x.array.shape[:lead], views.strides(x.array)[lead:]
    memory = np.empty((*extents, last_place(x.array.shape[lead:], own) + 1), x.array.dtype)  # which examples may share
    apart = views.placed(memory, x.array.shape, (*views.strides(memory)[:-1], *own), 0)
    again = functools.partial(_region_of_each, lead=lead, size=size, stride=stride, offset=offset)
    return _shown(x, shown(x.array), geometry(apart, shown(apart)), again)


def _shown(x: Tensor, array: np.ndarray, place: dict[str, Any], again: Callable[[Tensor], Tensor]) -> Tensor:
    """A view of x with the entries of an array that shows x's memory.

    place  where the entries are among x's
    again  makes the same view of a tangent, which need not be laid out as x where several of x's entries are one place
    """
    tensor = viewing(array, x)
    source = x.source() if state.recording and not state.inference else None
    if source is not None and array.dtype.kind in FLOATS:
        node: Node = kind_of(as_strided, (), place)(as_strided, (source,), place, array.shape, array.dtype)
        node.saved = [Shaped(array), Shaped(x.array)]
        tensor.node, tensor._requires_grad = node, True
        if state.anomaly:
            remember(node)
    for outer, level in enumerate(state.forward_levels):
        moving = tangent_of(x, level)
        if moving is not None:
            with Mode(forward_levels=state.forward_levels[:outer]):
                set_tangent(tensor, level, again(moving))
    if state.recorder is not None:
        state.recorder.note(as_strided, (x,), place, tensor)
    return tensor


def region_of(record: Op | Composite, operands: list[Any], static: dict[str, Any]) -> Tensor | None:
    """The result of a function that PyTorch has as a view; None where it is none, or what it was given does not fit."""
    view, x = record.torch.region, operands[0] if operands else None
    if view is None or not isinstance(x, Tensor):
        return None
    levels = levels_of([x])
    lead = len(levels)

    def shown(array: np.ndarray) -> np.ndarray:
        """Of arrays that have the examples along axes in front, the view of each."""
        first = array[(0,) * lead + (...,)]
        seen = view(first, **static)
        place = views.start(first) + views.distance(seen, first) if seen.size else 0
        extents, steps = array.shape[:lead], views.strides(array)[:lead]
        return views.placed(array, (*extents, *seen.shape), (*steps, *views.strides(seen)), place)

    def of(physical: Tensor) -> Tensor:
        entries = physical.array
        if overlaps(entries.shape, views.strides(entries)):  # what comes back belongs to one of the entries that are one place
            apart = np.empty(entries.shape, entries.dtype)
            return _shown(physical, shown(entries), geometry(apart, shown(apart)), of)
        return _shown(physical, shown(entries), geometry(entries, shown(entries)), of)

    if 0 in memory_of(x).shape[:lead]:
        return None
    try:
        found: Tensor = rewrapped(of(x.physical if isinstance(x, Batched) else x), levels)
    except (ValueError, TypeError, IndexError):
        return None  # the function itself says what is wrong
    return found
