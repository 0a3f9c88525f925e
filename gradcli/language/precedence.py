"""Operator precedence: the rules of the grammar from `expression` to `power`, each as the power by which its operators bind."""

from __future__ import annotations

from gradcli.language.tokens import Token

EXPRESSION, DISJUNCTION, CONJUNCTION, NEGATION, COMPARISON, SUM, TERM, PRODUCT, UNARY, POWER = range(10)
INFIX = {
    "or": DISJUNCTION, "and": CONJUNCTION, "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON, "==": COMPARISON,
    "!=": COMPARISON, "+": SUM, "-": SUM, "*": TERM, "/": TERM, "//": TERM, "%": TERM, "@": TERM, "**": POWER,
}  # fmt: skip
PREFIX = (NEGATION, UNARY)

Operator = tuple[int, Token]  # one that waits for its right operand: its binding power and its token


def symbol(operator: Operator) -> str:
    """How an operator is written; a product is a number before a name or a bracket, with nothing between them."""
    power, token = operator
    return "*" if power == PRODUCT else token.text
