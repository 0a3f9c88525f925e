"""Points at which a function is drawn.

There are more of them where it bends, and none across a place that is not smooth. Work is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradcli.plots.places import Array, Place, Probe, evenly, locate_places

_FIRST = 256  # initial points, evenly spaced; as many again at uneven distances
GOLDEN = 0.6180339887498949  # its multiples are at no round numbers, and far from each other
_SMALLEST = 1e-290  # changes up to this size count as none: floats end here
_FEW = 2_000  # budget below which fewer suspects are tried: each point is computed on its own
_ROUNDS, _FLAT = (
    9,
    0.0015,
)  # how often intervals are halved; how far a curve may be from a line, relative to its height
_NEARER = 14  # points towards a place on each side, each half as far as the last


class Samples(NamedTuple):
    """Points in order, with values and slopes, a column for each entry of the result.

    The places that are not smooth are listed for each entry.
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
    budget: int,
) -> Samples:
    """Sample a function over a range, at no more points than the budget."""
    first = min(_FIRST, budget // 8)
    suspects = budget // 60 if budget < _FEW else budget // 6
    xs = _first_points(begin, end, 2 * (first // 2) + 1, first)
    found = Samples(xs, *probe(xs), [[] for _ in range(entries)])
    for entry, place in locate_places(probe, begin, end, *_suspects(found, suspects)):
        found.places[entry].append(place)
    found = _with(probe, found, _towards(found, begin, end))
    for _ in range(_ROUNDS):
        middles = _bends(found)[: max(0, budget - len(found.xs))]
        if not middles.size:
            break
        found = _with(probe, found, middles)
    return found


def _first_points(begin: float, end: float, even: int, uneven: int) -> Array:
    """Return the first points: some at round numbers, and some at others.

    A function that repeats itself is thus not met at one phase only.
    """
    shares = (np.arange(uneven) + 0.1 + 0.8 * ((np.arange(uneven) * GOLDEN) % 1.0)) / uneven
    between = begin + (end - begin) * shares
    xs = np.unique([*evenly(begin, end, even), *between, 0.0]) + 0.0
    return xs[(begin <= xs) & (xs <= end)]


@np.errstate(all="ignore")
def _suspects(found: Samples, most: int) -> tuple[Array, Array, Array]:
    """Return the intervals that may contain a place, and the entries concerned.

    They are defined at one end only, or bend most in proportion to their rise.
    """
    xs, values, slopes, _ = found
    widths = np.diff(xs)[:, None]
    turned = np.abs(np.diff(slopes, axis=0))
    rise = np.abs(np.diff(values, axis=0))
    bent = np.abs(np.diff(values, axis=0) - widths * (slopes[1:] + slopes[:-1]) / 2)
    size = np.abs(slopes[1:]) + np.abs(slopes[:-1])
    score = turned / size + bent / (rise + widths * size)
    still = np.maximum(turned, bent) <= _SMALLEST
    score = np.where(still, 0.0, np.fmin(score, np.inf))
    defined = np.isfinite(values)
    score[~(defined[1:] | defined[:-1])] = 0.0
    rows, columns = np.nonzero(score)
    best = np.argsort(-score[rows, columns], kind="stable")[:most]
    return xs[rows[best]], xs[rows[best] + 1], columns[best]


def _towards(found: Samples, begin: float, end: float) -> Array:
    """Points on both sides of places, closer and closer, for that is where curves bend."""
    steps = [0.0, *(2 * (end - begin) / len(found.xs) / 2**k for k in range(_NEARER))]
    points = [
        point
        for place in (place for several in found.places for place in several)
        for point in (place.at, *(place.low - s for s in steps), *(place.high + s for s in steps))
    ]
    return np.array([x for x in points if begin <= x <= end], np.float64)


def _with(probe: Probe, found: Samples, more: Array) -> Samples:
    """Return samples with other points among them."""
    new = np.setdiff1d(more, found.xs)
    order = np.argsort(np.concatenate([found.xs, new]), kind="stable")
    pairs = zip(found[:3], (new, *probe(new)), strict=True)
    xs, values, slopes = (np.concatenate(pair)[order] for pair in pairs)
    return Samples(xs, values, slopes, found.places)


def _bends(found: Samples) -> Array:
    """Return the middles of intervals in which a curve in view is not a line to the eye.

    The curve is that of the value or the slope. The worst intervals come first.
    """
    xs, lows, highs, widths = found.xs, found.xs[:-1], found.xs[1:], np.diff(found.xs)
    middles = lows + widths / 2
    across = np.zeros((len(lows), len(found.places)), bool)
    for entry, several in enumerate(found.places):
        for place in several:
            across[:, entry] |= (lows < place.high) & (place.low < highs)
    worst = np.zeros(len(lows))
    for heights in (found.values, found.slopes):
        low, high = view(heights)
        with np.errstate(all="ignore"):
            rates = np.diff(heights, axis=0) / widths[:, None]
            beside = np.abs(np.diff(np.pad(rates, ((1, 1), (0, 0)), mode="edge"), axis=0))
            bend = np.maximum(beside[:-1], beside[1:]) * widths[:, None] / 8
            off = bend / np.maximum(high - low, 1e-300)
            seen = (np.minimum(heights[1:], heights[:-1]) <= high) & (
                np.maximum(heights[1:], heights[:-1]) >= low
            )
        off = np.where(np.isfinite(off) & seen & ~across, off, 0.0)
        worst = np.maximum(worst, off.max(axis=1, initial=0.0))
    worst[(middles <= lows) | (middles >= highs) | (widths < 1e-6 * (xs[-1] - xs[0]))] = 0.0
    chosen = np.argsort(-worst, kind="stable")
    return middles[chosen[worst[chosen] > _FLAT]]


def view(heights: Array) -> tuple[float, float]:
    """Return the part of an axis that shows the shape of a curve.

    It is all of the axis, or most of it if a few points would take nearly all.
    """
    finite = heights[np.isfinite(heights)]
    if not finite.size:
        return 0.0, 1.0
    low, first, last, high = np.quantile(finite, [0.0, 0.1, 0.9, 1.0]).tolist()
    room = 1.5 * (last - first)
    return (max(low, first - room), min(high, last + room)) if room > 0 else (low, high)
