"""Derivatives inside of an expression, at a kink: their value is a choice that no check calls
wrong, and no other value is right.
"""

from __future__ import annotations

import json

import pytest

CASES = {
    "the choice": ("assert grad(abs(x), x) == 0", "kink"),
    "outside of both sides": ("assert grad(abs(x), x) == 1.5", "mismatch"),
    "between the sides, but not the choice": ("assert grad(abs(x), x) == 0.5", "mismatch"),
    "in a query": ("2*grad(relu(x), x) + 3", "kink"),
    "under a function": ("sin(grad(abs(x), x) + 1)", "kink"),
    "of a product": ("assert grad(relu(x)*x, x) == 0", "agree"),
    "the second derivative": ("hessian(relu(x)**2, x)", "kink"),
    "an assert of the second derivative": ("assert hessian(relu(x)**2, x) == 0", "kink"),
    "smooth after all": ("assert grad(abs(x)**3, x) == 0", "agree"),
    "one entry of several": ("assert grad(abs(v), v) == [-1, 0, 1]", "kink"),
    "another entry is wrong": ("assert grad(abs(v), v) == [-1, 0, 1.1]", "mismatch"),
    "a tie": ("assert grad(max(t), t) == [0.5, 0, 0.5]", "kink"),
    "choices multiplied": ("g = grad(max(t), t); assert g[0]*(1 - g[2]) == 0.25", "kink"),
    "a Jacobian": ("assert jacobian(relu(v), v) == diag([0, 0, 1])", "kink"),
    "a direction": ("assert jvp(abs(x), x, 2.) == 0", "kink"),
    "times zero": ("grad(maximum(x, 0), x)*x**2", "agree"),
    "beside the kink": ("assert grad(abs(x + 1e-9), x) == 1", "agree"),
    "the sides agree, the choice does not": ("assert grad(relu(x) - relu(-x), x) == 0", "mismatch"),
}


@pytest.mark.parametrize(("text", "verdict"), CASES.values(), ids=CASES)
def test_verdicts(call_cli, text, verdict):
    program = f"x = 0.; v = [-1., 0., 2.]; t = [3., 1., 3.]; {text}\n"
    done = call_cli("check", "-", "--no-cache", "--format", "jsonl", stdin=program)
    assert json.loads(done.stdout)["check"]["verdict"] == verdict
