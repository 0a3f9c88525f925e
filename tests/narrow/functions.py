"""Right gradients by hand, in whichever precision their arguments are: every step rounds to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A function, its gradient by its first argument, and the shapes of its arguments; where these
    are from, if not from a normal one.
    """

    function: Callable[..., Any]
    gradient: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    draw: Callable[[Any], Any] = lambda x: x


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_back(s: Any, v: Any) -> Any:
    return s * (v - (s * v).sum(-1, keepdims=True))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    n = x.size if axis is None else x.shape[axis]
    return x.sum(axis, keepdims=keepdims) / x.dtype.type(n)


def normalized(x: Any) -> tuple[Any, Any]:
    centred = x - mean(x, -1, True)
    scale = 1 / np.sqrt(mean(centred * centred, -1, True) + x.dtype.type(0.01))
    return centred * scale, scale


def normalized_back(x: Any, v: Any) -> Any:
    y, scale = normalized(x)
    return scale * (v - mean(v, -1, True) - y * mean(v * y, -1, True))


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax((q @ k.T) / q.dtype.type(2)) @ v


def attention_back(q: Any, k: Any, v: Any) -> Any:
    s = softmax((q @ k.T) / q.dtype.type(2))
    return softmax_back(s, np.ones_like(q @ v.T @ v) @ v.T) @ k / q.dtype.type(2)


def rotation(x: Any, t: Any) -> Any:
    a, b = x[0::2], x[1::2]
    return (a * np.cos(t) - b * np.sin(t)) * (a * np.sin(t) + b * np.cos(t))


def rotation_back(x: Any, t: Any) -> Any:
    a, b = x[0::2], x[1::2]
    left, right = a * np.cos(t) - b * np.sin(t), a * np.sin(t) + b * np.cos(t)
    out = np.empty_like(x)
    out[0::2], out[1::2] = (
        np.cos(t) * right + np.sin(t) * left,
        np.cos(t) * left - np.sin(t) * right,
    )
    return out


def positive(x: Any) -> Any:
    return abs(x) + 0.25


