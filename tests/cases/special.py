"""Cases of elementwise functions that are made of others, or called in another order."""

from __future__ import annotations

import numpy as np
from scipy import special

from cases.case import Case, positive, size, some

X, PAIR = {"x": some(2, 3)}, {"x": some(2, 3), "y": some(3)}
SHARES = {"x": np.array([0.02, 0.3, 0.6, 0.97])}


def lgamma(x: np.ndarray) -> np.ndarray:
    return special.loggamma(x)


def trunc(x: np.ndarray) -> np.ndarray:
    return np.trunc(x.real)


CASES = [
    Case("frac(3*x)", lambda x: 3 * x - trunc(3 * x), X),
    Case("modf(3*x)[0]", lambda x: 3 * x - trunc(3 * x), X),
    Case("ldexp(x, y)", lambda x, y: x * 2**y, PAIR),
    Case("divmod(x, y)[1]", lambda x, y: x - y * np.floor(x.real / y.real), PAIR),
    Case("torch.div(x, y, rounding_mode='trunc')*x", lambda x, y: trunc(x / y) * x, PAIR),
    Case("copysign(x, y)", lambda x, y: size(x) * np.sign(y.real), PAIR),
    Case("torch.lerp(x, y, weight=0.3)", lambda x, y: x + 0.3 * (y - x), PAIR),
    Case("lerp(x, y, w)", lambda x, y, w: x + w * (y - x), {**PAIR, "w": some(2, 1)}),
    Case("torch.addcmul(x, y, z, value=0.5)", lambda x, y, z: x + 0.5 * y * z, {**PAIR, "z": some(2, 1)}),
    Case("addcdiv(x, y, z)", lambda x, y, z: x + y / z, {**PAIR, "z": some(2, 1)}),
    Case("fmax(x, y)*fmin(x, y)", np.multiply, PAIR),
    Case("torch.clamp_min(x, y)", lambda x, y: np.where(x.real < y.real, y, x), PAIR),
    Case("torch.clamp_max(x, 0.4)", lambda x: np.where(x.real > 0.4, 0.4, x), X),
    Case("deg2rad(x) + radians(x)*rad2deg(y)", lambda x, y: x * np.pi / 180 * (1 + y * 180 / np.pi), PAIR),
    Case("torch.logit(x, eps=0.1)", lambda x: np.log(np.clip(x.real, 0.1, 0.9) / (1 - np.clip(x.real, 0.1, 0.9)))
         + 1j * x.imag / (x.real * (1 - x.real)) * ((x.real > 0.1) & (x.real < 0.9)), SHARES),
    Case("exp10(x)", lambda x: 10**x, X),
    Case("factorial(x)", lambda x: special.gamma(x + 1), {"x": positive(3)}),
    Case("torch.mvlgamma(x, 3)", lambda x: lgamma(x) + lgamma(x - 0.5) + lgamma(x - 1) + 1.5 * np.log(np.pi), {"x": positive(3) + 2}),
    Case("polygamma(x, 0) - polygamma(0, x)", lambda x: 0 * x, {"x": positive(3)}),
    Case("real(x)*conj(y)", np.multiply, PAIR),
    Case("hyp1f1(1.5, 2.25, x)*hyp2f1(0.3, -1.25, 2.1, x/9)", lambda x:
         special.hyp1f1(1.5, 2.25, x) * special.hyp2f1(0.3, -1.25, 2.1, x / 9), X),
    Case("fresnel(x)[0]*fresnel(2*x)[1]", lambda x: special.fresnel(x)[0] * special.fresnel(2 * x)[1], X),
]  # fmt: skip
