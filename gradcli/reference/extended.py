"""The reference for arrays of millions of entries: whole arrays in long double, by sums and derivatives of the judge's own.

It covers elementwise operations that NumPy computes in long double, sums and means, and what moves entries. Partials of smooth operations
are sympy's, as everywhere; accumulation, broadcasting and its transpose are done here, not by the engine's sweep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.ops.arrays.shapes import numpy_index
from gradcli.ops.calling.promotion import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op, axes_of
from gradcli.reference.algebra import Unsupported
from gradcli.reference.extended_rules import REDUCED, SPREAD

WIDE = np.longdouble
_UNIT = float(np.finfo(WIDE).eps)
_MOVES = frozenset({"reshape", "broadcast_to", "transpose", "getitem", "alias", "stack", "concatenate", "take_along", "argsort"})
_BRANCHES = frozenset({"where", "relu", "maximum", "minimum"})
_REDUCTIONS = frozenset({"sum", "mean", "max", "min"})
_PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "add": (lambda x, y: 1, lambda x, y: 1),
    "sub": (lambda x, y: 1, lambda x, y: -1),
    "mul": (lambda x, y: y, lambda x, y: x),
    "div": (lambda x, y: 1 / y, lambda x, y: -x / y / y),
    "neg": (lambda x: -1,),
    "positive": (lambda x: 1,),
    "square": (lambda x: 2 * x,),
    "reciprocal": (lambda x: -1 / x / x,),
    "abs": (np.sign,),
    "relu": (lambda x: np.where(x > 0, WIDE(1), WIDE(0)),),
    "maximum": (lambda x, y: (x > y) + (x == y) * WIDE(0.5), lambda x, y: (y > x) + (x == y) * WIDE(0.5)),
    "minimum": (lambda x, y: (x < y) + (x == y) * WIDE(0.5), lambda x, y: (y < x) + (x == y) * WIDE(0.5)),
    "where": (lambda c, x, y: None, lambda c, x, y: np.where(c, WIDE(1), WIDE(0)), lambda c, x, y: np.where(c, WIDE(0), WIDE(1))),
    "pow": (
        lambda x, y: np.where(y == 0, WIDE(0), y * np.power(x, y - 1)),
        lambda x, y: np.where((x == 0) & (y >= 0), WIDE(0), np.power(x, y) * np.log(np.where(x == 0, WIDE(1), x))),
    ),
}


class Reference(NamedTuple):
    """The value and the vector-Jacobian products in long double, and how far rounding may have taken each of these beside its operands."""

    value: Any
    slopes: list[np.ndarray]
    errors: list[np.ndarray]


def reference(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> Reference:
    """The derivative in long double. Raises Unsupported for operations that are not covered, and where long doubles are doubles."""
    if np.finfo(WIDE).nmant <= np.finfo(np.float64).nmant:
        raise Unsupported("long doubles have no more digits than doubles on this machine")
    order = reachable([root])
    with np.errstate(all="ignore"):
        table = _forward(order, leaves, precision)
        start = np.broadcast_to(np.asarray(seed, WIDE), root.shape)
        adjoints: dict[Expr, Part] = {root: (start, np.zeros_like(start), np.ones(root.shape))}
        needed = _needed(order, wrt)
        for node in reversed(order):
            adjoint = adjoints.get(node)
            if adjoint is None or node.op is None or node not in needed:
                continue
            operands = [table[o] for o in node.operands if o is not None]
            for operand, part in zip(node.operands, _pulled(node, node.op, adjoint, operands), strict=True):
                if operand is not None and operand in needed and part is not None:
                    slope, error, live = (_summed(p, operand.shape) for p in part)
                    earlier = adjoints.get(operand)
                    if earlier is not None:
                        slope, error, live = slope + earlier[0], error + earlier[1], live + earlier[2]
                    adjoints[operand] = slope, error, live
    nothing = [(np.zeros(x.shape, WIDE),) * 3 for x in wrt]
    found = [adjoints.get(x, none) for x, none in zip(wrt, nothing, strict=True)]
    return Reference(table[root], [np.asarray(f[0], WIDE) for f in found], [np.asarray(f[1], float) for f in found])


def value(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> Any:
    """The value of an expression in long double. Raises Unsupported."""
    with np.errstate(all="ignore"):
        return _forward(reachable([root]), leaves, precision)[root]


def _needed(order: Sequence[Expr], wrt: Sequence[Expr]) -> set[Any]:
    needed: set[Any] = set(wrt)
    for node in order:
        if any(o in needed for o in node.operands):
            needed.add(node)
    return needed


def _forward(order: Sequence[Expr], leaves: Mapping[Expr, Any], precision: str) -> dict[Expr, Any]:
    table: dict[Expr, Any] = {}
    dtype = numpy_dtype("float", precision)
    for node in order:
        if node in leaves:
            value = np.asarray(leaves[node])
            table[node] = value.astype(WIDE) if value.dtype.kind == "f" else value
        elif node.op is None:
            if isinstance(node.payload, Constant):
                table[node] = _long(node.payload)
            else:
                value = np.asarray(constant_value(node.payload, dtype, node.kind))
                table[node] = value.astype(WIDE) if node.kind == "float" else value
        else:
            table[node] = _applied(node, node.op, [table[o] for o in node.operands if o is not None])
    return table


def _long(constant: Constant) -> Any:
    import mpmath

    with mpmath.workdps(40):
        return WIDE(mpmath.nstr(constant.reference(mpmath.mp), 30))


def _applied(node: Expr, op: Op, operands: list[Any]) -> Any:
    if op.name in REDUCED:
        (x,) = operands
        kept, _, _ = REDUCED[op.name](x, axes_of(node.static["axis"], x.ndim), node.static)
        return np.reshape(kept, node.shape)
    if op.name in SPREAD:
        return SPREAD[op.name][0](operands[0], **node.static)
    covered = op.elementwise or op.name in _MOVES or op.name in _REDUCTIONS or op.name in ("detach", "matmul")
    if op.outputs > 1 or not covered or len(operands) != len(node.operands):
        raise Unsupported(f"{op.name} of so many entries")
    if op.name == "to_float":
        return np.asarray(operands[0], WIDE)
    try:
        result = np.asarray(op.forward(*operands, **node.static))
    except TypeError:  # no loop for long doubles
        raise Unsupported(f"{op.name} of so many entries") from None
    if op.result not in ("bool", "int") and result.dtype != WIDE and result.dtype.kind != "b":
        raise Unsupported(f"{op.name} of so many entries")
    return result


Part = tuple[Any, Any, Any]  # an adjoint, its own rounding error, and 0 where nothing flows: a branch not taken, an entry not chosen


def _pulled(node: Expr, op: Op, adjoint: Part, operands: list[Any]) -> Sequence[Part | None]:
    """What a node's cotangent is to its operands, each with the error of this and all later steps."""
    cotangent, error, live = adjoint
    if op.name == "matmul":
        x, y = operands
        if x.ndim < 2 or y.ndim < 2:
            raise Unsupported("matmul of vectors of so many entries")
        sizes = np.abs(x), np.abs(y)
        off = error + _UNIT * x.shape[-1] * np.abs(cotangent)
        return list(zip(_factors(cotangent, x, y), _factors(off, *sizes), _factors(live, *map(np.ones_like, sizes)), strict=True))
    if op.name in _REDUCTIONS or op.name in _MOVES:
        pull = _spread if op.name in _REDUCTIONS else _moved_back
        triples = zip(*(pull(node, op, part, operands) for part in adjoint), strict=True)
        return [None if parts[0] is None else parts for parts in triples]
    if op.name in REDUCED:
        (x,) = operands
        _, slope, size = REDUCED[op.name](x, axes_of(node.static["axis"], x.ndim), node.static)
        wide, off, flows = (_spread_to(part, node, x) for part in adjoint)
        return [(wide * slope, off * np.abs(slope) + 4 * _UNIT * np.abs(wide) * size, flows)]
    if op.name in SPREAD:
        pull = partial(SPREAD[op.name][1], operands[0], **node.static)
        own = _UNIT * max(operands[0].shape, default=1) * pull(np.abs(cotangent), 1)
        return [(pull(cotangent, -1), pull(error, 1) + own, np.ones(operands[0].shape))]
    if op.kind in ("flat", "structural") or op.name == "detach":
        return (None,) * len(operands)
    partials = _PARTIALS.get(op.name)
    slopes: list[Any]
    scales: list[Any]
    if partials is not None:
        slopes = [p(*operands) for p in partials]
        scales = [None if s is None else np.abs(s) for s in slopes]
    else:
        slopes, scales = _smooth(op, node.static, operands)
    found: list[Part | None] = []
    for slope, size in zip(slopes, scales, strict=True):
        if slope is None:
            found.append(None)
            continue
        flows = live * np.not_equal(slope, 0) if op.name in _BRANCHES else live * np.ones(np.shape(slope))
        off = np.abs(error * slope) + 4 * _UNIT * np.abs(cotangent * size)
        # whatever the other factor is where nothing flows; any other zero times infinity is NaN, for a finer judge
        found.append((np.where(flows, cotangent * slope, WIDE(0)), np.where(flows, off, 0.0), flows))
    return found


