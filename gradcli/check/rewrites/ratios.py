"""Nodes as fractions over FLINT's rings: of polynomials, cancelled and in factors, and of power series, cut off where they may be.

Fractions are equal by algebra, for all values. A series is so near a point only: it is held against the function in balls, like any other
way to write it. Without FLINT there are neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from operator import is_
from typing import Any

from gradcli.check.rewrites.normal import NO_NUMBER, Inexact, Normal, kind_of, number, role
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.spec import Op
from gradcli.reference.contexts import has_flint

_MOST_NODES, _MOST_ATOMS, _MOST_TERMS, _HIGHEST = 60, 9, 40, 16
_POWERS = 48  # that are known of a series
_MOST = 14  # terms of one that are written
_NEAR = 0.5  # up to which size a quantity is near zero
_SMALL = 2.0**-62  # of the first term that counts, what may be left out

Pair = tuple[Any, Any]  # numerator and denominator


class _NoRatio(Exception):
    """Something that is no fraction of the ring's elements, or one that is too large."""


class _Ratios(Domain[Pair]):
    """Fractions of a ring's elements; `other` says what all is that is no arithmetic."""

    one: Any

    def leaf(self, node: Expr) -> Pair:
        return self.other(node, [])

    def constant(self, node: Expr) -> Pair:
        import flint

        value = number(node)
        if value is None:
            return self.other(node, [])
        return self.one * flint.fmpq(value.numerator, value.denominator), self.one

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Pair:
        kind = role(node)
        if not kind_of(node):
            return self.other(node, operands)
        (a, b), (c, d) = operands[0], operands[-1]
        if kind in ("power", "square", "reciprocal"):
            exponent = {"square": 2, "reciprocal": -1}.get(kind) or int(number(node.operands[1]) or 0)
            if abs(exponent) > _HIGHEST:
                raise _NoRatio
            found = (a**exponent, b**exponent) if exponent > 0 else (b**-exponent, a**-exponent)
        elif kind == "negation":
            found = -a, b
        elif kind in ("product", "chain"):
            found = a * c, b * d
        elif kind == "quotient":
            found = a * d, b * c
        else:
            found = (a * d + c * b if kind == "sum" else a * d - c * b), b * d
        return self.reduced(found)

    def other(self, node: Expr, operands: list[Pair]) -> Pair:
        raise _NoRatio

    def reduced(self, pair: Pair) -> Pair:
        return pair


class _Polynomials(_Ratios):
    """Fractions of polynomials whose variables are the parts that are no sum, product or whole power."""

    def __init__(self) -> None:
        import flint

        ring = flint.fmpq_mpoly_ctx.get([f"x{i}" for i in range(_MOST_ATOMS)], flint.Ordering.deglex)
        self.one, self.variables, self.atoms = ring.constant(1), ring.gens(), list[Expr]()

    def other(self, node: Expr, operands: list[Pair]) -> Pair:
        if len(self.atoms) == _MOST_ATOMS:
            raise _NoRatio
        self.atoms.append(node)
        return self.variables[len(self.atoms) - 1], self.one

    def reduced(self, pair: Pair) -> Pair:
        """Without common factors."""
        above, below = pair
        if not below:
            raise ZeroDivisionError
        if max(len(above), len(below)) > _MOST_TERMS or max(*above.degrees(), *below.degrees()) > _HIGHEST:
            raise _NoRatio
        if below == self.one:
            return pair
        common = above.gcd(below)
        return above // common, below // common

    def as_sum(self, graph: Graph, poly: Any) -> Normal:
        """A polynomial as a sum."""
        total = Normal(graph, "sum")
        for powers, coefficient in poly.to_dict().items():
            term = Normal(graph, "product")
            for atom, exponent in zip(self.atoms, powers, strict=False):
                if exponent:
                    term.put(atom, Fraction(int(exponent)))
            total.put(term.build(), _fraction(coefficient))
        return total

    def as_product(self, graph: Graph, poly: Any) -> Normal:
        """A polynomial as a product."""
        content, parts = poly.factor()
        found = Normal(graph, "product", number=_fraction(content))
        for part, exponent in sorted(parts, key=lambda pair: len(pair[0])):
            found.put(self.as_sum(graph, part).build(), Fraction(int(exponent)))
        return found


def as_fractions(graph: Graph, root: Expr) -> Iterator[Expr]:
    """A node over a common denominator, in factors and multiplied out."""
    if not has_flint() or not kind_of(root):
        return
    order = _down_to(root, lambda node: not kind_of(node))
    if len(order) > _MOST_NODES or any(node.shape not in ((), root.shape) for node in order):
        return
    ring = _Polynomials()
    try:
        known = {node: ring.constant(node) for node in order if not kind_of(node)}
        above, below = interpret(order, ring, known)[root]
        top, bottom = ring.as_product(graph, above), ring.as_product(graph, below).raised(Fraction(-1))
        total = ring.as_sum(graph, above)
        for numerators in ([top], [total], [Normal(graph, "sum", [pair]) for pair in total.parts.items()]):
            terms = Normal(graph, "sum")
            for numerator in numerators:
                quotient = Normal(graph, "product", bottom.parts.items(), bottom.number)
                quotient.put(numerator.build(), Fraction(1))
                terms.put(quotient.build(), Fraction(1))
            yield terms.build()
    except (_NoRatio, *NO_NUMBER):
        return


