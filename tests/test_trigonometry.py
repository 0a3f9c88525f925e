"""Sines and cosines from tangents, against mpmath at 50 digits over the whole range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradcli.plans.sines import SCRATCH, sine_and_cosine

RANDOM = np.random.default_rng(11)
QUARTERS = np.arange(-1500, 1500) * (np.pi / 2)
RANGES = {
    "around 0": RANDOM.normal(size=1500) * 3,
    "small": 10.0 ** RANDOM.uniform(-300, 0, 1500) * RANDOM.choice([-1, 1], 1500),
    "hundreds": RANDOM.uniform(-1e3, 1e3, 1500),
    "up to the limit": RANDOM.uniform(-(2.0**18), 2.0**18, 1500) * 0.999,
    "beyond the limit": 10.0 ** RANDOM.uniform(5, 300, 500),
    "nearest to multiples of pi/2": QUARTERS,
    "one float above": np.nextafter(QUARTERS, np.inf),
    "a billionth beside": QUARTERS + RANDOM.normal(size=QUARTERS.size) * 1e-9,
    "large multiples": RANDOM.integers(-160_000, 160_000, 1500) * (np.pi / 2),
}
MOST = 4.0  # units in the last place


def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sine, cosine, *scratch = (np.empty_like(x) for _ in range(2 + SCRATCH))
    with np.errstate(all="ignore"):
        sine_and_cosine(x, sine, cosine, *scratch)
    return sine, cosine


def ulps(found: np.ndarray, x: np.ndarray, function: Callable[[Any], Any]) -> float:
    with mpmath.workdps(50):
        true = [function(mpmath.mpf(value)) if abs(value) < 1e9 else None for value in x.tolist()]
    if None in true:
        with mpmath.workdps(400):
            true = [function(mpmath.mpf(value)) for value in x.tolist()]
    return max(float(abs(mpmath.mpf(a) - t) / np.spacing(abs(float(t)))) for a, t in zip(found.tolist(), true, strict=True))


@pytest.mark.parametrize("name", RANGES)
def test_to_a_few_units_in_the_last_place(name: str) -> None:
    x = np.ascontiguousarray(RANGES[name])
    sine, cosine = both(x)
    assert ulps(sine, x, mpmath.sin) <= MOST
    assert ulps(cosine, x, mpmath.cos) <= MOST


def test_one_alone_is_the_same() -> None:
    x = RANGES["hundreds"]
    sine, cosine = both(x)
    alone, other, *scratch = (np.empty_like(x) for _ in range(2 + SCRATCH))
    sine_and_cosine(x, alone, None, *scratch)
    sine_and_cosine(x, None, other, *scratch)
    np.testing.assert_array_equal(alone, sine)
    np.testing.assert_allclose(other, cosine, rtol=1e-15)


def test_what_is_not_finite() -> None:
    sine, cosine = both(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]))
    np.testing.assert_array_equal(sine, [np.nan, np.nan, np.nan, 0.0, -0.0])
    np.testing.assert_array_equal(cosine, [np.nan, np.nan, np.nan, 1.0, 1.0])
