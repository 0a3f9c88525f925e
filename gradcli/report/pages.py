"""Reports for people: text, and pages of what is wrong, the worst first.

The pages are in Markdown and annotations of GitHub Actions.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TextIO

from gradcli.data import id_text
from gradcli.inert import markdown_block, markdown_code, workflow_command
from gradcli.report.describing import (
    Place,
    block,
    id_of,
    location,
    message,
    notes,
    place_of,
    remark,
)
from gradcli.report.outcomes import Outcome, Report, Summary
from gradcli.texts import inert_lines, one_line, printable

_MOST_NOTES = 100  # most notes on right claims
_MOST_UNREACHED = 10  # most unreached cases that are named


class TextReport(Report):
    """Failures at the end, where they are seen.

    ``verbose`` adds a line for every case as it comes, and with ``quiet`` a run without failures
    has nothing to say. What a report is made of is put by methods of their own, which a terminal
    has in colour.
    """

    MOST = 1000  # most failures that are shown in full

    def __init__(self, stream: TextIO, verbose: bool = False, quiet: bool = False) -> None:
        super().__init__(stream)
        self.verbose, self.quiet = verbose, quiet
        self.notes: list[str] = []
        self.unreached: list[str] = []  # the first ones, a line each

    def add(self, outcome: Outcome) -> None:
        if outcome.record.unreached:
            if len(self.unreached) < _MOST_UNREACHED:
                self.unreached.append(
                    "  ".join(
                        part
                        for part in (location(outcome), one_line(outcome.record.expr, 100))
                        if part
                    )
                )
        elif outcome.bad:
            self.worst.add(outcome, block)
        elif len(self.notes) < _MOST_NOTES:
            self.notes += notes(outcome)
        if self.verbose:
            parts = (
                location(outcome) + id_of(outcome.record),
                one_line(outcome.record.expr, 100),
                one_line(remark(outcome), 100),
            )
            self.put_case(outcome.status, [part for part in parts if part])
            self.stream.flush()

    def close(self, summary: Summary) -> None:
        if (
            self.quiet
            and not summary.bad
            and not summary.unreached
            and not summary.interrupted
            and summary.total
        ):
            return
        if self.verbose and summary.total:
            self.stream.write("\n")
        for text in self.worst:
            self.put_block(text)
        if self.worst.left_out:
            self.put_note(f"and {self.worst.left_out:,} more, none of them graver\n")
        for note in self.notes:
            self.put_note(note)
        if summary.unreached:
            self.put_note(
                f"not reached, as the time of the run (--budget) was spent: {summary.unreached:,}"
            )
            more = summary.unreached - len(self.unreached)
            for line in [*self.unreached, *([f"and {more:,} more"] if more else [])]:
                self.put_note(f"  {line}")
            self._put("")
        self.put_summary(summary)
        self.stream.flush()

    def put_case(self, status: str, parts: list[str]) -> None:
        """Write a case as it comes: its outcome, its place, its text, and a remark."""
        self._put("  ".join([f"{status:<7}", *parts]))

    def put_block(self, text: str) -> None:
        """Put what is wrong with a case."""
        self._put(f"{text}\n")

    def put_note(self, text: str) -> None:
        self._put(text)

    def put_summary(self, summary: Summary) -> None:
        self._put(summary.line())

    def _put(self, text: str) -> None:
        self.stream.write(f"{inert_lines(text)}\n")


# -- Markdown ------------------------------------------------------------------------------------

# Bytes of a page. A comment on GitHub has at most 65,536 characters, and a longer summary loads
# slowly.
ROOM = 60_000
_RESERVED = 200  # bytes for the note on cases that do not fit
_COLUMNS = ("finding", "id", "place", "expression", "reason")


class _Finding(NamedTuple):
    """A case that is not as it should be."""

    cells: tuple[str, ...]
    full: str


class MarkdownReport(Report):
    """Page for summaries of CI jobs and for comments.

    It has the outcome of the run, a table of what is wrong, and each case in full, folded.
    """

    MOST = 50

    def finding(self, outcome: Outcome) -> _Finding:
        record = outcome.record
        texts = (
            (id_text(record.id), 100),
            (location(outcome, in_repository=True), 300),
            (record.expr, 200),
            (outcome.why, 300),
        )
        id, where, expr, why = (markdown_code(text, limit) for text, limit in texts)
        full = markdown_block(block(replace(outcome, repeat=None)))
        if outcome.repeat is not None:
            # In a block of its own, so that it can be copied.
            full += f"\n{markdown_block(outcome.repeat, 'sh')}"
        return _Finding((outcome.rule, id, where, expr, why), full)

    def text(self, summary: Summary, room: int = ROOM) -> str:
        """Return the whole page, in at most ``room`` bytes.

        The worst cases have room first, and cases without room are counted. The page is empty if
        nothing has room.
        """
        text = (
            "### "
            f"{': '.join(filter(None, ['gradcli check', summary.came_of]))}\n\n{summary.line()}\n"
        )
        if summary.verdicts:
            text += f"\nVerdicts: {summary.listed_verdicts}\n"
        found, room = list(self.worst), room - _size(text) - _RESERVED
        if room < 0:
            return ""
        rows = _within(room, _table(found))
        shown = max(len(rows) - 1, 0)  # without the table's head
        if shown:
            text += f"\n{''.join(rows)}"
            room -= _size("".join(rows))
        if self.worst.seen > shown:
            text += f"\nand {self.worst.seen - shown:,} more\n"
        blocks = _within(room, [finding.full for finding in found[:shown]])
        if blocks:
            which = "" if len(blocks) == shown else f" (the first {len(blocks)})"
            text += (
                f"\n<details><summary>In full{which}</summary>\n\n"
                + "\n".join(blocks)
                + "\n</details>\n"
            )
        return text


def _table(found: list[_Finding]) -> list[str]:
    """Its head and its rows; with ids if there are any."""
    columns = [
        number
        for number, name in enumerate(_COLUMNS)
        if name != "id" or any(finding.cells[number] for finding in found)
    ]
    head = _row([_COLUMNS[number] for number in columns]) + _row(["---"] * len(columns))
    return [head, *(_row([finding.cells[number] for number in columns]) for finding in found)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _within(room: int, texts: list[str]) -> list[str]:
    """Return the first of the texts, as many as have room, each with an end of line."""
    for number, text in enumerate(texts):
        room -= _size(text) + 1
        if room < 0:
            return texts[:number]
    return texts


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


# -- GitHub --------------------------------------------------------------------------------------

_SUMMARY_LIMIT = 1 << 20  # bytes of a step's summary: GitHub refuses all of a longer one


class GitHubReport(Report):
    """The worst cases as annotations, and a page in the file that GITHUB_STEP_SUMMARY names.

    GitHub shows ten errors of a step and drops the others without a word, so the tenth says how
    many there are.
    """

    MOST = 9

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.page = MarkdownReport(stream)

    def add(self, outcome: Outcome) -> None:
        self.page.add(outcome)
        super().add(outcome)

    def finding(self, outcome: Outcome) -> str:
        link = _link(place_of(outcome))
        text = message(outcome) if link else f"{location(outcome)}: {message(outcome)}"
        return workflow_command(
            "error",
            text,
            **link,
            title=f"gradcli: {outcome.rule}{id_of(outcome.record)}",
        )

    def text(self, summary: Summary) -> str:
        of_the_run = []
        if self.worst.left_out:
            of_the_run.append(("error", f"and {self.worst.left_out:,} more: {summary.line()}"))
        if summary.interrupted:
            of_the_run.append(("warning", summary.line()))
        file = os.environ.get("GITHUB_STEP_SUMMARY")
        if file:
            try:
                if not self._summarize(Path(file), summary):
                    of_the_run.append(("warning", "the step's summary is full"))
            except OSError as error:
                of_the_run.append(("warning", f"cannot write the step's summary: {error}"))
        told = (workflow_command(*each, title="gradcli check") for each in of_the_run)
        return "".join(f"{line}\n" for line in (*self.worst, *told))

    def _summarize(self, file: Path, summary: Summary) -> bool:
        """Return whether there was room for at least a few words."""
        room = _SUMMARY_LIMIT - (file.stat().st_size if file.exists() else 0)
        text = self.page.text(summary, min(room, ROOM))
        with file.open("ab") as stream:
            stream.write(text.encode("utf-8", "replace"))
        return bool(text)


def _link(place: Place) -> dict[str, str | int]:
    """Return the properties that link a place, if a log can hold its file's name.

    GitHub takes columns only within one line.
    """
    if place.path is None or printable(place.path) != place.path:
        return {}
    found: dict[str, str | int] = {"file": place.path, "line": place.line}
    if place.end_line is not None and place.end_line != place.line:
        found["endLine"] = place.end_line
    elif place.column is not None and place.end_column is not None:
        found |= {"col": place.column, "endColumn": place.end_column}
    return found
