"""Places where a function is not smooth: kinks, jumps, poles and ends of its domain, located
between two neighbouring floats by bisection.

Each step goes to the half in which more of the change happens that a smooth function would not
make. What shrinks with the interval is smooth, however steep; what does not is a place, whose kind
is read from both of its sides, closer and closer to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

# -- Numbers along a range: evenly spaced in decimals, and round ones -----------------------------


_SHORT = 12  # digits, beyond which other forms are shorter
_LARGEST = 64  # denominator of a fraction
_PARTS, _FURTHEST = (1, 2, 3, 4, 6, 8, 12), 1e4  # of pi, and how far from 0
_SMALLEST = 1e-290  # differences that have round numbers between them


def evenly(begin: float, end: float, count: int, log: bool = False) -> np.ndarray:
    """Return so many numbers from one end to the other, both included; each the float next to the
    decimal number that is meant.
    """
    if count < 2 or begin == end:
        return np.array([begin] if count < 2 else [begin] * count, np.float64)
    if log:
        inner = np.exp(np.linspace(math.log(begin), math.log(end), count))
        inner[[0, -1]] = begin, end
        return inner
    low, high = Fraction(repr(begin)), Fraction(repr(end))
    step = (high - low) / (count - 1)
    return np.array([float(low + step * i) for i in range(count)])


def roundest(low: float, high: float) -> float:
    """The number between two, both included, that is written most shortly: in a few digits, as a
    fraction, or with pi.
    """
    if low <= 0 <= high:
        return 0.0
    for digits in range(1, 17):
        for number in (float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= number <= high:
                return number
        if digits == _SHORT:
            for number in (*_fractions(low), *(k * math.pi / m for k, m in _turns(low))):
                if low <= number <= high:
                    return number
    return low


def _fractions(x: float) -> list[float]:
    return [round(x * q) / q for q in range(2, _LARGEST + 1)] if abs(x) < _LARGEST else []


def _turns(x: float) -> list[tuple[int, int]]:
    return [(round(x * m / math.pi), m) for m in _PARTS] if abs(x) < _FURTHEST else []


def in_words(x: float) -> str | None:
    """A float as the simple multiple of pi that it stands for: "-pi/2"; None for others."""
    for k, m in _turns(x):
        if k and k * math.pi / m == x:
            sign = "-" if k < 0 else ""
            return f"{sign}{'' if abs(k) == 1 else f'{abs(k)}*'}pi{'' if m == 1 else f'/{m}'}"
    return None


def levels(values: np.ndarray, count: int) -> list[float]:
    """Round numbers that cut values into parts of about the same size, so that contours are spread
    over the picture.
    """
    finite = np.sort(values[np.isfinite(values)])
    if not finite.size or finite[0] == finite[-1]:
        return []
    wanted = np.quantile(finite, (np.arange(count) + 0.5) / count)
    spread = float(finite[-1] - finite[0])
    if not _SMALLEST < spread < math.inf:
        return []
    found = []
    for number, beside in zip(
        wanted.tolist(), np.gradient(wanted).tolist() if count > 1 else [spread], strict=True
    ):
        unit = 10.0 ** math.floor(math.log10(max(abs(beside), spread * 1e-9)))
        found.append(float(f"{round(number / unit) * unit:.12g}") + 0.0)
    return [level for level in dict.fromkeys(found) if finite[0] < level < finite[-1]]


Probe = Callable[
    [np.ndarray], tuple[np.ndarray, np.ndarray]
]  # points to values and slopes, each with a column for an entry
Array = np.ndarray

_STEPS = 140  # from an interval to neighbouring floats
_LOOK, _SHRUNK = 12, 0.05  # every so many steps, what has shrunk to less than this share is smooth
_CLOSER = np.array([1e-2, 1e-4, 1e-6])  # of the interval: where the sides of a place are looked at
_GROWS = 2.5  # times as large, a hundred times as close: faster than a logarithm
_SURE = 10.0  # times what it changes beside the place
_VALUES, _SLOPES = 1e-9, 1e-6  # relative: smaller steps are rounding
_HUGE = 1e300
_LEAST = 1e-6  # of an interval's first change: smaller ones have the signs of rounding
_FLANK = 1e-2  # of an interval
_STEEP = 1e12  # a height that a jump between two floats has beside a pole only


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


def locate_places(
    probe: Probe, begin: float, end: float, lows: Array, highs: Array, entries: Array
) -> list[tuple[int, Place]]:
    """The places within intervals, each with the entry of the result that it is of."""
    lows, highs, entries = lows.copy(), highs.copy(), entries.copy()
    widths = highs - lows
    at_low, at_high = _at(probe, lows, entries), _at(probe, highs, entries)
    with np.errstate(all="ignore"):
        least = _LEAST * np.abs(at_high[0] - at_low[0])
    scale = _sizes(lows, highs, at_low, at_high)
    known = _score(lows, highs, at_low, at_high, scale)
    for step in range(_STEPS):
        middles = lows + (highs - lows) / 2
        if not ((lows < middles) & (middles < highs)).any():
            break
        at_middle = _at(probe, middles, entries)
        first = _score(lows, middles, at_low, at_middle, scale)
        second = _score(middles, highs, at_middle, at_high, scale)
        turn = _towards_pole(at_low, at_middle, at_high, least)
        left = np.where(turn == 0, first >= second, turn < 0)
        highs, at_high = np.where(left, middles, highs), np.where(left, at_middle, at_high)
        lows, at_low = np.where(left, lows, middles), np.where(left, at_low, at_middle)
        if step % _LOOK == _LOOK - 1:
            score = np.maximum(first, second)
            keep = score >= _SHRUNK * np.minimum(known, _HUGE)
            lows, highs, entries, widths, known = (
                lows[keep],
                highs[keep],
                entries[keep],
                widths[keep],
                score[keep],
            )
            least = least[keep]
            at_low, at_high, scale = at_low[:, keep], at_high[:, keep], scale[:, keep]
            if not lows.size:
                return []
    found = []
    for low, high, width, entry in zip(
        lows.tolist(), highs.tolist(), widths.tolist(), entries.tolist(), strict=True
    ):
        place = _read(probe, begin, end, low, high, width, entry)
        if place is not None:
            found.append((int(entry), place, width))
    return _once(probe, found)


def _towards_pole(at_low: Array, at_middle: Array, at_high: Array, least: Array) -> Array:
    """-1 or 1 for the half in which a pole must be, or a jump; 0 where the signs of values and
    slopes do not tell.

    A middle that is nearly on a pole changes as much towards either end. But the value goes against
    its slopes in one half alone, or grows into it from both sides.
    """
    turns = np.zeros(at_low.shape[1], int)
    for tells in (_grows_inwards, _against_slopes):
        first, second = tells(at_low, at_middle, least), tells(at_middle, at_high, least)
        turns = np.where(first & ~second, -1, np.where(second & ~first, 1, turns))
    return turns


def _against_slopes(at_low: Array, at_high: Array, least: Array) -> Array:
    with np.errstate(all="ignore"):
        rise = at_high[0] - at_low[0]
        change = np.sign(rise) * (np.abs(rise) > least)
    found: Array = (change * np.sign(at_low[1]) < 0) & (change * np.sign(at_high[1]) < 0)
    return found


def _grows_inwards(at_low: Array, at_high: Array, _: Array) -> Array:
    signs = np.sign(at_low[0]), np.sign(at_high[0])
    found: Array = (
        (signs[0] == signs[1])
        & (signs[0] * np.sign(at_low[1]) > 0)
        & (signs[1] * np.sign(at_high[1]) < 0)
    )
    return found


def _to_zero(probe: Probe, low: float, high: float, entry: int) -> tuple[float, float]:
    """The floats next to zero, where a place is there: there are more floats on the way to it than
    steps.
    """
    least = math.ulp(0.0)
    closer = (-least, 0.0) if high == 0 else (0.0, least)
    if not low <= 0 <= high or (low == closer[0] and high == closer[1]):
        return low, high
    values = _at(probe, np.array([low, -least, 0.0, least, high]), np.full(5, entry))[0]
    if np.isinf(values[2]):
        return max(low, -least), min(high, least)
    defined = np.isfinite(values)
    if low < 0 and defined[0] != defined[2]:
        return (-least, 0.0) if defined[0] == defined[1] else (low, -least)
    if high > 0 and defined[4] != defined[2]:
        return (0.0, least) if defined[4] == defined[3] else (least, high)
    return max(low, -least), min(high, least)


def _at(probe: Probe, points: Array, entries: Array) -> Array:
    """Values and slopes, one row each."""
    values, slopes = probe(points)
    rows = np.arange(len(points))
    return np.array([values[rows, entries], slopes[rows, entries]])


def _sizes(lows: Array, highs: Array, at_low: Array, at_high: Array) -> Array:
    """Return what each interval's own changes are measured by."""
    bent, turned = _changes(lows, highs, at_low, at_high)
    return np.where(np.array([bent, turned]) > 0, np.array([bent, turned]), 1.0)


