"""A field of rational functions over the rationals, in generators that stand for variables and for functions of what came before them.

Numerators are FLINT's polynomials of several variables; denominators stay products of factors. Relations of generators (the square of a
sine, the power of a root) lower numerators to a canonical form: what is lowered to zero is zero wherever it has a value. The other
direction holds in variables alone, as functions may depend on one another in ways that no relation here says.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import comb
from typing import Any

from gradcli.reference.algebra import Unsupported

Polynomial = Any  # flint.fmpq_mpoly
_WORK = 20_000_000  # products of terms that one decision may take
_FACTORED = 40  # terms of a polynomial that is taken apart into factors
_DEGREE = 40  # its total degree
_TERMS = 30_000  # of any polynomial
_POWER = 200  # the largest power that is multiplied out
_DEAR = 50  # times the terms: what factoring counts for


class TooSmall(Exception):
    """More generators than the field has room for."""


class Generator:
    """A symbol of the ring.

    relation     ``(n, value)``: the generator to the power n is this polynomial in earlier ones
    parts        the elements that it was made of
    rationalized whether denominators are freed of it by its relation: what the power is has the generator's zeros
    real         whether it is real wherever the expression is that it was made for
    positive     whether it is not negative there
    """

    relation: tuple[int, Polynomial] | None = None
    parts: tuple[Any, ...] = ()
    rationalized = False
    real = True
    positive = False

    def derivative(self, own: Any, by: Any) -> Any:
        """Its derivative, where ``own`` is the generator as an element and ``by`` differentiates what it was made of."""
        raise NotImplementedError


class Field:
    """The ring of numerators, its generators, and the factors of denominators."""

    def __init__(self, size: int) -> None:
        from flint import Ordering, fmpq_mpoly_ctx

        self.ring = fmpq_mpoly_ctx.get([f"g{i}" for i in range(size)], Ordering.lex)
        self.symbols = self.ring.gens()
        self.one: Polynomial = self.ring.constant(1)
        self.generators: list[Generator] = []
        self.related: list[int] = []  # the places of those with relations
        self.factors: dict[str, Polynomial] = {}
        self._places: dict[Hashable, int] = {}
        self._factored: dict[str, tuple[Any, list[tuple[str, int]]]] = {}
        self.left = _WORK
        self.functions: Any = None  # of its elements; powers need them

    def spend(self, work: int) -> None:
        """Raises Unsupported where so much is not left."""
        self.left -= work
        if self.left < 0:
            raise Unsupported("a formula of so many terms")

    def place(self, description: Hashable, make: Callable[[], Generator]) -> int:
        """The place of a generator, a new one if it has not been described before. Raises TooSmall."""
        known = self._places.get(description)
        if known is None:
            made = make()
            known = len(self.generators)
            if known == len(self.symbols):
                raise TooSmall
            self.generators.append(made)
            self._places[description] = known
            if made.relation is not None:
                self.related.append(known)
        return known

    def used(self, p: Polynomial) -> list[int]:
        """The places of the generators of a polynomial."""
        return [i for i, degree in enumerate(p.degrees()) if degree > 0] if len(p) else []

    def single(self, p: Polynomial) -> int | None:
        """The place of the generator that a polynomial is; None for any other."""
        if len(p) != 1 or p.total_degree() != 1 or p.leading_coefficient() != 1:
            return None
        return self.used(p)[0]

    def product(self, p: Polynomial, q: Polynomial) -> Polynomial:
        self.spend(len(p) * len(q) + 1)
        return self.lowered(p * q)

    def power(self, p: Polynomial, n: int) -> Polynomial:
        """A power of a polynomial; relations are applied on the way."""
        if n > _POWER or comb(min(len(p), 12) + n - 1, n) > 8 * _TERMS:
            raise Unsupported("a power of so many terms")
        result, factor = self.one, p
        while n:
            if n & 1:
                result = self.product(result, factor)
            n >>= 1
            if n:
                factor = self.product(factor, factor)
        return result

    def lowered(self, p: Polynomial) -> Polynomial:
        """The same with the relations of all generators applied: later ones first, which are made of earlier ones."""
        if not len(p):
            return p
        degrees = p.degrees()
        for i in reversed(self.related):
            relation = self.generators[i].relation
            assert relation is not None
            if degrees[i] >= relation[0]:
                p = self._lowered_in(p, i, *relation)
                if not len(p):
                    return p
                degrees = p.degrees()
        if len(p) > _TERMS:
            raise Unsupported("a formula of so many terms")
        return p

    def _lowered_in(self, p: Polynomial, i: int, order: int, value: Polynomial) -> Polynomial:
        """A polynomial with a power of a generator replaced, as often as it is there."""
        power = self.symbols[i] ** order
        parts = []
        while len(p):
            self.spend(len(p))
            p, rest = divmod(p, power)
            parts.append(rest)
        total = parts.pop()
        while parts:
            self.spend(len(total) * len(value))
            total = total * value + parts.pop()
        return total

    def factored(self, p: Polynomial) -> tuple[Any, list[tuple[str, int]]]:
        """A rational factor, and the keys of others with their exponents, as far apart as they can be taken cheaply."""
        key = str(p)
        found = self._factored.get(key)
        if found is None:
            found = self._factored[key] = self._taken_apart(p)
        return found

    def _taken_apart(self, p: Polynomial) -> tuple[Any, list[tuple[str, int]]]:
        factors: list[tuple[Polynomial, int]] = []
        least = [min(column) for column in zip(*p.monoms(), strict=True)]
        for i, exponent in enumerate(least):
            if exponent:
                factors.append((self.symbols[i], exponent))
        if any(least):
            p = p / self.ring.from_dict({tuple(least): 1})
        constant = p.leading_coefficient()
        if len(p) > 1:
            self.spend(_DEAR * len(p))
            if len(p) <= _FACTORED and p.total_degree() <= _DEGREE:
                constant, more = p.factor()
                factors += more
            else:
                constant = 1
                factors.append((p, 1))
        found = []
        for factor, exponent in factors:
            scale, primitive = self.primitive(factor)
            constant = constant * scale ** int(exponent)
            found.append((self.key(primitive), int(exponent)))
        return constant, found

    def primitive(self, p: Polynomial) -> tuple[Any, Polynomial]:
        """A rational number and the polynomial over it: of whole coefficients without a common factor, the first one positive."""
        from flint import fmpq, fmpz

        common, above = fmpz(1), fmpz(0)
        for c in map(fmpq, p.coeffs()):
            common, above = common.lcm(c.q), above.gcd(c.p)
        # the greatest common divisor of numerators over the least common multiple of denominators
        scale = fmpq(above, common)
        if p.leading_coefficient() < 0:
            scale = -scale
        return scale, p / scale

    def key(self, p: Polynomial) -> str:
        """The name of a polynomial among the factors."""
        key = str(p)
        self.factors.setdefault(key, p)
        return key
