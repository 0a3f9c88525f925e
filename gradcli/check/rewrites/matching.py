"""The identities as rules on graphs: read once by the language's own reader, matched against nodes, and built in their place.

A pattern is an expression of the language whose names are holes; a hole that is met again must be the same expression. Sums and products
are matched in their normal form. What recurs here does so over a pattern, never over an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.rewrites.identities import IDENTITIES, WIDER, Identity
from gradcli.check.rewrites.normal import NO_NUMBER, Normal, Standard, kind_of, number, opposite
from gradcli.graph.interpret import forward, interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.spec import Op

_OF_VECTORS = ("sum(", "prod(", "softmax(", "@")
_EXAMPLES = (0.5, np.ones(3), np.eye(3))  # letters by their axes; within a reduction the shape is of no account
_MOST_PARTS = 12  # among which a pattern is looked for
_MOST_MATCHES = 12

Bound = dict[Expr, Expr]


class Rule(NamedTuple):
    """An identity as nodes of a graph of its own, with its letters, and the operations without which it is nowhere."""

    operations: frozenset[Op | None]
    pattern: Expr
    equal: Expr
    condition: Expr | None


Table = dict[object, list[Rule]]


@cache
def rules(identities: tuple[Identity, ...] = IDENTITIES) -> Table:
    """Identities by the top of their pattern: a sum, a product, or any other operation."""
    programs = []
    for example in _EXAMPLES:
        scope = Scope()
        for letter in "abc":
            scope.bind_value(letter, example)
        programs.append(Program(scope))
    found: Table = {}
    for pattern, equal, condition in identities:
        axes = 2 if "det(" in pattern else int(any(word in pattern for word in _OF_VECTORS))
        wanted, result = (programs[axes].read(text, "<identity>") for text in (pattern, equal))
        only = programs[axes].read(condition, "<identity>") if condition else None
        standard: Expr = interpret(reachable([wanted]), Standard(wanted.graph))[wanted]
        found.setdefault(kind_of(standard) or standard.op, []).append(Rule(_operations(standard), standard, result, only))
    return found


def _operations(node: Expr) -> frozenset[Op | None]:
    """The operations in a node that are no arithmetic."""
    return frozenset(part.op for part in reachable([node]) if part.op is not None and not kind_of(part))


def apply_identities(
    graph: Graph, node: Expr, value_of: Callable[[Expr], object], identities: tuple[Identity, ...] = IDENTITIES
) -> Iterator[Expr]:
    """Yield what equals a node by one identity, where its condition holds at the values there are."""
    operations = _operations(node)
    for kind in dict.fromkeys((kind_of(node), node.op)):
        for rule in rules(identities).get(kind, ()):
            if not rule.operations <= operations:
                continue
            for bound, times, rest in islice(_found(rule.pattern, node), _MOST_MATCHES):
                if rule.condition is not None and not _holds(rule.condition, bound, value_of):
                    continue
                try:
                    equal: Expr = interpret(reachable([rule.equal]), _Tidy(graph), dict(bound))[rule.equal]
                    if times != 1 or rest.parts or rest.number != 1:
                        found = Normal(graph, rest.kind, [(equal, times)], rest.number)
                        for part, weight in rest.parts.items():
                            found.put(part, weight)
                        equal = found.build()
                    yield equal
                except NO_NUMBER:
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
            for better in apply_identities(graph, node, lambda _: 0.0, WIDER) if node.op is not None else ():
                if better.shape == node.shape:
                    yield rebuild([start], {node: better}, graph)[0]


class _Tidy(Standard):
    """As `Standard`, with tanh(-a) as -tanh(a)."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        inner = opposite(operands[0]) if op.facts.parity and len(operands) == 1 else None
        if inner is None:
            return super().operation(node, op, operands)
        plain = super().operation(node, op, [inner])
        return -plain if op.facts.parity == "odd" else plain


def _holds(condition: Expr, bound: Bound, value_of: Callable[[Expr], object]) -> bool:
    values = {letter: value_of(node) for letter, node in bound.items()}
    return bool(np.all(forward([condition], values)[condition]))


# -- matching -------------------------------------------------------------------------------------------------


