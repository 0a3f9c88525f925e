"""Keywords, lists and parameters of functions on tensors: used, with their gradients, or refused as
PyTorch refuses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli as torch

F = torch.nn.functional
X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
M = X > 0
N = M.sum()
MEAN = X[M].mean()


def of(text: str) -> tuple[Any, Any, Any]:
    """What a call gives for a tensor x and a number c, and the gradients of its sum."""
    x, c = (
        torch.tensor(X, requires_grad=True),
        torch.tensor(2.5, dtype=torch.float64, requires_grad=True),
    )
    result = eval(text, {"np": np, "torch": torch, "F": F, "M": M, "x": x, "c": c})
    result.sum().backward()
    return result, x.grad, c.grad


@pytest.mark.parametrize(
    ("text", "gradient"),
    [
        ("np.sum(x, where=M)", 1.0 * M), ("np.sum(x, initial=10.)", np.ones((2, 3))), ("np.mean(x, where=M)", M / N),
        ("np.sum(x, where=x > 0)", 1.0 * M),
        ("np.max(x, initial=10.)", np.zeros((2, 3))),
        ("np.max(x, axis=1, where=M, initial=-1.)", X == [[3], [5]]),
        ("np.min(x, axis=0, initial=-10.)", np.zeros((2, 3))),
        ("np.var(x, where=M, ddof=1)", M * 2 * (X - MEAN) / (N - 1)),
        ("np.std(x, where=M)", M * (X - MEAN) / N / X[M].std()),
        ("np.prod(x, where=M, initial=2.)", M * 120 / X), ("np.nansum(x, where=M)", 1.0 * M), ("np.nanmean(x, where=M)", M / N),
        ("np.nanstd(x, where=M)", M * (X - MEAN) / N / X[M].std()),
        ("np.add.reduce(x, where=M, axis=1)", 1.0 * M), ("np.add.reduce(x, 1, None, None, True, "
        "5.)", np.ones((2, 3))),
        ("np.multiply.reduce(x, axis=1, where=M)", np.where(M, [[3], [20]] / X, 0)),
        ("np.maximum.reduce(x, initial=3., axis=None)", X == 5),
        ("np.sum(x, dtype=np.float64)", np.ones((2, 3))), ("np.concatenate([x, x], "
        "dtype=np.float64)", 2 * np.ones((2, 3))),
        ("np.einsum('ij->i', x, optimize=True)", np.ones((2, 3))),
    ],
)  # fmt: skip
def test_keywords_of_numpy_are_used(text: str, gradient: Any) -> None:
    result, slope, _ = of(text)
    assert result.detach().numpy() == pytest.approx(
        eval(text, {"np": np, "x": X, "M": M}), rel=1e-14
    )
    assert slope.numpy() == pytest.approx(np.asarray(gradient, float), rel=1e-13)


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("np.multiply(x, [c, c, c])", X.sum()),
        ("np.append(x, [c, [c, c]][1])", 2),
        ("np.stack([x[0], [c, c, 1]])", 2),
        ("np.concatenate([x[0], [c]])", 1),
        ("np.vstack([x, [c, 0, c]])", 2),
        ("np.dot(x, [c, c, c])", X.sum()),
        ("np.outer(x, [c, 1])", X.sum()),
        ("np.maximum(x, [c, c, 0])", 2),
        ("np.where(M, x, [c, c, c])", 2),
        ("np.insert(x[0], 1, c)", 1),
        ("np.kron(x, [c, c])", 2 * X.sum()),
        ("np.einsum('ij,j', x, [c, c, 1])", 2 + X[1, :2].sum() - 1 - 2),
        ("np.average(x[0], weights=[c, 1, 1])", (1 * 4.5 - (2.5 * 1 - 2 + 3)) / 4.5**2), ("np.pad(x, 1, constant_values=c)", 14),
        ("np.select([M], [x * c])", X[M].sum()), ("np.select([M, x < -3], [x, c], c)", 2),
    ],
)  # fmt: skip
def test_tensors_in_lists_and_parameters_keep_their_gradients_in_numpy(
    text: str, slope: float
) -> None:
    result, _, found = of(text)
    assert result.dtype == torch.float64
    assert found.item() == pytest.approx(slope, rel=1e-13)


def test_a_plain_tensor_is_a_number_as_in_pytorch() -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    assert F.leaky_relu(x, torch.tensor(0.5)).tolist() == [-0.5, 2.0]


def test_inplace_writes() -> None:
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        F.relu(torch.ones(2, requires_grad=True), inplace=True)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, by: Any = 2) -> Any:
        return x * by

    @staticmethod
    def backward(ctx: Any, seed: Any) -> Any:
        return seed * 2, None


class Apart(torch.autograd.Function):
    @staticmethod
    def forward(x: Any, by: Any = 2) -> Any:
        return x * by

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.by = inputs[1]

    @staticmethod
    def backward(ctx: Any, seed: Any) -> Any:
        return seed * ctx.by, None


@pytest.mark.parametrize("function", [Scaled, Apart])
def test_arguments_of_apply_by_name_are_inputs(function: Any) -> None:
    x = torch.ones(1, requires_grad=True)
    function.apply(x=x).sum().backward()
    assert x.grad.tolist() == [2.0]
    assert function.apply(by=3, x=x).tolist() == [3.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        function.apply(x, z=3)
