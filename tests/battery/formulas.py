"""Claims as formulas, values, asserts, and second derivatives within them."""

from __future__ import annotations

from typing import Any

import numpy as np

from battery.arrays import some
from battery.rows import FINE, ROUNDED, WRONG, Row

A, V, W = some(3, 3) + 3 * np.eye(3), some(3), some(3)
S = A @ A.T


def formulas(
    program: str,
    at: dict[str, Any],
    right: list[str],
    wrong: list[str],
    of: str = "x",
    verdicts: tuple[str, ...] = FINE,
    **options: Any,
) -> list[Row]:
    return [
        *(
            Row(f"d/d{of} {program} = {f}", program, at, {of: {"formula": f}}, verdicts, **options)
            for f in right
        ),
        *(
            Row(
                f"d/d{of} {program} is not {f}", program, at, {of: {"formula": f}}, WRONG, **options
            )
            for f in wrong
        ),
    ]


CLAIMS: list[Row] = [
    *formulas(
        "x**3", {"x": 1.0}, ["3*x**2", "3*x*x", "3*x**3/x"], ["3*x", "3", "3*x**3", "x**2 + 2*x"]
    ),
    *formulas(
        "x**2*sin(x)",
        {"x": 0.5},
        ["2*x*sin(x) + x**2*cos(x)", "x*(2*sin(x) + x*cos(x))"],
        ["2*x*cos(x)", "2*x*sin(x) - x**2*cos(x)"],
    ),
    *formulas("x + exp(-20*x)", {"x": 3.0}, ["1 - 20*exp(-20*x)"], ["1", "1 + 20*exp(-20*x)"]),
    *formulas(
        "sin(x)**2",
        {"x": 0.4},
        ["sin(2*x)", "2*sin(x)*cos(x)"],
        ["2*sin(x)", "cos(x)**2", "sin(2*x) + 1e-9"],
    ),
    *formulas("exp(x)/x", {"x": 2.0}, ["exp(x)*(x - 1)/x**2"], ["exp(x)/x", "exp(x)*(x - 1)/x"]),
    *formulas(
        "tanh(x)",
        {"x": 20.0},
        ["1 - tanh(x)**2", "1/cosh(x)**2"],
        ["0*x", "4*exp(-2*x)", "1 - tanh(x)"],
    ),
    *formulas(
        "sigmoid(x)",
        {"x": 40.0},
        ["sigmoid(x)*(1 - sigmoid(x))", "exp(-x)/(1 + exp(-x))**2"],
        ["0*x", "exp(-x)", "sigmoid(x)"],
    ),
    *formulas(
        "sin(1e10*x)", {"x": 0.7}, ["1e10*cos(1e10*x)"], ["cos(1e10*x)", "1e10*cos(1e10*x) + 1"]
    ),
    *formulas("x**2 + 1e12", {"x": 1e-3}, ["2*x"], ["2*x + 1e-12", "x"]),
    *formulas(
        "(1 - cos(x))/x**2",
        {"x": 1e-4},
        ["sin(x)/x**2 - 2*(1 - cos(x))/x**3", "(x*sin(x) + 2*cos(x) - 2)/x**3"],
        ["sin(x)/x**2 - (1 - cos(x))/x**3", "-x/12"],
        verdicts=ROUNDED,
    ),
    *formulas(
        "x - sin(x)",
        {"x": 1e-7},
        ["1 - cos(x)", "2*sin(x/2)**2"],
        ["x**2/2", "1"],
        verdicts=ROUNDED,
    ),
    *formulas("log(x*y)", {"x": 2.0, "y": 3.0}, ["1/x"], ["1/(x*y)", "1/y", "y/x"]),
    *formulas("x**y", {"x": 2.0, "y": 3.5}, ["y*x**(y - 1)"], ["x**y*log(x)", "y*x**y"]),
    *formulas("x**y", {"x": 2.0, "y": 3.5}, ["x**y*log(x)"], ["y*x**(y - 1)", "x**y"], of="y"),
    *formulas("arctan(x)", {"x": 1e10}, ["1/(1 + x**2)"], ["1/x**2", "0*x"]),
    *formulas("x/y", {"x": 1.0, "y": 1.0}, ["1/y"], ["-x/y**2", "x/y", "1"]),
    *formulas("0.1*x**2", {"x": 3.0}, ["0.2*x", "0.1*2*x", "x/5"], ["0.1*x", "0.2*x + 1e-6"]),
    *formulas(
        "sqrt(1 + x**2)",
        {"x": 1.0},
        ["x/sqrt(1 + x**2)", "x/hypot(1, x)"],
        ["1/sqrt(1 + x**2)", "x"],
    ),
    *formulas("gamma(x)", {"x": 3.0}, ["gamma(x)*digamma(x)"], ["digamma(x)", "gamma(x)"]),
    *formulas(
        "erf(x)", {"x": 1.0}, ["2/sqrt(pi)*exp(-x**2)"], ["exp(-x**2)", "1.12838*exp(-x**2)"]
    ),
    *formulas("sqrt(x**4)", {"x": 2.0}, ["2*x"], ["4*x", "x**2"]),
    *formulas("arcsin(sin(x))", {"x": 0.5}, ["sign(cos(x))", "cos(x)/abs(cos(x))"], ["1"]),
    *formulas("(x**2)**0.5", {"x": 0.5}, ["sign(x)", "x/abs(x)"], ["1", "x/x"]),
    *formulas("hypot(x, x)", {"x": 0.5}, ["sqrt(2)*sign(x)"], ["sqrt(2)"]),
    *formulas(
        "3*a**3 - b**2",
        {"a": [2.0, 3.0], "b": [6.0, 4.0]},
        ["9*a**2*seed", "seed*9*a**2"],
        ["9*a**2", "9*a**2*b*seed"],
        of="a",
        seed=[1.0, -2.0],
    ),
    *formulas("sum(x**2)", {"x": V}, ["2*x", "x + x"], ["x", "2*sum(x)*x/x", "2"]),
    *formulas("mean(x**2)", {"x": V}, ["2*x/3", "2*x/len(x)"], ["2*x", "2*mean(x)"]),
    *formulas("norm(x)", {"x": V}, ["x/norm(x)"], ["x", "2*x/norm(x)", "x/norm(x)**2"]),
    *formulas(
        "logsumexp(x)",
        {"x": V},
        ["softmax(x)", "exp(x)/sum(exp(x))", "exp(x - logsumexp(x))"],
        ["exp(x)", "x"],
    ),
    *formulas(
        "sum(softmax(x)*w)",
        {"x": V, "w": W},
        ["softmax(x)*(w - sum(softmax(x)*w))"],
        ["softmax(x)*(1 - softmax(x))*w", "softmax(x)*w"],
    ),
    *formulas("x @ A @ x", {"x": V, "A": A}, ["(A + A.T) @ x"], ["2*A @ x", "A @ x"]),
    *formulas("x @ A @ x", {"x": V, "A": S}, ["2*A @ x"], ["A @ x"], wrt=["x"]),
    *formulas("x @ A @ x", {"x": V, "A": np.eye(3)}, ["(A + A.T) @ x"], ["2*A @ x", "2*x"]),
    *formulas("log(det(x))", {"x": S}, ["inv(x).T"], ["det(x)*inv(x).T", "1/x"]),
    *formulas(
        "trace(inv(x))", {"x": A}, ["-(inv(x) @ inv(x)).T"], ["-(inv(x) @ inv(x))", "-1/x**2"]
    ),
    *formulas("trace(x.T @ x)", {"x": A}, ["2*x"], ["2*x.T", "x"]),
    *formulas(
        "sum(solve(A, x))",
        {"x": V, "A": A},
        ["solve(A.T, ones(3))", "inv(A).T @ ones(3)"],
        ["solve(A, ones(3))", "inv(A) @ x"],
    ),
    *formulas("prod(x)", {"x": [1.0, 2.0, 4.0]}, ["prod(x)/x"], ["prod(x)", "1/x"]),
    *formulas("sum(x**2)", {"x": 2 + V}, ["grad(sum(x**2), x)"], ["grad(sum(x**3), x)"]),
    *formulas(
        "max(x)",
        {"x": [1.0, 2.0, 4.0]},
        ["where(x == max(x), 1, 0)"],
        ["[0, 0, 1]", "where(x > 3, 1, 0)"],
    ),
]

