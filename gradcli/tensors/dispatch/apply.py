"""Applying operations to tensors: the one path of all that is computed eagerly.

operands ──promoted to one dtype──▶ arrays ──forward──▶ result ──▶ tensor, with a node in the graph
if an operand requires grad

Beside it are the checks of annotations and the errors of PyTorch's types, and the regions of memory
that tensors show.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import unwrap
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from gradcli.errors import ArgumentError, AxisError, GradcliError, ShapeError
from gradcli.ops.arrays.shapes import broadcast_to, getitem
from gradcli.ops.arrays.striding import as_strided, last_place
from gradcli.ops.calling.inputs import unmask
from gradcli.ops.pytorch import naming_rule, node_name
from gradcli.ops.spec import Composite, Op
from gradcli.ops.writing import Shape
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, computed_with, constant_float, is_half
from gradcli.tensors.core.in_place import common_shape, follow
from gradcli.tensors.core.levels import Batched, levels_of, physical, rewrap
from gradcli.tensors.core.modes import silent, state
from gradcli.tensors.core.node import Node, remember
from gradcli.tensors.core.tensor import (
    Tensor,
    View,
    distance,
    geometry,
    in_order,
    place_entries,
    start,
    strides,
)
from gradcli.tensors.core.trace import join_parts, save

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.array.ndim and value.array.dtype.kind in "iu"
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.array.ndim and not value.requires_grad
    return hasattr(value, "__float__")


_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": _is_int,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool),
}


def check_annotations(function: _Function, name: str = "") -> _Function:
    """Return the function or method, with arguments held to its parameters' annotations."""
    own: Any = unwrap(function)
    name = name or own.__name__
    words = own.__code__.co_varnames[: own.__code__.co_argcount]
    kinds = {
        word: kind
        for word, kind in own.__annotations__.items()
        if kind.removesuffix(" | None") in _FITS
    }

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        for word, value in (*zip(words, arguments, strict=False), *keywords.items()):
            kind = kinds.get(word)
            if kind is None or (value is None and kind.endswith("None")):
                continue
            wanted = kind.removesuffix(" | None")
            if not _FITS[wanted](value):
                raise TypeError(
                    f"{name}(): argument {word!r} must be {wanted}, not {type(value).__name__}"
                )
        return function(*arguments, **keywords)

    return cast(_Function, run)


# -- Errors for operands that do not fit, of PyTorch's types -------------------------------------


def explain_failure(
    op: Op, arrays: Sequence[Any], static: Mapping[str, Any], error: Exception
) -> Exception:
    """Return the error of an operation that failed."""
    shapes = [None if a is None else np.shape(a) for a in arrays]
    if (
        isinstance(error, np.exceptions.AxisError)
        and error.axis is not None
        and error.ndim is not None
    ):
        return AxisError(error.axis, error.ndim)
    if op.elementwise:
        try:
            common_shape(*[shape for shape in shapes if shape is not None])
        except RuntimeError as apart:
            return apart
    try:
        if op.shape is not None:
            op.shape(*shapes, **static)
    except GradcliError as better:
        return better
    except Exception:  # the shape rule has no better message
        pass
    kind = next((kind for kind in (IndexError, TypeError) if isinstance(error, kind)), RuntimeError)
    return kind(f"{op.name}: {error}")


class ArgumentValueError(ArgumentError, ValueError):
    """A value that an argument may not have.

    PyTorch raises ValueError for some, RuntimeError for others.
    """


class ShapeValueError(ShapeError, ValueError):
    """Shapes that do not fit, of which the same is true."""


def also_value_error(error: ArgumentError | ShapeError) -> GradcliError:
    """Return the error as a ValueError, too, unless it has another of Python's types."""
    if isinstance(error, (TypeError, LookupError, ValueError)):
        return error
    same = (ArgumentValueError if isinstance(error, ArgumentError) else ShapeValueError)(
        error.message
    )
    same.__dict__.update(error.__dict__)
    return same


def check_same_dtype(operands: Sequence[Any]) -> None:
    """Refuse products of several dtypes, which do not promote. Raises RuntimeError, as PyTorch."""
    kinds = [
        array.dtype.name
        for o in operands
        if isinstance(array := getattr(o, "array", None), np.ndarray)
    ]
    if len(set(kinds)) > 1:
        raise RuntimeError(f"both factors must have one dtype, not {kinds[0]} and {kinds[1]}")


# -- The arrays of results: NumPy without warnings, its errors of PyTorch's types ----------------


