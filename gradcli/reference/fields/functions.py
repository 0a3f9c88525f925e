"""Functions on elements of a field.

They evaluate sympy's expressions of operations and of their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from functools import cache
from math import floor, lcm
from typing import Any, NamedTuple, TypeVar

import sympy

from gradcli.reference.algebra import NO_VALUE, Unsupported
from gradcli.reference.fields.element import (
    Element,
    Field,
    Generator,
    Polynomial,
    TooSmall,
    fraction,
)
from gradcli.reference.symbolic.translate import OTHERS, OfSympy, pairs_of

# -- What is known of an expression before it is read: the units of its exponents and angles, the
# orders of its roots, the signs of its parts.
#
# All of it is found while reading. What changes how earlier parts are written raises `Refined`:
# then all is read once more.


_MULTIPLE = 48  # largest multiple of a unit, and most parts into which a unit is cut
_ORDER = 24  # largest order of a root that gets a relation


class Refined(Exception):
    """Something was learnt that earlier parts did not know of."""


class Known:
    """Facts that were learnt so far; it survives reading anew.

    signs    of polynomials, 1 or -1, by their names: where the expression has a value, they are not
             negative, or not positive
    learnt   signs that count from the next reading on
    """

    def __init__(self) -> None:
        self._units: dict[Hashable, list[Fraction]] = {}
        self._orders: dict[Hashable, int] = {}
        self.signs: dict[str, int] = {}
        self.learnt: dict[str, int] = {}

    def unit(self, key: Hashable, multiple: Fraction) -> Fraction:
        """Return a unit that ``multiple`` is a moderate whole multiple of.

        It is a unit shared with others if there is one. Raises Refined.
        """
        units = self._units.setdefault(key, [])
        for i, unit in enumerate(units):
            ratio = multiple / unit
            if ratio.denominator == 1 and abs(ratio) <= _MULTIPLE:
                return unit
            if ratio.denominator <= _MULTIPLE and abs(ratio.numerator) <= _MULTIPLE:
                units[i] = unit / ratio.denominator
                raise Refined
        units.append(abs(multiple))
        return units[-1]

    def order(self, key: Hashable, denominator: int) -> int | None:
        """Return the order of a root that makes all powers of a base whole powers.

        It is None where the order is too large. Raises Refined.
        """
        known = self._orders.get(key)
        if known is not None and known % denominator == 0:
            return known
        order = lcm(known or 1, denominator)
        if order > _ORDER:
            return None
        self._orders[key] = order
        if known is not None:
            raise Refined
        return order

    def learn(self, key: str, sign: int) -> None:
        if key not in self.signs:
            self.learnt[key] = sign

    def take_in(self) -> bool:
        """Return whether signs were learnt since the last reading, which count from now on."""
        new = bool(self.learnt)
        self.signs.update(self.learnt)
        self.learnt = {}
        return new


# -- Powers, logarithms and absolute values in a field: a product is taken apart only where that
# holds wherever it has a real value.
#
# A power is that of the principal logarithm, which is the real one wherever there is one:
# exponents of one base add up whatever its sign. A factor leaves a base only if it is known not
# to be negative: by what it is (exp, an absolute value, an even power), or because the expression
# has no value elsewhere (under a root, in a logarithm).


_LARGEST = 1 << 80  # larger numbers are not factored into primes


class Product(NamedTuple):
    """The factors of an element.

    bases     what is not negative, and its exponent
    exponent  what exp is taken of
    rest      what the sign of is not known, and the only such factor; None for none
    """

    bases: list[tuple[Element, Fraction]]
    exponent: Element
    rest: Element | None


_ANGLES = 4  # most terms of a sum whose sine is expanded
_EXPONENTS = 12  # most terms of a sum whose exponential becomes a product


@cache
def _is_odd(function: Any) -> bool:
    """Return whether sympy knows that a function of -x is the opposite of that of x."""
    x = sympy.Dummy("x", real=True)
    try:
        return bool(function(-x) == -function(x))
    except (TypeError, ValueError):
        return False


class Functions(OfSympy):
    """Functions of sympy's on elements.

    Functions that are known here are computed; others become generators of their own.
    """

    inf = ninf = nan = None  # this field cannot compute with them
    others: Mapping[Any, Any] = OTHERS | pairs_of(
        "sinh exp, cosh exp, tanh exp, asinh log, acosh log, atanh log, acos asin, erfc erf"
    )

    def __init__(self, field: Field, known: Known) -> None:
        self.field, self.known = field, known
        self.zero, self.one = self.of(0), self.of(1)

    def sign_of(self, p: Polynomial) -> int:
        """Return the sign of a polynomial where the expression has a value.

        It is 1 for one that is never negative, -1 for one that is never positive, and 0 for an
        unknown sign.
        """
        scale, primitive = self.field.primitive(p)
        own = 1 if scale > 0 else -1
        known = self.known.signs.get(str(primitive), 0)
        if known:
            return known * own
        return own if self._is_even(primitive) else 0

    def _is_even(self, p: Polynomial) -> bool:
        """Return whether all terms are positive numbers times even powers.

        Odd powers of what is positive count, too.
        """
        generators = self.field.generators
        if not self.real(p):
            return False
        even = all(c > 0 for c in p.coeffs())
        return even and all(
            not e % 2 or generators[i].positive
            for exponents in p.monoms()
            for i, e in enumerate(exponents)
            if e
        )

    def real(self, p: Polynomial) -> bool:
        return all(self.field.generators[i].real for i in self.field.used(p))

    def split(self, x: Element) -> Product:
        """Factor an element into a product, or raise Unsupported for zero."""
        x = x.lowest()
        if x.is_zero:
            raise Unsupported("a power of zero")
        field = self.field
        constant, factors = field.factor(x.p)
        scale, below = field.factor(x.q)
        sign = 1 if constant / scale > 0 else -1
        bases = self._primes(abs(fraction(constant / scale)))
        exponent = self.zero
        rest = self.one
        for p, times in [*factors, *((factor, -times) for factor, times in below)]:
            generator, known = field.generator(p), self.sign_of(p)
            if generator.kind == "exp" and generator.real:
                exponent = exponent + generator.parts[0] * times
            elif generator.kind == "power":
                bases.append((generator.parts[0], times * generator.exponent))
            elif known:
                bases.append((Element(field, p if known > 0 else -p), Fraction(times)))
                sign *= known if times % 2 else 1
            elif not self.real(p):
                if times < 0:
                    raise Unsupported("a quotient of unknown sign")
                rest = rest * Element(field, field.power(p, times))
            else:
                if times - times % 2:
                    bases.append((self._magnitude(p), Fraction(times - times % 2)))
                rest = rest * Element(field, p) if times % 2 else rest
        rest = -rest if sign < 0 else rest
        positive = rest.rational is None and self.sign_of(rest.p) > 0
        if positive:
            bases.append((rest, Fraction(1)))
        return Product(bases, exponent, None if positive or rest.rational == 1 else rest)

    def _primes(self, x: Fraction) -> list[tuple[Element, Fraction]]:
        from flint import fmpz

        found = []
        for number, sign in ((x.numerator, 1), (x.denominator, -1)):
            if number >= _LARGEST:
                found.append((self.of(number), Fraction(sign)))
            elif number > 1:
                found += [
                    (self.of(int(p)), Fraction(sign * int(e))) for p, e in fmpz(number).factor()
                ]
        return found

    def _magnitude(self, p: Polynomial) -> Element:
        field, base = self.field, Element(self.field, p)

        return field.symbol(
            ("abs", str(p)),
            lambda: Generator("abs", (base,), relation=(2, field.power(p, 2)), positive=True),
        )

    def root(self, x: Element, exponent: Fraction) -> Element:
        """Raise an element to a rational power.

        Unless the power is whole, the element is taken not to be negative where it has a value.
        """
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
        """Raise a polynomial, or a number, that is not to be factored to a rational power.

        It is computed by a root, unless the root's order is too large.
        """
        whole = floor(exponent)
        part = exponent - whole
        if not part:
            return base**whole
        key = str(base.p)
        order = self.known.order(key, part.denominator)
        of, relation = (part, None) if order is None else (Fraction(1, order), (order, base.p))
        power = self.field.symbol(
            ("power", key, of), lambda: Generator("power", (base,), of, relation, positive=True)
        )
        return base**whole * power ** (part / of)

    def _sum_of_logarithms(self, parts: Product) -> Element:
        total = parts.exponent
        for base, exponent in parts.bases:
            total = total + self._logarithm(base, True) * exponent
        return total if parts.rest is None else total + self._logarithm(parts.rest, False)

    def _logarithm(self, base: Element, real: bool) -> Element:
        if base.rational is not None and base.rational < 0:
            raise Unsupported("a power of a negative number")
        return self.field.symbol(
            ("log", str(base.p), real), lambda: Generator("log", (base,), real=real)
        )

    @property
    def pi(self) -> Element:
        return self._constant("pi")

    @property
    def euler(self) -> Element:
        return self._constant("euler")

    def _constant(self, name: str) -> Element:
        return self.field.symbol(name, lambda: Generator("constant", positive=True))

    def of(self, x: Any) -> Element:
        return self.field.element(x)

    mpf = of

    # -- exponentials, logarithms, powers

    def _terms(self, x: Element, most: int) -> list[tuple[Fraction, Element]]:
        """Return rational multiples of terms that add up to an element.

        Terms are single ones, unless there are too many.
        """
        x = x.lowest()
        field = self.field
        if len(x.p) > most:
            scale = fraction(x.p.leading_coefficient())
            return [(scale, x / scale)]
        return [
            (fraction(c), Element(field, field.ring.from_dict({m: 1}), x.q).lowest())
            for m, c in sorted(x.p.to_dict().items())
        ]

    def exp(self, x: Any) -> Element:
        result = self.one
        for multiple, term in self._terms(self.of(x), _EXPONENTS):
            result = result * self._exp_of(multiple, term)
        return result

    def _generator(self, term: Element) -> Generator:
        """Return the generator that an element is, or one without a kind if it is not one."""
        return self.field.generator(term.p) if term.q.is_constant() else Generator("")

    def _exp_of(self, multiple: Fraction, term: Element) -> Element:
        generator = self._generator(term)
        if generator.kind == "log":
            return self._of_base(generator.parts[0], multiple)
        unit = self.known.unit(("exp", term.key), multiple)
        real, exponent = self.real(term.p) and self.real(term.q), term * unit
        generated = self.field.symbol(
            ("exp", term.key, unit), lambda: Generator("exp", (exponent,), real=real, positive=real)
        )
        return generated ** (multiple / unit)

    def log(self, x: Any) -> Element:
        """Compute the real logarithm of an element that is positive where it has a value."""
        parts = self.split(self.of(x))
        if parts.rest is not None:
            self._learn(parts.rest)
        return self._sum_of_logarithms(parts)

    def sqrt(self, x: Any) -> Element:
        return self.root(self.of(x), Fraction(1, 2))

    def pow(self, x: Any, y: Any) -> Element:
        x, y = self.of(x), self.of(y)
        exponent = y.rational
        if exponent is not None:
            return self.root(x, exponent)
        return self.exp(y * self._sum_of_logarithms(self.split(x)))

    # -- absolute values and signs, away from zero

    def abs(self, x: Any) -> Element:
        return self.root(self.of(x) ** 2, Fraction(1, 2))

    def sign(self, x: Any) -> Element:
        return (self.abs(x) / self.of(x)).lowest()

    # -- trigonometric functions

    def cos_sin(self, x: Any) -> tuple[Element, Element]:
        c, s = self.one, self.zero
        for multiple, term in self._terms(self.of(x), _ANGLES):
            c2, s2 = self._cos_sin_of(multiple, term)
            c, s = c * c2 - s * s2, s * c2 + c * s2
        return c, s

    def _cos_sin_of(self, multiple: Fraction, term: Element) -> tuple[Element, Element]:
        times, (c, s) = self._turn(multiple, term)
        if times < 0:
            times, s = -times, -s
        cosine, sine = self.one, self.zero
        for _ in range(times):
            cosine, sine = cosine * c - sine * s, sine * c + cosine * s
        return cosine, sine

    def _turn(self, multiple: Fraction, term: Element) -> tuple[int, tuple[Element, Element]]:
        """Return how often an angle is another one, and the cosine and sine of that."""
        generator = self._generator(term)
        if generator.kind == "constant" and term.key == self.pi.key:
            for parts, known in (
                (2, (self.zero, self.one)),
                (6, (self.sqrt(3) / 2, self.one / 2)),
                (4, (self.sqrt(2) / 2,) * 2),
            ):
                if (multiple * parts).denominator == 1:
                    return int(multiple * parts) % (2 * parts), known
        if multiple.denominator == 1 and generator.kind in ("asin", "atan"):
            (v,) = generator.parts
            c = self.sqrt(1 - v * v) if generator.kind == "asin" else 1 / self.sqrt(1 + v * v)
            return int(multiple), (c, v if generator.kind == "asin" else v * c)
        unit = self.known.unit(("angle", term.key), multiple)
        field, angle = self.field, term * unit
        cosine = field.symbol(("cos", term.key, unit), lambda: Generator("cos", (angle,)))
        relation = 2, field.one - cosine.p**2  # sin**2 is 1 - cos**2
        sine = field.symbol(
            ("sin", term.key, unit), lambda: Generator("sin", (angle,), relation=relation)
        )
        return int(multiple / unit), (cosine, sine)

    def cos(self, x: Any) -> Element:
        return self.cos_sin(x)[0]

    def sin(self, x: Any) -> Element:
        return self.cos_sin(x)[1]

    def tan(self, x: Any) -> Element:
        c, s = self.cos_sin(x)
        return s / c

    # -- others

    def own(self, function: Any, *arguments: Any) -> Any:
        """Apply a function of sympy's; nothing is known of most."""
        name = function.__name__
        if (known := getattr(self, name.lower(), None)) is not None:
            return known(*arguments)
        elements = tuple(self.of(x).lowest() for x in arguments)
        if (
            len(elements) == 1
            and not elements[0].is_zero
            and elements[0].p.leading_coefficient() < 0
            and _is_odd(function)
        ):
            return -self.call(function, -elements[0])
        return self.field.symbol(
            ("call", name, *(x.key for x in elements)), lambda: Generator(name, elements)
        )


# -- Reading something anew as long as it is learnt how to write it


_READINGS = 16
_SIZES = (16, 64)  # sizes of the fields tried, in generators

T = TypeVar("T")


def decide_in_field(read: Callable[[Functions], T]) -> T | None:
    """Return the first true result of a reading in a field, or else the last one.

    It is None where the reading has none.
    """
    for size in _SIZES:
        field, known, found = Field(size), Known(), None
        try:
            for _ in range(_READINGS):
                try:
                    found = read(Functions(field, known))
                except Refined:
                    continue
                if found or not known.take_in():
                    break
        except TooSmall:
            continue
        except (*NO_VALUE, TypeError, AttributeError, LookupError):
            return None
        return found
    return None
