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
from helpers import lowered, thinned

import gradcli
from gradcli.check import judge
from gradcli.check.comparison import Comparison
from gradcli.graph import interpret, sweep
from gradcli.ops.registry import registry
from gradcli.reference.tape import ReferenceTape

inf, nan = math.inf, math.nan
RANDOM = np.random.default_rng(1)
A4, X64 = RANDOM.normal(size=(4, 4)).round(3), RANDOM.normal(size=(6, 4)).round(3)
THIRDS = [1.0, 2.0, 4.0]  # whose mean is no binary fraction
BCE = "binary_cross_entropy_with_logits"

Row = tuple[str, dict[str, Any], dict[str, Any]]

AGREE: list[tuple[str, dict[str, Any]]] = [
    ("exp(x)", {"x": 50.0}), ("exp(x)", {"x": 709.7}), ("exp(-x)", {"x": 800.0}), ("1/x", {"x": 1e-5}), ("1/x", {"x": 1e-150}),
    ("1/x", {"x": 1e300}), ("sin(1e10*x)", {"x": 0.7}), ("sin(x)", {"x": 1e22}), ("cos(x)", {"x": math.pi}),
    ("x**2 + 1e12", {"x": 1e-3}), ("relu(x)", {"x": 1e-7}), ("relu(x)", {"x": -1e-7}), ("tanh(x)", {"x": 20.0}),
    ("tanh(x)", {"x": 300.0}), ("tanh(x)", {"x": -800.0}), ("sum(sin(x)*x)", {"x": np.linspace(-3, 3, 2000)}),
    ("sum(x)", {"x": np.ones(2000)}), ("log(x)", {"x": 1e-6}), ("sqrt(x)", {"x": 1e-8}),
    ("x**-3", {"x": 1e3}), ("x**2", {"x": 1e-300}), ("x**2", {"x": 1e150}), ("x*y", {"x": 1e-300, "y": 1e300}),
    ("x**3", {"x": 1e-110}), ("x**3", {"x": 0.0}),
    ("sin(x)**2 + cos(x)**2", {"x": 0.3}), ("log(1 + x)", {"x": 1e-10}), ("gamma(x)", {"x": 150.0}), ("gamma(x)", {"x": -3.5}),
    ("digamma(x)", {"x": 1e-5}), ("digamma(x)", {"x": 1e10}), ("digamma(x)", {"x": -0.5}), ("lgamma(x)", {"x": 1e10}),
    ("lgamma(x)", {"x": -2.5}), ("erf(x)", {"x": 5.0}), ("erf(x)", {"x": 26.0}), ("erfc(x)", {"x": 25.0}),
    ("erfc(x)", {"x": -5.0}), ("polygamma(2, x)", {"x": 3.0}), ("det(x)", {"x": [[1.0, 2.0], [2.0, 4.0]]}),
    ("det(x)", {"x": np.arange(1.0, 10.0).reshape(3, 3)}), ("det(x)", {"x": np.zeros((2, 2))}), ("sum(inv(X.T @ X))", {"X": X64}),
    ("log(det(A @ A.T))", {"A": A4}), ("slogdet(A)[1]", {"A": A4}), ("sum(solve(A, b)**2)", {"A": A4, "b": [1.0, 2.0, 3.0, 4.0]}),
    ("sum(x @ y)", {"x": np.ones((9, 9)) / 3, "y": np.ones((9, 9)) / 7}), ("prod(x)", {"x": [0.0, 2.0, 3.0]}),
    ("prod(x)", {"x": [0.0, 0.0, 3.0]}), ("sum(cumprod(x))", {"x": [2.0, 0.0, 0.0, 3.0]}),
    ("softmax(x)[0]", {"x": [1000.0, 0.0, -1000.0]}), ("softmax(x)[0]", {"x": [0.5, 0.1, 0.2]}),
    ("sum(log_softmax(x)*y)", {"x": THIRDS, "y": THIRDS}), ("logsumexp(x)", {"x": [1000.0, 999.0, -1000.0]}),
    ("norm(x)", {"x": [3e-200, 4e-200]}), ("norm(x)", {"x": [1e200, 1e200]}), ("norm(x, 3)", {"x": [0.0, 1.0]}),
    ("mean(x**2)", {"x": THIRDS}), ("mean(x, axis=1)[0]", {"x": [THIRDS]}), ("var(x)", {"x": THIRDS}),
    ("var(x, ddof=1)", {"x": [1.0, 2.0, 4.0, 7.0]}), ("std(x)", {"x": THIRDS}),
    ("var(x)", {"x": [1e8, 1e8 + 1, 1e8 + 2, 1e8 + 4]}), (f"{BCE}(x, y)", {"x": THIRDS, "y": [1.0, 0.0, 0.5]}),
    (f"{BCE}(x, y)", {"x": [1000.0, -1000.0], "y": [1.0, 1.0]}), ("sigmoid(x)", {"x": -700.0}), ("sigmoid(x)", {"x": 40.0}),
    ("softplus(x)", {"x": -50.0}), ("log(sigmoid(x))", {"x": 800.0}), ("logaddexp(x, y)", {"x": 1000.0, "y": 0.0}),
    ("x**y", {"x": 2.0, "y": -1000.0}), ("x**x", {"x": 1e-10}), ("tan(x)", {"x": math.pi / 2}), ("atan(x)", {"x": 1e20}),
    ("acosh(x)", {"x": 1 + 1e-15}), ("hypot(x, y)", {"x": 1e-200, "y": 1e200}), ("expm1(x)", {"x": 1e-20}),
    ("max(x)", {"x": [1.0, 1 + 1e-15]}), ("exp(-x**2)", {"x": 200.0}), ("exp(-x**2)", {"x": 1e200}), ("exp(exp(x))", {"x": 6.0}),
    ("x % 3", {"x": 1e10 + 0.5}), ("cbrt(x)", {"x": -1e-20}), ("sum(x*y)", {"x": [[1.0], [2.0]], "y": THIRDS}),
    ("sum(x[[0, 0, 1]])", {"x": [1.0, 2.0]}), ("floor(x)*x", {"x": 2.5}),
    # On a kink of an operation, where the function is differentiable all the same
    ("where(x == 0, 1, sin(x)/x)", {"x": 0.0}), ("0*sqrt(x)", {"x": 0.0}), ("relu(x)**2", {"x": 0.0}), ("abs(x)*x", {"x": 0.0}),
    ("maximum(x, y)*0 + x", {"x": 1.0, "y": 1.0}), ("norm(x)**2", {"x": [0.0, 0.0]}), ("xlogy(x, "
    "y)", {"x": 0.0, "y": 1.0}),
    # Derivatives inside of expressions
    ("grad(x**4, x)", {"x": 1.5}), ("grad(grad(sin(x)*x, x), x)", {"x": 0.4}), ("sum(hessian(sum(x**3), x))", {"x": [1.0, 2.0]}),
    ("sum(jacobian(x**2*y, x))", {"x": [1.0, 2.0], "y": 3.0}), ("sum(hvp(sum(x**4), x, v))", {"x": [1.0, 2.0], "v": [1.0, -1.0]}),
    ("jvp(x**3, x, v)", {"x": 2.0, "v": 0.5}), ("z = x**2; grad(z + x**2, z)*x", {"x": 2.0}),
]  # fmt: skip

