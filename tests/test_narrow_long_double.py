"""Machines whose long double is a double, with and without a compiler: large arrays are judged in pairs of doubles, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from gradcli.plans.native import compiler

# In a process of its own, as whoever computes in long double asks for it when imported.
NARROW = """
import json, sys
import numpy as np
np.longdouble = np.float64
import gradcli
from gradcli.check.crosscheck import cross_check
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.report.records import Record

random = np.random.default_rng(5)
data = {
    "x": random.standard_normal(30_000), "m": random.standard_normal((150, 150)) + 30 * np.eye(150), "s": random.uniform(0.5, 2, 150),
    "far": np.linspace(3, -3, 50_000),
}
found = []
for text, names, planted, dtype in json.loads(sys.stdin.read()):
    given = {name: data[name].astype(dtype) for name in names}
    scope = Scope(precision=dtype)
    leaves = {name: scope.bind_value(name, value) for name, value in given.items()}
    program = Program(scope)
    (statement,) = statements([text])
    root = program.execute(statement).value
    value, gradients = gradcli.value_and_grad(text, wrt=names, dtype=dtype)(**given)
    gradients = {name: np.array(part) for name, part in gradients.items()}
    gradients[names[0]].reshape(-1)[-10] *= 1 + planted
    record = Record("", value=value, seed=np.asarray(1, dtype), grad=gradients)
    check = cross_check(scope, root, leaves, record, None)
    found.append([[part.verdict.word, part.decided_by, part.wrong, part.reason] for part in check.variables.values()])
print(json.dumps(found))
"""
PAIRS = [
    ("sum(cos(1000*far))", ["far"]), ("sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))", ["x"]), ("std(x) + norm(x) + mean(x)", ["x"]),
    ("sum(pi*x/3 + abs(x)**0.3)", ["x"]), ("sum(softmax(x)*x)", ["x"]), ("logsumexp(x)", ["x"]), ("sum(tanh(m @ m / 900))", ["m"]),
    ("sum(layer_norm(m, (150,))*m**2)", ["m"]), ("sum(relu(m)*s) + sum(where(m > s, m*s, abs(m)))", ["m", "s"]),
    ("-sum(log_softmax(m, axis=1)[:, 3])", ["m"]), ("sum(sigmoid(x)*atan(x)) + sum(selu(x))", ["x"]),
]  # fmt: skip
UNDECIDED = [("sum(sort(far)[:1000]**2)", ["far"]), ("inv(m)[0, 0]", ["m"])]
SAID = "long double has no more digits than double on this machine, and pairs of doubles do not decide it"
MACHINES = [
    "in NumPy",
    pytest.param("compiled", marks=pytest.mark.skipif(compiler.found() is None, reason="there is no C compiler")),
]


@cache
def judged(machine: str) -> dict[tuple[str, float, str], Any]:
    cases: list[Any] = [[*case, 0.0, "float64"] for case in PAIRS + UNDECIDED]
    cases += [[*case, 1e-6, "float64"] for case in (*PAIRS[1:2], *UNDECIDED[:1])]
    cases += [[*UNDECIDED[0], 0.0, "float32"]]
    environment = os.environ | ({"CC": "/nonexistent"} if machine == "in NumPy" else {})
    done = subprocess.run(
        [sys.executable, "-c", NARROW], input=json.dumps(cases), capture_output=True, text=True, env=environment, check=False
    )
    assert not done.stderr, done.stderr
    return {(text, planted, dtype): found for (text, _, planted, dtype), found in zip(cases, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("machine", MACHINES)
def test_large_arrays_are_judged_in_pairs_of_doubles(machine: str) -> None:
    """The first of them, in double, would agree with whatever the engine's sines are."""
    found = judged(machine)
    for text, names in PAIRS:
        assert found[text, 0.0, "float64"] == [["agree", "pairs of doubles", 0, None]] * len(names), text


@pytest.mark.parametrize("machine", MACHINES)
def test_what_pairs_do_not_hold_is_undetermined(machine: str) -> None:
    for text, _ in UNDECIDED:
        assert [(verdict, reason) for verdict, _, _, reason in judged(machine)[text, 0.0, "float64"]] == [("undetermined", SAID)], text


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("text", [PAIRS[1][0], UNDECIDED[0][0]])
def test_planted_mistakes_are_found_entry_by_entry(machine: str, text: str) -> None:
    assert [part[:3] for part in judged(machine)[text, 1e-6, "float64"]] == [["mismatch", "double", 1]]


@pytest.mark.parametrize("machine", MACHINES)
def test_doubles_have_digits_enough_for_floats(machine: str) -> None:
    assert [part[:2] for part in judged(machine)[UNDECIDED[0][0], 0.0, "float32"]] == [["agree", "double"]]
