"""Products as nodes: factors in the order of textbooks, exponentials and powers together, quotients of functions by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from gradcli.formulas.algebra import Algebra
from gradcli.formulas.bases import Base, Value
from gradcli.formulas.fractions import Fractions, Piece
from gradcli.formulas.polynomials import Number, lean, product
from gradcli.formulas.short_forms import ratios
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.shapes import getitem
from gradcli.ops.constants import E
from gradcli.ops.elementwise import arithmetic, exponential

_SUMS, _FUNCTIONS, _POWERS, _NAMES, _CONSTANTS = 4, 3, 2, 1, 0  # the order of factors, from behind


class Products(Fractions, ABC):
    """Writes products of an algebra's values."""

    def __init__(self, graph: Graph, algebra: Algebra) -> None:
        super().__init__(graph)
        self.algebra = algebra
        self.bare: dict[int, Expr] = {}  # functions and names by the numbers of their bases
        self.open: set[Value] = set()  # what is being written

    @abstractmethod
    def write(self, value: Value) -> Expr:
        """The shortest node found for a value."""

    @abstractmethod
    def node(self, value: Value) -> Expr:
        """The same inside of another."""

    def product_of(self, value: Value, *others: Expr) -> Expr:
        """A product as it stands, with other sums behind it."""
        number, monomial = self._roots_below(value)
        bases = self.algebra.bases
        pieces: list[Piece] = [(_SUMS, ("~", i), node, 1) for i, node in enumerate(others)]
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
            pieces.append((_POWERS, self.place(of[1][0][0] if of[1] else 0), node, sign))
        if exponents:
            node = self._exponential(self.algebra.total(exponents))
            pieces.append((_POWERS, ("~", 0), node, 1))
        alone = number in (1, -1) and not any(e > 0 for b, e in plain.items() if not self._ratio(b)) and not pieces
        extra, used = ratios(self.algebra, plain, alone, lambda operand: self.cost(self.write(operand)))
        pieces += [(_FUNCTIONS, ("", i), self.graph.apply(op, (self.write(operand),)), exponent) for op, operand, exponent, i in extra]
        for base_number in used:
            plain.pop(base_number, None)
        self._absolute(plain, pieces)
        for base_number, exponent in plain.items():
            base = bases[base_number]
            if base.of is not None and base.modulus:
                pieces.append((_rank(base), self.place(base_number), self._bare(base), Fraction(exponent) / base.modulus))
            else:
                pieces.append((_rank(base), self.place(base_number), self._bare(base), exponent))
        if number < 0:
            number, pieces = self._sign_inside(number, pieces)
        return self.fraction(number, pieces)

    def place(self, number: int) -> tuple[str, int]:
        """Names by the alphabet, all else in the order in which it was met."""
        base = self.algebra.bases[number]
        while base.op is getitem and base.operands[0] is not None and len(base.operands[0][1]) == 1:
            base = self.algebra.bases[base.operands[0][1][0][0]]
        return (base.node.payload.name.lower(), number) if isinstance(base.node, Expr) and base.node.is_leaf else ("", number)

    def _ratio(self, number: int) -> bool:
        op = self.algebra.bases[number].op
        return op is not None and bool(op.rewriting.squared)

    def _sign_inside(self, number: Number, pieces: list[Piece]) -> tuple[Number, list[Piece]]:
        """-(a - b) as b - a, where that is shorter."""
        for i, (rank, place, node, exponent) in enumerate(pieces):
            base = place[1]
            if (
                rank == _SUMS
                and place[0] != "~"
                and exponent % 2 == 1
                and (1, ((base, 1),)) not in self.open
                and (-1, ((base, 1),)) not in self.open
            ):
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
            pieces.append((_FUNCTIONS, self.place(number), arithmetic.abs_(self.node((1, ((inner, 1),)))), sign))

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


def _rank(base: Base) -> int:
    if base.terms is not None:
        return _SUMS
    if base.op is getitem:
        return _NAMES
    if base.node is None:
        return _FUNCTIONS
    return _NAMES if isinstance(base.node, Expr) else _CONSTANTS
