"""Asserts: what they say, what is refused at their top, and who decides relations that rounding
could turn.
"""

from __future__ import annotations

import json
import math

import pytest

import gradcli
from gradcli.errors import ParseError
from gradcli.language.tree import Assertion
from gradcli.report.verdicts import Verdict

TRUTH = {  # at x = 2, y = 0: as Python has it
    "x == 5 and x == 2": False, "x == 2 and x == 5": False,
    "x == 2 and x < 3": True, "y == x and x == 3": False, "x != 3": True, "x != 2": False,
    "x < 2": False, "x <= 2": True,
    "x > 2": False, "x >= 2": True, "x > 1": True, "1 < x and x < 3": True, "x == 2 and y == 0 "
    "and x > y": True,
    "(x > 0) == (y == 0)": True, "(x > 0) != (y > 0)": True, "(x > 0 and y > 0) == False": True, "x < [3, 4]": True, "x < [3, 2]": False,
    "(x if y == 0 else 3) == 2": True, "abs(x - 1) < 1e-9": False, "x == 2 and [x, y] == [2, 1]": False,
    "(x == 2) and (x < 3)": True, "((x == 2) and (x < 1)) and y == 0": False, "(x == 2)": True, "x == 2 and (y == 0 and x > 3)": False,
}  # fmt: skip


@pytest.mark.parametrize(("claim", "holds"), TRUTH.items(), ids=TRUTH)
def test_what_an_assert_says(claim, holds, call_cli):
    record = gradcli.evaluate(f"assert {claim}", at={"x": 2.0, "y": 0.0})
    assert (record.value, record.asserted.holds, record.failed) == (holds, holds, not holds)
    assert call_cli("eval", f"assert {claim}", "x=2", "y=0").returncode == int(not holds)
    assert call_cli("check", "-e", f"assert {claim}", "x=2", "y=0").returncode == int(not holds)


TOLERANT = {  # at x = 2: a tolerance widens all but !=, which asks for more than it
    "x == 2.1 within 0.2": True, "x == 2.1 within 0.05": False, "x < 1.9 within 0.2": True, "x < "
    "1.9 within 0.05": False,
    "x < 2 within 0": False, "x >= 2.1 within 0.2": True, "x > 2.1 within 0.05": False, "x != 2.1 "
    "within 0.05": True,
    "x != 2.1 within 0.2": False, "x == 2.1 and x < 3 within 0.2": True,
}  # fmt: skip


@pytest.mark.parametrize(("claim", "holds"), TOLERANT.items(), ids=TOLERANT)
def test_tolerances(claim, holds, call_cli):
    assert gradcli.evaluate(f"assert {claim}", x=2.0).asserted.holds is holds
    assert call_cli("check", "-e", f"assert {claim}", "x=2").returncode == int(not holds)


def test_within_is_a_name_where_a_value_is_due():
    assert gradcli.evaluate("assert within == 2.1 within 0.2", within=2.0).asserted.holds
    assert gradcli.evaluate("assert 2 == within", within=2.0).asserted.holds


@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">=", "!="])
def test_nothing_is_said_of_nan_but_that_it_is_that(symbol):
    assert not gradcli.evaluate(f"assert x {symbol} x", x=math.nan).asserted.holds
    assert not gradcli.evaluate(f"assert x {symbol} 1", x=math.nan).asserted.holds or symbol == "!="
    assert gradcli.evaluate("assert x == x", x=math.nan).asserted.holds


