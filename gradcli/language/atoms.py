"""The state in which a value is expected: atoms, and the prefix operators before them."""

from __future__ import annotations

import math
import re

from gradcli.errors import Span
from gradcli.language.brackets import ARGUMENTS, ARRAY, GROUP, SUBSCRIPTS, closed_empty, colon, inside, item, keyword, opened
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import FRACTIONS, NAME, NUMBER, RESERVED, ROOTS, STRING, SYMBOL, Token
from gradcli.language.tree import Dots, Name, Number, Text
from gradcli.ops.text import NEGATION, ROOT, UNARY

_DIGITS = "[0-9](?:_?[0-9])*+"
_GROUPED = re.compile(rf"(?:{_DIGITS})?+\.?(?:{_DIGITS})?+(?:[eE][+-]?{_DIGITS})?+")
_LONGEST = 300  # digits of numbers that are whole beyond doubt: floats end at 309


def atom(stacks: Stacks, token: Token) -> bool:
    """atom = NUMBER | NAME | STRING | a bracket, or a prefix; says whether an atom is still expected."""
    kind, text, start = token
    if kind == NUMBER:
        stacks.push(Number(number(stacks, token), start, start + len(text)))
        return False
    if kind == NAME:
        if text in RESERVED:
            return negation(stacks, token)
        if stacks.brackets and stacks.brackets[-1].rule == ARGUMENTS and keyword(stacks, token):
            return True
        stacks.push(Name(text, start, start + len(text)))
        return False
    if kind == SYMBOL:
        return bracket(stacks, token)
    if kind == STRING:
        if not stacks.brackets or inside(stacks, SUBSCRIPTS):
            stacks.fail("a string can only be an argument of a function", token.span)
        stacks.push(Text(text[1:-1], start, start + len(text)))
        return False
    stacks.missing_value(token)


def number(stacks: Stacks, token: Token) -> float:
    """NUMBER: digits, with a point, an exponent, and _ between digits. Whole numbers stay integers."""
    text = token.text
    if text.isdigit() and len(text) < _LONGEST and text != "0":
        return int(text)
    if text[-1] in FRACTIONS:
        whole = text[:-1]
        if whole and not whole.isdigit():
            stacks.fail(f"{text!r} is not a number", token.span, "a fraction stands after a whole number, as in 2½")
        stacks.implied = True
        return (float(whole) if len(whole) >= _LONGEST else int(whole or 0)) + FRACTIONS[text[-1]]
    if text == "0" and (after := stacks.peek()).kind == NAME and after.start == token.start + 1 and after.text[0] in "xXoObB":
        return based(stacks, token, after)
    if "_" in text and not _GROUPED.fullmatch(text):
        stacks.fail(f"{text!r} is not a number", token.span, "_ stands between digits: 1_000")
    plain = text.replace("_", "")
    return int(plain) if plain.isdigit() and len(plain) < _LONGEST else float(plain)


def based(stacks: Stacks, token: Token, digits: Token) -> float:
    """NUMBER: 0x10, 0b11, 0o17, as Python writes whole numbers in other bases."""
    written = token.text + digits.text
    stacks.at += 1
    try:
        whole = int(written, 0)
    except ValueError:
        span = Span(token.start, digits.start + len(digits.text))
        stacks.fail(f"{written!r} is not a number", span, "write 0x10, 0o17 or 0b11 for whole numbers in other bases")
    return whole if whole.bit_length() < 1000 else math.inf if whole >= 2**1024 else float(whole)


def negation(stacks: Stacks, token: Token) -> bool:
    """negation = "not" negation | comparison; of the other reserved words, none begins a value."""
    if token.text != "not":
        stacks.missing_value(token)
    if stacks.has_operators() and stacks.operators[-1][0] > NEGATION:
        stacks.fail("'not' needs brackets here", token.span, "write (not x)")
    stacks.operators.append((NEGATION, token))
    return True


def bracket(stacks: Stacks, token: Token) -> bool:
    """unary = ( "-" | "+" ) unary | power; a bracket that opens or is empty; subscript = slice | "..." | expression."""
    text = token.text
    if text in ("-", "+", "~"):
        if stacks.has_operators() and stacks.operators[-1][0] == ROOT:
            sign = stacks.operators[-1][1].text
            stacks.fail(f"a sign under '{sign}' needs brackets", token.span, f"write {sign}(-x)")
        stacks.operators.append((UNARY, token))
    elif text in ("(", "["):
        opened(stacks, GROUP if text == "(" else ARRAY, token)
    elif text in (")", "]"):
        closed_empty(stacks, token)
        return False
    elif text == ":" and inside(stacks, SUBSCRIPTS) and not stacks.has_operators():
        colon(stacks, token, None)
    elif text == "..." and inside(stacks, SUBSCRIPTS):
        stacks.push(Dots(token.start, token.start + 3))
        return False
    elif text == "," and stacks.brackets and stacks.brackets[-1].slice is not None and not stacks.has_operators():
        item(stacks, None, stacks.brackets[-1])
    elif text in ROOTS:
        stacks.operators.append((ROOT, token))
        stacks.implied = True
    elif text == "|":
        from gradcli.language.bars import open_bar

        open_bar(stacks, token)
    else:
        stacks.missing_value(token)
    return True
