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
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.sweep import backward
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time


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
        still_in_time()
        return self.arithmetic.apply(op, operands, node.static)


def bounded_table(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> dict[Expr, Any]:
    """One forward pass with a bound of each node's error."""
    return interpret(reachable([root]), Bounds(leaves, precision))


def error_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far rounding explains the value, and each gradient, to be from the truth; infinite where it may be anything."""
    with np.errstate(all="ignore"):
        table = bounded_table(root, leaves, precision)
        top = table[root]
        arithmetic: Arithmetic = top.arithmetic
        start = Bounded(np.asarray(seed, np.float64)[()], None, arithmetic)
        found = backward(reachable([root]), {root: start}, wrt, table.__getitem__)
        parts = [top, *(found.get(x) for x in wrt)]
        bounds = [allowed(part, x.shape, arithmetic) for part, x in zip(parts, [root, *wrt], strict=True)]
    return bounds[0], bounds[1:]


def allowed(part: Bounded | None, shape: tuple[int, ...], arithmetic: Arithmetic) -> np.ndarray:
    """How far what is judged may be from the truth, both of which are no farther from the value here than its error.

    A unit in the last place is for numbers of the program that plans put together.
    """
    if part is None or np.asarray(part.value).dtype.kind != "f":
        return np.zeros(shape)
    error = 0.0 if part.error is None else part.error
    bound = 2 * (1 + 1e-9) * error + 2 * arithmetic.unit * np.abs(part.value) + 4 * arithmetic.smallest
    return np.broadcast_to(np.where(np.isnan(bound), np.inf, bound), shape)
