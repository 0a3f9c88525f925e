"""The search for a better way to write a function: best first, each way measured where the function was evaluated.

A way is better if less is lost in its value and in every gradient. All that is tried equals the function by an identity, by algebra or by a
series; the number of ways that are measured is counted, not the time.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradcli.check.rewrites.fractions import as_fractions
from gradcli.check.rewrites.identity_rules import applied
from gradcli.check.rewrites.losses import Measure
from gradcli.check.rewrites.patterns import Matcher
from gradcli.check.rewrites.regrouping import divided_sums, regrouped, reordered
from gradcli.check.rewrites.series import expanded
from gradcli.check.rewrites.standard import Standard
from gradcli.errors import GradcliError
from gradcli.formulas.printing import tree_size
from gradcli.graph.interpret import forward, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.reference.deadline import check as still_in_time

GOOD = 4.0  # lost bits that are as good as none
_MOST_MEASURED = 1000
_MOST_EXPANDED = 80
_PATIENCE = 25  # ways that are gone on from without finding a better one
_MOST_TOLD = 8  # ways of which the first that is proved is taken
_LARGEST = 120  # nodes of a way, each time it is written

Losses = tuple[float, ...]


class Search:
    """Ways to write one function, and what each of them loses.

    series  whether parts may be written as polynomials, which they equal nearly, and near a point only
    """

    def __init__(self, graph: Graph, measure: Measure, *, series: bool) -> None:
        self.graph, self.measure, self.matcher, self.series = graph, measure, Matcher(graph), series
        self._equal: dict[Expr, list[tuple[Expr, bool]]] = {}  # to nodes: their values are always the same
        self.measured = 0
        self.known: dict[Expr, Losses | None] = {}
        self.approximate: set[Expr] = set()  # ways with a series in them, which are nearly equal

    def best(self, root: Expr) -> list[tuple[Expr, Losses]]:
        """The best ways that were found, the best first, with what they lose; none where the function itself cannot be measured."""
        start = self.losses(root)
        if start is None:
            return []
        better: list[tuple[Any, int, Expr, Losses]] = []
        found, serial = (self._key(root, start), root, start), itertools.count()
        first = found[0]
        queue: list[tuple[Any, int, Expr]] = [(first, next(serial), root)]
        standard = interpret(reachable([root]), Standard(self.graph))[root]
        ways: Iterator[Expr] = iter([standard])
        since = 0
        for _ in range(_MOST_EXPANDED):
            since += 1
            for way in ways:
                losses = self.losses(way)
                if losses is None:
                    continue
                key = self._key(way, losses)
                if max(losses) > GOOD:
                    heapq.heappush(queue, (key, next(serial), way))
                if key < found[0]:
                    found, since = (key, way, losses), 0
                if key < first:
                    better.append((key, next(serial), way, losses))
                if self.measured >= _MOST_MEASURED:
                    break
            patience = _PATIENCE if max(found[2]) > GOOD else 0
            if not queue or self.measured >= _MOST_MEASURED or since >= patience:
                break
            ways = self._from(heapq.heappop(queue)[2])
        return [(way, losses) for *_, way, losses in heapq.nsmallest(_MOST_TOLD, better)]

    def _key(self, root: Expr, losses: Losses) -> tuple[int, bool, int, int]:
        size, approximate = tree_size(reachable([root])), root in self.approximate
        if max(losses) <= GOOD:  # the shortest of those that lose nothing
            return 0, approximate, round(sum(losses)) if approximate else 0, size
        return round(max(losses) / 2), approximate, round(sum(losses) / 2), size

    def losses(self, root: Expr) -> Losses | None:
        """What a way loses, measured once; None where it has no value or was measured before."""
        if root in self.known:
            return None
        self.known[root] = None
        self.measured += 1
        try:
            self.known[root] = self.measure(root)
        except GradcliError:
            return None
        return self.known[root]

    def _from(self, root: Expr) -> Iterator[Expr]:
        """The ways that are one step from another."""
        order = reachable([root])
        values = forward([root], self.measure.values, self.measure.precision, order)
        above = _users(order)

        def value_of(node: Expr) -> Any:
            return values[node] if node in values else forward([node], self.measure.values, self.measure.precision)[node]

        for node in order:
            if node.op is None or node.kind != "float" or node.op.outputs != 1:
                continue
            if node not in self._equal:
                still_in_time()
                self._equal[node] = list(dict.fromkeys(self._instead(node, value_of)))
            for better, nearly in self._equal[node]:
                still_in_time()
                if better is node or better.shape != node.shape:
                    continue
                way = self._with(root, order, above, node, better)
                if way is root or tree_size(reachable([way])) > _LARGEST:
                    continue
                if (nearly or root in self.approximate) and way not in self.known:
                    self.approximate.add(way)
                yield way

    def _instead(self, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[tuple[Expr, bool]]:
        """What equals a node, and whether it does so only nearly."""
        ways: tuple[tuple[Callable[[], Iterator[Expr]], bool], ...] = (
            (lambda: applied(self.matcher, node, value_of), False),
            (lambda: as_fractions(self.graph, node), False),
            (lambda: regrouped(self.graph, node), False),
            (lambda: divided_sums(self.graph, node), False),
            (lambda: reordered(self.graph, node), False),
            (lambda: expanded(self.graph, node, value_of), True),
        )
        for found, nearly in ways if self.series else ways[:-1]:
            try:
                for way in found():
                    yield way, nearly
            except GradcliError:
                continue

    def _with(self, root: Expr, order: list[Expr], above: Mapping[Expr, set[Expr]], node: Expr, better: Expr) -> Expr:
        moved = above[node]
        table = {other: other for other in order if other not in moved}
        table[node] = better
        way: Expr = interpret([other for other in order if other in moved], Standard(self.graph), table)[root]
        return way


def _users(order: list[Expr]) -> dict[Expr, set[Expr]]:
    """For each node those that are made of it."""
    found: dict[Expr, set[Expr]] = {node: set() for node in order}
    for node in reversed(order):
        for operand in node.operands:
            if operand is not None:
                found[operand] |= found[node] | {node}
    return found
