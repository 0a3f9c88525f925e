"""Cases of sampled functions and of statistics: differences, areas, distances, covariances."""

from __future__ import annotations

import numpy as np

from cases.case import Case, largest, p_norm, positive, size, smallest, some, variance

AT = np.array([0.0, 0.7, 1.5, 3.1])
X, V = {"x": some(3, 4)}, {"x": some(4)}
POINTS = {"x": some(3, 2), "y": some(2, 2) + 5}


def slopes(f, at, edge_order=1):
    """np.gradient along the last axis, at complex coordinates too: slopes of parabolas through
    three neighbours.
    """
    h, r = np.diff(at), np.diff(f) / np.diff(at)
    inner = (h[1:] * r[..., :-1] + h[:-1] * r[..., 1:]) / (h[1:] + h[:-1])
    bend = (np.diff(r) / (h[1:] + h[:-1])) * (edge_order == 2)
    first, last = r[..., :1] - h[0] * bend[..., :1], r[..., -1:] + h[-1] * bend[..., -1:]
    return np.concatenate([first, inner, last], -1)


def covariance(x, w=None, over=None):
    w = np.ones(x.shape[1]) if w is None else w
    d = x - (x @ w / w.sum())[:, None]
    return (d * w) @ d.T / (w.sum() - 1 if over is None else over)


def correlation(c):
    s = np.sqrt(np.diag(c))
    return c / s[:, None] / s


def between(x, y, p):
    d = x[:, None] - y
    return largest(size(d), 2) if p == np.inf else p_norm(d, p, 2)


def renormed(x):
    length = p_norm(x, 2, 1)[:, None]
    return x * np.where(length.real > 1.5, 1.5 / (length + 1e-7), 1)


def nanvar(x, ddof, axis):
    there = ~np.isnan(x)
    n = there.sum(axis, keepdims=True)
    mean = np.where(there, x, 0).sum(axis, keepdims=True) / n
    return np.where(there, (x - mean) ** 2, 0).sum(axis) / (n.squeeze(axis) - ddof)


CASES = [
    Case("diff(x)", np.diff, X),
    Case("diff(x, n=2, axis=0)", lambda x: np.diff(x, 2, 0), X),
    Case("diff(x, prepend=y, append=0.5)", lambda x, y: np.diff(np.concatenate([y, x, np.full((3, 1), 0.5)], 1)),
         {**X, "y": some(3, 2)}),
    Case("torch.diff(x, 0, 0, y)", lambda x, y: x + 0 * y.sum(), {**X, "y": some(2, 4)}, "no "
    "differences"),
    Case("gradient(x)", lambda x: slopes(x, np.arange(4)), V),
    Case("gradient(x, h)", lambda x, h: slopes(x, np.arange(4) * h), {**V, "h": np.array(0.7)}),
    Case("gradient(x, h, edge_order=2)", lambda x, h: slopes(x, np.arange(4) * h, 2), {**V, "h": np.array(0.7)}),
    Case("gradient(x, t)", slopes, {**V, "t": AT}),
    Case("gradient(x, t, axis=0, edge_order=2)", lambda x, t: slopes(x.T, t, 2).T, {"x": some(4, 2), "t": AT}),
    Case("gradient(x, 2, t)[1]", slopes, {**X, "t": AT}),
    Case("gradient(x, axis=(0, 1))[0]", lambda x: slopes(x.T, np.arange(3)).T, X),
    Case("torch.gradient(x, spacing=[t], dim=1)[0]", slopes, {**X, "t": AT}),
    Case("trapezoid(y)", lambda y: (y[:, 1:] + y[:, :-1]).sum(1) / 2, {"y": some(2, 4)}),
    Case("trapezoid(y, x)", lambda y, x: ((y[:, 1:] + y[:, :-1]) * np.diff(x)).sum(1) / 2, {"y": some(2, 4), "x": AT}),
    Case("trapezoid(y, x, axis=0)", lambda y, x: ((y[1:] + y[:-1]) * np.diff(x, axis=0)).sum(0) / 2,
         {"y": some(4, 2), "x": some(4, 2)}),
    Case("trapezoid(y, dx=h)", lambda y, h: (y[1:] + y[:-1]).sum() * h / 2, {"y": some(4), "h": np.array(0.7)}),
    Case("cumulative_trapezoid(y, x)", lambda y, x: np.cumsum((y[:, 1:] + y[:, :-1]) * np.diff(x) / 2, 1), {"y": some(2, 4), "x": AT}),
    Case("dist(x, y)", lambda x, y: p_norm(x - y, 2), {"x": some(2, 3), "y": some(3)}),
    Case("dist(x, y, 1)", lambda x, y: size(x - y).sum(), {"x": some(3), "y": some(3)}),
    *[Case(f"cdist(x, y, p={p})", lambda x, y, p=p: between(x, y, p), POINTS) for p in (1.0, 1.5, 2.0, 3.0, np.inf)],
    Case("pdist(x, p=3)", lambda x: between(x, x[1:], 3.0)[[0, 0, 1], [0, 1, 1]], {"x": some(3, 2)}),
    Case("torch.renorm(x, 2, 0, 1.5)", renormed, {"x": np.array([[0.3, 0.5, -0.2], [1.4, -1.1, 0.8]])}),
    Case("cov(x)", covariance, X),
    Case("cov(x, bias=True, rowvar=False)", lambda x: covariance(x.T, over=4), {"x": some(4, 2)}),
    Case("cov(x, y)", lambda x, y: covariance(np.stack([x, y])), {**V, "y": some(4)}),
    Case("cov(x)", lambda x: variance(x, 1), V, "one variable"),
    Case("torch.cov(x, aweights=w)", lambda x, w: covariance(x, w, w.sum() - (w * w).sum() / w.sum()), {**X, "w": positive(4)}),
    Case("torch.cov(x, correction=0, aweights=w)", lambda x, w: covariance(x, w, w.sum()), {**X, "w": positive(4)}),
    Case("corrcoef(x)", lambda x: correlation(covariance(x)), X),
    Case("average(x, axis=1, weights=w)", lambda x, w: x @ w / w.sum(), {**X, "w": positive(4)}),
    Case("ptp(x, axis=1)", lambda x: largest(x, 1) - smallest(x, 1), X),
    Case("nanvar(x, axis=1)", lambda x: nanvar(x, 0, 1), X),
    Case("nanstd(x, axis=0, ddof=1)", lambda x: np.sqrt(nanvar(x, 1, 0)), X),
    Case("polyval(p, x)", np.polyval, {"p": some(4), "x": some(2)}),
    *[Case(f"convolve(x, y, '{m}')", lambda x, y, m=m: np.convolve(x, y, m), {"x": some(2), "y": some(5)})
      for m in ("full", "same", "valid")],
    *[Case(f"correlate(x, y, '{m}')", lambda x, y, m=m: np.convolve(x[::-1], y, m)[::-1], {"x": some(5), "y": some(3)})
      for m in ("full", "same", "valid")],
    Case("interp(x, p, f)", lambda x, p, f: np.stack([
        f[0], f[1] + (x[1] - p[1]) * (f[2] - f[1]) / (p[2] - p[1]), f[0] + (x[2] - p[0]) * (f[1] - f[0]) / (p[1] - p[0]), f[3]
    ]), {"x": np.array([-1.0, 1.1, 0.2, 7.0]), "p": AT, "f": some(4)}),
]  # fmt: skip
