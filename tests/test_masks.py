"""Operators of booleans that other languages read in another way."""

from __future__ import annotations

import re

import pytest

import gradcli
from gradcli.errors import AmbiguousError, TypeMismatchError

READ = {  # at x = 1, y = -2
    "where((x > 0) != (y > 0), x, y)": 1.0, "where(x > 0 and y > 0, x, y)": -2.0, "where(x > 0 or "
    "y > 0, x, y)": 1.0,
    "2^(x > 0)": 2.0, "x^(y > 0)": 1.0, "(x > 0)**2*3": 3.0, "where(not y, x, y)": -2.0, "where(True and x > 0, x, y)": 1.0,
}  # fmt: skip

REFUSED = {
    "sum(where((x>0)^(y>0), x, y))": (AmbiguousError, "^", ["(x>0) != (y>0)", "(x>0)**(y>0)"]),
    "(x > 0) ^ (y > 0)": (AmbiguousError, "^", ["(x > 0) != (y > 0)", "(x > 0)**(y > 0)"]),
    "((x > 0) # ^\n  ^ True)*x": (AmbiguousError, "^", ["(x > 0) != True", "(x > 0)**True"]),
    "(x > 0)^2": (AmbiguousError, "^", ["(x > 0) != (2 != 0)", "(x > 0)**2"]),
    "(0 or 3.0)*x": (TypeMismatchError, "or", ["0 != 0 or 3.0 != 0", "where(0 != 0, 0, 3.0)"]),
    "x and y": (TypeMismatchError, "and", ["x != 0 and y != 0", "where(x != 0, y, x)"]),
    "x > 0 and y": (TypeMismatchError, "and", ["x > 0 and y != 0", "where(x > 0, y, x > 0)"]),
    "where(x + 1 or y > 0, x, y)": (TypeMismatchError, "or", ["x + 1 != 0 or y > 0", "where(x + 1 "
    "!= 0, x + 1, y > 0)"]),
    "f(a, b) = a or b; f(x, y)": (TypeMismatchError, "or", ["a != 0 or b != 0", "where(a != 0, a, "
    "b)"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), READ.items(), ids=READ)
def test_what_has_one_reading(text, value):
    assert (
        gradcli.evaluate(text, at={"x": 1.0, "y": -2.0}, check=False, formula=False).value == value
    )


@pytest.mark.parametrize(("text", "expected"), REFUSED.items(), ids=REFUSED)
def test_what_has_two_is_refused_with_both(text, expected):
    kind, sign, repairs = expected
    with pytest.raises(kind) as caught:
        gradcli.evaluate(text, at={"x": 1.0, "y": -2.0})
    error = caught.value
    assert error.source.text[slice(*error.span)] == sign
    first, second = re.fullmatch(r"write (.*) for .*?, (.*) for .*?", error.help).groups()
    assert [first, second] == repairs
    for repair in repairs:
        gradcli.evaluate(
            f"({repair})*x",
            at={"x": 1.0, "y": -2.0, "a": 1.0, "b": 2.0},
            check=False,
            formula=False,
        )
