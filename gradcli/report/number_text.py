"""Numbers and arrays as text: as they are, rounded, or in few characters for lines and boxes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_THRESHOLD = 1000  # entries above which an array is summarized, as NumPy does

LISTED = 8  # entries of an array that stand in a line


def array_text(array: Any, digits: int | None, width: int | None = None) -> str:
    """Numbers as they are, shortest round-trip; with digits rounded, and then marked by ≈ where that changed them."""
    value = np.asarray(array)
    if value.dtype.kind != "f":
        return str(value) if value.ndim else str(value[()])
    if not value.ndim:
        if digits is None:
            return str(value[()])
        text = f"{float(value):.{digits}g}"
        return text if float(text) == float(value) or value != value else f"≈ {text}"
    rounded: dict[str, Any] = {} if digits is None else {"formatter": {"float_kind": lambda v: f"{v:.{digits}g}"}}
    finite = np.abs(value[np.isfinite(value) & (value != 0)])
    without_exponents = bool(finite.size) and finite.min() >= 1e-5 and finite.max() < 1e16
    text = np.array2string(
        value,
        suppress_small=without_exponents,
        separator=", ",
        floatmode="unique",
        threshold=_THRESHOLD,
        max_line_width=width or 10**9,
        **rounded,
    )
    if value.ndim == 1 and "\n" not in text:
        text = re.sub(r" +(?=[,\]])", "", re.sub(r"(?<=\[) +|(?<=,) +(?= )", "", text))
    if digits is None:
        return text
    shown = np.vectorize(lambda v: float(f"{v:.{digits}g}"), otypes=[float])(value) if value.size else value
    return text if np.array_equal(shown, value, equal_nan=True) else f"≈ {text}" if "\n" not in text else "≈\n" + text


def short(value: Any, digits: int, listed: int = LISTED) -> str:
    """A value as short text, of a large array the shape and the range; empty for None."""
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
