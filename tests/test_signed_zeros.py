"""Verdicts at zeros: those with a minus sign, which real numbers do not have, and 0 times what is
infinite.
"""

from __future__ import annotations

import json

import pytest

CASES = {  # an expression, values, the gradient and the verdict of each name
    "copysign, -0.0": (
        "copysign(x, y)",
        {"x": 2, "y": -0.0},
        {"x": (-1, "agree"), "y": (0, "kink")},
    ),
    "copysign, 0.0": ("copysign(x, y)", {"x": 2, "y": 0.0}, {"x": (1, "agree"), "y": (0, "kink")}),
    "copysign, both": (
        "copysign(x, y)",
        {"x": [2, 3], "y": [0.0, -0.0]},
        {"x": ([1, -1], "agree"), "y": ([0, 0], "kink")},
    ),
    "copysign, a computed -0.0": (
        "copysign(x, -y)",
        {"x": 2, "y": 0.0},
        {"x": (-1, "agree"), "y": (0, "kink")},
    ),
    "copysign, 0 of -0.0": (
        "copysign(x, y)",
        {"x": 0.0, "y": -0.0},
        {"x": (0, "kink"), "y": (0, "agree")},
    ),
    "signbit": ("signbit(y)*x + x", {"x": 2, "y": -0.0}, {"x": (2, "agree"), "y": (0, "agree")}),
    "xlogy": ("xlogy(x, y)", {"x": 0.0, "y": 0.0}, {"x": (0, "undefined"), "y": (0, "agree")}),
    "xlog1py": ("xlog1py(x, y)", {"x": 0.0, "y": -1.0}, {"x": (0, "undefined"), "y": (0, "agree")}),
    "xlogy at a negative number": ("xlogy(x, y)", {"x": 0.0, "y": -1.0}, {"y": (0, "agree")}),
    "xlogy of one name": ("xlogy(x, x)", {"x": 0.0}, {"x": (0, "undefined")}),
}


@pytest.mark.parametrize(("expr", "at", "expected"), CASES.values(), ids=CASES)
def test_gradient_and_verdict(call_cli, expr, at, expected):
    done = call_cli(
        "eval", "-i", "jsonl", "-", "--format", "jsonl", stdin=json.dumps({"expr": expr, "at": at})
    )
    record = json.loads(done.stdout)
    found = {
        name: (record["grad"][name], record["check"]["variables"][name]["verdict"])
        for name in expected
    }
    assert found == expected