def _changes(lows: Array, highs: Array, at_low: Array, at_high: Array) -> tuple[Array, Array]:
    """Return how far the value is from what the slopes at both ends make of it, and how much the
    slope changes.
    """
    with np.errstate(all="ignore"):
        bent = np.abs(at_high[0] - at_low[0] - (highs - lows) * (at_low[1] + at_high[1]) / 2)
        turned = np.abs(at_high[1] - at_low[1])
    both = [np.where(np.isnan(part), _HUGE, np.minimum(part, _HUGE)) for part in (bent, turned)]
    return both[0], both[1]


def _score(lows: Array, highs: Array, at_low: Array, at_high: Array, scale: Array) -> Array:
    bent, turned = _changes(lows, highs, at_low, at_high)
    defined = np.isfinite(at_low[0]), np.isfinite(at_high[0])
    nothing = ~defined[0] & ~defined[1]
    return np.where(
        nothing,
        -1.0,
        np.where(defined[0] != defined[1], np.inf, bent / scale[0] + turned / scale[1]),
    )


def _read(
    probe: Probe, begin: float, end: float, low: float, high: float, width: float, entry: int
) -> Place | None:
    """Return what is between two floats, as both sides show it."""
    low, high = _to_zero(probe, low, high, entry)
    at = roundest(low, high)
    left, right = (
        [max(begin, low - d) for d in width * _CLOSER],
        [min(end, high + d) for d in width * _CLOSER],
    )
    values, slopes = _at(probe, np.array([*left, low, at, high, *right]), np.full(9, entry))
    defined = np.isfinite(values)
    sides = (values[:3], values[6:])
    has = bool(defined[1:3].all()) and low > begin, bool(defined[7:].all()) and high < end
    ends = (float(sides[0][2]) if has[0] else math.nan, float(sides[1][2]) if has[1] else math.nan)
    grows = [has[i] and _grows(sides[i]) for i in (0, 1)]
    endless = bool(np.isinf(values[3:6]).any())
    if (endless and (has[0] or has[1]) and not _overflows(values)) or grows[0] or grows[1]:
        infinite = [grows[i] or (has[i] and endless and not _settles(sides[i])) for i in (0, 1)]
        if any(infinite):
            limits = [_heading(sides[i]) if infinite[i] else ends[i] for i in (0, 1)]
            return Place("pole", at, low, high, limits[0], limits[1])
    if has[0] and has[1]:
        return _between(at, low, high, values, slopes, defined)
    if (
        has[0] != has[1] and defined.all() and (low == begin or high == end)
    ):  # at an end of the range only a jump tells
        found = _between(at, low, high, values, slopes, defined)
        return found if found is not None and found.kind == "jump" and not found.single else None
    if defined[3] != defined[5] or has[0] != has[1]:
        return Place("domain", at, low, high, *ends)
    return None


