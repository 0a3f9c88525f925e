"""Cases of normalizations, similarities and layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.case import Case, p_norm, positive, some

X, CUBE, DEEP = {"x": some(2, 3)}, {"x": some(2, 4, 3)}, {"x": some(3, 2, 2)}
XY = {"x": some(2, 3), "y": some(2, 3)}
ROWS = {"w": some(3), "b": some(3)}
CHANNELS = {"w": some(4), "b": some(4)}
TABLE = {"w": some(3, 2)}
MEANS, SPREADS = "[0.3, -0.2]", "[1.1, 0.7]"


def standard(x: Any, axis: Any, eps: float = 1e-5) -> Any:
    apart = x - x.mean(axis, keepdims=True)
    return apart / np.sqrt((apart**2).mean(axis, keepdims=True) + eps)


def lengths(x: Any, axis: int) -> Any:
    return np.sqrt((x * x).sum(axis, keepdims=True))


def running(x: Any) -> Any:
    return (x - np.array([0.3, -0.2])[:, None]) / np.sqrt(np.array([1.1, 0.7])[:, None] + 0.1)


def response(x: Any) -> Any:
    """Windows of 3 of the 4 channels, outside which are zeros."""
    wide = np.concatenate([x[:, :1] * 0, x * x, x[:, :1] * 0], axis=1)
    return x / (2 + 0.3 * (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3) ** 0.6


CASES = [
    Case("F.layer_norm(x, (3,), w, b)", lambda x, w, b: standard(x, -1) * w + b, {**X, **ROWS}),
    Case("F.layer_norm(x, [4, 3], eps=0.1)", lambda x: standard(x, (1, 2), 0.1), CUBE),
    Case("F.rms_norm(x, (3,), w)", lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 2.0**-52) * w, {**X, "w": some(3)}),
    Case("F.group_norm(x, 2, w, b)",
         lambda x, w, b: standard(x.reshape(2, 2, 6), 2).reshape(2, 4, 3) * w[:, None] + b[:, None], {**CUBE, **CHANNELS}),
    Case("F.batch_norm(x, None, None, w, training=True)", lambda x, w: standard(x, (0, 2)) * w[:, None], {**DEEP, "w": some(2)}),
    Case(f"F.batch_norm(x, {MEANS}, {SPREADS}, bias=b, eps=0.1)", lambda x, b: running(x) + b[:, None], {**DEEP, "b": some(2)}),
    Case("F.instance_norm(x, weight=w, eps=0.1)", lambda x, w: standard(x, 2, 0.1) * w[:, None], {**DEEP, "w": some(2)}),
    Case(f"F.instance_norm(x, {MEANS}, {SPREADS}, use_input_stats=False, eps=0.1)", running, DEEP),
    Case("F.local_response_norm(x, 3, alpha=0.3, beta=0.6, k=2)", response, CUBE),
    Case("F.cosine_similarity(x, y)", lambda x, y: (x * y).sum(1) / (lengths(x, 1) * lengths(y, 1))[:, 0], XY),
    Case("F.cosine_similarity(x, y, dim=-1)", lambda x, y: (x * y).sum(-1) / (lengths(x, -1) * lengths(y, -1))[..., 0],
         {"x": some(2, 1, 3), "y": some(2, 3)}, "broadcasting"),
    Case("F.pairwise_distance(x, y)", lambda x, y: lengths(x - y + 1e-6, 1)[:, 0], XY),
    Case("F.pairwise_distance(x, y, 3, 0.1, True)", lambda x, y: p_norm(x - y + 0.1, 3, -1)[:, None], XY),
    Case("F.normalize(x)", lambda x: x / lengths(x, 1), CUBE),
    Case("F.normalize(x, p=1, dim=0, eps=4)", lambda x: x / np.where(p_norm(x, 1, 0).real < 4, 4, p_norm(x, 1, 0)), X, "below eps"),
    Case("F.linear(x, w, b)", lambda x, w, b: x @ w.T + b, {"x": some(2, 2, 3), "w": some(4, 3), "b": some(4)}),
    Case("F.linear(x, w)", np.matmul, {"x": some(2, 3), "w": some(3)}, "one output"),
    Case("F.bilinear(x, y, w, b)", lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
         {"x": some(2, 3), "y": some(2, 2), "w": some(2, 3, 2), "b": some(2)}),
    Case("F.bilinear(x, y, w)", lambda x, y, w: np.einsum("i,oij,j->o", x, w, y), {"x": some(3), "y": some(2), "w": some(1, 3, 2)}),
    Case("F.embedding([[0, 2], [2, 2]], w)", lambda w: w[[[0, 2], [2, 2]]], TABLE),
    Case("F.embedding(w, [2, 0])", lambda w: w[[2, 0]], TABLE, "the table first"),
    Case("F.embedding([0, 2], w, padding_idx=-1)", lambda w: np.array([w[0], w[2].real]), TABLE, "padding"),
    Case("F.one_hot([1, 0, 1], 2) @ w", lambda w: w[[1, 0, 1]], {"w": positive(2, 2)}),
]  # fmt: skip
