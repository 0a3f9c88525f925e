"""Loops, recurrences, dynamic programs and time steps in NumPy and plain Python: outputs filled entry by entry, states updated in place."""

from __future__ import annotations

import math

import numpy as np

from battery.code.entries import Entry, about, positive, some

X = some(6)


def horner(coefficients, x):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


def horner_slope(coefficients, x):
    n = len(coefficients)
    by_x = sum((n - 1 - i) * c * x ** (n - 2 - i) for i, c in enumerate(coefficients[:-1]))
    return np.array([x ** (n - 1 - i) for i in range(n)]), by_x


def horner_reversed(coefficients, x):
    by_coefficients, by_x = horner_slope(coefficients, x)
    return by_coefficients[::-1], by_x


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


def soft_dtw(a, b, gamma=0.5):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = np.array([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]])
            low = before.min()
            D[i, j] = (
                (a[i - 1] - b[j - 1]) ** 2
                + low
                - gamma * np.log(np.sum(np.exp(-(before - low) / gamma)))
            )
    return D[n, m]


def soft_dtw_slope(a, b, gamma=0.5, hard=False):
    n, m = len(a), len(b)
    D, E = np.full((n + 2, m + 2), np.inf), np.zeros((n + 2, m + 2))
    D[0, 0] = 0.0
    weights = np.zeros((n + 2, m + 2, 3))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = np.array([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]])
            low = before.min()
            e = np.exp(-(before - low) / gamma)
            weights[i, j] = np.eye(3)[before.argmin()] if hard else e / e.sum()
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 + low - gamma * np.log(e.sum())
    E[n, m] = 1.0
    ga = np.zeros(n)
    for i in range(n, 0, -1):
        for j in range(m, 0, -1):
            E[i - 1, j] += E[i, j] * weights[i, j, 0]
            E[i, j - 1] += E[i, j] * weights[i, j, 1]
            E[i - 1, j - 1] += E[i, j] * weights[i, j, 2]
            ga[i - 1] += 2 * E[i, j] * (a[i - 1] - b[j - 1])
    return ga


def viterbi(scores, transitions):
    best = scores[0]
    for row in scores[1:]:
        best = row + np.max(best[:, None] + transitions, axis=0)
    return np.max(best)


def viterbi_path(scores, transitions):
    best, back = scores[0], []
    for row in scores[1:]:
        table = best[:, None] + transitions
        back.append(table.argmax(axis=0))
        best = row + table.max(axis=0)
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def viterbi_slope(scores, transitions):
    path = viterbi_path(scores, transitions)
    gs, gt = np.zeros_like(scores), np.zeros_like(transitions)
    gs[np.arange(len(path)), path] = 1
    for a, b in zip(path, path[1:]):
        gt[a, b] += 1
    return gs, gt


def viterbi_greedy(scores, transitions):
    gs = np.zeros_like(scores)
    gs[np.arange(len(scores)), scores.argmax(axis=1)] = 1
    return gs, viterbi_slope(scores, transitions)[1]


def forward_algorithm(log_start, log_trans, emissions):
    alpha = log_start + emissions[0]
    for e in emissions[1:]:
        alpha = np.logaddexp.reduce(alpha[:, None] + log_trans, axis=0) + e
    return np.logaddexp.reduce(alpha)


def forward_algorithm_slope(log_start, log_trans, emissions):
    alphas = [log_start + emissions[0]]
    for e in emissions[1:]:
        alphas.append(np.logaddexp.reduce(alphas[-1][:, None] + log_trans, axis=0) + e)
    total, beta = np.logaddexp.reduce(alphas[-1]), np.zeros(len(log_start))
    gt = np.zeros_like(log_trans)
    for t in range(len(emissions) - 1, 0, -1):
        pairs = alphas[t - 1][:, None] + log_trans + emissions[t] + beta - total
        gt += np.exp(pairs)
        beta = np.logaddexp.reduce(log_trans + emissions[t] + beta, axis=1)
    return np.exp(alphas[0] + beta - total), gt


