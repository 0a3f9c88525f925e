"""Stand-ins for operations that have no form in the judge of large arrays.

They are entries in balls, and rules held against functions along directions.

For operations entry by entry, NumPy's own loop gives the value if the reference confirms it at some
entries: in long double where the loop is of doubles, else in balls. Slopes are sympy's. Where there
is neither, few entries are computed in balls, one by one; for many, the forward pass and the rule
stand in, held at some.

For operations on whole arrays, the forward pass and the rule stand in. Difference quotients of the
forward pass tell whether the rule is the derivative: its result for a cotangent, times a direction,
is the derivative of the results along it, times the cotangent. The directions are of random sizes,
each entry's relative to the entry; the first is along the gradient, the others have random signs. A
rule that is wrong at right angles to all of them is not found, nor one that is off by less than
1e-8 of all terms together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
from flint import arb

from gradcli.graph.sweep import Parts
from gradcli.ops.axes import broadcast, sum_to_shape
from gradcli.ops.extended import KEPT, LONG_DOUBLE, WIDER, Reduced, is_float
from gradcli.ops.facts import kinks_of, never
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, number
from gradcli.reference.ball import Ball, as_arb, as_float, ball_of
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable
from gradcli.reference.deadline import in_time
from gradcli.reference.digits import by_balls

DIRECTIONS = 3
STEPS = {
    True: (2.0**-9, 2.0**-13, 2.0**-17),
    False: (2.0**-6, 2.0**-9, 2.0**-12),
}  # True: in long double; False: in double
SAFETY = 16.0  # factor on the error that two estimates of a derivative show
# Relative to the sum of sizes along a direction, or to an entry: smaller errors pass.
TOLERANCE = 1e-8
_HALF_OF_CUT = 1 << 52 - KEPT
_SOME = 1_000  # entries of a result that are held to the reference
# The same where NumPy has a loop in the reference's precision.
_SOME_OF_A_LOOP = 10 if WIDER else 200
_NEAR = 64  # units in the last place by which such a loop may be off
# Relative: an entry may be off by as much as it changes when its operands change by this.
_APART = 2.0**-30
# Relative: what is nearer to the chosen entry of all may be chosen beside the point.
_TIED = 2.0**-40
_LEAST = 2.0**-1072  # a few of the smallest doubles
_FINER = (1.0, 2.0**-8, 2.0**-16)  # factors on the steps
_CONCLUSIVE = 1e-3  # an estimate with a larger error, relative to the same sums, decides nothing
_FAILURES = (TypeError, ValueError, LookupError, ArithmeticError, NotImplementedError)

Part = tuple[Any, Any, Any]  # as in `long_double`
Static = Mapping[str, Any]


@dataclass(eq=False)
class StandIns:
    """The stand-ins for forms in one judgement.

    dtype       of the reference's floats: long doubles, or doubles, rounded to `KEPT` bits, whose
                errors are not followed
    directions  along how many random directions each rule was held; 0 where none was needed
    entries     at how many entries functions were held; None where all are the reference's
    narrow      whether anything was computed that may be no more right than doubles are
    wrong_value the first value that its reference contradicts, in words
    wrong       the first derivative that its function contradicts, in words
    kinks       whether entries may lie on kinks
    doubt       the first function or derivative that could not be held, in words
    """

    dtype: Any = LONG_DOUBLE
    directions: int = 0
    entries: int | None = None
    narrow: bool = False
    kinks: bool = False
    wrong_value: str = ""
    wrong: str = ""
    doubt: str = ""

    def __post_init__(self) -> None:
        self.follows_errors = self.dtype is LONG_DOUBLE
        # How far, relative to an entry, loops may be off.
        self.near = _NEAR * float(np.finfo(self.dtype).eps)
        self.is_wide = WIDER and self.follows_errors
        self.made: dict[Any, Any] = {}  # what nodes' slopes are made of, and moves their way back
        self.loops: set[Op] = set()  # loops of IEEE arithmetic that the reference has confirmed

    @cached_property
    def random(self) -> np.random.Generator:
        return np.random.default_rng(7)

    def note_kinks(
        self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], found: Any
    ) -> None:
        """Remember whether operands may lie on a kink of an operation.

        found  its result, with the axes kept along which it has chosen entries
        """
        for kink in kinks_of(op):
            met: Any = True  # what decides may take scalars only
            if op.elementwise:
                with suppress(ValueError, TypeError):
                    met = np.asarray(kink.where(*operands, **static)).any()
            elif kink.where is not never:
                met = np.asarray(kink.where(found)).any()
            elif isinstance(op.extended, Reduced):
                (x,), room = operands, _TIED * np.abs(found)
                met = np.sum((x >= found - room) & (x <= found + room)) != found.size
            self.kinks |= bool(met)

    def contradict(self, derivative_of: str) -> None:
        self.wrong = (
            self.wrong or f"the derivative of {derivative_of} is wrong: the function contradicts it"
        )

    def widen(self, x: Any) -> Any:
        """Return floats as those of the reference, and note that they were doubles."""
        if isinstance(x, tuple):
            return tuple(map(self.widen, x))
        x = np.asarray(x)
        self.narrow |= x.dtype.char == "d"
        return x.astype(self.dtype, copy=False) if is_float(x) else x

    def round(self, x: Any, in_place: bool = False) -> Any:
        """Round doubles to fewer bits; return long doubles unchanged.

        Rounding then shows as in the engine's doubles, but larger. It is done in place only where
        the array has memory of its own.
        """
        if self.follows_errors:
            return x
        if isinstance(x, tuple):
            return tuple(map(self.round, x))
        x = np.asarray(x)
        if x.dtype.char != "d":
            return x
        if x.size > 1 and not any(x.strides):
            return np.broadcast_to(self.round(x.flat[0]), x.shape)
        bits = x.view(np.int64)
        bits = np.add(bits, _HALF_OF_CUT, out=bits if in_place and x.flags.owndata else None)
        bits &= -2 * _HALF_OF_CUT
        return bits.view(np.float64)

    # -- Entry by entry

    def value_of_entries(
        self, op: Op, operands: Sequence[Any], static: Static, shape: tuple[int, ...]
    ) -> Any:
        """Evaluate an elementwise operation of this shape, or raise Unsupported."""
        if op in self.loops:
            return np.asarray(op.forward(*operands, **static))
        exact = partial(each, lambda m, *numbers: number(m, op, static, *numbers), result=op.result)
        size = math.prod(shape)
        places = _evenly_spaced(size, min(size, _SOME_OF_A_LOOP))
        wide = _cast(entries(operands, shape, places), LONG_DOUBLE)
        if _in_long_double(op.forward, wide, static) is not None:
            found = np.asarray(op.forward(*operands, **static))
            # A loop of doubles is held to the reference in long double, if NumPy has its functions.
            is_finer = WIDER and not self.follows_errors
            known = _reference_values(op, wide, static) if is_finer else None

            def is_near(true: Any) -> bool:
                return _are_near(found.reshape(-1)[places], true, self.near)

            if found.size == size and (
                (known is not None and is_near(known)) or is_near(exact(wide))
            ):
                if op.ulps == 1 and not op.kinks:
                    self.loops.add(op)
                return found

        def run(columns: Sequence[Any]) -> Any:
            return op.forward(*_cast(columns, np.float64), **static)

        found, is_right = self._in_doubles(op.name, run, exact, operands, shape)
        if not is_right:
            self.wrong_value = (
                self.wrong_value or f"the value of {op.name} is wrong: its reference contradicts it"
            )
        return found

    def slopes_of_entries(
        self, op: Op, out: Any, operands: Sequence[Any], static: Static, wanted: Sequence[bool]
    ) -> list[tuple[Any, Any]]:
        """Return the slopes of an elementwise operation, each with the size of its terms.

        The terms are those that the slope is computed of; their size is None where it is the
        slope's own. Raises Unsupported.

        out     the value, which slopes may be made of
        wanted  the operands that slopes are asked by
        """
        if op.kind == "flat":
            return [(None, None)] * len(operands)
        if (op.kind != "smooth" and op.kinks) or any(o is None for o in operands):
            raise Unsupported(f"{op.name} of so many entries")
        from gradcli.reference.symbolic.translate import smooth_function

        smooth = smooth_function(op, len(operands), static)
        return [
            self._slope(op, smooth, out, operands, static, place) if w else (None, None)
            for place, w in enumerate(wanted)
        ]

    def _slope(
        self, op: Op, smooth: Any, out: Any, operands: Sequence[Any], static: Static, place: int
    ) -> Any:
        by_sympy = smooth.partial(place)
        try:
            given = [np.asarray(x, self.dtype) for x in operands]
            return by_sympy.on_arrays(smooth, out, given, self.dtype, self.follows_errors)
        except (Unsupported, ValueError):  # ValueError where a reference compares single numbers
            exact = partial(each, lambda m, *numbers: by_sympy.value(m, numbers))
        rule = (op.partials or (None,) * len(operands))[place]
        if rule is None:
            return exact(operands), None

        def run(columns: Sequence[Any]) -> Any:
            given = _cast(columns, np.float64)
            return rule(op.forward(*given, **static), *given, **static)

        found, is_right = self._in_doubles(op.name, run, exact, operands, np.shape(out))
        if not is_right:
            self.contradict(op.name)
        return found, None

    def _in_doubles(
        self,
        name: str,
        run: Callable[..., Any],
        exact: Callable[..., Any],
        operands: Sequence[Any],
        shape: tuple[int, ...],
    ) -> tuple[Any, bool]:
        """Return a function's entries, and whether balls confirm some of them.

        If they are few, they are computed in balls themselves.
        """
        size = math.prod(shape)
        if size <= _MOST_ENTRIES:
            return exact(operands), True
        found = np.asarray(run(operands))
        places = np.unique(
            [*self.random.integers(0, size, _SOME), int(found.argmin()), int(found.argmax())]
        )
        self.entries = min(places.size, size if self.entries is None else self.entries)
        columns = entries(operands, shape, places)
        here, moved = (
            np.asarray(run(given), LONG_DOUBLE)
            for given in (columns, [c * (1 + _APART) if is_float(c) else c for c in columns])
        )
        try:
            is_right = _are_near(here, exact(columns), TOLERANCE, np.abs(moved - here) + _LEAST)
        except Unsupported:
            self.doubt = self.doubt or f"no precision decides {name} at some entries"
            is_right = True
        return self.widen(found), is_right

    # -- Whole arrays

    def value(self, op: Op, operands: Sequence[Any], static: Static) -> Any:
        """Run the forward pass, in long double if it runs there, and else in double."""
        self.directions = DIRECTIONS
        self.narrow = True
        return self.widen(
            _in_widest(lambda dtype: op.forward(*_cast(operands, dtype), **static), op)
        )

    def pull(
        self, op: Op, static: Static, adjoint: Any, out: Any, operands: list[Any]
    ) -> list[Part | None]:
        """Return what the rule passes back to each operand.

        Raises Unsupported where it has none.
        """
        self.directions, self.narrow = DIRECTIONS, True
        wanted = tuple(map(is_float, operands))
        if op.vjp is None:
            raise Unsupported(f"{op.name} of so many entries")
        cotangent: Any
        if isinstance(adjoint, dict):
            cotangent = Parts(adjoint[i][0] if i in adjoint else None for i in range(op.outputs))
            cotangent.shape = tuple(np.shape(part) for part in out)
        else:
            cotangent = np.asarray(adjoint[0])
        parts = _in_widest(
            lambda dtype: op.pull(wanted, *_cast([cotangent, out, *operands], dtype), **static), op
        )
        slopes = [
            None if p is None or not w else sum_to_shape(_cast(p, LONG_DOUBLE), np.shape(o))
            for p, w, o in zip(parts, wanted, operands, strict=True)
        ]
        self._hold(op, static, cotangent, operands, slopes)
        return [None if s is None else (s, None, None) for s in slopes]

    def _hold(
        self, op: Op, static: Static, cotangent: Any, operands: list[Any], slopes: Sequence[Any]
    ) -> None:
        """Hold what a rule gives for a cotangent against derivatives along directions."""
        conclusive = False
        for count in range(DIRECTIONS):
            directions = [
                None if s is None else self.direction(np.asarray(o))
                for s, o in zip(slopes, operands, strict=True)
            ]
            if not count:  # all terms of one sign, so that none cancels another
                directions = [
                    None if d is None else np.where(s < 0, -1, 1) * np.abs(d)
                    for s, d in zip(slopes, directions, strict=True)
                ]
            terms = [s * d for s, d in zip(slopes, directions, strict=True) if s is not None]
            weight = sum(np.abs(term).sum() for term in terms)
            if not np.isfinite(weight):
                continue

            def estimate(
                dtype: Any, finer: float, directions: Sequence[Any] = directions
            ) -> tuple[Any, Any]:
                along = partial(_along, op, static, cotangent, operands, directions, dtype)
                steps = STEPS[dtype is LONG_DOUBLE and WIDER]
                return differences(along, [finer * step for step in steps], np.sum)

            for finer in _FINER:  # finer, for a matrix close to one without such factors
                slope, error = _in_widest(partial(estimate, finer=finer), op)
                if np.isfinite(slope) and error <= _CONCLUSIVE * weight:
                    conclusive = True
                    off = abs(slope - sum(term.sum() for term in terms))
                    if not off <= SAFETY * error + TOLERANCE * weight:
                        self.contradict(op.name)
                    break
            conclusive = conclusive or weight == 0
        if not conclusive:
            self.doubt = (
                self.doubt
                or f"the derivative of {op.name} could not be held against the function along any "
                "direction"
            )

    def direction(self, x: np.ndarray) -> Any:
        """Return random signs and sizes, each of the size of its entry.

        Sizes for zeros are a small part of the largest entry's.
        """
        size = np.abs(x)
        finite = size[np.isfinite(size)]
        largest = finite.max(initial=0) or 1.0
        size = np.where(np.isfinite(size), np.maximum(size, largest * 2.0**-10), 0)
        return (
            size * self.random.choice((-1.0, 1.0), x.shape) * self.random.uniform(0.5, 1.0, x.shape)
        )


@lru_cache(64)
def _evenly_spaced(size: int, count: int) -> Any:
    """Return so many places among entries, from the first to the last; 0//0 is 0."""
    return np.arange(count) * (size - 1) // (count - 1)


