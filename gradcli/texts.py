"""Texts: as they are read, and as they are shown.

Characters are composed, and names get the form that Python gives its own, in time that grows with
the text. What is shown in a terminal, a log or a message has only characters that can be seen; for
formats and other programs, `inert.py` has a function each.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isinf
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

# Most combining marks in a row that are normalized, as in Unicode's stream-safe form: sorting more
# of them takes quadratic time.
_MOST = 30
_UNWRITTEN = re.compile(rf"([^\w\x00-\x7f]{{{_MOST + 1},}})")  # this class includes all marks
RAISED = "⁰¹²³⁴-⁹ⁿ"  # what is no part of a name, for regular expressions
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_ABOVE = r"\u0300-\u036f\u20d0-\u20dc"  # marks above letters, as in x̄
_MARKS = f"[{_ABOVE}]{{0,2}}"
NAME = rf"(?:∂|[^\W\d{RAISED}{FRACTIONS}]){_MARKS}(?:(?![{RAISED}{FRACTIONS}])[\w∂]{_MARKS})*+"
PLAIN_NAME = rf"[^\W\d][\w{_ABOVE}]*"  # where a name stands alone
# First what stays as it is: a comment, primes, quoted text, or the file of a binding ``x =
# @data.npy``; then, as the group, a name.
_NAMES = re.compile(rf"""\#[^\n]*|(?<=[\w'])'+|'[^'\n]*'|"[^"\n]*"|=[ \t]*@[^;\n]*|({NAME})""")
# \pm of LaTeX and +- before a percentage; the group keeps the name of a file
_PLUS_MINUS = re.compile(r"(=[ \t]*@[^;\n]*)|\\pm(?![^\W\d_])|\+-(?=[^;\n]*%[ \t]*(?:[;\n]|\Z))")
_IS_NAME = re.compile(NAME)


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a float, ``inf`` and ``nan`` among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_float(text: str | float) -> float:
    """Return the float that Python reads in a text; a number as it is.

    Raises ValueError, and OverflowError where digits stand for more than a float, or for a number
    that would become 0.
    """
    found, digits = float(text), str(text).lower().partition("e")[0]
    if isinf(found) and "n" not in digits:
        raise OverflowError(f"{text} is too large for a float")
    if found == 0 and digits.strip(" +-0_."):
        raise OverflowError(f"{text} is too small for a float")
    return found


def normalize(text: str) -> str:
    """Return a text in the form in which it is read.

    The text is composed, and each name has the form that Python gives its names (NFKC): ``µ``
    (U+00B5) becomes ``μ`` (U+03BC).

    Raised and lowered characters stay as they are because they mean something: ``x²`` is a power,
    and ``x₁`` and ``xᵢ`` are not ``x1`` and ``xi``.
    """
    text = compose(text)
    if "\\pm" in text or "+-" in text:
        text = _PLUS_MINUS.sub(lambda found: found[1] or "±", text)
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return _NAMES.sub(lambda found: found[0] if found[1] is None else _name(found[1]), text)


