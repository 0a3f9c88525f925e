"""The command that repeats a failing case: read by a shell as it is printed, it gives the same
failure, and nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import get_args, get_origin

import pytest
from recorded import over

from gradcli import Record
from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.cases import Repeating
from gradcli.cli.decide.running import Inputs
from gradcli.inert import shell_word

BASH = shutil.which("bash")
shell = pytest.mark.skipif(BASH is None, reason="no bash here")


def words(command: str) -> list[str]:
    """The words of a command line, as a shell has them."""
    found = subprocess.run(
        [BASH, "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True
    ).stdout
    return [word.decode("utf-8", "surrogateescape") for word in found.split(b"\0")[:-1]]


PROGRAM = """\
x = 2.
f(t) = t**3
assert x == 2
assert f(x) == 9
r = rand(2)
sum(r*x)
assert sum(rand(2)) == 1
assert (f(x)
  == 7)
x*) + 1
import numpy as np
assert np.sin(x) == 1; assert x == 3
"""
RECORDS = [
    {"id": "right", "expr": "x**2", "at": {"x": 3}, "expect": {"grad": {"x": 6}}},
    {"id": "wrong", "expr": "x**2", "at": {"x": 3}, "expect": {"grad": {"x": 5}}},
    {"expr": "x**2 +", "at": {"x": 3}},
    {"expr": "x**2", "at": {"x": 3}, "expects": {}},
]
FUNCTIONS = "def f(x):\n    return (x**3).sum()\n\n\ndef df(x):\n    return 2*x**2\n"


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    import numpy as np

    (tmp_path / "folder").mkdir()
    for name, text in {
        "m.grad": PROGRAM, "-m.grad": "assert 1 == 2\n", "a=1.grad": "assert 1 == 2\n", "it's\n "
        "a.grad": "assert 1 == 2\n",
        "\udcff.grad": "assert 1 == 2\n", "folder/a.grad": "assert 1 == 2\n", "folder/b.grad": "assert 1 == 1\nassert 2 == 3\n",
        "free.grad": "assert sum(a*b*c) == 1\n", "good.grad": "f(t) = t**3\na = 2.\nf(a)\n", "mine.py": FUNCTIONS,
        **dict.fromkeys(("r.jsonl", "r.txt"), "\n".join(map(json.dumps, RECORDS))),
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "y.npy", 2.0)
    monkeypatch.syspath_prepend(tmp_path)


def failures(done):
    """What the records of a run say of what is wrong, with the commands apart."""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [
        record for record in found if record["outcome"]["status"] in ("failed", "error", "xpassed")
    ]
    return [record["outcome"].pop("repeat") for record in bad], bad


@shell
@over("repeating", "runs", "arguments", "lines")
def test_the_command_gives_the_same_failure(call_cli, inputs, arguments, lines):
    done = call_cli("check", *arguments, "--format", "jsonl", "--no-cache")
    commands, bad = failures(done)
    assert [record["source"]["line"] for record in bad] == lines, done.stderr
    for command, failure in zip(commands, bad, strict=True):
        assert command.isprintable(), command
        program, *repeated = words(command)
        again = call_cli(*repeated, "--format", "jsonl", "--no-cache")
        assert program == "gradcli"
        assert again.returncode == {"error": 2}.get(failure["outcome"]["status"], 1), (
            command,
            again.stderr,
        )
        same, found = failures(again)
        assert set(same) == {command}, command
        assert failure in found, command
        assert len(found) == lines.count(failure["source"]["line"]), (
            f"{command} gives other failures, too"
        )


ASKED = CheckRequest(expression="x**2", function="m:f", by="torch")
OTHER = {str: "other", int: 2, float: 0.5, bool: True}  # than usual
OF_THE_WHOLE_RUN = {
    # where a case stands is the record's to say, and bindings are the inputs'
    "arguments", "files", "line",
    "functions", "changed_since", "jobs", "on", "fail_fast", "budget", "baseline", "update", "allow_empty", "cache", "save",
    "output_format", "format_given", "reports", "verbose", "quiet", "color", "words",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(CheckRequest.options()) - OF_THE_WHOLE_RUN))
def test_every_option_that_decides_a_case_is_in_its_command(name):
    """A new option of `check` is one of these, or of the whole run."""
    kind = get_args(CheckRequest.options()[name])[0]
    several = get_origin(kind) is tuple
    other = ASKED.but(**{name: ("other=1",) if several else OTHER[(get_args(kind) or (kind,))[0]]})
    commands = [
        Repeating(asked, Inputs(asked.expression, {}, [])).command(Record("x**2"))
        for asked in (ASKED, other)
    ]
    assert commands[0] == "gradcli check -e 'x**2' --function m:f --by torch"
    assert commands[1] not in (None, commands[0])


def test_it_is_printed_with_the_failure(call_cli, inputs):
    done = call_cli(
        "check", "it's\n a.grad", "--report", "junit=out.xml", "-j", "2", "--rtol", "1e-3"
    )
    assert done.stdout.startswith(r"""assert is false: right 2.0, left 1.0 (off by 1, relative 1, 4.5e+15 ulp)
  --> it's\x0a a.grad:1:1
1 | assert 1 == 2
  = repeat: gradcli check $'it\'s\x0a a.grad' --line 1 --rtol 0.001

1 failed in """)


def test_a_terminal_does_not_break_it(tmp_path, monkeypatch):
    import io

    from gradcli.cli.write.terminal_report import TerminalReport

    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    report = TerminalReport(stream, verbose=False, quiet=False, color="auto")
    report.put_block(
        "mismatch: claim\n  --> a.grad:1:1\n1 | x\n  = repeat: gradcli check folder/a.grad --line "
        "1 --rtol 0.001 --freeze a"
    )
    assert (
        "= repeat: gradcli check folder/a.grad --line 1 --rtol 0.001 --freeze a\n"
        in stream.getvalue()
    )


@shell
@pytest.mark.parametrize(
    "word",
    [
        "",
        "a b",
        "it's",
        "$HOME",
        "`ls`",
        "a\nb",
        "\x1b[31m",
        "\u202e",
        "##[error]x",
        "é",
        "\udcff",
        "\\n\n",
        "-x",
        "%s",
    ],
)
def test_a_word_is_a_word(word):
    assert words(shell_word(word)) == [word]
    assert shell_word(word).isprintable()
    assert "##[" not in shell_word(word)
