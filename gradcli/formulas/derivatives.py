"""Derivatives of any order as formulas, for all values of the names.

They are simplified, and compared with the rules at trial points.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ExhaustedError, GradcliError, LimitError, ShapeError, TypeMismatchError
from gradcli.formulas.printing import formula, tree_size
from gradcli.formulas.textbook import Textbook, simplify, textbook
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, Graph, Unnamed, forward, interpret, reachable, rebuild
from gradcli.graph.sweep import ones_like, slopes_of
from gradcli.language.scope import Scope
from gradcli.notation import Formula, Path
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.structure import alias, detach

# -- Derivative formulas of a query: text of the language, printed only if it evaluates to the
# engine's derivative.
#
# An expression that works entry by entry has an elementwise partial for each variable ("partial":
# times the seed, summed to the variable's shape, it is the gradient, and the diagonal of the
# Jacobian); any other has a gradient in which the name ``seed`` stands for the seed ("gradient";
# a scalar's own seed of 1 is left out). Other blocks of Jacobians and Hessians have a formula of
# the whole block ("jacobian", "hessian"), entries and all, where there are few.


_LARGEST = 200  # most nodes of a formula that is printed
_LARGEST_GRAPH = 400  # most nodes of an expression whose derivative is tried
_SAMPLED = 1 << 17  # entries of an array above which only elementwise partials get a formula
_LONG = 1024  # length above which an axis is sampled
_MOST_ENTRIES = 64  # most entries of a block whose formula is tried


def derivative_formulas(
    scope: Scope, root: Expr, wrt: dict[str, Expr], mode: str, *, seed_given: bool, latex: bool
) -> tuple[str, dict[str, Any], dict[str, str] | None]:
    """Return the kind of derivative, the formula of each variable, and LaTeX.

    In the mode "hessian" there is a formula for each two variables, whose LaTeX stands under "x,y".
    A formula is None where there is no short one.
    """
    order, twice = reachable([root]), mode == "hessian"
    if is_entrywise(order) and not (twice and root.shape):
        kind, derive = "partial", partial(_partials, scope, root, wrt, twice)
    elif mode == "grad":
        kind, derive = "gradient", partial(_gradients, scope, root, wrt, seed_given)
    else:
        kind, derive = mode, partial(_blocks, scope, root, wrt, twice)
    keys = [f"{a},{b}" for a in wrt for b in wrt] if twice else [*wrt]
    found = dict.fromkeys(keys, Formula(None))
    is_small = all(node.size <= _SAMPLED for node in order if node.is_leaf)
    if _is_worth_trying(scope, order) and (kind == "partial" or is_small):
        try:
            derived = derive()
            write = Textbook(derived.graph, "quick")
            for key in derived.derivatives:
                found[key] = _short_formula(scope, derived, key, write, latex)
        except ExhaustedError:
            raise
        except (GradcliError, RecursionError):
            pass  # this derivative has no formula
    texts: dict[str, Any] = {key: made.text for key, made in found.items()}
    if twice:
        texts = {a: {b: texts[f"{a},{b}"] for b in wrt} for a in wrt}
    pictures = {key: made.latex for key, made in found.items() if made.latex is not None}
    return kind, texts, pictures if latex else None


class _Derived(NamedTuple):
    """Derivatives in a graph, and the point where their formulas are compared with them.

    The point has the bound values; for an expression that works entry by entry it has a sample of
    large arrays.

    exact   the derivatives that the formulas are compared with
    values  of leaves, by the nodes that stand for them in the graph of ``exact``
    names   of nodes that stand for something else than a leaf of the program
    """

    graph: Graph
    derivatives: Mapping[str, Expr]
    exact: Mapping[str, Expr]
    values: dict[Expr, Any]
    names: Mapping[Expr, str]


class Copy(NamedTuple):
    """Expression in a graph of its own.

    If it works entry by entry it is on numbers alone: there is no seed, no sum and no shape.

    leaves  the nodes that stand for the program's leaves and for constants
    labels  the names of leaves that are not called by their own name
    parts   the program's names for other nodes
    """

    graph: Graph
    root: Expr
    leaves: dict[Expr, Expr]
    labels: dict[Expr, str]
    parts: dict[Expr, str]


def copy_of(scope: Scope, root: Expr, asked: Mapping[Expr, str]) -> Copy:
    """Copy an expression into a graph where the nodes in ``asked`` are leaves.

    Raises GradcliError for a part without a text.
    """
    graph, order = Graph(scope.limits), reachable([root])
    entrywise = is_entrywise(order)
    leaves: dict[Expr, Expr] = {}
    labels: dict[Expr, str] = {}
    for node in order:
        if not (
            node.is_leaf
            or node in asked
            or node.op is detach
            or (entrywise and node.is_constant and node.shape)
        ):
            continue
        label = asked.get(node) or (
            node.name if node.is_leaf else _constant_name(scope, node) or formula(node)
        )
        if label is None:
            raise GradcliError(
                "a part of the expression has no text, and so the derivative no formula"
            )
        leaves[node] = graph.leaf(label, () if entrywise else node.shape, node.kind)
        if not node.is_leaf and node not in asked:
            labels[leaves[node]] = label
    table = interpret(order, Unnamed(graph), dict(leaves))
    named = {node.static["name"]: node for node in order if node.op is alias}
    parts = {table[node]: name for name, node in named.items() if not table[node].is_leaf}
    return Copy(graph, table[root], leaves, labels, parts)


def is_entrywise(order: list[Expr]) -> bool:
    """Return True for an expression that works entry by entry."""
    return all(
        node.op is None or node.op.elementwise or node.op is alias or node.op is detach
        for node in order
    )


def _constant_name(scope: Scope, node: Expr) -> str | None:
    """Return the name that ``const`` gave to a node."""
    if node.op is not detach or node.operands[0] is None or node.operands[0].op is not alias:
        return None
    name: str = node.operands[0].static["name"]
    return name if scope.names.get(name) is node and name not in scope.leaves else None


def _is_worth_trying(scope: Scope, order: Sequence[Expr]) -> bool:
    """Tell whether an expression is small and its leaves are what their names mean now.

    A name may have been bound anew. A node that joins many arrays counts as often as it has
    operands.
    """
    size = sum(max(1, len(node.operands) - 2) for node in order)
    return size <= _LARGEST_GRAPH and all(
        scope.leaves.get(node.name) is node for node in order if node.is_leaf
    )


def _short_formula(
    scope: Scope, derived: _Derived, key: str, write: Textbook, latex: bool
) -> Formula:
    """Return the formula of a derivative if it is short and evaluates to the engine's value."""
    names, raw = derived.names, derived.derivatives[key]
    order = reachable([raw])
    if any(node.op is alias for node in order):
        raw = interpret(order, Unnamed(derived.graph), {node: node for node in names})[raw]
    for simpler in (write, write.plainly):
        simple = simpler(raw)
        made = _print(simple, _LARGEST, names, {*scope.names, *scope.functions}, latex)
        if made.text is not None and _evaluates_to(
            simple, derived.exact[key], derived, scope.precision
        ):
            return made
    return Formula(None)


