"""Physics, robotics, epidemics, finance: formulas and small simulations in NumPy and plain Python."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

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


def implied_volatility(price):
    return brentq(lambda s: black_scholes(100.0, 105.0, 0.03, s, 0.75) - price, 0.01, 3, xtol=1e-14)


def implied_slope(price):
    return 1 / greeks(100.0, 105.0, 0.03, implied_volatility(price), 0.75)[1]


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


def projection(point, focal):
    x, y, z = point
    return focal * x / z, focal * y / z


def projection_back(point, focal, seeds):
    (x, y, z), (u, v) = point, seeds
    return focal / z * np.array([u, v, -(u * x + v * y) / z]), (u * x + v * y) / z


def projection_depth_sign(point, focal, seeds):
    by_point, by_focal = projection_back(point, focal, seeds)
    return by_point * [1, 1, -1], by_focal


RETURNS = np.array([0.1, -0.05, -0.2, 0.08, -0.02, 0.3])
ATOMS = np.array([[0.0, 0.0], [1.2, 0.1], [0.5, 1.1], [1.6, 1.3]])
ENTRIES: list[Entry] = [
    *about(black_scholes, OPTION, greeks, {"theta as it is quoted": greeks_with_theta_of_the_market, "delta of d2": greeks_of_d2}, wrt=["S", "sigma", "T"]),
    *about(implied_volatility, {"price": 8.0}, implied_slope, {"upside down": lambda price: 1 / implied_slope(price)}),
    *about(sharpe, {"w": positive(3), "mean": some(3), "cov": definite(3)}, sharpe_slope, {
        "the risk as a constant": lambda w, m, c: m / np.sqrt(w @ c @ w),
    }, wrt="w"),
    *about(drawdown, {"returns": RETURNS}, drawdown_slope, {"from the start": drawdown_from_the_start}),
    *about(lennard_jones, {"positions": ATOMS}, forces, {"of one of each pair": lambda p: forces(p, newton=False), "the force, of the other sign": lambda p: -forces(p)}),
    *about(arm, {"q": some(3), "lengths": positive(3)}, arm_jacobian, {"its own link only": arm_own_link_only}, wrt="q"),
    *about(projection, {"point": np.array([0.4, -0.3, 2.5]), "focal": 1.2}, projection_back, {"the depth's sign": projection_depth_sign}),
]  # fmt: skip
