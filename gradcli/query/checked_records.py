"""JSON Lines records as `gradcli check` and the pytest plugin take them: with what is claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gradcli.errors import GradcliError, ParseError, Source, text_lines
from gradcli.files.jsonl import InputRecord
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query, Statement
from gradcli.query.options import ClaimInput, Options
from gradcli.query.outcome import checked, outcome_of
from gradcli.query.policy import Policy
from gradcli.query.record_lines import claim_of_nothing
from gradcli.report.identities import given_of
from gradcli.report.records import Record


class CheckedRecords:
    """Records as `check` takes them: with what they expect, within their own tolerances unless the command line has some."""

    def __init__(self, rtol: float | None, atol: float | None) -> None:
        self.rtol, self.atol = rtol, atol

    def options(self, given: InputRecord, options: Options) -> Options:
        if not given.expect and given.rtol is None and given.atol is None:
            return options
        return replace(
            options,
            claims=tuple(ClaimInput(claim.of, claim.text, claim.numbers, claim.formula) for claim in given.expect),
            rtol=given.rtol if self.rtol is None and given.rtol is not None else options.rtol,
            atol=given.atol if self.atol is None and given.atol is not None else options.atol,
        )

    def digest(self, given: Any) -> str | None:
        return given_of(given)

    def result(self, program: Program, given: InputRecord, policy: Policy, where: str) -> Record:
        """The first that is wrong in a record's program, else its last query, else its last assert."""
        if given.skip is not None:
            return Record(given.expr, given.id, skip=given.skip)
        result: Record | None = None
        parsed = list(statements(text_lines(given.expr), where, program.scope.limits))
        program.foresee(text_lines(given.expr))
        stray = claim_of_nothing(given, parsed, program)
        if stray is not None:
            return Record.of_error(stray, id=given.id, expr=given.expr)
        for record in claimed(program, parsed, given.expr, policy, given.id):
            if result is None or record.mode != "assert":
                result = record
            if outcome_of(record, "", fail_on=policy.fail_on).bad:
                result = record
                break
        if result is None:
            reason = "the program has no query" if parsed else "the record's 'expr' is empty"
            result = Record.of_error(ParseError(reason, source=Source(given.expr)), id=given.id)
        result.expr = given.expr
        result.xfail = result.xfail if given.xfail is None else given.xfail
        return result


def claimed(
    program: Program, parsed: list[Statement | GradcliError], text: str, policy: Policy, id: Any = None,
    save: Callable[[Record], None] | None = None, decide: Callable[..., Record | None] = checked,
) -> Iterator[Record]:  # fmt: skip
    """The records of a program, the policy's claims being about its last query, whose record may be saved, too."""
    last = max((i for i, statement in enumerate(parsed) if isinstance(statement, Query)), default=None)
    unclaimed = replace(policy, options=replace(policy.options, claims=())) if policy.options.claims else policy
    for i, statement in enumerate(parsed):
        record = decide(program, statement, policy if i == last else unclaimed, id=id)
        if record is not None and save is not None and i == last and not record.unreached:
            save(record)
        if record is not None:
            yield record
    if policy.options.claims and last is None:
        yield Record.of_error(ParseError("the program has no query that the claims could be about", source=Source(text)), id=id, expr=text)
