"""Rules at the points and parameters where they are most easily wrong: removable gaps, kinks under
smooth functions, extreme numbers.
"""

import numpy as np
import pytest
from helpers import thinned

import gradcli

SPREAD = 2 / 3 * np.eye(3) - 2 / 9


def case(text, wanted, mode="grad", **bindings):
    return pytest.param(
        text, wanted, mode, bindings, id=f"{text} {mode} at {list(bindings.values())}"[:90]
    )


def second(text, wanted, **bindings):
    return case(text, wanted, "hessian", **bindings)


def result(text, mode, bindings):
    found = gradcli.evaluate(text, mode=mode, **bindings)
    part = found.grad if mode == "grad" else found.hessian
    while hasattr(part, "values"):
        part = next(iter(part.values()))
    return np.asarray(part), found.check


# Smooth functions of what has a kink: the numbers agree, or the verdict is a mismatch that has the
# true ones.
TRUE = [
    second("norm(x)**2", 2.0, x=[0.0, 0.0]), second("cos(norm(x))", -1.0, x=[0.0, 0.0]),
    second("std(x)**2", SPREAD[0, 0], x=[2.0, 2.0, 2.0]),
    second("hypot(x, y)**2", 2.0, x=0.0, y=0.0), second("cosh(sqrt(x**2 + y**2))", 1.0, x=0.0, y=0.0),
    second("(1 + sqrt(3)*norm(x - y))*exp(-sqrt(3)*norm(x - y))", -3.0, x=[1.0, 2.0], y=[1.0, 2.0]),
    case("hypot(x, y)**1.5", 0.0, x=0.0, y=0.0), case("sum(hypot(x, y)**1.5)", 0.0, x=[0.0, 1.0], y=[0.0, 2.0]),
    case("np.sum(eigh(A)[1] @ diag(exp(eigh(A)[0])) @ eigh(A)[1].T)", np.exp(2), A=[[2.0, 0.0], [0.0, 2.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "mode", "bindings"), thinned(TRUE))
def test_the_truth_is_known_where_only_a_formula_has_a_gap(text, wanted, mode, bindings):
    found, check = result(text, mode, bindings)
    first = next(part for part in check.variables.values() if part.worst is not None)
    assert check.verdict in ("agree", "mismatch")
    right = found.ravel()[0] if check.verdict == "agree" else first.worst.reference
    assert abs(right) == pytest.approx(abs(wanted), rel=1e-12)


@pytest.mark.parametrize(
    "text",
    ["torch.linalg.cholesky(A).sum()", "torch.linalg.solve_triangular(A, A.T, upper=False).sum()"],
)
def test_factors_of_large_matrices_are_checked(text):
    x = np.random.default_rng(0).normal(size=(60, 60))
    matrix = (
        np.linalg.cholesky(x @ x.T + 60 * np.eye(60))
        if "solve" in text
        else x @ x.T + 60 * np.eye(60)
    )
    assert gradcli.evaluate(text, A=matrix).check.verdict == "agree"


def test_ranges_hold_across_the_removable_point():
    found = gradcli.evaluate("2*sinc(x)", x=0.0)
    assert found.grad["x"] == 0
    from gradcli import evaluate

    assert evaluate("assert sinc(x) <= 1 for x in -1..1\nsinc(x)", x=0.5).check.verdict == "agree"
