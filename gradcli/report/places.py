"""Where a finding stands, and what identifies it from run to run."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record


@dataclass(frozen=True)
class Place:
    """A range of a file; the end column is exclusive. No file: the command line, or standard input."""

    file: str | None  # as the user named it
    line: int
    column: int | None = None  # None where only the line is known, as of a JSON Lines record
    end_line: int | None = None
    end_column: int | None = None

    @property
    def path(self) -> str | None:
        return None if self.file is None else relative(self.file)


def place_of(outcome: Outcome) -> Place:
    """The offending part where an error knows it, else the whole expression."""
    record, error = outcome.record, outcome.record.error
    file = None if not record.file or record.file.startswith("<") else record.file
    if record.record_line or not record.expr:
        return Place(file, record.line)
    if error is not None and stands_in(record, error):
        return Place(file, error.line or 1, error.column, error.line, error.end_column)
    lines = record.expr.split("\n")
    start = record.column if len(lines) == 1 else 1
    return Place(file, record.line, record.column, record.line + len(lines) - 1, start + len(lines[-1]))


def stands_in(record: Record, error: Failure) -> bool:
    """Whether the place of an error is in the record's own text, rather than in that of a claim or an option."""
    source = error.error.source
    if source is None or error.line is None:
        return False
    name = source.name or ""
    return name.startswith(record.file or "<stdin>") if record.record_line else name == (record.file or "")


def relative(file: str) -> str:
    """The path from the root of the repository, with forward slashes; absolute if it is elsewhere.

    CI systems want this form and say where the root is; without them it is the current folder.
    """
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    roots = [Path(os.path.realpath(root)) for root in map(os.environ.get, ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")) if root]
    root = next((root for root in roots if here.is_relative_to(root)), here)
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


class Fingerprints:
    """Identities of findings: unique within a run, the same from run to run, and blind to lines that move."""

    def __init__(self) -> None:
        self._equals: Counter[bytes] = Counter()

    def of(self, outcome: Outcome) -> str:
        import hashlib

        parts = (place_of(outcome).path or "", outcome.rule, outcome.record.expr)
        finding = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]
        self._equals[finding] += 1
        return hashlib.sha256(finding + str(self._equals[finding]).encode()).hexdigest()[:32]