def _in_long_double(function: Callable[..., Any], operands: Sequence[Any], static: Static) -> Any:
    """Return a function of long doubles, or None where NumPy has no loop for it.

    Such a loop exists for doubles, too.
    """
    try:
        found = np.asarray(function(*operands, **static))
    except (*_FAILURES, AttributeError):
        return None
    return found if found.dtype in (LONG_DOUBLE, np.int64, bool) else None


_NUMPY = SimpleNamespace(**vars(np), zero=LONG_DOUBLE(0))  # for references in long double


def _reference_values(op: Op, columns: Sequence[Any], static: Static) -> Any:
    """Return what the reference has for long doubles; None where NumPy lacks its functions."""
    whole = partial(op.reference, _NUMPY, **static)
    found = _in_long_double(whole, columns, {})
    if found is None:  # it may compare numbers
        found = _in_long_double(lambda *columns: [*map(whole, *columns)], columns, {})
    return found


def _are_near(found: Any, true: Any, share: float, more: Any = 0) -> bool:
    """Return whether entries are near enough to the true ones.

    They may also both be zero, or both not finite, where doubles end.
    """
    near = np.abs(np.subtract(found, true, dtype=LONG_DOUBLE)) <= share * np.abs(true) + more
    if near.all():
        return True
    nearest = np.asarray(true, np.float64)
    ends = (found == 0) & (nearest == 0) | ~np.isfinite(found) & ~np.isfinite(nearest)
    return bool((ends | near).all())


