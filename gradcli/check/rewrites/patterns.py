"""Patterns of expressions: where one matches, and what stands in the place of its letters.

A pattern is an expression of the language whose names are holes. Sums match some terms of a sum, in any order, and leave the others; so do
products. A hole that is met again must be the same expression. What recurs here does so over a pattern, never over an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import islice

from gradcli.check.rewrites.parts import Factor, Inexact, Term, factors, is_product, is_sum, merged_factors, number, product, terms, total
from gradcli.check.rewrites.standard import Standard
from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr, Graph, reachable

Bound = Mapping[Expr, Expr]

_MOST_PARTS = 12  # terms or factors among which a pattern is looked for
_MOST_MATCHES = 12


class Matcher:
    """Finds patterns in expressions of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._terms_known: dict[Expr, list[Term]] = {}
        self._factors_known: dict[Expr, tuple[Fraction, list[Factor]]] = {}

    def _terms_given(self, node: Expr) -> list[Term]:
        if node not in self._terms_known:
            self._terms_known[node] = terms(node)
        return self._terms_known[node]

    def _factors_given(self, node: Expr) -> tuple[Fraction, list[Factor]]:
        if node not in self._factors_known:
            self._factors_known[node] = factors(node)
        return self._factors_known[node]

    def found(self, pattern: Expr, node: Expr) -> Iterator[tuple[Bound, Rest]]:
        """The ways in which a pattern matches a node, or a part of it as a sum or a product, each with what is left over."""
        yield from islice(self._found(pattern, node), _MOST_MATCHES)

    def _found(self, pattern: Expr, node: Expr) -> Iterator[tuple[Bound, Rest]]:
        if is_sum(pattern):
            if is_sum(node):
                wanted, given = _terms_of(pattern), self._terms_given(node)
                if len(wanted) <= len(given) <= _MOST_PARTS:
                    for sign in (1, -1):
                        for bound, left in self._terms([(sign * c, core) for c, core in wanted], given, {}, part=True):
                            yield bound, Rest(sign, left, None)
        elif is_product(pattern) and is_product(node):
            for bound, scale, above in self._factors(pattern, node, {}, part=True):
                yield bound, Rest(scale, [], above)
        else:
            for bound in self.matches(pattern, node, {}):
                yield bound, Rest(1, [], None)

    def matches(self, pattern: Expr, node: Expr, bound: Bound) -> Iterator[Bound]:
        """The ways in which a pattern is a node as a whole, with what is bound already."""
        if pattern.is_leaf:
            if pattern not in bound:
                yield {**bound, pattern: node}
            elif bound[pattern] is node:
                yield bound
            return
        if pattern.is_constant:
            same = node.is_constant and not node.shape and node.payload == pattern.payload and number(node) == number(pattern)
            if same:
                yield bound
            return
        if all(hole in bound for hole in _holes(pattern)):
            if self._equal(self.built(pattern, bound), node):
                yield bound
            return
        if is_sum(pattern):
            given = self._terms_given(node)
            if len(given) <= _MOST_PARTS:
                for further, _ in self._terms(_terms_of(pattern), given, bound, part=False):
                    yield further
        elif is_product(pattern):
            for further, _, _ in self._factors(pattern, node, bound, part=False):
                yield further
        elif pattern.op is node.op and dict(pattern.static) == dict(node.static) and len(pattern.operands) == len(node.operands):
            yield from self._operands(list(zip(pattern.operands, node.operands, strict=True)), bound)

    def _operands(self, pairs: Sequence[tuple[Expr | None, Expr | None]], bound: Bound) -> Iterator[Bound]:
        if not pairs:
            yield bound
            return
        (pattern, node), rest = pairs[0], pairs[1:]
        if pattern is None or node is None:
            if pattern is node:
                yield from self._operands(rest, bound)
            return
        for further in self.matches(pattern, node, bound):
            yield from self._operands(rest, further)

    def built(self, pattern: Expr, bound: Bound) -> Expr:
        """A pattern with what is bound in the place of its holes."""
        built: Expr = interpret(reachable([pattern]), Standard(self.graph), dict(bound))[pattern]
        return built

    def _equal(self, x: Expr, y: Expr) -> bool:
        if x is y:
            return True
        if not (is_sum(x) and is_sum(y)):
            return False
        given = sorted(((core.index if core is not None else 0, c) for c, core in terms(x)))
        return given == sorted(((core.index if core is not None else 0, c) for c, core in terms(y)))

    # -- sums -------------------------------------------------------------------------------------------------

    def _terms(self, wanted: list[Term], given: list[Term], bound: Bound, *, part: bool) -> Iterator[tuple[Bound, list[Term]]]:
        if not wanted:
            if part or not given:
                yield bound, given
            return
        place = min(range(len(wanted)), key=lambda i: _looseness(wanted[i][1], bound))
        (coefficient, core), others = wanted[place], wanted[:place] + wanted[place + 1 :]
        if core is not None and core.is_leaf and core in bound:
            known = terms(bound[core])
            left = _without(given, [(coefficient * c, x) for c, x in known])
            if left is not None:
                yield from self._terms(others, left, bound, part=part)
            return
        if core is not None and core.is_leaf:
            try:
                for taken, left in _portions(given, last=not others, part=part):
                    node = total(self.graph, [(c / coefficient, x) for c, x in taken])
                    yield from self._terms(others, left, {**bound, core: node}, part=part)
            except Inexact:
                return
            return
        for i, (c, x) in enumerate(given):
            left = given[:i] + given[i + 1 :]
            if core is None or x is None:
                if core is x and c == coefficient:
                    yield from self._terms(others, left, bound, part=part)
            elif c == coefficient:
                for further in self.matches(core, x, bound):
                    yield from self._terms(others, left, further, part=part)
            elif is_product(core) and abs(c) != abs(coefficient):
                try:
                    node = product(self.graph, c / coefficient, [(x, 1)])
                except Inexact:
                    continue
                for further in self.matches(core, node, bound):
                    yield from self._terms(others, left, further, part=part)

    # -- products ---------------------------------------------------------------------------------------------

    def _factors(self, pattern: Expr, node: Expr, bound: Bound, *, part: bool) -> Iterator[tuple[Bound, Fraction, list[Factor]]]:
        (size, wanted), (scale, given) = _factors_of(pattern), self._factors_given(node)
        if len(given) > _MOST_PARTS or not size or not scale or (part and len(wanted) > len(given) + 1):
            return
        yield from self._picked(wanted, given, scale / size, bound, part=part)

    def _picked(
        self, wanted: list[Factor], given: list[Factor], scale: Fraction, bound: Bound, *, part: bool
    ) -> Iterator[tuple[Bound, Fraction, list[Factor]]]:
        if not wanted:
            if part or (not given and scale == 1):
                yield bound, scale, given
            return
        place = min(range(len(wanted)), key=lambda i: _looseness(wanted[i][0], bound))
        (base, exponent), others = wanted[place], wanted[:place] + wanted[place + 1 :]
        if base.is_leaf and base not in bound and abs(exponent) == 1:
            for taken, used, left in _shares(given, scale, exponent, last=not others, part=part):
                try:
                    node = product(self.graph, used, [(b, e * exponent) for b, e in taken])
                except Inexact:
                    continue
                yield from self._picked(others, left, scale / used**exponent, {**bound, base: node}, part=part)
            return
        if base.is_leaf and base in bound:
            known, powers = factors(bound[base])
            left_over = _taken_out(given, [(b, e * exponent) for b, e in powers])
            if left_over is not None and known:
                yield from self._picked(others, left_over, scale / known**exponent, bound, part=part)
            return
        for i, (b, e) in enumerate(given):
            if e * exponent <= 0 or abs(e) < abs(exponent):
                continue
            rest = [*given[:i], *([(b, e - exponent)] if e != exponent else []), *given[i + 1 :]]
            for further in self.matches(base, b, bound):
                yield from self._picked(others, rest, scale, further, part=part)


