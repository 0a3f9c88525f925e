"""Derivative formulas of a query: text of the language that evaluates to the engine's gradient.

An expression that works entry by entry has an elementwise partial for each variable ("partial": times the seed,
summed to the variable's shape, it is the gradient); any other has a gradient in which the name ``seed`` stands
for the seed ("gradient"; a scalar's own seed of 1 is left out). A formula is printed only if, evaluated at the
bound values, it gives the engine's gradient.
"""

from __future__ import annotations

import math

import numpy as np

from gradcli.engine import transforms
from gradcli.engine.evaluate import forward
from gradcli.engine.graph import Expr, Graph, reachable, rebuild
from gradcli.engine.simplify import simplify
from gradcli.engine.sweep import backward
from gradcli.errors import GradcliError
from gradcli.language.printing import formula
from gradcli.language.scope import Scope

LARGEST = 200  # nodes of a formula
_LARGEST_GRAPH = 400  # nodes of an expression whose derivative is worth trying

Formulas = tuple[str, dict[str, str | None], dict[str, str] | None]


def derivative_formulas(scope: Scope, root: Expr, wrt: dict[str, Expr], *, seed_given: bool, latex: bool) -> Formulas:
    """The kind ("partial" or "gradient"), the formula of each variable (None without a short one), and LaTeX."""
    order = reachable([root])
    entrywise = all(node.op is None or node.op.elementwise or node.op.name in ("alias", "detach") for node in order)
    kind = "partial" if entrywise else "gradient"
    nothing: dict[str, str | None] = dict.fromkeys(wrt)
    if len(order) > _LARGEST_GRAPH or not _printable_names(scope, order):
        return kind, nothing, {} if latex else None
    try:
        texts, pictures = (
            _partials(scope, root, wrt, order, latex) if entrywise else _gradients(scope, root, wrt, seed_given, latex)
        )
    except (GradcliError, RecursionError):
        return kind, nothing, {} if latex else None
    return kind, texts, pictures


def _printable_names(scope: Scope, order: list[Expr]) -> bool:
    """Whether every leaf is what its name means now (a name may have been bound anew)."""
    return all(scope.names.get(node.payload.name) is node for node in order if node.is_leaf)


def _partials(
    scope: Scope, root: Expr, wrt: dict[str, Expr], order: list[Expr], latex: bool
) -> tuple[dict[str, str | None], dict[str, str] | None]:
    # In a graph of scalars the gradient is the elementwise partial: no seed, no sums, no shapes.
    graph = Graph(scope.limits)
    scalars: dict[Expr, Expr] = {}
    names: dict[Expr, str] = {}
    for node in order:
        if node.is_leaf or (node.is_constant and isinstance(node.payload, np.ndarray) and node.shape):
            label = node.payload.name if node.is_leaf else formula(node)
            if label is None:
                return dict.fromkeys(wrt), {} if latex else None
            scalars[node] = graph.leaf(label, (), node.kind)
            if not node.is_leaf:
                names[scalars[node]] = label
    inner = {name: scalars[x] for name, x in wrt.items() if x in scalars}
    (small,) = rebuild([root], scalars, graph)
    raw = transforms.vjp(small, list(inner.values()), transforms.ones_like(small))
    back = {scalar: node for node, scalar in scalars.items()}
    engine = dict(zip(inner, raw, strict=True))
    values = {scalar: scope.values[node] if node.is_leaf else node.payload for scalar, node in back.items()}
    return _printed(scope, graph, wrt, engine, values, names, latex)


def _gradients(
    scope: Scope, root: Expr, wrt: dict[str, Expr], seed_given: bool, latex: bool
) -> tuple[dict[str, str | None], dict[str, str] | None]:
    if "seed" in scope.names:
        return dict.fromkeys(wrt), {} if latex else None
    values = dict(scope.values)
    if seed_given or math.prod(root.shape) != 1:
        seed = scope.graph.leaf("seed", root.shape)
        values[seed] = np.linspace(0.75, 1.25, max(1, math.prod(root.shape))).reshape(root.shape)[()]
    else:
        seed = transforms.ones_like(root)
    found = backward(reachable([root]), {root: seed}, wrt.values(), lambda node: node)
    engine = {name: found.get(x, transforms.zeros_like(x)) for name, x in wrt.items()}
    return _printed(scope, scope.graph, wrt, engine, values, {}, latex)


def _printed(
    scope: Scope,
    graph: Graph,
    wrt: dict[str, Expr],
    engine: dict[str, Expr],
    values: dict[Expr, object],
    names: dict[Expr, str],
    latex: bool,
) -> tuple[dict[str, str | None], dict[str, str] | None]:
    texts: dict[str, str | None] = dict.fromkeys(wrt)
    pictures: dict[str, str] = {}
    taken = {*scope.names, *scope.functions}
    for name, raw in engine.items():
        (simple,) = simplify([raw], graph)
        if not _agrees(simple, raw, values, scope):
            simple = raw
        text = formula(simple, limit=LARGEST, names=names, taken=taken)
        texts[name] = text
        if latex and text is not None:
            from gradcli.language.latex import latex as to_latex

            pictures[name] = to_latex(simple, names)
    return texts, pictures if latex else None


def _agrees(simple: Expr, raw: Expr, values: dict[Expr, object], scope: Scope) -> bool:
    """Whether the simplified gradient evaluates to the engine's own at the bound values."""
    table = forward([simple, raw], values, scope.precision)
    x, y = np.broadcast_arrays(np.asarray(table[simple]), np.asarray(table[raw]))
    tolerance = 1e-9 if scope.precision == "float64" else 1e-3
    return bool(
        np.allclose(
            x, y, rtol=tolerance, atol=tolerance * 1e-3 * float(np.max(np.abs(y[np.isfinite(y)]), initial=0)), equal_nan=True
        )
    )
