"""Operators that wait for their right operand, each with the power by which it binds (`gradcli.ops.text`)."""

from __future__ import annotations

from gradcli.language.tokens import Token
from gradcli.ops.text import NEGATION, PRODUCT, UNARY

PREFIX = (NEGATION, UNARY)

Operator = tuple[int, Token]  # one that waits for its right operand: its binding power and its token


def symbol(operator: Operator) -> str:
    """How an operator is written; a product is a number before a name or a bracket, with nothing between them."""
    power, token = operator
    return "*" if power == PRODUCT else token.text
