"""Asserts over ranges, and ``gradcli check --over``: what holds is proved, what does not has a
point, what is open a small box.
"""

from __future__ import annotations

import json

import pytest

import gradcli

REFUTED = [
    "x*(1 - x) < 0.24 for x in 0..1",
    "x**2 >= 0.1 for x in -1..1",
    "x**3 - x + 0.3849 > 0 for x in 0..1",
    "x**3 - x == 0 for x in 0..1",
    "x != 0.3 for x in 0..1",
    "x**0.5 >= 0 for x in -1..1",
    "abs(x - 0.7) > 1e-6 for x in 0..1",
    "floor(x) == 0 for x in 0..1",
]


@pytest.mark.parametrize("claim", REFUTED)
def test_what_does_not_hold_has_a_point_that_shows_it(claim):
    asserted = gradcli.evaluate(f"assert {claim}").asserted
    assert asserted.holds is False
    there = gradcli.evaluate(f"assert {claim.partition(' for ')[0]}", at=asserted.worst.at)
    assert there.asserted.holds is False


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
