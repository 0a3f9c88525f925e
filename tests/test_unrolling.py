"""Programs on small arrays, entry by entry: which they are, and what they do where Python's floats
and NumPy differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over
from test_plan import compare

import gradcli
from gradcli.plans import plan

ROSENBROCK = "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"


def positive(shapes: dict[str, Any]) -> dict[str, Any]:
    random = np.random.default_rng(len(shapes))
    return {name: random.uniform(0.3, 2.0, shape) for name, shape in shapes.items()}


def unrolled(function: Any) -> bool:
    return any(compiled.plan.is_unrolled for compiled, _ in function._planned.values())


@over("unrolling", "small", "text", "shapes")
def test_small_arrays_are_unrolled(
    text: str, shapes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = positive(shapes)
    function = gradcli.value_and_grad(text)
    value, grads = function(values)
    assert unrolled(function)
    compare(text, values)
    monkeypatch.setattr(plan, "unroll", lambda *_: None)
    other_value, other_grads = gradcli.value_and_grad(text)(values)
    np.testing.assert_allclose(value, other_value, rtol=1e-14)
    assert type(value) is type(other_value)
    for name, gradient in grads.items():
        assert type(gradient) is type(other_grads[name])
        np.testing.assert_allclose(gradient, other_grads[name], rtol=1e-13, atol=1e-13)


@over("unrolling", "whole", "text", "values", "dtype")
def test_what_is_not_unrolled(text: str, values: dict[str, Any], dtype: str) -> None:
    values = {name: np.array(value) for name, value in values.items()}
    for function in (gradcli.value_and_grad(text, dtype=dtype), gradcli.compile(text, dtype=dtype)):
        function(
            values,
            **(
                {}
                if text != "x > 1" or isinstance(function, gradcli.query.functions.Value)
                else {"seed": np.ones(2)}
            ),
        )
        assert not unrolled(function)


@over("unrolling", "not finite", "text", "values")
def test_where_floats_raise_or_are_not_finite_the_result_is_that_of_numpy(
    text: str, values: dict[str, Any]
) -> None:
    arrays = {name: np.array(value) for name, value in values.items()}
    function = gradcli.value_and_grad(text)
    function({name: np.ones_like(array) for name, array in arrays.items()})
    assert unrolled(function)
    compare(text, arrays)


def test_results_are_arrays_of_the_callers_own() -> None:
    function = gradcli.value_and_grad("sum(x) + sum(x*y)")
    x, y = np.array([1.0, 2.0]), np.array([[3.0, 4.0]])
    _, first = function(x=x, y=y)
    _, second = function(x=x, y=y)
    assert first["x"] is not second["x"]
    first["y"][...] = 7.0
    np.testing.assert_array_equal(second["y"], [[1.0, 2.0]])
    np.testing.assert_array_equal(x, [1.0, 2.0])
    room = np.zeros((1, 2))
    _, grads = function(x=x, y=y, out={"y": room})
    assert grads["y"] is room
    np.testing.assert_array_equal(room, [[1.0, 2.0]])


def test_inputs_of_any_layout() -> None:
    function = gradcli.value_and_grad("sum(A[0]*A[1]**2)")
    wanted = function(A=np.array([[1.0, 2.0], [3.0, 4.0]]))[1]["A"]
    for A in (
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1.0, 3.0], [2.0, 4.0]]).T,
        [[1, 2], [3, 4]],
    ):
        np.testing.assert_array_equal(function(A=A)[1]["A"], wanted)


@over("unrolling", "zeros", "text", "values")
def test_zeros_have_the_signs_that_numpy_gives_them(
    text: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {name: np.array(value) for name, value in values.items()}
    function = gradcli.value_and_grad(text)
    found = function(arrays)
    assert unrolled(function)
    monkeypatch.setattr(plan, "unroll", lambda *_: None)
    wanted = gradcli.value_and_grad(text)(arrays)
    assert np.asarray(found[0]).tobytes() == np.asarray(wanted[0]).tobytes()
    assert {name: array.tobytes() for name, array in found[1].items()} == {
        name: array.tobytes() for name, array in wanted[1].items()
    }
