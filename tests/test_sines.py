"""Sines and cosines of blocks by tangents, against balls over the whole range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.ops.elementwise import trigonometric
from gradcli.plans.sines import cosine, sine

flint: Any = pytest.importorskip("flint")

RANDOM = np.random.default_rng(11)
MULTIPLES = np.arange(-4000, 4000) * (np.pi / 2)
RANGES = {
    "around 0": RANDOM.normal(size=4000) * 3,
    "small": 10.0 ** RANDOM.uniform(-300, 0, 4000) * RANDOM.choice([-1, 1], 4000),
    "up to the limit": RANDOM.uniform(-(2.0**18), 2.0**18, 4000) * 0.999,
    "beyond the limit": 10.0 ** RANDOM.uniform(3, 300, 1000),
    "nearest to multiples of pi/2": MULTIPLES,
    "one float above": np.nextafter(MULTIPLES, np.inf),
    "a billionth beside": MULTIPLES + RANDOM.normal(size=MULTIPLES.size) * 1e-9,
    "large multiples": RANDOM.integers(-160_000, 160_000, 4000) * (np.pi / 2),
}


def computed(function: Any, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        function(x, out)
    return out


@pytest.mark.parametrize("name", RANGES)
def test_to_four_units_in_the_last_place(name: str) -> None:
    x = RANGES[name]
    with flint.ctx.workprec(400 if np.abs(x).max() < 1e9 else 1400):
        for function, true in zip((sine, cosine), zip(*[flint.arb(value).sin_cos() for value in x.tolist()], strict=True), strict=True):
            off = [float(abs(a - t)) / np.spacing(abs(float(t))) for a, t in zip(computed(function, x).tolist(), true, strict=True)]
            assert max(off) <= min(4.0, trigonometric.sin.accuracy.ulps, trigonometric.cos.accuracy.ulps)


@pytest.mark.parametrize("function", [sine, cosine])
def test_entries_are_the_same_in_any_block(function: Any) -> None:
    x = np.concatenate([RANGES["up to the limit"], [np.nan, 1e9, -1e300, np.inf, 0.0, -0.0], MULTIPLES])
    RANDOM.shuffle(x)
    whole = computed(function, x)
    parts = np.concatenate([computed(function, part) for part in np.split(x, [1, 2, 5, 100, 1000])])
    np.testing.assert_array_equal(parts, whole)
    assert (np.isnan(whole) == ~np.isfinite(x)).all()


@pytest.mark.parametrize(("function", "wanted"), [(sine, np.sin), (cosine, np.cos)])
def test_results_may_overwrite_the_arguments(function: Any, wanted: Any) -> None:
    for x in RANGES.values():
        block = x.copy()
        function(block, block)
        np.testing.assert_allclose(block, wanted(x), rtol=1e-14, atol=1e-323)
