"""Simplifying a graph for people to read: like terms, like factors, constants, and shapes that broadcasting implies.

Every sum is collected into terms with coefficients and every product into factors with exponents, from the
leaves up; what is built from them has the shape of what it replaces. Results may differ from the original in
rounding, and at points where a cancelled factor is zero; whoever prints a formula checks it against the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gradcli.engine.coefficients import ONE, Coefficient, exact, is_binary, plus, raised, times
from gradcli.engine.graph import Expr, Graph, reachable
from gradcli.engine.rewrites import rewrite
from gradcli.ops import arithmetic, exponential, products
from gradcli.ops.logic import where
from gradcli.ops.registry import find
from gradcli.ops.shapes import broadcast_to, stack, sum_to, transpose
from gradcli.ops.spec import Op

Terms = dict[Expr, Coefficient]
Factors = dict[Expr, Coefficient]


def _number_of(node: Expr) -> Coefficient | None:
    """A constant's number, if it can be a coefficient."""
    return exact(node.payload) if node.is_constant else None


def _merge(into: dict[Expr, Coefficient], part: Expr, amount: Coefficient) -> None:
    """Add to a term's coefficient or a factor's exponent; what becomes zero goes."""
    total = plus(into.get(part, Fraction(0)), amount)
    if total == 0:
        into.pop(part, None)
    else:
        into[part] = total


