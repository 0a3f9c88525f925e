"""Formulas as a textbook prints them.

Of several equal ways to write an expression, the one with the fewest operations is taken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from gradcli.formulas.algebra import Algebra
from gradcli.formulas.powers import (
    ONE,
    ZERO,
    Base,
    Number,
    Polynomial,
    Unsimplified,
    Value,
    has_point,
    lean,
    product,
)
from gradcli.formulas.products import (
    Fractions,
    Piece,
    double_angle,
    exponentials_inside,
    hyperbolic,
    with_absolutes,
    with_ratios,
)
from gradcli.graph.nodes import Expr, Graph, interpret, reachable
from gradcli.ops.arrays.shapes import broadcast_to, getitem, transpose
from gradcli.ops.constants import E
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import where

# -- Values as nodes again: of the ways to write a product or a sum, the one with the fewest
# operations.


Effort = Literal["plain", "quick", "thorough"]
# the terms of a sum that is multiplied out, the work for an expression (products of terms, about),
# how deep all ways are tried, and the values that are written
_EFFORTS: dict[Effort, tuple[int, float, int, float]] = {
    "plain": (0, math.inf, 0, math.inf),
    "quick": (40, 220, 1, 150),
    "thorough": (300, 12_000, 3, 1500),
}
_SUMS, _FUNCTIONS, _POWERS, _NAMES, _CONSTANTS = 4, 3, 2, 1, 0  # order of factors, last to first
_SHORT_SUM = 6  # longest sum into which every factor is multiplied on trial
_NESTED = 40  # most values open within each other; a deeper formula is no textbook's


def _rank(base: Base) -> int:
    if base.terms is not None:
        return _SUMS
    if base.op is getitem:
        return _NAMES
    if base.node is None:
        return _FUNCTIONS
    return _NAMES if isinstance(base.node, Expr) else _CONSTANTS


class Layout(Fractions):
    """Writes the values of an algebra into a graph."""

    def __init__(self, graph: Graph, algebra: Algebra, effort: Effort) -> None:
        super().__init__(graph)
        self.algebra = algebra
        self.bare: dict[int, Expr] = {}  # functions and names, by the numbers of their bases
        self.open: set[Value] = set()  # values that are being written
        self.thorough = effort == "thorough"
        self.nodes: dict[Value, tuple[int, Expr]] = {}  # each with the depth it was written at
        *_, self.deepest, self.most = _EFFORTS[effort]
        self.left = self.most
        self._depth = 0

    def abandon(self) -> None:
        """Forget what is being written, of which no more is wanted."""
        self.open.clear()
        self._depth = 0

    def write(self, value: Value) -> Expr:
        """Return the shortest node found for a value."""
        depth, self._depth = self._depth, 0
        found = self.node(value)
        self._depth = depth
        return found

    def node(self, value: Value) -> Expr:
        """Return the shortest node found for a value inside of another.

        Fewer ways are tried the deeper it is. Raises Unsimplified for a value that is nested too
        deeply.
        """
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
            if len(self.open) > _NESTED:
                raise Unsimplified
            self.left -= 1
            found = self._shortest(value)
            self._depth = outer
            self.open.discard(value)
        self.nodes[value] = (depth if monomial else 0, found)
        self.algebra.known.setdefault(found, value)
        return found

    @property
    def wide(self) -> bool:
        """Return True where all ways are tried, not only the first."""
        return self._depth <= self.deepest

    def _shortest(self, value: Value) -> Expr:
        best: Expr | None = None
        for candidate in self.ways(value):
            if best is None or self.cost(candidate) < self.cost(best):
                best = candidate
            if not self.algebra.largest or (
                not self.wide and (len(value[1]) > 1 or value[1][0][1] != 1)
            ):
                break
        assert best is not None
        return best

    def ways(self, value: Value) -> Iterator[Expr]:
        """Products and sums that are the value, those that are preferred among equals first."""
        number, monomial = value
        bases = self.algebra.bases
        sums = [base for base, exponent in monomial if exponent == 1 and base in bases.sums]
        if len(monomial) == 1 and sums:
            if number not in (1, -1) and not self.algebra.largest:
                yield self.product_of(value)
            yield from self._sums(bases[sums[0]], number)
            if number not in (1, -1):
                yield self.product_of(value)
            return
        yield self.product_of(value)
        for form in (double_angle, hyperbolic, exponentials_inside):
            other = form(self.algebra, value)
            if other != value:
                yield self.product_of(other)
        for base in sums:
            rest: Value = (number, product(monomial, ((base, -1),)))
            yield from self._distribute(bases[base], rest)

    # -- sums
    # -------------------------------------------------------------------------------------------------

    def _sums(self, base: Base, number: Number) -> Iterator[Expr]:
        """Yield ways to write a sum times a number."""
        yield self._plain([(lean(c * number), m) for m, c in base.terms.items()])
        for origin in base.origins:
            found = self.add([(lean(c * number), m) for c, m in origin])
            if found is not None:
                yield found
        if self.wide and 2 < len(base.terms) <= (40 if self.thorough else 8):
            yield from self._nest(base.terms, number)

    def _distribute(self, base: Base, rest: Value) -> Iterator[Expr]:
        """(x + y)/x as 1 + y/x."""
        lists = [*base.origins]
        if len(base.terms) <= _SHORT_SUM:
            lists.append([(c, m) for m, c in base.terms.items()])
        for terms in lists:
            if len(terms) <= _SHORT_SUM or self.thorough:
                found = self.add([self.algebra.times(rest, term) for term in terms])
                if found is not None:
                    yield found
                    if self.wide and len(rest[1]) > 1:
                        yield from self._partly_distributed(terms, rest)

    def _partly_distributed(self, terms: Sequence[Value], rest: Value) -> Iterator[Expr]:
        """x*(a*y + b)/y as x*(a + b/y)."""
        below = tuple([(base, exponent) for base, exponent in rest[1] if exponent < 0])
        above = tuple([(base, exponent) for base, exponent in rest[1] if exponent > 0])
        if below and above:
            found = self.add([self.algebra.times((1, below), term) for term in terms])
            if found is not None:
                yield self.product_of((rest[0], above), found)

    def _nest(self, terms: Polynomial, number: Number) -> Iterator[Expr]:
        """a*x + b*x + c as (a + b)*x + c, by the bases that most terms have."""
        counts = Counter([base for monomial in terms for base, e in monomial if e > 0])
        for base, count in counts.most_common(4 if self.thorough else 1):
            if count < 2:
                break
            inside: list[Value] = []
            outside: list[Value] = []
            for monomial, c in terms.items():
                (inside if dict(monomial).get(base, 0) > 0 else outside).append(
                    (lean(c * number), monomial)
                )
            parts = [self.algebra.total(inside), self.algebra.total(outside)]
            nested = self.add([part for part in parts if part[0]])
            if nested is not None:
                yield nested

    def add(self, values: Sequence[Value]) -> Expr | None:
        """Write the sum of values as it stands.

        Gives None if one of the values is itself being written.
        """
        if any(value in self.open or (-value[0], value[1]) in self.open for value in values):
            return None
        return self._plain(values)

    def _plain(self, values: Sequence[Value]) -> Expr:
        first, *others = self._order_terms(values)
        result = self.node(first)
        for number, monomial in others:
            node = self.node((-number if number < 0 else number, monomial))
            result = result - node if number < 0 else result + node
        return result

    def _order_terms(self, values: Sequence[Value]) -> list[Value]:
        """Order terms by falling degree, but a positive term first: 1 - x**2."""
        ordered = sorted(values, key=self._place_of_term)
        if ordered[0][0] < 0:
            if ordered[-1][0] > 0:
                ordered.reverse()
            else:
                lead = next((i for i, value in enumerate(ordered) if value[0] > 0), 0)
                ordered.insert(0, ordered.pop(lead))
        return ordered

    def _place_of_term(
        self, value: Value
    ) -> tuple[bool, Number, list[tuple[tuple[str, int], Number]]]:
        bases = self.algebra.bases
        degree = sum(
            [e for b, e in value[1] if isinstance(bases[b].node, Expr) or bases[b].op is getitem]
        )
        whole_sum = len(value[1]) == 1 and value[1][0][0] in bases.sums
        return (
            not whole_sum,
            -degree,
            sorted((self.place(base), -exponent) for base, exponent in value[1]) or [(("~", 0), 0)],
        )

    # -- products: factors in the order of textbooks, exponentials and powers together, quotients
    # of functions by their names

    def product_of(self, value: Value, *others: Expr) -> Expr:
        """Write a product as it stands, with other sums at its end."""
        branch = None if others else self._into_branch(value)
        if branch is not None:
            return self.write(branch)
        value = self._roots_below(self._with_inverse(value))
        number, monomial = with_ratios(self.algebra, with_absolutes(self.algebra, value))
        bases = self.algebra.bases
        pieces: list[Piece] = [(_SUMS, ("~", i), node, 1) for i, node in enumerate(others)]
        powers: dict[Value | None, list[Value]] = {}  # exponents by their base; None stands for e
        plain = dict(monomial)
        for base_number, exponent in monomial:
            base = bases[base_number]
            if base.by is not None:
                powers.setdefault(base.of, []).append((lean(base.by[0] * exponent), base.by[1]))
                del plain[base_number]
        for of, parts in powers.items():
            if of is None:
                total = self.algebra.total(parts)
                rank = _CONSTANTS if total == ONE else _POWERS
                pieces.append((rank, ("~", 0), self._exponential(total), 1))
                continue
            if of[0] == 1 and [e for _, e in of[1]] == [1]:
                whole = plain.pop(of[1][0][0], 0)
                if whole:
                    parts.append((whole, ()))
            total = self.algebra.total(parts)
            sign = -1 if total[0] < 0 else 1
            node = self.write(of) ** self.write((sign * total[0], total[1]))
            pieces.append((_POWERS, self.place(of[1][0][0] if of[1] else 0), node, sign))
        for base_number, exponent in plain.items():
            base = bases[base_number]
            raised = lean(Fraction(exponent, base.modulus if base.of else 1))
            pieces.append((_rank(base), self.place(base_number), self._bare(base), raised))
        if number < 0:
            number = self._sign_inside(number, pieces)
        return self.fraction(number, pieces)

    def _into_branch(self, value: Value) -> Value | None:
        """Rewrite c*where(b, x, 0) as where(b, c*x, 0), or return None.

        In this way nothing is computed where it does not count.
        """
        for number, exponent in value[1]:
            base = self.algebra.bases[number]
            if (
                base.op is where
                and exponent == 1
                and number in self.algebra.bases.joinable
                and value != (1, ((number, 1),))
            ):
                rest = (value[0], product(value[1], ((number, -1),)))
                condition, *sides = base.operands
                sides = [self.algebra.times(rest, side or ZERO) for side in sides]
                return self.algebra.function(base.op, [condition, *sides], {})
        return None

    def _with_inverse(self, value: Value) -> Value:
        """adjugate(X).T/det(X) as inv(X).T."""
        bases = self.algebra.bases
        for number, _ in value[1]:
            base = bases[number]
            turned = base.operands[0] if base.op is transpose else None
            source = bases[turned[1][0][0]] if turned and len(turned[1]) == 1 else base
            if source is base or source.op is None or not source.op.core_dims:
                continue
            from gradcli.ops.linalg.matrix_functions import (
                adjugate,
                det,
                inv,
            )  # already loaded, or there is nothing to find

            for divisor, exponent in value[1]:
                other = bases[divisor]
                same = other.op is det and other.operands == source.operands
                if source.op is adjugate and same and exponent <= -1:
                    inverse = self.algebra.function(inv, source.operands, inv.static, like=source)
                    named = self.algebra.function(transpose, [inverse], base.static, like=base)
                    rest = product(value[1], ((number, -1), (divisor, 1)))
                    return self.algebra.times((value[0], rest), named)
        return value

    def place(self, number: int) -> tuple[str, int]:
        """Names by the alphabet, all else in the order in which it was met."""
        base = self.algebra.bases[number]
        while base.op is getitem and base.operands[0] and len(base.operands[0][1]) == 1:
            base = self.algebra.bases[base.operands[0][1][0][0]]
        named = isinstance(base.node, Expr) and base.node.is_leaf
        return base.node.name.lower() if named else "", number

    def _sign_inside(self, number: Number, pieces: list[Piece]) -> Number:
        """Return the number left when -(a - b) is written as b - a, where that is no longer."""
        for i, (rank, place, node, exponent) in enumerate(pieces):
            if rank == _SUMS and place[0] != "~" and exponent % 2 == 1:
                opposite = self.add([(-1, ((place[1], 1),))])
                if (
                    opposite is not None
                    and self.cost(opposite) <= self.cost(node)
                    and opposite.op is not arithmetic.neg
                ):
                    pieces[i] = (rank, place, opposite, exponent)
                    return -number
        return number

    def _roots_below(self, value: Value) -> Value:
        """sqrt(u)/u as 1/sqrt(u), where u is no single factor."""
        bases = self.algebra.bases
        best = value
        for base, exponent in value[1]:
            modulus, under = bases[base].modulus, bases[base].reduced
            if exponent < 1 or under == ONE:
                continue
            for times in (-1, 1, 2):
                more, other = self.algebra.raise_to(under, times)
                changed: Value = (
                    lean(value[0] * more),
                    product(product(value[1], ((base, -modulus * times),)), other),
                )
                if self._weight(changed) < self._weight(best):
                    best = changed
        return best

    def _weight(self, value: Value) -> Number:
        """Return how much of a product there is, roughly."""
        number, monomial = value
        bases = self.algebra.bases
        size = sum(
            1 + (abs(e) != 1) + sum(len(m) + 1 for m in bases[b].terms or ()) for b, e in monomial
        )
        whole = number.denominator == 1 or has_point(number)
        return size + (number.numerator not in (1, -1)) + (not whole)

    def _exponential(self, value: Value) -> Expr:
        e, node = self.graph.constant(E), self.write(value)
        if value == ONE:
            return e
        power = self.graph.apply(exponential.pow_, (e, node))
        return power if self.algebra.euler else self.graph.apply(exponential.exp, (node,))

    def _bare(self, base: Base) -> Expr:
        """Return the node of a single base."""
        found = self.bare.get(base.number)
        if found is None:
            if isinstance(base.node, Expr):
                found = base.node
            elif base.node is not None:
                found = self.graph.constant(base.node)
            elif base.op is not None:
                found = self.call(base)
            elif base.of is not None:
                found = self.write(base.of)
            else:
                return self.node((1, ((base.number, 1),)))
            self.bare[base.number] = found
        return found

    def call(self, base: Base) -> Expr:
        """Return a function of its operands, each written as short as possible."""
        nodes = [None if o is None else self.write(o) for o in base.operands]
        if base.shapes:
            nodes = [
                n if n is None or n.shape == s else broadcast_to(n, shape=s)
                for n, s in zip(nodes, base.shapes, strict=True)
            ]
        return self.graph.apply(base.op, nodes, base.static)


class Textbook:
    """Facts about the expressions of one graph while several of them are written.

    plainly  writes them by few rules, in little time
    """

    def __init__(self, graph: Graph, effort: Effort = "quick") -> None:
        largest, self.work, *_ = _EFFORTS[effort]
        self.algebra = Algebra(largest)
        self.layout = Layout(graph, self.algebra, effort)
        self.algebra.written = self.layout.write
        self.plainly = Textbook(graph, "plain") if largest else self
        self.values: dict[Expr, Value] = {}

    def __call__(self, expr: Expr) -> Expr:
        order, simple = reachable([expr]), expr
        if self.plainly is not self and any(
            node.shape or (node.op is not None and node.op.algebra == "choice") for node in order
        ):
            simple = self.plainly(expr)
            order = reachable([simple])
        try:
            value = self._value(order, simple)
            found = self.layout.write(
                self.algebra.without_conjugates(value) if self.algebra.largest else value
            )
        except Unsimplified:
            self.layout.abandon()
            return expr if self.plainly is self else self.plainly(expr)
        return found if found.shape == expr.shape else broadcast_to(found, shape=expr.shape)

    def _value(self, order: list[Expr], expr: Expr) -> Value:
        self.algebra.left, self.layout.left = self.work, self.layout.most
        value: Value = interpret(order, self.algebra, self.values)[expr]
        self.layout.left = self.layout.most
        return value

    def ways(self, expr: Expr) -> list[Expr]:
        """Return ways to write an expression over a common denominator.

        They are factored, multiplied out and in between, as far as that takes little work.
        """
        order = reachable([expr])
        found: list[Expr] = []
        if any(node.shape not in ((), expr.shape) for node in order):
            return found
        try:
            value = self._value(order, expr)
            found.append(self.layout.product_of(value))
            found += self.layout.ways(value)
        except Unsimplified:
            self.layout.abandon()
        return found


def textbook(expr: Expr, *, effort: Effort = "quick") -> Expr:
    """Return an equal node of the same graph and shape with fewer operations, if one is found.

    effort  "plain" finds like terms and factors, and no more; "quick" is for what prints a formula
            beside many other things, in about the time that a sweep takes; "thorough" tries more
            ways to write the same, within some 50 ms

    Two nodes are equal if at every point where ``expr`` has a value the result has the same, up to
    rounding, except at points where a cancelled factor is zero. The result may be defined where
    ``expr`` is not: the derivative of log(x) is 1/x for negative x, too. The result's printed form
    (`printing.formula`, `latex.latex`) reads back to the same graph. Nothing is raised: an
    expression that cannot be simplified is returned unchanged. Callers that print the result
    compare it with the engine's gradient first, as `formulas/derivatives.py` does.
    """
    return Textbook(expr.graph, effort)(expr)


def simplify(roots: list[Expr], graph: Graph) -> list[Expr]:
    """Simplified nodes that equal the roots, in the same graph, found by few rules."""
    write = Textbook(graph, "plain")
    return [write(root) for root in roots]
