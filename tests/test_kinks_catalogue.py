"""Kinks and singular points of the wider catalogue:

PyTorch's choice, in the language and on tensors.

Each row is an expression in PyTorch's notation, the values of its names, and the gradient of its
sum, measured with PyTorch 2.13 in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import same

import gradcli as torch
import gradcli.nn.functional as F

inf, nan = float("inf"), float("nan")
Row = tuple[str, dict[str, Any], tuple[Any, ...]]

PYTORCH: list[Row] = [
    ("torch.fmax(x, y)", {"x": 1.0, "y": 1.0}, (1.0, 0.0)),
    ("torch.fmin(x, y)", {"x": 1.0, "y": 1.0}, (1.0, 0.0)),
    ("torch.fmax(x, y)", {"x": nan, "y": 1.0}, (0.0, 1.0)),
    ("F.hardtanh(x)", {"x": 1.0}, (0.0,)),
    ("F.relu6(x)", {"x": 6.0}, (0.0,)),
    ("F.relu6(x)", {"x": 0.0}, (0.0,)),
    ("F.hardsigmoid(x)", {"x": 3.0}, (0.0,)),
    ("F.hardswish(x)", {"x": 3.0}, (1.0,)),
    ("F.hardswish(x)", {"x": -3.0}, (0.0,)),
    ("F.leaky_relu(x)", {"x": 0.0}, (0.01,)),
    ("F.elu(x)", {"x": 0.0}, (1.0,)),
    ("F.selu(x)", {"x": 0.0}, (1.7580993408473766,)),
    ("F.softshrink(x)", {"x": 0.5}, (0.0,)),
    ("F.hardshrink(x)", {"x": 0.5}, (0.0,)),
    ("F.threshold(x, 0, 0)", {"x": 0.0}, (0.0,)),
    ("F.gelu(x)", {"x": 0.0}, (0.5,)),
    ("F.logsigmoid(x)", {"x": -1000.0}, (1.0,)),
    ("torch.special.xlog1py(x, y)", {"x": 0.0, "y": -1.0}, (0.0, 0.0)),
    ("torch.special.entr(x)", {"x": 0.0}, (inf,)),
    ("torch.special.erfinv(x)", {"x": 1.0}, (inf,)),
    ("torch.logit(x)", {"x": 0.0}, (inf,)),
    ("torch.logit(x)", {"x": 1.5}, (nan,)),
    ("torch.sinc(x)", {"x": 0.0}, (0.0,)),
    ("torch.frac(x)", {"x": 1.0}, (1.0,)),
    ("torch.copysign(x, y)", {"x": 0.0, "y": 1.0}, (0.0, 0.0)),
    ("torch.logaddexp(x, y)", {"x": inf, "y": inf}, (nan, nan)),
    ("torch.median(x)", {"x": [1.0, 3.0, 2.0, 4.0]}, ([0.0, 0.0, 1.0, 0.0],)),
    ("torch.median(x)", {"x": [1.0, 2.0, 2.0, 3.0]}, ([0.0, 0.5, 0.5, 0.0],)),
    ("torch.median(x, dim=0)[0]", {"x": [1.0, 2.0, 2.0, 3.0]}, ([0.0, 1.0, 0.0, 0.0],)),
    ("torch.quantile(x, 0.5)", {"x": [1.0, 2.0, 3.0, 4.0]}, ([0.0, 0.5, 0.5, 0.0],)),
    (
        "(torch.sort(x)[0]*w)",
        {"x": [2.0, 1.0, 2.0], "w": [1.0, 10.0, 100.0]},
        ([10.0, 1.0, 100.0], [1.0, 2.0, 2.0]),
    ),
    ("torch.topk(x, 1)[0]", {"x": [2.0, 2.0, 1.0]}, ([1.0, 0.0, 0.0],)),
    (
        "(torch.cummax(x, 0)[0]*w)",
        {"x": [1.0, 1.0, 0.0], "w": [1.0, 10.0, 100.0]},
        ([1.0, 110.0, 0.0], [1.0, 1.0, 1.0]),
    ),
    ("torch.softmax(x, 0)*w", {"x": [-inf, -inf], "w": [1.0, 2.0]}, ([nan, nan], [nan, nan])),
    ("F.l1_loss(x, y)", {"x": 1.0, "y": 1.0}, (0.0, 0.0)),
    ("F.smooth_l1_loss(x, y)", {"x": 1.0, "y": 1.0}, (0.0, 0.0)),
    ("F.smooth_l1_loss(x, y)", {"x": 2.0, "y": 1.0}, (1.0, -1.0)),
    ("F.huber_loss(x, y)", {"x": 2.0, "y": 1.0}, (1.0, -1.0)),
    (
        "F.binary_cross_entropy(x, y)",
        {"x": [0.3], "y": [1.0]},
        ([-3.333333333333333], [0.8472978603872036]),
    ),
    ("F.binary_cross_entropy_with_logits(x, y)", {"x": [0.0], "y": [1.0]}, ([-0.5], [0.0])),
    ("F.binary_cross_entropy_with_logits(x, y)", {"x": [-1000.0], "y": [1.0]}, ([-1.0], [1000.0])),
    ("F.binary_cross_entropy_with_logits(x, y)", {"x": [1000.0], "y": [1.0]}, ([0.0], [-1000.0])),
    ("torch.clamp(1 - x, min=0)", {"x": 1.0}, (-1.0,)),
    ("torch.linalg.eigvalsh(x)", {"x": [[1.0, 0.0], [0.0, 1.0]]}, ([[1.0, 0.0], [0.0, 1.0]],)),
    ("torch.linalg.svdvals(x)", {"x": [[1.0, 0.0], [0.0, 1.0]]}, ([[1.0, 0.0], [0.0, 1.0]],)),
    ("torch.dist(x, y)", {"x": [1.0, 2.0], "y": [1.0, 2.0]}, ([0.0, 0.0], [0.0, 0.0])),
    (
        "F.cosine_similarity(x, y, dim=0)",
        {"x": [0.0, 0.0], "y": [1.0, 2.0]},
        ([44721359.549995795, 89442719.09999159], [0.0, 0.0]),
    ),
    ("F.normalize(x, dim=0)", {"x": [0.0, 0.0]}, ([1e12, 1e12],)),
]

# PyTorch is wrong here, or multiplies a derivative that is infinite by an exact zero: the truth,
# with PyTorch's answer beside it.
TRUTH: list[tuple[str, dict[str, Any], tuple[Any, ...], Any]] = [
    (
        "torch.linalg.det(x)",
        {"x": [[1.0, 2.0], [2.0, 4.0]]},
        ([[4.0, -2.0], [-2.0, 1.0]],),
        "zeros",
    ),
    # of the loss as PyTorch defines it, its logarithms held above -100
    (
        "F.binary_cross_entropy(x, y)",
        {"x": [0.0], "y": [1.0]},
        ([-1000000003995.8029], [100.0]),
        inf,
    ),
    (
        "F.binary_cross_entropy(x, y)",
        {"x": [1.0], "y": [0.0]},
        ([1000000003995.8029], [-100.0]),
        -inf,
    ),
    # from inside the regular matrices: PyTorch's signs come from rounding in its LU decomposition
    (
        "torch.linalg.slogdet(x)[1]",
        {"x": [[1.0, 2.0], [2.0, 4.0]]},
        ([[inf, -inf], [-inf, inf]],),
        "the opposite signs",
    ),
    ("torch.where(x > 0, torch.sqrt(x), 0.0)", {"x": 0.0}, (0.0,), nan),
    ("torch.where(x == 0, 1.0, torch.sin(x)/x)", {"x": 0.0}, (0.0,), nan),
    ("torch.sqrt(x)*0", {"x": 0.0}, (0.0,), nan),
    ("torch.nan_to_num(torch.log(x))", {"x": 0.0}, (0.0,), nan),
    ("torch.masked_fill(torch.sqrt(x), x == 0, 0.0)", {"x": 0.0}, (0.0,), nan),
]
ROWS = [*PYTORCH, *(row[:3] for row in TRUTH)]
over_rows = pytest.mark.parametrize(
    "row", [pytest.param(r, id=f"{r[0]} at {list(r[1].values())}") for r in ROWS]
)


@over_rows
def test_in_the_language(row: Row) -> None:
    text, values, wanted = row
    record = torch.evaluate(f"sum({text})", at=values, check=False, formula=False, wrt=list(values))
    for name, slope in zip(values, wanted, strict=True):
        assert same(record.grad[name], slope), (name, record.grad[name])


@over_rows
def test_on_tensors(row: Row) -> None:
    text, values, wanted = row
    tensors = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in values.items()
    }
    result = eval(text, {"torch": torch, "F": F, **tensors})
    result.sum().backward()
    for name, slope in zip(values, wanted, strict=True):
        found = tensors[name].grad
        assert same(np.zeros(np.shape(slope)) if found is None else found.numpy(), slope), (
            name,
            found,
        )
