"""Which entries of variables each entry of a result depends on: a reading of the graph in sets of entries.

What an operation does with sets is read from its record: entry by entry it unites those of its operands, an operation on axes
(`Loops.axes`) says what it adds up, what is linear shows where it moves entries by moving labels, and of an ``axis`` entries along it mix.
Of everything else each entry may depend on all. So a pattern is that of the derivative, or has more entries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.interpret import Domain, forward, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.patterns import Pattern, Sets
from gradcli.ops.looping import Fold
from gradcli.ops.reductions.along import reduced
from gradcli.ops.spec import Op
from gradcli.ops.writing import axes_of

_PRODUCTS = 4_000_000  # entries that are multiplied in a sum of products: more are taken for a dense product
_LABEL = 2.0**51  # labels lie between this and its double, so that neither a sum nor a difference of two is one


def dependence(roots: Sequence[Expr], variables: Sequence[Expr]) -> Pattern:
    """Of which entries of variables, one variable after the other, the entries of results may have a derivative."""
    sizes = [int(np.prod(x.shape)) for x in variables]
    sets = Sets(sum(sizes))
    table: dict[Expr, Any] = {}
    begin = 0
    for x, size in zip(variables, sizes, strict=True):
        table[x] = np.arange(begin + 1, begin + size + 1).reshape(x.shape)
        begin += size
    interpret(reachable(roots), Dependence(sets), table)
    found = [np.zeros(root.shape, int) if table[root] is None else table[root] for root in roots]
    return sets.pattern(np.concatenate([np.zeros(0, int), *(numbers.ravel() for numbers in found)]))


class Dependence(Domain[Any]):
    """The set that each entry of a node depends on, by its number; None for nodes that depend on nothing."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets

    def leaf(self, node: Expr) -> None:
        return None

    constant = leaf

    def part(self, node: Expr, whole: Any, place: int) -> Any:
        return None if whole is None else whole[place]

    def detach(self, node: Expr, x: Any) -> None:
        return None

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        moving = [i for i, x in enumerate(operands) if x is not None]
        if op.partials is not None:
            moving = [i for i in moving if op.partials[i] is not None]
        if not moving or (op.partials is None and op.vjp is None):
            return None
        if op.elementwise:
            return np.broadcast_to(reduce(self.sets.both, [operands[i] for i in moving]), node.shape)
        for reading in (self._by_axes, self._by_parts, self._moved, self._gathered, self._by_axis, self._by_batch):
            found = reading(node, op, operands)
            if found is not None:
                return found
        return self._dense(node, operands)

    def _dense(self, node: Expr, operands: Sequence[Any]) -> Any:
        """Each entry of everything: what is always right."""
        numbers = np.unique(np.concatenate([x.ravel() for x in operands if x is not None]))
        whole = self.sets.united(np.zeros(numbers.size, int), numbers, 1)[0]
        shapes = node.shape if node.op is not None and node.op.outputs > 1 else (node.shape,)
        found = tuple(np.full(shape, whole) for shape in shapes)
        return found if node.op is not None and node.op.outputs > 1 else found[0]

    def _by_axes(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """What the record says of axes."""
        if op.loops.axes is None or None in node.operands:
            return None
        known = _known_indices(node, op)
        if known is None:
            return None
        views = [
            known[o] if o in known else np.zeros(o.shape, int) if x is None else x
            for o, x in zip(node.operands, operands, strict=True)
            if o is not None
        ]
        try:
            found = op.loops.axes(Along(self.sets), *views, **node.static)
        except _NoLoop:
            return None
        return found if found.shape == node.shape else None

    def _by_parts(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """What it is made of."""
        if op.loops.parts is None:
            return None
        made = op.loops.parts(*node.operands, **node.static)
        known: dict[Expr, Any] = {o: x for o, x in zip(node.operands, operands, strict=True) if o is not None}
        order = [part for part in _between([made], known) if part not in known]
        return None if node in order else interpret(order, self, known)[made]  # itself, where its parts take no less

    def _moved(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Each entry of a result is one of an operand's, or nothing: a linear operation shows so by what it does with labels.

        What chooses entries has to be known.
        """
        if not op.facts.linear or op.outputs > 1:
            return None
        indices = _known_indices(node, op)
        if indices is None:
            return None
        sizes = [0 if o is None or o in indices else int(np.prod(o.shape)) for o in node.operands]
        labels = _labels(sum(sizes))
        ends = np.cumsum(sizes)
        given = [
            None if o is None else indices[o] if o in indices else labels[end - size : end].reshape(o.shape)[()]
            for o, size, end in zip(node.operands, sizes, ends, strict=True)
        ]
        try:
            moved = op.forward(*given, **node.static)
        except (GradcliError, ValueError, TypeError, IndexError, ArithmeticError):
            return None  # labels are no values for it
        places = _places(moved, labels)
        if places is None:
            return None
        numbers = [0 if x is None else x for x in operands]
        flat = [np.broadcast_to(x, () if o is None else o.shape).ravel() for o, x in zip(node.operands, numbers, strict=True)]
        return np.concatenate([[0], *[x for x, size in zip(flat, sizes, strict=True) if size]]).astype(int)[places]

    def _gathered(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Each entry of the operand goes to one of the result: what flows back are labels that only moved."""
        if not op.facts.linear or op.outputs > 1 or len(node.operands) != 1 or op.vjp is None:
            return None
        (x,) = node.operands
        assert x is not None
        labels = _labels(int(np.prod(node.shape))).reshape(node.shape)[()]
        (back,) = op.vjp((True,), labels, np.zeros(node.shape)[()], np.zeros(x.shape)[()], **node.static)
        places = None if back is None else _places(np.broadcast_to(back, x.shape), labels)
        if places is None:
            return None
        taken = places.ravel() > 0
        found = self.sets.gathered(places.ravel()[taken] - 1, operands[0].ravel()[taken], labels.size)
        return found.reshape(node.shape)

    def _by_axis(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Entries mix along an axis only, which is reduced or stays."""
        if "axis" not in node.static or op.outputs > 1 or len(node.operands) != 1:
            return None
        x, axis = node.operand, node.static["axis"]
        if axis is None or not x.shape:
            return None
        mixed = self.sets.along(operands[0], axes_of(axis, len(x.shape)))
        if node.shape == x.shape:
            return np.broadcast_to(mixed, x.shape)
        shapes = [reduced(x.shape, axis, keepdims) for keepdims in (True, False)]
        return mixed.reshape(node.shape) if node.shape in shapes else None

    def _by_batch(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Entries mix in the trailing axes that the record names, batch by batch."""
        if op.core_dims is None or op.outputs > 1 or len(op.core_dims) != len(node.operands):
            return None
        cores = [0 if o is None else min(core, len(o.shape)) for o, core in zip(node.operands, op.core_dims, strict=True)]
        lead = np.broadcast_shapes(*(o.shape[: len(o.shape) - n] for o, n in zip(node.operands, cores, strict=True) if o is not None))
        batches = []
        for x, n in zip(operands, cores, strict=True):
            if x is not None:
                batches.append(self.sets.along(x, range(x.ndim - n, x.ndim)).reshape(x.shape[: x.ndim - n]))
        if node.shape[: len(lead)] != lead:
            return None
        whole = np.broadcast_to(reduce(self.sets.both, batches), lead)
        return np.broadcast_to(whole.reshape((*lead, *[1] * (len(node.shape) - len(lead)))), node.shape)


def _between(roots: Sequence[Expr], ends: Mapping[Expr, Any]) -> list[Expr]:
    """What roots are made of, each after its operands, as far as it is not known."""
    seen = set(roots)
    nodes = list(seen)
    for node in nodes:  # which grow
        for operand in () if node in ends else node.operands:
            if operand is not None and operand not in seen:
                seen.add(operand)
                nodes.append(operand)
    return sorted(nodes, key=lambda node: node.index)


def _known_indices(node: Expr, op: Op) -> Mapping[Expr, Any] | None:
    """The whole numbers by which an operation addresses entries; None where a value decides them."""
    chosen = [node.operands[place] for place in op.index_places if place < len(node.operands)]
    indices = [index for index in chosen if index is not None]
    if any(part.is_leaf for part in reachable(indices)):
        return None
    table = forward(indices, {})
    return {index: table[index] for index in indices}


class _NoLoop(Exception):
    """What a record says of its operation is not about sets of entries here."""


class Along:
    """What records describe operations on axes with (`gradcli.ops.looping`), on arrays of sets."""

    NoLoop = _NoLoop

    def __init__(self, sets: Sets) -> None:
        self.sets = sets

    def folded(self, x: np.ndarray, fold: Fold, axis: Any, keepdims: bool) -> np.ndarray:
        gone = axes_of(axis, x.ndim)
        found = self.sets.along(x, gone)
        return found if keepdims else found.reshape([n for i, n in enumerate(x.shape) if i not in gone])

    def arranged(self, x: np.ndarray, order: Sequence[int | None]) -> np.ndarray:
        kept = [place for place in order if place is not None]
        if any(x.shape[place] != 1 for place in range(x.ndim) if place not in kept):
            raise _NoLoop
        moved = x.transpose(*kept, *(place for place in range(x.ndim) if place not in kept))
        return moved.reshape([1 if place is None else x.shape[place] for place in order])

    def reshaped(self, x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        return x.reshape(shape)

    def repeated(self, x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        return np.broadcast_to(x, shape)

    def product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if math.prod(np.broadcast_shapes(x.shape, y.shape)) > _PRODUCTS:
            raise _NoLoop
        return self.sets.both(x, y)

    def picked(self, x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
        if x.ndim != index.ndim or any(n != m for i, (n, m) in enumerate(zip(x.shape, index.shape, strict=True)) if i != axis % x.ndim):
            raise _NoLoop
        found: np.ndarray = np.take_along_axis(x, index, axis)
        return found

    def put(self, x: np.ndarray, index: np.ndarray, axis: int, extent: int) -> np.ndarray:
        if x.shape != index.shape:
            raise _NoLoop
        shape = (*x.shape[: axis % x.ndim], extent, *x.shape[axis % x.ndim + 1 :])
        places = np.take_along_axis(np.arange(math.prod(shape)).reshape(shape), index, axis)
        return self.sets.gathered(places, x, math.prod(shape)).reshape(shape)


def _labels(count: int) -> np.ndarray:
    """Floats that are told apart, in no order that a sum of some could meet."""
    found: np.ndarray = np.unique(np.random.default_rng(0).integers(0, int(_LABEL), 2 * count + 8))[::2][:count] + _LABEL
    return found


def _places(moved: Any, labels: np.ndarray) -> np.ndarray | None:
    """The places of labels, counted from 1, and 0 for zeros; None if there is anything else."""
    moved, known = np.asarray(moved), labels.ravel()
    found = np.minimum(np.searchsorted(known, moved), max(known.size - 1, 0))
    if known.size == 0:
        return None if moved.any() else np.zeros(moved.shape, int)
    zero = moved == 0
    if not (zero | (known[found] == moved)).all():
        return None
    return np.where(zero, 0, found + 1)
