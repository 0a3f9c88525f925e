"""Statements as parts of a logical line: their tokens, and where they end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradcli.errors import ParseError, Source, Span
from gradcli.language.deviations import refuse_sign
from gradcli.language.parser import parsed
from gradcli.language.tokens import END, SYMBOL, Token, outside
from gradcli.language.tree import Expression


class SaidError(ParseError):
    """An error whose words are about what the statement is: nothing more is to be said of it."""


class Part(NamedTuple):
    """The tokens of one statement, start:stop of those of its line."""

    source: Source
    tokens: list[Token]
    start: int
    stop: int
    span: Span

    def token(self, place: int) -> Token:
        """A token by its place in the statement; END after the last."""
        at = self.start + place
        return self.tokens[at] if at < self.stop else Token(END, "", self.span.end)

    def places(self, text: str, begin: int = 0, end: int | None = None) -> list[int]:
        """The places of a sign or word outside of brackets."""
        stop = self.stop if end is None else self.start + end
        found = outside(self.tokens, self.start + begin, stop)
        return [at - self.start for at in found if self.tokens[at].text == text]

    def closing(self, place: int) -> int:
        """The place of the bracket that closes the one at a place; -1 if none does."""
        depth = 0
        for at in range(self.start + place, self.stop):
            text = self.tokens[at].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if depth == 0:
                return at - self.start
        return -1

    def expression(self, place: int, values: frozenset[str] = frozenset(), end: int | None = None) -> Expression:
        """All from a place on, or up to another one, as an expression."""
        at = self.start + place
        stop = self.stop if end is None else self.start + end
        if at < stop and self.source.text.find("..", self.tokens[at].start, self.tokens[stop - 1].start + 2) >= 0:
            _refuse_ranges(self.source, self.tokens[at:stop])
        if "±" in self.source.text:
            refuse_sign(self.source, self.tokens[at:stop])
        return parsed(self.source, self.tokens, at, stop, values)


def _refuse_ranges(source: Source, tokens: list[Token]) -> None:
    """Two dots between numbers or names: a range, which is read behind ``for x in`` of an assert only."""
    for _, text, start in tokens:
        if text == "..":
            raise ParseError(
                "a range 'a..b' is not read here", span=Span(start, start + 2), source=source,
                help="write x[a:b] for a slice, linspace(a, b, 5) for points",
            )  # fmt: skip


def ends(source: Source, tokens: list[Token]) -> Iterator[int]:
    """The places of the tokens that end statements: each semicolon outside of brackets, and the END."""
    if ";" in source.text:  # megabytes of text seldom have one
        depth = 0
        for i, (kind, text, _) in enumerate(tokens):
            if kind == SYMBOL:
                depth += (text in ("(", "[")) - (text in (")", "]"))
                if text == ";" and depth <= 0:
                    yield i
                    depth = 0
    yield len(tokens) - 1