CASES = {
    "mean of squares": Case(lambda x: mean(x * x), lambda x: 2 * x / x.dtype.type(x.size), ((12,),)),
    "quadratic form": Case(lambda x, a: x @ (a @ x), lambda x, a: a @ x + a.T @ x, ((6,), (6, 6))),
    "chain of products": Case(
        lambda x, a, b: (x @ a @ b).sum(), lambda x, a, b: np.ones((x.shape[0], b.shape[1]), x.dtype) @ b.T @ a.T, ((3, 4), (4, 5), (5, 2))
    ),
    "least squares": Case(lambda w, x, y: ((x @ w - y) ** 2).sum(), lambda w, x, y: 2 * (x.T @ (x @ w - y)), ((4,), (8, 4), (8,))),
    "log": Case(lambda x: np.log(x).sum(), lambda x: 1 / x, ((8,),), positive),
    "sqrt": Case(lambda x: np.sqrt(x).sum(), lambda x: 1 / (2 * np.sqrt(x)), ((8,),), positive),
    "cos of squares": Case(lambda x: np.cos(x * x).sum(), lambda x: -2 * x * np.sin(x * x), ((8,),)),
    "tanh": Case(lambda x: np.tanh(x).sum(), lambda x: 1 - np.tanh(x) ** 2, ((8,),), lambda x: 2 * x),
    "softplus": Case(lambda x: np.log1p(np.exp(x)).sum(), sigmoid, ((8,),)),
    "relu": Case(lambda x: np.maximum(x, 0).sum(), lambda x: (x > 0).astype(x.dtype), ((10,),)),
    "leaky relu": Case(
        lambda x: np.where(x > 0, x, x.dtype.type(0.1) * x).sum(), lambda x: np.where(x > 0, x.dtype.type(1), x.dtype.type(0.1)), ((9,),)
    ),
    "huber": Case(
        lambda x: np.where(abs(x) < 1, x * x / 2, abs(x) - x.dtype.type(0.5)).sum(),
        lambda x: np.where(abs(x) < 1, x, np.sign(x)), ((9,),),
    ),
    "softmax": Case(lambda x, v: (softmax(x) * v).sum(), lambda x, v: softmax_back(softmax(x), v), ((8,), (8,))),
    "logsumexp": Case(lambda x: np.log(np.exp(x - x.max()).sum()) + x.max(), softmax, ((8,),)),
    "cross entropy": Case(
        lambda x: np.log(np.exp(x).sum()) - x[2], lambda x: softmax(x) - np.eye(x.size, dtype=x.dtype)[2], ((8,),)
    ),
    "entropy": Case(lambda x: (x * np.log(x)).sum(), lambda x: np.log(x) + 1, ((6,),), positive),
    "logistic loss": Case(
        lambda w, x, y: np.log1p(np.exp(-y * (x @ w))).sum(),
        lambda w, x, y: -(x.T @ (y * sigmoid(-y * (x @ w)))), ((4,), (8, 4), (8,)),
    ),
    "layer norm": Case(lambda x, v: (normalized(x)[0] * v).sum(), normalized_back, ((8,), (8,))),
    "rms norm": Case(
        lambda x, v: (x / np.sqrt(mean(x * x)) * v).sum(),
        lambda x, v: v / np.sqrt(mean(x * x)) - x * (mean(x * v) / (mean(x * x) * np.sqrt(mean(x * x)))), ((8,), (8,)),
    ),
    "norm": Case(lambda x: np.sqrt((x * x).sum()), lambda x: x / np.sqrt((x * x).sum()), ((12,),)),
    "cosine": Case(
        lambda x, y: (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()),
        lambda x, y: (y - x * ((x * y).sum() / (x * x).sum())) / np.sqrt((x * x).sum() * (y * y).sum()), ((6,), (6,)),
    ),
    "variance": Case(lambda x: mean((x - mean(x)) ** 2), lambda x: 2 * (x - mean(x)) / x.dtype.type(x.size), ((10,),)),
    "attention": Case(lambda q, k, v: attention(q, k, v).sum(), attention_back, ((3, 4), (5, 4), (5, 4))),
    "two layers": Case(
        lambda x, w, u: (u @ np.tanh(w @ x)).sum(),
        lambda x, w, u: w.T @ ((1 - np.tanh(w @ x) ** 2) * (u.T @ np.ones(u.shape[0], x.dtype))), ((5,), (6, 5), (3, 6)),
    ),
    "rotation": Case(lambda x, t: rotation(x, t).sum(), rotation_back, ((8,), (4,))),
    "product": Case(np.prod, lambda x: np.prod(x) / x, ((5,),), positive),
    "ratio": Case(lambda x, y: (x / y).sum(), lambda x, y: 1 / y, ((8,), (8,)), positive),
    "cumulative": Case(lambda x, v: (np.cumsum(x) * v).sum(), lambda x, v: np.cumsum(v[::-1])[::-1], ((9,), (9,))),
    "long sum": Case(lambda x, y: ((x * y).sum()) ** 2, lambda x, y: 2 * (x * y).sum() * y, ((300,), (300,)), positive),
    "log of determinant": Case(
        lambda x: np.log(x[0] * x[3] - x[1] * x[2]),
        lambda x: np.array([x[3], -x[2], -x[1], x[0]]) / (x[0] * x[3] - x[1] * x[2]), ((4,),), lambda x: np.add(abs(x), [3, 0, 0, 3]),
    ),
}  # fmt: skip


def arguments(case: Case, kind: Any, state: int) -> dict[str, Any]:
    """Arguments in a dtype."""
    random = np.random.default_rng(state)
    return {
        f"a{i}": np.asarray(case.draw(random.standard_normal(shape))).astype(kind)
        for i, shape in enumerate(case.shapes)
    }
