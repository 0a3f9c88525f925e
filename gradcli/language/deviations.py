"""Values with standard deviations: where ``±`` (or ``+/-``) stands in a binding, and what may stand behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ParseError, ShapeError, Source
from gradcli.language.tokens import SYMBOL, Token

_HELP = "write m = 1.0 ± 0.1, or x = [1, 2] ± [0.1, 0.2]: it stands once, between a whole value and its standard deviation"


def sign_in(tokens: Sequence[Token], start: int, stop: int) -> tuple[int, int] | None:
    """The places of the tokens of the first sign outside of brackets: where it begins, and where it has ended."""
    depth = 0
    for at in range(start, stop):
        kind, text, begin = tokens[at]
        if kind != SYMBOL:
            continue
        depth += (text in "([") - (text in ")]")
        if depth == 0 and text == "±":
            return at, at + 1
        if (
            depth == 0
            and text == "+"
            and at + 2 < stop
            and [tokens[at + 1][1:], tokens[at + 2][1:]] == [("/", begin + 1), ("-", begin + 2)]
        ):
            return at, at + 3
    return None


def refuse_sign(source: Source, tokens: Sequence[Token]) -> None:
    """Raise ParseError for a sign where no value of a binding ends."""
    for token in tokens:
        if token.text == "±" and token.kind == SYMBOL:
            raise ParseError("'±' is not read here", span=token.span, source=source, help=_HELP)


def deviations(given: Any, value: Any, name: str) -> np.ndarray:
    """Standard deviations in the shape of a value. Raises ArgumentError for what are none, ShapeError for another shape."""
    found, shape = np.asarray(given), np.shape(value)
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