REFUSED = {
    "x == 7 or x == 9": ("or", "assert (x == 7 or x == 9) == True"),
    "x == 5 or y == 3 and y == 0": ("or", "assert (x == 5 or y == 3 and y == 0) == True"),
    "not x == 3": ("not", "assert (not x == 3) == True"),
    "not x < y and y == 0": ("not", "assert (not x < y and y == 0) == True"),
    "x == 2 and not y == 1 within 0.5": (
        "not",
        "assert (x == 2 and not y == 1) == True within 0.5",
    ),
    "not (x == 3)": ("not", "assert (not (x == 3)) == True"),
    "1 < x < 3": ("<", "(1 < x) and (x < 3)"),
    "x == 2 == 2": ("==", "(x == 2) and (2 == 2)"),
    "y == 0 and 0 <= x <= 3 < 4": ("<=", "(0 <= x) and (x <= 3)"),
    "5 if x > 3 else 1 == 1": ("if", "assert (5 if x > 3 else 1 == 1) == True"),
    "x == 2 if x > 1 else 3": ("if", "assert (x == 2 if x > 1 else 3) == True"),
    "x = 2": ("=", "x == y to compare"),
    "x == 2 within 0.1 and x < 3": ("and", "assert x == 2 and x < 3 within 0.1"),
    "x == 2, 'two'": (",", "assert x == 2  # two"),
}


@pytest.mark.parametrize(("claim", "expected"), REFUSED.items(), ids=REFUSED)
def test_what_has_other_readings_is_refused_with_what_to_write(claim, expected):
    word, repair = expected
    with pytest.raises(ParseError) as caught:
        gradcli.evaluate(f"assert {claim}", at={"x": 2.0, "y": 0.0})
    error = caught.value
    line, column, end = error.place()
    assert (line, f"assert {claim}"[column - 1 : end - 1]) == (1, word)
    assert error.help == f"write {repair}"
    (statement,) = gradcli.parse(
        f"assert {repair.removeprefix('assert ').removesuffix(' to compare')}"
    ).statements
    assert isinstance(statement, Assertion), "what the help says can be typed"


@pytest.mark.parametrize(
    "claim",
    [
        "x",
        "x == (1 and",
        "and x == 2",
        "x == 2 and",
        "x == 2 or x == 1 within 1",
        "x + 1 and x == 2",
        "x ==",
    ],
)
def test_what_is_no_relation(claim):
    with pytest.raises(ParseError) as caught:
        gradcli.evaluate(f"assert {claim}", x=2.0)
    help = caught.value.help
    if help is not None and "assert" in help:
        gradcli.parse(help.removeprefix("write").removeprefix(":").strip())


def test_a_chain_is_shown_with_its_caret():
    with pytest.raises(ParseError) as caught:
        gradcli.evaluate("x = 2\nassert 1 < x < 3")
    assert caught.value.render() == (
        "error[syntax]: a chain of comparisons is not read\n"
        "  --> <expression>:2:14\n"
        "2 | assert 1 < x < 3\n"
        "  |              ^\n"
        "  = help: write (1 < x) and (x < 3)"
    )


# -- what the reference decides
# ------------------------------------------------------------------------------

DECIDED = {
    # the doubles 0.1 and 0.2 add up to more than the double 0.3
    "a literal's rounding": ("0.1 + 0.2 > 0.3", (), "agree"),
    "not larger": ("0.1 + 0.2 <= 0.3", (), "mismatch"),
    # floats say 1 for all of these
    "small beside one": ("1 + x > 1", ("x=1e-20",), "agree"),
    "small but there": ("x + 1 != 1", ("x=1e-30",), "agree"),
    "small and on the other side": ("1 - x < 1 - 2*x", ("x=1e-20",), "mismatch"),
    "not one yet": ("tanh(x) < 1", ("x=30",), "agree"),
    "too near for anybody": ("tanh(x) < 1", ("x=3000",), "undetermined"),
    "lost in powers": ("1 + x**100 > 1", ("x=1e-20",), "undetermined"),
    "an identity that touches": ("sin(x)**2 + cos(x)**2 <= 1", ("x=0.3",), "agree"),
    "a root squared": ("sqrt(x)**2 <= x", ("x=2",), "agree"),
    "a root squared is not less": ("sqrt(x)**2 < x", ("x=2",), "mismatch"),
    "touched by numbers": ("x <= 2", ("x=2",), "agree"),
    # 0.5 - x**2/24; floats have 0
    "cancelled digits": ("(1 - cos(x))/x**2 < 0.5", ("x=1e-8",), "agree"),
    "cancelled digits, wrongly": ("(1 - cos(x))/x**2 < 0.4", ("x=1e-8",), "mismatch"),
    "no real value": ("log(x) > 0", ("x=-1",), "undefined"),
    "a kink": ("grad(abs(x), x) <= 0", ("x=0",), "kink"),
    "an array": ("exp(x) >= 1 + x", ("x=[0,0.5,-3]",), "agree"),
    "many entries": ("x**2 >= 0.1", ("x=ones(20000)",), "agree"),
    "one entry of many": ("x < 1", ("x=linspace(0,1,20000)",), "mismatch"),
    "everywhere": ("x**2 + y**2 >= 2*x*y", (), "agree"),
    "everywhere, touching": ("exp(x) >= 1 + x", (), "agree"),
    "everywhere in its domain": ("log(x) <= x - 1", (), "agree"),
    "everywhere by branches": ("x*(x > 0) >= 0", (), "agree"),
    "not everywhere": ("sin(x) < x", (), "mismatch"),
    "the second": ("x**2 >= 0 and x**2 >= 1", (), "mismatch"),
    "unequal everywhere but in one point": ("x != 0.5", (), "mismatch"),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "bindings", "verdict"), DECIDED.values(), ids=DECIDED)
