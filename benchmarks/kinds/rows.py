"""Kinds with axes: rows and columns, statistics of rows, softmax and its like, normalization, gated
units.
"""

from __future__ import annotations

from typing import Any

from benchmarks.kinds.record import Kind


def _matrix(width: int) -> Any:
    return lambda random, entries: {"x": random.standard_normal((entries // width, width))}


def _against(random: Any, entries: int) -> dict[str, Any]:
    side = int(entries**0.5)
    return {
        "x": random.standard_normal((side, side)),
        "r": random.standard_normal((side, 1)),
        "c": random.standard_normal(side),
    }


def _labelled(random: Any, entries: int) -> dict[str, Any]:
    return {
        "x": random.standard_normal((entries // 100, 100)),
        "y": random.integers(0, 100, entries // 100),
    }


def _weighted(random: Any, entries: int) -> dict[str, Any]:
    return {name: random.standard_normal((entries // 400, 200)) for name in "xw"}


def _normed(random: Any, entries: int) -> dict[str, Any]:
    rows = entries // 1000
    return {
        "x": random.standard_normal((rows, 500)),
        "t": random.standard_normal((rows, 500)),
        "w": random.uniform(0.5, 1.5, 500),
        "b": random.standard_normal(500),
    }


def _gates(random: Any, entries: int) -> dict[str, Any]:
    rows = entries // 1024
    return {name: random.standard_normal((rows, 512)) for name in "xy"} | {
        name: random.standard_normal(512) for name in "bc"
    }


def _pairs(random: Any, entries: int) -> dict[str, Any]:
    return {name: random.standard_normal((entries // 200, 100)) for name in "xy"}


def _sums(np: Any, _: Any, x: Any) -> Any:
    return np.sum(np.sum(x**2, axis=1) ** 1.5) + np.sum(np.log(1 + np.sum(np.abs(x), axis=0)))


def _standardized(np: Any, x: Any, spread: Any) -> Any:
    z = (x - np.mean(x, axis=1, keepdims=True)) / (spread + 1e-5)
    return np.mean(np.tanh(z) * z**2)


def _label_loss(np: Any, jax: Any, x: Any, y: Any) -> Any:
    return -np.mean(np.take_along_axis(jax.nn.log_softmax(x, axis=1), y[:, None], axis=1))


def _normed_jax(np: Any, _: Any, x: Any, t: Any, w: Any, b: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    variance = np.var(x, axis=1, keepdims=True)
    return np.mean(((x - mean) / np.sqrt(variance + 1e-5) * w + b - t) ** 2)


def _cosine_jax(np: Any, _: Any, x: Any, y: Any) -> Any:
    return np.mean(np.sum(x * y, axis=1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)))


_LABELS: dict[str, Any] = {
    "text": "cross_entropy(x, y)",
    "data": _labelled,
    "torch": lambda _, f, x, y: f.cross_entropy(x, y),
    "jax": _label_loss,
    "wrt": ("x",),
}
_LOGSUMEXP: dict[str, Any] = {
    "text": "mean(logsumexp(x, axis=1))",
    "data": _matrix(1000),
    "torch": lambda np, _, x: np.mean(np.logsumexp(x, dim=1)),
    "jax": lambda np, jax, x: np.mean(jax.scipy.special.logsumexp(x, axis=1)),
    "wrt": ("x",),
}
_NORMED: dict[str, Any] = {
    "text": "mean((F.layer_norm(x, (500,), w, b) - t)**2)",
    "data": _normed,
    "torch": lambda np, f, x, t, w, b: np.mean((f.layer_norm(x, (x.shape[1],), w, b) - t) ** 2),
    "jax": _normed_jax,
    "wrt": ("x", "w", "b"),
}
_GATED: dict[str, Any] = {
    "text": "mean(gelu(x + b)*(y + c))",
    "data": _gates,
    "torch": lambda np, f, x, y, b, c: np.mean(f.gelu(x + b) * (y + c)),
    "jax": lambda np, jax, x, y, b, c: np.mean(jax.nn.gelu(x + b, approximate=False) * (y + c)),
    "wrt": ("x", "y", "b", "c"),
}

ROWS = (
    Kind(
        key="row+column",
        text="sum(exp(-(x - r)**2)*c)",
        data=_against,
        torch=lambda np, _, x, r, c: np.sum(np.exp(-((x - r) ** 2)) * c),
        jax=lambda np, _, x, r, c: np.sum(np.exp(-((x - r) ** 2)) * c),
        wrt=("x", "r", "c"),
    ),
    Kind(
        key="sums",
        text="sum(sum(x**2, axis=1)**1.5) + sum(log(1 + sum(abs(x), axis=0)))",
        data=_matrix(1000),
        torch=_sums,
        jax=_sums,
        wrt=("x",),
    ),
    Kind(
        key="standardized",
        text="z = (x - mean(x, axis=1, keepdims=True))/(std(x, axis=1, keepdims=True) + "
        "1e-5)\nmean(tanh(z)*z**2)",
        data=_matrix(500),
        torch=lambda np, _, x: _standardized(np, x, np.std(x, dim=1, correction=0, keepdim=True)),
        jax=lambda np, _, x: _standardized(np, x, np.std(x, axis=1, keepdims=True)),
        wrt=("x",),
    ),
    Kind(key="labels", **_LABELS),
    Kind(key="labels32", **_LABELS, dtype="float32"),
    Kind(key="logsumexp", **_LOGSUMEXP),
    Kind(key="logsumexp32", **_LOGSUMEXP, dtype="float32"),
    Kind(
        key="softmax",
        text="sum(w*softmax(x, axis=1))",
        data=_weighted,
        torch=lambda np, _, x, w: np.sum(w * np.softmax(x, dim=1)),
        jax=lambda np, jax, x, w: np.sum(w * jax.nn.softmax(x, axis=1)),
        wrt=("x", "w"),
    ),
    Kind(key="layernorm", **_NORMED),
    Kind(key="layernorm32", **_NORMED, dtype="float32"),
    Kind(key="gelu", **_GATED),
    Kind(key="gelu32", **_GATED, dtype="float32"),
    Kind(
        key="gate",
        text="mean(sigmoid(x + b)*tanh(y + c))",
        data=_gates,
        torch=lambda np, _, x, y, b, c: np.mean(np.sigmoid(x + b) * np.tanh(y + c)),
        jax=lambda np, jax, x, y, b, c: np.mean(jax.nn.sigmoid(x + b) * np.tanh(y + c)),
        wrt=("x", "y", "b", "c"),
    ),
    Kind(
        key="cosine",
        text="mean(cosine_similarity(x, y, dim=1))",
        data=_pairs,
        torch=lambda np, f, x, y: np.mean(f.cosine_similarity(x, y, dim=1)),
        jax=_cosine_jax,
        wrt=("x", "y"),
    ),
)
