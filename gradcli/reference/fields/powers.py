"""Powers, logarithms and absolute values in a field: a product is taken apart only where that holds wherever it has a real value.

A power is that of the principal logarithm, which is the real one wherever there is one: exponents of one base add up whatever its sign.
A factor leaves a base only if it is known not to be negative: by what it is (exp, an absolute value, an even power), or because the
expression has no value elsewhere (under a root, in a logarithm).
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.element import Element, fraction
from gradcli.reference.fields.field import Field, Polynomial
from gradcli.reference.fields.generators import Exponential, Logarithm, Magnitude, Power, Root
from gradcli.reference.fields.known import Known

_LARGEST = 1 << 80  # numbers beyond are not taken apart into primes


class Product(NamedTuple):
    """What an element is the product of.

    bases     what is not negative, and its exponent
    exponent  what exp is taken of
    rest      what the sign of is not known, and the only such factor; None for none
    """

    bases: list[tuple[Element, Fraction]]
    exponent: Element
    rest: Element | None


class Powers:
    """Powers in a field."""

    def __init__(self, field: Field, known: Known) -> None:
        self.field, self.known = field, known
        field.functions = self

    def number(self, x: Any) -> Element:
        return Element.number(self.field, x)

    def exp(self, x: Any) -> Element:
        raise NotImplementedError

    def sign_of(self, p: Polynomial) -> int:
        """1 for what is never negative where the expression has a value, -1 for what is never positive, 0 for what is not known."""
        scale, primitive = self.field.primitive(p)
        own = 1 if scale > 0 else -1
        known = self.known.signs.get(str(primitive), 0)
        if known:
            return known * own
        return own if self._is_even(primitive) else 0

    def _is_even(self, p: Polynomial) -> bool:
        """Whether all terms are positive numbers times even powers, or powers of what is positive."""
        generators = self.field.generators
        if not self.real(p):
            return False
        even = all(c > 0 for c in p.coeffs())
        return even and all(not e % 2 or generators[i].positive for exponents in p.monoms() for i, e in enumerate(exponents) if e)

    def real(self, p: Polynomial) -> bool:
        return all(self.field.generators[i].real for i in self.field.used(p))

    def split(self, x: Element) -> Product:
        """An element as a product. Raises Unsupported for zero."""
        x = x.lowest()
        if x.is_zero:
            raise Unsupported("a power of zero")
        field = self.field
        constant, factors = field.factored(x.p)
        sign = 1 if constant > 0 else -1
        bases = self._primes(abs(fraction(constant)))
        exponent = self.number(0)
        rest: Element | None = None
        for key, times in [*factors, *((key, -times) for key, times in x.below.items())]:
            p = field.factors[key]
            place = field.single(p)
            generator = None if place is None else field.generators[place]
            known = self.sign_of(p)
            if isinstance(generator, Exponential) and generator.real:
                exponent = exponent + generator.exponent * times
            elif isinstance(generator, Root):
                bases.append((generator.base, Fraction(times, generator.order)))
            elif isinstance(generator, Power):
                bases.append((generator.base, times * generator.exponent))
            elif known:
                bases.append((Element(field, p if known > 0 else -p), Fraction(times)))
                sign *= known if times % 2 else 1
            elif not self.real(p):
                rest = self._with(rest, Element(field, field.power(p, times)) if times > 0 else None)
            else:
                if times - times % 2:
                    bases.append((self._magnitude(p), Fraction(times - times % 2)))
                rest = self._with(rest, Element(field, p)) if times % 2 else rest
        if sign < 0:
            rest = -(self.number(1) if rest is None else rest)
        if rest is not None and (known := 0 if rest.rational is not None else self.sign_of(rest.p)) > 0:
            return Product([*bases, (rest, Fraction(1))], exponent, None)
        return Product(bases, exponent, rest)

    def _with(self, rest: Element | None, factor: Element | None) -> Element:
        if factor is None:
            raise Unsupported("a quotient of unknown sign")
        product: Element = factor if rest is None else rest * factor
        return product

    def _primes(self, x: Fraction) -> list[tuple[Element, Fraction]]:
        from flint import fmpz

        found = []
        for number, sign in ((x.numerator, 1), (x.denominator, -1)):
            if number >= _LARGEST:
                found.append((self.number(number), Fraction(sign)))
            elif number > 1:
                found += [(self.number(int(p)), Fraction(sign * int(e))) for p, e in fmpz(number).factor()]
        return found

    def _magnitude(self, p: Polynomial) -> Element:
        field = self.field
        return Element(field, field.symbols[field.place(("abs", str(p)), lambda: Magnitude(Element(field, p)))])

    def magnitude(self, x: Element) -> Element:
        """The absolute value. Raises Unsupported where an element may not be real."""
        if x.is_zero:
            return x
        parts = self.split(x)
        result = self.exp(parts.exponent)
        for base, exponent in parts.bases:
            result = result * self._of_base(base, exponent)
        if parts.rest is None:
            return result
        if not self.real(parts.rest.p):
            raise Unsupported("an absolute value of what may not be real")
        constant, factors = self.field.factored(parts.rest.p)
        result = result * abs(fraction(constant))
        for key, times in factors:
            result = result * self._magnitude(self.field.factors[key]) ** times
        return result

    def root(self, x: Element, exponent: Fraction) -> Element:
        """A rational power of what is not negative where it has a value, unless the power is whole."""
        if exponent.denominator == 1:
            return x**exponent
        if x.is_zero:
            if exponent < 0:
                raise Unsupported("a division by zero")
            return x
        parts = self.split(x)
        result = self.exp(parts.exponent * exponent)
        if parts.rest is not None:
            self._learn(parts.rest)
            result = result * self._of_base(parts.rest, exponent)
        for base, times in parts.bases:
            result = result * self._of_base(base, times * exponent)
        return result

    def _learn(self, x: Element) -> None:
        if x.rational is not None:
            raise Unsupported("a root of a negative number")
        scale, primitive = self.field.primitive(x.p)
        self.known.learn(str(primitive), 1 if scale > 0 else -1)

    def _of_base(self, base: Element, exponent: Fraction) -> Element:
        """A rational power of a polynomial, or a number, that has not to be taken apart."""
        whole = floor(exponent)
        part = exponent - whole
        result = base**whole
        if not part:
            return result
        field = self.field
        key = str(base.p)
        order = self.known.order(key, part.denominator)
        if order is None:
            place = field.place(("power", key, part), lambda: Power(base, part))
            return result * Element(field, field.symbols[place])
        place = field.place(("root", key, order), lambda: Root(base, order))
        return result * Element(field, field.power(field.symbols[place], int(part * order)))

    def log(self, x: Element) -> Element:
        """The real logarithm: of what is positive where it has a value."""
        parts = self.split(x)
        if parts.rest is not None:
            self._learn(parts.rest)
        return self._sum_of_logarithms(parts)

    def principal_log(self, x: Element) -> Element:
        """The logarithm by which powers are defined."""
        return self._sum_of_logarithms(self.split(x))

    def _sum_of_logarithms(self, parts: Product) -> Element:
        total = parts.exponent
        for base, exponent in parts.bases:
            total = total + self._logarithm(base, True) * exponent
        return total if parts.rest is None else total + self._logarithm(parts.rest, False)

    def _logarithm(self, base: Element, real: bool) -> Element:
        field = self.field
        if base.rational is not None and base.rational < 0:
            raise Unsupported("a power of a negative number")
        place = field.place(("log", str(base.p), real), lambda: Logarithm(base, real))
        return Element(field, field.symbols[place])
