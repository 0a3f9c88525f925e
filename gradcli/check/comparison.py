"""Verdicts on the entries of one gradient.

Each is agree, kink, ill-conditioned, undefined or mismatch. They follow from the reference, the
rules without rounding and the floats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from gradcli.check.verdicts import LOST, OneSided, VariableCheck, Verdict, Worst, from_sides
from gradcli.ops.extended import KEPT, LONG_DOUBLE
from gradcli.reference.algebra import Algebra
from gradcli.reference.deadline import in_time
from gradcli.reference.digits import context
from gradcli.reference.kinks import Sides
from gradcli.reference.tape import Troubles

_RULE = 1e-25  # how far the engine's exact rules may be from the reference, relative to it
_ONE_SIDED = 1e-12  # the same for a float and a one-sided limit
_LIMIT = 1e-15  # the same where the reference is a two-sided limit
SHOWN = 1e-7  # relative to an entry: a larger bound is reported
_KNOWN = 1e20  # times the error of a reference, above which floats are compared with it
_GUARD = 15  # digits that the reference may lose to rounding at its own precision
_EPSILON = 2.0**-52
_SMALLEST, _NORMAL = 2.0**-1074, 2.0**-1022
# A smaller bound only says that floats end here, not how well a number is known.
_FAINT = 2.0**-1000
_TOLD = 400_000  # a true value below 2**-_TOLD is not written out
_COMPARED = (Verdict.AGREE, Verdict.MISMATCH)
_ENOUGH = 6  # a right result with fewer right digits is ill-conditioned
ENOUGH = {"f": 3, "e": 1}  # the same for floats with fewer bits


_RULE_WRONG = "the rule is wrong: without any rounding it still differs from the reference"
AT_A_GAP = "the derivative exists, as a limit, but the chain rule meets a kink or a gap here"
NO_TROUBLES = Troubles()

Told = tuple[Verdict, str | None]  # the verdict and its reason


class Comparison:
    """The verdict of every entry of one array.

    reference  R, exact numbers; engine  E-infinity; computed  E, floats; bounds  what rounding
               explains;
    sides      one-sided derivatives of the entries that may lie on a kink
    troubles   the operations without a finite value or derivative, by the entries that they were
               made of
    radii      of numbers that are enclosed, how far each pair of them may be from the truth
    """

    def __init__(
        self, m: Any, reference: np.ndarray, engine: np.ndarray, computed: np.ndarray, bounds: np.ndarray,
        sides: Mapping[int, Sides] | None, troubles: Troubles = NO_TROUBLES, radii: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.m, self.radii, self.troubles, self.sides = m, radii, troubles, sides or {}
        self.shape = np.shape(computed)
        self.reference, self.engine = (np.ravel(part).tolist() for part in (reference, engine))
        self.computed = np.ravel(computed).astype(float).tolist()
        self.bounds = np.ravel(np.broadcast_to(bounds, self.shape)).astype(float).tolist()
        # The part of a bound that the working precision leaves open.
        self._grain = m.mpf(10) ** (_GUARD - m.dps) / _EPSILON
        self.dtype = np.asarray(computed).dtype
        self.floats: np.dtype[Any] = self.dtype if self.dtype.kind == "f" else np.dtype(float)
        info = np.finfo(self.floats)
        self.epsilon, self.smallest = float(info.eps), float(info.smallest_normal)
        self.zeros: set[int] = set()  # entries whose truth is zero, but whose floats are not
        told = list(map(self._entry, in_time(range(len(self.computed)))))
        self.verdicts = [verdict for verdict, _ in told]
        self.reasons = {i: reason for i, (_, reason) in enumerate(told) if reason}

    @property
    def mismatches(self) -> list[int]:
        """The entries that are wrong."""
        return self.with_verdict(Verdict.MISMATCH)

    def excuse(self, entries: Sequence[int], reason: str) -> None:
        """Make the mismatches among some entries undefined, for a reason.

        There is at most a limit, which nothing is obliged to give.
        """
        for i in entries:
            if self.verdicts[i] is Verdict.MISMATCH:
                self.verdicts[i], self.reasons[i] = Verdict.UNDEFINED, reason

    def _entry(self, i: int) -> Told:
        m, computed, reference = self.m, self.computed[i], self.reference[i]
        tolerance = _RULE
        sides = self.sides.get(i)
        if sides is not None:
            if sides.limit is None:
                return self._kink(i, sides) if sides.inside is None else self._edge(i, sides)
            reference = self.reference[i] = sides.limit
            tolerance = _LIMIT
            if not sides.probed and not abs(self.engine[i] - reference) <= tolerance * abs(
                reference
            ):
                return _leave_unexamined(sides)
        if not m.isfinite(reference):
            known = (
                "not a real number" if m.isnan(reference) else "infinite, or too large to compute"
            )
            return Verdict.UNDEFINED, self._where(i) or f"the true value is {known}"
        if math.isfinite(computed):
            return self._finite(i, reference, tolerance)
        if math.isinf(computed) and self._nearest_float(reference) == computed:
            return (
                Verdict.ILL_CONDITIONED,
                f"too large for {self.dtype}: the true value is {m.nstr(reference, 17)}",
            )
        return (
            Verdict.MISMATCH,
            f"the result is {computed}, where the true one is {m.nstr(reference, 17)}",
        )

    def _finite(self, i: int, reference: Any, tolerance: Any) -> Told:
        """Rules against the reference, and then floats against the rules."""
        computed, engine, bound = self.computed[i], self.engine[i], self.bounds[i]
        if self.m.isnan(
            engine
        ):  # zero times infinity, which floats may have decided: compare with the truth itself
            engine = reference
        if not abs(engine - reference) <= tolerance * max(abs(engine), abs(reference)) + self.slack(
            i
        ):
            return Verdict.MISMATCH, AT_A_GAP if i in self.sides else _RULE_WRONG
        if self._nearest_float(engine) != computed and not abs(computed - engine) <= bound:
            return Verdict.MISMATCH, "the difference is more than rounding explains"
        return Verdict.AGREE, None

    def slack(self, i: int) -> Any:
        """Return what rounding at the working precision does to the terms of an entry."""
        bound = self.bounds[i]
        return self._grain * bound if math.isfinite(bound) else self.m.zero

    @property
    def is_unsettled(self) -> bool:
        """Return whether this precision leaves an entry open.

        An entry is open if its enclosure is too wide, or if it is not known whether it is zero and
        floats could tell.
        """
        return any(
            self._is_open(i, abs(r)) for i, r in enumerate(self.reference) if self.m.isfinite(r)
        )

    def _is_open(self, i: int, size: Any) -> bool:
        slack = known = self.slack(i)
        if self.radii:
            known = self.radii[i] * _KNOWN
            if not self.radii[i] <= _RULE * max(abs(self.engine[i]), size) + slack:
                return True
        # Too few digits are known to tell it from zero, or to count lost bits.
        return bool(slack > _SMALLEST and known > 0 and known >= size)

    def _nearest_float(self, exact: Any) -> float:
        """Return the float of the result's precision that is nearest to an exact number."""
        with np.errstate(all="ignore"):
            return float(np.asarray(float(exact)).astype(self.floats))

    def _edge(self, i: int, sides: Sides) -> Told:
        """Return the verdict on an entry at the edge of the domain.

        The derivative exists from one side only there. A rule that gives it is right.
        """
        computed = self.computed[i]
        if abs(computed - sides.inside) <= _ONE_SIDED * abs(sides.inside):
            self.reference[i] = sides.inside
            return Verdict.AGREE, None
        return (
            Verdict.UNDEFINED,
            "at the edge of the domain, where the derivative from within is "
            f"{self.m.nstr(sides.inside, 6)}",
        )

    def _kink(self, i: int, sides: Sides) -> Told:
        computed, bound, where = self.computed[i], self.bounds[i], self._where(i)
        if where and (known := from_sides(float(sides.left), float(sides.right))):
            where += f": {known}"
        if not math.isfinite(computed):
            return (
                Verdict.UNDEFINED,
                where
                or f"{'the derivatives from the two sides differ, and ' * sides.is_known}the result is not finite",
            )
        low, high = sides.range if sides.is_known else (self.m.nan, self.m.nan)
        if not sides.probed:
            if not low <= computed <= high:
                return _leave_unexamined(sides)
        elif sides.open:
            return (
                Verdict.UNDETERMINED,
                f"no limit of the derivative is seen from the {sides.open} ({sides.place})",
            )
        elif not (self.m.isfinite(sides.left) or self.m.isfinite(sides.right)):
            finite = "finite " if self.m.isinf(sides.left) or self.m.isinf(sides.right) else ""
            return (
                Verdict.UNDEFINED,
                where or f"there is no {finite}derivative on either side ({sides.place})",
            )
        elif sides.is_known:
            room = (bound if math.isfinite(bound) else 0) + 1e-12 * max(
                (abs(v) for v in (low, high) if self.m.isfinite(v)), default=0
            )
            if not low - room <= computed <= high + room:
                return (
                    Verdict.MISMATCH,
                    f"outside the derivatives from both sides, {float(sides.left):g} and "
                    f"{float(sides.right):g}",
                )
        if not sides.probed or sides.finite or sides.convention:
            gap = f"; the function {sides.gap}" if sides.gap else ""
            return (
                Verdict.KINK,
                f"not differentiable here ({sides.place}{gap}): chosen is {sides.convention}",
            )
        return Verdict.UNDEFINED, where or "the derivative is not finite"

    def _where(self, i: int) -> str | None:
        trouble = self.troubles.of(i)
        return None if trouble is None else trouble.words(self.m)

    def with_verdict(self, verdict: Verdict) -> list[int]:
        """Return the entries that have a verdict."""
        return [i for i, v in enumerate(self.verdicts) if v is verdict]

    def result(self, source: str) -> VariableCheck:
        """Combine the verdicts on the entries into one, with the worst entry and the errors."""
        errors = {
            i: self._errors(i)
            for i, verdict in enumerate(self.verdicts)
            if verdict in _COMPARED and (i not in self.sides or self.sides[i].limit is not None)
        }
        enough = ENOUGH.get(self.dtype.char, _ENOUGH)
        for i, (_, relative) in errors.items():  # one by one, however large the neighbours are
            if self.verdicts[i] is Verdict.AGREE and (digits := digits_of(relative)) < enough:
                self.verdicts[i] = Verdict.ILL_CONDITIONED
                count = f"{digits} {'digit is' if digits == 1 else 'digits are'} right"
                self.reasons[i] = f"{count}, rounding costs the rest"
                if self._underflows(i):
                    true = self.reference[i]
                    is_told = self.m.mag(true) > -_TOLD
                    words = self.m.nstr(true, 6) if is_told else f"below 1e-{_TOLD // 4}"
                    self.reasons[i] = f"{count}: it underflows, the true value is {words}"
        verdict, size = max(self.verdicts, default=Verdict.AGREE), len(self.verdicts)
        check = VariableCheck(verdict, source, entries=(size, size) if size else None)
        if errors:
            check.max_abs_error, check.max_rel_error = map(max, zip(*errors.values(), strict=True))
            check.digits = 0 if self.zeros else digits_of(check.max_rel_error)
        lost = max((e[1] for i, e in errors.items() if not self._underflows(i)), default=0.0)
        if lost > 0:  # the worst entry decides
            bits = round(math.log2(min(lost, 1.0) / self.epsilon)) + (lost >= 1)
            check.lost = bits if bits >= LOST else None
        ill = self.with_verdict(Verdict.ILL_CONDITIONED)
        check.underflows = bool(ill) and all(map(self._underflows, ill))
        check.bound = loosest(self.bounds, np.abs(self.truth.ravel()))
        check.wrong = len(self.mismatches)
        if gravest := self.with_verdict(verdict):
            worst = max(
                gravest,
                key=lambda i: (
                    self.troubles.own.get(i) is not None,
                    i in self.zeros,
                    errors.get(i, (0, 0.0))[1],
                ),
            )
            check.worst = Worst(
                index_of(worst, self.shape), self.computed[worst], float(self.reference[worst])
            )
            check.reason = next(filter(None, map(self.reasons.get, [worst, *gravest])), None)
        check.kinks = [
            OneSided(
                index_of(i, self.shape),
                float(s.left),
                float(s.right),
                self.computed[i],
                s.convention,
                s.gap,
            )
            for i, s in self.sides.items()
            if self.verdicts[i] is Verdict.KINK and s.probed
        ]
        return check

    @property
    def exact(self) -> list[Any]:
        """The reference, NaN where there is a choice."""
        return [
            self.m.nan if i in self.sides and self.sides[i].limit is None else r
            for i, r in enumerate(self.reference)
        ]

    @cached_property
    def truth(self) -> np.ndarray:
        """The reference as floats."""
        return np.array([float(r) for r in self.reference]).reshape(self.shape)

    @cached_property
    def largest(self) -> float:
        """The size of the largest reference."""
        return float(np.max(np.abs(self.truth), initial=0.0, where=np.isfinite(self.truth)))

    def _errors(self, i: int) -> tuple[float, float]:
        if not math.isfinite(self.computed[i]):
            return math.inf, math.inf
        off = abs(self.m.mpf(self.computed[i]) - self.reference[i])
        bound = self.bounds[i]
        known = self.radii[i] if self.radii else self.slack(i) if bound > _FAINT else 0
        size = abs(self.reference[i])
        if off <= bound < math.inf and size <= known and 1e20 * size <= bound:
            if self.computed[i]:
                self.zeros.add(i)
            return float(off), 0.0  # a true zero has no relative error
        if not size:
            return float(off), math.inf if off else 0.0
        return float(off), float(off / size)

    def _underflows(self, i: int) -> bool:
        """Return True if the truth is too small for a float to have all its digits."""
        return bool(0 < abs(self.reference[i]) < self.smallest)


