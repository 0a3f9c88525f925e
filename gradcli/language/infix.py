"""Operators between values: those that are written, and the product that is not (`2x`, `3(a + b)`)."""

from __future__ import annotations

from typing import NoReturn

from gradcli.errors import AmbiguousError, Span
from gradcli.language.precedence import PREFIX, Operator, symbol
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import NAME, NUMBER, STRING, Token
from gradcli.language.tree import Name
from gradcli.ops.text import BINDING, COMPARISON, EXPRESSION, POWER, PRODUCT, SUM


def infix(stacks: Stacks, token: Token, power: int) -> None:
    """disjunction, conjunction, sum, term, power: what binds at least as tightly to the left is applied first; powers from the right."""
    operators, base = stacks.operators, stacks.base
    if len(operators) > base:
        stacks.reduce(power if power != POWER else power + 1, base)
        if power == COMPARISON and stacks.has_operators() and operators[-1][0] == COMPARISON:
            refuse_chain(stacks, token)
    operators.append((power, token))


def expression(stacks: Stacks, token: Token) -> None:
    """expression = disjunction [ "if" disjunction "else" expression ]: one of the two words, after a value."""
    stacks.reduce(EXPRESSION + 1, stacks.base)
    operators = stacks.operators
    if token.text == "if":
        if stacks.has_operators() and symbol(operators[-1]) == "if":
            stacks.fail("put the inner condition in brackets", token.span)
        operators.append((EXPRESSION, token))
        return
    while stacks.has_operators() and symbol(operators[-1]) == "else":
        stacks.reduce_one()
    if not stacks.has_operators() or symbol(operators[-1]) != "if":
        stacks.fail("'else' without 'if'", token.span, "write: x if condition else y")
    operators[-1] = (EXPRESSION, token)


def product(stacks: Stacks, token: Token) -> None:
    """product = unary | NUMBER power: a number right before a name or a bracket, unless an operator before it makes two readings.

    The token is read again, as the beginning of the second factor. Raises ParseError where no number stands before it.
    """
    before = stacks.tokens[stacks.at - 2]
    if before.kind != NUMBER or not (token.kind == NAME or token.text == "("):
        refuse_side_by_side(stacks, token)
    place, base = len(stacks.operators), stacks.base
    while place > base and stacks.operators[place - 1][0] in PREFIX:
        place -= 1
    if place > base:
        operator = stacks.operators[place - 1]
        if operator[0] == POWER or symbol(operator) in ("/", "//", "%", "@"):
            raise two_readings(stacks, operator, token)
    stacks.operators.append((PRODUCT, token))
    stacks.at -= 1


def refuse_side_by_side(stacks: Stacks, token: Token) -> NoReturn:
    """Raise for a value right after another."""
    value, right = stacks.values[-1], token.text
    left = stacks.source.text[value.start : value.end]
    if len(left) > 40:
        left = "..."
    if isinstance(value, Name) and token.kind == NAME and value.end < token.start:
        stacks.fail(f"no operator between {left!r} and {right!r}", token.span, f"write {left}*{right}, or {left}({right})")
    stacks.fail(f"no operator before {right!r}", token.span, "write * to multiply" if token.kind != STRING else None)


def refuse_chain(stacks: Stacks, token: Token) -> NoReturn:
    """Raise for a comparison of a comparison: comparison = sum [ ( "<" | ... ) sum ]."""
    earlier, tokens, text = stacks.operators[-1], stacks.tokens, stacks.source.text
    a, b = (text[node.start : node.end] for node in stacks.values[-2:])
    stop, depth = stacks.at, 0
    while stop < len(tokens) - 1 and depth >= 0:
        word = tokens[stop].text
        depth += (word in ("(", "[")) - (word in (")", "]"))
        if depth < 0 or (depth == 0 and (BINDING.get(word, SUM) < SUM or word in (",", ";", "if", "else"))):
            break
        stop += 1
    last = tokens[stop - 1]
    c = text[tokens[stacks.at].start : last.start + len(last.text)] if stop > stacks.at else "..."
    stacks.fail("a chain of comparisons is not read", token.span, f"write ({a} {symbol(earlier)} {b}) and ({b} {token.text} {c})")


def two_readings(stacks: Stacks, operator: Operator, token: Token) -> AmbiguousError:
    """The error of ``1/2x``, which is read in one way here and in another there."""
    factor_node, before, text = stacks.values[-1], stacks.values[-2], stacks.source.text
    left = text[before.start : before.end]
    left = left if len(left) <= 24 else "..."
    factor = text[factor_node.start : factor_node.end]
    what = token.text if token.kind == NAME else "(...)"
    sign = "^" if text[operator[1].start] == "^" else symbol(operator)
    return AmbiguousError(
        f"'{left}{sign}{factor}{what}' has two readings",
        span=Span(before.start, token.start + len(token.text)), source=stacks.source,
        help=f"write ({left}{sign}{factor})*{what} or {left}{sign}({factor}*{what})",
    )  # fmt: skip
