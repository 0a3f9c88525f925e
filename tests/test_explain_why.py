"""Stories of entries: what a zero, an infinity, a NaN, a large number or lost digits come from.

Each story is true: what it blames, changed, changes the number.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradcli
from gradcli.errors import UsageError


class Story(NamedTuple):
    text: str
    at: dict[str, Any]
    target: str
    kind: str
    first: str  # the whole answer
    changed: dict[
        str, Any
        # values with which the number is no longer so, for the reason that is told; none where it
        # is so for all
    ]


STORIES = [
    Story("sum(relu(x))", {"x": [1.0, -1.5]}, "x[1]", "zero",
          "x[1] has gradient 0: relu(x) is flat there: its input x is -1.5, and the derivative "
          "where(x <= 0, 0, 1) is 0",
          {"x": [1.0, 1.5]}),
    Story("sum(relu(x))", {"x": [1.0, 0.0]}, "x[1]", "zero",
          "x[1] has gradient 0: x = 0 is at a kink of relu(x), where the derivative is chosen: 0", {"x": [1.0, 0.1]}),
    Story("sum(relu(x)*w)", {"x": [1.0, 2.0], "w": [0.0, 1.0]}, "x[0]", "zero",
          "x[0] has gradient 0: in relu(x)*w, relu(x) is multiplied by w, which is 0", {"w": [2.0, 1.0]}),
    Story("where(x > 0, x**2, y)", {"x": 2.0, "y": 3.0}, "y", "zero",
          "y has gradient 0: where(x > 0, x**2, y) takes the other branch there: x > 0 is True", {"x": -2.0}),
    Story("detach(x)*y", {"x": 2.0, "y": 3.0}, "x", "zero", "x has gradient 0: detach(x) stops "
    "gradients", {}),
    Story("floor(x)*y", {"x": 2.5, "y": 3.0}, "x", "zero",
          "x has gradient 0: floor(x) is flat: its derivative is 0 wherever it has one", {}),
    Story("x - x", {"x": 2.0}, "x", "zero",
          "x has gradient 0: the contributions 1 from x - x and -1 from x - x cancel", {}),
    Story("x*y - 3*x", {"x": 2.0, "y": 3.0}, "x", "zero",
          "x has gradient 0: the contributions -3 from 3*x and 3 from x*y cancel", {"y": 4.0}),
    Story("sigmoid(1000*x)", {"x": 2.0}, "x", "zero",
          "x has gradient 0: sigmoid(1000*x) is saturated: its derivative at 1000*x = 2000 is "
          "below the smallest float", {"x": 0.001}),
    Story("x[0]*3", {"x": [1.0, 2.0]}, "x[1]", "zero", "x[1] has gradient 0: x[0] does not "
    "contain x[1]", {}),
    Story("x*y", {"x": 0.0, "y": 3.0}, "y", "zero", "y has gradient 0: in x*y, y is multiplied by "
    "x, which is 0", {"x": 1.0}),
    Story("x*y", {"x": 0.0, "y": 3.0}, "value", "zero", "value is 0: its factor x is 0", {"x": 1.0}),
    Story("x - y", {"x": 3.0, "y": 3.0}, "value", "zero", "value is 0: the terms x = 3 and y = 3 "
    "cancel", {"y": 4.0}),
    Story("x**2", {"x": 0.0}, "x", "zero",
          "x has gradient 0: x**2 is flat there: its input x is 0, and the derivative 2*x is 0", {"x": 1.0}),
    Story("clip(x, 0, 1)", {"x": 3.0}, "x", "zero", "x has gradient 0: clip(x, 0, 1) is flat "
    "there: x is 3", {"x": 0.5}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "x", "nonfinite",
          "x has gradient inf: the derivative of log(x) by x is 1/x = inf, and 2 times inf is inf", {"x": 1.0}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "y", "nonfinite", "y has gradient -inf: the "
    "derivative of log(x)*y by y is log(x) = -inf, "
          "and 1 times -inf is -inf", {"x": 1.0}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "value", "nonfinite", "value is -inf: log(x) is -inf, "
    "of 0", {"x": 1.0}),
    Story("sqrt(x)", {"x": 0.0}, "x", "nonfinite",
          "x has gradient inf: the derivative of sqrt(x) by x is 1/(2*sqrt(x)) = inf, and 1 times "
          "inf is inf", {"x": 1.0}),
    Story("sum(sqrt(x))", {"x": [1.0, 0.0]}, "x", "nonfinite",
          "x[1] has gradient inf: the derivative of sqrt(x) by x is 1/(2*sqrt(x)) = inf, and 1 "
          "times inf is inf", {"x": [1.0, 1.0]}),
    Story("exp(x**2)*sin(y)", {"x": 5.0, "y": 1.0}, "x", "large",
          "x has gradient 6.059e+11: the largest factors on its way are 7.20049e+10 at exp(x**2), "
          "10 at x**2, 0.841471 at exp(x**2)*sin(y)",
          {"x": 1.0}),
    Story("exp(-x)*y", {"x": 20.0, "y": 1.0}, "y", "small",
          "y has gradient 2.06115e-09: the smallest factors on its way are 2.06115e-09 at "
          "exp(-x)*y", {"x": 1.0}),
    Story("tanh(w @ x)", {"w": [0.5, -1.0], "x": [1.0, -2.0]}, "w[1]", "plain",
          "w[1] has gradient -0.0531845: all of it by w → w @ x → tanh(w @ x)", {}),
]  # fmt: skip


def number_of(explanation: Any, target: str) -> float:
    name, _, index = target.partition("[")
    whole = explanation.record.value if name == "value" else explanation.gradients[name].value
    return float(
        np.asarray(whole)[
            tuple(int(i) for i in index.rstrip("]").split(","))
            if index
            else explanation.why[0].index
        ]
    )


@pytest.mark.parametrize("story", STORIES, ids=lambda story: f"{story.target} of {story.text}")
def test_the_answer_stands_in_the_first_line(story):
    explanation = gradcli.explain(story.text, at=story.at, check=False, why=story.target)
    (told,) = explanation.why
    assert (told.kind, told.lines[0]) == (story.kind, story.first)
    assert told.node is not None


@pytest.mark.parametrize(
    "story",
    [story for story in STORIES if story.changed],
    ids=lambda story: f"{story.target} of {story.text}",
)
def test_what_is_blamed_is_the_reason(story):
    """With what the story blames changed, the number is of another kind."""
    explanation = gradcli.explain(
        story.text, at={**story.at, **story.changed}, check=False, why=story.target
    )
    assert explanation.why[0].kind != story.kind
    number = number_of(explanation, story.target)
    if story.kind == "zero":
        assert number != 0
    elif story.kind == "nonfinite":
        assert np.isfinite(number)


def test_lost_digits_are_told_with_the_repair():
    explanation = gradcli.explain("sqrt(x+1) - sqrt(x)", x=1e12, why="value")
    (told,) = explanation.why
    assert (told.kind, told.repair) == ("imprecise", "1/(sqrt(x + 1) + sqrt(x))")
    assert told.lines[0].endswith(
        "sqrt(x+1) - sqrt(x) subtracts what is nearly equal, sqrt(x+1) = 1e+06 and sqrt(x) = "
        "1e+06, which costs 40 bits"
    )


@pytest.mark.parametrize("target", ["value[0, 0]", "value[1, 0]", "A", "A[0, 1]"])
def test_results_of_operations_that_have_several(target):
    (told,) = gradcli.explain(
        "qr(A)[1]", A=[[2.0, 1.0], [0.5, 3.0]], seed=np.ones((2, 2)), check=False, why=target
    ).why
    assert told.lines[0].startswith(target.replace("A", "A[", 1) if target == "A" else target)


def test_what_is_held_has_no_gradient():
    assert gradcli.explain("c*x", c=3.0, x=2.0, freeze="c", why="c", check=False).why[0].lines == [
        "c is frozen: it is held constant by const, --freeze or --wrt, and no gradient flows to it"
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("z", "'z' has no gradient here"),
        ("x[2]", "'x[2]' is no entry: the gradient is of shape (2,)"),
        ("x[0, 0]", "'x[0, 0]' is no entry: the gradient is of shape (2,)"),
        ("x[", "why takes a name, NAME[INDEX] or value, not 'x['"),
        ("x[__import__('os')]", "'x[__import__('os')]' is no entry: the gradient is of shape (2,)"),
    ],
)
def test_what_is_no_entry(target, message):
    with pytest.raises(UsageError) as raised:
        gradcli.explain("sum(x)", x=[1.0, 2.0], why=target, check=False)
    assert raised.value.message == message


def test_on_the_command_line_the_story_stands_alone(call_cli):
    done = call_cli("explain", "detach(x)*y", "x=2", "y=3", "--why", "x", "--no-check")
    assert (done.returncode, done.stdout) == (0, "x has gradient 0: detach(x) stops gradients\n")
    done = call_cli("explain", "log(x)", "x=0", "--why", "x", "--format", "json", "--no-check")
    why = json.loads(done.stdout)["why"]
    text = (
        "x has gradient inf: the derivative of log(x) by x is 1/x = inf, and 1 times inf is "
        "inf\nin the forward pass log(x) is -inf, of 0"
    )
    assert why == {
        "of": "x",
        "kind": "nonfinite",
        "node": 2,
        "operand": 1,
        "index": [],
        "repair": None,
        "text": text,
    }
    done = call_cli("explain", "exp(x)*exp(-x)", "x=800", "--why", "value")
    story = (
        "value is nan: exp(x) is inf, of 800\n  a finite number there: write exp(x)*exp(-x) as 1\n"
    )
    assert (done.returncode, done.stdout) == (0, story), "a story is no verdict"
    done = call_cli("explain", "x*y", "x=2", "y=3", "--why", "z")
    assert (done.returncode, "'z' has no gradient here" in done.stderr) == (2, True)
