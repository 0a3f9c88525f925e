"""Identifiers of other languages: the user's names as far as these can have them, and names for intermediates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

_ASCII = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Names:
    """The identifiers of one function, each given once."""

    def __init__(self, reserved: Collection[str], *, unicode: bool) -> None:
        self.taken = set(reserved)
        self.unicode = unicode
        self._last = 0

    def of(self, name: str, *, prefix: str = "") -> str:
        """An identifier for a name of the user's: itself, or with underscores after it where it is reserved or taken."""
        found = prefix + identifier(name, unicode=self.unicode)
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return found

    def new(self, letter: str = "t") -> str:
        """An identifier for something that has no name."""
        while True:
            self._last += 1
            found = f"{letter}{self._last}"
            if found not in self.taken:
                self.taken.add(found)
                return found


def identifier(name: str, *, unicode: bool) -> str:
    """A name that a language can have: Greek letters by their names where it knows ASCII only, other characters by their numbers."""
    if unicode and name.isidentifier() and unicodedata.normalize("NFKC", name) == name:
        return name
    if _ASCII.match(name):
        return name
    found = "".join(c if _is_kept(c, unicode) else _spelled(c) for c in name)
    return found if _ASCII.match(found[:1]) or (unicode and found.isidentifier()) else "_" + found


def _is_kept(character: str, unicode: bool) -> bool:
    within = "_" + character
    return bool(_ASCII.match(within)) or (unicode and within.isidentifier() and _is_plain(character))


def _is_plain(character: str) -> bool:
    return unicodedata.normalize("NFKC", character) == character


def _spelled(character: str) -> str:
    words = unicodedata.name(character, "").split()
    if len(words) == 4 and words[0] == "GREEK" and words[2] == "LETTER":
        return words[3].lower() if words[1] == "SMALL" else words[3].capitalize()
    if character == "'":
        return "_prime"
    return f"u{ord(character):04x}"


def ordered(names: Iterable[str]) -> list[str]:
    """Names in the order of their code points."""
    return sorted(names)
