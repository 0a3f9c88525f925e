"""Words that all reports have for a case.

They are its text in a form that is safe to show, its place, and its identity from run to run.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from gradcli.check.verdicts import ALGEBRA
from gradcli.data import id_text
from gradcli.report.outcomes import XPASSED, Outcome, identity_of
from gradcli.report.records import Record
from gradcli.storage import absolute, here, real
from gradcli.texts import clip_text, inert_lines, one_line, printable, text_lines


@dataclass(frozen=True)
class Place:
    """A range of a file; the end column is exclusive.

    No file: the command line, or standard input.
    """

    file: str | None  # as the user named it
    line: int
    column: int | None = None  # None where only the line is known, as in a JSON Lines record
    end_line: int | None = None
    end_column: int | None = None

    @cached_property
    def path(self) -> str | None:
        return None if self.file is None else relative(self.file)


def place_of(outcome: Outcome) -> Place:
    """Return the offending part where an error knows it, else the whole expression."""
    record, within = outcome.record, place_within(outcome.record)
    file = None if not record.file or record.file.startswith("<") else record.file
    if record.record_line or not record.expr:
        return Place(file, record.line)
    if within is not None:
        line, column, end = within
        return Place(file, line, column, line, end)
    lines = record.expr.split("\n")
    start = record.column if len(lines) == 1 else 1
    return Place(
        file, record.line, record.column, record.line + len(lines) - 1, start + len(lines[-1])
    )


def place_within(record: Record) -> tuple[int, int, int] | None:
    """Return the place of a record's error, if that is in the record's own text.

    Otherwise it is in the text of a claim or an option.
    """
    error = record.error
    if error is None or error.source is None:
        return None
    name = error.source.name or ""
    own = (
        name.startswith(record.file or "<stdin>")
        if record.record_line
        else name == (record.file or "")
    )
    return error.place() if own else None


def relative(file: str) -> str:
    """Return the path from the root of the repository, with links resolved and forward slashes.

    CI systems want it like this. It is from the current folder if there is no repository, and
    absolute if the file is elsewhere.
    """
    return _relative(absolute(file), here())


@lru_cache(maxsize=1024)
def _relative(file: str, current: Path) -> str:
    path = Path(file)
    with suppress(ValueError):  # no file can have such a name
        path = Path(real(file))
    root = repository(path.parent) or Path(real(current))
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


@lru_cache(maxsize=1024)
def repository(folder: Path) -> Path | None:
    """Return the nearest folder with a repository.

    In a worktree or submodule it has a file that says where the repository is.
    """
    above = (folder, *folder.parents)
    return next((place for place in above if os.path.exists(place / ".git")), None)


def fingerprint(outcome: Outcome) -> str:
    """Return the identity of a case together with the rule that it breaks.

    It is the same from run to run, and does not depend on the numbers of lines. A case without an
    identity is identified by its text.
    """
    case = outcome.identity or identity_of(outcome.record, place_of(outcome).path or "")
    return hashlib.sha256(case.digest + outcome.rule.encode()).hexdigest()[:32]


# -- In words: control characters and lone surrogates never pass ---------------------------------


_WIDEST, _MOST_LINES = 200, 8  # of an excerpt: characters of a line, and lines
_LONGEST, _MOST_DETAILS = 1000, 20  # of details: characters of a line, and lines
REPEAT = "repeat: "  # precedes the command that repeats a case


def location(outcome: Outcome, in_repository: bool = False) -> str:
    """Return ``file:line:column``, ``file:line`` of a record, or ``file`` as a whole.

    The file is named as the user named it, or from the root of the repository.
    """
    place = place_of(outcome)
    file = printable((in_repository and place.path) or outcome.suite)
    numbers = (place.line, place.column) if outcome.record.has_line else ()
    return ":".join([file, *(str(number) for number in numbers if number is not None)])


def id_of(record: Record) -> str:
    """Return the id of a record, in brackets after its place; empty without one."""
    text = one_line(id_text(record.id), 100)
    return f" ({text})" if text else ""


def notes(outcome: Outcome) -> list[str]:
    """Return what is to be said of cases that are right, each on a line: where, and of what."""
    check = outcome.record.check
    about = [
        f"claim of {'the value' if claim.of == 'value' else f'd/d{claim.of}'}: {claim.reason}"
        for claim in ([] if check is None else check.claims)
        if claim.reason and claim.verdict == "agree"
    ]
    texts = [*basis(outcome), *outcome.record.warnings]
    about += [text for text in texts if any(word in text for word in _SURPRISING)]
    return [
        f"note: {location(outcome)}{id_of(outcome.record)}: {one_line(text, 500)}" for text in about
    ]


_TRACED = "the traced function"
_SOURCES = (_TRACED, "differences", "unit vectors", "the implicit function theorem")
_PASSING = ("agree", "kink", "ill-conditioned")
_SURPRISING = ("held constant where", "in training mode", "the standard deviation of")


def basis(outcome: Outcome) -> list[str]:
    """Return the grounds of a verdict besides its numbers.

    They are how a function in Python was decided, and the reasons given for entries that are right.
    """
    check = outcome.record.check
    if check is None or check.verdict == "skipped":
        return []
    parts = list(check.variables.values())
    sources = [
        part.decided_by
        for part in parts
        if part.decided_by is not None and part.decided_by.startswith(_SOURCES)
    ]
    by = [f"decided by {source}" for source in sources if source != _TRACED]
    own = check.reason if sources else None
    reasons = [part.reason for part in parts if part.verdict in _PASSING]
    return list(dict.fromkeys(text for text in (*by, own, *reasons) if text))


def remark(outcome: Outcome) -> str:
    """Return a list's remark on a case.

    It is the case's own reason, or the verdict and how it was decided; then what was drawn, and is
    remembered.
    """
    return ", ".join(part for part in (_remark(outcome), *basis(outcome), outcome.drawn) if part)


def _remark(outcome: Outcome) -> str:
    check = outcome.record.check
    if outcome.reason or check is None:
        return outcome.reason or ""
    formulas = [claim for claim in check.claims if claim.decided_by is not None]
    if check.worst != "agree" or not formulas:
        return check.worst
    what = "the formula" if len(formulas) == 1 else "formulas"
    if all(claim.decided_by == ALGEBRA for claim in formulas):
        return f"agree, {what} proved for all values"
    fewest = min(claim.points for claim in formulas if claim.decided_by != ALGEBRA)
    return f"agree, {what} at {fewest} point{'s' * (fewest != 1)}"


def further(outcome: Outcome) -> list[str]:
    """Return the lines of the details that are not in the headline."""
    told = outcome.record.error is None and outcome.status != XPASSED
    lines = [
        line
        for detail in outcome.details[int(told) :]
        for line in text_lines(detail, keepends=False)
    ]
    if outcome.bad:
        lines += [text for text in basis(outcome) if text not in " ".join(outcome.details)]
    if outcome.record.read_as is not None:
        lines.insert(0, f"read as {outcome.record.read_as}")
    shown = [clip_text(printable(line), _LONGEST) for line in lines[:_MOST_DETAILS]]
    return (
        [*shown, f"and {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else shown
    )


def block(outcome: Outcome) -> str:
    """Return the case in the form of an error message.

    It has the finding, its place with an excerpt, and the details.
    """
    record, within = outcome.record, place_within(outcome.record)
    identity = id_of(record)
    head, *rest = (
        record.error.render().split("\n")
        if record.error is not None
        else [one_line(outcome.headline, 500)]
    )
    if within is not None:
        margin = " " * len(str(within[0]))
        rest[0] += identity
    else:
        numbered = _excerpt(record)
        margin = " " * max((len(number) for number, _ in numbered), default=0)
        excerpt = [f"{number:>{len(margin)}} | {text}" for number, text in numbered]
        rest = [f"{margin} --> {location(outcome)}{identity}", *excerpt, *rest]
    return inert_lines(
        "\n".join(
            [
                head,
                *rest,
                *(f"{margin} = {detail}" for detail in [*further(outcome), *_repeat(outcome)]),
            ]
        )
    )


def _repeat(outcome: Outcome) -> list[str]:
    return [] if outcome.repeat is None else [f"{REPEAT}{outcome.repeat}"]


def _excerpt(record: Record) -> list[tuple[str, str]]:
    """Return the expression's lines, numbered as in its file, or from 1 in a record."""
    first = 1 if record.record_line else record.line
    lines = record.expr.split("\n", _MOST_LINES) if record.expr else []
    shown = [
        clip_text(printable(line[: 2 * _WIDEST].rstrip("\r")), _WIDEST)
        for line in lines[:_MOST_LINES]
    ]
    numbered = [(str(first + i), line) for i, line in enumerate(shown)]
    return [*numbered, ("", "…")] if len(lines) > len(shown) else numbered


def message(outcome: Outcome) -> str:
    """Return the case without its place, for systems that show places themselves.

    It has the finding, the details, the expression, and the command that repeats it.
    """
    where = (
        f"in {one_line(outcome.record.expr, 500)}{id_of(outcome.record)}"
        if outcome.record.expr
        else id_of(outcome.record).strip()
    )
    said = clip_text(
        "\n".join(
            [one_line(outcome.headline, 500), *further(outcome), *([where] if where else [])]
        ),
        3500,
    )
    return "\n".join([said, *_repeat(outcome)])
