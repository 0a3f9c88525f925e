"""Simplifying a graph for people to read: like terms, like factors, constants, and shapes that broadcasting implies.

Every sum is collected into terms with coefficients and every product into factors with exponents, from the
leaves up; what is built from them has the shape of what it replaces. Results may differ from the original in
rounding, and at points where a cancelled factor is zero; whoever prints a formula checks it against the engine.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from gradcli.formulas.powers import Number
from gradcli.graph.interpret import Transcription, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.arrays.shapes import broadcast_to, reshape, stack, transpose
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import where
from gradcli.ops.linalg import products
from gradcli.ops.spec import Op

# -- Numbers in formulas: exact fractions while they are small, floats beyond ----------------------


Coefficient = Fraction | float

_EXACT = 2**53


def exact(value: Any) -> Coefficient | None:
    """A constant's payload as a coefficient: a fraction where it is one of small integers or halves."""
    if isinstance(value, (bool, Constant, np.ndarray)) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < _EXACT else float(value)
    if value == value and abs(value) < _EXACT and (value * 1024).is_integer():
        return Fraction(value)
    return value


def bounded(value: Coefficient) -> Coefficient:
    if isinstance(value, Fraction) and (abs(value.numerator) >= _EXACT or value.denominator >= _EXACT):
        return float(value)
    return value


def times(x: Coefficient, y: Coefficient) -> Coefficient:
    return bounded(x * y) if isinstance(x, Fraction) and isinstance(y, Fraction) else float(x) * float(y)


def plus(x: Coefficient, y: Coefficient) -> Coefficient:
    return bounded(x + y) if isinstance(x, Fraction) and isinstance(y, Fraction) else float(x) + float(y)


ONE = Fraction(1)


def is_binary(value: Fraction) -> bool:
    """Return whether a fraction is a float exactly, such as 0.375."""
    return value.denominator & (value.denominator - 1) == 0


def raised(value: Coefficient, power: Fraction) -> Coefficient:
    if isinstance(value, Fraction) and abs(power) <= 64:
        return bounded(Fraction(value ** int(power)))
    try:
        return math.pow(value, power)
    except OverflowError:
        return float("inf")


# -- A number, factors above the line and factors below it, as one node ----------------------------


N = TypeVar("N")


def quotient_of(top: N, number: Callable[[N], Expr], above: list[Expr], below: list[Expr]) -> Expr:
    """``top*above/below`` from left to right; 1 is not written where there is a factor, and -1 is a minus."""
    result: Expr | None = None
    if not above or top not in (1, -1):
        result = number(top)
    elif top == -1:
        result, above = -above[0], above[1:]
    for factor in above:
        result = factor if result is None else result * factor
    assert result is not None
    if below:
        divisor = below[0]
        for factor in below[1:]:
            divisor = divisor * factor
        result = result / divisor
    return result


# -- Sums as terms with coefficients and products as factors with exponents, and what is built of
# them again.


Terms = dict[Expr, Coefficient]
Factors = dict[Expr, Coefficient]


def number_of(node: Expr) -> Coefficient | None:
    """A constant's number, if it can be a coefficient."""
    return exact(node.payload) if node.is_constant else None


def merge(into: dict[Expr, Coefficient], part: Expr, amount: Coefficient) -> None:
    """Add to a term's coefficient or a factor's exponent; what becomes zero goes."""
    total = plus(into.get(part, Fraction(0)), amount)
    if total == 0:
        into.pop(part, None)
    else:
        into[part] = total


