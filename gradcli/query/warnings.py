"""Warnings that say where a value became infinite or NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.errors import LimitError, Source, Span
from gradcli.graph.interpret import Values, forward
from gradcli.graph.nodes import Expr
from gradcli.language.scope import Scope

_KEPT = 1 << 24  # entries of an array up to which intermediate values are kept to explain a NaN
_TOLD = 3  # operations that are named
_STRETCH = 1 << 17  # entries that are looked at together


def nonfinite(scope: Scope, order: Sequence[Expr], values: Values) -> list[str]:
    """Warnings that say where a value first became infinite or NaN: the operations and entries that the result has it from."""
    if order[-1].kind != "float" or _finite(values[order[-1]]):
        return []
    found: list[str] = []
    given = False
    blamed: dict[Expr, Any] = {order[-1]: ~np.isfinite(values[order[-1]])}
    for node in reversed(order):
        entries = blamed.pop(node, None)
        if entries is None:
            continue
        if node.op is None:
            given = True
            continue
        passed, born = _origins(node, entries, values)
        for operand, part in passed.items():
            blamed[operand] = part | blamed[operand] if operand in blamed else part
        if node.op.outputs == 1 and born.any():
            found.append(_born(scope, node, born, values))
    told = list(dict.fromkeys(reversed(found)))[:_TOLD]
    return ["a value that was given is not finite", *told] if given else told


def _origins(node: Expr, entries: Any, values: Values) -> tuple[dict[Expr, Any], Any]:
    """The entries of operands that make some entries of a result infinite or NaN, and the entries that its operation makes so itself."""
    op, value = node.op, values[node]
    assert op is not None
    operands = {o: values[o] for o in node.operands if o is not None and (o.kind == "float" or isinstance(values[o], tuple))}
    if not op.elementwise:
        bad = {o: _nonfinite(v) for o, v in operands.items()}
        passed = {o: part for o, part in bad.items() if np.any(part)}
        made = not passed or (_has_nan(value) and not any(map(_has_nan, operands.values())))
        return passed, np.asarray(entries if made else False)
    passed, explained, nan = {}, np.zeros(np.shape(entries), bool), np.zeros(np.shape(entries), bool)
    for operand, v in operands.items():
        spread = np.broadcast_to(v, np.shape(entries))
        bad = entries & ~np.isfinite(spread)
        if op.facts.selects:
            bad = bad & ((spread == value) | np.isnan(spread) & np.isnan(value))
            if operand.is_constant:
                continue  # nobody gave it: so the function is defined there
        if np.any(bad):
            explained, nan = explained | bad, nan | np.isnan(spread)
            passed[operand] = _where_spread(bad, np.shape(v))
    return passed, entries & (~explained | np.isnan(value) & ~nan)


def _where_spread(entries: Any, shape: tuple[int, ...]) -> Any:
    """The entries of an array of a shape that is spread over those that are meant."""
    lead = np.ndim(entries) - len(shape)
    stretched = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return np.any(entries, axis=stretched).reshape(shape)


def _nonfinite(value: Any) -> Any:
    return np.asarray(not _all_finite(value)) if isinstance(value, tuple) else ~np.isfinite(value)


def _all_finite(parts: tuple[Any, ...]) -> bool:
    return all(bool(np.isfinite(part).all()) for part in parts)


def _has_nan(value: Any) -> bool:
    return any(map(_has_nan, value)) if isinstance(value, tuple) else bool(np.isnan(value).any())


def _born(scope: Scope, node: Expr, entries: Any, values: Values) -> str:
    """What became infinite or NaN, where, and of which two numbers."""
    array = np.asarray(values[node])
    place = tuple(int(i) for i in np.argwhere(np.broadcast_to(entries, array.shape))[0])
    where = f" at index {list(place)}" if place else ""
    assert node.op is not None
    if node.op.facts.selects:
        where += ", by its definition there"
    return f"{text_of(scope, node)} is {array[place]}{where}{_of_two(node, array, place, values)}"


def _of_two(node: Expr, array: np.ndarray, place: tuple[int, ...], values: Values) -> str:
    """The two numbers between which an operator stands, as in ``: 0.0/0.0``."""
    assert node.op is not None
    sign = node.op.text.infix
    if not node.op.elementwise or not sign or len(node.operands) != 2:
        return ""
    x, y = (float(np.broadcast_to(values[o], array.shape)[place]) for o in node.operands if o is not None)
    left = f"({x!r})" if sign == "**" and x < 0 else f"{x!r}"
    right = f"({y!r})" if y < 0 else f"{y!r}"
    return f": {left} {sign} {right}" if sign in "+-" else f": {left}{sign}{right}"


def nonfinite_of_large(scope: Scope, order: Sequence[Expr]) -> list[str]:
    """The same of large arrays: by all intermediate values, if memory can be expected to hold them."""
    if all(math.prod(node.shape) <= _KEPT for node in order if node.is_leaf):
        with suppress(LimitError):
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
