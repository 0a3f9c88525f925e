"""Short calls, and what PyTorch 2.13 prints of their results: recorded there, each with the
seed 0.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import gradcli as torch
from gradcli.nn import functional as F

WHAT_ONE_NAME_MEANS_AT_THE_TOP = [
    ("torch.detach(b)", "tensor([[1., 2.],\n        [3., 4.]])"),
    (
        "torch.adaptive_max_pool1d(a, 2)",
        "(tensor([[0.8000, 1.6000],\n"
        "        [1.8000, 1.2000],\n"
        "        [2.0000, 1.4000]]), tensor([[1, 2],\n"
        "        [1, 3],\n"
        "        [0, 2]]))",
    ),
    ("torch.fill(a[0], 2)", "tensor([2., 2., 2., 2.])"),
    (
        "torch.softmax(torch.arange(3), 0, dtype=torch.float64)",
        "tensor([0.0900, 0.2447, 0.6652], dtype=torch.float64)",
    ),
    (
        "torch.einsum(a, [0, 1], a, [2, 1], [0, 2])",
        "tensor([[3.2400, 2.3200, 2.7200],\n        [2.3200, 5.8400, 3.6400],\n        [2.7200, "
        "3.6400, 6.3200]])",
    ),
    ("torch.einsum(a, [0, 1], [1])", "tensor([3.0000, 3.2000, 3.4000, 1.4000])"),
    (
        "torch.einsum(a, [..., 0], [0, ...])",
        "tensor([[0.0000, 1.0000, 2.0000],\n"
        "        [0.8000, 1.8000, 0.6000],\n"
        "        [1.6000, 0.4000, 1.4000],\n"
        "        [0.2000, 1.2000, 0.0000]])",
    ),
]
DTYPES_OF_RESULTS = [
    (
        "torch.linalg.lu(b)",
        "torch.return_types.linalg_lu(\n"
        "P=tensor([[0., 1.],\n"
        "        [1., 0.]]),\n"
        "L=tensor([[1.0000, 0.0000],\n"
        "        [0.3333, 1.0000]], grad_fn=<LinalgLuBackward0>),\n"
        "U=tensor([[3.0000, 4.0000],\n"
        "        [0.0000, 0.6667]], grad_fn=<LinalgLuBackward0>))",
    ),
    (
        "torch.linalg.lu_factor(b)",
        "torch.return_types.linalg_lu_factor(\n"
        "LU=tensor([[3.0000, 4.0000],\n"
        "        [0.3333, 0.6667]], grad_fn=<LinalgLuFactorExBackward0>),\n"
        "pivots=tensor([2, 2], dtype=torch.int32))",
    ),
    ("torch.linalg.inv_ex(b).info.dtype", "torch.int32"),
    ("torch.linalg.cholesky_ex(b @ b.T).info.dtype", "torch.int32"),
    ("b.lu()[1]", "tensor([2, 2], dtype=torch.int32)"),
    (
        "torch.linalg.cross(a[:, :3].int(), a[:, 1:].int())",
        "tensor([[-1,  0,  0],\n        [ 1, -1, -1],\n        [-1,  0,  2]], dtype=torch.int32)",
    ),
    (
        "torch.linalg.cross(torch.tensor([200, 100, 3], dtype=torch.uint8), torch.tensor([201, "
        "101, 4], dtype=torch.uint8))",
        "tensor([ 97,  59, 100], dtype=torch.uint8)",
    ),
    (
        "torch.block_diag(a[:1] > 1, a[:1] > 1)",
        "tensor([[False, False,  True, False, False, False, False, False],\n"
        "        [False, False, False, False, False, False,  True, False]])",
    ),
    (
        "torch.block_diag(a[:1].long(), torch.tensor(3))",
        "tensor([[0, 0, 1, 0, 0],\n        [0, 0, 0, 0, 3]])",
    ),
    (
        "torch.constant_pad_nd(a.long(), (1, 1), 2)",
        "tensor([[2, 0, 0, 1, 0, 2],\n        [2, 1, 1, 0, 1, 2],\n        [2, 2, 0, 1, 0, 2]])",
    ),
    ("F.max_pool2d(a.long()[None], 2, padding=1)", "tensor([[[0, 1, 0],\n         [2, 1, 1]]])"),
    (
        "F.max_pool2d(a.int()[None], 2, padding=1, return_indices=True)",
        "(tensor([[[0, 1, 0],\n         [2, 1, 1]]], dtype=torch.int32), tensor([[[0, 2, 3],\n    "
        "     [8, 5, 7]]]))",
    ),
    ("torch.trapezoid(torch.tensor([200, 100, 3], dtype=torch.uint8))", "tensor(201.5000)"),
    ("torch.einsum('ij->j', a.int())", "tensor([3, 1, 2, 1])"),
    ("torch.einsum('ii', torch.eye(3, dtype=torch.int32))", "tensor(3)"),
    (
        "torch.einsum('ij->ji', a.int())",
        "tensor([[0, 1, 2],\n        [0, 1, 0],\n        [1, 0, 1],\n        [0, 1, 0]], "
        "dtype=torch.int32)",
    ),
    ("(a > 1).is_signed()", "False"),
    ("torch.arange(0, 2, 1, dtype=torch.bool)", "NotImplementedError"),
    ("torch.linspace(0, 1, 3, dtype=torch.bool)", "NotImplementedError"),
    ("torch.logspace(0, 1, 3, dtype=torch.bool)", "NotImplementedError"),
]
RESULTS_IN_MEMORY_OF_THEIR_OWN = [
    ("s.cumsum(0)", "tensor(2., grad_fn=<CumsumBackward0>)"),
    ("s.cumprod(0)", "tensor(2., grad_fn=<CumprodBackward0>)"),
    (
        "s.median(0)",
        "torch.return_types.median(\nvalues=tensor(2., "
        "grad_fn=<MedianBackward0>),\nindices=tensor(0))",
    ),
    (
        "s.kthvalue(1)",
        "torch.return_types.kthvalue(\nvalues=tensor(2., "
        "grad_fn=<KthvalueBackward0>),\nindices=tensor(0))",
    ),
    (
        "s.topk(1)",
        "torch.return_types.topk(\nvalues=tensor(2., grad_fn=<TopkBackward0>),\nindices=tensor(0))",
    ),
    (
        "s.cummax(0)",
        "torch.return_types.cummax(\nvalues=tensor(2., "
        "grad_fn=<CummaxBackward0>),\nindices=tensor(0))",
    ),
    (
        "torch.matrix_power(b, 1)",
        "tensor([[1., 2.],\n        [3., 4.]], grad_fn=<MatrixPowerBackward0>)",
    ),
    ("torch.tensor(2.).cumsum(1)", "IndexError"),
    ("torch.tensor(2.).flip(1)", "IndexError"),
    ("torch.positive(a) is a", "True"),
    ("a.positive() is a", "True"),
    ("a.resolve_conj() is a", "True"),
    ("a.resolve_neg() is a", "True"),
    ("torch.positive(a > 1)", "RuntimeError"),
]
RANDOM_NUMBERS_IN_THE_ORDER_OF_MEMORY = [
    ("torch.randint(3, size=(4,))", "tensor([2, 0, 2, 0])"),
    ("torch.randint(high=9, size=(4,))", "tensor([8, 0, 2, 6])"),
    ("torch.randint(2, 9, size=(4,))", "tensor([6, 5, 2, 4])"),
    (
        "torch.randint(low=2, high=9, size=(2, 2), dtype=torch.int32)",
        "tensor([[6, 5],\n        [2, 4]], dtype=torch.int32)",
    ),
    ("torch.randint(9, (4,))", "tensor([8, 0, 2, 6])"),
    (
        "torch.zeros(3, 2).t().normal_()",
        "tensor([[ 1.5410, -2.1788, -1.0845],\n        [-0.2934,  0.5684, -1.3986]])",
    ),
    (
        "torch.zeros(6, 4).t().normal_()",
        "tensor([[ 1.5410, -1.0845, -0.7193, -0.8567, -0.5663,  0.3704],\n"
        "        [-0.2934, -1.3986, -0.4033,  1.1006,  0.3731,  1.4565],\n"
        "        [-2.1788,  0.4033, -0.5966, -1.0712, -0.8920,  0.9398],\n"
        "        [ 0.5684,  0.8380,  0.1820,  0.1227, -1.5091,  0.7748]])",
    ),
    (
        "torch.zeros(3, 2).t().uniform_()",
        "tensor([[0.4963, 0.0885, 0.3074],\n        [0.7682, 0.1320, 0.6341]])",
    ),
    (
        "torch.zeros(3, 4)[:, ::2].normal_()",
        "tensor([[ 1.5410, -0.2934],\n        [-2.1788,  0.5684],\n        [-1.0845, -1.3986]])",
    ),
    (
        "torch.zeros(2, 1, 3).permute(2, 0, 1).uniform_()",
        "tensor([[[0.4963],\n         [0.1320]],\n\n        [[0.7682],\n         [0.3074]],\n\n   "
        "     [[0.0885],\n         [0.6341]]])",
    ),
    (
        "torch.rand_like(a.t())",
        "tensor([[0.4963, 0.3074, 0.4556],\n"
        "        [0.7682, 0.6341, 0.6323],\n"
        "        [0.0885, 0.4901, 0.3489],\n"
        "        [0.1320, 0.8964, 0.4017]])",
    ),
    (
        "torch.randn_like(torch.zeros(6, 4).t())",
        "tensor([[ 1.5410, -1.0845, -0.7193, -0.8567, -0.5663,  0.3704],\n"
        "        [-0.2934, -1.3986, -0.4033,  1.1006,  0.3731,  1.4565],\n"
        "        [-2.1788,  0.4033, -0.5966, -1.0712, -0.8920,  0.9398],\n"
        "        [ 0.5684,  0.8380,  0.1820,  0.1227, -1.5091,  0.7748]])",
    ),
    (
        "torch.randint_like(a.t(), 5)",
        "tensor([[4., 3., 2.],\n        [4., 4., 3.],\n        [3., 2., 1.],\n        [0., 3., "
        "1.]])",
    ),
    (
        "torch.normal(torch.zeros(20, dtype=torch.float64))",
        "tensor([-2.3104, -0.3733, -1.0608,  0.9995, -0.0200,  0.2103,  0.1772, -0.8305,\n"
        "         0.2387,  0.7335, -1.3219,  1.3148, -0.6870,  1.4881, -0.4484, -0.8910,\n"
        "         0.6749,  1.0469,  0.1543, -0.7499], dtype=torch.float64)",
    ),
    (
        "torch.normal(torch.zeros(3, dtype=torch.float64))",
        "tensor([ 1.5410, -0.2934, -2.1788], dtype=torch.float64)",
    ),
    (
        "torch.rand(5, dtype=torch.float16)",
        "tensor([0.4963, 0.7681, 0.0885, 0.1321, 0.3074], dtype=torch.float16)",
    ),
    (
        "torch.zeros(5, dtype=torch.float16).uniform_(1, 3)",
        "tensor([1.9922, 2.5371, 1.1768, 1.2637, 1.6152], dtype=torch.float16)",
    ),
]
NAMES_OF_RESULTS = [
    (
        "torch.linalg.slogdet(b)",
        "torch.return_types.linalg_slogdet(\n"
        "sign=tensor(-1., grad_fn=<LinalgSlogdetBackward0>),\n"
        "logabsdet=tensor(0.6931, grad_fn=<LinalgSlogdetBackward0>))",
    ),
    (
        "torch.slogdet(b)",
        "torch.return_types.slogdet(\n"
        "sign=tensor(-1., grad_fn=<LinalgSlogdetBackward0>),\n"
        "logabsdet=tensor(0.6931, grad_fn=<LinalgSlogdetBackward0>))",
    ),
    ("torch.linalg.eigh(b @ b.T).__class__.__name__", "'linalg_eigh'"),
    (
        "a.topk(2)",
        "torch.return_types.topk(\n"
        "values=tensor([[1.6000, 0.8000],\n"
        "        [1.8000, 1.2000],\n"
        "        [2.0000, 1.4000]]),\n"
        "indices=tensor([[2, 1],\n"
        "        [1, 3],\n"
        "        [0, 2]]))",
    ),
    ("b.svd().__class__.__name__", "'svd'"),
    ("torch.linalg.svd(b).__class__.__name__", "'linalg_svd'"),
    ("torch.linalg.qr(b).__class__.__name__", "'linalg_qr'"),
]
PARAMETERS = [
    (
        "torch.nn.Parameter(torch.ones(2))",
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)",
    ),
    (
        "torch.nn.Parameter(torch.ones(1), requires_grad=False)",
        "Parameter containing:\ntensor([1.])",
    ),
    (
        "[torch.nn.Parameter(torch.ones(1))]",
        "[Parameter containing:\ntensor([1.], requires_grad=True)]",
    ),
    ("torch.nn.Parameter(torch.ones(2)) * 2", "tensor([2., 2.], grad_fn=<MulBackward0>)"),
    ("torch.nn.Parameter(torch.ones(2)).detach()", "tensor([1., 1.])"),
    ("isinstance(torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter)", "True"),
    ("isinstance(b, torch.nn.Parameter)", "False"),
    ("isinstance(torch.nn.Parameter(a), torch.Tensor)", "True"),
    (
        "copy.deepcopy(torch.nn.Parameter(torch.ones(2)))",
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)",
    ),
    ("torch.nn.Parameter(torch.ones(2)).view(1, 2)", "tensor([[1., 1.]], grad_fn=<ViewBackward0>)"),
]
CALLS_THAT_ARE_REFUSED = [
    ("a.quantile(-1)", "RuntimeError"),
    ("a.nanquantile(2.5)", "RuntimeError"),
    ("a.quantile(torch.tensor([0.5, 1.5]))", "RuntimeError"),
    ("s.sort(1)", "IndexError"),
    ("s.argsort(1)", "IndexError"),
    ("s.topk(1, 1)", "IndexError"),
    ("s.argmax(1)", "IndexError"),
    ("s.flip(1)", "IndexError"),
    ("s.cumprod(2)", "IndexError"),
    ("torch.zeros(3).uniform_(1, 0)", "RuntimeError"),
    ("torch.zeros(3).normal_(0, -1)", "RuntimeError"),
    ("a.sum(dtype=torch.float64)", "tensor(11.0000, dtype=torch.float64)"),
    ("a.cumsum(0, dtype=torch.float64).dtype", "torch.float64"),
    ("torch.linalg.vector_norm(a, dtype=torch.float64)", "tensor(3.9243, dtype=torch.float64)"),
    ("torch.softmax(torch.arange(2), 0, dtype=torch.float32)", "tensor([0.2689, 0.7311])"),
    ("torch.zeros(3).scatter(0, torch.tensor([0]), 2)", "tensor([2., 0., 0.])"),
]


def given() -> dict[str, Any]:
    """What the calls are about."""
    torch.manual_seed(0)
    a = (torch.arange(12.0) * 37 % 11).reshape(3, 4) / 5
    b = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return {
        "torch": torch,
        "F": F,
        "copy": copy,
        "a": a,
        "b": b,
        "s": torch.tensor(2.0, requires_grad=True),
    }


def printed(text: str) -> list[str]:
    """A result as text; of an error the names of its types."""
    try:
        return [repr(eval(text, given()))]
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__]


CASES = [
    *WHAT_ONE_NAME_MEANS_AT_THE_TOP,
    *DTYPES_OF_RESULTS,
    *RESULTS_IN_MEMORY_OF_THEIR_OWN,
    *RANDOM_NUMBERS_IN_THE_ORDER_OF_MEMORY,
    *NAMES_OF_RESULTS,
    *PARAMETERS,
    *CALLS_THAT_ARE_REFUSED,
]


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[text for text, _ in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_print_as_pytorchs_do(text: str, wanted: str) -> None:
    assert wanted in printed(text)


_UNTAKEN = "unexpected keyword argument 'dtype'"


@pytest.mark.parametrize(
    "text",
    [
        "a.exp(dtype=torch.float64)",
        "a.argmin(dtype=torch.float64)",
        "torch.std(a, dtype=torch.float64)",
    ],
)
def test_a_dtype_that_a_function_does_not_take_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match=_UNTAKEN):
        eval(text, given())


@pytest.mark.parametrize(("kind", "mode"), [("int64", "nearest"), ("bool", "bilinear")])
def test_whole_numbers_are_not_interpolated_as_floats(kind: str, mode: str) -> None:
    with pytest.raises(NotImplementedError, match="interpolate takes no tensors of"):
        F.interpolate(torch.ones(1, 1, 2, 2, dtype=getattr(torch, kind)), scale_factor=2, mode=mode)
