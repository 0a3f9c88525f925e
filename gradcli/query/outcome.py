"""From a case to its outcome: what `gradcli check`, the pytest plugin and the reports have in common."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import Any

from gradcli.errors import AmbiguousError, GradcliError, Source, Span
from gradcli.inert import one_line
from gradcli.language.mentions import names_quantified_by
from gradcli.language.run import Program
from gradcli.language.tree import Assertion, Binding, DataBinding, Query, Several, Statement
from gradcli.query.evaluate import only_follows, run_statement
from gradcli.query.free_variables import SampledPoints, deferred, keep_in_order, needs_of
from gradcli.query.glued_names import refuse_glued
from gradcli.query.policy import FAIL_ON, Policy
from gradcli.report.data import id_text
from gradcli.report.outcomes import ERROR, FAILED, PASSED, SKIPPED, XFAILED, XPASSED, Outcome
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Claim, VariableCheck, Verdict, Worst

LONGEST_NAME = 80  # characters of a case's name
_MARK = re.compile(r"#\s*+(skip|xfail)\s*+(?::(.*))?$")


def outcome_of(record: Record, name: str, seconds: float = 0.0, fail_on: tuple[str, ...] = FAIL_ON) -> Outcome:
    """Whether a case passed, and what to say if not."""
    if record.skip is not None:
        return Outcome(record, name, SKIPPED, record.skip or "no reason given", seconds)
    if record.unreached and record.check is not None:
        fails = record.check.worst.word in fail_on  # whatever is expected of it: nobody knows
        return Outcome(record, name, FAILED if fails else SKIPPED, record.check.reason, seconds, details_of(record, record.check))
    details = [] if record.check is None else details_of(record, record.check)
    worst = None if record.check is None else record.check.worst
    false = record.asserted is not None and record.asserted.holds is False
    status = ERROR if record.error is not None else FAILED if false or (worst is not None and worst.word in fail_on) else PASSED
    outcome = Outcome(record, name, status, record.xfail, seconds, details)
    if record.xfail is not None and not outcome.is_internal:
        outcome.status = XPASSED if status == PASSED else XFAILED
    return outcome


def details_of(record: Record, check: Check) -> list[str]:
    """Lines that explain a verdict, gravest first."""
    lines: list[tuple[Verdict, str]] = []
    for claim in check.claims:
        if claim.verdict > Verdict.AGREE:
            lines.append((claim.verdict, _claim_line(claim)))
    parts: dict[str, VariableCheck] = dict(check.variables)
    if check.value is not None:
        parts["value"] = check.value
    for name, part in parts.items():
        if part.verdict > Verdict.AGREE:
            lines.append((part.verdict, _variable_line(name, part)))
    if not lines and check.reason:
        lines.append((check.verdict, check.reason))
    found = [text for _, text in sorted(lines, key=lambda pair: pair[0], reverse=True)]
    if check.departs is not None:
        found.append(check.departs.text)
    found += [f"write {repair}" for repair in check.repairs]
    if check.rewrite is not None:
        found.append(check.rewrite.told)
    if record.point:
        found.append("at " + " ".join(f"{name}={float(value)!r}" for name, value in record.point.items()))
    return found


def _claim_line(claim: Claim) -> str:
    if claim.kind == "assert":
        what = f"{claim.text}: " if claim.text else ""
    else:
        what = "claim of the value: " if claim.kind == "value" else f"claim of d/d{claim.of}: "
    parts = [claim.verdict.word] if claim.verdict is not Verdict.MISMATCH else []
    if claim.worst is not None:
        said, right = ("right", "left") if claim.kind == "assert" else ("claimed", "true")
        parts.append(_both(claim.worst, said, right, apart=claim.relation in (None, "==")))
        if claim.wrong is not None and claim.wrong[1] > 1:
            parts.append(f"{claim.wrong[0]} of {claim.wrong[1]} entries")
    if claim.reason:
        parts.append(claim.reason)
    if claim.difference:
        parts.append(f"difference: {claim.difference}")
    return what + ", ".join(parts)


def _variable_line(name: str, part: VariableCheck) -> str:
    what = {"value": "the value", "jvp": "the JVP"}.get(name, f"d/d{name}")
    parts = [part.verdict.word] if part.verdict is not Verdict.MISMATCH else []
    if part.worst is not None and part.verdict is Verdict.MISMATCH:
        parts.append(_both(part.worst, "computed"))
        if part.wrong and part.entries:
            parts.append(f"{part.wrong} of {part.entries[1]} entries")
    if part.reason:
        parts.append(part.reason)
    if part.verdict is Verdict.KINK and part.kinks:
        kink = part.kinks[0]
        parts.append(f"{kink.sides}, chosen {kink.chosen:g}")
    return f"{what}: {', '.join(parts)}"


def _both(worst: Worst, word: str, other: str = "true", apart: bool = True) -> str:
    index = f"[{', '.join(map(str, worst.index))}] " if worst.index else ""
    text = f"{index}{word} {worst.engine!r}, {other} {worst.reference!r}"
    if worst.at is not None:
        return f"{text}, at " + " ".join(f"{name}={value!r}" for name, value in worst.at.items())
    off = abs(worst.engine - worst.reference)
    if apart and math.isfinite(off) and worst.reference:
        ulps = off / math.ulp(worst.reference)
        return f"{text} (off by {off:.3g}, relative {off / abs(worst.reference):.3g}, {ulps:.3g} ulp)"
    return text


def marks_of(statement: Statement | GradcliError) -> tuple[str | None, str | None]:
    """What a comment at the end of a statement says: ``# skip: reason`` or ``# xfail: reason``; just ``# skip`` gives no reason."""
    source, span = statement.source, statement.span
    if source is None or span is None:
        return None, None
    return _marks_in(source, source.line_at(span.end)) or _marks_in(source, source.line_at(span.start)) or (None, None)


