"""Points at which a function is drawn: more of them where it bends, and none across what is not
smooth. Work is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gradcli.plots.places import Array, Place, Probe, evenly, locate_places

_FIRST = 256  # points to begin with at even distances, and as many at others
_GOLDEN = 0.6180339887498949
_SUSPECTS = 1024  # intervals that are looked into
_FEW = 2_000  # points, of which each is computed for itself
_STANDS_OUT = 3.0  # times as much as beside it
_ROUNDING = 1e-9  # relative: smaller changes of a slope are none
# of the largest slope, or of a rise that slopes do not explain: such a change is looked into
_TURNS = 0.3
_SEEN = 1e-3  # of the height
_ROUNDS, _FLAT = (
    9,
    0.0015,
)  # how often intervals are halved, and how far a curve may be from a line, of its height
_NEARER = 14  # points towards a place, each half as far
_BESIDE = 1e-7  # of the range: points on both sides of a place that is known beforehand


class Samples(NamedTuple):
    """Points in order, with values and slopes, a column for an entry of the result; and for each
    entry what is not smooth.
    """

    xs: Array
    values: Array
    slopes: Array
    places: list[list[Place]]


def sample(
    probe: Probe,
    begin: float,
    end: float,
    entries: int,
    known: Iterable[float],
    budget: int,
    *,
    log: bool = False,
) -> Samples:
    """A function over a range.

    known    where it may be not smooth
    budget   of points
    log      points are spaced evenly in logarithms
    """
    first = min(_FIRST, budget // 8)
    suspects = min(_SUSPECTS, budget // 60 if budget < _FEW else budget // 6)
    xs = _first_points(begin, end, 2 * (first // 2) + 1, first, known, log)
    values, slopes = probe(xs)
    lows, highs, columns = _suspects(xs, values, slopes, suspects)
    places: list[list[Place]] = [[] for _ in range(entries)]
    if lows.size:
        for entry, place in locate_places(probe, begin, end, lows, highs, columns):
            places[entry].append(place)
    xs, values, slopes = _with(probe, xs, values, slopes, _towards(places, begin, end, xs))
    for _ in range(_ROUNDS):
        middles = _bends(xs, values, slopes, places, log)[: max(0, budget - len(xs))]
        if not middles.size:
            break
        xs, values, slopes = _with(probe, xs, values, slopes, middles)
    return Samples(xs, values, slopes, places)


def _first_points(
    begin: float, end: float, even: int, uneven: int, known: Iterable[float], log: bool
) -> Array:
    """Points to begin with: at round numbers, and at others, so that nothing that repeats itself is
    met at one phase only.
    """
    if begin == end:
        return np.array([begin])
    shares = (np.arange(uneven) + 0.1 + 0.8 * ((np.arange(uneven) * _GOLDEN) % 1.0)) / uneven
    between = begin * (end / begin) ** shares if log else begin + (end - begin) * shares
    around = [x + side * _BESIDE * (end - begin) for x in known for side in (-1.0, 0.0, 1.0)]
    xs = (
        np.unique(
            np.concatenate(
                [evenly(begin, end, even, log), between, [0.0], np.array(around, np.float64)]
            )
        )
        + 0.0
    )
    return xs[(begin <= xs) & (xs <= end)]


def _suspects(xs: Array, values: Array, slopes: Array, most: int) -> tuple[Array, Array, Array]:
    """The intervals in which something may be: defined at one end only, or bent more than those
    beside them.
    """
    widths = np.diff(xs)[:, None]
    with np.errstate(all="ignore"):
        turned = np.abs(np.diff(slopes, axis=0))
        rise = np.abs(np.diff(values, axis=0))
        bent = np.abs(np.diff(values, axis=0) - widths * (slopes[1:] + slopes[:-1]) / 2)
        size = np.maximum(np.abs(slopes[1:]), np.abs(slopes[:-1]))
        steep = np.nanmax(np.where(np.isfinite(slopes), np.abs(slopes), 0.0), axis=0, initial=0.0)
        tall = np.nanmax(np.where(np.isfinite(values), np.abs(values), 0.0), axis=0, initial=0.0)
    defined = np.isfinite(values)
    edge = defined[1:] != defined[:-1]
    endless = defined[1:] & defined[:-1] & ~(np.isfinite(turned) & np.isfinite(bent))
    with np.errstate(all="ignore"):
        by_slope = _standing_out(turned / widths) * (turned > _ROUNDING * size)
        by_value = _standing_out(bent / widths) * (bent > _ROUNDING * tall)
        sudden = (turned > _TURNS * steep) | ((bent > _TURNS * rise) & (rise > _SEEN * tall))
    score = np.where(edge, np.inf, np.where(endless, 1e300, by_slope + by_value + sudden))
    score[~(defined[1:] | defined[:-1])] = 0.0
    rows, columns = np.nonzero(score > 0)
    best = np.argsort(-score[rows, columns], kind="stable")[:most]
    rows, columns = rows[best], columns[best]
    return xs[rows], xs[rows + 1], columns


def _standing_out(rates: Array) -> Array:
    """Return how many times as large each is as what is on one side of it, two and three further; 0
    where that is not much.
    """
    rates = np.where(np.isfinite(rates), rates, 1e300)
    padded = np.pad(rates, ((3, 3), (0, 0)), mode="edge")
    before, after = np.maximum(padded[:-6], padded[1:-5]), np.maximum(padded[5:-1], padded[6:])
    with np.errstate(all="ignore"):
        ratio = rates / np.maximum(np.minimum(before, after), 1e-300)
    found: Array = np.where(ratio > _STANDS_OUT, np.minimum(ratio, 1e200), 0.0)
    return found


def _towards(places: list[list[Place]], begin: float, end: float, xs: Array) -> Array:
    """Points on both sides of places, closer and closer, for that is where curves bend."""
    found: list[float] = []
    for place in (place for several in places for place in several):
        step = (end - begin) / len(xs) * 2
        found += [place.low, place.at, place.high]
        for k in range(_NEARER):
            found += [place.low - step / 2**k, place.high + step / 2**k]
    return np.array([x for x in found if begin <= x <= end], np.float64)


def _with(
    probe: Probe, xs: Array, values: Array, slopes: Array, more: Array
) -> tuple[Array, Array, Array]:
    """Points with others among them."""
    new = np.setdiff1d(more, xs)
    if not new.size:
        return xs, values, slopes
    added, turned = probe(new)
    every = np.concatenate([xs, new])
    order = np.argsort(every, kind="stable")
    return (
        every[order],
        np.concatenate([values, added])[order],
        np.concatenate([slopes, turned])[order],
    )


def _bends(xs: Array, values: Array, slopes: Array, places: list[list[Place]], log: bool) -> Array:
    """The middles of intervals in which a curve in view, of the value or the slope, is not a line
    to the eye; the worst first.
    """
    lows, highs = xs[:-1], xs[1:]
    middles = np.sqrt(lows * highs) if log else lows + (highs - lows) / 2
    across = np.zeros((len(lows), values.shape[1]), bool)
    for entry, several in enumerate(places):
        for place in several:
            across[:, entry] |= (lows < place.high) & (place.low < highs)
    worst = np.zeros(len(lows))
    for heights in (values, slopes):
        low, high = view(heights)
        with np.errstate(all="ignore"):
            rates = np.diff(heights, axis=0) / (highs - lows)[:, None]
            beside = np.abs(np.diff(np.pad(rates, ((1, 1), (0, 0)), mode="edge"), axis=0))
            off = (
                np.maximum(beside[:-1], beside[1:])
                * (highs - lows)[:, None]
                / 8
                / np.maximum(high - low, 1e-300)
            )
            seen = (np.minimum(heights[1:], heights[:-1]) <= high) & (
                np.maximum(heights[1:], heights[:-1]) >= low
            )
        off = np.where(np.isfinite(off) & seen & ~across, off, 0.0)
        worst = np.maximum(worst, off.max(axis=1, initial=0.0))
    worst[(middles <= lows) | (middles >= highs) | (highs - lows < 1e-6 * (xs[-1] - xs[0]))] = 0.0
    chosen = np.argsort(-worst, kind="stable")
    found: Array = middles[chosen[worst[chosen] > _FLAT]]
    return found


def view(heights: Array) -> tuple[float, float]:
    """The part of an axis that shows what a curve does: all of it, or most, if a few points took
    nearly all.
    """
    finite = np.sort(heights[np.isfinite(heights)])
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite[0]), float(finite[-1])
    first, last = (float(x) for x in np.quantile(finite, [0.1, 0.9]))
    room = 1.5 * (last - first)
    return (max(low, first - room), min(high, last + room)) if room > 0 else (low, high)
