"""Polynomials in numbered bases: what sums are while terms cancel and factors are found.

A monomial is a tuple of (base, exponent) by rising numbers of the bases; exponents are whole numbers or fractions, of either sign. A
polynomial maps monomials to coefficients, none of them zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

Number = int | Fraction
Monomial = tuple[tuple[int, Number], ...]
Polynomial = dict[Monomial, Number]

_LARGEST_NUMBER = 10_000  # by which a sum is multiplied so that its numbers are whole


def lean(value: Number) -> Number:
    """A fraction that is whole as an int, whose arithmetic takes a tenth of the time."""
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
    return x if exponent == 1 else tuple([(base, lean(e * exponent)) for base, e in x])


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
    """The largest monomial that divides all: of each base the lowest exponent, 0 where it is missing."""
    lowest: dict[int, Number] | None = None
    for monomial in monomials:
        if lowest is None:
            lowest = dict(monomial)
            continue
        given = dict(monomial)
        for base in [base for base, exponent in lowest.items() if exponent > given.get(base, 0)]:
            if given.get(base):
                lowest[base] = given[base]
            else:
                del lowest[base]
        for base, exponent in given.items():
            if exponent < 0 and base not in lowest:
                lowest[base] = exponent
    return tuple(sorted((lowest or {}).items()))


def content(coefficients: Iterable[Number]) -> Number:
    """The positive number by which coefficients are divided to be whole and without a common factor."""
    found = list(coefficients)
    below = math.lcm(*(c.denominator for c in found))
    above = math.gcd(*(c.numerator * (below // c.denominator) for c in found))
    return lean(Fraction(above, below))


def scaled(x: Polynomial, by: Number) -> Polynomial:
    return x if by == 1 else {m: lean(Fraction(c) * by) for m, c in x.items()}


def primitive(x: Polynomial) -> tuple[Number, Monomial, Polynomial]:
    """A coefficient and a monomial, and the polynomial without them."""
    number, monomial = content(x.values()), common(x)
    if number.denominator > _LARGEST_NUMBER:  # of decimals: 1e-12 stays one
        lead = x[max(x)]
        number = lead if lead > 0 else -lead
    if number != 1:
        x = scaled(x, Fraction(1) / number)
    if monomial:
        inverse = power(monomial, -1)
        x = {product(m, inverse): c for m, c in x.items()}
    return number, monomial, x


def bases_of(x: Iterable[Monomial]) -> set[int]:
    return {base for monomial in x for base, _ in monomial}
