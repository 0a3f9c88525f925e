"""Layers of networks in NumPy, with the backward passes that tutorials have, and their mistakes."""

from __future__ import annotations

import numpy as np

from battery.code.entries import Entry, about, some

X, W, B = some(4, 3), some(3, 2, state=1), some(2, state=2)


def dense(x, w, b):
    return np.tanh(x @ w + b)


def dense_back(x, w, b, seed):
    inner = seed * (1 - np.tanh(x @ w + b) ** 2)
    return inner @ w.T, x.T @ inner, inner.sum(axis=0)


def dense_averaged(x, w, b, seed):
    gx, gw, gb = dense_back(x, w, b, seed)
    return gx, gw, gb / len(x)


def dense_without_activation(x, w, b, seed):
    return seed @ w.T, x.T @ seed, seed.sum(axis=0)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def softmax_back(x, seed):
    p = softmax(x)
    return p * (seed - np.sum(seed * p, axis=-1, keepdims=True))


def softmax_diagonal(x, seed):
    p = softmax(x)
    return seed * p * (1 - p)


def attention(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


def attention_back(q, k, v, seed):
    scale = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ k.T * scale)
    gp = seed @ v.T
    gs = p * (gp - np.sum(gp * p, axis=-1, keepdims=True)) * scale
    return gs @ k, gs.T @ q, p.T @ seed


def attention_unscaled(q, k, v, seed):
    gq, gk, gv = attention_back(q, k, v, seed)
    return gq * np.sqrt(q.shape[-1]), gk * np.sqrt(q.shape[-1]), gv


def attention_transposed(q, k, v, seed):
    scale = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ k.T * scale)
    gp = seed @ v.T
    gs = p * (gp - np.sum(gp * p, axis=-1, keepdims=True)) * scale
    return gs @ k, gs @ q, p.T @ seed


def conv1d(x, w):
    n = len(x) - len(w) + 1
    out = np.zeros(n)
    for i in range(n):
        out[i] = np.dot(x[i : i + len(w)], w)
    return out


def conv1d_back(x, w, seed):
    gx, gw = np.zeros_like(x), np.zeros_like(w)
    for i, s in enumerate(seed):
        gx[i : i + len(w)] += s * w
        gw += s * x[i : i + len(w)]
    return gx, gw


def conv1d_flipped(x, w, seed):
    gx = np.zeros_like(x)
    for i, s in enumerate(seed):
        gx[i : i + len(w)] += s * w[::-1]
    return gx, conv1d_back(x, w, seed)[1]


def conv1d_overwritten(x, w, seed):
    gx = np.zeros_like(x)
    for i, s in enumerate(seed):
        gx[i : i + len(w)] = s * w
    return gx, conv1d_back(x, w, seed)[1]


def max_pool(x):
    h, w = x.shape
    return x.reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3))


def max_pool_back(x, seed):
    grown = np.repeat(np.repeat(max_pool(x), 2, 0), 2, 1)
    return np.where(x == grown, np.repeat(np.repeat(seed, 2, 0), 2, 1), 0.0)


def average_pool_back(x, seed):
    return np.repeat(np.repeat(seed, 2, 0), 2, 1) / 4


def embedding(table, tokens):
    return table[tokens] ** 2


def embedding_back(table, tokens, seed):
    g = np.zeros_like(table)
    np.add.at(g, tokens, 2 * table[tokens] * seed)
    return g


def embedding_buffered(table, tokens, seed):
    """With tokens that come twice, ``+=`` at an index adds one of them."""
    g = np.zeros_like(table)
    g[tokens] += 2 * table[tokens] * seed
    return g


def rnn(xs, U, V, h0):
    h, states = h0, []
    for x in xs:
        h = np.tanh(U @ x + V @ h)
        states.append(h)
    return np.sum(np.stack(states) ** 2)


def rnn_back(xs, U, V, h0, through_time=True):
    states = [h0]
    for x in xs:
        states.append(np.tanh(U @ x + V @ states[-1]))
    gU, gV, gh = np.zeros_like(U), np.zeros_like(V), np.zeros_like(h0)
    for t in range(len(xs), 0, -1):
        inner = (2 * states[t] + gh) * (1 - states[t] ** 2)
        gU += np.outer(inner, xs[t - 1])
        gV += np.outer(inner, states[t - 1])
        gh = V.T @ inner if through_time else gh * 0
    return gU, gV, V.T @ inner


def rnn_truncated(xs, U, V, h0):
    return rnn_back(xs, U, V, h0, through_time=False)


def rnn_untransposed(xs, U, V, h0):
    gU, gV, gh = rnn_back(xs, U, V, h0)
    return gU, gV, V @ np.linalg.solve(V.T, gh)


def dropout(x, keep):
    return x * keep / 0.8


QKV = {"q": some(3, 2), "k": some(3, 2, state=1), "v": some(3, 4, state=2)}
RNN = {
    "xs": some(5, 2),
    "U": some(3, 2, state=1),
    "V": 0.5 * some(3, 3, state=2),
    "h0": some(3, state=3),
}
ENTRIES: list[Entry] = [
    *about(dense, {"x": X, "w": W, "b": B}, dense_back, {"the bias averaged": dense_averaged, "without its activation": dense_without_activation}),
    *about(softmax, {"x": X}, softmax_back, {"its diagonal alone": softmax_diagonal}),
    *about(attention, QKV, attention_back, {"unscaled": attention_unscaled, "a matrix not transposed": attention_transposed}),
    *about(conv1d, {"x": some(7), "w": some(3, state=1)}, conv1d_back, {"flipped": conv1d_flipped, "overwritten": conv1d_overwritten}),
    *about(max_pool, {"x": some(4, 4, state=8)}, max_pool_back, {"as an average": average_pool_back}),
    *about(embedding, {"table": some(5, 2), "tokens": np.array([0, 3, 3, 1])}, embedding_back, {"a token twice": embedding_buffered}, wrt="table"),
    *about(rnn, RNN, rnn_back, {"truncated": rnn_truncated, "not transposed": rnn_untransposed}, wrt=["U", "V", "h0"]),
    *about(dropout, {"x": B, "keep": np.array([1.0, 0.0])}, lambda x, keep, seed: seed * keep / 0.8, {
        "not scaled": lambda x, keep, seed: seed * keep, "not masked": lambda x, keep, seed: seed / 0.8,
    }, wrt="x"),
]  # fmt: skip
