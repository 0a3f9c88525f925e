"""Expressions as rewriting reads them: like terms and like factors put together, signs drawn out, powers written in one way.

What is built here is equal to what it is built of for reasons of arithmetic alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gradcli.check.rewrites.parts import (
    PRODUCTS,
    WHOLE,
    Inexact,
    alike,
    cancels,
    constant,
    factors,
    is_sum,
    merged_factors,
    merged_terms,
    number,
    product,
    role,
    root_of,
    terms,
    total,
)
from gradcli.graph.interpret import Rebuilding
from gradcli.graph.nodes import Expr
from gradcli.ops.constants import E
from gradcli.ops.elementwise import exponential
from gradcli.ops.spec import Op


class Standard(Rebuilding):
    """The same expressions with like terms and like factors put together, signs drawn out, and powers written in one way."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        plain = self.graph.apply(op, operands, node.static)
        try:
            found = self._simpler(plain)
        except (Inexact, ZeroDivisionError, OverflowError):
            return plain
        return found if found.shape == node.shape and found.kind == node.kind else plain

    def constant(self, node: Expr) -> Expr:
        """2.0 as 2."""
        value = node.payload
        if type(value) is float and value == value // 1 and abs(value) < WHOLE and str(value) != "-0.0":
            return self.graph.constant(int(value))
        return super().constant(node)

    def alias(self, node: Expr, x: Expr) -> Expr:
        return x

    def _simpler(self, node: Expr) -> Expr:
        kind = role(node)
        if not alike(node):
            return node
        if kind in ("sum", "difference", "negation"):
            return self._sum(node)
        if kind == "power":
            return self._power(node)
        return self._product(node) if kind in PRODUCTS else node

    def _sum(self, node: Expr) -> Expr:
        parts = terms(node)
        merged = merged_terms(parts)
        if len(merged) < len(parts):
            return total(self.graph, merged)
        kind, x, y = role(node), node.operand, node.operands[-1]
        assert y is not None
        if kind == "negation":
            return total(self.graph, [(-c, core) for c, core in terms(x)]) if is_sum(x) or number(x) is not None else node
        sign, other = (1, y) if kind == "sum" else (-1, y)
        if role(other) == "negation":
            sign, other = -sign, other.operand
        elif (value := number(other)) is not None and value < 0:
            sign, other = -sign, constant(self.graph, -value)
        if role(x) == "negation" and sign > 0:
            x, other, sign = other, x.operand, -1
        result: Expr = x + other if sign > 0 else x - other
        return result

    def _product(self, node: Expr) -> Expr:
        coefficient, parts = factors(node)
        if not coefficient:
            return self.graph.constant(0)
        merged = merged_factors(parts)
        numbers = sum(number(o) is not None for o in node.operands)
        if cancels(parts) or not merged or (coefficient != 1 and self._has_two(node)):
            return product(self.graph, coefficient, merged)
        if role(node) in ("product", "chain", "quotient"):
            x, y = node.operand, node.operands[1]
            assert y is not None
            if numbers and number(y) == 1:
                return x
            if number(x) == 1 and role(node) != "quotient":
                return y
            return self._signed(role(node), x, y)
        return product(self.graph, coefficient, merged)

    def _has_two(self, node: Expr) -> bool:
        """Whether a product has numbers in both of its operands."""
        return all(o is not None and abs(factors(o)[0]) != 1 for o in node.operands) and len(node.operands) > 1

    def _signed(self, kind: str, x: Expr, y: Expr) -> Expr:
        """A product or quotient whose sign stands before it."""
        sign = 1
        inner = []
        for operand in (x, y):
            value = number(operand)
            if role(operand) == "negation":
                sign = -sign
                inner.append(operand.operand)
            elif value is not None and value < 0:
                sign = -sign
                inner.append(constant(self.graph, -value))
            else:
                inner.append(operand)
        result: Expr = inner[0] / inner[1] if kind == "quotient" else inner[0] * inner[1]
        if sign < 0:
            result = -(inner[1] if number(inner[0]) == 1 and kind != "quotient" else result)
        return result

    def _power(self, node: Expr) -> Expr:
        x, y = node.operand, node.operands[1]
        assert y is not None
        if x.is_constant and x.payload is E:
            found: Expr = exponential.exp(y)
            return found
        exponent = number(y)
        if exponent is None:
            return node
        if exponent == Fraction(1, 2):
            root: Expr = exponential.sqrt(x)
            return root
        if exponent == 0 or exponent.denominator != 1 or abs(exponent) > 64:
            return node
        coefficient, parts = factors(node)
        simple = exponent == 1 or exponent < 0 or root_of(x) or role(x) in ("negation", "power")
        return product(self.graph, coefficient, merged_factors(parts)) if simple and coefficient else node
