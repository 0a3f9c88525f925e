"""Physics, robotics, epidemics, finance: formulas and small simulations in NumPy and plain Python."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, ndtr

from battery.code.entries import Entry, about, definite, positive, some

OPTION = {"S": 100.0, "K": 105.0, "r": 0.03, "sigma": 0.25, "T": 0.75}


def density(d):
    return math.exp(-0.5 * d * d) / math.sqrt(2 * math.pi)


def black_scholes(S, K, r, sigma, T):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    return S * ndtr(d1) - K * np.exp(-r * T) * ndtr(d1 - sigma * np.sqrt(T))


def greeks(S, K, r, sigma, T):
    """Delta, vega, and the decay."""
    d1 = (math.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    theta = S * density(d1) * sigma / (2 * math.sqrt(T)) + r * K * math.exp(-r * T) * ndtr(d2)
    return ndtr(d1), S * density(d1) * math.sqrt(T), theta


def greeks_with_theta_of_the_market(S, K, r, sigma, T):
    """Theta as traders quote it: the change as time passes, of the other sign."""
    delta, vega, theta = greeks(S, K, r, sigma, T)
    return delta, vega, -theta


def greeks_of_d2(S, K, r, sigma, T):
    d2 = (math.log(S / K) + (r - 0.5 * sigma**2) * T) / (sigma * math.sqrt(T))
    return (ndtr(d2), *greeks(S, K, r, sigma, T)[1:])


def call_by_erfc(S, sigma):
    d1 = (math.log(S / 105.0) + 0.5 * sigma * sigma) / sigma
    return S * 0.5 * erfc(-d1 / math.sqrt(2)) - 105.0 * 0.5 * erfc(-(d1 - sigma) / math.sqrt(2))


def call_by_erfc_slope(S, sigma):
    d1 = (math.log(S / 105.0) + 0.5 * sigma * sigma) / sigma
    return float(ndtr(d1)), S * density(d1)


def implied_volatility(price):
    return brentq(lambda s: black_scholes(100.0, 105.0, 0.03, s, 0.75) - price, 0.01, 3, xtol=1e-14)


def implied_slope(price):
    return 1 / greeks(100.0, 105.0, 0.03, implied_volatility(price), 0.75)[1]


def bond(rate, coupons):
    value = 0.0
    for year, c in enumerate(coupons, start=1):
        value += c / (1 + rate) ** year
    return value


def bond_slope(rate, coupons):
    years = np.arange(1, len(coupons) + 1)
    return -np.sum(years * coupons / (1 + rate) ** (years + 1)), (1 + rate) ** -years.astype(float)


def macaulay(rate, coupons):
    """Macaulay's duration is not the modified one."""
    years = np.arange(1, len(coupons) + 1)
    return -np.sum(years * coupons / (1 + rate) ** years), (1 + rate) ** -years.astype(float)


def internal_rate(flows):
    return brentq(
        lambda r: sum(c / (1 + r) ** t for t, c in enumerate(flows)), 0.0, 1.0, xtol=1e-15
    )


def internal_rate_slope(flows):
    r, t = internal_rate(flows), np.arange(len(flows))
    return (1 + r) ** -t.astype(float) / np.sum(t * flows / (1 + r) ** (t + 1))


def sharpe(w, mean, cov):
    return w @ mean / np.sqrt(w @ cov @ w)


def sharpe_slope(w, mean, cov):
    risk = np.sqrt(w @ cov @ w)
    return mean / risk - (w @ mean) * (cov @ w) / risk**3


def drawdown(returns):
    wealth, peak, worst = 1.0, 1.0, 0.0
    for r in returns:
        wealth *= 1 + r
        peak = max(peak, wealth)
        worst = max(worst, 1 - wealth / peak)
    return worst


def drawdown_slope(returns):
    w = np.concatenate([[1.0], np.cumprod(1 + returns)])
    peaks = np.maximum.accumulate(w)
    low = int(np.argmax(1 - w / peaks))
    top = int(np.argmax(w[: low + 1]))
    g = np.zeros(len(returns))
    g[top:low] = -w[low] / w[top] / (1 + returns[top:low])
    return g


