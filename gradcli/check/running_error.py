"""Running error analysis: values with bounds on their rounding errors, as the engine's own rules compute with them."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import add, chain, mul
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.operands import Operand
from gradcli.ops.reductions.carried import additions
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time

# -- Values with bounds on their errors, as rules compute with them: running error analysis --------
#
# An operation's result is off by what its operands' errors make of it, and by its own rounding
# (J. H. Wilkinson; N. J. Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Both
# are facts of its record (`Accuracy`); here stands what is made of them, for arrays and for nodes
# of a graph alike.
#
# A value with an error encloses the truth and what any way to compute it in the precision that is
# judged may give: sums in whatever order, on one thread or several.


UNIT = 2.0**-53  # the rounding error of the arrays that bounds are computed in
ELEMENTARY = 4  # ulps beyond which an operation is as good as its operands, near its zeros


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
        return self.error is None and self.arithmetic.is_zero(self.value)


class Arithmetic(ABC):
    """How values are computed, and bounds on their errors.

    unit   the rounding error of the precision that is judged, relative to a number
    total  that of this precision and of the values here: how far they may be apart after one rounding
    overflown  whether a result so far is not finite, though what it was made of is
    """

    overflown = False

    def __init__(self, precision: str) -> None:
        info = np.finfo(np.dtype(precision))
        self.dtype, self.unit = np.dtype(precision), float(info.eps) / 2
        self.total = self.unit + UNIT
        self.smallest, self.smallest_normal = float(info.smallest_subnormal), float(info.smallest_normal)

    @abstractmethod
    def is_zero(self, value: Any) -> bool:
        """Return whether nothing of a value is anything but zero."""

    @abstractmethod
    def names(self, op: Op, static: Mapping[str, Any]) -> Any:
        """NumPy's functions for these values, the operation itself and the rounding error: what rules of records are given."""

    @abstractmethod
    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """An operation on values with errors, or on numbers of the program: its result with a bound on its error."""

    def allowed(self, part: Bounded) -> Any:
        """How far what is judged may be from the truth, both of which are no farther from the value here than its error.

        A unit in the last place is for numbers of the program that plans put together.
        """
        size = self.names(add, {}).abs(part.value) * (2 * self.unit) + 4 * self.smallest
        return size if part.error is None else part.error * (2 * (1 + 1e-9)) + size

    def error_of(self, operand: Any) -> Any:
        """The error of what a rule hands over: a value with its own, or a number of the program."""
        if isinstance(operand, Bounded):
            return operand.error
        if isinstance(operand, Constant):
            return self.unit * abs(float(operand))
        inexact = isinstance(operand, float) and self.unit > UNIT and float(self.dtype.type(operand)) != operand
        return self.unit * abs(operand) if inexact else None

    def by_facts(self, op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """What errors of operands make of a result, as the record says; NotImplemented, or NaN in some entries, where it says nothing.

        values, errors  of the operands; errors are 0.0 of those that are exact, which are not all
        """
        rule, m = op.accuracy.carries, self.names(op, static)
        if op.facts.linear:
            if op.elementwise:
                return sum(errors[1:], errors[0])
            return m.at(*[x if x is None else m.filled(e, x) for x, e in zip(values, errors, strict=True)])
        if rule is not None:
            found = rule(m, out, *values, *errors, **static)
            return NotImplemented if found is None else found
        if op.rewriting.algebra == "comparison":
            x, y = values
            off = sum(errors[1:], errors[0])
            return m.logical_and(m.logical_not(m.greater(m.abs(x - y), off)), m.greater(off, 0.0))  # NaN may be either
        points = op.accuracy.between
        if points is None:
            return NotImplemented
        if not op.elementwise:
            (x,), (e,) = values, errors
            return self._farthest(m, out, [(m.at(x + s * outwards(m, x, e))) for s in (1.0, -1.0)])
        found = self._at_ends(m, out, values, errors, points if points and isinstance(points[0], tuple) else (points,) * len(values))
        for x, e in zip(values, errors, strict=True) if math.isfinite(op.accuracy.above) else ():
            found = m.where(m.greater(x - e, op.accuracy.above), found, math.nan)
        return found

    def _at_ends(self, m: Any, out: Any, values: Sequence[Any], errors: Sequence[Any], points: Sequence[Any]) -> Any:
        """How far a function that rises or falls between some points gets from its result, within intervals."""
        choices = []
        for x, e, turns in zip(values, errors, points, strict=True):
            if x is None or (type(e) is float and e == 0):
                choices.append([x])
                continue
            off = outwards(m, x, e)
            low, high = x - off, x + off
            choices.append([low, high, *(m.maximum(m.minimum(high, turn), low) for turn in turns)])
        return self._farthest(m, out, [m.at(*ends) for ends in itertools.product(*choices)])

    def _farthest(self, m: Any, out: Any, reached: Sequence[Any]) -> Any:
        found: Any = None
        for part in reached:
            off = m.distance(part, out)
            found = off if found is None else m.maximum(found, off)
        return found

    def own(self, op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any], additions: Callable[[], float]) -> Any:
        """How far an operation's own rounding may take its result, beside underflow; None where nothing is rounded.

        additions  how many roundings of partial sums an entry of the result may have gone through
        """
        accuracy, m = op.accuracy, self.names(op, static)
        if accuracy.rounds is not None:
            return self._both(op) * accuracy.rounds(m, out, *values, **static)
        if not accuracy.ulps:
            return None
        ulps = 1.0 if accuracy.ulps == 1 else 2 * accuracy.ulps  # of IEEE arithmetic half a unit in the last place is all
        match accuracy.rounding:
            case "terms":
                return self._both(op) * (additions() + len(values)) * m.at(*[m.size(x) for x in values])
            case "partial sums":
                return self._both(op) * m.at(m.abs(out))
            case "operands":
                sizes = sum(m.abs(x) if op.elementwise else m.max(m.abs(x)) for x in values if x is not None)
                return self._both(op) * ulps * (m.abs(out) + sizes)
        if self.unit > UNIT and any(isinstance(v, float) for v in static.values()):
            ulps += 1  # parameters are rounded, too
        return (self._both(op) * ulps) * m.abs(out)

    def _both(self, op: Op) -> float:
        """The rounding error of the result that is judged and of the value here; and of those at the ends, where it is computed there."""
        return self.total + (0.0 if op.accuracy.between is None else 2 * UNIT)


