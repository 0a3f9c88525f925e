"""Places of the kinks of an expression, in its own names: those that records of operations name, solved where that is possible.

A place is told where the derivative was seen to jump across it, in floats: `relu(x)**2` has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward

_PLACE = re.compile(r"(\w+) = (-?\w+)")
_LIMIT = 40  # nodes of a condition that is written
_MOST = 8  # places of one condition
_GRID = np.linspace(-9.7, 9.9, 99)
_HALVINGS = 80
_STEPS = 1e-5, 1e-7  # to both sides of a place, relative
_POLE = 50  # times a value or a derivative grows, where a step becomes a hundredth: as 1/x does, and log(x) in its slope
_LASTING, _SEEN = 0.5, 1e-6  # what is left of a jump of the derivative at the smaller of the steps, and what counts as one

Values = Mapping[Expr, Any]


class Condition(NamedTuple):
    """Place of a kink of an operation, or of one that may be: two sides of an equation."""

    left: Expr
    right: Expr

    @property
    def text(self) -> str | None:
        parts = [formula(side, limit=_LIMIT) for side in self]
        return None if None in parts else " = ".join(map(str, parts))

    def apart(self, values: Values) -> float:
        """The difference of both sides."""
        with np.errstate(all="ignore"):
            found = forward([*self], values)
            return float(found[self.left]) - float(found[self.right])


def told(root: Expr, names: Sequence[str]) -> str | None:
    """The places of the kinks of a scalar expression, in words; None where none was seen."""
    leaves = {node.payload.name: node for node in reachable([root]) if node.is_leaf and node.payload.name in names}
    places: dict[str, None] = {}
    for condition in _conditions(root):
        free = [name for name, leaf in leaves.items() if leaf in reachable([*condition])]
        text = condition.text
        if not free or text is None or any(node.shape for node in reachable([*condition])):
            continue
        solved = _solved(condition, free[0]) if len(free) == 1 else None
        if not any(_jumps(root, leaves, point) for point in _points(condition, leaves, free, solved)):
            continue
        if solved is None or not all(_jumps(root, leaves, {**_others(leaves), leaves[free[0]]: at}) for _, at in solved):
            places[f"where {text}"] = None
        else:
            places |= dict.fromkeys(f"at {free[0]} = {place}" for place, _ in solved)
    if not places:
        return None
    listed = list(places)
    for before, after in pairwise(list(places)):  # "at x = 0 and x = 2"
        if before[:2] == after[:2] == "at":
            listed[listed.index(after)] = after.removeprefix("at ")
    return " and ".join(listed)


def _conditions(root: Expr) -> Iterator[Condition]:
    for node in reachable([root]):
        op = node.op
        if op is None or not op.elementwise:
            continue
        operands = dict(zip(op.operands, node.operands, strict=False))
        more = ["x = y"] if op.rewriting.algebra == "comparison" else ["x = 0"] if op.undoes and len(operands) == 1 else []
        for place in [*(kink.place for kink in op.kinks), *more]:
            for left, right in _PLACE.findall(place):
                side = operands.get(right)
                if side is None and re.fullmatch(r"-?\d+", right):
                    side = root.graph.constant(int(right))
                operand = operands.get(left)
                if operand is not None and side is not None:
                    yield Condition(operand, side)


def _others(leaves: Mapping[str, Expr]) -> dict[Expr, Any]:
    """Numbers for all names, of which nothing is special."""
    return {leaf: np.float64(0.71 + 0.37 * i) for i, leaf in enumerate(leaves.values())}


def _points(condition: Condition, leaves: Mapping[str, Expr], free: Sequence[str], solved: Any) -> Iterator[dict[Expr, Any]]:
    """Points at which a condition holds, as nearly as floats can."""
    base = _others(leaves)
    for _, at in solved or ():
        yield {**base, leaves[free[0]]: at}
    for name in free:
        found = [(x, condition.apart({**base, leaves[name]: x})) for x in _GRID]
        for (low, before), (high, after) in pairwise(found):
            if before * after < 0:
                yield {**base, leaves[name]: _between(condition, base, leaves[name], low, high)}


def _between(condition: Condition, base: Values, leaf: Expr, low: float, high: float) -> np.float64:
    sign = np.sign(condition.apart({**base, leaf: np.float64(low)}))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sign(condition.apart({**base, leaf: np.float64(middle)})) == sign else (low, middle)
    return np.float64((low + high) / 2)


def _jumps(root: Expr, leaves: Mapping[str, Expr], point: Values) -> bool:
    """Tell whether a derivative, or the value, is another on both sides of a point, along some name; not at a pole."""
    for leaf in leaves.values():
        jumps, sizes = [], []
        for step in _STEPS:
            move = step * (1 + abs(point[leaf]))
            below, above = (_slopes(root, leaves, {**point, leaf: point[leaf] + sign * move}) for sign in (-1, 1))
            jumps.append(np.abs(above - below) / (1 + np.abs(above) + np.abs(below)))
            sizes.append(np.abs(above) + np.abs(below))
        if np.any(sizes[1] > _POLE * sizes[0]):
            continue
        if np.any((jumps[1] > _SEEN) & (jumps[1] > _LASTING * jumps[0])):
            return True
    return False


def _slopes(root: Expr, leaves: Mapping[str, Expr], point: Values) -> np.ndarray:
    """The value and the derivatives at a point."""
    with np.errstate(all="ignore"):
        try:
            values = forward([root], point, order=reachable([root]))
        except GradcliError:
            return np.full(1 + len(leaves), np.nan)
        found = backward(reachable([root]), {root: np.float64(1)}, list(leaves.values()), values.__getitem__)
    return np.array([float(values[root]), *(float(found.get(leaf, 0.0)) for leaf in leaves.values())])


def _solved(condition: Condition, name: str) -> list[tuple[str, np.float64]] | None:
    """The solutions of a condition for a name, as they are written and as floats; None where they are not known in short form."""
    from gradcli.reference.symbolic.zeros import zeros

    found = zeros([*condition], name)
    return None if found is None or len(found) > _MOST else [(text, np.float64(at)) for text, at in found]
