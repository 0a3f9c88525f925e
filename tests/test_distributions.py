"""Distributions: SciPy's own functions are the oracle of every value, and differences of them of every derivative.

Every function of every family is called with its shapes, loc and scale, at points inside of the support, at its ends and outside; as a
function (`norm.logpdf(x, m, s)`) and as a method of a frozen distribution (`norm(m, s).logpdf(x)`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import gradcli
from gradcli.ops.registry import load

# Shapes of each family, three of each.
SHAPES: dict[str, list[tuple[float, ...]]] = {
    **{name: [()] for name in (
        "norm", "uniform", "expon", "laplace", "logistic", "cauchy", "halfnorm", "halfcauchy", "rayleigh", "maxwell", "gumbel_r",
        "gumbel_l")},
    "gamma": [(0.6,), (1.0,), (4.5,)], "beta": [(0.6, 1.7), (1.0, 1.0), (3.5, 2.25)], "t": [(0.8,), (1.5,), (6.5,)],
    "chi2": [(0.9,), (2.0,), (5.5,)], "f": [(1.5, 1.7), (3.0, 3.5), (4.5, 9.5)], "lognorm": [(0.4,), (1.0,), (1.7,)],
    "pareto": [(0.7,), (1.6,), (3.4,)], "weibull_min": [(0.7,), (1.0,), (2.6,)], "invgamma": [(0.7,), (1.6,), (3.4,)],
    "powerlaw": [(0.7,), (1.0,), (2.6,)], "skewnorm": [(-1.5,), (0.0,), (2.5,)], "truncnorm": [(-1.2, 0.7), (0.4, 2.5), (-3.0, -0.5)],
    "vonmises": [(0.4,), (1.7,), (12.0,)],
    "poisson": [(0.7,), (3.2,), (11.5,)], "binom": [(7, 0.3), (4, 0.85), (1, 0.5)], "bernoulli": [(0.3,), (0.85,), (0.5,)],
    "geom": [(0.3,), (0.85,), (0.06,)], "nbinom": [(2.5, 0.3), (4, 0.85), (1.0, 0.5)],
}  # fmt: skip
DISCRETE = ("poisson", "binom", "bernoulli", "geom", "nbinom")
CHANCES = np.array([0.1, 0.3, 0.62, 0.9])
OF_X = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "pmf", "logpmf")
LOC, SCALE = 0.4, 1.3


def functions(name: str) -> list[str]:
    load()
    from gradcli.ops.calling.signatures import declared_names

    return sorted(full.partition(".")[2] for full in declared_names() if full.startswith(f"{name}."))


CASES = [(name, function, shapes) for name, every in SHAPES.items() for function in functions(name) for shapes in every]


def points(name: str, shapes: tuple[float, ...], loc: float, scale: float) -> np.ndarray:
    """Inside of the support by quantiles, far out, and beyond its ends."""
    family = getattr(scipy.stats, name)
    if name in DISCRETE:
        return np.array([-1, 0, 1, 2, 3, 4, 7, 8, 40])
    inside = family.ppf([1e-6, 0.02, 0.3, 0.55, 0.9, 0.9999], *shapes, loc=loc, scale=scale)
    low, high = family.support(*shapes, loc=loc, scale=scale)
    ends = [end + step for end, step in ((low, -0.5), (high, 0.5)) if np.isfinite(end)]
    return np.array([*inside, *ends, np.nan])


def called(name: str, function: str, shapes: Any, places: Any, x: Any) -> tuple[np.ndarray, Any]:
    """What SciPy gives."""
    with np.errstate(all="ignore"):
        first = () if x is None else (x,)
        return np.asarray(getattr(getattr(scipy.stats, name), function)(*first, *shapes, *places), float)


def slope(of: Any, at: float) -> np.ndarray:
    """The derivative by central differences of the eighth order."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    step = 4e-3 * max(abs(at), 0.1)
    return sum(w * (of(at + k * step) - of(at - k * step)) for k, w in enumerate(weights, 1)) / step


def text_of(name: str, function: str, count: int, discrete: bool, x: bool) -> tuple[str, str]:
    """A call as a function, and as a method of a frozen distribution."""
    shapes = ", ".join(f"a{i}" for i in range(count))
    places = "loc=m" if discrete else "m, scale=s"
    kept = ", ".join(part for part in (shapes, places) if part)
    plain = f"scipy.stats.{name}.{function}({'x, ' if x else ''}{kept})"
    return plain, f"stats.{name}({kept}).{function}({'x' if x else ''})"


@pytest.mark.parametrize(("name", "function", "shapes"), [pytest.param(*c, id=f"{c[0]}.{c[1]}{c[2]}") for c in CASES])
def test_values_and_derivatives_are_scipys(name: str, function: str, shapes: tuple[float, ...]) -> None:
    discrete = name in DISCRETE
    places = (2.0,) if discrete else (LOC, SCALE)
    x = (
        points(name, shapes, *(places if not discrete else (2.0, 1.0)))
        if function in OF_X
        else CHANCES
        if function in ("ppf", "isf")
        else None
    )
    if x is not None and discrete:
        x = x + 2
    wanted = called(name, function, shapes, places, x)
    at: dict[str, Any] = {f"a{i}": value for i, value in enumerate(shapes)} | {"m": places[0]} | ({} if discrete else {"s": places[1]})
    if x is not None:
        at["x"] = x
    at = {key: value if key == "x" else np.full(np.shape(wanted), value) for key, value in at.items()}  # all entry by entry
    freeze = ["m"] + (["x"] if "x" in at else []) if discrete else []
    near_one = 3e-15 if function in ("cdf", "sf", "logcdf", "logsf") else 1e-290  # what is lost of 1 less something
    for text in text_of(name, function, len(shapes), discrete, x is not None):
        record = gradcli.evaluate(text, at=at, seed=np.ones(np.shape(wanted))[()], check=False, formula=False, freeze=freeze)
        np.testing.assert_allclose(np.broadcast_to(record.value, wanted.shape), wanted, rtol=3e-11, atol=near_one, err_msg=text)
    for key, given in at.items():
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
            true = np.array([slope(lambda v, i=i: called(name, function, shapes, places, np.array([v]))[0], x[i]) for i in range(len(x))])
        else:
            true = slope(moved, float(np.ravel(given)[0]))
        found = np.asarray((record.grad or {}).get(key, np.zeros(np.shape(wanted))))
        told = np.isfinite(true) & np.isfinite(wanted) & (np.abs(np.nan_to_num(wanted)) > 1e-200) & ~_beside_an_end(name, shapes, places, x)
        allowed = 2e-7 * np.abs(true) + 3e-9 * np.max(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1e-3)
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
