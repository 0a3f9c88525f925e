"""Pairs of doubles, in which the judge of large arrays computes where there is a compiler: errors, ranges, loops, and the same verdicts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import gradcli
from gradcli.check import large
from gradcli.check.crosscheck import cross_check
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.ops.wholes.equations import lu_factors, solved, unit
from gradcli.ops.wholes.products import product
from gradcli.ops.wholes.refined import refined_determinant, refined_inverse
from gradcli.plans.native import compiler
from gradcli.reference.pairs import library
from gradcli.reference.pairs.arrays import numbers
from gradcli.reference.pairs.deferred import OutOfRange, Wide
from gradcli.report.records import Record

LONG = np.longdouble
UNIT = float(np.finfo(LONG).eps)
RANDOM = np.random.default_rng(5)
compiled = pytest.mark.skipif(compiler.found() is None, reason="there is no C compiler")
EXACT = mpmath.MPContext()
EXACT.prec = 400
FEW = 60


@pytest.fixture(params=[pytest.param("compiled", marks=compiled), "in NumPy"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What computes them."""
    if request.param == "in NumPy":
        monkeypatch.setattr(library, "library", lambda: None)


def sizes(low: float, high: float) -> np.ndarray:
    return RANDOM.choice((-1.0, 1.0), FEW) * 2.0 ** RANDOM.uniform(low, high, FEW)


def near(x: float, low: float = -50) -> np.ndarray:
    return x + sizes(low, -3)


TURNS = np.round(RANDOM.uniform(-9000, 9000, FEW)) * np.pi
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[np.ndarray]]] = {
    "exp": (EXACT.exp, [sizes(-200, 9.2), near(0)]),
    "expm1": (EXACT.expm1, [sizes(-900, 9.2), near(0)]),
    "log": (EXACT.log, [np.abs(sizes(-900, 900)), near(1)]),
    "log1p": (EXACT.log1p, [sizes(-900, -1), np.abs(sizes(0, 900)), np.abs(sizes(-40, -2)) - 1]),
    "sin": (EXACT.sin, [sizes(-900, 15), TURNS]),
    "cos": (EXACT.cos, [sizes(-900, 15), TURNS + np.pi / 2]),
    "tan": (EXACT.tan, [sizes(-900, 15), TURNS]),
    "arctan": (EXACT.atan, [sizes(-900, 900), near(1)]),
    "sinh": (EXACT.sinh, [sizes(-900, 9)]),
    "cosh": (EXACT.cosh, [sizes(-900, 9)]),
    "tanh": (EXACT.tanh, [sizes(-900, 9)]),
    "sqrt": (EXACT.sqrt, [np.abs(sizes(-900, 900))]),
    "cbrt": (lambda x: EXACT.sign(x) * EXACT.cbrt(abs(x)), [sizes(-900, 900)]),
    "square": (lambda x: x * x, [sizes(-400, 400)]),
    "reciprocal": (lambda x: 1 / x, [sizes(-900, 900)]),
}


def pair_of(high: np.ndarray) -> Wide:
    """Numbers whose second double is anything that it may be."""
    return numbers().made("pair", high.shape, (high, high * RANDOM.uniform(-0.49, 0.49, high.shape) * 2.0**-53))


def exact(x: Wide) -> list[Any]:
    high, low = x.halves()
    return [
        EXACT.mpf(a) + EXACT.mpf(b) for a, b in zip(high.tolist(), (np.zeros(high.shape) if low is None else low).tolist(), strict=True)
    ]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_right_to_a_hundred_bits(name: str) -> None:
    function, samples = FUNCTIONS[name]
    for high in samples:
        x = pair_of(high)
        for given, got in zip(exact(x), exact(getattr(np, name)(x)), strict=True):
            truth = function(given)
            assert abs(got - truth) <= abs(truth) * EXACT.mpf(2) ** -99, (given, got, truth)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_is_right_to_a_hundred_bits(name: str) -> None:
    first = sizes(-300, 300)
    for second in (sizes(-300, 300), -first * (1 + sizes(-60, -1))):
        x = pair_of(first)
        y = x.numbers.made("pair", second.shape, (second, second * 2.0**-55))
        for a, b, got in zip(exact(x), exact(y), exact(getattr(np, name)(x, y)), strict=True):
            truth = {"add": a + b, "subtract": a - b, "multiply": a * b, "divide": a / b}[name]
            assert abs(got - truth) <= abs(truth) * EXACT.mpf(2) ** -100


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("function", "x"),
    [
        (np.exp, 700.0), (np.exp, -700.0), (np.log, 0.0), (np.log, -1.0), (np.sqrt, -1.0), (np.sin, 1e9), (np.square, 1e200),
        (np.square, 1e-200), (lambda x: 1 / x, 0.0), (lambda x: np.where(x > 1, x * 1e300, 0) * 1e300, 2.0),
        (lambda x: np.maximum(np.log(-x), 1), 2.0), (lambda x: np.where((np.exp(x) < 1).sum() > 0, 1, x), 800.0),
    ],
)  # fmt: skip
def test_what_leaves_the_range_is_no_number(function: Callable[[Any], Any], x: float) -> None:
    """Nor is anything that is made of it, truths included."""
    with pytest.raises(OutOfRange):
        np.asarray(function(numbers().array(np.full(3, x, LONG))))


