"""The fuzzer's own tests: every input that ever failed, a short run of the fuzzer, and faults in
one run of every kind.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz import faults, generating, trying
from fuzz.injecting import COMPUTING, READING, WRITING
from fuzz.invariants import complaints, records_of
from fuzz.trials import Trial, run, trial_of
from recorded import LISTS

CORPUS = [
    json.loads(line)
    for path in sorted(Path(__file__).parent.glob("fuzz/corpus/*.jsonl"))
    for line in path.read_text().splitlines()
]
SHORT = 40  # trials of the short run, of up to 16 inputs each


def whole(parts: Any) -> Any:
    """A text that is written in parts, each a text, or one and how often it stands there."""
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)


def known(entry: dict[str, Any]) -> Trial:
    """The trial of a line of the corpus."""
    made = dict(entry)
    if "stdin_parts" in entry:
        made["stdin"] = whole(entry["stdin_parts"])
    if "file_parts" in entry:
        made["files"] = {name: whole(parts) for name, parts in entry["file_parts"].items()}
    return trial_of(made)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "GRADCLI_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def sentinel() -> str:
    return trying.expected()


@pytest.mark.parametrize("entry", CORPUS, ids=[entry["why"] for entry in CORPUS])
def test_what_once_failed(entry, sentinel):
    trial = known(entry)
    ending, found = trying.tried(trial, sentinel)
    assert not found, (found, ending.out[:2000], ending.err[:2000])
    if "codes" in entry:
        codes = [
            None if record["error"] is None else record["error"]["code"]
            for record in records_of(ending.out)
        ]
        assert codes == entry["codes"], ending.out
    if "exit" in entry:
        assert ending.code == entry["exit"], ending.out + ending.err


def test_the_same_number_is_the_same_input():
    assert [generating.trial(3, i) for i in range(50)] == [
        generating.trial(3, i) for i in range(50)
    ]
    assert generating.trial(3, 1) != generating.trial(4, 1)


@pytest.mark.parametrize("part", range(4))
def test_a_short_run(part, sentinel):
    for number in range(part, SHORT, 4):
        trial = generating.trial(27, number)
        if (
            "--no-check" in trial.arguments and trial.kind != "long"
        ):  # what takes longer, `python -m tests.fuzz` runs
            _, found = trying.tried(trial, sentinel, Random(number))
            assert not found, (number, found, trial.as_json())


PLANTED = LISTS["endings that are wrong"]


@pytest.mark.parametrize(("code", "out", "err", "said"), PLANTED.values(), ids=PLANTED)
def test_what_is_wrong_is_seen(code, out, err, said):
    from fuzz.trials import Ending

    trial = Trial(
        "planted", ("eval", "-i", "jsonl", "-", "--format", "jsonl"), '{"expr": "1"}', records=True
    )
    assert complaints(trial, Ending(code, out, err, 0.0, 0))[0].startswith(said)


FAULTED = {
    "eval text": 5,
    "eval stdin": 2,
    "eval save": 5,
    "sample records.jsonl": 15,
}  # every so many


@pytest.mark.ci
@pytest.mark.skipif(
    not hasattr(os, "fork") or sys.platform == "darwin", reason="every fault has a fork of its own"
)
@pytest.mark.parametrize("name", FAULTED)
def test_faults_lose_nothing(name):
    trial = faults.trials()[name]
    run(trial)  # which imports what the forks need
    found = [
        (str(fault), said)
        for fault, said in faults.faulted(trial, (WRITING, READING, COMPUTING), FAULTED[name])
        if said
    ]
    assert not found


def test_a_fault_that_is_lost_is_seen():
    trial = Trial("planted", ("eval", "x", "--format", "jsonl"), "", {"f.json": "1"})
    right = faults.Run(0, "1\n2\n", "", {"f.json": "2"})
    assert not faults.complaints(trial, right, right)
    assert not faults.complaints(
        trial, right, faults.Run(2, "1\n", "error[output]: full", {"f.json": "1"})
    )
    assert faults.complaints(trial, right, faults.Run(0, "1\n", "", {"f.json": "2"}))[0].startswith(
        "exit code 0, and the output is not complete"
    )
    assert faults.complaints(trial, right, faults.Run(0, "1\n2\n", "", {"f.json": "1"})) == [
        "exit code 0, and f.json is not written"
    ]
    assert faults.complaints(trial, right, faults.Run(2, "1\n2\n", "error", {"f.json": '{"a'}))[
        0
    ].startswith("f.json is neither old nor new")
    assert faults.complaints(trial, right, faults.Run(-11, "", "", {"f.json": "1"}))[0].startswith(
        "it ended with -11"
    )