def _factors(cotangent: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return np.matmul(cotangent, np.swapaxes(y, -1, -2)), np.matmul(np.swapaxes(x, -1, -2), cotangent)


def _spread_to(part: Any, node: Expr, x: Any) -> Any:
    axes = axes_of(node.static["axis"], x.ndim)
    return np.broadcast_to(np.reshape(part, [1 if i in axes else n for i, n in enumerate(x.shape)]), x.shape)


def _spread(node: Expr, op: Op, cotangent: Any, operands: list[Any]) -> Sequence[Any]:
    x = operands[0]
    axes = axes_of(node.static["axis"], x.ndim)
    spread = _spread_to(cotangent, node, x)
    if op.name in ("max", "min"):
        best = (np.max if op.name == "max" else np.min)(x, axis=axes, keepdims=True)
        chosen = (x == best).astype(WIDE)
        return (spread * chosen / chosen.sum(axis=axes, keepdims=True),)
    return (spread / WIDE(math.prod(x.shape[a] for a in axes)) if op.name == "mean" else spread,)


def _smooth(op: Op, static: Mapping[str, Any], operands: list[Any]) -> tuple[list[Any], list[Any]]:
    """The slopes of a smooth operation, by sympy, and the size of the terms that they are computed of."""
    if op.kind != "smooth":
        raise Unsupported(f"{op.name} of so many entries")
    from gradcli.reference.symbolic.translate import smooth_function

    smooth = smooth_function(op, len(operands), static)
    partials = [smooth.partial(i) for i in range(len(operands))]
    sizes = [np.asarray(p.magnitude().on_arrays(operands), WIDE) for p in partials]
    return [np.asarray(p.on_arrays(operands), WIDE) for p in partials], sizes


def _moved_back(node: Expr, op: Op, cotangent: Any, operands: list[Any]) -> Sequence[Any]:
    static = node.static
    if op.name == "reshape":
        return (np.reshape(cotangent, operands[0].shape),)
    if op.name in ("broadcast_to", "alias"):
        return (cotangent,)
    if op.name == "transpose":
        axes = static["axes"]
        return (np.transpose(cotangent, None if axes is None else np.argsort([a % len(axes) for a in axes])),)
    if op.name == "getitem":
        out = np.zeros(operands[0].shape, WIDE)
        np.add.at(out, numpy_index(static["index"]), cotangent)
        return (out,)
    if op.name == "argsort":
        return (None,)
    axis = static["axis"] % cotangent.ndim
    if op.name == "take_along":
        chosen = list(np.indices(operands[1].shape))
        chosen[axis] = operands[1]
        found = np.zeros(operands[0].shape, cotangent.dtype)
        np.add.at(found, tuple(chosen), cotangent)
        return (found, None)
    if op.name == "stack":
        return [np.take(cotangent, i, axis=axis) for i in range(len(operands))]
    return np.split(cotangent, np.cumsum([o.shape[axis] for o in operands])[:-1], axis=axis)


def _summed(part: Any, shape: tuple[int, ...]) -> Any:
    """Summed to the shape that broadcasting started from."""
    part = np.asarray(part)
    lead = part.ndim - len(shape)
    if lead < 0 or part.shape == shape:
        return np.broadcast_to(part, shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and part.shape[lead + i] != 1)
    return part.sum(axis=axes).reshape(shape)
