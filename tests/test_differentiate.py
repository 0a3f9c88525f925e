"""`gradcli.differentiate`: what it is given, checked and refused."""

from __future__ import annotations

import pytest

import gradcli
from gradcli import GradcliError, InputTypeError, UnknownNameError

REFUSED = {
    "no text": ((5,), {}, "the expression must be text, not int"),
    "no name": (("x", 1), {}, "'names' must be names, not (1,)"),
    "no word": (("x", "2x"), {}, "the expression has no name '2x' to differentiate by"),
    "an order of none": (
        ("x",),
        {"order": 0},
        "'order' must be a whole number from 1 to 10, not 0",
    ),
    "an order without end": (
        ("x",),
        {"order": 2**40},
        "'order' must be a whole number from 1 to 10, not 1099511627776",
    ),
    "half an order": (
        ("x",),
        {"order": 1.5},
        "'order' must be a whole number from 1 to 10, not 1.5",
    ),
    "no points": (("x",), {"points": 0}, "'points' must be a whole number from 1, not 0"),
    "a check of sorts": (("x",), {"check": "yes"}, "'check' must be True or False, not 'yes'"),
    "no time": (("x",), {"timeout": 0}, "'timeout' must be a number above 0, not 0"),
    "a name that does not stand there": (
        ("x^2", "y"),
        {},
        "the expression has no name 'y' to differentiate by",
    ),
    "nothing": (("",), {}, "the program has nothing to differentiate"),
    "a second statement that is wrong": (
        ("x^2; y^",),
        {},
        "the expression ends where a value is expected",
    ),
}


@pytest.mark.parametrize(("given", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(given, options, message):
    with pytest.raises(GradcliError) as caught:
        gradcli.differentiate(*given, **options)
    assert caught.value.message == message


def test_wrong_types_are_type_errors_and_unknown_names_unknown():
    with pytest.raises(TypeError):
        gradcli.differentiate(5)
    with pytest.raises(InputTypeError):
        gradcli.differentiate("x", 1)
    with pytest.raises(UnknownNameError):
        gradcli.differentiate("x", "y")


def test_what_comes_back():
    record = gradcli.differentiate("x^2*y", "y", "x")
    assert list(record.derivative) == ["y", "x"]
    assert record.derivative["y"] == "x**2"
    assert record.latex["y"] == "x^{2}"
    assert (record.check.verdict.word, record.failed, record.order, record.expr) == (
        "agree",
        False,
        1,
        "x^2*y",
    )
    assert record.formula("y") == "x**2"
    assert gradcli.differentiate("x^2*y", "x,y", check=False).check is None


def test_the_last_query_is_the_result():
    assert gradcli.differentiate("x^2; x^3", check=False).derivative == {"x": "3*x**2"}


def test_points_are_the_same_each_time():
    first, second = (gradcli.differentiate("sqrt(x)*y", points=5, random_state=3) for _ in range(2))
    assert (first.derivative, first.points, first.check.verdict) == (
        second.derivative,
        second.points,
        second.check.verdict,
    )
    assert first.points == 5
