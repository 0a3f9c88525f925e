"""Bindings that are held back: lines of the form ``name = arithmetic`` wait until something that is no binding comes after them.

Whoever asks for a value runs them first, in their order and in the ordinary way, so that they are what they would have been; or takes many
of them at once (batch/bindings.py), and they are never run one by one. A name is bound once among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradcli.errors import Source
from gradcli.language.deviations import may_be_measured
from gradcli.language.tokens import PYTHON_WORDS, RESERVED

_LONGEST = 4_096  # characters of a line
_ARITHMETIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.+-*/(), \t\r\n"  # what names and numbers are joined by
_NUMBER = "0123456789.eE+- \t\r\n"
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

    def take(self, source: Source, is_known: Callable[[str], bool]) -> bool:
        """Hold a line back, if it is one of those that are and its name is new: what is known to stand for something is bound otherwise."""
        text = source.text
        name, equals, value = text.partition("=")
        if "#" in text:
            if "dialect" in text or "\n" in text.partition("#")[2][:-1]:
                return False
            if text.lstrip().startswith("#"):
                return True  # nothing to run
            value = value.partition("#")[0]
        name = name.strip()
        if (
            not equals
            or may_be_measured(value)
            or value.strip(_ARITHMETIC)
            or not value.strip()
            or not name.isidentifier()
            or not name.isascii()
        ):
            return False
        if len(text) > _LONGEST or type(source) is not Source or self.batched is not None or name in self.places or name in _WORDS:
            return False
        if is_known(name) or (self.texts and source.name != self.name):
            return False
        self.name = source.name
        self.places[name] = len(self.texts)
        self.numbers.append(None if value.strip(_NUMBER) else _number(value))
        self.texts.append(text)
        self.lines.append(source.first_line)
        return True

    def expressions(self) -> Iterator[str]:
        """Return what stands behind the equals signs, but for numbers."""
        for text, number in zip(self.texts, self.numbers, strict=True):
            if number is None:
                yield text.partition("=")[2].partition("#")[0].strip()

    def release(self) -> list[Source]:
        """The lines to be run; they are held no more."""
        sources = [Source(text, self.name, line) for text, line in zip(self.texts, self.lines, strict=True)]
        self.places, self.numbers, self.texts, self.lines, self.batched = {}, [], [], [], None
        return sources


def _number(text: str) -> float | None:
    """A number with a sign or without one; None for what has to be computed."""
    plain = text.strip()
    try:
        return int(plain) if plain.lstrip("+-").isdigit() and len(plain) < 300 else float(plain)
    except ValueError:
        return None
