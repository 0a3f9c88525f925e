"""Where nodes lead to: what is one node in PyTorch is one here, whatever operations it is made of."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli as torch

F = torch.nn.functional


def tree(node: Any) -> str:
    """A node with what it leads to: A is a leaf, - nothing."""
    if node is None:
        return "-"
    name = node.name().replace("torch::autograd::", "")
    return "A" if name == "AccumulateGrad" else f"{name}({', '.join(tree(following) for following, _ in node.next_functions)})"


def leaf(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


# As PyTorch 2.13 prints them by the same function.
TREES = [
    ("F.linear(leaf(2, 3), leaf(4, 3), leaf(4))", "AddmmBackward0(A, A, TBackward0(A))"),
    ("F.linear(leaf(2, 3), leaf(4, 3))", "MmBackward0(A, TBackward0(A))"),
    ("F.linear(torch.ones(2, 3), leaf(4, 3), leaf(4))", "AddmmBackward0(A, -, TBackward0(A))"),
    ("torch.addmm(leaf(4), leaf(2, 3), leaf(3, 4))", "AddmmBackward0(A, A, A)"),
    ("F.mse_loss(leaf(2), leaf(2))", "MseLossBackward0(A, A)"),
    ("F.mse_loss(leaf(2), torch.ones(2))", "MseLossBackward0(A, -)"),
    ("F.mse_loss(leaf(2), torch.ones(2), reduction='none')", "MseLossBackward0(A, -)"),
    ("F.smooth_l1_loss(leaf(2), torch.ones(2))", "SmoothL1LossBackward0(A, -)"),
    ("F.huber_loss(leaf(2), torch.ones(2))", "HuberLossBackward0(A, -)"),
    ("F.cross_entropy(leaf(2, 3), torch.tensor([0, 1]))", "NllLossBackward0(LogSoftmaxBackward0(A))"),
    ("F.nll_loss(leaf(2, 3), torch.tensor([0, 1]))", "NllLossBackward0(A)"),
    ("F.binary_cross_entropy(leaf(2), torch.ones(2))", "BinaryCrossEntropyBackward0(A, -)"),
    ("F.binary_cross_entropy_with_logits(leaf(2), torch.ones(2))", "BinaryCrossEntropyWithLogitsBackward0(A, -)"),
    ("F.layer_norm(leaf(2, 3), (3,))", "NativeLayerNormBackward0(A, -, -)"),
    ("F.layer_norm(leaf(2, 3), (3,), leaf(3), leaf(3))", "NativeLayerNormBackward0(A, A, A)"),
    ("F.batch_norm(leaf(2, 3), None, None, training=True)", "NativeBatchNormBackward0(A, -, -)"),
    ("F.group_norm(leaf(2, 4, 2), 2)", "NativeGroupNormBackward0(A, -, -)"),
    ("F.conv2d(leaf(1, 2, 4, 4), leaf(3, 2, 2, 2))", "ConvolutionBackward0(A, A, -)"),
    ("F.conv1d(leaf(1, 2, 5), leaf(3, 2, 2), leaf(3))", "ConvolutionBackward0(A, A, A)"),
    ("F.max_pool2d(leaf(1, 1, 4, 4), 2)", "MaxPool2DWithIndicesBackward0(A)"),
    ("F.avg_pool2d(leaf(1, 1, 4, 4), 2)", "AvgPool2DBackward0(A)"),
    ("F.interpolate(leaf(1, 1, 4, 4), scale_factor=2)", "UpsampleNearest2DBackward0(A)"),
    ("F.embedding(torch.tensor([0, 1]), leaf(2, 3))", "EmbeddingBackward0(A)"),
    ("F.glu(leaf(2, 4))", "GluBackward0(A)"), ("F.logsigmoid(leaf(2))", "LogSigmoidBackward0(A)"),
    ("leaf(2, 3).max(1)[0]", "MaxBackward0(A)"), ("leaf(2, 3).sort()[0]", "SortBackward0(A)"),
    ("leaf(2, 3).topk(1)[0]", "TopkBackward0(A)"),
    ("leaf(2, 3).gather(1, torch.tensor([[0], [1]]))", "GatherBackward0(A)"), ("leaf(2).repeat(2)", "RepeatBackward0(A)"),
    ("torch.cdist(leaf(2, 3), leaf(2, 3))", "CdistBackward0(A, A)"), ("leaf(2).nansum()", "NansumBackward0(A)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), TREES)
def test_nodes_lead_to_where_pytorchs_do(text: str, wanted: str) -> None:
    assert tree(eval(text, {"torch": torch, "F": F, "leaf": leaf}).grad_fn) == wanted


@pytest.mark.parametrize(
    ("equation", "shapes", "name"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], "ViewBackward0"), ("ij,ij->ij", [(2, 3), (2, 3)], "MulBackward0"),
        ("i,i->", [(2,), (2,)], "ViewBackward0"),
        ("i,j->ij", [(2,), (3,)], "MulBackward0"), ("ij->ji", [(2, 3)], "PermuteBackward0"), ("ij->i", [(2, 3)], "SumBackward1"),
        ("ii->i", [(2, 2)], "PermuteBackward0"), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)], "ViewBackward0"),
    ],
)  # fmt: skip
def test_an_einsum_is_called_by_its_last_product(equation: str, shapes: list[tuple[int, ...]], name: str) -> None:
    assert torch.einsum(equation, *(leaf(*shape) for shape in shapes)).grad_fn.name() == name


def test_gradients_flow_through_all_that_a_node_is_made_of() -> None:
    x, w, b = leaf(2, 3), leaf(4, 3), leaf(4)
    seen: list[Any] = []
    y = F.linear(x, w, b)
    (bias, _), (first, _), (transposed, _) = y.grad_fn.next_functions
    assert (bias.variable is b, first.variable is x, transposed.next_functions[0][0].variable is w) == (True, True, True)
    transposed.register_hook(lambda passed, given: seen.append(given[0].shape))
    y.sum().backward()
    assert seen == [(3, 4)]
    assert (x.grad.tolist(), b.grad.tolist()) == ([[4.0] * 3] * 2, [2.0] * 4)
