"""Values as nodes again: of the ways to write a product or a sum, the one with the fewest operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gradcli.formulas.algebra import Algebra, Quantity
from gradcli.formulas.bases import Base, Value
from gradcli.formulas.fractions import Fractions, Piece
from gradcli.formulas.polynomials import Monomial, Number, Polynomial, lean, power, product
from gradcli.formulas.short_forms import ratios
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.constants import E
from gradcli.ops.elementwise import arithmetic, exponential, hyperbolic

_SUMS, _FUNCTIONS, _POWERS, _NAMES, _CONSTANTS = 4, 3, 2, 1, 0  # the order of factors, from behind
_SHORT_SUM = 6  # terms that are tried with every factor around them


class Layout(Fractions):
    """Writes the values of an algebra into a graph."""

    def __init__(self, graph: Graph, algebra: Algebra, thorough: bool) -> None:
        super().__init__(graph)
        self.algebra, self.thorough = algebra, thorough
        self.nodes: dict[Value, tuple[int, Expr]] = {}  # with the depth at which they were found
        self.bare: dict[int, Expr] = {}  # functions and names by the numbers of their bases
        self.deepest = 3 if thorough else 1
        self.most = 1500 if thorough else 150
        self.left = self.most
        self._depth = 0
        self._wide = True
        self._open: set[Value] = set()

    def write(self, value: Value) -> Expr:
        """The shortest node found for a value."""
        depth, self._depth = self._depth, 0
        found = self.node(value)
        self._depth = depth
        return found

    def node(self, value: Value) -> Expr:
        """The same inside of another, where less is tried the deeper it is."""
        depth = self._depth if self.left > 0 else self.deepest
        known = self.nodes.get(value)
        if known is not None and known[0] <= depth:
            return known[1]
        number, monomial = value
        if not monomial:
            found = self.number(number)
        else:
            self._open.add(value)
            self._depth, outer = depth + 1, self._depth
            self.left -= 1
            self._wide = depth < self.deepest
            found = self._shortest(value, self._wide)
            self._depth = outer
            self._open.discard(value)
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
                yield self._product(value)
            return
        several = [(b, e) for b, e in monomial if e >= 1 and b in bases.sums]
        if self._wide and (len(several) > 1 or (several and several[0][1] > 1)):
            yield from self._multiplied_out(number, monomial)
        yield self._product(value)
        doubled = self._doubled(value)
        if doubled is not None:
            yield self._product(doubled)
        halved = self._hyperbolic(value)
        if halved is not None:
            yield self._product(halved)
        joined = self._joined(value) if self._wide else None
        if joined is not None:
            yield self._product(joined)
        for base in sums:
            rest: Value = (number, product(monomial, ((base, -1),)))
            yield from self._distributed(bases[base], rest)

    # -- sums -------------------------------------------------------------------------------------------------

    def _sums(self, base: Base, number: Number) -> Iterator[Expr]:
        """A sum times a number."""
        assert base.terms is not None
        for origin in base.origins:
            found = self.added([(lean(c * number), m) for c, m in origin])
            if found is not None:
                yield found
        yield self._plain([(lean(c * number), m) for m, c in base.terms.items()])
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

    def _multiplied_out(self, number: Number, monomial: Monomial) -> Iterator[Expr]:
        """(x - 1)*(x + 1) as x**2 - 1."""
        terms = self.algebra.expanded(monomial)
        if terms is not None and len(terms) <= 3:
            found = self.added([(lean(c * number), m) for m, c in terms.items()])
            if found is not None:
                yield found

    def _doubled(self, value: Value) -> Value | None:
        """2*sin(x)*cos(x) as sin(2*x)."""
        bases = self.algebra.bases
        powers = dict(value[1])
        for number, exponent in value[1]:
            op = bases[number].op
            if op is None or op.rewriting.doubled is None or op.facts.parity != "odd" or exponent < 1 or exponent.denominator != 1:
                continue
            operand = bases[number].operands[0]
            assert operand is not None
            whole: Value = op.rewriting.doubled(Quantity(self.algebra, operand)).value
            if all(powers.get(b) == exponent * e for b, e in whole[1]):
                twice = self.algebra.function(op, [self.algebra.times((2, ()), operand)], {})
                rest = (value[0], product(value[1], power(whole[1], -exponent)))
                return self.algebra.times(
                    rest, self.algebra.raised((1 / Fraction(whole[0]), ()), exponent), self.algebra.raised(twice, exponent)
                )
        return None

    def _hyperbolic(self, value: Value) -> Value | None:
        """exp(x)/(exp(x) - 1)**2 as 1/(4*sinh(x/2)**2): a sum with 1 that is left without its exponential."""
        bases, algebra = self.algebra.bases, self.algebra
        for base, exponent in value[1]:
            terms = bases[base].terms
            if terms is None or len(terms) != 2 or abs(terms.get((), 0)) != 1 or exponent.denominator != 1:
                continue
            raised, number = next((m, c) for m, c in terms.items() if m)
            if abs(number) != 1 or any(bases[b].by is None or bases[b].of is not None for b, _ in raised):
                continue
            rest = product(product(value[1], ((base, -exponent),)), power(raised, Fraction(exponent, 2)))
            if any(b == other for b, _ in rest for other, _ in raised):
                continue
            half = algebra.total([(lean(Fraction(e * bases[b].by[0]) / 2), bases[b].by[1]) for b, e in raised if bases[b].by is not None])
            function = hyperbolic.cosh if number == terms[()] else hyperbolic.sinh
            twice = algebra.times((2 * number, ()), algebra.function(function, [half], {}))
            return algebra.times((value[0], rest), algebra.raised(twice, exponent))
        return None

    def _joined(self, value: Value) -> Value | None:
        """1/((x - 1)*(x + 1)) as 1/(x**2 - 1)."""
        bases = self.algebra.bases
        groups: dict[Number, list[int]] = {}
        for base, exponent in value[1]:
            if base in bases.sums and len(bases[base].terms or ()) <= 3:
                groups.setdefault(exponent, []).append(base)
        changed = value
        for exponent, members in groups.items():
            if len(members) < 2 or exponent.denominator != 1:
                continue
            terms = self.algebra.expanded(tuple((b, 1) for b in members))
            if terms is None or len(terms) > len(members):
                continue
            sign, base_ = bases.sum(terms)
            if base_.number in members:
                continue
            rest = product(changed[1], tuple((b, -exponent) for b in members))
            changed = (changed[0] * (sign if exponent % 2 else 1), product(rest, ((base_.number, exponent),)))
        return None if changed is value else changed

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
        if any(value in self._open or (-value[0], value[1]) in self._open for value in values):
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
            if bases[base].node is not None and isinstance(bases[base].node, Expr):
                degree += exponent
        whole_sum = len(value[1]) == 1 and value[1][0][0] in bases.sums
        return not whole_sum, -degree, sorted((self._place(base), -exponent) for base, exponent in value[1]) or [(("~", 0), 0)]

    # -- products ---------------------------------------------------------------------------------------------

    def _product(self, value: Value) -> Expr:
        number, monomial = self._roots_below(value)
        bases = self.algebra.bases
        pieces: list[Piece] = []
        exponents: list[Value] = []
        powers: dict[Value, list[Value]] = {}
        plain = dict(monomial)
        for base_number, exponent in monomial:
            base = bases[base_number]
            if base.by is not None:
                raised: Value = (lean(base.by[0] * exponent), base.by[1])
                (exponents if base.of is None else powers.setdefault(base.of, [])).append(raised)
                del plain[base_number]
        for of, parts in powers.items():
            if of[0] == 1 and len(of[1]) == 1 and of[1][0][1] == 1:
                whole = plain.pop(of[1][0][0], 0)
                if whole:
                    parts.append((whole, ()))
            total = self.algebra.total(parts)
            sign = -1 if total[0] < 0 else 1
            node = self.write(of) ** self.write((sign * total[0], total[1]))
            pieces.append((_POWERS, self._place(of[1][0][0] if of[1] else 0), node, sign))
        if exponents:
            node = self._exponential(self.algebra.total(exponents))
            pieces.append((_POWERS, ("~", 0), node, 1))
        alone = number in (1, -1) and not any(e > 0 for b, e in plain.items() if not self._ratio(b)) and not pieces
        extra, used = ratios(self, plain, alone)
        pieces += extra
        for base_number in used:
            plain.pop(base_number, None)
        self._absolute(plain, pieces)
        for base_number, exponent in plain.items():
            base = bases[base_number]
            rank = (
                _SUMS
                if base.terms is not None
                else _NAMES
                if isinstance(base.node, Expr)
                else _CONSTANTS
                if base.node is not None
                else _FUNCTIONS
            )
            if base.of is not None and base.modulus:
                exponent = Fraction(exponent, base.modulus)
            pieces.append((rank, self._place(base_number), self._bare(base), exponent))
        if number < 0:
            number, pieces = self._sign_inside(number, pieces)
        return self.fraction(number, pieces)

    def _place(self, number: int) -> tuple[str, int]:
        """Names by the alphabet, all else in the order in which it was met."""
        node = self.algebra.bases[number].node
        return (node.payload.name.lower(), number) if isinstance(node, Expr) and node.is_leaf else ("", number)

    def _ratio(self, number: int) -> bool:
        op = self.algebra.bases[number].op
        return op is not None and bool(op.rewriting.squared)

    def _sign_inside(self, number: Number, pieces: list[Piece]) -> tuple[Number, list[Piece]]:
        """-(a - b) as b - a, where that is shorter."""
        for i, (rank, place, node, exponent) in enumerate(pieces):
            base = place[1]
            if rank == _SUMS and exponent % 2 == 1 and (1, ((base, 1),)) not in self._open and (-1, ((base, 1),)) not in self._open:
                opposite = self.node((-1, ((base, 1),)))
                if self.cost(opposite) <= self.cost(node) and opposite.op is not arithmetic.neg:
                    return -number, [*pieces[:i], (rank, place, opposite, exponent), *pieces[i + 1 :]]
        return number, pieces

    def _roots_below(self, value: Value) -> Value:
        """sqrt(u)/u as 1/sqrt(u), where u is no single factor."""
        bases = self.algebra.bases
        best = value
        for base, exponent in value[1]:
            if base not in bases.reducible or exponent < 1:
                continue
            modulus = bases[base].modulus
            under = bases[base].reduced
            if not under[1] and under[0] == 1:
                continue
            for times in (-1, 1, 2):
                more, other = self.algebra.raised(under, times)
                changed: Value = (lean(value[0] * more), product(product(value[1], ((base, -modulus * times),)), other))
                if self._weight(changed) < self._weight(best):
                    best = changed
        return best

    def _weight(self, value: Value) -> Number:
        """How much of a product there is, roughly."""
        number, monomial = value
        bases = self.algebra.bases
        size = sum(1 + (abs(e) != 1) + sum(len(m) + 1 for m in bases[b].terms or ()) for b, e in monomial)
        return size + (number.numerator not in (1, -1)) + (number.denominator != 1)

    def _absolute(self, plain: dict[int, Number], pieces: list[Piece]) -> None:
        """x*sign(x) as abs(x)."""
        for number in [*plain]:
            base = self.algebra.bases[number]
            of = base.operands[0] if base.op is arithmetic.sign else None
            if of is None or len(of[1]) != 1 or plain[number] != 1:
                continue
            inner, exponent = of[1][0]
            if exponent != 1 or of[0] != 1 or not (plain.get(inner, 0) >= 1 or plain.get(inner) == -1):
                continue
            sign = 1 if plain[inner] > 0 else -1
            plain[inner] -= sign
            if not plain[inner]:
                del plain[inner]
            del plain[number]
            pieces.append((_FUNCTIONS, self._place(number), arithmetic.abs_(self._bare(self.algebra.bases[inner])), sign))

    def _exponential(self, value: Value) -> Expr:
        node = self.write(value)
        if not self.algebra.euler:
            return self.graph.apply(exponential.exp, (node,))
        e = self.graph.constant(E)
        return e if value == (1, ()) else self.graph.apply(exponential.pow_, (e, node))

    def _bare(self, base: Base) -> Expr:
        """The node of a single base."""
        found = self.bare.get(base.number)
        if found is None:
            if isinstance(base.node, Expr):
                found = base.node
            elif base.node is not None:
                found = self.graph.constant(base.node)
            elif base.op is not None:
                found = self.called(base)
            elif base.modulus:
                assert base.of is not None
                found = self.write(base.of)
            else:
                found = self.node((1, ((base.number, 1),)))
                if base.number in self.algebra.bases.sums:
                    return found
            self.bare[base.number] = found
        return found

    def called(self, base: Base) -> Expr:
        """A function of its operands, each as short as can be."""
        assert base.op is not None
        nodes = [None if o is None else self.write(o) for o in base.operands]
        if base.shapes:
            from gradcli.ops.arrays.shapes import broadcast_to

            nodes = [n if n is None or n.shape == s else broadcast_to(n, shape=s) for n, s in zip(nodes, base.shapes, strict=True)]
        return self.graph.apply(base.op, nodes, base.static)
