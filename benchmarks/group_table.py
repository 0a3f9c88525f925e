"""The table of a group: a row for each expression, beside the best peer, with the share of the
memory's bandwidth; and its goals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.contest import Group
from benchmarks.measuring import Result, Standing, ratio
from benchmarks.table import time_text

_END = "of bandwidth"


@dataclass(frozen=True)
class Row:
    """What the table says of one expression. A figure that was not measured is None.

    ratio   time of ours relative to the best peer's
    first   seconds of the first call of ours, and of them those beyond a later call: reading,
            planning, compiling
    peak    memory of ours relative to that of inputs and gradients
    share   of the bandwidth of copied memory that the least traffic makes in the time of ours
    """

    key: str
    seconds: dict[str, float | None]
    ratio: float | None
    first: float | None
    compiling: float | None
    peak: float | None
    share: float | None
    notes: tuple[str, ...]


def row_of(group: Group, result: Result) -> Row:
    workload, found = (
        result.workload,
        {standing.contestant.name: standing for standing in result.standings},
    )
    ours, memory, best = found[group.ours], found[group.memory], result.best(group.peers)
    time, copying = ours.seconds, memory.seconds
    return Row(
        key=workload.key,
        seconds={
            name: found[name].seconds if name in found else None
            for name in (group.ours, group.plain, *group.peers)
        },
        ratio=None if best is None else ratio(ours, best),
        first=ours.first,
        compiling=None if ours.first is None or time is None else max(0.0, ours.first - time),
        peak=None if ours.peak is None else ours.peak / workload.traffic,
        share=None
        if time is None or copying is None
        else workload.traffic / time / (memory.contestant.items / copying),
        notes=tuple(_notes(result.standings)),
    )


def _notes(standings: Iterable[Standing]) -> Iterator[str]:
    return (
        f"{standing.contestant.name}: {standing.note}" for standing in standings if standing.note
    )


def head(group: Group) -> tuple[str, ...]:
    return (
        "expression",
        group.ours,
        group.plain,
        *group.peers,
        "ratio",
        "first call",
        "compiling",
        "peak memory",
        _END,
    )


def cells(row: Row) -> tuple[str, ...]:
    return (
        row.key, *(_time(seconds) for seconds in row.seconds.values()), _times(row.ratio), _time(row.first), _time(row.compiling),
        _times(row.peak), "" if row.share is None else f"{row.share:.0%}",
    )  # fmt: skip


def _time(seconds: float | None) -> str:
    return "" if seconds is None else time_text(seconds)


def _times(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}×"


def line(texts: Sequence[str]) -> str:
    """A row for a terminal, whose columns are as wide as in every other: rows are shown while
    others are still measured.
    """
    name, *others = texts
    return f"  {name:15}" + "".join(f"{text:>14}" for text in others)


def noted(row: Row) -> list[str]:
    return [f"    {note}" for note in row.notes]


def summary(group: Group, rows: Sequence[Row]) -> list[str]:
    """How many are slower than the best peer, the median of the ratios, and whether both are what
    they must be.
    """
    ratios = {row.key: row.ratio for row in rows if row.ratio is not None}
    shares = [row.share for row in rows if row.share is not None]
    lines = []
    if ratios:
        slower = [f"{key} {figure:.2f}×" for key, figure in ratios.items() if figure > 1]
        listed = f"{len(slower)} slower" + (": " + ", ".join(slower) if slower else "")
        middle = median(ratios.values())
        lines += [
            f"goal: none of {len(ratios)} slower than a peer: {_held(not slower)} ({listed})",
            f"goal: the median at most {group.middle:.2g}× the best peer: "
            f"{_held(middle <= group.middle)} ({middle:.2f}×)",
        ]
    if shares:
        lines.append(
            f"share of the bandwidth of copied memory: median {median(shares):.0%}, from "
            f"{min(shares):.0%} to {max(shares):.0%}"
        )
    return lines


def _held(holds: bool) -> str:
    return "holds" if holds else "fails"


def markdown(group: Group, results: Sequence[Result]) -> str:
    rows = [row_of(group, result) for result in results]
    names = head(group)
    lines = [
        f"### {group.key}: {group.title}",
        "",
        _markdown_row(names),
        "|---|" + "--:|" * (len(names) - 1),
    ]
    lines += [_markdown_row(cells(row)) for row in rows]
    lines += [
        "",
        *(f"- {note}" for row in rows for note in row.notes),
        *(f"- {text}" for text in summary(group, rows)),
    ]
    return "\n".join(lines)


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def data(group: Group, results: Sequence[Result]) -> dict[str, Any]:
    """The group's figures for a file; samples stand with its workloads."""
    rows = [row_of(group, result) for result in results]
    return {
        "key": group.key,
        "title": group.title,
        "rows": [vars(row) for row in rows],
        "summary": summary(group, rows),
    }
