"""The verdicts of the cross-check: right gradients at hard points are never wrong, and every other
verdict says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import mpmath
import numpy as np
import pytest
from checking import judged, planted, recorded, said, verdict_of
from helpers import lowered

import gradcli
from gradcli.check import judge
from gradcli.check.comparison import Comparison
from gradcli.graph import nodes, sweep
from gradcli.ops.registry import registry
from gradcli.reference.tape import ReferenceTape

inf, nan = math.inf, math.nan
RANDOM = np.random.default_rng(1)
A4 = RANDOM.normal(size=(4, 4)).round(3)


@pytest.mark.parametrize(("text", "dtype"), [("sum(sin(x)*x)", "float64"), ("sum(x)", "float32")])
def test_long_sums_agree(text: str, dtype: str) -> None:
    check = judged(text, {"x": np.linspace(-3, 3, 2000)}, dtype=dtype)
    assert check.verdict.word == "agree", said(check)


def test_other_entries_than_those_on_a_kink_are_compared() -> None:
    check = judged("sum(abs(x)) + y", {"x": [0.0, -2.0, 3.0], "y": 1.0})
    assert [k.index for k in check.variables["x"].kinks] == [(0,)]
    assert check.variables["y"].verdict.word == "agree"


def test_kinks_of_second_derivatives_and_of_rows() -> None:
    (second,) = judged("relu(x)**2", {"x": 0.0}, mode="hessian").variables["x,x"].kinks
    assert (second.left, second.right) == (0.0, 2.0)
    row = judged("relu(x)", {"x": [1.0, 0.0]}, mode="jacobian").variables["x"]
    assert row.verdict.word == "kink"
    assert [(k.left, k.right) for k in row.kinks] == [(0.0, 1.0)]


@pytest.mark.parametrize(
    "text", ["abs(x)", "relu(x)", "x**2", "sign(x)*x", "maximum(x, 1)", "where(x > 0, x, 2)", "0*x"]
)
@pytest.mark.parametrize("x", [nan, inf])
def test_input_that_is_not_finite_is_no_mismatch(text: str, x: float) -> None:
    check = judged(text, {"x": x})
    assert check.verdict.word != "mismatch", said(check)


@pytest.mark.parametrize(
    ("text", "x"),
    [("(1 - cos(x))/x**2", 1e-4), ("exp(x) - 1 - x", 1e-12), ("(exp(x) - 1)/x", 1e-8)],
)
def test_ill_conditioned_says_how_many_digits_are_right(text: str, x: float) -> None:
    check = judged(text, {"x": x})
    found = check.variables["x"]
    assert check.verdict.word == found.verdict.word == "ill-conditioned", said(check)
    right = -math.log10(abs(found.worst.engine / found.worst.reference - 1))
    assert found.digits == max(0, math.floor(right)) < 6
    assert str(found.digits) in found.reason


def test_a_derivative_beyond_the_floats_is_not_called_right() -> None:
    check = judged("log(x)", {"x": 5e-324})
    assert check.variables["x"].verdict.word == "ill-conditioned"
    assert (
        check.variables["x"].reason
        == "too large for float64: the true value is 2.0240225330731062e+323"
    )


@pytest.mark.parametrize(
    ("error", "verdict"), [(1e-8, "ill-conditioned"), (1e-11, "agree"), (5e-4, "ill-conditioned")]
)
def test_an_entry_is_judged_by_its_own_digits_however_large_its_neighbours_are(
    error: float, verdict: str
) -> None:
    m = mpmath.MPContext()
    exact = np.array([m.mpf("0.001"), m.mpf(1000)], dtype=object)
    compared = Comparison(
        m, exact, exact, np.array([0.001 + error, 1000.0]), np.array([1.0, 1.0]), None
    )
    assert compared.result("composed").verdict.word == verdict


def test_undetermined_says_which_limit() -> None:
    late = judged("sum(sin(x))", {"x": np.linspace(0, 1, 2000)}, timeout=0.01)
    assert (late.verdict.word, late.variables["x"].verdict.word) == ("undetermined", "undetermined")
    assert "time" in late.reason
    assert judged("x**2", {"x": 2.0}, timeout=1e-9).verdict.word == "undetermined"


def test_too_large_for_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "LARGEST", 100)
    large = judged("sum(erf(x))", {"x": np.ones(200)})
    assert large.verdict.word == large.variables["x"].verdict.word == "undetermined"
    assert "100" in large.reason
    assert judged("sum(erf(x))", {"x": np.ones(20)}).verdict.word == "agree"


@pytest.mark.parametrize(
    ("text", "values"), [("x > 1", {"x": 2.0}), ("argmax(x)", {"x": [1.0, 2.0]})]
)
def test_skipped_says_why(text: str, values: dict[str, Any]) -> None:
    check = judged(text, values)
    assert check.verdict.word == "skipped"
    assert check.reason


SIZES = [("sin(x)*y", {"x": 0.7, "y": [1.0, 2.0]}, "symbolic"), ("sum(x**2)", {"x": np.arange(1.0, 51.0)}, "composed"),
         ("sum(tanh(x @ x))", {"x": A4[:3, :3]}, "symbolic")]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "source"), SIZES, ids=[s[0] for s in SIZES])
def test_record_says_what_decided_and_how_closely(
    text: str, values: dict[str, Any], source: str
) -> None:
    record = gradcli.evaluate(f"sum({text})", at=values, formula=False)
    for name, part in record.check.variables.items():
        size = np.size(values[name])
        assert part.decided_by == source
        assert part.entries == (size, size)
        assert (part.wrong, part.kinks, part.reason) == (0, [], None)
        assert part.digits >= 14
        assert 0 <= part.max_rel_error < 1e-14
        assert part.worst.engine == np.asarray(record.grad[name])[part.worst.index]
        assert part.worst.reference == pytest.approx(part.worst.engine, rel=1e-14)
    assert record.check.reason is None
    assert record.check.value.verdict.word == "agree"


def test_worst_entry_comes_first_of_how_many() -> None:
    scope, root = lowered("sum(x**2)", {"x": [[1.0, 2.0], [3.0, 4.0]]})
    record = recorded(scope, root, ["x"])
    record.grad["x"] = record.grad["x"] * [[1.0, 1.01], [nan, 1.5]]
    part = verdict_of(scope, root, record).variables["x"]
    assert part.worst.index == (1, 0)
    record.grad["x"] = np.array([[2.0, 4.04], [6.0, 12.0]])
    part = verdict_of(scope, root, record).variables["x"]
    assert (part.verdict.word, part.wrong, part.entries, part.worst.index) == (
        "mismatch",
        2,
        (4, 4),
        (1, 1),
    )
    assert (part.worst.engine, part.worst.reference) == (12.0, 8.0)
    assert (part.max_abs_error, part.max_rel_error) == (4.0, 0.5)


def test_gravest_verdict_counts() -> None:
    check = judged("sum(abs(x)) + sqrt(y) + z**2", {"x": [0.0, 1.0], "y": 0.0, "z": 3.0})
    assert {n: v.verdict.word for n, v in check.variables.items()} == {
        "x": "kink",
        "y": "undefined",
        "z": "agree",
    }
    assert check.verdict.word == "undefined"


@contextmanager
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every rule and forward pass, and the sweep, fail."""

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("the reference used the engine")

    with ExitStack() as stack:
        patched = stack.enter_context(monkeypatch.context())
        for part in ("backward", "contributions", "scale", "sum_to", "chain"):
            patched.setattr(sweep, part, forbidden)
        patched.setattr(nodes, "forward", forbidden)
        for op in list(registry().values()):
            fields: dict[str, Any] = {"forward": lambda f: forbidden}
            if op.partials:
                fields["partials"] = lambda rules: tuple(
                    None if r is None else forbidden for r in rules
                )
            if op.vjp:
                fields["vjp"] = lambda f: forbidden
            stack.enter_context(planted(op.name, **fields))
        yield


