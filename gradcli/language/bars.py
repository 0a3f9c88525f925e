"""Bars: absolute values, and the mask ``x | y``.

A bar opens where a value is due, and closes where an operator is. Between values it is the mask, but for ``x|y|``, where the next bar
has no value after it: there it opens a factor.
"""

from __future__ import annotations

from gradcli.language import bare_functions
from gradcli.language.brackets import BARS, inside, opened
from gradcli.language.infix import infix
from gradcli.language.juxtaposition import product
from gradcli.language.readings import ambiguous, begins_value
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import ROOTS, SYMBOL, Token
from gradcli.language.tree import Unary
from gradcli.ops.text import MASK


def open_bar(stacks: Stacks, token: Token) -> None:
    """atom = "|" sum "|", from its first bar on."""
    opened(stacks, BARS, token)
    stacks.implied = True


def bar(stacks: Stacks, token: Token) -> bool:
    """A bar after a value: the end of an absolute value, a mask's operator, or the beginning of a factor in bars.

    Says whether a value is expected next.
    """
    if inside(stacks, BARS):
        _close(stacks, token)
        return False
    partner = _partners(stacks).get(stacks.at - 1)
    if partner is not None and partner > stacks.at and (bare_functions.is_bare(stacks) or not _goes_on(stacks, partner)):
        _refuse_four(stacks, token, partner)
        product(stacks, token)
        return True
    infix(stacks, token, MASK)
    return True


def _close(stacks: Stacks, token: Token) -> None:
    value = stacks.finished()
    bracket = stacks.brackets.pop()
    stacks.base = bracket.outside
    node = Unary("|", value, bracket.opener.start)
    node.end = token.start + 1
    stacks.push(node)
    after = stacks.tokens[stacks.at]
    if begins_value(after) and after.text not in ROOTS:
        if stacks.doubts is None:
            stacks.doubts = {}
        stacks.doubts[_level(stacks)] = bracket.opener.start, node.end


def _level(stacks: Stacks) -> tuple[int, int]:
    """The item of a bracket in which bars stand."""
    if not stacks.brackets:
        return -1, 0
    return stacks.brackets[-1].opener.start, len(stacks.brackets[-1].items)


def _goes_on(stacks: Stacks, place: int) -> bool:
    """Whether a value begins after a bar."""
    after = stacks.tokens[place + 1]
    return begins_value(after) or (after.kind == SYMBOL and after.text in ("|", "[", "~"))


def _refuse_four(stacks: Stacks, token: Token, partner: int) -> None:
    """Raise for ``|x|y|z|``, where either pair may stand inside of the other."""
    doubt = stacks.doubts.get(_level(stacks)) if stacks.doubts else None
    if doubt is None:
        return
    start, end = doubt
    text, last = stacks.source.text, stacks.tokens[partner].start
    left, middle, right = text[start + 1 : end - 1].strip(), text[end : token.start].strip(), text[token.start + 1 : last].strip()
    raise ambiguous(
        stacks, start, last + 1, f"|{left}|*{middle}*|{right}|", f"|{left}*|{middle}|*{right}|", instead="|x|*y*|z| or |x*|y|*z|"
    )


def _partners(stacks: Stacks) -> dict[int, int]:
    """For each bar the next one in the same bracket and item of it, by their places; found once."""
    if stacks.bars is None:
        stacks.bars = {}
        levels: list[int | None] = [None]
        for place, (kind, text, _) in enumerate(stacks.tokens):
            if kind != SYMBOL:
                continue
            if text in ("(", "["):
                levels.append(None)
            elif text in (")", "]"):
                if len(levels) > 1:
                    levels.pop()
            elif text == ",":
                levels[-1] = None
            elif text == "|":
                previous = levels[-1]
                if previous is not None:
                    stacks.bars[previous] = place
                levels[-1] = place
    return stacks.bars
