"""What is said of Python's constructs that are out of the language, and what is read of the statements they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcli.errors import ParseError, Source
from gradcli.language.tokens import END, NAME, STRING, Token
from gradcli.ops.fixed import Fixed

LONGEST = 60  # characters of a text that is shown


class Words(Fixed):
    """What is said of a construct: ``help`` is valid input behind its first word."""

    message: str
    help: str


LOOP = Words("the language has no loops", "write sum(x**2) for a sum over all entries: functions work on all of them at once")
BRANCH = Words("the language has no branches of statements", "write y = where(x > 0, x, 0), or y = x if x > 0 else 0")
_EXCEPTION = Words("the language has no exceptions", "write where(x > 0, log(x), 0) for what would fail")
_CLASS = Words("the language has no classes", "write f(x) = x**2 for a function")

OPENING = {
    **dict.fromkeys(("for", "while", "break", "continue"), LOOP),
    **dict.fromkeys(("if", "elif", "else"), BRANCH),
    **dict.fromkeys(("try", "except", "finally", "raise"), _EXCEPTION),
    "class": _CLASS,
    "with": Words("the language has no 'with'", "write detach(x) for what has no gradient"),
    "async": Words("the language has no 'async'", "write f(x) = x**2 for a function"),
    "del": Words("the language deletes nothing", "leave it out"),
    "global": Words("the language has no 'global'", "leave it out"),
    "nonlocal": Words("the language has no 'nonlocal'", "leave it out"),
    "pass": Words("the language has no 'pass'", "leave it out"),
    "yield": Words("the language has no generators", "write y = x**2 for all entries at once"),
}
HEADERS = ("for", "while", "if", "elif", "else", "with", "try", "except", "finally", "class", "def", "async")  # that a block follows
STOPS = frozenset({"=", "+", "*", "/", ".", ",", ")", "]", "**", "//", "%", "@", "==", "<", ">", "<=", ">=", "!=", "'", "^"})


class Piece:
    """The tokens start:stop of a text, which are a statement."""

    def __init__(self, source: Source, tokens: Sequence[Token], start: int, stop: int) -> None:
        self.source, self.tokens, self.start, self.stop = source, tokens, start, stop

    def token(self, place: int) -> Token:
        at = self.start + place
        return self.tokens[at] if 0 <= at < self.stop else Token(END, "", len(self.source.text))

    def text(self, first: Token, last: Token) -> str:
        """What is written from a token to another, if it is short."""
        written = self.source.text[first.start : last.start + len(last.text)]
        return written if len(written) <= LONGEST and "\n" not in written else "..."

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        last = self.tokens[self.stop - 1]
        return last.start + len(last.text)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens[self.start : self.stop])


def refused_as(piece: Piece, words: Words, token: Token) -> ParseError:
    return ParseError(words.message, span=token.span, source=piece.source, help=words.help)


def closes(tokens: Sequence[Token], at: int) -> int | None:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text in ("(", "[")) - (tokens[place].text in (")", "]"))
        if depth == 0:
            return place
    return None


def formatted(piece: Piece) -> ParseError | None:
    """``f"{x}"``."""
    for place, token in enumerate(piece):
        after = piece.token(place + 1)
        prefix = token.kind == NAME and token.text.lower() in ("f", "r", "b", "u", "rb", "br", "fr", "rf")
        if prefix and after.kind == STRING and after.start == token.start + len(token.text):
            return refused_as(piece, Words("the language has no formatted strings", "write the value alone: x"), token)
    return None
