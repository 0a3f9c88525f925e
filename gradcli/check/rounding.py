"""How far rounding may take the engine: a bound on the error of every value and adjoint, carried through the engine's own rules.

The forward pass and the sweep are run once more on `Bounded` values. The bounds hold for whatever order sums are taken in, for
blocks, threads and native code: they depend on the rules and on the point only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.check.running_error import Arithmetic, Bounded
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.sweep import backward
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op


class Bounds(Domain[Bounded]):
    """Floats of the precision that is judged, each with a bound of its error."""

    def __init__(self, leaves: Mapping[Expr, Any], precision: str) -> None:
        self.leaves, self.arithmetic = leaves, Arithmetic(precision)

    def leaf(self, node: Expr) -> Bounded:
        value = np.asarray(self.leaves[node])
        return Bounded((value.astype(np.float64) if value.dtype.kind == "f" else value)[()], None, self.arithmetic)

    def constant(self, node: Expr) -> Bounded:
        value = constant_value(node.payload, self.arithmetic.dtype, node.kind)
        value = value.astype(np.float64) if node.kind == "float" else value
        return Bounded(value, self.arithmetic.unit * np.abs(value) if isinstance(node.payload, Constant) else None, self.arithmetic)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.arithmetic.apply(op, operands, node.static)


def error_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far rounding explains the value, and each gradient, to be from the truth; infinite where it may be anything."""
    with np.errstate(all="ignore"):
        top, *parts = _swept(root, wrt, leaves, seed, precision)
        bounds = [allowed(part, x.shape, top.arithmetic) for part, x in zip([top, *parts], [root, *wrt], strict=True)]
    return bounds[0], bounds[1:]


def overflows(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> bool:
    """Return True if something on the way to the value or a gradient is not finite, though what it is made of is."""
    with np.errstate(all="ignore"):
        return bool(_swept(root, wrt, leaves, seed, precision)[0].arithmetic.overflown)


def _swept(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[Bounded, *tuple[Bounded | None, ...]]:
    """The value and the gradients with bounds on their errors; None for a gradient that is zero."""
    order = reachable([root])
    table = interpret(order, Bounds(leaves, precision))
    top = table[root]
    start = Bounded(np.asarray(seed, np.float64)[()], None, top.arithmetic)
    found = backward(order, {root: start}, wrt, table.__getitem__)
    return (top, *(found.get(x) for x in wrt))


def allowed(part: Bounded | None, shape: tuple[int, ...], arithmetic: Arithmetic) -> np.ndarray:
    """The bound of an array, which is nothing of truths and whole numbers."""
    if part is None or np.asarray(part.value).dtype.kind != "f":
        return np.zeros(shape)
    bound = arithmetic.allowed(part)
    return np.broadcast_to(np.where(np.isnan(bound), np.inf, bound), shape)
