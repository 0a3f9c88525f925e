"""Elements of a field: a numerator over a product of powers of factors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.field import Field, Polynomial

_NOTHING: Mapping[str, int] = {}


class Element:
    """A rational function of the generators of a field. It has arithmetic; to be compared it has to be a number."""

    __slots__ = ("below", "field", "p")

    def __init__(self, field: Field, p: Polynomial, below: Mapping[str, int] = _NOTHING) -> None:
        self.field, self.p, self.below = field, p, below if len(p) else _NOTHING

    @classmethod
    def number(cls, field: Field, x: Any) -> Element:
        """A number, exactly. Raises Unsupported for what is not finite."""
        from flint import fmpq

        if isinstance(x, (float, np.floating)):
            if not np.isfinite(x):
                raise Unsupported("a number that is not finite")
            x = Fraction(float(x))
        elif isinstance(x, (bool, int, np.integer, np.bool_)):
            x = Fraction(int(x))
        elif not isinstance(x, Fraction):
            raise Unsupported(type(x).__name__)
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

    def _plus(self, other: Element, sign: int) -> Element:
        if self.is_zero or other.is_zero:
            return other._scaled(sign) if self.is_zero else self
        below = dict(self.below)
        for key, exponent in other.below.items():
            below[key] = max(exponent, below.get(key, 0))
        p, q = self._raised(below), other._raised(below)
        self.field.spend(len(p) + len(q))
        return Element(self.field, p + q if sign > 0 else p - q, below)

    def _scaled(self, sign: int) -> Element:
        return self if sign > 0 else Element(self.field, -self.p, self.below)

    def __add__(self, other: Any) -> Element:
        return NotImplemented if isinstance(other, np.ndarray) else self._plus(self.of(other), 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Element:
        return NotImplemented if isinstance(other, np.ndarray) else self._plus(self.of(other), -1)

    def __rsub__(self, other: Any) -> Element:
        return NotImplemented if isinstance(other, np.ndarray) else self.of(other)._plus(self, -1)

    def __mul__(self, other: Any) -> Element:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes the scalar into its own loop
        other = self.of(other)
        p, others = self._cancelled(self.p, other.below)
        q, own = self._cancelled(other.p, self.below)
        below = dict(own)
        for key, exponent in others.items():
            below[key] = exponent + below.get(key, 0)
        return Element(self.field, self.field.product(p, q), below)

    __rmul__ = __mul__

    def __neg__(self) -> Element:
        return self._scaled(-1)

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

    def __truediv__(self, other: Any) -> Element:
        return NotImplemented if isinstance(other, np.ndarray) else self * self.of(other).inverse()

    def __rtruediv__(self, other: Any) -> Element:
        return NotImplemented if isinstance(other, np.ndarray) else self.of(other) * self.inverse()

    def __abs__(self) -> Element:
        magnitude: Element = self.field.functions.magnitude(self)
        return magnitude

    def __rpow__(self, base: Any) -> Element:
        return self.of(base) ** self

    def __pow__(self, exponent: Any) -> Element:
        exact = self.of(exponent).rational
        if exact is None or exact.denominator != 1:
            power: Element = self.field.functions.Pow(self, exponent)
            return power
        n = int(exact)
        if n < 0:
            return self.inverse() ** -n
        return Element(self.field, self.field.power(self.p, n), {key: n * e for key, e in self.below.items()} if n else _NOTHING)

    def _compared(self, other: Any) -> tuple[Fraction, Fraction]:
        difference = (self - other).rational
        if difference is None:
            raise Unsupported("a comparison of what varies")
        return difference, Fraction(0)

    def __eq__(self, other: object) -> bool:
        x, y = self._compared(other)
        return x == y

    def __lt__(self, other: Any) -> bool:
        x, y = self._compared(other)
        return x < y

    def __le__(self, other: Any) -> bool:
        x, y = self._compared(other)
        return x <= y

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = object.__hash__


def fraction(x: Any) -> Fraction:
    """A rational number of FLINT's."""
    from flint import fmpq

    x = fmpq(x)
    return Fraction(int(x.p), int(x.q))
