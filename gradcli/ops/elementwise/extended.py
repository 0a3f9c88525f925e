"""Functions of pieces on whole arrays in long double: what their slopes are on every piece, and at the kinks between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Entrywise, Valued

_ONE, _NONE = LONG_DOUBLE(1), LONG_DOUBLE(0)


def _either(holds: Any, x: Any = _ONE, y: Any = _NONE) -> Any:
    return np.where(holds, x, y)


def _clip_x(x: Any, low: Any, high: Any) -> Any:
    return _either((low is None or x >= low) & np.asarray(high is None or x <= high))


def _clip_low(x: Any, low: Any, high: Any) -> Any:
    return _either((x < low) & np.asarray(high is None or low < high))


def _clip_high(x: Any, low: Any, high: Any) -> Any:
    return _either((x > high) | np.asarray(low is not None and high < low))


def _whole(x: Any) -> Any:
    return np.trunc(x)


def _logistic(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    wide = LONG_DOUBLE(beta)
    curve = (np.where(x * wide > 0, x * wide, 0) + np.log1p(np.exp(-np.abs(x * wide)))) / wide
    return np.where(x * wide > threshold, x, curve)


def _softplus_slope(x: Any, beta: float, threshold: float) -> Any:
    return np.where(x * LONG_DOUBLE(beta) > threshold, 1, _logistic(x * LONG_DOUBLE(beta)))


CLIP = Entrywise((_clip_x, _clip_low, _clip_high))
REMAINDER = Entrywise((lambda x, y: _ONE, lambda x, y: -np.floor(x / y)))
FMOD = Entrywise((lambda x, y: _ONE, lambda x, y: -_whole(x / y)))
COPYSIGN = Entrywise((lambda x, y: np.sign(x) * np.where(np.signbit(y), -_ONE, _ONE), lambda x, y: np.zeros_like(y)))
NUMBERS = Entrywise((lambda x: _either(np.isfinite(x)),))
SOFTPLUS = Entrywise((_softplus_slope,), _softplus)


def _times_log(x: Any, log: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(log), _NONE, x * log)


def _entropy(x: Any) -> Any:
    return np.where(x < 0, -np.inf, -_times_log(x, np.log(np.where(x > 0, x, np.where(x == 0, _ONE, x)))))


def _sinc(x: Any) -> Any:
    """By what x is beyond the nearest integer, where sines of multiples of pi keep all digits."""
    nearest = np.rint(x)
    turned = np.sin(_PI * (x - nearest)) * np.where(nearest % 2 == 0, _ONE, -_ONE)
    return np.where(x == 0, _ONE, turned / (_PI * np.where(x == 0, _ONE, x)))


_PI = LONG_DOUBLE("3.14159265358979323846264338327950288")
XLOGY = Valued(lambda x, y: _times_log(x, np.log(y)))
XLOG1PY = Valued(lambda x, y: _times_log(x, np.log1p(y)))
ENTROPY, SINC = Valued(_entropy), Valued(_sinc)
