"""The libraries' functions by their spellings:

NumPy, SciPy and math are called, PyTorch's answers are recorded (record.py).
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.special
from keywords.calls import call_of
from recorded import read_json

from oracles.values import VALUES

DATA = "oracles.json"

# What a spelling is looked up in, by the prefix that it is written with; methods of arrays and
# tensors have none.
LIVE: dict[str, Any] = {
    "np": np, "np.linalg": np.linalg, "scipy.special": scipy.special, "scipy.linalg": scipy.linalg, "math": math, "ndarray": np.ndarray,
}  # fmt: skip
TORCH = ("torch", "F", "torch.linalg", "torch.special", "Tensor")
METHODS = ("ndarray", "Tensor")
PLACES = (*LIVE, *TORCH)

_ENV: dict[str, Any] = {"np": np, "scipy": scipy, "math": math, "inf": math.inf, "nan": math.nan}
_NAMES = re.compile(r"(?<![.\w])[A-Z](?!\w)")
GRIDS = frozenset("UXYZ")


class Answer(NamedTuple):
    """The parts of a result, and of each part the gradient of its sum with `weights` by the arrays
    of the call, where it is known.
    """

    several: bool
    parts: list[np.ndarray]
    gradients: list[dict[str, np.ndarray]]


def used(text: str) -> list[str]:
    """The arrays that a text names."""
    return [name for name in dict.fromkeys(_NAMES.findall(text)) if name in VALUES]


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of both signs by which entries are told apart, exact in binary."""
    return (np.arange(math.prod(shape)).reshape(shape) * 7 % 11 - 4.5) / 8


def spelled(place: str, name: str, arguments: str) -> str:
    return call_of("" if place in METHODS else place, name, arguments)


def parts_of(result: Any) -> list[np.ndarray]:
    """The numbers of a result, or of each of its parts. Raises LookupError of anything else."""
    found = [
        np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else (result,))
    ]
    if not found or any(part.dtype.kind not in "fiub" for part in found):
        raise LookupError("no real numbers")
    return [part.astype(float) for part in found]


def _answer(result: Any) -> Answer:
    parts = parts_of(result)
    return Answer(isinstance(result, (tuple, list)), parts, [{}] * len(parts))


@cache
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = read_json(DATA)
    found["names"] = {place: set(names.split()) for place, names in found["names"].items()}
    return found


def has(place: str, name: str) -> bool:
    """Whether a library has a function of this spelling."""
    if place in TORCH:
        return name in recorded()["names"][place]
    function = getattr(LIVE[place], name, None)
    return callable(function) and not (isinstance(function, type) and place != "ndarray")


def answer(place: str, name: str, arguments: str) -> Answer:
    """What a library's function gives. Raises LookupError where it takes no such call."""
    if place in TORCH:
        return _recalled(place, name, arguments)
    text = spelled(place, name, arguments)
    if place == "math" and used(text) and GRIDS.issuperset(used(text)):
        return _at_each_point(text)
    if place == "math" and any(VALUES[word].ndim > 1 for word in used(text)):
        raise LookupError(text)  # it takes rows for numbers
    given = {word: VALUES[word].copy() for word in used(text)}
    result = evaluated(text, given)
    return _answer(
        given[used(text)[0]] if result is None else result
    )  # some methods change their array in place


def evaluated(text: str, values: Mapping[str, Any]) -> Any:
    """What Python makes of a call. Raises LookupError where it makes nothing."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, {**_ENV, **values})
    except Exception as error:
        raise LookupError(text) from error


def _at_each_point(text: str) -> Answer:
    """A function of Python's floats at every point; what it refuses or cannot hold is left open
    (masked).
    """
    names, rows = used(text), []
    for values in zip(*(VALUES[name] for name in names), strict=True):
        try:
            found = _answer(evaluated(text, dict(zip(names, map(float, values), strict=True))))
            rows.append(found)
        except LookupError:
            rows.append(None)
    told = [row for row in rows if row is not None]
    if not told:
        raise LookupError(text)
    parts = [
        np.ma.masked_invalid([math.nan if row is None else float(row.parts[i]) for row in rows])
        for i in range(len(told[0].parts))
    ]
    return Answer(told[0].several, parts, [{}] * len(parts))


def _recalled(place: str, name: str, arguments: str) -> Answer:
    for places, (several, parts, gradients) in (
        recorded()["calls"].get(name, {}).get(arguments, {}).items()
    ):
        if place in places.split():
            return Answer(
                several,
                [_kept(at) for at in parts],
                [{key: _kept(at) for key, at in part.items()} for part in gradients],
            )
    raise LookupError(spelled(place, name, arguments))


def _kept(at: int) -> np.ndarray:
    shape, numbers = recorded()["values"][at]
    return np.array(numbers, float).reshape(shape)
