"""Running error analysis: values with bounds on their rounding errors, as the engine's own rules compute with them.

An operation's result is off by what its operands' errors make of it, and by its own rounding (J. H. Wilkinson; N. J. Higham,
Accuracy and Stability of Numerical Algorithms, chapter 3). Both are facts of its record (`Accuracy`).

A value with an error encloses the truth and what any way to compute it in the precision that is judged may give: sums in
whatever order, on one thread or several.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.operands import Operand
from gradcli.ops.reductions.carried import additions
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time

UNIT = 2.0**-53  # the rounding error of the arrays that bounds are computed in
ELEMENTARY = 4  # ulps beyond which an operation is as good as its operands, near its zeros
_A_FEW = 64
_BLOCK = 1 << 13  # entries: for dot products of more, BLAS wakes its threads


class Carried(Operand):
    """A value that rules compute with, and the arithmetic that carries something along with it."""

    __slots__ = ("arithmetic", "value")
    __array_ufunc__ = None  # NumPy scalars and arrays leave mixed operators to the carrier
    value: Any
    arithmetic: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return getattr(self.value, "shape", ())

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        return self.arithmetic.apply(op, operands, static)


class Bounded(Carried):
    """A value, and how far its entries may be from the truth.

    among  the entries one of which this is, if it was chosen among some; else None
    error  a bound for each entry; None where all are exact. Of truths, which may be either; of indices, marks of those that are not certain
    """

    __slots__ = ("among", "error")
    arithmetic: Arithmetic

    def __init__(self, value: Any, error: Any, arithmetic: Arithmetic) -> None:
        self.value, self.error, self.arithmetic = value, error, arithmetic
        self.among: Any = None

    def is_zero(self) -> bool:
        return self.error is None and not np.any(self.value)


class Names:
    """NumPy's functions, and the operation that a rule is asked about."""

    def __init__(self, arithmetic: Arithmetic, op: Op, static: Mapping[str, Any]) -> None:
        self.at = partial(op.forward, **static)
        self.unit, self.unit_of_arrays, self.smallest = arithmetic.unit, UNIT, arithmetic.smallest

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def filled(error: Any, x: Any) -> Any:
        return error if np.shape(error) == np.shape(x) else np.broadcast_to(error, np.shape(x))


