"""Derivative formulas of a query: text of the language, printed only if it evaluates to the engine's gradient.

An expression that works entry by entry has an elementwise partial for each variable ("partial": times the seed,
summed to the variable's shape, it is the gradient); any other has a gradient in which the name ``seed`` stands
for the seed ("gradient"; a scalar's own seed of 1 is left out). A formula is printed only if, evaluated at the
bound values, it gives the engine's gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.errors import ExhaustedError, GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import Effort, Textbook
from gradcli.graph import transforms
from gradcli.graph.interpret import Unnamed, forward, interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward
from gradcli.language.scope import Scope
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.structure import alias, detach

LARGEST = 200  # nodes of a formula
LARGEST_GRAPH = 400  # nodes of an expression whose derivative is worth trying
_SAMPLED = 1 << 17  # entries of an array above which a formula is tried at a sample of them
_LONG = 1024  # entries along an axis that is sampled

Texts = tuple[dict[str, str | None], dict[str, str] | None]
Formulas = tuple[str, dict[str, str | None], dict[str, str] | None]


def derivative_formulas(
    scope: Scope, root: Expr, wrt: dict[str, Expr], *, seed_given: bool, latex: bool, effort: Effort = "quick"
) -> Formulas:
    """The kind ("partial" or "gradient"), the formula of each variable (None without a short one), and LaTeX."""
    order = reachable([root])
    entrywise = is_entrywise(order)
    kind = "partial" if entrywise else "gradient"
    nothing: dict[str, str | None] = dict.fromkeys(wrt)
    if is_too_large(order) or not names_mean(scope, order):
        return kind, nothing, {} if latex else None
    try:
        if entrywise:
            texts, pictures = _partials(scope, root, wrt, order, latex, effort)
        else:
            texts, pictures = _gradients(scope, root, wrt, seed_given, latex, effort)
    except ExhaustedError:
        raise
    except (GradcliError, RecursionError):
        return kind, nothing, {} if latex else None
    return kind, texts, pictures


def is_too_large(order: list[Expr]) -> bool:
    """Whether the derivative of an expression is not worth trying: what joins many arrays counts as often as it has operands."""
    return len(order) + sum(len(node.operands) - 3 for node in order if len(node.operands) > 3) > LARGEST_GRAPH


def is_entrywise(order: list[Expr]) -> bool:
    """Whether an expression works entry by entry."""
    return all(node.op is None or node.op.elementwise or node.op is alias or node.op is detach for node in order)


def names_mean(scope: Scope, order: list[Expr]) -> bool:
    """Whether every leaf is what its name means now (a name may have been bound anew)."""
    return all(scope.leaves.get(node.payload.name) is node for node in order if node.is_leaf)


def _partials(scope: Scope, root: Expr, wrt: dict[str, Expr], order: list[Expr], latex: bool, effort: Effort) -> Texts:
    graph = Graph(scope.limits)
    copy = scalar_copy(scope, root, order, graph)
    if copy is None:
        return dict.fromkeys(wrt), {} if latex else None
    small, scalars, names, values = copy
    inner = {name: scalars[x] for name, x in wrt.items() if x in scalars}
    raw = transforms.vjp(small, list(inner.values()), transforms.ones_like(small))
    gradients = dict(zip(inner, raw, strict=True))
    return printed(scope, graph, wrt, gradients, SamplePoint(gradients, values, {}, graph), names, latex, effort)


Copy = tuple[Expr, dict[Expr, Expr], dict[Expr, str], dict[Expr, Any]]


def scalar_copy(scope: Scope, root: Expr, order: list[Expr], graph: Graph) -> Copy | None:
    """An expression that works entry by entry on numbers alone, whose gradient is the elementwise partial: no seed, no sums, no shapes.

    The copy, what stands for the program's leaves and constants in it, what those without a name are called, and their values.
    None where one of them cannot be written.
    """
    scalars: dict[Expr, Expr] = {}
    names: dict[Expr, str] = {}
    for node in order:
        if node.is_leaf or (node.is_constant and node.shape) or node.op is detach:
            label = node.payload.name if node.is_leaf else _constant_name(scope, node) or formula(node)
            if label is None:
                return None
            scalars[node] = graph.leaf(label, (), node.kind)
            if not node.is_leaf:
                names[scalars[node]] = label if label.isidentifier() or node.is_constant else f"({label})"
    small = interpret(order, Unnamed(graph), dict(scalars))[root]
    return small, scalars, names, {scalar: _sample(_value(scope, node)) for node, scalar in scalars.items()}


def _constant_name(scope: Scope, node: Expr) -> str | None:
    """The name that ``const`` gave to a node."""
    if node.op is not detach or node.operands[0] is None or node.operands[0].op is not alias:
        return None
    name: str = node.operands[0].static["name"]
    return name if scope.names.get(name) is node and name not in scope.leaves else None


def _value(scope: Scope, node: Expr) -> Any:
    return scope.evaluate(node) if node.op is not None or node.is_constant else scope.values[node]


def _gradients(scope: Scope, root: Expr, wrt: dict[str, Expr], seed_given: bool, latex: bool, effort: Effort) -> Texts:
    if "seed" in scope.names:
        return dict.fromkeys(wrt), {} if latex else None
    with_seed = seed_given or math.prod(root.shape) != 1
    seed = scope.graph.leaf("seed", root.shape) if with_seed else transforms.ones_like(root)
    order = reachable([root])
    engine = _swept(root, wrt, seed)
    names = {node: name for node in order if (name := _constant_name(scope, node)) is not None}
    point = _sample_point(scope, root, wrt, seed if with_seed else None, engine)
    return printed(scope, scope.graph, wrt, engine, point, names, latex, effort)


def _swept(root: Expr, wrt: dict[str, Expr], seed: Expr) -> dict[str, Expr]:
    found = backward(reachable([root]), {root: seed}, wrt.values(), lambda node: node)
    return {name: found.get(x, transforms.zeros_like(x)) for name, x in wrt.items()}


@dataclass(frozen=True, eq=False, repr=False)
class SamplePoint:
    """Where formulas are held against the engine's gradients: at the bound values, or at a sample of large arrays' entries."""

    gradients: dict[str, Expr]
    values: dict[Expr, Any]
    leaves: dict[Expr, Expr]  # what stands for the program's leaves
    graph: Graph


def _sample_point(scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Expr | None, engine: dict[str, Expr]) -> SamplePoint:
    values = dict(scope.values)
    if all(np.size(value) <= _SAMPLED for value in values.values()):
        if seed is not None:
            values[seed] = np.linspace(0.75, 1.25, math.prod(root.shape)).reshape(root.shape)[()]
        return SamplePoint(engine, values, {}, scope.graph)
    graph = Graph(scope.limits)
    sample = {leaf: _sample(value) for leaf, value in values.items()}
    leaves = {leaf: graph.leaf(leaf.payload.name, np.shape(value), leaf.kind) for leaf, value in sample.items()}
    (small,) = rebuild([root], leaves, graph)
    small_seed = transforms.ones_like(small)
    if seed is not None:
        small_seed = leaves[seed] = graph.leaf("seed", small.shape)
        sample[seed] = np.linspace(0.75, 1.25, math.prod(small.shape)).reshape(small.shape)[()]
    gradients = _swept(small, {name: leaves[x] for name, x in wrt.items()}, small_seed)
    return SamplePoint(gradients, {leaves[leaf]: value for leaf, value in sample.items()}, leaves, graph)


def _sample(value: Any) -> Any:
    """Evenly spaced entries along each long axis: axes of one length keep one length."""
    index = tuple([slice(None, n // 64 * 64, n // 64) if n > _LONG else slice(None) for n in np.shape(value)])
    return value[index] if index else value


def printed(
    scope: Scope,
    graph: Graph,
    wrt: Iterable[str],
    engine: dict[str, Expr],
    point: SamplePoint,
    names: dict[Expr, str],
    latex: bool,
    effort: Effort,
) -> Texts:
    """The texts of derivatives by their keys, and LaTeX: of those that have a short formula, which evaluates to what the engine has."""
    texts: dict[str, str | None] = dict.fromkeys(wrt)
    pictures: dict[str, str] = {}
    taken = {*scope.names, *scope.functions}
    write = Textbook(graph, effort)
    for name, named in engine.items():
        order = reachable([named])
        raw = interpret(order, Unnamed(graph), {node: node for node in names})[named] if any(node.op is alias for node in order) else named
        for simpler in (write, write.plainly):
            simple = simpler(raw)
            text = formula(simple, limit=LARGEST, names=names, taken=taken)
            if text is None or not _evaluates_to(simple, point.gradients[name], point, scope.precision):
                continue
            texts[name] = text
            if latex:
                from gradcli.formulas.latex import latex as to_latex

                pictures[name] = to_latex(simple, names)
            break
    return texts, pictures if latex else None


def _evaluates_to(simple: Expr, raw: Expr, point: SamplePoint, precision: str) -> bool:
    """Whether a formula, as it is printed, evaluates to the engine's gradient where it is tried.

    Where rounding swamps the values themselves, agreement at a point nearby decides, and the same non-finite
    entries.
    """
    (printed,) = rebuild([simple], point.leaves, point.graph, {chain: mul})
    values = point.values
    if _close(printed, raw, values, precision):
        return True
    random = np.random.default_rng(7)
    moved = {
        leaf: value * (1 + 0.05 * random.random(np.shape(value))) if np.asarray(value).dtype.kind == "f" else value
        for leaf, value in values.items()
    }
    table = forward([printed, raw], values, precision)
    finite = np.broadcast_arrays(*(np.isfinite(_entries(table[node])) for node in (printed, raw)))
    return bool((finite[0] == finite[1]).all()) and bool(finite[1].all()) and _close(printed, raw, moved, precision)


def _entries(value: Any) -> np.ndarray:
    """An array; of one that repeats a number the number: a point has fewer entries than the program, whose shape such an array keeps."""
    array = np.asarray(value)
    return array[(0,) * array.ndim] if array.size and not any(array.strides) else array


def _close(printed: Expr, raw: Expr, values: dict[Expr, Any], precision: str) -> bool:
    table = forward([printed, raw], values, precision)
    x, y = np.broadcast_arrays(_entries(table[printed]), _entries(table[raw]))
    tolerance = 1e-9 if precision == "float64" else 1e-3
    scale = float(np.max(np.abs(y[np.isfinite(y)]), initial=0))
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance * 1e-3 * scale, equal_nan=True))
