"""Numbers in few characters, for lines and boxes: a number rounded to some digits, an array of a few, of more the shape and the range."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.report.sheet import array_text

LISTED = 8  # entries of an array that stand in a line


def short(value: Any, digits: int, listed: int = LISTED) -> str:
    """A value as short text; empty for None."""
    return rounded(value, digits, listed)[0]


def rounded(value: Any, digits: int, listed: int = LISTED) -> tuple[str, bool]:
    """The same, and whether a number of it was rounded."""
    if value is None:
        return "", False
    if isinstance(value, tuple):
        parts = [rounded(part, digits, listed) for part in value]
        return "(" + ", ".join(text for text, _ in parts) + ")", any(lost for _, lost in parts)
    array = np.asarray(value)
    if array.size > listed:
        return _range(array), False
    text = array_text(array, digits)
    return " ".join(text.removeprefix("≈").split()), text.startswith("≈")


def _range(array: np.ndarray) -> str:
    shape = "×".join(map(str, array.shape))
    if array.dtype.kind != "f":
        return f"{shape} of {array.dtype.name}"
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{shape}, none finite"
    ends = [f"{float(end):.3g}" for end in (finite.min(), finite.max())]
    bad = array.size - finite.size
    span = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"{shape}, {span}" + (f", {bad} not finite" if bad else "")


def size(value: Any) -> float:
    """The sum of the magnitudes of all entries; infinite where one is not finite."""
    if isinstance(value, tuple):
        return sum(size(part) for part in value if part is not None)
    with np.errstate(all="ignore"):
        total = float(np.abs(np.asarray(value, float)).sum())
    return total if total == total else np.inf
