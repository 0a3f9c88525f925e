"""A function of one quantity near zero, or far from it, as the first terms of its series: exact rational coefficients, as many as it takes.

What is left out is not estimated here: the polynomial is held against the function in balls, like any other way to write it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from gradcli.check.rewrites.parts import Factor, Inexact, Term, number, product, role, total
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.spec import Op
from gradcli.reference.contexts import has_flint

_TERMS = 48  # powers that are known of a series
_MOST = 14  # terms that are written
_NEAR, _FAR = 0.5, 2.0  # sizes up to which a quantity is near zero, and from which on it is far
_SMALL = 2.0**-62  # of the first term that counts, what may be left out
_MOST_NODES = 40


def expanded(graph: Graph, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[Expr]:
    """A node as a polynomial in the quantity that it is a function of, or in its inverse."""
    if node.shape or node.op is None or not has_flint():
        return
    import flint

    for quantity in _quantities(node):
        size = abs(float(value_of(quantity)))
        if not (0 < size <= _NEAR or _FAR <= size < math.inf):
            continue
        before, flint.ctx.cap = flint.ctx.cap, _TERMS
        try:
            domain = Laurent(far=size >= _FAR)
            found = interpret(_between(node, quantity), domain, {quantity: domain.variable()})[node]
            yield _polynomial(graph, found, quantity, size if size <= _NEAR else 1 / size, far=size >= _FAR)
        except _WITHOUT_SERIES:
            continue
        finally:
            flint.ctx.cap = before


def _quantities(node: Expr) -> list[Expr]:
    """What a node is a function of, if that is one quantity: its only leaf, or a part through which everything goes."""
    order = reachable([node])
    leaves = [part for part in order if part.is_leaf]
    if len(order) > _MOST_NODES:
        return []
    if any(part.shape for part in order):
        return []
    if len(leaves) == 1:
        return leaves
    return [part for part in order[:-1] if part.op is not None and not any(n.is_leaf for n in _between(node, part))][:2]


def _between(node: Expr, quantity: Expr) -> list[Expr]:
    """What a node is made of, up to a quantity."""
    seen, stack = {node}, [node]
    while stack:
        part = stack.pop()
        for operand in part.operands if part is not quantity else ():
            if operand is not None and operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return sorted(seen, key=lambda n: n.index)


class _NoSeries(Exception):
    """Something that has no series with rational coefficients here."""


# FLINT raises NotImplementedError for a function whose series is not rational there, and the others for what has none
_WITHOUT_SERIES = (_NoSeries, Inexact, ValueError, ZeroDivisionError, OverflowError, TypeError, NotImplementedError)


class _Series:
    """A power of the quantity times a power series that begins with a number other than zero; or nothing at all."""

    __slots__ = ("first", "series")

    def __init__(self, first: int, series: Any) -> None:
        self.first, self.series = first, series

    @property
    def whole(self) -> Any:
        """The power series, where there are no negative powers."""
        if self.first < 0:
            raise _NoSeries
        return _times_power(self.series, self.first)


class Laurent(Domain[_Series]):
    """Nodes as series in one quantity, or in its inverse."""

    def __init__(self, *, far: bool) -> None:
        import flint

        self.far, self.make = far, flint.fmpq_series

    def variable(self) -> _Series:
        return _Series(-1 if self.far else 1, self.make([1]))

    def leaf(self, node: Expr) -> _Series:
        raise _NoSeries

    def constant(self, node: Expr) -> _Series:
        import flint

        value = number(node)
        if value is None:
            raise _NoSeries
        return _normal(0, self.make([flint.fmpq(value.numerator, value.denominator)]))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> _Series:
        found = _ARITHMETIC.get(op.rewriting.algebra)
        if found is not None:
            return found(*operands) if role(node) != "power" else _power(operands[0], number(node.operands[1]))
        if len(operands) != 1 or op.static:
            raise _NoSeries
        inner = operands[0].whole
        own = getattr(self, f"_{op.name}", None)
        method = getattr(type(inner), op.name, None)
        if own is not None:
            return _normal(0, own(inner))
        if method is None:
            raise _NoSeries
        return _normal(0, method(inner))

    def _expm1(self, x: Any) -> Any:
        return x.exp() - 1

    def _log1p(self, x: Any) -> Any:
        return (1 + x).log()


def _normal(first: int, series: Any) -> _Series:
    coefficients = series.coeffs()
    zeros = next((i for i, c in enumerate(coefficients) if c != 0), None)
    if zeros is None:
        return _Series(first, series)
    return _Series(first + zeros, type(series)(coefficients[zeros:], prec=series.prec - zeros)) if zeros else _Series(first, series)


def _times_power(series: Any, power: int) -> Any:
    return type(series)([0] * power + series.coeffs(), prec=min(_TERMS, series.prec + power)) if power else series


def _sum(x: _Series, y: _Series) -> _Series:
    first = min(x.first, y.first)
    return _normal(first, _times_power(x.series, x.first - first) + _times_power(y.series, y.first - first))


def _negative(x: _Series) -> _Series:
    return _Series(x.first, -x.series)


def _product(x: _Series, y: _Series) -> _Series:
    return _normal(x.first + y.first, x.series * y.series)


def _inverse(x: _Series) -> _Series:
    if not x.series.coeffs():
        raise _NoSeries
    return _Series(-x.first, 1 / x.series)


def _power(x: _Series, exponent: Fraction | None) -> _Series:
    if exponent is None or exponent.denominator != 1 or not 0 < abs(exponent) <= 16:
        raise _NoSeries
    base = x if exponent > 0 else _inverse(x)
    result = base
    for _ in range(abs(int(exponent)) - 1):
        result = _product(result, base)
    return result


_ARITHMETIC: dict[str, Callable[..., _Series]] = {
    "sum": _sum,
    "difference": lambda x, y: _sum(x, _negative(y)),
    "negation": _negative,
    "product": _product,
    "chain": _product,
    "quotient": lambda x, y: _product(x, _inverse(y)),
    "reciprocal": _inverse,
    "square": lambda x: _product(x, x),
    "power": lambda x, y: x,
}


def _polynomial(graph: Graph, found: _Series, quantity: Expr, size: float, *, far: bool) -> Expr:
    """The terms that count, by Horner's rule."""
    coefficients = [Fraction(int(c.p), int(c.q)) for c in found.series.coeffs()]
    if not coefficients:
        raise _NoSeries
    kept = _counting(coefficients, found.first, size)
    if kept is None:
        raise _NoSeries
    step = 2 if all(not c for c in coefficients[1:kept:2]) else 1
    sign = -1 if far else 1
    used = coefficients[:kept:step]
    factor = [(quantity, sign * step)]
    terms: list[Term] = [(used[-1], None)]  # of the innermost sum so far
    for coefficient in reversed(used[:-1]):
        inner = _times(graph, terms, factor)
        terms = [(coefficient, None), inner] if coefficient else [inner]
    return total(graph, [_times(graph, terms, [(quantity, sign * found.first)] if found.first else [])])


def _times(graph: Graph, terms: Sequence[Term], powers: Sequence[Factor]) -> Term:
    """A sum times powers, as a term: a coefficient and what it is of."""
    if len(terms) == 1:
        (coefficient, core), parts = terms[0], list(powers)
        parts = [*([(core, 1)] if core is not None else []), *parts]
        return coefficient, product(graph, Fraction(1), parts) if parts else None
    return Fraction(1), product(graph, Fraction(1), [*powers, (total(graph, terms), 1)])


def _counting(coefficients: Sequence[Fraction], first: int, size: float) -> int | None:
    """How many of the coefficients count, in the value and in the slope; None if they are too many, or it is not known."""
    sizes = [abs(float(c)) * size**i for i, c in enumerate(coefficients)]
    slopes = [abs(first + i) * s for i, s in enumerate(sizes)]
    leading = next((s for s in slopes if s), 0.0)
    last = max((i for i, (s, t) in enumerate(zip(sizes, slopes, strict=True)) if s > _SMALL * sizes[0] or t > _SMALL * leading), default=0)
    if last + 1 >= _TERMS - abs(first) - 4 or sum(1 for c in coefficients[: last + 1] if c) > _MOST:
        return None
    return last + 1