class Simplifier:
    """Simplifies nodes of one graph into another; ``graph`` is where results live."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.done: dict[Expr, Expr] = {}
        self.sums: dict[Expr, tuple[Coefficient, Terms]] = {}
        self.products: dict[Expr, tuple[Coefficient, Factors]] = {}
        self._collect: dict[Op, Callable[[Expr, list[Expr]], Expr]] = {
            arithmetic.add: self._sum,
            arithmetic.sub: self._sum,
            arithmetic.neg: self._negative,
            arithmetic.mul: self._product,
            arithmetic.chain: self._product,
            arithmetic.div: self._product,
            arithmetic.square: self._product,
            arithmetic.reciprocal: self._product,
            exponential.pow_: self._power,
            products.matmul: self._matmul,
            sum_to: self._total,
        }

    def simplify(self, root: Expr) -> Expr:
        for node in reachable([root]):
            if node not in self.done:
                self.done[node] = self._node(node)
        return self.done[root]

    def _node(self, node: Expr) -> Expr:
        if node.op is None:
            return self._constant(node) if node.is_constant else node
        operands = [None if o is None else self.done[o] for o in node.operands]
        collect = self._total if node.op.name == "sum" else self._collect.get(node.op)
        if collect is not None:
            result = collect(node, [o for o in operands if o is not None])
        else:
            result = rewrite(self.graph, node, _stripped(node, operands) if node.op.elementwise else operands)
        return result if result.shape == node.shape else broadcast_to(result, shape=node.shape)

    def _constant(self, node: Expr) -> Expr:
        """2.0 as 2."""
        value = node.payload
        if type(value) is float and value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0":
            return self.graph.constant(int(value))
        return node

    # -- sums -------------------------------------------------------------------------------------------------

    def as_sum(self, node: Expr) -> tuple[Coefficient, Terms]:
        """A constant and terms with coefficients, whose sum the node is."""
        known = self.sums.get(node)
        if known is not None:
            return known
        value = _number_of(node)
        if value is not None:
            return value, {}
        inner = _unbroadcast(node)
        if inner is not node:
            return self.as_sum(inner)
        coefficient, factors = self.as_product(node)
        if coefficient == 1:
            return Fraction(0), {node: ONE}
        return Fraction(0), {self._build_product(ONE, factors): coefficient}

    def _sum(self, node: Expr, operands: list[Expr]) -> Expr:
        left, right = operands
        sign: Coefficient = Fraction(-1) if node.op is arithmetic.sub else ONE
        constant, terms = self.as_sum(left)
        extra, more = self.as_sum(right)
        constant, terms = plus(constant, times(sign, extra)), dict(terms)
        for term, coefficient in more.items():
            _merge(terms, term, times(sign, coefficient))
        return self._build_sum(constant, self._branches_joined(self._rows_joined(terms)))

    def _branches_joined(self, terms: Terms) -> Terms:
        """where(b, x, 0) + where(b, 0, y) as where(b, x, y)."""
        for left in terms:
            for right in terms:
                if left.op is not where or right.op is not where or left is right or left.operands[0] is not right.operands[0]:
                    continue
                if _is_zero(left.operands[2]) and _is_zero(right.operands[1]):
                    x = self._scaled(_given(left.operands[1]), terms[left])
                    y = self._scaled(_given(right.operands[2]), terms[right])
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
                    _merge(inner, term, times(terms[row], coefficient))
            entries.append(self._build_sum(constant, inner))
        rest = {term: c for term, c in terms.items() if term not in rows}
        return {**rest, stack(*entries, axis=0): ONE}

    def _negative(self, node: Expr, operands: list[Expr]) -> Expr:
        constant, terms = self.as_sum(operands[0])
        if len(terms) + (constant != 0) > 1:
            return self._build_sum(times(Fraction(-1), constant), {t: times(Fraction(-1), c) for t, c in terms.items()})
        coefficient, factors = self.as_product(operands[0])
        return self._build_product(times(Fraction(-1), coefficient), factors)

    def _build_sum(self, constant: Coefficient, terms: Terms) -> Expr:
        parts = list(terms.items())
        lead = next((i for i, (_, c) in enumerate(parts) if c > 0), None)
        if lead and not constant > 0:
            parts.insert(0, parts.pop(lead))
        result: Expr | None = None
        if lead is None and constant > 0:
            result = self._number(constant)
            rest: Coefficient = Fraction(0)
        else:
            rest = constant
        for term, coefficient in parts:
            if result is None:
                result = self._scaled(term, coefficient)
            elif coefficient < 0:
                result = result - self._scaled(term, times(Fraction(-1), coefficient))
            else:
                result = result + self._scaled(term, coefficient)
        if result is None:
            result = self._number(rest)
        elif rest != 0:
            result = result + self._number(rest) if rest > 0 else result - self._number(-rest)
        if len(terms) + (constant != 0) > 1:
            self.sums[result] = (constant, terms)
        return result

    def _scaled(self, term: Expr, coefficient: Coefficient) -> Expr:
        inner, factors = self.as_product(term)
        return self._build_product(times(coefficient, inner), factors)

    def _number(self, value: Coefficient) -> Expr:
        if isinstance(value, Fraction):
            if value.denominator == 1:
                return self.graph.constant(value.numerator)
            if is_binary(value):
                return self.graph.constant(float(value))
            quotient = self.graph.apply(arithmetic.div, (value.numerator, value.denominator))
            self.sums[quotient] = self.products[quotient] = (value, {})
            return quotient
        return self.graph.constant(int(value) if value.is_integer() and abs(value) < 1e15 else value)

    # -- products ---------------------------------------------------------------------------------------------

    def as_product(self, node: Expr) -> tuple[Coefficient, Factors]:
        """A coefficient and factors with numeric exponents, whose product the node is."""
        known = self.products.get(node)
        if known is not None:
            return known
        inner = _unbroadcast(node)
        value = _number_of(inner)
        if value is not None:
            return value, {}
        return self.as_product(inner) if inner is not node else (ONE, {node: ONE})

    def _product(self, node: Expr, operands: list[Expr]) -> Expr:
        if node.op is arithmetic.square:
            return self._merged([(operands[0], Fraction(2))])
        if node.op is arithmetic.reciprocal:
            return self._merged([(operands[0], Fraction(-1))])
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
            core = self._build_product(ONE, {base: e for base, e in inner.items() if base.shape != ()})
            if core.shape != operand.shape:
                return node.graph.apply(products.matmul, operands)
            total = times(total, coefficient)
            for base, exponent in outside.items():
                _merge(factors, base, exponent)
            cores.append(core)
        left, right = cores
        core = right if _is_identity(left) else left if _is_identity(right) else left @ right
        coefficient, inner = self.as_product(core)
        for base, exponent in inner.items():
            _merge(factors, base, exponent)
        return self._build_product(times(total, coefficient), factors)

    def _total(self, node: Expr, operands: list[Expr]) -> Expr:
        """Scalars in front of a sum."""
        assert node.op is not None
        (x,) = operands
        if x.shape == node.shape:
            return x
        coefficient, factors = self.as_product(x)
        core = self._build_product(ONE, {base: e for base, e in factors.items() if base.shape != ()})
        if not core.shape:
            # a repeated number, as often as it is summed
            count = Fraction(math.prod(x.shape), max(1, math.prod(node.shape)))
            return self._build_product(times(coefficient, count), factors)
        if core.shape != x.shape:
            return node.graph.apply(node.op, operands, node.static)
        inner = {base: e for base, e in factors.items() if base.shape == ()}
        lead = x.ndim - node.ndim
        if node.op is sum_to and (not node.shape or x.shape[lead:] == node.shape):
            axis = None if not node.shape else tuple(range(lead)) if lead > 1 else 0
            total = find("sum")(core, axis=axis, keepdims=False)
        else:
            total = node.graph.apply(node.op, (core,), node.static)
        _merge(inner, total, ONE)
        return self._build_product(coefficient, inner)

    def _power(self, node: Expr, operands: list[Expr]) -> Expr:
        base, exponent = operands
        value = _number_of(exponent)
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
                return self._plain(parts)
            total = times(total, raised(coefficient, power))
            for base, exponent in inner.items():
                _merge(factors, base, times(exponent, power))
        return self._build_product(total, factors)

    def _into_branch(self, coefficient: Coefficient, factors: Factors) -> Expr | None:
        """c*where(b, x, 0) as where(b, c*x, 0): so that nothing is computed where it does not count."""
        for base, exponent in factors.items():
            if base.op is not where or exponent != 1 or (coefficient == 1 and len(factors) == 1):
                continue
            condition, x, y = base.operands
            if not _is_zero(x) and not _is_zero(y):
                continue
            rest = {other: power for other, power in factors.items() if other is not base}
            branches = [_chosen(self._inside(coefficient, rest, branch), condition, place) for place, branch in ((1, x), (2, y))]
            return self.graph.apply(where, (condition, *branches))
        return None

    def _inside(self, coefficient: Coefficient, factors: Factors, branch: Expr | None) -> Expr:
        assert branch is not None
        if _is_zero(branch):
            return branch
        scale, inner = self.as_product(branch)
        merged = dict(factors)
        for base, exponent in inner.items():
            _merge(merged, base, exponent)
        return self._build_product(times(coefficient, scale), merged)

    def _plain(self, parts: list[tuple[Expr, Fraction]]) -> Expr:
        (result, power), *rest = parts
        result = result if power == 1 else result ** int(power)
        for part, exponent in rest:
            result = result * part if exponent > 0 else result / part
        return result

    def _build_product(self, coefficient: Coefficient, factors: Factors) -> Expr:
        if coefficient == 0 or not factors:
            return self._number(coefficient)
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
        result: Expr | None = None
        if not above or top not in (1, -1):
            result = self._number(top)
        elif top == -1:
            first = above.pop(0)
            result = -first
        for factor in above:
            result = factor if result is None else result * factor
        assert result is not None
        if below:
            divisor = below[0]
            for factor in below[1:]:
                divisor = divisor * factor
            result = result / divisor
        if coefficient != 1 or len(factors) > 1 or next(iter(factors.values())) != 1:
            self.products[result] = (coefficient, factors)
        return result


def _stripped(node: Expr, operands: list[Expr | None]) -> list[Expr | None]:
    """Operands without the reshaping that broadcasting does anyway."""
    plain = [None if o is None else _unbroadcast(o) for o in operands]
    full = any(o is not None and o.shape == node.shape for o in plain)
    return plain if full else operands


def _given(node: Expr | None) -> Expr:
    assert node is not None
    return node


def _chosen(node: Expr, condition: Expr | None, place: int) -> Expr:
    """A branch under the same condition once more: the condition is decided there."""
    return _given(node.operands[place]) if node.op is where and node.operands[0] is condition else node


def _is_zero(node: Expr | None) -> bool:
    return node is not None and node.is_constant and not node.shape and node.payload == 0


def _to_the(base: Expr, exponent: Coefficient) -> Expr:
    if exponent == 1:
        return base
    whole = isinstance(exponent, Fraction) and exponent.denominator == 1
    return base.graph.apply(exponential.pow_, (base, int(exponent) if whole else float(exponent)))


def _inverses(factors: Factors) -> Factors:
    """adjugate(X).T/det(X) is inv(X).T."""
    for base, exponent in factors.items():
        source = base.operands[0] if base.op is transpose else None
        if exponent != 1 or source is None or source.op is None or source.op.name != "adjugate":
            continue
        for other, power in factors.items():
            if other.op is not None and other.op.name == "det" and other.operands[0] is source.operands[0] and power <= -1:
                rest = {b: e for b, e in factors.items() if b not in (base, other)}
                if power != -1:
                    rest[other] = power + 1
                inverse = transpose(find("inv")(source.operands[0]), axes=None)
                return {**rest, inverse: plus(rest.get(inverse, Fraction(0)), ONE)}
    return factors


def _is_identity(node: Expr) -> bool:
    value = node.payload
    return (
        isinstance(value, np.ndarray)
        and value.ndim == 2
        and value.shape[0] == value.shape[1]
        and bool((value == np.eye(len(value))).all())
    )


def _unbroadcast(node: Expr) -> Expr:
    """What a node repeats, where arithmetic would repeat it anyway."""
    while node.op is broadcast_to or (node.op is not None and node.op.name == "reshape" and node.operand.shape == ()):
        (inner,) = node.operands
        assert inner is not None
        node = inner
    return node


def simplify(roots: list[Expr], graph: Graph) -> list[Expr]:
    """Simplified nodes that equal the roots, in the same graph."""
    simplifier = Simplifier(graph)
    return [simplifier.simplify(root) for root in roots]
