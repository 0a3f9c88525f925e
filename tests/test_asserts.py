"""Asserts: what they say, what is refused at their top, and who decides relations that rounding
could turn.
"""

from __future__ import annotations

import json

import pytest

import gradcli

# -- how it is told
# -------------------------------------------------------------------------------------------------


FALSE_BEFORE = "assert x == 2 and x > 0\nx**2"


def test_a_false_assert_before_the_last_query(call_cli, tmp_path):
    record = gradcli.evaluate(FALSE_BEFORE, x=3.0)
    assert (record.value, record.grad, record.failed) == (9.0, {"x": 6.0}, True)
    assert record.refuted == [
        "line 1: 'assert x == 2 and x > 0' is false: x == 2: left is 3.0, right is 2.0"
    ]
    assert record.refuted[0] in record.warnings
    assert not gradcli.evaluate(FALSE_BEFORE, x=2.0).failed
    after = gradcli.evaluate("x**2\nassert x == 2; assert x == 3\nassert x < 1", x=3.0)
    assert (after.value, after.grad, after.failed) == (9.0, {"x": 6.0}, True), (
        "the result is the last query's"
    )
    assert [said[:23] for said in after.refuted] == [
        "line 2: 'assert x == 2'",
        "line 3: 'assert x < 1' ",
    ]
    assert gradcli.evaluate("assert x == 2; assert x == 3", x=3.0).failed
    (tmp_path / "r.jsonl").write_text(json.dumps({"expr": FALSE_BEFORE, "at": {"x": 3}}) + "\n")
    done = call_cli("eval", "-f", str(tmp_path / "r.jsonl"), "--format", "jsonl")
    assert done.returncode == 1
    assert record.refuted[0] in json.loads(done.stdout)["warnings"]


@pytest.mark.parametrize(
    "make", [gradcli.value_and_grad, gradcli.compile], ids=["value_and_grad", "compile"]
)
def test_compiled_functions_run_no_asserts_and_say_so(make):
    with pytest.raises(gradcli.GradcliError) as caught:
        make("y = x**2\nassert y == 2; y")
    assert caught.value.render() == (
        "error[usage]: a compiled function runs no asserts\n"
        "  --> <expression>:2:1\n"
        "2 | assert y == 2; y\n"
        "  | ^^^^^^^^^^^^^\n"
        "  = help: leave it out, or call gradcli.evaluate"
    )
