"""How far rounding may take the engine: a bound on the error of every value and adjoint, carried through the engine's own rules.

The forward pass and the sweep are run once more on `Bounded` values, on arrays or, where they are large, as a graph that the plans run.
The bounds hold for whatever order sums are taken in, for blocks, threads and native code: they depend on the rules and on the point only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.running_error import ELEMENTARY, UNIT, Arithmetic, Arrays, Bounded
from gradcli.errors import GradcliError, LimitError
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.sweep import backward
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.calling.inputs import FLOAT, INT
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.logic import logical_or
from gradcli.ops.reductions.carried import additions
from gradcli.ops.registry import find
from gradcli.ops.spec import Op

# -- Bounds on errors as nodes of a graph, which plans run: fused, in blocks and on threads, for
# large arrays.
#
# Nothing is known of values here. So nothing counts as exact that only its value shows to be, and
# what is infinite is left to plain NumPy.


_INNER = 4096  # by how much an operation may multiply what it loses beneath the normal numbers, before it gives its result


class NotFused(GradcliError):
    """An operation whose bound is no graph."""


class Names:
    """NumPy's names for operations on nodes, and the operation that is asked about."""

    def __init__(self, arithmetic: Nodes, op: Op, static: Mapping[str, Any]) -> None:
        self.at = partial(arithmetic.graph_of, op, static)
        self.unit, self.unit_of_arrays = arithmetic.unit, UNIT
        self._arithmetic = arithmetic

    def __getattr__(self, name: str) -> Any:
        return partial(self._called, find(name))

    def _called(self, op: Op, *operands: Any, **static: Any) -> Any:
        if not any(isinstance(o, Expr) for o in operands):
            return float(op.forward(*operands, **static))
        return self._arithmetic.graph.apply(op, operands, {**op.static, **static})

    def expm1(self, x: Any) -> Any:
        """No less than exp(x) - 1, for errors: these are small, or nothing is known."""
        return self.where(self.less(x, 1.0), x * (1.0 + x), math.inf)

    def filled(self, error: Any, x: Any) -> Any:
        shape = x.shape if isinstance(x, Expr) else ()
        node = error if isinstance(error, Expr) else self._arithmetic.graph.constant(error)
        return node if node.shape == shape else broadcast_to(node, shape=shape)

    def size(self, x: Any) -> Any:
        return self.abs(x)

    def distance(self, x: Any, y: Any) -> Any:
        return self.abs(x - y)


