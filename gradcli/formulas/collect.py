"""Sums as terms with coefficients and products as factors with exponents, and what is built of them again."""

from __future__ import annotations

from fractions import Fraction

from gradcli.formulas.coefficients import ONE, Coefficient, exact, is_binary, plus, times
from gradcli.formulas.quotients import quotient_of
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.shapes import broadcast_to, reshape, transpose
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import where

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
        from gradcli.ops.linalg.inverses import adjugate, det, inv  # which are there, or there is nothing to find

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
    """What a node repeats, where arithmetic would repeat it anyway."""
    while node.op is broadcast_to or (node.op is reshape and node.operand.shape == ()):
        node = node.operand
    return node