def _partials(scope: Scope, root: Expr, wrt: Mapping[str, Expr], twice: bool) -> _Derived:
    """Derive the elementwise partials: the gradient of a copy on numbers.

    Second partials are derivatives of the first as they are printed.
    """
    copy = copy_of(scope, root, {})
    leaves = {name: copy.leaves[x] for name, x in wrt.items() if x in copy.leaves}
    found = exact = slopes_of(copy.root, leaves)
    if twice:
        write = Textbook(copy.graph, "quick")
        found, exact = (
            {
                f"{a},{b}": block
                for a, slope in slopes.items()
                for b, block in slopes_of(slope, leaves).items()
            }
            for slopes in ({a: write(slope) for a, slope in exact.items()}, exact)
        )
    values = {leaf: _sample(value) for leaf, value in _values(scope, copy.leaves, {}).items()}
    return _Derived(copy.graph, found, exact, values, copy.labels)


def _gradients(scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed_given: bool) -> _Derived:
    """Derive the gradients in the program's own graph."""
    if "seed" in scope.names:
        raise GradcliError("the name of the seed has another meaning")
    seed = None
    if seed_given or root.size != 1:
        seed = scope.graph.leaf("seed", root.shape)
    found = slopes_of(root, wrt, seed)
    names = {
        node: name
        for node in reachable([root])
        if (name := _constant_name(scope, node)) is not None
    }
    values = dict(scope.values)
    if seed is not None:
        ramp = np.linspace(0.75, 1.25, root.size)
        values[seed] = ramp.reshape(root.shape)[()]
    return _Derived(scope.graph, found, found, values, names)


def _blocks(scope: Scope, root: Expr, wrt: Mapping[str, Expr], twice: bool) -> _Derived:
    """Derive the blocks of the Jacobian, or if ``twice`` of the Hessian, that have few entries.

    They are in the program's own graph.
    """
    wanted = {name: (root, x) for name, x in wrt.items()}
    if twice:
        slopes = slopes_of(root, wrt)
        wanted = {f"{a},{b}": (slopes[a], x) for a in wrt for b, x in wrt.items()}
    blocks = {key: _block(y, x) for key, (y, x) in wanted.items()}
    found = {key: block for key, block in blocks.items() if block is not None}
    return _Derived(scope.graph, found, found, dict(scope.values), {})


