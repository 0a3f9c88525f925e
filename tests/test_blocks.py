"""Plans by NumPy, block by block: rows, columns, labels, products and axes in any order, against
the forward pass and the sweep.
"""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.ops.elementwise import logic
from gradcli.plans import backend, blocks

RANDOM = np.random.default_rng(5)
A, B, C = (RANDOM.normal(size=shape) for shape in ((40, 6, 5), (40, 30), (30, 40)))
ROW, COLUMN, LABELS = (
    RANDOM.normal(size=30),
    RANDOM.normal(size=(40, 1)),
    RANDOM.integers(0, 30, 40),
)
FACTOR, WIDE = RANDOM.normal(size=(30, 3)), RANDOM.normal(size=(3, 700))

# what runs along which axes; the names of arrays say which of those above they are
CASES = [
    "sum(sin(A)*exp(A))", "sum(log(sum(exp(A), axis=-1)))", "sum(sum(A, axis=(0, 1))**2)",
    "sum((A - mean(A, axis=(1, 2), keepdims=True))**2)",
    "sum(transpose(B)*C)", "sum(sin(transpose(B)) + C**2)", "sum(B*row + column*sin(B))", "sum(exp(B + row)/column**2)",
    "sum(tanh(B @ row))",
    "sum(logsumexp(B, axis=1)) + sum(max(B, axis=0))", "sum(softmax(B, axis=1)*B)", "sum(softmax(B, axis=0)*B)", "sum(sin(B @ factor))",
    "sum((sum(B, axis=0) - row)**2*sum(column))", "sum(exp(B)) + sum(sum(B, axis=1)**2)", "sum((B[:, None, :] - C.T[None, :8, :])**2)",
    "cross_entropy(B, labels)", "sum(take_along_axis(sin(B), labels[:, None], axis=1)**2)", "sum(layer_norm(B, [30])*B)",
    "sum(sin(wide)*cos(wide)) + sum(sum(wide, axis=0)**2)", "sum(max(wide, axis=1)) + "
    "sum(prod(wide[:, :30], axis=0))",
    "var(B) + sum(std(A, axis=1))", "slogdet(C @ B)[1]",
]  # fmt: skip
VALUES = {
    "A": A,
    "B": B,
    "C": C,
    "row": ROW,
    "column": COLUMN,
    "labels": LABELS,
    "factor": FACTOR,
    "wide": WIDE,
}


@pytest.fixture(params=[1 << 17, 800, 60], ids="in blocks of {} bytes".format)
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "LARGE", 16)
    monkeypatch.setattr(blocks, "BLOCK", request.param)


def used(text: str) -> dict[str, Any]:
    return {name: value for name, value in VALUES.items() if name in text}


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", CASES)
def test_value_and_gradients_are_those_of_whole_arrays(text: str, dtype: str) -> None:
    values = used(text)
    names = [name for name in values if name != "labels"]
    wanted = gradcli.evaluate(text, at=values, wrt=names, check=False, formula=False, dtype=dtype)
    value, found = gradcli.value_and_grad(text, wrt=names, dtype=dtype, backend="numpy")(values)
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == "float64" else {"rtol": 2e-4, "atol": 2e-4}
    np.testing.assert_allclose(value, wanted.value, **close)
    for name in names:
        assert found[name].dtype == dtype
        np.testing.assert_allclose(found[name], wanted.grad[name], **close)


@pytest.mark.parametrize(
    "text", ["sum(log(x)*y)", "sum(max(x, axis=1)/y[:, 0])", "sum(softmax(x, axis=1)*y)"]
)
@pytest.mark.parametrize("special", [0.0, np.inf, np.nan])
def test_what_is_not_finite_is_what_whole_arrays_give(text: str, special: float) -> None:
    random = np.random.default_rng(7)
    values = {"x": random.random((300, 40)), "y": random.random((300, 40))}
    values["x"][7, 3] = values["y"][250, 0] = special
    wanted = gradcli.evaluate(text, at=values, check=False, formula=False)
    value, found = gradcli.value_and_grad(text, backend="numpy")(values)
    np.testing.assert_allclose(value, wanted.value, rtol=1e-12)
    assert wanted.grad is not None
    for name, slope in wanted.grad.items():
        np.testing.assert_allclose(
            found[name], slope, rtol=1e-12, atol=1e-14
        )  # differences that cancel


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "text",
    [
        "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))", "mean((tanh(x) - y)**2)", "sum(relu(x)*y)",
        "sum(softmax(x, axis=None)*y)", "sqrt(sum(exp(x)**2)) + max(cos(x))",
        "sum(log(sum(exp(x), axis=1)))", "sum(softmax(x - mean(y, axis=1, keepdims=True), axis=1)*y)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(1_000_000,), (100_000, 10), (10, 100_000)])
def test_memory_holds_inputs_gradients_and_few_blocks(
    text: str, shape: tuple[int, ...], dtype: str
) -> None:
    if "axis=1" in text and len(shape) == 1:
        pytest.skip("one axis")
    random = np.random.default_rng(8)
    names = [name for name in "xy" if re.search(rf"\b{name}\b", text)]
    values = {name: random.normal(size=shape).astype(dtype) for name in names}
    f = gradcli.value_and_grad(text, dtype=dtype, backend="numpy")
    f.prepare(dict.fromkeys(names, shape))
    tracemalloc.start()
    _, gradients = f(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * sum(gradient.nbytes for gradient in gradients.values()) + 2_000_000


def test_many_mixed_choices_are_those_of_numpy() -> None:
    numbers = RANDOM.normal(size=5_000)
    numbers[:4] = np.nan, np.inf, -0.0, 5e-324
    for truths in (numbers > 0, numbers < 3, RANDOM.random((3, 5_000)) < 0.3):
        for x, y in [(numbers, -numbers), (-0.0, numbers), (numbers, 1), (2.0, np.float64(3))]:
            found = logic.where.forward(truths, x, y)
            np.testing.assert_array_equal(
                found.view(np.int64), np.where(truths, x, y).view(np.int64)
            )
