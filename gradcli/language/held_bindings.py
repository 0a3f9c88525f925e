"""Bindings that are held back: lines of the form ``name = arithmetic`` wait until something that is no binding comes after them.

Whoever asks for a value runs them first, in their order and in the ordinary way, so that they are what they would have been; or takes many
of them at once, in columns (batch/batched_bindings.py), and they are never run one by one. A name is bound once among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradcli.errors import Source
from gradcli.language.tokens import PLAIN_NUMBER, PYTHON_WORDS, RESERVED

if TYPE_CHECKING:
    from gradcli.language.scope import Scope

_LONGEST = 4_096  # characters of a line
_LINE = re.compile(
    rf"\s*+(?:([A-Za-z_]\w*+)\s*+=(?!=)\s*+(?:([+-]?{PLAIN_NUMBER})\s*+(?=\#|\Z)|([-+*/(),.\w\s]++)))?+(?:\#[^\n]*+\n?+)?+",
    re.ASCII,
)  # a number, or what functions and operators make of names and numbers; or nothing; and a comment
_WORDS = RESERVED | PYTHON_WORDS | {"assert", "const", "from", "import"}  # with which other statements begin


class HeldBindings:
    """The lines that are held back, by the names that they bind.

    batched  what was made of them in columns, after which no more are held; None before
    """

    def __init__(self) -> None:
        self.name: str | None = None  # of the file
        self.places: dict[str, int] = {}  # of names among the lines
        self.numbers: list[float | None] = []  # what names are bound to, where it is a number; a whole one stays an integer
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.batched: Any = None

    def take(self, source: Source, scope: Scope) -> bool:
        """Hold a line back, if it is one of those that are."""
        text = source.text
        match = _LINE.fullmatch(text) if len(text) <= _LONGEST and type(source) is Source else None
        if match is None or ("#" in text and "dialect" in text):
            return False
        name, number, _ = match.groups()
        if name is None:
            return True  # a comment, which is nothing to run
        if name in self.places or name in _WORDS or self.batched is not None or (self.texts and source.name != self.name):
            return False
        if any(name in table for table in _taken(scope)):
            return False
        self.name = source.name
        self.places[name] = len(self.texts)
        self.numbers.append(None if number is None else int(number) if number.lstrip("+-").isdigit() else float(number))
        self.texts.append(text)
        self.lines.append(source.first_line)
        return True

    def expressions(self) -> Iterator[str]:
        """What stands behind the equals signs, but for numbers."""
        for text, number in zip(self.texts, self.numbers, strict=True):
            if number is None:
                yield text.partition("=")[2].partition("#")[0].strip()

    def release(self) -> list[Source]:
        """The lines to be run; they are held no more."""
        sources = [Source(text, self.name, line) for text, line in zip(self.texts, self.lines, strict=True)]
        self.places, self.numbers, self.texts, self.lines, self.batched = {}, [], [], [], None
        return sources


def _taken(scope: Scope) -> tuple[Mapping[str, Any], ...]:
    """Tables of names that stand for something already: a second binding of them is more than a value."""
    return (
        scope.names, scope.leaves, scope.functions, scope.objects, scope.imported, scope.failed, scope.lost, scope.outside,
        scope.dialect.seen.roots,
    )  # fmt: skip