OPTIONS: list[Row] = [
    ("x**3*y", {"x": 2.0, "y": 3.0}, {"mode": "hessian"}),
    ("sum(x**3)*y", {"x": [2.0, 1e-5], "y": 3.0}, {"mode": "hessian"}),
    ("sum(softmax(x)*y)", {"x": [0.1, 0.2, 0.3], "y": THIRDS}, {"mode": "hessian"}),
    ("mean(x**3)", {"x": THIRDS}, {"mode": "hessian"}),
    ("x**3*y", {"x": [2.0, 1.0], "y": 3.0}, {"mode": "jacobian"}),
    ("sin(x)*[1, 2, 3]", {"x": 0.7}, {"mode": "jacobian"}),
    ("x**3*y", {"x": [2.0, 1.0], "y": 3.0}, {"jvp": {"x": [1.0, 2.0]}}),
    ("x**3", {"x": [2.0, 1.0]}, {"seed": [0.0, 1e-30]}),
    ("y = 3*x; exp(y)", {"x": 0.7}, {"wrt": ["y"]}),
    ("exp(x)*y", {"x": 50.0, "y": 1 / 3}, {"dtype": "float32"}),
    ("sum(tanh(x @ y))", {"x": A4, "y": A4}, {"dtype": "float32"}),
    ("tanh(x)", {"x": 20.0}, {"dtype": "float32"}),
    ("tanh(x)", {"x": 300.0}, {"dtype": "float32"}),  # 1e-260 is 0 there
    ("exp(-x)", {"x": 300.0}, {"dtype": "float32"}),
    ("log(x)", {"x": 1e-30}, {"dtype": "float32"}),
    ("sum(x)", {"x": np.linspace(0, 1, 2000)}, {"dtype": "float32"}),
]


