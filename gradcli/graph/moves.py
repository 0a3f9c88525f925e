"""Places to which linear operations move or add entries, read from labels: numbers that no sum or difference of two could be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.axes import sources
from gradcli.ops.spec import Op

_LABEL = 2.0**51  # labels lie between this and its double, so that neither a sum nor a difference of two is one


def sources_of_entries(node: Expr, op: Op) -> tuple[np.ndarray, list[int]] | None:
    """Return where each entry of a result comes from; None where one is more than an entry of an operand.

    The places are counted from 1 among the entries of all operands, one after the other, of which each has as many as the list says;
    0 stands for zeros.
    """
    if not op.moves:
        return None
    shapes = [o.shape for o in node.operands if o is not None]
    return sources(op, shapes, node.static), list(map(math.prod, shapes))


def targets_of_entries(node: Expr, op: Op) -> np.ndarray | None:
    """Return to which entry of the result each one of the only operand is added, counted from 1, and 0 for none; None where it is changed.

    What flows back are then labels that only moved.
    """
    if not op.linear or op.outputs > 1 or len(node.operands) != 1 or op.vjp is None:
        return None
    shape = node.operand.shape
    labels = _labels(math.prod(node.shape)).reshape(node.shape)[()]
    (back,) = op.vjp((True,), labels, np.zeros(node.shape)[()], np.zeros(shape)[()], **node.static)
    return None if back is None else _places(np.broadcast_to(back, shape), labels)


def known_indices(node: Expr, op: Op) -> Mapping[Expr, Any] | None:
    """Return the whole numbers by which an operation addresses entries; None where a value decides them."""
    chosen = [node.operands[place] for place in op.index_places if place < len(node.operands)]
    indices = [index for index in chosen if index is not None]
    if any(part.is_leaf for part in reachable(indices)):
        return None
    table = forward(indices, {})
    return {index: table[index] for index in indices}


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
