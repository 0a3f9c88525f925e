"""Formulas of Jacobians and Hessians: of each block, printed only if they evaluate to the engine's derivatives.

Where everything is a number a block is a partial derivative ("partial"), as is the diagonal of an elementwise Jacobian. Any other formula
is that of the whole block ("jacobian", "hessian"), entries and all, where it has few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from gradcli.errors import ExhaustedError, GradcliError
from gradcli.formulas.textbook import Effort, Textbook
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.language.scope import Scope
from gradcli.query.derivative_formulas import (
    Formulas,
    SamplePoint,
    Texts,
    derivative_formulas,
    is_entrywise,
    is_too_large,
    names_mean,
    printed,
    scalar_copy,
)

_MOST_ENTRIES = 64  # of a block whose formula is tried

Nested = dict[str, dict[str, str | None]]


def jacobian_formulas(scope: Scope, root: Expr, wrt: dict[str, Expr], *, latex: bool, effort: Effort = "quick") -> Formulas:
    """The kind, and the formula of each variable's block, as `derivative_formulas` has them."""
    order = reachable([root])
    if is_entrywise(order):
        return derivative_formulas(scope, root, wrt, seed_given=False, latex=latex, effort=effort)
    texts, pictures = _blocks(scope, order, lambda: {name: (root, x) for name, x in wrt.items()}, wrt, latex, effort)
    return "jacobian", texts, pictures


def hessian_formulas(
    scope: Scope, root: Expr, wrt: dict[str, Expr], *, latex: bool, effort: Effort = "quick"
) -> tuple[str, Nested, dict[str, str] | None]:
    """The kind, the formula of each pair of variables, and LaTeX of those under "x,y"."""
    order = reachable([root])
    pairs = {f"{a},{b}": (a, b) for a in wrt for b in wrt}
    if is_entrywise(order) and not root.shape:
        kind = "partial"
        texts, pictures = _second_partials(scope, root, wrt, order, latex, effort)
    else:
        kind = "hessian"

        def slopes() -> dict[str, tuple[Expr, Expr]]:
            gradients = dict(zip(wrt, transforms.vjp(root, list(wrt.values()), transforms.ones_like(root)), strict=True))
            return {key: (gradients[a], wrt[b]) for key, (a, b) in pairs.items()}

        texts, pictures = _blocks(scope, order, slopes, pairs, latex, effort)
    return kind, {a: {b: texts.get(f"{a},{b}") for b in wrt} for a in wrt}, pictures


def _block(y: Expr, x: Expr) -> Expr | None:
    """The derivative of y by x; None if it has many entries."""
    if y.shape and x.shape:
        return transforms.jacobian(y, x) if math.prod(y.shape) * math.prod(x.shape) <= _MOST_ENTRIES else None
    if x.shape:
        return transforms.vjp(y, [x], transforms.ones_like(y))[0]
    return transforms.jvp(y, {x: transforms.ones_like(x)})


def _blocks(
    scope: Scope, order: list[Expr], made: Callable[[], dict[str, tuple[Expr, Expr]]], keys: Iterable[str], latex: bool, effort: Effort
) -> Texts:
    """The formulas of blocks in the program's own graph."""
    nothing: Texts = dict.fromkeys(keys), {} if latex else None
    if is_too_large(order) or not names_mean(scope, order):
        return nothing
    try:
        blocks = {key: block for key, (y, x) in made().items() if (block := _block(y, x)) is not None}
        return printed(scope, scope.graph, keys, blocks, SamplePoint(blocks, dict(scope.values), {}, scope.graph), {}, latex, effort)
    except ExhaustedError:
        raise
    except (GradcliError, RecursionError):
        return nothing


def _second_partials(scope: Scope, root: Expr, wrt: dict[str, Expr], order: list[Expr], latex: bool, effort: Effort) -> Texts:
    """Derivatives of the first derivatives as they are printed."""
    keys = [f"{a},{b}" for a in wrt for b in wrt]
    nothing: Texts = dict.fromkeys(keys), {} if latex else None
    if is_too_large(order) or not names_mean(scope, order):
        return nothing
    try:
        graph = Graph(scope.limits)
        copy = scalar_copy(scope, root, order, graph)
        if copy is None:
            return nothing
        small, scalars, names, values = copy
        inner = {name: scalars[x] for name, x in wrt.items() if x in scalars}
        leaves = list(inner.values())
        first = dict(zip(inner, transforms.vjp(small, leaves, transforms.ones_like(small)), strict=True))
        write = Textbook(graph, effort)
        simple: dict[str, Expr] = {}
        exact: dict[str, Expr] = {}
        for a, slope in first.items():
            short = write(slope)
            for into, node in ((simple, short), (exact, slope)):
                blocks = transforms.vjp(node, leaves, transforms.ones_like(node))
                into.update({f"{a},{b}": block for b, block in zip(inner, blocks, strict=True)})
        return printed(scope, graph, dict.fromkeys(keys), simple, SamplePoint(exact, values, {}, graph), names, latex, effort)
    except ExhaustedError:
        raise
    except (GradcliError, RecursionError):
        return nothing
