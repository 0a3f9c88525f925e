"""What has been typed and is in force: plain data, of which a program is made again, in a session or as a file.

``_`` is not a name of the language: it is text, which stands for the last query, in brackets, or for its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LAST = re.compile(r"""(?<![\w.])_(?!\w)|'[^'\n]*'|"[^"\n]*"|\#.*""")
_WORD = re.compile(r"[^\W\d]\w*")
_DRAWS = re.compile(r"rand|choice|normal|dropout|seed|shuffle|permutation")
_LONGEST = 2_000  # characters of an expression that "_" stands for; beyond, it is a value


@dataclass(frozen=True)
class Entry:
    """A logical line that has run without an error.

    text   with what "_" stood for in its place
    binds  whether others build on it: a binding, a definition, an import
    """

    text: str
    binds: bool

    @property
    def counts(self) -> bool:
        """Whether a program that is made again needs it: random numbers are drawn in the order of the program, by queries, too."""
        return self.binds or _DRAWS.search(self.text) is not None


@dataclass
class Settings:
    """What `:set` changes, and what holds from the beginning."""

    check: bool = True
    formula: bool = True
    digits: int | None = None
    wrt: str | None = None
    dialect: str | None = None
    dtype: str = "float64"
    color: str = "auto"
    limit: list[str] = field(default_factory=list)  # raised ones, as of --limit


@dataclass
class Transcript:
    """The entries of a session in order, the last result, and the settings."""

    settings: Settings = field(default_factory=Settings)
    entries: list[Entry] = field(default_factory=list)
    last: str | None = None  # what "_" stands for: text of the language
    query: str | None = None  # the last query, as `:explain` takes it
    line: int = 0  # that was typed last

    def copy(self) -> Transcript:
        return Transcript(self.settings, [*self.entries], self.last, self.query, self.line)

    def program(self) -> str:
        """A program that does what the session has done."""
        return "".join(f"{entry.text}\n" for entry in self.entries)

    def bindings(self) -> str:
        """Only what names stand for."""
        return "".join(f"{entry.text}\n" for entry in self.entries if entry.counts and entry.binds)


def mentions_last(text: str) -> bool:
    """Whether a text speaks of the last result."""
    return any(found[0] == "_" for found in _LAST.finditer(text))


def without_last(text: str, last: str) -> str:
    """A text with the last result in the place of "_"."""
    value = last if _WORD.fullmatch(last) or re.fullmatch(r"[\d.]+", last) else f"({last})"
    return _LAST.sub(lambda found: value if found[0] == "_" else found[0], text)


def is_expression(text: str) -> bool:
    """Whether a query may be written again in the place of its result: it draws nothing, and is not too long."""
    return len(text) <= _LONGEST and "\n" not in text and ";" not in text and "#" not in text and not _DRAWS.search(text)


def words(text: str) -> set[str]:
    return set(_WORD.findall(text))
