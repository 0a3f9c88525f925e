"""Bounds on errors in plain NumPy, operation by operation: for every operation of the catalogue, and the witness of the fused ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.bounded import ELEMENTARY, UNIT, Arithmetic, Bounded, outwards
from gradcli.check.first_order import first_order
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.reductions.carried import additions
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time

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
        """Whether several entries may be the one, of all that were reduced to it."""
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
        """Whether arithmetic has not been rounded, such as the 2 - 1 of an exponent."""
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
    """Whether a few numbers are products, unrounded."""
    if WIDER:
        return bool(np.all(np.asarray(x, LONG_DOUBLE) * np.asarray(y, LONG_DOUBLE) == out))
    columns = [np.ravel(part).tolist() for part in np.broadcast_arrays(x, y, out)]
    return all(math.isfinite(z) and Fraction(a) * Fraction(b) == Fraction(z) for a, b, z in zip(*columns, strict=True))


def _begins_whole(values: Sequence[Any]) -> bool:
    """Whether the first entries are whole numbers: where they are not, there is no need to look at the others."""
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
