"""Points to try: near a given one, and, where a function has branches, far from it on all sides.

Reproducible: the same state gives the same points. Names of whole numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.engine.graph import Expr

Point = dict[Expr, Any]

_NEAR, _WIDE = 6, 18
SIZES = (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 1e3, 1e5)


def has_branches(order: Sequence[Expr]) -> bool:
    """Whether an expression chooses between formulas: comparisons, absolute values, bounds, extremes, order."""
    return any(node.op is not None and (node.op.kind == "flat" or (bool(node.op.kinks) and node.op.kind != "smooth")) for node in order)


def around(values: Mapping[Expr, Any], movable: Sequence[Expr], branches: bool, state: int = 0) -> Iterator[Point]:
    """Points of the same signs as the given one; with branches, points of all signs and sizes after them."""
    random = np.random.default_rng(state)
    for i in range(_NEAR + (_WIDE if branches else 0)):
        point = dict(values)
        for leaf in movable:
            base = np.asarray(values[leaf], float)
            if i < _NEAR:
                moved = np.where(base == 0, random.uniform(-1, 1, base.shape), base * random.uniform(0.6, 1.6, base.shape))
            else:
                moved = _anything(base.shape, random)
            point[leaf] = moved[()]
        yield point


def anywhere(leaves: Sequence[Expr], count: int, state: int = 0) -> Iterator[Point]:
    """Points of all signs and sizes, for names without values: some simple, most moderate, a few tiny or large."""
    random = np.random.default_rng(state)
    for simple in (0.5, 2.0, -1.5):
        yield {leaf: np.float64(simple + 0.25 * i) for i, leaf in enumerate(leaves)}
    for i in range(count):
        if i % 2:
            yield {leaf: np.float64(random.uniform(-4, 4)) for leaf in leaves}
        elif i % 4:
            yield {leaf: np.float64(random.uniform(0.05, 6)) for leaf in leaves}
        else:
            yield {leaf: _anything((), random)[()] for leaf in leaves}


def _anything(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    size = np.asarray(random.choice(SIZES, shape)) * random.uniform(0.5, 1.5, shape)
    return np.asarray(size * random.choice([-1.0, 1.0], shape))


def simpler(point: Point, leaves: Sequence[Expr]) -> Iterator[Point]:
    """The same point with one number made rounder, for finding the simplest that still fails."""
    for leaf in leaves:
        value = float(point[leaf])
        for digits in (0, 1, 2):
            rounded = float(f"{value:.{digits}g}") if digits else float(round(value))
            if rounded != value and len(repr(rounded)) < len(repr(value)):
                yield {**point, leaf: np.float64(rounded)}
        for plain in (1.0, 2.0, -1.0, 0.5):
            if len(repr(plain)) < len(repr(value)):
                yield {**point, leaf: np.float64(plain)}
