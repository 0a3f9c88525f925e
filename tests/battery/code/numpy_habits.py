"""What people do with arrays beside mathematics: structures, views, objects of classes, caches, generators, threads, text, other dtypes."""

from __future__ import annotations

import copy
import functools
import io
import json
import pickle
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from battery.code.entries import Entry, about, some

X, M = some(5), some(3, 4)


def double_of(x):
    return 2 * x


class Standardizer:
    """Callable, and with a state of its own that does not change."""

    def __init__(self, shift, scale):
        self.shift, self.scale = shift, scale
        self.__name__ = "standardizer"

    def __call__(self, x):
        return np.sum(((x - self.shift) / self.scale) ** 2)

    def slope(self, x):
        return 2 * (x - self.shift) / self.scale**2


class Stale:
    """A loss whose backward uses what the first forward has kept."""

    def __init__(self):
        self.kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = np.tanh(x)
        return np.sum(np.tanh(x) ** 2)

    def backward(self, x):
        return 2 * self.kept * (1 - self.kept**2)


class Saving(Stale):
    def forward(self, x):
        self.kept = np.tanh(x)
        return np.sum(self.kept**2)


class Accumulating(Saving):
    """As in PyTorch, gradients are added up; nobody sets them to zero."""

    grad = 0.0

    def backward(self, x):
        self.grad = self.grad + super().backward(x)
        return self.grad


STANDARD, STALE, SAVING, ADDING = Standardizer(0.3, 2.0), Stale(), Saving(), Accumulating()


def by_generator(x):
    return sum(v * v for v in x)


def by_list(x):
    values = []
    for v in x:
        values.append(v**2)
    return np.sum(np.array(values))


def by_map(x):
    return functools.reduce(lambda a, b: a + b, map(lambda v: v**2, x))


def by_vectorize(x):
    return np.vectorize(lambda v: v**2 if v > -10 else 0.0)(x).sum()


def by_apply_along_axis(m):
    return np.apply_along_axis(lambda row: row[0] * row[-1], 1, m)


def by_apply_back(m, seed):
    g = np.zeros_like(m)
    g[:, 0], g[:, -1] = seed * m[:, -1], seed * m[:, 0]
    return g


def by_fromiter(x):
    return np.fromiter((v**2 for v in x), float).sum()


def by_nditer(x):
    total = 0.0
    for v in np.nditer(x):
        total += float(v) ** 2
    return total


def by_flat(x):
    out = np.zeros_like(x)
    for i, v in enumerate(x.flat):
        out.flat[i] = v * v
    return out.sum()


def by_threads(x):
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda v: v**2, x))


def by_json(x):
    return sum(v**2 for v in json.loads(json.dumps(np.asarray(x).tolist())))


def by_pickle(x):
    return np.sum(pickle.loads(pickle.dumps(np.asarray(x))) ** 2)


def by_deepcopy(x):
    y = copy.deepcopy(x)
    y *= x
    return y.sum()


def by_file(x):
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    return np.sum(np.load(file) ** 2)


def by_decimal(x):
    return float(sum(Decimal(float(v)) ** 2 for v in x))


def by_fraction(x):
    return float(sum(Fraction(float(v)) ** 2 for v in x))


def by_objects(x):
    return np.sum(x.astype(object) ** 2)


def by_namespace(x):
    state = SimpleNamespace(total=0.0)
    for v in x:
        state.total = state.total + v * v
    return state.total


def by_dictionary(x):
    seen = {f"w{i}": v for i, v in enumerate(x)}
    return sum(seen[name] ** 2 for name in sorted(seen))


def by_views(x):
    y = x.copy()
    left, right = y[:2], y[2:]
    left *= left
    right **= 2
    return y.sum()


def by_out(x):
    out = np.empty_like(x)
    np.multiply(x, x, out=out)
    return out.sum()


def by_exception(x):
    try:
        return np.sum(x**2) if x.undefined else 0.0
    except AttributeError:
        return np.dot(x, x)


def by_masked(x):
    return np.ma.array(x, mask=np.asarray(x) > 100).compressed().dot(x)


def by_cache(x):
    return cached(float(x[0])) * x[1:].sum()


