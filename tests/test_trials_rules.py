"""Rules at the points and parameters where they are most easily wrong: removable gaps, kinks under
smooth functions, extreme numbers.
"""

import numpy as np
import pytest
from helpers import thinned

import gradcli

I2 = np.eye(2)
SPREAD = 2 / 3 * np.eye(3) - 2 / 9
SINGULAR, FLAT = [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]
CROSS = np.array([[[[0, 0], [0, 1]], [[0, 0], [-1, 0]]], [[[0, -1], [0, 0]], [[1, 0], [0, 0]]]])


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


AGREE = [
    # sinc is smooth at 0: its series is 1 - (pi x)**2/6 + (pi x)**4/120
    second("sinc(x)", -np.pi**2 / 3, x=0.0), second("x*sinc(x)", 0.0, x=0.0), second("sinc(2*t + "
    "1)", -4 * np.pi**2 / 3, t=-0.5),
    case("grad(sinc(x), x)", -np.pi**2 / 3, x=0.0), case("grad(grad(sinc(x), x), x)", 0.0, x=0.0),
    second("grad(grad(sinc(x), x), x)", np.pi**4 / 5, x=0.0), second("spherical_bessel_j0(x)", -1 / 3, x=0.0),
    # parameters of rules that no float is: norm(x, p)**(1 - p) * x**(p - 1)
    *(case(f"norm(x, {p})", [np.sum([1, 2**p, 3**p]) ** (1 / p - 1) * v ** (p - 1) for v in (1, 2, 3)], x=[1.0, 2.0, 3.0])
      for p in (0.01, 0.05, 0.1, 0.2, 0.3, 1.7)),
    case("var(x, ddof=0.3)", [-7 / 3 / 1.35, -4 / 3 / 1.35, 11 / 3 / 1.35], x=[1.0, 2.0, 7.0]),
    # determinants are polynomials
    second("det(A)", CROSS, A=SINGULAR), second("det(A)", CROSS, A=[[0.0, 0.0], [0.0, 0.0]]),
    case("grad(grad(det(A), A)[0, 0], A)[1, 1]", [[0, 0, 0], [0, 0, 0], [0, 0, 1]], A=FLAT),
    # where nothing is left of a logarithm, or of a digit
    case("logsumexp(x)", [0.5, 0.5], x=[1e17, 1e17]), case("logsumexp(x)", [0.5, 0.5], x=[1e308, 1e308]),
second("logsumexp(x)", [[0.25, -0.25], [-0.25, 0.25]], x=[1e17, 1e17]),
    case("log_softmax(x)[0]", [0.5, -0.5], x=[1e308, 1e308]), case("softmax(x)[0]", [0.25, -0.25], x=[1e308, 1e308]),
    case("asinh(x)", 1e-200, x=1e200), case("asinh(x)", 1e-300, x=-1e300), case("asinh(x)", 1.0, x=1e-200),
    case("atan2(y, x)", 5e-201, y=1e200, x=1e200), case("atan2(y, x)", 5e199, y=1e-200, x=1e-200),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "mode", "bindings"), AGREE)
def test_numbers_are_right_and_agree(text, wanted, mode, bindings):
    found, check = result(text, mode, bindings)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13 if mode == "hessian" else 0)
    assert check.verdict == "agree", check.reason


# Smooth functions of what has a kink: the numbers agree, or the verdict is a mismatch that has the
# true ones.
TRUE = [
    second("norm(x)**2", 2.0, x=[0.0, 0.0]), second("cos(norm(x))", -1.0, x=[0.0, 0.0]),
    second("std(x)**2", SPREAD[0, 0], x=[2.0, 2.0, 2.0]),
    second("hypot(x, y)**2", 2.0, x=0.0, y=0.0), second("cosh(sqrt(x**2 + y**2))", 1.0, x=0.0, y=0.0),
    second("(1 + sqrt(3)*norm(x - y))*exp(-sqrt(3)*norm(x - y))", -3.0, x=[1.0, 2.0], y=[1.0, 2.0]),
    case("np.sum(eigh(A)[1] @ diag(exp(eigh(A)[0])) @ eigh(A)[1].T)", np.exp(2), A=[[2.0, 0.0], [0.0, 2.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "mode", "bindings"), thinned(TRUE))
def test_the_truth_is_known_where_only_a_formula_has_a_gap(text, wanted, mode, bindings):
    found, check = result(text, mode, bindings)
    first = next(part for part in check.variables.values() if part.worst is not None)
    assert check.verdict in ("agree", "mismatch")
    right = found.ravel()[0] if check.verdict == "agree" else first.worst.reference
    assert abs(right) == pytest.approx(abs(wanted), rel=1e-12)


NONE = [
    second("expm1(x)/x", None, x=0.0), second("hypot(x, y)", None, x=0.0, y=0.0), second("norm(x, "
    "3)**2", None, x=[0.0, 0.0]),
    case("sin(x)/x", None, x=0.0), case("np.sum(lu(A)[2])", None, A=[[0.0, 0.0], [0.0, 0.0]]),
    case("eigh(A)[1][0, 0]", None, A=[[2.0, 0.0], [0.0, 2.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "mode", "bindings"), NONE)
def test_what_has_no_value_or_no_derivative_is_undefined(text, wanted, mode, bindings):
    assert result(text, mode, bindings)[1].verdict == "undefined"


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
    from gradcli.query.interface import evaluate

    assert evaluate("assert sinc(x) <= 1 for x in -1..1\nsinc(x)", x=0.5).check.verdict == "agree"
