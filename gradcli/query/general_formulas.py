"""Derivatives of any order as formulas, for all values of the names: simplified, and held against the rules at trial points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from gradcli.errors import LimitError, ShapeError, TypeMismatchError
from gradcli.formulas.printing import formula, tree_size
from gradcli.formulas.simplify import simplify
from gradcli.formulas.textbook import textbook
from gradcli.graph import transforms
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.language.scope import Scope
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.query.derivative_formulas import copy_of, is_entrywise, value_of
from gradcli.report.derivative_record import Formula, Path

LARGEST = 2_000  # nodes of a formula that is printed
_LARGEST_GRAPH = 2_000  # nodes of an expression whose derivative is worth trying
_LARGEST_TREE = 200_000  # nodes of a derivative before it is simplified, shared ones each time
_LARGEST_SEARCH = 4_000  # of them where the shortest form is looked for
_MOST = 400  # formulas of one record
_LARGEST_PICTURE = 60  # nodes of an expression that is shown in LaTeX on the left
_CLOSE = 1e-6  # of the larger side: what rounding leaves between two forms of a formula at points of moderate size

Simplified = Callable[[Expr, Graph], Expr]


def best(raw: Expr, graph: Graph) -> Expr:
    """The shortest form of a derivative that is known, where that is found in a moment."""
    if tree_size(reachable([raw])) <= _LARGEST_SEARCH:
        with suppress(RecursionError):  # the search goes down into brackets within brackets
            return textbook(raw, effort="thorough")
    return plain(raw, graph)


def plain(raw: Expr, graph: Graph) -> Expr:
    """A form that is found by few rules."""
    return simplify([raw], graph)[0]


WAYS: tuple[Simplified, ...] = (best, plain)  # each is taken if the one before it has changed the function


@dataclass(eq=False, repr=False)
class General:
    """An expression in a graph of its own, where its names are leaves, and points to try it at."""

    graph: Graph
    root: Expr
    names: dict[str, Expr]  # to differentiate by; of those on which the expression does not depend there is none
    labels: dict[Expr, str]  # leaves that are not called by their own name
    taken: set[str]  # names that mean nothing of the language here
    points: list[dict[Expr, Any]]
    entrywise: bool

    def derivatives(self, names: Sequence[str], order: int, latex: bool) -> dict[Path, Formula]:
        """The formulas of one order by all names, and on the way to it those of lower order. Raises LimitError if there is none."""
        if math.comb(len(names) + order - 1, order) > _MOST:
            raise LimitError(f"more than {_MOST} formulas of order {order} by {len(names)} names", help="name those that are wanted")
        nodes: dict[Path, Expr] = {(): self.root}
        for length in range(1, order + 1):
            for path in combinations_with_replacement(names, length - 1):
                later = names[names.index(path[-1]) if path else 0 :]
                nodes.update({(*path, name): slope for name, slope in zip(later, self._slopes(nodes[path], later), strict=True)})
        found = {path: self._printed(node, latex) for path, node in nodes.items() if path}
        if all(found[path].text is None for path in found):
            raise LimitError(f"the derivative has more than {LARGEST:,} operations, and no short formula", help="gradcli eval has numbers")
        return found

    def picture(self) -> str:
        """The expression itself in LaTeX; ``f`` for a long one."""
        order = reachable([self.root])
        if len(order) > _LARGEST_PICTURE:
            return "f"
        from gradcli.formulas.printing import latex

        return latex(self.root, self.labels)

    def _slopes(self, node: Expr, names: Sequence[str]) -> Iterator[Expr]:
        """The derivatives of a node by names, each in its simplest form that is the same function."""
        present = [self.names[name] for name in names if name in self.names]
        raw = iter(transforms.vjp(node, present, transforms.ones_like(node)) if node.kind == "float" else ())
        for name in names:
            yield self._simplest(next(raw)) if name in self.names else best(self.graph.constant(0.0), self.graph)

    def _simplest(self, raw: Expr) -> Expr:
        if tree_size(reachable([raw])) > _LARGEST_TREE:
            return raw  # which is not printed, either
        for way in WAYS:
            simple = way(raw, self.graph)
            if self._agree(simple, raw):
                return simple
        return raw

    def _agree(self, simple: Expr, raw: Expr) -> bool:
        """Return True for two forms with the same values, as printed, at most of the points where both have one."""
        (printed,) = rebuild([simple], {}, self.graph, {chain: mul})
        apart = compared = 0
        for point in self.points:
            with np.errstate(all="ignore"):
                table = forward([printed, raw], point)
            x, y = np.broadcast_arrays(np.asarray(table[printed], float), np.asarray(table[raw], float))
            both = np.isfinite(x) & np.isfinite(y)
            if both.any():
                compared += 1
                apart += bool(np.any(np.abs(x - y)[both] > _CLOSE * np.maximum(np.abs(x), np.abs(y))[both] + _CLOSE**2))
        return apart <= compared // 4

    def _printed(self, node: Expr, latex: bool) -> Formula:
        text = formula(node, limit=LARGEST, names=self.labels, taken=self.taken)
        if text is None or not latex:
            return Formula(text)
        from gradcli.formulas.printing import latex as to_latex

        return Formula(text, to_latex(node, self.labels))


def general(scope: Scope, root: Expr, wrt: Mapping[str, Expr], points: Sequence[Mapping[str, Any]], order: int) -> General:
    """A query's expression for all values of its names. Raises GradcliError where there is no one formula.

    points   values of the names that have none: numbers
    """
    if root.kind != "float":
        kind = "boolean" if root.kind == "bool" else "whole numbers"
        raise TypeMismatchError(f"the result is {kind}: it has no derivative")
    nodes = reachable([root])
    if len(nodes) > _LARGEST_GRAPH:
        raise LimitError(f"a formula of {len(nodes):,} operations is too long to be shown", help="gradcli eval has numbers")
    if not is_entrywise(nodes):
        _refuse_arrays(root, wrt, order)
    copy = copy_of(scope, root, {node: name for name, node in wrt.items()})
    present = {name: copy.leaves[node] for name, node in wrt.items() if node in copy.leaves}
    trial = [_values(scope, copy.leaves, point) for point in points]
    return General(copy.graph, copy.root, present, copy.labels, {*scope.names, *scope.functions}, trial, copy.entrywise)


def _refuse_arrays(root: Expr, wrt: Mapping[str, Expr], order: int) -> None:
    """Raise ShapeError for what has a formula for each entry, where no entry is like the others."""
    if root.shape:
        raise ShapeError(f"the result has the shape {root.shape}, and its entries no formula in common")
    arrays = [name for name, node in wrt.items() if node.shape]
    if arrays and order > 1:
        message = f"'{arrays[0]}' is an array: the second derivatives by its entries have no formula in common"
        raise ShapeError(message, help="leave --order out, or take numbers: gradcli eval --hessian")


def _values(scope: Scope, leaves: Mapping[Expr, Expr], point: Mapping[str, Any]) -> dict[Expr, Any]:
    """The values of the copy's leaves at a point."""
    before = {scope.leaves[name]: scope.values[scope.leaves[name]] for name in point}
    scope.values.update({scope.leaves[name]: value for name, value in point.items()})
    try:
        with np.errstate(all="ignore"):
            return {leaf: value_of(scope, node) for node, leaf in leaves.items()}
    finally:
        scope.values.update(before)
