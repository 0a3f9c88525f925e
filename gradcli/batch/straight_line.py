"""Straight-line programs: what the forward pass and the sweep do with numbers, written out as a straight line of Python.

Nothing is folded, moved or shared that they would not, so that results are theirs to the bit, in a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.transforms import ones_like, zeros_like
from gradcli.ops.elementwise import arithmetic
from gradcli.plans.assembly import written
from gradcli.plans.nests import planned


class StraightLine:
    """The value of a root, which is a number, and its derivatives, as a function of the values of leaves.

    program  the function, whose results may be Python's floats; it raises where these do, and leaves what is not finite to others
    """

    def __init__(self, root: Expr, wrt: Sequence[Expr], leaves: Sequence[Expr]) -> None:
        found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
        results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
        # where all is finite, a cotangent times a partial is a product like any other
        roots = rebuild(results, {}, Graph(root.graph.limits), {arithmetic.chain: arithmetic.mul})
        steps = planned(roots, in_c=False)
        self.program = written(leaves, roots, steps, "float64", assume_finite=True, checked=False, exact=True).compiled("program")

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """Value and derivatives; None if one of them is not finite."""
        try:
            with np.errstate(all="ignore"):
                results, _ = self.program(*values)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return [np.float64(result) for result in results] if all(map(math.isfinite, results)) else None
