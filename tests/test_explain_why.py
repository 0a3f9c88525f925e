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
          "below the smallest float, and its value equals, in floats, its limit 1", {"x": 0.001}),
    Story("x[0]*3", {"x": [1.0, 2.0]}, "x[1]", "zero", "x[1] has gradient 0: it is never "
    "read: x[0] takes other entries of x", {}),
    Story("x*y", {"x": 0.0, "y": 3.0}, "y", "zero", "y has gradient 0: in x*y, y is multiplied by "
    "x, which is 0", {"x": 1.0}),
    Story("x*y", {"x": 0.0, "y": 3.0}, "value", "zero", "value is 0: its factor x is 0", {"x": 1.0}),
    Story("x - y", {"x": 3.0, "y": 3.0}, "value", "zero", "value is 0: the terms x = 3 and y = 3 "
    "cancel", {"y": 4.0}),
    Story("x**2", {"x": 0.0}, "x", "zero",
          "x has gradient 0: x**2 is flat there: its input x is 0, and the derivative 2*x is 0", {"x": 1.0}),
    Story("clip(x, 0, 1)", {"x": 3.0}, "x", "zero", "x has gradient 0: clip(x, 0, 1) is flat "
    "there: its input x is 3", {"x": 0.5}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "x", "nonfinite",
          "x has gradient inf: the derivative of log(x) by x is 1/x = inf, and 2 times inf is inf", {"x": 1.0}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "y", "nonfinite", "y has gradient -inf: the "
    "derivative of log(x)*y by y is log(x) = -inf, "
          "and 1 times -inf is -inf", {"x": 1.0}),
    Story("log(x)*y", {"x": 0.0, "y": 2.0}, "value", "nonfinite", "value is -inf: log(x) is -inf, "
    "of 0: log(x) is defined where x > 0", {"x": 1.0}),
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


class Told(NamedTuple):
    text: str
    at: dict[str, Any]
    target: str
    said: tuple[str, ...]  # what the answer has among others, with numbers known from elsewhere


