"""The time of a whole run: what it leaves no time for is said, and does not pass.

The clock is the test's, where a test counts cases.
"""

from __future__ import annotations

import json
import re

import pytest

from gradcli.cli.decide.cases import Budget
from gradcli.reference import deadline as clocks

PROGRAM = (
    "x = 2.\nassert x == 2\nx**2\ny = x**3\nassert y == 9  # xfail: known\nassert y == 9  # "
    "skip: later\n(y\n  + x)\nx +\n"
)
RECORDS = [
    {"id": "a", "expr": "x**2", "at": {"x": 3}}, {"expr": "x**3", "at": {"x": 3}, "skip": "later", "meta": {"who": "me"}},
    {"expr": "x**2", "at": {"x": 3}, "expects": 1}, {"id": 4, "expr": "x**4", "at": {"x": 3}, "xfail": "known", "meta": {"who": "me"}},
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "m.grad").write_text(PROGRAM)
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))


@pytest.fixture
def time_for(monkeypatch):
    """Let the budget last for so many looks at it."""

    def lasting(looks):
        left = iter([1e6] * looks)
        monkeypatch.setattr(
            Budget,
            "time_left",
            property(lambda self: None if self.seconds is None else next(left, 0.0)),
        )

    return lasting


def test_what_was_not_reached_is_said_and_fails(call_cli, files, time_for):
    time_for(3)
    done = call_cli("check", "m.grad", "r.jsonl", "--budget", "60", "--report", "junit=out.xml")
    assert (done.returncode, re.sub(r"in \d+\.\d\d s", "in # s", done.stdout)) == (2, """\
error[syntax]: the expression ends where a value is expected
  --> m.grad:9:3
9 | x +
  |   ^
  = repeat: gradcli check m.grad --line 9

error[unknown-field]: a record has no field 'expects'
  --> r.jsonl:3
1 | x**2
 = help: did you mean 'expect'?
  = repeat: gradcli check r.jsonl --line 3

not reached, as the time of the run (--budget) was spent: 4
  m.grad:5:1  assert y == 9
  m.grad:7:1  (y + x)
  r.jsonl:1  x**2
  r.jsonl:4  x**4

4 failed, 2 error, 2 passed, 2 skipped in # s (4 not reached)
""")  # fmt: skip


def outcomes(done):
    return [json.loads(line)["outcome"] for line in done.stdout.splitlines()]


def test_the_records_say_it(call_cli, files, time_for):
    time_for(0)
    done = call_cli("check", "r.jsonl", "--budget", "0.5", "--format", "jsonl")
    first, skipped, _, expected = map(json.loads, done.stdout.splitlines())
    reason = "not reached: the time of the run (--budget 0.5) was spent"
    assert first["check"] == {"verdict": "undetermined", "variables": {}, "reason": reason}
    assert first["outcome"] == {
        "name": "a", "status": "failed", "reason": reason, "details": [reason], "reached": False,
        "repeat": "gradcli check r.jsonl --line 1",
    }  # fmt: skip
    assert (first["value"], first["grad"]) == (None, None)
    assert (
        skipped["outcome"]["status"],
        skipped["outcome"]["reason"],
        "reached" in skipped["outcome"],
    ) == ("skipped", "later", False)
    assert (expected["outcome"]["status"], expected["meta"], expected["id"]) == (
        "failed",
        {"who": "me"},
        4,
    )


VERDICTS = {
    "by default": ([], 1, "failed"),
    "undetermined is left out": (["--fail-on", "mismatch"], 0, "skipped"),
    "nothing fails": (["--fail-on", "none"], 0, "skipped"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "status"), VERDICTS.values(), ids=VERDICTS)
def test_the_gate_goes_by_undetermined(call_cli, time_for, options, code, status):
    time_for(0)
    done = call_cli("check", "-e", "x**2", "x=1", "--budget", "60", *options, "--format", "jsonl")
    assert (done.returncode, [outcome["status"] for outcome in outcomes(done)]) == (code, [status])
    text = call_cli("check", "-e", "x**2", "x=1", "--budget", "60", *options, "-q").stdout
    assert (
        "not reached, as the time of the run (--budget) was spent: 1\n  <command line>:1:1  x**2\n"
        in text
    )


def test_a_case_that_is_begun_is_left_between_steps(call_cli, monkeypatch):
    monkeypatch.setattr(
        Budget, "time_left", property(lambda self: 1e-9)
    )  # some, but none when the check looks first
    done = call_cli(
        "check",
        "-e",
        "sum(sin(x)*exp(-x**2))",
        "x=1,2,3",
        "--budget",
        "60",
        "--no-cache",
        "--format",
        "jsonl",
    )
    assert (done.returncode, outcomes(done)[0]["reached"]) == (1, False)
    assert clocks._limits.ends == []


def test_processes_share_it(run_cli, files):
    done = run_cli("check", "m.grad", "r.jsonl", "--budget", "1e-6", "-j", "2", "--format", "jsonl")
    assert done.returncode == 2, "two cases are errors"
    statuses = [outcome["status"] for outcome in outcomes(done)]
    assert statuses == [
        "failed",
        "failed",
        "failed",
        "skipped",
        "failed",
        "error",
        "failed",
        "skipped",
        "error",
        "failed",
    ]


def test_a_project_may_set_it(call_cli, files, tmp_path, time_for):
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nbudget = 5\n")
    time_for(0)
    done = call_cli("check", "m.grad", "--format", "jsonl")
    assert "(--budget 5)" in outcomes(done)[0]["reason"]
    assert (
        call_cli("check", "-e", "x**2", "x=1", "--budget", "7", "--format", "jsonl").stdout.count(
            "(--budget 7)"
        )
        == 3
    )


def test_a_baseline_is_not_called_stale(call_cli, files, time_for):
    assert (
        call_cli("check", "m.grad", "r.jsonl", "--baseline", "b.json", "--update").returncode == 0
    )
    time_for(0)
    assert (
        call_cli("check", "m.grad", "r.jsonl", "--baseline", "b.json", "--budget", "1").stderr == ""
    )
