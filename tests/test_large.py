"""Arrays too large for scalars: a verdict for every program, a wrong entry of many always found,
and what the record says of both.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from checking import rejudged

from gradcli import Verdict
from gradcli.ops.registry import find
from gradcli.report.records import text_of

N = 40_000
RANDOM = np.random.default_rng(5)
X, Y = RANDOM.standard_normal(N), RANDOM.standard_normal(N)
M = RANDOM.standard_normal((40, 40))
IMAGE, KERNEL = RANDOM.standard_normal((1, 2, 40, 40)), RANDOM.standard_normal((3, 2, 3, 3))
Q = RANDOM.standard_normal((30, 16))

PROGRAMS = [
    ("sum(cumsum(x**2))/1e3", {"x": 3 * X}),
    ("sum(log(1 + (x + x)**2) + (asinh(y) - y))", {"x": 3 * X, "y": Y}),
    ("logsumexp(tanh(x)*y)", {"x": X, "y": Y}),
    ("std(cos(1000*x))", {"x": X}),
    ("sum(log_softmax(x)**2)", {"x": X}),
    ("norm(x - y)*max(x) + sum(where(x > 1, x**3, 2**x))", {"x": X, "y": Y}),
    ("norm(maximum(erf(x), y))", {"x": X[:8000], "y": Y[:8000]}),
    ("var(x) + median(x) + quantile(x, 0.3)", {"x": X}),
    ("mean(sort(x)[:1000])", {"x": X}),
    ("slogdet(m)[1] + sum(inv(m @ m.T + 10*eye(40))*m)", {"m": M}),
    ("sum(conv2d(x, w)**2)", {"x": IMAGE, "w": KERNEL}),
    ("sum(softmax(q @ q.T/4, axis=-1) @ q * q)", {"q": Q}),
    ("sum(einsum('ij,jk->ik', m, tanh(m))**3)", {"m": M}),
    ("mean(layer_norm(q, (16,))**3)", {"q": np.tile(Q, (4, 1))}),
]


@pytest.mark.ci
@pytest.mark.parametrize(("text", "values"), PROGRAMS, ids=[text for text, _ in PROGRAMS])
def test_every_program_agrees_and_one_wrong_entry_of_it_is_found(
    text: str, values: dict[str, Any]
) -> None:
    check, _ = rejudged(text, values)
    assert check.verdict is Verdict.AGREE, (check.reason, check.variables)
    place: tuple[int, ...] = ()

    def plant(gradients: dict[str, Any]) -> None:
        nonlocal place
        (first, *_) = gradients
        flat = gradients[first].reshape(-1)
        i = int(np.argsort(np.abs(flat))[-np.count_nonzero(flat) // 2])
        flat[i] *= 1 + 1e-6
        place = tuple(int(p) for p in np.unravel_index(i, gradients[first].shape))

    wrong, record = rejudged(text, values, plant)
    assert record.grad is not None
    part = wrong.variables[next(iter(record.grad))]
    assert part.verdict is Verdict.MISMATCH
    assert part.wrong == 1
    assert part.worst is not None
    assert part.worst.index == place


@pytest.mark.parametrize(
    ("text", "x", "verdict"),
    [
        ("max(x)", np.append(X, [9, 9]), Verdict.KINK),
        ("std(x)", 2.5 + 1e-15 * X, Verdict.ILL_CONDITIONED),
    ],
)
def test_where_entries_are_equal_or_cancel_agreement_is_not_clear(
    text: str, x: np.ndarray, verdict: Verdict
) -> None:
    check, _ = rejudged(text, {"x": x})
    assert check.verdict is verdict, (check.reason, check.variables)


def test_a_logarithm_that_cancels_the_largest_entry_is_held_in_long_double() -> None:
    check, _ = rejudged("logsumexp(x)", {"x": np.log(np.abs(X) / np.abs(X).sum())})
    assert check.value.decided_by == "long double", check.value


def test_what_long_doubles_lose_is_computed_entry_by_entry() -> None:
    """tanh's derivative far out is what is left of 1 - 1; here the truth is a handful of digits of
    mpmath's.
    """
    x, y = X.copy(), Y.copy()
    x[7], y[7] = 3.0, -0.7
    found: list[float] = []
    check, record = rejudged(
        "sum(tanh((x*y*(x - y))**3))", {"x": x, "y": y}, lambda g: found.append(float(g["x"][7]))
    )
    assert check.verdict in (Verdict.AGREE, Verdict.ILL_CONDITIONED), check.reason
    assert record.grad is not None
    with mpmath.workdps(400):
        a, b = mpmath.mpf(3), mpmath.mpf(float(y[7]))
        u = a * b * (a - b)
        true = mpmath.sech(u**3) ** 2 * 3 * u**2 * (2 * a * b - b**2)
    wrong, _ = rejudged(
        "sum(tanh((x*y*(x - y))**3))", {"x": x, "y": y}, lambda g: g["x"].__setitem__(7, 1e-10)
    )
    assert abs(true) < 1e-20
    part = wrong.variables["x"]
    assert part.verdict is Verdict.MISMATCH
    assert part.worst is not None
    assert part.worst.index == (7,)
    assert part.worst.reference == pytest.approx(float(true), rel=1e-12)


def test_what_overflows_is_told_with_the_true_value() -> None:
    x = RANDOM.standard_normal(40_000)
    x[3] = 9.0
    check, _ = rejudged("max(exp(x**3*log1p(x**2)))", {"x": x})
    assert check.value is not None
    assert check.value.verdict is Verdict.ILL_CONDITIONED
    with mpmath.workdps(40):
        true = mpmath.exp(mpmath.mpf(729) * mpmath.log1p(81))
    assert "too large for float64: the true value is " in (check.value.reason or "")
    said = mpmath.mpf((check.value.reason or "").rsplit(" ", 1)[1])
    assert abs(said / true - 1) < 1e-12


def test_rules_that_stand_in_for_forms_are_held_along_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(find("matmul").__dict__, "extended", None)
    check, record = rejudged("sum((m @ m)**2)/1e4", {"m": np.tile(M, (2, 2))})
    assert check.verdict is Verdict.AGREE, check.reason
    assert check.to_dict()["variables"]["m"]["directions"] == 3
    assert "rules held along 3 random directions" in text_of(record.lines())


def _off(rule: Any, *given: Any, **static: Any) -> Any:
    return rule(*given, **static) * (1 + 1e-5)


def test_a_wrong_rule_that_stands_in_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    op = find("matmul")
    rule = op.vjp
    assert rule is not None
    monkeypatch.setitem(op.__dict__, "extended", None)
    monkeypatch.setitem(
        op.__dict__,
        "vjp",
        tuple(partial(_off, each) for each in rule),
    )
    check, _ = rejudged("sum((m @ m)**2)/1e4", {"m": np.tile(M, (2, 2))})
    assert check.verdict is Verdict.MISMATCH
    assert "the derivative of matmul is wrong" in (check.reason or "")


WITHOUT_LOOPS = ["sum(erf(x)*y)", "sum(lgamma(x**2 + 0.1)*y)", "sum(digamma(3*x)*y)"]


@pytest.mark.parametrize("text", WITHOUT_LOOPS)
def test_functions_without_loops_in_long_double_are_held_at_some_entries(text: str) -> None:
    check, record = rejudged(text, {"x": X, "y": Y})
    assert check.verdict is Verdict.AGREE, check.reason
    for part in check.variables.values():
        assert part.entries is not None
        assert 900 < part.entries[0] < part.entries[1] == N
    assert " of 40,000 entries" in text_of(record.lines())


@pytest.mark.parametrize(
    ("name", "text"), [("erf", WITHOUT_LOOPS[0]), ("lgamma", WITHOUT_LOOPS[1])]
)
def test_a_wrong_value_of_such_a_function_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    op = find(name)
    forward = op.forward
    monkeypatch.setitem(
        op.__dict__, "forward", lambda x: forward(x) * np.where(np.abs(x) < 0.5, 1 + 1e-6, 1)
    )
    check, _ = rejudged(text, {"x": X, "y": Y})
    assert check.verdict is Verdict.MISMATCH
    assert check.reason == f"the value of {name} is wrong: its reference contradicts it"


def test_a_wrong_rule_of_such_a_function_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    op = find("lgamma")
    assert op.partials is not None
    (rule,) = op.partials
    assert rule is not None
    monkeypatch.setitem(op.__dict__, "partials", (lambda out, x: rule(out, x) * 1.001,))
    check, _ = rejudged("sum(lgamma(x**2 + 0.1)*y)", {"x": X, "y": Y})
    assert check.verdict is Verdict.MISMATCH
    assert "the derivative of lgamma is wrong" in (check.reason or "")
