"""The judge finds planted mistakes: each as a mismatch of the right entry, with the wrong and the
true number.

A row is a mistake in one operation's record and a program that meets it, with the numbers that
mathematics and the mistake give at the worst entry. Without the mistake every row's program must
agree. One row stands for each way in which a mistake can hide; `planting` plants others of every
kind into every operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from checking import (
    full,
    instead,
    judged,
    one_off,
    operand,
    partial,
    planted,
    recorded,
    rounded,
    said,
    scaled,
    times,
    verdict_of,
    vjp,
)
from helpers import applied, exact, lowered
from planting.everything import sampled
from planting.mistakes import Mistake, table, tried
from planting.records import meanings, slopes

from gradcli.graph import sweep
from gradcli.ops.arrays.shapes import scatter_add
from gradcli.ops.calling import signatures
from gradcli.ops.elementwise.logic import greater, less, where
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.ops.special.gamma import sigmoid

pytestmark = pytest.mark.ci

inf, nan = math.inf, math.nan


class Row(NamedTuple):
    title: str
    op: str
    mistake: dict[str, Any]
    text: str
    values: dict[str, Any]
    place: str  # the variable and the index of the worst entry, as in x[0, 1]
    got: float
    want: float
    options: dict[str, Any] = {}  # noqa: RUF012


X500 = np.linspace(1.0, 2.0, 500)
HESSIAN = {"mode": "hessian"}
ROWS = [
    Row("wrong sign", "sin", partial(0, times(-1.0)), "sin(x)", {"x": 0.7}, "x", -math.cos(0.7), math.cos(0.7)),
    Row("a constant off by 1e-9", "erf", partial(0, times(1 + 1e-9)), "erf(x)", {"x": 0.5}, "x",
        2 / math.sqrt(math.pi) * math.exp(-0.25) * (1 + 1e-9), 2 / math.sqrt(math.pi) * math.exp(-0.25)),
    Row("off by 1e-14: below rounding", "log", partial(0, times(1 + 1e-14)), "log(x)", {"x": 4.0}, "x", 0.25 * (1 + 1e-14), 0.25),
    Row("wrong sign of something small", "mul", partial(1, times(-1.0)), "1e-6*x", {"x": 2.0}, "x", -1e-6, 1e-6),
    Row("missing exp(-20*x)", "exp", partial(0, instead(lambda out, x: 0.0 * x)), "x + exp(-20*x)", {"x": 1.0}, "x",
        1.0, 1 - 20 * math.exp(-20)),
    Row("wrong in one branch only", "relu", partial(0, instead(lambda out, x: where(less(x, 0.0), 0.01, 1.0))), "sum(relu(x))",
        {"x": [1.5, -2.0, 3.0]}, "x[1]", 0.01, 0.0),
    Row("the branch not taken", "where", {"vjp": operand(1, lambda part: part * 0.0 + 1.0)}, "sum(where(x > 0, 3*x, x))",
        {"x": [1.0, -1.0]}, "x[1]", 4.0, 1.0),
    Row("wrong far from the origin", "softplus",
        partial(0, instead(lambda out, x, beta, threshold: where(greater(x, 5.0), 1.0, sigmoid(x)))), "sum(softplus(x))",
        {"x": [0.7, 6.0]}, "x[1]", 1.0, 1 / (1 + math.exp(-6))),
    Row("one in 500 off by 0.05 %", "sum", {"vjp": operand(0, one_off(500, 123, 5e-4))}, "sum(x**2)", {"x": X500}, "x[123]",
        2 * X500[123] * 1.0005, 2 * X500[123]),
    Row("division by a zero entry", "prod", vjp(lambda c, out, x, axis, keepdims: full(c * out, x, axis) / x), "prod(x)",
        {"x": [0.0, 2.0, 3.0]}, "x[0]", nan, 6.0),
    Row("index off by one", "getitem", vjp(lambda c, out, x, index: scatter_add(c, index=(0,), shape=x.shape)), "x[1]**2",
        {"x": [1.0, 3.0]}, "x[0]", 6.0, 0.0),
    Row("slices swapped", "stack", {"vjp": lambda right: lambda *a, **s: tuple(reversed(right(*a, **s)))}, "stack([x, y])[0]",
        {"x": 5.0, "y": 6.0}, "y", 1.0, 0.0),
    Row("zeros at a singular matrix", "det", scaled(0.0), "det(x)", {"x": [[1.0, 2.0], [2.0, 4.0]]}, "x[0, 0]", 0.0, 4.0),
    Row("sign of sin's second", "cos", partial(0, times(-1.0)), "sin(x)", {"x": 0.7}, "x,x",
        math.sin(0.7), -math.sin(0.7), HESSIAN),
    Row("mixed second", "mul", partial(1, times(1 + 1e-6)), "x*x*y", {"x": 3.0, "y": 2.0}, "x,y", 6.0 + 3e-6, 6.0, HESSIAN),
    Row("second of prod", "cumprod", scaled(3.0), "grad(prod(x), x)[0]", {"x": [2.0, 3.0, 5.0]}, "x[1]", 15.0, 5.0),
    Row("float32", "matmul", {"forward": rounded, "operator": rounded}, "(x @ y)**2", {"x": [0.1, 0.7], "y": [0.3, 1.0]}, "x[0]",
        0.6 * float(np.float32(0.73)), 0.6 * 0.73),
    Row("assigned, not added", "scatter_add", {"forward": lambda f: lambda x, index, shape: np.array([1.0, 0.0])},
        "sum(x[[0, 0]])", {"x": [3.0, 4.0]}, "x[0]", 1.0, 2.0),
    Row("no value", "log", {"forward": lambda f: lambda x: np.float64(nan)}, "x*log(y)", {"x": 1.0, "y": 2.0}, "x",
        nan, math.log(2)),
]  # fmt: skip
over_rows = pytest.mark.parametrize(
    "row", [pytest.param(r, id=f"{r.op}: {r.title} in {r.text}") for r in ROWS]
)


@over_rows
def test_planted_mistake_is_found(row: Row) -> None:
    with planted(row.op, **row.mistake):
        check = judged(row.text, row.values, **row.options)
    assert check.verdict.word == "mismatch", said(check)
    variable, _, index = row.place.partition("[")
    found = check.variables[variable]
    assert found.verdict.word == "mismatch", said(check)
    assert found.wrong >= 1
    assert found.reason
    assert found.worst.index == tuple(int(i) for i in index.rstrip("]").split(",") if i)
    assert found.worst.engine == pytest.approx(row.got, rel=2e-15, nan_ok=True)
    assert found.worst.reference == pytest.approx(row.want, rel=2e-15)


@over_rows
def test_without_the_mistake_it_agrees(row: Row) -> None:
    check = judged(row.text, row.values, **row.options)
    assert check.verdict.word == "agree", said(check)


def overwritten(right: Any) -> Any:
    """Two contributions to one operand: the later one replaces the earlier."""

    def contributions(node: Any, *rest: Any) -> list[Any]:
        parts = right(node, *rest)
        return [
            None if o in node.operands[i + 1 :] else part
            for i, (o, part) in enumerate(zip(node.operands, parts, strict=True))
        ]

    return contributions


SWEEP = [
    ("sum_to", lambda f: lambda x, shape: f(x, shape=shape) * 0.5, "sum(x*y)", {"x": 2.0, "y": [3.0, 4.0]}, "x", (), 3.5, 7.0),
    ("contributions", overwritten, "x*x", {"x": 3.0}, "x", (), 3.0, 6.0),
    ("scale", lambda f: lambda cotangent, partial: partial + 0.0 * cotangent, "3*sin(x)", {"x": 0.7},
     "x", (), math.cos(0.7), 3 * math.cos(0.7)),
]  # fmt: skip


@pytest.mark.parametrize("row", SWEEP, ids=[f"{s[0]} in {s[2]}" for s in SWEEP])
def test_mistake_of_the_sweep_is_found(monkeypatch: pytest.MonkeyPatch, row: Any) -> None:
    part, wrong, text, values, name, index, got, want = row
    assert judged(text, values).verdict.word == "agree"
    monkeypatch.setattr(sweep, part, wrong(getattr(sweep, part)))
    check = judged(text, values)
    assert check.variables[name].verdict.word == "mismatch", said(check)
    worst = check.variables[name].worst
    assert (worst.index, worst.engine, worst.reference) == (
        index,
        pytest.approx(got),
        pytest.approx(want),
    )


# Mistakes that something else might hide: a kink beside them, cancellation, another mode, an entry
# without a derivative.
FIVE_AT_0 = partial(
    0, instead(lambda out, x: where(greater(x, 0.0), 1.0, where(less(x, 0.0), 0.0, 5.0)))
)
HIDDEN: list[tuple[str, str, dict[str, Any], str, dict[str, Any], dict[str, Any]]] = [
    ("a choice outside of the one-sided derivatives", "relu", FIVE_AT_0, "relu(x)", {"x": 0.0}, {}),
    ("beside a jump", "sin", partial(0, times(2.0)), "floor(x) + sin(x)", {"x": 0.0}, {}),
    ("another entry on a kink", "abs", partial(0, instead(lambda out, x: 1)), "sum(abs(x))", {"x": [0.0, -2.0]}, {}),
    ("a tiny derivative", "mul", partial(1, times(1 + 1e-6)), "1e-300*x", {"x": 1.0}, {}),
    ("many digits lost", "exp", partial(0, times(1 + 1e-6)), "exp((1 - cos(x))/x**2)", {"x": 1e-6}, {}),
    ("float32", "sin", partial(0, times(1 + 1e-9)), "sin(x)", {"x": 0.7}, {"dtype": "float32"}),
    ("a jvp", "sin", partial(0, times(-1.0)), "sin(x)", {"x": 0.7}, {"jvp": {"x": 1.0}}),
    ("a Jacobian by rows", "sin", partial(0, times(-1.0)), "sin(x)", {"x": [0.7, 1.0]}, {"mode": "jacobian"}),
    ("a seed", "sin", partial(0, times(-1.0)), "sin(x)", {"x": [0.7, 1.0]}, {"seed": [0.0, 1e-20]}),
    ("a large graph", "sin", partial(0, times(1 + 1e-9)), "sum(sin(x))", {"x": np.linspace(0.1, 1.0, 1000)}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mistake", "text", "values", "options"),
    [pytest.param(*h[1:], id=h[0]) for h in HIDDEN],
)
def test_hidden_mistake_is_found(
    name: str, mistake: Any, text: str, values: Any, options: Any
) -> None:
    right = judged(text, values, **options)
    assert right.verdict.word != "mismatch", said(right)
    with planted(name, **mistake):
        check = judged(text, values, **options)
    assert check.verdict.word == "mismatch", said(check)


TAMPERED: dict[str, Callable[[Any], Any]] = {
    "5e-6": lambda g: g * (1 + 5e-6),
    "sign": lambda g: -g,
    "factor": lambda g: 2 * g,
    "zeros": lambda g: g * 0,
    "NaN": lambda g: g * nan,
    "infinite": lambda g: g * inf,
    "0.05 % of one": lambda g: (
        np.where(np.arange(np.size(g)) == 123, g * 1.0005, g) if np.ndim(g) else g * 1.0005
    ),
}
TAMPERED_IN: list[tuple[str, dict[str, Any]]] = [
    ("x**3", {"x": 2.0}), ("1e-6*x", {"x": 2.0}), ("sum(x**2)", {"x": X500}), ("exp(x)", {"x": 50.0}),
    ("sin(x)*y", {"x": 0.7, "y": 2.0}),
]  # fmt: skip


@pytest.mark.parametrize("wrong", TAMPERED.values(), ids=TAMPERED)
@pytest.mark.parametrize(("text", "values"), TAMPERED_IN, ids=[text for text, _ in TAMPERED_IN])
def test_wrong_number_is_found_whatever_path_computed_it(
    text: str, values: Any, wrong: Any
) -> None:
    """The rules are right, and the gradient that the record shows is not theirs."""
    scope, root = lowered(text, values)
    record = recorded(scope, root, list(values))
    assert verdict_of(scope, root, record).verdict.word == "agree"
    record.grad["x"] = wrong(record.grad["x"])
    check = verdict_of(scope, root, record)
    assert check.variables["x"].verdict.word == "mismatch", said(check)
    assert all(
        part.verdict.word == "agree" for name, part in check.variables.items() if name != "x"
    ), said(check)


@pytest.mark.parametrize("wrong", TAMPERED.values(), ids=TAMPERED)
def test_wrong_value_is_found_whatever_path_computed_it(wrong: Any) -> None:
    scope, root = lowered("x**3", {"x": 2.0})
    record = recorded(scope, root, ["x"])
    record.value = wrong(record.value)
    check = verdict_of(scope, root, record)
    assert check.value.verdict.word == "mismatch", said(check)


# The reference of betainc_slope's own slope is a difference of differences, good to fewer digits
# than a composed one is held to; sympy's derivative decides about it in programs.
_ROUGH = ("betainc_slope",)
SMOOTH = [
    (op, i)
    for op in registry().values()
    if op.kind == "smooth" and op.name not in _ROUGH
    for i, rule in enumerate(op.partials or ())
    if rule
]
CANDIDATES = [(0.6, 0.8, 0.3), (1.7, 0.4, 0.6), (-0.6, 1.3, 0.2), (2.5, 3.0, 0.7)]


CHOSEN = [
    (op, i)
    for op, i in SMOOTH[::3]
    if (op.name, i) != ("gammainc_slope", 0)  # a second derivative, which there is not
]


@pytest.mark.parametrize(
    ("op", "place"), CHOSEN, ids=[f"{op.name} {op.operands[i]}" for op, i in CHOSEN]
)
def test_each_smooth_operation_off_by_a_millionth(op: Op, place: int) -> None:
    found = 0
    for point in CANDIDATES:
        if exact(op, *point[: len(op.operands)]) is None:
            continue
        scope, root, names = applied(op, *point[: len(op.operands)])
        record = recorded(scope, root, names)
        slope = record.grad[names[place]]
        if not math.isfinite(slope) or slope == 0:
            continue
        found += 1
        right = verdict_of(scope, root, record)
        assert right.variables[names[place]].verdict.word == "agree", (
            f"{op.name} at {point}: {said(right)}"
        )
        with planted(op.name, **partial(place, times(1 + 1e-6))):
            wrong = verdict_of(scope, root, recorded(scope, root, names))
        assert wrong.verdict.word == "mismatch"
        assert [n for n, v in wrong.variables.items() if v.verdict.word == "mismatch"] == [
            names[place]
        ], said(wrong)
        assert wrong.variables[names[place]].max_rel_error == pytest.approx(1e-6, rel=1e-6)
    assert found


def test_exit_code_of_a_mismatch(call_cli: Callable[..., Any]) -> None:
    arguments = ("eval", "sin(x)*y", "x=0.7", "y=2", "--format", "text")
    assert call_cli(*arguments).returncode == 0
    with planted("sin", **partial(0, times(-1.0))):
        done = call_cli(*arguments)
        quiet = call_cli(*arguments, "--quiet")
        unchecked = call_cli(*arguments, "--no-check")
    assert (done.returncode, quiet.returncode, unchecked.returncode) == (1, 1, 0)
    for shown in (done.stdout, quiet.stdout):
        assert "mismatch" in shown
        assert "-1.529" in shown
        assert "1.529" in shown.replace("-1.529", "")
    assert call_cli(*arguments).returncode == 0, "the mistake is gone again"


# -- a sample of what `python -m tests.planting` plants
# ---------------------------------------------------------------


_IN_TABLES = signatures._TABLES[
    "numpy"
]  # which is asked first: another meaning of an alias that stands there changes nothing
SAMPLE = [
    m
    for m in sampled(60, seed=24)
    if (m.kind != "name: an alias" or m.place.split()[0] not in _IN_TABLES)
    # which no oracle calls yet, or whose numbers are drawn
    and not m.place.startswith(("math.fsum", "Categorical.", "rand "))
]


@pytest.mark.parametrize("mistake", [pytest.param(m, id=f"{m.kind} in {m.place}") for m in SAMPLE])
def test_planted_mistake_is_found_by_the_verdict_or_by_a_test_with_a_name(mistake: Mistake) -> None:
    found = tried(mistake, wide=False)
    assert found.by != "missed", (
        f"{mistake.kind} in {mistake.place} shows in {found.words}: neither the verdict nor a "
        "test sees it"
    )


def test_a_mistake_that_nobody_looks_for_is_missed() -> None:
    """The harness itself: a function that is another everywhere, with no test to be asked."""
    (wrong,) = [m for m in meanings() if m.kind == "function: everywhere" and m.place == "asinh"]
    assert tried(wrong, wide=False).by.startswith("tests/test_oracles.py")
    found = tried(wrong._replace(tests=lambda wide: []), wide=False)
    assert found.by == "missed"
    assert "missed: function: everywhere in asinh" in table([found])
    (slope,) = [m for m in slopes() if m.kind == "slope: a factor" and m.place == "sin by x"]
    assert tried(slope, wide=False).by == "verdict"
    assert judged("sin(x)", {"x": 0.7}).verdict.word == "agree", "all is taken out again"