def compose(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Return a text in a Unicode normal form.

    Stretches of more marks than any script has stay as they are: no name contains them.
    """
    if text.isascii():
        return text
    parts = _UNWRITTEN.split(text)
    return "".join(
        part if i % 2 else unicodedata.normalize(form, part) for i, part in enumerate(parts)
    )


def _name(written: str) -> str:
    """Return a name in its normal form.

    It stays as it is where the normal form is not a name (U+FDFA is a sentence).
    """
    if written.isascii():
        return written
    form = unicodedata.normalize("NFC", "".join(map(_character, written)))
    return form if _IS_NAME.fullmatch(form) else written


def _character(written: str) -> str:
    raised_or_lowered = unicodedata.decomposition(written).startswith(("<super>", "<sub>"))
    return written if raised_or_lowered else unicodedata.normalize("NFKC", written)


def as_key(name: Any) -> Any:
    """Return a key in the form that names are read in, if it is a name."""
    return normalize(name) if isinstance(name, str) else name


class ByName(dict[str, Any]):
    """Results by names, in the form that names are read in, which are found by any form."""

    def __missing__(self, name: Any) -> Any:
        form = as_key(name)
        if form == name or not dict.__contains__(self, form):
            raise KeyError(name)
        return self[form]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, as_key(name))

    def get(self, name: Any, default: Any = None) -> Any:
        return dict.get(self, as_key(name), default)


def by_name(results: Any) -> Any:
    """Results with their tables by names, also inside of tuples and tables, as `ByName`."""
    if isinstance(results, dict):
        return ByName((name, by_name(each)) for name, each in results.items())
    return tuple(map(by_name, results)) if type(results) is tuple else results


def text_lines(text: str, *, keepends: bool = True) -> list[str]:
    r"""Return the lines of a text, each with its end.

    A line ends at ``\n`` (or ``\r\n``) and nowhere else, as in a file.

    `str.splitlines` also cuts at U+2028, form feeds and the like, which come in with pasted text:
    the rest of a comment after them would be run.
    """
    lines = text.split("\n")
    last = lines.pop()
    found = [f"{line}\n" for line in lines] + ([last] if last else [])
    return found if keepends else [line.rstrip("\r\n") for line in found]


def words(text: str) -> Set[str]:
    """Return the words of a text as a set in their order, for lists of names."""
    return dict.fromkeys(text.split()).keys()


_Value = TypeVar("_Value")


def by_word(table: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return a table with an entry for each word of the keys of another."""
    return {word: value for keys, value in table.items() for word in keys.split()}


def pairs(text: str) -> dict[str, str]:
    """Return a table of words, from ``"key value, key value"``."""
    return {key: value for pair in text.split(",") for key, value in [pair.split()]}


_LONGEST_WORD = 60  # longest word for which a likely spelling is sought
# Only the first so many candidates are looked at, so that an error takes no longer in a program of
# millions of names.
_CANDIDATES = 2_000


def suggestion(word: str, candidates: Iterable[str], cutoff: float = 0.78) -> str | None:
    """Return the one candidate close enough to be a likely spelling of word, else None."""
    if len(word) > _LONGEST_WORD:
        return None
    import difflib

    lowered = word.lower()
    found = {candidate.lower(): candidate for candidate in islice(candidates, _CANDIDATES)}
    # An upper bound of difflib's ratio, by the letters that both have, leaves few words for
    # difflib.
    likely = [
        folded
        for folded in found
        if 2 * sum(map(folded[:_LONGEST_WORD].__contains__, lowered))
        >= cutoff * (len(lowered) + len(folded))
    ]
    close = difflib.get_close_matches(lowered, likely, n=1, cutoff=cutoff)
    return found[close[0]] if close else None


# -- A text and where it came from


_NEAR = 100  # so few characters are searched faster than lines are counted


class Span(NamedTuple):
    """Half-open range of character offsets in a `Source`."""

    start: int
    end: int


@dataclass(unsafe_hash=True)
class Source:
    """A piece of program text and where it came from (``first_line`` counts from 1)."""

    text: str
    name: str | None = None
    first_line: int = 1
    latex: ClassVar[bool] = False  # whether its tokens are read from LaTeX

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (from 1, in characters) of an offset."""
        if offset < _NEAR and "\n" not in self.text[:offset]:  # true of most statements
            return self.first_line, offset + 1
        line = bisect_right(self._starts, offset) - 1
        return self.first_line + line, offset - self._starts[line] + 1

    def line_at(self, offset: int) -> Span:
        """Return where the line of an offset begins and ends."""
        line = bisect_right(self._starts, offset)
        start, end = (
            self._starts[line - 1],
            self._starts[line] - 1 if line < len(self._starts) else len(self.text),
        )
        while end > start and self.text[end - 1] == "\r":
            end -= 1
        return Span(start, end)

    @cached_property
    def _starts(self) -> list[int]:
        """Return where its lines begin.

        They are counted once: a text may have as many errors as it has statements.
        """
        starts, end = [0], self.text.find("\n")
        while end >= 0:
            starts.append(end + 1)
            end = self.text.find("\n", end + 1)
        return starts


# -- Logical lines, which go on while a bracket is open


_BRACKETS = re.compile(r"""(?<=[\w'])'+|'[^'\n]*'|"[^"\n]*"|\#.*|[()\[\]]""")


_CONTINUED = ("\\\n", "\\\r\n")  # endings of a line that continues on the next


def open_brackets(text: str) -> int:
    """Return how many more brackets a text opens than it closes, but for quotes and comments."""
    if "#" not in text and "'" not in text and '"' not in text:
        return text.count("(") + text.count("[") - text.count(")") - text.count("]")
    words = [m.group() for m in _BRACKETS.finditer(text)]
    return words.count("(") + words.count("[") - words.count(")") - words.count("]")


def logical_lines(lines: Iterable[str], limit: int) -> Iterator[tuple[int, str]]:
    """Join physical lines while a bracket is open.

    The number of the first line (from 1) and the text are yielded. Lines come as they are read, so
    that a pipe is answered line by line. A bracket that is never closed (before the end, or within
    ``limit`` characters) leaves its line alone, and reading resumes on the next line.
    """
    pending: list[str] = []  # lines since the one that opened a bracket
    depths: list[int] = []
    first, size, depth = 1, 0, 0
    for line in lines:
        change = open_brackets(line)
        if not pending and change <= 0 and not line.endswith(_CONTINUED):
            yield first, line
            first += 1
            continue
        pending.append(line)
        depths.append(change)
        size += len(line)
        depth += change
        if depth <= 0 and not (line.endswith(_CONTINUED) and "#" not in line):
            yield first, "".join(pending)
        elif size > limit:
            yield from _regroup(pending, depths, first)
        else:
            continue
        first += len(pending)
        pending, depths, size, depth = [], [], 0, 0
    yield from _regroup(pending, depths, first)


class Ahead:
    """Lines that are handed on as they are asked for, and can be looked at before."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.count = 0  # number of lines handed on

    def __iter__(self) -> Iterator[str]:
        while (line := next(self._lines, None)) is not None:
            self.count += 1
            yield line

    def rest(self) -> list[str]:
        """Return the lines that are to come.

        An error while reading them is raised later, in its turn.
        """
        waiting: list[str] = []
        failure = None
        try:
            waiting.extend(self._lines)
        except Exception as error:
            failure = error
        self._lines = _again(waiting, failure)
        return waiting


def _again(lines: list[str], failure: Exception | None) -> Iterator[str]:
    yield from lines
    if failure is not None:
        raise failure


def _regroup(lines: list[str], depths: list[int], first: int) -> Iterator[tuple[int, str]]:
    """Logical lines of a stretch in which some bracket is never closed, in linear time."""
    ends = []
    total = 0
    for change in depths:
        total += change
        ends.append(total)
    lowest = list(ends)  # smallest depth at the end of this or any later line
    for i in range(len(lowest) - 2, -1, -1):
        lowest[i] = min(lowest[i], lowest[i + 1])
    start = 0
    while start < len(lines):
        before = ends[start - 1] if start else 0
        stop = start + 1
        if ends[start] > before and lowest[start] <= before:
            while ends[stop - 1] > before:
                stop += 1
        yield first + start, "".join(lines[start:stop])
        start = stop


# -- Terminals, logs, messages: texts all of whose characters can be seen


# What takes no room though Python calls it printable: fillers, joiners and selectors of variants, in
# which texts can hide.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# What a CI system takes for a command in a log: of GitHub's at the beginning of a line, of Azure's
# and TeamCity's anywhere.
COMMAND = re.compile(r"^([^\S\n]*):(?=:[A-Za-z])|(?<=#)#(?=\[|vso\[|teamcity\[)", re.MULTILINE)


def is_seen(character: str) -> bool:
    return character.isprintable() and not _UNSEEN.match(character)


def is_plain(text: str) -> bool:
    """Return whether all of a text can be seen, which nearly every text can."""
    return text.isprintable() and (text.isascii() or not _UNSEEN.search(text))


def in_python(character: str) -> str:
    """Return a character as Python writes it."""
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code <= 0xFF
        else f"\\u{code:04x}"
        if code <= 0xFFFF
        else f"\\U{code:08x}"
    )


def printable(text: str) -> str:
    """Text on one line, all of which can be seen; a tab is a blank."""
    if is_plain(text):
        return text
    return "".join(c if is_seen(c) else " " if c == "\t" else in_python(c) for c in text)


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def inert_lines(text: str) -> str:
    """Lines of text for a terminal or a log, none of which a CI system takes for a command."""
    seen = printable_lines(text)
    return COMMAND.sub(disarm, seen) if "::" in seen or "##" in seen else seen


def disarm(found: re.Match[str]) -> str:
    return "\\x23" if found[0] == "#" else f"{found[1]}\\x3a"


def clip_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def one_line(text: str, limit: int) -> str:
    """Return text on a single line of at most ``limit`` characters.

    Blanks, tabs and line ends in a row become one blank.
    """
    return clip_text(printable(re.sub("[ \t\r\n]+", " ", text[: 8 * limit]).strip(" ")), limit)


def ends_of(text: str, limit: int) -> str:
    """Return text on a single line, cut in the middle if it is long.

    Both ends are kept, because long sums differ in their last terms.
    """
    last = limit // 3
    if len(text) > 16 * limit:
        text = f"{text[: 8 * limit]}…{text[-8 * limit :]}"
    whole = printable(" ".join(text.split()))
    return whole if len(whole) <= limit else f"{whole[: limit - last - 1]}…{whole[-last:]}"


def display_width(text: str) -> int:
    """Return the columns of printable text in a terminal.

    Wide characters take two columns, and combining marks take none.
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    # the latter join a syllable before them
    if unicodedata.category(character) in ("Mn", "Me") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    """Printable text with blanks behind it, to this many columns."""
    return text + " " * (width - display_width(text))


def entry_text(name: str, index: tuple[int, ...]) -> str:
    """Return what an entry of an array is called: ``x[1, 2]``; ``x`` alone of a number."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def in_columns(rows: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    """Return a line for each row: its first text, and its second in a column beside it."""
    rows = list(rows)
    width = max((len(first) for first, _ in rows), default=0)
    return [f"{indent}{first:<{width}}  {second}" for first, second in rows]
