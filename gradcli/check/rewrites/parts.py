"""Sums as terms with coefficients and products as factors with exponents, taken apart and put together: floats are binary numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.constants import Constant

Term = tuple[Fraction, Expr | None]  # a coefficient, and what it is of; None of a number
Factor = tuple[Expr, int]

SUMS = ("sum", "difference", "negation")
PRODUCTS = ("product", "quotient", "negation", "square", "reciprocal", "chain")
_MOST = 40  # terms or factors that are looked at
WHOLE = 2**53


def role(node: Expr) -> str:
    return node.op.rewriting.algebra if node.op is not None else ""


def is_sum(node: Expr) -> bool:
    return role(node) in SUMS


def is_product(node: Expr) -> bool:
    return role(node) in PRODUCTS or (role(node) == "power" and whole_exponent(node) is not None)


def number(node: Expr | None) -> Fraction | None:
    """The number that a constant is, exactly."""
    if node is None or not node.is_constant or node.shape or isinstance(node.payload, (Constant, bool)):
        return None
    payload = node.payload
    return Fraction(payload) if isinstance(payload, int) or (isinstance(payload, float) and payload - payload == 0) else None


def whole_exponent(node: Expr) -> int | None:
    exponent = number(node.operands[1])
    return int(exponent) if exponent is not None and exponent.denominator == 1 and 0 < abs(exponent) <= 64 else None


def terms(node: Expr) -> list[Term]:
    """The terms of a sum, in their order; anything else is its own only term."""
    found: list[Term] = []
    stack: list[tuple[int, Expr]] = [(1, node)]
    while stack:
        sign, part = stack.pop()
        kind = role(part)
        if kind in SUMS and len(stack) + len(found) < _MOST and alike(part):
            inner = [o for o in part.operands if o is not None]
            signs = (sign,) if kind == "sum" else (-sign,)
            if kind == "negation":
                stack.append((-sign, inner[0]))
            else:
                stack += [(signs[0], inner[1]), (sign, inner[0])]
            continue
        coefficient, core = _split(part)
        found.append((sign * coefficient, core))
    return found


def alike(node: Expr) -> bool:
    """Whether operands are numbers, or have the shape of the result."""
    return all(o is None or not o.shape or o.shape == node.shape for o in node.operands)


def _split(node: Expr) -> Term:
    """A coefficient and what is left: of -2*x/3, -2/3 and x."""
    coefficient = Fraction(1)
    while (value := number(node)) is None:
        kind, inner = role(node), node.operands
        if kind == "negation":
            coefficient, node = -coefficient, node.operand
        elif kind == "product" and (value := number(inner[0])) is not None and inner[1] is not None:
            coefficient, node = coefficient * value, inner[1]
        elif kind == "product" and (value := number(inner[1])) is not None:
            coefficient, node = coefficient * value, node.operand
        elif kind == "quotient" and (value := number(inner[1])):
            coefficient, node = coefficient / value, node.operand
        else:
            return coefficient, node
    return coefficient * value, None


def factors(node: Expr) -> tuple[Fraction, list[Factor]]:
    """The number and the powers that a product is made of, in their order; anything else is its own only factor."""
    coefficient = Fraction(1)
    found: list[Factor] = []
    stack: list[Factor] = [(node, 1)]
    while stack:
        part, exponent = stack.pop()
        kind, value = role(part), number(part)
        if value is not None and (value or exponent > 0) and abs(exponent) <= 64:
            coefficient *= value**exponent
        elif kind in PRODUCTS and len(stack) + len(found) < _MOST and alike(part):
            if kind == "negation":
                coefficient *= Fraction(-1) ** exponent
            x, y = part.operand, part.operands[-1]
            assert y is not None
            if kind in ("product", "quotient", "chain"):
                stack.append((y, -exponent if kind == "quotient" else exponent))
            stack.append((x, {"square": 2, "reciprocal": -1}.get(kind, 1) * exponent))
        elif kind == "power" and (raised := whole_exponent(part)) is not None and abs(raised * exponent) <= 64:
            stack.append((part.operand, raised * exponent))
        else:
            found.append((part, exponent))
    return coefficient, found


def root_of(node: Expr) -> int:
    """2 of a square root, 3 of a cube root, 0 of anything else."""
    power = node.op.accuracy.power if node.op is not None and len(node.operands) == 1 else None
    return round(1 / power) if power is not None and 0 < power < 1 else 0


def merged_terms(parts: Iterable[Term]) -> list[Term]:
    """Like terms as one, none of them zero."""
    table: dict[Expr | None, Fraction] = {}
    for coefficient, core in parts:
        table[core] = table.get(core, Fraction(0)) + coefficient
    return [(coefficient, core) for core, coefficient in table.items() if coefficient]


def merged_factors(parts: Iterable[Factor]) -> list[Factor]:
    """Like factors as one, squares of roots as what is under them."""
    table: dict[Expr, int] = {}
    for base, exponent in parts:
        table[base] = table.get(base, 0) + exponent
    for base, exponent in list(table.items()):
        degree = root_of(base)
        if degree and abs(exponent) >= degree:
            sign, (whole, left) = (1 if exponent > 0 else -1), divmod(abs(exponent), degree)
            table[base] = sign * left
            table[base.operand] = table.get(base.operand, 0) + sign * whole
    return [(base, exponent) for base, exponent in table.items() if exponent]


def constant(graph: Graph, value: Fraction) -> Expr:
    """A number as a node: whole, a float, or a quotient of two of these. Raises Inexact where it is none."""
    if value.denominator == 1 and abs(value) < WHOLE:
        return graph.constant(int(value))
    try:
        if Fraction(float(value)) == value:
            return graph.constant(float(value))
    except OverflowError:
        raise Inexact from None
    if max(abs(value.numerator), value.denominator) >= WHOLE:
        raise Inexact
    quotient: Expr = graph.constant(value.numerator) / graph.constant(value.denominator)
    return quotient


def cancels(parts: Sequence[Factor]) -> bool:
    """Whether something stands on both sides of the line, or a root is squared, or a factor as it is.

    Powers of one base on one side are left as they are: put together, they might overflow.
    """
    signs: dict[Expr, int] = {}
    for base, exponent in parts:
        if signs.get(base, exponent) * exponent < 0 or (base in signs and root_of(base)):
            return True
        signs[base] = exponent
    return len(parts) == 2 and parts[0] == parts[1] and parts[0][1] > 0


class Inexact(Exception):
    """A number that is no float, nor a simple quotient of whole numbers."""


def total(graph: Graph, parts: Sequence[Term]) -> Expr:
    """The sum of some terms, the first positive one first."""
    if not parts:
        return graph.constant(0)
    first = next((i for i, (coefficient, _) in enumerate(parts) if coefficient > 0), 0)
    ordered = [parts[first], *parts[:first], *parts[first + 1 :]]
    result = scaled(graph, *ordered[0])
    for coefficient, core in ordered[1:]:
        size = scaled(graph, abs(coefficient), core)
        result = result + size if coefficient > 0 else result - size
    return result


def scaled(graph: Graph, coefficient: Fraction, core: Expr | None) -> Expr:
    if core is None:
        return constant(graph, coefficient)
    return product(graph, coefficient, [(core, 1)])


def product(graph: Graph, coefficient: Fraction, parts: Sequence[Factor]) -> Expr:
    """A number times powers: what is above the line, over what is below."""
    above = [_raised(graph, base, exponent) for base, exponent in parts if exponent > 0]
    below = [_raised(graph, base, -exponent) for base, exponent in parts if exponent < 0]
    size = abs(coefficient)
    simple = _is_float(size)
    if not simple and max(size.numerator, size.denominator) >= WHOLE:
        raise Inexact
    p, q = (size, Fraction(1)) if simple else (Fraction(size.numerator), Fraction(size.denominator))
    if simple and size.numerator == 1 and 1 < size.denominator < WHOLE and above:
        p, q = q**0, size.denominator * Fraction(1)
    if p != 1 or not above:
        above.insert(0, constant(graph, p))
    if q != 1:
        below.insert(0, constant(graph, q))
    result = multiplied(above)
    if below:
        result = result / multiplied(below)
    return -result if coefficient < 0 else result


def _is_float(value: Fraction) -> bool:
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def multiplied(nodes: Sequence[Expr]) -> Expr:
    """The product of nodes, as they come."""
    result = nodes[0]
    for node in nodes[1:]:
        result = result * node
    return result


def _raised(graph: Graph, base: Expr, exponent: int) -> Expr:
    if exponent == 1:
        return base
    power: Expr = base ** graph.constant(exponent)
    return power
