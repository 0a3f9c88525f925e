"""Loops, recurrences, dynamic programs and time steps in NumPy and plain Python: outputs filled entry by entry, states updated in place."""

from __future__ import annotations

import math

import numpy as np

from battery.code.entries import Entry, about, some

X = some(6)


def running_mean(x, alpha):
    out = np.empty(len(x))
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


def running_mean_back(x, alpha, seed):
    out = running_mean(x, alpha)
    gx, ga, carried = np.zeros_like(x), 0.0, 0.0
    for t in range(len(x) - 1, 0, -1):
        carried += seed[t]
        gx[t] = alpha * carried
        ga += carried * (x[t] - out[t - 1])
        carried *= 1 - alpha
    gx[0] = carried + seed[0]
    return gx, ga


def running_mean_without_carry(x, alpha, seed):
    out = running_mean(x, alpha)
    gx = alpha * seed
    gx[0] = seed[0]
    return gx, np.sum(seed[1:] * (x[1:] - out[:-1]))


def square_root(a):
    y = a
    while abs(y * y - a) > 1e-13 * a:
        y = 0.5 * (y + a / y)
    return y


def logistic_map(r, x):
    for _ in range(12):
        x = r * x * (1 - x)
    return x


def logistic_map_slope(r, x):
    by_r, by_x = 0.0, 1.0
    for _ in range(12):
        slope = r * (1 - 2 * x)
        by_r, by_x = x * (1 - x) + slope * by_r, slope * by_x
        x = r * x * (1 - x)
    return by_r, by_x


def logistic_map_last_step(r, x):
    by_r, by_x = logistic_map_slope(r, x)
    for _ in range(11):
        x = r * x * (1 - x)
    return x * (1 - x), by_x


def cumulative_product(x):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] *= out[i - 1]
    return out


def cumulative_product_back(x, seed):
    out = np.cumprod(x)
    return np.cumsum((seed * out)[::-1])[::-1] / x


def cumulative_product_forward_sum(x, seed):
    return np.cumsum(seed * np.cumprod(x)) / x


def kalman(q, observations):
    """The log likelihood of a random walk with noise, by its filter."""
    mean, var, total = 0.0, 1.0, 0.0
    for y in observations:
        var = var + q
        s = var + 0.5
        total += -0.5 * (np.log(2 * np.pi * s) + (y - mean) ** 2 / s)
        gain = var / s
        mean = mean + gain * (y - mean)
        var = (1 - gain) * var
    return total


def kalman_slope(q, observations, through_gain=True):
    m, v, dm, dv, d = 0.0, 1.0, 0.0, 0.0, 0.0
    for y in observations:
        v, dv = v + q, dv + 1
        s, e = v + 0.5, y - m
        d += -0.5 * (dv / s - 2 * e * dm / s - e**2 * dv / s**2)
        k, dk = v / s, (dv * 0.5 / s**2 if through_gain else 0.0)
        m, dm = m + k * e, dm + dk * e - k * dm
        v, dv = (1 - k) * v, (1 - k) * dv - dk * v
    return d


def kalman_gain_constant(q, observations):
    return kalman_slope(q, observations, through_gain=False)


def unrolled_descent(rate, w):
    for _ in range(5):
        w = w - rate * (4 * w**3 - 2 * w)
    return np.sum(w**2)


def unrolled_slope(rate, w):
    t, e = np.zeros_like(w), np.ones_like(w)
    for _ in range(5):
        g, h = 4 * w**3 - 2 * w, 12 * w**2 - 2
        t, e, w = t - g - rate * h * t, e * (1 - rate * h), w - rate * g
    return 2 * np.sum(w * t), 2 * w * e


def unrolled_first_order(rate, w):
    """As first-order meta-learning has it: the Hessians left out."""
    for _ in range(5):
        w = w - rate * (4 * w**3 - 2 * w)
    return unrolled_slope(rate, w)[0], 2 * w


def running_maximum(x):
    best, out = -np.inf, []
    for v in x:
        best = v if v > best else best
        out.append(best * v)
    return sum(out)


def running_maximum_slope(x):
    where = [int(np.argmax(x[: i + 1])) for i in range(len(x))]
    g = np.array([x[w] for w in where])
    for i, w in enumerate(where):
        g[w] += x[i]
    return g


def running_maximum_constant(x):
    return np.maximum.accumulate(x)


def until_it_is_small(x):
    n = 0
    while np.sum(x**2) > 0.1 and n < 30:
        x = 0.7 * x
        n += 1
    return np.sum(x) * (n + 1)


def until_slope(x):
    n, factor = 0, 1.0
    while np.sum((factor * x) ** 2) > 0.1 and n < 30:
        factor *= 0.7
        n += 1
    return np.full_like(x, factor * (n + 1))


def python_floats(x):
    total = 0.0
    for v in x:
        total += math.sin(v) * math.exp(-v * v)
    return total


ENTRIES: list[Entry] = [
    *about(running_mean, {"x": X, "alpha": 0.3}, running_mean_back, {"nothing carried": running_mean_without_carry}),
    *about(square_root, {"a": 3.0}, lambda a: 0.5 / math.sqrt(a), {"of the last step": lambda a: 0.5 + 0.5 / math.sqrt(a)}),
    *about(logistic_map, {"r": 2.9, "x": 0.4}, logistic_map_slope, {"the last step alone": logistic_map_last_step}),
    *about(cumulative_product, {"x": X}, cumulative_product_back, {"summed from the front": cumulative_product_forward_sum}),
    *about(kalman, {"q": 0.3, "observations": X}, kalman_slope, {"the gain as a constant": kalman_gain_constant}, wrt="q"),
    *about(unrolled_descent, {"rate": 0.05, "w": X}, unrolled_slope, {"of first order": unrolled_first_order}),
    *about(running_maximum, {"x": X}, running_maximum_slope, {"the maximum as a constant": running_maximum_constant}),
    *about(until_it_is_small, {"x": X}, until_slope, {"the count forgotten": lambda x: until_slope(x) / 3}),
    *about(python_floats, {"x": X}, lambda x: np.exp(-x * x) * (np.cos(x) - 2 * x * np.sin(x)), {
        "a missing term": lambda x: np.exp(-x * x) * np.cos(x),
    }),
]  # fmt: skip
