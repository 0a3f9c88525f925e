"""Operators that wait for their right operand, each with the power by which it binds (`gradcli.ops.text`)."""

from __future__ import annotations

from typing import NamedTuple

from gradcli.errors import Span
from gradcli.language.tokens import NAME, Token
from gradcli.language.tree import Name, Node
from gradcli.ops.text import NEGATION, PRODUCT, ROOT, UNARY

PREFIX = (NEGATION, UNARY, ROOT)


class Application(NamedTuple):
    """A function without brackets that waits for its argument, as an operator's token. ``exponent`` is that of ``sin^2 x``."""

    kind: int
    text: str
    start: int
    callee: Name
    exponent: Node | None
    argument: int  # where it begins in the text

    @property
    def span(self) -> Span:
        return self.callee.span

    @classmethod
    def of(cls, callee: Name, exponent: Node | None, argument: int) -> Application:
        return cls(NAME, callee.name, callee.start, callee, exponent, argument)


Operator = tuple[int, Token | Application]  # one that waits for its right operand: its binding power and its token


def symbol(operator: Operator) -> str:
    """How an operator is written; an implied product has nothing between its factors."""
    power, token = operator
    return "*" if power == PRODUCT else token.text