VALUES: list[Row] = [
    Row(
        "value: right",
        "3*a**3 - b**2",
        {"a": [2.0, 3.0], "b": [6.0, 4.0]},
        {"value": [-12.0, 65.0]},
    ),
    Row(
        "value: wrong",
        "3*a**3 - b**2",
        {"a": [2.0, 3.0], "b": [6.0, 4.0]},
        {"value": [-12.0, 65.001]},
        WRONG,
    ),
    Row("value: formula", "(x + 1)**2", {"x": 3.0}, {"value": {"formula": "x**2 + 2*x + 1"}}),
    Row(
        "value: wrong formula",
        "(x + 1)**2",
        {"x": 3.0},
        {"value": {"formula": "x**2 + 2*x + 1.0001"}},
        WRONG,
    ),
    Row(
        "value: right here only", "(x + 1)**2", {"x": 3.0}, {"value": {"formula": "5*x + 1"}}, WRONG
    ),
    Row("value: tiny", "exp(-x)", {"x": 500.0}, {"value": float(np.exp(-500.0))}),
    Row("value: tiny and wrong", "exp(-x)", {"x": 500.0}, {"value": 7e-218}, WRONG),
    Row("value: shape", "sum(x**2)", {"x": V}, {"value": V**2}, WRONG),
    Row("value: cancelled", "(x + 1e16) - 1e16", {"x": 1.0}, {"value": 0.0}, ROUNDED),
    Row("value right and gradient wrong", "x**2", {"x": 3.0}, {"value": 9.0, "x": 3.0}, WRONG),
    Row("gradient right and value wrong", "x**2", {"x": 3.0}, {"value": 9.1, "x": 6.0}, WRONG),
    Row("gradient of another shape", "sum(x**2)", {"x": V}, {"x": 2 * V[:2]}, WRONG),
    Row("gradient nan", "x**2", {"x": 3.0}, {"x": "nan"}, WRONG),
    Row("gradient inf", "x**2", {"x": 3.0}, {"x": "inf"}, WRONG),
    Row(
        "gradient in thirty digits", "exp(x)", {"x": 1.0}, {"x": "2.71828182845904523536028747135"}
    ),
    Row("gradient in five digits", "exp(x)", {"x": 1.0}, {"x": "2.7182"}, WRONG),
    Row(
        "gradient in five digits with a tolerance", "exp(x)", {"x": 1.0}, {"x": "2.7182"}, rtol=1e-4
    ),
]


