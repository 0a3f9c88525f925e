"""Cases as a check hands them to its reports, and what a report of some kind writes of them."""

from __future__ import annotations

import io

from gradcli.check.verdicts import Asserted, Check, Verdict
from gradcli.errors import UnknownNameError
from gradcli.report.outcomes import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    XFAILED,
    XPASSED,
    Outcome,
    Summary,
    make,
)
from gradcli.report.records import Record
from gradcli.texts import Source, Span

CI_VARIABLES = (
    "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "GITHUB_SERVER_URL", "CI_PROJECT_DIR", "CI_PROJECT_URL", "WORKSPACE", "JENKINS_URL",
    "BUILD_SOURCESDIRECTORY", "BITBUCKET_CLONE_DIR",
)  # fmt: skip
"""What CI systems set, by which reports differ."""


def case(
    expr="x",
    status=FAILED,
    verdict=None,
    *,
    name="1",
    reason=None,
    seconds=0.0,
    details=(),
    repeat=None,
    **record,
):
    check = None if verdict is None else Check(verdict)
    return Outcome(
        Record(expr, check=check, **record),
        name,
        status,
        reason,
        seconds,
        list(details),
        repeat=repeat,
    )


def unknown(text, word, file, line, help=None):
    start = text.index(word)
    span = Span(start, start + len(word))
    return UnknownNameError(
        f"unknown function '{word}'", span=span, source=Source(text, file, line), help=help
    )


def summary_of(outcomes, **known):
    summary = Summary(seconds=0.42, **known)
    for outcome in outcomes:
        summary.add(outcome)
    return summary


def written(kind, outcomes, verbose=False, **known):
    stream = io.StringIO()
    report = make(kind, stream, verbose=verbose)
    for outcome in outcomes:
        report.add(outcome)
    report.close(summary_of(outcomes, **known))
    return stream.getvalue()


MODEL, CASES = "my models/model.grad", "cases.jsonl"
RUN = [
    case("x**2", PASSED, Verdict.AGREE, name="line 1", seconds=0.25, file=MODEL, line=1),
    case("3*a**3 - sqr(b)", ERROR, name="line 3", file=MODEL, line=3,
         error=unknown("3*a**3 - sqr(b)", "sqr", MODEL, 3, "did you mean 'sqrt'?")),
    case("relu(x)", FAILED, Verdict.UNDEFINED, name="q7", details=["0 * inf"], id="q7", file=CASES, line=7, record_line=True),
    case("sum(x**2\n  + |y|)", FAILED, Verdict.MISMATCH, name="line 5", file=MODEL, line=5,
         details=["x[1] claimed 3.0, true 4.0", "1 of 2 entries", "without the factor\n[[2, 2],\n "
         "[2, 2]]"]),
    case("abs(x)", XFAILED, Verdict.KINK, name="8", reason="a <kink>", xfail="a <kink>", file=CASES, line=8,
         record_line=True),
    case("abs(y)", XPASSED, Verdict.AGREE, name="9", reason="was wrong", file=CASES, line=9, record_line=True),
    case("inv(A)", SKIPPED, name="10", reason="slow", file=CASES, line=10, record_line=True),
    case("assert x == 3", FAILED, name="assert", details=["left is 2.0, right is 3.0"], mode="assert", asserted=Asserted(False, 2, 3, 0)),
]  # fmt: skip
