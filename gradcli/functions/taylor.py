"""Taylor's test, which needs no derivative of ours: f(x + h d) - f(x) - h <g, d> shrinks with the square of h if g is the gradient."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from gradcli.functions.arguments import Floats
from gradcli.functions.precision import epsilon_of
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import Subject

_FIRST, _STEPS = 0.01, 8  # the largest step, and how often it is halved


def taylor_order(subject: Subject, seeds: Seeds, claims: Floats) -> float | None:
    """The order at which the remainder vanishes along a random direction: 1 if the gradient is wrong; None where rounding hides it."""
    random = np.random.default_rng(3)
    floats = subject.floats
    directions = {name: random.standard_normal(x.shape) * np.where(x == 0, 1.0, np.abs(x)) for name, x in floats.items()}
    value = math.fsum(subject.along(seeds, {}))
    slope = sum(float((said * directions[name]).sum()) for name, said in claims.items())
    remainders = []
    for k in range(_STEPS):
        step = _FIRST * 0.5**k
        moved = {name: (x + step * directions[name]).astype(x.dtype) for name, x in floats.items()}
        remainders.append(abs(sum(subject.along(seeds, moved)) - value - step * slope))
    epsilon = max(epsilon_of(x.dtype) for x in floats.values())
    noise = 64 * epsilon * max(abs(value), abs(slope) * _FIRST)
    orders = [math.log2(a / b) for a, b in pairwise(remainders) if b > noise and a > noise]
    return float(np.median(orders)) if len(orders) >= 3 else None
