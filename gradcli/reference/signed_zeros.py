"""Where a zero's minus sign counts: real numbers have none, and where an operation reads it, such a zero is a number just below 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable

_JUST_BELOW = -2000  # as a power of ten: nothing of it is left in any sum


class SignedZeros:
    """The entries of operands that are -0.0, by the floats that the engine has there, wherever an operation tells them from 0.0."""

    def __init__(self, root: Expr, values: Mapping[Expr, Any], precision: str) -> None:
        self._found: dict[tuple[Expr, int], np.ndarray] = {}
        readers = [node for node in reachable([root]) if node.op is not None and node.op.facts.signed]
        if not readers:
            return
        table = forward([root], values, precision)
        for node in readers:
            for place, operand in enumerate(node.operands):
                if operand is None or node.op is None or node.op.operands[place] not in node.op.facts.signed:
                    continue
                floats = np.asarray(table[operand])
                minus = (floats == 0) & np.signbit(floats)
                if minus.any():
                    self._found[node, place] = minus

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._found)

    def __contains__(self, node: Expr) -> bool:
        """Whether there are any for this node."""
        return any(reader is node for reader, _ in self._found)

    def marked(self, m: Any, node: Expr, arrays: list[Any]) -> list[Any]:
        """The operands of a node, with each -0.0 in them just below 0."""
        if node not in self:
            return arrays
        below = m.mpf(10) ** _JUST_BELOW
        masks = [self._found.get((node, place)) for place in range(len(arrays))]
        return [a if minus is None else np.asarray(a - np.where(minus, below, m.zero)) for a, minus in zip(arrays, masks, strict=True)]
