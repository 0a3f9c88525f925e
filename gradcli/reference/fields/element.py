"""Elements of a field: a numerator over a denominator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from gradcli.reference.algebra import Unsupported

# -- A field of rational functions over the rationals, in generators that stand for variables and
# for functions of what came before them.
#
# Numerators and denominators are FLINT's polynomials of several variables. Relations of generators
# (the square of a sine, the power of a root) lower numerators to a canonical form: what is lowered
# to zero is zero wherever it has a value. The other direction holds in variables alone, as
# functions may depend on one another in ways that no relation here says.


Polynomial = Any  # flint.fmpq_mpoly
_WORK = 20_000_000  # most products of terms that one decision may take
_FACTORED = 40  # most terms of a polynomial that is factored
_DEGREE = 40  # and its largest total degree
_TERMS = 30_000  # most terms of any polynomial
_POWER = 200  # largest power that is multiplied out
_DEAR = 50  # cost of factoring, as a multiple of the number of terms


class TooSmall(Exception):
    """More generators than the field has room for."""


@dataclass(eq=False)
class Generator:
    """A symbol of the ring.

    kind         "variable", "constant", "exp", "log", "power", "abs", "cos", "sin", or the name of
                 a function of sympy's
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


class Field:
    """The ring of numerators and denominators, and its generators."""

    def __init__(self, size: int) -> None:
        from flint import Ordering, fmpq_mpoly_ctx

        self.ring = fmpq_mpoly_ctx.get([f"g{i}" for i in range(size)], Ordering.lex)
        self.symbols = self.ring.gens()
        self.one: Polynomial = self.ring.constant(1)
        self.generators: list[Generator] = []
        self.related: list[int] = []  # places of the generators with relations
        self._places: dict[Hashable, int] = {}
        self._factored: dict[str, tuple[Any, list[tuple[Polynomial, int]]]] = {}
        self.left = _WORK

    def spend(self, work: int) -> None:
        """Take work from the budget, or raise Unsupported if not so much is left."""
        self.left -= work
        if self.left < 0:
            raise Unsupported("a formula of so many terms")

    def symbol(self, description: Hashable, make: Callable[[], Generator]) -> Element:
        """Return a generator as an element, a new one if it has not been described before.

        Raises TooSmall.
        """
        if description not in self._places:
            if len(self.generators) == len(self.symbols):
                raise TooSmall
            made = make()
            self._places[description] = len(self.generators)
            if made.relation is not None:
                self.related.append(len(self.generators))
            self.generators.append(made)
        return Element(self, self.symbols[self._places[description]])

    def element(self, x: Any) -> Element:
        """Convert a number exactly to an element; return an element unchanged."""
        from flint import fmpq

        if isinstance(x, Element):
            return x
        number = Fraction(x.item() if isinstance(x, np.generic) else x)
        return Element(self, self.one * fmpq(number.numerator, number.denominator))

    def used(self, p: Polynomial) -> list[int]:
        """Return the places of the generators of a polynomial."""
        return [i for i, degree in enumerate(p.degrees()) if degree > 0] if len(p) else []

    def generator(self, p: Polynomial) -> Generator:
        """Return the generator that a polynomial is, or one without a kind if it is not one."""
        is_single = len(p) == 1 and p.total_degree() == 1 and p.leading_coefficient() == 1
        return self.generators[self.used(p)[0]] if is_single else Generator("")

    def product(self, p: Polynomial, q: Polynomial) -> Polynomial:
        self.spend(len(p) * len(q) + 1)
        return self.lower(p * q)

    def power(self, p: Polynomial, n: int) -> Polynomial:
        """Raise a polynomial to a power, applying relations on the way."""
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

    def lower(self, p: Polynomial) -> Polynomial:
        """Apply the relations of all generators to a polynomial.

        Later generators come first, as they are made of earlier ones.
        """
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
        """Replace a power of a generator in a polynomial, as often as it occurs."""
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

    def factor(self, p: Polynomial) -> tuple[Any, list[tuple[Polynomial, int]]]:
        """Return a rational factor of a polynomial, and other factors with their exponents.

        The polynomial is factored as far as is cheap.
        """
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
            self._factored[key] = (
                constant,
                [(factor, int(exponent)) for factor, exponent in factors],
            )
        return self._factored[key]

    def primitive(self, p: Polynomial) -> tuple[Any, Polynomial]:
        """Return a rational number and the polynomial divided by it.

        The quotient has whole coefficients without a common factor, the first of which is positive.
        """
        from flint import fmpq, fmpz

        common, above = fmpz(1), fmpz(0)
        for c in map(fmpq, p.coeffs()):
            common, above = common.lcm(c.q), above.gcd(c.p)
        # The greatest common divisor of the numerators over the least common multiple of the
        # denominators.
        scale = fmpq(above, common)
        if p.leading_coefficient() < 0:
            scale = -scale
        return scale, p / scale


