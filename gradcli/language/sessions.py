"""Lines as they are pasted: of a Python session with its prompts, and blocks of Python's statements, which are one piece each.

Asked from the first line on that begins with a prompt or ends as the head of a block does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradcli.errors import Source

_PROMPT = re.compile(r"(?:>>>(?:[ \t]|(?=\r?\n|\Z))|In \[\d*\]:(?:[ \t]|(?=\r?\n|\Z)))")
_MORE = re.compile(r"^(?:\.\.\.(?:[ \t]|(?=\r?$))|[ \t]*\.\.\.:(?:[ \t]|(?=\r?$)))", re.MULTILINE)
_HEADERS = ("for", "while", "if", "elif", "else", "with", "try", "except", "finally", "class", "def", "async")  # that a block follows
_HEADER = re.compile(rf"[ \t]*(?:{'|'.join(_HEADERS)})\b.*:[ \t]*(?:#.*)?\r?\n?\Z", re.DOTALL)
_JOINED = re.compile(r"[ \t]*(?:elif|else|except|finally)\b")
_BLANK = re.compile(r"[ \t]*(?:#.*)?\r?\n?\Z")


@dataclass(frozen=True)
class Output(Source):
    """What Python printed in a session that is pasted."""


@dataclass(frozen=True)
class Block(Source):
    """A statement of Python with the lines that belong to it."""


def is_head(line: str) -> bool:
    """Whether a line is the head of a block."""
    return _HEADER.match(line) is not None


def pieces(lines: Iterable[tuple[int, str]], name: str | None) -> Iterator[Source]:
    """Logical lines, each with the number of its first line: prompts are blanks, and a block is one piece."""
    prompted = False
    block: list[str] = []
    first = depth = 0
    for number, line in lines:
        text, printed = line, False
        if _PROMPT.match(line):
            prompted = True
            text = _without_prompts(_PROMPT.sub(_blanks, line, count=1))
        elif prompted and _MORE.match(line):
            text = _without_prompts(line)
        else:
            printed = (prompted or line.startswith("Out[")) and not _BLANK.match(line)
        if block:
            if not printed and (_BLANK.match(text) or _depth(text) > depth or (_depth(text) == depth and _JOINED.match(text))):
                block.append(text)
                continue
            yield Block("".join(block), name, first)
            block = []
        if printed:
            yield Output(line, name, number)
        elif is_head(text):
            block, first, depth = [text], number, _depth(text)
        elif text.strip():
            yield Source(text, name, number)
    if block:
        yield Block("".join(block), name, first)


def _without_prompts(text: str) -> str:
    return _MORE.sub(_blanks, text)


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _depth(text: str) -> int:
    """How far a line is indented."""
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))
