"""References of padding: lines made longer at their ends, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.entries import lined, total
from gradcli.ops.references.reducing import (
    order,
)


def _ends(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """An argument by axes and ends, from one for all, a pair for all axes, or a pair (or number) for each."""
    spread = np.broadcast_to(np.array(value, dtype=object), (ndim, 2))
    return [(before, after) for before, after in spread.tolist()]


def _stretched(m: Any, row: list[Any], before: int, after: int, mode: str, odd: bool, lengths: Any, ends: Any) -> list[Any]:
    """One line made longer at its ends, entry by entry."""
    n = len(row)

    def at(i: int) -> Any:
        if 0 <= i < n:
            return row[i]
        if mode == "edge":
            return row[0] if i < 0 else row[-1]
        if mode == "wrap":
            return row[i % n]
        if mode == "reflect" and n == 1:
            return row[0]
        edge, inside = (0, -i) if i < 0 else (n - 1, 2 * (n - 1) - i)
        inside = inside if mode == "reflect" else inside - 1 if i < 0 else inside + 1
        return 2 * row[edge] - at(inside) if odd else at(inside)

    if mode == "linear_ramp":
        ramps = [ends[0] + (row[0] - ends[0]) * k / before for k in range(before)]
        return [*ramps, *row, *([ends[1] + (row[-1] - ends[1]) * k / after for k in range(after)][::-1])]
    if mode in ("maximum", "minimum", "mean", "median"):
        first, last = (n if k is None else min(k, n) for k in lengths)
        return [_statistic(m, row[:first], mode)] * before + row + [_statistic(m, row[n - last :], mode)] * after
    return [at(i) for i in range(-before, n + after)]


def _statistic(m: Any, row: list[Any], mode: str) -> Any:
    if mode == "mean":
        return total(m, row) / len(row)
    ranked = [row[i] for i in order(m, row)]
    half = len(ranked) // 2
    middle = ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2
    return {"maximum": ranked[-1], "minimum": ranked[0], "median": middle}[mode]


@of("pad")
def pad(m: Any, x: Any, pad_width: Any, mode: str, constant_values: Any, reflect_type: str, stat_length: Any, end_values: Any) -> Any:
    ndim = np.ndim(x)
    widths, fills = _ends(pad_width, ndim), _ends(constant_values, ndim)
    lengths, ends = _ends(stat_length, ndim), _ends(end_values, ndim)
    found = x
    for a, (before, after) in enumerate(widths):
        if mode == "constant":
            front, back = (m.one * v for v in fills[a])
            found = lined(found, a, lambda row, b=before, e=after, u=front, v=back: [u] * b + row + [v] * e)  # type: ignore[misc]
        elif before or after:
            found = lined(
                found, a,
                lambda row, a=a, b=before, e=after: _stretched(m, row, b, e, mode, reflect_type == "odd", lengths[a], ends[a]),  # type: ignore[misc]
            )  # fmt: skip
    return found


@of("torch_pad")
def torch_pad(m: Any, x: Any, pad: Any, mode: str, value: Any) -> Any:
    ends = pad if isinstance(pad, tuple) else (pad,)
    found, fill = x, m.one * (0 if value is None else value)
    known = {"replicate": "edge", "circular": "wrap"}
    for i in range(0, len(ends), 2):
        before, after = ends[i : i + 2]

        def change(row: list[Any], before: int = before, after: int = after) -> list[Any]:
            row = row[max(0, -before) : len(row) - max(0, -after)] if mode in ("constant", "circular") else row
            if mode == "constant":
                return [fill] * before + row + [fill] * after
            longer = _stretched(m, row, max(0, before), max(0, after), known.get(mode, mode), False, None, None)
            return longer if mode == "circular" else longer[max(0, -before) : len(longer) - max(0, -after)]

        found = lined(found, np.ndim(x) - 1 - i // 2, change)
    return found
