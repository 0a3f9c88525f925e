"""What every report says of a case, as text that is safe to show: control characters and lone surrogates never pass."""

from __future__ import annotations

from gradcli.errors import text_lines
from gradcli.inert import clipped, one_line, printable, shown
from gradcli.report.data import id_text
from gradcli.report.outcomes import XPASSED, Outcome
from gradcli.report.places import place_of, stands_in
from gradcli.report.records import Record
from gradcli.report.verdicts import ALGEBRA

_WIDEST, _MOST_LINES = 200, 8  # of an excerpt
_LONGEST, _MOST_DETAILS = 1000, 20  # of details
REPEAT = "repeat: "  # what stands before the command


def location(outcome: Outcome, in_repository: bool = False) -> str:
    """``file:line:column``, or ``file:line`` of a record, with the file as the user named it, or from the root of the repository."""
    place = place_of(outcome)
    file = (in_repository and place.path) or outcome.suite
    return f"{printable(file)}:{place.line}" + ("" if place.column is None else f":{place.column}")


def id_of(record: Record) -> str:
    """The id of a record, in brackets after its place; empty without one."""
    text = one_line(id_text(record.id), 100)
    return f" ({text})" if text else ""


def notes(outcome: Outcome) -> list[str]:
    """Return what is to be said of claims that are right, each on a line: where, and of what."""
    check = outcome.record.check
    said = [] if check is None else [claim for claim in check.claims if claim.reason and claim.verdict.word == "agree"]
    about = [f"claim of {'the value' if claim.of == 'value' else f'd/d{claim.of}'}: {claim.reason}" for claim in said]
    about += [text for text in basis(outcome) if any(word in text for word in _SURPRISING)]
    return [f"note: {location(outcome)}{id_of(outcome.record)}: {one_line(text, 500)}" for text in about]


_TRACED = "the traced function"
_SOURCES = (_TRACED, "differences", "unit vectors", "the implicit function theorem")
_PASSING = ("agree", "kink", "ill-conditioned")
_SURPRISING = ("held constant where", "in training mode")


def basis(outcome: Outcome) -> list[str]:
    """Return what a verdict rests on beside its numbers: how a function in Python was decided, and what is said of right entries."""
    check = outcome.record.check
    if check is None or check.verdict.word == "skipped":
        return []
    parts = list(check.variables.values())
    sources = [part.decided_by for part in parts if part.decided_by is not None and part.decided_by.startswith(_SOURCES)]
    by = [f"decided by {source}" for source in sources if source != _TRACED]
    own = check.reason if sources else None
    reasons = [part.reason for part in parts if part.verdict.word in _PASSING]
    return list(dict.fromkeys(text for text in (*by, own, *reasons) if text))


def remark(outcome: Outcome) -> str:
    """What a list of cases says of one: a reason of its own, or the verdict and how it was decided; what was drawn, and is remembered."""
    return ", ".join(part for part in (_remark(outcome), *basis(outcome), outcome.drawn) if part)


def _remark(outcome: Outcome) -> str:
    if outcome.reason or outcome.verdict is None:
        return outcome.reason or ""
    check = outcome.record.check
    formulas = [] if check is None else [claim for claim in check.claims if claim.decided_by is not None]
    if outcome.verdict.word != "agree" or not formulas:
        return outcome.verdict.word
    what = "the formula" if len(formulas) == 1 else "formulas"
    if all(claim.decided_by == ALGEBRA for claim in formulas):
        return f"agree, {what} proved for all values"
    fewest = min(claim.points for claim in formulas if claim.decided_by != ALGEBRA)
    return f"agree, {what} at {fewest} point{'s' * (fewest != 1)}"


def further(outcome: Outcome) -> list[str]:
    """The lines of the details that the headline does not hold."""
    told = outcome.record.error is None and outcome.status != XPASSED
    lines = [line for detail in outcome.details[int(told) :] for line in text_lines(detail, keepends=False)]
    if outcome.bad:
        lines += [text for text in basis(outcome) if text not in " ".join(outcome.details)]
    if outcome.record.read_as is not None:
        lines.insert(0, f"read as {outcome.record.read_as}")
    shown = [clipped(printable(line), _LONGEST) for line in lines[:_MOST_DETAILS]]
    return [*shown, f"and {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else shown


def block(outcome: Outcome) -> str:
    """The case in the shape of an error message: the finding, its place with an excerpt, and the details."""
    record, failure = outcome.record, outcome.record.error
    identity = id_of(record)
    head, *rest = failure.error.render().split("\n") if failure is not None else [one_line(outcome.headline, 500)]
    if failure is not None and stands_in(record, failure):
        margin = " " * len(str(failure.line))
        rest[0] += identity
    else:
        numbered = _excerpt(record)
        margin = " " * max((len(number) for number, _ in numbered), default=0)
        excerpt = [f"{number:>{len(margin)}} | {text}" for number, text in numbered]
        rest = [f"{margin} --> {location(outcome)}{identity}", *excerpt, *rest]
    return shown("\n".join([head, *rest, *(f"{margin} = {detail}" for detail in [*further(outcome), *_repeat(outcome)])]))


def _repeat(outcome: Outcome) -> list[str]:
    return [] if outcome.repeat is None else [f"{REPEAT}{outcome.repeat}"]


def _excerpt(record: Record) -> list[tuple[str, str]]:
    """The lines of the expression, numbered as in its file, or from 1 in a record."""
    first = 1 if record.record_line else record.line
    lines = record.expr.split("\n", _MOST_LINES) if record.expr else []
    shown = [clipped(printable(line[: 2 * _WIDEST].rstrip("\r")), _WIDEST) for line in lines[:_MOST_LINES]]
    numbered = [(str(first + i), line) for i, line in enumerate(shown)]
    return [*numbered, ("", "…")] if len(lines) > len(shown) else numbered


def message(outcome: Outcome) -> str:
    """The case without its place, for systems that show that themselves: the finding, details, the expression, what repeats it."""
    where = f"in {one_line(outcome.record.expr, 500)}{id_of(outcome.record)}" if outcome.record.expr else id_of(outcome.record).strip()
    said = clipped("\n".join([one_line(outcome.headline, 500), *further(outcome), *([where] if where else [])]), 3500)
    return "\n".join([said, *_repeat(outcome)])