_silent: list[Callable[..., Any]] = []  # each serves one call at a time
_NUMBERS = frozenset({int, float})
_Array, _DOUBLE, _SINGLE = np.ndarray, np.dtype(np.float64), np.dtype(np.float32)


def as_array(op: Op, result: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    """Return the result as an array of the dtype that the operands were promoted to.

    A result that is a truth or a place keeps its own dtype.
    """
    out = result if type(result) is _Array else np.asarray(result)
    if out.dtype is dtype:
        return out
    floats = out.dtype.kind in FLOATS or (dtype is not None and dtype.kind not in FLOATS)
    if dtype is not None and out.dtype != dtype and floats and op.result not in ("bool", "int"):
        with np.errstate(all="ignore"):  # too large values become infinite
            return out.astype(dtype)
    return out.astype(np.int64) if out.dtype == np.uint64 else out


def in_own_memory(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """Return the result in memory that no operand has, its entries in their order.

    It can then be viewed in other shapes.
    """
    if not out.flags.c_contiguous:
        return np.ascontiguousarray(out)
    for array in arrays:
        if array is out or (
            out.base is not None
            and isinstance(array, np.ndarray)
            and np.may_share_memory(out, array)
        ):
            return out.copy()
    return out


# -- Applying an operation to tensors: promotion of dtypes, the result, and its node in the graph -


class _Traits(NamedTuple):
    """Facts that applying an operation asks of its record, worked out once."""

    forward: Callable[..., Any]
    scalars: Callable[..., Any] | None  # replaces `forward` if the first operand has no axes
    view: bool  # the result shares its operand's memory if NumPy allows it
    new: bool  # there is one result, which never shares memory
    elementwise: bool
    differentiable: bool
    # Places of operands with dtypes of their own, such as conditions and indices.
    free: frozenset[int]
    name: str  # label of its nodes, if it is the same for all operands


@cache
def traits_of(op: Op) -> _Traits:
    forward = operator.pow if op.forward is np.power else op.forward  # has a fast path for squares
    differentiable = op.partials is not None or op.vjp is not None
    name = "" if callable(naming_rule(op)) else node_name(op)
    free = (
        frozenset({0})
        if op.operands[0] == "condition"
        else frozenset()
        if op.variadic
        else op.index_places
    )
    new = isinstance(op.forward, np.ufunc) and op.outputs == 1
    return _Traits(forward, op.operator, op.shares, new, op.elementwise, differentiable, free, name)


def apply(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return an operation's result, a tensor or tuple of tensors, with a node if one is needed.

    A node is needed if something requires grad. Python numbers and arrays among the operands are
    weak: they take the dtype of the tensors.
    """
    if state.interpreter is not None:
        return state.interpreter(op, operands, static)
    return apply_unbatched(op, operands, static)


def apply_unbatched(
    op: Op, operands: Sequence[Any], static: Mapping[str, Any], label: str = ""
) -> Any:
    """Return an operation's result for tensors that are not batched.

    label  of the node, where that is known

    Written for speed: nearly always operands are one or two tensors of one float dtype, or a tensor
    and a number.
    """
    forward, scalars, view, new, elementwise, differentiable, free, name = traits_of(op)
    recording = differentiable and state.recording
    arrays: list[Any] = []
    sources: list[Node | None] = []
    dtype: np.dtype[Any] | None = None  # the dtype of the tensors while all have the same one
    alike, wanted = True, 0  # a bit for each operand: whether it requires grad
    for operand in operands:
        wanted += wanted
        source = None
        if isinstance(operand, Tensor):
            array = operand.array
            if array.dtype is not dtype and not (free and len(arrays) in free):
                if dtype is None:
                    dtype = array.dtype
                else:
                    alike = False
            if recording:
                if operand._view is not None:
                    source = operand.source()
                elif operand._requires_grad:
                    source = operand.node or operand.leaf_node()
                if source is not None:
                    wanted += 1
        else:
            array = operand
            if operand is not None and not (
                elementwise and type(operand) in _NUMBERS and len(arrays) not in free
            ):
                alike = False
        arrays.append(array)
        sources.append(source)
    if free and any(
        arrays[place].dtype.kind in FLOATS
        for place in op.index_places
        if isinstance(operands[place], Tensor)
    ):
        raise RuntimeError("indices and labels are whole numbers: x.long() makes them of floats")
    given: Sequence[Any] = arrays
    if not alike or (dtype is not _SINGLE and dtype is not _DOUBLE):
        given, dtype = promote(op, operands, arrays, dtype if alike else None)
    if view:
        out, static = view_of(op, given[0], static)
        if out.dtype is not dtype:
            out = as_array(op, out, dtype)
        tensor = view_tensor(out, operands[0], op.memory)
        out = tensor.array
    else:
        out = compute_result(op, forward, scalars, given, static, dtype)
        if not new:
            if type(out) is tuple:
                parts = tuple([in_own_memory(part, arrays) for part in out])
                return _several(op, operands, arrays, static, parts, sources, wanted)
            out = in_own_memory(out, arrays)
        tensor = Tensor(out)
    if wanted and out.dtype.kind in FLOATS:
        values = [out, *arrays]
        versions = save(op, wanted, tensor, operands, values)
        label = label or name or node_name(op, arrays, static)
        tensor.node = Node(
            label, op, tuple(sources), static, out.shape, out.dtype, values, versions
        )
        tensor._requires_grad = True
    if not state.usual:
        if state.anomaly:
            remember(tensor.node, op, arrays, out)
        state.recorder.note(op, operands, static, tensor)
    return tensor


def compute_result(
    op: Op,
    forward: Any,
    scalars: Any,
    arrays: Sequence[Any],
    static: Mapping[str, Any],
    dtype: np.dtype[Any] | None,
) -> Any:
    """Return the result of an operation on arrays of one dtype, as an array of that dtype.

    If there are several results, each is such an array.
    """
    if (
        scalars is not None
        and type(arrays[0]) is _Array
        and not arrays[0].ndim
        and arrays[0].dtype is _DOUBLE
    ):
        forward = scalars
        arrays = [a[()] if type(a) is _Array else a for a in arrays]
    try:
        run = _silent.pop()
    except IndexError:
        run = silent().run
    try:
        out = run(forward, *arrays, **static) if static else run(forward, *arrays)
    except GradcliError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise explain_failure(op, arrays, static, error) from None
    finally:
        _silent.append(run)
    if type(out) is _Array and out.dtype is dtype:
        return out
    return (
        tuple([as_array(op, part, dtype) for part in out])
        if isinstance(out, tuple)
        else as_array(op, out, dtype)
    )


def view_of(op: Op, array: np.ndarray, static: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Return the view that an operation makes of its operand, and its parameters.

    An entry is a view, too, and so is the whole array.
    """
    if op is broadcast_to and array.shape == static["shape"]:
        return array.view(), static
    if op is getitem and type(static["index"][-1]) is int and ... not in static["index"]:
        static = {"index": (*static["index"], ...)}
    try:
        if op is broadcast_to:
            return np.broadcast_to(array, **static), static
        out = op.forward(array, **static)
        if op is getitem and min(out.strides, default=0) < 0:
            out = out.copy("K")  # PyTorch has no views with negative strides
        return out, static
    except GradcliError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise explain_failure(op, (array,), static, error) from None


def view_tensor(out: np.ndarray, source: Any, shares: Any = "view") -> Tensor:
    """Return the result of an operation that views its operand.

    It is a view if NumPy could share the memory, else a tensor of its own.
    """
    if isinstance(source, Tensor) and (
        np.may_share_memory(out, source.array) or (not out.size and out.base is not None)
    ):
        tensor = Tensor(out)
        tensor._version_counter = source._version_counter
        if shares == "view":
            tensor._view = View.of(source)
        return tensor
    return Tensor(out)


def _several(
    op: Op, operands: Sequence[Any], arrays: Sequence[Any], static: Mapping[str, Any], results: tuple[np.ndarray, ...],
    sources: Sequence[Node | None], wanted: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    tensors = tuple(Tensor(part) for part in results)
    if wanted:
        values = [results, *arrays]
        versions = save(op, wanted, tensors, operands, values)
        shapes = tuple([r.shape for r in results])
        kinds = tuple([r.dtype for r in results])
        node = Node(
            node_name(op, arrays, static),
            op,
            tuple(sources),
            static,
            shapes,
            kinds,
            values,
            versions,
        )
        join_parts(tensors, node)
        if state.anomaly:
            remember(node)
    state.recorder.note(op, operands, static, tensors)
    return tensors


def promote(
    op: Op, operands: Sequence[Any], arrays: list[Any], common: np.dtype[Any] | None
) -> tuple[Sequence[Any], np.dtype[Any] | None]:
    """Return the arrays that an operation computes with, and the dtype of a result that is a float.

    arrays  the operands as arrays and numbers, which become those of one dtype
    common  the dtype that they all have, if they do
    """
    for place, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            arrays[place] = (
                operand.item() if isinstance(operand, np.generic) else unmask(operand, "the array")
            )
    half = any(is_half(o.array.dtype) for o in operands if isinstance(o, Tensor))
    if common is None or common.kind not in FLOATS:
        common = None if op.result in ("bool", "int") else _common(op, operands, arrays)
        half = half or (common is not None and is_half(common))
    if not half or op.shares or op.always or op.memory == "format":
        return arrays, common
    return computed_with(op, arrays, common), common


def _common(op: Op, operands: Sequence[Any], arrays: list[Any]) -> np.dtype[Any] | None:
    free = traits_of(op).free
    deciding = [
        a if isinstance(o, Tensor) or not isinstance(a, np.ndarray) else _weak(a)
        for i, (o, a) in enumerate(zip(operands, arrays, strict=True))
        if a is not None and i not in free and not isinstance(a, tuple)
    ]
    if not deciding:
        return constant_float() if op.result == "float" else None
    target = dtypes.result_type(deciding)
    whole = None
    if op.algebra == "square" and target.kind == "b":  # PyTorch has it as a power, by the integer 2
        target = dtypes.int64.numpy
    error = None if op.refuses is None else op.refuses(target, arrays)
    if error is not None:
        raise error
    if target.kind not in FLOATS:
        if op.result == "same" or (op.integral and not op.transparent):
            if not op.elementwise:
                return None
            whole = target
        else:
            target = constant_float()
    # PyTorch computes with booleans where NumPy cannot: they count as zeros and ones.
    kind = (
        np.dtype(np.uint8)
        if whole is not None and whole.kind == "b" and op.result == "float"
        else target
    )
    for i, array in enumerate(arrays):
        if i in free:
            continue
        if isinstance(array, np.ndarray):
            if array.dtype != kind:
                arrays[i] = array.astype(kind)
        elif isinstance(array, (bool, int, float)) and (
            op.kind == "structural" or whole is not None
        ):
            arrays[i] = np.asarray(array).astype(kind)  # large values wrap around
    return target


def _weak(array: np.ndarray) -> Any:
    """Return a Python number for an array of a rule, which decides by its kind only."""
    return bool(0) if array.dtype.kind == "b" else 0 if array.dtype.kind in "iu" else 0.0


# -- Tensors that are regions of another one's memory, however its entries are arranged in it ----


def region(x: Tensor, size: Shape, stride: Shape, offset: int) -> Tensor:
    """Return a view of a tensor's storage with these sizes, strides and offset."""
    if isinstance(x, Batched):
        raise RuntimeError(
            "vmap: as_strided is of the memory of all examples: index or unfold what one sees"
        )
    array = place_entries(x.array, size, stride, offset)
    return follow(
        view_tensor(array, x), as_strided, x, geometry(x.array, array), node_name(as_strided)
    )


def _region_of_each(x: Tensor, steps: Shape, shown: Callable[[np.ndarray], np.ndarray]) -> Tensor:
    """Return the view of each example along the axes in front, as if it were alone in memory.

    steps  between the entries of an example where the graph finds them
    shown  the view of an array
    """
    shape = x.array.shape
    lead = len(shape) - len(steps)

    def see(array: np.ndarray) -> np.ndarray:
        first = array[(0,) * lead + (...,)]
        part = shown(first)
        offset = distance(part, first) if part.size else 0
        return place_entries(
            array,
            (*shape[:lead], *part.shape),
            (*strides(array)[:lead], *strides(part)),
            start(array) + offset,
        )

    array = see(x.array)
    # An example of its own for each, as they may share memory.
    memory = np.empty((*shape[:lead], last_place(shape[lead:], steps) + 1), x.array.dtype)
    apart = place_entries(memory, shape, (*strides(memory)[:-1], *steps), 0)
    return follow(
        view_tensor(array, x), as_strided, x, geometry(apart, see(apart)), node_name(as_strided)
    )


def region_of(record: Op | Composite, operands: list[Any], static: dict[str, Any]) -> Tensor | None:
    """Return the result of a function that PyTorch has as a view.

    It is None if the function is no view, or if the arguments do not fit.
    """
    view = record.memory
    x = operands[0] if operands else None
    if isinstance(view, str) or not isinstance(x, Tensor):
        return None
    levels = levels_of([x])
    whole = physical(x)
    if 0 in whole.array.shape[: len(levels)]:
        return None
    try:
        found: Tensor = rewrap(
            _region_of_each(whole, in_order(tuple(x.shape)), lambda array: view(array, **static)),
            levels,
        )
    except (ValueError, TypeError, IndexError):
        return None  # the function itself has a better error
    return found
