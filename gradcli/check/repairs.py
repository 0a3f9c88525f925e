"""Rewrites that keep digits or finite values where the formula as it is written loses them.

Where the true value and gradient are known, ways to write the function are searched for one that
loses less of them (`check.search`); where there is none, such as that of ``sin(x)/x`` at 0, what
has a value there is proposed if it gets a better verdict. What is told is the smallest parts that
are written otherwise, as text of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Any

import numpy as np

from gradcli.check.identities import wider
from gradcli.check.judge import Judge, numbers, reference_at, scalar_operations
from gradcli.check.search import GOOD, Losses, Measure, Search, Truth
from gradcli.formulas.printing import formula
from gradcli.graph.nodes import Expr, reachable
from gradcli.report.verdicts import LOST, PRECISION, Check, Rewrite, VariableCheck, Verdict

_LARGEST = 5_000  # scalar operations of a function whose ways are measured
_MOST_NODES = 80
_MOST_JUDGED = 12  # ways that are judged anew, where the function has no true value
_LONGEST = 160  # nodes of the text of a part
_LONGEST_WHOLE = 400
_WORTH = 8.0  # bits that a rewrite must gain
_MOST_LEFT = 33.0  # bits that it may lose itself: six digits are right
_WORSE = 2.0  # bits that a part may lose by it


def repair(check: Check, judge: Judge) -> None:
    """Put into a verdict how to write the function otherwise, where that keeps what is lost."""
    order = reachable([judge.root])
    if scalar_operations(order) > _LARGEST or len(order) > _MOST_NODES:
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
            further = _Ways(ways.judge_way(defined)[0])  # what was lost beside it shows only now
            way = further.losing_less(defined)
            if ways.gravity(way) >= ways.gravity(judge.root):
                return
            ways = further
        if way is not judge.root:
            ways.put(judge.root, way, check)
    finally:
        graph.forget_since(mark)


class _Ways:
    """The ways to write one function that has been judged."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.scope, self.equality = judge, judge.scope, Equality(judge)
        comparisons = [judge.value_comparison, *judge.comparisons]
        truths = [Truth(c.exact, c.m, np.dtype(judge.precision)) for c in comparisons]
        self.measure = Measure(
            self.scope.values, list(judge.wrt.values()), judge.seed, truths, judge.precision
        )

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
        if text is not None and lost >= LOST and self.measure.truths[0].counts.any():
            bits = PRECISION.get(self.judge.precision, 53)
            left = min(bits, round(max(self.measure(way))))
            check.rewrite = Rewrite(
                text,
                min(bits, round(lost)),
                left,
                bits,
                ", ".join(dict.fromkeys(filter(None, wheres))),
            )

    # -- what loses less
    # ---------------------------------------------------------------------------------------

    def losing_less(self, root: Expr) -> Expr:
        """The best way, if much is lost, and it gains enough, makes nothing worse, and is proved to
        be equal; else the function.

        Identities come first, those that hold everywhere before others; a series comes last.
        """
        before = self.measure(root)
        for series in (False, True) if max(before) >= LOST else ():
            search = Search(self.scope.graph, self.measure, series=series)
            ways = [way for way, after in search.best(root) if _gains(before, after)]
            right = (
                way
                for way in ways
                if self.equality.prove(root, way, series=way in search.approximate)
            )
            first = next(right, None)
            if first is not None:
                everywhere = (
                    way for way in chain([first], right) if not self.equality.extent(root, way)
                )
                return first if series else next(everywhere, first)
        return root

    def _differences(self, before: Expr, after: Expr) -> list[tuple[Expr, Expr]]:
        """The smallest parts of the one, with what stands in their places in the other, that are
        written differently and are equal.
        """
        found: dict[Expr, Expr] = {}
        stack = [(before, after)]
        while stack:
            x, y = stack.pop()
            alike = (
                x.op is not None
                and x.op is y.op
                and dict(x.static) == dict(y.static)
                and len(x.operands) == len(y.operands)
            )
            inner = (
                [(a, b) for a, b in zip(x.operands, y.operands, strict=True) if a is not b]
                if alike
                else []
            )
            present = [(a, b) for a, b in inner if a is not None and b is not None]
            if (
                inner
                and len(present) == len(inner)
                and all(self._comparable(a, b) for a, b in present)
            ):
                stack += present
            elif found.setdefault(x, y) is not y:
                return [(before, after)]  # one part is written in two ways
        return sorted(found.items(), key=lambda pair: pair[0].index)

    def _comparable(self, a: Expr, b: Expr) -> bool:
        """Return whether two operands may be compared in the place of what they are operands of."""
        return (
            a.op is not None
            and a.kind == "float"
            and a.shape == b.shape
            and self.equality.at(a, b, {}) is not False
        )

    # -- what has a value
    # --------------------------------------------------------------------------------------

    def with_a_value(self, root: Expr) -> Expr:
        """A way with a better verdict, of those that have values where others have none."""
        best, judged = self._count_undefined(root), 0
        for _ in range(2):
            for way in wider(self.scope.graph, root):
                judged += 1
                if judged > _MOST_JUDGED:
                    return root
                undefined = self._count_undefined(way)
                if undefined < best:
                    root, best = way, undefined
                    break
            else:
                return root
        return root

    def _count_undefined(self, root: Expr) -> int:
        """Return how many of a function's value and gradients have no true value."""
        return sum(part.verdict is Verdict.UNDEFINED for part in self.judge_way(root)[1])

    def gravity(self, root: Expr) -> tuple[int, int]:
        """Return how bad a function's value and gradients are: the less the better."""
        parts = self.judge_way(root)[1]
        return sum(part.verdict.gravity + 10 * part.wrong for part in parts), -min(
            (part.digits or 0 for part in parts), default=0
        )

    def judge_way(self, root: Expr) -> tuple[Judge, list[VariableCheck]]:
        """The judge of another way, and its verdicts on the value and the gradients."""
        judge = Judge.of(self.scope, root, self.judge.wrt, self.judge.seed)
        value, variables = judge.decide(self.measure.parts(root)[0])
        return judge, [*variables.values(), *([] if value is None else [value])]


