"""The colours of what is typed, from the language's own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from gradcli.errors import ParseError, Source
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, PYTHON_WORDS, RESERVED, STRING, SUPERSCRIPT, Token, tokenize

STYLES = {NUMBER: "class:number", SUPERSCRIPT: "class:number", STRING: "class:string", PRIME: "class:operator"}
_KEYWORDS = RESERVED | PYTHON_WORDS | {"const", "assert", "import", "from", "as", "lambda", "for", "in", "within"}
_COMMAND = re.compile(r"\s*:\w*")
_LONGEST = 20_000  # characters that are coloured


class Highlighting(Lexer):
    """Styles of the lines of a document."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = document.lines
        if sum(map(len, lines)) > _LONGEST:
            return lambda number: [("", lines[number])] if number < len(lines) else []
        return lambda number: [*styled(lines[number])] if number < len(lines) else []


def styled(line: str) -> Iterator[tuple[str, str]]:
    """A line in pieces with their styles; all pieces are the line again."""
    done = 0
    command = _COMMAND.match(line)
    if command is not None:
        done = command.end()
        yield "class:command", line[:done]
    text = " " * done + line[done:]
    tokens = _tokens(text)
    for token, following in zip(tokens, [*tokens[1:], Token(END, "", len(text))], strict=False):
        if token.kind == END:
            break
        if token.start > done:
            yield _between(line[done : token.start])
        end = _end(token, text, following.start)
        yield _style(token, following), line[token.start : end]
        done = end
    if done < len(line):
        yield _between(line[done:])


def _tokens(text: str) -> list[Token]:
    """The tokens up to the first that is none."""
    try:
        return tokenize(Source(text))
    except ParseError as error:
        cut = error.span.start if error.span is not None else 0
        return [token for token in tokenize(Source(text[:cut])) if token.kind != END] if 0 < cut < len(text) else []


def _end(token: Token, text: str, following: int) -> int:
    """Where a token ends: its text may be another spelling of one sign."""
    if text.startswith(token.text, token.start):
        return token.start + len(token.text)
    return min(token.start + 1, following)


def _style(token: Token, following: Token) -> str:
    if token.kind != NAME:
        return STYLES.get(token.kind, "class:operator")
    if token.text in _KEYWORDS:
        return "class:keyword"
    if following.text == "(" and following.start == token.start + len(token.text):
        return "class:function"
    return "class:name"


def _between(text: str) -> tuple[str, str]:
    return ("class:comment" if text.lstrip().startswith("#") else ""), text
