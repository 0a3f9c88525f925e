"""Functions on elements of a field, under the names that sympy and mpmath have for them: what records' references are evaluated with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.element import Element, fraction
from gradcli.reference.fields.generators import Call, Constant, Cosine, Exponential, Logarithm, Sine
from gradcli.reference.fields.powers import Powers

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
        from gradcli.reference.fields.from_sympy import is_function

        if not is_function(name):
            raise Unsupported(name)
        return lambda *arguments: self.call(name, *arguments)

    def call(self, name: str, *arguments: Any) -> Element:
        from gradcli.reference.fields.from_sympy import is_odd

        elements = tuple(self.of(x).lowest() for x in arguments)
        if len(elements) == 1 and not elements[0].is_zero and elements[0].p.leading_coefficient() < 0 and is_odd(name):
            return -self.call(name, -elements[0])
        field = self.field
        place = field.place(("call", name, *(x.key for x in elements)), lambda: Call(name, elements, self))
        return Element(field, field.symbols[place])
