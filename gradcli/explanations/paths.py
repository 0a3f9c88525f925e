"""A gradient by paths: what flows back along each way from the result to a name, which add up to the gradient.

Paths are counted node by node, and their contributions carried along from the result down: at every node the largest ways to it are kept,
by the sum of magnitudes. For numbers that is exact, since what follows multiplies all of them alike; of arrays, whose entries may be
scaled differently further down, the ways kept are those that are largest so far. Of very long ones fewer are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.explanations.recorded import Recorded, Table, fitting, pulled
from gradcli.graph.nodes import Expr

ALL = 32  # paths to a name up to which all are listed
SHOWN = 12  # of those that are more
_MANY = 2_000  # nodes from which on fewer are kept on the way
_ROOM = 100_000  # nodes of all paths that are listed together


class _Way(NamedTuple):
    """A way from the result to a node: the cotangent that arrives by it, the way before, and how many nodes that has with this one."""

    size: float
    cotangent: Any
    node: Expr
    before: _Way | None
    length: int


class Found(NamedTuple):
    """A path from a leaf to the result, both included, and what flows back along it."""

    nodes: tuple[Expr, ...]
    contribution: Any


Paths = dict[Expr, tuple[list[Found], int]]  # by leaves: the largest, and how many more there are


def paths(record: Recorded, seed: Any, wrt: Iterable[Expr], values: Table, same: Mapping[Expr, Expr]) -> Paths:
    """The paths of all nodes that are asked for.

    same  what stands for each node; two edges between the same two are one path
    """
    root = same[record.order[-1]]
    order = [node for node in record.order if same[node] is node]
    edges = _edges(record, same)
    targets = {same.get(node, node): node for node in wrt}  # what does not stand in the result has none
    counts = _counts(order, root, edges) if record.order[-1] in record.adjoints else {}
    most = max([count for node in targets if (count := counts.get(node, 0)) <= ALL] + [SHOWN])
    kept = ALL if len(order) <= _MANY else most
    ways: dict[Expr, list[_Way]] = {root: [_Way(_size(seed), seed, root, None, 1)]} if counts else {}
    found: Paths = {node: ([], 0) for node in targets.values()}
    room = _ROOM
    with np.errstate(all="ignore"):
        for node in reversed(order):
            here = ways.pop(node, None)
            if here is None:
                continue
            if node in targets:
                shown = here[: ALL if counts[node] <= ALL else SHOWN]
                while shown and sum(way.length for way in shown) > room:
                    shown.pop()
                room -= sum(way.length for way in shown)
                found[targets[node]] = [_unwound(way) for way in shown], counts[node] - len(shown)
            if node in edges:
                for way in here:
                    for operand, cotangent in _along(way, node, edges[node], record, values, same).items():
                        ways.setdefault(operand, []).append(_Way(_size(cotangent), cotangent, operand, way, way.length + 1))
                for operand in edges[node]:
                    ways[operand] = sorted(ways[operand], key=_by_size, reverse=True)[:kept]
    return found


def _edges(record: Recorded, same: Mapping[Expr, Expr]) -> dict[Expr, dict[Expr, None]]:
    """The operands to which each node passed something back."""
    found: dict[Expr, dict[Expr, None]] = {}
    for passed in record.passed:
        node, operand = same[passed.node], same[passed.operand]
        if node is not operand:
            found.setdefault(node, {})[operand] = None
    return found


def _counts(order: Sequence[Expr], root: Expr, edges: Mapping[Expr, Iterable[Expr]]) -> dict[Expr, int]:
    """How many ways lead from the result to each node."""
    counts = {root: 1}
    for node in reversed(order):
        if node in counts:
            for operand in edges.get(node, ()):
                counts[operand] = counts.get(operand, 0) + counts[node]
    return counts


def _along(way: _Way, node: Expr, operands: Iterable[Expr], record: Recorded, values: Table, same: Mapping[Expr, Expr]) -> dict[Expr, Any]:
    """What arrives by a way at the operands of its last node."""
    found: dict[Expr, Any] = {}
    parts = pulled(node, way.cotangent, record, values)
    for operand, part in zip(node.operands, parts, strict=False):
        if part is not None and operand is not None:
            fitted = fitting(part, operand)
            earlier = found.get(same[operand])
            found[same[operand]] = fitted if earlier is None else earlier + fitted
    for operand in operands:
        if operand not in found:  # a zero, of which a rule makes nothing
            found[operand] = np.zeros_like(np.asarray(values[operand], float))[()]
    return found


def _size(cotangent: Any) -> float:
    """The sum of magnitudes; what is not finite is the largest."""
    if isinstance(cotangent, tuple):
        return sum(_size(part) for part in cotangent if part is not None)
    size = abs(float(cotangent)) if np.ndim(cotangent) == 0 else float(np.abs(cotangent).sum())
    return size if size == size else np.inf


def _by_size(way: _Way) -> float:
    return way.size


def _unwound(way: _Way) -> Found:
    """A way as a path, from the leaf up."""
    nodes: list[Expr] = []
    step: _Way | None = way
    while step is not None:
        nodes.append(step.node)
        step = step.before
    return Found(tuple(nodes), way.cotangent)