def _found(pattern: Expr, node: Expr) -> Iterator[tuple[Bound, Fraction, Normal]]:
    """The ways in which a pattern matches a node or parts of it: what is bound, the pattern's factor or exponent, and what is left."""
    kind = kind_of(pattern)
    if not kind:
        yield from ((bound, Fraction(1), Normal(node.graph, "product")) for bound in _matches(pattern, node, {}))
        return
    given = Normal.of(node, kind)
    if len(given.parts) <= _MOST_PARTS:
        yield from _some(Normal.of(pattern, kind), given, None, {}, part=True)


def _matches(pattern: Expr, node: Expr, bound: Bound) -> Iterator[Bound]:
    """The ways in which a pattern is a node as a whole, with what is bound already."""
    kind = kind_of(pattern)
    if pattern.is_leaf:
        if bound.setdefault(pattern, node) is node:
            yield bound
    elif pattern.is_constant:
        if node.is_constant and not node.shape and node.payload == pattern.payload and number(node) == number(pattern):
            yield bound
    elif kind:
        wanted, given = Normal.of(pattern, kind), Normal.of(node, kind)
        if len(given.parts) <= _MOST_PARTS:
            given.number, wanted.number = given.number / wanted.number, Fraction(1)
            for further, _, _ in _some(wanted, given, Fraction(1), bound, part=False):
                yield further
    elif pattern.op is node.op and dict(pattern.static) == dict(node.static) and len(pattern.operands) == len(node.operands):
        found = [bound]
        for x, y in zip(pattern.operands, node.operands, strict=True):
            if x is not None and y is not None:
                found = [further for one in found for further in _matches(x, y, dict(one))]
            elif x is not y:
                return
        yield from found


def _some(wanted: Normal, given: Normal, times: Fraction | None, bound: Bound, *, part: bool) -> Iterator[tuple[Bound, Fraction, Normal]]:
    """The ways in which parts of one normal form, times one factor or to one power, are parts of another."""
    if not wanted.parts:
        if part or (not given.parts and given.number == 1):
            yield bound, times or Fraction(1), given
        return
    pattern = min(wanted.parts, key=lambda one: _looseness(one, bound))
    weight, others = wanted.parts[pattern], wanted.without(pattern)
    if times is not None and all(hole in bound for hole in _holes(pattern)):
        known: Expr = interpret(reachable([pattern]), Standard(given.graph), dict(bound))[pattern]
        rest = Normal(given.graph, given.kind, given.parts.items(), given.number)
        rest.put(known, -weight * times)
        less = all(0 <= w / given.parts.get(one, -w) <= 1 for one, w in rest.parts.items())
        if less and rest.parts != given.parts:
            yield from _some(others, rest, times, bound, part=part)
    elif not pattern.is_leaf:
        for node, own in given.parts.items():
            ratio = own / weight
            if times in (None, ratio) and (given.kind == "sum" or ratio.denominator == 1):
                for further in _matches(pattern, node, dict(bound)):
                    yield from _some(others, given.without(node), ratio, further, part=part)
    else:
        times = times or Fraction(1)
        for share, left in _shares(given, last=not others.parts, part=part):
            try:
                node = share.raised(1 / (weight * times)).build()
            except NO_NUMBER:
                continue
            yield from _some(others, left, times, {**bound, pattern: node}, part=part)


@cache
def _holes(pattern: Expr) -> list[Expr]:
    """The holes of a pattern, of which there are as many as identities."""
    return [node for node in reachable([pattern]) if node.is_leaf]


def _looseness(pattern: Expr, bound: Bound) -> int:
    """Numbers are looked for first, then what has a form, then holes that are known, and other holes last."""
    if pattern.is_leaf:
        return 2 if pattern in bound else 3
    return int(not pattern.is_constant)


def _shares(given: Normal, *, last: bool, part: bool) -> Iterator[tuple[Normal, Normal]]:
    """Yield what a hole may stand for: all that is left, or one part, or all but one."""
    parts = list(given.parts)
    nothing = Normal(given.graph, given.kind)
    if last and (parts or given.number != 1):
        yield given, nothing
    if len(parts) > 1 and (part or not last):
        for one in parts:
            rest = given.without(one)
            single = Normal(given.graph, given.kind, [(one, given.parts[one])])
            yield single, rest
            if len(parts) > 2:
                yield rest, single
