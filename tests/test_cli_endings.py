"""How the command line ends: full disks, closed pipes, interrupts; and what a terminal sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "gradcli", "eval", "--no-check", "--format", "jsonl"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", ["jsonl", "json", "text"])
def test_full_disk(run_cli, format):
    with open("/dev/full", "w") as full:
        done = run_cli(
            "eval", "--no-check", "--no-formula", "--format", format, "x", "x=1", stdout=full
        )
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def start(environment, *arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def test_results_come_one_by_one_and_a_closed_pipe_is_quiet(cli_environment):
    process = start(cli_environment, "-", "x=1")
    process.stdin.write(b"x + 1\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["value"] == 2
    process.stdout.close()
    process.stdin.write(b"x + 2\n" * 1000)
    process.stdin.close()
    assert process.wait(20) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt(cli_environment):
    process = start(cli_environment, "-", "x=1")
    process.stdin.write(b"x + 1\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in errors


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(
    ("variables", "color", "escapes", "table"),
    [
        ({"NO_COLOR": "1"}, "auto", False, True),
        ({"TERM": "dumb"}, "auto", False, False),
        ({"TERM": "xterm-256color"}, "auto", True, True),
        ({"TERM": "xterm-256color"}, "never", False, True),
    ],
)
def test_colour_on_a_terminal(run_cli, cli_environment, variables, color, escapes, table):
    import pty

    environment = {
        k: v for k, v in cli_environment.items() if k not in ("NO_COLOR", "TERM")
    } | variables
    outer, inner = pty.openpty()
    done = run_cli(
        "eval", "--no-check", "--no-formula", "x**2", "x=3", "--color", color,
        stdout=inner, env=environment,
    )  # fmt: skip
    os.close(inner)
    shown = os.read(outer, 1 << 16)
    os.close(outer)
    assert done.returncode == 0
    assert b"9" in shown
    assert (b"\x1b[" in shown) is escapes
    assert ("╭".encode() in shown) is table


def test_a_pipe_gets_no_escapes(run_cli, cli_environment):
    environment = {k: v for k, v in cli_environment.items() if k != "NO_COLOR"} | {
        "TERM": "xterm-256color"
    }
    done = run_cli(
        "eval", "--no-check", "--no-formula", "-", "x=3", stdin="x**2\nx +\n", env=environment
    )
    assert done.returncode == 2
    assert "9" in done.stdout
    assert "error[syntax]" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_module_runs_as_a_command(run_cli):
    done = run_cli("eval", "--no-check", "--format", "jsonl", "-x**2", "x=3")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["grad"] == {"x": -6}


def test_a_device_is_written_to_and_never_replaced(run_cli, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    done = run_cli("eval", "--no-check", "x**2", "x=1,2", "--save", f"x={pipe}")
    received, _ = reader.communicate(timeout=30)
    assert done.returncode == 0
    assert received.startswith(b"\x93NUMPY")
    assert pipe.is_fifo()
