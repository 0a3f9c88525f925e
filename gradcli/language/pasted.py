"""What takes the place of statements that are refused: errors in Python's words, and the names that have no value because of them."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.errors import ParseError, Source, Span
from gradcli.language import first_words, foreign
from gradcli.language.tokens import Token
from gradcli.language.tree import Lost, Statement


def refused(source: Source) -> Iterator[Statement | ParseError]:
    """A block of Python's statements, or what Python printed."""
    yield first_words.refused(source)
    yield from lost(source, 0, source.text)


def in_python_s_words(
    source: Source, tokens: list[Token], start: int, stop: int, error: ParseError, begun: bool
) -> Iterator[Statement | ParseError]:
    """An error of a statement: of what is Python and out of the language, in its words, unless these were found by its first word."""
    yield error if begun else foreign.explained(source, tokens, start, stop, error)
    first, last = tokens[start], tokens[stop - 1]
    yield from lost(source, first.start, source.text[first.start : last.start + len(last.text)])


def lost(source: Source, start: int, text: str) -> Iterator[Lost]:
    """What takes the place of the bindings in a text that is not run: their names have no value."""
    if names := foreign.names_bound_in(text):
        yield Lost(source, Span(start, start + len(text)), names)
