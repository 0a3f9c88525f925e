"""Exceptions that nobody foresaw: they end the record that they come up in, say where, and leave
the others as they would have been.
"""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import thinned

import gradcli
from gradcli import InternalError
from gradcli.language import statements

Cli = Callable[..., subprocess.CompletedProcess[str]]

PROGRAM = "x = 2\nexp(x) # one\ny = x + 1\nx*y\nsin(x)\nassert x < y\ncos(y)\n"
RECORDS = "".join(
    json.dumps({"id": i, "expr": e, "at": {"x": 2}}) + "\n"
    for i, e in enumerate(["exp(x)", "x*x", "sin(x)", "cos(x)", "x+1"])
)

PLACES = [  # (what raises, what it raises)
    ("gradcli.language.statements.statement", OverflowError("planted")),
    ("gradcli.language.lowering.Lowering.lower", RecursionError("planted")),
    ("gradcli.language.run.Bindings.bind", TypeError("planted")),
    ("gradcli.query.programs.forward", MemoryError()),
    ("gradcli.query.programs.gradient", UnboundLocalError("planted")),
    ("gradcli.check.judge.Judge.decide", KeyError("planted")),
    ("gradcli.check.crosscheck.cross_check", ImportError("planted")),
    ("gradcli.query.cases.parse_record", RuntimeError("planted")),
]


def raising_at(turn: int, original: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """The function, but that its call of that number raises."""
    calls = 0

    def function(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == turn:
            raise error
        return original(*arguments, **named)

    return function


def owner_of(path: str) -> tuple[Any, str]:
    """The module or class that has an attribute, and its name."""
    parts = path.split(".")
    for stop in range(len(parts) - 1, 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:stop]))
        except ModuleNotFoundError:
            continue
        for part in parts[stop:-1]:
            owner = getattr(owner, part)
        return owner, parts[-1]
    raise AssertionError(path)


def results(printed: str) -> dict[tuple[Any, str], Any]:
    found = [json.loads(line) for line in printed.splitlines()]
    return {(record["id"], record["expr"]): record for record in found}


@pytest.mark.parametrize(
    ("path", "error"), thinned(pytest.param(*place, id=place[0]) for place in PLACES)
)
@pytest.mark.parametrize("command", ["eval", "check"])
@pytest.mark.parametrize("kind", ["program", "records"])
def test_a_fault_ends_its_record_alone(
    path: str,
    error: Exception,
    command: str,
    kind: str,
    call_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "model.grad" if kind == "program" else "cases.jsonl"
    (tmp_path / name).write_text(PROGRAM if kind == "program" else RECORDS)
    arguments = [
        *(["eval", "-f"] if command == "eval" else ["check", "--fail-on", ""]),
        name,
        "--format",
        "jsonl",
    ]
    owner, attribute = owner_of(path)
    original = getattr(owner, attribute)
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    clean = results(call_cli(*arguments).stdout)
    met = 0
    for turn in (1, 2, 3):
        statements._statements_of_line.cache_clear()  # the clean run has parsed these lines
        monkeypatch.setattr(owner, attribute, raising_at(turn, original, error))
        monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / f"cache{turn}"))
        done = call_cli(*arguments)
        found = results(done.stdout)
        internal = [
            r for r in found.values() if r["error"] is not None and r["error"]["code"] == "internal"
        ]
        if done.returncode != 3:
            assert (internal, found) == ([], clean), f"turn {turn}: exit {done.returncode}"
            continue
        met += 1
        assert len(internal) == 1, f"turn {turn}: {internal}"
        said = internal[0]["error"]["message"]
        assert said.startswith(
            "out of memory" if isinstance(error, MemoryError) else type(error).__name__
        )
        assert "(in gradcli/" in said
        lost = {key for key in clean if key not in found}
        assert len(lost) <= 1, f"turn {turn}: {lost} have no result"
        assert len(found) >= len(clean)
        needs = {"missing-value"}  # of names that the statement with the fault would have bound
        touched = [
            key
            for key in clean
            if key in found and found[key] != clean[key] and found[key] not in internal
        ]
        assert all(
            found[key]["error"] is not None and found[key]["error"]["code"] in needs
            for key in touched
        ), f"turn {turn}: {touched}"
    assert met or (kind == "program") == ("parse_record" in path) or "bind" in path, (
        f"{path} was never called"
    )


def test_the_python_api_raises_it_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gradcli.query.programs.forward", raising_at(1, np.sin, ZeroDivisionError("planted"))
    )
    with pytest.raises(
        InternalError,
        match=r"ZeroDivisionError: planted \(in gradcli/query/programs\.py:\d+, _evaluate\)",
    ) as caught:
        gradcli.evaluate("x*x", x=2)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_bug_is_never_expected(
    call_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a mark nor by a baseline."""
    (tmp_path / "a.grad").write_text("x = 2\nx*x # xfail: planted\n")
    monkeypatch.setattr(
        "gradcli.query.programs.forward", raising_at(1, np.sin, ZeroDivisionError("planted"))
    )
    done = call_cli("check", "a.grad", "--baseline", "known.json", "--update")
    assert done.returncode == 3
    assert json.loads((tmp_path / "known.json").read_text())["known"] == []
