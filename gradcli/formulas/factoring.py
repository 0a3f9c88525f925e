"""Factors of polynomials: those that miss a base, roots of quadratics and of whole numbers, and perfect powers.

What is found are factors; that none is found is no proof that there are none. Everything is exact division.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from gradcli.formulas.polynomials import (
    Monomial,
    Number,
    Polynomial,
    add_term,
    bases_of,
    lean,
    multiply,
    power,
    primitive,
    product,
    quotient,
)  # fmt: skip

_MOST_TERMS = 12  # of a root
_LARGEST_NUMBER = 5000  # whose divisors are tried


def factors(terms: Polynomial) -> list[Polynomial]:
    """Factors of a polynomial that has no common monomial and number; their product is the polynomial but for a number."""
    waiting, found = [terms], []
    while waiting:
        part = waiting.pop()
        factor = _factor(part) if len(part) > 1 else None
        rest = quotient(part, factor) if factor is not None else None
        if rest is None or factor is None:
            found.append(part)
        else:
            waiting += [factor, primitive(rest)[2]]
    return [part for part in found if len(part) > 1]


def by_powers(terms: Polynomial, base: int) -> dict[Number, Polynomial]:
    """A polynomial in one base: its coefficients by exponents."""
    found: dict[Number, Polynomial] = {}
    for monomial, c in terms.items():
        exponent: Number = 0
        for other, e in monomial:
            if other == base:
                exponent = e
                break
        rest = tuple([pair for pair in monomial if pair[0] != base]) if exponent else monomial
        found.setdefault(exponent, {})[rest] = c
    return found


def _factor(terms: Polynomial) -> Polynomial | None:
    """A factor that is not the whole."""
    bases = sorted(bases_of(terms))
    in_powers = {base: by_powers(terms, base) for base in bases}
    for coefficients in in_powers.values():
        shortest = min(coefficients.values(), key=len)
        if 1 < len(shortest) < len(terms):
            for part in factors(primitive(shortest)[2]):
                if quotient(terms, part) is not None:
                    return part
    steps = {base: _step(coefficients) for base, coefficients in in_powers.items()}
    degrees = {base: max(in_powers[base]) / steps[base] for base in bases}
    if any(degree == 1 for degree in degrees.values()):
        return None
    for base in bases:
        if degrees[base] == 2:
            return _quadratic(in_powers[base], base, steps[base])
    if len(bases) == 1:
        found = _linear(in_powers[bases[0]], bases[0], steps[bases[0]])
        if found is not None:
            return found
    common = 0
    for degree in degrees.values():
        common = gcd(common, int(degree))
    for index in (2, 3, 5, 7):
        if common % index == 0:
            root = kth_root(terms, index)
            if root is not None:
                return root
    return None


def _step(coefficients: dict[Number, Polynomial]) -> Number:
    """The largest number of which all exponents are multiples."""
    below = lcm(*(e.denominator for e in coefficients))
    return lean(Fraction(gcd(*(e.numerator * (below // e.denominator) for e in coefficients)), below))


def _quadratic(coefficients: dict[Number, Polynomial], base: int, step: Number) -> Polynomial | None:
    """A factor of a*x**2 + b*x + c, where b**2 - 4*a*c is a square."""
    a, b, c = (coefficients.get(i * step, {}) for i in (2, 1, 0))
    discriminant = multiply(b, b)
    for monomial, number in multiply(a, c).items():
        add_term(discriminant, monomial, -4 * number)
    if len(discriminant) > 40:
        return None
    root = kth_root(discriminant, 2) if discriminant else {}
    if root is None:
        return None
    linear = {product(m, ((base, step),)): 2 * n for m, n in a.items()}
    for part, sign in ((b, 1), (root, -1)):
        for monomial, number in part.items():
            add_term(linear, monomial, sign * number)
    return primitive(linear)[2]


def _linear(coefficients: dict[Number, Polynomial], base: int, step: Number) -> Polynomial | None:
    """A factor q*x - p of a polynomial in one base with whole numbers."""
    numbers = {int(e / step): c[()] for e, c in coefficients.items()}
    degree = max(numbers)
    first, last = numbers[degree], numbers.get(0, 0)
    if not last or max(first, -first, last, -last) > _LARGEST_NUMBER or last.denominator != 1 or first.denominator != 1:
        return None
    for q in _divisors(abs(int(first))):
        for p in _divisors(abs(int(last))):
            if gcd(p, q) > 1:
                continue
            for at in (Fraction(p, q), Fraction(-p, q)):
                value: Number = 0
                for i in range(degree, -1, -1):
                    value = value * at + numbers.get(i, 0)
                if value == 0:
                    return {((base, step),): at.denominator, (): -at.numerator}
    return None


def _divisors(number: int) -> list[int]:
    return [i for i in range(1, min(number, 200) + 1) if number % i == 0]


def kth_root(terms: Polynomial, index: int) -> Polynomial | None:
    """The polynomial whose power this is."""
    bases = sorted(bases_of(terms))

    def rank(monomial: Monomial) -> tuple[Number, ...]:
        exponents = dict(monomial)
        return tuple([exponents.get(base, 0) for base in bases])

    lead = max(terms, key=rank)
    number = _number_root(terms[lead], index)
    if number is None:
        return None
    first = power(lead, Fraction(1, index))
    root: Polynomial = {first: number}
    lowest = tuple([Fraction(e) / index for e in rank(min(terms, key=rank))])
    divisor = power(first, 1 - index)
    for _ in range(_MOST_TERMS):
        whole = root
        for _ in range(index - 1):
            whole = multiply(whole, root)
        rest = dict(terms)
        for monomial, c in whole.items():
            add_term(rest, monomial, -c)
        if not rest:
            return root
        top = max(rest, key=rank)
        monomial = product(top, divisor)
        if any(e < 0 for _, e in monomial) or rank(monomial) < lowest or monomial in root:
            return None
        root = {**root, monomial: lean(Fraction(rest[top]) / (index * number ** (index - 1)))}
    return None


def _number_root(number: Number, index: int) -> Number | None:
    if number < 0:
        inner = _number_root(-number, index) if index % 2 else None
        return None if inner is None else -inner
    parts = [round(part ** (1 / index)) for part in (number.numerator, number.denominator)] if number < 1e300 else [0, 1]
    found = Fraction(parts[0], parts[1] or 1)
    return lean(found) if found**index == number else None