class Collector:
    """Remembers of what terms and factors the nodes of one graph are made."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sums: dict[Expr, tuple[Coefficient, Terms]] = {}
        self.products: dict[Expr, tuple[Coefficient, Factors]] = {}

    def as_sum(self, node: Expr) -> tuple[Coefficient, Terms]:
        """A constant and terms with coefficients, whose sum the node is."""
        found = self.sums.get(node)
        if found is not None:
            return found
        value = number_of(node)
        if value is not None:
            return value, {}
        inner = unbroadcast(node)
        if inner is not node:
            return self.as_sum(inner)
        coefficient, factors = self.as_product(node)
        if coefficient == 1:
            return Fraction(0), {node: ONE}
        return Fraction(0), {self.build_product(ONE, factors): coefficient}

    def build_sum(self, constant: Coefficient, terms: Terms) -> Expr:
        """A node for a constant and terms, one with a positive coefficient first."""
        parts = list(terms.items())
        lead = next((i for i, (_, c) in enumerate(parts) if c > 0), None)
        if lead and not constant > 0:
            parts.insert(0, parts.pop(lead))
        result: Expr | None = None
        if lead is None and constant > 0:
            result = self.number(constant)
            rest: Coefficient = Fraction(0)
        else:
            rest = constant
        for term, coefficient in parts:
            if result is None:
                result = self.scaled(term, coefficient)
            elif coefficient < 0:
                result = result - self.scaled(term, times(Fraction(-1), coefficient))
            else:
                result = result + self.scaled(term, coefficient)
        if result is None:
            result = self.number(rest)
        elif rest != 0:
            result = result + self.number(rest) if rest > 0 else result - self.number(-rest)
        if len(terms) + (constant != 0) > 1:
            self.sums[result] = (constant, terms)
        return result

    def scaled(self, term: Expr, coefficient: Coefficient) -> Expr:
        inner, factors = self.as_product(term)
        return self.build_product(times(coefficient, inner), factors)

    def number(self, value: Coefficient) -> Expr:
        if isinstance(value, Fraction):
            if value.denominator == 1:
                return self.graph.constant(value.numerator)
            if is_binary(value):
                return self.graph.constant(float(value))
            quotient = self.graph.apply(arithmetic.div, (value.numerator, value.denominator))
            self.sums[quotient] = self.products[quotient] = (value, {})
            return quotient
        return self.graph.constant(int(value) if value.is_integer() and abs(value) < 1e15 else value)

    def as_product(self, node: Expr) -> tuple[Coefficient, Factors]:
        """A coefficient and factors with numeric exponents, whose product the node is."""
        found = self.products.get(node)
        if found is not None:
            return found
        inner = unbroadcast(node)
        value = number_of(inner)
        if value is not None:
            return value, {}
        return self.as_product(inner) if inner is not node else (ONE, {node: ONE})

    def build_product(self, coefficient: Coefficient, factors: Factors) -> Expr:
        """A node for a coefficient and factors, those with negative exponents below a fraction bar."""
        if coefficient == 0 or not factors:
            return self.number(coefficient)
        factors = _inverses(factors)
        branch = self._into_branch(coefficient, factors)
        if branch is not None:
            return branch
        above = [_to_the(base, exponent) for base, exponent in factors.items() if exponent > 0]
        below = [_to_the(base, -exponent) for base, exponent in factors.items() if exponent < 0]
        top: Coefficient = coefficient
        if isinstance(coefficient, Fraction) and (below or not is_binary(coefficient)) and coefficient.denominator != 1:
            top = Fraction(coefficient.numerator)
            below.insert(0, self.graph.constant(coefficient.denominator))
        result = quotient_of(top, self.number, above, below)
        if coefficient != 1 or len(factors) > 1 or next(iter(factors.values())) != 1:
            self.products[result] = (coefficient, factors)
        return result

    def _into_branch(self, coefficient: Coefficient, factors: Factors) -> Expr | None:
        """c*where(b, x, 0) as where(b, c*x, 0): so that nothing is computed where it does not count."""
        for base, exponent in factors.items():
            if base.op is not where or exponent != 1 or (coefficient == 1 and len(factors) == 1):
                continue
            condition, x, y = base.operands
            if not is_zero(x) and not is_zero(y):
                continue
            rest = {other: power for other, power in factors.items() if other is not base}
            branches = [_chosen(self._inside(coefficient, rest, branch), condition, place) for place, branch in ((1, x), (2, y))]
            return self.graph.apply(where, (condition, *branches))
        return None

    def _inside(self, coefficient: Coefficient, factors: Factors, branch: Expr | None) -> Expr:
        assert branch is not None
        if is_zero(branch):
            return branch
        scale, inner = self.as_product(branch)
        merged = dict(factors)
        for base, exponent in inner.items():
            merge(merged, base, exponent)
        return self.build_product(times(coefficient, scale), merged)


def given(node: Expr | None) -> Expr:
    assert node is not None
    return node


def _chosen(node: Expr, condition: Expr | None, place: int) -> Expr:
    """A branch under the same condition once more: the condition is decided there."""
    return given(node.operands[place]) if node.op is where and node.operands[0] is condition else node


def is_zero(node: Expr | None) -> bool:
    return node is not None and node.is_constant and not node.shape and node.payload == 0


def _to_the(base: Expr, exponent: Coefficient) -> Expr:
    if exponent == 1:
        return base
    whole = isinstance(exponent, Fraction) and exponent.denominator == 1
    return base.graph.apply(exponential.pow_, (base, int(exponent) if whole else float(exponent)))


def _inverses(factors: Factors) -> Factors:
    """adjugate(X).T/det(X) is inv(X).T."""
    for base, exponent in factors.items():
        source = base.operand if base.op is transpose else None
        if exponent != 1 or source is None or source.op is None or not source.op.core_dims:
            continue
        from gradcli.ops.linalg.matrix_functions import adjugate, det, inv  # which are there, or there is nothing to find

        if source.op is not adjugate:
            continue
        for other, power in factors.items():
            if other.op is det and other.operand is source.operand and power <= -1:
                rest = {b: e for b, e in factors.items() if b not in (base, other)}
                if power != -1:
                    rest[other] = power + 1
                inverse = transpose(inv(source.operand), axes=None)
                return {**rest, inverse: plus(rest.get(inverse, Fraction(0)), ONE)}
    return factors


def unbroadcast(node: Expr) -> Expr:
    """Return what a node repeats, where arithmetic would repeat it anyway."""
    while node.op is broadcast_to or (node.op is reshape and node.operand.shape == ()):
        node = node.operand
    return node


class Simplifier(Collector, Transcription[Expr]):
    """Simplifies nodes of one graph into another; ``graph`` is where results live."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.done: dict[Expr, Expr] = {}
        self._collect: dict[str, Callable[[Expr, list[Expr]], Expr]] = {
            "sum": self._sum,
            "difference": self._sum,
            "negation": self._negative,
            "product": self._product,
            "chain": self._product,
            "quotient": self._product,
            "square": lambda node, operands: self._merged([(operands[0], Fraction(2))]),
            "reciprocal": lambda node, operands: self._merged([(operands[0], Fraction(-1))]),
            "power": self._power,
            "matrix product": self._matmul,
            "total": self._total,
        }

    def simplify(self, root: Expr) -> Expr:
        simple: Expr = interpret(reachable([root]), self, self.done)[root]
        return simple

    def leaf(self, node: Expr) -> Expr:
        return node

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        collect = self._collect.get(op.algebra)
        if collect is not None:
            result = collect(node, [o for o in operands if o is not None])
        elif op.definition is not None and not op.public and not op.text.written:  # it has no name to be written by
            result = self.simplify(op.definition(*operands, **node.static))
        else:
            result = self._simpler(node, _unbroadcast(node, operands) if op.elementwise else operands)
        return result if result.shape == node.shape else broadcast_to(result, shape=node.shape)

    def _simpler(self, node: Expr, operands: list[Expr | None]) -> Expr:
        """The node on simplified operands, or what its operation's record says is simpler."""
        assert node.op is not None
        rule = node.op.simpler
        found = rule(node, *operands, **node.static) if rule is not None else None
        if found is None:
            return self.graph.apply(node.op, operands, node.static)
        return found if isinstance(found, Expr) else self.graph.constant(found)

    def constant(self, node: Expr) -> Expr:
        """2.0 as 2."""
        value = node.payload
        if type(value) is float and value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0":
            return self.graph.constant(int(value))
        return node

    # -- sums -------------------------------------------------------------------------------------------------

    def _sum(self, node: Expr, operands: list[Expr]) -> Expr:
        left, right = operands
        sign: Coefficient = Fraction(-1) if node.op is arithmetic.sub else ONE
        constant, terms = self.as_sum(left)
        extra, more = self.as_sum(right)
        constant, terms = plus(constant, times(sign, extra)), dict(terms)
        for term, coefficient in more.items():
            merge(terms, term, times(sign, coefficient))
        return self.build_sum(constant, self._branches_joined(self._rows_joined(terms)))

    def _branches_joined(self, terms: Terms) -> Terms:
        """where(b, x, 0) + where(b, 0, y) as where(b, x, y)."""
        branches = [term for term in terms if term.op is where]
        if len(branches) < 2:
            return terms
        others: dict[
            Expr | None, list[Expr]
        ] = {}  # by conditions, those that are zero where it holds: two of them, for one may be the left
        for right in branches:
            if is_zero(right.operands[1]) and len(found := others.setdefault(right.operands[0], [])) < 2:
                found.append(right)
        for left in branches:
            for right in others.get(left.operands[0], ()) if is_zero(left.operands[2]) else ():
                if right is not left:
                    x = self.scaled(given(left.operands[1]), terms[left])
                    y = self.scaled(given(right.operands[2]), terms[right])
                    rest = {term: c for term, c in terms.items() if term not in (left, right)}
                    return {**rest, self.graph.apply(where, (left.operands[0], x, y)): ONE}
        return terms

    def _rows_joined(self, terms: Terms) -> Terms:
        """[x, 0] + [0, y] as [x, y]."""
        rows = [term for term in terms if term.op is stack and term.static["axis"] == 0]
        shapes = {term.shape for term in rows}
        if len(rows) < 2 or len(shapes) > 1:
            return terms
        entries: list[Expr] = []
        for parts in zip(*(row.operands for row in rows), strict=True):
            constant: Coefficient = Fraction(0)
            inner: Terms = {}
            for part, row in zip(parts, rows, strict=True):
                assert part is not None
                extra, more = self.as_sum(part)
                constant = plus(constant, times(terms[row], extra))
                for term, coefficient in more.items():
                    merge(inner, term, times(terms[row], coefficient))
            entries.append(self.build_sum(constant, inner))
        rest = {term: c for term, c in terms.items() if term not in rows}
        return {**rest, stack(*entries, axis=0): ONE}

    def _negative(self, node: Expr, operands: list[Expr]) -> Expr:
        constant, terms = self.as_sum(operands[0])
        if len(terms) + (constant != 0) > 1:
            return self.build_sum(times(Fraction(-1), constant), {t: times(Fraction(-1), c) for t, c in terms.items()})
        coefficient, factors = self.as_product(operands[0])
        return self.build_product(times(Fraction(-1), coefficient), factors)

    # -- products ---------------------------------------------------------------------------------------------

    def _product(self, node: Expr, operands: list[Expr]) -> Expr:
        second = Fraction(-1) if node.op is arithmetic.div else ONE
        return self._merged([(operands[0], ONE), (operands[1], second)])

    def _matmul(self, node: Expr, operands: list[Expr]) -> Expr:
        """Scalars in front, and no identity matrices: A.T @ (2*seed*eye(3)) is 2*seed*A.T."""
        total: Coefficient = ONE
        factors: Factors = {}
        cores: list[Expr] = []
        for operand in operands:
            coefficient, inner = self.as_product(operand)
            outside = {base: e for base, e in inner.items() if base.shape == ()}
            core = self.build_product(ONE, {base: e for base, e in inner.items() if base.shape != ()})
            if core.shape != operand.shape:
                return node.graph.apply(products.matmul, operands)
            total = times(total, coefficient)
            for base, exponent in outside.items():
                merge(factors, base, exponent)
            cores.append(core)
        left, right = cores
        core = right if _is_identity(left) else left if _is_identity(right) else left @ right
        coefficient, inner = self.as_product(core)
        for base, exponent in inner.items():
            merge(factors, base, exponent)
        return self.build_product(times(total, coefficient), factors)

    def _total(self, node: Expr, operands: list[Expr]) -> Expr:
        """Scalars in front of a sum."""
        assert node.op is not None
        (x,) = operands
        if x.shape == node.shape:
            return x
        coefficient, factors = self.as_product(x)
        core = self.build_product(ONE, {base: e for base, e in factors.items() if base.shape != ()})
        if not core.shape:
            # a repeated number, as often as it is summed
            count = Fraction(math.prod(x.shape), max(1, math.prod(node.shape)))
            return self.build_product(times(coefficient, count), factors)
        if core.shape != x.shape:
            return node.graph.apply(node.op, operands, node.static)
        inner = {base: e for base, e in factors.items() if base.shape == ()}
        total = node.graph.apply(node.op, (core,), node.static)
        merge(inner, total, ONE)
        return self.build_product(coefficient, inner)

    def _power(self, node: Expr, operands: list[Expr]) -> Expr:
        base, exponent = operands
        value = number_of(exponent)
        if value is None:
            return self.graph.apply(exponential.pow_, operands)
        if value == 0:
            return self.graph.constant(1)
        if value == 1:
            return base
        if isinstance(value, Fraction) and value.denominator == 1:
            return self._merged([(base, value)])
        result = self.graph.apply(exponential.pow_, operands)
        coefficient, factors = self.as_product(base)
        if coefficient == 1 and len(factors) == 1 and next(iter(factors.values())) == 1:
            self.products[result] = (ONE, {base: value})
        return result

    def _merged(self, parts: list[tuple[Expr, Fraction]]) -> Expr:
        """The product of parts, each to a whole power."""
        total: Coefficient = ONE
        factors: Factors = {}
        for part, power in parts:
            coefficient, inner = self.as_product(part)
            if coefficient == 0 and power < 0:
                return self._uncollected(parts)
            total = times(total, raised(coefficient, power))
            for base, exponent in inner.items():
                merge(factors, base, times(exponent, power))
        return self.build_product(total, factors)

    def _uncollected(self, parts: list[tuple[Expr, Fraction]]) -> Expr:
        (result, power), *rest = parts
        result = result if power == 1 else result ** int(power)
        for part, exponent in rest:
            result = result * part if exponent > 0 else result / part
        return result


