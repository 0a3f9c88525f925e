"""Formulas as a textbook prints them: of several ways to write an expression that are equal, the one with the fewest operations."""

from __future__ import annotations

from typing import Literal

from gradcli.formulas.simplify import Simplifier
from gradcli.graph.nodes import Expr

Effort = Literal["quick", "thorough"]


def textbook(expr: Expr, *, effort: Effort = "quick") -> Expr:
    """A node of the same graph and shape that equals ``expr`` and is written with fewer operations, where any is found.

    effort  "quick" is for what prints a formula beside many other things, in about the time that a sweep takes; "thorough" tries more
            ways to write the same, within some 50 ms

    Equal means: at every point where ``expr`` has a value the result has the same, but for rounding, and but for points where a factor
    that was cancelled is zero. The result may be defined where ``expr`` is not (the derivative of log(x) is 1/x for negative x, too).
    What is printed of it (`printing.formula`, `latex.latex`) reads back to the same graph. Nothing is raised: what cannot be simplified
    is given back as it is. Whoever prints the result holds it against the engine's gradient first, as `query/derivative_formulas.py` does.
    """
    return Simplifier(expr.graph).simplify(expr)