def named(table: list[Row]) -> list[Any]:
    """Rows under names such as "x*y at 2.0, (3,) float32"."""
    names = []
    for text, values, options in table:
        shown = [str(v) if np.size(v) < 5 else str(np.shape(v)) for v in values.values()]
        names.append(
            f"{text} at {', '.join(shown)} {' '.join(str(o) for o in options.values())}".strip()
        )
    return [pytest.param(*row, id=name) for row, name in zip(table, names, strict=True)]


@pytest.mark.parametrize(
    ("text", "values", "options"), thinned(named([(t, v, {}) for t, v in AGREE] + OPTIONS), every=2)
)
def test_right_gradient_agrees(text: str, values: dict[str, Any], options: dict[str, Any]) -> None:
    check = judged(text, values, **options)
    parts = [*check.variables.values(), *([] if check.value is None else [check.value])]
    lossy = [part for part in parts if part.verdict.word != "agree"]
    assert all(
        part.verdict.word == "ill-conditioned" and "it underflows" in part.reason for part in lossy
    ), said(check)
    assert check.verdict.word == ("ill-conditioned" if lossy else "agree")


# At most "ill-conditioned": digits are lost that no calculation in this precision could keep.
HARD: list[Row] = [
    ("(x + 1e16) - 1e16", {"x": 1.0}, {}), ("(x + y) - x", {"x": 1e16, "y": 1.0}, {}),
    ("sin(1e10*x)", {"x": 0.7}, {"dtype": "float32"}), ("exp(x) - 1 - x", {"x": 1e-5}, {}), ("sinh(x)/cosh(x)", {"x": 20.0}, {}),
    ("x*log(x)", {"x": math.exp(-1)}, {}), ("sqrt(x**2 + 1) - x", {"x": 1e5}, {}), ("gamma(x)/gamma(x)", {"x": 30.0}, {}),
    ("var(x)", {"x": [1e8, 1e8 + 1, 1e8 + 3]}, {"dtype": "float32"}),
    ("mean(x**2) - mean(x)**2", {"x": [1e8, 1e8 + 1, 1e8 + 3]}, {}), ("(exp(x) - 1)/x", {"x": 1e-8}, {}),
    ("sin(x)/x", {"x": 1e-10}, {}), ("prod(x)", {"x": np.full(60, 1e-5)}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "options"), named(HARD))
def test_right_rule_is_never_called_wrong(
    text: str, values: dict[str, Any], options: dict[str, Any]
) -> None:
    check = judged(text, values, **options)
    assert check.verdict.word in ("agree", "ill-conditioned"), said(check)


