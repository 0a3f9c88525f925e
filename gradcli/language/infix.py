"""Operators between values. The product that is not written is in juxtaposition.py."""

from __future__ import annotations

from typing import NoReturn

from gradcli.language.precedence import symbol
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import NAME, NUMBER, Token
from gradcli.language.tree import Binary, Number
from gradcli.ops.text import BINDING, COMPARISON, EXPRESSION, POWER, ROOT, SUM, TERM

_LONGEST = 24  # characters of a base that is quoted


def infix(stacks: Stacks, token: Token, power: int) -> None:
    """disjunction, conjunction, sum, term, power: what binds at least as tightly to the left is applied first; powers from the right."""
    operators, base = stacks.operators, stacks.base
    if len(operators) > base:
        if operators[-1][0] >= POWER or stacks.applied:
            _look_closely(stacks, token, power)
        stacks.reduce(power if power != POWER else power + 1, base)
        if power == COMPARISON and stacks.has_operators() and operators[-1][0] == COMPARISON:
            refuse_chain(stacks, token)
    operators.append((power, token))


def _look_closely(stacks: Stacks, token: Token, power: int) -> None:
    """What is noted or refused after a power, a root, or an argument without brackets."""
    last = stacks.operators[-1][0]
    if power == TERM and token.text != "*":
        if last == POWER and token.text == "/" and stacks.tokens[stacks.at - 2].text == "1" and type(stacks.values[-1]) is Number:
            _note_root(stacks, token)
        if stacks.applied:
            from gradcli.language.bare_functions import refuse_quotient

            refuse_quotient(stacks, token)
    elif power == POWER and last == ROOT:
        from gradcli.language.juxtaposition import refuse_root_power

        raise refuse_root_power(stacks, token)


def _note_root(stacks: Stacks, token: Token) -> None:
    """Note that ``x^1/2`` is a quotient."""
    base, text, after = stacks.values[-2], stacks.source.text, stacks.peek()
    shown = text[base.start : base.end]
    shown = shown if len(shown) <= _LONGEST and "\n" not in shown else "x"
    below = after.text if after.kind in (NUMBER, NAME) else "2"
    sign = "^" if "^" in text[base.end : token.start] else "**"
    stacks.notes += ((None, f"{shown}{sign}1/{below} is {shown}/{below}: write {shown}{sign}(1/{below}) for the root"),)


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
    c = text[tokens[stacks.at].start : last.start + len(last.text)] if stop > stacks.at else "c"
    middle = stacks.values[-1]
    if isinstance(middle, Binary) and middle.operator in ("&", "|") and text[middle.start] != "(":
        left, right = (text[node.start : node.end] for node in (middle.left, middle.right))
        help = f"write ({a} {symbol(earlier)} {left}) {middle.operator} ({right} {token.text} {c})"
        stacks.fail(f"'{middle.operator}' binds more tightly than a comparison", token.span, help)
    stacks.fail("a chain of comparisons is not read", token.span, f"write ({a} {symbol(earlier)} {b}) and ({b} {token.text} {c})")
