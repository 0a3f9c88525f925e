"""A graph as products: every node a coefficient times powers of bases, sums put over a common denominator and cancelled.

What is equal for reasons of arithmetic, of powers, roots and exponentials, or by what records say of an operation (`Rewriting.means`,
`squared`, `parity`) becomes the same value, as far as sums are short enough to be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.formulas.bases import ONE, ZERO, Base, Bases, Value
from gradcli.formulas.factoring import factors
from gradcli.formulas.polynomials import (
    Monomial, Number, Polynomial, add_term, bases_of, common, lean, multiply, power, primitive, product, quotient,
)  # fmt: skip
from gradcli.formulas.roots import rational_root
from gradcli.graph.interpret import Transcription
from gradcli.graph.nodes import Expr
from gradcli.graph.operand import Operand
from gradcli.ops.constants import PI, Constant, E
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import equal
from gradcli.ops.spec import Op

_LARGEST_POWER = 64
_MOST_BITS = 4096


class Unsimplified(Exception):
    """Something is undefined as it stands, such as 1/0."""


class Quantity(Operand):
    """A value with operators: what rules in records compute with."""

    __slots__ = ("algebra", "value")

    def __init__(self, algebra: Algebra, value: Value) -> None:
        self.algebra, self.value = algebra, value

    def __pos__(self) -> Quantity:
        return self

    def apply_op(self, op: Op, operands: Sequence[Any], static: Any) -> Quantity:
        values = [o.value if isinstance(o, Quantity) else self.algebra.of_number(o) for o in operands]
        return Quantity(self.algebra, self.algebra.applied(op, values, static))


class _Definitions:
    """What constants are defined by (`Constant.reference`)."""

    def __init__(self, algebra: Algebra) -> None:
        self.pi = Quantity(algebra, algebra.of_number(PI))
        self.algebra = algebra

    def sqrt(self, x: Any) -> Any:
        return exponential.sqrt(self._quantity(x))

    def log(self, x: Any) -> Any:
        return exponential.log(self._quantity(x))

    def _quantity(self, x: Any) -> Quantity:
        return x if isinstance(x, Quantity) else Quantity(self.algebra, self.algebra.of_number(x))


class Algebra(Transcription[Value]):
    """Values of nodes of one graph.

    largest  terms that a sum may have when it is multiplied out
    """

    def __init__(self, largest: int) -> None:
        self.bases = Bases()
        self.largest = largest
        self.written: Callable[[Value], Expr] | None = None
        self.euler = False  # whether the number e is raised to powers, rather than exp called
        self._squares: dict[int, Polynomial | None] = {}
        self._products: dict[tuple[int, int], Value | None] = {}
        self._known: dict[Any, Value] = {}
        self._roles: dict[str, Callable[[list[Any]], Value]] = {
            "sum": lambda x: self.total(x),
            "difference": lambda x: self.total([x[0], (-x[1][0], x[1][1])]),
            "negation": lambda x: (-x[0][0], x[0][1]),
            "product": lambda x: self.times(*x),
            "chain": lambda x: self.times(*x),
            "quotient": lambda x: self.times(x[0], self.raised(x[1], -1)),
            "square": lambda x: self.raised(x[0], 2),
            "reciprocal": lambda x: self.raised(x[0], -1),
            "power": lambda x: self.symbolic_power(*x),
            "exponential": lambda x: self.exponential(x[0]),
            "logarithm": lambda x: self.logarithm(x[0]),
        }

    # -- nodes ------------------------------------------------------------------------------------------------

    def leaf(self, node: Expr) -> Value:
        return 1, ((self.bases.make(node, node=node).number, 1),)

    def constant(self, node: Expr) -> Value:
        found = self.of_number(node.payload) if not isinstance(node.payload, (np.ndarray, bool)) else None
        return self.leaf(node) if found is None else found

    def of_number(self, payload: Any) -> Value:
        """A number as a coefficient: floats are the decimals that they are written as."""
        if isinstance(payload, Constant):
            if payload is E:
                return self.exponential(ONE)
            if payload is PI:
                return 1, ((self.bases.make(payload.text, node=payload, positive=True).number, 1),)
            found = payload.reference(_Definitions(self))
            assert isinstance(found, Quantity)
            return found.value
        if isinstance(payload, int):
            return payload, ()
        if payload - payload != 0:
            return 1, ((self.bases.make(repr(payload), node=payload).number, 1),)
        return (int(payload) if payload == int(payload) and abs(payload) < 1e15 else lean(Fraction(repr(float(payload))))), ()

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Value:
        if op.rewriting.repeats or (op.rewriting.reshapes and node.operand.shape == ()):
            inner: Value = operands[0]
            return inner
        rule = op.rewriting.simpler
        if rule is not None and op.elementwise and self.written is not None:
            nodes = [None if o is None else self.written(o) for o in operands]
            found = rule(node, *nodes, **node.static)
            for operand, value in zip(nodes, operands, strict=True):
                if found is operand and found is not None:
                    return value
            if isinstance(found, bool):
                return self.leaf(node.graph.constant(found))
            if isinstance(found, (int, float)):
                return self.of_number(found)
            if found is not None:
                return self.leaf(found)
            if op.rewriting.algebra == "choice" and operands[1] == ZERO and self._guards(operands[0], operands[2]):
                branch: Value = operands[2]
                return branch
        return self.applied(op, operands, node.static, node)

    def _guards(self, condition: Value, branch: Value) -> bool:
        """Whether a condition such as 1/n == 0 only protects a product that has the factor 1/n anyway."""
        base = self.bases[condition[1][0][0]] if condition[1] else None
        if base is None or base.op is not equal or base.operands[1] != ZERO or not base.operands[0]:
            return False
        powers = dict(branch[1])
        return all(powers.get(b, 0) / e >= 1 for b, e in base.operands[0][1])

    def applied(self, op: Op, operands: Sequence[Any], static: Any, node: Expr | None = None) -> Value:
        role = self._roles.get(op.rewriting.algebra)
        if role is not None:
            return role(list(operands))
        means = op.rewriting.means
        if means is not None:
            key = (op, *operands, *static.values())
            known = self._known.get(key)
            if known is None:
                found = means(*(Quantity(self, o) for o in operands), **static)
                known = self._known[key] = found.value if isinstance(found, Quantity) else self.of_number(found)
            return known
        return self.function(op, operands, static, node)

    def function(self, op: Op, operands: Sequence[Value | None], static: Any, node: Expr | None = None) -> Value:
        """A function that is not taken apart; of -x, for odd and even ones that of x."""
        sign = 1
        parity = op.facts.parity
        first = operands[0]
        if parity and first is not None and first[0] < 0:
            operands = [(-first[0], first[1]), *operands[1:]]
            sign = -1 if parity == "odd" else 1
        shapes = () if op.elementwise or node is None else tuple(None if o is None else o.shape for o in node.operands)
        key = (op, tuple(operands), tuple(static.items()) if static else (), shapes)
        base = self.bases.make(
            key, op=op, operands=tuple(operands), static=static, shapes=shapes,
            modulus=2 if op.rewriting.squared == 1 else 0,
        )  # fmt: skip
        return sign, ((base.number, 1),)

    # -- products ---------------------------------------------------------------------------------------------

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
            if number not in (1, -1) and (abs(exponent) > _LARGEST_POWER or abs(exponent) * _bits(number) > _MOST_BITS):
                raise Unsimplified
            whole = int(exponent)
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
        more, other, terms = primitive(self._with_squares(terms))
        outer = self.times((number, tuple([(b, e) for b, e in monomial if (b, e) not in sums])), (more, other))
        if len(terms) == 1:
            return self.times(outer, *((c, m) for m, c in terms.items()))
        sign, base = self.bases.sum(terms)
        return self.times(outer, (sign, ((base.number, 1),)))

    def addends(self, value: Value) -> list[Value]:
        number, monomial = value
        if len(monomial) == 1 and monomial[0][1] == 1:
            terms = self.bases[monomial[0][0]].terms
            if terms is not None:
                return [(lean(c * number), m) for m, c in terms.items()]
        return [value]

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

    # -- sums -------------------------------------------------------------------------------------------------

    def total(self, values: Sequence[Value]) -> Value:
        """The sum over a common denominator, without common factors."""
        terms: Polynomial = {}
        for number, monomial in values:
            if number:
                add_term(terms, monomial, number)
        if len(terms) < 2:
            return next(((c, m) for m, c in terms.items()), ZERO)
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
        above = self._with_squares(above)
        if not above:
            return ZERO
        return self._factored(above, shared, None if plain and shared == () else terms)

    def _factored(self, above: Polynomial, shared: Monomial, terms: Polynomial | None) -> Value:
        """What is above the common denominator, cancelled with it. ``terms`` are those that the sum was made of."""
        number, monomial, above = primitive(above)
        below = dict(shared)
        for base, exponent in shared:
            divisor = self.bases[base].terms
            while divisor is not None and exponent < 0 and len(above) > 1:
                found = quotient(above, divisor)
                if found is None:
                    break
                above, exponent = found, exponent + 1
                below[base] = exponent
        if len(above) > 1 and below != dict(shared):
            more, other, above = primitive(self._with_squares(above))
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
            flat = self._flattened(origin)
            if flat is not None:
                base_.origins.append(flat)
        return self.times(outer, (1, ((base_.number, 1),)))

    def _flattened(self, terms: list[Value]) -> list[Value] | None:
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
            for term in self.bases[inner].origins[-1]:
                c, m = self.times(rest, term)
                add_term(merged, m, c)
            if len(merged) > 8:
                return None
        return [(c, m) for m, c in merged.items()] if changed and len(merged) > 1 else None

    def _parts(self, terms: Polynomial) -> list[Value]:
        """The factors of a sum that is new, whose product it is."""
        if len(terms) > self.largest or self.bases.knows(terms):
            return []
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
        shorter = self._with_squares(terms)
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
            terms = self._with_squares(self._reduced(multiply(x, y)))
            if len(terms) <= max(len(x), len(y)) and bases_of(terms) != bases_of(x) | bases_of(y) or len(terms) == 1:
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

    def _with_squares(self, terms: Polynomial) -> Polynomial:
        """With sin(x)**2 as 1 - cos(x)**2, and so on, where that leaves fewer terms."""
        for base in bases_of(terms):
            squared = self._square(base) if any(b == base and e >= 2 for m in terms for b, e in m) else None
            if squared is None:
                continue
            result: Polynomial = {}
            for monomial, number in terms.items():
                exponent = dict(monomial).get(base, 0)
                times = int(exponent // 2)
                part: Polynomial = {product(monomial, ((base, -2 * times),)) if times > 0 else monomial: number}
                for _ in range(times):
                    part = multiply(part, squared)
                for m, c in part.items():
                    add_term(result, m, c)
                if len(result) > self.largest:
                    break
            if len(result) < len(terms):
                terms = result
                if not terms:
                    break
        return terms

    def _square(self, number: int) -> Polynomial | None:
        """The square of a base as a sum."""
        base = self.bases[number]
        rule = base.op.rewriting.squared if base.op is not None else None
        if rule is None or rule == 1:
            return None
        found = self._squares.get(number)
        if found is None and number not in self._squares:
            self._squares[number] = None  # while it is found out
            value: Value = rule(*(Quantity(self, o) for o in base.operands if o is not None)).value
            found = self._squares[number] = {m: c for c, m in self.addends(value)}
        return found


def _bits(number: Number) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())