def _overflows(values: Array) -> bool:
    """Return whether the value is infinite on one whole side: too large for floats, rather than a
    pole.
    """
    return bool(np.isinf(values[:3]).all() or np.isinf(values[6:]).all())


def _grows(side: Array) -> bool:
    """Return whether it grows without a bound towards the place, as a power does."""
    far, near, nearest = np.abs(side)
    with np.errstate(all="ignore"):
        return bool(nearest > _GROWS * near > _GROWS**2 * far)


def _heading(side: Array) -> float:
    """The infinity that it goes to, by its values beside the place, whose signs rounding does not
    make.
    """
    near, nearest = float(side[1]), float(side[2])
    return math.copysign(math.inf, nearest if math.isinf(nearest) else nearest - near)


def _settles(side: Array) -> bool:
    """Tell whether it comes to a limit: its changes shrink with the distance, which those of a
    logarithm do not.
    """
    with np.errstate(all="ignore"):
        return bool(
            abs(side[2] - side[1]) <= _SURE**-1 * abs(side[1] - side[0]) + _VALUES * abs(side[2])
        )


def _is_steady(side: Array) -> bool:
    return bool(_SURE * abs(side[2] - side[1]) <= abs(side[2]) + _VALUES)


def _between(
    at: float, low: float, high: float, values: Array, slopes: Array, defined: Array
) -> Place | None:
    """Return what is between two sides that both have values."""
    left, right = float(values[2]), float(values[8])
    loose = abs(values[2] - values[1]) + abs(values[8] - values[7])
    sure = max(_SURE * loose, _VALUES * max(abs(left), abs(right)))
    if abs(right - left) > sure:
        nearest = [
            float(own) if abs(own - limit) <= sure else limit
            for own, limit in ((values[3], left), (values[5], right))
        ]
        return Place("jump", at, low, high, nearest[0], nearest[1])
    if not defined[3:6].all():
        return Place("domain", at, low, high, left, right, single=True)
    if max(abs(values[3] - left), abs(values[5] - right)) > sure:
        return Place("jump", at, low, high, left, right, single=True)
    steep = _grows(slopes[:3]), _grows(slopes[6:])
    if all(steep[i] or _is_steady(slopes[3 * j : 3 * j + 3]) for i, j in ((0, 0), (1, 2))) and any(
        steep
    ):
        limits = [
            math.copysign(math.inf, slopes[j]) if steep[i] else float(slopes[j])
            for i, j in ((0, 2), (1, 8))
        ]
        return Place("kink", at, low, high, limits[0], limits[1])
    before, after = float(slopes[2]), float(slopes[8])
    unsteady = abs(slopes[2] - slopes[1]) + abs(slopes[8] - slopes[7])
    if abs(after - before) > max(_SURE * unsteady, _SLOPES * max(abs(before), abs(after))):
        return Place("kink", at, low, high, before, after)
    return None


