"""SciPy's families of distributions: every function of each with its shapes, loc and scale, held
against SciPy's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from recorded import read_table

import gradcli
from gradcli.ops.calling.signatures import declared_names
from gradcli.ops.registry import load

# Shapes of each family, three of each.
SHAPES: dict[str, list[tuple[float, ...]]] = {
    name: [tuple(shapes) for shapes in every] for name, every in read_table("families.json").items()
}
DISCRETE = ("poisson", "binom", "bernoulli", "geom", "nbinom")
CHANCES = np.array([0.1, 0.3, 0.62, 0.9])
OF_X = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "pmf", "logpmf")
LOC, SCALE = 0.4, 1.3


def functions(name: str) -> list[str]:
    load()
    return sorted(
        full.partition(".")[2] for full in declared_names() if full.startswith(f"{name}.")
    )


CASES = [
    (name, function, shapes)
    for name, every in SHAPES.items()
    for function in functions(name)
    for shapes in every
]


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
        return np.asarray(
            getattr(getattr(scipy.stats, name), function)(*first, *shapes, *places), float
        )


def text_of(name: str, function: str, count: int, discrete: bool, x: bool) -> tuple[str, str]:
    """A call as a function, and as a method of a frozen distribution."""
    shapes = ", ".join(f"a{i}" for i in range(count))
    places = "loc=m" if discrete else "m, scale=s"
    kept = ", ".join(part for part in (shapes, places) if part)
    plain = f"scipy.stats.{name}.{function}({'x, ' if x else ''}{kept})"
    return plain, f"stats.{name}({kept}).{function}({'x' if x else ''})"


class Problem(NamedTuple):
    """A function of a family, with all its arguments by their names in the texts; and what SciPy
    gives.
    """

    places: tuple[float, ...]
    x: np.ndarray | None
    at: dict[str, np.ndarray]
    wanted: np.ndarray


def problem(name: str, function: str, shapes: tuple[float, ...]) -> Problem:
    discrete = name in DISCRETE
    places = (2.0,) if discrete else (LOC, SCALE)
    x = CHANCES if function in ("ppf", "isf") else None
    if function in OF_X:
        x = points(name, shapes, places[0], 1.0 if discrete else SCALE)
    if x is not None and discrete:
        x = x + 2
    wanted = called(name, function, shapes, places, x)
    at: dict[str, Any] = {f"a{i}": value for i, value in enumerate(shapes)} | dict(
        zip("ms", places, strict=False)
    )
    full = {
        key: np.full(np.shape(wanted), value) for key, value in at.items()
    }  # all entry by entry
    return Problem(places, x, full if x is None else {**full, "x": x}, wanted)


def evaluated(text: str, name: str, given: Problem) -> Any:
    """The record that gradcli makes of a text. Raises what gradcli raises."""
    freeze = [key for key in ("m", "x") if name in DISCRETE and key in given.at]
    seed = np.ones(np.shape(given.wanted))[()]
    return gradcli.evaluate(text, at=given.at, seed=seed, check=False, formula=False, freeze=freeze)


def value_faults(text: str, function: str, record: Any, wanted: np.ndarray) -> Iterator[str]:
    near_one = (
        3e-15 if function in ("cdf", "sf", "logcdf", "logsf") else 1e-290
    )  # what is lost of 1 less something
    found = np.broadcast_to(record.value, wanted.shape)
    if not np.allclose(found, wanted, rtol=3e-11, atol=near_one, equal_nan=True):
        yield f"{text} is {found.tolist()}, not {wanted.tolist()}"


FAMILIES = {f"scipy.stats.{name}.{function}": (name, function) for name, function, _ in CASES}


def family_faults(full: str) -> Iterator[str]:
    """What is wrong with the values of a function of a family, called as a function.

    Raises what gradcli raises.
    """
    name, function = FAMILIES[full]
    for shapes in SHAPES[name]:
        given = problem(name, function, shapes)
        text, _ = text_of(name, function, len(shapes), name in DISCRETE, given.x is not None)
        yield from value_faults(text, function, evaluated(text, name, given), given.wanted)
