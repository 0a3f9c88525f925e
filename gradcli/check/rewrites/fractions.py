"""Sums, products and whole powers as one fraction of polynomials, cancelled and in factors: equal by algebra, for all values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from gradcli.check.rewrites.parts import Inexact, Term, factors, is_product, is_sum, merged_factors, number, product, role, total
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.elementwise import exponential
from gradcli.reference.contexts import has_flint

_MOST_NODES, _MOST_ATOMS, _MOST_TERMS, _HIGHEST = 60, 9, 40, 12

Pair = tuple[Any, Any]  # numerator and denominator


def as_fractions(graph: Graph, node: Expr) -> Iterator[Expr]:
    """A node over a common denominator, in factors and multiplied out."""
    if not has_flint():
        return
    found = Polynomials.of(node)
    if found is None:
        return
    try:
        above, below = found.fraction(node)
        yield from found.written(graph, above, below)
    except (TooLarge, Inexact, ZeroDivisionError, OverflowError):
        return


class TooLarge(Exception):
    """A polynomial of too many terms."""


class Polynomials:
    """The ring in which a node is a fraction: a variable for each part of it that is no sum, product or whole power."""

    def __init__(self, order: Sequence[Expr], atoms: Sequence[Expr]) -> None:
        import flint

        self.order, self.atoms = order, list(atoms)
        self.context = flint.fmpq_mpoly_ctx.get([f"x{i}" for i in range(len(atoms))], flint.Ordering.deglex)
        self.one = self.context.constant(1)
        self.variables = dict(zip(atoms, self.context.gens(), strict=True))
        self.roots: list[tuple[int, Any, Any]] = []

    @classmethod
    def of(cls, node: Expr) -> Polynomials | None:
        """The ring of a node, or None where it is too large or is no fraction of anything."""
        inner: dict[Expr, None] = {}
        atoms: dict[Expr, None] = {}
        stack = [node]
        while stack:
            part = stack.pop()
            if part in inner or part in atoms:
                continue
            if number(part) is not None or (part.op is not None and _is_rational(part)):
                inner[part] = None
                stack += [o for o in part.operands if o is not None and not (role(part) == "power" and o is part.operands[1])]
            else:
                atoms[part] = None
                if part.op is exponential.sqrt and _is_rational(part.operand):
                    stack.append(part.operand)
            if len(inner) > _MOST_NODES or len(atoms) > _MOST_ATOMS or (part.shape and part.shape != node.shape):
                return None
        if node in atoms or not atoms:
            return None
        return cls(sorted(inner, key=lambda n: n.index), sorted(atoms, key=lambda n: n.index))

    def fraction(self, node: Expr) -> Pair:
        """Numerator and denominator, without common factors, and without squares of roots."""
        table: dict[Expr, Pair] = {atom: (variable, self.one) for atom, variable in self.variables.items()}
        for part in self.order:
            table[part] = self._cancelled(self._combined(part, table))
        above, below = table[node]
        for atom in self.atoms:
            if atom.op is exponential.sqrt and atom.operand in table:
                above, below = self._rooted(above, below, atom, table[atom.operand])
        return self._cancelled((above, below))

    def _combined(self, node: Expr, table: Mapping[Expr, Pair]) -> Pair:
        value = number(node)
        if value is not None:
            return self._constant(value), self.one
        kind = role(node)
        (a, b), last = table[node.operand], node.operands[-1]
        if kind == "negation":
            return -a, b
        if kind == "square":
            return a * a, b * b
        if kind == "reciprocal":
            return b, a
        assert last is not None
        if kind == "power":
            exponent = int(number(last) or 0)
            if abs(exponent) > _HIGHEST:
                raise TooLarge
            return (a**exponent, b**exponent) if exponent > 0 else (b**-exponent, a**-exponent)
        c, d = table[last]
        if kind in ("product", "chain"):
            return a * c, b * d
        if kind == "quotient":
            return a * d, b * c
        return (a * d + c * b if kind == "sum" else a * d - c * b), b * d

    def _constant(self, value: Fraction) -> Any:
        import flint

        return self.one * flint.fmpq(value.numerator, value.denominator)

    def _cancelled(self, pair: Pair) -> Pair:
        above, below = pair
        if not below:
            raise ZeroDivisionError
        if len(above) > _MOST_TERMS or len(below) > _MOST_TERMS or max([*above.degrees(), *below.degrees()], default=0) > _HIGHEST:
            raise TooLarge
        if below == self.one:
            return pair
        common = above.gcd(below)
        return (above // common, below // common) if above else (above, self.one)

    def _rooted(self, above: Any, below: Any, root: Expr, inside: Pair) -> Pair:
        """The square of a root as what is under it."""
        place = self.atoms.index(root)
        over, under = inside
        highest = max(above.degrees()[place], below.degrees()[place]) // 2
        if not highest:
            return above, below
        changed = []
        for poly in (above, below):
            result = self.one * 0
            for powers, coefficient in poly.to_dict().items():
                twice, odd = divmod(int(powers[place]), 2)
                rest = list(powers)
                rest[place] = odd
                term = self.context.from_dict({tuple(rest): coefficient})
                result = result + term * over**twice * under ** (highest - twice)
            changed.append(result)
        return changed[0], changed[1]

    def written(self, graph: Graph, above: Any, below: Any) -> Iterator[Expr]:
        """A fraction as expressions: in factors, its numerator multiplied out, and term by term."""
        if not above:
            yield graph.constant(0)
            return
        size_above, parts_above = self._factored(graph, above)
        size_below, parts_below = self._factored(graph, below)
        divisor = [(base, -exponent) for base, exponent in parts_below]
        yield product(graph, size_above / size_below, [*parts_above, *divisor])
        expanded = self._sum(graph, above)
        if len(above) > 1:
            yield product(graph, 1 / size_below, [(expanded, 1), *divisor])
            given = [self._monomial(graph, powers, coefficient) for powers, coefficient in above.to_dict().items()]
            split = []
            for coefficient, core in given:
                scale, own = factors(core) if core is not None else (Fraction(1), [])
                split.append(
                    (
                        coefficient * scale / size_below,
                        product(graph, Fraction(1), merged_factors([*own, *divisor])) if own or divisor else None,
                    )
                )
            yield total(graph, split)

    def _factored(self, graph: Graph, poly: Any) -> tuple[Fraction, list[tuple[Expr, int]]]:
        content, parts = poly.factor()
        found = []
        for part, exponent in parts:
            node = self._sum(graph, part)
            scale, own = factors(node)
            content *= _fmpq(scale ** int(exponent))
            found += [(base, e * int(exponent)) for base, e in own]
        return _fraction(content), found

    def _sum(self, graph: Graph, poly: Any) -> Expr:
        return total(graph, [self._monomial(graph, powers, coefficient) for powers, coefficient in poly.to_dict().items()])

    def _monomial(self, graph: Graph, powers: Sequence[int], coefficient: Any) -> Term:
        parts = [(atom, exponent) for atom, exponent in zip(self.atoms, map(int, powers), strict=True) if exponent]
        return _fraction(coefficient), product(graph, Fraction(1), parts) if parts else None


def _is_rational(node: Expr) -> bool:
    return is_sum(node) or is_product(node)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _fmpq(value: Fraction) -> Any:
    import flint

    return flint.fmpq(value.numerator, value.denominator)
