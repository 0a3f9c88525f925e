"""Branches that rounding decides: what is right on the other one is ill-conditioned, what is right
on neither is wrong.
"""

import numpy as np
import pytest

from gradcli import evaluate
from gradcli.testing import check_gradient


def chosen(x):
    return np.sum(np.where(np.sqrt(np.sum(x**2)) > 1.0, 2 * x, x))


def branching(x):
    if np.sqrt(np.sum(x**2)) > 1.0:
        return np.sum(2 * x)
    return np.sum(x)


def rectified(x):
    return np.maximum(np.sqrt(np.sum(x**2)) - 1.0, 0.0)


WORDS = "rounding decides the branch"
# at .6, .8 the norm is 1 but for rounding
UNIT = np.array([0.6, 0.8])
CASES = [
    (chosen, lambda x: np.full_like(x, 2), ("agree", "ill-conditioned")),
    (chosen, lambda x: np.full_like(x, 1), ("agree", "ill-conditioned")),
    (chosen, lambda x: np.full_like(x, 3), ("mismatch",)),
    (chosen, lambda x: np.full_like(x, 1.5), ("mismatch",)),
    (branching, lambda x: np.full_like(x, 2), ("agree", "ill-conditioned")),
    (branching, lambda x: np.full_like(x, 1), ("agree", "ill-conditioned")),
    (branching, lambda x: np.full_like(x, 3), ("mismatch",)),
    (rectified, lambda x: x / np.sqrt(np.sum(x**2)), ("agree", "ill-conditioned")),
    (rectified, lambda x: 0 * x, ("agree", "ill-conditioned")),
    (rectified, lambda x: 0.3 * x, ("mismatch",)),
]


@pytest.mark.parametrize(("function", "gradient", "verdicts"), CASES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_gradient_is_held_to_either_branch(function, gradient, verdicts, kind):
    if function is rectified and kind is np.float32:
        pytest.skip("in few bits the slope of a maximum is anything between its own on both sides")
    found = check_gradient(function, gradient, at={"x": np.array([0.6, 0.8], kind)})
    assert found.verdict in verdicts
    if found.verdict == "ill-conditioned":
        assert WORDS in found.variables["x"].reason


@pytest.mark.parametrize("function", [chosen, branching])
def test_one_of_two_branches_is_the_other_one(function):
    found = {
        check_gradient(function, lambda x, k=k: np.full_like(x, k), at={"x": UNIT}).verdict
        for k in (1, 2)
    }
    assert found == {"agree", "ill-conditioned"}


def test_away_from_the_edge_the_other_branch_is_wrong():
    for function in (chosen, branching):
        assert (
            check_gradient(function, lambda x: np.full_like(x, 1), at={"x": [0.6, 0.9]}).verdict
            == "mismatch"
        )


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("sum(where(norm(x) > 1.0, 2*x, x))", "norm(x) > 1.0"),
        ("where(sqrt(x[0]**2 + x[1]**2) <= 1, 3, 1)*x[0]", "sqrt(x[0]**2 + x[1]**2) <= 1"),
    ],
)
def test_an_expression_names_the_comparison(text, node):
    check = evaluate(text, x=[0.6, 0.8]).check
    assert check.verdict == "ill-conditioned"
    assert check.reason == f"{node}: {WORDS}"
