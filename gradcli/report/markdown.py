"""Markdown for summaries of CI jobs and for comments: what came of the run, a table of what is wrong, and each of it in full, folded."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TextIO

from gradcli.inert import markdown_block, markdown_code, markdown_link
from gradcli.report.data import id_text
from gradcli.report.describing import block, location_in_repository
from gradcli.report.outcomes import Outcome, Report, Summary, Worst
from gradcli.report.places import address_of, place_of

ROOM = 60_000  # bytes of a page: a comment on GitHub has 65,536 characters at most, and a summary that is longer loads slowly
_MOST = 50  # cases that a page shows
_RESERVED = 200  # bytes for what is said of cases without room
_COLUMNS = ("finding", "id", "place", "expression", "reason")


class _Finding(NamedTuple):
    """A case that is not as it should be."""

    cells: tuple[str, ...]
    full: str


class Page:
    """The page of one run."""

    def __init__(self) -> None:
        self.worst: Worst[_Finding] = Worst(_MOST)

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            self.worst.add(outcome, _finding)

    def text(self, summary: Summary, room: int = ROOM) -> str:
        """The whole, in so many bytes: the worst cases have room first, and what has none is counted. Empty if nothing has room."""
        text = f"### {': '.join(filter(None, ['gradcli check', summary.came_of]))}\n\n{summary.line()}\n"
        if summary.verdicts:
            text += f"\nVerdicts: {summary.listed_verdicts}\n"
        found, room = list(self.worst), room - _size(text) - _RESERVED
        if room < 0:
            return ""
        rows = _within(room, _table(found))
        shown = max(len(rows) - 1, 0)  # beside the head of the table
        if shown:
            text += "\n" + "".join(rows)
            room -= _size("".join(rows))
        if self.worst.seen > shown:
            text += f"\nand {self.worst.seen - shown:,} more\n"
        blocks = _within(room, [finding.full for finding in found[:shown]])
        if blocks:
            which = "" if len(blocks) == shown else f" (the first {len(blocks)})"
            text += f"\n<details><summary>In full{which}</summary>\n\n" + "\n".join(blocks) + "\n</details>\n"
        return text


class MarkdownReport(Report):
    """The page, at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.page = Page()

    def add(self, outcome: Outcome) -> None:
        self.page.add(outcome)

    def close(self, summary: Summary) -> None:
        self.stream.write(self.page.text(summary))
        self.stream.flush()


def _finding(outcome: Outcome) -> _Finding:
    record = outcome.record
    where = markdown_link(markdown_code(location_in_repository(outcome), 300), address_of(place_of(outcome)))
    texts = ((id_text(record.id), 100), (record.expr, 200), (outcome.why, 300))
    id, expr, why = (markdown_code(text, limit) for text, limit in texts)
    full = markdown_block(block(replace(outcome, repeat=None)))
    if outcome.repeat is not None:
        full += "\n" + markdown_block(outcome.repeat, "sh")  # by itself, so that it can be copied
    return _Finding((outcome.rule, id, where, expr, why), full)


def _table(found: list[_Finding]) -> list[str]:
    """Its head and its rows; with ids if there are any."""
    columns = [number for number, name in enumerate(_COLUMNS) if name != "id" or any(finding.cells[number] for finding in found)]
    head = _row([_COLUMNS[number] for number in columns]) + _row(["---"] * len(columns))
    return [head, *(_row([finding.cells[number] for number in columns]) for finding in found)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _within(room: int, texts: list[str]) -> list[str]:
    """The first of the texts, as many as have room, each with an end of line."""
    for number, text in enumerate(texts):
        room -= _size(text) + 1
        if room < 0:
            return texts[:number]
    return texts


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