def asserts(program: str, at: dict[str, Any], *claims: str, right: bool = True) -> list[Row]:
    return [
        Row(
            f"assert {claim}",
            f"{program}; assert {claim}" if program else f"assert {claim}",
            at,
            {},
            FINE if right else WRONG,
        )
        for claim in claims
    ]


ASSERTS: list[Row] = [
    *asserts(
        "",
        {"x": 0.7},
        "grad(sin(x), x) == cos(x)",
        "grad(grad(sin(x), x), x) == -sin(x)",
        "grad(x**3, x) == 3*x**2",
    ),
    *asserts(
        "",
        {"x": 0.7},
        "grad(sin(x), x) == sin(x)",
        "grad(grad(x**3, x), x) == 3*x",
        "grad(x**2, x) == 1.41",
        right=False,
    ),
    *asserts(
        "",
        {"x": 2.0},
        "grad(relu(x), x) == where(x > 0, 1, 0)",
        "grad(grad(exp(-x**2), x), x) == (4*x**2 - 2)*exp(-x**2)",
        "grad(x**3, x) == 6*x",
    ),
    *asserts(
        "",
        {"x": 2.0},
        "grad(relu(x), x) == 1 - 1e-9*x",
        "grad(grad(exp(-x**2), x), x) == (4*x**2 + 2)*exp(-x**2)",
        "grad(abs(x), x) == -x/x",
        right=False,
    ),
    *asserts(
        "",
        {"x": V},
        "hessian(sum(x**3), x) == diag(6*x)",
        "grad(logsumexp(x), x) == softmax(x)",
        "hvp(sum(x**4), x, x) == 12*x**3",
    ),
    *asserts(
        "",
        {"x": V},
        "hessian(sum(x**3), x) == diag(3*x)",
        "grad(logsumexp(x), x) == exp(x)",
        "hvp(sum(x**4), x, x) == 4*x**3",
        right=False,
    ),
    *asserts(
        "",
        {"x": V, "A": A},
        "hessian(x @ A @ x, x) == A + A.T",
        "grad(x @ A @ x, x) == (A + A.T) @ x",
        "jacobian(A @ x, x) == A",
    ),
    *asserts(
        "",
        {"x": V, "A": A},
        "hessian(x @ A @ x, x) == 2*A",
        "grad(x @ A @ x, x) == 2*A @ x",
        "jacobian(A @ x, x) == A.T",
        right=False,
    ),
    *asserts(
        "",
        {"x": 3.0, "y": 2.0},
        "grad(grad(x**2*y**3, x), y) == 6*x*y**2",
        "jvp(x**3, x, y) == 3*x**2*y",
    ),
    *asserts(
        "",
        {"x": 3.0, "y": 2.0},
        "grad(grad(x**2*y**3, x), y) == 2*x*3*y",
        "jvp(x**3, x, y) == 3*x**2",
        right=False,
    ),
    *asserts(
        "",
        {"x": 1e-4},
        "grad(x + exp(-20*x), x) == 1 - 20*exp(-20*x)",
        "grad(1e-300*x, x) == 1e-300",
        "grad(x**2, x) == 2e-4 within 1e-12",
    ),
    *asserts(
        "",
        {"x": 9.0},
        "grad(exp(-20*x), x) == 0*x",
        "grad(1e-6*x, x) == 9e-7",
        "grad(x**2, x) == 18.1 within 1e-3",
        right=False,
    ),
]

ROWS = [*CLAIMS, *VALUES, *ASSERTS]
