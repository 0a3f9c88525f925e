"""Keywords that choose entries or begin with a number, ranges with ends that are names, and
parameters that are operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.case import Case, largest, lse, positive, smallest, some, variance

X, Y, V, W = {"x": some(2, 3)}, some(2, 3), some(3), positive(3)
MASK = np.array([[True, False, True], [False, True, True]])
_M = "[[True, False, True], [False, True, True]]"
A, B = np.float64(0.7), np.float64(1.9)
AB, XB = {"a": A, "b": B}, {"x": some(2, 3), "b": np.float64(0.6)}
VB = {"x": np.array([0.8, -1.3, 0.4]), "b": np.float64(0.6)}


def chosen(x: Any, otherwise: float = 0.0) -> Any:
    return np.where(MASK, x, otherwise)


def around(x: Any, centre: Any, mask: Any, ddof: float = 0, axis: Any = None) -> Any:
    return (np.where(mask, x - centre, 0) ** 2).sum(axis) / (mask.sum(axis) - ddof)


def of_mask(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return chosen(x).sum(axis, keepdims=keepdims) / MASK.sum(axis, keepdims=keepdims)


CASES = [
    Case(f"np.sum(x, where={_M})", lambda x: chosen(x).sum(), X), Case(f"x.sum(axis=1, where={_M})", lambda x: chosen(x).sum(1), X),
    Case("np.sum(x, where=[True, False, True], keepdims=True)", lambda x: x[:, [0, 2]].sum(keepdims=True), X),
    Case("x.sum(initial=b)", lambda x, b: x.sum() + b, XB),
    Case(f"jnp.sum(x, 0, initial=b, where={_M})", lambda x, b: chosen(x).sum(0) + b, XB),
    Case(f"np.prod(x, initial=b, where={_M})", lambda x, b: chosen(x, 1.0).prod() * b, XB),
    Case("x.prod(1, initial=3)", lambda x: 3 * x.prod(1), X), Case(f"np.mean(x, where={_M})", of_mask, X),
    Case(f"x.mean(axis=0, where={_M})", lambda x: of_mask(x, 0), X),
    Case(f"np.var(x, where={_M}, ddof=1)", lambda x: around(x, of_mask(x), MASK, 1), X),
    Case(f"np.std(x, axis=1, where={_M})", lambda x: np.sqrt(around(x, of_mask(x, 1, True), MASK, 0, 1)), X),
    Case("np.var(x, ddof=b)", lambda x, b: variance(x, 0) * 6 / (6 - b), XB),
    Case("torch.std(x, correction=b)", lambda x, b: np.sqrt(variance(x, 0) * 6 / (6 - b)), XB),
    Case(f"np.max(x, axis=1, where={_M}, initial=-9.)", lambda x: largest(chosen(x, -9.0), axis=1), X),
    Case("np.min(x, initial=b)", lambda x, b: smallest(x) if smallest(x).real < b else b, {"x": positive(2, 3) + 1, "b": np.float64(0.6)}),
    Case("np.max(x, initial=b)", lambda x, b: b, {"x": some(2, 3), "b": np.float64(5.0)}),
    Case(f"np.nansum(x, where={_M}, initial=b)", lambda x, b: chosen(x).sum() + b, XB), Case(f"np.nanmean(x, where={_M})", of_mask, X),
    Case(f"np.nanvar(x, where={_M})", lambda x: around(x, of_mask(x), MASK), X),
    Case("special.logsumexp(x, b=w)", lambda x, w: np.log((w * np.exp(x)).sum()), {"x": V, "w": W}),
    Case("special.logsumexp(x, axis=1, b=w, keepdims=True)", lambda x, w: np.log((w * np.exp(x)).sum(1, keepdims=True)), {"x": Y, "w": W}),
    Case("special.logsumexp(x, b=[2, 0, 1])", lambda x: np.log(2 * np.exp(x[0]) + np.exp(x[2])), {"x": V}),
    Case("special.logsumexp(x, b=[1, w, 1])",
         lambda x, w: np.log(np.exp(x[0]) + np.exp(x[2]) + w * np.exp(x[1])), {"x": V, "w": np.float64(0.0)}, "at 0"),
    Case("special.logsumexp(1000 + x, b=w)", lambda x, w: 1000 + lse(x + np.log(w)), {"x": V, "w": W}, "without overflow"),
    # ranges
    Case("np.linspace(a, b, 4)", lambda a, b: a + (b - a) * np.arange(4) / 3, AB),
    Case("np.linspace(0, b, num=5)", lambda b: b * np.arange(5) / 4, {"b": B}),
    Case("np.linspace(a, b, 4, endpoint=False)", lambda a, b: a + (b - a) * np.arange(4) / 4, AB),
    Case("np.linspace(a, b, 1)", lambda a, b: a[None] + 0 * b, AB),
    Case("np.linspace(a, b, 4, retstep=True)[1]", lambda a, b: (b - a) / 3, AB),
    Case("torch.linspace(a, 3, 4)", lambda a: a + (3 - a) * np.arange(4) / 3, {"a": A}),
    Case("np.linspace(x, 2*x, 3, axis=1)", lambda x: np.stack([x, 1.5 * x, 2 * x], 1), {"x": V}),
    Case("np.linspace(x, 1, 3)", lambda x: np.stack([x, (x + 1) / 2, x * 0 + 1]), {"x": V}),
    Case("np.linspace(x, 1, 3, axis=-1)", lambda x: np.stack([x, (x + 1) / 2, x * 0 + 1], -1), {"x": some(2, 3)}),
    Case("np.arange(a, 4)", lambda a: a + np.arange(4), {"a": A}), Case("np.arange(1, 3, a)", lambda a: 1 + a * np.arange(3), {"a": A}),
    Case("torch.arange(a, 5, b)", lambda a, b: a + b * np.arange(3), AB),
    Case("np.logspace(a, b, 3)", lambda a, b: 10 ** (a + (b - a) * np.arange(3) / 2), AB),
    Case("torch.logspace(0, b, 3, base=a)", lambda a, b: a ** (b * np.arange(3) / 2), AB),
    Case("np.geomspace(a, b, 4)", lambda a, b: a * (b / a) ** (np.arange(4) / 3), AB),
    Case("np.geomspace(-a, -b, 3, endpoint=False)", lambda a, b: -a * (b / a) ** (np.arange(3) / 3), AB),
    Case("np.full((2, 3), b)", lambda b: np.full((2, 3), b), {"b": B}),
    Case("torch.full_like(zeros(2), b)", lambda b: np.full(2, b), {"b": B}),
    # numbers of a formula
    Case("np.pad(x, 1, constant_values=b)", lambda x, b: np.concatenate([[b], x, [b]]), VB),
    Case("F.pad(x, (1, 2), value=b)", lambda x, b: np.concatenate([[b], x, [b, b]]), VB),
    Case("np.nan_to_num([nan, 2*b, inf], nan=b, posinf=b**2)", lambda b: np.stack([b, 2 * b, b**2]), {"b": B}),
    Case("torch.add(x, 2, alpha=b)", lambda x, b: x + 2 * b, VB), Case("torch.sub(x, x**2, "
    "alpha=b)", lambda x, b: x - b * x**2, VB),
    Case("F.elu(x, alpha=b)", lambda x, b: np.where(x.real > 0, x, b * (np.exp(x) - 1)), VB),
    Case("F.celu(x, b)", lambda x, b: np.where(x.real > 0, x, b * (np.exp(x / b) - 1)), VB),
    Case("F.leaky_relu(x, b)", lambda x, b: np.where(x.real > 0, x, b * x), VB),
    Case("F.softplus(x, beta=b)", lambda x, b: np.log(1 + np.exp(b * x)) / b, VB),
    Case("F.hardtanh(x, -b, b)", lambda x, b: np.where(x.real > b.real, b, np.where(x.real < -b.real, -b, x)), VB),
    Case("F.softshrink(x, b)", lambda x, b: np.where(x.real > b.real, x - b, np.where(x.real < -b.real, x + b, 0)), VB),
    Case("F.threshold(x, 0.5, b)", lambda x, b: np.where(x.real > 0.5, x, b), VB),
    Case("torch.addmm(ones(2, 2), x @ x.T, eye(2), beta=b, alpha=b**2)", lambda x, b: b + b**2 * (x @ x.T), XB),
    Case("F.huber_loss(x, zeros(3), delta=b)",
         lambda x, b: np.where(abs(x.real) > b.real, b * (x * np.sign(x.real) - b / 2), x**2 / 2).mean(), VB),
    Case("F.smooth_l1_loss(x, zeros(3), beta=b)",
         lambda x, b: np.where(abs(x.real) > b.real, x * np.sign(x.real) - b / 2, x**2 / 2 / b).mean(), VB),
    Case("F.cross_entropy(x, 1, label_smoothing=b)", lambda x, b: lse(x) - (1 - b) * x[1] - b * x.mean(), VB),
    Case("F.normalize(x, dim=0, eps=9*b)", lambda x, b: x / (9 * b), VB),
    Case("F.layer_norm(x, (3,), eps=b)", lambda x, b: (x - x.mean()) / np.sqrt(variance(x, 0) + b), VB),
    Case("F.margin_ranking_loss(x, 0, 1, margin=b)", lambda x, b: np.where((b - x).real > 0, b - x, 0).mean(), VB),
    Case("F.scaled_dot_product_attention([x], [x, 2*x], [[1, 2], [3, 5]], scale=b)",
         lambda x, b: np.array([[1, 2]]) + np.array([[2, 3]]) / (1 + np.exp(-b * (x @ x))), VB),
    Case("np.cov(x, ddof=b)", lambda x, b: variance(x, 0) * 3 / (3 - b), VB),
    Case("np.select([x > 0, x < -1], [b*x, b], b**2)", lambda x, b: np.where(x.real > 0, b * x, b), VB),
    # names in lists
    Case("np.multiply(x, [b, b, 2])", lambda x, b: x * np.stack([b, b, 2]), VB),
    Case("np.stack([x, [b, b, b]])", lambda x, b: np.stack([x, np.stack([b, b, b])]), VB),
    Case("np.concatenate([x, [b]])", lambda x, b: np.concatenate([x, [b]]), VB),
    Case("np.where(x > 0, [b, b, 1], 0)", lambda x, b: np.where(x.real > 0, np.stack([b, b, 1]), 0), VB),
    Case("np.einsum('i,i', x, [b, b, 1])", lambda x, b: b * (x[0] + x[1]) + x[2], VB),
    Case("np.kron(x, [b, 1])", lambda x, b: np.kron(x, np.stack([b, 1])), VB),
    Case("np.average(x, weights=[b, 1, 2])", lambda x, b: (b * x[0] + x[1] + 2 * x[2]) / (b + 3), VB),
    Case("np.insert(x, 1, [b])", lambda x, b: np.concatenate([x[:1], [b], x[1:]]), VB),
]  # fmt: skip
