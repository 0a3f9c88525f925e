"""What nodes are called, and what writing through views leaves, as recorded from PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli as torch

# -- writing: what PyTorch 2.13 prints
# -------------------------------------------------------------------------------------


def made() -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def test_logic_in_place_lets_no_gradient_through() -> None:
    x = made()
    y = x * 2
    y[0].logical_not_()
    y.sum().backward()
    assert y.tolist() == [[0, 0, 0], [8, 10, 12]]
    assert x.grad.tolist() == [[0, 0, 0], [2, 2, 2]]


@pytest.mark.parametrize(
    ("write", "name", "gradient"),
    [
        ("y[False] = 9", "MulBackward0", [[2, 2, 2], [2, 2, 2]]),
        ("y[False] += x", "MulBackward0", [[2, 2, 2], [2, 2, 2]]),
        ("y[-5:] = 9", "CopySlices", [[0, 0, 0], [0, 0, 0]]),
        ("y[:] = 9", "FillBackward0", [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_nodes_of_what_was_written_to(write: str, name: str, gradient: Any) -> None:
    x = made()
    y = x * 2
    exec(write, {"x": x, "y": y})
    y.sum().backward()
    assert (type(y.grad_fn).__name__, x.grad.tolist()) == (name, gradient)


def test_further_values_of_pytorch() -> None:
    assert torch.tensor([True, False]).square().tolist() == [1, 0]
    assert torch.tensor([True, False]).square().dtype is torch.int64
    x = torch.tensor([[1.0, 2.0], [3.0, 2.0]], requires_grad=True)
    assert x.real is x
    assert torch.tensor([3, 1, 2]).nanmedian().dtype is torch.int64
    assert x.unbind()[1].output_nr == 1
    torch.pdist(x, 0.0).sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    torch.manual_seed(0)
    drawn = torch.zeros(20, dtype=torch.float16).normal_()
    assert [round(value, 4) for value in drawn[3:8].tolist()] == [
        -0.4338,
        -1.3525,
        -1.6963,
        0.5669,
        0.7935,
    ]
