"""dtypes of results:

PyTorch's for every pair of dtypes and categories, and for whole numbers in functions of one tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import thinned
from oracles import dtypes
from recorded import read_json, read_table

import gradcli as torch

RECORDED = read_json(dtypes.RECORDED)
FIRST_NUMBER = 2 * len(dtypes.DTYPES)
KINDS = [
    *dtypes.DTYPES,
    *(f"{name} without axes" for name in dtypes.DTYPES),
    *map(repr, dtypes.NUMBERS),
]


# Where we differ from PyTorch, or have more or less: for how many of the 529 pairs or the 10 dtypes,
# and why.
DIFFERENT = read_table("dtypes_different.json")


@pytest.mark.parametrize("text", thinned(dtypes.PAIRS))
def test_pairs_of_operands(text: str) -> None:
    found = dtypes.rows(torch, text)
    wrong = [
        f"{KINDS[i]}, {KINDS[j]}: {got}, not {wanted}"
        for i, (row, mine) in enumerate(zip(RECORDED["pairs"][text], found, strict=True))
        for j, (wanted, got) in enumerate(zip(row, mine, strict=True))
        if wanted != got
        and not (
            wanted == "!" and max(i, j) >= FIRST_NUMBER
        )  # a number stands for a tensor everywhere
    ]
    assert len(wrong) == DIFFERENT.get(text, (0, ""))[0], wrong


@pytest.mark.parametrize("text", dtypes.ALONE)
def test_one_tensor_of_every_dtype(text: str) -> None:
    found = list(dtypes.answers(torch, text))
    wrong = [
        f"{name}: {got}, not {wanted}"
        for name, wanted, got in zip(dtypes.DTYPES, RECORDED["alone"][text], found, strict=True)
        if not agree(wanted, got)
    ]
    assert len(wrong) <= DIFFERENT.get(text, (0, ""))[0], wrong


@pytest.mark.parametrize("text", dtypes.NONE)
def test_tensors_of_numbers(text: str) -> None:
    assert agree(RECORDED["none"][text], dtypes.answer(torch, text))


def agree(wanted: Any, got: Any) -> bool:
    """The same dtype with the same entries, floats but for the last of the digits that were
    recorded; or the same kind of error.
    """
    if not isinstance(wanted, list) or not isinstance(got, list):
        return bool(wanted == got) or (wanted, got) == (
            "RuntimeError",
            "NotImplementedError",
        )  # which is one
    if wanted[0] != got[0] or "float" not in wanted[0]:
        return bool(wanted == got)
    near = 0.0125 if wanted[0] == "bfloat16" else 0.006  # a unit of its last place is up to 1/128
    return len(wanted[1]) == len(got[1]) and all(
        a == b
        or (
            not isinstance(a, str) and not isinstance(b, str) and abs(a - b) <= near * abs(a) + 1e-7
        )
        for a, b in zip(wanted[1], got[1], strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "x.max()", "x.min()", "x.amax(0)", "x.amin(1)", "x.max(0).values", "x.median()", "x.nanmedian()",
        "np.ptp(x)",
        "F.hardsigmoid(x)", "torch.special.xlogy(x, x)", "torch.special.xlog1py(x, x)", "F.leaky_relu(-x)", "x.norm()", "x.prod()",
        "x.cumprod(0)",
        "torch.quantile(x, 0.3)", "np.percentile(x, 30.0, axis=1)", "F.hardtanh(x)", "F.elu(-x)",
        "F.cross_entropy(x, torch.tensor([0, 1]))",
        "torch.where(x > 1, x, 0.5*x)", "x.sort().values", "F.max_pool2d(x[None, None], 2)", "x.std()", "F.softplus(x)",
        "torch.fmod(x, 0.3)",
    ],
)  # fmt: skip
def test_constants_of_rules_have_the_dtype_of_what_they_meet(text: str) -> None:
    def graph(create: bool) -> tuple[Any, Any]:
        x = torch.tensor([[1.3, 0.4], [0.7, 2.1]], dtype=torch.float64, requires_grad=True)
        result = eval(text, {"x": x, "torch": torch, "F": torch.nn.functional, "np": np}).sum() / 3
        return result, torch.autograd.grad(result, x, create_graph=create)[0]

    result, slope = graph(True)
    assert slope.tolist() == graph(False)[1].tolist()
    waiting, seen = [result.grad_fn, slope.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            kinds = node.dtype if isinstance(node.dtype, tuple) else (node.dtype,)
            assert np.float32 not in kinds, f"{node.name()} is computed in float32"
            waiting += [following for following, _ in node.next_functions]


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_a_target_of_another_shape_is_warned_of(name: str) -> None:
    loss = getattr(torch.nn.functional, name)
    with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[3\]\)\) that is"):
        loss(torch.ones(3, 1), torch.ones(3))


@pytest.mark.parametrize("axes", [(2,), ()])
def test_an_array_beside_a_tensor_counts_as_a_tensor_of_it(axes):
    x, array = torch.ones(2), np.ones(axes)
    wanted = (x * torch.from_numpy(array)).dtype
    assert [y.dtype for y in (x * array, array * x, x - array, array - x)] == [wanted] * 4
