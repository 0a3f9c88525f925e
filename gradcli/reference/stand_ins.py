"""Operations of which the judge of large arrays has no form: their own rules stand in, held against the function along random directions.

A value is the forward pass in the widest floats that it takes; of what is entry by entry, some entries are held against the reference in
balls. A rule runs in these floats, too, so that what it computes is at least as right as the engine. Whether it is the derivative at all is
told by difference quotients of the forward pass: of what is entry by entry, at every entry; of the rest, what the rule gives for
a cotangent, times a direction, is the derivative of the results along it, times the cotangent. The directions are of random sizes, each
entry's beside the entry, along the gradient the first, the others with random signs. A rule that is wrong at right angles to all of them is
not found, nor one that is off by less than 1e-8 of all terms together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.sweep import Parts
from gradcli.ops.axes import summed
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.reference.entries import by_reference, entries, slope_by_reference

DIRECTIONS = 3
STEPS = {True: (2.0**-9, 2.0**-13, 2.0**-17), False: (2.0**-6, 2.0**-9, 2.0**-12)}  # in long double, in double
SAFETY = 16.0  # of the error that two estimates of a derivative show
TOLERANCE = 1e-8  # of the sum of sizes along a direction: a rule that is off by less passes
_ENTRY_TOLERANCE = 1e-6
_SOME = 1_000  # entries of a value that are held against the reference
_APART = 2.0**-30  # relative: a value may be off by as much as it changes where its operands do by this
_LEAST = 2.0**-1072  # a few of the smallest doubles
_CONCLUSIVE = 1e-3  # an error of an estimate beyond, relative to the same, decides nothing
_FAILURES = (TypeError, ValueError, LookupError, ArithmeticError, NotImplementedError)

Part = tuple[Any, Any, Any]  # as in `extended`


class Estimate(NamedTuple):
    """A derivative by extrapolated differences, and how far two of these are apart."""

    slope: Any
    error: Any


class StandIns:
    """What rules stood in for in one judgement.

    directions  along how many random directions each was held; 0 where none was needed
    entries     at how many entries values were held that come from the forward pass; None where all are the reference's
    narrow      whether anything was computed that may be no more right than doubles are
    wrong_value the first value that its reference contradicts, in words
    wrong       the first derivative that its function contradicts, in words
    doubt       the first derivative that no direction decides, in words
    """

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.directions = 0
        self.entries: int | None = None
        self.narrow = False
        self.wrong_value = self.wrong = self.doubt = ""

    def contradicted(self, derivative_of: str) -> None:
        self.wrong = self.wrong or f"the derivative of {derivative_of} is wrong: differences of the function contradict it"

    def value(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """The forward pass, in long double where it has one, else in double."""
        self.narrow = True
        result, _ = _in_widest(lambda dtype: op.forward(*_cast(operands, dtype), **static), op.name)
        wide = tuple(map(_wide, result)) if isinstance(result, tuple) else _wide(result)
        if op.elementwise:
            self._hold_value(op, static, operands, wide)
        else:
            self.directions = DIRECTIONS
        return wide

    def _hold_value(self, op: Op, static: Mapping[str, Any], operands: Sequence[Any], value: Any) -> None:
        """Some entries of a value against the reference in balls."""
        if not value.size:
            return
        ends = (int(value.argmin()), int(value.argmax()))
        places = np.unique([*self.random.integers(0, value.size, _SOME), *ends])
        self.entries = min(places.size, value.size if self.entries is None else self.entries)
        columns = entries(operands, value.shape, places)
        beside = [c * (1 + _APART) if _is_float(c) else c for c in columns]
        try:
            exact = np.asarray(by_reference(op, columns, static), LONG_DOUBLE)
        except Unsupported:
            self.doubt = self.doubt or f"no precision decides the value of {op.name} at some entries"
            return
        found = value.reshape(-1)[places].astype(LONG_DOUBLE)
        moved = np.asarray(op.forward(*_cast(beside, np.float64), **static), LONG_DOUBLE)
        nearest = exact.astype(np.float64)  # which is not finite, or zero, where doubles end
        right = (np.abs(found - exact) <= TOLERANCE * np.abs(exact) + np.abs(moved - found) + _LEAST) | (found == nearest)
        right |= ~np.isfinite(found) & ~np.isfinite(nearest)
        if not right.all():
            self.wrong_value = self.wrong_value or f"the value of {op.name} is wrong: its reference contradicts it"

    def pulled(self, op: Op, static: Mapping[str, Any], adjoint: Any, out: Any, operands: list[Any]) -> list[Part | None]:
        """Return what the rule passes back to each operand."""
        self.directions, self.narrow = DIRECTIONS, True
        wanted = tuple(map(_is_float, operands))
        if op.kind == "flat" or not any(wanted):
            return [None] * len(operands)
        if op.elementwise:
            return self._entrywise(op, static, adjoint, out, operands, wanted)
        cotangent: Any
        if isinstance(adjoint, dict):
            cotangent = Parts(adjoint[i][0] if i in adjoint else None for i in range(op.outputs))
            cotangent.shape = tuple(np.shape(part) for part in out)
        else:
            cotangent = np.asarray(adjoint[0])
        assert op.vjp is not None
        parts = _derivative(op, partial(op.vjp, wanted), [cotangent, out, *operands], static)
        slopes = [None if p is None or not w else summed(_wide(p), np.shape(o)) for p, w, o in zip(parts, wanted, operands, strict=True)]
        self._hold(op, static, cotangent, operands, slopes)
        return [None if s is None else (s, np.zeros(np.shape(s)), np.ones(np.shape(s))) for s in slopes]

    def _entrywise(
        self, op: Op, static: Mapping[str, Any], adjoint: Part, out: Any, operands: list[Any], wanted: tuple[bool, ...]
    ) -> list[Part | None]:
        cotangent, error, live = adjoint
        found: list[Part | None] = []
        for place, rule in enumerate(op.partials or ()):
            if rule is None or not wanted[place]:
                found.append(None)
                continue
            slope = _wide(_derivative(op, rule, [out, *operands], static))
            self._hold_entries(op, static, operands, place, slope)
            flows = live * np.ones(np.shape(slope))
            found.append((cotangent * slope, np.abs(error * slope).astype(float), flows))
        return found

    def _hold_entries(self, op: Op, static: Mapping[str, Any], operands: list[Any], place: int, slope: Any) -> None:
        """Every entry of a partial against the difference quotient there."""
        direction = self.direction(np.asarray(operands[place]))

        def along(step: float) -> Any:
            moved = list(operands)
            moved[place] = operands[place] + step * direction
            return _wide(op.forward(*_cast(moved, np.float64), **static))

        found = differences(along, STEPS[False])
        size = np.abs(slope * direction)
        floor = 64 * 2.0**-53 / STEPS[False][-1] * np.abs(along(0.0))
        room = SAFETY * found.error + _ENTRY_TOLERANCE * size + floor
        off = np.abs(found.slope - slope * direction)
        suspects = np.flatnonzero(np.isfinite(off) & ~(off <= room))
        gravest = suspects[np.argsort(-off.reshape(-1)[suspects])][:_SOME]
        if suspects.size and not _vouched(
            op, static, entries(operands, off.shape, gravest), place, entries([slope], off.shape, gravest)[0]
        ):
            self.contradicted(op.name)

    def _hold(self, op: Op, static: Mapping[str, Any], cotangent: Any, operands: list[Any], slopes: Sequence[Any]) -> None:
        """What a rule gives for a cotangent, against derivatives along directions."""
        conclusive = False
        for count in range(DIRECTIONS):
            directions = [None if s is None else self.direction(np.asarray(o)) for s, o in zip(slopes, operands, strict=True)]
            if not count:  # all terms of one sign, so that none hides behind the others
                directions = [None if d is None else np.where(s < 0, -1, 1) * np.abs(d) for s, d in zip(slopes, directions, strict=True)]
            terms = [s * d for s, d in zip(slopes, directions, strict=True) if s is not None]
            weight = sum(np.abs(term).sum() for term in terms)
            if not np.isfinite(weight):
                continue
            along = partial(_along, op, static, cotangent, operands, directions)
            found, _ = _in_widest(partial(_slope, along), op.name)
            if np.isfinite(found.slope) and found.error <= _CONCLUSIVE * weight:
                conclusive = True
                if not abs(found.slope - sum(term.sum() for term in terms)) <= SAFETY * found.error + TOLERANCE * weight:
                    self.contradicted(op.name)
            conclusive = conclusive or weight == 0
        if not conclusive:
            self.doubt = self.doubt or f"the derivative of {op.name} could not be held against the function along any direction"

    def direction(self, x: np.ndarray) -> Any:
        """Random signs and sizes, each of the size of its entry; of zeros, of a small part of the largest one's."""
        size = np.abs(x)
        finite = size[np.isfinite(size)]
        largest = finite.max(initial=0) or 1.0
        size = np.where(np.isfinite(size), np.maximum(size, largest * 2.0**-10), 0)
        return size * self.random.choice((-1.0, 1.0), x.shape) * self.random.uniform(0.5, 1.0, x.shape)


