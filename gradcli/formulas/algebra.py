"""Graph as products: each node is a coefficient times powers of bases.

Sums are put over a common denominator and cancelled.

Nodes become the same value if they are equal by arithmetic, by the rules of powers, roots and
exponentials, or by the records of operations (`means`, `square_of`, `parity`), as far as
sums are short enough to be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.formulas.powers import (
    ONE,
    ZERO,
    Base,
    Monomial,
    Number,
    Polynomial,
    Powers,
    Unsimplified,
    Value,
    add_term,
    bases_of,
    common,
    lean,
    multiply,
    power,
    primitive,
    product,
    scale,
)
from gradcli.graph.nodes import Expr, Transcription
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.constants import EULER_GAMMA, PI, Constant, E
from gradcli.ops.elementwise import exponential
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op

_SIMPLE = 1000  # largest denominator of a fraction that a float is read as
_EXACT = 1e15  # below this, floats represent whole numbers exactly

# -- Factors and quotients of polynomials, by FLINT; where it is missing, none is found, and
# formulas are longer.


class _Ring:
    """Ring of some polynomials without negative exponents.

    Each variable is a power of a base such that all its other powers are powers of the variable.
    """

    def __init__(self, polynomials: Sequence[Polynomial]) -> None:
        self.steps: dict[int, Number] = {}
        for base in sorted({base for terms in polynomials for base in bases_of(terms)}):
            exponents = [
                e for terms in polynomials for monomial in terms for b, e in monomial if b == base
            ]
            below = lcm(*(e.denominator for e in exponents))
            self.steps[base] = lean(
                Fraction(gcd(*(e.numerator * (below // e.denominator) for e in exponents)), below)
            )

    def degrees(self, monomial: Monomial) -> tuple[int, ...]:
        exponents = dict(monomial)
        return tuple([int(exponents.get(base, 0) / step) for base, step in self.steps.items()])

    def is_irreducible(self, terms: Polynomial) -> bool:
        """Return whether a sum is linear in a base that has a single term as a coefficient.

        The terms of the sum have no common factor. The single term may be the coefficient of the
        base or the rest.
        """
        for exponents in zip(*map(self.degrees, terms), strict=True):
            with_base = sum(map(bool, exponents))
            if max(exponents) == 1 and 1 in (with_base, len(terms) - with_base):
                return True
        return False

    def element(self, terms: Polynomial) -> Any:
        """Convert a polynomial to FLINT's.

        Raises ImportError where FLINT is missing.
        """
        import flint

        ring = flint.fmpq_mpoly_ctx.get([f"x{base}" for base in self.steps], flint.Ordering.lex)
        return ring.from_dict(
            {
                self.degrees(monomial): flint.fmpq(c.numerator, c.denominator)
                for monomial, c in terms.items()
            }
        )

    def polynomial(self, element: Any) -> Polynomial:
        found: Polynomial = {}
        for degrees, c in element.to_dict().items():
            powers = [
                (base, lean(step * int(degree)))
                for (base, step), degree in zip(self.steps.items(), degrees, strict=True)
            ]
            found[tuple([power for power in powers if power[1]])] = lean(
                Fraction(int(c.p), int(c.q))
            )
        return found


def factors(terms: Polynomial) -> tuple[Number, list[Polynomial]]:
    """Return a number and the factors of a polynomial that has no common monomial."""
    ring = _Ring([terms])
    if ring.is_irreducible(terms):
        return 1, [terms]
    try:
        unit, found = ring.element(terms).factor()
    except ImportError:
        return 1, [terms]
    number = Fraction(int(unit.p), int(unit.q))
    parts = []
    for factor, times in reversed(found):
        more, _, part = primitive(ring.polynomial(factor))
        number *= Fraction(more) ** int(times)
        parts += [part] * int(times)
    return lean(number), parts


def quotient(x: Polynomial, y: Polynomial) -> Polynomial | None:
    """x/y where that is a polynomial; None where it is not."""
    ring = _Ring([x, y])
    if not bases_of(x).issuperset(bases_of(y)) or any(
        e < 0 for terms in (x, y) for monomial in terms for _, e in monomial
    ):
        return None
    try:
        whole, rest = divmod(ring.element(x), ring.element(y))
    except ImportError:
        return None
    return None if rest else ring.polynomial(whole)


# -- Sums of values: over a common denominator, multiplied out, cancelled, and in factors --------


_LARGEST = 10**6  # largest number in a factor: larger ones come from decimals and are hard to read


class Sums(Powers):
    """Operations on sums.

    square_of  gives the square of a base where it is a sum of other squares
    join       rewrites a sum with arrays and choices that fit together as one of each
    """

    square_of: Callable[[int], Value | None]
    join: Callable[[Polynomial], Polynomial]

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self._squares: dict[int, Polynomial | None] = {}
        self._defining = False  # set while working out what squares are
        self._products: dict[tuple[int, int], Value | None] = {}

    def total(self, values: Sequence[Value]) -> Value:
        """Return the sum over a common denominator, without common factors."""
        terms: Polynomial = {}
        for number, monomial in values:
            alone = not self.largest and number in (1, -1) and [e for _, e in monomial] == [1]
            inner = self.bases[monomial[0][0]].terms if alone else None
            for m, c in (inner or {monomial: 1}).items() if number else ():
                add_term(terms, m, c * number)
        if not self.largest:
            terms = self.join(terms)
        if len(terms) < 2 or not self.largest:
            return self.bases.value(terms)
        self.spend(len(terms))
        shared = common(terms)
        inverse = power(shared, -1)
        parts = {product(m, inverse): c for m, c in terms.items()} if shared else terms
        above: Polynomial = {}
        plain = True
        for monomial, number in parts.items():
            found = self.expand(monomial)
            if found is None:
                add_term(above, monomial, number)
                continue
            plain = plain and len(found) == 1
            for m, c in found.items():
                add_term(above, m, c * number)
        above = self.join(self.with_squares(above))
        if not above:
            return ZERO
        return self._factor(above, shared, None if plain and shared == () else terms)

    def _factor(self, above: Polynomial, shared: Monomial, terms: Polynomial | None) -> Value:
        """Return what is above the common denominator, cancelled with it.

        ``terms`` are those that the sum was made of.
        """
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
        outer = self.times(
            (number, tuple(sorted((b, e) for b, e in below.items() if e))), (1, monomial)
        )
        if len(above) == 1:
            return self.times(outer, self.bases.value(above))
        parts = self._parts(above)
        if parts:
            return self.without_conjugates(self.times(outer, *parts))
        sign, base_ = self.bases.sum(above)
        outer = (sign * outer[0], outer[1])
        if terms is not None and len(base_.origins) < 3:
            inverse = self.raise_to(outer, -1)
            base_.origins.append([self.times((c, m), inverse) for m, c in terms.items()])
        return self.times(outer, (1, ((base_.number, 1),)))

    def _parts(self, terms: Polynomial) -> list[Value]:
        """Return the factors of a sum that is new, whose product it is."""
        knows = self.bases.knows
        if len(terms) > self.largest or knows(terms) or knows(scale(terms, -1)):
            return []
        self.spend(2 * len(terms) ** 2)
        number, found = factors(terms)
        if len(found) < 2 or any(not -_LARGEST <= c <= _LARGEST for x in found for c in x.values()):
            return []
        return [(number, ()), *map(self._as_base, found)]

    def _as_base(self, terms: Polynomial) -> Value:
        shorter = self.with_squares(terms)
        return self.bases.value(shorter if len(shorter) == 1 else terms)

    def without_conjugates(self, value: Value) -> Value:
        """Multiply out conjugate sums: (1 - cos(x))*(1 + cos(x)) becomes sin(x)**2.

        Products of conjugate roots are multiplied out, too.
        """
        bases = self.bases
        while True:
            sums = [(b, e) for b, e in value[1] if b in bases.sums]
            for (left, exponent), (right, other) in combinations(sums, 2):
                if (exponent < 0) != (other < 0):
                    continue
                found = self._conjugates(left, right)
                if found is not None:
                    times = max(exponent, other) if exponent < 0 else min(exponent, other)
                    rest = product(value[1], tuple(sorted(((left, -times), (right, -times)))))
                    value = self.times((value[0], rest), self.raise_to(found, times))
                    break
            else:
                return value

    def _conjugates(self, left: int, right: int) -> Value | None:
        """Return the product of two sums where it is simpler, else None.

        It is simpler if it is one term, or if it has no more terms than the longer sum and other
        bases.
        """
        key = (left, right)
        if key in self._products:
            return self._products[key]
        x, y = self.bases[left].terms, self.bases[right].terms
        found: Value | None = None
        self._products[key] = None
        if len(x) <= 4 and len(y) <= 4:
            self.spend(2 * len(x) * len(y))
            terms = self.with_squares(self._reduce(multiply(x, y)))
            if (
                len(terms) <= max(len(x), len(y)) and bases_of(terms) != bases_of(x) | bases_of(y)
            ) or len(terms) == 1:
                found = self.total([(c, m) for m, c in terms.items()])
        self._products[key] = found
        return found

    def expand(self, monomial: Monomial) -> Polynomial | None:
        """Multiply out a product, or return None if it is too long."""
        sums = self.bases.sums
        rest: list[tuple[int, Number]] = []
        result: Polynomial | None = None
        for base, exponent in monomial:
            if exponent >= 1 and base in sums:
                terms = self.bases[base].terms
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
        return self._reduce(result)

    def _reduce(self, terms: Polynomial) -> Polynomial:
        """Lower the powers of roots below their modulus, and those of sums below 1."""
        sums, reducible = self.bases.sums, self.bases.reducible
        if not any(
            (b in sums and e >= 1) or (b in reducible and e >= self.bases[b].modulus)
            for m in terms
            for b, e in m
        ):
            return terms
        result: Polynomial = {}
        for monomial, number in terms.items():
            more, other = self.normal((number, monomial))
            for m, c in (self.expand(other) or {other: 1}).items():
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
        """Replace the squares of a base by the sums that they are.

        Gives None if they are no such sums, or if the result is long.
        """
        squared = self._square(base)
        if squared is None:
            return None
        result: Polynomial = {}
        for monomial, number in terms.items():
            times = int(dict(monomial).get(base, 0) // 2)
            part: Polynomial = {
                product(monomial, ((base, -2 * times),)) if times > 0 else monomial: number
            }
            for _ in range(times):
                part = multiply(part, squared)
            for m, c in part.items():
                add_term(result, m, c)
            if len(result) > self.largest:
                return None
        return result

    def _square(self, number: int) -> Polynomial | None:
        """Return the square of a base as a sum."""
        if number not in self._squares:
            self._defining = True
            value = self.square_of(number)
            self._defining = False
            self._squares[number] = (
                None if value is None else {m: c for c, m in self.addends(value)}
            )
        return self._squares[number]


def family_of(op: Op | None) -> tuple[Any, ...]:
    """Return the functions in the family of a sine or cosine, circular or hyperbolic.

    They are those of `FAMILIES`. Other operations have none.
    """
    role = op.algebra if op is not None else ""
    if role not in ("circular", "hyperbolic"):
        return ()
    from gradcli.ops.elementwise.trigonometric import FAMILIES

    return FAMILIES[role]


class Quantity(Operand):
    """A value with operators: what rules in records compute with."""

    __slots__ = ("algebra", "value")

    def __init__(self, algebra: Algebra, value: Value) -> None:
        self.algebra, self.value = algebra, value

    def __pos__(self) -> Quantity:
        return self

    def apply_op(self, op: Op, operands: Sequence[Any], static: Any) -> Quantity:
        values = [
            o.value if isinstance(o, Quantity) else self.algebra.of_number(o) for o in operands
        ]
        return Quantity(self.algebra, self.algebra.apply(op, values, static))


class Algebra(Sums, Transcription[Value]):
    """Values of nodes of one graph.

    written  writes a value as a node; what was written is ``known``
    """

    written: Callable[[Value], Expr]

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self.known: dict[Expr, Value] = {}
        self._known: dict[Any, Value] = {}
        self._roles: dict[str, Callable[[list[Any]], Value]] = {
            "sum": self.total,
            "difference": lambda x: self.total([x[0], (-x[1][0], x[1][1])]),
            "negation": lambda x: (-x[0][0], x[0][1]),
            "product": lambda x: self.times(*x),
            "chain": lambda x: self.times(*x),
            "quotient": lambda x: self.times(x[0], self.raise_to(x[1], -1)),
            "square": lambda x: self.raise_to(x[0], 2),
            "reciprocal": lambda x: self.raise_to(x[0], -1),
            "power": lambda x: self.symbolic_power(*x),
            "exponential": lambda x: self.exponential(x[0]),
            "logarithm": lambda x: self.logarithm(x[0]),
        }

    # -- nodes
    # ------------------------------------------------------------------------------------------------

    def leaf(self, node: Expr) -> Value:
        return 1, ((self.bases.make(node, node=node, shape=node.shape).number, 1),)

    def constant(self, node: Expr) -> Value:
        found = (
            self.of_number(node.payload)
            if not isinstance(node.payload, (np.ndarray, bool))
            else None
        )
        return self.leaf(node) if found is None else found

    def of_number(self, payload: Any) -> Value:
        """Convert a number to a coefficient.

        A float becomes the nearest simple fraction, or else the decimal it is written as.
        """
        if isinstance(payload, Constant):
            if payload is E:
                return self.exponential(ONE)
            if payload is PI or payload is EULER_GAMMA:
                return 1, ((self.bases.make(payload.text, node=payload, positive=True).number, 1),)
            numbers = SimpleNamespace(  # what a constant's definition may use
                pi=self._quantity(PI),
                euler=self._quantity(EULER_GAMMA),
                sqrt=lambda x: exponential.sqrt(self._quantity(x)),
                log=lambda x: exponential.log(self._quantity(x)),
                mpf=self._quantity,
            )
            found: Quantity = payload.reference(numbers)
            return found.value
        if isinstance(payload, int):
            return payload, ()
        if payload - payload != 0:
            return 1, ((self.bases.make(repr(payload), node=payload).number, 1),)
        value = float(payload)
        simple = Fraction(value).limit_denominator(_SIMPLE)
        return lean(
            simple if float(simple) == value and abs(value) < _EXACT else Fraction(repr(value))
        ), ()

    def _quantity(self, x: Any) -> Quantity:
        return x if isinstance(x, Quantity) else Quantity(self, self.of_number(x))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Value:
        try:
            value = self._simpler(node, op, operands)
            if value is None:
                value = self.apply(op, operands, node.static, node)
        except Unsimplified:
            if self.largest:
                raise
            value = self.function(op, operands, node.static, node)
        if not self.largest:
            self.written(value)  # written from the leaves up, so that nothing nests deeply
        return value

    def _simpler(self, node: Expr, op: Op, operands: list[Any]) -> Value | None:
        """Return the simpler form of an operation that its record gives.

        An operation for which no name is known is replaced by its definition.
        """
        hidden = (
            op.definition if not (op.public or op.written or op.algebra == "composed") else None
        )
        if (op.simpler is None and hidden is None) or op.algebra == "repetition":
            return None
        nodes = [None if o is None else self.written(o) for o in operands]
        if not op.elementwise:
            pairs = zip(nodes, node.operands, strict=True)
            nodes = [
                n
                if n is None or o is None or n.shape == o.shape
                else broadcast_to(n, shape=o.shape)
                for n, o in pairs
            ]
        found = op.simpler(node, *nodes, **node.static) if op.simpler is not None else None
        if found is None and hidden is not None:
            found = hidden(*nodes, **node.static)
        if isinstance(found, bool):
            return self.leaf(node.graph.constant(found))
        if found is not None:
            return self._value_of(found, dict(zip(nodes, operands, strict=True)))
        guarded = (
            op.algebra == "choice"
            and operands[1] == ZERO
            and self._guards(operands[0], operands[2])
        )
        return operands[2] if guarded else None

    def _value_of(self, found: Any, known: dict[Expr | None, Value]) -> Value:
        """Return the value of a rule's result on nodes whose values are known."""
        if not isinstance(found, Expr):
            return self.of_number(found)
        value = known.get(found) or self.known.get(found)
        if value is not None:
            return value
        if found.op is None:
            return self.leaf(found) if found.is_leaf else self.constant(found)
        operands = [None if o is None else self._value_of(o, known) for o in found.operands]
        return self.apply(found.op, operands, found.static, found)

    def _guards(self, condition: Value, branch: Value) -> bool:
        """Return whether a condition only protects a factor that is there anyway.

        An example is 1/n == 0, which protects a product that has the factor 1/n.
        """
        base = self.bases[condition[1][0][0]] if condition[1] else None
        if base is None or base.op is not equal or base.operands[1] != ZERO or not base.operands[0]:
            return False
        powers = dict(branch[1])
        return all(powers.get(b, 0) / e >= 1 for b, e in base.operands[0][1])

    def apply(
        self, op: Op, operands: Sequence[Any], static: Any, node: Expr | None = None
    ) -> Value:
        role = self._roles.get(op.algebra)
        if role is not None:
            return role(list(operands))
        if (
            op.transparent
            or op.algebra == "repetition"
            or (op.algebra == "reshaping" and node is not None and not node.operand.shape)
        ):
            first: Value = operands[0]
            return first
        if op.algebra == "composed" and op.definition is not None:
            key = (op, *operands, *static.values())
            known = self._known.get(key)
            if known is None:
                found = op.definition(*(Quantity(self, o) for o in operands), **static)
                known = self._known[key] = (
                    found.value if isinstance(found, Quantity) else self.of_number(found)
                )
            return known
        if op.algebra in ("total", "matrix product") and node is not None:
            return self._linear(op, operands, node)
        return self.function(op, operands, static, node)

    def function(
        self,
        op: Op,
        operands: Sequence[Value | None],
        static: Any,
        node: Expr | None = None,
        like: Base | None = None,
    ) -> Value:
        """Return a function as a base that is not taken apart.

        An odd or even function of -x becomes that of x.

        node, like  a node or a base with the shapes of the result and of the operands, where these
                    do not follow from each other
        """
        sign, first = 1, operands[0]
        if first is not None and first[0] < 0 and op.parity:
            operands, sign = [(-first[0], first[1]), *operands[1:]], op.parity
        if first is not None and op.algebra == "sign":  # sign(2*x) is sign(x)
            operands = [(1, first[1])]
        shapes: tuple[Any, ...] = ()
        more: dict[str, Any] = {}
        if like is not None and not op.elementwise:
            shapes, more = like.shapes, {"shape": like.shape}
        elif node is not None and not op.elementwise:
            shapes, more = (
                tuple(None if o is None else o.shape for o in node.operands),
                {"shape": node.shape},
            )
        key = (op, tuple(operands), tuple(static.items()) if static else (), shapes)
        base = self.bases.make(
            key,
            op=op,
            operands=tuple(operands),
            static=static,
            shapes=shapes,
            modulus=2 if op.algebra == "sign" else 0,
            **more,
        )
        return sign, ((base.number, 1),)

    # -- arrays
    # -----------------------------------------------------------------------------------------------

    def _linear(self, op: Op, operands: Sequence[Value], node: Expr) -> Value:
        """Return a sum of entries, or a product of matrices.

        Numbers are moved to the front, and identity matrices are left out.
        """
        outside: Value = ONE
        cores: list[Value] = []
        for value, given in zip(operands, node.operands, strict=True):
            assert given is not None
            arrays = tuple([part for part in value[1] if self.bases[part[0]].shape])
            if op.algebra == "total" and (
                not arrays or given.shape == node.shape
            ):  # a number counts once for each entry that is summed
                return self.times(value, (lean(Fraction(given.size, max(1, node.size))), ()))
            if self.bases.shape(arrays) != given.shape:
                return self.function(op, operands, node.static, node)
            outside = self.times(
                outside, (value[0], tuple([part for part in value[1] if part not in arrays]))
            )
            cores.append((1, arrays))
        others = [core for core in cores if not self._is_identity(core)]
        core = (
            others[0]
            if len(others) < len(cores) and others
            else self.function(op, cores, node.static, node)
        )
        return self.times(outside, core)

    def _is_identity(self, value: Value) -> bool:
        node = self.bases[value[1][0][0]].node
        array = node.payload if isinstance(node, Expr) else None
        return (
            value[1][0][1] == 1
            and isinstance(array, np.ndarray)
            and array.ndim == 2
            and np.array_equal(array, np.eye(len(array)))
        )

    def join(self, terms: Polynomial) -> Polynomial:
        """[x, 0] + [0, y] as [x, y], and where(b, x, 0) + where(b, 0, y) as where(b, x, y)."""
        groups: dict[Any, list[tuple[Monomial, Base]]] = {}
        for monomial in terms if self.bases.joinable else ():
            for number, exponent in monomial:
                base = self.bases[number]
                others = self.bases.shape(part for part in monomial if part[0] != number)
                if (
                    number in self.bases.joinable
                    and exponent == 1
                    and (base.op is where or not others)
                ):
                    key = (base.op, base.shapes, base.operands[0] if base.op is where else None)
                    groups.setdefault(key, []).append((monomial, base))
                    break
        for group in groups.values():
            if len(group) < 2:
                continue
            first = group[0][1]
            parts: list[Value] = []
            for place, operand in enumerate(first.operands):
                if first.op is where and not place:
                    parts.append(operand or ZERO)
                    continue
                row = [
                    self.times(
                        (terms[m], product(m, ((base.number, -1),))), base.operands[place] or ZERO
                    )
                    for m, base in group
                ]
                parts.append(self.total(row))
            terms = {m: c for m, c in terms.items() if all(m != taken for taken, _ in group)}
            c, m = self.function(first.op, parts, first.static, like=first)
            add_term(terms, m, c)
        return terms

    def square_of(self, number: int) -> Value | None:
        base = self.bases[number]
        family = family_of(base.op)
        if not family or base.operands[0] is None:
            return None
        sine, cosine, *_, k = family
        x = Quantity(self, base.operands[0])
        found: Quantity = k * (1 - cosine(x) ** 2) if base.op is sine else 1 - k * sine(x) ** 2
        return found.value