_NUMBERS = (int, float, Fraction, np.number, np.bool_)


def _binary(combine: Callable[[Element, Element], Element]) -> Callable[[Element, Any], Element]:
    """Define an operator on an element and another one, or a number.

    Arrays and scalars with a history have operators of their own that take an element.
    """

    def on_elements(x: Element, y: Any) -> Element:
        return (
            combine(x, x.field.element(y))
            if isinstance(y, (Element, *_NUMBERS))
            else NotImplemented
        )

    return on_elements


def _comparison(holds: Callable[[Any, Any], bool]) -> Any:
    """Define a comparison of elements that differ by a number."""

    def compare(x: Element, y: Any) -> bool:
        difference: Fraction | None = (x - y).rational
        if difference is None:
            raise Unsupported("a comparison of what varies")
        return holds(difference, 0)

    return compare


class Element:
    """A rational function of the generators of a field.

    It has arithmetic; to be compared it has to be a number.
    """

    __slots__ = ("field", "p", "q")

    def __init__(self, field: Field, p: Polynomial, q: Polynomial = None) -> None:
        self.field, self.p, self.q = field, p, field.one
        if q is not None and len(p):
            scale, self.q = field.primitive(q)
            self.p = p / scale

    @property
    def is_zero(self) -> bool:
        return not len(self.p)

    @property
    def rational(self) -> Fraction | None:
        """The number that it is; None for what depends on a generator."""
        if self.is_zero:
            return Fraction(0)
        if not (self.q.is_constant() and self.p.is_constant()):
            return None
        return fraction(self.p.leading_coefficient())

    @property
    def key(self) -> tuple[str, str]:
        return str(self.p), str(self.q)

    def used(self) -> set[int]:
        """Return the places of the generators that it is written with."""
        return {*self.field.used(self.p), *self.field.used(self.q)}

    def lowest(self) -> Element:
        """Reduce the element to lowest terms."""
        if self.q.is_constant():
            return self
        self.field.spend(len(self.p) * len(self.q))
        common = self.p.gcd(self.q)
        return Element(self.field, self.p / common, self.q / common)

    @_binary
    def __add__(self, other: Element) -> Element:
        field, common = self.field, self.q.gcd(other.q)
        more, others = other.q / common, self.q / common
        p, q = field.product(self.p, more), field.product(other.p, others)
        field.spend(len(p) + len(q))
        return Element(field, p + q, field.product(self.q, more))

    __radd__ = __add__

    @_binary
    def __sub__(self, other: Element) -> Element:
        return self + -other

    @_binary
    def __rsub__(self, other: Element) -> Element:
        return other + -self

    @_binary
    def __mul__(self, other: Element) -> Element:
        field = self.field
        x, y = Element(field, self.p, other.q).lowest(), Element(field, other.p, self.q).lowest()
        return Element(field, field.product(x.p, y.p), field.product(x.q, y.q))

    __rmul__ = __mul__

    def __neg__(self) -> Element:
        return Element(self.field, -self.p, self.q)

    def __pos__(self) -> Element:
        return self

    def inverse(self) -> Element:
        """Return the inverse, or raise Unsupported for zero."""
        if self.is_zero:
            raise Unsupported("a division by zero")
        field, p, q = self.field, self.q, self.p
        for i in reversed(field.related):
            generator, least = field.generators[i], min(exponents[i] for exponents in q.monoms())
            # 1/g is g**(n - 1) over the value of g**n
            if least and generator.positive and generator.relation is not None:
                order, value = generator.relation
                times = -(-least // order)
                p = field.product(p, field.symbols[i] ** (times * order - least))
                q = field.product(q / field.symbols[i] ** least, field.power(value, times))
        return Element(field, p, q).lowest()

    @_binary
    def __truediv__(self, other: Element) -> Element:
        return self * other.inverse()

    @_binary
    def __rtruediv__(self, other: Element) -> Element:
        return other * self.inverse()

    def __pow__(self, exponent: Any) -> Element:
        """Raise the element to a whole power."""
        n = int(exponent)
        if n < 0:
            return self.inverse() ** -n
        return Element(self.field, self.field.power(self.p, n), self.field.power(self.q, n))

    __eq__, __lt__, __le__ = map(_comparison, (operator.eq, operator.lt, operator.le))
    __gt__, __ge__ = map(_comparison, (operator.gt, operator.ge))

    __hash__ = object.__hash__


def fraction(x: Any) -> Fraction:
    """Convert a rational number of FLINT's to a Fraction."""
    from flint import fmpq

    x = fmpq(x)
    return Fraction(int(x.p), int(x.q))
