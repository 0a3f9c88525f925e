"""Factors and quotients of polynomials, by FLINT; where it is missing, none is found, and formulas are longer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from gradcli.formulas.polynomials import Monomial, Number, Polynomial, bases_of, lean, primitive


class _Ring:
    """The ring of some polynomials without negative exponents: a variable is the power of a base of which all others are powers."""

    def __init__(self, polynomials: Sequence[Polynomial]) -> None:
        self.steps: dict[int, Number] = {}
        for base in sorted({base for terms in polynomials for base in bases_of(terms)}):
            exponents = [e for terms in polynomials for monomial in terms for b, e in monomial if b == base]
            below = lcm(*(e.denominator for e in exponents))
            self.steps[base] = lean(Fraction(gcd(*(e.numerator * (below // e.denominator) for e in exponents)), below))

    def degrees(self, monomial: Monomial) -> tuple[int, ...]:
        exponents = dict(monomial)
        return tuple([int(exponents.get(base, 0) / step) for base, step in self.steps.items()])

    def is_irreducible(self, terms: Polynomial) -> bool:
        """Whether a sum without common factor in its terms is linear in a base, one of its coefficients a single term."""
        for exponents in zip(*map(self.degrees, terms), strict=True):
            with_base = sum(map(bool, exponents))
            if max(exponents) == 1 and 1 in (with_base, len(terms) - with_base):
                return True
        return False

    def element(self, terms: Polynomial) -> Any:
        """A polynomial as FLINT's. Raises ImportError where FLINT is missing."""
        import flint

        ring = flint.fmpq_mpoly_ctx.get([f"x{base}" for base in self.steps], flint.Ordering.lex)
        return ring.from_dict({self.degrees(monomial): flint.fmpq(c.numerator, c.denominator) for monomial, c in terms.items()})

    def polynomial(self, element: Any) -> Polynomial:
        found: Polynomial = {}
        for degrees, c in element.to_dict().items():
            powers = [(base, lean(step * int(degree))) for (base, step), degree in zip(self.steps.items(), degrees, strict=True)]
            found[tuple([power for power in powers if power[1]])] = lean(Fraction(int(c.p), int(c.q)))
        return found


def factors(terms: Polynomial) -> list[Polynomial]:
    """Factors of a polynomial that has no common monomial and number; their product is the polynomial but for a number."""
    ring = _Ring([terms])
    if ring.is_irreducible(terms):
        return [terms]
    try:
        _, found = ring.element(terms).factor()
    except ImportError:
        return [terms]
    return [part for factor, times in reversed(found) for part in [primitive(ring.polynomial(factor))[2]] * int(times)]


def quotient(x: Polynomial, y: Polynomial) -> Polynomial | None:
    """x/y where that is a polynomial; None where it is not."""
    ring = _Ring([x, y])
    if not bases_of(x).issuperset(bases_of(y)) or any(e < 0 for terms in (x, y) for monomial in terms for _, e in monomial):
        return None
    try:
        whole, rest = divmod(ring.element(x), ring.element(y))
    except ImportError:
        return None
    return None if rest else ring.polynomial(whole)