def outwards(m: Any, x: Any, error: Any) -> Any:
    """An error that is no smaller after x plus it has been rounded; 0 where x is exact."""
    return error + m.where(m.greater(error, 0.0), m.abs(x) * (4 * UNIT), 0.0)


# -- What errors of operands make of results, by the operation's own derivative: where its record
# does not say more.
#
# The bound is twice that of the first order. It is held against results for operands moved to the
# ends of their errors; where one of these is off by more, as beside a pole or at a singular
# matrix, nothing is known, and the bound is infinite. Of very many results none is
# differentiated: the bound is a multiple of the farthest that a few such operands take any of
# them, which is an estimate.


_TWICE = 2.0
_MANY = 1 << 10  # results up to which each is differentiated by itself
_DIRECTIONS = 3
_ESTIMATED = 16.0
_OF_THESE = 2.0**-46  # how far the rounding of two results may take them apart, relative to the largest entry


def first_order(
    op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]
) -> list[Any]:  # fmt: skip
    """A bound for each result."""
    errors = [np.broadcast_to(e, np.shape(x)) if x is not None else e for x, e in zip(values, errors, strict=True)]
    if op.elementwise:
        found = [_by_partials(op, out[0], values, errors, static)]
    elif op.vjp is None:
        return [np.full(np.shape(part), np.inf) for part in out]
    elif sum(np.size(part) for part in out) > _MANY:
        return _estimated(op, out, values, errors, static)
    else:
        found = _by_entries(op, out, values, errors, static)
    for moved in _ends(values, errors):
        reached = op.forward(*moved, **static)
        for i, (part, still) in enumerate(zip(reached if isinstance(reached, tuple) else (reached,), out, strict=True)):
            rounded = _OF_THESE * np.max(np.abs(still), initial=0.0)
            beyond = ~(np.abs(np.asarray(part, float) - still) <= found[i] + rounded) & np.not_equal(part, still)
            found[i] = np.where(beyond, np.inf, found[i])
    return found