def _down_to(root: Expr, ends: Callable[[Expr], bool]) -> list[Expr]:
    """The nodes that a node is made of, but for what those are made of at which this ends."""
    seen, stack = {root}, [root]
    while stack:
        part = stack.pop()
        for operand in () if ends(part) else part.operands:
            if operand is not None and operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return sorted(seen, key=lambda node: node.index)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


# -- series ---------------------------------------------------------------------------------------------------

# FLINT raises NotImplementedError for a function whose series is not rational there, and the others for what has none
_WITHOUT_SERIES = (_NoRatio, Inexact, ValueError, ZeroDivisionError, OverflowError, TypeError, NotImplementedError)


class _Series(_Ratios):
    """Fractions of power series in one quantity."""

    def __init__(self) -> None:
        import flint

        self.one, self.variable = flint.fmpq_series([1]), flint.fmpq_series([0, 1])

    def other(self, node: Expr, operands: list[Pair]) -> Pair:
        if node.op is None or len(operands) != 1 or node.op.static:
            raise _NoRatio
        x = operands[0][0] / operands[0][1]
        name = node.op.name
        if name == "expm1":
            return x.exp() - 1, self.one
        if name == "log1p":
            return (1 + x).log(), self.one
        method = getattr(type(x), name, None)
        if method is None:
            raise _NoRatio
        return method(x), self.one


def expand(graph: Graph, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[Expr]:
    """A node as a polynomial in the quantity that it is a function of."""
    if node.op is None or not has_flint() or any(part.shape for part in reachable([node])):
        return
    import flint

    for quantity in _quantities(node):
        size = abs(float(value_of(quantity)))
        if not 0 < size <= _NEAR:
            continue
        before, flint.ctx.cap = flint.ctx.cap, _POWERS
        try:
            ring = _Series()
            order = _down_to(node, partial(is_, quantity))
            above, below = interpret(order, ring, {quantity: (ring.variable, ring.one)})[node]
            yield _polynomial(graph, above, below, quantity, size)
        except _WITHOUT_SERIES:
            continue
        finally:
            flint.ctx.cap = before


def _quantities(node: Expr) -> list[Expr]:
    """The quantity that a node is a function of, if that is one quantity: its only leaf, or a part through which everything goes."""
    order = reachable([node])
    leaves = [part for part in order if part.is_leaf]
    if len(leaves) == 1:
        return leaves
    parts = (part for part in order[:-1] if part.op is not None)
    return [part for part in parts if not any(n.is_leaf for n in _down_to(node, partial(is_, part)))][:2]


def _polynomial(graph: Graph, above: Any, below: Any, quantity: Expr, size: float) -> Expr:
    """The terms that count of a fraction of series, by Horner's rule."""
    (m, top), (n, bottom) = map(_without_zeros, (above, below))
    coefficients, first = [_fraction(c) for c in (top / bottom).coeffs()], m - n
    used = coefficients[: _terms_needed(coefficients, first, size)]
    step = 2 if not any(used[1::2]) else 1
    sums = Normal(graph, "sum")
    for coefficient in reversed(used[::step]):
        inner = sums
        sums = Normal(graph, "sum", [(graph.constant(1), coefficient)] if coefficient else [])
        _put_times(sums, inner, quantity, step)
    found = Normal(graph, "sum")
    _put_times(found, sums, quantity, first)
    return found.build()


def _put_times(into: Normal, inner: Normal, quantity: Expr, exponent: int) -> None:
    """Add a sum times a power."""
    if inner.parts:
        power = [(quantity, exponent)] if exponent else []
        term = Normal(into.graph, "product", power)
        term.put(inner.build(), Fraction(1))
        into.put(term.build(), Fraction(1))


def _without_zeros(series: Any) -> tuple[int, Any]:
    """The first power of a series, and the series from there on."""
    coefficients = series.coeffs()
    zeros = next((i for i, c in enumerate(coefficients) if c != 0), None)
    if zeros is None:
        raise _NoRatio
    return zeros, type(series)(coefficients[zeros:], prec=series.prec - zeros)


def _terms_needed(coefficients: list[Fraction], first: int, size: float) -> int:
    """How many of the coefficients count, in the value and in the slope. Raises _NoRatio if they are too many."""
    sizes = [abs(float(c)) * size**i for i, c in enumerate(coefficients)]
    slopes = [abs(first + i) * s for i, s in enumerate(sizes)]
    leading = next((s for s in slopes if s), 0.0)
    last = max((i for i, (s, t) in enumerate(zip(sizes, slopes, strict=True)) if s > _SMALL * sizes[0] or t > _SMALL * leading), default=0)
    if last + 1 >= _POWERS - abs(first) - 4 or sum(map(bool, coefficients[: last + 1])) > _MOST:
        raise _NoRatio
    return last + 1
