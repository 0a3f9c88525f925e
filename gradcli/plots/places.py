"""Places where a function is not smooth: kinks, jumps, poles and ends of its domain.

They are located between two neighbouring floats by bisection. Each step goes to the half with more
of the change that a smooth function would not make. A change that shrinks with the interval is
smooth, however steep. A change that does not shrink is a place, whose kind is read from both of its
sides, closer and closer to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

# -- Numbers along a range: evenly spaced in decimals, and round ones -----------------------------


_SMALLEST = 1e-290  # smallest difference that has round numbers in between


def evenly(begin: float, end: float, count: int) -> np.ndarray:
    """Return ``count`` evenly spaced numbers from one end to the other, both included.

    Each is the float next to the decimal number that is meant.
    """
    low, high = Fraction(repr(begin)), Fraction(repr(end))
    step = (high - low) / max(1, count - 1)
    return np.array([float(low + step * i) for i in range(count)])


_NOTHING = 1e-150  # the squares of numbers below this are no floats: sqrt(x**2) has a kink there


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits between two numbers, both included."""
    if low <= 0 <= high or max(abs(low), abs(high)) < _NOTHING:
        return 0.0
    for digits in range(1, 17):
        for number in (float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= number <= high:
                return number
    return low


def levels(values: np.ndarray, count: int) -> list[float]:
    """Return round numbers that cut values into parts of about the same size.

    Contours at these numbers are spread over the picture.
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if not _SMALLEST < high - low < math.inf:
        return []
    digits = 2 + max(0, round(math.log10(max(-low, high) / (high - low))))
    wanted = np.quantile(finite, (np.arange(count) + 0.5) / count).tolist()
    found = dict.fromkeys(float(f"{number:.{digits}g}") + 0.0 for number in wanted)
    return [level for level in found if low < level < high]


# From points to values and slopes, each with a column for each entry.
Probe = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Array = np.ndarray

_STEPS = 140  # most halvings from an interval to neighbouring floats
_LOOK, _SHRUNK = 12, 0.05  # steps between checks; what shrinks below this share is smooth
_CLOSER = np.array([1e-2, 1e-4, 1e-6])  # shares of the interval: distances at which sides are read
_SIDES = np.array([[0, 1, 2], [6, 7, 8]])  # of nine points, those on each side, the furthest first
_GROWS = 2.5  # growth at a hundredth of the distance that exceeds a logarithm's
_SURE = 10.0  # a change is sure if it is this many times the change next to the place
_VALUES, _SLOPES = 1e-9, 1e-6  # relative: smaller steps are rounding
_HUGE = 1e300
_LEAST = 1e-6  # share of an interval's first change; smaller changes have signs from rounding
_FLANK = 1e-2  # share of an interval that counts as the flank of a pole


class Place(NamedTuple):
    """Something found.

    kind         "pole", "jump", "kink" or "domain"
    at           the roundest float of the two, or one of several, between which it is
    low, high    these: the last of what is to the left, and the first of what is to the right
    left, right  limits from both sides: of the value, of a kink of the slope; NaN where there is
                 nothing
    single       a point alone, which has no value, or another one than both sides lead to
    """

    kind: str
    at: float
    low: float
    high: float
    left: float
    right: float
    single: bool = False


@np.errstate(all="ignore")
def locate_places(
    probe: Probe, begin: float, end: float, lows: Array, highs: Array, entries: Array
) -> list[tuple[int, Place]]:
    """Locate the places within intervals.

    Each is returned with the index of the result's entry to which it belongs.
    """
    low, high = _at(probe, lows, entries), _at(probe, highs, entries)
    widths = highs - lows
    least = _LEAST * np.abs(high[1] - low[1])
    changes = _changes(low, high)
    scale = np.where(changes > 0, changes, 1.0)
    known = _score(low, high, scale)
    for step in range(_STEPS):
        middles = low[0] + (high[0] - low[0]) / 2
        if not ((low[0] < middles) & (middles < high[0])).any():
            break
        middle = _at(probe, middles, entries)
        first, second = _score(low, middle, scale), _score(middle, high, scale)
        left = first >= second
        for ahead, behind in zip(
            _show_poles(low, middle, least), _show_poles(middle, high, least), strict=True
        ):
            left = np.where(ahead == behind, left, ahead)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
        if step % _LOOK == _LOOK - 1:
            score = np.maximum(first, second)
            keep = score >= _SHRUNK * np.minimum(known, _HUGE)
            low, high, scale, widths, entries, least, known = (
                part[..., keep] for part in (low, high, scale, widths, entries, least, score)
            )
    found = []
    rows = np.array([low[0], high[0], widths, np.abs([low[1], high[1]]).max(axis=0)]).T.tolist()
    for (first, last, width, height), entry in zip(rows, entries.tolist(), strict=True):
        place = _read(probe, begin, end, first, last, width, entry)
        if place is not None:
            found.append((entry, place, width, height))
    return _once(found)


def _at(probe: Probe, points: Array, entries: Array) -> Array:
    """Points, values and slopes, one row each."""
    values, slopes = probe(points)
    rows = np.arange(len(points))
    return np.array([points, values[rows, entries], slopes[rows, entries]])


def _show_poles(low: Array, high: Array, least: Array) -> tuple[Array, Array]:
    """Return where a pole or a jump must lie between two points.

    There are two signs of it: the value grows inwards from both points, and it changes against the
    slopes at both.
    """
    sign = np.sign(low[1])
    slopes = np.sign([low[2], high[2]])
    rise = high[1] - low[1]
    inwards = (sign == np.sign(high[1])) & (sign * slopes[0] > 0) & (sign * slopes[1] < 0)
    return inwards, (np.sign(rise) * slopes < 0).all(axis=0) & (np.abs(rise) > least)


def _changes(low: Array, high: Array) -> Array:
    """Return how far the value is from the slopes' prediction, and how much the slope changes.

    The prediction is made from the slopes at both ends.
    """
    (width, rise, turn), slopes = high - low, low[2] + high[2]
    changes = np.abs([rise - width * slopes / 2, turn])
    return np.fmin(changes, _HUGE)


def _score(low: Array, high: Array, scale: Array) -> Array:
    """Return changes in intervals beyond those of a smooth function, as shares of ``scale``."""
    begins, ends = np.isfinite(low[1]), np.isfinite(high[1])
    score = np.where(begins != ends, np.inf, (_changes(low, high) / scale).sum(axis=0))
    return np.where(begins | ends, score, -1.0)


def _read(
    probe: Probe, begin: float, end: float, low: float, high: float, width: float, entry: int
) -> Place | None:
    """Return what is between two floats, as both sides show it."""
    at = roundest(low, high)
    left, right = np.maximum(begin, low - width * _CLOSER), np.minimum(end, high + width * _CLOSER)
    points = np.array([*left, low, at, high, *right])
    _, values, slopes = _at(probe, points, np.full(9, entry))
    sides = values[_SIDES]
    has = np.isfinite(sides[:, 1:]).all(axis=1) & [low > begin, high < end]
    grows = has & _grows(sides)
    # Infinities on one whole side are values too large for floats, not a pole.
    endless = np.isinf(values[3:6]).any() and not np.isinf(sides).all(axis=1).any()
    infinite = grows | (has & endless & ~_settles(sides))
    ends = np.where(has, sides[:, 2], math.nan)
    if infinite.any():
        return Place("pole", at, low, high, *np.where(infinite, _heading(sides), ends).tolist())
    if has.all():
        return _between(at, low, high, values, slopes)
    if has.any() and np.isfinite(values).all():  # at an end of the range only a jump counts
        found = _between(at, low, high, values, slopes)
        return found if found is not None and found.kind == "jump" and not found.single else None
    if has.any() or np.isfinite(values[3]) != np.isfinite(values[5]):
        return Place("domain", at, low, high, *ends.tolist())
    return None


def _grows(sides: Array) -> Array:
    """Return on which sides it grows without a bound towards the place, as a power does."""
    far, near, nearest = np.abs(sides.T)
    found: Array = (nearest > _GROWS * near) & (_GROWS * near > _GROWS**2 * far)
    return found


def _heading(sides: Array) -> Array:
    """Return the infinities that both sides go to.

    They follow from the values near the place, so rounding does not decide their signs.
    """
    _, near, nearest = sides.T
    found: Array = np.copysign(math.inf, np.where(np.isinf(nearest), nearest, nearest - near))
    return found


def _settles(sides: Array) -> Array:
    """Return which sides come to a limit.

    Their changes shrink with the distance; those of a logarithm do not.
    """
    far, near, nearest = sides.T
    found: Array = np.abs(nearest - near) <= np.abs(near - far) / _SURE + _VALUES * np.abs(nearest)
    return found


def _between(at: float, low: float, high: float, values: Array, slopes: Array) -> Place | None:
    """Return what is between two sides that both have values."""
    _, near, limits = values[_SIDES].T
    loose = np.abs(limits - near).sum()
    sure = max(_SURE * loose, _VALUES * np.abs(limits).max())
    own = values[[3, 5]]
    belongs = np.abs(own - limits) <= sure
    if abs(limits[1] - limits[0]) > sure:
        return Place("jump", at, low, high, *np.where(belongs, own, limits).tolist())
    if not np.isfinite(values[3:6]).all():
        return Place("domain", at, low, high, *limits.tolist())._replace(single=True)
    if not belongs.all():
        return Place("jump", at, low, high, *limits.tolist())._replace(single=True)
    sides = slopes[_SIDES]
    _, near, limits = sides.T
    loose = np.abs(limits - near)
    steep = _grows(sides)
    if steep.any() and (steep | (_SURE * loose <= np.abs(limits) + _VALUES)).all():
        limits = np.where(steep, np.copysign(math.inf, limits), limits)
    elif not abs(limits[1] - limits[0]) > max(_SURE * loose.sum(), _SLOPES * np.abs(limits).max()):
        return None
    return Place("kink", at, low, high, *limits.tolist())


def _once(found: list[tuple[int, Place, float, float]]) -> list[tuple[int, Place]]:
    """Return each place once.

    Neighbouring intervals lead to the same place, and a place found on the flank of a pole is that
    pole.
    """
    kept: list[tuple[int, Place, float, float]] = []
    for new in sorted(found, key=lambda item: (item[0], item[1].low, item[1].high)):
        entry, place, width, _ = new
        last, before, reach, _ = kept[-1] if kept else (None, place, 0.0, 0.0)
        beside = place.low <= before.high + 4 * math.ulp(before.high) or before.at == place.at
        reach = max(reach, width)
        kinds = {before.kind, place.kind}
        apart = place.at - before.at > _FLANK * reach
        if last != entry or (apart if "pole" in kinds else len(kinds) > 1 or not beside):
            kept.append(new)
            continue
        one, height = max(kept[-1], new, key=lambda item: (item[1].kind == "pole", item[3]))[1::2]
        if beside:
            low, high = before.low, max(before.high, place.high)
            one = one._replace(low=low, high=high, at=roundest(low, high))
        kept[-1] = entry, one, reach, height
    return [(entry, place) for entry, place, *_ in kept]