# program, values, variable, entry, derivatives from the left and from the right, the value chosen,
# words of the convention
KINKS: list[tuple[str, dict[str, Any], str, int, float, float, float, str]] = [
    ("abs(x)", {"x": 0.0}, "x", 0, -1, 1, 0, "0"),
    ("3*abs(x) + x", {"x": 0.0}, "x", 0, -2, 4, 1, "0"),
    ("sum(abs(x))", {"x": [1.0, 0.0]}, "x", 1, -1, 1, 0, "0"),
    ("relu(x)", {"x": 0.0}, "x", 0, 0, 1, 0, "0"),
    ("relu(-x)", {"x": 0.0}, "x", 0, -1, 0, 0, "0"),
    ("maximum(x, y)", {"x": 1.0, "y": 1.0}, "x", 0, 0, 1, 0.5, "half"),
    ("minimum(x, y)", {"x": 1.0, "y": 1.0}, "y", 0, 1, 0, 0.5, "half"),
    ("max(0, 1 - x)", {"x": 1.0}, "x", 0, -1, 0, -0.5, "half"),
    ("max(x)", {"x": [2.0, 2.0, 1.0]}, "x", 1, 0, 1, 0.5, "evenly"),
    ("min(x)", {"x": [2.0, 1.0, 1.0]}, "x", 2, 1, 0, 0.5, "evenly"),
    ("floor(x)", {"x": 2.0}, "x", 0, 0, 0, 0, "0"),
    ("ceil(x) + x", {"x": 2.0}, "x", 0, 1, 1, 1, "0"),
    ("round(x)", {"x": 1.5}, "x", 0, 0, 0, 0, "0"),
    ("sign(x)", {"x": 0.0}, "x", 0, 0, 0, 0, "0"),
    ("x % y", {"x": 6.0, "y": 3.0}, "y", 0, -2, -1, -2, "floor"),
    ("clip(x, -1, 1)", {"x": 1.0}, "x", 0, 1, 0, 1, "1"),
    ("clip(x, -1, 1)", {"x": -1.0}, "x", 0, 0, 1, 1, "1"),
    ("norm(x)", {"x": [0.0, 0.0]}, "x", 0, -1, 1, 0, "0"),
    ("norm(x, 1)", {"x": [0.0, 2.0]}, "x", 0, -1, 1, 0, "0"),
    ("std(x)", {"x": [2.0, 2.0]}, "x", 0, -0.5, 0.5, 0, "0"),
    ("where(x > 0, x, 2*x)", {"x": 0.0}, "x", 0, 2, 1, 2, "condition"),
    ("exp(relu(x))*y", {"x": 0.0, "y": 3.0}, "x", 0, 0, 3, 0, "0"),
    ("y = 2*x; abs(y)", {"x": 0.0}, "y", 0, -1, 1, 0, "0"),
]


@pytest.mark.parametrize("row", KINKS, ids=[f"{k[0]}-{k[2]}" for k in KINKS])
def test_kink_shows_both_sides_and_the_choice(row: Any) -> None:
    text, values, name, entry, left, right, chosen, words = row
    check = judged(text, values, wrt=[name])
    assert check.verdict.word == check.variables[name].verdict.word == "kink", said(check)
    index = (entry,) if np.ndim(values.get(name, 0.0)) else ()
    (kink,) = [k for k in check.variables[name].kinks if k.index == index]
    assert (kink.left, kink.right, kink.chosen) == pytest.approx((left, right, chosen), abs=1e-15)
    assert words in kink.convention
    assert kink.convention in check.reason


def test_other_entries_than_those_on_a_kink_are_compared() -> None:
    check = judged("sum(abs(x)) + y", {"x": [0.0, -2.0, 3.0], "y": 1.0})
    assert [k.index for k in check.variables["x"].kinks] == [(0,)]
    assert check.variables["y"].verdict.word == "agree"


@pytest.mark.parametrize(
    "text", ["sum(abs(x))", "sum(relu(x))", "max(x)", "norm(x, 1)", "sum(maximum(x, 0))"]
)
def test_many_entries_on_a_kink(text: str) -> None:
    check = judged(text, {"x": np.zeros(40)})
    assert check.verdict.word == "kink", said(check)
    assert check.variables["x"].wrong == 0