def _gains(before: Losses, after: Losses) -> bool:
    """Return whether much less is lost in all, and nowhere more."""
    enough = max(after) <= min(max(before) - _WORTH, _MOST_LEFT)
    return enough and all(a <= max(b + _WORSE, GOOD) for a, b in zip(after, before, strict=True))


_EXACT, _SERIES, _SAME = (
    1e-28,
    2.0**-56,
    1e-15,
)  # how near two ways must be, relative to what they are; to floats the same
_AROUND = (0, 1, -1)  # the point itself and others, in steps
_NOTHING = 5e-324  # what floats cannot tell from zero
_STEP, _TINY = 2.0**-30, 2.0**-40  # relative to a number, and of zero
_POINTS = 24
_SIZES = (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0)
_NEAREST = -20  # power of ten from which on a series is tried
_SHARES = (0.999, 0.5, 0.15)


class Equality:
    """Ways to write a function that was judged, which are equal to it."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.wrt, self.values = judge, list(judge.wrt.values()), judge.scope.values

    def prove(self, root: Expr, way: Expr, *, series: bool = False) -> bool:
        """Return whether a way equals a function, with all derivatives asked for, where it was
        evaluated and around; a series nearly so.

        Points outside of the function's domain say nothing; that at which it is evaluated, or
        another, must say something.
        """
        found = [
            self._equal(
                root, way, self._point_beside(step), _SERIES if series else _EXACT, self.wrt
            )
            for step in _AROUND
        ]
        return True in found and False not in found

    def at(self, x: Expr, y: Expr, point: Mapping[Expr, Any]) -> bool | None:
        """Return whether two nodes are equal at a point; None where the first has no value."""
        return self._equal(x, y, point, _SAME, [])

    def _equal(
        self, x: Expr, y: Expr, point: Mapping[Expr, Any], enough: float, wrt: Sequence[Expr]
    ) -> bool | None:
        """Return whether two nodes differ by no more than so much of the first; None where that has
        no finite value or derivative.
        """
        right, found = (self._numbers(node, point, wrt) for node in (x, y))
        if right is None or found is None:
            return None if right is None else False
        return len(found) == len(right) and all(
            abs(a - b) <= enough * abs(a) + _NOTHING for a, b in zip(right, found, strict=True)
        )

    def _numbers(
        self, node: Expr, point: Mapping[Expr, Any], wrt: Sequence[Expr]
    ) -> list[Any] | None:
        """The value of a node and its derivatives, as enclosures tell them."""
        judge = self.judge
        leaves = {
            leaf: point.get(leaf, self.values[leaf])
            for leaf in {*wrt, *(n for n in reachable([node]) if n.is_leaf)}
        }

        def evaluate(balls: Any) -> list[np.ndarray]:
            _, y, slopes = reference_at(balls, node, wrt, judge.seed, leaves, judge.precision)
            return [y, *slopes]

        arrays = numbers(judge.value_comparison.m, evaluate)
        return None if arrays is None else [x for array in arrays for x in np.ravel(array)]

    def _point_beside(self, step: int) -> Mapping[Expr, Any]:
        """The values of leaves, or numbers beside them, so that names move apart; whole numbers and
        truths stay.
        """
        point = {}
        for place, leaf in enumerate(
            sorted({*self.judge.leaves, *self.wrt}, key=lambda node: node.index)
        ):
            if step and leaf.kind == "float":
                share, value = (
                    step * (1 + place % 3) * (-1) ** place,
                    np.asarray(self.values[leaf], float),
                )
                point[leaf] = np.where(value == 0, share * _TINY, value * (1 + share * _STEP))
        return point

    # -- where
    # -------------------------------------------------------------------------------------------------

    def extent(self, part: Expr, rewrite: Expr) -> str:
        """Return for which numbers a rewrite equals a part, in words; nothing where it does
        throughout the part's domain.

        Both are computed at numbers of all signs and sizes. A series holds near zero, an identity
        with a condition on one side of zero; of anything else, numbers are named for which it does
        not hold.
        """
        leaves = [leaf for leaf in reachable([part]) if leaf.is_leaf and leaf.kind == "float"]
        outside = next(
            (point for point in _points(leaves) if self.at(part, rewrite, point) is False), None
        )
        if outside is None:
            return ""
        if len(leaves) == 1 and not leaves[0].shape:
            return self._along(part, rewrite, leaves[0])
        return (
            "here, not at "
            f"{' '.join(f'{x.payload.name}={_text(point)}' for x, point in outside.items())}"
        )

    def _along(self, part: Expr, rewrite: Expr, leaf: Expr) -> str:
        """The same in one number."""
        name, here = leaf.payload.name, float(self.values[leaf])

        def holds(number: float) -> bool:
            return self.at(part, rewrite, {leaf: np.float64(number)}) is not False

        sign = -1.0 if here < 0 else 1.0
        if all(
            holds(sign * size * share) for size in (1e-12, 1e-6, *_SIZES, 1e3) for share in _SHARES
        ):
            return f"for {name} {'<' if here < 0 else '>'} 0"
        sizes = (10.0**power for power in range(_NEAREST, 1))
        near = takewhile(
            lambda size: all(
                holds(side * size * share) for share in _SHARES for side in (1.0, -1.0)
            ),
            sizes,
        )
        reached = max(near, default=0.0) if abs(here) < 1 else 0.0
        if abs(here) < reached:
            return f"near {name} = 0, for |{name}| < {reached:g}"
        return f"near {name} = {here!r}"


def _points(leaves: Sequence[Expr]) -> Iterator[Mapping[Expr, Any]]:
    """Points of all signs and of moderate sizes, the same each time."""
    random = np.random.default_rng(0)
    for _ in range(_POINTS):
        point = {}
        for leaf in leaves:
            size = random.choice(_SIZES, leaf.shape) * random.uniform(0.5, 1.5, leaf.shape)
            point[leaf] = np.asarray(size * random.choice([-1.0, 1.0], leaf.shape))[()]
        yield point


def _text(value: Any) -> str:
    return (
        np.array2string(np.asarray(value), separator=",", precision=6, threshold=6)
        .replace("\n", "")
        .replace(" ", "")
    )
