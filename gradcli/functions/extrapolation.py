"""Derivatives by differences, extrapolated to the limit, with an estimate of their error.

At each of several scales, central differences of shrinking steps are extrapolated (C. J. F.
Ridders, Advances in Engineering Software 4, 1982); a kink near the point, or an oscillation, shows
as scales that disagree. What finer steps leave beside the slope is the function's own rounding. The
second difference divided by the step tends to zero for a smooth function, and at a kink to the
difference of the derivatives from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gradcli.report.verdicts import Verdict

_ROWS, _SHRINK = 9, 2.0
_WIDEST = 0.1  # of a scale: its steps
_DECADES = (0, 2, 4, 6, 8)
_COARSE, _VISIBLE = (
    1e-4,
    1e-3,
    # of two slopes, and of the difference quotients: what scales must disagree by to see different
    # things
)
_CREDIBLE = 1e-3  # relative error up to which an estimate contradicts another
_PLENTY, _SURE = (
    1e-9,
    1e-6,
)  # relative errors of an estimate and of its confirmation, which need no further scales
_BESIDE = 2.0  # ulps
_FINE = 1e-5  # of a scale: steps that leave of a smooth function its slope only
_STEEPER = (
    3  # how much steeper finer difference quotients are where the coarser have missed something
)
_SEEN = 0.01  # of a kink, the error up to which it is one
_FINEST = 1e-300  # scale, of which steps are numbers
# of the coarsest scale: one at which a function that does not move is flat, and not rounded
_WIDE = 1e-3

# how far off an estimate that is no better than the tolerance a claim may be, in the estimate's own
# errors
_UNSURE = 100
_SLIGHT = 1e-9  # of the function's difference quotients: a slope that counts as none
# of the largest entry of a claim: entries that count as none where the estimate says none
_LOST = 1e-12
_LIKE = 1e-3  # how near to another possible derivative


@dataclass(frozen=True)
class Slope:
    """A derivative from outside, its estimated error, where it comes from, and, at a kink, the
    derivatives from both sides.
    """

    value: float
    error: float
    scale: float = 0.0
    variation: float = 0.0  # the largest difference quotient to one side
    flat: bool = False  # nothing moved
    zero: bool = (
        False  # nothing moved, at a value that is exactly 0: no rounding of it hides a slope
    )
    sides: tuple[float, float] | None = None
    others: tuple[float, ...] = ()  # what finer scales say, none of them for sure
    noisy: bool = False  # the function is not the same twice
    source: str = "differences"

    def verdict(self, said: float, rtol: float, atol: float, largest: float = 0.0) -> Verdict:
        """The verdict on a claimed derivative, which is an entry of a gradient with this largest
        one.
        """
        if not math.isfinite(self.value):
            return Verdict.UNDETERMINED
        if not math.isfinite(said):
            return Verdict.MISMATCH
        allowed = rtol * abs(self.value) + atol
        if self.sides is not None:
            low, high = sorted(self.sides)
            room = rtol * max(abs(low), abs(high)) + atol
            return Verdict.KINK if low - room <= said <= high + room else Verdict.MISMATCH
        off = abs(said - self.value)
        none = said == self.value == 0 or (
            said == 0 and off <= 4 * self.error <= _SLIGHT * self.variation
        )
        none |= max(abs(said), off) <= 4 * self.error <= _LOST * largest
        if none or self.error <= allowed:
            return Verdict.AGREE if off <= allowed + 4 * self.error else Verdict.MISMATCH
        possible = off <= allowed + _UNSURE * self.error or any(
            abs(said - v) <= _LIKE * max(abs(said), abs(v)) for v in self.others
        )
        return Verdict.UNDETERMINED if possible else Verdict.MISMATCH


class _Sample(NamedTuple):
    step: float
    up: float
    down: float
    size: float  # of what is rounded
    noise: float  # what neighbouring floats differ by


@np.errstate(all="ignore")  # outside of the domain, differences are not numbers
def slope(
    function: Callable[[float], Sequence[float]],
    x: float,
    epsilon: float,
    widest: float | None = None,
) -> Slope:
    """The derivative at 0 of a sum of terms, as a function of the step away from ``x``.

    A ``widest`` step makes the only scale there is.
    """
    line = _Line(function, abs(x), epsilon)
    found: list[Slope] = []
    for scale in _scales(abs(x)) if widest is None else [widest / _WIDEST]:
        here = line.at_scale(scale)
        if math.isfinite(here.value):
            found.append(here)
            if len(found) > 1 and _confirms(here, found[-2]):
                break
    lively = [here for here in found if not here.flat]
    if not lively:
        return min(found, key=lambda s: s.error, default=Slope(math.nan, math.inf))
    best = min(lively, key=lambda s: s.error)
    if found[-1].flat and best.error > _CREDIBLE * abs(
        best.value
    ):  # a plain, with something far off that moves
        plain = next(i for i in range(len(found)) if all(s.flat for s in found[i:]))
        if found[plain].scale >= _WIDE * found[0].scale:
            return found[plain]
    finer = [here for here in found if here.scale < best.scale and _contradicts(here, best)]
    finest = finer[-2:]
    if finest and (
        finest[-1].zero
        or (len(finest) == 2 and not any(s.flat for s in finest) and not _contradicts(*finest))
    ):
        return line.with_noise(min(finest, key=lambda s: s.error))
    steepest = max((s.variation for s in found if s.scale < best.scale), default=0.0)
    unseen = (
        finer or best.error > _CREDIBLE * abs(best.value)
    ) and steepest > _STEEPER * best.variation
    best = line.with_noise(best)
    alike = [s for s in found if best.sides is not None and _same_kink(s, best)]
    confirmed = (
        len(alike) > 2
        and best.sides is not None
        and abs(best.sides[1] - best.sides[0]) > 10 * best.error
    )
    return replace(
        best, error=max(best.error, steepest) if unseen else best.error, sides=best.sides if confirmed else None,
        others=tuple(s.value for s in finer),
    )  # fmt: skip


def _scales(size: float) -> list[float]:
    scales = {max(size, 1.0) * 10.0**-k for k in _DECADES} | (
        {size, size * 1e-2} if 0 < size < 1e-2 else set()
    )
    return sorted((scale for scale in scales if scale > _FINEST), reverse=True)


def _contradicts(fine: Slope, coarse: Slope) -> bool:
    credible = fine.flat or fine.error <= _CREDIBLE * abs(fine.value)
    off = abs(fine.value - coarse.value)
    visible = max(_COARSE * max(abs(fine.value), abs(coarse.value)), _VISIBLE * coarse.variation)
    return credible and off > 10 * (fine.error + coarse.error) + visible


def _confirms(one: Slope, other: Slope) -> bool:
    """Return whether two scales agree on a slope, without any kink, to more digits than are asked
    for.
    """
    sure = min(one.error, other.error) <= _PLENTY * abs(one.value) and one.error <= _SURE * abs(
        one.value
    )
    plain = one.variation <= _STEEPER * min(other.variation, abs(one.value))
    return (
        sure
        and plain
        and one.sides is None
        and other.sides is None
        and abs(one.value - other.value) <= 10 * (one.error + other.error)
    )


def _same_kink(one: Slope, other: Slope) -> bool:
    if one.sides is None or other.sides is None:
        return False
    jump = abs(one.sides[1] - one.sides[0])  # a side may be zero, to rounding
    return bool(np.allclose(one.sides, other.sides, rtol=_SEEN, atol=_SEEN * jump))


class _Line:
    """The terms of a function along a line."""

    def __init__(
        self, function: Callable[[float], Sequence[float]], x: float, epsilon: float
    ) -> None:
        self.function, self.x, self.epsilon = function, x, epsilon
        self.base = self._terms(0.0)
        self.moves = np.zeros(self.base.shape, bool)  # the terms that depend on the step
        self.samples: list[_Sample] = []
        again = [self._terms(0.0) - self.base for _ in range(2)]
        self.noise = 4 * max(
            float(np.abs(part).sum()) for part in again
        )  # of a function that is not the same twice

    def _terms(self, step: float) -> np.ndarray:
        return np.ravel(np.asarray(self.function(step), float))

    def _sample(self, step: float) -> _Sample:
        up, down = self._terms(step), self._terms(-step)
        beside = _BESIDE * self.epsilon * (self.x + step)
        noise = max(
            float(np.abs(self._terms(step + beside) - up).sum()),
            float(np.abs(self._terms(-step - beside) - down).sum()),
        )
        self.moves |= (up != self.base) | (down != self.base)
        terms = np.maximum(np.abs(up), np.abs(down))
        size = float(terms[self.moves].sum() if self.moves.any() else terms.sum())
        return _Sample(
            step,
            float((up - self.base).sum()),
            float((down - self.base).sum()),
            size,
            noise if math.isfinite(noise) else 0.0,
        )

    def at_scale(self, scale: float) -> Slope:
        rows = _smooth([self._sample(_WIDEST * scale / _SHRINK**row) for row in range(_ROWS)])
        self.samples += rows
        flat = all(row.up == row.down == 0 for row in rows)
        value, error = self._slope(rows, self.epsilon, self.x if flat else 0.0)
        jump, unsure = _limit(
            [
                ((r.up + r.down) / r.step, (4 * self.epsilon * r.size + 2 * r.noise) / r.step)
                for r in rows
            ],
            1,
        )
        kink = math.isfinite(jump) and unsure <= _SEEN * abs(jump) and abs(jump) > 1e-6 * abs(value)
        variation = max(
            0.0,
            *(
                (max(abs(r.up), abs(r.down)) - 16 * self.epsilon * r.size - 4 * r.noise) / r.step
                for r in rows
            ),
        )
        sides = (value - jump / 2, value + jump / 2) if kink else None
        return Slope(
            value,
            error,
            scale,
            variation,
            flat,
            flat and not any(r.size for r in rows),
            sides,
            noisy=self.noise > 0,
        )

    def _slope(
        self, rows: Sequence[_Sample], epsilon: float, least: float = 0.0
    ) -> tuple[float, float]:
        central = []
        for row in rows:
            quotient = (row.up - row.down) / (2 * row.step)
            rounding = epsilon * max(row.size, least) + row.noise + self.noise
            central.append((quotient, rounding / row.step))
        return _limit(central, 2)

    def with_noise(self, found: Slope) -> Slope:
        """The same with the error that the function's own rounding makes, as finer steps
        show it.
        """
        finer = [s for s in self.samples if s.step < _FINE * found.scale and s.size]
        left = [abs(s.up - s.down - 2 * found.value * s.step) / s.size for s in finer]
        rows = [
            s
            for s in self.samples
            if _WIDEST * found.scale >= s.step > _WIDEST * found.scale / _SHRINK ** (_ROWS - 0.5)
        ]
        _, error = self._slope(rows, max([self.epsilon, *left]))
        return replace(found, error=max(error, found.error))


def _smooth(rows: Sequence[_Sample]) -> list[_Sample]:
    """The same with noise that chance has not hidden: that of neighbours, and all that is lost when
    the function stops moving.
    """
    found: list[_Sample] = []
    for i, row in enumerate(rows):
        noise = (
            max((r.noise / r.size for r in rows[max(i - 1, 0) : i + 2] if r.size), default=0.0)
            * row.size
        )
        lost = (
            max(abs(found[-1].up), abs(found[-1].down), found[-1].noise)
            if found and row.up == row.down == 0
            else 0.0
        )
        found.append(row._replace(noise=max(noise, lost)))
    return found


def _limit(sequence: Sequence[tuple[float, float]], power: int) -> tuple[float, float]:
    """The limit of values at shrinking steps, whose error is a series in odd or even powers of the
    step; and its own error.
    """
    table: list[list[float]] = []
    best, error = math.nan, math.inf
    for value, noise in sequence:
        line = [value]
        factor = _SHRINK**power
        for earlier in table[-1] if table else ():
            line.append((line[-1] * factor - earlier) / (factor - 1))
            factor *= _SHRINK**2
        for place in range(1, len(line)):
            change = (
                max(abs(line[place] - line[place - 1]), abs(line[place] - table[-1][place - 1]))
                + noise
            )
            if change < error:
                best, error = line[place], change
        table.append(line)
    return best, error
