"""Exports: what is written runs and gives the engine's numbers, users' text is inert in it, and
what a target lacks is refused by name.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
import sympy
from exports import TARGETS, Outcome, Trial, compiler, held, program, run, scalar_records

from gradcli.exports.subject import identifier

NEEDS = {
    "torch": importlib.util.find_spec("torch"),
    "jax": importlib.util.find_spec("jax"),
    "javascript": shutil.which("node"),
    "c": compiler(),
}
ARRAYS = {
    "entries": ("3*a**3 - (b > 0)*b**2", {"a": [2.0, 3.0], "b": [6.0, 4.0]}),
    "broadcast": ("a*b + c", {"a": [[1.0], [2.0]], "b": [3.0, 4.0, 5.0], "c": 0.5}),
    "reductions": ("sum(x*x, axis=0) + mean(x) - std(x[0]) + max(x, axis=0)", {"x": [[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]}),
    "product of matrices": ("sum((w @ x - y)**2)", {"w": [[1.0, 2.0], [3.0, -1.0], [0.5, 0.2]], "x": [1.0, -2.0], "y": [1.0, 2.0, 3.0]}),
    "indices": ("x[1:] * x[:-1] - x[::-1][:2] + x[-1]", {"x": [1.0, 4.0, 9.0]}),
    "rows by a list": ("x[[0, 2, 0]].T*x[[1]][:, [1]]", {"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}),
    "softmax": ("p = softmax(x)\n-log(p[1])", {"x": [1.0, 900.0, -3.0]}),
    "where at a kink": ("where(x > 0, sqrt(x), 0) + relu(x) + abs(x)", {"x": [-1.0, 0.0, 4.0]}),
    "a branch that is not taken": ("where(x == 0, 1, sin(x)/x) + where(x < 5, exp(x), 1)", {"x": [0.0, 1.0, 900.0]}),
    "several axes": ("sum(swapaxes(x, 0, 2) * y, axis=(0, 2))", {"x": np.arange(12.0).reshape(2, 3, 2).tolist(), "y": 2.0}),
    "joined": ("sum(stack([x, y], axis=1)[:2]*concatenate([y, x])[1:5].reshape(2, 2))", {"x": [1.0, 2.0, 3.0], "y": [4.0, -5.0, 0.5]}),
    "running sums": ("sum(cumsum(x, axis=1)**2*cumsum(x)[:3]) + trace(x @ x.T)", {"x": [[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]}),
    "products": ("prod(x)*prod(y)*sum(prod(z, axis=1))", {
        "x": [2.0, 0.0, 3.0], "y": [0.5, -4.0], "z": np.arange(12.0).reshape(2, 3, 2).tolist(),
    }),
    "a triangle": ("sum(tril(outer(x, x))**2) + sum(diag(outer(x, x)))", {"x": [1.0, -2.0, 3.0]}),
    "names": ("lambda_*x_1 + é*α*Ω", {"lambda_": 2.0, "x_1": 3.0, "é": 4.0, "α": 5.0, "Ω": 6.0}),
    "names of the target's functions": ("exp*np + beta*sin(sign) + k*i*j*value", {
        "exp": 1.5, "np": 2.0, "beta": 3.0, "sign": 4.0, "k": 5.0, "i": 6.0, "j": 7.0, "value": 8.0,
    }),
}  # fmt: skip


def skip_without(target: str) -> None:
    if target in NEEDS and not NEEDS[target]:
        pytest.skip(f"there is no {target} here")


def told(outcome: Outcome) -> str:
    return "\n".join(f"{name}: {text}" for name, text in outcome.wrong.items())


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "sympy"])
@pytest.mark.ci
def test_scalar_records_give_the_engines_numbers_in_every_target(target: str) -> None:
    skip_without(target)
    trials = list(scalar_records())
    if target == "jax":  # which takes a tenth of a second for each call that it has not met
        trials = [trial._replace(points=trial.points[::12]) for trial in trials[::40]]
    else:
        trials = [trial._replace(points=trial.points[::3]) for trial in trials]
    outcome = held(target, trials)
    assert not outcome.wrong, told(outcome)
    assert len(outcome.agree) > (4 if target == "jax" else 160)
    assert all(
        f"cannot be written in {target} here" in reason for reason in outcome.refused.values()
    )


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "sympy"])
def test_programs_on_arrays_give_the_engines_numbers(target: str) -> None:
    skip_without(target)
    trials = [
        trial
        for number, (text, values) in enumerate(ARRAYS.values())
        for trial in program(f"array_{number}", text, values)
    ]
    outcome = held(target, trials)
    assert not outcome.wrong, told(outcome)
    assert len(outcome.agree) == len(ARRAYS), outcome.refused


def test_sympy_gets_expressions_of_symbols() -> None:
    branches = "relu6(x) + clip(x, 0, None)*x**y + where(x == 2, 5, x)"
    text = f"x**2*sin(y) + {branches} + where(x != 2 or y < 1, 1, x)/erfcx(y) + (x > 3)*x"
    (trial,) = program("f", text, {"x": 2.0, "y": 0.5})
    at = {name: sympy.Symbol(name, real=True) for name in "xy"}
    numbers = {at["x"]: sympy.Float(2), at["y"]: sympy.Float(0.5)}
    results = run("sympy", [trial._replace(points=[at, {"x": 2.0, "y": 0.5}])])[0]
    for value, found in results:
        for got, right in (
            (value, 4 * np.sin(0.5) + 7 + 2 * 2**0.5 + 1.62419308574807066971470948713),
            (found["x"], 4 * np.sin(0.5) + 1 + 1.5 * 2**0.5),
        ):
            assert float(got.subs(numbers)) == pytest.approx(right, rel=1e-14)


HOSTILE = 'x**2  # """ */ ?> \\ \\u002a/ \\n\' <script> {0} %s ${x} `'


