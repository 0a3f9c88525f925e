"""Products and powers of values: roots, exponentials, logarithms, and powers with exponents that are no numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.formulas.bases import ONE, ZERO, Base, Bases, Value
from gradcli.formulas.polynomials import Monomial, Number, Polynomial, lean, power, primitive, product
from gradcli.formulas.roots import rational_root
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.spec import Op

_LARGEST_POWER = 64
_MOST_BITS = 4096


class Unsimplified(Exception):
    """Something is undefined as it stands, such as 1/0, or takes too much work."""


class Powers(ABC):
    """What is done with single products; sums are another class's.

    largest  terms that a sum may have when it is multiplied out
    """

    def __init__(self, largest: int) -> None:
        self.bases = Bases()
        self.largest = largest
        self.left = 0  # work that may be done
        self.euler = False  # whether the number e is raised to powers, rather than exp called

    def spend(self, work: int) -> None:
        """Count work, in products of terms about. Raises Unsimplified where there was enough."""
        self.left -= work
        if self.left < 0:
            raise Unsimplified

    @abstractmethod
    def function(self, op: Op, operands: Sequence[Value | None], static: Any) -> Value:
        """A function that is not taken apart."""

    @abstractmethod
    def total(self, values: Sequence[Value]) -> Value:
        """A sum."""

    @abstractmethod
    def expanded(self, monomial: Monomial) -> Polynomial | None:
        """A product multiplied out; None if it is too long."""

    @abstractmethod
    def with_squares(self, terms: Polynomial) -> Polynomial:
        """A sum with sin(x)**2 as 1 - cos(x)**2, and so on, where that leaves fewer terms."""

    def times(self, *values: Value) -> Value:
        number, monomial = values[0]
        for more, other in values[1:]:
            number *= more
            monomial = product(monomial, other)
        if number == 0:
            return ZERO
        return self.normal((lean(number), monomial))

    def normal(self, value: Value) -> Value:
        """Roots to powers below their modulus: sqrt(2)**3 is 2*sqrt(2)."""
        reducible = self.bases.reducible
        if not reducible or not any(base in reducible for base, _ in value[1]):
            return value
        number, monomial = value
        for base, exponent in monomial:
            modulus = self.bases[base].modulus
            if base in reducible and not 0 <= exponent < modulus:
                whole = exponent // modulus
                rest = product(monomial, ((base, -whole * modulus),))
                more, other = self.raised(self.bases[base].reduced, whole)
                return self.normal((lean(number * more), product(rest, other)))
        return value

    def raised(self, value: Value, exponent: Number) -> Value:
        """A value to a numeric power."""
        number, monomial = value
        if exponent == 0:
            return ONE
        if number == 0:
            if exponent < 0:
                raise Unsimplified
            return ZERO
        if exponent.denominator == 1:
            whole = int(exponent)
            if number not in (1, -1) and max(whole, -whole) * max(_bits(number), _MOST_BITS // _LARGEST_POWER) > _MOST_BITS:
                raise Unsimplified
            return self.normal((lean(Fraction(number) ** whole) if number != 1 else 1, power(monomial, whole)))
        return self.root(value, Fraction(exponent))

    def root(self, value: Value, exponent: Fraction) -> Value:
        """A value to a power that is a fraction, where that is a real number."""
        number, monomial = self._multiplied_out(value)
        outside: list[tuple[int, Number]] = [(b, lean(e * exponent)) for b, e in monomial if self.bases[b].positive]
        inside = tuple([(b, e) for b, e in monomial if not self.bases[b].positive])
        factor: Value = (1, tuple(outside))
        index = exponent.denominator
        if number > 0:
            taken, number = rational_root(number, index)
            factor = (lean(Fraction(taken) ** exponent.numerator), factor[1])
        if len(inside) == 1 and abs(number) == 1:
            base, power_of = inside[0]
            even = power_of.denominator == 1 and power_of % 2 == 0
            if number == -1 and power_of == 1 and self.bases[base].terms is not None:
                terms = {m: -c for m, c in (self.bases[base].terms or {}).items()}
                base = self.bases.sum(terms, signed=True)[1].number
                number = 1
            if number == 1 and not even:
                return self.times(factor, (1, ((base, lean(power_of * exponent)),)))
            if number == 1 and index == 2:  # sqrt(x**2) is abs(x)
                half = power_of // 2
                whole: Value = (1, ((base, half * exponent.numerator),))
                if half % 2:
                    whole = self.times(whole, self.function(arithmetic.sign, [(1, ((base, 1),))], {}))
                return self.times(factor, whole)
        if not inside and number == 1:
            return self.normal(factor)
        under = (number, inside)
        base_ = self.bases.make(("root", index, under), of=under, modulus=index, reduced=under, positive=not inside and number > 0)
        return self.times(factor, self.normal((1, ((base_.number, exponent.numerator),))))

    def _multiplied_out(self, value: Value) -> Value:
        """(1 - x)*(1 + x) as 1 - x**2: what stands under a root in one form."""
        number, monomial = value
        sums = tuple([(b, e) for b, e in monomial if b in self.bases.sums and e == 1])
        if len(sums) < 2:
            return value
        terms = self.expanded(sums)
        if terms is None:
            return value
        more, other, terms = primitive(self.with_squares(terms))
        outer = self.times((number, tuple([(b, e) for b, e in monomial if (b, e) not in sums])), (more, other))
        if len(terms) == 1:
            return self.times(outer, *((c, m) for m, c in terms.items()))
        sign, base = self.bases.sum(terms)
        return self.times(outer, (sign, ((base.number, 1),)))

    def addends(self, value: Value) -> list[Value]:
        """The terms of a product with one sum in it, multiplied out."""
        number, monomial = value
        sums = [base for base, exponent in monomial if exponent == 1 and base in self.bases.sums]
        if len(sums) != 1:
            return [value]
        rest: Value = (number, product(monomial, ((sums[0], -1),)))
        return [self.times(rest, (c, m)) for m, c in (self.bases[sums[0]].terms or {}).items()]

    def exponential(self, value: Value) -> Value:
        factors: list[Value] = [ONE]
        for number, monomial in self.addends(value):
            if not number:
                continue
            logs = [b for b, e in monomial if e == 1 and self.bases[b].op is exponential.log]
            if len(logs) == 1:
                inner = self.bases[logs[0]].operands[0]
                assert inner is not None
                factors.append(self.symbolic_power(inner, (number, product(monomial, ((logs[0], -1),)))))
            else:
                base = self.bases.make(("exp", monomial), by=(1, monomial), positive=True)
                factors.append((1, ((base.number, number),)))
        return self.times(*factors)

    def logarithm(self, value: Value) -> Value:
        number, monomial = value
        if number == 1 and all(self.bases[b].by is not None and self.bases[b].positive for b, _ in monomial):
            return self.total([self._exponent(self.bases[b], e) for b, e in monomial])
        return self.function(exponential.log, [value], {})

    def _exponent(self, base: Base, exponent: Number) -> Value:
        """The logarithm of a power whose base is a positive number."""
        assert base.by is not None
        inner: Value = (lean(base.by[0] * exponent), base.by[1])
        return inner if base.of is None else self.times(inner, self.logarithm(base.of))

    def symbolic_power(self, value: Value, exponent: Value) -> Value:
        if not exponent[1]:
            return self.raised(value, exponent[0])
        number, monomial = value
        if value == ONE:
            return ONE
        if number == 1 and all(self.bases[b].by is not None and self.bases[b].of is None for b, _ in monomial):
            if monomial == self.exponential(ONE)[1]:
                self.euler = True
            return self.exponential(self.times(self.logarithm(value), exponent))
        addends = self.addends(exponent)
        if number == 0 or any(not m and c.denominator != 1 for c, m in addends):
            return self.function(exponential.pow_, [value, exponent], {})
        plain = number > 0 and not monomial
        factors: list[Value] = []
        for c, m in addends:
            if not m:
                factors.append(self.raised(value, c))
                continue
            parts = 1 if plain else c.denominator
            unit: Value = (1 if parts == 1 else Fraction(1, parts), m)
            base = self.bases.make(("power", value, unit), of=value, by=unit, positive=plain)
            factors.append((1, ((base.number, lean(c * parts)),)))
        return self.times(*factors)


def _bits(number: Number) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())
