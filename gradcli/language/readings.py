"""Texts with two readings: what stands where, and the error that names both. Whoever shows it tries them first (`statements`)."""

from __future__ import annotations

from gradcli.errors import AmbiguousError, Span
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, RESERVED, ROOTS, SUPERSCRIPT, SYMBOL, Token
from gradcli.language.tree import Node
from gradcli.ops.calling import textbook
from gradcli.ops.text import BINDING

_LONGEST = 80  # characters of a reading


def ambiguous(stacks: Stacks, start: int, end: int, *readings: str, instead: str = "(a*b)*c or a*(b*c)") -> AmbiguousError:
    """The error of the text from start to end; ``instead`` is shown where the readings do not go into a line or are no input."""
    text = " ".join(stacks.source.text[start:end].split())
    text = text if len(text) <= _LONGEST else text[: _LONGEST // 2] + "…"
    error = AmbiguousError(f"'{text}' has two readings", span=Span(start, end), source=stacks.source, help=f"write {instead}")
    if all(len(reading) <= _LONGEST and "\n" not in reading and "#" not in reading for reading in readings):
        error.readings = readings
    return error


def before(stacks: Stacks) -> Token:
    """The last token of the value that has been read, where another one begins."""
    return stacks.tokens[stacks.at - 2]


def end_of(token: Token) -> int:
    return token.start + len(token.text) if token.text != "**" else token.start + 1


def begins_value(token: Token) -> bool:
    """Whether a token can only be the beginning of a value, where another one has ended."""
    kind, text, _ = token
    return kind == NUMBER or (kind == NAME and text not in RESERVED) or (kind == SYMBOL and text in ("(", *ROOTS))


def factor_end(stacks: Stacks, at: int) -> int:
    """The place of the token after a factor that begins at a place: a value, what follows it without a space, and its power."""
    tokens = stacks.tokens
    while tokens[at].text in ("-", "+", *ROOTS) and tokens[at].kind == SYMBOL:
        at += 1
    if tokens[at].text == "|":
        at += 1
        while tokens[at].kind != END and tokens[at].text != "|":
            at = _past(stacks, at)
        at = min(at + 1, len(tokens) - 1)
    elif tokens[at].kind != END:
        at = _past(stacks, at)
        while (
            tokens[at - 1].kind == NAME and textbook.is_bare(tokens[at - 1].text) and (begins_value(tokens[at]) or tokens[at].text == "|")
        ):
            at = _past(stacks, at)  # its argument
    while True:
        kind, text, _ = tokens[at]
        if text in ("(", "[") and kind == SYMBOL and tokens[at - 1].kind in (NAME, PRIME) and end_of(tokens[at - 1]) == tokens[at].start:
            at = _past(stacks, at)
        elif text == "." and tokens[at + 1].kind == NAME:
            at += 2
        elif kind in (SUPERSCRIPT, PRIME) or text == "°":
            at += 1
        elif text == "**" and kind == SYMBOL and tokens[at + 1].kind != END:
            at += 1
            while tokens[at].text in ("-", "+") and tokens[at].kind == SYMBOL:
                at += 1
            at = _past(stacks, at)
        else:
            return at


def _past(stacks: Stacks, at: int) -> int:
    """The place after a token, or after the bracket that it opens."""
    tokens = stacks.tokens
    if tokens[at].kind == END:
        return at
    depth = 0
    while tokens[at].kind != END:
        if tokens[at].kind == SYMBOL:
            depth += (tokens[at].text in ("(", "[")) - (tokens[at].text in (")", "]"))
        at += 1
        if depth <= 0:
            break
    return at


def factor(stacks: Stacks, at: int) -> str:
    """The text of a factor."""
    return _text(stacks, at, factor_end(stacks, at))


def factors(stacks: Stacks, at: int) -> str:
    """The text of a factor, and of all that are implied to be multiplied with it."""
    stop = factor_end(stacks, at)
    while begins_value(stacks.tokens[stop]):
        stop = factor_end(stacks, stop)
    return _text(stacks, at, stop)


def _text(stacks: Stacks, at: int, stop: int) -> str:
    last = stacks.tokens[stop - 1]
    return stacks.source.text[stacks.tokens[at].start : max(last.start + _written(stacks, last), stacks.tokens[at].start)]


def _written(stacks: Stacks, token: Token) -> int:
    """How many characters a token has in the text, where it may have another spelling."""
    if token.text in BINDING and not stacks.source.text.startswith(token.text, token.start):
        return 1
    return len(token.text)


def written(stacks: Stacks, node: Node) -> str:
    """The text of a node."""
    return stacks.source.text[node.start : node.end]
