"""Points to try: near a given one, and, where a function has branches, far from it on all sides.

Reproducible: the same state gives the same points. Names of whole numbers stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.domains import ranges
from gradcli.ops.spec import Op

Point = dict[Expr, Any]

_NEAR, _MIXED, _MARKS = 6, 10, 6
_MODERATE = (0.1, 0.5, 1.0, 2.0, 5.0)
SIZES = (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 1e3, 1e5)


def has_branches(order: Sequence[Expr]) -> bool:
    """Whether an expression chooses between formulas: comparisons, absolute values, bounds, extremes, order, or as sqrt(x**2) does."""
    return any(node.op is not None and _chooses(node, node.op) for node in order)


def in_range(order: Sequence[Expr], values: Mapping[Expr, Any]) -> Any:
    """Return where the last node of an order is finite, and nothing on the way is infinite.

    Where something is chosen (`where`), what is not chosen may be anything.
    """
    found = np.isfinite(np.asarray(values[order[-1]], float))
    selects = any(node.op is not None and node.op.rewriting.selects for node in order)
    for node in () if selects else order:
        if node.kind == "float" and node.op is not None and node.op.elementwise:
            found = found & ~np.isinf(values[node])
    return found


def _chooses(node: Expr, op: Op) -> bool:
    if op.kind != "smooth":
        return op.kind == "flat" or bool(op.kinks)
    return op.facts.inverse == "always" or (op.facts.inverse != "" and node.operand.op is not None and not _is_whole_power(node, op))


def _is_whole_power(node: Expr, op: Op) -> bool:
    exponent: Any = node.operands[-1]
    return op.rewriting.algebra == "power" and _is_number(exponent) and float(exponent.payload).is_integer()


def _is_number(node: Any) -> bool:
    return node.op is None and node.is_constant and isinstance(node.payload, (int, float)) and bool(np.isfinite(node.payload))


def around(values: Mapping[Expr, Any], movable: Sequence[Expr], order: Sequence[Expr], state: int = 0) -> Iterator[Point]:
    """Points around the given one; if the nodes of ``order`` have branches, points of all signs and sizes between them."""
    random = np.random.default_rng(state)

    def near(base: np.ndarray) -> np.ndarray:
        return np.where(base == 0, random.uniform(-1, 1, base.shape), base * random.uniform(0.6, 1.6, base.shape))

    far = _far(order, random) if has_branches(order) else []
    ways = [way for pair in zip_longest([near] * _NEAR, far) for way in pair if way is not None]
    for way in ways:
        yield {**values, **{leaf: way(np.asarray(values[leaf], float))[()] for leaf in movable}}


def moderate(values: Mapping[Expr, Any], movable: Sequence[Expr], state: int = 0) -> Iterator[Point]:
    """Points of moderate size, with the signs of the given one: for where a function has faded away to nothing."""
    random = np.random.default_rng(state)
    for size in _MODERATE:
        bases = {leaf: np.asarray(values[leaf], float) for leaf in movable}
        moved = {leaf: (np.where(base < 0, -size, size) * random.uniform(0.5, 1.5, base.shape))[()] for leaf, base in bases.items()}
        yield {**values, **moved}


def _far(order: Sequence[Expr], random: np.random.Generator) -> list[Callable[[np.ndarray], np.ndarray]]:
    """Ways to move far: each size with the given signs and with the opposite ones, sizes mixed, and both sides of the constants."""

    def level(size: float, sign: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda base: sign * np.where(base < 0, -1.0, 1.0) * size * random.uniform(0.5, 1.5, base.shape)

    def beside(mark: float, within: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda base: mark * (1 + random.uniform(-within, within, base.shape))

    levels = [level(size, sign) for size in SIZES for sign in (-1.0, 1.0)]
    random.shuffle(levels)
    marks = sorted({float(node.payload) for node in order if _is_number(node) and node.payload}, key=abs)
    some = marks[:: len(marks) // _MARKS + 1]
    sides = [beside(mark, within) for mark in some for within in (1e-2, 1e-5)]
    mixed = [lambda base: _anything(base.shape, random)] * _MIXED
    return [way for trio in zip_longest(levels, mixed, sides) for way in trio if way is not None]


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
            points.append([np.float64(_anything((), random)) for _ in range(names)])
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
