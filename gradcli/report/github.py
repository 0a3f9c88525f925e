"""Annotations of GitHub Actions as workflow commands, and the summary of the step.

GitHub shows ten errors of a step and drops the others without a word, so the tenth says how many there are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from gradcli.inert import printable, workflow_command
from gradcli.report.describing import id_of, location, message
from gradcli.report.markdown import ROOM, Page
from gradcli.report.outcomes import Outcome, Report, Summary, Worst
from gradcli.report.places import Place, place_of

_MOST = 9
_SUMMARY_LIMIT = 1 << 20  # bytes of a step's summary; GitHub refuses a longer one as a whole


class GitHubReport(Report):
    """The worst cases as annotations, and a page in the file that GITHUB_STEP_SUMMARY names."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.worst: Worst[str] = Worst(_MOST)
        self.page = Page()

    def add(self, outcome: Outcome) -> None:
        self.page.add(outcome)
        if outcome.bad:
            self.worst.add(outcome, _annotation)

    def close(self, summary: Summary) -> None:
        lines = list(self.worst)
        if self.worst.left_out:
            lines.append(workflow_command("error", f"and {self.worst.left_out:,} more: {summary.line()}", title="gradcli check"))
        if summary.interrupted:
            lines.append(workflow_command("warning", summary.line(), title="gradcli check"))
        file = os.environ.get("GITHUB_STEP_SUMMARY")
        if file:
            try:
                if not self._summarized(Path(file), summary):
                    lines.append(workflow_command("warning", "the step's summary is full", title="gradcli check"))
            except OSError as error:
                lines.append(workflow_command("warning", f"cannot write the step's summary: {error}", title="gradcli check"))
        self.stream.write("".join(line + "\n" for line in lines))
        self.stream.flush()

    def _summarized(self, file: Path, summary: Summary) -> bool:
        """Return whether there was room for at least a few words."""
        room = _SUMMARY_LIMIT - (file.stat().st_size if file.exists() else 0)
        text = self.page.text(summary, min(room, ROOM))
        with file.open("ab") as stream:
            stream.write(text.encode("utf-8", "replace"))
        return bool(text)


def _annotation(outcome: Outcome) -> str:
    place = place_of(outcome)
    text = message(outcome) if _can_be_linked(place) else f"{location(outcome)}: {message(outcome)}"
    return workflow_command("error", text, **_properties(place), title=f"gradcli: {outcome.rule}{id_of(outcome.record)}")


def _can_be_linked(place: Place) -> bool:
    """Return whether the file has a name that a log can hold: that of another is told in the text."""
    return place.path is not None and printable(place.path) == place.path


def _properties(place: Place) -> dict[str, str | int]:
    """GitHub takes columns only within one line."""
    if place.path is None or not _can_be_linked(place):
        return {}
    found: dict[str, str | int] = {"file": place.path, "line": place.line}
    if place.end_line is not None and place.end_line != place.line:
        found["endLine"] = place.end_line
    elif place.column is not None and place.end_column is not None:
        found |= {"col": place.column, "endColumn": place.end_column}
    return found
