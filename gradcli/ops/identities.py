"""What rules that simplify (`Facts.simpler`) share: they read a graph's nodes, without a table of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.constants import Constant


def number_of(node: Any) -> Any:
    """The number of a node that is one, also as a quotient of numbers or repeated; None of any other."""
    if node.is_constant:
        return None if isinstance(node.payload, np.ndarray) else float(node.payload) if isinstance(node.payload, Constant) else node.payload
    if _repeats(node):
        return number_of(node.operand)
    if node.op is not None and node.op.facts.algebra == "quotient":
        x, y = map(number_of, node.operands)
        return None if x is None or not y else x / y
    return None


def unrepeated(node: Any) -> Any:
    """What a node repeats or reshapes."""
    while node.op is not None and (node.op.facts.reshapes or _repeats(node)):
        node = node.operand
    return node


def _repeats(node: Any) -> bool:
    return node.op is not None and node.op.facts.repeats


def same_shape(out: Any, x: Any, shape: Any) -> Any:
    """Of what changes a shape, or repeats entries."""
    if x.shape == out.shape:
        return x
    if x.op is out.op:
        return out.op(x.operand, shape=out.shape)
    number = number_of(x)
    return number if number == 0 or out.op.facts.reshapes else None


def number_inside(out: Any, x: Any, **static: Any) -> Any:
    """Of what takes entries out of an array."""
    return number_of(x)
