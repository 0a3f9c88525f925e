"""Values with standard deviations.

This says where ``±`` (or ``+/-``) stands in a binding, and what may follow it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from gradcli.errors import AmbiguousError, ArgumentError, ParseError, ShapeError, Source, Span
from gradcli.language.tokens import NAME, Token, end_of, outside

_HELP = (
    "write m = 1.0 ± 0.1, or x = [1, 2] ± [0.1, 0.2]: it stands once, between a whole value "
    "and its standard deviation"
)

_CONCISE = re.compile(
    r"([-+−]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\(([0-9]+|[0-9]*\.[0-9]+)\)([eE][-+]?[0-9]+)?\Z"
)
_PAIR = re.compile(r"(.+?)\+-(.+)", re.DOTALL)
_WITH_DATA = re.compile(r"(.*?)[ \t]+(?:±|\+/-|\\pm(?![^\W\d_]))[ \t]*(.+)\Z", re.DOTALL)


def has_sign(text: str) -> bool:
    """Tell whether a sign may stand in a text."""
    return "±" in text or "+/-" in text


def may_be_measured(value: str) -> bool:
    """Tell whether the text of a value has a sign, or something that reads like one."""
    return has_sign(value) or "+-" in value or _CONCISE.match(value.strip()) is not None


def of_data(reference: str) -> tuple[str, str | None]:
    """Return the file that ``data.npy ± 0.1`` names, and the text of its standard deviation.

    The text is None if there is no standard deviation.
    """
    found = _WITH_DATA.match(reference) if has_sign(reference) or "\\pm" in reference else None
    return (reference, None) if found is None else (found[1], found[2])


def refuse_measured(source: Source, tokens: Sequence[Token], start: int, stop: int) -> None:
    """Raise AmbiguousError if a binding's whole value is ``5.00(5)`` or ``5.00 +- 0.05``."""
    if stop - start < 4:
        return
    begin, last = tokens[start].start, tokens[stop - 1]
    text = source.text[begin : end_of(last)]
    concise = _CONCISE.match(text)
    if concise is not None:
        value, digits, exponent = concise.groups(default="")
        places = len(value.partition(".")[2]) if "." not in digits else 0
        error = format(Decimal(digits).scaleb(-places), "f")
        readings = f"{value}{exponent}±{error}{exponent} or {value}*{digits}{exponent}"
    else:
        pair = _PAIR.fullmatch(text)
        if pair is None or any(token.kind == NAME for token in tokens[start:stop]):
            return
        readings = "{0}±{1} or {0} + (-{1})".format(*(part.strip() for part in pair.groups()))
    raise AmbiguousError(
        f"'{text}' has two readings: with a standard deviation, and without one",
        span=Span(begin, end_of(last)), source=source, help=f"write {readings}",
    )  # fmt: skip


def sign_in(tokens: Sequence[Token], start: int, stop: int) -> tuple[int, int] | None:
    """Return the range of tokens of the first sign outside of brackets.

    It is the index where the sign begins and the index after its end.
    """
    for at in outside(tokens, start, stop):
        words = [token.text for token in tokens[at : min(at + 3, stop)]]
        if words[0] == "±":
            return at, at + 1
        if words == ["+", "/", "-"] and tokens[at + 2].start == tokens[at].start + 2:
            return at, at + 3
    return None


def refuse_sign(source: Source, tokens: Sequence[Token]) -> None:
    """Raise ParseError for a sign where no value of a binding ends."""
    for token in tokens:
        if token.text == "±":
            raise ParseError("'±' is not read here", span=token.span, source=source, help=_HELP)


def deviations(given: Any, value: Any, name: str, *, percent: bool = False) -> np.ndarray:
    """Return standard deviations in the shape of a value.

    They may be given in percent of the value. Raises ArgumentError for anything that is not a
    standard deviation, ShapeError for another shape.
    """
    found, shape = np.asarray(np.abs(value) * given / 100 if percent else given), np.shape(value)
    if found.dtype.kind not in "fiu" or not np.all(np.isfinite(found)) or np.any(found < 0):
        raise ArgumentError(f"a standard deviation of '{name}' is no finite number of at least 0")
    if np.asarray(value).dtype.kind == "b":
        raise ArgumentError(f"'{name}' is boolean; only numbers have a standard deviation")
    if found.shape not in ((), shape):
        raise ShapeError(
            f"the standard deviation of '{name}' has the shape {found.shape}, its value {shape}",
            help="write one number for all entries, or one for each",
        )
    return np.broadcast_to(found.astype(np.float64), shape)