def _unbroadcast(node: Expr, operands: list[Expr | None]) -> list[Expr | None]:
    """Operands without the reshaping that broadcasting does anyway."""
    smaller = [None if o is None else unbroadcast(o) for o in operands]
    return smaller if any(o is not None and o.shape == node.shape for o in smaller) else operands


def _is_identity(node: Expr) -> bool:
    value = node.payload
    return (
        isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[0] == value.shape[1] and bool((value == np.eye(len(value))).all())
    )


def simplify(roots: list[Expr], graph: Graph) -> list[Expr]:
    """Simplified nodes that equal the roots, in the same graph."""
    simplifier = Simplifier(graph)
    return [simplifier.simplify(root) for root in roots]


# -- Products as fractions: numbers, what stands above and below the line, and how many operations
# that takes.


Piece = tuple[int, tuple[str, int], Expr, Number]  # rank and place among the factors, what is raised, the exponent

_LONGEST = 10**6  # of the numbers above and below in a fraction that is written out
_HALF = Fraction(1, 2)
_LARGEST = int(sys.float_info.max)


def _rounded(value: Any) -> float:
    """Return the float that is nearest to a number; infinity for what is too large, as floats have it."""
    return math.copysign(math.inf, value) if abs(value) > _LARGEST else float(value)


