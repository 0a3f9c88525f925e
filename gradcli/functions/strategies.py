"""Points as hypothesis draws them: arguments at which a function is defined, which shrink to few
entries and round numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, InputTypeError, UsageError
from gradcli.functions.arguments import is_number, parts_of
from gradcli.functions.calls import arrange_names, by_names
from gradcli.functions.points import cut, lengths_of

try:
    from hypothesis import assume
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise ImportError(
        f"gradcli.testing.strategies needs hypothesis: {error}; pip install 'gradcli[hypothesis]'"
    ) from None

# ranges of the arguments; whether arrays may be shorter
Domain = tuple[list[tuple[float, float]], bool]
_RANGES = (
    (-3.0, 3.0),
    (0.1, 3.0),
    (-0.9, 0.9),
    (1.1, 3.0),
    (0.1, 0.9),
)  # in which functions are usually defined
_NEARBY = 1e-6  # how far around a point a function has to be defined for a derivative


def arrays_like(x: Any, low: float = -3.0, high: float = 3.0) -> SearchStrategy[Any]:
    """Arrays of the shape and dtype of ``x``, or numbers like it, between two bounds; they shrink
    to whole numbers, then to tenths.
    """
    if not low < high:
        raise UsageError(f"arrays_like: low must be below high, not {low!r} and {high!r}")
    if not is_number(x):
        raise InputTypeError(
            f"arrays_like takes a float or an array of floats, not {type(x).__name__}"
        )
    shape, dtype = np.shape(x), np.asarray(x).dtype
    number = _numbers(low, high)
    if not shape:
        return number if type(x) is float else number.map(dtype.type)
    size = int(np.prod(shape))
    return st.lists(number, min_size=size, max_size=size).map(
        lambda entries: np.array(entries, dtype).reshape(shape)
    )


def _numbers(low: float, high: float) -> SearchStrategy[float]:
    """Numbers of a range, the round ones first."""
    steps = [
        (int(np.ceil(low * scale)), int(np.floor(high * scale)), scale) for scale in (1, 10, 1000)
    ]
    rounded = [
        st.integers(first, last).map(partial(_part_size, scale))
        for first, last, scale in steps
        if first <= last
    ]
    return st.one_of(*rounded, st.floats(low, high, allow_nan=False))


def _part_size(scale: int, n: int) -> float:
    return n / scale


def points(function: Callable[..., Any], **like: Any) -> SearchStrategy[dict[str, Any]]:
    """Arguments of a function, by their names, at which it is defined and around which it is.

    like  for each argument, in the order of its parameters, a strategy, or a value: floats and
          arrays of floats stand for others like them, and whole numbers, texts and the like for
          themselves

    Arrays that have a length in common keep it in common while they shrink, if the function takes
    shorter ones. A point at which the function raises or has no finite value is outside of its
    domain; ranges in which it has values are looked for first.
    """
    if not like:
        raise ArgumentError(
            "points: the function needs its arguments", help="points(loss, w=np.zeros(3), x=1.0)"
        )
    arrange_names(function, list(like))
    called = by_names(function, list(like))
    return _points(called, like, cache(partial(_domain, called, like)))


@st.composite
def _points(
    draw: Any, function: Callable[..., Any], like: Mapping[str, Any], domain: Callable[[], Domain]
) -> dict[str, Any]:
    ranges, cuts = domain()
    bounds = draw(st.sampled_from(ranges))
    lengths = {n: draw(st.integers(1, n)) for n in lengths_of(like)} if cuts else {}
    found = {}
    for name, value in like.items():
        if isinstance(value, SearchStrategy):
            found[name] = draw(value)
        else:
            shorter = cut(value, lengths)
            found[name] = draw(arrays_like(shorter, *bounds)) if is_number(shorter) else shorter
    assume(_is_inside(function, found))
    return found


def _domain(function: Callable[..., Any], like: Mapping[str, Any]) -> Domain:
    """The ranges in which a function is defined at most points, and whether it takes arrays that
    are shorter.
    """
    random = np.random.default_rng(0)
    if any(isinstance(value, SearchStrategy) for value in like.values()):
        return [*_RANGES], False  # what others draw is known when it is drawn

    def inside(bounds: tuple[float, float], lengths: Mapping[int, int]) -> bool:
        at = {name: _sample(cut(value, lengths), bounds, random) for name, value in like.items()}
        return _is_inside(function, at)

    likely = [b for b in _RANGES if all(inside(b, {}) for _ in range(3))] or [*_RANGES]
    return likely, all(inside(likely[0], dict.fromkeys(lengths_of(like), 1)) for _ in range(2))


def _sample(value: Any, bounds: tuple[float, float], random: np.random.Generator) -> Any:
    if not is_number(value):
        return value
    drawn = random.uniform(*bounds, np.shape(value))
    return drawn.astype(value.dtype) if isinstance(value, np.ndarray) else float(drawn)


def _is_inside(function: Callable[..., Any], arguments: Mapping[str, Any]) -> bool:
    """Return whether a function has finite values at a point, and a little to both sides of it."""
    for move in (0.0, _NEARBY, -_NEARBY):
        moved = [value + move if is_number(value) else value for value in arguments.values()]
        try:
            with np.errstate(all="ignore"):
                result = parts_of(function(*moved))
        except Exception:
            return False
        if not all(np.isfinite(np.asarray(part, float)).all() for part in result):
            return False
    return True
