"""The recording of expectations in JSON Lines files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gradcli.check.verdicts import Verdict
from gradcli.cli.process import say
from gradcli.errors import InputError
from gradcli.files.npy import open_data, unreadable
from gradcli.report.records import Record
from gradcli.storage import write_whole
from gradcli.texts import normalize, printable

Result = Callable[[str, str, int], Record]  # of a line, the path of its file, and its number


def update(paths: Iterable[str], result: Result) -> None:
    """Record present results as the expectations of JSON Lines files, and say how many.

    Raises InputError, OutputError.
    """
    for path in paths:
        changed, total = _update(path, result)
        say(f"{printable(path)}: {changed} of {total} records have new expectations")


def _update(path: str, result: Result) -> tuple[int, int]:
    """Return how many records of a file were changed, and how many there are.

    Other lines stay as they are.
    """
    content = _content(path)
    old = content.decode("utf-8", "surrogateescape").split("\n")
    mark = "\ufeff" if old[0].startswith("\ufeff") else ""
    old[0] = old[0].removeprefix(mark)
    new = [
        _with_expectation(result(line, path, i), line) if line.strip() else line
        for i, line in enumerate(old, 1)
    ]
    changed = sum(a != b for a, b in zip(old, new, strict=True))
    if changed and _content(path) != content:
        raise InputError(
            f"'{path}' has changed in the meantime: nothing is recorded", help="record again"
        )
    if changed:
        write_whole(path, (mark + "\n".join(new)).encode("utf-8", "surrogateescape"))
    return changed, sum(bool(line.strip()) for line in old)


def _content(path: str) -> bytes:
    try:
        with open_data(Path(path), path) as file:
            return file.read()
    except OSError as error:
        raise unreadable(error, path) from None


def _with_expectation(record: Record, line: str) -> str:
    """Return a record's line with the present value and gradients as ``expect``.

    If it has expectations, only what is wrong in them is replaced.
    """
    if (
        record.error is not None
        or record.skip is not None
        or record.grad is None
        or record.value is None
        or _is_wrong(record)
    ):
        return line
    given = json.loads(line)
    expect = _expectation(record, given.get("expect") or {})
    if expect == given.get("expect"):
        return line
    return json.dumps({**given, "expect": expect}, ensure_ascii=False)


def _expectation(record: Record, before: dict[str, Any]) -> dict[str, Any]:
    """Return the expectations that a record is to have.

    That is everything, or, if it expects something already, the same with its mistakes corrected.
    """
    from gradcli.data import plain

    grad = {name: plain(slope) for name, slope in (record.grad or {}).items()}
    if not before.get("grad") and before.get("value") is None:
        return {**before, "value": plain(record.value), "grad": grad}
    wrong = _false_claims(record)
    corrected = dict(before)
    if "value" in wrong:
        corrected["value"] = plain(record.value)
    if before.get("grad"):
        corrected["grad"] = {}
        for given, claim in before["grad"].items():
            name = normalize(given)
            corrected["grad"][given] = grad[name] if name in wrong and name in grad else claim
    return corrected


def _is_wrong(record: Record) -> bool:
    """Return whether the cross-check disagrees with the result itself, whatever is claimed."""
    return record.check is not None and any(
        part.verdict is Verdict.MISMATCH for part in record.check.parts
    )


def _false_claims(record: Record) -> set[str]:
    return {
        claim.of
        for claim in (record.check.claims if record.check else [])
        if claim.verdict is Verdict.MISMATCH
    }
