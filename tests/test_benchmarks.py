"""The benchmarks run, and say of every contestant what was measured or why nothing was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradcli

ROOT = Path(__file__).parent.parent
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are part of a checkout only", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.contest import Command, Contestant, Goal, InProcess, Run, Workload  # noqa: E402
from benchmarks.expressions import VALUES, chain, chain_point, rosenbrock, textbook  # noqa: E402
from benchmarks.measuring import Result, Standing, measure, ratio  # noqa: E402
from benchmarks.table import as_text, markdown  # noqa: E402


def test_the_command(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--rounds", "1", "--only", "T1", "--json", str(report)],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    (workload,) = json.loads(report.read_text(encoding="utf-8"))["workloads"]
    names = {contestant["name"] for contestant in workload["contestants"]}
    assert names == {
        "gradcli compiled", "gradcli eager", "NumPy by hand", "JAX jit", "CasADi", "PyTorch", "MyGrad", "autograd", "JAX without jit",
    }  # fmt: skip
    for contestant in workload["contestants"]:
        assert contestant["name"] in done.stdout
        assert contestant["seconds"] is not None or contestant["note"] == "not installed", (
            contestant
        )
    assert done.stdout.count("goal: ") == len(workload["goals"]) == 3


def test_an_unknown_workload() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "T99"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no workload is called T99" in done.stderr


def right() -> Run:
    return lambda: {"value": 2.0, "x": [1.0, 0.0]}


def wrong() -> Run:
    return lambda: {"value": 2.0, "x": [1.0, 1e-8]}


def otherwise() -> Run:
    return lambda: {"value": 2.0, "y": [1.0, 0.0]}


def raising() -> Run:
    raise ValueError("no such thing\nat all")


def dying() -> Run:
    os._exit(3)


# each contestant and its note: nothing for one that was measured
STANDINGS: list[tuple[Contestant, str]] = [
    (InProcess(name="the first", build=right), ""),
    (InProcess(name="another", build=right, fresh=True), ""),
    (InProcess(name="wrong", build=wrong), "failed: differs from ours by 2.0e-08"),
    (InProcess(name="wrong, another question", build=wrong, question="else"), ""),
    (InProcess(name="other names", build=otherwise), "failed: differs from ours by inf"),
    (InProcess(name="raising", build=raising), "failed: ValueError: no such thing"),
    (InProcess(name="dying", build=dying), "failed: the process ended with 3"),
    (InProcess(name="absent", build=right, needs=("no_such_package",)), "not installed"),
    (InProcess(name="huge", build=right, memory=10**15), "skipped: needs 1000000.0 GB of memory"),
    (Command(name="command", command=(sys.executable, "-c", "pass")), ""),
    (
        Command(name="failing", command=(sys.executable, "-c", "raise SystemExit('not now')")),
        "failed: ended with 1: not now",
    ),
    (
        Command(name="nowhere", command=("/no/such/command",)),
        "failed: ended with 1: FileNotFoundError",
    ),
]


@pytest.mark.ci
def test_standings() -> None:
    result = measure(
        Workload("T0", "nothing", [c for c, _ in STANDINGS]), 2, 20.0, True, lambda text: None
    )
    for standing, (contestant, note) in zip(result.standings, STANDINGS, strict=True):
        assert standing.note.startswith(note), contestant.name
        assert bool(standing.note) == bool(note), contestant.name
        assert len(standing.samples) == (0 if note else 2), contestant.name
    for name in (contestant.name for contestant, _ in STANDINGS):
        assert name in as_text(result)


def test_what_takes_the_budget_runs_once() -> None:
    slow = Command(name="slow", command=(sys.executable, "-c", "import time; time.sleep(0.1)"))
    (standing,) = measure(
        Workload("T0", "nothing", [slow]), 3, 0.1, True, lambda text: None
    ).standings
    assert (len(standing.samples), standing.note) == (1, "one run")


GOALS = [
    (Goal("ours", 0.5, "peer"), "ours: at most 0.5× the time of peer: holds (0.50×)"),
    (Goal("peer", 1.5, "ours"), "peer: at most 1.5× the time of ours: fails (2.00×)"),
    (Goal("ours", 0.25), "ours: at most 250 ms: holds (200 ms)"),
    (Goal("ours", 1e6, measure="peak"), "ours: at most 1 MB: fails (3 MB)"),
    (
        Goal("ours", 1.1, "peer", measure="peak"),
        "ours: at most 1.1× the memory of peer: not measured",
    ),
    (Goal("absent", 1, "ours"), "absent: at most 1× the time of ours: not measured"),
]


@pytest.mark.parametrize(("goal", "line"), GOALS)
def test_goals(goal: Goal, line: str) -> None:
    contestants = [
        InProcess(name=name, build=right, items=2) for name in ("ours", "peer", "absent")
    ]
    standings = [
        Standing(contestants[0], [0.2, 0.1, 0.9], peak=3_000_000), Standing(contestants[1], [0.4]),
        Standing(contestants[2], note="not installed"),
    ]  # fmt: skip
    result = Result(Workload("T0", "a*b", contestants, [goal], unit="term"), standings)
    assert f"goal: {line}\n" in as_text(result)
    tables = markdown(result) + "\n"
    assert f"- {line}\n" in tables
    assert (
        "| peer | 400 ms | 2.00 |  | 1 | 200 ms for each term |\n| absent | not installed |"
        in tables
    )


def test_textbook_expressions() -> None:
    texts = textbook(2_000)
    assert len(set(texts)) == len(texts)
    for text in texts[:44]:  # every family twice
        record = gradcli.evaluate(text, at=VALUES, check=False, formula=False)
        assert record.grad, text


def test_chains() -> None:
    record = gradcli.evaluate(
        chain(5), at={f"x{i}": value for i, value in enumerate(chain_point(5))}, check=False
    )
    assert float(record.value) == pytest.approx(rosenbrock(chain_point(5)), rel=1e-14)


def test_ratios_are_those_of_rounds() -> None:
    """A machine that was slow for one round was so for both."""
    ours = Standing(InProcess(name="ours", build=right), [1.0, 9.0, 3.0])
    peer = Standing(InProcess(name="peer", build=right), [2.0, 18.0, 3.0])
    assert ratio(ours, peer) == 0.5
    peer.samples.pop()
    assert ratio(ours, peer) == 3.0 / 10.0
    assert ratio(ours, Standing(peer.contestant)) is None
