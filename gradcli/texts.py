"""Texts: characters in their normal form, lines, words, and the known word that was meant.

Characters are composed, and names get the form that Python gives its own, in time that grows with
the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Set
from itertools import islice
from math import isinf
from typing import Any, Literal, TypeVar

# Most combining marks in a row that are normalized, as in Unicode's stream-safe form: sorting more
# of them takes quadratic time.
_MOST = 30
_UNWRITTEN = re.compile(rf"([^\w\x00-\x7f]{{{_MOST + 1},}})")  # this class includes all marks
RAISED = "⁰¹²³⁴-⁹ⁿ"  # what is no part of a name, for regular expressions
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
NAME = rf"(?:∂|[^\W\d{RAISED}{FRACTIONS}])(?:(?![{RAISED}{FRACTIONS}])[\w∂])*+"
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


class ByName(dict[str, Any]):
    """Results by names, in the form that names are read in, which are found by any form."""

    def __missing__(self, name: Any) -> Any:
        form = normalize(name) if isinstance(name, str) else name
        if form == name or not dict.__contains__(self, form):
            raise KeyError(name)
        return self[form]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, normalize(name) if isinstance(name, str) else name)

    def get(self, name: Any, default: Any = None) -> Any:
        return dict.get(self, normalize(name) if isinstance(name, str) else name, default)


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
    found = [line + "\n" for line in lines] + ([last] if last else [])
    return found if keepends else [line.rstrip("\r\n") for line in found]


def words(text: str) -> Set[str]:
    """Return the words of a text as a set in their order, for lists of names."""
    return dict.fromkeys(text.split()).keys()


_Value = TypeVar("_Value")


def by_word(table: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return a table with an entry for each word of the keys of another."""
    return {word: value for keys, value in table.items() for word in keys.split()}


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