HUGE, TINY = "the largest float is 1.79769e+308", "the smallest float is 4.94066e-324"
TOLD = [
    # which form has no value, where, and what made the infinities
    Told("sin(x)/x", {"x": 0.0}, "value", ("sin(x)/x is nan, of 0 and 0: the form 0/0",)),
    Told("exp(x)/(1 + exp(x))", {"x": 800.0}, "x",
         ("of inf and inf: the form ∞/∞", f"exp(x) is inf, of 800: it overflows, being about 2.73e+347 ({HUGE})")),
    Told("x*log(x)", {"x": 0.0}, "value", ("x*log(x) is nan, of 0 and -inf: the form 0·∞", "log(x) is -inf, of 0")),
    Told("1/x - 1/y", {"x": 0.0, "y": 0.0}, "value", ("of inf and inf: the form ∞ - ∞", "1/x is inf, of 1 and 0")),
    Told("sum(1/x)", {"x": [0.0, -0.0]}, "value", ("sum(1/x) is nan: the form ∞ - ∞",)),
    Told("sqrt(x)**2", {"x": 0.0}, "x", ("1/(2*sqrt(x)) = inf, and 0 times inf is nan, the form 0·∞",)),
    Told("sqrt(x**2)", {"x": 0.0}, "x", ("then the derivative of x**2 by x is 2*x = 0, and inf times 0 is nan, the form 0·∞",)),
    Told("arccos(x)", {"x": 2.0}, "value", ("is defined where -1 <= x <= 1",)),
    # sums over what was repeated, or over products
    Told("sum(x + b)", {"x": [[1.0, 1.0]] * 3, "b": [1.0, 2.0]}, "b[0]",
         ("b[0] has gradient 3", "what x + b passes back to b is summed over axis 0 (3 entries), along which it was repeated")),
    Told("sum(X @ w + b)", {"X": [[1.0, 2.0]] * 4, "w": [1.0, 2.0], "b": 0.5}, "b",
         ("summed over all 4 entries, for which it is one number",)),
    Told("sum(X @ w)", {"X": [[1.0, 2.0]] * 4, "w": [1.0, 2.0]}, "w[1]",
         ("w[1] has gradient 8", "each entry of w is in 4 products, whose parts add up")),
    Told("mean(x)", {"x": [1.0] * 5}, "x[1]", ("mean(x) gives each of its 5 entries the share 1/5",)),
    # what is never read
    Told("x[0]*x[1]", {"x": [1.0, 2.0, 3.0]}, "x[2]",
         ("it is never read: x[1] takes other entries of x and x[0] takes other entries of x",)),
    Told("sum(take(E, [0, 2], 0))", {"E": [[1.0], [2.0], [3.0]]}, "E[1, 0]",
         ("it is never read: take(E, [0, 2], 0) takes other entries of E",)),
    Told("3*y", {"x": 1.0, "y": 2.0}, "x", ("x has gradient 0: 3*y does not contain x",)),
    # choices, and which entry won
    Told("max(x)", {"x": [1.0, 5.0, 2.0]}, "x[0]", ("max(x) chooses x[1] = 5, not x[0] = 1",)),
    Told("max(x)", {"x": [5.0, 5.0, 2.0]}, "x[0]",
         ("gradient 0.5", "max(x) chooses x[0] = 5 and x[1] = 5; of 2 equal entries the choice is: shared evenly among them")),
    Told("median(x)", {"x": [1.0, 5.0, 2.0]}, "x[1]", ("median(x) chooses x[2] = 2, not x[1] = 5",)),
    Told("sort(x)[0]", {"x": [3.0, 1.0, 2.0]}, "x[0]", ("sort(x) chooses x[1] = 1, not x[0] = 3",)),
    Told("max_pool1d(x, 2)[0, 0]", {"x": [[1.0, 5.0, 2.0, 7.0]]}, "x[0, 0]", ("chooses x[0, 1] = 5, not x[0, 0] = 1",)),
    Told("maximum(x, y)", {"x": 1.0, "y": 1.0}, "x",
         ("x = 1 and y = 1 tie in maximum(x, y), where the derivative is chosen: half to each operand",)),
    Told("min(x, 3, y)", {"x": 5.0, "y": 4.0}, "x", ("min(x, 3, y) takes 3 there, not x = 5",)),
    Told("where(x > 0, x, 2*x)", {"x": -1.0}, "x", ("takes 2*x there: x > 0 is False",)),
    Told("norm(x)", {"x": [0.0, 0.0]}, "x[1]", ("x is at a kink of norm(x), where the derivative is chosen: 0",)),
    # limits that are all but reached, and factors that are as small by themselves
    Told("sigmoid(x)", {"x": 40.0}, "x", ("sigmoid(x) is saturated: its derivative at x = 40 is 4.24835e-18", "its limit 1")),
    Told("tanh(x)", {"x": 10.0}, "x",
         ("saturated: its derivative at x = 10 is 8.24461e-09, and its value is within 4.1e-09 of its limit 1",)),
    Told("softmax(x)[0]", {"x": [50.0, 0.0]}, "x[0]", ("softmax(x) is saturated: its derivative at x[0] = 50 is", "its limit 1")),
    Told("logsumexp(x)", {"x": [1.0, 500.0]}, "x[0]", ("saturated: its derivative at x[0] = 1 is 1.93666e-217", "its limit 500")),
    Told("1/(1 + exp(-x))", {"x": 40.0}, "x", ("exp(-x) is flat there: its derivative at -x = -40 is 4.24835e-18",)),
    Told("outer(x, y)[0, 0]", {"x": [1.0, 2.0], "y": [3.0, 4.0]}, "x[1]", ("of what arrives at outer(x, y) nothing goes to x[1] = 2",)),
    # what stops
    Told("int(x)*y", {"x": 1.5, "y": 1.0}, "x", ("x has no gradient: int(x) is flat",)),
    Told("round(x)*2 + x", {"x": 1.5}, "x", ("x has gradient 1", "also, round(x) is flat: its derivative is 0 wherever it has one")),
    # where floats end
    Told("x**400", {"x": 10.0}, "x", (f"x**400 is inf, of 10 and 400: it overflows, being about 1.0e+400 ({HUGE})",)),
    Told("prod(x)", {"x": [100.0] * 200}, "x[0]", (f"prod(x) is inf: it overflows, being about 1.0e+400 ({HUGE})",)),
    Told("prod(x)", {"x": [0.01] * 200}, "x[0]", (f"prod(x) underflows, being about 1.0e-400 ({TINY}), and its derivative is 0 with it",)),
    Told("exp(-x)", {"x": 800.0}, "value", (f"value is 0: it underflows, being about 3.67e-348 ({TINY})",)),
    Told("y*exp(-x)", {"x": 800.0, "y": 2.0}, "y", (f"y is multiplied by exp(-x), which underflows, being about 3.67e-348 ({TINY})",)),
    Told("log(exp(-x))", {"x": 800.0}, "x", ("inf times 0 is nan, the form 0·∞; exp(-x) underflows",)),
    # long products
    Told("x*0.1*0.1*0.1*0.1*0.1*0.1", {"x": 1.0}, "x", ("6 factors below 1 multiply to 1e-06: 0.1 each in the geometric mean",)),
    Told("w*w*w*w*w*x", {"w": 1000.0, "x": 1.0}, "x", ("x is multiplied by w*w*w*w*w",)),
    Told("w*w*w*w*w*w*w", {"w": 1000.0}, "w", ("gradient 7e+18: the largest factors on its way are 2000 at w*w, 1000 at w*w*w",)),
    Told("log(x)", {"x": 1e-9}, "x", ("the derivative of log(x) by x is 1/x = 1e+09",)),
]  # fmt: skip


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told.target} of {told.text}")
def test_the_answer_names_the_reason_the_node_and_the_number(told):
    answer = gradcli.explain(told.text, at=told.at, check=False, why=told.target).why[0].text
    assert [said for said in told.said if said not in answer] == [], answer


def test_of_an_operand_in_two_places_no_partial_is_told_for_the_whole():
    answer = gradcli.explain("x**x", x=1.25, check=False, why="x").why[0].text
    assert answer == "x has gradient 1.61665: all of it by x → x**x"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("sigmoid(x)*1e-9", 0.0),
        ("x/1e9", 1.0),
        ("x**2", 1e-7),
        ("1e-9*log(x)", 2.0),
        ("exp(x)", 0.0),
    ],
)
def test_what_is_small_by_a_factor_is_not_saturated(text, at):
    answer = gradcli.explain(text, x=at, check=False, why="x").why[0].text
    assert "limit" not in answer


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
        "inf\nin the forward pass log(x) is -inf, of 0: log(x) is defined where x > 0"
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
        "value is nan: exp(x)*exp(-x) is nan, of inf and 0: the form 0·∞\n"
        "  exp(x) is inf, of 800: it overflows, being about 2.73e+347 (the largest float is "
        "1.79769e+308)\n"
        "  exp(-x) is 0: it underflows, being about 3.67e-348 (the smallest float is "
        "4.94066e-324)\n"
        "  a finite number there: write exp(x)*exp(-x) as 1\n"
    )
    assert (done.returncode, done.stdout) == (0, story), "a story is no verdict"
    done = call_cli("explain", "x*y", "x=2", "y=3", "--why", "z")
    assert (done.returncode, "'z' has no gradient here" in done.stderr) == (2, True)
