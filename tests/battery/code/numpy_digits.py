"""Where digits are few or scales are odd: cancellation, oscillation, tiny and huge numbers, saturation, slopes of zero, stiff powers."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from battery.code.entries import Entry, about, some

X = some(4)


def versine(x):
    return (1 - math.cos(x)) / x**2


def versine_slope(x):
    return (
        2 * math.sin(x / 2) * (x * math.cos(x / 2) - 2 * math.sin(x / 2)) / x**3
        if x > 1e-2
        else -x / 12 + x**3 / 180
    )


def tiny(x):
    return 1e-200 * float(x) ** 3


def huge(x):
    return 1e200 * float(x) ** 3


def offset(x):
    return 1e9 + math.sin(x)


def oscillating(x):
    return math.sin(1e5 * x)


def steep(x):
    return 1 / (1 + math.exp(-1e4 * (x - 0.3)))


def steep_slope(x):
    s = steep(x)
    return 1e4 * s * (1 - s)


def flat(x):
    return math.exp(-1 / x**2)


def stationary(x):
    return math.cos(x) ** 3


def stationary_everywhere(x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def log_sum_exp(x):
    m = max(x)
    return float(m) + math.log(sum(math.exp(v - m) for v in x))


def log1mexp(x):
    return math.log(-math.expm1(-x))


def wide_scales(x):
    return np.sum(10.0 ** np.array([-8, -3, 2, 7]) * np.asarray(x) ** 2)


def polynomial(x):
    """Wilkinson's: a product of twenty factors, near to one of its roots."""
    out = 1.0
    for k in range(1, 21):
        out *= float(x) - k
    return out


def polynomial_slope(x):
    return sum(math.prod(x - k for k in range(1, 21) if k != j) for j in range(1, 21))


def reciprocal(x):
    return 1 / float(x)


def variance_by_squares(x):
    x = np.asarray(x)
    return np.mean(x**2) - np.mean(x) ** 2


def distance_of_near_points(x, y):
    return math.hypot(x[0] - y[0], x[1] - y[1])


def gaussian_tail(x):
    return special.log_ndtr(float(x))


def tail_slope(x):
    return math.exp(-0.5 * x * x - 0.5 * math.log(2 * math.pi) - special.log_ndtr(x))


def rounded_inside(x):
    return float(np.float32(x)) ** 2


def square_of_small_difference(x):
    return (float(x) - 1.0) ** 2


def kahan(x):
    total = c = 0.0
    for v in x:
        y = v - c
        t = total + y
        c = (t - total) - y
        total = t
    return total**2


def scaled(function, factor):
    def slope(*arguments):
        found = function(*arguments)
        return (
            tuple(part * factor for part in found)
            if isinstance(found, tuple)
            else np.asarray(found) * factor
        )

    return slope


SLIGHT = 1 + 1e-4
POINTS = {"x": np.array([1.0, 2.0]), "y": np.array([1.0 + 3e-7, 2.0 - 4e-7])}


def near_slope(x, y):
    d = (x - y) / distance_of_near_points(x, y)
    return d, -d


CASES = [
    (versine, {"x": 0.9}, versine_slope), (tiny, {"x": 0.7}, lambda x: 3e-200 * x**2), (huge, {"x": 0.7}, lambda x: 3e200 * x**2),
    (offset, {"x": 0.7}, math.cos), (oscillating, {"x": 0.3}, lambda x: 1e5 * math.cos(1e5 * x)),
    (steep, {"x": 0.3001}, steep_slope), (flat, {"x": 0.2}, lambda x: 2 / x**3 * flat(x)),
    (log_sum_exp, {"x": 100 * X}, lambda x: special.softmax(x)), (log1mexp, {"x": 1e-5}, lambda x: 1 / math.expm1(x)),
    (wide_scales, {"x": X}, lambda x: 2 * 10.0 ** np.array([-8, -3, 2, 7]) * x), (polynomial, {"x": 20.001}, polynomial_slope),
    (reciprocal, {"x": 1e-7}, lambda x: -1 / x**2), (reciprocal, {"x": 1e12}, lambda x: -1 / x**2),
    (variance_by_squares, {"x": 1e3 + X}, lambda x: 2 * (x - x.mean()) / len(x)), (distance_of_near_points, POINTS, near_slope),
    (gaussian_tail, {"x": -30.0}, tail_slope), 
    (square_of_small_difference, {"x": 1.0 + 1e-6}, lambda x: 2 * (x - 1)),
    (kahan, {"x": X}, lambda x: 2 * math.fsum(x) * np.ones(4)),
]  # fmt: skip
LOST = "rounding inside leaves fewer digits than the tolerance asks for"
ENTRIES: list[Entry] = [
    *(entry for f, at, slope in CASES for entry in about(f, at, slope, {"off by 1e-4": scaled(slope, SLIGHT), "sign": scaled(slope, -1)}, open=LOST)),
    *about(stationary, {"x": 0.0}, lambda x: 0.0, {"one": lambda x: 1.0, "a little": lambda x: 1e-3}),
    *about(stationary_everywhere, {"x": 0.8}, lambda x: 0.0, {"of one of them": lambda x: np.sin(2 * x)}),
    *about(rounded_inside, {"x": 0.7}, wrong={"a half": lambda x: x}, open=LOST),
]  # fmt: skip
