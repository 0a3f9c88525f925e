"""Elements of a field: a numerator over a product of powers of factors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from gradcli.reference.algebra import Unsupported

# -- A field of rational functions over the rationals, in generators that stand for variables and
# for functions of what came before them.
#
# Numerators are FLINT's polynomials of several variables; denominators stay products of factors.
# Relations of generators (the square of a sine, the power of a root) lower numerators to a
# canonical form: what is lowered to zero is zero wherever it has a value. The other direction
# holds in variables alone, as functions may depend on one another in ways that no relation here
# says.


Polynomial = Any  # flint.fmpq_mpoly
_WORK = 20_000_000  # products of terms that one decision may take
_FACTORED = 40  # terms of a polynomial that is taken apart into factors
_DEGREE = 40  # its total degree
_TERMS = 30_000  # of any polynomial
_POWER = 200  # the largest power that is multiplied out
_DEAR = 50  # times the terms: what factoring counts for


class TooSmall(Exception):
    """More generators than the field has room for."""


@dataclass(eq=False)
class Generator:
    """A symbol of the ring.

    kind         "variable", "constant", "exp", "log", "power", "abs", "cos", "sin", or the name of a function of sympy's
    parts        the elements that it was made of
    exponent     of a power
    relation     ``(n, value)``: the generator to the power n is this polynomial in earlier ones
    real         whether it is real wherever the expression is that it was made for
    positive     whether it is not negative there
    """

    kind: str
    parts: tuple[Element, ...] = ()
    exponent: Fraction = Fraction(1)
    relation: tuple[int, Polynomial] | None = None
    real: bool = True
    positive: bool = False

    @property
    def rationalized(self) -> bool:
        """Return whether denominators are freed of it by its relation: what the power is has the generator's zeros."""
        return self.relation is not None and self.positive


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

    def spend(self, work: int) -> None:
        """Raises Unsupported where so much is not left."""
        self.left -= work
        if self.left < 0:
            raise Unsupported("a formula of so many terms")

    def place(self, description: Hashable, make: Callable[[], Generator]) -> int:
        """The place of a generator, a new one if it has not been described before. Raises TooSmall."""
        if description not in self._places:
            if len(self.generators) == len(self.symbols):
                raise TooSmall
            made = make()
            self._places[description] = len(self.generators)
            if made.relation is not None:
                self.related.append(len(self.generators))
            self.generators.append(made)
        return self._places[description]

    def symbol(self, description: Hashable, make: Callable[[], Generator]) -> Element:
        """A generator as an element."""
        return Element(self, self.symbols[self.place(description, make)])

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
        if key not in self._factored:
            content = p.term_content()
            rest = p / content
            if len(rest) > 1:
                self.spend(_DEAR * len(rest))
            if len(rest) <= _FACTORED and rest.total_degree() <= _DEGREE:
                constant, factors = p.factor()
            else:
                constant, primitive = self.primitive(rest)
                factors = [*content.factor()[1], (primitive, 1)]
            found = [(self.key(factor), int(exponent)) for factor, exponent in factors]
            self._factored[key] = constant, found
        return self._factored[key]

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


_NOTHING: Mapping[str, int] = {}


_NUMBERS = (int, float, Fraction, np.number, np.bool_)


def _binary(combine: Callable[[Element, Element], Element]) -> Callable[[Element, Any], Element]:
    """An operator of an element and another, or a number. Arrays and scalars with a history take it into their own."""

    def combined(x: Element, y: Any) -> Element:
        return combine(x, x.of(y)) if isinstance(y, (Element, *_NUMBERS)) else NotImplemented

    return combined


def _comparison(holds: Callable[[Any, Any], bool]) -> Any:
    """A comparison of elements that differ by a number."""

    def compared(x: Element, y: Any) -> bool:
        difference: Fraction | None = (x - y).rational
        if difference is None:
            raise Unsupported("a comparison of what varies")
        return holds(difference, 0)

    return compared


