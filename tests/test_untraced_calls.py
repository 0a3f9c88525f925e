"""Functions whose trace stops in places: by differences, decided at the tested values, held
constant where the code says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize
import scipy.special
from helpers import thinned
from numpy import zeros

from gradcli import Check
from gradcli.functions.tracing.exact import TRACED
from gradcli.testing import check_gradient

X = np.array([0.3, -1.2, 2.0])


class Case(NamedTuple):
    """A function and its gradient by hand, and whether the function is traced."""

    function: Callable[..., Any]
    gradient: Callable[..., Any]
    at: Any
    traced: bool = False


def filled(x: Any, out: Any) -> Any:
    for i in range(3):
        out[i] = x[i] ** 2 * x[i - 1]
    return np.sum(out**2)


def by_rows(x: Any) -> Any:
    """What is written through a view is written into the matrix."""
    matrix = np.zeros((2, 3))
    row = matrix[1]
    row[:] = 3 * x
    matrix[:, 1] *= 2
    return np.sum(matrix**2)


def filled_slope(x: Any) -> Any:
    found = np.zeros(3)
    for i in range(3):
        product = x[i] ** 2 * x[i - 1]
        found[i] += 2 * product * 2 * x[i] * x[i - 1]
        found[i - 1] += 2 * product * x[i] ** 2
    return found


def in_a_row(x: Any) -> Any:
    """Two calls, of which the second depends on the first through what is traced."""
    return math.sin(math.exp(float(x)) * x) * x + math.log(float(np.cos(x)))


def in_a_row_slope(x: float) -> float:
    e = math.exp(x)
    return math.sin(e * x) + x * math.cos(e * x) * e * (1 + x) - math.tan(x)


CASES = {
    "a function of C's for arrays": Case(
        lambda x: scipy.special.logsumexp(np.asarray(x) * 2) * np.sum(x),
        lambda x: 2 * np.exp(2 * x) / np.exp(2 * x).sum() * x.sum() + scipy.special.logsumexp(2 * x),
        X,
    ),
    "float()": Case(lambda x: math.exp(float(x)) * x, lambda x: math.exp(x) * (1 + x), 0.7),
    "float() of zero": Case(lambda x: math.exp(float(x)), lambda x: 1.0, 0.0),
    "item()": Case(lambda x: np.sum(x) * math.exp(x[0].item()), lambda x: math.exp(x[0]) * (1 + x.sum() * np.eye(3)[0]), X),
    "calls in a row": Case(in_a_row, in_a_row_slope, 0.7),
    "a new array of a name of its own": Case(lambda x: filled(x, zeros(3)), filled_slope, X),
    "an array for the result": Case(
        lambda x: np.sum(np.multiply(x, x, out=zeros(3))) * x[0], lambda x: 2 * x * x[0] + (x @ x) * np.eye(3)[0], X,
    ),
    "a new matrix, through its rows": Case(by_rows, lambda x: np.array([2 * x[0] * 9, 2 * x[1] * 36, 2 * x[2] * 9]), X, True),
    "a new array": Case(lambda x: filled(x, np.zeros(3)), filled_slope, X, True),
}  # fmt: skip


def checked(case: Case, gradient: Callable[..., Any]) -> Check:
    return check_gradient(case.function, gradient, at={"x": case.at})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_right_gradients_agree_and_the_record_says_by_what(case: Case) -> None:
    check = checked(case, case.gradient)
    assert check.verdict.word == "agree", check
    assert check.variables["x"].decided_by == (TRACED if case.traced else "differences")


@pytest.mark.parametrize(
    "case", thinned(pytest.param(case, id=name) for name, case in CASES.items())
)
def test_gradients_that_are_off_by_a_hundred_thousandth_are_mismatches(case: Case) -> None:
    assert (
        checked(case, lambda x: np.asarray(case.gradient(x)) * (1 + 1e-5) + 1e-5).verdict.word
        == "mismatch"
    )


def test_a_hidden_constant_that_no_exit_explains_is_no_trace() -> None:
    """Through the text of a number nothing is known: differences of the whole decide."""
    check = check_gradient(lambda x: float(repr(x)) * 2 * x, lambda x: 4 * x, at={"x": 0.7})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", "differences")


@pytest.mark.parametrize("place", ["float(x[0]) > 0", "int(x[2])", "x[0] > 0"])
def test_what_is_decided_by_numbers_that_are_taken_out_is_told(place: str) -> None:
    functions = {
        "float(x[0]) > 0": lambda x: np.sum(x**2) if float(x[0]) > 0 else np.sum(x),
        "int(x[2])": lambda x: np.sum(x**2) * int(x[2]) / 2,
        "x[0] > 0": lambda x: np.sum(x**2) if x[0] > 0 else np.sum(x),
    }
    check = check_gradient(functions[place], lambda x: 2 * x, at={"x": X})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", TRACED)
    assert str(check.reason).startswith(
        f"decided at the tested values: `{place}` at test_untraced_calls.py:"
    )


def test_what_is_only_printed_decides_nothing() -> None:
    def talks(x: Any) -> Any:
        print(float(x[0]))
        return np.sum(x**2)

    assert check_gradient(talks, lambda x: 2 * x, at={"x": X}).reason is None


def test_makers_of_arrays_are_left_as_they_were() -> None:
    before = np.zeros, np.array, np.asarray
    check_gradient(lambda x: filled(x, np.zeros(3)), filled_slope, at={"x": X})
    assert (np.zeros, np.array, np.asarray) == before


# -- frameworks
# -------------------------------------------------------------------------------------------------------------

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")


def of_torch(name: str, factor: float) -> Callable[[Any], Any]:
    """Custom functions whose forward detaches, or leaves the graph."""
    import torch

    class Exponential(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = (
                x.detach().exp()
                if name == "detaches"
                else torch.from_numpy(np.exp(x.detach().numpy()))
            )
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, seed: Any) -> Any:
            return factor * seed * ctx.saved_tensors[0]

    return lambda x: (Exponential.apply(x) ** 2).sum() * x.sum()


@needs_torch
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
@pytest.mark.parametrize(
    ("name", "source"),
    [("detaches", TRACED), ("by NumPy", "differences")],
)
def test_what_a_custom_forward_detaches_passes(
    name: str, source: str, factor: float, verdict: str
) -> None:
    check = check_gradient(of_torch(name, factor), by="torch", at={"x": X})
    assert check.verdict.word == verdict
    assert check.variables["x"].decided_by == source
    assert check.reason is None


@needs_torch
@pytest.mark.parametrize("name", ["x.detach()", "(x.round() - x).detach()", "x.sum()"])
def test_what_code_of_torch_detaches_is_held_constant(name: str) -> None:
    import torch

    def unrecorded(x: Any) -> Any:
        with torch.no_grad():
            total = x.sum()
        return (x**2).sum() * total

    functions = {
        "x.detach()": lambda x: (x * x.detach()).sum(),
        "(x.round() - x).detach()": lambda x: ((x + (x.round() - x).detach()) ** 2).sum(),
        "x.sum()": unrecorded,
    }
    check = check_gradient(functions[name], by="torch", at={"x": X})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", TRACED)
    assert str(check.reason).startswith(
        f"held constant where the code detaches it: `{name}` at test_untraced_calls.py:"
    )


@needs_jax
def test_what_code_of_jax_detaches_is_held_constant() -> None:
    import jax
    import jax.numpy as jnp

    check = check_gradient(lambda x: jnp.sum(x * jax.lax.stop_gradient(x)), by="jax", at={"x": X})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", TRACED)
    assert str(check.reason).startswith(
        "held constant where the code detaches it: `jax.lax.stop_gradient(x)` at "
        "test_untraced_calls.py:"
    )


@needs_jax
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_a_callback_of_jax_is_differenced(factor: float, verdict: str) -> None:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def sine(x: Any) -> Any:
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda v: np.sin(np.asarray(v)), like, x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, seed: (factor * seed * jnp.cos(x),))
    check = check_gradient(lambda x: jnp.sum(sine(x**2) * x), by="jax", at={"x": X[:2]})
    assert check.verdict.word == verdict
    assert check.variables["x"].decided_by == "differences"
