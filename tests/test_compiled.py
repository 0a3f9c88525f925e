"""Expressions as functions:

`value_and_grad` and `compile`, their arguments, their results, their errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradcli

A, B = np.array([2.0, 3.0]), np.array([6.0, 4.0])


def test_the_example_of_the_documentation() -> None:
    f = gradcli.value_and_grad("sum(3*a**3 - b**2)", wrt=("a", "b"))
    value, grads = f(a=A, b=B)
    assert value == 53.0
    assert isinstance(value, np.float64)
    assert {name: gradient.tolist() for name, gradient in grads.items()} == {
        "a": [36.0, 81.0],
        "b": [-12.0, -8.0],
    }


def test_compile_gives_the_value() -> None:
    assert gradcli.compile("sum(3*a**3 - b**2)")(a=A, b=B) == 53.0


ARGUMENTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "lists": ("sum(a*b)", {"a": [1, 2], "b": [3.0, 4]}, {"a": [3, 4], "b": [1, 2]}),
    "numbers": ("a*b", {"a": 2, "b": 3.5}, {"a": 3.5, "b": 2}),
    "arrays without axes": ("a*b", {"a": np.array(2.0), "b": np.float32(3.5)}, {"a": 3.5, "b": 2}),
    "a transposed array": (
        "sum(a*[[1, 2], [3, 4]])",
        {"a": np.array([[1.0, 2], [3, 4]]).T},
        {"a": [[1, 2], [3, 4]]},
    ),
    "whole exponents": ("x**n", {"x": 3.0, "n": 2}, {"x": 6.0, "n": 9 * math.log(3)}),
    "no entries": (
        "sum(a*b)",
        {"a": np.zeros((0, 2)), "b": 2.0},
        {"a": np.zeros((0, 2)), "b": 0.0},
    ),
    "a program": ("y = x**2\ny*x", {"x": 2.0}, {"x": 12.0}),
    "a value replaces the program's": ("k = 3\nk*x", {"x": 2.0, "k": 5.0}, {"x": 5.0, "k": 2.0}),
    "equal gradients are two arrays": ("sum(a + b)", {"a": A, "b": B}, {"a": [1, 1], "b": [1, 1]}),
    "the input is the gradient": ("sum(a*b)", {"a": A, "b": B}, {"a": B, "b": A}),
    "a name that it does not depend on": ("sum(a)", {"a": A, "b": B}, {"a": [1, 1]}),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case: str) -> None:
    text, values, wanted = ARGUMENTS[case]
    _, grads = gradcli.value_and_grad(text)(values)
    assert list(grads) == list(wanted)
    arrays = [np.asarray(v) for v in values.values()]
    for name, gradient in grads.items():
        np.testing.assert_array_equal(gradient, wanted[name])
        others = [g for other, g in grads.items() if other != name]
        assert not any(np.shares_memory(gradient, array) for array in [*arrays, *others])


def test_a_value_that_decides_what_is_computed_is_compiled_for_each() -> None:
    f = gradcli.value_and_grad("sum(cumsum(x, axis=k))", wrt="x")
    x = np.ones((2, 3))
    assert f(x=x, k=0)[1]["x"].tolist() == [[2, 2, 2], [1, 1, 1]]
    assert f(x=x, k=1)[1]["x"].tolist() == [[3, 2, 1], [3, 2, 1]]
    assert f(x=x, k=0)[1]["x"].tolist() == [[2, 2, 2], [1, 1, 1]]


def test_shapes_and_dtypes_may_change_between_calls() -> None:
    f = gradcli.value_and_grad("sum(x**2)")
    for x in (A, np.ones((3, 2)), 2.0, A, [1, 2, 3]):
        value, grads = f(x=x)
        assert value == pytest.approx(np.sum(np.square(x)))
        np.testing.assert_array_equal(grads["x"], 2 * np.asarray(x, float))


@pytest.mark.parametrize("text", ["sum(x**2)", "sum(x @ x)", "sum(exp(x))"])
def test_gradients_are_written_into_given_arrays(text: str) -> None:
    x = np.random.default_rng(0).normal(size=(4, 4))
    wanted = gradcli.evaluate(text, x=x, check=False).grad
    assert wanted is not None
    f = gradcli.value_and_grad(text)
    for out in (np.empty((4, 4)), np.empty((8, 4))[4:]):
        _, grads = f(x=x, out={"x": out})
        assert grads["x"] is out
        np.testing.assert_allclose(out, wanted["x"], rtol=1e-14)
    for out in (np.empty((4, 4)).T, np.empty((8, 8))[::2, ::2], x):
        with pytest.raises(gradcli.errors.UsageError, match=r"in C order|shares memory"):
            f(x=x, out={"x": out})


def test_a_seed_gives_a_vector_jacobian_product() -> None:
    value, grads = gradcli.value_and_grad("3*a**3 - b**2")(a=A, b=B, seed=[1, 0.5])
    assert value.tolist() == [-12, 65]
    assert {name: gradient.tolist() for name, gradient in grads.items()} == {
        "a": [36, 40.5],
        "b": [-12, -4],
    }


def test_single_precision() -> None:
    value, grads = gradcli.value_and_grad("sum(a*exp(a))", dtype="float32")(a=A)
    assert value.dtype == grads["a"].dtype == np.float32
    np.testing.assert_allclose(grads["a"], (1 + A) * np.exp(A), rtol=1e-6)


def test_numbers_that_python_refuses() -> None:
    text = "x/y + x**y + exp(x) + log(y)"
    f = gradcli.value_and_grad(text)
    for x, y in [(1.0, 0.0), (-1.0, 0.5), (1000.0, 2.0), (0.0, -1.0), (2.0, -3.0), (1e200, 3.0)]:
        plain = gradcli.evaluate(text, x=x, y=y, check=False)
        value, grads = f(x=x, y=y)
        np.testing.assert_equal(value, plain.value)
        np.testing.assert_equal(grads, plain.grad)


ERRORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a missing value": ("sum(a*b)", {"a": A}, "no value for 'b'"),
    "shapes": ("a + b", {"a": A, "b": [1.0, 2, 3]}, r"shapes \(2,\) and \(3,\) do not broadcast"),
    "no scalar": ("a**2", {"a": A}, "only a scalar has a gradient without a seed"),
    "a seed's shape": (
        "a**2",
        {"a": A, "seed": [1.0]},
        r"the seed has the shape \(1,\), the output \(2,\)",
    ),
    "no gradient for out": ("sum(a)", {"a": A, "out": {"b": A}}, "there is no gradient by 'b'"),
    "out by position": (
        "sum(a)",
        {"a": A, "out": [np.empty(2)]},
        "'out' must map names to arrays, not list",
    ),
    "out of another shape": (
        "sum(a)",
        {"a": A, "out": {"a": np.empty(3)}},
        r"float64 array of shape \(2,\)",
    ),
    "a singular matrix": ("sum(inv(a))", {"a": np.zeros((2, 2))}, "ingular"),
    "an index out of range": ("a[k]", {"a": A, "k": 5}, "out of"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    text, arguments, message = ERRORS[case]
    f = gradcli.value_and_grad(text, wrt="a")
    with pytest.raises(gradcli.GradcliError, match=message):
        f(**arguments)


def test_text_is_read_once_and_errors_come_at_once() -> None:
    with pytest.raises(gradcli.GradcliError, match="expected a value"):
        gradcli.value_and_grad("sum(a + )")
    with pytest.raises(TypeError, match="must be real numbers"):
        gradcli.compile("a")(a="text")


def test_a_network_whose_arrays_are_worked_on_in_blocks_and_reused() -> None:
    random = np.random.default_rng(5)
    values = {
        "x": random.normal(size=(300, 40)), "w1": random.normal(size=(40, 200)), "b1": random.normal(size=200),
        "w2": random.normal(size=(200, 7)), "b2": random.normal(size=7), "y": random.uniform(size=(300, 7)),
    }  # fmt: skip
    text = "binary_cross_entropy_with_logits(relu(x @ w1 + b1) @ w2 + b2, y)"
    plain = gradcli.evaluate(text, at=values, check=False, formula=False)
    f = gradcli.value_and_grad(text)
    for _ in range(2):
        value, grads = f(values)
        assert value == pytest.approx(plain.value, rel=1e-13)
        assert plain.grad is not None
        for name, gradient in plain.grad.items():
            np.testing.assert_allclose(grads[name], gradient, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x > 1", {"x": 2.0}),
        ("x > 1 and y > 5", {"x": 2.0, "y": 3.0}),
        ("[x > 1, y > 5]", {"x": 2.0, "y": 3.0}),
        ("[x > 1 and y > 1, y > 5 or x > 9]", {"x": 2.0, "y": 3.0}),
        ("[isnan(x), not y]", {"x": 2.0, "y": 0.0}),
        ("broadcast_to(isnan(x), (2,))", {"x": 2.0}),
        ("x > 1", {"x": [0.0, 2.0]}),
        ("argmax(x)", {"x": [0.0, 2.0]}),
        ("where(x > 1, x > 3, 2.0)", {"x": 2.0}),
        ("-where(x > 1, x > 3, 2.0)", {"x": [2.0, 0.0]}),
    ],
)
def test_truth_and_whole_numbers_stay_so(text: str, values: dict[str, Any]) -> None:
    found = gradcli.compile(text)(values)
    wanted = gradcli.evaluate(
        text, at=values, seed=np.ones(np.shape(found)), check=False, formula=False
    ).value
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()
