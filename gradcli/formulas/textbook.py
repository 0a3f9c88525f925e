"""Formulas as a textbook prints them: of several ways to write an expression that are equal, the one with the fewest operations."""

from __future__ import annotations

from typing import Literal

from gradcli.formulas.algebra import Algebra
from gradcli.formulas.bases import Value
from gradcli.formulas.layout import Layout
from gradcli.formulas.powers import Unsimplified
from gradcli.formulas.simplify import Simplifier
from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.arrays.shapes import broadcast_to

Effort = Literal["quick", "thorough"]


class Textbook:
    """What is known of the expressions of one graph while several of them are written."""

    def __init__(self, graph: Graph, effort: Effort = "quick") -> None:
        self.algebra = Algebra(300 if effort == "thorough" else 40)
        self.layout = Layout(graph, self.algebra, effort == "thorough")
        self.algebra.written = self.layout.write
        self.work = 12_000 if effort == "thorough" else 220  # products of terms, about, for each expression
        self.plainly = Simplifier(graph).simplify  # in little time
        self.values: dict[Expr, Value] = {}

    def __call__(self, expr: Expr) -> Expr:
        order = reachable([expr])
        simple = expr
        if any(node.shape or (node.op is not None and node.op.rewriting.algebra == "choice") for node in order):
            simple = self.plainly(expr)
            order = reachable([simple])
        try:
            self.algebra.left = self.work
            value = interpret(order, self.algebra, self.values)[simple]
            self.layout.left = self.layout.most
            found = self.layout.write(self.algebra.without_conjugates(value))
        except Unsimplified:
            self.layout.abandon()
            return self.plainly(expr)
        return found if found.shape == expr.shape else broadcast_to(found, shape=expr.shape)


def textbook(expr: Expr, *, effort: Effort = "quick") -> Expr:
    """A node of the same graph and shape that equals ``expr`` and is written with fewer operations, where any is found.

    effort  "quick" is for what prints a formula beside many other things, in about the time that a sweep takes; "thorough" tries more
            ways to write the same, within some 50 ms

    Equal means: at every point where ``expr`` has a value the result has the same, but for rounding, and but for points where a factor
    that was cancelled is zero. The result may be defined where ``expr`` is not (the derivative of log(x) is 1/x for negative x, too).
    What is printed of it (`printing.formula`, `latex.latex`) reads back to the same graph. Nothing is raised: what cannot be simplified
    is given back as it is. Whoever prints the result holds it against the engine's gradient first, as `query/derivative_formulas.py` does.
    """
    return Textbook(expr.graph, effort)(expr)