def drawdown_from_the_start(returns):
    g = drawdown_slope(returns)
    w = np.cumprod(1 + returns)
    low = int(np.argmax(1 - w / np.maximum.accumulate(np.maximum(w, 1))))
    g[: low + 1] = -w[low] / (1 + returns[: low + 1])
    return g


def lennard_jones(positions):
    energy = 0.0
    for i in range(len(positions)):
        for j in range(i):
            d = positions[i] - positions[j]
            inverse = 1 / np.dot(d, d) ** 3
            energy += 4 * (inverse**2 - inverse)
    return energy


def forces(positions, newton=True):
    g = np.zeros_like(positions)
    for i in range(len(positions)):
        for j in range(i):
            d = positions[i] - positions[j]
            r2 = d @ d
            pair = 4 * (-12 / r2**7 + 6 / r2**4) * d
            g[i] += pair
            if newton:
                g[j] -= pair
    return g


def springs(x, k):
    stretched = np.linalg.norm(np.diff(x, axis=0), axis=1) - 0.5
    return 0.5 * np.sum(k * stretched**2)


def springs_slope(x, k):
    d = np.diff(x, axis=0)
    r = np.linalg.norm(d, axis=1)
    pull = (k * (r - 0.5) / r)[:, None] * d
    g = np.zeros_like(x)
    g[1:] += pull
    g[:-1] -= pull
    return g


def springs_of_rest_length_zero(x, k):
    d = np.diff(x, axis=0)
    g = np.zeros_like(x)
    g[1:] += k[:, None] * d
    g[:-1] -= k[:, None] * d
    return g


def arm(q, lengths):
    """Where the hand is: angles add up along the arm."""
    x = y = angle = 0.0
    for joint, length in zip(q, lengths):
        angle += joint
        x += length * np.cos(angle)
        y += length * np.sin(angle)
    return np.array([x, y])


def arm_jacobian(q, lengths):
    total = np.cumsum(q)
    J = np.zeros((2, len(q)))
    for j in range(len(q)):
        J[0, j] = -np.sum(lengths[j:] * np.sin(total[j:]))
        J[1, j] = np.sum(lengths[j:] * np.cos(total[j:]))
    return J


def arm_own_link_only(q, lengths):
    total = np.cumsum(q)
    return np.stack([-lengths * np.sin(total), lengths * np.cos(total)])


def rodrigues(w, p):
    angle = np.linalg.norm(w)
    k = w / angle
    return (
        p * np.cos(angle) + np.cross(k, p) * np.sin(angle) + k * np.dot(k, p) * (1 - np.cos(angle))
    )


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rodrigues_jacobian(w, p):
    """By the left Jacobian of the rotation group."""
    a = np.linalg.norm(w)
    K = skew(w / a)
    left = np.eye(3) + (1 - np.cos(a)) / a * K + (1 - np.sin(a) / a) * K @ K
    R = np.eye(3) + np.sin(a) * K + (1 - np.cos(a)) * K @ K
    return -skew(R @ p) @ left, R


def rodrigues_small_angle(w, p):
    R = rodrigues_jacobian(w, p)[1]
    return -skew(R @ p), R


def projection(point, focal):
    x, y, z = point
    return focal * x / z, focal * y / z


def projection_back(point, focal, seeds):
    (x, y, z), (u, v) = point, seeds
    return focal / z * np.array([u, v, -(u * x + v * y) / z]), (u * x + v * y) / z


def projection_depth_sign(point, focal, seeds):
    by_point, by_focal = projection_back(point, focal, seeds)
    return by_point * [1, 1, -1], by_focal


