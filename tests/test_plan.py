"""Plans give what the forward pass and the sweep give: small and large, finite and not, for every
operation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cases import EVERY as CASES
from cases import Case
from helpers import thinned
from hypothesis import given
from hypothesis import strategies as st
from recorded import over
from test_properties import EXPRESSIONS, SHAPES, VALUES, Pair, seed_of, steady

import gradcli
from gradcli.plans import backend, plan, unrolling

ULPS = 64 * np.finfo(float).eps


def agree(found: Any, wanted: Any, what: str, scale: float = 0.0) -> None:
    """Equal to some units of the largest entry, and infinite or NaN in the same places."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, what
    finite = np.isfinite(wanted)
    largest = max(scale, np.abs(wanted[finite]).max(initial=0.0))
    np.testing.assert_array_equal(found[~finite], wanted[~finite], err_msg=what)
    np.testing.assert_allclose(
        found[finite], wanted[finite], rtol=ULPS, atol=ULPS * largest, err_msg=what
    )


def compare(text: str, values: dict[str, Any], dtype: str = "float64") -> None:
    wanted = (
        gradcli.evaluate(text, at=values, seed=None, check=False, formula=False, dtype=dtype)
        if _is_scalar(text, values)
        else None
    )
    seed = None
    if wanted is None:
        shape = np.shape(gradcli.compile(text)(values))
        seed = seed_of(shape)
        wanted = gradcli.evaluate(
            text, at=values, seed=seed, check=False, formula=False, dtype=dtype
        )
    value, grads = gradcli.value_and_grad(text, dtype=dtype)(values, seed=seed)
    agree(value, wanted.value, text)
    assert wanted.grad is not None
    assert list(grads) == list(wanted.grad)
    for name, gradient in wanted.grad.items():
        agree(grads[name], gradient, f"{text} by {name}", 1.0)


def _is_scalar(text: str, values: dict[str, Any]) -> bool:
    return np.size(gradcli.compile(text)(values)) == 1


@pytest.fixture(params=["entry by entry", "whole", "large"])
def _any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "entry by entry":
        for name in ("_MOST", "_CALL", "_LONGEST"):
            monkeypatch.setattr(unrolling, name, 10**6)
        return
    monkeypatch.setattr(plan, "unroll", lambda *_: None)
    if request.param == "large":
        monkeypatch.setattr(backend, "LARGE", 1)


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize(
    "case",
    thinned(
        (pytest.param(case, id=f"{case.text[:60]} {case.reason}".strip()) for case in CASES),
        every=6,
    ),
)
def test_a_plan_of_every_operation(case: Case) -> None:
    compare(case.text, case.values)


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize("kind", ["finite", "with zeros", "with infinities", "with NaN"])
def test_plans_of_random_expressions(kind: str) -> None:
    special = {
        "finite": [],
        "with zeros": [0.0, -0.0],
        "with infinities": [np.inf, -np.inf, 0.0],
        "with NaN": [np.nan],
    }[kind]

    @steady(25)
    @given(EXPRESSIONS, VALUES, st.integers(0, 2**32 - 1))
    def same(pair: Pair, values: dict[str, Any], number: int) -> None:
        random = np.random.default_rng(number)
        if special:
            values = {
                k: np.where(random.random(SHAPES[k]) < 0.4, random.choice(special, SHAPES[k]), v)
                for k, v in values.items()
            }
        compare(pair.text, values)

    same()


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize(
    "text",
    [
        "sum(sin(x**2) + exp(x)*x**2 + cos(x**2))", "sum(cos(x**2)) + sum(x**2)", "sum(sin(x**2)/(1 + x**2) + exp(x**2)*cos(x**2))",
        "sum(sin(exp(x)) + tanh(x)*exp(x) + cos(exp(x))) + sum(exp(x))",
    ],
)  # fmt: skip
def test_an_angle_that_is_read_between_and_after_its_sine_and_cosine(text: str) -> None:
    compare(text, {"x": np.random.default_rng(1).normal(size=11)})


@pytest.mark.usefixtures("_any_size")
def test_a_sine_that_is_stored_and_read_in_its_loop() -> None:
    random = np.random.default_rng(2)
    text = "sum((sin(A) @ B)**2) + sum(sin(A)**2*exp(A)) + sum(tanh(A)*cos(A)*exp(A + 1))"
    compare(text, {"A": random.normal(size=(5, 4)), "B": random.normal(size=(4, 3))})


NAN, INF = float("nan"), float("inf")


@pytest.mark.usefixtures("_any_size")
@over("unrolling", "zeros and what they end", "text", "values")  # fmt: skip
def test_zeros_keep_their_signs_and_end_what_does_not_matter(
    text: str, values: dict[str, Any]
) -> None:
    arrays = {name: np.array(value) for name, value in values.items()}
    plain = gradcli.evaluate(text, at=arrays, check=False, formula=False)
    value, grads = gradcli.value_and_grad(text)(**arrays)
    np.testing.assert_array_equal(value, plain.value)
    for name, slope in (plain.grad or {}).items():
        np.testing.assert_array_equal(grads[name], slope, err_msg=name)


def test_plans_in_several_threads_do_not_share_arrays() -> None:
    text = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
    f = gradcli.value_and_grad(text)
    inputs = [np.random.default_rng(seed).normal(size=20_000) for seed in range(8)]
    alone = [f(x=x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for (value, grads), (expected, slopes) in zip(
            pool.map(lambda x: f(x=x), inputs * 5), alone * 5, strict=True
        ):
            assert value == expected
            np.testing.assert_array_equal(grads["x"], slopes["x"])