@functools.cache
def cached(v):
    return v**3


def by_cache_slope(x):
    return np.array([3 * x[0] ** 2 * x[1:].sum(), *[x[0] ** 3] * (len(x) - 1)])


def windows(x):
    return np.sum(np.lib.stride_tricks.sliding_window_view(x, 3).max(axis=1) ** 2)


def windows_slope(x):
    g = np.zeros_like(x)
    for i in range(len(x) - 2):
        g[i + x[i : i + 3].argmax()] += 2 * x[i : i + 3].max()
    return g


def windows_once(x):
    g = np.zeros_like(x)
    for i in range(len(x) - 2):
        g[i + x[i : i + 3].argmax()] = 2 * x[i : i + 3].max()
    return g


def phase(x):
    z = x[0] + 1j * x[1]
    return np.abs(z**2 + 1) + np.angle(z)


def phase_slope(x):
    z = x[0] + 1j * x[1]
    w = z**2 + 1
    inner = np.conj(w) / abs(w) * 2 * z
    return np.array([inner.real - x[1] / abs(z) ** 2, -inner.imag + x[0] / abs(z) ** 2])


def phase_not_conjugated(x):
    z = x[0] + 1j * x[1]
    inner = (z**2 + 1) / abs(z**2 + 1) * 2 * z
    return np.array([inner.real - x[1] / abs(z) ** 2, -inner.imag + x[0] / abs(z) ** 2])


Model = namedtuple("Model", "w b")


def with_namedtuple(model, x):
    return np.sum(np.tanh(x @ model.w + model.b))


def namedtuple_slope(model, x):
    inner = 1 - np.tanh(x @ model.w + model.b) ** 2
    return Model(x.T @ inner, inner.sum())


def namedtuple_bias_averaged(model, x):
    slope = namedtuple_slope(model, x)
    return slope._replace(b=slope.b / len(x))


def nested(p, scale):
    total = 0.0
    for layer in p["layers"]:
        total = total + scale * np.sum(layer["w"] ** 2) * layer["b"]
    return total


def nested_slope(p, scale):
    return {
        "layers": [
            {"w": 2 * scale * layer["w"] * layer["b"], "b": scale * np.sum(layer["w"] ** 2)}
            for layer in p["layers"]
        ]
    }


def nested_first_layer_only(p, scale):
    found = nested_slope(p, scale)
    found["layers"][1] = {name: 0 * value for name, value in found["layers"][1].items()}
    return found


def column_bias(m, bias):
    return m * np.exp(bias)


def column_bias_back(m, bias, seed):
    return seed * np.exp(bias), (seed * m * np.exp(bias)).sum(axis=1, keepdims=True)


def column_bias_not_summed(m, bias, seed):
    return seed * np.exp(bias), (seed * m * np.exp(bias))[:, :1]


def statistics(x):
    return {"mean": x.mean(), "var": x.var(), "x": x * 2}


def statistics_back(x, seeds):
    mean, var, rest = seeds
    return mean / len(x) + var * 2 * (x - x.mean()) / len(x) + 2 * rest


def statistics_sample_variance(x, seeds):
    mean, var, rest = seeds
    return mean / len(x) + var * 2 * (x - x.mean()) / (len(x) - 1) + 2 * rest


def class_score(w, label, x):
    return (w @ x)[label]


def flagged(x, squared=True):
    return np.sum(x**2) if squared else np.sum(x)


def single(x):
    return np.sum(np.tanh(x) ** 2)


def single_slope(x):
    return (2 * np.tanh(x.astype(np.float64)) * (1 - np.tanh(x.astype(np.float64)) ** 2)).astype(
        np.float32
    )


def single_in_single(x):
    t = np.tanh(x)
    return 2 * t * (1 - t * t)


def single_off(x):
    return single_slope(x) * np.float32(1.001)


def noisy(x):
    return np.sum(x**2) + 1e-9 * np.random.default_rng().standard_normal()


def very_noisy(x):
    return np.sum(x**2) + 1e-2 * np.random.default_rng().standard_normal()


