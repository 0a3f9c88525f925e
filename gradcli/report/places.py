"""Where a finding stands, and what identifies it from run to run."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from gradcli.inert import uri
from gradcli.report.outcomes import Outcome, Tally, identity_of
from gradcli.report.records import Failure, Record
from gradcli.storage.whole_files import absolute, here


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
    """Return whether the place of an error is in the record's own text, rather than in that of a claim or an option."""
    source = error.error.source
    if source is None or error.line is None:
        return False
    name = source.name or ""
    return name.startswith(record.file or "<stdin>") if record.record_line else name == (record.file or "")


def relative(file: str) -> str:
    """The path from the root of the repository, with forward slashes; absolute if it is elsewhere.

    CI systems want this form. Where one says which folder it works in, the root is the outermost repository there above the file, or else
    that folder; without one it is the repository above the file, or else the current folder.
    """
    told = (os.environ.get(name) for name in _WORKSPACES if name != "WORKSPACE" or "JENKINS_URL" in os.environ)
    return _relative(Path(absolute(file)), tuple(Path(root) for root in told if root), here())


_WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE", "BUILD_SOURCESDIRECTORY", "BITBUCKET_CLONE_DIR")
"""What GitHub, GitLab, Jenkins, Azure and Bitbucket call the folder that they work in; the third name is used by others, too."""


def address_of(place: Place) -> str | None:
    """Return where the server of a CI system shows the lines, if it says enough for that."""
    told = os.environ.get
    for base, commit, between in (
        (f"{told('GITHUB_SERVER_URL')}/{told('GITHUB_REPOSITORY')}/blob", told("GITHUB_SHA"), "-L"),
        (f"{told('CI_PROJECT_URL')}/-/blob", told("CI_COMMIT_SHA"), "-"),
    ):
        if commit and _SERVER.fullmatch(base) and place.path is not None and not place.path.startswith("/") and ":" not in place.path:
            last = f"{between}{place.end_line}" if place.end_line and place.end_line != place.line else ""
            return f"{base}/{uri(commit)}/{uri(place.path)}#L{place.line}{last}"
    return None


_SERVER = re.compile(r"https?://[\w.:-]+(/[\w.~-]+)+", re.ASCII)


@lru_cache(maxsize=1024)
def _relative(path: Path, told: tuple[Path, ...], current: Path) -> str:
    """By where links lead, as systems show no file through a link; by its own name where they lead out of the root."""
    real = _real(path)
    for root in (*told, repository(path.parent), repository(real.parent), current):
        if root is None:
            continue
        for way, top in ((real, _real(root)), (path, root), (path, _real(root))):
            if way.is_relative_to(top):
                inside = (place for place in reversed(way.parents) if place.is_relative_to(top))
                return way.relative_to(next(filter(_holds_git, inside), top)).as_posix()
    return path.as_posix()


def _real(path: Path) -> Path:
    """Return where links lead; the path itself, if no file can have its name."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


@lru_cache(maxsize=1024)
def repository(folder: Path) -> Path | None:
    """The folder that git works in: the nearest with a repository or, in a worktree or submodule, a file that says where that is."""
    return next((place for place in (folder, *folder.parents) if _holds_git(place)), None)


def _holds_git(folder: Path) -> bool:
    """Return whether git would begin here; what only has its name, or cannot be read, is passed by, as git does with an empty folder."""
    git = folder / ".git"
    try:
        if git.is_file():
            with git.open("rb") as file:
                return file.read(8) == b"gitdir: "
        return (git / "HEAD").is_file() or (git / "HEAD").is_symlink()
    except (OSError, ValueError):
        return False


class Fingerprints:
    """Identities of findings: unique within a run, the same from run to run, and blind to lines that move."""

    def __init__(self) -> None:
        self._equals = Tally()

    def of(self, outcome: Outcome) -> str:
        """The identity of a case with the rule that it breaks; of a case that nobody has identified, by what it says."""
        case = outcome.identity or identity_of(outcome.record, place_of(outcome).path or "")
        finding = hashlib.sha256(case.digest + outcome.rule.encode()).digest()[:16]
        return hashlib.sha256(finding + str(self._equals.add(finding)).encode()).hexdigest()[:32]