A, B, C = RANDOM.standard_normal((60, 70)), RANDOM.standard_normal(70), RANDOM.standard_normal((60, 1))
FORMULAS: list[Callable[..., Any]] = [
    lambda a, b, c: np.exp(-(a**2) / 2) * np.sin(3 * a) + np.cos(3 * a) * np.log(1 + a**2),
    lambda a, b, c: (a * b + c).sum(axis=1, keepdims=True) * c,
    lambda a, b, c: (a * b).sum(axis=0) / np.sqrt(1 + (a * a).sum(axis=0)),
    lambda a, b, c: np.exp(a - a.max(axis=1, keepdims=True)) / np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True),
    lambda a, b, c: np.where(a > b, np.expm1(a), a * b) - np.minimum(a, c),
    lambda a, b, c: ((a - a.sum(axis=0) / 60) ** 2).sum(axis=0).min(),
    lambda a, b, c: np.concatenate([a[::2], a[1::2] * b]).sum(axis=1),
    lambda a, b, c: np.broadcast_to(np.reshape(a.sum(axis=1), (60, 1)), (60, 70)) * a.T.reshape(60, 70),
    lambda a, b, c: np.tanh(a @ a.T) @ c,
    lambda a, b, c: ((a > 0) | ~(b > 0)).any(axis=0) & np.isfinite(b),
    lambda a, b, c: np.abs(a) ** LONG(1.5) + np.sign(a) * np.floor(3 * b),
    lambda a, b, c: np.stack([a, a * b]).max(axis=(0, 2)),
    lambda a, b, c: np.concatenate([a, A + 1]),  # beside doubles, which are no halves of anything
    lambda a, b, c: np.stack([A + 1, a * b, A.astype(int)]),
    lambda a, b, c: np.take(np.stack([A, a / 3]), np.array([1, 0, 1]), axis=0),
    lambda a, b, c: np.take_along_axis(a / 3, np.argsort(A, axis=1), axis=1),
    lambda a, b, c: np.concatenate([a > 0, A > 1]),
    lambda a, b, c: np.cumsum(a, axis=0)[-1] + np.sort(b),
]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_of_numpy_are_those_of_long_doubles(formula: Callable[..., Any]) -> None:
    arrays = [part.astype(LONG) for part in (A, B, C)]
    one = numbers()
    expected, got = formula(*arrays), np.asarray(formula(*map(one.array, arrays)))
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=2000 * UNIT, atol=200 * UNIT)


