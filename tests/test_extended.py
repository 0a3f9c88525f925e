"""Arrays of many entries: every one against long doubles, and planted mistakes found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import Record, Verdict
from gradcli.check.crosscheck import cross_check
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.options import ClaimInput, Options
from gradcli.query.programs import run_statement
from gradcli.reference import long_double
from gradcli.reference.stand_ins import StandIns

N = 200_000
RANDOM = np.random.default_rng(11)
X, Y = RANDOM.standard_normal(N), RANDOM.uniform(0.5, 2.0, N)
M = RANDOM.standard_normal((500, 400))

AGREE = [
    ("sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))", {"x": X}),
    ("mean((x - y)**2)", {"x": X, "y": Y}),
    ("sum(tanh(x)*x)/sum(x**2)", {"x": X}),
    ("sum(relu(x)*sigmoid(y))", {"x": X, "y": Y}),
    ("sum(where(x > y, x*y, x/y))", {"x": X, "y": Y}),
    ("max(x) + min(y)", {"x": X, "y": Y}),
    ("sum(x[::2]*y[1::2]**1.5)", {"x": X, "y": Y}),
    ("sum(sqrt(y)*reshape(x, (-1,)))*pi", {"x": X, "y": Y}),
    ("sum(mean(m, axis=0)**2) + sum((m.T*m[:, 0])[3])", {"m": M}),
    ("sum(maximum(abs(x), y))", {"x": X, "y": Y}),
]


def checked(
    text: str, values: dict[str, Any], claims: tuple[ClaimInput, ...] = (), gradient: Any = None
) -> Any:
    scope = Scope()
    for name, value in values.items():
        scope.bind_value(name, value)
    program = Program(scope)
    (statement,) = statements([text])
    record = run_statement(program, statement, Options(formula=False, claims=claims))
    assert record is not None
    assert record.error is None, record.error
    return record.check


@pytest.mark.parametrize(("text", "values"), AGREE, ids=[text for text, _ in AGREE])
def test_every_entry_agrees(text: str, values: dict[str, Any]) -> None:
    check = checked(text, values)
    assert check.verdict is Verdict.AGREE, check.reason
    for name, part in check.variables.items():
        assert part.decided_by == "double"
        assert part.entries == (values[name].size, values[name].size)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda g: g * 1.0005, 77_777),
        (lambda g: -g, 0),
        (lambda g: g + 1e-9, N - 1),
        (lambda g: np.nan, 5),
    ],
)
def test_one_wrong_entry_of_the_engine_is_found(change: Any, place: int) -> None:
    scope = Scope()
    leaf = scope.bind_value("x", X)
    (statement,) = statements(["sum(sin(x)*x)"])
    program = Program(scope)
    root = program.execute(statement).value
    gradient = np.cos(X) * X + np.sin(X)
    gradient[place] = change(gradient[place])
    record = Record("", value=np.sum(np.sin(X) * X), seed=np.float64(1), grad={"x": gradient})
    check = cross_check(scope, root, {"x": leaf}, record, Options())
    assert check.verdict is Verdict.MISMATCH
    assert check.variables["x"].worst.index == (place,)
    assert check.variables["x"].wrong == 1


CLAIMS = [
    (ClaimInput("x", numbers=2 * X), Verdict.AGREE),
    (ClaimInput("x", "2*x"), Verdict.AGREE),
    (ClaimInput("x", "2*x*(1 + 1e-9)"), Verdict.MISMATCH),
    (ClaimInput("x", numbers=2 * X * np.where(np.arange(N) == 123, 1.0005, 1.0)), Verdict.MISMATCH),
    (ClaimInput("x", numbers=-2 * X), Verdict.MISMATCH),
    (ClaimInput("x", numbers=2 * X[:10]), Verdict.MISMATCH),
    (ClaimInput("x", numbers=(2 * X).astype(np.float32)), Verdict.AGREE),
]


@pytest.mark.parametrize(("claim", "verdict"), CLAIMS)
def test_claims(claim: ClaimInput, verdict: Verdict) -> None:
    (found,) = checked("sum(x**2)", {"x": X}, (claim,)).claims
    assert found.verdict is verdict, found


def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.ops.registry import find

    rules = find("sin").partials
    object.__setattr__(find("sin"), "partials", (lambda out, x: rules[0](out, x) * 1.00001,))
    try:
        assert checked("sum(sin(x))", {"x": X}).verdict is Verdict.MISMATCH
    finally:
        object.__setattr__(find("sin"), "partials", rules)


def test_the_reference_uses_none_of_the_engines_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives by differences of long doubles confirm the reference itself."""
    x = RANDOM.standard_normal(50)
    scope = Scope()
    leaf = scope.bind_value("x", x)
    (statement,) = statements(["sum(exp(sin(x))/(1 + x**2))"])
    root = Program(scope).execute(statement).value
    _, slopes = long_double.reference(root, [leaf], {leaf: x}, 1.0, "float64", StandIns()).results
    h = np.longdouble(1e-6)
    wide_x = x.astype(np.longdouble)

    def f(at: Any) -> Any:
        return np.exp(np.sin(at)) / (1 + at**2)

    assert slopes.astype(float) == pytest.approx(
        ((f(wide_x + h) - f(wide_x - h)) / (2 * h)).astype(float), rel=1e-10
    )


def test_from_the_python_api() -> None:
    record = gradcli.evaluate("sum(x**2)", x=X, formula=False)
    assert record.check.verdict is Verdict.AGREE
