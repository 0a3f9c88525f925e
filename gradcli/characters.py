"""Normal form of the characters of texts.

Characters are composed, and names get the form that Python gives its own, in time that grows with
the text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Literal

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