@pytest.mark.parametrize("target", TARGETS)
def test_text_of_users_stays_in_comments(target: str) -> None:
    skip_without(target)
    (trial,) = program("f", "x**2", {"x": 3.0})
    trial.subject.text = HOSTILE + '\n*/ \u202e """ end'
    ((value, found),) = run(target, [Trial("f", trial.subject, [{"x": np.float64(3.0)}])])[0]
    assert (float(value), float(found["x"])) == (9.0, 6.0)


@pytest.mark.parametrize(
    ("name", "wanted"), [("α", "α"), ("x'", "xu0027"), ("2x", "_2x"), ("x_1", "x_1")]
)
def test_names_become_identifiers(name: str, wanted: str) -> None:
    assert identifier(name) == wanted


def test_a_module_for_numpy_is_readable(call_cli) -> None:
    done = call_cli("export", "y = tanh(a*b)\nsum(y + relu(b)**2)", "a=1,2", "b=3", "--to", "numpy")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == '''import numpy as np


@np.errstate(all="ignore")
def value_and_grad(*, a, b):
    """Value and gradient of
        y = tanh(a*b)
        sum(y + relu(b)**2)

    a: shape (2,), float64
    b: a number, float64
    value: a number
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    t1 = a * b
    y = np.tanh(t1)
    t2 = np.maximum(b, 0.0)
    t3 = np.square(1.0 / np.cosh(t1))
    value = np.sum(y + np.square(t2))
    return value, {'a': b * t3, 'b': np.where(t2 <= 0.0, 0.0, 4.0 * t2) + np.sum(a * t3)}
'''
    )


def test_a_file_of_latex(call_cli) -> None:
    done = call_cli("export", "x**2*sin(α)", "x=1", "α=2", "--to", "latex")
    assert done.returncode == 0
    assert "\\frac{\\partial f}{\\partial x} &= 2 x \\sin\\left(\\alpha\\right)" in done.stdout


@pytest.mark.parametrize("target", ["c", "javascript"])
def test_what_a_target_lacks_is_refused_by_its_name(target: str, call_cli) -> None:
    done = call_cli("export", "digamma(x)", "x=2", "--to", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"digamma and polygamma cannot be written in {target} here" in done.stderr


def test_several_queries_have_a_function_each(call_cli, tmp_path: Path) -> None:
    out = tmp_path / "f.py"
    done = call_cli("export", "x**2\nx**3", "x=2", "--to", "numpy", "--out", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    namespace: dict = {}
    exec(out.read_text("utf-8"), namespace)
    assert namespace["value_and_grad_1"](x=3)[1]["x"] == 6
    assert namespace["value_and_grad_2"](x=3)[1]["x"] == 27


def test_frozen_names_are_parameters_without_a_gradient(call_cli) -> None:
    done = call_cli("export", "a*x", "a=2", "x=3", "--freeze", "a", "--to", "numpy")
    namespace: dict = {}
    exec(done.stdout, namespace)
    value, found = namespace["value_and_grad"](a=4.0, x=5.0)
    assert (float(value), {name: float(x) for name, x in found.items()}) == (20.0, {"x": 4.0})


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")
def test_javascript_keeps_reserved_words_as_keys(tmp_path: Path) -> None:
    (trial,) = program("value_and_grad", "x**2", {"x": 3.0})
    trial.subject.parameters = {"class": trial.subject.parameters["x"]}
    trial.subject.gradients = {"class": trial.subject.gradients["x"]}
    ((value, found),) = run(
        "javascript", [Trial("value_and_grad", trial.subject, [{"class": 3.0}])]
    )[0]
    assert (value, found) == (9.0, {"class": 6.0})