def haversine(a, b):
    lat1, lon1 = np.radians(a)
    lat2, lon2 = np.radians(b)
    h = (
        np.sin((lat2 - lat1) / 2) ** 2
        + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * 6371.0 * np.arcsin(np.sqrt(h))


def haversine_slope(a, b, degrees=True):
    (p, l), (q, m) = np.radians(a), np.radians(b)
    h = np.sin((q - p) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin((m - l) / 2) ** 2
    by_p = -np.sin(q - p) / 2 - np.sin(p) * np.cos(q) * np.sin((m - l) / 2) ** 2
    by_l = -np.cos(p) * np.cos(q) * np.sin(m - l) / 2
    return 6371.0 / np.sqrt(h * (1 - h)) * np.array([by_p, by_l]) * (np.pi / 180 if degrees else 1)


def epidemic(beta, gamma):
    s, i, r = 0.99, 0.01, 0.0
    for _ in range(60):
        new, healed = beta * s * i, gamma * i
        s, i, r = s - new, i + new - healed, r + healed
    return i + 0.1 * r


def epidemic_slope(beta, gamma, depletion=True):
    s, i, T = 0.99, 0.01, np.zeros((3, 2))
    for _ in range(60):
        J = np.array(
            [
                [1 - beta * i, -beta * s, 0],
                [beta * i * depletion, 1 + beta * s - gamma, 0],
                [0, gamma, 1],
            ]
        )
        T = J @ T + np.array([[-s * i, 0], [s * i, -i], [0, i]])
        s, i = s - beta * s * i, i + beta * s * i - gamma * i
    found = np.array([0, 1, 0.1]) @ T
    return found[0], found[1]


def heat(u, k):
    """Three explicit steps with fixed ends."""
    for _ in range(3):
        new = u.copy()
        new[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = new
    return u


def heat_back(u, k, seed, ends=True):
    states = [u]
    for _ in range(3):
        states.append(heat_step(states[-1], k))
    gk = 0.0
    for v in states[-2::-1]:
        inner = seed[1:-1]
        gk += np.sum(inner * (v[2:] - 2 * v[1:-1] + v[:-2]))
        before = seed.copy()
        before[1:-1] -= 2 * k * inner
        before[2:] += k * inner
        before[:-2] += k * inner
        if not ends:
            before[[0, -1]] = 0
        seed = before
    return seed, gk


def heat_step(u, k):
    new = u.copy()
    new[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


def planck(wavelength, temperature):
    return 2 / wavelength**5 / np.expm1(1.44 / (wavelength * temperature))


def planck_slope(l, t):
    a = 1.44 / (l * t)
    e = np.expm1(a)
    return -10 / l**6 / e + 2 / l**5 * (e + 1) / e**2 * a / l, 2 / l**5 * (e + 1) / e**2 * a / t


def planck_of_wien(l, t):
    """With exp for expm1, as Wien's law has it."""
    a = 1.44 / (l * t)
    e = np.exp(a)
    return -10 / l**6 / e + 2 / l**5 / e * a / l, 2 / l**5 / e * a / t


def colebrook(reynolds, roughness):
    """The friction of a pipe, by a fixed number of iterations."""
    x = 8.0
    for _ in range(50):
        x = -2 * math.log10(roughness / 3.7 + 2.51 * x / reynolds)
    return 1 / x**2


def colebrook_slope(re, e):
    x = 1 / math.sqrt(colebrook(re, e))
    inner = e / 3.7 + 2.51 * x / re
    c = -2 / math.log(10) / inner
    common = -2 / x**3 / (1 - c * 2.51 / re)
    return common * c * -2.51 * x / re**2, common * c / 3.7


def colebrook_natural(re, e):
    """As if the logarithm were the natural one."""
    by_re, by_e = colebrook_slope(re, e)
    return by_re * math.log(10), by_e * math.log(10)


def orbit_energy(state):
    x, y, vx, vy = state
    return 0.5 * (vx**2 + vy**2) - 1 / np.hypot(x, y)


def leapfrog(q, p):
    for _ in range(10):
        p = p - 0.05 * q**3
        q = q + 0.1 * p
        p = p - 0.05 * q**3
    return q


def leapfrog_slope(q, p, exact_kick=True):
    dq, dp = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for _ in range(10):
        dp, p = dp - 0.15 * q**2 * dq, p - 0.05 * q**3
        dq, q = dq + 0.1 * dp, q + 0.1 * p
        dp, p = dp - (0.15 if exact_kick else 0.05) * q**2 * dq, p - 0.05 * q**3
    return dq[0], dq[1]


RETURNS = np.array([0.1, -0.05, -0.2, 0.08, -0.02, 0.3])
ATOMS = np.array([[0.0, 0.0], [1.2, 0.1], [0.5, 1.1], [1.6, 1.3]])
ENTRIES: list[Entry] = [
    *about(black_scholes, OPTION, greeks, {"theta as it is quoted": greeks_with_theta_of_the_market, "delta of d2": greeks_of_d2}, wrt=["S", "sigma", "T"]),
    *about(call_by_erfc, {"S": 101.0, "sigma": 0.2}, call_by_erfc_slope, {"vega of a percent": lambda S, s: (call_by_erfc_slope(S, s)[0], call_by_erfc_slope(S, s)[1] / 100)}),
    *about(implied_volatility, {"price": 8.0}, implied_slope, {"upside down": lambda price: 1 / implied_slope(price)}),
    *about(bond, {"rate": 0.04, "coupons": np.array([5.0, 5.0, 105.0])}, bond_slope, {"Macaulay's duration": macaulay}),
    *about(internal_rate, {"flows": np.array([-100.0, 30.0, 50.0, 60.0])}, internal_rate_slope, {"its sign": lambda f: -internal_rate_slope(f)}),
    *about(sharpe, {"w": positive(3), "mean": some(3), "cov": definite(3)}, sharpe_slope, {
        "the risk as a constant": lambda w, m, c: m / np.sqrt(w @ c @ w),
    }, wrt="w"),
    *about(drawdown, {"returns": RETURNS}, drawdown_slope, {"from the start": drawdown_from_the_start}),
    *about(lennard_jones, {"positions": ATOMS}, forces, {"of one of each pair": lambda p: forces(p, newton=False), "the force, of the other sign": lambda p: -forces(p)}),
    *about(springs, {"x": ATOMS, "k": positive(3)}, springs_slope, {"of no length": springs_of_rest_length_zero}, wrt="x"),
    *about(arm, {"q": some(3), "lengths": positive(3)}, arm_jacobian, {"its own link only": arm_own_link_only}, wrt="q"),
    *about(rodrigues, {"w": some(3), "p": some(3, state=1)}, rodrigues_jacobian, {"of small angles": rodrigues_small_angle}),
    *about(projection, {"point": np.array([0.4, -0.3, 2.5]), "focal": 1.2}, projection_back, {"the depth's sign": projection_depth_sign}),
    *about(haversine, {"a": np.array([52.5, 13.4]), "b": np.array([48.1, 11.6])}, haversine_slope, {
        "by radians": lambda a, b: haversine_slope(a, b, degrees=False),
    }, wrt="a"),
    *about(epidemic, {"beta": 0.35, "gamma": 0.1}, epidemic_slope, {"nobody used up": lambda b, g: epidemic_slope(b, g, depletion=False)}),
    *about(heat, {"u": some(6), "k": 0.2}, heat_back, {"the ends held": lambda u, k, seed: heat_back(u, k, seed, ends=False)}),
    *about(planck, {"wavelength": 0.5, "temperature": 2.0}, planck_slope, {"Wien's": planck_of_wien}),
    *about(colebrook, {"reynolds": 1e5, "roughness": 1e-4}, colebrook_slope, {"the natural logarithm": colebrook_natural}),
    *about(orbit_energy, {"state": np.array([0.6, -0.8, 0.3, 1.1])}, lambda s: np.array([*s[:2] / np.hypot(*s[:2]) ** 3, *s[2:]]), {
        "the attraction's power": lambda s: np.array([*s[:2] / np.hypot(*(2 * s[:2])) ** 2, *s[2:]]),
    }),
    *about(leapfrog, {"q": 0.8, "p": 0.3}, leapfrog_slope, {"a kick's factor": lambda q, p: leapfrog_slope(q, p, exact_kick=False)}),
]  # fmt: skip
