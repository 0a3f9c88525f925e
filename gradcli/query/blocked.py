"""Queries over large arrays, from how many entries on: by a plan, in blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import ExhaustedError
from gradcli.graph.demand import WITH_GRADIENT, held_by, hold_work
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.scope import Scope
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.query.options import Options

_LARGE = 1 << 17  # entries of an array


def pays_to_plan(order: Sequence[Expr], backend: str) -> bool:
    """Whether compiling a plan pays for one evaluation: arrays of a million entries, one after another, leave the cache.

    Native code that is asked for is made for any array.
    """
    return any(node.is_leaf and (backend == "native" or math.prod(node.shape) > _LARGE) for node in order if node.shape)


def by_plan(scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed: Any, options: Options) -> tuple[Any, dict[str, Any]]:
    """Value and gradients by a plan, in blocks: memory holds inputs and results, and results may lie in files.

    seed      the cotangent of the root; ones, if None
    options   of which ``place`` gives the array that takes a result, or None for a new one
    """
    from gradcli.plans.plan import Plan
    from gradcli.plans.source import Gradients

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
    places = [None if options.place is None else options.place(name, shape, dtype) for name, shape in shapes.items()]
    in_files = sum(p.nbytes for p in places if p is not None)
    scope.limits.check_memory(plan.memory - in_files + held_by(scope.values.values()), WITH_GRADIENT)
    try:
        results = plan(values, [None if p is None else np.asarray(p) for p in places])
    except MemoryError:
        raise ExhaustedError(f"not enough memory for results of the shapes {', '.join(map(str, shapes.values()))}") from None
    value, *gradients = [result if p is None else p for result, p in zip(results, places, strict=True)]
    return value, dict(zip(wrt, gradients, strict=True))
