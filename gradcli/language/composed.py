"""Functions of the language that are compositions of operations, and the constructors.

Each takes the lowering (for its graph, limits and random numbers), then arguments already lowered: nodes, and
Python values for shapes, axes and the like.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine.graph import Expr
from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.language.parameters import static_parameters
from gradcli.ops import arithmetic, exponential, logic, reductions, shapes
from gradcli.ops.spec import axes_of, find

if TYPE_CHECKING:
    from gradcli.language.lowering import Lowering


def _shape(low: Lowering, *extents: Any) -> tuple[int, ...]:
    """The shape of a constructor: zeros(2, 3), zeros((2, 3)) and zeros([2, 3]) alike."""
    parts = [low.static(e) for e in extents]
    if len(parts) == 1 and isinstance(parts[0], (tuple, list, np.ndarray)):
        parts = list(parts[0])
    shape = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (int, np.integer)) or part < 0:
            raise ArgumentError(f"an extent of a shape must be a whole number of at least 0, not {part!r}")
        shape.append(int(part))
    low.graph.limits.check_shape(tuple(shape))
    return tuple(shape)


def _filled(low: Lowering, value: Any, shape: tuple[int, ...]) -> Expr:
    node = value if isinstance(value, Expr) else low.graph.constant(value)
    filled: Expr = shapes.broadcast_to(node, shape=shape) if shape else node
    return filled


def zeros(low: Lowering, *extents: Any, **_: Any) -> Expr:
    return _filled(low, 0.0, _shape(low, *extents))


def ones(low: Lowering, *extents: Any, **_: Any) -> Expr:
    return _filled(low, 1.0, _shape(low, *extents))


def full(low: Lowering, shape: Any, value: Any) -> Expr:
    return _filled(low, low.value(value), _shape(low, shape))


def zeros_like(low: Lowering, x: Any) -> Expr:
    return _filled(low, 0.0, low.value(x).shape)


def ones_like(low: Lowering, x: Any) -> Expr:
    return _filled(low, 1.0, low.value(x).shape)


def full_like(low: Lowering, x: Any, value: Any) -> Expr:
    return _filled(low, low.value(value), low.value(x).shape)


def eye(low: Lowering, n: Any, m: Any = None, k: Any = 0) -> Expr:
    rows, columns = _shape(low, n, n if m is None else m)
    return low.graph.constant(np.eye(rows, columns, low.integer(k)))


def arange(low: Lowering, start: Any, stop: Any = None, step: Any = 1) -> Expr:
    first, last, by = low.number(start), low.number(stop) if stop is not None else None, low.number(step)
    if last is None:
        first, last = 0, first
    if by == 0 or not all(math.isfinite(v) for v in (first, last, by)):
        raise ArgumentError("arange needs finite bounds and a step other than 0")
    low.graph.limits.check_shape((max(0, math.ceil((last - first) / by)),))
    return low.graph.constant(np.arange(first, last, by))


def linspace(low: Lowering, start: Any, stop: Any, num: Any = 50) -> Expr:
    (count,) = _shape(low, num)
    return low.graph.constant(np.linspace(low.number(start), low.number(stop), count))


def rand(low: Lowering, *extents: Any) -> Expr:
    return low.graph.constant(np.asarray(low.random.random(_shape(low, *extents))))


def randn(low: Lowering, *extents: Any) -> Expr:
    return low.graph.constant(np.asarray(low.random.standard_normal(_shape(low, *extents))))


def array(low: Lowering, x: Any) -> Expr:
    return low.value(x)


def as_is(low: Lowering, x: Any) -> Expr:
    return low.value(x)


def maximum_of(low: Lowering, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    result = low.value(values[0])
    for value in values[1:]:
        result = logic.maximum(result, low.value(value))
    return result


def minimum_of(low: Lowering, *values: Any) -> Expr:
    result = low.value(values[0])
    for value in values[1:]:
        result = logic.minimum(result, low.value(value))
    return result


def _torch_extreme(low: Lowering, name: str, x: Any, other: Any, keepdims: Any) -> Any:
    node = low.value(x)
    best = logic.maximum if name == "max" else logic.minimum
    if other is None:
        return low.call_op(reductions.max_ if name == "max" else reductions.min_, [node], {})
    if isinstance(other, Expr) and (other.shape or not low.is_integral(other)):
        return best(node, other)
    axis = low.integer(other)
    (axis,) = axes_of(axis, node.ndim) or (0,)
    keep = bool(low.static(keepdims))
    place = low.evaluate((np.argmax if name == "max" else np.argmin), node, axis)
    if not node.shape:
        return (node, low.graph.constant(0))
    grid = list(np.indices(place.shape, sparse=True))
    index = (*grid[:axis], place, *grid[axis:])
    values = shapes.getitem(node, index=tuple(shapes.StaticArray(np.asarray(i)) for i in index))
    indices = low.graph.constant(np.asarray(place))
    if keep:
        kept = tuple(1 if i == axis else n for i, n in enumerate(node.shape))
        return shapes.reshape(values, shape=kept), shapes.reshape(indices, shape=kept)
    return values, indices


def torch_max(low: Lowering, x: Any, other: Any = None, keepdims: Any = False) -> Any:
    """torch.max: of all entries; of two tensors; or along a dim, then with the indices, one entry taking the gradient."""
    return _torch_extreme(low, "max", x, other, keepdims)


def torch_min(low: Lowering, x: Any, other: Any = None, keepdims: Any = False) -> Any:
    return _torch_extreme(low, "min", x, other, keepdims)


def _torch_spread(low: Lowering, op: Any, x: Any, axis: Any, correction: Any, keepdims: Any) -> Any:
    place, ddof = low.static(axis), low.static(correction)
    if isinstance(place, bool):
        place, ddof = None, place
    ddof = 1 if ddof is None else int(ddof) if isinstance(ddof, bool) else ddof
    node = low.value(x)
    given = {"axis": place, "keepdims": low.static(keepdims), "ddof": ddof}
    return low.call_op(op, [node], static_parameters(op, [node], given))


def torch_var(low: Lowering, x: Any, axis: Any = None, correction: Any = None, keepdims: Any = False) -> Any:
    return _torch_spread(low, reductions.var, x, axis, correction, keepdims)


def torch_std(low: Lowering, x: Any, axis: Any = None, correction: Any = None, keepdims: Any = False) -> Any:
    return _torch_spread(low, reductions.std, x, axis, correction, keepdims)


def torch_add(low: Lowering, x: Any, y: Any, alpha: Any = 1) -> Any:
    scale = low.value(alpha)
    return low.value(x) + (low.value(y) if scale.payload == 1 else low.value(y) * scale)


def torch_sub(low: Lowering, x: Any, y: Any, alpha: Any = 1) -> Any:
    scale = low.value(alpha)
    return low.value(x) - (low.value(y) if scale.payload == 1 else low.value(y) * scale)


def torch_div(low: Lowering, x: Any, y: Any, rounding_mode: Any = None) -> Any:
    mode = low.static(rounding_mode)
    quotient = low.value(x) / low.value(y)
    if mode not in (None, "floor", "trunc"):
        raise ArgumentError(f"rounding_mode must be 'floor', 'trunc' or None, not {mode!r}")
    return quotient if mode is None else arithmetic.floor(quotient) if mode == "floor" else arithmetic.trunc(quotient)


def round_decimals(low: Lowering, x: Any, decimals: Any = 0) -> Any:
    places = low.integer(decimals)
    node = low.value(x)
    return arithmetic.rint(node) if not places else arithmetic.rint(node * 10.0**places) / 10.0**places


def math_log(low: Lowering, x: Any, base: Any = None) -> Any:
    node = exponential.log(low.value(x))
    return node if base is None else node / exponential.log(low.value(base))


def ieee_remainder(low: Lowering, x: Any, y: Any) -> Any:
    """math.remainder: what is left of x after the nearest multiple of y."""
    first, second = low.value(x), low.value(y)
    return first - second * arithmetic.rint(first / second)


def einsum(low: Lowering, subscripts: Any, *operands: Any) -> Any:
    text = low.static(subscripts)
    if not isinstance(text, str) or not operands:
        raise ArgumentError("einsum needs its subscripts as a string, and operands", help="write einsum('ij,jk->ik', a, b)")
    return low.call_op(find("einsum"), [low.value(o) for o in operands], {"subscripts": text})


def ravel(low: Lowering, x: Any) -> Any:
    return shapes.reshape(low.value(x), shape=(-1,))


def t(low: Lowering, x: Any) -> Any:
    node = low.value(x)
    if node.ndim > 2:
        raise ShapeError(f"t() expects at most 2 axes, not {node.ndim}")
    return node if node.ndim < 2 else shapes.transpose(node, axes=None)


def squeeze(low: Lowering, x: Any, axis: Any = None) -> Any:
    node, place = low.value(x), low.static(axis)
    axes = axes_of(place, node.ndim) if place is not None else tuple(i for i, n in enumerate(node.shape) if n == 1)
    if any(node.shape[a] != 1 for a in axes):
        raise ShapeError(f"cannot squeeze an axis of more than one entry from the shape {node.shape}")
    return shapes.reshape(node, shape=tuple(n for i, n in enumerate(node.shape) if i not in axes))


def expand_dims(low: Lowering, x: Any, axis: Any) -> Any:
    node, place = low.value(x), low.static(axis)
    count = len(place) if isinstance(place, tuple) else 1
    axes = axes_of(place, node.ndim + count)
    if len(axes) != count:
        raise ArgumentError("an axis is missing")
    rest = iter(node.shape)
    return shapes.reshape(node, shape=tuple(1 if i in axes else next(rest) for i in range(node.ndim + count)))


def length(low: Lowering, x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return low.graph.constant(len(x))
    node = low.value(x)
    if not node.shape:
        raise TypeMismatchError("a number has no length")
    return low.graph.constant(node.shape[0])


def item(low: Lowering, x: Any) -> Any:
    node = low.value(x)
    if math.prod(node.shape) != 1:
        raise ShapeError(f"item() needs an array of one entry, not of shape {node.shape}")
    return shapes.reshape(node, shape=()) if node.shape else node


FUNCTIONS = {
    f.__name__: f
    for f in (
        zeros, ones, full, zeros_like, ones_like, full_like, eye, arange, linspace, rand, randn, array, einsum, ravel, t, squeeze,
        expand_dims, item,
    )
}  # fmt: skip
# Called through a library's signature only, never by these names.
ADAPTED = {
    f.__name__: f
    for f in (
        torch_max, torch_min, torch_var, torch_std, torch_add, torch_sub, torch_div, round_decimals, math_log, ieee_remainder,
    )
}  # fmt: skip
FUNCTIONS.update(len=length, clone=as_is, contiguous=as_is, double=as_is, float=as_is, flatten=ravel, unsqueeze=expand_dims)
ALIASES = {"random": "rand", "standard_normal": "randn"}

# Constructors that take their shape as several numbers.
TAKES_SHAPE = frozenset({"zeros", "ones", "rand", "randn"})
