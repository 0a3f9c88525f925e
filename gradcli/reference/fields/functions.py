"""Functions on elements of a field, under the names that sympy and mpmath have for them: what records' references are evaluated with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from math import floor, lcm
from typing import Any, NamedTuple

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.element import Element, Field, Generator, Polynomial, fraction

# -- What is known of an expression before it is read: the units of its exponents and angles, the
# orders of its roots, the signs of its parts.
#
# All of it is found while reading. What changes how earlier parts are written raises `Refined`:
# then all is read once more.


_MULTIPLE = 48  # the largest multiple of a unit, and the largest part that a unit is cut into
_ORDER = 24  # the largest order of a root that has a relation


class Refined(Exception):
    """Something was learnt that earlier parts did not know of."""


class Known:
    """What was learnt so far; it survives reading anew.

    signs    of polynomials, 1 or -1, by their names: where the expression has a value, they are not negative, or not positive
    learnt   signs that count from the next reading on
    """

    def __init__(self) -> None:
        self._units: dict[Hashable, list[Fraction]] = {}
        self._orders: dict[Hashable, int] = {}
        self.signs: dict[str, int] = {}
        self.learnt: dict[str, int] = {}

    def unit(self, key: Hashable, multiple: Fraction) -> Fraction:
        """A unit of which this is a moderate whole multiple: one that others share, where there is one. Raises Refined."""
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
        """The order of a root of which all powers of a base are whole powers; None for those that have too large a one. Raises Refined."""
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


# -- What generators of a field stand for, and their derivatives -----------------------------------


class Variable(Generator):
    """An entry of a leaf."""

    def derivative(self, own: Element, by: Any) -> Element:
        return Element.number(own.field, 0)  # but for the one by which is differentiated


class Constant(Variable):
    """A positive number that is not rational, such as pi."""

    positive = True


class Exponential(Generator):
    """exp of a term."""

    def __init__(self, exponent: Element, real: bool) -> None:
        self.exponent, self.parts = exponent, (exponent,)
        self.real = self.positive = real

    def derivative(self, own: Element, by: Any) -> Element:
        product: Element = own * by(self.exponent)
        return product


class Logarithm(Generator):
    """The principal logarithm: of a base that may be negative where it only serves powers."""

    def __init__(self, base: Element, real: bool) -> None:
        self.base, self.real, self.parts = base, real, (base,)

    def derivative(self, own: Element, by: Any) -> Element:
        quotient: Element = by(self.base) / self.base
        return quotient


class Root(Generator):
    """The root of a base that is not negative where it has a value."""

    positive = rationalized = True

    def __init__(self, base: Element, order: int) -> None:
        self.base, self.order, self.parts = base, order, (base,)
        self.relation = order, base.p

    def derivative(self, own: Element, by: Any) -> Element:
        slope: Element = own * by(self.base) / (self.base * self.order)
        return slope


class Power(Generator):
    """A base that is not negative, to a power between 0 and 1 of so large a denominator that it has no relation."""

    positive = True

    def __init__(self, base: Element, exponent: Fraction) -> None:
        self.base, self.exponent, self.parts = base, exponent, (base,)

    def derivative(self, own: Element, by: Any) -> Element:
        slope: Element = own * self.exponent * by(self.base) / self.base
        return slope


class Magnitude(Generator):
    """The absolute value of what is real."""

    positive = rationalized = True

    def __init__(self, base: Element) -> None:
        self.base, self.parts = base, (base,)
        self.relation = 2, base.field.power(base.p, 2)

    def derivative(self, own: Element, by: Any) -> Element:
        slope: Element = own * by(self.base) / self.base
        return slope


class Cosine(Generator):
    """The cosine of a term; the sine comes after it."""

    def __init__(self, angle: Element) -> None:
        self.angle, self.parts = angle, (angle,)
        self.sine: Element

    def derivative(self, own: Element, by: Any) -> Element:
        slope: Element = -self.sine * by(self.angle)
        return slope


class Sine(Generator):
    """The sine of a term: its square is 1 less that of the cosine."""

    def __init__(self, angle: Element, cosine: Element) -> None:
        self.angle, self.cosine, self.parts = angle, cosine, (angle,)
        self.relation = 2, cosine.field.one - cosine.p**2

    def derivative(self, own: Element, by: Any) -> Element:
        slope: Element = self.cosine * by(self.angle)
        return slope


class Call(Generator):
    """Any other function that sympy can differentiate, by its name there."""

    def __init__(self, name: str, arguments: tuple[Element, ...], functions: Any) -> None:
        self.name, self.arguments, self.functions = name, arguments, functions
        self.parts = arguments

    def derivative(self, own: Element, by: Any) -> Element:
        from gradcli.reference.fields.element import slope

        total = Element.number(own.field, 0)
        for i, argument in enumerate(self.arguments):
            inner = by(argument)
            if not inner.is_zero:
                total = total + slope(self.functions, self.name, i, self.arguments) * inner
        return total


# -- Powers, logarithms and absolute values in a field: a product is taken apart only where that
# holds wherever it has a real value.
#
# A power is that of the principal logarithm, which is the real one wherever there is one:
# exponents of one base add up whatever its sign. A factor leaves a base only if it is known not
# to be negative: by what it is (exp, an absolute value, an even power), or because the expression
# has no value elsewhere (under a root, in a logarithm).


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
        """Return whether all terms are positive numbers times even powers, or powers of what is positive."""
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


_ANGLES = 4  # terms of a sum whose sine is expanded
_EXPONENTS = 12  # terms of a sum whose exponential is a product


class Functions(Powers):
    """What stands for sympy, or for mpmath's context, where references are evaluated on elements."""

    @property
    def zero(self) -> Element:
        return self.number(0)

    @property
    def one(self) -> Element:
        return self.number(1)

    inf = nan = None  # nothing can be computed with them

    @property
    def pi(self) -> Element:
        return self._constant("pi")

    @property
    def euler(self) -> Element:
        return self._constant("euler")

    @property
    def E(self) -> Element:
        return self.exp(1)

    def _constant(self, name: str) -> Element:
        return Element(self.field, self.field.symbols[self.field.place(name, Constant)])

    def of(self, x: Any) -> Element:
        return x if isinstance(x, Element) else self.number(x)

    mpf = Integer = Float = sympify = of

    def Rational(self, p: Any, q: Any = 1) -> Element:
        quotient: Element = self.of(p) / self.of(q)
        return quotient

    # -- exponentials, logarithms, powers

    def _terms(self, x: Element, most: int) -> list[tuple[Fraction, Element]]:
        """Rational multiples of terms that add up to an element: of single ones, unless there are too many."""
        x = x.lowest()
        field = self.field
        if len(x.p) > most:
            scale = fraction(x.p.leading_coefficient())
            return [(scale, x / scale)]
        single = [(fraction(c), Element(field, field.ring.from_dict({m: 1}), x.below).lowest()) for m, c in sorted(x.p.to_dict().items())]
        return single

    def exp(self, x: Any) -> Element:
        result = self.one
        for multiple, term in self._terms(self.of(x), _EXPONENTS):
            result = result * self._exp_of(multiple, term)
        return result

    def _exp_of(self, multiple: Fraction, term: Element) -> Element:
        field = self.field
        place = None if term.below else field.single(term.p)
        generator = None if place is None else field.generators[place]
        if isinstance(generator, Logarithm):
            return self._of_base(generator.base, multiple)
        key = term.key
        unit = self.known.unit(("exp", key), multiple)
        real = all(field.generators[i].real for i in term.used())
        place = field.place(("exp", key, unit), lambda: Exponential(term * unit, real))
        result: Element = Element(field, field.symbols[place]) ** (multiple / unit)
        return result

    def ln(self, x: Any, base: Any = None) -> Element:
        return self.log(x, base)

    def log(self, x: Any, base: Any = None) -> Element:
        logarithm = super().log(self.of(x))
        if base is None:
            return logarithm
        quotient: Element = logarithm / super().log(self.of(base))
        return quotient

    def sqrt(self, x: Any) -> Element:
        return self.root(self.of(x), Fraction(1, 2))

    def cbrt(self, x: Any) -> Element:
        return self.root(self.of(x), Fraction(1, 3))

    def Pow(self, x: Any, y: Any) -> Element:
        x, y = self.of(x), self.of(y)
        exponent = y.rational
        if exponent is not None:
            return self.root(x, exponent)
        return self.exp(y * self.principal_log(x))

    power = Pow

    def expm1(self, x: Any) -> Element:
        return self.exp(x) - 1

    def log1p(self, x: Any) -> Element:
        return self.log(1 + self.of(x))

    # -- absolute values and signs, away from zero

    def Abs(self, x: Any) -> Element:
        return self.magnitude(self.of(x))

    fabs = Abs

    def sign(self, x: Any) -> Element:
        x = self.of(x)
        quotient: Element = (self.magnitude(x) / x).lowest()
        return quotient

    # -- trigonometric functions

    def cos_sin(self, x: Any) -> tuple[Element, Element]:
        x = self.of(x)
        c, s = self.one, self.zero
        for multiple, term in self._terms(x, _ANGLES):
            c2, s2 = self._cos_sin_of(multiple, term)
            c, s = c * c2 - s * s2, s * c2 + c * s2
        return c, s

    def _cos_sin_of(self, multiple: Fraction, term: Element) -> tuple[Element, Element]:
        times, (c, s) = self._turned(multiple, term)
        if times < 0:
            times, s = -times, -s
        cosine, sine = self.one, self.zero
        for _ in range(times):
            cosine, sine = cosine * c - sine * s, sine * c + cosine * s
        return cosine, sine

    def _turned(self, multiple: Fraction, term: Element) -> tuple[int, tuple[Element, Element]]:
        """How often an angle is another one, and the cosine and sine of that."""
        field = self.field
        place = None if term.below else field.single(term.p)
        generator = None if place is None else field.generators[place]
        if isinstance(generator, Constant) and term.key == self.pi.key:
            for parts, known in ((2, (self.zero, self.one)), (6, (self.sqrt(3) / 2, self.one / 2)), (4, (self.sqrt(2) / 2,) * 2)):
                if (multiple * parts).denominator == 1:
                    return int(multiple * parts) % (2 * parts), known
        if isinstance(generator, Call) and multiple.denominator == 1 and generator.name in ("asin", "atan"):
            v = generator.arguments[0]
            if generator.name == "asin":
                return int(multiple), (self.sqrt(1 - v * v), v)
            c = 1 / self.sqrt(1 + v * v)
            return int(multiple), (c, v * c)
        key = term.key
        unit = self.known.unit(("angle", key), multiple)
        return int(multiple / unit), self._angle(key, term * unit, unit)

    def _angle(self, key: Any, angle: Element, unit: Fraction) -> tuple[Element, Element]:
        field = self.field
        at = field.place(("cos", key, unit), lambda: Cosine(angle))
        cosine = Element(field, field.symbols[at])
        sine = Element(field, field.symbols[field.place(("sin", key, unit), lambda: Sine(angle, cosine))])
        generator = field.generators[at]
        assert isinstance(generator, Cosine)
        generator.sine = sine
        return cosine, sine

    def cos(self, x: Any) -> Element:
        return self.cos_sin(x)[0]

    def sin(self, x: Any) -> Element:
        return self.cos_sin(x)[1]

    def tan(self, x: Any) -> Any:
        c, s = self.cos_sin(x)
        return s / c

    def cot(self, x: Any) -> Any:
        c, s = self.cos_sin(x)
        return c / s

    def sec(self, x: Any) -> Any:
        return 1 / self.cos(x)

    def csc(self, x: Any) -> Any:
        return 1 / self.sin(x)

    def acos(self, x: Any) -> Element:
        return self.pi / 2 - self.asin(x)

    def asec(self, x: Any) -> Element:
        return self.acos(1 / self.of(x))

    def acsc(self, x: Any) -> Element:
        return self.asin(1 / self.of(x))

    # -- hyperbolic functions, by exponentials

    def sinh(self, x: Any) -> Any:
        e = self.exp(x)
        return (e - e.inverse()) / 2

    def cosh(self, x: Any) -> Any:
        e = self.exp(x)
        return (e + e.inverse()) / 2

    def tanh(self, x: Any) -> Any:
        e = self.exp(2 * self.of(x))
        return (e - 1) / (e + 1)

    def coth(self, x: Any) -> Any:
        return self.tanh(x).inverse()

    def sech(self, x: Any) -> Any:
        return self.cosh(x).inverse()

    def csch(self, x: Any) -> Any:
        return self.sinh(x).inverse()

    def asinh(self, x: Any) -> Element:
        x = self.of(x)
        return self.log(x + self.sqrt(x * x + 1))

    def acosh(self, x: Any) -> Element:
        x = self.of(x)
        return self.log(x + self.sqrt(x - 1) * self.sqrt(x + 1))

    def atanh(self, x: Any) -> Element:
        x = self.of(x)
        return (self.log(1 + x) - self.log(1 - x)) / 2

    def acoth(self, x: Any) -> Element:
        x = self.of(x)
        return self.log((x + 1) / (x - 1)) / 2

    def asech(self, x: Any) -> Element:
        return self.acosh(1 / self.of(x))

    def acsch(self, x: Any) -> Element:
        return self.asinh(1 / self.of(x))

    # -- others

    def erfc(self, x: Any) -> Element:
        return 1 - self.erf(x)

    def digamma(self, x: Any) -> Element:
        return self.polygamma(0, x)

    def __getattr__(self, name: str) -> Callable[..., Element]:
        """Any other function of sympy's: nothing is known of it but its derivatives there."""
        if name.startswith("_"):
            raise AttributeError(name)
        from gradcli.reference.fields.element import is_function

        if not is_function(name):
            raise Unsupported(name)
        return lambda *arguments: self.call(name, *arguments)

    def call(self, name: str, *arguments: Any) -> Element:
        from gradcli.reference.fields.element import is_odd

        elements = tuple(self.of(x).lowest() for x in arguments)
        if len(elements) == 1 and not elements[0].is_zero and elements[0].p.leading_coefficient() < 0 and is_odd(name):
            return -self.call(name, -elements[0])
        field = self.field
        place = field.place(("call", name, *(x.key for x in elements)), lambda: Call(name, elements, self))
        return Element(field, field.symbols[place])
