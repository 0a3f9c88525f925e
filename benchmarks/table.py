"""The table: results as plain data first, then as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.contest import Goal
from benchmarks.measuring import Result, Standing, ratio

_HEAD = ("contestant", "time", "ratio", "peak memory", "runs", "")


def as_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def data(result: Result) -> dict[str, Any]:
    return {
        "key": result.workload.key,
        "title": result.workload.title,
        "contestants": [_standing_data(standing) for standing in result.standings],
        "goals": [
            {"goal": words(goal), "figure": result.figure(goal), "holds": result.holds(goal)}
            for goal in result.workload.goals
        ],
    }


def _standing_data(standing: Standing) -> dict[str, Any]:
    contestant = standing.contestant
    return {
        "name": contestant.name, "seconds": standing.seconds, "samples": standing.samples, "items": contestant.items,
        "first": standing.first, "peak": standing.peak, "cores": contestant.cores, "note": standing.note,
    }  # fmt: skip


def words(goal: Goal) -> str:
    """A goal as a sentence."""
    if not goal.of:
        return f"{goal.subject}: at most {_amount(goal, goal.limit)}"
    what = "memory" if goal.measure == "peak" else "time"
    return f"{goal.subject}: at most {goal.limit:.2g}× the {what} of {goal.of}"


def _amount(goal: Goal, figure: float) -> str:
    return bytes_text(figure) if goal.measure == "peak" else time_text(figure)


def _ended(result: Result, goal: Goal) -> str:
    """Whether a goal holds, and the figure that decides it."""
    figure = result.figure(goal)
    if figure is None:
        return "not measured"
    shown = f"{figure:.2f}×" if goal.of else _amount(goal, figure)
    return f"{'holds' if result.holds(goal) else 'fails'} ({shown})"


def time_text(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return (
                f"{seconds / size:.3g} {unit}"
                if seconds < 999.5 * size
                else f"{seconds / size:.0f} {unit}"
            )
    return f"{seconds / 1e-9:.3g} ns"


def bytes_text(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _rows(result: Result) -> list[tuple[str, ...]]:
    """The table of one workload, a row for each contestant."""
    return [_row(result, standing) for standing in result.standings]


def _row(result: Result, standing: Standing) -> tuple[str, ...]:
    contestant, seconds, unit = standing.contestant, standing.seconds, result.workload.unit
    if seconds is None:
        return contestant.name, standing.note or "not measured", "", "", "", ""
    first = next(other for other in result.standings if other.seconds is not None)
    # of an item, as some get fewer
    relative = f"{(ratio(standing, first) or 0.0) * first.contestant.items / contestant.items:.2f}"
    peak = "" if standing.peak is None else bytes_text(standing.peak)
    each = f"{time_text(seconds / contestant.items)} for each {unit}" if unit else ""
    return (
        contestant.name,
        time_text(seconds),
        relative,
        peak,
        str(len(standing.samples)),
        "; ".join(filter(None, (each, standing.note))),
    )


def _goal_line(result: Result, goal: Goal) -> str:
    return f"{words(goal)}: {_ended(result, goal)}"


def as_text(result: Result) -> str:
    """The table of one workload for a terminal."""
    rows = [_HEAD, *_rows(result)]
    # a row without a time has a note in its place, as long as it likes
    widths = [
        max(len(row[i]) for row in rows if i == 0 or row[2:4] != ("", "") or row is _HEAD)
        for i in range(len(_HEAD))
    ]
    lines = ["  " + "  ".join(_aligned(row, widths)).rstrip() for row in rows]
    goals = [f"  goal: {_goal_line(result, goal)}" for goal in result.workload.goals]
    return "\n".join([f"{result.workload.key}  {result.workload.title}", *lines, *goals, ""])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    name, *cells, note = row
    return [
        name.ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=False)),
        note,
    ]


def markdown(result: Result) -> str:
    lines = [
        f"### {result.workload.key}: {result.workload.title}",
        "",
        _markdown_row(_HEAD),
        "|---|--:|--:|--:|--:|---|",
    ]
    lines += [_markdown_row(row) for row in _rows(result)]
    lines += ["", *(f"- {_goal_line(result, goal)}" for goal in result.workload.goals)]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("*", r"\*").replace("|", r"\|") for cell in cells) + " |"
