"""SARIF 2.1.0, for code scanning and viewers: a result for each case that fails, expected failures as suppressed ones."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import Any, TextIO

from gradcli.inert import one_line, sarif_message, uri
from gradcli.report.data import encoded, id_text
from gradcli.report.describing import message
from gradcli.report.outcomes import XFAILED, Outcome, Report, Summary
from gradcli.report.places import Fingerprints, Place, place_of
from gradcli.report.rules import RULES, Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT, _ROOT_IS = "%SRCROOT%", {"text": "The root of the repository."}  # where that is on this machine is nobody's business
_INDEX = {name: index for index, name in enumerate(RULES)}


class SarifReport(Report):
    """One run with its results, the worst first."""

    MOST = 25_000  # results; GitHub refuses a file with more

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.fingerprints = Fingerprints()

    def add(self, outcome: Outcome) -> None:
        if outcome.bad or outcome.status == XFAILED:
            fingerprint = self.fingerprints.of(outcome)
            self.worst.add(outcome, lambda outcome: encoded(_result(outcome, fingerprint)))

    def close(self, summary: Summary) -> None:
        run = {"tool": {"driver": driver()}, "columnKind": "unicodeCodePoints", "originalUriBaseIds": {_ROOT: {"description": _ROOT_IS}}}
        head = encoded({**run, "invocations": [self._invocation(summary)]})
        self.stream.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [\n{head[:-1]}, "results": [\n')
        for number, result in enumerate(self.worst):  # one by one: together they are large
            self.stream.write(",\n" + result if number else result)
        self.stream.write("\n]}\n]}\n")
        self.stream.flush()

    def _invocation(self, summary: Summary) -> dict[str, Any]:
        notes = []
        if summary.interrupted:
            notes.append({"level": "error", "message": {"text": summary.line()}})
        if self.worst.left_out:
            notes.append({"level": "warning", "message": {"text": f"{self.worst.left_out:,} more results are left out"}})
        return {"executionSuccessful": not summary.interrupted, "toolExecutionNotifications": notes}


def _result(outcome: Outcome, fingerprint: str) -> dict[str, Any]:
    """``suppressions`` is on every result, as the standard wants where it is on any.

    The fingerprint has a name of its own: GitHub's, ``primaryLocationLineHash``, is one of the line, which its upload computes.
    """
    record, expected = outcome.record, outcome.status == XFAILED
    suppression = {
        "kind": "external" if record.xfail is None else "inSource",  # the former is a baseline
        "justification": one_line(outcome.reason or "expected to fail", 500),
    }
    name = one_line(id_text(record.id), 100)
    said = {"id": name, "expression": one_line(record.expr, 500)}
    index = {"ruleIndex": _INDEX[outcome.rule]} if outcome.rule in _INDEX else {}
    return {
        "ruleId": outcome.rule,
        **index,
        "level": "note" if expected else "error",
        "message": {"text": sarif_message(message(outcome))},
        "locations": [
            {
                "physicalLocation": _physical(place_of(outcome), outcome.suite),
                **({"logicalLocations": [{"name": name, "kind": "object"}]} if name else {}),  # a record, by its id
            }
        ],
        "partialFingerprints": {"finding/v1": fingerprint},
        "suppressions": [suppression] if expected else [],
        "properties": {key: text for key, text in said.items() if text},
    }


def _physical(place: Place, suite: str) -> dict[str, Any]:
    """GitHub refuses a file in which a result has no file, so that the command line counts as one."""
    columns = {"startColumn": place.column, "endLine": place.end_line, "endColumn": place.end_column}
    region = {"startLine": place.line, **{name: number for name, number in columns.items() if number is not None}}
    return {"artifactLocation": _artifact(place.path or suite), "region": region}


def _artifact(path: str) -> dict[str, str]:
    """A reference from the root of the repository, or the whole address of a file elsewhere."""
    elsewhere = path.startswith("//") or os.path.isabs(path)
    return {"uri": uri(path)} if elsewhere else {"uri": uri(path), "uriBaseId": _ROOT}


# -- The tool itself: its version, its address, and every rule with its help -----------------------

_HOME = "https://github.com/gradcli/gradcli"
_SEVERITIES = {"note": "recommendation", "warning": "warning", "error": "error"}  # GitHub's words for SARIF's levels


@cache
def driver() -> dict[str, Any]:
    """The tool component; without a version where gradcli is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, Any] = {"name": "gradcli", "informationUri": _HOME, "rules": [_descriptor(name, rule) for name, rule in RULES.items()]}
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
        "help": {"text": f"{rule.advice}\n\n{where}", "markdown": f"**{rule.description}.**\n\n{rule.advice}\n\n{where}"},
        "helpUri": f"{_HOME}/tree/main/docs",
        "defaultConfiguration": {"level": rule.level},
        "properties": {
            "tags": ["gradients", "error" if code != name else "verdict"],
            "precision": rule.precision,
            "problem.severity": _SEVERITIES[rule.level],
        },
    }
