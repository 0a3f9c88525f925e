"""Anomaly detection: the operation and the element whose gradient became NaN, and the lines that they come from."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.spec import Op
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.user_warnings import warn

_PACKAGE = str(Path(__file__).parents[2])


class Origin(NamedTuple):
    """Where a node was made.

    lines     of the user's program, as a traceback has them, which are in the node's ``metadata``, too, as in PyTorch's
    parent    the node whose backward pass made it, if one did
    infinite  what is to be said of the operation's result if it was not finite although its operands were
    """

    lines: list[str]
    parent: Node | None
    infinite: str


class _Now(threading.local):
    node: Node | None = None  # whose backward pass is under way


_NOW = _Now()
_ORIGINS: WeakKeyDictionary[Node, Origin] = WeakKeyDictionary()


def remember(node: Node | None, op: Op | None = None, arrays: Sequence[Any] = (), out: Any = None) -> None:
    """Keep where a node is made, and whether its result is the first that is not finite."""
    if node is None:
        return
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE)]
    infinite = "" if op is None or not state.nan_checks else _infinite(op, arrays, out)
    lines = node.metadata["traceback_"] = traceback.format_list(frames)
    _ORIGINS[node] = Origin(lines, _NOW.node, infinite)


def _infinite(op: Op, operands: Sequence[Any], out: np.ndarray) -> str:
    if out.dtype.kind not in FLOATS or np.isfinite(out).all():
        return ""
    arrays = [np.asarray(o) for o in operands if o is not None]
    if not all(np.isfinite(a).all() for a in arrays if a.dtype.kind in FLOATS):
        return ""
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
    values = [str(np.broadcast_to(a, out.shape)[place]) for a in arrays if op.elementwise and a.size]
    return f"element {list(place)} of {op.name} is {out[place]}{' of ' if values else ''}{' and '.join(values)}"


def watched(pull: Callable[[Node, Any], Sequence[Any]]) -> Callable[[Node, Any], Sequence[Any]]:
    """A step of the backward pass that says, if it fails, which line of the program its node comes from."""

    def step(node: Node, cotangent: Any) -> Sequence[Any]:
        before, _NOW.node = _NOW.node, node
        try:
            return pull(node, cotangent)
        except Exception:
            _report(node)
            raise
        finally:
            _NOW.node = before

    return step


def _report(node: Node) -> None:
    origin = _ORIGINS.get(node)
    nothing = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    found = nothing if origin is None else f"Traceback of forward call that caused the error:\n{''.join(origin.lines)}"
    _say(f"Error detected in {node.label}. {found}")
    while origin is not None and origin.parent is not None:
        node, origin = origin.parent, _ORIGINS.get(origin.parent)
        found = nothing if origin is None else f"Traceback of forward call that induced the previous calculation:\n{''.join(origin.lines)}"
        _say(f"\n\nPrevious calculation was induced by {node.label}. {found}")


def _say(message: str) -> None:
    try:
        warn(message)
    except Warning:  # which a filter has made an error: another one is on its way
        print(message, file=sys.stderr)


def check_backward(node: Node, parts: Sequence[Any]) -> None:
    """Raise if something that a node passes back to its operands is NaN."""
    if not state.nan_checks:
        return
    for place, (operand, part) in enumerate(zip(node.operands, parts, strict=True)):
        if operand is None or part is None:
            continue
        array = sum_to(np.asarray(getattr(part, "array", part)), shape=operand.shape)
        if array.dtype.kind in FLOATS and np.isnan(array).any():
            where = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
            raise RuntimeError(
                f"Function '{node.label}' returned nan values in its {place}th output. Element {list(where)} of that gradient is the first."
                f"{_first_infinite(node)}"
            )


def _first_infinite(node: Node) -> str:
    """Where the values that a node was computed of were first not finite, if they were."""
    for earlier in reachable([node]):
        origin = _ORIGINS.get(earlier)
        if origin is not None and origin.infinite:
            return f" The first value before it that is not finite: {origin.infinite}."
    return ""
