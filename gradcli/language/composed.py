"""Functions of the language that are compositions of operations, and the constructors.

Each takes the lowering (for its graph, limits and random numbers), then arguments already lowered: nodes, and
Python values for shapes, axes and the like.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine.graph import Expr
from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.language.meanings import Meanings
from gradcli.ops import logic, shapes
from gradcli.ops.registry import find


def _shape(low: Meanings, *extents: Any) -> tuple[int, ...]:
    """The shape of a constructor: zeros(2, 3), zeros((2, 3)) and zeros([2, 3]) alike."""
    parts = [low.static(e, "an extent of a shape") for e in extents]
    if len(parts) == 1 and isinstance(parts[0], (tuple, list, np.ndarray)):
        parts = list(parts[0])
    shape = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (int, np.integer)) or part < 0:
            raise ArgumentError(f"an extent of a shape must be a whole number of at least 0, not {part!r}")
        shape.append(int(part))
    low.graph.limits.check_shape(tuple(shape))
    return tuple(shape)


def _filled(low: Meanings, value: Any, shape: tuple[int, ...]) -> Expr:
    node = value if isinstance(value, Expr) else low.graph.constant(value)
    filled: Expr = shapes.broadcast_to(node, shape=shape) if shape else node
    return filled


def zeros(low: Meanings, *extents: Any, **_: Any) -> Expr:
    return _filled(low, 0.0, _shape(low, *extents))


def ones(low: Meanings, *extents: Any, **_: Any) -> Expr:
    return _filled(low, 1.0, _shape(low, *extents))


def full(low: Meanings, shape: Any, value: Any) -> Expr:
    return _filled(low, low.value(value), _shape(low, shape))


def zeros_like(low: Meanings, x: Any) -> Expr:
    return _filled(low, 0.0, low.value(x).shape)


def ones_like(low: Meanings, x: Any) -> Expr:
    return _filled(low, 1.0, low.value(x).shape)


def full_like(low: Meanings, x: Any, value: Any) -> Expr:
    return _filled(low, low.value(value), low.value(x).shape)


def eye(low: Meanings, n: Any, m: Any = None, k: Any = 0) -> Expr:
    rows, columns = _shape(low, n, n if m is None else m)
    return low.graph.constant(np.eye(rows, columns, low.integer(k)))


def arange(low: Meanings, start: Any, stop: Any = None, step: Any = 1) -> Expr:
    first, last, by = low.number(start), low.number(stop) if stop is not None else None, low.number(step)
    if last is None:
        first, last = 0, first
    if by == 0 or not all(math.isfinite(v) for v in (first, last, by)):
        raise ArgumentError("arange needs finite bounds and a step other than 0")
    count = max(0, math.ceil((last - first) / by))
    low.graph.limits.check_shape((count,))
    # of an extent that is none, NumPy may say that it is too large
    return low.graph.constant(np.arange(first, last, by) if count else np.empty(0, np.result_type(first, last, by)))


def linspace(low: Meanings, start: Any, stop: Any, num: Any = 50) -> Expr:
    (count,) = _shape(low, num)
    return low.graph.constant(np.linspace(low.number(start), low.number(stop), count))


def rand(low: Meanings, *extents: Any) -> Expr:
    return low.graph.constant(np.asarray(low.random.random(_shape(low, *extents))))


def randn(low: Meanings, *extents: Any) -> Expr:
    return low.graph.constant(np.asarray(low.random.standard_normal(_shape(low, *extents))))


def array(low: Meanings, x: Any) -> Expr:
    return low.value(x)


def as_is(low: Meanings, x: Any) -> Expr:
    return low.value(x)


def maximum_of(low: Meanings, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    result = low.value(values[0])
    for value in values[1:]:
        result = logic.maximum(result, low.value(value))
    return result


def minimum_of(low: Meanings, *values: Any) -> Expr:
    result = low.value(values[0])
    for value in values[1:]:
        result = logic.minimum(result, low.value(value))
    return result


def einsum(low: Meanings, *arguments: Any, **_: Any) -> Any:
    """einsum('ij,jk->ik', a, b), and PyTorch's other forms: the operands as one list, before or after the subscripts."""
    first, *rest = arguments or (None,)
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    operands = [o for r in rest for o in (r if isinstance(r, (list, tuple)) and len(rest) == 1 else [r])]
    if not isinstance(first, str) or not operands:
        raise ArgumentError("einsum needs its subscripts as a string, and operands", help="write einsum('ij,jk->ik', a, b)")
    return low.call_op(find("einsum"), [low.value(o) for o in operands], {"subscripts": first})


def length(low: Meanings, x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return low.graph.constant(len(x))
    node = low.value(x)
    if not node.shape:
        raise TypeMismatchError("a number has no length")
    return low.graph.constant(node.shape[0])


def item(low: Meanings, x: Any) -> Any:
    node = low.value(x)
    if math.prod(node.shape) != 1:
        raise ShapeError(f"item() needs an array of one entry, not of shape {node.shape}")
    return shapes.reshape(node, shape=()) if node.shape else node


FUNCTIONS = {
    f.__name__: f
    for f in (
        zeros, ones, full, zeros_like, ones_like, full_like, eye, arange, linspace, rand, randn, array, einsum, item,
    )
}  # fmt: skip
FUNCTIONS.update(len=length, clone=as_is, contiguous=as_is, double=as_is, float=as_is)
ALIASES = {"random": "rand", "standard_normal": "randn"}

# Constructors that take their shape as several numbers.
TAKES_SHAPE = frozenset({"zeros", "ones", "rand", "randn"})