def _leave_unexamined(sides: Sides) -> Told:
    return (
        Verdict.UNDETERMINED,
        f"on a kink ({sides.place}), beyond the number of kinks that are examined",
    )


@cache
def shared_context() -> Any:
    """Return the mpmath context of all judgements.

    Making a context costs more than many judgements.
    """
    return context()


def loosest(bounds: Any, sizes: Any) -> float | None:
    """Return the largest bound relative to its entry.

    Return None if it is too small to hide anything. An entry that is truly zero has no size and
    does not count.
    """
    with np.errstate(all="ignore"):
        allowed, size = np.asarray(bounds, float), np.asarray(sizes, float)
        relative = np.where(size > 1e-20 * allowed, allowed / size, 0.0)
    found = float(np.max(relative, initial=0.0))
    return None if math.isnan(found) or found <= SHOWN else found


# Where the running error bound decides by coarser doubles: shares of it by which these may differ,
# and below which an entry may be zero. An entry that is off by more than its bound then passes only
# if the rounding of the reference is three times as large there as it is seen to be in any other.
_OF_BOUND, _TINY = 0.25, 2.0**-10
_BLOCK = 1 << 15  # entries that stay in the cache


@np.errstate(all="ignore")
def compare_arrays(
    source: str, right: Any, computed: np.ndarray, bound: Any, own: Any = None
) -> VariableCheck:
    """Return the verdict on an array of many entries.

    Only entries that are the worst in some way are compared one by one.

    right  the reference in long double, or in coarser doubles
    bound  what rounding explains
    own    how far the reference may be from the truth; None of coarser doubles, whose errors
           are then told with those of the array
    """
    coarse = own is None
    shape = np.shape(computed)
    found, right, bound, own = _flat(shape, computed, right, bound, bound if coarse else own)

    def compare(at: Any) -> tuple[Any, ...]:
        """Compare some entries: ranks, which are wrong, bounds, what is allowed, and sizes."""
        given, true, room, rest = (x[at] for x in (found, right, bound, own))
        room, rest = np.fmin(room, np.inf), np.fmin(_TINY * rest if coarse else rest, np.inf)
        rough = np.abs(true.astype(float))
        is_normal = rough.min() >= _NORMAL and rough.max() < 1 / _NORMAL
        kind = float if is_normal else true.dtype  # doubles hold these, and are faster
        off, size = np.abs((given - true).astype(kind)), np.abs(true.astype(kind))
        finite, room = np.isfinite(true), room + rest
        allowed = _OF_BOUND * room if coarse else room
        near = off <= allowed
        size[near & (size + coarse * off <= rest) & np.isfinite(off)] = 0
        wrong = finite & ~near & (given != true.astype(given.dtype))
        zero = finite & ~wrong & (size <= 1e-20 * allowed) & (given != 0)
        relative = np.where(off == 0, 0, np.fmin(off / size, np.inf))
        ranks = [
            ~finite,
            np.where(wrong, relative, -1),
            np.where(finite & ~zero, relative, -1),
            zero,
            np.where(finite & np.isfinite(off), off, 0),
        ]
        return ranks, wrong, loosest(room, np.where(finite, size, 0)), allowed, size

    worst, count = [(-1.0, 0)] * 5, 0
    widest: list[float | None] = []
    for start in range(0, found.size, _BLOCK):
        ranks, wrong, loose, *_ = compare(slice(start, start + _BLOCK))
        here = [(rank.max(), -start - int(rank.argmax())) for rank in ranks]
        worst = [*map(max, worst, here)]
        count, widest = count + int(wrong.sum()), [*widest, loose]
    places = [*dict.fromkeys(-place for _, place in worst)]
    *_, allowed, size = compare(places)
    m = shared_context()
    m.dps = 50
    exact = Algebra.map(lambda x: m.mpf(str(LONG_DOUBLE(x))), right[places] * (size != 0))
    check = Comparison(m, exact, exact, found[places], allowed, None).result(source)
    check.lost, check.wrong, check.entries = None, count, (found.size,) * 2
    check.bound = max(filter(None, widest), default=None)
    if check.worst is not None:
        check.worst.index = index_of(places[check.worst.index[0]], shape)
    return check


