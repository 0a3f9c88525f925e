"""Other products that equal a value: of double angles, of half an exponent, with exponentials in
sums. Each may be shorter, or not.
"""

from __future__ import annotations

from fractions import Fraction

from gradcli.formulas.algebra import Algebra, Quantity, family_of
from gradcli.formulas.powers import Number, Value, lean, power, product


def double_angle(algebra: Algebra, value: Value) -> Value | None:
    """2*sin(x)*cos(x) as sin(2*x)."""
    bases = algebra.bases
    powers = dict(value[1])
    for number, exponent in value[1]:
        op = bases[number].op
        family = family_of(op)
        if op is None or op not in family[:1] or exponent < 1 or exponent.denominator != 1:
            continue
        operand = bases[number].operands[0]
        assert operand is not None
        x = Quantity(algebra, operand)
        whole: Value = (2 * op(x) * family[1](x)).value
        if all(powers.get(b) == exponent * e for b, e in whole[1]):
            twice = algebra.function(op, [algebra.times((2, ()), operand)], {})
            rest = (value[0], product(value[1], power(whole[1], -exponent)))
            return algebra.times(
                rest,
                algebra.raise_to((1 / Fraction(whole[0]), ()), exponent),
                algebra.raise_to(twice, exponent),
            )
    return None


def half_angle(algebra: Algebra, value: Value) -> Value | None:
    """exp(x)/(exp(x) - 1)**2 as 1/(4*sinh(x/2)**2): a sum with 1 that is left without its
    exponential.
    """
    bases = algebra.bases
    for base, exponent in value[1]:
        terms = bases[base].terms
        if (
            terms is None
            or len(terms) != 2
            or abs(terms.get((), 0)) != 1
            or exponent.denominator != 1
        ):
            continue
        raised, number = next((m, c) for m, c in terms.items() if m)
        if abs(number) != 1 or any(
            bases[b].by is None or bases[b].of is not None for b, _ in raised
        ):
            continue
        rest = product(
            product(value[1], ((base, -exponent),)), power(raised, Fraction(exponent, 2))
        )
        if any(b == other for b, _ in rest for other, _ in raised):
            continue
        exponents: list[Value] = []
        for b, e in raised:
            by = bases[b].by
            assert by is not None
            exponents.append((lean(Fraction(e * by[0]) / 2), by[1]))
        half = algebra.total(exponents)
        from gradcli.ops.elementwise import trigonometric

        function = trigonometric.cosh if number == terms[()] else trigonometric.sinh
        twice = algebra.times((2 * number, ()), algebra.function(function, [half], {}))
        return algebra.times((value[0], rest), algebra.raise_to(twice, exponent))
    return None


def absorb_exponentials(algebra: Algebra, value: Value) -> Value | None:
    """(exp(x) - 1)*exp(-x) as 1 - exp(-x): exponentials back in the sums that they were taken out
    of.
    """
    bases = algebra.bases
    changed = value
    for base, exponent in value[1]:
        if base not in bases.sums:
            continue
        highest: dict[int, Number] = {}
        for monomial in bases[base].terms or ():
            for b, e in monomial:
                if bases[b].by is not None and bases[b].of is None and e > 0:
                    highest[b] = max(e, highest.get(b, 0))
        left = dict(changed[1])
        taken = tuple(
            [
                (b, e)
                for b, e in highest.items()
                if left.get(b, 0) * exponent < 0 and left[b] / (e * exponent) <= -1
            ]
        )
        if not taken:
            continue
        taken = tuple(sorted(taken))
        below = power(taken, -1)
        sign, inner = bases.sum(
            {product(m, below): c for m, c in (bases[base].terms or {}).items()}
        )
        rest = product(product(changed[1], ((base, -exponent),)), power(taken, exponent))
        changed = (
            changed[0] * (sign if exponent % 2 else 1),
            product(rest, ((inner.number, exponent),)),
        )
    return None if changed is value else changed
