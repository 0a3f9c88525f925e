"""Rewrites that keep digits or finite values where the formula as it is written loses them.

Where the true value and gradient are known, ways to write the function are searched for one that loses less of them (`check.rewrites`);
where there is none, such as that of ``sin(x)/x`` at 0, what has a value there is proposed if it gets a better verdict. What is told is the
smallest parts that are written otherwise, as text of the language.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.check.judge import Judge, scalar_operations
from gradcli.check.rewrites.equality import Equality
from gradcli.check.rewrites.normal import wider
from gradcli.check.rewrites.search import GOOD, Losses, Measure, Search, Truth
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

Pair = tuple[Expr, Expr]


def repair(check: Check, judge: Judge) -> None:
    """Put into a verdict how to write the function otherwise, where that keeps what is lost."""
    order = reachable([judge.root])
    if not judge.decided:
        judge.decide(None)
    if not judge.decided or scalar_operations(order) > _LARGEST or len(order) > _MOST_NODES or not judge.rules_hold:
        return
    graph = judge.scope.graph
    mark = graph.mark()
    try:
        ways = _Ways(judge)
        way = ways.losing_less(judge.root)
        if check.verdict is Verdict.UNDEFINED and (defined := ways.with_a_value(way)) is not way:
            further = _Ways(ways.judged(defined))  # what was lost beside it shows only now
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
        truths = [Truth(_true(c), c.m, np.dtype(judge.precision)) for c in comparisons]
        self.measure = Measure(self.scope.values, list(judge.wrt.values()), judge.seed, truths, judge.precision)

    def put(self, root: Expr, way: Expr, check: Check) -> None:
        """Put into a verdict which parts of a function to write otherwise, and what that gains."""
        pairs = self._differences(root, way)
        texts = [(formula(x, limit=_LONGEST), formula(y, limit=_LONGEST)) for x, y in pairs]
        if not pairs or not all(x and y for x, y in texts):
            return
        wheres = [self.equality.extent(x, y) for x, y in pairs]
        check.repairs = [f"{x} as {y}{where and ' '}{where}" for (x, y), where in zip(texts, wheres, strict=True)]
        text, lost = formula(way, limit=_LONGEST_WHOLE), max(self.measure(root))
        if text is not None and lost >= LOST and self.measure.truths[0].counts.any():
            bits = PRECISION.get(self.judge.precision, 53)
            left = min(bits, round(max(self.measure(way))))
            check.rewrite = Rewrite(text, min(bits, round(lost)), left, bits, ", ".join(dict.fromkeys(filter(None, wheres))))

    # -- what loses less ---------------------------------------------------------------------------------------

    def losing_less(self, root: Expr) -> Expr:
        """The best way, if much is lost, and it gains enough, makes nothing worse, and is proved to be equal; else the function.

        Identities come first, those that hold everywhere before others; a series comes last.
        """
        before = self.measure(root)
        for series in (False, True) if max(before) >= LOST else ():
            search = Search(self.scope.graph, self.measure, series=series)
            ways = [way for way, after in search.best(root) if _gains(before, after)]
            right = (way for way in ways if self.equality.proved(root, way, series=way in search.approximate))
            first = next(right, None)
            if first is not None:
                everywhere = (way for way in chain([first], right) if not self.equality.extent(root, way))
                return first if series else next(everywhere, first)
        return root

    def _differences(self, before: Expr, after: Expr) -> list[Pair]:
        """The smallest parts of the one, with what stands in their places in the other, that are written differently and are equal."""
        found: dict[Expr, Expr] = {}
        stack = [(before, after)]
        while stack:
            x, y = stack.pop()
            alike = x.op is not None and x.op is y.op and dict(x.static) == dict(y.static) and len(x.operands) == len(y.operands)
            inner = [(a, b) for a, b in zip(x.operands, y.operands, strict=True) if a is not b] if alike else []
            present = [(a, b) for a, b in inner if a is not None and b is not None]
            if inner and len(present) == len(inner) and all(self._comparable(a, b) for a, b in present):
                stack += present
            elif found.setdefault(x, y) is not y:
                return [(before, after)]  # one part is written in two ways
        return sorted(found.items(), key=lambda pair: pair[0].index)

    def _comparable(self, a: Expr, b: Expr) -> bool:
        """Return whether two operands may be compared in the place of what they are operands of."""
        return a.op is not None and a.kind == "float" and a.shape == b.shape and self.equality.at(a, b, {}) is not False

    # -- what has a value --------------------------------------------------------------------------------------

    def with_a_value(self, root: Expr) -> Expr:
        """A way with a better verdict, of those that have values where others have none."""
        best, judged = self._undefined(root), 0
        for _ in range(2):
            for way in wider(self.scope.graph, root):
                judged += 1
                if judged > _MOST_JUDGED:
                    return root
                undefined = self._undefined(way)
                if undefined < best:
                    root, best = way, undefined
                    break
            else:
                return root
        return root

    def _undefined(self, root: Expr) -> int:
        """How many of a function's value and gradients have no true value."""
        return sum(part.verdict is Verdict.UNDEFINED for part in self._parts(root))

    def gravity(self, root: Expr) -> tuple[int, int]:
        """How bad a function's value and gradients are: the less the better."""
        parts = self._parts(root)
        return sum(part.verdict.gravity + 10 * part.wrong for part in parts), -min((part.digits or 0 for part in parts), default=0)

    def _parts(self, root: Expr) -> list[VariableCheck]:
        value, variables = self._judge(root).decide(self.measure.parts(root)[0])
        return [*variables.values(), *([] if value is None else [value])]

    def _judge(self, root: Expr) -> Judge:
        wrt = self.judge.wrt
        slopes = self.measure.parts(root)[1:]
        gradients = {name: np.broadcast_to(np.asarray(slope), x.shape) for (name, x), slope in zip(wrt.items(), slopes, strict=True)}
        return Judge(self.scope, root, wrt, self.judge.seed, gradients)

    def judged(self, root: Expr) -> Judge:
        judge = self._judge(root)
        judge.decide(None)
        return judge


def _gains(before: Losses, after: Losses) -> bool:
    """Return whether much less is lost in all, and nowhere more."""
    enough = max(after) <= min(max(before) - _WORTH, _MOST_LEFT)
    return enough and all(a <= max(b + _WORSE, GOOD) for a, b in zip(after, before, strict=True))


def _true(comparison: Comparison) -> list[Any]:
    """The true entries, those on kinks left out: there is none."""
    choices = [i for i, sides in comparison.sides.items() if sides.limit is None]
    return [comparison.m.nan if i in choices else r for i, r in enumerate(comparison.reference)]