class Element:
    """A rational function of the generators of a field. It has arithmetic; to be compared it has to be a number."""

    __slots__ = ("below", "field", "p")

    def __init__(self, field: Field, p: Polynomial, below: Mapping[str, int] = _NOTHING) -> None:
        self.field, self.p, self.below = field, p, below if len(p) else _NOTHING

    @classmethod
    def number(cls, field: Field, x: Any) -> Element:
        """A number, exactly. Raises Unsupported for what is not finite."""
        from flint import fmpq

        if not isinstance(x, _NUMBERS):
            raise Unsupported(type(x).__name__)
        if isinstance(x, (float, np.floating)) and not np.isfinite(x):
            raise Unsupported("a number that is not finite")
        x = Fraction(x.item() if isinstance(x, np.generic) else x)
        return cls(field, field.one * fmpq(x.numerator, x.denominator))

    @property
    def is_zero(self) -> bool:
        return not len(self.p)

    @property
    def rational(self) -> Fraction | None:
        """The number that it is; None for what depends on a generator."""
        if self.is_zero:
            return Fraction(0)
        if self.below or not self.p.is_constant():
            return None
        return fraction(self.p.leading_coefficient())

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        return str(self.p), tuple(sorted(self.below.items()))

    def used(self) -> set[int]:
        """The places of the generators that it is written with."""
        field = self.field
        return {*field.used(self.p), *(i for key in self.below for i in field.used(field.factors[key]))}

    def lowest(self) -> Element:
        """The same in lowest terms, as far as the denominators' factors are irreducible."""
        p, below = self._cancelled(self.p, self.below)
        return Element(self.field, p, below)

    def _cancelled(self, p: Polynomial, below: Mapping[str, int]) -> tuple[Polynomial, Mapping[str, int]]:
        """A numerator and denominators without what divides both."""
        from flint.utils.flint_exceptions import DomainError

        if not below or not len(p):
            return p, below
        left: dict[str, int] = {}
        for key, exponent in below.items():
            factor, times = self.field.factors[key], 0
            while times < exponent:
                self.field.spend(len(p))
                try:
                    p = p / factor
                except DomainError:
                    break
                times += 1
            if times < exponent:
                left[key] = exponent - times
        return p, left

    def of(self, other: Any) -> Element:
        return other if isinstance(other, Element) else Element.number(self.field, other)

    def _raised(self, to: Mapping[str, int]) -> Polynomial:
        """The numerator over other denominators, which hold its own."""
        p, field = self.p, self.field
        for key, exponent in to.items():
            more = exponent - self.below.get(key, 0)
            if more:
                p = field.product(p, field.power(field.factors[key], more))
        return p

    @_binary
    def __add__(self, other: Element) -> Element:
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        below = dict(self.below)
        for key, exponent in other.below.items():
            below[key] = max(exponent, below.get(key, 0))
        p, q = self._raised(below), other._raised(below)
        self.field.spend(len(p) + len(q))
        return Element(self.field, p + q, below)

    __radd__ = __add__

    @_binary
    def __sub__(self, other: Element) -> Element:
        return self + -other

    @_binary
    def __rsub__(self, other: Element) -> Element:
        return other + -self

    @_binary
    def __mul__(self, other: Element) -> Element:
        p, others = self._cancelled(self.p, other.below)
        q, own = self._cancelled(other.p, self.below)
        below = dict(own)
        for key, exponent in others.items():
            below[key] = exponent + below.get(key, 0)
        return Element(self.field, self.field.product(p, q), below)

    __rmul__ = __mul__

    def __neg__(self) -> Element:
        return Element(self.field, -self.p, self.below)

    def __pos__(self) -> Element:
        return self

    def inverse(self) -> Element:
        """Raises Unsupported for zero."""
        if self.is_zero:
            raise Unsupported("a division by zero")
        field = self.field
        constant, factors = field.factored(self.p)
        p = field.one / constant
        below: dict[str, int] = {}
        for key, exponent in factors:
            place = field.single(field.factors[key])
            relation = field.generators[place].relation if place is not None and field.generators[place].rationalized else None
            if place is None or relation is None:
                below[key] = exponent + below.get(key, 0)
                continue
            # 1/g is g**(n - 1) over what g**n is
            times = -(-exponent // relation[0])
            p = field.product(p, field.power(field.symbols[place], times * relation[0] - exponent))
            rest = Element(field, relation[1]).inverse() ** times
            p = field.product(p, rest.p)
            for name, more in rest.below.items():
                below[name] = more + below.get(name, 0)
        result = Element(field, p, below)
        for key, exponent in self.below.items():
            result = result * Element(field, field.power(field.factors[key], exponent))
        return result

    @_binary
    def __truediv__(self, other: Element) -> Element:
        return self * other.inverse()

    @_binary
    def __rtruediv__(self, other: Element) -> Element:
        return other * self.inverse()

    def __pow__(self, exponent: Any) -> Element:
        """A whole power."""
        n = int(exponent)
        if n < 0:
            return self.inverse() ** -n
        return Element(self.field, self.field.power(self.p, n), {key: n * e for key, e in self.below.items()} if n else _NOTHING)

    __eq__, __lt__, __le__ = map(_comparison, (operator.eq, operator.lt, operator.le))
    __gt__, __ge__ = map(_comparison, (operator.gt, operator.ge))

    __hash__ = object.__hash__


def fraction(x: Any) -> Fraction:
    """A rational number of FLINT's."""
    from flint import fmpq

    x = fmpq(x)
    return Fraction(int(x.p), int(x.q))
