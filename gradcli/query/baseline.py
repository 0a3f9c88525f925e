"""Known failures, recorded once and excused from then on.

They are identified by the text of the cases, never by their places.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.data import id_text
from gradcli.errors import InputError
from gradcli.files.arrays import parse_array
from gradcli.files.npy import is_handed_over, open_data, read_within
from gradcli.files.settings import nearest
from gradcli.inert import shell_command
from gradcli.limits import DEFAULT
from gradcli.report.describing import repository
from gradcli.report.outcomes import XFAILED, Identity, Outcome, Tally, identity_of
from gradcli.storage import absolute, here, write_whole
from gradcli.texts import one_line, printable

VERSION = 2
_MOST = 10  # stale failures listed by name


class Identities:
    """Identities of the cases of a run.

    Cases that are equal in everything are numbered in their order.
    """

    def __init__(self, baseline: Path | None) -> None:
        self.roots: dict[Path, Path] = {}  # project folder of each folder
        self._otherwise = here() if baseline is None else Path(absolute(baseline)).parent
        self._tally = Tally()

    def of(self, outcome: Outcome) -> Identity:
        identity = identity_of(outcome.record, self._file(outcome))
        return identity._replace(number=self._tally.add(identity.digest))

    def _file(self, outcome: Outcome) -> str:
        """Return the file's path in the folder of its project.

        That folder is the one of the nearest pyproject.toml, else the repository, else the
        baseline's folder.
        """
        if outcome.file is None or outcome.file.startswith("<"):
            return outcome.suite
        path = Path(absolute(outcome.file))
        if path.parent not in self.roots:
            project = nearest(path.parent)
            self.roots[path.parent] = (
                project.parent
                if project is not None
                else repository(path.parent) or self._otherwise
            )
        try:
            return Path(os.path.relpath(path, self.roots[path.parent])).as_posix()
        except ValueError:  # on another drive
            return path.as_posix()


class KnownFailure(NamedTuple):
    """A known failure: a case, and the rule that it breaks."""

    case: Identity
    rule: str

    def entry(self) -> dict[str, Any]:
        """Return the entry in a baseline, without what says nothing."""
        id = None if self.case.id is None else json.loads(self.case.id)
        entry = {**self.case._asdict(), "id": id, "rule": self.rule}
        return {
            name: value
            for name, value in entry.items()
            if value is not None and (name, value) != ("number", 1)
        }

    @classmethod
    def read(cls, entry: dict[str, Any]) -> KnownFailure:
        rule, id = entry.pop("rule"), entry.pop("id", None)
        return cls(
            Identity(
                **{"given": None, **entry},
                id=None if id is None else json.dumps(id, sort_keys=True),
            ),
            str(rule),
        )

    @property
    def order(self) -> str:
        return json.dumps(self.entry(), ensure_ascii=False)

    def __str__(self) -> str:
        name = (
            "" if self.case.id is None else f" ({one_line(id_text(json.loads(self.case.id)), 60)})"
        )
        return f"{printable(self.case.file)}{name}: {one_line(self.case.text, 100)} [{self.rule}]"


@dataclass(eq=False)
class Baseline:
    """The failures that are known; ``recording`` takes those of this run instead."""

    path: Path | None = None
    entries: set[KnownFailure] = field(default_factory=set)
    recording: bool = False
    _met: set[KnownFailure] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)

    @classmethod
    def load(cls, path: str | None, recording: bool, words: Sequence[str]) -> Baseline:
        """Return the baseline at ``path``, or an empty one if there is no path.

        Raises InputError for a file that cannot be read. Its help is the command, made of
        ``words``, that records the baseline anew.
        """
        if path is None:
            return cls()
        file = Path(path)
        if recording:
            return cls(file, recording=True)
        command = f"record it anew: {shell_command('gradcli', 'check', '--update', *words)}"
        try:
            with open_data(file, path, stream=is_handed_over(path)) as stream:
                data = parse_array(
                    read_within(stream, path, DEFAULT).decode("utf-8-sig"),
                    f"the baseline '{file}'",
                    DEFAULT,
                )
            version = data.get("version")
            if version != VERSION:
                raise InputError(f"the baseline '{file}' is of version {version!r}, not {VERSION}")
            return cls(file, {KnownFailure.read(entry) for entry in data["known"]})
        except InputError as error:
            error.help = error.help or command
            raise
        except FileNotFoundError:
            raise InputError(f"there is no baseline '{file}'", help=command) from None
        except Exception as error:  # the file may hold anything
            reason = (
                error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            )
            raise InputError(f"cannot read the baseline '{file}': {reason}", help=command) from None

    def apply(self, outcome: Outcome) -> Outcome:
        """Return the outcome, excused if it is a known failure."""
        if self.path is None or outcome.identity is None:
            return outcome
        self._files.add(outcome.identity.file)
        if not outcome.bad or outcome.is_internal:
            return outcome
        failure = KnownFailure(outcome.identity, outcome.rule)
        if self.recording:
            self.entries.add(failure)
        if failure not in self.entries:
            return outcome
        self._met.add(failure)
        return replace(outcome, status=XFAILED, reason="in the baseline")

    def excuse(self, outcome: Outcome, number: int) -> Outcome:
        """Return the outcome of the ``number``-th of equal cases, excused as by `apply`."""
        if self.path is None or not outcome.bad:
            return outcome
        outcome.identity = Identities(self.path).of(outcome)._replace(number=number)
        return self.apply(outcome)

    def close(self, roots: set[Path], partial: bool) -> Iterator[str]:
        """Save a recording, and return the messages for the end of the run.

        They include the entries that match no failure any more. Raises OutputError.
        """
        if self.path is None:
            return
        if self.recording:
            written = [
                failure.entry()
                for failure in sorted(self.entries, key=lambda failure: failure.order)
            ]
            text = (
                json.dumps({"version": VERSION, "known": written}, indent=1, ensure_ascii=False)
                + "\n"
            )
            write_whole(self.path, text.encode("utf-8", "backslashreplace"))
            yield (
                f"{printable(str(self.path))}: {len(written)} known "
                f"failure{'s' * (len(written) != 1)}"
            )
        elif not partial:
            stale = sorted(
                (f for f in self.entries - self._met if self._is_over(f, roots)),
                key=lambda failure: failure.order,
            )
            if stale:
                count = f"{len(stale)} of {len(self.entries)} entries match no failure any more"
                yield f"note: {printable(str(self.path))}: {count}; --update leaves them out"
                yield from (f"  {failure}" for failure in stale[:_MOST])
                if len(stale) > _MOST:
                    yield f"  and {len(stale) - _MOST} more"

    def _is_over(self, failure: KnownFailure, roots: set[Path]) -> bool:
        """Return whether an entry without a match concerns a file of this run, or no existing file."""
        file = failure.case.file
        return (
            file in self._files
            or file.startswith("<")
            or not any((root / file).exists() for root in roots)
        )
