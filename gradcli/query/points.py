"""Points for names without values: some of all signs and sizes, some within the domains of operations, and simpler ones that fail, too.

Reproducible: the same state gives the same points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from gradcli.check.sampling import Point, anything
from gradcli.graph.nodes import Expr
from gradcli.ops.facts import ranges


def anywhere(leaves: Sequence[Expr], count: int, state: int = 0) -> Iterator[Point]:
    """Points of all signs and sizes, for names without values: some simple, most moderate, a few tiny or large."""
    for coordinates in _coordinates(len(leaves), count, state):
        yield dict(zip(leaves, coordinates, strict=True))


@lru_cache(64)
def _coordinates(names: int, count: int, state: int) -> list[list[np.float64]]:
    random = np.random.default_rng(state)
    points = [[np.float64(simple + 0.25 * i) for i in range(names)] for simple in (0.5, 2.0, -1.5)]
    for i in range(count):
        if i % 2:
            points.append([np.float64(random.uniform(-4, 4)) for _ in range(names)])
        elif i % 4:
            points.append([np.float64(random.uniform(0.05, 6)) for _ in range(names)])
        else:
            points.append([np.float64(anything((), random)) for _ in range(names)])
    return points


def in_domains(order: Sequence[Expr], leaves: Sequence[Expr], count: int, state: int = 0) -> Iterator[Point]:
    """Points at which each name is in the domains of all operations that it is an operand of."""
    random = np.random.default_rng(state)
    nodes = [(dict(zip(node.op.operands, node.operands, strict=False)), ranges(node.op.domain)) for node in order if node.op is not None]
    for _ in range(count):
        within = dict.fromkeys(leaves, (-math.inf, math.inf))
        for operands, choices in nodes:
            for name, (low, high) in choices[random.integers(len(choices))].items() if choices else ():
                if (leaf := operands.get(name)) in within:
                    within[leaf] = max(low, within[leaf][0]), min(high, within[leaf][1])
        yield {leaf: np.float64(_within(low, high, random)) for leaf, (low, high) in within.items()}


def _within(low: float, high: float, random: np.random.Generator) -> float:
    """A number between two others, of moderate size if one is not finite."""
    if math.isfinite(low) and math.isfinite(high):
        return float(random.uniform(low, high)) if low <= high else low
    size = float(np.exp(random.uniform(-2, 2)))
    return low + size if math.isfinite(low) else high - size if math.isfinite(high) else float(random.uniform(-4, 4))


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
