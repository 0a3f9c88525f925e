"""Values as nodes again: of the ways to write a product or a sum, the one with the fewest operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcli.formulas.algebra import Algebra
from gradcli.formulas.bases import Base, Value
from gradcli.formulas.other_forms import absorbed, doubled, halved, joined
from gradcli.formulas.polynomials import Monomial, Number, Polynomial, lean, product
from gradcli.formulas.powers import Unsimplified
from gradcli.formulas.products import Products
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.shapes import getitem

_SHORT_SUM = 6  # terms that are tried with every factor around them
_NESTED = 40  # values within values that are written; what is nested deeper is no textbook's formula


class Layout(Products):
    """Writes the values of an algebra into a graph."""

    def __init__(self, graph: Graph, algebra: Algebra, thorough: bool) -> None:
        super().__init__(graph, algebra)
        self.thorough = thorough
        self.nodes: dict[Value, tuple[int, Expr]] = {}  # with the depth at which they were found
        self.deepest = 3 if thorough else 1
        self.most = 1500 if thorough else 150
        self.left = self.most
        self._depth = 0
        self._nested_values = 0
        self._wide = True

    def abandon(self) -> None:
        """Forget what is being written, of which no more is wanted."""
        self.open.clear()
        self._depth = self._nested_values = 0

    def write(self, value: Value) -> Expr:
        """The shortest node found for a value."""
        depth, self._depth = self._depth, 0
        found = self.node(value)
        self._depth = depth
        return found

    def node(self, value: Value) -> Expr:
        """The same inside of another, where less is tried the deeper it is. Raises Unsimplified for what is nested too deeply."""
        depth = self._depth if self.left > 0 else self.deepest
        known = self.nodes.get(value)
        if known is not None and known[0] <= depth:
            return known[1]
        number, monomial = value
        if not monomial:
            found = self.number(number)
        else:
            self.open.add(value)
            self._depth, outer = depth + 1, self._depth
            self._nested_values += 1
            if self._nested_values > _NESTED:
                raise Unsimplified
            self.left -= 1
            self._wide = depth < self.deepest
            found = self._shortest(value, self._wide)
            self._depth = outer
            self._nested_values -= 1
            self.open.discard(value)
        self.nodes[value] = (depth if monomial else 0, found)
        return found

    def _shortest(self, value: Value, wide: bool) -> Expr:
        best: Expr | None = None
        for candidate in self._ways(value):
            if best is None or self.cost(candidate) < self.cost(best):
                best = candidate
            if not wide and (len(value[1]) > 1 or value[1][0][1] != 1):
                break
        assert best is not None
        return best

    def _ways(self, value: Value) -> Iterator[Expr]:
        """Products and sums that are the value, those that are preferred among equals first."""
        number, monomial = value
        bases = self.algebra.bases
        sums = [base for base, exponent in monomial if exponent == 1 and base in bases.sums]
        if len(monomial) == 1 and sums:
            yield from self._sums(bases[sums[0]], number)
            if number not in (1, -1):
                yield self.product_of(value)
            return
        several = [(b, e) for b, e in monomial if e >= 1 and b in bases.sums]
        if self._wide and (len(several) > 1 or (several and several[0][1] > 1)):
            yield from self._multiplied_out(number, monomial)
        yield self.product_of(value)
        twice = doubled(self.algebra, value)
        if twice is not None:
            yield self.product_of(twice)
        half = halved(self.algebra, value)
        if half is not None:
            yield self.product_of(half)
        inside = absorbed(self.algebra, value)
        if inside is not None:
            yield self.product_of(inside)
        fewer = joined(self.algebra, value) if self._wide else None
        if fewer is not None:
            yield self.product_of(fewer)
        for base in sums:
            rest: Value = (number, product(monomial, ((base, -1),)))
            yield from self._distributed(bases[base], rest)

    # -- sums -------------------------------------------------------------------------------------------------

    def _sums(self, base: Base, number: Number) -> Iterator[Expr]:
        """A sum times a number."""
        assert base.terms is not None
        yield self._plain([(lean(c * number), m) for m, c in base.terms.items()])
        for origin in base.origins:
            found = self.added([(lean(c * number), m) for c, m in origin])
            if found is not None:
                yield found
        if self._depth <= self.deepest and 2 < len(base.terms) <= (40 if self.thorough else 8):
            yield from self._nested(base.terms, number)

    def _distributed(self, base: Base, rest: Value) -> Iterator[Expr]:
        """(x + y)/x as 1 + y/x."""
        assert base.terms is not None
        lists = [*base.origins]
        if len(base.terms) <= _SHORT_SUM:
            lists.append([(c, m) for m, c in base.terms.items()])
        for terms in lists:
            if len(terms) <= _SHORT_SUM or self.thorough:
                found = self.added([self.algebra.times(rest, term) for term in terms])
                if found is not None:
                    yield found
                if found is not None and self._wide and len(rest[1]) > 1:
                    yield from self._partly_distributed(terms, rest)

    def _partly_distributed(self, terms: Sequence[Value], rest: Value) -> Iterator[Expr]:
        """x*(a*y + b)/y as x*(a + b/y)."""
        below = tuple([(base, exponent) for base, exponent in rest[1] if exponent < 0])
        above = tuple([(base, exponent) for base, exponent in rest[1] if exponent > 0])
        if below and above:
            found = self.added([self.algebra.times((1, below), term) for term in terms])
            if found is not None:
                yield self.product_of((rest[0], above), found)

    def _multiplied_out(self, number: Number, monomial: Monomial) -> Iterator[Expr]:
        """(x - 1)*(x + 1) as x**2 - 1."""
        terms = self.algebra.expanded(monomial)
        if terms is not None and len(terms) <= 3:
            found = self.added([(lean(c * number), m) for m, c in terms.items()])
            if found is not None:
                yield found

    def _nested(self, terms: Polynomial, number: Number) -> Iterator[Expr]:
        """a*x + b*x + c as (a + b)*x + c, by the bases that most terms have."""
        counts: dict[int, int] = {}
        for monomial in terms:
            for base, exponent in monomial:
                if exponent > 0:
                    counts[base] = counts.get(base, 0) + 1
        found = sorted((base for base, count in counts.items() if count > 1), key=lambda base: -counts[base])
        for base in found[: 4 if self.thorough else 1]:
            inside: list[Value] = []
            outside: list[Value] = []
            for monomial, c in terms.items():
                (inside if dict(monomial).get(base, 0) > 0 else outside).append((lean(c * number), monomial))
            parts = [self.algebra.total(inside), self.algebra.total(outside)]
            nested = self.added([part for part in parts if part[0]])
            if nested is not None:
                yield nested

    def added(self, values: Sequence[Value]) -> Expr | None:
        """The sum of values as it stands; None where it is made of something that is just being written."""
        if any(value in self.open or (-value[0], value[1]) in self.open for value in values):
            return None
        return self._plain(values)

    def _plain(self, values: Sequence[Value]) -> Expr:
        ordered = self._ordered(values)
        result: Expr | None = None
        for value in ordered:
            if result is None:
                result = self.node(value)
            elif value[0] < 0:
                result = result - self.node((-value[0], value[1]))
            else:
                result = result + self.node(value)
        assert result is not None
        return result

    def _ordered(self, values: Sequence[Value]) -> list[Value]:
        """By falling degree, but a positive term first: 1 - x**2."""
        ordered = sorted(values, key=self._rank)
        if ordered[0][0] < 0:
            if ordered[-1][0] > 0:
                ordered.reverse()
            else:
                lead = next((i for i, value in enumerate(ordered) if value[0] > 0), 0)
                ordered.insert(0, ordered.pop(lead))
        return ordered

    def _rank(self, value: Value) -> tuple[bool, Number, list[tuple[tuple[str, int], Number]]]:
        bases = self.algebra.bases
        degree: Number = 0
        for base, exponent in value[1]:
            if isinstance(bases[base].node, Expr) or bases[base].op is getitem:
                degree += exponent
        whole_sum = len(value[1]) == 1 and value[1][0][0] in bases.sums
        return not whole_sum, -degree, sorted((self.place(base), -exponent) for base, exponent in value[1]) or [(("~", 0), 0)]
