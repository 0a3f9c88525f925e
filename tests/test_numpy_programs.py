"""Programs written with NumPy's functions over arrays, as users of autograd libraries write them,
run on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import differences
from scipy.optimize import minimize, rosen, rosen_der

import gradcli as torch

RANDOM = np.random.default_rng(7)


def sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(x / 2.0) + 1)


INPUTS = np.array(
    [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
)
TARGETS = np.array([True, True, False, True])


def logistic_loss(weights: Any) -> Any:
    predictions = sigmoid(np.dot(INPUTS, weights))
    label_probabilities = predictions * TARGETS + (1 - predictions) * (1 - TARGETS)
    return -np.sum(np.log(label_probabilities))


POINTS = RANDOM.standard_normal((6, 3))
VALUES = RANDOM.standard_normal((6, 2))


def network_loss(parameters: Any) -> Any:
    hidden, bias, output = (
        parameters[:12].reshape((3, 4)),
        parameters[12:16],
        parameters[16:24].reshape((4, 2)),
    )
    activity = np.maximum(np.matmul(POINTS, hidden) + bias, 0)
    scores = np.dot(np.tanh(activity), output)
    log_probabilities = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return np.mean(np.sum((log_probabilities - VALUES) ** 2, axis=-1)) + 0.1 * np.sum(
        np.square(parameters)
    )


ABSCISSAE = np.linspace(-2, 2, 7)
ORDINATES = np.sin(ABSCISSAE)


def negative_log_likelihood(parameters: Any) -> Any:
    length, amplitude, noise = np.exp(parameters[0]), np.exp(parameters[1]), np.exp(parameters[2])
    distances = (np.expand_dims(ABSCISSAE, 1) - np.expand_dims(ABSCISSAE, 0)) / length
    kernel = amplitude * np.exp(-0.5 * distances**2) + noise * np.eye(7)
    factor = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, ORDINATES))
    return (
        0.5 * np.dot(ORDINATES, alpha) + np.sum(np.log(np.diag(factor))) + 3.5 * np.log(2 * np.pi)
    )


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def mixed(x: Any) -> Any:
    rows = np.stack([x, np.flip(x), np.roll(x, 1)])
    ordered = np.flip(np.sort(np.concatenate([x, x**2])))[:3]
    return (
        np.sum(np.outer(x, x) @ np.linalg.inv(np.eye(3) + rows.T @ rows))
        + np.prod(ordered)
        + np.linalg.norm(x)
        + np.std(x, ddof=1)
    )


PROGRAMS = [
    (logistic_loss, RANDOM.standard_normal(3)),
    (network_loss, RANDOM.standard_normal(24)),
    (negative_log_likelihood, np.array([0.1, 0.2, -1.0])),
    (rosenbrock, np.array([1.3, 0.7, 0.8, 1.9, 1.2])),
    (mixed, np.array([0.7, 1.3, -0.4])),
]


@pytest.mark.parametrize(
    ("program", "at"), PROGRAMS, ids=lambda value: getattr(value, "__name__", "")
)
def test_program_of_numpy_functions_on_tensors(
    program: Callable[[Any], Any], at: np.ndarray
) -> None:
    x = torch.tensor(at, requires_grad=True)
    value = program(x)
    assert value.item() == pytest.approx(float(program(at)), rel=1e-13)
    value.backward()
    assert x.grad.numpy() == pytest.approx(differences(program, at, step=1e-4), rel=1e-7, abs=1e-8)


def test_rosenbrock_is_minimized_with_our_gradient() -> None:
    def value_and_gradient(at: np.ndarray) -> tuple[float, np.ndarray]:
        x = torch.tensor(at, requires_grad=True)
        value = rosenbrock(x)
        value.backward()
        assert x.grad.numpy() == pytest.approx(rosen_der(at), rel=1e-10, abs=1e-9)
        return value.item(), x.grad.numpy()

    found = minimize(
        value_and_gradient, np.array([1.3, 0.7, 0.8, 1.9, 1.2]), jac=True, method="BFGS"
    )
    assert found.success
    assert found.x == pytest.approx(np.ones(5), abs=1e-5)
    assert rosen(found.x) < 1e-9


@pytest.mark.parametrize(
    "expression",
    [
        lambda t, a: t @ a.T,
        lambda t, a: a.T @ t,
        lambda t, a: a * t + 2.0,
        lambda t, a: np.float64(3) * t / np.array(2.0),
        lambda t, a: np.concatenate([t, a]),
        lambda t, a: np.power(np.abs(t), 1.5),
    ],
)
def test_an_expression_of_arrays_and_a_tensor(expression: Callable[..., Any]) -> None:
    """Operators, mostly; functions have `test_numpy_calls.py`."""
    at, other = RANDOM.uniform(0.1, 2.0, (2, 3)), RANDOM.uniform(0.1, 2.0, (2, 3))
    found = expression(torch.tensor(at, requires_grad=True), other)
    assert (found.requires_grad, found.dtype) == (True, torch.float64)
    assert found.detach().numpy() == pytest.approx(expression(at, other), rel=1e-14)