def test_relations_that_rounding_could_turn(claim, bindings, verdict, call_cli):
    done = call_cli("check", "--format", "jsonl", "-e", f"assert {claim}", *bindings)
    record = json.loads(done.stdout)
    claims = [claim["verdict"] for claim in record["check"]["claims"]]
    assert max(claims, key=lambda word: Verdict[word.upper().replace("-", "_")]) == verdict, record
    assert record["assert"]["holds"] is {"mismatch": False, "undetermined": None}.get(verdict, True)
    assert done.returncode == (0 if verdict in ("agree", "kink") else 1)


# -- how it is told
# -------------------------------------------------------------------------------------------------


def test_a_record_has_a_claim_for_each_relation(call_cli):
    done = call_cli("check", "--format", "jsonl", "-e", "assert x == 2 and x < 1 and x > 5", "x=2")
    record = json.loads(done.stdout)
    assert record["assert"] == {
        "holds": False, "relation": "<", "left": 2.0, "right": 1.0, "within": 0.0, "worst": {"index": [], "engine": 2.0, "reference": 1.0},
    }  # fmt: skip
    assert [(c["text"], c["relation"], c["verdict"]) for c in record["check"]["claims"]] == [
        ("x == 2", "==", "agree"), ("x < 1", "<", "mismatch"), ("x > 5", ">", "mismatch"),
    ]  # fmt: skip
    assert record["outcome"]["details"] == [
        "x < 1: right 1.0, left 2.0",
        "x > 5: right 5.0, left 2.0",
    ]


def test_a_record_of_one_equality_is_what_it_was(call_cli):
    record = json.loads(call_cli("eval", "--format", "jsonl", "assert x == 5", "x=2").stdout)
    assert record["value"] is False
    assert record["assert"] == {
        "holds": False, "relation": "==", "left": 2.0, "right": 5.0, "within": 0.0, "worst": {"index": [], "engine": 2.0, "reference": 5.0},
    }  # fmt: skip


def test_text(call_cli):
    assert call_cli("eval", "assert x == 2 and x < 1", "x=2").stdout == (
        "assert x == 2 and x < 1\n  value    false\n  note     x < 1: left is 2.0, right is 1.0\n"
    )
    assert call_cli("check", "-e", "assert x == 2 and x < 1", "x=2").stdout.startswith(
        "assert is false: x < 1: right 1.0, left 2.0\n"
    )
    undecided = call_cli("check", "-e", "assert tanh(x) < 1", "x=3000").stdout
    assert undecided.startswith(
        "undetermined: undetermined, right 1.0, left 1.0, the sides are equal to 400 digits"
    )
    junit = call_cli("check", "-e", "assert x < 1 and x == 2", "x=2", "--format", "junit").stdout
    assert "assert is false: x &lt; 1: right 1.0, left 2.0" in junit


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
