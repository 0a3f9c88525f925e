"""How far rounding may take the engine: running error analysis, through the engine's own rules.

An operation's result is off by what its operands' errors make of it, and by its own rounding (J. H.
Wilkinson; N. J. Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Both are facts
of its record (`carries`, `rounding`, `ulps`). The forward pass and the sweep are run once more on
values with errors.

A value with an error encloses the truth and what any way to compute it in the precision that is
judged may give: sums in whatever order, on one thread or several, in blocks or in native code.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.graph.nodes import Domain, Expr, constant_value, interpret, reachable, rebuild
from gradcli.graph.sweep import alike, backward, join_values, plus, vjp
from gradcli.ops.carrying import additions
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import chain
from gradcli.ops.extended import is_float
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op, as_tuple
from gradcli.reference.deadline import still_in_time

UNIT = 2.0**-53  # unit roundoff of the arrays in which bounds are computed
_ROWS = 32  # of the largest matrices whose functions are opened
ELEMENTARY = 4  # with more ulps, a result is only as accurate as its operands, near its zeros


class Carried(Operand):
    """A value that rules compute with, and the arithmetic that carries something along with it."""

    __slots__ = ("arithmetic", "value")
    __array_ufunc__ = None  # so that NumPy leaves mixed operators to this class
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


@dataclass(eq=False, slots=True)
class Bounded(Carried):
    """A value, and how far its entries may be from the truth.

    among  the entries one of which this is, if it was chosen among some; else None
    error  a bound for each entry; None where all are exact. Of truths, which may be either; of
           indices, marks of those that are not certain
    """

    value: Any
    error: Any
    arithmetic: Arithmetic
    among: Any = None

    def is_zero(self) -> bool:
        return self.error is None and not np.any(self.value)

    def join(self, numbers: Sequence[Bounded]) -> Bounded:
        values, errors = zip(*[(x.value, x.error or 0.0) for x in numbers], strict=True)
        return self.arithmetic.bounded(np.array(values), np.array(errors))

    def split(self) -> list[Bounded]:
        return [*map(self.arithmetic.bounded, self.value, plus(self.error, np.zeros(self.shape)))]


class Names:
    """NumPy's functions, and the operation that a rule is asked about."""

    def __init__(self, arithmetic: Arithmetic, op: Op, static: Mapping[str, Any]) -> None:
        self.at = partial(op.forward, **static)
        self.unit, self.unit_of_arrays, self.smallest = arithmetic.unit, UNIT, arithmetic.smallest

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def fill(error: Any, x: Any) -> Any:
        return np.broadcast_to(error, np.shape(x))