_OF_ALL, _OF_ENTRY = (
    2.0**-38,
    2.0**-21,
)  # largest errors of clear agreement: relative to entry plus mean size; relative to entry
_FINER = 2.0 ** (KEPT - 52)  # rounding error of doubles relative to that of the reference


@np.errstate(all="ignore")
def clear_agreement(source: str, right: Any, computed: np.ndarray) -> VariableCheck | None:
    """Return the verdict that an array clearly agrees with a reference in coarser doubles.

    The reference is computed in doubles that are rounded to fewer bits, which enlarges what
    rounding does to an entry. Return None where the two have few digits in common: a finer
    reference has to decide there.
    """
    shape = np.shape(computed)
    found, right = _flat(shape, computed, right)
    share, place, largest, beyond = 0.0, 0, 0.0, 0.0
    room = np.empty((2, min(_BLOCK, found.size)))
    for start in range(0, found.size, _BLOCK):
        true = right[start : start + _BLOCK]
        off, relative = room[:, : true.size]
        np.subtract(found[start : start + _BLOCK], true, out=off)
        most = max(off.max(), -off.min())
        if most:
            np.divide(off, true, out=relative)
            apart = max(relative.max(), -relative.min())
            if math.isnan(apart):
                relative[off == 0] = 0  # zeros that agree
                apart = np.abs(relative).max()
            if not apart <= _OF_ENTRY:
                return None
            if apart > _OF_ALL:
                beyond = max(beyond, float((np.abs(off) - _OF_ALL * np.abs(true)).max()))
            if apart > share:
                share, place = float(apart), start + int(np.abs(relative).argmax())
            largest = max(largest, float(most))
    if beyond and beyond > _OF_ALL * np.abs(right).mean():
        return None
    return VariableCheck(
        Verdict.AGREE,
        source,
        largest * _FINER,
        share * _FINER,
        digits_of(share * _FINER),
        (found.size, found.size),
        worst=Worst(index_of(place, shape), float(found[place]), float(right[place])),
    )


def _flat(shape: tuple[int, ...], *arrays: Any) -> list[np.ndarray]:
    """Return the entries of arrays that broadcast to a shape, one after the other."""
    return [np.broadcast_to(x, shape).reshape(-1) for x in arrays]


def index_of(i: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the i-th entry of an array."""
    return tuple(map(int, np.unravel_index(i, shape)))


def digits_of(relative: float) -> int:
    """Right significant digits n: the relative error is at most 5 in the n-th decimal place."""
    if relative == 0:
        return 17
    return 0 if relative >= 1 or math.isnan(relative) else int(min(17.0, math.log10(5 / relative)))