def _in_widest(run: Callable[[Any], Any], op: Op) -> Any:
    """Return what runs in long double, else in double, as functions of matrices do.

    Raises Unsupported where it runs in neither.
    """
    failure: Exception | None = None
    for dtype in (LONG_DOUBLE, np.float64)[op.core_dims is not None :]:
        try:
            return run(dtype)
        except _FAILURES as error:
            failure = error
    raise Unsupported(f"{op.name} of so many entries: {failure}")


def _along(
    op: Op,
    static: Static,
    cotangent: Any,
    operands: list[Any],
    directions: Sequence[Any],
    dtype: Any,
    step: float,
) -> Any:
    """Return the results a step along a direction, weighted by cotangents, one after another."""
    moved = [o if d is None else o + step * d for o, d in zip(operands, directions, strict=True)]
    found = op.forward(*_cast(moved, dtype), **static)
    pairs = zip(found, cotangent, strict=True) if isinstance(found, tuple) else [(found, cotangent)]
    weighted = [np.ravel(_cast(p, LONG_DOUBLE) * w) for p, w in pairs if w is not None]
    return np.concatenate(weighted) if weighted else np.zeros(1)


def differences(
    along: Callable[[float], Any],
    steps: Sequence[float],
    reduce: Callable[[Any], Any] = np.asarray,
) -> tuple[Any, Any]:
    """Estimate a derivative by central differences over three steps, extrapolated in pairs.

    Return the last pair's estimate, and how far the pairs are apart. ``reduce`` makes one number of
    many differences.
    """
    with np.errstate(all="ignore"):
        quotients = [reduce(along(step) - along(-step)) / (2 * step) for step in steps]
        ratio = (steps[0] / steps[1]) ** 2
        first, second = (
            (ratio * fine - coarse) / (ratio - 1) for coarse, fine in pairwise(quotients)
        )
        rest = np.abs(second - quotients[-1]) / ratio
        return second, np.maximum(np.abs(second - first), rest)


