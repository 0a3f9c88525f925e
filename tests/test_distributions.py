"""Distributions:

SciPy's own functions are the oracle of every value, and differences of them of every derivative.

Every function of every family is called with its shapes, loc and scale, at points inside of the
support, at its ends and outside; as a function (`norm.logpdf(x, m, s)`) and as a method of a frozen
distribution (`norm(m, s).logpdf(x)`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from helpers import thinned
from oracles.families import CASES, DISCRETE, called, evaluated, problem, text_of, value_faults


def slope(of: Any, at: float) -> np.ndarray:
    """The derivative by central differences of the eighth order."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    step = 4e-3 * max(abs(at), 0.1)
    return sum(w * (of(at + k * step) - of(at - k * step)) for k, w in enumerate(weights, 1)) / step


@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    thinned((pytest.param(*c, id=f"{c[0]}.{c[1]}{c[2]}") for c in CASES), every=6),
)
def test_values_and_derivatives_are_scipys(
    name: str, function: str, shapes: tuple[float, ...]
) -> None:
    discrete = name in DISCRETE
    given = problem(name, function, shapes)
    places, x, at, wanted = given
    for text in text_of(name, function, len(shapes), discrete, x is not None):
        record = evaluated(text, name, given)
        assert list(value_faults(text, function, record, wanted)) == []
    for key, values in at.items():
        if discrete and key in ("m", "x"):
            continue  # numbers of things

        def moved(value: Any, key: str = key) -> np.ndarray:
            other = {**at, key: value}
            return called(
                name,
                function,
                [other[f"a{i}"] for i in range(len(shapes))],
                [other["m"]] + ([] if discrete else [other["s"]]),
                other.get("x"),
            )

        if key == "a0" and name == "binom":
            continue  # SciPy's n is a whole number
        if key == "x":
            true = np.array(
                [
                    slope(
                        lambda v, i=i: called(name, function, shapes, places, np.array([v]))[0],
                        x[i],
                    )
                    for i in range(len(x))
                ]
            )
        else:
            true = slope(moved, float(np.ravel(values)[0]))
        found = np.asarray((record.grad or {}).get(key, np.zeros(np.shape(wanted))))
        told = (
            np.isfinite(true)
            & np.isfinite(wanted)
            & (np.abs(np.nan_to_num(wanted)) > 1e-200)
            & ~_beside_an_end(name, shapes, places, x)
        )
        allowed = 2e-7 * np.abs(true) + 3e-9 * np.max(
            np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1e-3
        )
        off = told & ~(np.abs(found - true) <= allowed)
        assert not np.any(off), f"{text} by {key}: {found} for {true} at {x}"


def _beside_an_end(name: str, shapes: Any, places: Any, x: Any) -> Any:
    """Where differences would reach over an end of the support."""
    if x is None or name in DISCRETE:
        return False
    low, high = getattr(scipy.stats, name).support(*shapes, *places)
    near = np.minimum(np.abs(x - low), np.abs(x - high))
    kinked = np.abs(x - places[0]) < 0.05 if name == "laplace" else False
    return (near < 0.08 * np.maximum(np.abs(x), 0.5)) | kinked
