"""How results lie in memory and what their nodes are called: the strides and names that PyTorch 2.13 gives, recorded from it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import gradcli as torch
import gradcli.nn.functional as F

STRIDES = [
    ("torch.linalg.inv(x)", [(1, 3)]),
    ("torch.linalg.inv(b)", [(9, 1, 3)]),
    ("torch.linalg.solve(x, x)", [(1, 3)]),
    ("torch.linalg.solve(x, x, left=False)", [(3, 1)]),
    ("torch.linalg.cholesky(x @ x.T + torch.eye(3))", [(1, 3)]),
    ("torch.linalg.qr(r)", [(1, 2), (1, 2)]),
    ("torch.linalg.svd(r)", [(1, 2), (1,), (1, 3)]),
    ("torch.svd(r)", [(1, 2), (1,), (2, 1)]),
    ("torch.linalg.eigh(x + x.T)", [(1,), (1, 3)]),
    ("torch.linalg.lu_factor(r)", [(1, 2), (1,)]),
    ("torch.linalg.lstsq(x, r.T).solution", [(1, 3)]),
    ("torch.triangular_solve(x, x)", [(1, 3), (1, 3)]),
    ("torch.linalg.matrix_power(x, -1)", [(1, 3)]),
    ("torch.cross(x, x, dim=0)", [(3, 1)]),
    ("r.softmax(1)", [(3, 1)]),
    ("r.T.softmax(1)", [(2, 1)]),
    ("r.T.cumsum(0)", [(2, 1)]),
    ("r.T.cumprod(1)", [(2, 1)]),
    ("r.T.flip(0)", [(1, 3)]),
    ("r.T.roll(1)", [(2, 1)]),
    ("r.T.sort()", [(1, 3), (1, 3)]),
    ("r.T.topk(2)", [(2, 1), (2, 1)]),
    ("r.T.kthvalue(1)", [(1,), (1,)]),
    ("r.cummax(1)", [(3, 1), (3, 1)]),
    ("r.T.masked_fill(r.T > 1, 0.5)", [(2, 1)]),
    ("torch.fill(r.T, 2.0)", [(1, 3)]),
    ("r.T.slice_scatter(r.T)", [(1, 3)]),
    ("torch.rot90(r)", [(1, 3)]),
    ("torch.cat([r.T, r.T])", [(2, 1)]),
    ("torch.stack([r.T, r.T])", [(6, 2, 1)]),
    ("torch.diff(r.T)", [(1, 1)]),
    ("F.avg_pool1d(r, 2)", [(1, 1)]),
    ("F.avg_pool2d(b, 2)", [(1, 1, 1)]),
    ("F.logsigmoid(r.T)", [(2, 1)]),
    ("torch.t_copy(r)", [(2, 1)]),
    ("torch.transpose_copy(b, 0, 2)", [(6, 2, 1)]),
    ("torch.unfold_copy(r, 1, 2, 1)", [(4, 2, 1)]),
    ("torch.zeros(0, 3).t()", [(1, 3)]),
    ("torch.zeros(0, 3).narrow(1, 2, 1)", [(3, 1)]),
    ("torch.zeros(2, 0, 3).permute(2, 0, 1)", [(1, 3, 3)]),
    ("torch.special.zeta(r.T + 2, 1)", [(1, 3)]),
    ("torch.triu(b.permute(2, 0, 1))", [(6, 3, 1)]),
    ('torch.einsum("ij->ji", r)', [(1, 3)]),
    ("r.T.exp()", [(1, 3)]),
    ("r.T + r.T", [(1, 3)]),
    ("r.T.unsqueeze(0)", [(3, 1, 3)]),
    ("b.permute(2, 0, 1) + torch.ones(3, 2, 3)", [(1, 9, 3)]),
    ("torch.ones(3, 2, 3) + b.permute(2, 0, 1)", [(6, 3, 1)]),
    ("b.permute(2, 0, 1).sum(-1)", [(2, 1)]),
    ("b.mT.mean(0)", [(3, 1)]),
    ("b.mT.norm(dim=0)", [(3, 1)]),
    ("r.T.unsqueeze(-1)", [(1, 3, 1)]),
    ("r[:, 1].unsqueeze(1)", [(3, 1)]),
    ("torch.atleast_3d(r.T)", [(1, 3, 1)]),
    ("torch.zeros_like(r[:1].expand(2, 3))", [(3, 1)]),
    ("r[:1].expand(2, 3).double()", [(3, 1)]),
    ("torch.full_like(r[0].expand(2, 3), 2.0)", [(3, 1)]),
    ("F.layer_norm(b.permute(2, 0, 1), (3,))", [(6, 3, 1)]),
    ("torch.cdist(b.permute(2, 0, 1), b.permute(2, 0, 1))", [(4, 2, 1)]),
    ("b[:, torch.tensor([0])]", [(3, 3, 1)]),
    ("torch.broadcast_tensors(r.T, r.T)", [(1, 3), (1, 3)]),
    ("F.normalize(b.mT, dim=0)", [(9, 1, 3)]),
]

NAMES = [
    ("x.diag()", "DiagonalBackward0_copy"),
    ("torch.diagonal_copy(x)", "DiagonalBackward0_copy"),
    ("torch.squeeze_copy(x, 0)", "SqueezeBackward1_copy"),
    ("torch.permute_copy(x, (0, 1))", "PermuteBackward0_copy"),
    ("torch.alias_copy(x)", "AliasBackward0_copy"),
    ("torch.unbind_copy(x)[0]", "UnbindBackward0_copy"),
    ("torch.narrow_copy(x, 0, 0, 1)", "NarrowCopyBackward0"),
    ("x.index_copy(0, torch.tensor([0]), x[:1])", "IndexCopyBackward0"),
    ("x.unsafe_split(1)[0]", "UnsafeSplitBackward0"),
    ("x.unsafe_chunk(2)[0]", "UnsafeSplitBackward0"),
    ("x.repeat_interleave(2)", "ViewBackward0"),
    ("x.repeat_interleave(torch.tensor([1, 2, 1]), 0)", "IndexSelectBackward0"),
    ("torch.frobenius_norm(x, 0)", "NormBackward1"),
    ("torch.nuclear_norm(x)", "SumBackward1"),
    ("torch.linalg.norm(x, 1)", "AmaxBackward0"),
    ("torch.linalg.norm(x)", "LinalgVectorNormBackward0"),
    ("torch.linalg.matrix_norm(x, -2)", "AminBackward0"),
    ("torch.linalg.cond(x)", "SqueezeBackward1"),
    ("torch.linalg.vander(x)", "CatBackward0"),
    ("torch.linalg.vecdot(x[0], x[1])", "VdotBackward0"),
    ("torch.linalg.vecdot(x, x)", "SumBackward1"),
    ("torch.linalg.matrix_power(x, 0)", "CopyBackwards"),
    ("torch.svd(x)[0]", "LinalgSvdBackward0"),
    ("torch.svd(x)[2]", "TransposeBackward0"),
    ("x.diff(0)", "CopyBackwards"),
    ("x.diff()", "SubBackward0"),
    ("x[0].corrcoef()", "DivBackward0"),
    ("x.corrcoef()", "ClampBackward1"),
    ("torch.atleast_2d(x[0, 0])", "ViewBackward0"),
    ("torch.atleast_2d(x[0])", "UnsqueezeBackward0"),
    ("x.sum_to_size(3)", "ViewBackward0"),
    ("x.sum_to_size(1, 3)", "SumBackward1"),
    ("torch.special.ndtr(x)", "MulBackward1"),
    ("torch.special.round(x)", "RoundBackward1"),
    ("torch.round(x)", "RoundBackward0"),
    ("F.scaled_dot_product_attention(x, x, x)", "MmBackward0"),
    ("F.scaled_dot_product_attention(x[None], x[None], x[None])", "UnsafeViewBackward0"),
]


def computed(code: str) -> Any:
    r = torch.tensor([[1.0, 4.0, 2.0], [3.0, 0.5, 6.0]])
    x = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [2.0, 0.5, 5.0]], requires_grad=True)
    y = x.detach()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, {"torch": torch, "F": F, "r": r, "x": x, "b": torch.stack([y, 2 * y])})


def strides_of(result: Any) -> list[tuple[int, ...]]:
    return [tuple(result.stride())] if isinstance(result, torch.Tensor) else [s for part in result for s in strides_of(part)]


@pytest.mark.parametrize(("code", "wanted"), STRIDES, ids=[code for code, _ in STRIDES])
def test_strides(code: str, wanted: list[tuple[int, ...]]) -> None:
    assert strides_of(computed(code)) == wanted


@pytest.mark.parametrize(("code", "wanted"), NAMES, ids=[code for code, _ in NAMES])
def test_names_of_nodes(code: str, wanted: str) -> None:
    assert type(computed(code).grad_fn).__name__ == wanted


def test_a_gradient_is_laid_out_as_its_leaf() -> None:
    x = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    (x.contiguous() ** 2).sum().backward()
    assert x.stride() == x.grad.stride() == (1, 3)
    y = torch.ones(2, 3, requires_grad=True)
    y.t().contiguous().exp().sum().backward()
    assert y.grad.stride() == (3, 1)


def test_what_was_given_stays_as_it_is() -> None:
    x = torch.ones(3, 3)
    coefficients = torch.triangular_solve(x, x)[1]
    assert coefficients is not x
    assert x.stride() == (3, 1)


def test_an_equation_that_only_orders_axes_is_a_view() -> None:
    x = torch.zeros(2, 3, 4)
    torch.einsum("i...->...i", x)[0, 1, 0] = 5
    torch.einsum("cab", x)[2, 3, 1] = 7
    assert x[0, 0, 1] == 5
    assert torch.einsum("cab", x).shape == (3, 4, 2)
    assert x.sum() == 12


# -- writing: what PyTorch 2.13 prints -------------------------------------------------------------------------------------


def made() -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def test_entries_that_are_one_place_are_written_one_after_the_other() -> None:
    k = torch.arange(6.0).reshape(2, 3)
    k.unfold(1, 2, 1).mul_(2)
    assert k.tolist() == [[0, 4, 4], [6, 16, 10]]
    k = torch.arange(6.0).reshape(2, 3)
    k.as_strided((2, 2), (1, 1)).add_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert k.tolist() == [[1, 6, 6], [3, 4, 5]]
    x = made()
    y = x * 1
    y.as_strided((2, 2), (1, 1)).mul_(3)
    (y.pow(2) / 2).sum().backward()
    assert y.tolist() == [[3, 18, 9], [4, 5, 6]]
    assert (x.grad.tolist(), y._version) == ([[9, 54, 27], [4, 5, 6]], 1)  # PyTorch's gradient takes each place once


def test_logic_in_place_is_outside_of_the_graph() -> None:
    x = made()
    y = x * 2
    y[0].logical_not_()
    y.sum().backward()
    assert y.tolist() == [[0, 0, 0], [8, 10, 12]]
    assert (type(y.grad_fn).__name__, y._version, x.grad.tolist()) == ("MulBackward0", 1, [[2, 2, 2], [2, 2, 2]])
    assert x.logical_and_(x > 2).tolist() == [[0, 0, 1], [1, 1, 1]]
    assert x.is_leaf


@pytest.mark.parametrize(
    ("write", "name", "gradient"),
    [
        ("y[False] = 9", "MulBackward0", [[2, 2, 2], [2, 2, 2]]),
        ("y[False] += x", "MulBackward0", [[2, 2, 2], [2, 2, 2]]),
        ("y[-5:] = 9", "CopySlices", [[0, 0, 0], [0, 0, 0]]),
        ("y[:] = 9", "FillBackward3", [[0, 0, 0], [0, 0, 0]]),
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
    assert (x.layout is torch.strided, isinstance(x.layout, torch.layout), repr(x.layout)) == (True, True, "torch.strided")
    assert torch.tensor([3, 1, 2]).nanmedian().dtype is torch.int64
    assert x.unbind()[1].output_nr == 1
    torch.pdist(x, 0.0).sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    torch.manual_seed(0)
    drawn = torch.zeros(20, dtype=torch.float16).normal_()
    assert [round(value, 4) for value in drawn[3:8].tolist()] == [-0.4338, -1.3525, -1.6963, 0.5669, 0.7935]
