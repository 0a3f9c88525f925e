"""Bounds on rounding: no true error is beyond them, whatever a program is made of, in whichever way
it is computed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import EVERY
from helpers import lowered
from recorded import read_table

from gradcli.check.judge import forward_exact, gradients_exact
from gradcli.check.rounding import Arithmetic, error_bounds
from gradcli.graph import sweep
from gradcli.graph.nodes import Expr, forward, reachable
from gradcli.graph.sweep import gradients
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.plans.plan import Plan
from gradcli.plans.source import Gradients

M = mpmath.MPContext()
M.dps = 50
PRECISIONS = ("float64", "float32")


class Run:
    """A program at a point, with its value and gradients: true, and as the engine computes them in
    a precision.
    """

    def __init__(self, text: str, values: dict[str, Any], precision: str) -> None:
        given = {
            name: np.asarray(value).astype(precision)
            for name, value in values.items()
            if np.asarray(value).dtype.kind == "f"
        }
        scope, self.root = lowered(text, {**values, **given})
        leaves = {node.payload.name: node for node in reachable([self.root]) if node.is_leaf}
        self.wrt = [leaves[name] for name in given if name in leaves]
        self.leaves: dict[Expr, Any] = {
            node: _in(precision, scope.values[node]) for node in leaves.values()
        }
        self.precision, self.seed = precision, np.ones(self.root.shape)

    def computed(self) -> Iterator[list[Any]]:
        """By the forward pass and the sweep, and by a plan."""
        table = forward([self.root], self.leaves, self.precision)
        with np.errstate(all="ignore"):
            found = gradients(
                reachable([self.root]),
                {self.root: np.ones_like(table[self.root])},
                self.wrt,
                table.__getitem__,
            )
        yield [table[self.root], *(found.get(x, np.zeros(x.shape)) for x in self.wrt)]
        if not self.root.shape and len(self.wrt) == len(self.leaves):
            yield Plan(Gradients(self.root, self.wrt), self.wrt, self.precision)(
                [self.leaves[x] for x in self.wrt]
            )

    def true(self) -> list[np.ndarray]:
        table = forward_exact(M, self.root, self.leaves, self.precision)
        return [table[self.root].array, *gradients_exact(M, table, self.root, self.wrt, self.seed)]

    def arguments(self) -> tuple[Any, ...]:
        return self.root, self.wrt, self.leaves, self.seed, self.precision


def _in(precision: str, value: Any) -> Any:
    return np.asarray(value).astype(precision)[()] if np.asarray(value).dtype.kind == "f" else value


def use(computed: list[Any], true: list[np.ndarray], bounds: list[np.ndarray]) -> float:
    """How much of its bound the worst entry uses."""
    worst = 0.0
    for found, right, bound in zip(computed, true, bounds, strict=True):
        for y, t, b in zip(
            np.ravel(found),
            np.ravel(right),
            np.ravel(np.broadcast_to(bound, np.shape(found))),
            strict=True,
        ):
            if isinstance(t, bool) or not np.isfinite(y) or not M.isfinite(t) or np.isinf(b):
                continue
            off = abs(M.mpf(float(y)) - t)
            worst = max(worst, float(off / M.mpf(float(b))) if b else float("inf") if off else 0.0)
    return worst


def bounded(run: Run, bounds: Any) -> float:
    true = run.true()
    return max(use(found, true, bounds[0]) for found in run.computed())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_case_of_the_catalogue_is_beyond_its_bound(precision: str) -> None:
    beyond = []
    for case in EVERY[:: 3 if precision == "float64" else 5]:
        run = Run(
            case.text,
            {name: np.asarray(value, float) for name, value in case.values.items()},
            precision,
        )
        if (used := bounded(run, error_bounds(*run.arguments()))) > 1:
            beyond.append((case.text, used))
    assert not beyond


UNARY = (
    "sin({})", "cos({})", "exp({})", "tanh({})", "log(1+({})**2)", "({})**3", "sqrt(1+({})**2)", "abs({})", "relu({})", "atan({})",
    "asinh({})", "sigmoid({})", "1/(2+sin({}))", "exp(-({})**2)", "erf({})", "softplus({})", "gelu({})", "silu({})", "expm1({})",
    "cbrt({})", "lgamma(2+({})**2)", "jv(1,{})", "1000*({})", "({})/1000", "asin(tanh({}))", "log_ndtr({})", "logaddexp({},1)",
    "where({0}>0,{0},0.3*({0}))", "clip({},-1,1)", "atan2({},3)", "floor({})", "gamma(1.5+tanh({}))", "logit(sigmoid({}))",
)  # fmt: skip
BINARY = (
    "({}+{})",
    "({}-{})",
    "({}*{})",
    "({})/(2+cos({}))",
    "maximum({},{})",
    "hypot({},{})",
    "where(x>0,{},{})",
    "(1+({})**2)**tanh({})",
)
WHOLE = (
    "sum({})", "mean({})", "std({})", "var({})", "logsumexp({}, axis=None)", "norm({})", "max({})", "sum(cumsum({}))/10",
    "sum(softmax({}, axis=None)*y)",
    "sum(log_softmax({}, axis=None)*x)", "sum(sort({})*y)", "prod(1+({})/50)", "median({})", "sum(cumprod(1+({})/50))", "norm({},3)",
    "dot({},y)", "sum(logcumsumexp({},0))", "quantile({},0.3)", "sum(matmul(reshape({},(3,4)),reshape(y,(4,3)))**2)",
    "det(reshape(({})[:9],(3,3))/9+eye(3))", "sum(solve(reshape(({})[:9],(3,3))/20+eye(3), y[:3]))", "sum(flip({})*x)",
    "sum(({})[::2]*y[:6])", "norm(({})-mean({}))", "norm({},inf)",
)  # fmt: skip


def expression(chance: random.Random, depth: int) -> str:
    if not depth:
        return chance.choice(("x", "y", "(x-y)", "(x*y)"))
    if chance.random() < 0.4:
        return chance.choice(BINARY).format(
            expression(chance, depth - 1), expression(chance, depth - 1)
        )
    return chance.choice(UNARY).format(expression(chance, depth - 1))


def program(seed: int) -> tuple[str, dict[str, Any]]:
    """A program on arrays that nearly cancel, are tiny or huge, or have ties, each as chance will
    have it.
    """
    chance, draw = random.Random(seed), np.random.default_rng(seed)
    inner = expression(chance, chance.randint(1, 4))
    x, y = (
        draw.standard_normal(12) * chance.choice((0.01, 0.1, 1, 1, 3, 10)),
        draw.standard_normal(12) * chance.choice((0.1, 1, 3)),
    )
    if chance.random() < 0.2:
        x = np.round(x * 4) / 4
    if chance.random() < 0.2:
        y = x + 1e-6 * y
    return chance.choice(WHOLE).replace("{}", "{0}").format(inner), {"x": x, "y": y}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_random_program_is_beyond_its_bounds(precision: str) -> None:
    beyond, tight = [], []
    for seed in range(18):
        run = Run(*program(seed), precision)
        if not np.isfinite(forward([run.root], run.leaves, precision)[run.root]):
            continue
        used = bounded(run, error_bounds(*run.arguments()))
        tight.append(used)
        if used > 1:
            beyond.append((seed, program(seed)[0], used))
    assert not beyond
    assert max(tight) > 0.05  # the bound is of the size of the errors


def test_accumulated_rounding_is_in_the_bound() -> None:
    """Thousands of additions of a running sum lose more than each of them does."""
    run = Run("sum(cumsum(x))/10", {"x": np.linspace(0.1, 1.7, 2000)}, "float32")
    (_, bound), _ = error_bounds(*run.arguments())
    _, slope = next(run.computed())
    (_, true) = run.true()
    assert bounded(run, error_bounds(*run.arguments())) <= 1
    assert np.max(bound / np.abs(slope)) > 1e-5
    assert (
        use([slope], [true], [2**-23 * np.abs(slope)]) > 1
    )  # more than one unit in the last place


# What parameters operations are held with.
STATIC: dict[str, list[dict[str, Any]]] = read_table("rounding_static.json")


def _facts() -> list[Any]:
    return [
        pytest.param(op, static, id=f"{op.name} {static or ''}")
        for op in registry().values()
        if op.elementwise and not op.linear and op.result in ("float", "same") and _says(op)
        for static in STATIC.get(op.name, [dict(op.static)])
    ]


def _says(op: Op) -> bool:
    return op.carries is not None


@pytest.mark.parametrize(("op", "static"), _facts())
def test_errors_carry_no_farther_than_a_record_says(op: Op, static: dict[str, Any]) -> None:
    """Of operands all over the domain and errors of all sizes, results for operands within the
    errors.
    """
    static = {name: tuple(v) if isinstance(v, list) else v for name, v in static.items()}
    draw, n = np.random.default_rng(7), 900
    operands: list[Any] = [
        draw.standard_normal(n) * 10.0 ** draw.uniform(-3, 1.5, n) for _ in op.operands
    ]
    for x in operands:
        x[: n // 4] = np.round(x[: n // 4] * 4) / 4 + 0.0
    if op.name == "where":
        operands[0] = operands[0] > 0
    errors = [
        np.abs(x) * 10.0 ** draw.uniform(-12, 0.3, n) * draw.choice([0, 1], n)
        if x.dtype.kind == "f"
        else 0.0
        for x in operands
    ]
    with np.errstate(all="ignore"):
        out = op.forward(*operands, **static)
        arithmetic = Arithmetic("float64")
        wide = [
            e if x.dtype.kind != "f" else e + 4e-16 * np.abs(x)
            for x, e in zip(operands, errors, strict=True)
        ]
        bound = arithmetic.by_facts(op, out, operands, wide, static)
        assert bound is not None
        for _ in range(8):
            moved = [
                x + e * draw.uniform(-1, 1, n) * draw.choice([1, 1e-3])
                if x.dtype.kind == "f"
                else x
                for x, e in zip(operands, errors, strict=True)
            ]
            reached = op.forward(*moved, **static)
            own = 8e-16 * max(op.ulps, 1) * np.maximum(np.abs(out), np.abs(reached)) + 1e-300
            known = np.isfinite(out) & np.isfinite(reached) & ~np.isnan(bound)
            assert not (known & (np.abs(reached - out) > bound * (1 + 1e-9) + own)).any()


@pytest.mark.parametrize("start", range(0, len(UNARY), 4))
def test_numbers_that_are_alike_are_bounded_as_one_by_one(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(start)
    values = {f"x{i}": draw.choice([draw.gauss(0, 1), draw.randint(-2, 2)]) for i in range(40)}
    forms = [draw.choice(UNARY[start : start + 4]) for _ in values]
    pairs = [draw.choice([f"{form}*x{draw.randrange(40)}", form]) for form in forms]
    terms = [form.format(x).replace("x>0", "x1>0") for form, x in zip(pairs, values, strict=True)]
    run = Run(" + ".join([*terms, *terms[::-3]]), values, "float64")
    tables = []
    for many in (50, 10**9):
        monkeypatch.setattr(sweep, "_MANY", many)
        with np.errstate(all="ignore"):
            tables.append([error_bounds(*run.arguments()), run.true()])
    (together, exact), (one_by_one, right) = tables
    assert bounded(run, together) <= 1
    assert together[1] == one_by_one[1]
    for found, expected in zip(together[0], one_by_one[0], strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.5)  # by the order of sums
    for x, y in zip(exact, right, strict=True):
        assert M.isnan(y[()]) or abs(x[()] - y[()]) <= M.mpf(10) ** -45 * abs(y[()])