def sampled(mu, log_sigma):
    """A Monte-Carlo loss whose noise is drawn anew from the same seed."""
    z = mu + np.exp(log_sigma) * np.random.default_rng(4).standard_normal(50)
    return np.mean(z**2)


def sampled_slope(mu, log_sigma):
    e = np.random.default_rng(4).standard_normal(50)
    z = mu + np.exp(log_sigma) * e
    return np.mean(2 * z), np.mean(2 * z * e) * np.exp(log_sigma)


def sampled_other_noise(mu, log_sigma):
    e = np.random.default_rng(5).standard_normal(50)
    z = mu + np.exp(log_sigma) * e
    return np.mean(2 * z), np.mean(2 * z * e) * np.exp(log_sigma)


SQUARES = [
    by_generator, by_list, by_map, by_vectorize, by_fromiter, by_nditer, by_flat, by_threads, by_json, by_pickle, by_deepcopy, by_file, by_decimal,
    by_fraction, by_objects, by_namespace, by_dictionary, by_views, by_out, by_exception, by_masked,
]  # fmt: skip
LAYERS = {"layers": [{"w": some(2), "b": 0.5}, {"w": some(3, state=1), "b": -1.5}]}
NOISY = "the function's own noise is larger than what is asked"
ENTRIES: list[Entry] = [
    *(entry for function in SQUARES for entry in about(function, {"x": X}, double_of, {"a half": lambda x: x, "a sign": lambda x: np.where(x > 1, -2 * x, 2 * x)})),
    *about(STANDARD, {"x": X}, STANDARD.slope, {"not scaled": lambda x: 2 * (x - 0.3)}),
    *about(SAVING.forward, {"x": X}, SAVING.backward, {"its square's": lambda x: 2 * np.tanh(x)}),
    *about(STALE.forward, {"x": X}, wrong={"stale": STALE.backward}),
    *about(ADDING.forward, {"x": X}, wrong={"added to the last one": ADDING.backward}),
    *about(by_apply_along_axis, {"m": M}, by_apply_back, {"ends exchanged": lambda m, seed: by_apply_back(m[:, ::-1], seed) * 2}),
    *about(by_cache, {"x": X}, by_cache_slope, {"the cached one as a constant": lambda x: by_cache_slope(x) * (np.arange(5) > 0)}),
    *about(windows, {"x": X}, windows_slope, {"overwritten": windows_once}),
    *about(phase, {"x": np.array([0.8, 1.3])}, phase_slope, {"not conjugated": phase_not_conjugated}),
    *about(with_namedtuple, {"model": Model(X, 0.3), "x": some(3, 5)}, namedtuple_slope, {"the bias averaged": namedtuple_bias_averaged}, wrt="model"),
    *about(nested, {"p": LAYERS, "scale": 2}, nested_slope, {"the first layer only": nested_first_layer_only}, wrt="p"),
    *about(column_bias, {"m": M, "bias": some(3, 1)}, column_bias_back, {"not summed": column_bias_not_summed}),
    *about(statistics, {"x": X}, statistics_back, {"of a sample": statistics_sample_variance}),
    *about(class_score, {"w": M, "label": 1, "x": some(4)}, lambda w, label, x: np.outer(np.eye(3)[label], x), {
        "all classes": lambda w, label, x: np.outer(np.ones(3), x),
    }, wrt="w"),
    *about(flagged, {"x": X, "squared": False}, lambda x, squared: np.ones_like(x), {"of the other flag": lambda x, squared: 2 * x}, wrt="x"),
    *about(single, {"x": some(6).astype(np.float32)}, single_slope, {"a thousandth": single_off}),
    *about(single, {"x": some(6).astype(np.float32)}, single_in_single, {"a half": lambda x: single_in_single(x) / 2}),
    *about(noisy, {"x": X}, double_of, {"a half": lambda x: x, "a thousandth": lambda x: 2.002 * x}, open=NOISY),
    *about(very_noisy, {"x": X}, wrong={"far off": lambda x: 1000 * x}, open=NOISY),
    *about(sampled, {"mu": 0.3, "log_sigma": -0.2}, sampled_slope, {"of other noise": sampled_other_noise}),
]  # fmt: skip
