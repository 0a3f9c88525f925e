"""Who computes large arrays, and on how many threads: what may be asked for and how, and what is
chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradcli
from gradcli import GradcliError
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.plans import backend
from gradcli.plans.backend import Work, work_of
from gradcli.plans.native import compiler

vg, ev = gradcli.value_and_grad, gradcli.evaluate
TEXT = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
X = np.random.default_rng(7).normal(size=700_001)
NO_COMPILER = (
    "error[native]: there is no C compiler that works\n = help: {advice}\n = note: "
    "CC=none: not found"
)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said where there is none."""
    monkeypatch.setenv("CC", "none")
    return NO_COMPILER.format(advice=compiler.missing().help)


# -- what may be asked for

MAKERS: dict[str, Callable[..., Any]] = {
    "value_and_grad": lambda **options: vg("sum(x**2)", **options),
    "compile": lambda **options: gradcli.compile("sum(x**2)", **options),
    "evaluate": lambda **options: ev(
        "sum(x**2)", x=[1.0, 2.0], check=False, formula=False, **options
    ),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt backend": (
        {"backend": "nativ"},
        "error[usage]: 'backend' must be one of auto, numpy, native, not 'nativ'\n = help: did "
        "you mean 'native'?",
    ),
    "another backend": (
        {"backend": "gpu"},
        "error[usage]: 'backend' must be one of auto, numpy, native, not 'gpu'",
    ),
    "no backend": (
        {"backend": None},
        "error[usage]: 'backend' must be one of auto, numpy, native, not None",
    ),
    "a list of backends": (
        {"backend": ["numpy"]},
        "error[usage]: 'backend' must be one of auto, numpy, native, not ['numpy']",
    ),
    "no threads": ({"threads": 0}, "error[usage]: 'threads' must be a whole number from 1, not 0"),
    "half a thread": (
        {"threads": 1.5},
        "error[usage]: 'threads' must be a whole number from 1, not 1.5",
    ),
    "a text of threads": (
        {"threads": "2"},
        "error[usage]: 'threads' must be a whole number from 1, not '2'",
    ),
    "a truth of threads": (
        {"threads": True},
        "error[usage]: 'threads' must be a whole number from 1, not True",
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(maker: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(GradcliError) as caught:
        MAKERS[maker](**options)
    assert caught.value.render() == said


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "options",
    [{"backend": "numpy"}, {"backend": "auto"}, {"threads": 1}, {"threads": np.int64(100)}],
    ids=repr,
)
def test_what_is_accepted(maker: str, options: dict[str, Any]) -> None:
    assert MAKERS[maker](**options) is not None


@pytest.mark.parametrize("options", [{"backend": "numpy"}, {"threads": 2}], ids=repr)
def test_options_that_a_mode_has_no_use_for(options: dict[str, Any]) -> None:
    (option,) = options
    with pytest.raises(GradcliError) as caught:
        ev("sum(x**2)", x=[1.0, 2.0], mode="hessian", **options)
    said = (
        f"error[usage]: the mode 'hessian' and '{option}' exclude each other\n = help: leave "
        "one of them out"
    )
    assert caught.value.render() == said


@pytest.mark.parametrize("name", ["backend", "threads"])
def test_names_that_are_options(name: str) -> None:
    assert ev(f"2*{name}", at={name: 3.0}, check=False).value == 6.0
    assert vg(f"2*{name}")(**{name: 3.0})[0] == 6.0, "they are no options of calls"
    with pytest.raises(GradcliError):
        ev(f"2*{name}", **{name: 2.5})


# -- native code without a compiler


def test_native_code_without_a_compiler(no_compiler: str, call_cli: Any) -> None:
    for make in MAKERS.values():
        with pytest.raises(GradcliError) as caught:
            make(backend="native")
        assert caught.value.render() == no_compiler
    for command in (["eval", "sum(x**2)", "x=1,2"], ["check", "-e", "sum(x**2)", "x=1,2"]):
        done = call_cli(*command, "--backend", "native")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", no_compiler + "\n")


def test_native_code_of_a_project_without_a_compiler(
    no_compiler: str, call_cli: Any, tmp_path: Any
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nbackend = 'native'\n")
    done = call_cli("check", "-e", "sum(x**2)", "x=1,2")
    assert done.returncode == 2
    assert "there is no C compiler that works" in done.stdout + done.stderr


def test_auto_is_numpy_without_a_compiler(no_compiler: str) -> None:
    f = vg(TEXT)
    assert f(x=X)[0] == vg(TEXT, backend="numpy")(x=X)[0]
    assert (
        "\nnumpy: no C compiler works, but 128 x 21,700,031 additions are no fewer than the "
        in f.plan()
    )


# -- what is chosen


class Choice(NamedTuple):
    asked: str
    work: Work
    calls: int
    chosen: str
    said: str


CHOICES = [
    Choice("numpy", Work(1 << 40, 8), 1, "numpy", "numpy, as asked for"),
    Choice("native", Work(1, 8), 1, "native", "native, as asked for"),
    Choice(
        "auto",
        Work((1 << 22) - 1, 8),
        backend.OFTEN,
        "numpy",
        "numpy: 128 x 4,194,303 additions are fewer than the 536,870,912",
    ),
    Choice(
        "auto",
        Work(1 << 22, 8),
        backend.OFTEN,
        "native",
        "native: 128 x 4,194,304 additions are no fewer than the 536,870,912",
    ),
    Choice(
        "auto",
        Work(1 << 22, 9),
        backend.OFTEN,
        "numpy",
        "numpy: 128 x 4,194,304 additions are fewer than the 570,425,344",
    ),
    Choice(
        "auto",
        Work((1 << 29) - 1, 8),
        backend.ONCE,
        "numpy",
        "numpy: 536,870,911 additions are fewer than the 536,870,912",
    ),
    Choice(
        "auto",
        Work(1 << 29, 8),
        backend.ONCE,
        "native",
        "native: 536,870,912 additions are no fewer than the 536,870,912",
    ),
]


@pytest.mark.parametrize(
    "choice", CHOICES, ids=lambda c: f"{c.asked} {c.work.additions} {c.work.operations} {c.calls}"
)
def test_what_is_chosen(choice: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "find_compiler", lambda: "a compiler")
    assert backend.choose_backend(choice.asked, choice.work, choice.calls) == choice.chosen
    assert backend.explain_choice(
        choice.chosen, choice.asked, choice.work, choice.calls, ""
    ).startswith(choice.said)
    monkeypatch.setattr(compiler, "find_compiler", lambda: None)
    if choice.asked != "native":
        assert backend.choose_backend(choice.asked, choice.work, choice.calls) == "numpy"


# counted by hand: entries that each operation goes over, four times where it is transcendental
WORK = {
    "x + x*x": 2 * 600,
    "sum(x)": 600,
    "exp(x)": 4 * 600,
    "sum(exp(x), axis=0)": 5 * 600,
    "x @ x.T": 20 * 30 * 20 + 600,
    "x + 1.5": 600,
    "2.0*3.0": 1,
}


@pytest.mark.parametrize(("text", "work"), WORK.items())
def test_how_much_there_is_to_do(text: str, work: int) -> None:
    program = Program(Scope())
    program.scope.bind_value("x", np.ones((20, 30)))
    (statement,) = statements([text])
    lowered = program.execute(statement)
    assert lowered is not None
    assert work_of([lowered.value]).additions == work


# -- threads


@pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("text", [TEXT, "sum(logsumexp(reshape(x[:700000], (700, 1000)), axis=1))"])
def test_threads_change_no_bit(text: str) -> None:
    found = []
    for count in (5, 1, 2, None, 1):
        value, grads = vg(text, backend="native", threads=count)(x=X)
        found.append((value.tobytes(), grads["x"].tobytes()))
    assert len(set(found)) == 1
    record = ev(text, x=X, backend="native", threads=1, check=False, formula=False)
    assert record.grad is not None
    assert (np.float64(record.value).tobytes(), record.grad["x"].tobytes()) == found[0]