@compiled
@pytest.mark.parametrize("shape", [(100_000,), (200, 500), (50_000, 2), (2, 50_000), (10, 100, 100)])
def test_loops_in_parts_have_the_same_bits_on_any_number_of_threads(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    x = RANDOM.standard_normal(shape)
    found = []
    for pool in (ThreadPoolExecutor(1), ThreadPoolExecutor(3)):
        monkeypatch.setattr(library, "_threads", partial(lambda pool: pool, pool))
        a = numbers().array(x.astype(LONG))
        parts = [np.exp(a).sum(), *(np.exp(a).sum(axis=i) for i in range(len(shape))), (a * a).max(axis=0), np.sin(a)]
        found.append([part.halves() for part in parts])
        for part, axis in zip(parts[1:], range(len(shape)), strict=False):
            np.testing.assert_allclose(np.asarray(part), np.exp(x.astype(LONG)).sum(axis=axis), rtol=100 * UNIT)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


N = 250
DATA = {
    "x": RANDOM.standard_normal(N * N), "m": RANDOM.standard_normal((N, N)) + 30 * np.eye(N), "w": RANDOM.standard_normal((1, 1, 3, 3)),
    "s": RANDOM.uniform(0.5, 2, N),
}  # fmt: skip
TEXTS = [
    "sum(exp(-x**2/2)*sin(3*x) + log(1+x**2))", "std(x) + norm(x) + mean(x)", "sum(softmax(x)*x)", "logsumexp(x)", "mean(sort(x)[:1000])",
    "sum(tanh(m @ m / 900))", f"sum(conv2d(reshape(m, (1, 1, {N}, {N})), w)**2)", "sum(solve(m, s)**2) + slogdet(m)[1]",
    "sum(layer_norm(m, (250,))*m**2)", "sum(relu(m)*s) + sum(where(m > s, m*s, abs(m)))", "-sum(log_softmax(m, axis=1)[:, 3])",
    "sum(gelu(x)) + sum(sigmoid(x)*atan(x))",
]  # fmt: skip


def judged(text: str, monkeypatch: pytest.MonkeyPatch, native: bool, planted: float | None = None) -> Any:
    """The check of a gradient, whose last but ten entry by the first name may be off."""
    monkeypatch.setattr(large, "pays", lambda work: native)
    given = {name: value for name, value in DATA.items() if name in set(text.replace("(", " ").replace(",", " ").replace("*", " ").split())}
    given = {name: value for name, value in DATA.items() if name in given or f"{name})" in text}
    scope = Scope()
    leaves = {name: scope.bind_value(name, value) for name, value in given.items()}
    program = Program(scope)
    (statement,) = statements([text])
    root = program.execute(statement).value
    value, gradients = gradcli.value_and_grad(text, wrt=tuple(given))(**given)
    gradients = {name: np.array(part) for name, part in gradients.items()}
    if planted is not None:
        first = gradients[next(iter(given))].reshape(-1)
        first[-10] += planted * np.abs(first).max()
    return cross_check(scope, root, leaves, Record("", value=value, seed=np.float64(1), grad=gradients), None)


@compiled
@pytest.mark.parametrize("text", TEXTS)
def test_verdicts_are_the_same_with_a_compiler_and_without_one(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    native, plain = (judged(text, monkeypatch, way) for way in (True, False))
    assert native.verdict is plain.verdict
    assert {part.decided_by for part in native.variables.values()} == {"pairs of doubles"}
    for name, part in plain.variables.items():
        other = native.variables[name]
        assert (part.verdict, part.entries, part.wrong, part.bound is None) == (
            other.verdict, other.entries, other.wrong, other.bound is None,
        )  # fmt: skip
        assert other.max_abs_error == pytest.approx(part.max_abs_error, rel=0.1)


@compiled
@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[8]])
def test_planted_mistakes_are_found_by_both(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for native in (True, False):
        check = judged(text, monkeypatch, native, planted=1e-6)
        assert check.verdict.word == "mismatch"
        assert sum(part.wrong for part in check.variables.values()) == 1


@compiled
def test_pairs_do_not_share_the_range_of_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What underflows on the way in doubles underflows in pairs of them, which say so: long doubles decide."""
    native, plain = (judged("sum((x*1e-200)**2*1e250*1e150)", monkeypatch, way) for way in (True, False))
    assert native.verdict is plain.verdict
    ways = [[part.decided_by for part in check.variables.values()] for check in (native, plain)]
    assert ways[0] == ways[1] != ["pairs of doubles"]


@pytest.mark.parametrize("spread", [0, 3, 9])
def test_products_in_slices_are_as_right_as_long_doubles(spread: int) -> None:
    """Entries of very different sizes included."""
    x = RANDOM.standard_normal((50, 90)).astype(LONG) * LONG(10) ** RANDOM.uniform(-spread, spread, (50, 90))
    y = RANDOM.standard_normal((90, 40)).astype(LONG) / 3
    terms = np.abs(x) @ np.abs(y)
    assert np.all(np.abs(product(x, y) - np.einsum("ij,jk", x, y)) <= 200 * UNIT * terms)


@pytest.mark.parametrize("scale", [0, 6])
def test_inverses_are_refined_to_long_doubles(scale: float) -> None:
    x = (RANDOM.standard_normal((90, 90)) * 10.0 ** -RANDOM.uniform(0, scale, 90)).astype(LONG)
    factors = lu_factors(x)
    inverse, found = solved(factors, unit(x)), refined_inverse(x)
    room = np.abs(inverse) @ np.abs(x) @ np.abs(inverse)
    assert np.all(np.abs(found - inverse) <= 200 * UNIT * room)
    sign, log = refined_determinant(x) or (None, None)
    expected = np.linalg.slogdet(x.astype(float))
    assert sign == expected[0]
    assert float(log) == pytest.approx(float(expected[1]), rel=1e-12)


def test_a_matrix_without_an_inverse_is_left_to_elimination() -> None:
    assert refined_inverse(np.ones((90, 90), LONG)) is None
    assert refined_determinant(np.ones((90, 90), LONG)) is None