class Rest:
    """What a match leaves over: other terms of a sum, or other factors of a product."""

    def __init__(self, scale: Fraction | int, left_terms: list[Term], left_factors: list[Factor] | None) -> None:
        self.scale, self.terms, self.factors = Fraction(scale), left_terms, left_factors

    def around(self, graph: Graph, node: Expr) -> Expr:
        """A replacement with what was left over. Raises Inexact where that is no floats' sum."""
        if self.factors is not None:
            return product(graph, self.scale, merged_factors([(node, 1), *self.factors]))
        if self.terms or self.scale != 1:
            own = [(self.scale * c, core) for c, core in terms(node)] if is_sum(node) and not self.terms else [(self.scale, node)]
            return total(graph, [*own, *self.terms])
        return node


_terms_of, _factors_of = cache(terms), cache(factors)  # of patterns


@cache
def _holes(pattern: Expr) -> list[Expr]:
    """The holes of a pattern, of which there are as many as identities."""
    return [node for node in reachable([pattern]) if node.is_leaf]


def _looseness(core: Expr | None, bound: Bound) -> int:
    """Numbers are looked for first, then what has a form, then holes that are known, and other holes last."""
    if core is None:
        return 0
    if core.is_leaf:
        return 1 if core in bound else 4
    return 3 if not all(hole in bound for hole in _holes(core)) else 2


def _without(given: list[Term], known: list[Term]) -> list[Term] | None:
    left = list(given)
    for term in known:
        if term not in left:
            return None
        left.remove(term)
    return left


def _portions(given: list[Term], *, last: bool, part: bool) -> Iterator[tuple[list[Term], list[Term]]]:
    """What a hole may stand for: all terms that are left, or one of them, or all but one."""
    if not given:
        return
    if last:
        yield given, []
    if len(given) > 1 and (part or not last):
        for i in range(len(given)):
            rest = given[:i] + given[i + 1 :]
            yield [given[i]], rest
            if len(given) > 2:
                yield rest, [given[i]]


def _shares(
    given: list[Factor], scale: Fraction, exponent: int, *, last: bool, part: bool
) -> Iterator[tuple[list[Factor], Fraction, list[Factor]]]:
    """The same of a product: the factors on one side of its line, with the number or without, or one of them."""
    own = [(b, e) for b, e in given if e * exponent > 0]
    others = [(b, e) for b, e in given if e * exponent < 0]
    if not own and not (exponent > 0 and given):
        return
    if last and not part:
        yield given, scale if exponent > 0 else 1 / scale, []
        return
    if own:
        yield own, Fraction(1), others
        if scale not in (1, -1) and exponent > 0:
            yield own, scale, others
    if len(own) > 1:
        for i, one in enumerate(own):
            yield [one], Fraction(1), [*own[:i], *own[i + 1 :], *others]
    if exponent > 0 and others:
        yield given, scale, []


def _taken_out(given: list[Factor], known: list[Factor]) -> list[Factor] | None:
    table = dict(given)
    for base, exponent in known:
        left = table.get(base, 0) - exponent
        if base not in table or table[base] * exponent <= 0 or left * exponent < 0:
            return None
        if left:
            table[base] = left
        else:
            del table[base]
    return list(table.items())