@lru_cache(4)
def _marks_in(source: Source, line: Span) -> tuple[str | None, str | None] | None:
    """The same of a line, which is looked through once for all statements on it."""
    found = _MARK.search(source.text, line.start, line.end)
    if found is None:
        return None
    reason = (found[2] or "").strip()
    return (reason, None) if found[1] == "skip" else (None, reason)


def line_of(statement: Statement | GradcliError) -> int:
    """The line that a statement begins on, or an error stands on."""
    source, span = statement.source, statement.span
    return 1 if source is None or span is None else source.position(span.start)[0]


def checked(program: Program, statement: Statement | GradcliError, policy: Policy, *, id: Any = None) -> Record | None:
    """The record of one statement; what has names without values is checked at points of its domain."""
    skip, xfail = marks_of(statement)
    if skip is not None and isinstance(statement, (Query, Assertion, GradcliError)):
        return _skipped(statement, skip, id)
    scope, options = program.scope, policy.options
    if options.over and isinstance(statement, (Query, Assertion)):
        from gradcli.query.over import over_box, ranged

        with over_box(scope, statement, options.over):
            record = _judged(program, ranged(statement, options.over), policy, id)
    else:
        record = _judged(program, statement, policy, id)
    if record is None or (not isinstance(statement, (Query, Assertion)) and only_follows(statement, record)):
        return None
    record.xfail = xfail
    return record


def _judged(program: Program, statement: Statement | GradcliError, policy: Policy, id: Any) -> Record | None:
    """The record of a statement at the values of its names, or at points of its domain."""
    scope, options = program.scope, policy.options
    record = run_statement(program, statement, options, id=id)
    if isinstance(statement, GradcliError):
        pass
    elif record is not None and record.error is not None and (needs := needs_of(statement, scope)):
        statements = [statement, *(deferral.binding for deferral in needs.bindings)]
        try:
            refuse_glued(statements, scope, needs.names, options.wrt or (), can_list=False)
        except AmbiguousError as error:
            return Record.of_error(error, id=id, expr=record.expr)
        if isinstance(statement, (Binding, Several)):
            record = deferred(program, statement, needs, options)
        elif isinstance(statement, Assertion) and {*needs.names} <= {*names_quantified_by(statement)}:
            middle = SampledPoints(program, statement, needs, options, id)
            record = middle.at(dict.fromkeys(middle.keys, 0.5))  # of these names all values are meant
            if record is not None:
                record.point = {}
        elif options.over and not needs.names:
            record = SampledPoints(program, statement, needs, options, id).at({})
        else:
            record = SampledPoints(program, statement, needs, options, id).gravest(policy.points, policy.state)
    elif isinstance(statement, (Binding, DataBinding, Several)):
        keep_in_order(scope, statement)
    return record


def unreached(statement: Query | Assertion, reason: str, id: Any = None) -> Record:
    """The record of a query or an assert for which no time was left."""
    line, column = statement.source.position(statement.span.start)
    return left_undecided(Record(statement.text, id, statement.source.name, line, column), reason)


def left_undecided(record: Record, reason: str) -> Record:
    """A record of which nothing is known but that there was no time for it."""
    record.unreached, record.check = True, Check(Verdict.UNDETERMINED, reason=reason)
    return record


def _skipped(statement: Statement | GradcliError, reason: str, id: Any) -> Record:
    if isinstance(statement, GradcliError):
        record = Record.of_error(statement, id=id)
        record.error = None
        record.skip = reason
        return record
    line, column = statement.source.position(statement.span.start)
    return Record(statement.text, id, statement.source.name, line, column, skip=reason)


def name_of(record: Record) -> str:
    """What a case is called: its id, else what it says, as pytest shows it."""
    id = id_text(record.id)
    if id.strip():
        return id
    return one_line(record.expr, LONGEST_NAME) or f"line {record.line}"


class CaseNames:
    """Names of the items of one program, told apart where they repeat."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} ({self._seen[name]})"
