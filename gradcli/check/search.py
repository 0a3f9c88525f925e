"""The search for a better way to write a function: best first, each way measured where the function
was evaluated.

A way is better if less is lost in its value and in every gradient. All that is tried equals the
function by an identity, by algebra or by a series; the number of ways that are measured is counted,
not the time.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import methodcaller
from typing import Any

import flint
import numpy as np

from gradcli.check.identities import (
    NO_NUMBER,
    Inexact,
    Normal,
    Standard,
    apply_identities,
    number,
    shares,
)
from gradcli.check.judge import float_results
from gradcli.errors import GradcliError
from gradcli.formulas.printing import tree_size
from gradcli.formulas.textbook import Textbook
from gradcli.graph.interpret import Domain, forward, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time

# -- Nodes as power series over FLINT's ring, cut off where they may be. A series is equal near a
# point only: it is held against the function in balls, like any other way to write it. Without
# FLINT there is none.


_POWERS = 48  # that are known of a series
_MOST = 14  # terms of one that are written
_NEAR = 0.5  # up to which size a quantity is near zero
_SMALL = 2.0**-62  # of the first term that counts, what may be left out

Pair = tuple[Any, Any]  # numerator and denominator


class _SeriesOf:
    """Functions of power series, by the names that references call."""

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        return methodcaller(name)


class _Series(Domain[Pair]):
    """Fractions of power series in one quantity."""

    def __init__(self) -> None:
        self.one, self.variable = flint.fmpq_series([1]), flint.fmpq_series([0, 1])

    def leaf(self, node: Expr) -> Pair:
        raise Inexact

    def constant(self, node: Expr) -> Pair:
        value = number(node)
        if value is None:
            raise Inexact
        return flint.fmpq_series([flint.fmpq(value.numerator, value.denominator)]), self.one

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Pair:
        if weights := shares(node, "sum"):
            above, below = 0 * self.one, self.one
            for (a, b), weight in zip(operands, weights, strict=True):
                above, below = above * b + weight * a * below, below * b
            return above, below
        if not (exponents := shares(node, "product")):
            return self._call(op, operands)
        above = below = self.one
        for fraction, exponent in zip(operands, exponents, strict=False):
            a, b = fraction if exponent > 0 else fraction[::-1]
            above, below = above * a ** abs(exponent), below * b ** abs(exponent)
        return above, below

    def _call(self, op: Op, operands: list[Pair]) -> Pair:
        if len(operands) != 1 or op.static:
            raise Inexact
        try:
            x = operands[0][0] / operands[0][1]
            return (op.symbolic or op.reference)(_SeriesOf(), x), self.one
        except (
            AttributeError,
            NotImplementedError,
            TypeError,
            ValueError,
        ):  # FLINT has no such function, or no rational series of it
            raise Inexact from None


def expand(graph: Graph, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[Expr]:
    """Yield a node as a polynomial in the only number that it is a function of."""
    order = reachable([node])
    leaves = [part for part in order if part.is_leaf]
    if node.op is None or len(leaves) != 1 or any(part.shape for part in order):
        return
    size = abs(float(value_of(leaves[0])))
    if not 0 < size <= _NEAR:
        return
    before, flint.ctx.cap = flint.ctx.cap, _POWERS
    try:
        ring = _Series()
        above, below = interpret(order, ring, {leaves[0]: (ring.variable, ring.one)})[node]
        yield _polynomial(graph, above, below, leaves[0], size)
    except NO_NUMBER:
        return
    finally:
        flint.ctx.cap = before


def _polynomial(graph: Graph, above: Any, below: Any, quantity: Expr, size: float) -> Expr:
    """The terms that count of a fraction of series."""
    (m, top), (n, bottom) = map(_without_zeros, (above, below))
    coefficients, first = [Fraction(int(c.p), int(c.q)) for c in (top / bottom).coeffs()], m - n
    used = coefficients[: _terms_needed(coefficients, first, size)]
    powers = (
        Normal(graph, "product", [(quantity, first + i)] if first + i else []).build()
        for i in range(len(used))
    )
    return Normal(
        graph, "sum", [(power, c) for power, c in zip(powers, used, strict=True) if c]
    ).build()


def _without_zeros(series: Any) -> tuple[int, Any]:
    """The first power of a series, and the series from there on."""
    coefficients = series.coeffs()
    zeros = next((i for i, c in enumerate(coefficients) if c != 0), None)
    if zeros is None:
        raise Inexact
    return zeros, type(series)(coefficients[zeros:], prec=series.prec - zeros)


def _terms_needed(coefficients: list[Fraction], first: int, size: float) -> int:
    """Return how many of the coefficients count, in the value and in the slope.

    Raises Inexact if they are too many.
    """
    sizes = [abs(float(c)) * size**i for i, c in enumerate(coefficients)]
    slopes = [abs(first + i) * s for i, s in enumerate(sizes)]
    leading = next((s for s in slopes if s), 0.0)
    last = max(
        (
            i
            for i, (s, t) in enumerate(zip(sizes, slopes, strict=True))
            if s > _SMALL * sizes[0] or t > _SMALL * leading
        ),
        default=0,
    )
    if last + 1 >= _POWERS - abs(first) - 4 or sum(map(bool, coefficients[: last + 1])) > _MOST:
        raise Inexact
    return last + 1


GOOD = 4.0  # lost bits that are as good as none
ALL = 64.0  # bits lost by what is not finite, or has nothing in common with the truth
_SMALLEST = 2.0**-1074
_MOST_MEASURED = 400
_MOST_EXPANDED = 40
_PATIENCE = 8  # ways that are gone on from without finding a better one
_MOST_FOUND = 8  # ways of which the first that is proved is taken
_LARGEST = 120  # nodes of a way, each time it is written

Losses = tuple[float, ...]


class Truth:
    """Exact numbers as pairs of floats: what is nearest to each, and what is left; entries without
    a finite one do not count.
    """

    def __init__(self, exact: Sequence[Any], m: Any, dtype: np.dtype[Any]) -> None:
        self.epsilon = float(np.finfo(dtype).eps)
        near = [float(x) if not isinstance(x, bool) and m.isfinite(x) else np.nan for x in exact]
        rest = [
            float(x - m.mpf(n)) if np.isfinite(n) else 0.0 for x, n in zip(exact, near, strict=True)
        ]
        self.near, self.rest = np.array(near), np.array(rest)
        self.counts = np.isfinite(self.near)

    def bits_lost(self, computed: Any) -> float:
        """The most bits that an entry has lost."""
        found = np.broadcast_to(np.ravel(np.asarray(computed, float)), self.near.shape)
        with np.errstate(all="ignore"):
            off = np.abs((found - self.near) - self.rest)
            relative = np.where(off <= 2 * _SMALLEST, 0.0, off / np.abs(self.near)) / self.epsilon
            bits = np.clip(np.log2(np.maximum(relative, 1.0)), 0.0, ALL)
        bits = np.where(np.isfinite(found) & np.isfinite(bits), bits, ALL)
        return float(np.max(bits[self.counts], initial=0.0))


class Measure:
    """The bits that a way to write a function loses: in its value, and in its gradient by each of
    several leaves.
    """

    def __init__(
        self,
        values: Mapping[Expr, Any],
        wrt: Sequence[Expr],
        seed: Any,
        truths: Sequence[Truth],
        precision: str,
    ) -> None:
        self.values, self.wrt, self.seed, self.truths, self.precision = (
            values,
            list(wrt),
            seed,
            truths,
            precision,
        )

    def __call__(self, root: Expr) -> Losses:
        still_in_time()
        parts = self.parts(root)
        return tuple(truth.bits_lost(part) for truth, part in zip(self.truths, parts, strict=True))

    def parts(self, root: Expr) -> list[Any]:
        """The value of a function and its gradients, as floats compute them."""
        return float_results(root, self.wrt, self.seed, self.values, self.precision)


class Search:
    """Ways to write one function, and what each of them loses.

    series  whether parts may be written as polynomials, which they equal nearly, and near a point
            only
    """

    def __init__(self, graph: Graph, measure: Measure, *, series: bool) -> None:
        self.graph, self.measure, self.series, self.textbook = (
            graph,
            measure,
            series,
            Textbook(graph),
        )
        self._equal: dict[
            Expr, list[tuple[Expr, bool]]
        ] = {}  # to nodes: their values are always the same
        self.known: set[Expr] = set()
        self.approximate: set[Expr] = set()  # ways with a series in them, which are nearly equal

    def best(self, root: Expr) -> list[tuple[Expr, Losses]]:
        """The best ways that were found, the best first, with what they lose; none where the
        function itself cannot be measured.
        """
        start = self._losses(root)
        if start is None:
            return []
        first = best = self._key(root, start)
        better: list[tuple[Any, int, Expr, Losses]] = []
        queue: list[tuple[Any, int, Expr]] = [(first, root.index, root)]
        ways: Iterator[Expr] = iter([interpret(reachable([root]), Standard(self.graph))[root]])
        since = 0
        for _ in range(_MOST_EXPANDED):
            since += 1
            for way in itertools.takewhile(lambda _: len(self.known) < _MOST_MEASURED, ways):
                losses = self._losses(way)
                if losses is None:
                    continue
                key = self._key(way, losses)
                if max(losses) > GOOD:
                    heapq.heappush(queue, (key, way.index, way))
                if key < best:
                    best, since = key, 0
                if key < first:
                    better.append((key, way.index, way, losses))
            if (
                not queue
                or len(self.known) >= _MOST_MEASURED
                or since >= (_PATIENCE if best[0] else 0)
            ):
                break
            ways = self._from(heapq.heappop(queue)[2])
        return [(way, losses) for *_, way, losses in heapq.nsmallest(_MOST_FOUND, better)]

    def _key(self, root: Expr, losses: Losses) -> tuple[int, bool, int, int]:
        size, approximate = tree_size(reachable([root])), root in self.approximate
        if max(losses) <= GOOD:  # the shortest of those that lose nothing
            return 0, approximate, round(sum(losses)) if approximate else 0, size
        return round((max(losses) + size) / 2), approximate, round(sum(losses) / 2), size

    def _losses(self, root: Expr) -> Losses | None:
        """Bits that a way loses, measured once; None where it has no value or was measured
        before.
        """
        if root in self.known:
            return None
        self.known.add(root)
        try:
            return self.measure(root)
        except GradcliError:
            return None

    def _from(self, root: Expr) -> Iterator[Expr]:
        """The ways that are one step from another."""
        order = reachable([root])
        values = forward([root], self.measure.values, self.measure.precision, order)

        def value_of(node: Expr) -> Any:
            return (
                values[node]
                if node in values
                else forward([node], self.measure.values, self.measure.precision)[node]
            )

        for node in order:
            if node.op is None or node.kind != "float" or node.op.outputs != 1:
                continue
            if node not in self._equal:
                still_in_time()
                self._equal[node] = list(dict.fromkeys(self._instead(node, value_of)))
            for better, nearly in self._equal[node]:
                still_in_time()
                if better is node or better.shape != node.shape:
                    continue
                way = self._with(root, order, node, better)
                if way is root or tree_size(reachable([way])) > _LARGEST:
                    continue
                if (nearly or root in self.approximate) and way not in self.known:
                    self.approximate.add(way)
                yield way

    def _instead(self, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[tuple[Expr, bool]]:
        """Yield what equals a node, and whether it does so only nearly."""
        try:
            for way in apply_identities(self.graph, node, value_of):
                yield way, False
            for way in self.textbook.ways(node):
                yield way, False
            for way in expand(self.graph, node, value_of) if self.series else ():
                yield way, True
        except GradcliError:
            return

    def _with(self, root: Expr, order: list[Expr], node: Expr, better: Expr) -> Expr:
        moved = {node}
        moved.update(other for other in order if any(o in moved for o in other.operands))
        table = {other: other for other in order if other not in moved} | {node: better}
        way: Expr = interpret(
            [other for other in order if other in moved], Standard(self.graph), table
        )[root]
        return way
