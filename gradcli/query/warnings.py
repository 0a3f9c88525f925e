"""Warnings that say where a value became infinite or NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import Source, Span
from gradcli.graph.interpret import Values, forward
from gradcli.graph.nodes import Expr
from gradcli.language.scope import Scope

_KEPT = 1 << 24  # entries of an array up to which intermediate values are kept to explain a NaN
_STRETCH = 1 << 17  # entries that are looked at together


def nonfinite(scope: Scope, order: Sequence[Expr], values: Values) -> list[str]:
    """A warning that says where a value first became infinite or NaN."""
    if order[-1].kind != "float" or _finite(values[order[-1]]):
        return []
    for node in order:
        if node.kind != "float" or node.op is None or node.op.outputs > 1 or _finite(values[node]):
            continue
        operands = [o for o in node.operands if o is not None and o.kind == "float" and not isinstance(values[o], tuple)]
        if all(_finite(values[o]) for o in operands):
            array = np.asarray(values[node])
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            where = f" at index {list(place)}" if place else ""
            return [f"{text_of(scope, node)} is {array[place]}{where}"]
    return ["a value that was given is not finite"]


def nonfinite_of_large(scope: Scope, order: Sequence[Expr]) -> list[str]:
    """The same of large arrays: by all intermediate values, if memory can be expected to hold them."""
    if all(math.prod(node.shape) <= _KEPT for node in order if node.is_leaf):
        return nonfinite(scope, order, forward([order[-1]], scope.values, scope.precision, order))
    for leaf in order:
        if leaf.is_leaf and leaf.kind == "float":
            array = np.asarray(scope.values[leaf])
            place = first_nonfinite(array)
            if place is not None:
                return [f"'{leaf.payload.name}' is {array[place]}{f' at index {list(place)}' if place else ''}"]
    return ["the value is not finite; a smaller part of the data would say where"]


def first_nonfinite(value: Any) -> tuple[int, ...] | None:
    """The index of the first entry that is infinite or NaN, without an array of truths beside the value."""
    flat = np.ravel(value)
    for start in range(0, flat.size, _STRETCH):
        wrong = np.flatnonzero(~np.isfinite(flat[start : start + _STRETCH]))
        if wrong.size:
            return tuple(int(i) for i in np.unravel_index(start + int(wrong[0]), np.shape(value)))
    return None


def _finite(value: Any) -> bool:
    return math.isfinite(value) if type(value) is np.float64 else bool(np.isfinite(value).all())


def text_of(scope: Scope, node: Expr) -> str:
    """What the user wrote for a node."""
    places: list[tuple[Source, Span]] = scope.spans(node)
    if not places:
        return f"the result of {node.op.name}" if node.op else "a value"
    source, span = places[0]
    text = source.text[span.start : span.end]
    return f"'{text}'" if len(text) <= 60 else f"the result of {node.op.name}" if node.op else "a value"
