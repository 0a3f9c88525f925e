"""A session without a terminal: what is typed, what is shown, what is saved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checking import planted

from gradcli.cli.repl.commands import COMMANDS, is_complete, run_command, split
from gradcli.cli.repl.session import Session, Settings, State


class Typed:
    """A session, and what its lines show."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.session, self._capsys = (
            Session(run_command, Settings(check=False, formula=False)),
            capsys,
        )

    def feed(self, text: str) -> str:
        self.session.feed(text)
        said = self._capsys.readouterr()
        return said.out + said.err


# what is typed, and what the last line shows
SHOWN = [
    (["x = 2", "x^2"], ["x^2", "value    4.0", "x  4.0"]),
    (
        ["x = 2", "x^2", "_ * 3"],
        ["value    12.0", "x  12.0"],
    ),  # the gradient goes through the last result
    (["x = 2", "x^2", "x = 3", "_ + 1"], ["value    5.0"]),  # which stays what it was
    (["x = 2", "x^2", "y = _", "x = 5", "y"], ["value    4.0"]),
    (["x = 2", "x = 1/zz", "x"], ["value    2.0"]),  # a line that fails changes nothing
    (["x = 2", "x = 3; y = zz", "x"], ["value    2.0"]),  # the whole of it
    (["x = 2", "f(t) = t^3", "f(x)"], ["value    8.0", "x  12.0"]),
    (["f(t) = t^2", "f(t) = t^3 + g(", "f(2)"], ["value    4.0"]),
    (["const k = 3", "x = 2", "k*x"], ["value    6.0", "x  3.0"]),
    (["α = 2", "α²"], ["value    4.0", "α  4.0"]),
    (["x = 2\ny = 3\nx*y"], ["value    6.0"]),  # a paste of several lines
    (
        ["import torch\nx = torch.tensor([1., 2.], requires_grad=True)\n(x**2).sum()"],
        ["value    5.0", "[2., 4.]"],
    ),
    ([">>> x = 2\n>>> x**2\n4\n"], ["value    4.0"]),
    (["x = 2", "assert x^2 == 4"], ["true"]),
    (["x = 1", "x = 2", ":undo", "x"], ["value    1.0"]),
    (["x = 1", ":reset", "x"], ["error[missing-value]: no value for 'x'"]),
    (["x = [1, 2, 3]", "f(t) = t^2", ":vars"], ["x  [1., 2., 3.]", "f  f(t) = t^2"]),
    ([":vars"], ["no names yet"]),
    ([":hlep"], ["error[usage]: no such command: :hlep", "did you mean :help?"]),
    ([":set chekc off"], ["did you mean 'check'?"]),
    ([":set check maybe"], ["'check' must be one of on, off"]),
    ([":set check on", "x = 2", "x^2"], ["agree"]),
    ([":set formula on", "x = 2", "x^2"], ["2*x"]),
    ([":set digits 3", "x = 2", "x/3"], ["0.667"]),
    ([":set wrt x", "x = 2; y = 3", "x*y"], ["x  3.0"]),
    ([":set limit work=1", ":set limit"], ["work=1"]),
    ([":set limit work=much"], ["error"]),
    (["_"], ["there is no last result"]),
    ([":explain"], ["there is no expression, and no query before"]),
    (["x = 2", "x^2", ":explain"], ["forward", "PowBackward0"]),
    (["x = 2", "x^2", "x*3", ":explain _ + 1"], ["(x*3) + 1"]),
    ([":diff a*t^3 t"], ["∂/∂t     3*a*t**2"]),
    (["f(t) = t^2", ":diff f(q)"], ["d/dq     2*q"]),
    (["k = 2", ":diff x^2*k x"], ["∂/∂x     2*k*x"]),
    ([":help relu"], ["relu(x)"]),
    ([":help unknown-name"], ["unknown-name:"]),
    ([":help :save"], [":save FILE.grad"]),
    ([":help nonsensical"], ["nonsensical"]),
    ([":help"], [f":{name}" for name in COMMANDS]),
    (["x = @missing.npy"], ["error", "missing.npy"]),
    (
        ["x = 2", "\n\nx +* 3"],
        ["<expression>:4:4", "4 | x +* 3\n  |    ^"],
    ),  # lines are counted as they are typed
    (
        ["x = 2", "x^2", "1 + _ + zz"],
        ["1 + _ + zz", "        ^^"],
    ),  # the place in the line as it was typed
    ([":load missing.grad"], ["error", "missing.grad"]),
    ([":save"], ["one file is named here"]),
    ([":save s.grad"], ["nothing has run yet"]),
    (["x = 2", "y = ['x', _]"], ["error"]),
]