def _block(y: Expr, x: Expr) -> Expr | None:
    """Return the derivative of y by x, or None if it has many entries."""
    if not x.shape:
        return transforms.jvp(y, {x: ones_like(x)})
    few = not y.shape or y.size * x.size <= _MOST_ENTRIES
    return transforms.jacobian(y, x) if few else None


def _sample(value: Any) -> Any:
    """Evenly spaced entries along each long axis: axes of one length keep one length."""
    index = tuple(
        [slice(None, n // 64 * 64, n // 64) if n > _LONG else slice(None) for n in np.shape(value)]
    )
    return value[index] if index else value


@np.errstate(all="ignore")  # the largest floats overflow nearby
def _evaluates_to(simple: Expr, raw: Expr, point: _Derived, precision: str) -> bool:
    """Tell whether a formula evaluates, as printed, to the engine's gradient at the trial point.

    Where rounding swamps the values themselves, agreement at a point nearby decides, if all values
    are finite at the trial point.
    """
    (printed,) = rebuild([simple], {}, {chain: mul})
    here = _sides(printed, raw, point.values, precision)
    if _close(*here, precision):
        return True
    random = np.random.default_rng(7)
    moved = {
        leaf: value * (1 + 0.05 * random.random(np.shape(value)))
        if np.asarray(value).dtype.kind == "f"
        else value
        for leaf, value in point.values.items()
    }
    return all(np.isfinite(side).all() for side in here) and _close(
        *_sides(printed, raw, moved, precision), precision
    )


def _sides(
    printed: Expr, raw: Expr, values: dict[Expr, Any], precision: str
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the values of two forms, broadcast to one shape."""
    table = forward([printed, raw], values, precision)
    x, y = np.broadcast_arrays(_entries(table[printed]), _entries(table[raw]))
    return x, y


def _entries(value: Any) -> np.ndarray:
    """Convert a value to an array, or to a number if the array repeats one number.

    A point has fewer entries than the program, whose shape such an array keeps.
    """
    array = np.asarray(value)
    return array[(0,) * array.ndim] if array.size and not any(array.strides) else array


def _close(x: np.ndarray, y: np.ndarray, precision: str) -> bool:
    tolerance = 1e-9 if precision == "float64" else 1e-3
    scale = float(np.max(np.abs(y[np.isfinite(y)]), initial=0))
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance * 1e-3 * scale, equal_nan=True))


def _print(
    node: Expr, limit: int, labels: Mapping[Expr, str], taken: Collection[str], latex: bool
) -> Formula:
    text = formula(node, limit=limit, names=labels, taken=taken)
    if text is None or not latex:
        return Formula(text)
    from gradcli.formulas.printing import latex as to_latex

    return Formula(text, to_latex(node, labels))


LARGEST = 2_000  # most nodes of a formula that is printed
_MOST_NODES = 2_000  # most nodes of an expression whose derivative is tried
_LARGEST_TREE = 200_000  # most tree nodes of a derivative that is simplified; shared ones recounted
_LARGEST_SEARCH = 4_000  # most tree nodes for which the shortest form is searched for
_MOST = 400  # most formulas in one record
_LARGEST_PICTURE = 60  # most nodes of an expression shown in LaTeX on the left-hand side
# Relative to the larger side: how far apart rounding may leave two forms of a formula at points of
# moderate size.
_CLOSE = 1e-6


def best(raw: Expr, graph: Graph) -> Expr:
    """Return the shortest known form of a derivative if it is found in a moment.

    Otherwise return the form that few rules find.
    """
    if tree_size(raw) <= _LARGEST_SEARCH:
        with suppress(RecursionError):  # the search recurses into nested brackets
            return textbook(raw, effort="thorough")
    return plain(raw, graph)


def plain(raw: Expr, graph: Graph) -> Expr:
    """Return a form that is found by few rules."""
    return simplify([raw], graph)[0]


WAYS = best, plain  # each is tried if the one before it changed the function


@dataclass(eq=False)
class General:
    """An expression in a graph of its own, where its names are leaves, and points to try it at."""

    graph: Graph
    root: Expr
    # Leaves to differentiate by; names that the expression does not depend on are absent.
    names: dict[str, Expr]
    labels: dict[Expr, str]  # leaves that are printed under another name than their own
    taken: set[str]  # names that do not have the language's meaning here
    points: list[dict[Expr, Any]]
    parts: dict[Expr, str]  # names that the program gives to nodes
    nodes: dict[Path, Expr] = field(default_factory=dict)  # the derivatives asked for, by path

    def derivatives(self, names: Sequence[str], order: int, latex: bool) -> dict[Path, Formula]:
        """Return the formulas of one order by all names, and those of lower order on the way to it.

        Raises LimitError if there is none.
        """
        if math.comb(len(names) + order - 1, order) > _MOST:
            raise LimitError(
                f"more than {_MOST} formulas of order {order} by {len(names)} names",
                help="name those that are wanted",
            )
        nodes = self.nodes
        nodes[()] = self.root
        for length in range(1, order + 1):
            for path in combinations_with_replacement(names, length - 1):
                later = names[names.index(path[-1]) if path else 0 :]
                nodes |= {
                    (*path, name): slope for name, slope in self._slopes(nodes[path], later).items()
                }
        found = {
            path: _print(node, LARGEST, self.labels, self.taken, latex)
            for path, node in nodes.items()
            if path
        }
        if all(found[path].text is None for path in found):
            is_long = len(reachable(nodes.values())) > LARGEST
            raise LimitError(
                f"the derivative has more than {LARGEST:,} operations, and no short formula"
                if is_long
                else "the derivative has functions that have no name in the language",
                help="gradcli eval has numbers",
            )
        return found

    def picture(self) -> str:
        """Write the expression itself in LaTeX, or ``f`` if it is long."""
        order = reachable([self.root])
        if len(order) > _LARGEST_PICTURE:
            return "f"
        from gradcli.formulas.printing import latex

        return latex(self.root, self.labels)

    def _slopes(self, node: Expr, names: Sequence[str]) -> dict[str, Expr]:
        """Derive a node by names, each slope in its simplest form that is the same function."""
        present = {name: self.names[name] for name in names if name in self.names}
        found = slopes_of(node, present) if node.kind == "float" else {}
        return {
            name: self._simplest(found[name])
            if name in found
            else best(self.graph.constant(0.0), self.graph)
            for name in names
        }

    def _simplest(self, raw: Expr) -> Expr:
        if tree_size(raw) > _LARGEST_TREE:
            return raw  # too long to be printed in any form
        for way in WAYS:
            simple = way(raw, self.graph)
            if self._agree(simple, raw):
                return simple
        return raw

    def _agree(self, simple: Expr, raw: Expr) -> bool:
        """Tell whether two forms agree, as printed, at most points where both have a value."""
        (printed,) = rebuild([simple], {}, {chain: mul})
        apart = compared = 0
        for point in self.points:
            x, y = _sides(printed, raw, point, "float64")
            both = np.isfinite(x) & np.isfinite(y)
            compared += bool(both.any())
            apart += bool((both & ~np.isclose(x, y, _CLOSE, _CLOSE**2)).any())
        return apart <= compared // 4


def general(
    scope: Scope,
    root: Expr,
    wrt: Mapping[str, Expr],
    points: Sequence[Mapping[Expr, Any]],
    order: int,
) -> General:
    """Return a query's expression for all values of its names.

    ``points`` are values, numbers, of the leaves that stand for names without values.

    Raises GradcliError where there is no single formula.
    """
    if root.kind != "float":
        kind = "boolean" if root.kind == "bool" else "whole numbers"
        raise TypeMismatchError(f"the result is {kind}: it has no derivative")
    nodes = reachable([root])
    if len(nodes) > _MOST_NODES:
        raise LimitError(
            f"a formula of {len(nodes):,} operations is too long to be shown",
            help="gradcli eval has numbers",
        )
    if not is_entrywise(nodes):
        _refuse_arrays(root, wrt, order)
    copy = copy_of(scope, root, {node: name for name, node in wrt.items()})
    present = {name: copy.leaves[node] for name, node in wrt.items() if node in copy.leaves}
    trial = [_values(scope, copy.leaves, point) for point in points]
    return General(
        copy.graph,
        copy.root,
        present,
        copy.labels,
        {*scope.names, *scope.functions},
        trial,
        copy.parts,
    )


def _refuse_arrays(root: Expr, wrt: Mapping[str, Expr], order: int) -> None:
    """Raise ShapeError for what has a formula for each entry, where no entry is like the others."""
    if root.shape:
        help = "take a sum of its entries, sum(...), or one of them, (...)[0]"
        raise ShapeError(
            f"the result has the shape {root.shape}, and its entries have no formula in common",
            help=help,
        )
    arrays = [name for name, node in wrt.items() if node.shape]
    if arrays and order > 1:
        message = (
            f"'{arrays[0]}' is an array: the second derivatives by its entries have no "
            "formula in common"
        )
        raise ShapeError(message, help="leave --order out, or take numbers: gradcli eval --hessian")


def _values(
    scope: Scope, leaves: Mapping[Expr, Expr], point: Mapping[Expr, Any]
) -> dict[Expr, Any]:
    """Return the values of the copy's leaves at a point."""
    table = forward(leaves, {**scope.values, **point}, scope.precision)
    return {leaf: table[node] for node, leaf in leaves.items()}
