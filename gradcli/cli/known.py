"""Known failures, and the recording of expectations."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcli.errors import GradcliError, InputError, OutputError
from gradcli.report.outcomes import XFAILED, Outcome

if TYPE_CHECKING:
    from gradcli.cli.check import CheckJob, CheckRequest

Key = tuple[str, str, str]


@dataclass(eq=False)
class Baseline:
    """Failures that were there before: each by its file, its name and its rule."""

    path: Path | None = None
    known: set[Key] = field(default_factory=set)
    seen: list[Key] = field(default_factory=list)

    @classmethod
    def load(cls, path: str | None) -> Baseline:
        """The baseline of a file, which need not exist yet. Raises InputError for what cannot be read."""
        if path is None:
            return cls()
        file = Path(path)
        if not file.exists():
            return cls(file)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            known = {(str(k["file"]), str(k["name"]), str(k["rule"])) for k in data["known"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"cannot read the baseline '{path}': {error}") from None
        return cls(file, known)

    def applied(self, outcome: Outcome) -> Outcome:
        """The outcome, excused if it is a known failure."""
        if not outcome.bad:
            return outcome
        key = (outcome.suite, outcome.name, outcome.rule)
        self.seen.append(key)
        return replace(outcome, status=XFAILED, reason="in the baseline") if key in self.known else outcome

    def save(self) -> None:
        """The failures of this run as the new baseline."""
        assert self.path is not None
        known = [dict(zip(("file", "name", "rule"), key, strict=True)) for key in sorted(set(self.seen))]
        write_atomically(self.path, json.dumps({"version": 1, "known": known}, indent=1, ensure_ascii=False) + "\n")


def update(job: CheckJob, request: CheckRequest, baseline: Baseline) -> None:
    """Record the present results as expectations: in the baseline if there is one, else in the JSON Lines files."""
    if baseline.path is not None:
        baseline.save()
        return
    from gradcli.cli.job import format_of

    for path in job.files:
        if path != "-" and (request.input_format or format_of(path)) == "jsonl":
            _record(job, Path(path))


def _record(job: CheckJob, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    updated = [_with_expectation(job, path, number, line) if line.strip() else line for number, line in enumerate(lines, 1)]
    if updated != lines:
        write_atomically(path, "".join(updated))


def _with_expectation(job: CheckJob, path: Path, number: int, line: str) -> str:
    """The line with the present value and gradients as ``expect``; formulas that still hold stay."""
    from gradcli.report.plain import numbers

    try:
        data: dict[str, Any] = json.loads(line)
    except ValueError:
        return line
    record = job._record(line, path.parent, str(path), number)
    if record.error is not None or record.skip is not None or record.value is None:
        return line
    before = data.get("expect") or {}
    right = {c.of for c in (record.check.claims if record.check else []) if c.verdict.word == "agree"}
    grad = {name: before.get("grad", {})[name] if name in right else numbers(slope) for name, slope in (record.grad or {}).items()}
    expect = {"value": before["value"] if "value" in right else numbers(record.value), "grad": grad}
    if expect == before:
        return line
    body, end = line.rstrip("\r\n"), line[len(line.rstrip("\r\n")) :]
    old = json.dumps(before, ensure_ascii=False)
    new = json.dumps(expect, ensure_ascii=False)
    if before and body.count(old) == 1:
        return body.replace(old, new) + end
    data["expect"] = expect
    return json.dumps(data, ensure_ascii=False) + end


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by a complete new one, or leave it as it is. Raises OutputError."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None


__all__ = ["Baseline", "GradcliError", "update", "write_atomically"]
