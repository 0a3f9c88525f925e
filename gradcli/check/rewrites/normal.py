"""The normal form of rewriting: a sum as multiples of nodes, a product as a number and powers of nodes; and nodes tidied by it.

Floats are binary numbers, so coefficients are exact. What is built equals what it is built of by arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from gradcli.formulas.simplify import quotient_of
from gradcli.graph.interpret import Rebuilding
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.constants import Constant, E
from gradcli.ops.elementwise import exponential
from gradcli.ops.spec import Op

# the coefficients or exponents of operands
_SUMS = {"sum": (1, 1), "difference": (1, -1)}
_PRODUCTS = {"product": (1, 1), "chain": (1, 1), "quotient": (1, -1), "square": (2,), "reciprocal": (-1,), "negation": (1,)}
_MOST = 40  # parts that are looked at
_HIGHEST = 64
_WHOLE = 2**53


class Inexact(Exception):
    """A number that is no float, nor a simple quotient of whole numbers; or a root of a node."""


NO_NUMBER = (Inexact, ZeroDivisionError, OverflowError)


def role(node: Expr) -> str:
    return node.op.rewriting.algebra if node.op is not None else ""


def kind_of(node: Expr) -> str:
    """Return "sum" or "product" for what has a normal form of its own, else nothing."""
    kind = role(node)
    return "sum" if kind in _SUMS else "product" if kind in _PRODUCTS or (kind == "power" and _whole_exponent(node)) else ""


def number(node: Expr | None) -> Fraction | None:
    """The number that a constant is, exactly."""
    if node is None or not node.is_constant or node.shape or isinstance(node.payload, (Constant, bool)):
        return None
    payload = node.payload
    finite = isinstance(payload, int) or (isinstance(payload, float) and payload - payload == 0)
    return Fraction(payload) if finite else None


def _whole_exponent(node: Expr) -> int:
    """The whole exponent of a power; 0 where it has none."""
    exponent = number(node.operands[1])
    return int(exponent) if exponent is not None and exponent.denominator == 1 and abs(exponent) <= _HIGHEST else 0


def _root_degree(node: Expr) -> int:
    """2 of a square root, 3 of a cube root, 0 of anything else."""
    power = node.op.accuracy.power if node.op is not None and len(node.operands) == 1 else None
    return round(1 / power) if power is not None and 0 < power < 1 else 0


def _alike(node: Expr) -> bool:
    """Whether operands are numbers, or have the shape of the result."""
    return all(o is None or not o.shape or o.shape == node.shape for o in node.operands)


class Normal:
    """A sum or a product.

    kind    "sum" or "product"
    parts   nodes with their coefficients or exponents, in their order; in a sum the number is a multiple of 1
    number  what a product is multiplied by
    joined  whether parts stood apart that cancel, or are one term
    """

    def __init__(self, graph: Graph, kind: str, parts: Iterable[tuple[Expr, Any]] = (), number: Fraction = Fraction(1)) -> None:
        self.graph, self.kind, self.number, self.joined = graph, kind, number, False
        self.parts: dict[Expr, Fraction] = {}
        for part, weight in parts:
            self.put(part, Fraction(weight))

    @classmethod
    def of(cls, node: Expr, kind: str, graph: Graph | None = None) -> Normal:
        """A node as a sum or a product, which may be one of a single part."""
        found = cls(node.graph if graph is None else graph, kind)
        found.put(node, Fraction(1))
        return found

    def put(self, node: Expr, weight: Fraction) -> None:
        """Add a multiple of a node, or multiply by its power."""
        stack: list[tuple[Expr | None, Fraction]] = [(node, weight)]
        while stack:
            part, weight = stack.pop()
            assert part is not None
            inside = kind_of(part) == self.kind or (role(part) == "negation" and self.kind == "sum")
            if number(part) is None and inside and _alike(part) and len(stack) + len(self.parts) < _MOST:
                stack += self._opened(part, weight)
            elif self.kind == "sum":
                self._put_term(part, weight)
            elif (value := number(part)) is not None and (value or weight > 0):
                self.number *= Fraction(value) ** int(weight)
            else:
                stack += self._put_factor(part, weight)

    def _opened(self, part: Expr, weight: Fraction) -> list[tuple[Expr | None, Fraction]]:
        """The operands of a sum or product, the first one last."""
        kind = role(part)
        if kind == "negation" and self.kind == "sum":
            weight = -weight
        elif kind == "negation":
            self.number *= Fraction(-1) ** int(weight)
        shares = (_whole_exponent(part),) if kind == "power" else {**_SUMS, **_PRODUCTS}[kind]
        return [(operand, weight * share) for operand, share in zip(part.operands, shares, strict=False)][::-1]

    def _put_term(self, part: Expr, weight: Fraction) -> None:
        factors = Normal.of(part, "product", self.graph)
        if number(part) is not None:
            part, weight = self.graph.constant(1), weight * factors.number
        elif factors.number != 1:
            weight, factors.number = weight * factors.number, Fraction(1)
            part = factors.build()
        self.joined |= part in self.parts
        self._set(part, self.parts.get(part, Fraction(0)) + weight)

    def _put_factor(self, base: Expr, exponent: Fraction) -> list[tuple[Expr | None, Fraction]]:
        """Multiply by a power; squares of roots are what is under them, which is given back."""
        before = self.parts.get(base, Fraction(0))
        total, degree = before + exponent, _root_degree(base)
        self.joined |= before * exponent < 0
        whole = int(total / degree) if degree else 0
        self._set(base, total - whole * degree)
        self.joined |= whole != 0
        return [(base.operand, Fraction(whole))] if whole else []

    def _set(self, part: Expr, weight: Fraction) -> None:
        self.parts[part] = weight
        if not weight:
            del self.parts[part]

    def without(self, *parts: Expr) -> Normal:
        """The same without some of the parts."""
        return Normal(self.graph, self.kind, [(p, w) for p, w in self.parts.items() if p not in parts], self.number)

    def raised(self, weight: Fraction) -> Normal:
        """A multiple of a sum, a power of a product. Raises Inexact where that is a root."""
        weights = [(part, w * weight) for part, w in self.parts.items()]
        if self.kind == "sum":
            return Normal(self.graph, "sum", weights)
        if any(w.denominator != 1 for _, w in weights) or (weight.denominator != 1 and self.number != 1):
            raise Inexact
        return Normal(self.graph, "product", weights, self.number ** int(weight))

    def build(self) -> Expr:
        """The node. Raises Inexact where a number is no float."""
        if not self.number or not self.parts:
            return constant(self.graph, self.number if self.kind == "product" else Fraction(0))
        return self._sum() if self.kind == "sum" else self._product()

    def _sum(self) -> Expr:
        terms = list(self.parts.items())
        first = next((i for i, (_, weight) in enumerate(terms) if weight > 0), 0)
        (part, weight), *rest = [terms[first], *terms[:first], *terms[first + 1 :]]
        result = self._term(part, weight)
        for part, weight in rest:
            size = self._term(part, abs(weight))
            result = result + size if weight > 0 else result - size
        return result

    def _term(self, part: Expr, weight: Fraction) -> Expr:
        if number(part) == 1:
            return constant(self.graph, weight)
        if weight == 1:
            return part
        term = Normal.of(part, "product", self.graph)
        term.number = weight
        return term.build()

    def _product(self) -> Expr:
        above, below = (
            [base if e == sign else base ** int(sign * e) for base, e in self.parts.items() if e * sign > 0] for sign in (1, -1)
        )
        top, bottom = abs(self.number), Fraction(1)
        if (top.numerator == 1 and above) or not _is_float(top):
            top, bottom = Fraction(top.numerator), Fraction(top.denominator)
        if bottom != 1:
            below.insert(0, constant(self.graph, bottom))
        result = quotient_of(top, partial(constant, self.graph), above, below)
        return -result if self.number < 0 else result


def _is_float(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def constant(graph: Graph, value: Fraction) -> Expr:
    """A number as a node: whole, a float, or a quotient of two of these. Raises Inexact where it is none."""
    if value.denominator == 1 and abs(value) < _WHOLE:
        return graph.constant(int(value))
    if _is_float(value):
        return graph.constant(float(value))
    if max(abs(value.numerator), value.denominator) >= _WHOLE:
        raise Inexact
    quotient: Expr = graph.constant(value.numerator) / graph.constant(value.denominator)
    return quotient


class Standard(Rebuilding):
    """The same expressions with like terms and like factors put together, signs drawn out, and powers written in one way."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        plain = self.graph.apply(op, operands, node.static)
        try:
            found = self._simpler(plain) if _alike(plain) else plain
        except NO_NUMBER:
            return plain
        return found if found.shape == node.shape and found.kind == node.kind else plain

    def constant(self, node: Expr) -> Expr:
        """2.0 as 2."""
        value = number(node)
        whole = value is not None and value.denominator == 1 and str(node.payload) != "-0.0"
        return constant(self.graph, value) if whole and value is not None else super().constant(node)

    def alias(self, node: Expr, x: Expr) -> Expr:
        return x

    def _simpler(self, node: Expr) -> Expr:
        kind = role(node)
        if kind == "power":
            base, exponent = node.operand, node.operands[1]
            if base.is_constant and base.payload is E:
                return self.graph.apply(exponential.exp, (exponent,))
            if number(exponent) == Fraction(1, 2):
                return self.graph.apply(exponential.sqrt, (base,))
        if not kind_of(node):
            return node
        if kind == "negation":
            x = node.operand
            opposite = role(x) in ("sum", "difference", "negation") or number(x) is not None
            return Normal.of(node, "sum").build() if opposite else node
        found = Normal.of(node, kind_of(node))
        alone = len(found.parts) == 1 and found.kind == "product"
        if found.joined or not found.parts or not found.number or alone:
            return found.build()
        return self._signed(node) if len(node.operands) == 2 and kind != "power" else node

    def _signed(self, node: Expr) -> Expr:
        """A sum or product of two whose signs stand before it."""
        kind, x, y = role(node), node.operand, node.operands[1]
        assert y is not None
        a, b = opposite(x), opposite(y)
        result = node
        if kind_of(node) == "sum":
            if b is not None:
                result = x - b if kind == "sum" else x + b
            elif a is not None and kind == "sum":
                result = y - a
            return result
        sign = (a is None) == (b is None)
        x, y = x if a is None else a, y if b is None else b
        if number(y) == 1:
            result = x
        elif number(x) == 1 and kind != "quotient":
            result = y
        else:
            result = x / y if kind == "quotient" else x * y
        return result if sign else -result


def opposite(node: Expr) -> Expr | None:
    """The node of which another is the opposite; None where no minus stands before it."""
    value = number(node)
    if value is not None and value < 0:
        return constant(node.graph, -value)
    return node.operand if role(node) == "negation" else None
