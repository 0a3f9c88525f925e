"""Kinds that models and prices are fitted with: regressions, a dense layer, distances, mixtures of
components, discounting.
"""

from __future__ import annotations

from typing import Any

from benchmarks.kinds.record import Kind

_WIDTH = 10


def _line(random: Any, entries: int) -> dict[str, Any]:
    rows = entries // _WIDTH
    x, w = random.standard_normal((rows, _WIDTH)), random.standard_normal(_WIDTH)
    return {
        "x": x,
        "w": w,
        "b": random.standard_normal(()),
        "y": x @ w[::-1] + random.standard_normal(rows),
    }


def _classes(random: Any, entries: int) -> dict[str, Any]:
    found = _line(random, entries)
    return {**found, "y": (found["y"] > 0).astype(float)}


def _layer(random: Any, entries: int) -> dict[str, Any]:
    rows = entries // 32
    return {
        "x": random.standard_normal((rows, 32)),
        "w": random.standard_normal((32, 16)) / 6,
        "b": random.standard_normal(16),
        "u": random.standard_normal((16, 1)),
        "y": random.standard_normal((rows, 1)),
    }


def _points(random: Any, entries: int) -> dict[str, Any]:
    return {"x": random.standard_normal((entries // 80, 8)), "c": random.standard_normal((10, 8))}


def _components(random: Any, entries: int) -> dict[str, Any]:
    return {
        "x": 3 * random.standard_normal(entries // _WIDTH),
        "m": random.standard_normal(_WIDTH),
        "s": random.uniform(0.5, 2, _WIDTH),
        "h": random.standard_normal(_WIDTH),
    }


def _flows(random: Any, entries: int) -> dict[str, Any]:
    return {
        "p": random.uniform(1, 9, (entries // _WIDTH, _WIDTH)),
        "r": random.uniform(0.01, 0.1, (entries // _WIDTH, 1)),
        "t": 0.5 + 1.0 * random.permutation(_WIDTH),
    }


def _bonds(random: Any, entries: int) -> dict[str, Any]:
    rows = entries // _WIDTH
    return {
        "y": random.uniform(0.01, 0.1, rows),
        "q": random.uniform(80, 120, rows),
        "t": 1.0 + random.permutation(_WIDTH),
    }


def _layer_jax(np: Any, _: Any, x: Any, w: Any, b: Any, u: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w + b) @ u - y) ** 2)


def _classes_jax(np: Any, jax: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    z = x @ w + b
    return np.mean(jax.nn.softplus(z) - z * y)


def _square_distances(np: Any, x: Any, c: Any) -> Any:
    return np.sum((x[:, None, :] - c) ** 2, axis=2)


def _likelihood(np: Any, logsumexp: Any, x: Any, m: Any, s: Any, weights: Any) -> Any:
    return -np.mean(logsumexp(weights - ((x[:, None] - m) / s) ** 2 / 2 - np.log(s)))


def _bond(np: Any, _: Any, y: Any, q: Any, t: Any) -> Any:
    price = np.sum(5 / (1 + y[:, None]) ** t, axis=1) + 100 / (1 + y) ** 10
    return np.mean((price - q) ** 2)


FITTING = (
    Kind(
        key="regression",
        text="mean((x @ w + b - y)**2)",
        data=_line,
        torch=lambda np, _, x, w, b, y: np.mean((x @ w + b - y) ** 2),
        jax=lambda np, _, x, w, b, y: np.mean((x @ w + b - y) ** 2),
        wrt=("w", "b"),
    ),
    Kind(
        key="classification",
        text="binary_cross_entropy_with_logits(x @ w + b, y)",
        data=_classes,
        torch=lambda _, f, x, w, b, y: f.binary_cross_entropy_with_logits(x @ w + b, y),
        jax=_classes_jax,
        wrt=("w", "b"),
    ),
    Kind(
        key="dense",
        text="mean((tanh(x @ w + b) @ u - y)**2)",
        data=_layer,
        torch=_layer_jax,
        jax=_layer_jax,
        wrt=("w", "b", "u"),
    ),
    Kind(
        key="distances",
        text="mean(sqrt(sum((x[:,None,:] - c)**2, axis=2)))",
        data=_points,
        torch=lambda np, _, x, c: np.mean(np.cdist(x, c)),
        jax=lambda np, _, x, c: np.mean(np.sqrt(_square_distances(np, x, c))),
        wrt=("x", "c"),
    ),
    Kind(
        key="k-means",
        text="mean(min(sum((x[:,None,:] - c)**2, axis=2), axis=1))",
        data=_points,
        torch=lambda np, _, x, c: np.mean(np.amin(_square_distances(np, x, c), dim=1)),
        jax=lambda np, _, x, c: np.mean(np.min(_square_distances(np, x, c), axis=1)),
        wrt=("c",),
    ),
    Kind(
        key="components",
        text="-mean(logsumexp(h - ((x[:,None] - m)/s)**2/2 - log(s), axis=1))",
        data=_components,
        torch=lambda np, _, x, m, s, h: _likelihood(
            np, lambda z: np.logsumexp(z, dim=1), x, m, s, h
        ),
        jax=lambda np, jax, x, m, s, h: _likelihood(
            np, lambda z: jax.scipy.special.logsumexp(z, axis=1), x, m, s, h
        ),
        wrt=("m", "s", "h"),
    ),
    Kind(
        key="discounting",
        text="sum(p*exp(-r*t))",
        data=_flows,
        torch=lambda np, _, p, r, t: np.sum(p * np.exp(-r * t)),
        jax=lambda np, _, p, r, t: np.sum(p * np.exp(-r * t)),
        wrt=("p", "r"),
    ),
    Kind(
        key="bonds",
        text="price = sum(5/(1 + y[:,None])**t, axis=1) + 100/(1 + y)**10\nmean((price - q)**2)",
        data=_bonds,
        torch=_bond,
        jax=_bond,
        wrt=("y",),
    ),
)
