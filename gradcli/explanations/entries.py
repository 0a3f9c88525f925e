"""What stories of an entry are made of: the nodes that its number came through, and what flowed at the entries that matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.inert import ends_of
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.report.explanation import Contribution, ExplainedNode, Explanation
from gradcli.report.number_text import short

_LONGEST = 48  # characters of a node's text in a story
_STEPS = 6  # nodes of a path that are named
Mask = np.ndarray


def entry_text(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


class Entries:
    """An explanation, seen from an entry of one of its nodes."""

    def __init__(self, explanation: Explanation, name: str, id: int, index: tuple[int, ...]) -> None:
        self.explanation, self.name, self.id, self.index = explanation, name, id, index
        self.arrived: dict[int, list[Contribution]] = {}
        for each in explanation.backward:
            self.arrived.setdefault(each.operand, []).append(each)

    @property
    def text(self) -> str:
        """What the entry is called: ``x[2]``."""
        return entry_text(self.name, self.index)

    @property
    def mask(self) -> Mask:
        """The entry, among those of its node."""
        mask = np.zeros(np.shape(self.node(self.id).value), bool)
        mask[self.index] = True
        return mask

    @cached_property
    def users(self) -> dict[int, list[ExplainedNode]]:
        found: dict[int, list[ExplainedNode]] = {}
        for node in self.explanation.nodes:
            for operand in dict.fromkeys(node.operands):
                found.setdefault(operand, []).append(node)
        return found

    def node(self, id: int) -> ExplainedNode:
        return self.explanation.node(id)

    def op(self, id: int) -> Op | None:
        """The record of a node's operation."""
        return registry().get(self.node(id).op)

    def called(self, id: int) -> str:
        """What a node is called in a sentence: its name or text; inside of a function, that it is there."""
        node = self.node(id)
        if node.text is None and node.name is None and node.inside is not None:
            return f"{node.op} inside of {ends_of(self.node(node.inside).label, _LONGEST)}"
        return ends_of(node.name or node.text or node.op, _LONGEST)

    def arguments(self, id: int) -> list[ExplainedNode]:
        """The operands of a node; of the result of a built-in function its arguments, whatever it was expanded to."""
        found: dict[int, None] = {}
        pending = list(self.node(id).operands)
        for here in pending:  # which grows
            node = self.node(here)
            if node.inside == id:
                pending += node.operands
            elif node.op != "const" or node.text is not None:
                found[here] = None
        return [self.node(here) for here in sorted(found)]

    def steps(self, nodes: Iterable[int]) -> str:
        """A path in words, without what built-in functions are made of."""
        shown_nodes = [id for id in nodes if self.node(id).inside is None]
        if len(shown_nodes) > _STEPS:
            shown_nodes = [*shown_nodes[:3], *shown_nodes[3 - _STEPS :]]
        return " → ".join(map(self.called, shown_nodes))

    def operands(self, id: int) -> Iterator[ExplainedNode]:
        for operand in self.node(id).operands:
            yield self.node(operand)

    def above(self, each: Contribution, mask: Mask) -> Mask:
        """The entries of a user that those of its operand are a part of: entry by entry the same, of other operations all."""
        node = self.node(each.node)
        shape = np.shape(node.value) if not isinstance(node.value, tuple) else ()
        if each.partial is None and each.local is None:
            return np.ones(shape, bool)
        try:
            return np.broadcast_to(mask, shape)
        except ValueError:  # one axis of the operand's was summed
            return np.ones(shape, bool)

    def number(self, value: Any, mask: Mask | None = None) -> Any:
        """The entry of an array that is meant, or the first of them."""
        array = np.asarray(value)
        if mask is None or not array.ndim:
            return array if array.ndim else array[()]
        chosen = np.broadcast_to(array, mask.shape)[mask]
        return chosen.ravel()[0] if chosen.size else array.ravel()[0]


def shown(number: Any) -> str:
    """A number in a sentence, or an array of a few; the results of an operation that has several."""
    if isinstance(number, tuple) or np.ndim(number):
        return short(number, 6, 6)
    value = np.asarray(number)
    return f"{float(value):.6g}" if value.dtype.kind == "f" else str(value[()])
