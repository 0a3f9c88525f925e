"""Rewrites that keep digits or finite values where the formula as it is written loses them.

Where the true value and gradient are known, ways to write the function are searched for one that
loses less of them: best first, each way measured where the function was evaluated. Where there is
no true value, such as that of ``sin(x)/x`` at 0, what has a value there is proposed if it gets a
better verdict. What is told is the smallest parts that are written otherwise, as text of the
language.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.formula_claims import anything
from gradcli.check.identities import apply_identities, is_same_operation, standardize, wider
from gradcli.check.judge import Judge, numbers, scalar_operations
from gradcli.check.verdicts import LOST, PRECISION, Check, Rewrite, Verdict
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula, tree_size
from gradcli.formulas.textbook import Textbook
from gradcli.graph.nodes import Expr, dependents, forward, reachable
from gradcli.reference.deadline import still_in_time
from gradcli.reference.tape import reference_at

# -- The search. A way is better if less is lost in its value and in every gradient. All that is
# tried equals the function by an identity or by algebra; the number of ways that are measured is
# counted, not the time.


GOOD = 4.0  # so many lost bits count as none
ALL = 64.0  # bits lost where a result is not finite or shares no digit with the truth
_SMALLEST = 2.0**-1074
_MOST_MEASURED = 400
_MOST_EXPANDED = 40
_PATIENCE = 8  # rewrites expanded without an improvement before the search ends
_MOST_FOUND = 8  # best rewrites kept: the first that is proved is taken
_LARGEST_WAY = 120  # most nodes of a rewrite, counting a shared one each time it is written

Losses = tuple[float, ...]


class Measure:
    """The bits that a way to write a function loses: in its value, and in its gradients.

    truths  exact numbers as pairs of floats: what is nearest to each, and what is left
    """

    def __init__(self, judge: Judge) -> None:
        self.judge, self.truths = judge, []
        for comparison in judge.comparisons:
            exact = comparison.exact
            near = np.array(list(map(float, exact)))
            self.truths.append(
                (
                    near,
                    [
                        float(x - comparison.m.mpf(n)) if np.isfinite(n) else 0.0
                        for x, n in zip(exact, near, strict=True)
                    ],
                )
            )

    def __call__(self, root: Expr) -> Losses:
        still_in_time()
        return tuple(map(self._bits_lost, self.truths, self.judge.float_results(root)))

    def _bits_lost(self, truth: tuple[Any, Any], computed: Any) -> float:
        """Return the most bits that an entry has lost.

        Entries without a finite truth do not count.
        """
        (near, rest), found = truth, np.ravel(np.asarray(computed, float))
        with np.errstate(all="ignore"):
            off = np.abs((found - near) - rest)
            relative = np.where(off <= 2 * _SMALLEST, 0.0, off / np.abs(near))
            bits = np.log2(np.maximum(relative / np.finfo(self.judge.precision).eps, 1.0))
        bits = np.where(np.isfinite(found) & np.isfinite(bits), np.minimum(bits, ALL), ALL)
        return float(np.max(bits, initial=0.0, where=np.isfinite(near)))


class Search:
    """Ways to write one function, and what each of them loses."""

    def __init__(self, measure: Measure) -> None:
        self.graph, self.measure = measure.judge.scope.graph, measure
        self.textbook = Textbook(self.graph)
        self._equal: dict[Expr, list[Expr]] = {}  # by node: its value is the same in all rewrites
        self.known: set[Expr] = set()

    def best(self, root: Expr) -> list[tuple[Expr, Losses]]:
        """Return the best ways that were found, the best first, with what they lose.

        There are none where the function itself cannot be measured.
        """
        start = self._losses(root)
        if start is None:
            return []
        first = best = self._key(root, start)
        better: list[tuple[Any, int, Expr, Losses]] = []
        queue: list[tuple[Any, int, Expr]] = [(first, root.index, root)]
        ways: Iterator[Expr] = iter([standardize(self.graph, root)])
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

    def _key(self, root: Expr, losses: Losses) -> tuple[int, int, int]:
        size = tree_size(root)
        if max(losses) <= GOOD:  # among rewrites that lose nothing, the shortest is best
            return 0, 0, size
        return round((max(losses) + size) / 2), round(sum(losses) / 2), size

    def _losses(self, root: Expr) -> Losses | None:
        """Return the bits that a way loses, measured once.

        Return None where it has no value or was measured before.
        """
        if root in self.known:
            return None
        self.known.add(root)
        try:
            return self.measure(root)
        except GradcliError:
            return None

    def _from(self, root: Expr) -> Iterator[Expr]:
        """Yield the ways that are one step from another."""
        order, judge = reachable([root]), self.measure.judge
        values = forward([root], judge.scope.values, judge.precision, order)

        def value_of(node: Expr) -> Any:
            known = values if node in values else judge.scope.values
            return forward([node], known, judge.precision)[node]

        for node in order:
            if node.op is None or node.kind != "float" or node.op.outputs != 1:
                continue
            if node not in self._equal:
                still_in_time()
                self._equal[node] = list(dict.fromkeys(self._instead(node, value_of)))
            for better in self._equal[node]:
                still_in_time()
                if better is node or better.shape != node.shape:
                    continue
                way = self._with(root, order, node, better)
                if way is not root and tree_size(way) <= _LARGEST_WAY:
                    yield way

    def _instead(self, node: Expr, value_of: Callable[[Expr], Any]) -> Iterator[Expr]:
        """Yield what equals a node."""
        try:
            yield from apply_identities(node, value_of)
            yield from self.textbook.ways(node)
        except GradcliError:
            return

    def _with(self, root: Expr, order: list[Expr], node: Expr, better: Expr) -> Expr:
        moved = dependents(order, {node})
        known = {node: better} | {other: other for other in order if other not in moved}
        return standardize(self.graph, root, known)


_LARGEST = 5_000  # most scalar operations of a function whose rewrites are measured
_MOST_NODES = 80
_MOST_TRIED = 12  # most rewrites tried where the function has no true value
_LONGEST = 160  # most nodes of the text of a part
_LONGEST_WHOLE = 400
_WORTH = 8.0  # bits that a rewrite must gain
_MOST_LEFT = 33.0  # most bits that a rewrite may lose itself: six digits stay right
_WORSE = 2.0  # further bits that the value or a gradient may lose by a rewrite


def repair(check: Check, judge: Judge) -> None:
    """Put into a verdict how to write the function otherwise, where that keeps what is lost."""
    order = reachable([judge.root])
    finite = all(np.isfinite(value).all() for value in judge.leaves.values())
    if not finite or scalar_operations(order) > _LARGEST or len(order) > _MOST_NODES:
        return
    if not judge.decided:
        judge.decide(None)
    if not judge.decided or not judge.rules_hold:
        return
    graph = judge.scope.graph
    mark = graph.mark()
    try:
        ways = _Ways(judge)
        way = ways.losing_less(judge.root)
        if check.verdict is Verdict.UNDEFINED and (defined := ways.with_a_value(way)) is not way:
            # Its other losses show only here.
            further = Judge(judge.scope, defined, judge.wrt, judge.seed)
            further.decide(further.float_results(defined)[0])
            ways = _Ways(further)
            way = ways.losing_less(defined)
            if ways.count_lost(way):
                return
        if way is not judge.root:
            ways.put(judge.root, way, check)
    finally:
        graph.forget_since(mark)


class _Ways:
    """The ways to write one function that has been judged."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.equality, self.measure = Equality(judge), Measure(judge)

    def put(self, root: Expr, way: Expr, check: Check) -> None:
        """Put into a verdict which parts of a function to write otherwise, and what that gains."""
        pairs = self._differences(root, way)
        texts = [(formula(x, limit=_LONGEST), formula(y, limit=_LONGEST)) for x, y in pairs]
        if not pairs or not all(x and y for x, y in texts):
            return
        wheres = [self.equality.extent(x, y) for x, y in pairs]
        check.repairs = [
            f"{x} as {y}{where and ' '}{where}" for (x, y), where in zip(texts, wheres, strict=True)
        ]
        text, lost = formula(way, limit=_LONGEST_WHOLE), max(self.measure(root))
        if text is not None and lost >= LOST and np.isfinite(self.measure.truths[0][0]).any():
            bits = PRECISION.get(self.judge.precision, 53)
            before, after = (min(bits, round(most)) for most in (lost, max(self.measure(way))))
            where = ", ".join(dict.fromkeys(filter(None, wheres)))
            check.rewrite = Rewrite(text, before, after, bits, where)

    # -- what loses less

    def losing_less(self, root: Expr) -> Expr:
        """Return the best way to write the function, or else the function itself.

        A way is returned if much is lost, and it gains enough, makes nothing worse, and is proved
        to be equal. Ways that hold everywhere come before others.
        """
        before = self.measure(root)
        if max(before) < LOST:
            return root
        ways = [way for way, after in Search(self.measure).best(root) if _gains(before, after)]
        first = root
        for way in ways:
            if self.equality.prove(root, way):
                if not self.equality.extent(root, way):
                    return way
                first = way if first is root else first
        return first

    def _differences(self, before: Expr, after: Expr) -> list[tuple[Expr, Expr]]:
        """Return the smallest parts that two equal expressions write differently.

        Each part of the first comes with what stands in its place in the second, which is equal to
        it.
        """
        found: dict[Expr, Expr] = {}
        stack = [(before, after)]
        while stack:
            x, y = stack.pop()
            inner: list[Any] = (
                [(a, b) for a, b in zip(x.operands, y.operands, strict=True) if a is not b]
                if is_same_operation(x, y)
                else []
            )
            if inner and all(self._comparable(a, b) for a, b in inner):
                stack += inner
            elif found.setdefault(x, y) is not y:
                return [(before, after)]  # the same part is rewritten in two ways
        return sorted(found.items(), key=lambda pair: pair[0].index)

    def _comparable(self, a: Expr | None, b: Expr | None) -> bool:
        """Return whether two operands may be compared in the place of what they are operands of."""
        return (
            a is not None
            and b is not None
            and a.op is not None
            and a.kind == "float"
            and a.shape == b.shape
            and self.equality.at(a, b, {}) is not False
        )

    # -- what has a value

    def with_a_value(self, root: Expr) -> Expr:
        """Return a way that has numbers where another has none, and equals it around the point."""
        least = self.count_lost(root)
        for way in itertools.islice(wider(root), _MOST_TRIED):
            if self.count_lost(way) < least and self.equality.prove(root, way):
                return self.with_a_value(way)
        return root

    def count_lost(self, root: Expr) -> int:
        """Return how many of a function's value and gradients are not numbers."""
        return sum(np.isnan(found).any() for found in self.judge.float_results(root))


