"""Expressions being lowered, and what is kept of them afterwards: what each node of the tree became, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.errors import Source
from gradcli.language.tree import Expression, Node, Statement
from gradcli.ops.text import Expansion


class Frame:
    """An expression in a statement, or the body of a function in one call of it."""

    __slots__ = ("call", "coerced", "expansions", "expression", "finish", "locals", "results", "shown", "source", "statement")

    def __init__(
        self,
        expression: Expression,
        source: Source,
        statement: Statement | None,
        locals_: dict[str, Any],
        finish: Callable[[Any], Any] | None = None,
        call: tuple[Frame, Node] | None = None,
    ) -> None:
        self.expression, self.source, self.locals = expression, source, locals_
        self.statement = statement  # where the text stands: of a function's body, its definition; None outside of programs
        self.finish = finish  # what makes the call's result of the body's
        self.call = call  # of a function's body: the call, and the expression that it stands in
        self.results: list[Any] = []  # of the nodes so far
        self.expansions: dict[int, Expansion | None] = {}  # by places of calls of functions made of operations; None for a user's
        self.shown: Any = None  # what the statement shows of its dialect, once that has been asked for
        self.coerced: Any = None  # the node that the whole result was taken for, where it was none

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the tree, operands before their users."""
        return self.expression.nodes
