"""Several nodes of one graph as one program, for what is large and computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.plans.assembly import compiled, written
from gradcli.plans.folding import Folder
from gradcli.plans.nests import planned


def computed(roots: Sequence[Expr], values: Mapping[Expr, Any]) -> list[np.ndarray] | None:
    """The values of nodes in float64, fused and on several threads as plans are; None where something is not finite or has no value."""
    leaves = [node for node in reachable(roots) if node.is_leaf]
    folder = Folder(Graph(roots[0].graph.limits), assume_finite=True)
    try:
        folded = folder.fold(roots)
        program = compiled(written(leaves, folded, planned(folded, in_c=False), "float64", assume_finite=True, checked=False))
        found, _ = program(*[values[leaf] for leaf in leaves])
    except (ArithmeticError, ValueError, TypeError):  # Python's floats raise where NumPy has an infinity
        return None
    return [np.asarray(part) for part in found] if all(np.isfinite(part).all() for part in found) else None
