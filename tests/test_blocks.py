"""Nests by NumPy, block by block: rows, columns, labels, products and axes in any order, against
the forward pass and the sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.plans import backend, blocks, nests

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


@pytest.fixture(params=["a block", "blocks of some slices", "shared by threads"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "BLOCK_THRESHOLD", 16)
    monkeypatch.setattr(nests, "BLOCK_THRESHOLD", 16)
    if request.param != "a block":
        monkeypatch.setattr(blocks, "BLOCK_SIZE", 100)
    if request.param == "shared by threads":
        monkeypatch.setattr(blocks, "SHARED_BLOCK_SIZE", 64)
        monkeypatch.setattr(blocks, "_WORTH", 1)
        monkeypatch.setenv("OMP_NUM_THREADS", "3")


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
    "text",
    ["sum(tanh(big @ row))", "sum(logsumexp(big*row, axis=1))", "sum((sum(big, axis=0) - row)**2)"],
)
def test_arrays_of_totals_have_the_same_bits_with_any_number_of_threads(text: str) -> None:
    values = {"big": np.random.default_rng(6).normal(size=(20_000, 30)), "row": ROW}
    found = [
        gradcli.value_and_grad(text, backend="numpy", threads=threads)(values)
        for threads in (1, 2, 3)
    ]
    for value, slopes in found[1:]:
        assert value == found[0][0]
        for name, slope in slopes.items():
            np.testing.assert_array_equal(slope, found[0][1][name])


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
