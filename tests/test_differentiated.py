"""What a query differentiates: by the text, never by a value; and what is said of names that have
no derivative.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import gradcli
from gradcli import UnknownNameError


def gradient(text, **options):
    return gradcli.evaluate(text, check=False, formula=False, **options)


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        (
            "a*e^(k*t)",
            {"a": 2, "k": 3, "t": 1},
            {"a": math.exp(3), "k": 2 * math.exp(3), "t": 6 * math.exp(3)},
        ),
        ("2^x", {"x": 3}, {"x": 8 * math.log(2)}),
        ("e^x*y", {"x": 1, "y": 2}, {"x": 2 * math.e, "y": math.e}),
        (
            "x**(a + n)",
            {"x": 2, "a": 1, "n": 2},
            {"x": 12, "a": 8 * math.log(2), "n": 8 * math.log(2)},
        ),
        ("x**2*n", {"x": 3, "n": 2}, {"x": 12, "n": 9}),
    ],
)
@pytest.mark.parametrize("spelled", [int, float])
def test_the_spelling_of_a_number_changes_nothing(call_cli, text, at, expected, spelled):
    given = {name: spelled(value) for name, value in at.items()}
    by_call = gradcli.value_and_grad(text)(**given)[1]
    record = json.dumps({"expr": text, "at": given})
    lines = call_cli(
        "eval", "--no-check", "--format", "jsonl", "-i", "jsonl", "-", stdin="\n".join([record] * 8)
    ).stdout.splitlines()
    found = [gradient(text, **given).grad, by_call, *(json.loads(line)["grad"] for line in lines)]
    assert len(found) == 10
    for grad in found:
        assert list(grad) == list(expected)
        assert [float(value) for value in grad.values()] == pytest.approx(
            list(expected.values()), rel=1e-14
        )


def test_statistics_of_a_normalization_are_operands():
    x, mean, var = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.5, 0.3]), np.array([1.0, 2.0])
    for text in (
        "F.batch_norm(x, m, v, training=False).sum()",
        "F.instance_norm(x[:, :, None], m, v, use_input_stats=False).sum()",
    ):
        found = gradcli.evaluate(text, x=x, m=mean, v=var)
        spread = var + 1e-5
        np.testing.assert_allclose(found.grad["m"], -2 / np.sqrt(spread), rtol=1e-13)
        np.testing.assert_allclose(
            found.grad["v"], -0.5 * (x - mean).sum(0) * spread**-1.5, rtol=1e-13
        )
        assert found.check.worst.word == "agree"


# -- names that are asked for, or bound
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [("ab", ["ab"]), ("b, ab", ["b", "ab"]), (["b"], ["b"]), (("a", "b"), ["a", "b"])],
)
def test_a_string_is_a_list_of_names_everywhere(given, expected):
    at = {"ab": 2.0, "a": 3.0, "b": 4.0}
    assert list(gradient("ab*a*b", at=at, wrt=given).grad) == expected
    assert list(gradcli.value_and_grad("ab*a*b", wrt=given)(at)[1]) == expected
    assert list(gradient("ab*a*b", at=at, freeze=given).grad) == [
        name for name in at if name not in expected
    ]


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("x = x/2; x = 3; x**2", {"x": 5.0}, {"x": 10}),
        ("y = x + 1; x = y*2; x*y", {"x": 5.0}, {"x": 24}),
        ("t = a*b; y = t**2; t = 0.5; y", {"a": 2.0, "b": 3.0}, {"a": 36, "b": 24}),
    ],
)
def test_names_that_a_compiled_program_binds_again(text, at, expected):
    assert gradcli.value_and_grad(text)(at)[1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: gradcli.evaluate("x**2", x=2.0, chek=False), "evaluate has no option 'chek'"),
        (lambda: gradcli.evaluate("sum(x, axis=0)", x=2.0, axis=0), "no option 'axis'"),
        (lambda: gradcli.value_and_grad("x**2")(x=2.0, y=3.0), "the function has no option 'y'"),
        (lambda: gradcli.value_and_grad("sum(x, axis=0)")(x=2.0, axis=0), "no option 'axis'"),
    ],
)
def test_keywords_that_stand_nowhere(call, told):
    with pytest.raises(UnknownNameError, match=f"{told}, and the expression no name"):
        call()
