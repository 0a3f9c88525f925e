"""Which values bound to names the nodes of a program depend on, asked for each binding of a name that has a value."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.graph.nodes import Expr

_NONE = (1, 0)  # the span of what depends on no leaf


class Ancestry:
    """Remembers of nodes what answers most questions without a walk through all that they are made of."""

    def __init__(self) -> None:
        self._spans: dict[Expr, tuple[int, int]] = {}  # the indices of the first and the last leaf that a node depends on
        self._known: dict[Expr, set[Expr]] = {}  # by leaves, some of the nodes that depend on them

    def note(self, node: Expr, leaf: Expr) -> None:
        """A node depends on a leaf."""
        self._known.setdefault(leaf, set()).add(node)

    def depend(self, nodes: Iterable[Expr], leaf: Expr) -> bool:
        """Return whether one of some nodes depends on a leaf."""
        known = self._known.get(leaf, ())
        pending = list(nodes)
        seen = set(pending)
        for node in pending:  # which grow
            if node is leaf or node in known:
                return True
            first, last = self._span(node)
            if first <= leaf.index <= last:
                new = [operand for operand in node.operands if operand is not None and operand.index >= leaf.index and operand not in seen]
                seen.update(new)
                pending += new
        return False

    def _span(self, node: Expr) -> tuple[int, int]:
        spans = self._spans
        if node not in spans:
            new = [node]
            found = set(new)
            for part in new:  # which grow
                more = {operand for operand in part.operands if operand is not None and operand not in spans} - found
                found |= more
                new += more
            for part in sorted(new, key=lambda each: each.index):
                below = [(part.index, part.index)] if part.is_leaf else []
                below += [spans[operand] for operand in part.operands if operand is not None and spans[operand] != _NONE]
                spans[part] = (min(first for first, _ in below), max(last for _, last in below)) if below else _NONE
        return spans[node]
