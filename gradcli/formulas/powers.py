"""Products and powers of values.

They are roots, exponentials, logarithms, and powers with exponents that are not numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from numpy import broadcast_shapes

from gradcli.ops.arrays.shapes import stack
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import where
from gradcli.ops.spec import Op

# -- Polynomials in numbered bases: what sums are while terms cancel and factors are found --------
#
# A monomial is a tuple of (base, exponent) by rising numbers of the bases; exponents are whole
# numbers or fractions, of either sign. A polynomial maps monomials to coefficients, none of them
# zero.


Number = int | Fraction
Monomial = tuple[tuple[int, Number], ...]
Polynomial = dict[Monomial, Number]


def lean(value: Number) -> Number:
    """Return a fraction that is whole as an int, whose arithmetic takes a tenth of the time."""
    return value.numerator if value.denominator == 1 else value


def product(x: Monomial, y: Monomial) -> Monomial:
    if not x or not y:
        return x or y
    table = dict(x)
    for base, exponent in y:
        if base in table:
            total = table[base] + exponent
            if total:
                table[base] = lean(total)
            else:
                del table[base]
        else:
            table[base] = exponent
    return tuple(sorted(table.items()))


def power(x: Monomial, exponent: Number) -> Monomial:
    return x if exponent == 1 else tuple([(base, lean(e * exponent)) for base, e in x if exponent])


def add_term(into: Polynomial, monomial: Monomial, coefficient: Number) -> None:
    total = into.get(monomial, 0) + coefficient
    if total:
        into[monomial] = lean(total)
    else:
        into.pop(monomial, None)


def multiply(x: Mapping[Monomial, Number], y: Mapping[Monomial, Number]) -> Polynomial:
    result: Polynomial = {}
    for m, c in x.items():
        for n, d in y.items():
            add_term(result, product(m, n), c * d)
    return result


def common(monomials: Iterable[Monomial]) -> Monomial:
    """Return the largest monomial that divides all.

    Of each base it has the lowest exponent, which counts as 0 where the base is missing.
    """
    tables = [dict(monomial) for monomial in monomials]
    lowest = [(base, min([t.get(base, 0) for t in tables])) for base in set().union(*tables)]
    return tuple(sorted([(base, exponent) for base, exponent in lowest if exponent]))


def content(coefficients: Iterable[Number]) -> Number:
    """Return the content of coefficients.

    This is the positive number that they are divided by to be whole and without a common factor.
    """
    found = list(coefficients)
    below = math.lcm(*(c.denominator for c in found))
    above = math.gcd(*(c.numerator * (below // c.denominator) for c in found))
    return lean(Fraction(above, below))


LONGEST = 10**6  # of the numbers above and below in a fraction that is written out
HALVES = 1024  # the largest power of 2 below in a number that is written with a point


def is_decimal(value: Number) -> bool:
    """Return whether a number that is not whole is written with a point.

    0.75 and 9.81 are, 2/5 and 1/3 are not.
    """
    below, longest = value.denominator, max(value.denominator, abs(value.numerator))
    return longest > LONGEST or HALVES % below == 0 or (longest > 9 and 10**20 % below == 0)


def has_point(value: Number) -> bool:
    """Return whether a number has a point beside a root, too: 0.3 has, but not 3/4 or 1/10."""
    return abs(value.numerator) != 1 and HALVES % value.denominator != 0 and is_decimal(value)


def _digits(number: Fraction) -> int:
    """Return how many digits a number is written with, without zeros at the front."""
    above, below = abs(number.numerator), number.denominator
    if below == 1 or (above == 1 and below <= 1000):
        return len(str(above * below))
    return len((Decimal(above) / below).as_tuple().digits)


def scale(x: Polynomial, by: Number) -> Polynomial:
    return x if by == 1 else {m: lean(Fraction(c) * by) for m, c in x.items()}


def primitive(x: Polynomial) -> tuple[Number, Monomial, Polynomial]:
    """Split a polynomial into a coefficient, a monomial and the polynomial without them."""
    number, monomial = content(x.values()), common(x)
    if number.denominator > 10 and number.denominator % 5 == 0:  # keeps decimals such as 1e-12
        divisors = [Fraction(number), *[abs(Fraction(x[m])) for m in sorted(x, reverse=True)]]
        number = min(divisors, key=lambda by: sum([_digits(c / by) for c in x.values()]))
    if number != 1:
        x = scale(x, Fraction(1) / number)
    if monomial:
        inverse = power(monomial, -1)
        x = {product(m, inverse): c for m, c in x.items()}
    return number, monomial, x


def bases_of(x: Iterable[Monomial]) -> set[int]:
    return {base for monomial in x for base, _ in monomial}


# -- Roots of numbers: what comes out of them ----------------------------------------------------


_LARGEST = 1 << 64


def rational_root(number: Number, index: int) -> tuple[Number, Number]:
    """Return ``taken`` and ``rest`` of a positive number, which is ``taken**index * rest``.

    As little as possible is left under the root, and that is a whole number or a decimal. 12 is
    2**2 * 3, and 1/2 is (1/2)**2 * 2; 0.3 is left, and 1/0.3 is (1/0.3)**2 * 0.3.
    """
    above, below = number.numerator, number.denominator
    if index > _LARGEST.bit_length():  # of numbers this small, only 1 is so high a power
        return 1, number
    left = above * below ** (index - 1)
    if left > _LARGEST:
        return 1, number
    taken, divisor = 1, 2
    while divisor**index <= left and divisor < 100:
        while left % divisor**index == 0:
            left //= divisor**index
            taken *= divisor
        divisor += 1
    whole = round(left ** (1 / index))
    if whole**index == left:
        taken, left = taken * whole, 1
    for part in (1, number) if left != 1 else ():
        rest = Fraction(number) / part**index
        if has_point(rest):
            return part, rest
    return lean(Fraction(taken, below)), left


# -- What products are made of: names, functions of something, powers with exponents that are no
# numbers, roots, and sums.


Value = tuple[Number, Monomial]  # a coefficient times powers of bases
ZERO: Value = (0, ())
ONE: Value = (1, ())


@dataclass(eq=False)
class Base:
    """One factor. What is not given does not apply.

    node      what stands for itself: a node of a name, a number without a fraction
    op        a function, with its operands as values (None for those left out), static parameters,
              and its operands' shapes if they count
    of        of a power: the value that is raised (None for the number e), by the monomial ``by``
    terms     of a sum: its polynomial; and ``origins``, other sums that equal it
    modulus   the power of the base that is something simpler, ``reduced``: of a square root 2, and
              what is under it
    positive  whether it is so wherever it has a value
    shape     that of its entries
    """

    number: int
    node: Any = None
    op: Any = None
    operands: tuple[Value | None, ...] = ()
    static: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[Any, ...] = ()
    of: Value | None = None
    by: Value | None = None
    terms: Any = None
    origins: list[list[Value]] = field(default_factory=list)
    modulus: int = 0
    reduced: Value = ONE
    positive: bool = False
    shape: tuple[int, ...] = ()


class Bases:
    """The bases of one algebra, each found again by what it is."""

    def __init__(self) -> None:
        self.all: list[Base] = []
        self.found: dict[Any, int] = {}
        self.reducible: set[int] = set()  # bases with a modulus
        self.sums: set[int] = set()
        self.joinable: set[int] = set()  # choices with a zero on one side, and stacked rows

    def __getitem__(self, number: int) -> Base:
        return self.all[number]

    def make(self, key: Any, **fields: Any) -> Base:
        """Return the base that a key stands for."""
        number = self.found.get(key)
        if number is not None:
            return self.all[number]
        number = self.found[key] = len(self.all)
        if "shape" not in fields:
            inside = (fields.get("of"), fields.get("by"), *fields.get("operands", ()))
            monomials = [
                *fields.get("terms", ()),
                *(value[1] for value in inside if value is not None),
            ]
            fields["shape"] = self.shape(part for monomial in monomials for part in monomial)
        base = Base(number, **fields)
        self.all.append(base)
        if base.modulus:
            self.reducible.add(number)
        if (base.op is where and ZERO in base.operands[1:]) or (
            base.op is stack and base.static["axis"] == 0
        ):
            self.joinable.add(number)
        return base

    def shape(self, powers: Iterable[tuple[int, Number]]) -> tuple[int, ...]:
        """Return the shape of the entries of a product of bases."""
        shapes = {self.all[base].shape for base, _ in powers} - {()}
        return broadcast_shapes(*shapes) if len(shapes) > 1 else next(iter(shapes), ())

    def knows(self, terms: Polynomial) -> bool:
        """Return whether a sum has been met."""
        return frozenset(terms.items()) in self.found

    def sum(self, terms: Polynomial, *, signed: bool = False) -> tuple[int, Base]:
        """Return a sum as a sign and a base.

        The opposite of a known sum is that sum with a sign of -1, unless its sign counts
        (``signed``).
        """
        sign = 1
        if not signed and not self.knows(terms):
            opposite = scale(terms, -1)
            if self.knows(opposite) or all(c < 0 for c in terms.values()):
                sign, terms = -1, opposite
        base = self.make(frozenset(terms.items()), terms=terms)
        self.sums.add(base.number)
        return sign, base

    def value(self, terms: Polynomial) -> Value:
        """Return a polynomial as a value: zero, its only term, or a sum."""
        if len(terms) < 2:
            return next(((c, m) for m, c in terms.items()), ZERO)
        sign, base = self.sum(terms)
        return sign, ((base.number, 1),)


_LARGEST_POWER = 64
_MOST_BITS = 4096


class Unsimplified(Exception):
    """Something is undefined as it stands, such as 1/0, or takes too much work."""


class Powers:
    """Operations on single products; sums are another class's.

    largest       terms that a sum may have when it is multiplied out; 0 where none is, and like
                  terms and factors are all that is found
    function      gives a function that is not taken apart
    total         gives the sum of values
    expand        multiplies out a product, or gives None if it is too long
    with_squares  writes sin(x)**2 as 1 - cos(x)**2, and so on, where that leaves fewer terms
    """

    function: Callable[[Op, Sequence[Value | None], Any], Value]
    total: Callable[[Sequence[Value]], Value]
    expand: Callable[[Monomial], Polynomial | None]
    with_squares: Callable[[Polynomial], Polynomial]

    def __init__(self, largest: int) -> None:
        self.bases = Bases()
        self.largest = largest
        self.left: float = 0  # work still allowed, in products of terms
        self.euler = False  # whether powers of the number e are used rather than exp

    def spend(self, work: int) -> None:
        """Count work, in products of terms about. Raises Unsimplified where there was enough."""
        self.left -= work
        if self.left < 0:
            raise Unsimplified

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
                more, other = self.raise_to(self.bases[base].reduced, whole)
                return self.normal((lean(number * more), product(rest, other)))
        return value

    def raise_to(self, value: Value, exponent: Number) -> Value:
        """Raise a value to a numeric power."""
        number, monomial = value
        if exponent == 0:
            return ONE
        if number == 0:
            if exponent < 0:
                raise Unsimplified
            return ZERO
        if exponent.denominator == 1:
            whole = int(exponent)
            if (
                number not in (1, -1)
                and max(whole, -whole) * max(_bits(number), _MOST_BITS // _LARGEST_POWER)
                > _MOST_BITS
            ):
                raise Unsimplified
            return self.normal(
                (lean(Fraction(number) ** whole) if number != 1 else 1, power(monomial, whole))
            )
        return self.root(value, Fraction(exponent))

    def root(self, value: Value, exponent: Fraction) -> Value:
        """Raise a value to a fractional power, where that is a real number."""
        number, monomial = self._multiplied_out(value)
        outside: list[tuple[int, Number]] = [
            (b, lean(e * exponent)) for b, e in monomial if self.bases[b].positive
        ]
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
                terms = {m: -c for m, c in self.bases[base].terms.items()}
                base = self.bases.sum(terms, signed=True)[1].number
                number = 1
            if number == 1 and not even:
                return self.times(factor, (1, ((base, lean(power_of * exponent)),)))
            if number == 1 and index == 2:  # sqrt(x**2) is abs(x)
                half = power_of // 2
                whole: Value = (1, ((base, half * exponent.numerator),))
                if half % 2:
                    whole = self.times(
                        whole, self.function(arithmetic.sign, [(1, ((base, 1),))], {})
                    )
                return self.times(factor, whole)
        if not inside and number == 1:
            return self.normal(factor)
        under = (number, inside)
        base_ = self.bases.make(
            ("root", index, under),
            of=under,
            modulus=index,
            reduced=under,
            positive=not inside and number > 0,
        )
        return self.times(factor, self.normal((1, ((base_.number, exponent.numerator),))))

    def _multiplied_out(self, value: Value) -> Value:
        """(1 - x)*(1 + x) as 1 - x**2: what stands under a root in one form."""
        number, monomial = value
        sums = tuple([(b, e) for b, e in monomial if b in self.bases.sums and e == 1])
        if len(sums) < 2:
            return value
        terms = self.expand(sums)
        if terms is None:
            return value
        more, other, terms = primitive(self.with_squares(terms))
        outer = self.times(
            (number, tuple([(b, e) for b, e in monomial if (b, e) not in sums])), (more, other)
        )
        return self.times(outer, self.bases.value(terms))

    def addends(self, value: Value) -> list[Value]:
        """Return the terms of a product with one sum in it, multiplied out."""
        number, monomial = value
        sums = [base for base, exponent in monomial if exponent == 1 and base in self.bases.sums]
        if len(sums) != 1:
            return [value]
        rest: Value = (number, product(monomial, ((sums[0], -1),)))
        return [self.times(rest, (c, m)) for m, c in self.bases[sums[0]].terms.items()]

    def exponential(self, value: Value) -> Value:
        factors: list[Value] = [ONE]
        for number, monomial in self.addends(value):
            if not number:
                continue
            logs = [b for b, e in monomial if e == 1 and self.bases[b].op is exponential.log]
            if len(logs) == 1:
                inner = self.bases[logs[0]].operands[0]
                assert inner is not None
                factors.append(
                    self.symbolic_power(inner, (number, product(monomial, ((logs[0], -1),))))
                )
            else:
                base = self.bases.make(("exp", monomial), by=(1, monomial), positive=True)
                factors.append((1, ((base.number, number),)))
        return self.times(*factors)

    def logarithm(self, value: Value) -> Value:
        """Return the logarithm of a value.

        Of powers of positive numbers it is the sum of their exponents.
        """
        number, monomial = value
        powers = [
            self.times((e, ()), base.by, ONE if base.of is None else self.logarithm(base.of))
            for base, e in [(self.bases[b], e) for b, e in monomial]
            if base.by is not None and base.positive
        ]
        if number == 1 and len(powers) == len(monomial):
            return self.total(powers)
        return self.function(exponential.log, [value], {})

    def symbolic_power(self, value: Value, exponent: Value) -> Value:
        if not exponent[1]:
            return self.raise_to(value, exponent[0])
        number, monomial = value
        if value == ONE:
            return ONE
        if number == 1 and all(
            self.bases[b].by is not None and self.bases[b].of is None for b, _ in monomial
        ):
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
                factors.append(self.raise_to(value, c))
                continue
            parts = 1 if plain else c.denominator
            unit: Value = (1 if parts == 1 else Fraction(1, parts), m)
            base = self.bases.make(("power", value, unit), of=value, by=unit, positive=plain)
            factors.append((1, ((base.number, lean(c * parts)),)))
        return self.times(*factors)


def _bits(number: Number) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())