def _in_widest(run: Callable[[Any], Any], what: str) -> tuple[Any, Any]:
    """Return what runs in long double, else in double, and the floats that it took. Raises Unsupported where it runs in neither."""
    failure: Exception | None = None
    for dtype in (LONG_DOUBLE, np.float64):
        try:
            return run(dtype), dtype
        except _FAILURES as error:
            failure = error
    raise Unsupported(f"{what} of so many entries: {failure}")


def _slope(along: Callable[[Any], Callable[[float], Any]], dtype: Any) -> Estimate:
    return differences(along(dtype), STEPS[dtype is LONG_DOUBLE and WIDER])


def _derivative(op: Op, rule: Callable[..., Any], operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return what a rule of an operation gives, in the widest floats that it takes."""
    return _in_widest(lambda dtype: rule(*_cast(operands, dtype), **static), f"the derivative of {op.name}")[0]


def _vouched(op: Op, static: Mapping[str, Any], operands: Sequence[Any], place: int, slope: Any) -> bool:
    """Return whether balls confirm the slopes that differences contradict, as they do beside poles."""
    try:
        exact = slope_by_reference(op, operands, static, place)
    except Unsupported:
        return False
    return bool(np.all(np.abs(slope - exact) <= _ENTRY_TOLERANCE * np.abs(exact)))


def _along(
    op: Op, static: Mapping[str, Any], cotangent: Any, operands: list[Any], directions: Sequence[Any], dtype: Any
) -> Callable[[float], Any]:
    """The results, weighted by their cotangents, as a function of the step along a direction."""

    def at(step: float) -> Any:
        moved = [o if d is None else o + step * d for o, d in zip(operands, directions, strict=True)]
        result = op.forward(*_cast(moved, dtype), **static)
        parts = result if isinstance(result, tuple) else (result,)
        weights = cotangent if isinstance(result, tuple) else (cotangent,)
        return [_wide(p) * w for p, w in zip(parts, weights, strict=True) if w is not None]

    return at


def differences(along: Callable[[float], Any], steps: Sequence[float]) -> Estimate:
    """Central differences over three steps, extrapolated in pairs: the last pair's, and how far the pairs are apart."""
    with np.errstate(all="ignore"):
        quotients = [_less(along(step), along(-step)) / (2 * step) for step in steps]
        ratio = (steps[0] / steps[1]) ** 2
        first, second = ((ratio * fine - coarse) / (ratio - 1) for coarse, fine in pairwise(quotients))
        return Estimate(second, np.maximum(np.abs(second - first), np.abs(second - quotients[-1]) / ratio))


def _less(x: Any, y: Any) -> Any:
    return sum((a - b).sum() for a, b in zip(x, y, strict=True)) if isinstance(x, list) else x - y


def _is_float(x: Any) -> bool:
    return x is not None and not isinstance(x, tuple) and np.asarray(x).dtype.kind == "f"


def _cast(operands: Sequence[Any], dtype: Any) -> list[Any]:
    return [_cast_one(o, dtype) for o in operands]


def _cast_one(x: Any, dtype: Any) -> Any:
    if isinstance(x, tuple):
        made = type(x)(_cast_one(part, dtype) for part in x)
        if isinstance(x, Parts):
            made.shape = x.shape  # type: ignore[attr-defined]
        return made
    return np.asarray(x).astype(dtype)[()] if _is_float(x) else x


def _wide(x: Any) -> Any:
    return np.asarray(x).astype(LONG_DOUBLE) if _is_float(x) else np.asarray(x)