@pytest.mark.parametrize(("lines", "wanted"), SHOWN, ids=lambda case: " ⏎ ".join(case)[:60])
def test_what_is_shown(
    lines: list[str], wanted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    own = Typed(capsys)
    shown = [own.feed(line) for line in lines][-1]
    for text in wanted:
        assert text in shown
    assert "Traceback" not in shown


def test_a_failed_line_is_not_kept() -> None:
    own = Session(run_command, Settings(check=False))
    for line in ("x = 2", "y = x*zz", "y", "x*3"):
        own.feed(line)
    assert own.state.program() == "x = 2\nx*3\n"


SAVED = [
    ["x = 2", "x^2", "_*3", "x = 3", "_ + x", "y = _", "y*2"],
    ["x = [1, 2]", "f(t) = t^2", "f(x)", "sum(_)", "z = 1/zz", "sum(x)"],
    ["x = rand(3)", "sum(x)", "rand(2)", "_ + 1", "y = rand(2)", "sum(y)"],
    ["def f(x):\n    y = x^2\n    return y\n", "f(3)", "a = 2", "f(a)"],
    ["x = 2 # two", "x * 3 # '_' and _", "_ + 1"],
    ["import torch.nn.functional as F", "x = [-1., 2.]", "F.relu(x).sum()", "assert x[0] == -1"],
    ["x = 2", "x/0", "_", "sqrt(-x)"],
]


@pytest.mark.parametrize("lines", SAVED, ids=lambda lines: lines[-1])
def test_a_saved_session_runs_and_gives_the_same_results(
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    own = Typed(capsys)
    shown = [own.feed(line) for line in lines]
    own.feed(":save s.grad")
    again = Typed(capsys).feed(":load s.grad")

    def results(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("  value")]

    assert results(again) == [
        line for text in shown if "error[" not in text for line in results(text)
    ]
    if lines is SAVED[0]:  # by the command itself, in a process of its own
        command = [
            sys.executable,
            "-m",
            "gradcli",
            "eval",
            "-f",
            "s.grad",
            "--no-check",
            "--no-formula",
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=_environment(),
        )
        assert results(done.stdout) == results(again), done.stderr


def test_an_interrupt_leaves_the_session_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle of the last line of a paste: random numbers, functions and the last result are
    as they were.
    """
    own, other = Typed(capsys), Typed(capsys)
    for line in ("x = 2", "f(t) = sum(t*x)", "y = rand(2)", "sum(y)*x"):
        assert own.feed(line) == other.feed(line)

    def interrupted(right: Any) -> Any:
        def forward(*given: Any, **how: Any) -> Any:
            raise KeyboardInterrupt

        return forward

    with planted("tanh", forward=interrupted):
        assert (
            own.feed("x = 3\ntanh(sum([x, 1]))")
            == "interrupted; all names are as they were before\n"
        )
    for line in ("_ + 1", "x", "rand(1)", "f(y)", ":vars"):
        assert own.feed(line) == other.feed(line)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("x = 2", True), ("f(x", False), ("f(x,\n  y)", True), ("x = [1,", False), ("f(x))", True), ("'('", True), ("x # (", True),
        ("def f(x):", False), ("def f(x):\n    return x", False), ("def f(x):\n    return x\n", True), ("x + \\", False), ("f'(x", False),
        (":plot (x", True), ("", True), ("f(x\n\n", True), ("for i in range(3):\n    x = i", False),
        ("def f(x):\n    return x\nf(2)", True),
    ],
)  # fmt: skip
def test_what_goes_on(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


@pytest.mark.parametrize(
    ("name", "text", "expression", "arguments"),
    [
        ("plot", "sin(x) * 2 x=-3..3", "sin(x) * 2", ["x=-3..3"]),
        ("plot", "x == 2", "x == 2", []),
        ("explain", "x^2 --wrt x", "x^2", ["--wrt", "x"]),
        ("explain", "--wrt x", "", ["--wrt", "x"]),
        ("plot", "x=-1..1", "", ["x=-1..1"]),
        ("diff", "x^2*y x y --order 2", "x^2*y", ["x", "y", "--order", "2"]),
        ("diff", "x^2 * y", "x^2 * y", []),
        ("diff", "'x^2 + y' x", "x^2 + y", ["x"]),
        ("explain", "-x**2", "-x**2", []),
        ("explain", "sum(x, axis=0)", "sum(x, axis=0)", []),
    ],
)
def test_arguments_of_commands(name: str, text: str, expression: str, arguments: list[str]) -> None:
    assert split(name, text) == (expression, arguments)


def test_the_last_result_in_texts() -> None:
    assert (
        State(last="x^2").without_last("_ + a_b + _x + '_' + x._ + _[0] # _")
        == "(x^2) + a_b + _x + '_' + x._ + (x^2)[0] # _"
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}


def test_piped_lines_are_answered_without_prompts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gradcli", "repl", "--no-check"], input="x = 2\nsum([x,\n  x])\n_ "
        "* zz\n:quit\nx\n", capture_output=True,
        text=True, encoding="utf-8", check=False, env=_environment(),
    )  # fmt: skip
    assert "value    4.0" in done.stdout
    assert "no value for 'zz'" in done.stderr
    assert "> " not in done.stdout.replace("--> ", "")
    assert done.returncode == 2