class Nodes(Arithmetic):
    """Nodes of a graph, for values in float64."""

    def __init__(self, precision: str, graph: Any) -> None:
        super().__init__(precision)
        self.graph = graph

    def graph_of(self, op: Op, static: Mapping[str, Any], *operands: Any) -> Any:
        return self.graph.apply(op, operands, {**op.static, **static})

    def is_zero(self, value: Any) -> bool:
        return isinstance(value, Expr) and value.is_constant and not np.any(value.payload)

    def names(self, op: Op, static: Mapping[str, Any]) -> Names:
        return Names(self, op, static)

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        values = [o.value if isinstance(o, Bounded) else o for o in operands]
        errors = [self.error_of(o) for o in operands]
        out = self.graph_of(op, static, *values)
        if op.outputs > 1 or out.kind == INT or op.indices:
            raise NotFused(op.name)
        carried, own = self._carried(op, out, values, errors, static), self._rounding(op, out, values, static)
        error = own if carried is None else carried if own is None else carried + own
        result = Bounded(out, error, self)
        kept = (op.rewriting.reshapes or op.rewriting.unchanged) and isinstance(operands[0], Bounded)
        result.among = op.accuracy.among(*values, **static) if op.accuracy.among is not None else operands[0].among if kept else None
        if op.rewriting.algebra == "comparison" and error is not None:
            result.error = self._told_apart(operands, values, error)
        return result

    def _carried(self, op: Op, out: Expr, values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> Any:
        if op.core_dims is not None and op.accuracy.rounding == "result":
            raise NotFused(op.name)
        m = self.names(op, static)
        if op.accuracy.ulps > ELEMENTARY and op.elementwise and op.accuracy.rounding == "result" and op.accuracy.rounds is None:
            errors = [m.abs(x) * self.total if e is None else e + m.abs(x) * self.total for x, e in zip(values, errors, strict=True)]
        if all(e is None for e in errors):
            return None
        self._fused(op, op.accuracy.carries)
        if out.kind != FLOAT and op.rewriting.algebra != "comparison" and op.accuracy.carries is None:
            return self._uncertain(m, op, errors)
        found = self.by_facts(op, out, values, [0.0 if e is None else e for e in errors], static)
        if found is NotImplemented:
            raise NotFused(op.name)
        return found if isinstance(found, Expr) else self.graph.constant(found)

    def _uncertain(self, m: Names, op: Op, errors: Sequence[Any]) -> Any:
        """Truths of truths, each of which may be either."""
        unsure = [e for e in errors if e is not None]
        if any(e.kind == FLOAT for e in unsure):
            raise NotFused(op.name)
        found = unsure[0]
        for e in unsure[1:]:
            found = logical_or(found, e)
        return found

    def _told_apart(self, operands: Sequence[Any], values: Sequence[Any], unsure: Expr) -> Any:
        """Which entries equal one of themselves is certain, where no other is as near."""
        for x, best in zip(values, operands[::-1], strict=True):
            if isinstance(best, Bounded) and best.among is x:
                shape = (1,) * (unsure.ndim - best.ndim) + best.shape
                m = Names(self, find("sum"), {})
                near = m.sum(m.where(unsure, 1.0, 0.0), axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
                return m.logical_and(unsure, m.greater(near, 1.5))
        return unsure

    def _rounding(self, op: Op, out: Expr, values: list[Any], static: Mapping[str, Any]) -> Any:
        if out.kind != FLOAT or not (op.accuracy.ulps or op.accuracy.rounds):
            return None
        self._fused(op, op.accuracy.rounds)
        found = self.own(op, out, values, static, partial(_additions, op, out, values, static))
        if found is None or op.facts.linear:
            return found
        return found + _INNER * self.smallest * (1 if op.elementwise else max(_entries(v) for v in values))

    @staticmethod
    def _fused(op: Op, rule: Any) -> None:
        if getattr(rule, "arrays_only", False):
            raise NotFused(op.name)


def _entries(value: Any) -> int:
    return math.prod(value.shape) if isinstance(value, Expr) else 1


def _additions(op: Op, out: Expr, values: Sequence[Any], static: Mapping[str, Any]) -> float:
    """How many roundings of partial sums an entry of a result may have gone through."""
    if len(values) == 1:
        terms = _entries(values[0]) / max(1, _entries(out))
        if terms < 1:  # entries are put somewhere, several to one place perhaps
            return float(np.max(op.forward(np.ones(values[0].shape), **static), initial=1.0))
        return additions(values[0], terms, whole=_entries(out) == 1)
    if len(values) != 2 or op.variadic or not isinstance(values[0], Expr):
        raise NotFused(op.name)
    return float(values[0].shape[-1] if values[0].shape else 1)


class NodesWithBounds(Domain[Bounded]):
    """The nodes of a program with nodes that bound their errors."""

    def __init__(self, arithmetic: Nodes) -> None:
        self.arithmetic = arithmetic

    def leaf(self, node: Expr) -> Bounded:
        return Bounded(node, None, self.arithmetic)

    def constant(self, node: Expr) -> Bounded:
        arithmetic = self.arithmetic
        off = arithmetic.unit * abs(node.payload) if isinstance(node.payload, Constant) else None
        return Bounded(node, None if off is None else arithmetic.graph.constant(off), arithmetic)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.arithmetic.apply(op, operands, node.static)


_MANY = 1 << 15  # entries of an array from which on a graph is worth its making


class Bounds(Domain[Bounded]):
    """Floats of the precision that is judged, each with a bound of its error."""

    def __init__(self, leaves: Mapping[Expr, Any], precision: str) -> None:
        self.leaves, self.arithmetic = leaves, Arrays(precision)

    def leaf(self, node: Expr) -> Bounded:
        value = np.asarray(self.leaves[node])
        return Bounded((value.astype(np.float64) if value.dtype.kind == "f" else value)[()], None, self.arithmetic)

    def constant(self, node: Expr) -> Bounded:
        value = constant_value(node.payload, self.arithmetic.dtype, node.kind)
        value = value.astype(np.float64) if node.kind == "float" else value
        return Bounded(value, self.arithmetic.unit * np.abs(value) if isinstance(node.payload, Constant) else None, self.arithmetic)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.arithmetic.apply(op, operands, node.static)


def bounded_table(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> dict[Expr, Any]:
    """One forward pass with a bound of each node's error."""
    return interpret(reachable([root]), Bounds(leaves, precision))


def error_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far rounding explains the value, and each gradient, to be from the truth; infinite where it may be anything."""
    if any(np.size(value) >= _MANY for value in leaves.values()):
        found = fused_bounds(root, wrt, leaves, seed, precision)
        if found is not None:
            return found
    return plain_bounds(root, wrt, leaves, seed, precision)


def fused_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """The bounds as one graph that the plans run; None where an operation is not fused, or something is not finite."""
    from gradcli.plans.assembly import computed  # which small checks do without

    if not all(_in_one_piece(value) for value in leaves.values()):
        return None
    graph = root.graph
    mark = graph.mark()
    try:
        arithmetic = Nodes(precision, graph)
        table = interpret(reachable([root]), NodesWithBounds(arithmetic))
        start = graph.leaf("seed", root.shape)
        found = backward(reachable([root]), {root: Bounded(start, None, arithmetic)}, wrt, table.__getitem__)
        parts = {i: part for i, part in enumerate([table[root], *(found.get(x) for x in wrt)]) if part is not None}
        given = {**leaves, start: np.broadcast_to(np.asarray(seed, np.float64), root.shape)[()]}
        values = {x: value.astype(np.float64) if np.asarray(value).dtype.kind == "f" else value for x, value in given.items()}
        bounds = computed([arithmetic.allowed(part) for part in parts.values()], values)
    except (NotFused, LimitError):
        return None
    finally:
        graph.forget_since(mark)
    if bounds is None:
        return None
    of_each = dict(zip(parts, bounds, strict=True))
    shaped = [np.broadcast_to(of_each.get(i, 0.0), x.shape) for i, x in enumerate([root, *wrt])]
    return shaped[0], shaped[1:]


def _in_one_piece(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous or value.flags.f_contiguous


def plain_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The bounds operation by operation in NumPy."""
    with np.errstate(all="ignore"):
        top, *parts = _carried_back(root, wrt, leaves, seed, precision)
        bounds = [allowed(part, x.shape, top.arithmetic) for part, x in zip([top, *parts], [root, *wrt], strict=True)]
    return bounds[0], bounds[1:]


def overflows(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> bool:
    """Return True if something on the way to the value or a gradient is not finite, though what it is made of is."""
    with np.errstate(all="ignore"):
        return bool(_carried_back(root, wrt, leaves, seed, precision)[0].arithmetic.overflown)


def _carried_back(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[Bounded, *tuple[Bounded | None, ...]]:
    """The value and the gradients with bounds on their errors; None for a gradient that is zero."""
    table = bounded_table(root, leaves, precision)
    top = table[root]
    start = Bounded(np.asarray(seed, np.float64)[()], None, top.arithmetic)
    found = backward(reachable([root]), {root: start}, wrt, table.__getitem__)
    return (top, *(found.get(x) for x in wrt))


def allowed(part: Bounded | None, shape: tuple[int, ...], arithmetic: Arithmetic) -> np.ndarray:
    """The bound of an array, which is nothing of truths and whole numbers."""
    if part is None or np.asarray(part.value).dtype.kind != "f":
        return np.zeros(shape)
    bound = arithmetic.allowed(part)
    return np.broadcast_to(np.where(np.isnan(bound), np.inf, bound), shape)
