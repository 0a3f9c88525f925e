"""Equality of two ways to write a function: value and derivatives enclosed in balls, at a point and at others; and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.reference.algebra import Unsupported
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array

if TYPE_CHECKING:
    from gradcli.check.judge import Judge

_DIGITS = (100, 400, 1500)
_EXACT, _SERIES, _SAME = 2.0**-100, 2.0**-56, 1e-15  # how near two ways must be, relative to what they are; to floats the same
_AROUND = (0, 1, -1)  # the point itself and others, in steps
_STEP, _TINY = 2.0**-30, 2.0**-40  # relative to a number, and of zero
_POINTS = 24
_SIZES = (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0)
_NEAREST = -20  # power of ten from which on a series is tried
_SHARES = (0.999, 0.5, 0.15)
_WITHOUT_VALUE = (Unsupported, GradcliError, ArithmeticError, ValueError, AttributeError, TypeError, LookupError)

Point = Callable[[Any, Expr], Any]  # what a leaf is, exactly


class Equality:
    """Which ways to write a function that was judged are equal to it."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.wrt, self.values = judge, list(judge.wrt.values()), judge.scope.values

    def proved(self, root: Expr, way: Expr, *, series: bool = False) -> bool:
        """Return whether a way equals a function, with all derivatives asked for, where it was evaluated and around; a series nearly so.

        Points outside of the function's domain say nothing; that at which it is evaluated, or another, must say something.
        """
        found = [self._equal(root, way, self._beside(root, step), _SERIES if series else _EXACT, self.wrt) for step in _AROUND]
        return True in found and False not in found

    def at(self, x: Expr, y: Expr, point: Mapping[Expr, Any]) -> bool | None:
        """Whether two nodes have the same value at a point, that of the function but for some leaves; None where the first has none."""
        return self._equal(x, y, lambda m, leaf: exact_array(m, point.get(leaf, self.values[leaf]), leaf.kind), _SAME, [])

    def _equal(self, x: Expr, y: Expr, point: Point, enough: float, wrt: Sequence[Expr]) -> bool | None:
        """Return whether two nodes differ by no more than so much of the first; None where that has no finite value or derivative."""
        decided = None
        for m in map(Balls, _DIGITS):
            with m.working():
                try:
                    right = self._numbers(m, x, point, wrt)
                except Undecidable:
                    continue
                except _WITHOUT_VALUE:
                    return None
                decided = False
                defined = [i for i, number in enumerate(right) if m.isfinite(number)]
                if not defined:
                    return None
                try:
                    found = self._numbers(m, y, point, wrt)
                    apart = [_apart(m, right[i], found[i]) for i in defined]
                except Undecidable:
                    continue
                except _WITHOUT_VALUE:
                    return False
            if len(found) != len(right) or max(apart)[0] > enough:
                return False
            if max(most for _, most in apart) <= enough:
                return True
        return decided

    def _numbers(self, m: Any, node: Expr, point: Point, wrt: Sequence[Expr]) -> list[Any]:
        """The value of a node and its derivatives."""
        leaves = {leaf: point(m, leaf) for leaf in {*wrt, *(n for n in reachable([node]) if n.is_leaf)}}
        tape = ReferenceTape(m, leaves, self.judge.precision)
        y = tape.run(node, wrt)
        slopes = tape.slopes(y, exact_array(m, self.judge.seed, "float"), wrt) if wrt else []
        return [*map(plain, np.asarray(y, dtype=object).ravel()), *(entry for slope in slopes for entry in slope.ravel())]

    def _beside(self, root: Expr, step: int) -> Point:
        """The values of leaves, or numbers beside them; whole numbers and truths stay."""
        leaves = sorted({*self.judge.leaves, *self.wrt, *(n for n in reachable([root]) if n.is_leaf)}, key=lambda n: n.index)

        def point(m: Any, leaf: Expr) -> Any:
            exact = exact_array(m, self.values[leaf], leaf.kind)
            if not step or leaf.kind != "float":
                return exact
            place = leaves.index(leaf)
            share = step * (1 + place % 3) * (-1) ** place  # so that names move apart
            moved = np.empty(exact.size, dtype=object)
            moved[:] = [x * (1 + m.mpf(share * _STEP)) if x != 0 else m.mpf(share * _TINY) for x in exact.ravel()]
            return moved.reshape(exact.shape)

        return point

    # -- where -------------------------------------------------------------------------------------------------

    def extent(self, part: Expr, rewrite: Expr) -> str:
        """Return for which numbers a rewrite equals a part, in words; nothing where it does throughout the part's domain.

        Both are computed at numbers of all signs and sizes. A series holds near zero, an identity with a condition on one
        side of zero; of anything else, numbers are named for which it does not hold.
        """
        leaves = [leaf for leaf in reachable([part]) if leaf.is_leaf and leaf.kind == "float"]
        outside = next((point for point in _points(leaves) if self.at(part, rewrite, point) is False), None)
        if outside is None:
            return ""
        if len(leaves) == 1 and not leaves[0].shape:
            return self._along(part, rewrite, leaves[0])
        return f"here, not at {' '.join(f'{x.payload.name}={_text(point)}' for x, point in outside.items())}"

    def _along(self, part: Expr, rewrite: Expr, leaf: Expr) -> str:
        """The same in one number."""
        name, here = leaf.payload.name, float(self.values[leaf])

        def holds(number: float) -> bool:
            return self.at(part, rewrite, {leaf: np.float64(number)}) is not False

        sign = -1.0 if here < 0 else 1.0
        if all(holds(sign * size * share) for size in (1e-12, 1e-6, *_SIZES, 1e3) for share in _SHARES):
            return f"for {name} {'<' if here < 0 else '>'} 0"
        reached = 0.0
        for power in range(_NEAREST, 1) if abs(here) < 1 else ():
            if not all(holds(side * 10.0**power * share) for share in _SHARES for side in (1.0, -1.0)):
                break
            reached = 10.0**power
        if abs(here) < reached:
            return f"near {name} = 0, for |{name}| < {reached:g}"
        return f"near {name} = {here!r}"


def _points(leaves: Sequence[Expr]) -> Iterator[dict[Expr, Any]]:
    """Points of all signs and of moderate sizes, the same each time."""
    random = np.random.default_rng(0)
    for _ in range(_POINTS):
        point = {}
        for leaf in leaves:
            size = random.choice(_SIZES, leaf.shape) * random.uniform(0.5, 1.5, leaf.shape)
            point[leaf] = np.asarray(size * random.choice([-1.0, 1.0], leaf.shape))[()]
        yield point


def _apart(m: Any, x: Any, y: Any) -> tuple[float, float]:
    """The least and the most by which two numbers may differ, relative to the first."""
    if isinstance(x, bool) or isinstance(y, bool) or not m.isfinite(y):
        off = 0.0 if x is y else np.inf
        return off, off
    off, size = abs(x.ball - y.ball), abs(x.ball)
    if bool(off == 0) or (bool(off.abs_upper() < 2.0**-1200) and not bool(size.abs_lower() > 2.0**-1100)):
        return 0.0, 0.0
    relative = off / size
    return float(relative.abs_lower()), float(relative.abs_upper()) if bool(size > 0) else np.inf


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value), separator=",", precision=6, threshold=6).replace("\n", "").replace(" ", "")
