"""Outcomes of the cases of a check: a record, whether it passed, and what to say of it.

Every report is made of this.
"""

from __future__ import annotations

import hashlib
import json
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from gradcli.check.verdicts import Verdict
from gradcli.data import canonical
from gradcli.errors import InternalError
from gradcli.report.records import Record
from gradcli.texts import pairs, printable

STATUSES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
PASSED, FAILED, ERROR, SKIPPED, XFAILED, XPASSED = STATUSES
BAD = frozenset({FAILED, ERROR, XPASSED})

T = TypeVar("T")


# -- What a case is known by from run to run: what it says, never where it stands

_LONGEST = 400  # characters: a longer text is cut and gets a digest


class Identity(NamedTuple):
    """Identity of a case: its file, id, text, and what it was given.

    The file is a path from the folder of its project, with ``/``. Equal cases are told apart by
    their number.
    """

    file: str
    id: str | None  # as JSON
    text: str
    given: str | None  # a digest of the claims, values, seed and wrt
    number: int = 1

    @property
    def digest(self) -> bytes:
        return digest_of(json.dumps([self.file, self.id, self.text, self.given, self.number]))


def identity_of(record: Record, file: str) -> Identity:
    """Return the identity of a case, which differs from those of other cases."""
    text = record.expr.replace("\r\n", "\n")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}… sha256 {_digest(text)}"
    return Identity(file, None if record.id is None else canonical(record.id), text, record.given)


def given_of(given: Any) -> str | None:
    """Return what identifies a case beside its text, in short; None if there is nothing."""
    return _digest(canonical(given)) if given else None


def _digest(text: str) -> str:
    return digest_of(text).hex()[:32]


class Tally(Counter[bytes]):
    """Counts of many things, each known by 64 bits of a hash."""

    def add(self, digest: bytes) -> int:
        """Count one more of what has this digest; gives how many there are now."""
        self[digest[:8]] += 1
        return self[digest[:8]]


def digest_of(text: Any) -> bytes:
    """Return a digest of a text, as a tally counts them."""
    return hashlib.sha256(str(text).encode("utf-8", "surrogatepass")).digest()


# -- What became of a case, and of the whole run -------------------------------------------------


@dataclass(eq=False)
class Outcome:
    """One case. ``name`` is the record's id, or its expression, shortened."""

    record: Record
    name: str
    status: str
    reason: str | None = None  # why it is skipped or expected to fail
    seconds: float = 0.0
    # Lines that explain a failure: what and where it is, both values, a diagnosis.
    details: list[str] = field(default_factory=list)
    identity: Identity | None = None  # identifies the case from run to run
    repeat: str | None = None  # a command that repeats the case, if it is wrong
    # For arguments drawn at random: how many points, and the first seed.
    drawn: str | None = None

    @property
    def bad(self) -> bool:
        return self.status in BAD

    @property
    def is_internal(self) -> bool:
        """Return whether it is a bug of gradcli's, which nobody can have expected."""
        return isinstance(self.record.error, InternalError)

    @property
    def file(self) -> str | None:
        return self.record.file

    @property
    def suite(self) -> str:
        return self.record.file or "<command line>"

    @property
    def verdict(self) -> Verdict | None:
        return None if self.record.check is None else self.record.check.worst

    @property
    def why(self) -> str:
        """The most important detail; empty where the verdict says it all."""
        if self.record.error is not None:
            return self.record.error.message
        if self.status == XPASSED:
            return f"expected to fail{f' ({self.reason})' if self.reason else ''}, but passes"
        return self.details[0] if self.details else ""

    @property
    def headline(self) -> str:
        """One line: the verdict (or the error) and the most important detail."""
        if self.record.error is not None:
            return f"error[{self.record.error.code}]: {self.why}"
        if self.status == XPASSED:
            return self.why
        word = (
            "assert is false"
            if self.record.is_refuted
            else self.verdict
            if self.verdict is not None
            else ""
        )
        return f"{word}: {self.why}" if self.details else word or self.status

    @property
    def rule(self) -> str:
        """Stable word for the kind of finding.

        It is a verdict, ``assert``, ``xpass`` or an error's code.
        """
        if self.record.error is not None:
            return f"error-{self.record.error.code}"
        if self.status == XPASSED:
            return "xpass"
        if self.record.is_refuted:
            return "assert"
        return self.verdict if self.verdict is not None else "none"