def _once(probe: Probe, found: list[tuple[int, Place, float]]) -> list[tuple[int, Place]]:
    """Each place once: intervals beside each other lead to the same, and what is found on the flank
    of a pole is that pole.
    """
    kept: list[tuple[int, Place, float]] = []
    for entry, place, width in sorted(found, key=lambda item: (item[0], item[1].low, item[1].high)):
        last = kept[-1] if kept and kept[-1][0] == entry else None
        if last is not None and _is_same(last[1], place):
            low, high = min(last[1].low, place.low), max(last[1].high, place.high)
            kept[-1] = entry, last[1]._replace(low=low, high=high, at=roundest(low, high)), width
        elif (
            last is not None
            and _is_one_pole(last[1], place)
            and place.at - last[1].at < _FLANK * max(width, last[2])
        ):
            ends = np.array([last[1].low, last[1].high, place.low, place.high])
            heights = np.abs(_at(probe, ends, np.full(4, entry))[0])
            higher = place if max(heights[2:]) > max(heights[:2]) else last[1]
            left, right = last[1].left, place.right
            sides = [math.copysign(math.inf, x) if abs(x) > _STEEP else x for x in (left, right)]
            kept[-1] = (
                entry,
                higher._replace(kind="pole", left=sides[0], right=sides[1], single=False),
                max(width, last[2]),
            )
        else:
            kept.append((entry, place, width))
    return [(entry, place) for entry, place, _ in kept]


def _is_one_pole(one: Place, other: Place) -> bool:
    """Tell whether two places are poles, or a pole and a jump between heights that only a pole
    reaches.
    """
    kinds = {one.kind, other.kind}
    return (
        kinds <= {"pole", "jump"}
        and "pole" in kinds
        and all(_is_steep(place) for place in (one, other))
    )


def _is_steep(place: Place) -> bool:
    return place.kind == "pole" or max(abs(place.left), abs(place.right)) > _STEEP


def _is_same(one: Place, other: Place) -> bool:
    return one.kind == other.kind and other.low <= max(
        math.nextafter(one.high, math.inf), one.high + 4 * math.ulp(one.high)
    )
