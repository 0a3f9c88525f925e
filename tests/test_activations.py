"""Activations where they have kinks, at NaN and at the ends of their ranges: as PyTorch, whose
numbers these are.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError

NAN, INF = math.nan, math.inf
SELU = 1.7580993408473766

# activation, where, value, derivative there, verdict
KINKS = [
    ("relu(x)", 0.0, 0.0, 0.0, "kink"),
    ("F.relu6(x)", 0.0, 0.0, 0.0, "kink"),
    ("F.relu6(x)", 6.0, 6.0, 0.0, "kink"),
    ("F.hardtanh(x)", 1.0, 1.0, 0.0, "kink"),
    ("F.hardtanh(x, -2, 3)", -2.0, -2.0, 0.0, "kink"),
    ("F.hardtanh(x, -2, 3)", 1.0, 1.0, 1.0, "agree"),
    ("F.hardsigmoid(x)", 3.0, 1.0, 0.0, "kink"),
    ("F.hardsigmoid(x)", -3.0, 0.0, 0.0, "kink"),
    ("F.hardsigmoid(x)", 0.0, 0.5, 1 / 6, "agree"),
    ("F.hardswish(x)", 3.0, 3.0, 1.0, "kink"),
    ("F.hardswish(x)", -3.0, 0.0, 0.0, "kink"),
    ("F.leaky_relu(x)", 0.0, 0.0, 0.01, "kink"),
    ("F.prelu(x, 0.25)", 0.0, 0.0, 0.25, "kink"),
    ("F.elu(x)", 0.0, 0.0, 1.0, "agree"),
    ("F.elu(x, 2)", 0.0, 0.0, 2.0, "kink"),
    ("F.celu(x, 2)", 0.0, 0.0, 1.0, "agree"),
    ("F.selu(x)", 0.0, 0.0, SELU, "kink"),
    ("F.softshrink(x)", 0.5, 0.0, 0.0, "kink"),
    ("F.hardshrink(x)", 0.5, 0.0, 0.0, "kink"),
    ("F.hardshrink(x, 0.2)", 0.5, 0.5, 1.0, "agree"),
    ("F.threshold(x, 1, 5)", 1.0, 5.0, 0.0, "kink"),
    ("F.gelu(x)", 0.0, 0.0, 0.5, "agree"),
    ("F.softsign(x)", 0.0, 0.0, 1.0, "agree"),
    ("F.tanhshrink(x)", 0.0, 0.0, 0.0, "agree"),
]

# activation, where, value, derivative
ENDS = [
    ("F.elu(x)", -800.0, -1.0, 0.0),
    ("F.selu(x)", 1e300, 1.0507009873554805e300, 1.0507009873554805),
    ("F.silu(x)", 800.0, 800.0, 1.0),
    ("F.silu(x)", -40.0, -1.6993417021166355e-16, -1.6568581595637197e-16),
    ("F.mish(x)", -40.0, -1.6993417021166355e-16, -1.6568581595637197e-16),
    ("F.mish(x)", 800.0, 800.0, 1.0),
    ("F.gelu(x)", 800.0, 800.0, 1.0),
    ("F.gelu(x)", -20.0, -5.507248237212467e-88, -1.1014360483133464e-86),
    ("F.logsigmoid(x)", -1000.0, -1000.0, 1.0),
    ("F.logsigmoid(x)", 40.0, -4.248354255291589e-18, 4.248354255291589e-18),
    ("F.softsign(x)", 1e300, 1.0, 0.0),
    ("relu(x)", NAN, NAN, 1.0),
    ("F.hardtanh(x)", NAN, NAN, 1.0),
    ("F.hardshrink(x)", NAN, NAN, 1.0),
    ("F.leaky_relu(x)", NAN, NAN, 0.01),
    ("F.elu(x)", NAN, NAN, NAN),
    ("F.relu6(x)", INF, 6.0, 0.0),
    ("F.leaky_relu(x)", -INF, -INF, 0.01),
]

# program, x, what is wrong
MISUSED = [
    ("F.hardtanh(x, 2, 1)", 0.5, "hardtanh: min_val (2) must not be greater than max_val (1)"),
    ("F.softshrink(x, -1)", 0.5, "softshrink: lambd must be at least 0, not -1"),
    ("F.celu(x, 0)", 0.5, "celu: alpha must not be 0"),
    (
        "F.gelu(x, approximate='sigmoid')",
        0.5,
        "gelu: approximate must be 'none' or 'tanh', not 'sigmoid'",
    ),
    ("F.threshold(x, 1)", 0.5, "threshold needs the argument 'value'"),
    (
        "F.glu(x)",
        [1.0, 2.0, 3.0],
        "glu: an axis with an even number of entries is wanted, not axis -1 of the shape (3,)",
    ),
    (
        "F.prelu(x, [1, 2])",
        [1.0],
        "prelu: one weight or one for each of 1 channels is wanted, not an array of shape (2,)",
    ),
    ("F.dropout(x)", 0.5, "dropout draws at random which entries to keep"),
    ("F.rrelu(x, training=True)", 0.5, "rrelu draws its slopes at random"),
]


@pytest.mark.parametrize(("text", "x", "value", "slope", "verdict"), KINKS)
def test_kinks(text: str, x: float, value: float, slope: float, verdict: str) -> None:
    record = gradcli.evaluate(text, x=x)
    assert (record.value, record.grad["x"]) == (value, pytest.approx(slope, rel=1e-15))
    assert record.check.verdict.word == verdict


@pytest.mark.parametrize(("text", "x", "value", "slope"), ENDS)
def test_ends(text: str, x: float, value: float, slope: float) -> None:
    record = gradcli.evaluate(text, x=x, formula=False)
    assert np.allclose(
        [record.value, record.grad["x"]], [value, slope], rtol=1e-13, atol=0, equal_nan=True
    )
    assert record.check.verdict.word in (
        "agree",
        "undefined",
        "ill-conditioned",
    )  # a slope may underflow


@pytest.mark.parametrize(("text", "x", "message"), MISUSED)
def test_misuse(text: str, x: object, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(f"sum({text})", x=x)
    assert caught.value.message == message


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_of_no_entries_and_of_a_number(name: str) -> None:
    assert gradcli.evaluate(
        f"F.{name}(x, 0)", x=np.zeros((0, 2)), seed=np.zeros((0, 2))
    ).value.shape == (0, 2)
    assert gradcli.evaluate(f"F.{name}(x, 0)", x=3.0).value == (
        0.0 if name == "log_softmax" else 1.0
    )
