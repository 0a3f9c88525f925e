"""The Python API, and the command line on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest

import gradcli
from gradcli import UnknownNameError, Verdict


def test_evaluate_gives_a_typed_record():
    record = gradcli.evaluate("sum(3*a**3 - b**2)", a=[2, 3], b=np.array([6.0, 4.0]))
    assert record.value == 53.0
    assert record.grad["a"].tolist() == [36.0, 81.0]
    assert record.grad["b"].tolist() == [-12.0, -8.0]
    assert record.derivative == {"a": "9*a**2", "b": "-2*b"}
    assert record.check.verdict is Verdict.AGREE
    assert (record.shape, record.dtype, record.error) == ((), "float64", None)


def test_without_a_seed_an_output_that_is_no_scalar_is_summed():
    record = gradcli.evaluate("x**2", x=[1.0, 2.0])
    assert (record.grad["x"].tolist(), record.seed.tolist()) == ([2.0, 4.0], [1.0, 1.0])
    assert "ones, the gradient of the sum" in str(record), "as the command line says it"
    assert gradcli.evaluate("x**2", x=[1.0, 2.0], seed=[1, 10]).grad["x"].tolist() == [2.0, 40.0]
    assert gradcli.evaluate("x**2", x=[3.0]).grad["x"].tolist() == [6.0], (
        "one entry of any shape is fine"
    )


def test_names_that_are_keywords_are_bound_with_at():
    record = gradcli.evaluate("seed*check", at={"seed": 2.0, "check": 3.0})
    assert record.grad == {"seed": 3.0, "check": 2.0}


def test_modes():
    hessian = gradcli.evaluate("x**2*y", x=3.0, y=2.0, mode="hessian").hessian
    assert hessian == {"x": {"x": 4.0, "y": 6.0}, "y": {"x": 6.0, "y": 0.0}}
    assert gradcli.evaluate("[x*y, x]", x=3.0, y=2.0, mode="jacobian").jacobian["x"].tolist() == [
        2.0,
        1.0,
    ]
    assert gradcli.evaluate("x**2*y", x=3.0, y=2.0, jvp={"x": 1.0, "y": 2.0}).jvp == 30.0


def test_errors_are_exceptions_with_their_place():
    with pytest.raises(UnknownNameError) as caught:
        gradcli.evaluate("a = 2\n3*a**3 - sqr(a)")
    error = caught.value
    assert error.place() == (2, 10, 13)
    assert error.help == "did you mean 'sqrt'?"
    assert str(error) == (
        "error[unknown-name]: unknown function 'sqr'\n"
        "  --> <expression>:2:10\n"
        "2 | 3*a**3 - sqr(a)\n"
        "  |          ^^^\n"
        "  = help: did you mean 'sqrt'?"
    )


def terminal(*arguments: str, columns: int = 80, **variables: str) -> str:
    """What a terminal shows."""
    leader, follower = pty.openpty()
    environment = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS")
    }
    environment |= {
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
        "LANG": "C.UTF-8",
        "PYTHONIOENCODING": "utf-8",
        **variables,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcli", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait(timeout=60)
    os.close(leader)
    return shown.decode()


def test_a_terminal_gets_a_coloured_table():
    shown = terminal("eval", "3*a**3 - b**2", "a=2,3", "b=6,4")
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "╭" in plain
    assert re.search(r"│ a \s*│ \[36., 81.\]\s*│ agree │ 9\*a\*\*2\s*│", plain)


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"]
)
def test_a_terminal_without_colours_gets_no_escapes(variables):
    shown = terminal("eval", "x[0]*y", "x=1,2", "y=3", **variables)
    assert "\x1b" not in shown
    assert "x[0]*y" in shown
    assert ("╭" in shown) is ("NO_COLOR" in variables)


def test_markup_and_emoji_of_the_user_are_text():
    shown = re.sub(
        r"\x1b\[[0-9;]*m", "", terminal("eval", "x[0]  # [red] :x: [/]", "x=1,2", "--no-check")
    )
    assert "x[0]" in shown
    shown = re.sub(
        r"\x1b\[[0-9;]*m", "", terminal("eval", "sqr(x[0]) # :x: [bold]", "x=1,2", "--no-check")
    )
    assert "sqr(x[0]) # :x: [bold]" in shown


def test_a_star_import_leaves_pythons_compile_alone():
    names = {}
    exec("from gradcli import *", names)
    assert "compile" not in names
    assert names["evaluate"] is gradcli.evaluate
    assert "compile" in dir(gradcli)


def test_an_explanation_prints_as_the_command_does():
    assert "to 1  x  times 2*x (6) gives 6" in str(gradcli.explain("x**2", x=3))


def test_values_without_names_are_refused_alike():
    for function in (gradcli.hessian("x*y"), gradcli.jacobian("x*y")):
        with pytest.raises(gradcli.InputTypeError, match="takes values by names"):
            function(1.0, 2.0)


def test_a_name_of_the_tests_is_said_where_it_is():
    with pytest.raises(AttributeError, match=r"gradcli\.testing\.check_gradient"):
        _ = gradcli.check_gradient


@pytest.mark.parametrize(
    "text",
    [
        "x[:n] @ x[:n]", "sum(x**n)", "y = 2*x; std(y)", "x.sum().item()*x[0]", "sum(x*rand(3))",
        "a = [1.0, 2.0]; a[:1]",
    ],
)  # fmt: skip
def test_a_text_that_has_run_gives_other_values_their_own_results(text: str) -> None:
    for n in (1, 2, 3):
        values = {"x": np.arange(3.0) * n, "n": n}
        again, fresh = (
            gradcli.evaluate(written, at=values, formula=False)
            for written in (text, text + " " * n)
        )
        assert again.warnings == fresh.warnings
        assert repr(again) == repr(fresh)
        np.asarray(again.value)[...] = 7.0  # a result is the caller's own
