"""Cases of activations; those of one number are tested from their records."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.case import Case, between, lse, some

X = {"x": some(2, 3)}
CUBE = {"x": some(2, 4, 2)}
LIMITED = {"x": np.array([[-1.7, -0.4, 0.2], [0.9, 2.1, -0.6]])}


def positive(x: Any, otherwise: Any) -> Any:
    return np.where(np.real(x) > 0, x, otherwise)


def gate(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def bent(x: Any) -> Any:
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


CASES = [
    Case("F.relu6(4*x)", lambda x: between(4 * x, 0, 6), X),
    Case("F.hardtanh(x, -0.5, 1.5)", lambda x: between(x, -0.5, 1.5), LIMITED),
    Case("F.leaky_relu(x, 0.2)", lambda x: positive(x, 0.2 * x), X),
    Case("F.elu(x, alpha=-0.7)", lambda x: positive(x, -0.7 * (np.exp(x) - 1)), X),
    Case(
        "F.selu(x)",
        lambda x: 1.0507009873554805 * positive(x, 1.6732632423543772 * (np.exp(x) - 1)),
        X,
    ),
    Case("F.celu(x, 0.6)", lambda x: positive(x, 0.6 * (np.exp(x / 0.6) - 1)), X),
    Case("F.gelu(x, approximate='tanh')", bent, X),
    Case("F.softshrink(x, 0.8)", lambda x: x - between(x, -0.8, 0.8), LIMITED),
    Case("F.hardshrink(x, lambd=0.8)", lambda x: np.where(np.abs(x.real) > 0.8, x, 0), LIMITED),
    Case("F.threshold(x, 0.1, -3)", lambda x: np.where(x.real > 0.1, x, -3), X),
    Case("F.logsigmoid(x)", lambda x: np.log(gate(x)), X),
    Case("F.glu(x, dim=1)", lambda x: x[:, :2] * gate(x[:, 2:]), CUBE),
    Case("F.prelu(x, y)", lambda x, y: positive(x, y[0] * x), {**X, "y": some(1)}, "one weight"),
    Case(
        "F.prelu(x, y)",
        lambda x, y: positive(x, y[:, None] * x),
        {**CUBE, "y": some(4)},
        "a weight for each channel",
    ),
    Case("F.softmin(x, dim=0)", lambda x: np.exp(-x - lse(-x, 0, True)), X),
    Case("F.softmax(x)", lambda x: np.exp(x - lse(x, 1, True)), X, "the implicit axis"),
    Case("F.log_softmax(x)", lambda x: x - lse(x, 0, True), CUBE, "the implicit axis"),
    Case("F.dropout(x, 0.3, training=False) + F.dropout(x, p=0)", lambda x: 2 * x, X),
    Case("F.rrelu(x, 0.1, 0.3)", lambda x: positive(x, 0.2 * x), X),
]