def _cast(x: Any, dtype: Any) -> Any:
    """Return floats of a precision, in lists and tuples, too."""
    if isinstance(x, list):
        return [_cast(part, dtype) for part in x]
    if isinstance(x, tuple):
        found = type(x)(_cast(part, dtype) for part in x)
        if isinstance(x, Parts):
            found.shape = x.shape  # type: ignore[attr-defined]
        return found
    return np.asarray(x).astype(dtype)[()] if is_float(x) else x


# -- Entries in balls, one by one


_MOST_ENTRIES = 5_000  # most entries that are computed one by one
_DIGITS = (25, 50, 200, 800)  # the first gives all bits of a long double
_BITS = 70  # bits that have to be certain
_BEYOND = 1 << 20  # binary exponent that no long double has
_ROOM = 2.0**-900  # size from which on a second double can hold the bits that the first lacks


def _shape_of(operands: Sequence[Any]) -> tuple[int, ...]:
    first, *others = {np.shape(x) for x in operands if x is not None}
    return np.broadcast_shapes(first, *others) if others else first


def entries(operands: Sequence[Any], shape: tuple[int, ...], places: Any) -> list[Any]:
    """Return what operands that broadcast to a shape have at some of its places."""
    is_some = isinstance(places, np.ndarray)
    return [
        None
        if o is None
        else np.repeat(o, places.size)
        if is_some and np.size(o) == 1
        else np.asarray(broadcast(o, shape)).flat[places]
        for o in operands
    ]