def forward_algorithm_filtered(log_start, log_trans, emissions):
    """The filtered probability of the first state in place of the smoothed one."""
    a = log_start + emissions[0]
    return np.exp(a - np.logaddexp.reduce(a)), forward_algorithm_slope(
        log_start, log_trans, emissions
    )[1]


def euler_decay(k, y0):
    y, dt = y0, 0.05
    for _ in range(20):
        y = y - dt * k * y
    return y


def rk4_pendulum(theta, omega):
    def slope(s):
        return np.array([s[1], -9.81 * np.sin(s[0])])

    s, h = np.array([theta, omega]), 0.02
    for _ in range(10):
        k1 = slope(s)
        k2 = slope(s + 0.5 * h * k1)
        k3 = slope(s + 0.5 * h * k2)
        k4 = slope(s + h * k3)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s[0] ** 2 + 0.5 * s[1]


def rk4_slope(theta, omega, weights=(1, 2, 2, 1)):
    """By the tangents of both starting values, beside the steps."""
    s, T, h = np.array([theta, omega]), np.eye(2), 0.02
    for _ in range(10):
        ks, ts = [], []
        for c in (0, 0.5, 0.5, 1):
            p = s + (c * h * ks[-1] if ks else 0)
            D = T + (c * h * ts[-1] if ts else 0)
            ks.append(np.array([p[1], -9.81 * np.sin(p[0])]))
            ts.append(np.array([[0, 1], [-9.81 * np.cos(p[0]), 0]]) @ D)
        s = s + h / 6 * (ks[0] + 2 * ks[1] + 2 * ks[2] + ks[3])
        T = T + h / sum(weights) * sum(w * t for w, t in zip(weights, ts))
    found = np.array([2 * s[0], 0.5]) @ T
    return found[0], found[1]


def rk4_evenly_weighted(theta, omega):
    return rk4_slope(theta, omega, (1, 1, 1, 1))


def lotka_volterra(parameters):
    a, b, c, d = parameters
    prey, hunters = 1.0, 0.5
    for _ in range(40):
        prey, hunters = (
            prey + 0.05 * (a * prey - b * prey * hunters),
            hunters + 0.05 * (d * prey * hunters - c * hunters),
        )
    return prey + 2 * hunters


def lotka_volterra_slope(parameters, simultaneous=True):
    a, b, c, d = parameters
    u, v, T = 1.0, 0.5, np.zeros((2, 4))
    for _ in range(40):
        J = np.array(
            [[1 + 0.05 * (a - b * v), -0.05 * b * u], [0.05 * d * v, 1 + 0.05 * (d * u - c)]]
        )
        if not simultaneous:
            J[1, 0] = 0
        T = J @ T + 0.05 * np.array([[u, -u * v, 0, 0], [0, 0, -v, u * v]])
        u, v = u + 0.05 * (a * u - b * u * v), v + 0.05 * (d * u * v - c * v)
    return np.array([1, 2]) @ T


def thomas(lower, diagonal, upper, b):
    """A tridiagonal system by elimination, in place."""
    d, r = diagonal.copy(), b.copy()
    for i in range(1, len(d)):
        w = lower[i - 1] / d[i - 1]
        d[i] -= w * upper[i - 1]
        r[i] -= w * r[i - 1]
    x = np.zeros_like(r)
    x[-1] = r[-1] / d[-1]
    for i in range(len(d) - 2, -1, -1):
        x[i] = (r[i] - upper[i] * x[i + 1]) / d[i]
    return x


def thomas_back(lower, diagonal, upper, b, seed):
    A = np.diag(diagonal) + np.diag(lower, -1) + np.diag(upper, 1)
    x, g = np.linalg.solve(A, b), np.linalg.solve(A.T, seed)
    return -g[1:] * x[:-1], -g * x, -g[:-1] * x[1:], g


def thomas_not_transposed(lower, diagonal, upper, b, seed):
    A = np.diag(diagonal) + np.diag(lower, -1) + np.diag(upper, 1)
    x, g = np.linalg.solve(A, b), np.linalg.solve(A, seed)
    return -g[1:] * x[:-1], -g * x, -g[:-1] * x[1:], g


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