@dataclass(eq=False)
class Summary:
    """The whole run."""

    counts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    interrupted: bool = False
    digitless: int = 0  # cases that passed without a right digit in the value or an entry
    unreached: int = 0  # cases that the time did not suffice for
    unchanged: int = 0  # files and functions left out because they have not changed
    since: str | None = None  # the revision that they are unchanged since

    def add(self, outcome: Outcome) -> None:
        self.counts[outcome.status] += 1
        self.unreached += outcome.record.unreached
        self.digitless += outcome.status == PASSED and _without_digits(outcome.record)
        if outcome.verdict is not None:
            self.verdicts[outcome.verdict] += 1

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def bad(self) -> int:
        return sum(self.counts[status] for status in BAD)

    @property
    def came_of(self) -> str:
        """The number of cases that failed, in words; empty without any case."""
        cases = f"{self.total:,} case{'s' * (self.total != 1)}"
        return (
            f"{self.bad:,} of {cases} failed"
            if self.bad
            else f"{cases}, none failed"
            if self.total
            else ""
        )

    @property
    def listed_verdicts(self) -> str:
        """The number of cases with each verdict, the gravest first; empty without any."""
        return ", ".join(f"{self.verdicts[v]} {v}" for v in reversed(Verdict) if v in self.verdicts)

    def line(self) -> str:
        """``12 passed, 1 failed in 0.42 s``, worst first."""
        order = (FAILED, ERROR, XPASSED, PASSED, SKIPPED, XFAILED)
        lost = {PASSED: f" ({self.digitless} without a right digit)"} if self.digitless else {}
        parts = [f"{self.counts[s]} {s}{lost.get(s, '')}" for s in order if self.counts[s]] or [
            "nothing to check"
        ]
        unreached = f" ({self.unreached:,} not reached)" if self.unreached else ""
        unchanged = (
            f" ({self.unchanged:,} unchanged since {printable(self.since or '')})"
            if self.unchanged
            else ""
        )
        return (
            f"{', '.join(parts)} in {self.seconds:.2f} "
            f"s{unchanged}{unreached}{' (interrupted: partial)' if self.interrupted else ''}"
        )


def _without_digits(record: Record) -> bool:
    check = record.check
    return check is not None and check.worst == "ill-conditioned" and bool(check.without_digits)


# -- Reports -------------------------------------------------------------------------------------

# The kinds of reports by the names that ``gradcli check --report KIND=FILE`` takes, each imported when
# it is asked for.
KINDS = pairs("""
    text pages.TextReport, json machine_reports.JsonReport, jsonl machine_reports.JsonLinesReport,
    junit machine_reports.JUnitReport, github pages.GitHubReport,
    gitlab machine_reports.GitLabReport, sarif machine_reports.SarifReport,
    markdown pages.MarkdownReport
""")


def make(kind: str, stream: TextIO, **how: bool) -> Report:
    """Make a report of one of the `KINDS`; that for people takes ``verbose`` and ``quiet``."""
    module, _, name = KINDS[kind].partition(".")
    report: Report = getattr(import_module(f"gradcli.report.{module}"), name)(
        stream, **(how if kind == "text" else {})
    )
    return report


class Report:
    """One kind of output.

    ``add`` is called for each case as it is decided, ``close`` once at the end.

    One that is a page of what is wrong has `MOST` of the findings, the worst first, each as
    ``finding`` says it, and the whole page as ``text`` does at the end.
    """

    MOST = 0
    finding: Callable[[Outcome], Any]
    text: Callable[[Summary], str]

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.worst: Worst[Any] = Worst(self.MOST)

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            self.worst.add(outcome, self.finding)

    def close(self, summary: Summary) -> None:
        self.stream.write(self.text(summary))
        self.stream.flush()


# -- Worst first, in bounded memory --------------------------------------------------------------


def gravity(outcome: Outcome) -> int:
    """Return how grave an outcome is.

    Failures come first, by their verdict; then cases that could not be evaluated, those that pass
    against expectation, those that were not reached, and the rest.
    """
    if outcome.record.unreached:
        return 1
    if outcome.status == FAILED:
        return (
            4
            + (
                Verdict.MISMATCH
                if outcome.record.is_refuted
                else outcome.verdict or Verdict.SKIPPED
            ).gravity
        )
    return {ERROR: 3, XPASSED: 2}.get(outcome.status, 0)


class Worst(Generic[T]):
    """Gravest of many findings, at most ``limit``.

    It is iterated worst first, and among equally grave findings the earliest first.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.seen = 0
        self._kept: list[tuple[tuple[int, int], T]] = []

    def add(self, outcome: Outcome, make: Callable[[Outcome], T]) -> None:
        """Keep what ``make`` makes of the outcome, unless enough graver ones are known."""
        key = -gravity(outcome), self.seen
        if len(self._kept) < self.limit or key < self._kept[-1][0]:
            insort(self._kept, (key, make(outcome)))
            del self._kept[self.limit :]
        self.seen += 1  # last, so that an outcome whose `make` raises is not counted

    @property
    def left_out(self) -> int:
        return self.seen - len(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[T]:
        return (finding for _, finding in self._kept)
