"""A wrong gradient is traced to the operation that made it wrong: planted mistakes, and values that
overflow on the way.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from checking import planted

import gradcli
from gradcli.query import derivatives

PLANTED = [
    ("exp", "tanh(exp(x*y))", "x*y", "exp(x*y)", (1, 6, 14)),
    ("sin", "cos(x) + 3*sin(x*y)", "x*y", "sin(x*y)", (1, 12, 20)),
    ("tanh", "sum([1, 2]*tanh(x + y))", "x + y", "tanh(x + y)", (1, 12, 23)),
]


@pytest.mark.parametrize(
    ("name", "text", "node", "made_by", "place"), PLANTED, ids=[row[0] for row in PLANTED]
)
def test_planted_mistake(name: str, text: str, node: str, made_by: str, place: Any) -> None:
    def wrong(rules: Any) -> Any:
        return tuple((lambda *a, rule=rule: rule(*a) * 1.001) for rule in rules)

    with planted(name, partials=wrong):
        check = gradcli.evaluate(text, x=0.7, y=1.3, formula=False).check
    assert check.verdict.word == "mismatch"
    assert (check.departs.node, check.departs.made_by, check.departs.place) == (
        node,
        made_by,
        place,
    )
    assert check.departs.engine == pytest.approx(1.001 * check.departs.reference)


def test_a_wrong_product_is_a_mismatch(monkeypatch: pytest.MonkeyPatch, call_cli: Any) -> None:
    """A product that is off by a millionth is found, and exits with 1."""
    right = derivatives.jacobian
    monkeypatch.setattr(derivatives, "jacobian", lambda *arguments: right(*arguments) * 1.000001)
    done = call_cli("eval", "x**3*y", "x=3", "y=2", "--hvp", "x=1", "--format", "jsonl")
    assert done.returncode == 1
    assert json.loads(done.stdout)["check"]["variables"]["x"]["verdict"] == "mismatch"
