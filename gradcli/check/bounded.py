"""Values with bounds on their errors, as rules compute with them: running error analysis.

An operation's result is off by what its operands' errors make of it, and by its own rounding (J. H. Wilkinson; N. J. Higham, Accuracy
and Stability of Numerical Algorithms, chapter 3). Both are facts of its record (`Accuracy`); here stands what is made of them, for arrays
and for nodes of a graph alike.

A value with an error encloses the truth and what any way to compute it in the precision that is judged may give: sums in whatever order,
on one thread or several.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.operand import Operand
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import add
from gradcli.ops.spec import Op

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
        """Whether nothing of a value is anything but zero."""

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
