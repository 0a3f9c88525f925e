"""Sums of values: over a common denominator, multiplied out, cancelled, and in factors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from gradcli.formulas.bases import ZERO, Value
from gradcli.formulas.factoring import factors, quotient
from gradcli.formulas.polynomials import (
    Monomial,
    Number,
    Polynomial,
    add_term,
    bases_of,
    common,
    lean,
    multiply,
    power,
    primitive,
    product,
)
from gradcli.formulas.powers import Powers


class Sums(Powers):
    """What is done with sums."""

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self._squares: dict[int, Polynomial | None] = {}
        self._defining = False  # while it is found out what squares are
        self._products: dict[tuple[int, int], Value | None] = {}

    @abstractmethod
    def squared(self, number: int) -> Value | None:
        """The square of a base, where that is a sum of other squares."""

    def total(self, values: Sequence[Value]) -> Value:
        """The sum over a common denominator, without common factors."""
        terms: Polynomial = {}
        for number, monomial in values:
            if number:
                add_term(terms, monomial, number)
        if len(terms) < 2:
            return next(((c, m) for m, c in terms.items()), ZERO)
        self.spend(len(terms))
        shared = common(terms)
        inverse = power(shared, -1)
        parts = {product(m, inverse): c for m, c in terms.items()} if shared else terms
        above: Polynomial = {}
        plain = True
        for monomial, number in parts.items():
            found = self.expanded(monomial)
            if found is None:
                add_term(above, monomial, number)
                continue
            plain = plain and len(found) == 1
            for m, c in found.items():
                add_term(above, m, c * number)
        above = self.with_squares(above)
        if not above:
            return ZERO
        return self._factored(above, shared, None if plain and shared == () else terms)

    def _factored(self, above: Polynomial, shared: Monomial, terms: Polynomial | None) -> Value:
        """What is above the common denominator, cancelled with it. ``terms`` are those that the sum was made of."""
        number, monomial, above = primitive(above)
        below = dict(shared)
        for base, _ in shared:
            divisor = self.bases[base].terms
            while divisor is not None and below[base] < 0 and len(above) > 1:
                self.spend(len(above))
                found = quotient(above, divisor)
                if found is None:
                    break
                above = found
                below[base] += 1
        if len(above) > 1 and below != dict(shared):
            more, other, above = primitive(self.with_squares(above))
            number, monomial = number * more, product(monomial, other)
        outer = self.times((number, tuple(sorted((b, e) for b, e in below.items() if e))), (1, monomial))
        if len(above) == 1:
            return self.times(outer, *((c, m) for m, c in above.items()))
        parts = self._parts(above)
        if parts:
            return self.without_conjugates(self.times(outer, *parts))
        sign, base_ = self.bases.sum(above)
        outer = (sign * outer[0], outer[1])
        if terms is not None and len(base_.origins) < 3:
            inverse = self.raised(outer, -1)
            origin = [self.times((c, m), inverse) for m, c in terms.items()]
            base_.origins.append(origin)
            base_.origins += self._flattened(origin)
        return self.times(outer, (1, ((base_.number, 1),)))

    def _flattened(self, terms: list[Value]) -> list[list[Value]]:
        """The sums in a sum as what they were made of, like terms together."""
        merged: Polynomial = {}
        changed = False
        for number, monomial in terms:
            inner = next((b for b, e in monomial if e == 1 and self.bases[b].origins), None)
            if inner is None:
                add_term(merged, monomial, number)
                continue
            changed = True
            rest = (number, product(monomial, ((inner, -1),)))
            for term in self.bases[inner].origins[0]:
                c, m = self.times(rest, term)
                add_term(merged, m, c)
            if len(merged) > 8:
                return []
        if not changed or len(merged) < 2:
            return []
        groups: dict[frozenset[int], list[Value]] = {}
        for m, c in merged.items():
            groups.setdefault(frozenset([b for b, e in m if e < 0 and b in self.bases.sums]), []).append((c, m))
        flat = [(c, m) for m, c in merged.items()]
        if not 1 < len(groups) < len(flat):
            return [flat]
        return [flat, [self.total(group) for group in groups.values()]]

    def _parts(self, terms: Polynomial) -> list[Value]:
        """The factors of a sum that is new, whose product it is."""
        if len(terms) > self.largest or self.bases.knows(terms):
            return []
        self.spend(2 * len(terms) ** 2)
        found = factors(terms)
        if len(found) < 2:
            return []
        whole = found[0]
        for part in found[1:]:
            whole = multiply(whole, part)
        lead = next(iter(terms))
        number = Fraction(terms[lead]) / whole[lead] if lead in whole else None
        if number is None:
            return []
        return [(lean(number), ()), *(self._as_base(part) for part in found)]

    def _as_base(self, terms: Polynomial) -> Value:
        shorter = self.with_squares(terms)
        if len(shorter) == 1:
            return next((c, m) for m, c in shorter.items())
        sign, base = self.bases.sum(terms)
        return sign, ((base.number, 1),)

    def without_conjugates(self, value: Value) -> Value:
        """With (1 - cos(x))*(1 + cos(x)) as sin(x)**2, and products of conjugate roots as what they are."""
        bases = self.bases
        while True:
            sums = [(b, e) for b, e in value[1] if b in bases.sums and self._is_algebraic(b)]
            for i, (left, exponent) in enumerate(sums):
                for right, other in sums[i + 1 :]:
                    if (exponent < 0) != (other < 0):
                        continue
                    found = self._conjugates(left, right)
                    if found is not None:
                        times = max(exponent, other) if exponent < 0 else min(exponent, other)
                        rest = product(value[1], tuple(sorted(((left, -times), (right, -times)))))
                        value = self.times((value[0], rest), self.raised(found, times))
                        break
                else:
                    continue
                break
            else:
                return value

    def _is_algebraic(self, number: int) -> bool:
        """Whether squares of what is in a sum are something else."""
        for monomial in self.bases[number].terms or {}:
            for base, exponent in monomial:
                op = self.bases[base].op
                if exponent.denominator != 1 or base in self.bases.reducible or (op is not None and op.rewriting.squared):
                    return True
        return False

    def _conjugates(self, left: int, right: int) -> Value | None:
        """The product of two sums, where it is shorter than either."""
        key = (left, right)
        if key in self._products:
            return self._products[key]
        x, y = self.bases[left].terms or {}, self.bases[right].terms or {}
        found: Value | None = None
        self._products[key] = None
        if len(x) <= 4 and len(y) <= 4:
            self.spend(2 * len(x) * len(y))
            terms = self.with_squares(self._reduced(multiply(x, y)))
            if (len(terms) <= max(len(x), len(y)) and bases_of(terms) != bases_of(x) | bases_of(y)) or len(terms) == 1:
                found = self.total([(c, m) for m, c in terms.items()])
        self._products[key] = found
        return found

    def expanded(self, monomial: Monomial) -> Polynomial | None:
        """A product multiplied out; None if it is too long."""
        sums = self.bases.sums
        rest: list[tuple[int, Number]] = []
        result: Polynomial | None = None
        for base, exponent in monomial:
            if exponent >= 1 and base in sums:
                terms = self.bases[base].terms or {}
                whole = int(exponent // 1)
                if exponent != whole:
                    rest.append((base, exponent - whole))
                for _ in range(whole):
                    if result is not None and len(result) * len(terms) > self.largest:
                        return None
                    if result is not None:
                        self.spend(len(result) * len(terms))
                    result = multiply(result, terms) if result is not None else terms
            else:
                rest.append((base, exponent))
        if result is None:
            return {monomial: 1}
        if rest:
            factor = tuple(rest)
            result = {product(m, factor): c for m, c in result.items()}
        return self._reduced(result)

    def _reduced(self, terms: Polynomial) -> Polynomial:
        """The same with roots to powers below their modulus, and sums to powers below 1."""
        sums, reducible = self.bases.sums, self.bases.reducible
        if not any((b in sums and e >= 1) or (b in reducible and e >= self.bases[b].modulus) for m in terms for b, e in m):
            return terms
        result: Polynomial = {}
        for monomial, number in terms.items():
            more, other = self.normal((number, monomial))
            for m, c in (self.expanded(other) or {other: 1}).items():
                add_term(result, m, c * more)
        return result

    def with_squares(self, terms: Polynomial) -> Polynomial:
        """With sin(x)**2 as 1 - cos(x)**2, and so on, where that leaves fewer terms."""
        while terms and not self._defining:
            for base in sorted({b for m in terms for b, e in m if e >= 2}):
                result = self._without_squares(terms, base)
                if result is not None and len(result) < len(terms):
                    terms = result
                    break
            else:
                break
        return terms

    def _without_squares(self, terms: Polynomial, base: int) -> Polynomial | None:
        """With the squares of a base as what they are; None if they are nothing else, or that is long."""
        squared = self._square(base)
        if squared is None:
            return None
        result: Polynomial = {}
        for monomial, number in terms.items():
            times = int(dict(monomial).get(base, 0) // 2)
            part: Polynomial = {product(monomial, ((base, -2 * times),)) if times > 0 else monomial: number}
            for _ in range(times):
                part = multiply(part, squared)
            for m, c in part.items():
                add_term(result, m, c)
            if len(result) > self.largest:
                return None
        return result

    def _square(self, number: int) -> Polynomial | None:
        """The square of a base as a sum."""
        if number not in self._squares:
            self._defining = True
            value = self.squared(number)
            self._defining = False
            self._squares[number] = None if value is None else {m: c for c, m in self.addends(value)}
        return self._squares[number]
