"""Machines whose long double is a double: large arrays are judged in doubles, and some entries in
balls.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from recorded import LISTS

pytestmark = pytest.mark.ci

# In a process of its own, as whoever computes in long double asks for it when imported.
NARROW = """
import json, sys
import numpy as np
np.longdouble = np.float64
import gradcli
from gradcli.check.crosscheck import cross_check
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.options import Options
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
    check = cross_check(scope, root, leaves, record, Options())
    found.append([[part.verdict.word, part.decided_by, part.wrong, part.reason] for part in check.variables.values()])
print(json.dumps(found))
"""
CASES = LISTS["large programs"]


@cache
def judged() -> dict[tuple[str, float, str], Any]:
    cases: list[Any] = [[*case, 0.0, "float64"] for case in CASES]
    cases += [[*case, 1e-6, "float64"] for case in CASES]
    cases += [["sum(sort(far)[:1000]**2)", ["far"], 0.0, "float32"]]
    done = subprocess.run(
        [sys.executable, "-c", NARROW],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return {
        (text, planted, dtype): found
        for (text, _, planted, dtype), found in zip(cases, json.loads(done.stdout), strict=True)
    }


@pytest.mark.parametrize(("text", "names"), CASES)
def test_large_arrays_are_judged_in_doubles(text: str, names: list[str]) -> None:
    assert judged()[text, 0.0, "float64"] == [["agree", "double", 0, None]] * len(names)


@pytest.mark.parametrize("text", [text for text, _ in CASES])
def test_one_wrong_entry_of_many_is_found(text: str) -> None:
    verdict, decided_by, wrong, _ = judged()[text, 1e-6, "float64"][0]
    assert (verdict, wrong) == ("mismatch", 1)
    assert decided_by in ("double", "composed")  # the latter where a kink may be what is seen


def test_doubles_have_digits_enough_for_floats() -> None:
    assert [part[:2] for part in judged()["sum(sort(far)[:1000]**2)", 0.0, "float32"]] == [
        ["agree", "double"]
    ]
