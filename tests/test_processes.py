"""Signals at any moment, processes that die, streams that are closed: everything ends in order, and
nothing is left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, plain_environment

from gradcli.query import cases

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
ENTRY = "from gradcli.__main__ import run; run()"  # as the console script


def begun(*command: str, **options: Any) -> subprocess.Popen[bytes]:
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, env=plain_environment(), **{**streams, **options})


@pytest.mark.parametrize("milliseconds", [60, 120, 240, 480])
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_at_any_moment(milliseconds: int, times: int) -> None:
    """Also while it starts; the interpreter itself is not ours, so that the first of all waits
    until it is there.
    """
    process = begun(
        sys.executable, "-c", f"import gradcli, os; os.write(1, b'.'); {ENTRY}", "eval", "-", "x=1"
    )
    assert process.stdout is not None
    process.stdout.read(1)
    time.sleep(milliseconds / 1000)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"interrupted\n")


SWALLOWED = """
import os, signal, sys
from gradcli.cli.decide import running
whole = running.Evaluation.answers
class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
def records(self):
    for record in whole(self):
        Destroyed()
        yield record
running.Evaluation.answers = records
"""


def test_an_interrupt_that_falls_into_a_destructor_is_not_lost() -> None:
    process = begun(sys.executable, "-c", SWALLOWED + ENTRY, "eval", "--no-check", "x", "x=1")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"interrupted\n")


def children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.ci
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=str)
def test_processes_end_with_their_parent(number: int, code: int, tmp_path: Path) -> None:
    """While they are at work, and one of them waits for more."""
    process = begun(
        *COMMAND,
        "check",
        "-i",
        "jsonl",
        "-",
        "-j",
        "2",
        "--format",
        "jsonl",
        "--report",
        "json=out.json",
        cwd=tmp_path,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"expr": "1"}\n' * 200)
    process.stdin.flush()
    process.stdout.readline()
    found = children(process.pid)
    assert found
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    until = time.monotonic() + 60
    while any(map(is_alive, found)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, found))
    if number == signal.SIGTERM:  # what was decided is reported, and nothing is half done
        assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
        assert "interrupted" in (tmp_path / "out.json").read_text()
    else:
        assert not (tmp_path / "out.json").exists()


@pytest.mark.skipif(
    sys.platform != "linux", reason="processes are forked, with what is patched here"
)
@pytest.mark.parametrize(
    ("number", "deaths", "code"),
    [(signal.SIGKILL, 9, 3), (signal.SIGSEGV, 9, 3), (signal.SIGKILL, 1, 0)],
)
def test_a_process_that_dies_takes_nothing_with_it(
    number: int,
    deaths: int,
    code: int,
    call_cli: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it was at is tried once more: somebody may have killed it, or another one may have taken
    the memory.
    """
    whole = cases.RecordLines.result

    def result(self: Any, line: str, *given: Any, **named: Any) -> Any:
        if "deadly" in line and len(list(tmp_path.glob("death*"))) < deaths:
            (tmp_path / f"death{os.getpid()}").touch()
            os.kill(os.getpid(), number)
        return whole(self, line, *given, **named)

    monkeypatch.setattr(cases.RecordLines, "result", result)
    records = [{"id": "deadly" if i == 20 else i, "expr": "1"} for i in range(40)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    done = call_cli("check", "r.jsonl", "-j", "2", "--format", "jsonl", "--no-cache")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, [record["id"] for record in found]) == (
        code,
        [record["id"] for record in records],
    )
    wrong = [
        (record["id"], record["error"]["code"], record["error"]["message"])
        for record in found
        if record["error"]
    ]
    name = signal.Signals(number).name
    assert wrong == (
        [("deadly", "internal", f"the process that was deciding this died ({name})")]
        if code
        else []
    )


CLOSED = [
    (
        "eval - <&-",
        2,
        "",
        "error[input]: standard input is closed\n = help: name a file, or give it something to "
        "read\n",
    ),
    (
        "eval --no-check --format jsonl x x=1 >&-",
        2,
        "",
        "error[output]: cannot write the output: standard output is closed\n",
    ),
    ("eval --no-check --no-formula --save x=g.json x**2 x=1,2 2>&-", 0, "x**2", ""),
]


@pytest.mark.parametrize(("arguments", "code", "shown", "errors"), CLOSED)
def test_closed_streams(arguments: str, code: int, shown: str, errors: str, tmp_path: Path) -> None:
    process = begun("sh", "-c", f'exec "{sys.executable}" -m gradcli {arguments}', cwd=tmp_path)
    output, said = process.communicate(timeout=60)
    assert (process.returncode, said.decode()) == (code, errors)
    assert output.decode().startswith(shown)
    assert [(p.name, json.loads(p.read_text())) for p in tmp_path.iterdir()] == (
        [] if code else [("g.json", [2.0, 4.0])]
    )
