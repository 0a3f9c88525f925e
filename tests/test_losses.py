"""Losses on extreme inputs, at ties and with unusable arguments: as PyTorch, whose numbers these
are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError

STEEP = 1000000003995.8029
TINY = 4.248354255291589e-18  # exp(-40)
SCORES = [[1.0, 0.0, 0.5]]

# program, x, value, gradient of the sum
EXTREME: list[tuple[str, Any, Any, Any]] = [
    ("F.binary_cross_entropy(x, [0, 1, 0, 1], reduction='none')", [0, 0, 1, 1], [0, 100, 100, 0], [0, -STEEP, STEEP, 0]),
    ("F.binary_cross_entropy(x, 1)", 1e-14, 32.23619130191664, -1000000003995.7928),
    ("F.binary_cross_entropy(x, 1)", 1e-50, 100.0, -STEEP),
    ("F.binary_cross_entropy(x, 0)", 1 - 1e-14, 32.236990899346836, 1000000003995.7928),
    ("F.binary_cross_entropy_with_logits(x, [0, 1, 1], reduction='none')", [1000, -1000, 1000], [1000, 1000, 0], [1, -1, 0]),
    ("F.soft_margin_loss(x, [1, 1, 1], reduction='none')", [-1000, 40, 1000], [1000, TINY, 0], [-1, -TINY, 0]),
    ("F.cross_entropy(x, 1)", [1000, 0, -1000], 1000, [1, -1, 0]),
    ("F.cross_entropy(x, 0)", [40, 0], TINY, [-TINY, TINY]),
    ("F.nll_loss(x, [-100, 0])", [[-math.inf, 0], [0.5, 2]], -0.5, [[0, 0], [-1, 0]]),
    ("F.kl_div([-1, -2], x, reduction='sum', log_target=True)", [-1000, -2], 0, [0, math.exp(-2)]),
    ("F.gaussian_nll_loss([1, 0, 2], [1.5, 0, 2], x, reduction='none')", [0, 1e-7, 1e-6],
     [124993.09224472102, -6.907755278982137, -6.907755278982137], [-124999500000.0, 500000.0, 500000.0]),
    ("F.poisson_nll_loss([1, 0, 2], x, full=True, reduction='none')", [1, 0, 2],
     [1.718281828459045, 1.0, 4.040862583535186], [-1, 0, -1.0568528194400546]),
    ("F.cosine_similarity(x, [1, 2], dim=0)", [0, 0], 0, [44721359.549995795, 89442719.09999159]),
    ("F.cosine_similarity(x, [1, 2], dim=0)", [3e-9, 0], 0.13416407864998736, [31304951.68499706, 89442719.09999159]),
    ("F.cosine_embedding_loss(x, [1, 0], -1)", [0, 0], 0, [1000000.0019974014, 0]),
    ("F.normalize(x)", [[0, 0], [1e-13, 0]], [[0, 0], [0.1, 0]], [[1e12, 1e12], [1e12, 1e12]]),
    ("F.pairwise_distance(x, [1, 2], eps=0)", [1, 2], 0, [0, 0]),
    ("F.layer_norm(x, (2,))", [1e-200, 1e-200], [0, 0], [0, 0]),
    ("F.rms_norm(x, (2,))", [0, 0], [0, 0], [67108864, 67108864]),
]  # fmt: skip

# program, x, gradient of the sum: at ties and exactly at margins
TIES: list[tuple[str, Any, Any]] = [
    ("F.l1_loss(x, [0, 1], reduction='sum')", [0, 2], [0, 1]),
    ("F.smooth_l1_loss(x, [0, 0, 0], reduction='sum')", [1, -1, 0], [1, -1, 0]),
    ("F.huber_loss(x, [0, 0, 0], delta=2, reduction='sum')", [2, -2, 0], [2, -2, 0]),
    (
        "F.hinge_embedding_loss(x, [1, -1, -1, -1, 0], reduction='sum')",
        [1, 1, 2, 0.5, 0.3],
        [1, -1, 0, -1, 0],
    ),
    (
        "F.margin_ranking_loss(x, [0.5, 0.7, 0.3], [1, 1, -1], 0.5, reduction='sum')",
        [1, 1, 2],
        [-1, -1, 1],
    ),
    ("F.multi_margin_loss(x, [0])", SCORES, [[-1 / 3, 0, 1 / 3]]),
    ("F.multilabel_margin_loss(x, [0, -1])", [1, 0], [0, 0]),
    ("F.triplet_margin_loss(x, [[1, 0]], [[0.5, 0]], eps=0, swap=True)", [[0, 0]], [[-0.5, 0]]),
]

# program, x, what is wrong
MISUSED: list[tuple[str, Any, str]] = [
    ("F.mse_loss(x, 1, reduction='batchmean')", 2.0, "reduction must be one of 'mean', 'sum' and "
    "'none', not 'batchmean'"),
    ("F.huber_loss(x, 1, delta=0)", 2.0, "huber_loss: delta must be more than 0, not 0"),
    ("F.smooth_l1_loss(x, 1, beta=-1)", 2.0, "smooth_l1_loss: beta must be at least 0, not -1"),
    ("F.binary_cross_entropy(x, [1])", [[0.5]], "target size (1,) must be the same as input size "
    "(1, 1)"),
    ("F.nll_loss(x, [3])", SCORES, "the label 3 is none of the 3 classes, which are counted from 0"),
    ("F.nll_loss(x, [-1])", SCORES, "the label -1 is none of the 3 classes, which are counted "
    "from 0"),
    ("F.nll_loss(x, [0, 1])", SCORES, "labels of shape (2,) do not fit scores of shape (1, 3), "
    "with classes along axis 1"),
    ("F.nll_loss(x, [0], [1, 2])", SCORES, "one weight for each of 3 classes is wanted, not an "
    "array of shape (2,)"),
    ("F.cross_entropy(x, [0], label_smoothing=2)", SCORES, "cross_entropy: label_smoothing must "
    "be from 0 to 1, not 2"),
    ("F.multi_margin_loss(x, [0], p=3)", SCORES, "multi_margin_loss: p must be 1 or 2, not 3"),
    ("F.triplet_margin_loss(x, x, x, margin=0)", SCORES, "triplet_margin_loss: the margin must be "
    "greater than 0, not 0"),
    ("F.gaussian_nll_loss(x, x, [1, 2])", SCORES, "shapes (1, 3) and (2,) do not broadcast "
    "together"),
    ("F.layer_norm(x, (2,))", SCORES, "layer_norm: the last axes of the shape (1, 3) are not (2,)"),
    ("F.group_norm(x, 2)", SCORES, "group_norm: the second axis of the shape (1, 3) does not "
    "divide into 2 groups"),
    ("F.batch_norm(x, None, None)", SCORES, "batch_norm: running_mean and running_var are needed "
    "without statistics of the input"),
    ("F.batch_norm(x, None, None, training=True)", SCORES,
     "batch_norm: more than one value per channel is wanted, not the shape (1, 3)"),
    ("F.embedding([3], x)", [[1.0], [2.0]], "the label 3 is none of the 2 classes, which are "
    "counted from 0"),
    ("F.embedding([1], x, max_norm=1)", [[1.0], [2.0]], "embedding has no argument 'max_norm'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "x", "value", "slope"), EXTREME)
def test_extremes(text: str, x: Any, value: Any, slope: Any) -> None:
    shape = np.shape(value)
    record = gradcli.evaluate(text, x=np.array(x, float), seed=np.ones(shape)[()], formula=False)
    assert np.allclose(record.value, value, rtol=1e-14, atol=0)
    if slope is not None:
        assert np.allclose(record.grad["x"], slope, rtol=1e-14, atol=0)
        underflows = record.check.verdict.word == "ill-conditioned" and "it underflows" in str(
            record.check.reason
        )
        assert record.check.verdict.word in ("agree", "kink", "undefined") or underflows


@pytest.mark.parametrize(("text", "x", "slope"), TIES)
def test_ties(text: str, x: Any, slope: Any) -> None:
    record = gradcli.evaluate(text, x=np.array(x, float), formula=False)
    assert np.allclose(record.grad["x"], slope, rtol=1e-15, atol=0)
    assert record.check.verdict.word in ("agree", "kink")


@pytest.mark.parametrize(("text", "x", "message"), MISUSED)
def test_misuse(text: str, x: Any, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(f"torch.sum({text})", x=x)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("dtype", "slope"), [("float64", 10119.288433897855), ("float32", 2907.2246)]
)
def test_rms_norm_adds_the_epsilon_of_its_precision(dtype: str, slope: float) -> None:
    record = gradcli.evaluate(
        "F.rms_norm(x, (2,))", x=[1e-4, 2e-4], seed=[1.0, -2.0], dtype=dtype, formula=False
    )
    assert record.grad["x"][0] == pytest.approx(slope, rel=1e-6)
    assert record.check.verdict.word == "agree"


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_of_no_entries(reduction: str) -> None:
    record = gradcli.evaluate(
        f"F.mse_loss(x, x, reduction='{reduction}')", x=np.zeros((0, 2)), check=False
    )
    assert math.isnan(record.value) if reduction == "mean" else record.value == 0
    assert record.grad["x"].shape == (0, 2)
