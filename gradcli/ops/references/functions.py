"""References of single functions that take more than a line."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gradcli.ops.references.entries import Array, array, entries, number


def gelu(m: Any, x: Any, approximate: str) -> Any:
    """x*P(X < x) of a standard normal X, or x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x**3)))/2 (D. Hendrycks, K. Gimpel, 2016)."""
    if approximate == "none":
        return x * m.erfc(-x / m.sqrt(2)) / 2
    inner = x + x * x * x * 8943 / 200000
    return x / (1 + m.exp(-2 * m.sqrt(2 / m.pi) * inner))


@cache
def _self_normalizing() -> tuple[float, float]:
    """alpha and lambda at which mean 0 and variance 1 are a fixed point (G. Klambauer et al., 2017), as floats."""
    import mpmath

    with mpmath.workdps(40):
        m = mpmath.mp
        tail = m.erfc(1 / m.sqrt(2)) * m.sqrt(m.e)
        alpha = -m.sqrt(2 / m.pi) / (tail - 1)
        below = 2 * m.erfc(m.sqrt(2)) * m.e**2 + m.pi * tail**2 - 2 * (2 + m.pi) * tail + m.pi + 2
        return float(alpha), float((1 - tail) * m.sqrt(2 * m.pi) / m.sqrt(below))


def selu(m: Any, x: Any) -> Any:
    alpha, scale = _self_normalizing()
    return x * scale if x > 0 else m.expm1(x) * (alpha * scale)


def machine_epsilon(m: Any, x: Any) -> Array:
    digits = {"float64": 53, "float32": 24}[m.precision]
    return number(m.one / 2 ** (digits - 1))


def bernoulli_nll(m: Any, x: Any, y: Any) -> Array:
    """The definition; very near 0 and 1 its value as a constant, and the slope that PyTorch chooses.

    PyTorch's bounds are -100 of a logarithm, and 1e-12, in float32, of the denominator of a slope.
    """
    narrowest = m.m.mpf(9223372) / 2**63  # 1e-12 to the 24 bits of a float32

    def held_log(p: Any) -> Any:
        return m.log(p) if m.plain(p) < 0 or m.plain(p) > m.m.exp(-100) else m.one * -100

    def definition(p: Any, t: Any) -> Any:
        return -(t * held_log(p) + (1 - t) * held_log(1 - p))

    def entry(p: Any, t: Any) -> Any:
        at = m.plain(p)
        if not 0 <= at <= 1 or at * (1 - at) >= narrowest:
            return definition(p, t)
        return definition(at, t) + (at - m.plain(t)) / narrowest * (p - at)

    return array([entry(p, t) for p, t in zip(entries(x), entries(y), strict=True)], np.shape(x))


def polygamma(m: Any, x: Any, n: int) -> Any:
    """The n-th derivative of digamma. Far to the left by reflection (DLMF 5.15.6), as mpmath counts every pole on the way."""
    if not n or x > -50 or not m.isfinite(x):
        return m.psi(n, x)
    if x == m.nint(x):
        return m.psi(n, -1)
    slopes = {1: 1}  # of the cotangent as a polynomial in it, by its powers: (c**k)' = -k*c**(k - 1) - k*c**(k + 1)
    for _ in range(n):
        before, slopes = slopes, {}
        for power, factor in before.items():
            for to in (power - 1, power + 1):
                slopes[to] = slopes.get(to, 0) - power * factor
    cotangent = m.cot(m.pi * (x - m.nint(x)))
    turned = sum((factor * cotangent**power for power, factor in slopes.items()), m.zero)
    return (-1) ** n * m.psi(n, 1 - x) - m.pi ** (n + 1) * turned
