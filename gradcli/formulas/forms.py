"""What an operation's record says of how it is written, filled in for a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.graph.nodes import Expr
from gradcli.ops.text import ATOM, ByStatic, Form, Piece

Literal = Callable[[Any], str]


class _Words:
    """The words of a template: the operands' pieces, and static parameters as literals."""

    def __init__(self, node: Expr, pieces: Sequence[Piece | None], literal: Literal) -> None:
        self.node, self.pieces, self.literal = node, pieces, literal

    def __getitem__(self, name: str) -> Any:
        op = self.node.op
        assert op is not None
        if name not in op.operands:
            return self.literal(self.node.static[name])
        if op.variadic:
            return ", ".join(piece.text for piece in self.pieces if piece is not None)
        return self.pieces[op.operands.index(name)]


def in_form(form: ByStatic | None, node: Expr, pieces: Sequence[Piece | None], literal: Literal) -> tuple[str, int] | None:
    """A node's text in one of its operation's forms, and how tightly it holds together; None if it has none."""
    if isinstance(form, Mapping):
        form = form.get(tuple(node.static.values())) or form.get(...)
    if form is None:
        return None
    if callable(form):
        return form(*pieces, **node.static)
    template, power = form if isinstance(form, Form) else (form, ATOM)
    return template.format_map(_Words(node, pieces, literal)), power