class Fractions:
    """Builds fractions in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.decimals = False  # whether numbers with a point were written
        self._costs: dict[Expr, int] = {}

    def cost(self, root: Expr) -> int:
        """The operations in a formula as it is printed: each sign, operator and call."""
        costs = self._costs
        if root in costs:
            return costs[root]
        for node in reachable([root]) if any(o is not None and o not in costs for o in root.operands) else [root]:
            if node in costs:
                continue
            if node.op is None:
                negative = node.is_constant and isinstance(node.payload, (int, float)) and node.payload < 0
                costs[node] = int(negative)
            else:
                costs[node] = (not node.op.text.transparent) + sum([costs[o] for o in node.operands if o is not None])
        return costs[root]

    def number(self, value: Number) -> Expr:
        if value.denominator == 1:
            return self.graph.constant(int(value) if -(10**15) < value < 10**15 else _rounded(value))
        if self._is_decimal(value):
            return self.graph.constant(_rounded(value))
        assert isinstance(value, Fraction)
        return self.graph.apply(arithmetic.div, (value.numerator, value.denominator))

    def _is_decimal(self, value: Number) -> bool:
        """Return whether a number that is not whole is written with a point."""
        below = value.denominator
        if below > _LONGEST or max(value.numerator, -value.numerator) > _LONGEST:
            return True
        if below & (below - 1) == 0 and below <= 1024:
            return True
        if not self.decimals:
            return False
        while below % 2 == 0:
            below //= 2
        while below % 5 == 0:
            below //= 5
        return below == 1

    def fraction(self, number: Number, pieces: list[Piece]) -> Expr:
        """A number times powers, those with negative exponents below the line."""
        pieces = sorted(pieces, key=lambda piece: piece[:2])
        above = [self.raised(node, exponent) for _, _, node, exponent in pieces if exponent > 0]
        below = [self.raised(node, -exponent) for _, _, node, exponent in pieces if exponent < 0]
        if number.denominator != 1:
            size = number if number > 0 else -number
            is_decimal = self._is_decimal(number) and (size.numerator != 1 or size.denominator > 1024)
            if not is_decimal or (below and not self.decimals and size.denominator <= _LONGEST and size.numerator <= _LONGEST):
                below.insert(0, self.graph.constant(number.denominator))
                number = number.numerator
        return quotient_of(number, self.number, above, below)

    def raised(self, node: Expr, exponent: Number) -> Expr:
        if exponent == 1:
            return node
        if exponent == _HALF:
            return self.graph.apply(exponential.sqrt, (node,))
        return self.graph.apply(exponential.pow_, (node, self.number(exponent)))
