"""Where a finding stands, and what identifies it from run to run."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from gradcli.report.identities import identity_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.storage.current_folder import absolute, here


@dataclass(frozen=True)
class Place:
    """A range of a file; the end column is exclusive. No file: the command line, or standard input."""

    file: str | None  # as the user named it
    line: int
    column: int | None = None  # None where only the line is known, as of a JSON Lines record
    end_line: int | None = None
    end_column: int | None = None

    @cached_property
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

    CI systems want this form and say where the root is. Without them it is the folder that git works in, else the current one.
    """
    path = Path(absolute(file))
    told = [Path(root) for root in map(os.environ.get, ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")) if root]
    for root in [*told, repository(path.parent), here()]:
        found = None if root is None else _below(path, root)
        if found is not None:
            return found
    return path.as_posix()


def _below(path: Path, root: Path) -> str | None:
    """The path from a root that it lies below, by their names or by where links lead."""
    real = Path(os.path.realpath(root))
    for way in (path, Path(os.path.realpath(path.parent), path.name)):
        for top in (root, real):
            if way.is_relative_to(top):
                return way.relative_to(top).as_posix()
    return None


@lru_cache(maxsize=1024)
def repository(folder: Path) -> Path | None:
    """The folder that git works in: the nearest one that holds ``.git``, a folder or, in a worktree, a file."""
    return next((place for place in (folder, *folder.parents) if os.path.exists(place / ".git")), None)


class Fingerprints:
    """Identities of findings: unique within a run, the same from run to run, and blind to lines that move."""

    def __init__(self) -> None:
        self._equals: Counter[bytes] = Counter()

    def of(self, outcome: Outcome) -> str:
        """The identity of a case with the rule that it breaks; of a case that nobody has identified, by what it says."""
        case = outcome.identity or identity_of(outcome.record, place_of(outcome).path or "")
        finding = hashlib.sha256(case.digest + outcome.rule.encode()).digest()[:16]
        self._equals[finding] += 1
        return hashlib.sha256(finding + str(self._equals[finding]).encode()).hexdigest()[:32]