def test_kinks_of_second_derivatives_and_of_rows() -> None:
    (second,) = judged("relu(x)**2", {"x": 0.0}, mode="hessian").variables["x,x"].kinks
    assert (second.left, second.right) == (0.0, 2.0)
    row = judged("relu(x)", {"x": [1.0, 0.0]}, mode="jacobian").variables["x"]
    assert row.verdict.word == "kink"
    assert [(k.left, k.right) for k in row.kinks] == [(0.0, 1.0)]


UNDEFINED = [
    ("sqrt(x)", {"x": 0.0}, "sqrt"), ("log(x)", {"x": 0.0}, "log"), ("log(x)", {"x": -1.0}, "log"),
    ("sqrt(x*x)", {"x": 0.0}, "sqrt"), ("1/x", {"x": 0.0}, "div"), ("x/x", {"x": 0.0}, "div"), ("asin(x)", {"x": 1.0}, "asin"),
    ("asin(x)", {"x": 2.0}, "asin"), ("hypot(x, y)", {"x": 0.0, "y": 0.0}, "hypot"), ("x**0.5", {"x": 0.0}, "pow"),
    ("x**y", {"x": -2.0, "y": 0.5}, "pow"), ("cbrt(x)", {"x": 0.0}, "cbrt"), ("gamma(x)", {"x": 0.0}, "gamma"),
    ("sum(sqrt(x))", {"x": [4.0, 0.0]}, "sqrt"), ("exp(log(x))", {"x": -1.0}, "log"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "where"), UNDEFINED)
def test_undefined_names_the_operation(text: str, values: dict[str, Any], where: str) -> None:
    check = judged(text, values)
    assert check.verdict.word == "undefined", said(check)
    assert check.variables["x"].verdict.word == "undefined"
    assert where in check.variables["x"].reason


@pytest.mark.parametrize(
    "text", ["abs(x)", "relu(x)", "x**2", "sign(x)*x", "maximum(x, 1)", "where(x > 0, x, 2)", "0*x"]
)
@pytest.mark.parametrize("x", [nan, inf])
def test_input_that_is_not_finite_is_no_mismatch(text: str, x: float) -> None:
    check = judged(text, {"x": x})
    assert check.verdict.word != "mismatch", said(check)


NO_NUMBER = [
    ("exp(x)/exp(x)", 1000.0, 0.0),
    ("sqrt(x**2)/x", 1e-200, 0.0),
    ("x**2/x**2", 1e200, 0.0),
]


@pytest.mark.parametrize(("text", "x", "true"), NO_NUMBER, ids=[n[0] for n in NO_NUMBER])
def test_a_result_that_is_no_number_where_the_true_one_is(text: str, x: float, true: float) -> None:
    check = judged(text, {"x": x})
    assert check.verdict.word == check.variables["x"].verdict.word == "mismatch", said(check)
    assert not math.isfinite(check.variables["x"].worst.engine)
    assert check.variables["x"].worst.reference == pytest.approx(true, abs=1e-15)


# An intermediate result overflows, and what follows makes a finite number of it that is far from
# the true one.
OVERFLOWN = [
    ("atan(log(exp(x)))", 1000.0, 1 / 1000001), ("minimum(log(exp(x)), 2000)", 1000.0, 1.0), ("log(1 + exp(x))", 1000.0, 1.0),
    ("sqrt(1 + x**2)", 1e200, 1.0), ("log(cosh(x))", 1000.0, 1.0), ("atan(exp(x))", 400.0, math.exp(-400)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "x", "true"), OVERFLOWN, ids=[o[0] for o in OVERFLOWN])
def test_overflow_is_not_rounding(text: str, x: float, true: float) -> None:
    check = judged(text, {"x": x})
    found = check.variables["x"]
    assert found.verdict.word == "mismatch", said(check)
    assert (found.worst.engine, found.worst.reference) == (0.0, pytest.approx(true))


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
    assert compared.result("composed", 2).verdict.word == verdict


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
        patched.setattr(interpret, "forward", forbidden)
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
            whole = WholeDerivative(
                m, root, wrt, leaves, np.float64(1), "float64", lambda key, make: make()
            ).evaluate(m)
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