class Arithmetic:
    """Float64 arrays and bounds on their errors. What is whole numbers is not rounded, and what is zero carries no error.

    unit       the rounding error of the precision that is judged, relative to a number
    total      that of this precision and of the values here: how far they may be apart after one rounding
    overflown  whether a result so far is not finite, though what it was made of is
    """

    overflown = False

    def __init__(self, precision: str) -> None:
        info = np.finfo(np.dtype(precision))
        self.dtype, self.unit = np.dtype(precision), float(info.eps) / 2
        self.total = self.unit + UNIT
        self.smallest, self.smallest_normal = float(info.smallest_subnormal), float(info.smallest_normal)

    def allowed(self, part: Bounded) -> Any:
        """How far what is judged may be from the truth, both of which are no farther from the value here than its error.

        A unit in the last place is for numbers of the program that plans put together.
        """
        size = np.abs(part.value) * (2 * self.unit) + 4 * self.smallest
        return size if part.error is None else part.error * (2 * (1 + 1e-9)) + size

    def error_of(self, operand: Any) -> Any:
        """The error of what a rule hands over: a value with its own, or a number of the program."""
        if isinstance(operand, Bounded):
            return operand.error
        if isinstance(operand, Constant):
            return self.unit * abs(float(operand))
        inexact = isinstance(operand, float) and self.unit > UNIT and float(self.dtype.type(operand)) != operand
        return self.unit * abs(operand) if inexact else None

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """An operation on values with errors, or on numbers of the program: its result with a bound on its error."""
        still_in_time()
        values = [o.value if isinstance(o, Bounded) else o for o in operands]
        errors = [self.error_of(o) for o in operands]
        body = None if _says(op) else op.body
        if body is not None and np.size(values[0]):
            opened = body(*operands, **static)
            if not np.isnan(opened.value).any():
                return opened
        if op.outputs > 1:
            out = op.forward(*values, **static)
            found = self._several(op, out, values, errors, static)
            return tuple(self._bounded(part, error) for part, error in zip(out, found, strict=True))
        large = op.elementwise and max(map(np.size, values)) > _BLOCK
        out, error = (self._in_blocks if large else self._result)(op, values, errors, static)
        result = self._bounded(out, error)
        if op.accuracy.among is not None:
            result.among = op.accuracy.among(*values, **static)
        elif (op.rewriting.reshapes or op.rewriting.unchanged) and isinstance(operands[0], Bounded):
            result.among = operands[0].among
        if op.rewriting.algebra == "comparison" and result.error is not None:
            result.error = self._told_apart(operands, values, result.error)
        return result

    def _in_blocks(self, op: Op, values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> tuple[Any, Any]:
        """A result with its error, a block of entries at a time, so that what is computed on the way stays in the cache."""
        shape, parts = np.broadcast_shapes(*map(np.shape, values)), [*values, *errors]
        if any(np.size(x) > 1 and (np.shape(x) != shape or not x.flags.c_contiguous) for x in parts):
            return self._result(op, values, errors, static)
        flat = [np.reshape(x, -1 if np.size(x) > 1 else ())[()] if isinstance(x, np.ndarray) else x for x in parts]
        blocks = []
        for start in range(0, math.prod(shape), _BLOCK):
            some = [x[start : start + _BLOCK] if np.size(x) > 1 else x for x in flat]
            blocks.append(self._result(op, some[: len(values)], some[len(values) :], static))
        out = np.concatenate([value for value, _ in blocks]).reshape(shape)
        if all(error is None for _, error in blocks):
            return out, None
        whole = [np.broadcast_to(0.0 if error is None else error, value.shape) for value, error in blocks]
        return out, np.concatenate(whole).reshape(shape)

    def _result(self, op: Op, values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> tuple[Any, Any]:
        out = op.forward(*values, **static)
        error = plus(self._propagated(op, out, values, errors, static), self.rounding(op, out, values, static))
        if is_float(out) and not np.isfinite(out).all():
            self.overflown = self.overflown or all(np.isfinite(x).all() for x in values if is_float(x))
            if error is not None:
                error = self._of_infinities(op, out, values, errors, static, error)
        return out, error

    def _bounded(self, value: Any, error: Any) -> Bounded:
        """A value with its error, None where that is nothing."""
        return Bounded(value, None if error is None or not np.any(error) else error, self)

    @staticmethod
    def _told_apart(operands: Sequence[Any], values: Sequence[Any], unsure: Any) -> Any:
        """Which entries equal one of themselves is certain, where no other is as near."""
        for x, best in zip(values, operands[::-1], strict=True):
            if isinstance(best, Bounded) and best.among is not None and np.array_equal(best.among, x):
                shape = (1,) * (np.ndim(unsure) - best.ndim) + best.shape
                near = np.sum(unsure, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
                return unsure & (near > 1)
        return unsure

    def _of_infinities(self, op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any], error: Any) -> Any:
        """What has overflown has no error, since that is no rounding; what is infinite at a pole that errors may have led to has any."""
        led: Any = any(np.any(np.isinf(e)) for e in errors if is_float(e))
        if op.elementwise:
            led = False
            for sign in (-1.0, 1.0):
                moved = [x + sign * outwards(x, e) if is_float(e) else x for x, e in zip(values, errors, strict=True)]
                led = led | (_distance(op.forward(*moved, **static), out) > 0)
        certain = np.asarray(np.isfinite(error)) & ~np.isnan(out)
        return np.where(np.isfinite(out), error, np.where(certain | ~np.asarray(led), 0.0, np.inf))

    # -- What errors of operands make of a result

    def _propagated(self, op: Op, out: Any, values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> Any:
        if _is_backward_stable(op):
            # right for operands that are off: by a unit in their last place, or by rounding relative to a matrix's size
            errors = [e if not is_float(x) else plus(e, self._backward(op, x)) for x, e in zip(values, errors, strict=True)]
        if all(e is None for e in errors):
            return None
        kind = np.asarray(out).dtype.kind
        given = [0.0 if e is None else e for e in errors]
        found = self.by_facts(op, out, values, given, static)
        if found is None:
            if kind == "b":
                return _uncertain(out, values, errors)
            if kind in "iu":
                return np.full(np.shape(out), -1)
            if not all(e is None or is_float(x) for x, e in zip(values, errors, strict=True)):
                return np.full(np.shape(out), np.inf)  # which entry is meant is not certain
            (found,) = first_order(op, (out,), values, given, static)
        if kind != "f" or np.isfinite(found).all():
            return found
        if math.isfinite(op.accuracy.above):
            found = np.where(np.isnan(found), first_order(op, (out,), values, given, static)[0], found)
        found = np.where(np.isnan(found), np.inf, found)
        if not op.elementwise:
            return found
        # entries all of whose operands are exact are, whatever else is infinite
        return np.where(np.any(np.broadcast_arrays(*[np.not_equal(e, 0) for e in given]), axis=0), found, 0.0)

    def _backward(self, op: Op, x: Any) -> Any:
        if op.core_dims is None:
            return self.total * np.abs(x)
        return 4 * sum(np.shape(x)[-2:]) * self.total * np.max(np.abs(x), initial=0.0)

    def by_facts(self, op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """Return the error that operands' errors make in a result, as the record says; None, or NaN in some entries, where it says nothing.

        values, errors  of the operands; errors are 0.0 of those that are exact, which are not all
        """
        m, points = Names(self, op, static), op.accuracy.between
        if op.facts.linear:
            if op.elementwise:
                return sum(errors[1:], errors[0])
            return m.at(*[x if x is None else m.filled(e, x) for x, e in zip(values, errors, strict=True)])
        if op.accuracy.carries is not None:
            return op.accuracy.carries(m, out, *values, *errors, **static)
        if op.rewriting.algebra == "comparison":
            x, y = values
            off = sum(errors[1:], errors[0])
            return ~np.greater(np.abs(x - y), off) & np.greater(off, 0.0)  # NaN may be either
        if points is None:
            return None
        points = points if points and isinstance(points[0], tuple) else (points,) * len(values)
        found = _at_ends(m, out, values, errors, points)
        for x, e in zip(values, errors, strict=True) if math.isfinite(op.accuracy.above) else ():
            found = np.where(np.greater(x - e, op.accuracy.above), found, math.nan)
        return found

    def _several(self, op: Op, out: tuple[Any, ...], values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> Sequence[Any]:
        if op.core_dims is not None:
            errors = [plus(e, self._backward(op, x)) for x, e in zip(values, errors, strict=True)]
        given = [0.0 if e is None else e for e in errors]
        rule, found = op.accuracy.carries, None
        if rule is not None:
            found = rule(Names(self, op, static), out, *values, *given, **static)
        if found is None:
            found = first_order(op, out, values, given, static)
        own = [8 * self.total * np.abs(part) if is_float(part) else None for part in out]
        return [plus(np.where(np.isnan(e), np.inf, e), more) for e, more in zip(found, own, strict=True)]

    # -- An operation's own rounding

    def rounding(self, op: Op, out: Any, values: list[Any], static: Mapping[str, Any]) -> Any:
        """Return the error of an operation's own rounding; None where nothing is rounded."""
        if not (op.accuracy.ulps or op.accuracy.rounds) or not is_float(out) or self._is_exact(op, out, values):
            return None
        found = self.own(op, out, values, static, partial(_additions, op, out, values, static))
        return found if found is None or op.facts.linear else found + self.underflow(op, out, values)

    def own(self, op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any], additions: Callable[[], float]) -> Any:
        """The same beside underflow.

        additions  how many roundings of partial sums an entry of the result may have gone through
        """
        accuracy, m = op.accuracy, Names(self, op, static)
        # of the result that is judged and of the value here; and of those at the ends, where it is computed there
        both = self.total + (0.0 if accuracy.between is None else 2 * UNIT)
        if accuracy.rounds is not None:
            return both * accuracy.rounds(m, out, *values, **static)
        if not accuracy.ulps:
            return None
        ulps = 1.0 if accuracy.ulps == 1 else 2 * accuracy.ulps  # of IEEE arithmetic half a unit in the last place is all
        match accuracy.rounding:
            case "terms":
                return both * (additions() + len(values)) * m.at(*[np.abs(x) if is_float(x) else x for x in values])
            case "partial sums":
                return both * m.at(np.abs(out))
            case "operands":
                sizes = sum(np.abs(x) if op.elementwise else np.max(np.abs(x)) for x in values if x is not None)
                return both * ulps * (np.abs(out) + sizes)
        if self.unit > UNIT and any(isinstance(v, float) for v in static.values()):
            ulps += 1  # parameters are rounded, too
        return (both * ulps) * np.abs(out)

    def underflow(self, op: Op, out: Any, values: Sequence[Any]) -> Any:
        """What is lost beneath the normal numbers, though no operand is infinite, nor zero unless others are multiplied; sums lose none."""
        lost = np.abs(out) < self.smallest_normal
        if not np.any(lost):
            return 0.0
        factor: Any = 1.0  # of a product within the operation, such as that of silu
        for value in values:
            if is_float(value):
                inside = np.isfinite(value) & ((value != 0) | (op.accuracy.rounds is not None))
                lost = lost & (inside if op.elementwise else np.any(inside))
                factor = np.maximum(factor, np.abs(value)) if op.elementwise else max(factor, np.size(value) / max(1, np.size(out)))
        return np.where(lost, 4 * self.smallest * np.where(np.isfinite(factor), factor, 1.0), 0.0)

    def _is_exact(self, op: Op, out: Any, values: list[Any]) -> bool:
        """Return whether arithmetic has not been rounded, such as the 2 - 1 of an exponent."""
        adds = op.facts.integral and (op.accuracy.compounds or op.accuracy.rounding in ("terms", "partial sums")) and len(values) == 1
        if not op.accuracy.exact and not adds and op is not chain:
            return False
        if np.size(out) <= _A_FEW and op in (mul, chain):
            return bool(np.all(_is_product(out, *values) & (np.frexp(out)[0] % (2 * self.unit) == 0)))
        # where the first entries are no whole numbers, there is no need to look at the others
        if not all(_are_whole(np.ravel(v)[:1]) for v in values) or not all(_are_whole(v) for v in [*values, out]):
            return False
        if op.accuracy.compounds:
            most = np.prod(np.maximum(np.abs(values[0]), 1.0))
        else:
            most = np.sum(np.abs(values[0])) if adds else np.max(np.abs(out), initial=0.0)
        return bool(most < 1 / self.unit)


def _says(op: Op) -> bool:
    """Return whether a record says how errors are propagated; else that follows from what the operation is made of."""
    return op.accuracy.carries is not None or op.accuracy.between is not None or op.facts.linear


def _is_backward_stable(op: Op) -> bool:
    says = op.accuracy.ulps > ELEMENTARY and op.accuracy.rounding == "result" and op.accuracy.rounds is None
    return says and (op.elementwise or op.core_dims is not None)


def outwards(x: Any, error: Any) -> Any:
    """An error that is no smaller after x plus it has been rounded; 0 where x is exact."""
    return np.where(np.greater(error, 0.0), (error + UNIT * np.abs(x)) * (1 + 4 * UNIT), error)


def _at_ends(m: Names, out: Any, values: Sequence[Any], errors: Sequence[Any], points: Sequence[Any]) -> Any:
    """Return the largest change, within intervals, of a function that rises or falls between some points."""
    choices = []
    for x, e, turns in zip(values, errors, points, strict=True):
        if x is None or (type(e) is float and e == 0):
            choices.append([x])
            continue
        off = outwards(x, e)
        low, high = x - off, x + off
        choices.append([low, high, *(np.maximum(np.minimum(high, turn), low) for turn in turns)])
    found: Any = 0.0
    for ends in itertools.product(*choices):
        found = np.maximum(found, _distance(m.at(*ends), out))
    return found


def _distance(x: Any, y: Any) -> Any:
    """Return the distance of values; infinite where one of them is NaN, and 0 where both are the same."""
    off = np.abs(np.subtract(x, y, dtype=float))
    if np.isnan(off).any():
        off = np.where(np.equal(x, y) | np.isnan(y), 0.0, np.where(np.isnan(off), np.inf, off))
    return off


def _is_product(out: Any, x: Any, y: Any) -> Any:
    """Return which numbers are products, unrounded: what the halves of two factors leave beside them is 0 (T. J. Dekker)."""
    (high, low), (head, tail) = _halves(x), _halves(y)
    left = ((high * head - out) + high * tail + low * head) + low * tail
    return (left == 0) & ((np.abs(out) > 2.0**-900) | (np.equal(x, 0) | np.equal(y, 0)))


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * np.asarray(x, float)
    high = scaled - (scaled - x)
    return high, x - high


def _are_whole(value: Any) -> bool:
    return bool(np.all(value == np.rint(value)))


def plus(x: Any, y: Any) -> Any:
    """Return a sum of errors, each None where there is none."""
    return y if x is None else x if y is None else x + y


def is_float(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind == "f"


def _uncertain(out: Any, values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Truths of uncertain operands: of truths, if these are; of numbers, if they may have another sign."""
    found: Any = False
    for value, error in zip(values, errors, strict=True):
        if error is not None:
            kind = np.asarray(value).dtype.kind
            found = found | (np.asarray(error, bool) if kind == "b" else np.abs(value) <= error if kind == "f" else np.not_equal(error, 0))
    return np.broadcast_to(found, np.shape(out))


def _additions(op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any]) -> float:
    """How many roundings of partial sums an entry of a result may have gone through."""
    if len(values) == 1 and np.size(values[0]) >= np.size(out):
        terms = np.size(values[0]) / max(1, np.size(out))
        return additions(values[0], terms, whole=np.size(out) == 1)
    if len(values) == 2 and all(is_float(v) for v in values) and not op.variadic:
        return float(np.shape(values[0])[-1] if np.ndim(values[0]) else 1)
    counted = op.forward(*[np.ones(np.shape(v)) if is_float(v) else v for v in values], **static)
    return float(np.max(counted, initial=1.0))


# -- What errors of operands make of results, by the operation's own derivative: where its record
# does not say more.
#
# The bound is twice that of the first order. It is held against results for operands moved to the
# ends of their errors; where one of these is off by more, as beside a pole or at a singular
# matrix, nothing is known, and the bound is infinite. Of very many results none is
# differentiated: the bound is a multiple of the farthest that a few such operands take any of
# them, which is an estimate.


_TWICE = 2.0
_MANY = 1 << 7  # results up to which each is differentiated by itself
_DIRECTIONS = 3
_ESTIMATED = 16.0
_OF_THESE = 2.0**-46  # how far the rounding of two results may take them apart, relative to the largest entry


def first_order(
    op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]
) -> list[Any]:  # fmt: skip
    """A bound for each result."""
    errors = [np.broadcast_to(e, np.shape(x)) if x is not None else e for x, e in zip(values, errors, strict=True)]
    reached = [_results(op, moved, static) for moved in _moved(values, errors)]
    if not op.elementwise and op.vjp is not None and sum(map(np.size, out)) > _MANY:
        return [
            np.full(np.shape(still), _ESTIMATED * max(float(np.max(_distance(some[i], still), initial=0.0)) for some in reached))
            for i, still in enumerate(out)
        ]
    found = [_by_partials(op, out[0], values, errors, static)] if op.elementwise else _by_entries(op, out, values, errors, static)
    for some in reached:
        for i, (part, still) in enumerate(zip(some, out, strict=True)):
            rounded = _OF_THESE * np.max(np.abs(still), initial=0.0)
            found[i] = np.where(_distance(part, still) > found[i] + rounded, np.inf, found[i])
    return found


def _results(op: Op, values: Sequence[Any], static: Mapping[str, Any]) -> tuple[Any, ...]:
    found = op.forward(*values, **static)
    return found if isinstance(found, tuple) else (found,)


def _moved(values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Operands at the ends of their errors: all up, all down, and some at random, the same at any time."""
    random = np.random.default_rng(20)
    signs: list[Any] = [lambda x: 1.0, lambda x: -1.0]
    signs += [lambda x: random.choice([-1.0, 1.0], np.shape(x))] * _DIRECTIONS
    for sign in signs:
        yield [x if x is None or not np.any(e) else x + sign(x) * e for x, e in zip(values, errors, strict=True)]


def _by_partials(op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return the error by the steepest of the partials at the ends of the intervals."""
    if op.partials is None:
        return np.full(np.shape(out), np.inf)
    choices = [[x] if not np.any(e) else [x - e, x, x + e] for x, e in zip(values, errors, strict=True)]
    total: Any = np.zeros(np.shape(out))
    for slope_of, error in zip(op.partials, errors, strict=True):
        if not np.any(error):
            continue
        if slope_of is None:
            return np.full(np.shape(out), np.inf)
        slopes = [np.abs(slope_of(op.forward(*ends, **static), *ends, **static)) for ends in itertools.product(*choices)]
        steepest = np.max([np.where(np.isnan(slope), np.inf, slope) + np.zeros(np.shape(out)) for slope in slopes], axis=0)
        total = total + _TWICE * np.where(np.equal(error, 0), 0.0, steepest * error)
    return total


def _by_entries(op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> list[Any]:
    """Row by row of the Jacobian, from the rule backwards."""
    if op.vjp is None:
        return [np.full(np.shape(part), np.inf) for part in out]
    wanted = tuple(x is not None and bool(np.any(e)) for x, e in zip(values, errors, strict=True))
    found = []
    for place, part in enumerate(out):
        bounds = np.zeros(np.shape(part))
        for i in range(np.size(part) if is_float(part) else 0):
            one = np.zeros(np.size(part))
            one[i] = 1.0
            cotangent = one.reshape(np.shape(part))[()]
            whole: Any = tuple(cotangent if k == place else None for k in range(len(out))) if op.outputs > 1 else cotangent
            rows = op.vjp(wanted, whole, out if op.outputs > 1 else part, *values, **static)
            off = sum(float(np.sum(np.abs(row) * e)) for row, e, want in zip(rows, errors, wanted, strict=True) if want and row is not None)
            bounds.reshape(-1)[i] = _TWICE * off
        found.append(np.where(np.isnan(bounds), np.inf, bounds))
    return found
