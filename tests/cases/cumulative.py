"""Cases of scans along an axis."""

from __future__ import annotations

import numpy as np

from cases.case import Case, some

X = {"x": some(2, 3)}
CUBE = {"x": some(2, 3, 2)}
ONE = {"x": np.array(0.7)}


def logcumsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    return np.log(np.cumsum(np.exp(x), axis))


CASES = [
    Case("logcumsumexp(x, 0)", lambda x: logcumsumexp(x, 0), X),
    Case("logcumsumexp(x, -2)", lambda x: logcumsumexp(x, 1), CUBE),
    Case(
        "torch.logcumsumexp(x, dim=1)",
        lambda x: logcumsumexp(x, 1),
        {"x": 30 * some(2, 4)},
        "far apart",
    ),
    Case("torch.logcumsumexp(x, 0)", lambda x: x, ONE, "a number"),
    Case("torch.cumsum(x, 0)", lambda x: x, ONE, "a number"),
    Case("cumsum(x, axis=0)", lambda x: x.reshape(1), ONE, "a number, as NumPy"),
    Case("torch.cumprod(x, dim=-1)", lambda x: x, ONE, "a number"),
    Case("cumprod(x, axis=0)", lambda x: x.reshape(1), ONE, "a number, as NumPy"),
    Case("torch.cumprod(x, 1)", lambda x: np.cumprod(x, 1), X),
]
