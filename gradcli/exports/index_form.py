"""Graphs in index form for exports: products of any size, sums of what is repeated, and entries that only move, by tables of places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Graph
from gradcli.ops import looping
from gradcli.ops.arrays.shapes import numpy_index
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.writing import axes_of
from gradcli.plans.axes import View
from gradcli.plans.indices import Indices
from gradcli.plans.reading import Reader


class _Indices(Indices):
    """Sums also of what is repeated along axes: as often as it is, which large arrays never are."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def folded(self, view: View, fold: looping.Fold, axis: Any, keepdims: bool) -> View:
        repeated = [place for place in view.places if place is not None and place.same not in view.item.axes]
        gone = axes_of(axis, len(view.places))
        if not repeated or fold is not looping.SUM:
            return super().folded(view, fold, axis, keepdims)
        places = tuple(None if i in gone else a for i, a in enumerate(view.places) if keepdims or i not in gone)
        over = [place.same for i, place in enumerate(view.places) if i in gone and place is not None]
        item = self._fold(view.item, fold, [place for place in over if place in view.item.axes])
        count = math.prod(place.extent for place in over if place not in view.item.axes)
        number = self._number(self.graph.constant(float(count)))
        return View(self.map_items(arithmetic.mul, (number, item), {}, item.kind, (True, True)), places)


class IndexForm(Reader):
    """Every node in index form that has one; what moves entries otherwise is copied."""

    def __init__(self, order: Sequence[Expr]) -> None:
        super().__init__(order, in_c=False, merging=False, indices=_Indices(order[-1].graph))

    def _takes_products(self, node: Expr) -> bool:
        return True


def moves(node: Expr) -> tuple[np.ndarray, bool] | None:
    """Where each entry of a result comes from, as flat places of its operand; or where each entry of the operand is added to."""
    op = node.op
    assert op is not None
    if op.outputs != 1 or len(node.operands) != 1:
        return None
    if op.result == "same":
        n = math.prod(node.operand.shape)
        source = np.arange(n, dtype=np.float64).reshape(node.operand.shape)
        try:
            places = np.asarray(op.forward(source, **node.static)).ravel()
        except (ValueError, TypeError, IndexError):
            return None
        whole = places.astype(np.int64)
        if op.facts.linear and (np.asarray(op.forward(source + 1, **node.static)).ravel() == places + 1).all():
            return whole, False
        return None
    if "index" in node.static and "shape" in node.static and op.facts.linear:
        shape = node.static["shape"]
        places = np.arange(math.prod(shape)).reshape(shape)[numpy_index(node.static["index"])]
        return np.broadcast_to(places, node.operand.shape).ravel().astype(np.int64), True
    return None