def each(function: Callable[..., Any], operands: Sequence[Any], result: str = "float") -> Any:
    """Return ``function(m, *numbers)`` at every entry, exact to the last bit of long doubles.

    Raises Unsupported for too many.
    """
    shape = _shape_of(operands)
    size = math.prod(shape)
    if size > _MOST_ENTRIES:
        raise Unsupported(f"a function of {size:,} entries one by one")
    columns = entries(operands, shape, slice(None))
    rows = list(zip(*(_numbers(column, size) for column in columns), strict=True))
    found: list[Any] = []

    def run(balls: Balls) -> list[Any]:
        for row in in_time(rows[len(found) :]):
            value = function(balls, *row)
            found.append(bool(value) if result == "bool" else _long_double(as_arb(value)))
        return found

    if by_balls(_DIGITS, run) is None:
        raise Unsupported("a function of an entry that no precision decides")
    return np.array(found, {"bool": bool, "int": np.int64}.get(result, LONG_DOUBLE)).reshape(shape)


def _numbers(column: Any, count: int) -> Iterable[Any]:
    """Return the entries of an operand as scalars."""
    if column is None:
        return [None] * count
    if column.dtype == LONG_DOUBLE:
        return map(_ball, column)
    numbers = column.tolist()
    return numbers if column.dtype.kind == "b" else map(ball_of, map(arb, numbers))


def _ball(x: Any) -> Ball:
    if not np.isfinite(x):
        return Ball(float(x))
    mantissa, exponent = np.frexp(x)
    return ball_of(arb((int(np.ldexp(mantissa, 64)), int(exponent) - 64)))


def _long_double(x: arb) -> Any:
    """Return the middle of a ball, or raise Undecidable if the ball is too wide."""
    if x.is_finite() and not x.is_exact() and x.rel_accuracy_bits() < _BITS:
        raise Undecidable
    middle = x.mid()
    near = float(middle)
    if _ROOM < abs(near) < 1 / _ROOM:  # two doubles hold all its bits
        return LONG_DOUBLE(near) + float(middle - near)
    if not middle.is_finite():
        return LONG_DOUBLE(as_float(middle))
    with flint.ctx.workprec(_BITS):
        mantissa, exponent = map(int, (+middle).mid().man_exp())
    return np.ldexp(LONG_DOUBLE(mantissa), max(-_BEYOND, min(_BEYOND, exponent)))
