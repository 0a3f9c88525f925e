"""Points to try: near a given one, and, where a function has branches, far from it on all sides.

Reproducible: the same state gives the same points. Names of whole numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.spec import Op

Point = dict[Expr, Any]

_NEAR, _MIXED, _MARKS = 6, 10, 6
_MODERATE = (0.1, 0.5, 1.0, 2.0, 5.0)
SIZES = (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 1e3, 1e5)


def _chooses(node: Expr, op: Op) -> bool:
    """Return whether a node chooses between formulas: comparisons, absolute values, bounds,
    extremes, order, or as sqrt(x**2) does.
    """
    if op.kind != "smooth":
        return op.kind == "flat" or bool(op.kinks)
    if not op.undoes:
        return bool(op.kinks)
    exponent: Any = node.operands[-1]
    is_whole_power = (
        op.algebra == "power" and _is_number(exponent) and float(exponent.payload).is_integer()
    )
    return node.operand.op is not None and not is_whole_power


def _is_number(node: Any) -> bool:
    return (
        node.op is None
        and node.is_constant
        and isinstance(node.payload, (int, float))
        and bool(np.isfinite(node.payload))
    )


def around(
    values: Mapping[Expr, Any],
    movable: Sequence[Expr],
    order: Sequence[Expr],
    state: int,
    faded: bool,
) -> Iterator[Point]:
    """Points around the given one; if the nodes of ``order`` have branches, points of all signs and
    sizes between them.

    faded  whether the function has faded away to nothing: then points of moderate size, with the
           given signs, come first
    """
    bases = {leaf: np.asarray(values[leaf], float) for leaf in movable}
    random = np.random.default_rng(state)
    for size in _MODERATE if faded else ():
        moved = {
            leaf: (np.where(base < 0, -size, size) * random.uniform(0.5, 1.5, base.shape))[()]
            for leaf, base in bases.items()
        }
        yield {**values, **moved}
    random = np.random.default_rng(state)

    def near(base: np.ndarray) -> np.ndarray:
        return np.where(
            base == 0,
            random.uniform(-1, 1, base.shape),
            base * random.uniform(0.6, 1.6, base.shape),
        )

    has_branches = any(node.op is not None and _chooses(node, node.op) for node in order)
    far = _far(order, random) if has_branches else []
    ways = [way for pair in zip_longest([near] * _NEAR, far) for way in pair if way is not None]
    for way in ways:
        yield {**values, **{leaf: way(base)[()] for leaf, base in bases.items()}}


def _far(
    order: Sequence[Expr], random: np.random.Generator
) -> list[Callable[[np.ndarray], np.ndarray]]:
    """Ways to move far: each size with the given signs and with the opposite ones, sizes mixed, and
    both sides of the constants.
    """

    def level(size: float, sign: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda base: (
            sign * np.where(base < 0, -1.0, 1.0) * size * random.uniform(0.5, 1.5, base.shape)
        )

    def near_mark(mark: float, within: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda base: mark * (1 + random.uniform(-within, within, base.shape))

    levels = [level(size, sign) for size in SIZES for sign in (-1.0, 1.0)]
    random.shuffle(levels)
    marks = sorted(
        {float(node.payload) for node in order if _is_number(node) and node.payload}, key=abs
    )
    some = marks[:: len(marks) // _MARKS + 1]
    sides = [near_mark(mark, within) for mark in some for within in (1e-2, 1e-5)]
    mixed = [lambda base: anything(base.shape, random)] * _MIXED
    return [way for trio in zip_longest(levels, mixed, sides) for way in trio if way is not None]


def anything(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    size = np.asarray(random.choice(SIZES, shape)) * random.uniform(0.5, 1.5, shape)
    return np.asarray(size * random.choice([-1.0, 1.0], shape))