class Arithmetic:
    """Float64 arrays and bounds on their errors.

    What is whole numbers is not rounded, and what is zero carries no error.

    unit       the rounding error of the precision that is judged, relative to a number
    total      that of this precision and of the values here: how far they may be apart after one
               rounding
    overflown  whether a result so far is not finite, though what it was made of is
    """

    overflown = False

    def __init__(self, precision: str) -> None:
        info = np.finfo(np.dtype(precision))
        self.dtype, self.unit = np.dtype(precision), float(info.eps) / 2
        self.total = self.unit + UNIT
        self.smallest, self.smallest_normal = (
            float(info.smallest_subnormal),
            float(info.smallest_normal),
        )

    def allowance(self, part: Bounded | None, shape: tuple[int, ...]) -> np.ndarray:
        """Return how far an array that is judged may be from the truth.

        Neither of the two is farther from the value here than this value's error.

        A unit in the last place is added for numbers of the program that plans put together. It is
        not added for truths and whole numbers.
        """
        if part is None or np.asarray(part.value).dtype.kind != "f":
            return np.zeros(shape)
        bound = np.abs(part.value) * (2 * self.unit) + 4 * self.smallest
        if part.error is not None:
            bound = part.error * (2 * (1 + 1e-9)) + bound
        return np.broadcast_to(without_nan(bound), shape)

    def error_of(self, operand: Any) -> Any:
        """Return the error of what a rule hands over.

        That is a value with its own error, or a number of the program.
        """
        if isinstance(operand, Bounded):
            return operand.error
        if isinstance(operand, Constant):
            return self.unit * abs(float(operand))
        inexact = (
            isinstance(operand, float)
            and self.unit > UNIT
            and float(self.dtype.type(operand)) != operand
        )
        return self.unit * abs(operand) if inexact else None

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """Apply an operation to values with errors, or to numbers of the program.

        The result has a bound on its error.
        """
        still_in_time()
        values = [o.value if isinstance(o, Bounded) else o for o in operands]
        errors = [self.error_of(o) for o in operands]
        # The definition of an adjugate has a determinant for each entry of a matrix.
        large = op.core_dims is not None and max(np.shape(values[0]), default=0) > _ROWS
        opens = op.carries is None and not (op.linear or large) and np.size(values[0])
        if opens and op.body is not None:
            opened = op.body(*operands, **static)
            if is_finite(opened.value):
                return opened
        out = op.forward(*values, **static)
        error = self._propagate(op, out, values, errors, static)
        if op.outputs > 1:
            own = (8 * self.total * np.abs(part) if is_float(part) else None for part in out)
            rows = zip(out, error, own, strict=True)
            return tuple(self.bounded(part, plus(without_nan(e), more)) for part, e, more in rows)
        error = plus(error, self.rounding(op, out, values, static))
        if is_float(out) and not is_finite(out):
            self.overflown = self.overflown or all(map(is_finite, filter(is_float, values)))
            if error is not None:
                error = self._of_infinities(op, out, values, errors, static, error)
        result = self.bounded(out, error)
        if op.carries == () and not op.ulps and not op.elementwise:
            result.among = values[0]
        elif op.algebra == "reshaping" or op.leaves_unchanged:
            result.among = getattr(operands[0], "among", None)
        if op.algebra == "comparison" and result.error is not None:
            result.error = self._told_apart(operands, values, result.error)
        return result

    def bounded(self, value: Any, error: Any) -> Bounded:
        """Return a value with its error; an error of nothing becomes None."""
        return Bounded(value, error if error is not None and _any(error) else None, self)

    @staticmethod
    def _told_apart(operands: Sequence[Any], values: Sequence[Any], unsure: Any) -> Any:
        """Take entries that equal one of the operands as certain, where no other is as near."""
        for x, best in zip(values, operands[::-1], strict=True):
            among = getattr(best, "among", None)
            if among is not None and np.array_equal(among, x):
                shape = (1,) * (np.ndim(unsure) - best.ndim) + best.shape
                axes = tuple(i for i, n in enumerate(shape) if n == 1)
                return unsure & (np.sum(unsure, axis=axes, keepdims=True) > 1)
        return unsure

    def _of_infinities(
        self,
        op: Op,
        out: Any,
        values: Sequence[Any],
        errors: Sequence[Any],
        static: Mapping[str, Any],
        error: Any,
    ) -> Any:
        """Replace the errors of results that are not finite.

        The error is zero for what has overflown, which is not rounding. It is infinite for what is
        infinite at a pole that errors may lead to.
        """
        led: Any = any(np.any(np.isinf(e)) for e in errors if is_float(e))
        if op.elementwise:
            led = False
            for sign in (-1.0, 1.0):
                moved = [
                    x + sign * outwards(x, e) if is_float(e) else x
                    for x, e in zip(values, errors, strict=True)
                ]
                led = led | (_distance(op.forward(*moved, **static), out) > 0)
        certain = np.asarray(np.isfinite(error)) & ~np.isnan(out)
        return np.where(np.isfinite(out), error, np.where(certain | ~np.asarray(led), 0.0, np.inf))

    # -- What errors of operands make of a result

    def _propagate(
        self, op: Op, out: Any, values: list[Any], errors: list[Any], static: Mapping[str, Any]
    ) -> Any:
        if (
            op.ulps > ELEMENTARY
            and op.rounding == "result"
            and (op.elementwise or op.core_dims is not None)
        ):
            # The result is right only for operands that are off: by a unit in their last place, or
            # by rounding relative to the size of a matrix.
            off = [self._backward(op, x) if is_float(x) else None for x in values]
            errors = [*map(plus, off, errors)]
        if op.outputs == 1 and all(e is None for e in errors):
            return None
        given = [0.0 if e is None else e for e in errors]
        found = self.by_facts(op, out, values, given, static)
        if op.outputs > 1:
            return first_order(op, out, values, given, static) if found is None else found
        kind = np.asarray(out).dtype.kind
        if found is None:
            if kind == "b":
                return _uncertain(out, values, errors)
            if kind in "iu":
                return np.full(np.shape(out), -1)
            if not all(e is None or is_float(x) for x, e in zip(values, errors, strict=True)):
                return np.full(np.shape(out), np.inf)  # it is uncertain which entry is meant
            (found,) = first_order(op, (out,), values, given, static)
        if kind != "f" or is_finite(found):
            return found
        if isinstance(op.carries, tuple) and np.isnan(found).any():
            (instead,) = first_order(op, (out,), values, given, static)
            found = np.where(np.isnan(found), instead, found)
        found = without_nan(found)
        if not op.elementwise:
            return found
        # An entry whose operands are all exact is exact, whatever else is infinite.
        inexact = np.broadcast_arrays(*[np.not_equal(e, 0) for e in given])
        return np.where(np.any(inexact, axis=0), found, 0.0)

    def _backward(self, op: Op, x: Any) -> Any:
        if op.core_dims is None:
            return self.total * np.abs(x)
        return 4 * sum(np.shape(x)[-2:]) * self.total * np.max(np.abs(x), initial=0.0)

    def by_facts(
        self,
        op: Op,
        out: Any,
        values: Sequence[Any],
        errors: Sequence[Any],
        static: Mapping[str, Any],
    ) -> Any:
        """Return the error that operands' errors make in a result, as the record says.

        It is None, or NaN in some entries, where the record says nothing.

        values, errors  of the operands; errors are 0.0 of those that are exact, which are not all
        """
        m, carries = Names(self, op, static), op.carries
        if op.linear:
            if op.elementwise:
                return sum(errors[1:], errors[0])
            return m.at(
                *[x if x is None else m.fill(e, x) for x, e in zip(values, errors, strict=True)]
            )
        if callable(carries):
            return carries(m, out, *values, *errors, **static)
        if op.algebra == "comparison":
            x, y = values
            off = sum(errors[1:], errors[0])
            return ~np.greater(np.abs(x - y), off) & np.greater(off, 0.0)  # NaN is unsure, too
        if carries is None:
            return None
        points = carries if carries and isinstance(carries[0], tuple) else (carries,) * len(values)
        found = _at_ends(m, out, values, errors, points)
        for x, e, turns in zip(values, errors, points, strict=True):
            if turns[:1] == (-math.inf,):
                found = np.where(np.greater(x - e, turns[1]), found, math.nan)
        return found

    # -- An operation's own rounding

    def rounding(self, op: Op, out: Any, values: list[Any], static: Mapping[str, Any]) -> Any:
        """Return the error of an operation's own rounding; None where nothing is rounded."""
        rounds = (op.ulps or callable(op.rounding)) and is_float(out)
        exact = rounds and self._exact(op, out, values)
        if not rounds or (not np.ndim(exact) and exact):
            return None
        found = self.own(op, out, values, static, partial(_additions, op, out, values, static))
        if found is not None and not op.linear:
            found = found + self.underflow(op, out, values)
        return found if found is None or not np.ndim(exact) else np.where(exact, 0.0, found)

    def own(
        self,
        op: Op,
        out: Any,
        values: Sequence[Any],
        static: Mapping[str, Any],
        additions: Callable[[], float],
    ) -> Any:
        """Return the error of an operation's own rounding, apart from underflow.

        additions  how many roundings of partial sums an entry of the result may have gone through
        """
        m = Names(self, op, static)
        # The rounding of the result that is judged and of the value here; also of the values at the
        # ends of the operands' intervals, where those are computed.
        both = self.total + (2 * UNIT if isinstance(op.carries, tuple) else 0.0)
        if callable(op.rounding):
            return both * op.rounding(m, out, *values, **static)
        if not op.ulps:
            return None
        # IEEE arithmetic is off by no more than half a unit in the last place
        ulps = 1.0 if op.ulps == 1 else 2 * op.ulps
        match op.rounding:
            case "terms":
                return (
                    both
                    * (additions() + len(values))
                    * m.at(*[np.abs(x) if is_float(x) else x for x in values])
                )
            case "partial sums":
                return both * m.at(np.abs(out))
            case "operands":
                sizes = [np.abs(x) for x in values if x is not None]
                total = sum(sizes if op.elementwise else map(np.max, sizes))
                return both * ulps * (np.abs(out) + total)
        if self.unit > UNIT and any(isinstance(v, float) for v in static.values()):
            ulps += 1  # a float parameter is rounded, too
        return (both * ulps) * np.abs(out)

    def underflow(self, op: Op, out: Any, values: Sequence[Any]) -> Any:
        """Return the size of what is lost beneath normal numbers.

        Something is lost only where no operand is infinite, and none is zero unless the operation
        multiplies others. Sums lose nothing.
        """
        lost = np.abs(out) < self.smallest_normal
        if not _any(lost):
            return 0.0
        factor: Any = 1.0  # of a product inside the operation, as in silu
        for value in values:
            if is_float(value):
                inside = np.isfinite(value) & ((value != 0) | callable(op.rounding))
                lost = lost & (inside if op.elementwise else np.any(inside))
                factor = (
                    np.maximum(factor, np.abs(value))
                    if op.elementwise
                    else max(factor, np.size(value) / max(1, np.size(out)))
                )
        return np.where(lost, 4 * self.smallest * np.where(np.isfinite(factor), factor, 1.0), 0.0)

    def _exact(self, op: Op, out: Any, values: list[Any]) -> Any:
        """Return which results of arithmetic have not been rounded, as the 2 - 1 of an exponent."""
        compounds = op.algebra == "product of entries"
        sums = op.rounding in ("terms", "partial sums")
        adds = op.integral and (compounds or sums) and len(values) == 1
        by_entries = op.integral and op.elementwise and op.algebra != "power"
        if not (adds or by_entries or op is chain):
            return False
        if not adds and np.ndim(out):
            whole: Any = True
            for x in [out, *values]:
                whole = whole & (x == np.rint(x))
                if not whole.any():  # of most arrays no entry is
                    return False
            return whole & (np.abs(out) < 1 / self.unit)
        if not all(map(_is_whole, [out, *values])):
            return False
        sizes = np.abs(values[0]) if adds and not compounds else np.max(np.abs(out), initial=0.0)
        return bool(np.sum(sizes) < 1 / self.unit)


