"""What generators of a field stand for, and their derivatives."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gradcli.reference.fields.element import Element
from gradcli.reference.fields.field import Generator


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
        from gradcli.reference.fields.from_sympy import slope

        total = Element.number(own.field, 0)
        for i, argument in enumerate(self.arguments):
            inner = by(argument)
            if not inner.is_zero:
                total = total + slope(self.functions, self.name, i, self.arguments) * inner
        return total
