"""The identities as rules on graphs: read once by the language's own reader, matched against nodes, and built in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.rewrites.fractions import as_fractions
from gradcli.check.rewrites.identities import IDENTITIES, WIDER, Identity
from gradcli.check.rewrites.parts import Inexact, factors, is_product, is_sum, product
from gradcli.check.rewrites.patterns import Bound, Matcher
from gradcli.check.rewrites.standard import Standard
from gradcli.formulas.printing import tree_size
from gradcli.graph.interpret import forward, interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.spec import Op

_LETTERS = "abc"
_LARGEST_SUM = 60  # nodes of a sum that is put over one line
_OF_VECTORS = ("sum(", "prod(", "softmax(", "@")
_ARRAY = 3  # entries of a letter within a reduction, where its shape is of no account


class Rule(NamedTuple):
    """An identity as nodes of a graph of its own, with its letters."""

    pattern: Expr
    equal: Expr
    condition: Expr | None
    texts: tuple[str, str]


class _Reader:
    """Reads identities, with letters of one shape in one program."""

    def __init__(self, example: object) -> None:
        self.scope = Scope()
        for letter in _LETTERS:
            self.scope.bind_value(letter, example)
        self.program = Program(self.scope)

    def read(self, pattern: str, equal: str, condition: str) -> Rule:
        wanted = self._node(pattern)
        standard: Expr = interpret(reachable([wanted]), Standard(self.scope.graph))[wanted]
        return Rule(standard, self._node(equal), self._node(condition) if condition else None, (pattern, equal))

    def _node(self, text: str) -> Expr:
        read: Expr = self.program.read(text, "<identity>")
        return read


Table = dict[object, list[Rule]]


@cache
def rules() -> Table:
    """All identities by the operation at the top of their pattern: a sum, a product, or any other."""
    return _read(IDENTITIES)


@cache
def _wider_rules() -> Table:
    return _read(WIDER)


def _read(identities: Iterable[Identity]) -> Table:
    found: Table = {}
    readers = [_Reader(0.5), _Reader(np.ones(_ARRAY)), _Reader(np.eye(_ARRAY))]
    for identity in identities:
        rule = readers[_shape(identity.pattern)].read(*identity)
        found.setdefault(_kind(rule.pattern), []).append(rule)
    return found


def _kind(node: Expr) -> object:
    return "sum" if is_sum(node) else "product" if is_product(node) else node.op


def _shape(pattern: str) -> int:
    """How many axes the letters of a pattern have."""
    return 2 if "det(" in pattern else 1 if any(word in pattern for word in _OF_VECTORS) else 0


def applied(matcher: Matcher, node: Expr, value_of: Callable[[Expr], object], table: Table | None = None) -> Iterator[Expr]:
    """What equals a node by one identity, where its condition holds at the values there are."""
    graph = matcher.graph
    by_kind = rules() if table is None else table
    for kind in dict.fromkeys((_kind(node), node.op, "product" if is_product(node) else None)):
        for rule in by_kind.get(kind, ()):
            for bound, rest in matcher.found(rule.pattern, node):
                if rule.condition is not None and not _holds(rule.condition, bound, value_of):
                    continue
                try:
                    yield rest.around(graph, _built(graph, rule.equal, bound))
                except (Inexact, ZeroDivisionError, OverflowError):
                    continue


def wider(graph: Graph, root: Expr) -> Iterator[Expr]:
    """A function in ways that may have a value, or a derivative, where it has none: one identity, or arithmetic alone."""
    order = reachable([root])
    table = interpret(order, Standard(graph))
    for node in order:
        if table[node] is not node and node.kind == "float":
            yield rebuild([root], {node: table[node]}, graph)[0]
    for start in dict.fromkeys((root, table[root])):
        for node in reachable([start]):
            for better in applied(Matcher(graph), node, lambda _: 0.0, _wider_rules()) if node.op is not None else ():
                if better.shape == node.shape:
                    yield rebuild([start], {node: better}, graph)[0]


def _built(graph: Graph, equal: Expr, bound: Bound) -> Expr:
    built: Expr = interpret(reachable([equal]), Tidy(graph), dict(bound))[equal]
    return built


class Tidy(Standard):
    """As `Standard`, and sums that are shorter as one fraction are written so: (a + b)**2 - (a - b)**2 as 4*a*b; tanh(-a) as -tanh(a)."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if op.facts.parity and len(operands) == 1:
            coefficient, parts = factors(operands[0])
            if coefficient < 0:
                plain = super().operation(node, op, [product(self.graph, -coefficient, parts)])
                return product(self.graph, Fraction(-1), [(plain, 1)]) if op.facts.parity == "odd" else plain
        plain = super().operation(node, op, operands)
        if not is_sum(plain) or plain.op is None:
            return plain
        size = tree_size(reachable([plain]))
        if size > _LARGEST_SUM:
            return plain
        shorter = next(as_fractions(self.graph, plain), plain)
        return shorter if shorter.shape == plain.shape and tree_size(reachable([shorter])) < size else plain


def _holds(condition: Expr, bound: Bound, value_of: Callable[[Expr], object]) -> bool:
    values = {letter: value_of(node) for letter, node in bound.items()}
    for leaf in (n for n in reachable([condition]) if n.is_leaf):
        if leaf not in values:
            return False
    return bool(np.all(forward([condition], values)[condition]))
