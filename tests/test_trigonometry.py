"""Sines and cosines of blocks, by tangents and by the table, against balls over the whole range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.ops.elementwise import trigonometric
from gradcli.plans.sines import SCRATCH, TABLE_FAR, TANGENTS_FAR, TURN, Way, by_table, by_tangents

flint: Any = pytest.importorskip("flint")

RANDOM = np.random.default_rng(11)
MULTIPLES = np.arange(-4000, 4000) * (np.pi / 2)
STEP = 2 * np.pi / TURN
NEAR = np.arange(-TURN, TURN) * STEP
RANGES = {
    "around 0": RANDOM.normal(size=4000) * 3,
    "small": 10.0 ** RANDOM.uniform(-300, 0, 4000) * RANDOM.choice([-1, 1], 4000),
    "hundreds": RANDOM.uniform(-1e3, 1e3, 4000),
    "up to the table's limit": RANDOM.uniform(-TABLE_FAR, TABLE_FAR, 4000) * 0.999,
    "up to the tangents' limit": RANDOM.uniform(-TANGENTS_FAR, TANGENTS_FAR, 4000) * 0.999,
    "beyond the limits": 10.0 ** RANDOM.uniform(3, 300, 1000),
    "nearest to multiples of pi/2": MULTIPLES,
    "one float above": np.nextafter(MULTIPLES, np.inf),
    "one float below": np.nextafter(MULTIPLES, -np.inf),
    "a billionth beside": MULTIPLES + RANDOM.normal(size=MULTIPLES.size) * 1e-9,
    "large multiples": RANDOM.integers(-160_000, 160_000, 4000) * (np.pi / 2),
    "entries of the table": NEAR,
    "half way between": np.nextafter(NEAR + STEP / 2, RANDOM.choice([-np.inf, np.inf], NEAR.size)),
    "first entries beside 0": RANDOM.uniform(0.4, 1.6, 4000) * STEP,
    "first entries beside multiples": RANDOM.choice(MULTIPLES, 16000) + RANDOM.uniform(-1.6, 1.6, 16000) * STEP,
}
MOST = {by_tangents: 4.0, by_table: 2.0}  # units in the last place


def both(way: Way, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sine, cosine, *scratch = (np.empty_like(x) for _ in range(2 + SCRATCH))
    with np.errstate(all="ignore"):
        way(x, sine, cosine, *scratch)
    return sine, cosine


def ulps(found: np.ndarray, true: list[Any]) -> float:
    return max(float(abs(a - t)) / np.spacing(abs(float(t))) for a, t in zip(found.tolist(), true, strict=True))


@pytest.mark.parametrize("name", RANGES)
def test_to_a_few_units_in_the_last_place(name: str) -> None:
    x = np.ascontiguousarray(RANGES[name])
    with flint.ctx.workprec(400 if np.abs(x).max() < 1e9 else 1400):
        sines, cosines = zip(*[flint.arb(value).sin_cos() for value in x.tolist()], strict=True)
        for way, most in MOST.items():
            sine, cosine = both(way, x)
            assert ulps(sine, sines) <= most
            assert ulps(cosine, cosines) <= most


def test_the_records_say_so() -> None:
    assert all(op.accuracy.ulps >= max(MOST.values()) for op in (trigonometric.sin, trigonometric.cos))


@pytest.mark.parametrize("way", MOST)
def test_one_alone_is_the_same(way: Way) -> None:
    x = RANGES["hundreds"]
    sine, cosine = both(way, x)
    alone, other, *scratch = (np.empty_like(x) for _ in range(2 + SCRATCH))
    way(x, alone, None, *scratch)
    way(x, None, other, *scratch)
    np.testing.assert_array_equal(alone, sine)
    np.testing.assert_allclose(other, cosine, rtol=1e-15)


@pytest.mark.parametrize("way", MOST)
def test_entries_are_the_same_in_any_block(way: Way) -> None:
    x = np.concatenate([RANGES["hundreds"], [np.nan, 1e9, -1e300, np.inf], MULTIPLES])
    RANDOM.shuffle(x)
    parts = [both(way, part) for part in np.split(x, [1, 2, 5, 100, 1000])]
    for whole, pieces in zip(both(way, x), zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("way", MOST)
def test_what_is_not_finite_and_zeros(way: Way) -> None:
    sine, cosine = both(way, np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324]))
    np.testing.assert_array_equal(sine[:5], [np.nan, np.nan, np.nan, 0.0, -0.0])
    assert np.signbit(sine[3:]).tolist() == [False, True, False, True]
    np.testing.assert_array_equal(cosine, [np.nan, np.nan, np.nan, 1.0, 1.0, 1.0, 1.0])
