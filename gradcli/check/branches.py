"""Branches that rounding decides: comparisons whose sides are within rounding of each other, and the derivatives either way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.rounding import Bounds, allowed
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.graph.interpret import interpret, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import vjp

_ALL_WAYS = 4  # comparisons of which every combination is tried
DECIDES = "{}: rounding decides the branch"
_LONGEST = 60  # letters of a comparison in words


@dataclass(frozen=True, eq=False)
class Branches:
    """The ways that a function may take where rounding decides.

    text  the comparison that it decides
    ways  of each way, value and gradients in their order, each with how far rounding takes it
    """

    text: str
    ways: list[list[tuple[np.ndarray, np.ndarray]]]

    def __str__(self) -> str:
        return DECIDES.format(self.text)

    def results(self, place: int) -> list[np.ndarray]:
        """Return a result's entries on each way."""
        return [np.ravel(way[place][0]) for way in self.ways]

    def bounds(self, place: int) -> np.ndarray:
        """Return how far rounding takes a result's entries, once the branch is decided."""
        found: np.ndarray = np.max([np.ravel(way[place][1]) for way in self.ways], axis=0)
        return found

    def differ(self, place: int) -> bool:
        """Return True if the branch makes more of a difference to a result than rounding."""
        found = self.results(place)
        return bool(np.any(np.ptp(found, axis=0) > self.bounds(place)))


def branches(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> Branches | None:
    """Return the ways between which rounding in a precision decides; None where it decides nothing."""
    graph = root.graph
    mark = graph.mark()
    try:
        results = [root, *vjp(root, wrt, graph.constant(np.broadcast_to(seed, root.shape)[()]))]
        with np.errstate(all="ignore"):
            table = interpret(reachable(results), Bounds(leaves, precision))
            unsure = _unsure(table)
            if not 0 < len(unsure) <= _ALL_WAYS:  # more are such as those of an iteration, which no branch explains
                return None
            ways = [_way(results, _decided(unsure, flips, table), leaves, precision) for flips in _flips(len(unsure))]
        return Branches(_words(unsure[0]), ways)
    except GradcliError:
        return None
    finally:
        graph.forget_since(mark)


def roots_each_way(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> list[Expr]:
    """Return the function once for every way between which rounding decides, each with its conditions as constants."""
    if not any(map(_compares, reachable([root]))):
        return [root]
    with np.errstate(all="ignore"):
        table = interpret(reachable([root]), Bounds(leaves, precision))
    unsure = _unsure(table)
    if len(unsure) > _ALL_WAYS:  # such as those of an iteration, which no single branch explains
        return [root]
    return [rebuild([root], _decided(unsure, flips, table), root.graph)[0] for flips in _flips(len(unsure))]


def is_unsure(condition: Expr, leaves: Mapping[Expr, Any], precision: str) -> bool:
    """Return True if rounding in a precision decides a condition, or an entry of it."""
    with np.errstate(all="ignore"):
        table = interpret(reachable([condition]), Bounds(leaves, precision))
    return bool(np.any(table[condition].error))


def _unsure(table: Mapping[Expr, Any]) -> list[Expr]:
    """Return the comparisons that rounding may turn, those of rules for the derivative among them."""
    found = (node for node in table if _compares(node) and np.any(table[node].error))
    return sorted(found, key=lambda node: node.index)


def _compares(node: Expr) -> bool:
    return node.op is not None and node.op.rewriting.algebra == "comparison"


def _flips(count: int) -> list[tuple[bool, ...]]:
    return list(itertools.product((False, True), repeat=count))


def _decided(unsure: Sequence[Expr], flips: Sequence[bool], table: Mapping[Expr, Any]) -> dict[Expr, Expr]:
    """Return constants in the place of comparisons, with what is not certain turned where that is wanted."""
    found = {}
    for node, flip in zip(unsure, flips, strict=True):
        turned = np.asarray(table[node].error, bool) & flip
        found[node] = node.graph.constant(np.broadcast_to(np.asarray(table[node].value, bool) ^ turned, node.shape)[()])
    return found


def _way(results: Sequence[Expr], decided: Mapping[Expr, Expr], leaves: Mapping[Expr, Any], precision: str) -> list[tuple[Any, Any]]:
    domain = Bounds(leaves, precision)
    rebuilt = rebuild(results, decided, results[0].graph)
    table = interpret(reachable(rebuilt), domain)
    return [(np.asarray(table[node].value), allowed(table[node], node.shape, domain.arithmetic)) for node in rebuilt]


def _words(node: Expr) -> str:
    copies = (part for part in reachable([node]) if part.op is not None and part.op.rewriting.unchanged and part.operand.is_leaf)
    text = formula(node, names={part: part.operand.payload.name for part in copies})
    return "a comparison" if text is None or len(text) > _LONGEST else text
