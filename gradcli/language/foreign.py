"""Python that is out of the language: loops, functions, classes, stores, strings. What is said of each, and what to write instead.

Asked only where a statement begins with one of Python's own words, or cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradcli.errors import ParseError, Source, Span
from gradcli.language.assertions import RangeError
from gradcli.language.foreign_words import LONGEST, LOOP, OPENING, STOPS, Piece, Words, closes, formatted, refused_as
from gradcli.language.tokens import NAME, STRING, SYMBOL, Token

_AUGMENTED = {"+=": "add", "-=": "subtract", "*=": "multiply", "/=": "divide", "**=": "power"}


def explained(source: Source, tokens: Sequence[Token], start: int, stop: int, error: ParseError) -> ParseError:
    """The error of a statement that cannot be read, in the words of what Python has there; itself where it is nothing of Python's."""
    piece = Piece(source, tokens, start, stop)
    if isinstance(error, RangeError):
        return error
    for pattern in (_decorated, _named_expression, _function, _comprehension, _store, _stars, formatted, _document, _worded):
        found = pattern(piece)
        if found is not None:
            return found
    return error


def _decorated(piece: Piece) -> ParseError | None:
    first = piece.token(0)
    if first.text != "@" or first.kind != SYMBOL:
        return None
    return refused_as(piece, Words("the language has no decorators", "leave it out"), first)


def _named_expression(piece: Piece) -> ParseError | None:
    for place, token in enumerate(piece):
        after = piece.token(place + 1)
        if token.text == ":" and token.kind == SYMBOL and after.text == "=" and after.start == token.start + 1:
            name = piece.token(place - 1).text if place else "y"
            words = Words("the language has no ':='", f"write {name} = x**2 as a statement before")
            return ParseError(words.message, span=Span(token.start, token.start + 2), source=piece.source, help=words.help)
    return None


def _function(piece: Piece) -> ParseError | None:
    """``lambda x: x**2``."""
    tokens = list(piece)
    for place, token in enumerate(tokens):
        if token.kind != NAME or token.text != "lambda":
            continue
        colon = place + 1
        while colon < len(tokens) and ((tokens[colon].kind == NAME and tokens[colon].text != "lambda") or tokens[colon].text == ","):
            colon += 1
        if colon == len(tokens) or tokens[colon].text != ":" or tokens[colon].kind != SYMBOL:
            continue
        between = tokens[place + 1 : colon]
        parameters = [t.text for t in between if t.kind == NAME] or ["x"]
        name = tokens[0].text if place == 2 and tokens[1].text == "=" and tokens[0].kind == NAME else "f"
        depth, end = 0, colon + 1
        while end < len(tokens):
            depth += (tokens[end].text in ("(", "[")) - (tokens[end].text in (")", "]"))
            if depth < 0 or (depth == 0 and tokens[end].text == ","):
                break
            end += 1
        body = piece.text(tokens[colon + 1], tokens[end - 1]) if end > colon + 1 else "..."
        body = "*".join(parameters) if body == "..." else body
        return refused_as(piece, Words("the language has no 'lambda'", f"write {name}({', '.join(parameters)}) = {body}"), token)
    return None


def _comprehension(piece: Piece) -> ParseError | None:
    """``[x**2 for x in xs]``, ``sum(x**2 for x in xs)``."""
    tokens = list(piece)
    last = max((place for place, token in enumerate(tokens) if token.text == "in"), default=0)
    for place, token in enumerate(tokens):
        if not place or token.kind != NAME or token.text != "for" or place > last:
            continue
        opener = _opener(tokens, place)
        what = "comprehensions" if opener is not None and tokens[opener].text == "[" else "generators"
        return refused_as(piece, Words(f"the language has no {what}", _all_at_once(piece, tokens, opener, place)), token)
    return None


def _opener(tokens: Sequence[Token], place: int) -> int | None:
    """The bracket that is open at a place."""
    depth = 0
    for at in range(place - 1, -1, -1):
        depth += (tokens[at].text in (")", "]")) - (tokens[at].text in ("(", "["))
        if depth < 0:
            return at
    return None


def _all_at_once(piece: Piece, tokens: Sequence[Token], opener: int | None, place: int) -> str:
    """``x**2 for x in xs`` as ``xs**2``."""
    after = [t.text for t in tokens[place + 1 : place + 5]]
    general = "write sqrt(x) for the roots of all entries: functions work on all of them at once"
    if opener is None or len(after) < 4 or after[1] != "in" or tokens[place + 3].kind != NAME or after[3] not in ("]", ")"):
        return general
    body = tokens[opener + 1 : place]
    if not body or any(t.text in ("for", "if", "else") for t in body):
        return general
    start, text = body[0].start, []
    for t in body:
        text.append(piece.source.text[start : t.start] + (after[2] if t.kind == NAME and t.text == after[0] else t.text))
        start = t.start + len(t.text)
    written = "".join(text)
    if tokens[opener].text == "(" and opener and tokens[opener - 1].kind == NAME:
        written = f"{tokens[opener - 1].text}({written})"
    return f"write {written} for all entries at once" if len(written) <= LONGEST and "\n" not in written else general