def outwards(x: Any, error: Any) -> Any:
    """Return an error that is no smaller after x plus it has been rounded; 0 where x is exact."""
    return np.where(np.greater(error, 0.0), (error + UNIT * np.abs(x)) * (1 + 4 * UNIT), error)


def _at_ends(
    m: Names, out: Any, values: Sequence[Any], errors: Sequence[Any], points: Sequence[Any]
) -> Any:
    """Return the largest change of a function within intervals.

    Between the given points the function only rises or only falls.
    """
    choices = []
    for x, e, turns in zip(values, errors, points, strict=True):
        if x is None or (type(e) is float and e == 0):
            choices.append([x])
            continue
        off = outwards(x, e)
        low, high = x - off, x + off
        choices.append([low, high, *(np.clip(turn, low, high) for turn in turns)])
    distances = (_distance(m.at(*ends), out) for ends in itertools.product(*choices))
    return functools.reduce(np.maximum, distances, 0.0)


def _distance(x: Any, y: Any) -> Any:
    """Return the distance of values.

    It is infinite where one of them is NaN, and 0 where both are the same.
    """
    off = np.abs(np.subtract(x, y, dtype=float))
    if _any(off != off):
        off = np.where(np.equal(x, y) | np.isnan(y), 0.0, without_nan(off))
    return off


