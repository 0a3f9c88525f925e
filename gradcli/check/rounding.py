"""How far rounding may take the engine: a bound on the error of every value and adjoint, carried through the engine's own rules.

The forward pass and the sweep are run once more on `Bounded` values, on arrays or, where they are large, as a graph that the plans run.
The bounds hold for whatever order sums are taken in, for blocks, threads and native code: they depend on the rules and on the point only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.check.bounded import Arithmetic, Bounded
from gradcli.check.bounded_arrays import Arrays
from gradcli.check.bounded_nodes import Nodes, NodesWithBounds, NotFused
from gradcli.errors import LimitError
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.sweep import backward
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op

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
    from gradcli.plans.several import computed  # which small checks do without

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
