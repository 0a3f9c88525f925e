"""Cases of losses of regression and of classification."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases.case import Case, bce, lse, positive, size, some

XY = {"x": some(2, 3), "y": some(2, 3)}
XYW = {**XY, "w": positive(2, 3)}
SCORES, DEEP = some(3, 4), some(2, 3, 2)
UNIT = {"x": positive(2, 3) / 2.1, "y": positive(2, 3) / 2.1}
PLUS = {"x": positive(2, 3), "y": np.array([[0.5, 1.7, 2.6], [3.1, 0.2, 1.4]])}
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
FOUR = some(4)


def logs(x: Any, axis: int = -1) -> Any:
    return x - lse(x, axis, True)


def bent(d: Any, at: float) -> Any:
    return np.where(np.abs(np.real(d)) > at, at * (size(d) - at / 2), d * d / 2)


def gaussian(x: Any, y: Any, v: Any) -> Any:
    return (np.log(v) + (x - y) ** 2 / v) / 2


def stirling(y: Any) -> Any:
    return np.where(np.real(y) > 1, y * np.log(y) - y + np.log(2 * np.pi * y) / 2, 0)


def nll(x: Any, rows: list[int], labels: list[int], w: Any) -> Any:
    """The weighted mean over rows that are not ignored."""
    return -(w[labels] * x[rows, labels]).sum() / w[labels].sum()


def smoothed(x: Any, w: Any) -> Any:
    """cross_entropy with labels 1, 3, 0 and smoothing 0.2."""
    shares = np.full((3, 4), 0.05) + 0.8 * np.eye(4)[[1, 3, 0]]
    return -(shares * w * logs(x)).sum() / w[[1, 3, 0]].sum()


def ctc(x: Any) -> Any:
    """Three steps, labels 1, 2: the alignments 0 1 2, 1 0 2, 1 2 0, 1 1 2, 1 2 2, summed."""
    p = np.exp(logs(x))
    ways = ((0, 1, 2), (1, 0, 2), (1, 2, 0), (1, 1, 2), (1, 2, 2))
    return -np.log(sum(p[0, a] * p[1, b] * p[2, c] for a, b, c in ways))


def zeros_kept(x: Any) -> Any:
    return np.where(np.real(x) > 0, x, 0)


def multi_margin(x: Any, labels: list[int], w: Any) -> Any:
    rows = np.arange(len(labels))
    short = zeros_kept(1 - x[rows, labels][:, None] + x) ** 2 * w[labels][:, None]
    return (short.sum(1) - w[labels]).mean() / 4


def length(d: Any) -> Any:
    return np.sqrt(((d + 1e-6) ** 2).sum(-1))


def triplet(x: Any, y: Any, z: Any) -> Any:
    far, swapped = length(x - z), length(y - z)
    return zeros_kept(2 + length(x - y) - np.where(far.real < swapped.real, far, swapped)).mean()


def cosine(x: Any, y: Any) -> Any:
    added = float(np.float32(1e-12))
    return (x * y).sum(-1) / np.sqrt(((x * x).sum(-1) + added) * ((y * y).sum(-1) + added))


CASES = [
    Case("F.mse_loss(x, y)", lambda x, y: ((x - y) ** 2).mean(), XY),
    Case("F.mse_loss(x, y, None, False)", lambda x, y: (x - y) ** 2, XY, "the older reduce"),
    Case("F.mse_loss(x, y, False)", lambda x, y: ((x - y) ** 2).sum(), XY, "the older size_average"),
    Case("F.l1_loss(x, y, reduction='none')", lambda x, y: size(x - y), {"x": some(2, 3), "y": some(3)}),
    Case("F.smooth_l1_loss(x, y, beta=0.7)", lambda x, y: bent(x - y, 0.7).mean() / 0.7, XY),
    Case("F.smooth_l1_loss(x, y, beta=0)", lambda x, y: size(x - y).mean(), XY),
    Case("F.huber_loss(x, y, delta=1.3)", lambda x, y: bent(x - y, 1.3).mean(), XY),
    Case("scipy.special.kl_div(x, y)", lambda x, y: x * np.log(x / y) - x + y, {"x": np.array([0.4, 1.7]), "y": np.array([1.2, 0.6])}),
    Case("F.kl_div(x, y, reduction='batchmean')", lambda x, y: (y * (np.log(y) - x)).sum() / 2, PLUS),
    Case("F.kl_div(x, y, log_target=True)", lambda x, y: (np.exp(y) * (y - x)).mean(), XY),
    Case("F.gaussian_nll_loss(x, y, v)", lambda x, y, v: gaussian(x, y, v).mean(), {**XY, "v": positive(2, 3)}),
    Case("F.gaussian_nll_loss(x, y, v, full=True, reduction='sum')",
         lambda x, y, v: (gaussian(x, y, v[:, None]) + math.log(2 * math.pi) / 2).sum(), {**XY, "v": positive(2)}, "a variance a row"),
    Case("F.poisson_nll_loss(x, y, full=True)", lambda x, y: (np.exp(x) - y * x + stirling(y)).mean(), PLUS),
    Case("F.poisson_nll_loss(x, y, log_input=False, eps=0.1)", lambda x, y: (x - y * np.log(x + 0.1)).mean(), PLUS),
    Case("bernoulli_nll(x, y)", lambda x, y: -(y * np.log(x) + (1 - y) * np.log(1 - x)), UNIT),
    Case("F.binary_cross_entropy(x, y, weight=w)", lambda x, y, w: -(w * (y * np.log(x) + (1 - y) * np.log(1 - x))).mean(),
         {**UNIT, "w": positive(3)}),
    Case("F.binary_cross_entropy_with_logits(x, y, size_average=False)", lambda x, y: bce(x, y).sum(), UNIT),
    Case("F.multilabel_soft_margin_loss(x, y, w)", lambda x, y, w: bce(x, y, w).mean(), {**UNIT, "w": positive(3)}),
    Case("F.nll_loss(x, [2, 0, -100], w)", lambda x, w: nll(x, [0, 1], [2, 0], w), {"x": SCORES, "w": positive(4)}),
    Case("F.nll_loss(x, [[1, 0], [2, 1]], ignore_index=1, reduction='none')",
         lambda x: -np.array([[0 * x[0, 1, 0], x[0, 0, 1]], [x[1, 2, 0], 0 * x[0, 0, 0]]]), {"x": DEEP}, "further axes"),
    Case("F.cross_entropy(x, [1, 3, 0])", lambda x: -logs(x)[[0, 1, 2], [1, 3, 0]].mean(), {"x": SCORES}),
    Case("F.cross_entropy(x, [1, 3, 0], w, label_smoothing=0.2)", smoothed, {"x": SCORES, "w": positive(4)}),
    Case("F.cross_entropy(x, y, w, label_smoothing=0.3)",
         lambda x, y, w: -((0.7 * y + 0.1) * w * logs(x)).sum() / 2, {**XYW, "w": positive(3)}, "probabilities"),
    Case("F.cross_entropy(x, 2)", lambda x: -logs(x)[2], {"x": FOUR}, "one row"),
    Case("F.hinge_embedding_loss(x, [1, -1, 1, -1], margin=3)", lambda x: np.where(SIGNS > 0, x, zeros_kept(3 - x)).mean(), {"x": FOUR}),
    Case("F.margin_ranking_loss(x, y, [1, -1, 1, -1], 0.3)", lambda x, y: zeros_kept(0.3 - SIGNS * (x - y)).mean(),
         {"x": FOUR, "y": some(4)}),
    Case("F.soft_margin_loss(x, [1, -1, 1, -1])", lambda x: np.log(1 + np.exp(-SIGNS * x)).mean(), {"x": FOUR}),
    Case("F.multi_margin_loss(x, [2, 0, 3], p=2, weight=w)", lambda x, w: multi_margin(x, [2, 0, 3], w), {"x": SCORES, "w": positive(4)}),
    Case("F.multilabel_margin_loss(x, [0, 2, -1, 1])",
         lambda x: sum(zeros_kept(1 - x[j] + x[i]) for j in (0, 2) for i in (1, 3)) / 4, {"x": FOUR}),
    Case("F.triplet_margin_loss(x, y, z, margin=2, swap=True)", triplet, {**XY, "z": some(2, 3)}),
    Case("F.triplet_margin_with_distance_loss(x, y, z, margin=9)",
         lambda x, y, z: (9 + length(x - y) - length(x - z)).mean(), {**XY, "z": some(2, 3)}),
    Case("F.cosine_embedding_loss(x, y, [1, -1], margin=-0.9)",
         lambda x, y: np.where([True, False], 1 - cosine(x, y), zeros_kept(cosine(x, y) + 0.9)).mean(), XY),
]  # fmt: skip