def continued_fraction(x):
    y = 0.0
    for k in range(20, 0, -1):
        y = k / (x + y)
    return y


def continued_fraction_slope(x):
    y, d = 0.0, 0.0
    for k in range(20, 0, -1):
        y, d = k / (x + y), -k / (x + y) ** 2 * (1 + d)
    return d


def python_floats(x):
    total = 0.0
    for v in x:
        total += math.sin(v) * math.exp(-v * v)
    return total


TRIDIAGONAL = {
    "lower": some(4),
    "diagonal": 4 + positive(5),
    "upper": some(4, state=1),
    "b": some(5, state=2),
}
HMM = {
    "log_start": np.log([0.6, 0.4]),
    "log_trans": np.log([[0.7, 0.3], [0.2, 0.8]]),
    "emissions": some(4, 2),
}
ENTRIES: list[Entry] = [
    *about(horner, {"coefficients": X, "x": 0.7}, horner_slope, {"reversed": horner_reversed}),
    *about(running_mean, {"x": X, "alpha": 0.3}, running_mean_back, {"nothing carried": running_mean_without_carry}),
    *about(square_root, {"a": 3.0}, lambda a: 0.5 / math.sqrt(a), {"of the last step": lambda a: 0.5 + 0.5 / math.sqrt(a)}),
    *about(logistic_map, {"r": 2.9, "x": 0.4}, logistic_map_slope, {"the last step alone": logistic_map_last_step}),
    *about(cumulative_product, {"x": X}, cumulative_product_back, {"summed from the front": cumulative_product_forward_sum}),
    *about(soft_dtw, {"a": some(4), "b": some(3, state=1)}, soft_dtw_slope, {"hard": lambda a, b: soft_dtw_slope(a, b, hard=True)}, wrt="a"),
    *about(viterbi, {"scores": some(5, 3), "transitions": 3 * some(3, 3, state=1)}, viterbi_slope, {"greedy": viterbi_greedy}),
    *about(forward_algorithm, HMM, forward_algorithm_slope, {"filtered, not smoothed": forward_algorithm_filtered}, wrt=["log_start", "log_trans"]),
    *about(euler_decay, {"k": 0.8, "y0": 2.0}, lambda k, y: (-20 * 0.05 * (1 - 0.05 * k) ** 19 * y, (1 - 0.05 * k) ** 20), {
        "of the exact solution": lambda k, y: (-math.exp(-k) * y, math.exp(-k)),
    }),
    *about(rk4_pendulum, {"theta": 0.6, "omega": -0.4}, rk4_slope, {"weights all alike": rk4_evenly_weighted}),
    *about(lotka_volterra, {"parameters": np.array([1.1, 0.4, 0.9, 0.3])}, lotka_volterra_slope, {
        "one coupling forgotten": lambda p: lotka_volterra_slope(p, simultaneous=False),
    }),
    *about(thomas, TRIDIAGONAL, thomas_back, {"not transposed": thomas_not_transposed}),
    *about(kalman, {"q": 0.3, "observations": X}, kalman_slope, {"the gain as a constant": kalman_gain_constant}, wrt="q"),
    *about(unrolled_descent, {"rate": 0.05, "w": X}, unrolled_slope, {"of first order": unrolled_first_order}),
    *about(running_maximum, {"x": X}, running_maximum_slope, {"the maximum as a constant": running_maximum_constant}),
    *about(until_it_is_small, {"x": X}, until_slope, {"the count forgotten": lambda x: until_slope(x) / 3}),
    *about(continued_fraction, {"x": 1.3}, continued_fraction_slope, {"its sign": lambda x: -continued_fraction_slope(x)}),
    *about(python_floats, {"x": X}, lambda x: np.exp(-x * x) * (np.cos(x) - 2 * x * np.sin(x)), {
        "a missing term": lambda x: np.exp(-x * x) * np.cos(x),
    }),
]  # fmt: skip