def _store(piece: Piece) -> ParseError | None:
    """``x[0] = 1``, ``x.grad = None``, ``x[mask] += y``."""
    tokens = list(piece)
    depth = 0
    for place, token in enumerate(tokens):
        if token.kind != SYMBOL:
            continue
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0 and (token.text == "=" or token.text in _AUGMENTED):
            return _stored(piece, tokens, place) if place > 1 and tokens[0].kind == NAME else None
    return None


def _stored(piece: Piece, tokens: Sequence[Token], equals: int) -> ParseError | None:
    name, sign = tokens[0].text, tokens[equals]
    value = piece.text(tokens[equals + 1], tokens[-1]) if equals + 1 < len(tokens) else "..."
    value = "0" if value == "..." else value
    message = "the language has no stores: a value stays as it is"
    if tokens[1].text == "[" and tokens[equals - 1].text == "]" and closes(tokens, 1) == equals - 1:
        index = piece.text(tokens[2], tokens[equals - 2]) if equals > 3 else "0"
        method = _AUGMENTED.get(sign.text, "set")
        index = "0" if index == "..." and equals - 2 > 2 else index
        return refused_as(piece, Words(message, f"write {name} = {name}.at[{index}].{method}({value})"), sign)
    if tokens[1].text == "." and equals == 3:
        attribute = tokens[2].text
        help = f"write {name} = {value}" if attribute == "data" else f"write grad(y, {name})" if attribute == "grad" else "leave it out"
        return refused_as(piece, Words("the language has no attributes to be set", help), sign)
    return None


def _stars(piece: Piece) -> ParseError | None:
    """``f(*xs)``, ``f(**options)``."""
    for place, token in enumerate(piece):
        before = piece.token(place - 1) if place else Token(SYMBOL, "(", 0)
        if token.kind == SYMBOL and token.text in ("*", "**") and before.kind == SYMBOL and before.text in ("(", ",", "["):
            after = piece.token(place + 1)
            name = after.text if after.kind == NAME else "x"
            help = f"write {name}[0], {name}[1], each by itself" if token.text == "*" else "write each by its name: sum(x, axis=0)"
            return refused_as(piece, Words("the language does not take arguments apart", help), token)
    return None


def _document(piece: Piece) -> ParseError | None:
    """A statement that is a string between three quotes."""
    tokens = list(piece)
    if len(tokens) > 1 and all(token.kind == STRING for token in tokens):
        return refused_as(piece, Words("the language has no docstrings", "write # before a comment"), tokens[0])
    return None


_WORDED = {
    "is": Words("the language has no 'is'", "write x == y to compare"),
    "in": Words("the language has no 'in'", "write (x == 1) or (x == 2)"),
    "await": Words("the language has no 'await'", "leave it out"),
    "yield": Words("the language has no generators", "write y = x**2 for all entries at once"),
    "while": LOOP,
    "for": LOOP,
    "as": Words("the language has no 'as' here", "write y = x**2"),
}


def _worded(piece: Piece) -> ParseError | None:
    for place, token in enumerate(piece):
        if place and token.kind == NAME and token.text in _WORDED and piece.token(place - 1).text not in (".", "(", ",", "="):
            after = piece.token(place + 1)
            if token.text == "is" and "None" in (after.text, piece.token(place + 2).text):
                return refused_as(piece, Words("the language has no 'is': no value is None", "leave the condition out"), token)
            if not (after.kind == SYMBOL and after.text in STOPS):
                return refused_as(piece, _WORDED[token.text], token)
    return None


# -- texts that are no tokens, and blocks ------------------------------------------------------------------------------

_FORMATTED = re.compile(r"""(?<![\w'"])[rbuRBU]?[fF][rbRB]?(?=["'])""")
_TRIPLE = re.compile(r'"""|\'\'\'')
_BOUND = re.compile(r"^[ \t]*([^\W\d]\w*)[ \t]*(?:=(?!=)|[-+*/@]=|\*\*=|\[.*\][ \t]*(?:=(?!=)|[-+*/@]=))", re.MULTILINE)


def explained_text(source: Source, error: ParseError) -> ParseError:
    """The same of a text that cannot be cut into tokens."""
    text = source.text
    word = re.match(r"\s*([^\W\d]\w*)", text)
    if word is not None and word[1] in OPENING and word[1] not in ("in", "is"):
        return ParseError(OPENING[word[1]].message, span=Span(*word.span(1)), source=source, help=OPENING[word[1]].help)
    found = _TRIPLE.search(text)
    if found is not None:
        return ParseError("the language has no docstrings", span=Span(*found.span()), source=source, help="write # before a comment")
    found = _FORMATTED.search(text)
    if found is not None:
        return ParseError(
            "the language has no formatted strings", span=Span(found.start(), found.end() + 1), source=source,
            help="write the value alone: x",
        )  # fmt: skip
    if error.span is not None and text[error.span.start : error.span.start + 1] in ("{", "}"):
        return ParseError(
            "the language has no dicts and no sets", span=error.span, source=source, help="write [1, 2] for an array, (x + 1) to group"
        )
    return error


def names_bound_in(text: str) -> list[str]:
    """The names that a block of Python binds, which have no value after it."""
    return list(dict.fromkeys(_BOUND.findall(text)))