def _gains(before: Losses, after: Losses) -> bool:
    """Return whether much less is lost in all, and nowhere more."""
    enough = max(after) <= min(max(before) - _WORTH, _MOST_LEFT)
    return enough and all(a <= max(b + _WORSE, GOOD) for a, b in zip(after, before, strict=True))


# Relative differences up to which two expressions are equal, and are the same to floats.
_EXACT, _SAME = 1e-28, 1e-15
_AROUND = (0, 1, -1)  # in steps: the point itself, and one on either side
_NOTHING = 5e-324  # floats cannot tell this from zero
_STEP, _TINY = 2.0**-30, 2.0**-40  # a step: relative to a number; away from zero
_POINTS = 24
_SIZES = (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0)


@dataclass
class Equality:
    """Ways to write a function that was judged, which are equal to it."""

    judge: Judge

    def prove(self, root: Expr, way: Expr) -> bool:
        """Return whether a way equals a function where it was evaluated and around.

        All derivatives asked for must be equal, too. Points outside of the function's domain say
        nothing; the point of evaluation, or another, must say something.
        """
        found = [
            self.at(root, way, self._point_beside(step), _EXACT, self.judge.nodes)
            for step in _AROUND
        ]
        return True in found and False not in found

    def at(
        self,
        x: Expr,
        y: Expr,
        point: Mapping[Expr, Any],
        enough: float = _SAME,
        wrt: Sequence[Expr] = (),
    ) -> bool | None:
        """Return whether two nodes, and their derivatives, agree at a point.

        They may differ by ``enough`` times the first. Return None where the first has no finite
        value or derivative.
        """
        right, found = (self._numbers(node, point, wrt) for node in (x, y))
        if right is None or found is None:
            return None if right is None else False
        if len(found) != len(right):
            return False
        return all(map(lambda a, b: abs(a - b) <= enough * abs(a) + _NOTHING, right, found))

    def _numbers(
        self, node: Expr, point: Mapping[Expr, Any], wrt: Sequence[Expr]
    ) -> list[Any] | None:
        """Return the value of a node and its derivatives, as enclosures tell them."""
        judge = self.judge
        leaves = {
            leaf: point.get(leaf, judge.scope.values[leaf])
            for leaf in {*wrt, *(n for n in reachable([node]) if n.is_leaf)}
        }

        def evaluate(balls: Any) -> list[np.ndarray]:
            _, y, slopes = reference_at(balls, node, wrt, judge.seed, leaves, judge.precision)
            return [y, *slopes]

        arrays = numbers(judge.comparisons[0].m, evaluate)
        return None if arrays is None else [x for array in arrays for x in np.ravel(array)]

    @np.errstate(all="ignore")
    def _point_beside(self, step: int) -> Mapping[Expr, Any]:
        """Return the values of leaves, or numbers beside them.

        Names move apart. Whole numbers and truths stay.
        """
        point = {}
        for place, leaf in enumerate(
            sorted({*self.judge.leaves, *self.judge.nodes}, key=lambda node: node.index)
        ):
            if step and leaf.kind == "float":
                share, value = (
                    step * (1 + place % 3) * (-1) ** place,
                    np.asarray(self.judge.scope.values[leaf], float),
                )
                point[leaf] = np.where(value == 0, share * _TINY, value * (1 + share * _STEP))
        return point

    # -- where

    def extent(self, part: Expr, rewrite: Expr) -> str:
        """Return numbers, in words, for which a rewrite does not equal a part.

        Return nothing where it equals the part throughout its domain, as far as numbers of all
        signs and sizes tell.
        """
        leaves = [leaf for leaf in reachable([part]) if leaf.is_leaf and leaf.kind == "float"]
        outside = next(
            (point for point in _points(leaves) if self.at(part, rewrite, point) is False), None
        )
        if outside is None:
            return ""
        values = (f"{x.name}={_text(point)}" for x, point in outside.items())
        return f"here, not at {' '.join(values)}"


def _points(leaves: Sequence[Expr]) -> Iterator[Mapping[Expr, Any]]:
    """Points of all signs and of moderate sizes, the same each time."""
    random = np.random.default_rng(0)
    for _ in range(_POINTS):
        yield {leaf: anything(leaf.shape, random, _SIZES)[()] for leaf in leaves}


def _text(value: Any) -> str:
    return (
        np.array2string(np.asarray(value), separator=",", precision=6, threshold=6)
        .replace("\n", "")
        .replace(" ", "")
    )