def without_nan(bounds: Any) -> Any:
    """Return bounds that are infinite where nothing is known."""
    return np.fmin(bounds, np.inf)


# On single numbers, which long programs consist of, NumPy's functions take many times as long as
# Python's.


def is_finite(value: Any) -> bool:
    """Return whether all entries are finite."""
    return bool(np.isfinite(value).all()) if np.ndim(value) else math.isfinite(value)


def _any(value: Any) -> bool:
    """Return whether any entry is not zero."""
    return bool(np.any(value)) if np.ndim(value) else bool(value)


def _is_whole(value: Any) -> bool:
    """Return whether all entries are whole numbers."""
    return bool(np.all(value == np.rint(value))) if np.ndim(value) else float(value).is_integer()


def _uncertain(out: Any, values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Return which results may be uncertain because an operand is.

    A truth is uncertain as such; a number is uncertain if it may have another sign.
    """
    found: Any = False
    for value, error in zip(values, errors, strict=True):
        if error is not None:
            kind = np.asarray(value).dtype.kind
            found = found | (np.abs(value) <= error if kind == "f" else np.not_equal(error, 0))
    return np.broadcast_to(found, np.shape(out))


def _additions(op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any]) -> float:
    """Return how many roundings of partial sums an entry of a result may have gone through."""
    if len(values) == 1 and np.size(values[0]) >= np.size(out):
        terms = np.size(values[0]) / max(1, np.size(out))
        return additions(values[0], terms, whole=np.size(out) == 1)
    if len(values) == 2 and all(is_float(v) for v in values) and not op.variadic:
        return float(np.shape(values[0])[-1] if np.ndim(values[0]) else 1)
    counted = op.forward(*[np.ones(np.shape(v)) if is_float(v) else v for v in values], **static)
    return float(np.max(counted, initial=1.0))


# -- What errors of operands make of results where a record does not say it: a multiple of how far
# operands that are moved to the ends of their errors take an entry, or, of whole arrays, any of
# them. That is an estimate. Where an entry is off by more than in proportion, as beside a pole,
# nothing is known, and the bound is infinite.


_DIRECTIONS = 3
_ESTIMATED, _IN_PROPORTION = 4.0, 6.0
# How far apart rounding may take two results, relative to the largest entry.
_OF_THESE = 2.0**-46


def first_order(
    op: Op,
    out: tuple[Any, ...],
    values: Sequence[Any],
    errors: Sequence[Any],
    static: Mapping[str, Any],
) -> list[Any]:
    """Return an estimate of the error of each result."""

    def farthest_at(share: float) -> list[Any]:
        farthest: list[Any] = [0.0] * len(out)
        for moved in _moves(values, [share * np.asarray(e) for e in errors]):
            found = op.forward(*moved, **static)
            parts = as_tuple(found)
            farthest = [*map(np.maximum, farthest, map(_distance, parts, out))]
        return farthest

    whole = farthest_at(1.0)
    if not op.elementwise:
        return [np.full(np.shape(far), _ESTIMATED * np.max(far, initial=0.0)) for far in whole]
    (far,), (half,) = whole, farthest_at(0.5)
    rounded = _OF_THESE * np.max(np.abs(out[0]), initial=0.0)
    return [np.where(far > _IN_PROPORTION * half + rounded, np.inf, _ESTIMATED * far)]


def _moves(values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Yield operands moved to the ends of their errors.

    They are moved all up, all down, and some at random, which is the same at any time.
    """
    random = np.random.default_rng(20)
    for place in range(2 + _DIRECTIONS):
        moved = []
        for x, e in zip(values, errors, strict=True):
            sign = random.choice([-1.0, 1.0], np.shape(x)) if place > 1 else 1.0 - 2 * place
            moved.append(x if x is None or not np.any(e) else x + sign * e)
        yield moved


# -- The bounds of a function and its gradients.


@dataclass
class ArithmeticDomain(Domain[Any]):
    """Values that an arithmetic computes from leaves of its own."""

    leaves: Mapping[Expr, Any]
    arithmetic: Any

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.arithmetic.apply(op, operands, node.static)


class Bounds(ArithmeticDomain):
    """Floats of the precision that is judged, each with a bound of its error."""

    def leaf(self, node: Expr) -> Bounded:
        value = np.asarray(self.leaves[node])
        value = value.astype(np.float64) if value.dtype.kind == "f" else value
        return Bounded(value[()], None, self.arithmetic)

    def constant(self, node: Expr) -> Bounded:
        value = constant_value(node, self.arithmetic.dtype)
        value = value.astype(np.float64) if node.kind == "float" else value
        inexact = isinstance(node.payload, Constant)
        error = self.arithmetic.unit * np.abs(value) if inexact else None
        return Bounded(value, error, self.arithmetic)


def _values_with_bounds(
    nodes: Sequence[Expr], leaves: Mapping[Expr, Any], precision: str
) -> dict[Expr, Any]:
    """Return what nodes are made of, each with a bound on its error."""
    order, domain = reachable(nodes), Bounds(leaves, Arithmetic(precision))
    table: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for node, group in alike(order).items():
            if len(group) == 1:
                interpret(group, domain, table)
            elif node not in table:
                columns = zip(*[x.operands for x in group], strict=True)
                operands = [join_values(column, table.__getitem__) for column in columns]
                whole = domain.operation(node, node.op, operands)
                table.update(zip(group, whole.split(), strict=True))
        return interpret(order, domain, table)


def error_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[list[np.ndarray], bool]:
    """Return how far from the truth rounding may take the value, and then each gradient.

    The bound is infinite where the result may be anything. The last item tells whether something on
    the way to these is not finite, though what it is made of is.
    """
    table = _values_with_bounds([root], leaves, precision)
    top = table[root]
    start = Bounded(np.asarray(seed, np.float64)[()], None, top.arithmetic)
    with np.errstate(all="ignore"):
        found = backward(reachable([root]), {root: start}, wrt, table.__getitem__)
        bounds = map(
            top.arithmetic.allowance, [top, *map(found.get, wrt)], [x.shape for x in [root, *wrt]]
        )
        return [*bounds], top.arithmetic.overflown


# -- Branches that rounding decides: comparisons whose sides are within rounding of each other, and
# the derivatives either way.


_ALL_WAYS = 4  # most comparisons of which every combination is tried
DECIDES = "{}: rounding decides the branch"
_LONGEST = 60  # most characters of a comparison in words


class Branches(NamedTuple):
    """The ways that a function may take where rounding decides.

    text     the comparison that it decides, in words
    results  of the value and each gradient: their entries on each way
    bounds   how far rounding takes these, once the branch is decided
    """

    text: str
    results: list[np.ndarray]
    bounds: list[np.ndarray]

    def differ(self, place: int) -> bool:
        """Return True if the branch makes more of a difference to a result than rounding."""
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            return bool(np.any(np.ptp(self.results[place], axis=0) > self.bounds[place]))


def branches(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> Branches | None:
    """Return the ways between which rounding in a precision decides, or None if there are none."""
    graph = root.graph
    mark = graph.mark()
    try:
        nodes = [root, *vjp(root, wrt, graph.constant(np.broadcast_to(seed, root.shape)[()]))]
        unsure, ways = _each_way(nodes, leaves, precision)
        if not unsure:
            return None
        results: list[Any] = []
        bounds: list[Any] = []
        for way in ways:
            table = _values_with_bounds(way, leaves, precision)
            parts = [table[x] for x in way]
            results.append([np.ravel(part.value) for part in parts])
            allowed = (part.arithmetic.allowance(part, np.shape(part.value)) for part in parts)
            bounds.append(list(map(np.ravel, allowed)))
        columns = [np.array(column) for column in zip(*results, strict=True)]
        rooms = [np.max(column, axis=0) for column in zip(*bounds, strict=True)]
        return Branches(DECIDES.format(_words(unsure[0])), columns, rooms)
    except (GradcliError, IndexError):  # a count that was turned leads outside of its array
        return None
    finally:
        graph.forget_since(mark)


def roots_each_way(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> list[Expr]:
    """Return the function once for every way between which rounding decides.

    Each has its conditions as constants.
    """
    return [way[0] for way in _each_way([root], leaves, precision)[1]]


def is_unsure(condition: Expr, leaves: Mapping[Expr, Any], precision: str) -> bool:
    """Return True if rounding in a precision decides a condition, or an entry of it."""
    return bool(np.any(_values_with_bounds([condition], leaves, precision)[condition].error))


def _each_way(
    nodes: Sequence[Expr], leaves: Mapping[Expr, Any], precision: str
) -> tuple[list[Expr], list[list[Expr]]]:
    """Return the comparisons that rounding may turn, and the nodes for each way.

    Comparisons of the rules for the derivative are among them. The nodes have each comparison as a
    constant, turned, or not, where it is not certain. More than a few comparisons, such as those of
    an iteration, are left: no branch explains these.
    """
    comparisons = [
        node for node in reachable(nodes) if node.op is not None and node.op.algebra == "comparison"
    ]
    table = _values_with_bounds(nodes, leaves, precision) if comparisons else {}
    unsure = sorted(
        (node for node in comparisons if np.any(table[node].error)), key=lambda node: node.index
    )
    if not 0 < len(unsure) <= _ALL_WAYS:
        return [], [list(nodes)]
    ways = []
    for flips in itertools.product((False, True), repeat=len(unsure)):
        turned = {}
        for node, flip in zip(unsure, flips, strict=True):
            value, error = np.asarray(table[node].value, bool), np.asarray(table[node].error, bool)
            turned[node] = node.graph.constant(
                np.broadcast_to(value ^ (error & flip), node.shape)[()]
            )
        ways.append(rebuild(nodes, turned))
    return unsure, ways


def _words(node: Expr) -> str:
    names = {
        part: part.operand.name
        for part in reachable([node])
        if part.op is not None and part.op.leaves_unchanged and part.operand.is_leaf
    }
    text = formula(node, names=names)
    return "a comparison" if text is None or len(text) > _LONGEST else text
