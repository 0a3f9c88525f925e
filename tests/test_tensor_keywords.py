"""Keywords, lists and parameters of functions on tensors: used, with their gradients, or refused as
PyTorch refuses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over

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


@over("tensor_calls", "keywords of NumPy", "text", "gradient")  # fmt: skip
def test_keywords_of_numpy_are_used(text: str, gradient: str) -> None:
    result, slope, _ = of(text)
    assert result.detach().numpy() == pytest.approx(
        eval(text, {"np": np, "x": X, "M": M}), rel=1e-14
    )
    assert slope.numpy() == pytest.approx(np.asarray(eval(gradient), float), rel=1e-13)


@over("tensor_calls", "tensors in lists", "text", "slope")  # fmt: skip
def test_tensors_in_lists_and_parameters_keep_their_gradients_in_numpy(
    text: str, slope: str
) -> None:
    result, _, found = of(text)
    assert result.dtype == torch.float64
    assert found.item() == pytest.approx(eval(slope), rel=1e-13)


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
