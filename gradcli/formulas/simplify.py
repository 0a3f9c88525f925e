"""Simplifying a graph for people to read: like terms, like factors, constants, and shapes that broadcasting implies.

Every sum is collected into terms with coefficients and every product into factors with exponents, from the
leaves up; what is built from them has the shape of what it replaces. Results may differ from the original in
rounding, and at points where a cancelled factor is zero; whoever prints a formula checks it against the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.formulas.coefficients import ONE, Coefficient, plus, raised, times
from gradcli.formulas.collect import Collector, Factors, Terms, given, is_zero, merge, number_of, unbroadcast
from gradcli.graph.interpret import Transcription, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.arrays.shapes import broadcast_to, stack, sum_to
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.elementwise.logic import where
from gradcli.ops.linalg import products
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op


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
        collect = self._collect.get(op.rewriting.algebra)
        if collect is not None:
            result = collect(node, [o for o in operands if o is not None])
        else:
            result = self._simpler(node, _unbroadcast(node, operands) if op.elementwise else operands)
        return result if result.shape == node.shape else broadcast_to(result, shape=node.shape)

    def _simpler(self, node: Expr, operands: list[Expr | None]) -> Expr:
        """The node on simplified operands, or what its operation's record says is simpler."""
        assert node.op is not None
        rule = node.op.rewriting.simpler
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
        lead = x.ndim - node.ndim
        if node.op is sum_to and (not node.shape or x.shape[lead:] == node.shape):
            axis = None if not node.shape else tuple(range(lead)) if lead > 1 else 0
            total = sum_(core, axis=axis, keepdims=False)
        else:
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