INDEPENDENT = [
    ("sum(tanh(x @ y) + y)", {"x": A4, "y": [1.0, 2.0, 3.0, 4.0]}), ("logsumexp(x) + "
    "norm(x)*max(x)", {"x": [0.1, 2.0, -3.0]}),
    ("det(inv(x)) + sum(solve(x, x[0]))", {"x": A4[:2, :2]}), ("sum(grad(prod(x)*sin(x[0]), x)**2)", {"x": [0.5, 2.0, -3.0]}),
    ("where(x > 1, x**y, relu(x))*abs(y)", {"x": 2.0, "y": -1.5}),
    ("sum(hessian(sum(x**3*y), x)[0] + cumsum(x[::-1]))", {"x": [1.0, 2.0], "y": 3.0}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), INDEPENDENT, ids=[i[0] for i in INDEPENDENT])
def test_reference_never_uses_the_engine(
    monkeypatch: pytest.MonkeyPatch, text: str, values: dict[str, Any]
) -> None:
    from gradcli.reference.symbolic.derivative import WholeDerivative
    from gradcli.reference.symbolic.translate import Unsupported

    scope, root = lowered(text, values)
    wrt = [scope.names[n] for n in values]
    leaves = {x: scope.values[x] for x in wrt}

    def references() -> list[Any]:
        m = mpmath.MPContext()
        m.dps = 50
        tape = ReferenceTape(m, leaves, "float64")
        y = tape.run(root, wrt)
        seed = np.array([m.one], dtype=object).reshape(y.shape)
        found = [
            float(getattr(v, "value", v))
            for x in wrt
            for v in np.ravel(tape.gradient(y, seed, tape.table[x]))
        ]
        try:
            whole = WholeDerivative(m, root, wrt, leaves, np.float64(1), "float64").evaluate(m)
        except Unsupported:
            whole = []
        return [found, [float(v) for part in whole for v in np.ravel(part)]]

    before = references()
    with no_engine(monkeypatch):
        assert references() == before
    engine = recorded(scope, root, list(values)).grad
    assert before[0] == pytest.approx(
        np.concatenate([np.ravel(g) for g in engine.values()]).tolist(), rel=1e-12
    )


def nested(text: str, times: int) -> str:
    found = "x"
    for _ in range(times):
        found = text.replace("#", found)
    return found


# of which sympy looks for other forms, by expanding them or by polynomials, unless it is told the
# sizes, the signs and no odd numbers
@pytest.mark.parametrize(
    "text",
    [nested("cbrt(#)/(1 + abs(#))", 6), nested("sqrt(abs(#))*sign(#)", 6), "sum(cbrt([0.1, 0.2, "
    "0.3]*x + [0.7, 0.3, 0.2]))",
     "sum(sqrt([0.1, 0.2, 0.3]*x - 0.01))"],
)  # fmt: skip
def test_sympy_differentiates_nests_of_roots_in_moments(text: str) -> None:
    check = judged(text, {"x": 1.1})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", "symbolic"), said(
        check
    )