def _estimated(op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> list[Any]:
    farthest = [0.0] * len(out)
    for moved in _ends(values, errors):
        reached = op.forward(*moved, **static)
        for i, (part, still) in enumerate(zip(reached if isinstance(reached, tuple) else (reached,), out, strict=True)):
            off = float(np.max(np.abs(np.asarray(part, float) - still), initial=0.0))
            farthest[i] = max(farthest[i], np.inf if np.isnan(off) else off)
    return [np.full(np.shape(part), _ESTIMATED * off) for part, off in zip(out, farthest, strict=True)]


def _ends(values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Operands at the ends of their errors: all up, all down, and some at random, the same at any time."""
    random = np.random.default_rng(20)
    signs: list[Any] = [lambda x: 1.0, lambda x: -1.0]
    signs += [lambda x: random.choice([-1.0, 1.0], np.shape(x))] * _DIRECTIONS
    for sign in signs:
        yield [x if x is None or not np.any(e) else x + sign(x) * e for x, e in zip(values, errors, strict=True)]


def _by_partials(op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """By the steepest of the partials at the ends of the intervals."""
    if op.partials is None:
        return np.full(np.shape(out), np.inf)
    choices = [[x] if not np.any(e) else [x - e, x, x + e] for x, e in zip(values, errors, strict=True)]
    total: Any = np.zeros(np.shape(out))
    for i, (slope_of, error) in enumerate(zip(op.partials, errors, strict=True)):
        if not np.any(error):
            continue
        if slope_of is None:
            return np.full(np.shape(out), np.inf)
        steepest: Any = 0.0
        for ends in itertools.product(*choices):
            slope = np.abs(slope_of(op.forward(*ends, **static), *ends, **static))
            steepest = np.fmax(steepest, np.where(np.isnan(slope), np.inf, slope))
        total = total + _TWICE * np.where(np.equal(errors[i], 0), 0.0, steepest * errors[i])
    return total


def _by_entries(op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> list[Any]:
    """Row by row of the Jacobian, from the rule backwards."""
    assert op.vjp is not None
    wanted = tuple(x is not None and bool(np.any(e)) for x, e in zip(values, errors, strict=True))
    found = []
    for place, part in enumerate(out):
        bounds = np.zeros(np.shape(part))
        if np.asarray(part).dtype.kind != "f":
            found.append(bounds)
            continue
        for i in range(np.size(part)):
            one = np.zeros(np.size(part))
            one[i] = 1.0
            cotangent = one.reshape(np.shape(part))[()]
            whole: Any = tuple(cotangent if k == place else None for k in range(len(out))) if op.outputs > 1 else cotangent
            rows = op.vjp(wanted, whole, out if op.outputs > 1 else part, *values, **static)
            off = sum(float(np.sum(np.abs(row) * e)) for row, e, want in zip(rows, errors, wanted, strict=True) if want and row is not None)
            bounds.reshape(-1)[i] = _TWICE * off
        found.append(np.where(np.isnan(bounds), np.inf, bounds))
    return found


# -- Bounds on errors in plain NumPy, operation by operation: for every operation of the catalogue,
# and the witness of the fused ones.


_A_FEW = 64


class Names:
    """NumPy's functions, and the operation that is asked about."""

    def __init__(self, arithmetic: Arithmetic, op: Op, static: Mapping[str, Any]) -> None:
        self.at = partial(op.forward, **static)
        self.unit, self.unit_of_arrays = arithmetic.unit, UNIT
        self.smallest, self.smallest_normal = arithmetic.smallest, arithmetic.smallest_normal

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def filled(error: Any, x: Any) -> Any:
        return error if np.shape(error) == np.shape(x) else np.broadcast_to(error, np.shape(x))

    @staticmethod
    def size(x: Any) -> Any:
        return np.abs(x) if _is_float(x) else x

    @staticmethod
    def distance(x: Any, y: Any) -> Any:
        """How far values are apart; infinite where one of them is NaN, and 0 where both are the same."""
        off = np.where(np.equal(x, y), 0.0, np.abs(np.asarray(x, float) - np.asarray(y, float)))
        return np.where(np.isnan(off), np.where(np.isnan(np.asarray(y, float)), 0.0, np.inf), off) if np.isnan(off).any() else off


class Arrays(Arithmetic):
    """Float64 arrays. What values tell is used: what is whole numbers is not rounded, what is zero carries no error."""

    def names(self, op: Op, static: Mapping[str, Any]) -> Names:
        return Names(self, op, static)

    def is_zero(self, value: Any) -> bool:
        return not np.any(value)

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        still_in_time()
        values = [o.value if isinstance(o, Bounded) else o for o in operands]
        errors = [self.error_of(o) for o in operands]
        out = op.forward(*values, **static)
        if isinstance(out, tuple):
            found = self._several(op, out, values, errors, static)
            return tuple(self.bounded(part, error) for part, error in zip(out, found, strict=True))
        error = _plus(self._carried(op, out, values, errors, static), self._rounding(op, out, values, static))
        if _is_float(out) and not np.isfinite(out).all():
            self.overflown = self.overflown or all(np.isfinite(x).all() for x in values if _is_float(x))
            if error is not None:
                error = self._of_infinities(op, out, values, errors, static, error)
        result = self.bounded(out, error)
        result.among = self._among(op, operands, values, static)
        if op.rewriting.algebra == "comparison" and result.error is not None:
            result.error = self._told_apart(operands, values, result.error)
        return result

    def _among(self, op: Op, operands: Sequence[Any], values: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """The entries one of which the result is, if it is one; kept by what gives it another shape."""
        if op.accuracy.among is not None:
            return op.accuracy.among(*values, **static)
        kept = op.rewriting.reshapes or op.rewriting.unchanged
        return operands[0].among if kept and isinstance(operands[0], Bounded) else None

    def _told_apart(self, operands: Sequence[Any], values: Sequence[Any], unsure: Any) -> Any:
        """Which entries equal one of themselves is certain, where no other is as near."""
        for x, best in zip(values, operands[::-1], strict=True):
            if isinstance(best, Bounded) and best.among is not None and np.array_equal(best.among, x):
                return np.where(self._near(unsure, best), unsure, False)
        return unsure

    def _near(self, unsure: Any, best: Bounded) -> Any:
        """Return whether several entries may be the one, of all that were reduced to it."""
        shape = (1,) * (np.ndim(unsure) - best.ndim) + best.shape
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
        return np.sum(unsure, axis=axes, keepdims=True) > 1

    def _of_infinities(self, op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any], error: Any) -> Any:
        """What has overflown has no error, since that is no rounding; what is infinite at a pole that errors may have led to has any."""
        led: Any = False
        for e in errors:
            led = led | (np.isinf(e) if op.elementwise else np.any(np.isinf(e))) if _is_float(e) else led
        if op.elementwise and any(_is_float(e) for e in errors):
            for sign in (-1.0, 1.0):
                moved = [x + sign * outwards(np, x, e) if _is_float(e) else x for x, e in zip(values, errors, strict=True)]
                reached = op.forward(*moved, **static)
                led = led | ((reached != out) & ~(np.isnan(reached) & np.isnan(out)))
        certain = np.asarray(np.isfinite(error)) & ~np.isnan(out)
        return np.where(np.isfinite(out), error, np.where(certain | ~np.asarray(led), 0.0, np.inf))

    def bounded(self, value: Any, error: Any) -> Bounded:
        """A value with its error, None where that is nothing."""
        if error is not None and not np.any(error):
            error = None
        return Bounded(value, error, self)

    def _carried(self, op: Op, out: Any, values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> Any:
        if op.elementwise and _is_backward_stable(op):
            # right for operands that are off by a unit in their last place
            errors = [e if not _is_float(x) else _plus(e, self.total * np.abs(x)) for x, e in zip(values, errors, strict=True)]
        if op.core_dims is not None and _is_backward_stable(op):
            errors = [_plus(e, self._backward(x)) for x, e in zip(values, errors, strict=True)]
        if all(e is None for e in errors):
            return None
        kind = np.asarray(out).dtype.kind
        given = [0.0 if e is None else e for e in errors]
        found = self.by_facts(op, out, values, given, static)
        if found is NotImplemented:
            if kind == "b":
                return _uncertain(out, values, errors)
            if kind in "iu":
                return np.full(np.shape(out), -1)
            if not self._all_floats(values, errors):
                return np.full(np.shape(out), np.inf)  # which entry is meant is not certain
            found = first_order(op, (out,), values, given, static)[0]
        if kind != "f" or np.isfinite(found).all():
            return found
        if math.isfinite(op.accuracy.above):
            found = np.where(np.isnan(found), first_order(op, (out,), values, given, static)[0], found)
        return _mended(op, found, given)

    def _backward(self, x: Any) -> Any:
        """Backward stable algorithms give what is right for an operand that is off by rounding, relative to its size."""
        rows = sum(np.shape(x)[-2:])
        return 4 * rows * self.total * np.max(np.abs(x), initial=0.0)

    def _several(self, op: Op, out: tuple[Any, ...], values: list[Any], errors: list[Any], static: Mapping[str, Any]) -> Sequence[Any]:
        if op.core_dims is not None:
            errors = [_plus(e, self._backward(x)) for x, e in zip(values, errors, strict=True)]
        given = [0.0 if e is None else e for e in errors]
        rule, found = op.accuracy.carries, None
        if rule is not None:
            found = rule(self.names(op, static), out, *values, *given, **static)
        if found is None:
            found = first_order(op, out, values, given, static)
        own = [8 * self.total * np.abs(part) if _is_float(part) else None for part in out]
        return [_plus(np.where(np.isnan(e), np.inf, e), more) for e, more in zip(found, own, strict=True)]

    @staticmethod
    def _all_floats(values: list[Any], errors: list[Any]) -> bool:
        return all(e is None or _is_float(x) for x, e in zip(values, errors, strict=True))

    def _rounding(self, op: Op, out: Any, values: list[Any], static: Mapping[str, Any]) -> Any:
        if not (op.accuracy.ulps or op.accuracy.rounds) or not _is_float(out) or self._is_exact(op, out, values):
            return None
        found = self.own(op, out, values, static, partial(_additions, op, out, values, static))
        if found is None:
            return None
        return found if op.facts.linear else found + self._underflow(op, out, values)

    def _underflow(self, op: Op, out: Any, values: Sequence[Any]) -> Any:
        """What is lost beneath the normal numbers, though no operand is infinite, nor zero unless others are multiplied; sums lose none."""
        lost = np.abs(out) < self.smallest_normal
        if not np.any(lost):
            return 0.0
        factor: Any = 1.0  # of a product within the operation, such as that of silu
        for value in values:
            if _is_float(value):
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
            return _is_product(out, *values) and bool(np.all(np.frexp(out)[0] % (2 * self.unit) == 0))
        if not _begins_whole(values) or not all(_are_whole(v) for v in [*values, out]):
            return False
        if op.accuracy.compounds:
            most = np.prod(np.maximum(np.abs(values[0]), 1.0))
        else:
            most = np.sum(np.abs(values[0])) if adds else np.max(np.abs(out), initial=0.0)
        return bool(most < 1 / self.unit)


def _is_backward_stable(op: Op) -> bool:
    return op.accuracy.ulps > ELEMENTARY and op.accuracy.rounding == "result" and op.accuracy.rounds is None


def _is_product(out: Any, x: Any, y: Any) -> bool:
    """Return whether a few numbers are products, unrounded."""
    if WIDER:
        return bool(np.all(np.asarray(x, LONG_DOUBLE) * np.asarray(y, LONG_DOUBLE) == out))
    columns = [np.ravel(part).tolist() for part in np.broadcast_arrays(x, y, out)]
    return all(math.isfinite(z) and Fraction(a) * Fraction(b) == Fraction(z) for a, b, z in zip(*columns, strict=True))


def _begins_whole(values: Sequence[Any]) -> bool:
    """Return whether the first entries are whole numbers: where they are not, there is no need to look at the others."""
    for value in values:
        array = np.asarray(value)
        if array.size and not float(array.flat[0]).is_integer():
            return False
    return True


def _are_whole(value: Any) -> bool:
    return bool(np.all(value == np.rint(value)))


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _is_float(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind == "f"


def _uncertain(out: Any, values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Truths of uncertain operands: of truths, if these are; of numbers, if they may have another sign."""
    found: Any = False
    for value, error in zip(values, errors, strict=True):
        if error is not None:
            kind = np.asarray(value).dtype.kind
            found = found | (np.asarray(error, bool) if kind == "b" else np.abs(value) <= error if kind == "f" else np.not_equal(error, 0))
    return np.broadcast_to(found, np.shape(out))


def _mended(op: Op, found: Any, errors: Sequence[Any]) -> Any:
    """Entries all of whose operands are exact are, whatever else is infinite."""
    found = np.where(np.isnan(found), np.inf, found)
    if not op.elementwise:
        return found
    touched: Any = False
    for error in errors:
        touched = touched | np.not_equal(error, 0)
    return np.where(touched, found, 0.0)


def _additions(op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any]) -> float:
    """How many roundings of partial sums an entry of a result may have gone through."""
    if len(values) == 1 and np.size(values[0]) >= np.size(out):
        terms = np.size(values[0]) / max(1, np.size(out))
        return additions(values[0], terms, whole=np.size(out) == 1)
    if len(values) == 2 and all(_is_float(v) for v in values) and not op.variadic:
        return float(np.shape(values[0])[-1] if np.ndim(values[0]) else 1)
    counted = op.forward(*[np.ones(np.shape(v)) if _is_float(v) else v for v in values], **static)
    return float(np.max(counted, initial=1.0))
