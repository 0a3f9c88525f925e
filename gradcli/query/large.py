"""Queries over large arrays: value and gradients by a plan, and where these are not finite.

Values of the graph's inner nodes are never kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import WITH_GRADIENT, Expr, held_by, hold_work, reachable
from gradcli.language.scope import Scope
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.options import Options
from gradcli.plans.plan import Plan
from gradcli.plans.source import Gradients


def by_plan(
    scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed: Any, options: Options
) -> tuple[Any, dict[str, Any]]:
    """Compute value and gradients by a plan, in blocks.

    Memory holds inputs and results, and results may lie in files. ``seed`` is the cotangent of the
    root, or None for ones. ``place`` of ``options`` gives the array that takes a result, or None
    for a new one.
    """
    leaves = [node for node in reachable([root, *wrt.values()]) if node.is_leaf]
    values = [np.asarray(scope.values[leaf])[()] for leaf in leaves]
    cotangent = None
    if seed is not None:
        cotangent = scope.graph.leaf("seed", root.shape)
        leaves.append(cotangent)
        values.append(seed)
    hold_work(scope.graph.limits, reachable([root]), wrt.values())
    subject = Gradients(root, list(wrt.values()), cotangent)
    plan = Plan(subject, leaves, scope.precision, backend=options.backend, threads=options.threads)
    dtype = numpy_dtype("float", scope.precision)
    shapes = {"value": root.shape, **{name: x.shape for name, x in wrt.items()}}
    places = [
        None if options.place is None else options.place(name, shape, dtype)
        for name, shape in shapes.items()
    ]
    in_files = sum(p.nbytes for p in places if p is not None)
    scope.limits.check_memory(
        plan.memory - in_files + held_by(scope.values.values()), WITH_GRADIENT
    )
    results = plan(values, [None if p is None else np.asarray(p) for p in places])
    value, *gradients = [
        result if p is None else p for result, p in zip(results, places, strict=True)
    ]
    return value, dict(zip(wrt, gradients, strict=True))


def nonfinite_of_large(scope: Scope, order: Sequence[Expr]) -> list[str]:
    """Return warnings that say where a value of large arrays is infinite or NaN.

    Of values of the graph only those of the leaves are kept.
    """
    for leaf in order:
        place = (
            first_nonfinite(scope.values[leaf]) if leaf.is_leaf and leaf.kind == "float" else None
        )
        if place is not None:
            where = f" at index {list(place)}" if place else ""
            return [f"'{leaf.name}' is {np.asarray(scope.values[leaf])[place]}{where}"]
    return ["the value is not finite; a smaller part of the data would say where"]


def first_nonfinite(value: Any) -> tuple[int, ...] | None:
    """Return the index of the first entry that is infinite or NaN."""
    bad = ~np.isfinite(value)
    return tuple(map(int, np.unravel_index(bad.argmax(), bad.shape))) if bad.any() else None
