"""Reports for other programs.

They are JSON, GitLab's issues, JUnit XML as pytest writes it (xunit2), and SARIF 2.1.0 for code
scanning.

GitLab links the ``file`` of a testcase, and actions of GitHub annotate its ``line``. The schema
against which Jenkins' xUnit plugin checks a report has neither attribute, and the plugin refuses
the whole report for one attribute too many. They are therefore left out where Jenkins runs.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, TextIO

from gradcli.data import Data, encode, id_text
from gradcli.inert import sarif_message, uri, well_formed, xml_text
from gradcli.report.describing import (
    Place,
    block,
    fingerprint,
    id_of,
    location,
    message,
    place_of,
    relative,
)
from gradcli.report.outcomes import (
    ERROR,
    FAILED,
    SKIPPED,
    XFAILED,
    XPASSED,
    Outcome,
    Report,
    Summary,
    Tally,
    digest_of,
)
from gradcli.report.rules import RULES, Rule, rule_of
from gradcli.texts import clip_text, one_line, printable


def outcome_dict(outcome: Outcome) -> dict[str, Any]:
    """Return the record as ``gradcli eval`` prints it, and the outcome of the case."""
    decided = {
        "name": outcome.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "details": outcome.details,
    }
    further = {
        "repeat": outcome.repeat,
        "drawn": outcome.drawn,
        "reached": False if outcome.record.unreached else None,
    }
    known = {key: value for key, value in further.items() if value is not None}
    return {**outcome.record.to_dict(), "outcome": decided | known}


def interruption(summary: Summary) -> dict[str, Any]:
    """Return what takes the place of the records that an interrupted run owes."""
    error = {
        "code": "interrupted",
        "message": f"the run was interrupted after {summary.total} cases",
    }
    return {"schema": Data.schema, "error": error}


class JsonLinesReport(Report):
    """A record a line, as it comes."""

    def add(self, outcome: Outcome) -> None:
        self._put(outcome_dict(outcome))

    def close(self, summary: Summary) -> None:
        if summary.interrupted:
            self._put(interruption(summary))
        self._end()

    def _put(self, item: dict[str, Any]) -> None:
        self.stream.write(f"{encode(item)}\n")
        self.stream.flush()

    def _end(self) -> None:
        self.stream.flush()


class JsonReport(JsonLinesReport):
    """One indented array of all records, written item by item."""

    is_empty = True

    def _put(self, item: dict[str, Any]) -> None:
        text = encode(item, indent=2).replace("\n", "\n  ")
        self.stream.write(("[\n  " if self.is_empty else ",\n  ") + text)
        self.is_empty = False

    def _end(self) -> None:
        self.stream.write("[]\n" if self.is_empty else "\n]\n")
        super()._end()


class GitLabReport(JsonReport):
    """Report for GitLab's Code Quality, the widget of a merge request.

    It has an issue for each case that is not as it should be. GitLab shows only the first of issues
    with equal fingerprints, and wants paths from the root of the repository.
    """

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            expr = one_line(outcome.record.expr, 200)
            description = (
                one_line(outcome.headline, 500)
                + (f", in {expr}" if expr else "")
                + id_of(outcome.record)
            )
            place = place_of(outcome)
            self._put(
                {
                    "description": clip_text(description, 1000),
                    "check_name": f"gradcli/{outcome.rule}",
                    "fingerprint": fingerprint(outcome),
                    "severity": rule_of(outcome.rule).severity,
                    "location": {
                        "path": well_formed(place.path or outcome.suite),
                        "lines": {"begin": place.line},
                    },
                }
            )

    def close(self, summary: Summary) -> None:
        self._end()


# -- JUnit XML -----------------------------------------------------------------------------------


class JUnitReport(Report):
    """A testcase for every case."""

    def __init__(self, stream: TextIO) -> None:
        from tempfile import SpooledTemporaryFile

        super().__init__(stream)
        self.started = datetime.now(UTC)
        self.counts: Counter[str] = Counter()
        self.cases = SpooledTemporaryFile(1 << 20, "w+", encoding="utf-8", newline="\n")  # noqa: SIM115
        self.names = Tally()
        self.has_places = "JENKINS_URL" not in os.environ

    def add(self, outcome: Outcome) -> None:
        suite = _class(outcome.suite)
        path = _path(outcome.file) if self.has_places else None
        place = "" if path is None else f' file="{xml_text(path)}" line="{outcome.record.line}"'
        name = self._told_apart(suite, one_line(outcome.name, 500) or f"line {outcome.record.line}")
        self._case(suite, name, outcome.seconds, outcome.status, _body(outcome), place)

    def _told_apart(self, suite: str, name: str) -> str:
        """Return the name, with a number if it occurred before.

        Viewers show only the last of equal names.
        """
        number = self.names.add(digest_of(f"{suite}\0{name}"))
        return name if number == 1 else f"{name} ({number})"

    def close(self, summary: Summary) -> None:
        from platform import node
        from shutil import copyfileobj

        if summary.interrupted:
            self._case(
                "gradcli",
                "interrupted",
                0.0,
                ERROR,
                _element("error", summary.line(), message="interrupted"),
            )
        failures, skipped = (
            self.counts[one] + self.counts[other]
            for one, other in ((FAILED, XPASSED), (SKIPPED, XFAILED))
        )
        wrong = f'errors="{self.counts[ERROR]}" failures="{failures}"'
        tests = f'tests="{self.counts.total()}"'
        time = f'time="{summary.seconds:.3f}"'
        self.stream.write(
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<testsuites name="gradcli check" {wrong} {tests} {time}>\n'
            f'<testsuite name="gradcli" {wrong} skipped="{skipped}" {tests} {time} '
            f'timestamp="{self.started.isoformat()}" hostname="{xml_text(node())}">\n'
        )
        self.cases.seek(0)
        copyfileobj(self.cases, self.stream)
        self.cases.close()
        self.stream.write("</testsuite>\n</testsuites>\n")
        self.stream.flush()

    def _case(
        self,
        suite: str,
        name: str,
        seconds: float,
        status: str,
        body: str,
        place: str = "",
    ) -> None:
        self.counts[status] += 1
        attributes = (
            f'classname="{xml_text(suite)}" name="{xml_text(name)}"{place} time="{seconds:.3f}"'
        )
        self.cases.write(
            f"<testcase {attributes}>{body}</testcase>\n" if body else f"<testcase {attributes}/>\n"
        )


def _class(suite: str) -> str:
    """Return a path as a dotted name, as pytest makes them, without a drive or a share.

    Viewers make folders of the dots.
    """
    return printable(
        suite
        if suite.startswith("<")
        else os.path.splitdrive(relative(suite))[1].strip("/").replace("/", ".")
    )


def _path(file: str | None) -> str | None:
    return None if file is None or file.startswith("<") else printable(relative(file))


def _body(outcome: Outcome) -> str:
    """Return the body of a testcase: what is wrong, or why it is excused.

    The expression is added where neither that nor the name shows it.
    """
    record = outcome.record
    if outcome.bad:
        tag = "error" if outcome.status == ERROR else "failure"
        return _element(
            tag, block(outcome), message=one_line(outcome.headline, 500), type=outcome.rule
        )
    body = ""
    if outcome.status in (SKIPPED, XFAILED):
        reason = one_line(outcome.reason or outcome.status, 500)
        kind = "pytest.xfail" if outcome.status == XFAILED else "pytest.skip"
        body = _element("skipped", f"{location(outcome)}: {reason}", type=kind, message=reason)
    return (
        body
        if record.id is None or not record.expr
        else body + _element("system-out", one_line(record.expr, 500))
    )


def _element(tag: str, text: str, **attributes: str) -> str:
    named = "".join(f' {name}="{xml_text(value)}"' for name, value in attributes.items())
    return f"<{tag}{named}>{xml_text(text)}</{tag}>"


# -- SARIF: a result for each case that fails, expected failures as suppressed ones --------------


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT, _ROOT_IS = (
    "%SRCROOT%",
    {"text": "The root of the repository."},
)  # SARIF's name for the root, whose path on this machine stays private
_INDEX = {name: index for index, name in enumerate(RULES)}


class SarifReport(Report):
    """One run with its results, the worst first."""

    MOST = 25_000  # results: GitHub refuses a file with more

    def add(self, outcome: Outcome) -> None:
        if outcome.bad or outcome.status == XFAILED:
            self.worst.add(outcome, lambda outcome: encode(_result(outcome)))

    def close(self, summary: Summary) -> None:
        run = {
            "tool": {"driver": driver()},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {_ROOT: {"description": _ROOT_IS}},
        }
        head = encode({**run, "invocations": [self._invocation(summary)]})
        self.stream.write(
            f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [\n{head[:-1]}, "results": [\n'
        )
        for number, result in enumerate(self.worst):  # one at a time, as they are large
            self.stream.write(f",\n{result}" if number else result)
        self.stream.write("\n]}\n]}\n")
        self.stream.flush()

    def _invocation(self, summary: Summary) -> dict[str, Any]:
        notes = []
        if summary.interrupted:
            notes.append({"level": "error", "message": {"text": summary.line()}})
        if self.worst.left_out:
            notes.append(
                {
                    "level": "warning",
                    "message": {"text": f"{self.worst.left_out:,} more results are left out"},
                }
            )
        return {"executionSuccessful": not summary.interrupted, "toolExecutionNotifications": notes}


def _result(outcome: Outcome) -> dict[str, Any]:
    """``suppressions`` is on every result, as the standard wants where it is on any.

    The fingerprint has a name of its own: GitHub's, ``primaryLocationLineHash``, is one of the
    line, which its upload computes.
    """
    record, expected = outcome.record, outcome.status == XFAILED
    suppression = {
        "kind": "external" if record.xfail is None else "inSource",  # external: in a baseline
        "justification": one_line(outcome.reason or "expected to fail", 500),
    }
    name = one_line(id_text(record.id), 100)
    said = {"id": name, "expression": one_line(record.expr, 500)}
    index = {"ruleIndex": _INDEX[outcome.rule]} if outcome.rule in _INDEX else {}
    # The id of a record.
    return {
        "ruleId": outcome.rule,
        **index,
        "level": "note" if expected else "error",
        "message": {"text": sarif_message(message(outcome))},
        "locations": [
            {
                "physicalLocation": _physical(place_of(outcome), outcome.suite),
                **({"logicalLocations": [{"name": name, "kind": "object"}]} if name else {}),
            }
        ],
        "partialFingerprints": {"finding/v1": fingerprint(outcome)},
        "suppressions": [suppression] if expected else [],
        "properties": {key: text for key, text in said.items() if text},
    }


def _physical(place: Place, suite: str) -> dict[str, Any]:
    """Return the physical location of a result.

    GitHub refuses a report in which a result has no file, so the command line counts as one.
    """
    columns = {
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    region = {
        "startLine": place.line,
        **{name: number for name, number in columns.items() if number is not None},
    }
    return {"artifactLocation": _artifact(place.path or suite), "region": region}


def _artifact(path: str) -> dict[str, str]:
    """Return a reference from the root of the repository, or the full address of another file."""
    elsewhere = path.startswith("//") or os.path.isabs(path)
    return {"uri": uri(path)} if elsewhere else {"uri": uri(path), "uriBaseId": _ROOT}


# -- The tool itself: its version, its address, and every rule with its help ---------------------

_HOME = "https://github.com/gradcli/gradcli"
_SEVERITIES = {
    "note": "recommendation",
    "warning": "warning",
    "error": "error",
}  # SARIF's levels in GitHub's words


@cache
def driver() -> dict[str, Any]:
    """Return the tool component; without a version if gradcli is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, Any] = {
        "name": "gradcli",
        "informationUri": _HOME,
        "rules": [_descriptor(name, rule) for name, rule in RULES.items()],
    }
    with suppress(PackageNotFoundError):
        found["version"] = version("gradcli")
    return found


def _descriptor(name: str, rule: Rule) -> dict[str, Any]:
    code = name.removeprefix("error-")
    where = f"`gradcli help {code}` says so in a terminal."
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in code.split("-")),
        "shortDescription": {"text": f"{rule.description}."},
        "fullDescription": {"text": f"{rule.description}. {rule.advice}"},
        "help": {
            "text": f"{rule.advice}\n\n{where}",
            "markdown": f"**{rule.description}.**\n\n{rule.advice}\n\n{where}",
        },
        "helpUri": f"{_HOME}/tree/main/docs",
        "defaultConfiguration": {"level": rule.level},
        "properties": {
            "tags": ["gradients", "error" if code != name else "verdict"],
            "precision": rule.precision,
            "problem.severity": _SEVERITIES[rule.level],
        },
    }
