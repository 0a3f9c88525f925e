"""Asserts over ranges, and ``gradcli check --over``: what holds is proved, what does not has a
point, what is open a small box.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import gradcli
from gradcli.errors import ArgumentError, ParseError

PROVED = [
    "x**2 >= 0 for x in -1..1",
    "x**2 - 2*x + 1 >= 0 for x in 0..3",
    "x*(1 - x) <= 0.25 for x in 0..1",
    "x**2 + y**2 >= 2*x*y for x in -1..1, y in -1..1",
    "sin(x) <= x for x in 0..1",
    "exp(x) >= 1 + x for x in -1..1",
    "x*exp(-x) < 0.4 for x in 0..10",
    "abs(x)**2 == x**2 for x in -1..1",
    "relu(x) == (x + abs(x))/2 for x in -1..1",
    "sin(x)**2 + cos(x)**2 == 1 for x in -5..5",
    "sin(2*x) == 2*sin(x)*cos(x) for x in -5..5",
    "cos(x + y) == cos(x)*cos(y) - sin(x)*sin(y) for x in 0..1, y in 0..1",
    "1 - tanh(x)**2 == 1/cosh(x)**2 for x in -3..3",
    "exp(x + 1) == e*exp(x) for x in 0..1",
    "log(x*y) == log(x) + log(y) for x in 1..2, y in 1..2",
    "maximum(x, y) == x + relu(y - x) for x in -1..1, y in -1..1",
    "grad(x**3*y, x) == 3*x**2*y for x in -1..1, y in 0..2",
    "sin(x) == x within 0.2 for x in -1..1",
    "x != 2 for x in 0..1",
    "[x, x**2] <= 1 for x in 0..1",
    "x + y >= 0 and x*y <= 1 for x in 0..1, y in 0..1",
    "sqrt(x) >= 0 for x in 0..1",
    "(x > 0) == True for x in 1..2",
]


@pytest.mark.parametrize("claim", PROVED)
def test_what_holds_is_proved(claim):
    record = gradcli.evaluate(f"assert {claim}")
    assert record.asserted.holds is True, record.asserted.open_box or record.asserted.difference


REFUTED = {
    "x*(1 - x) < 0.24 for x in 0..1": lambda x: x * (1 - x) < 0.24,
    "x**2 >= 0.1 for x in -1..1": lambda x: x**2 >= 0.1,
    "x**3 - x + 0.3849 > 0 for x in 0..1": lambda x: x**3 - x + 0.3849 > 0,
    "x**3 - x == 0 for x in 0..1": lambda x: x**3 - x == 0,
    "x != 0.3 for x in 0..1": lambda x: x != 0.3,
    "x**0.5 >= 0 for x in -1..1": lambda x: isinstance(x**0.5, float),
    "abs(x - 0.7) > 1e-6 for x in 0..1": lambda x: abs(x - 0.7) > 1e-6,
    "floor(x) == 0 for x in 0..1": lambda x: x // 1 == 0,
}


@pytest.mark.parametrize(("claim", "holds"), REFUTED.items(), ids=REFUTED)
def test_what_does_not_hold_has_a_point_that_shows_it(claim, holds):
    asserted = gradcli.evaluate(f"assert {claim}").asserted
    assert asserted.holds is False
    assert not holds(asserted.worst.at["x"])


OPEN = {
    "x**2*(3 - x) + 1e-300 > 0 for x in -1..1": None,
    "x - sin(x) > 0 for x in 0..1": None,
    "x**2 != 2 for x in 1..2": 2**0.5,
    "1/x > 0 for x in 0..1": 0.0,
    "log(x)/(x - 1) == log(x)/(x - 1) + 0*x for x in 0.5..2": 1.0,
    "x**4 - 4*x**2 + 4 > 0 for x in 1..2": 2**0.5,
}


@pytest.mark.parametrize(("claim", "place"), OPEN.items(), ids=OPEN)
def test_what_is_touched_is_open_in_a_small_box(claim, place):
    asserted = gradcli.evaluate(f"assert {claim}").asserted
    if claim.startswith(("x**2*", "x - sin")):  # that it is 0 at 0 is seen
        assert asserted.holds in (True, False)
        return
    assert asserted.holds is None
    low, high = asserted.left_open["x"]
    assert low <= place <= high
    assert high - low < 1e-6


def test_what_depends_on_the_name_is_meant_with_it():
    program = "x = 3\ny = x**2\nz = 5\n"
    assert gradcli.evaluate(program + "assert y <= 4 for x in -2..2").asserted.holds
    assert not gradcli.evaluate(program + "assert y <= 3 for x in -2..2").asserted.holds
    assert gradcli.evaluate(program + "assert z == 5 and x == 3").asserted.holds, (
        "outside of the range it is what it was"
    )
    assert gradcli.evaluate("f(t) = t**3 + t\nassert f'(t) >= 1 for t in -1..1").asserted.holds


def test_the_name_is_bound_to_what_it_was_afterwards():
    record = gradcli.evaluate("x = 3\nassert x**2 >= 0 for x in -1..1\nx")
    assert record.value == 3


def test_records(call_cli):
    done = call_cli("eval", "assert x**2 >= 0.5 for x in -1..1", "--format", "json")
    assert done.returncode == 1
    (record,) = json.loads(done.stdout)
    told = record["assert"]
    assert (told["holds"], told["over"]) == (False, {"x": [-1.0, 1.0]})
    x = told["worst"]["at"]["x"]
    assert x**2 < 0.5
    assert told["left"] == x**2
    assert record["check"]["claims"][0]["verdict"] == "mismatch"
    done = call_cli("eval", "assert x**2 != 2 for x in 1..2", "--format", "json")
    assert done.returncode == 0
    (record,) = json.loads(done.stdout)
    low, high = record["assert"]["worst"]["box"]["x"]
    assert low <= 2**0.5 <= high


def test_without_the_cross_check_nothing_is_proved(call_cli):
    done = call_cli("eval", "assert x**2 >= 0 for x in -1..1", "--format", "json", "--no-check")
    assert json.loads(done.stdout)[0]["assert"]["holds"] is None
    done = call_cli("eval", "assert x**2 >= 1 for x in -1..1", "--format", "json", "--no-check")
    assert json.loads(done.stdout)[0]["assert"]["holds"] is False


@pytest.mark.parametrize(
    "claim",
    [
        "x >= 0 for x in 1",
        "x >= 0 for x in 0..",
        "x >= 0 for x in ..1",
        "x >= 0 for x in 0..1, x in 0..2",
    ],
)
def test_what_is_no_range(claim):
    with pytest.raises(ParseError) as caught:
        gradcli.parse(f"assert {claim}")
    assert "assert x**2 >= 0 for x in -1..1" in caught.value.help


@pytest.mark.parametrize("ends", ["1..0", "0..inf", "0..nan", "[0, 1]..2"])
def test_ends_are_numbers(ends):
    with pytest.raises(ArgumentError):
        gradcli.evaluate(f"assert x >= 0 for x in {ends}")


def test_how_a_range_was_read():
    assert (
        gradcli.evaluate("assert 2x >= 0 for x in 0..2π").read_as
        == "assert 2*x >= 0 for x in 0..2*π"
    )


# -- check --over
# -------------------------------------------------------------------------------------------------------------------

OVER = {
    "a right formula": (["x**2*sin(x)", "--grad", "x=2*x*sin(x) + x**2*cos(x)"], "agree"),
    "another form of it": (["tanh(x)", "--grad", "x=1/cosh(x)**2"], "agree"),
    "a wrong formula": (["x**2*sin(x)", "--grad", "x=2*x*sin(x) + x**2*sin(x)"], "mismatch"),
    "wrong in a corner": (["x**2", "--grad", "x=2*x + maximum(x - 0.99, 0)"], "mismatch"),
    "a wrong value": (["x**2", "--grad", "value=x**3"], "mismatch"),
    "the rules": (["x**2*sin(x) + log(1 + x**2)"], "agree"),
    "the rules at kinks": (["relu(x)*abs(x - 0.5) + maximum(x, 0.25)"], "agree"),
    "the rules of an error function": (["gelu(x)"], "agree"),
    "a binding": (["y = x**2; y*exp(y)"], "agree"),
    "an assert": (["assert x**2 >= 0"], "agree"),
    "a false assert": (["assert x**2 >= 0.5"], "mismatch"),
}


@pytest.mark.parametrize(("arguments", "verdict"), OVER.values(), ids=OVER)
def test_over_a_box(call_cli, arguments, verdict):
    done = call_cli("check", "-e", *arguments, "--over", "x=-1..1", "--format", "json")
    (record,) = json.loads(done.stdout)
    check = record["check"]
    verdicts = {check["verdict"], *(claim["verdict"] for claim in check.get("claims", []))} - {
        "skipped"
    }
    assert verdicts == {verdict}
    assert done.returncode == (verdict != "agree")
    if verdict == "mismatch":
        assert -1 <= check["claims"][0]["worst"]["at"]["x"] <= 1


def test_a_wrong_rule_is_found_over_a_box(call_cli, monkeypatch):
    from gradcli.ops.registry import find

    monkeypatch.setitem(
        find("sin").__dict__,
        "partials",
        (lambda out, x: find("cos")(x) * (1 + 1e-3 * find("relu")(x - 0.5)),),
    )
    done = call_cli(
        "check", "-e", "x*sin(x)", "--over", "x=-1..1", "--format", "json", "--no-cache"
    )
    (record,) = json.loads(done.stdout)
    found = record["check"]["variables"]["x"]
    assert found["verdict"] == "mismatch"
    assert 0.5 < found["worst"]["at"]["x"] <= 1


@pytest.mark.parametrize("given", [["x=1"], ["x"], ["x=1..0"], ["x=0..1", "--over", "x=0..2"]])
def test_what_is_no_box(call_cli, given):
    assert call_cli("check", "-e", "x**2", "--over", *given).returncode == 2


def test_a_range_of_what_nothing_mentions_is_refused(call_cli: Any) -> None:
    done = call_cli("check", "-e", "abs(xs)", "xs=1", "--over", "x=0..1")
    assert done.returncode == 2
    assert "the expression has no name 'x'" in done.stderr
