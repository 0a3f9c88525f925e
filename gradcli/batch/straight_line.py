"""Straight-line programs: what the forward pass and the sweep do with numbers, written out as a straight line of Python.

Nothing is folded, moved or shared that they would not, so that results are theirs to the bit, in a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.transforms import ones_like, zeros_like
from gradcli.ops.elementwise import arithmetic
from gradcli.plans.assembly import compiled, written
from gradcli.plans.nests import planned


class StraightLine:
    """The value of a root, which is a number, and its derivatives, as a function of the values of leaves."""

    def __init__(self, root: Expr, wrt: Sequence[Expr], leaves: Sequence[Expr]) -> None:
        found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
        results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
        # where all is finite, a cotangent times a partial is a product like any other
        roots = rebuild(results, {}, Graph(root.graph.limits), {arithmetic.chain: arithmetic.mul})
        self._program = compiled(
            written(leaves, roots, planned(roots, in_c=False), "float64", assume_finite=True, checked=False, exact=True)
        )

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """Value and derivatives; None if one of them is not finite."""
        try:
            results, _ = self._program(*values)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return results if all(map(math.isfinite, results)) else None
