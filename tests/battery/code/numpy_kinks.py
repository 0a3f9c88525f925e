"""Kinks, jumps and branches: at them, beside them, and far from them."""

from __future__ import annotations

import math

import numpy as np

from battery.code.entries import Entry, about, some

X = some(5)
ACROSS = np.array([-1.0, 0.0, 2.0])


def relu(x):
    return np.sum(np.maximum(x, 0) ** 2 + np.maximum(x, 0))


def leaky(x):
    return np.where(x > 0, x, 0.1 * x).sum()


def relu_of_python(x):
    return x if x > 0 else 0.0


def absolute(x):
    return np.abs(x).sum()


def clipped(x):
    return np.sum(np.clip(x, -1.0, 1.0) * 3)


def hardest(x):
    return np.max(x)


def one_of(x, i):
    g = np.zeros_like(x)
    g[i] = 1
    return g


def middle(x):
    return np.median(x) ** 2


def middle_slope(x):
    return 2 * np.median(x) * one_of(x, np.argsort(x)[len(x) // 2])


def middle_as_mean(x):
    return 2 * np.median(x) * np.ones_like(x) / len(x)


def sorted_weights(x):
    return np.sort(x) @ np.arange(len(x))


def sorted_weights_slope(x):
    g = np.zeros_like(x)
    g[np.argsort(x)] = np.arange(len(x))
    return g


def sorted_weights_inverse(x):
    return np.argsort(x).astype(float)


def steps(x):
    return np.sum(np.floor(x) * x)


def straight_through(x):
    return np.sum(np.round(x) ** 2)


def sawtooth(x):
    return np.mod(x, 1.0) ** 2


def piecewise(x):
    return np.sum(
        np.piecewise(
            x,
            [x < -1, (x >= -1) & (x < 1), x >= 1],
            [lambda v: -2 * v - 1, lambda v: v**2, lambda v: 2 * v - 1],
        )
    )


def piecewise_slope(x):
    return np.select([x < -1, x < 1], [-2, 2 * x], 2.0)


def norm_at_zero(x):
    return np.sqrt(np.sum(x**2) + 1e-12)


def tax(income):
    owed = 0.0
    for low, high, rate in ((0, 10, 0.1), (10, 40, 0.25), (40, math.inf, 0.4)):
        if income > low:
            owed += rate * (min(income, high) - low)
    return owed


def tax_rate(income):
    return 0.1 if income <= 10 else 0.25 if income <= 40 else 0.4


def average_rate(income):
    return tax(income) / income


def elu(x):
    return np.sum(np.where(x > 0, x, np.expm1(np.minimum(x, 0))))


def safe_log(x):
    return np.sum(np.log(np.maximum(x, 1e-3)))


def masked_mean(x):
    chosen = x[x > 0]
    return chosen.mean() if chosen.size else 0.0


def smooth_but_written_by_abs(x):
    return np.abs(x) * x


def cubed_relu(x):
    return np.maximum(x, 0) ** 3


FAR = np.array([0.4, -2.5, 1.7])
ENTRIES: list[Entry] = [
    *about(relu, {"x": X}, lambda x: (x > 0) * (2 * x + 1), {"on all sides": lambda x: 2 * x + 1, "a half at the other side": lambda x: np.where(x > 0, 2 * x + 1, 0.5)}),
    *about(relu, {"x": ACROSS}, lambda x: (x > 0) * (2 * x + 1), {"beyond both sides": lambda x: np.where(x == 0, 1.5, (x > 0) * (2 * x + 1))}),
    *about(relu, {"x": ACROSS}, lambda x: (x >= 0) * (2 * x + 1), {"a wrong sign at the boundary": lambda x: np.where(x == 0, -1.0, (x > 0) * (2 * x + 1))}),
    *about(leaky, {"x": np.array([1e-9, -1e-9, 1e-6])}, lambda x: np.where(x > 0, 1, 0.1), {"sides exchanged": lambda x: np.where(x > 0, 0.1, 1)}),
    *about(relu_of_python, {"x": 0.0}, lambda x: 0.0, {"beyond": lambda x: 2.0, "below": lambda x: -0.5}),
    *about(relu_of_python, {"x": 0.0}, lambda x: 1.0),
    *about(relu_of_python, {"x": 1e-8}, lambda x: 1.0, {"of the other side": lambda x: 0.0}),
    *about(absolute, {"x": X}, np.sign, {"ones": np.ones_like}),
    *about(absolute, {"x": ACROSS}, np.sign, {"two at zero": lambda x: np.where(x == 0, 2.0, np.sign(x)), "exchanged": lambda x: -np.sign(x)}),
    *about(absolute, {"x": ACROSS}, lambda x: np.where(x >= 0, 1.0, -1.0)),
    *about(clipped, {"x": np.array([-1.5, -0.3, 0.8, 1.2])}, lambda x: 3.0 * (np.abs(x) < 1), {"all through": lambda x: 3 * np.ones(4), "one side": lambda x: 3.0 * (x < 1)}),
    *about(clipped, {"x": np.array([-1.0, 1.0, 0.0])}, lambda x: 3.0 * (np.abs(x) <= 1), {"beyond at the edge": lambda x: np.array([-3.0, 3.0, 3.0])}),
    *about(hardest, {"x": np.array([1.0, 2.0, 2.0])}, lambda x: np.array([0, 0.5, 0.5]), {"each of a tie": lambda x: np.array([0.0, 1.5, 1.5])}),
    *about(hardest, {"x": np.array([1.0, 2.0, 2.0])}, lambda x: np.array([0.0, 1.0, 0.0])),
    *about(middle, {"x": X}, middle_slope, {"as a mean": middle_as_mean}),
    *about(sorted_weights, {"x": np.array([0.3, 1.2, -0.7, 0.9, 2.0])}, sorted_weights_slope, {"the permutation's inverse": sorted_weights_inverse}),
    *about(steps, {"x": X}, np.floor, {"of a smooth step": lambda x: np.floor(x) + x}),
    *about(straight_through, {"x": X}, np.zeros_like, {"straight through": lambda x: 2 * np.round(x)}),
    *about(sawtooth, {"x": -0.3}, lambda x: 2 * np.mod(x, 1.0), {"as fmod": lambda x: 2 * math.fmod(x, 1.0)}),
    *about(piecewise, {"x": FAR}, piecewise_slope, {"a branch's sign": lambda x: np.abs(piecewise_slope(x))}),
    *about(piecewise, {"x": np.array([1.0, -1.0, 0.0])}, piecewise_slope, {"a jump at the joint": lambda x: np.array([2.0, 2.0, 0.0])}),
    *about(norm_at_zero, {"x": np.zeros(3)}, lambda x: x / norm_at_zero(x), {"a direction": lambda x: np.ones(3)}),
    *about(tax, {"income": 55.0}, tax_rate, {"on average": average_rate}),
    *about(tax, {"income": 10.0}, tax_rate, {"of the third": lambda income: 0.4}),
    *about(elu, {"x": np.zeros(2)}, np.ones_like, {"none": np.zeros_like}),
    *about(safe_log, {"x": np.array([0.5, -1.0, 2.0])}, lambda x: np.where(x > 1e-3, 1 / x, 0), {"of what is cut off": lambda x: 1 / np.maximum(x, 1e-3)}),
    *about(masked_mean, {"x": X}, lambda x: (x > 0) / (x > 0).sum(), {"of all": lambda x: (x > 0) / len(x)}),
    *about(smooth_but_written_by_abs, {"x": 0.0}, lambda x: 0.0, {"one": lambda x: 1.0}),
    *about(cubed_relu, {"x": 0.0}, lambda x: 0.0, {"three": lambda x: 3.0}),
]  # fmt: skip
