"""What holds of every trial: an honest exit code, readable output, a record for each record, time,
memory, and no harm done.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import xml.etree.ElementTree
from typing import Any

from fuzz.trials import JSONL, Ending, Trial, run

SECONDS = float(os.environ.get("FUZZ_SLOW", "5"))  # of the processor, for one trial
MEMORY = (
    1 << 30
    # of one trial, and PER_CHARACTER bytes for each character that it writes: a record is made
    # before it is written
)
PER_CHARACTER = 12
SENTINEL = '{"id": "sentinel", "expr": "sum(x**2) + sin(y)", "at": {"x": [1, 2.5], "y": 0.5}}'
_LASTING = re.compile(
    r" in \d+(\.\d+)? (ms|s)\b|\d+(\.\d+)? s\b|time=\"[^\"]*\"|timestamp=\"[^\"]*\""
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_COLOR = re.compile("\x1b\\[[0-9;]*m")
_INTERNAL = re.compile(r"(?m)^internal error: |error\[internal\]|\"code\": ?\"internal\"")


def complaints(trial: Trial, ending: Ending) -> list[str]:
    """What is wrong with the way in which a trial ended."""
    found = []
    if ending.code not in (0, 1, 2):
        found.append(f"exit code {ending.code}")
    if "Traceback (most recent" in ending.err + ending.out:
        found.append("a traceback: " + _last_line(ending.err))
    if _INTERNAL.search(ending.out) or _INTERNAL.search(ending.err):
        found.append("an internal error: " + _internal(ending))
    if "Warning: " in ending.err and re.search(r"\.py:\d+: \w*Warning: ", ending.err):
        found.append(
            "a warning of Python: "
            + next(line for line in ending.err.splitlines() if "Warning: " in line)[-160:]
        )
    if ending.code == 2 and not ending.err and not ending.out:
        found.append("exit code 2 without a word")
    if ending.seconds > SECONDS:
        found.append(f"{ending.seconds:.1f} s")
    if ending.grown > MEMORY + PER_CHARACTER * len(ending.out):
        found.append(f"{ending.grown / 2**30:.1f} GB")
    return found + _of_output(trial, ending)


def harmed(expected: str) -> str | None:
    """What another record, run after a trial, shows of damage; ``expected`` is its output in a
    fresh process.
    """
    after = run(SENTINEL_TRIAL)
    return (
        None
        if after.out == expected
        else f"the next record has another result: {after.out[:300]}{after.err[:300]}"
    )


SENTINEL_TRIAL = Trial("sentinel", ("eval", "--no-check", *JSONL), SENTINEL, records=True)


def same(one: Ending, other: Ending) -> bool:
    """Whether two runs of one trial gave the same, but for what they took."""
    return (one.code, _timeless(one.out), _timeless(one.err)) == (
        other.code,
        _timeless(other.out),
        _timeless(other.err),
    )


def records_of(out: str) -> list[dict[str, Any]]:
    """The records of JSON Lines; no line may be anything else."""
    return [json.loads(line, parse_constant=_no_constant) for line in out.split("\n") if line]


def _of_output(trial: Trial, ending: Ending) -> list[str]:
    """Whether the output can be read back, and says what the exit code says."""
    kind = _option(trial.arguments, "--format") or "text"
    out, err = ending.out, ending.err
    if "always" in trial.arguments:
        out, err = _COLOR.sub("", out), _COLOR.sub("", err)
    command = trial.arguments[0] if trial.arguments else ""
    if ending.code is None or command not in ("eval", "check", "diff", "bound", "plot"):
        return []
    if "--help" in trial.arguments:  # which is text whatever the format
        return []
    try:
        if kind == "jsonl":
            return _of_records(trial, ending, command)
        if kind == "json" and ending.out:
            json.loads(ending.out, parse_constant=_no_constant)
        elif kind == "junit" and ending.out:
            xml.etree.ElementTree.fromstring(ending.out)
        elif kind in ("sarif", "gitlab") and ending.out:
            json.loads(ending.out, parse_constant=_no_constant)
        elif kind == "csv" and ending.out:
            rows = list(csv.reader(io.StringIO(ending.out, newline=""), strict=True))
            if len({len(row) for row in rows}) > 1:
                return ["rows of CSV of different lengths"]
        elif kind in ("text", "github", "markdown") and _CONTROL.search(out):
            return [f"a control character in the output: {_CONTROL.findall(out)[:5]}"]
    except (ValueError, RecursionError, xml.etree.ElementTree.ParseError, csv.Error) as error:
        return [f"output of {kind} that cannot be read: {error}"]
    return ["a control character in the messages"] if _CONTROL.search(err) else []


def _of_records(trial: Trial, ending: Ending, command: str) -> list[str]:
    found = records_of(ending.out)
    wanted = [line for line in trial.stdin.split("\n") if line.strip("\r\t \f\v")]
    failing = [record for record in found if record.get("error")]
    wrong = []
    refused = ending.code == 2 and not found  # before anything was read
    if (
        trial.records
        and not {"-q", "--fail-fast"} & {*trial.arguments}
        and len(found) != len(wanted)
        and not refused
    ):
        wrong.append(f"{len(wanted)} records in, {len(found)} out")
    if failing and ending.code == 0:
        wrong.append("exit code 0 with an error")
    if (
        command == "eval"
        and found
        and not failing
        and ending.code == 2
        and "error" not in ending.err
    ):
        wrong.append("exit code 2 without an error")
    if any(
        not (record["error"].get("code") and record["error"].get("message")) for record in failing
    ):
        wrong.append("an error without its code or message")
    return wrong


def _internal(ending: Ending) -> str:
    for text in (ending.out, ending.err):
        match = _INTERNAL.search(text)
        if match:
            return text[match.start() : match.start() + 260].replace("\n", " ")
    return ""


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][-200:]


def _timeless(text: str) -> str:
    return _LASTING.sub("", text)


def _option(arguments: tuple[str, ...], name: str) -> str | None:
    places = [i for i, word in enumerate(arguments[:-1]) if word == name]
    return arguments[places[-1] + 1] if places else None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
