"""Properties of random expressions: the sweep against complex steps, transposes, and symmetry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import complex_step, differences, lowered, number, swept
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import gradcli

NAMES = ("x", "y", "z")
SHAPES = {"x": (2, 3), "y": (3,), "z": ()}


def steady(examples: int) -> Any:
    """The same examples in every run, without a clock."""
    return settings(
        deadline=None, derandomize=True, max_examples=examples, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )  # fmt: skip


class Pair(NamedTuple):
    """A program and the same function of NumPy arrays, real or complex."""

    text: str
    function: Callable[[dict[str, Any]], Any]


def name(which: str) -> Pair:
    return Pair(which, lambda v: v[which])


def constant(value: float) -> Pair:
    return Pair(repr(value), lambda v: np.float64(value))


def away(a: Any) -> Any:
    """Passes over examples at the singularity of a root, a logarithm or a quotient: sqrt(x - x) is
    0/0 in slopes.
    """
    assume(np.all(np.abs(a) > 1e-3))
    return a


# Each takes texts and values of its operands; all of them keep an array's shape or broadcast.
UNARY: dict[str, Callable[[Any], Any]] = {
    "sin({})": np.sin, "cos({})": np.cos, "tanh({})": np.tanh, "atan({})": np.arctan, "asinh({})": np.arcsinh,
    "exp(-({})**2)": lambda a: np.exp(-(a**2)), "exp(sin({}))": lambda a: np.exp(np.sin(a)),
    "sqrt(1 + ({})**2)": lambda a: np.sqrt(1 + a**2), "log(2 + cos({}))": lambda a: np.log(2 + np.cos(a)),
    "sqrt({})": lambda a: np.sqrt(away(a)), "log({})": lambda a: np.log(away(a)), "exp({})": np.exp,
    "1/({})": lambda a: 1 / away(a), "-({})": lambda a: -a, "({})**3": lambda a: a**3, "({})**-1": lambda a: away(a) ** -1,
    "({})^2": lambda a: a * a, "sigmoid({})": lambda a: 1 / (1 + np.exp(-a)),
    "softplus({})": lambda a: np.log(1 + np.exp(a)),
    "2**({})": lambda a: 2**a, "sinh({})/4": lambda a: np.sinh(a) / 4, "({})/3 - 1": lambda a: a / 3 - 1,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "({}) + ({})": lambda a, b: a + b, "({}) - ({})": lambda a, b: a - b, "({})*({})": lambda a, b: a * b,
    "({}) / (1 + ({})**2)": lambda a, b: a / (1 + b**2), "({}) / ({})": lambda a, b: a / away(b),
    "(1 + ({})**2)**sin({})": lambda a, b: (1 + a**2) ** np.sin(b), "({})**({})": lambda a, b: away(a) ** b,
    "hypot(1 + ({})**2, {})": lambda a, b: np.sqrt((1 + a**2) ** 2 + b**2),
    "atan2({}, 9 + ({})**2)": lambda a, b: np.arctan(a / (9 + b**2)),
    "logaddexp({}, {})": lambda a, b: np.log(np.exp(a) + np.exp(b)),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum({})": np.sum, "mean({})": np.mean, "prod(1 + ({})/9)": lambda a: np.prod(1 + a / 9),
    "logsumexp({}, axis=None)": lambda a: np.log(np.sum(np.exp(a))), "norm(({}) + 2)": lambda a: np.sqrt(away(np.sum((a + 2) ** 2))),
}  # fmt: skip


def with_one(form: str, function: Callable[[Any], Any]) -> Callable[[Pair], Pair]:
    return lambda a: Pair(form.format(a.text), lambda v: function(a.function(v)))


def with_two(form: str, function: Callable[[Any, Any], Any]) -> Callable[[Pair, Pair], Pair]:
    return lambda a, b: Pair(
        form.format(a.text, b.text), lambda v: function(a.function(v), b.function(v))
    )


ATOMS = st.one_of(
    st.sampled_from(NAMES).map(name), st.sampled_from([0.5, 2.0, 3.0, 0.1]).map(constant)
)


def larger(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    unary = [st.builds(with_one(form, f), inner) for form, f in UNARY.items()]
    binary = [st.builds(with_two(form, f), inner, inner) for form, f in BINARY.items()]
    reduced = [st.builds(with_one(form, f), inner) for form, f in REDUCTIONS.items()]
    return st.one_of(*unary, *binary, *reduced)


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=7)
SCALARS = st.one_of([st.builds(with_one(form, f), EXPRESSIONS) for form, f in REDUCTIONS.items()])


def drawn(number: int) -> dict[str, Any]:
    """Values away from 0, two in three positive."""
    random = np.random.default_rng(number)
    return {
        k: random.uniform(0.2, 2.0, shape) * random.choice([1, -1, 1], shape)
        for k, shape in SHAPES.items()
    }


VALUES = st.integers(0, 2**32 - 1).map(drawn)


def seed_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.cos(np.arange(float(np.prod(shape)))).reshape(shape)


def tame(pair: Pair, values: dict[str, Any], seed: Any) -> dict[str, np.ndarray]:
    """The gradient by complex steps; examples where rounding already costs many digits, or NaN, are
    passed over.
    """

    def function(*arrays: Any) -> Any:
        return pair.function(dict(zip(values, arrays, strict=True)))

    slopes = complex_step(function, values, seed)
    with np.errstate(all="ignore"):
        assume(
            np.all(np.isfinite(pair.function(values)))
        )  # real arithmetic: no logarithm of a negative number
        nearby = complex_step(function, {k: v * (1 + 1e-12) for k, v in values.items()}, seed)
    for k, slope in slopes.items():
        assume(np.all(np.isfinite(slope)) and np.all(np.abs(slope) < 1e8))
        assume(np.allclose(slope, nearby[k], rtol=1e-9, atol=1e-10))
    return slopes


@steady(400)
@given(EXPRESSIONS, VALUES)
def test_gradient_equals_complex_steps(pair: Pair, values: dict[str, Any]) -> None:
    scope, root = lowered(pair.text, values)
    seed = seed_of(root.shape)
    slopes = tame(pair, values, seed)
    assert number(scope, root) == pytest.approx(
        np.broadcast_to(pair.function(values), root.shape), rel=1e-10, abs=1e-12
    )
    found = swept(scope, root, seed, list(values))
    for k, slope in slopes.items():
        assert found[k] == pytest.approx(slope, rel=1e-8, abs=1e-9), (pair.text, k)


@steady(75)
@given(SCALARS, VALUES)
@pytest.mark.ci
def test_hessian_is_symmetric_and_the_derivative_of_the_gradient(
    pair: Pair, values: dict[str, Any]
) -> None:
    tame(pair, values, 1.0)
    record = gradcli.evaluate(
        pair.text, at=values, wrt=NAMES, mode="hessian", check=False, formula=False
    )
    hessian = record.hessian
    assert hessian is not None
    blocks = {
        (a, b): np.reshape(hessian[a][b], (np.size(values[a]), np.size(values[b])))
        for a in NAMES
        for b in NAMES
    }
    size = 1 + max(np.abs(block).max() for block in blocks.values())
    assume(np.isfinite(size) and size < 1e5)
    for (a, b), block in blocks.items():
        assert block == pytest.approx(blocks[b, a].T, rel=1e-7, abs=1e-9 * size), (pair.text, a, b)

    def gradient(x: np.ndarray) -> np.ndarray:
        def function(*arrays: Any) -> Any:
            return pair.function(dict(zip(NAMES, arrays, strict=True)))

        return complex_step(function, {**values, "x": x}, 1.0)["y"]

    coarse = differences(gradient, values["x"], 1e-3).reshape(3, 6)
    fine = differences(gradient, values["x"], 2e-4).reshape(3, 6)
    assume(np.all(np.isfinite(coarse)) and np.allclose(coarse, fine, rtol=1e-5, atol=1e-6 * size))
    assert blocks["y", "x"] == pytest.approx(fine, rel=1e-4, abs=1e-5 * size), pair.text
