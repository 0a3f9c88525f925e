"""How far rounding may take the engine: an error bound for every value and adjoint, carried through the engine's own rules.

The forward pass and the sweep are run once more in float64 on `Bounded` arrays: values with bounds of their errors. An operation's result
is off by what its operands' errors make of it, and by its own rounding: units in the last place as its record has them, times the number
of additions where entries are added up. Entry by entry, the function at the corners of the operands' intervals shows what their errors do;
of operations that only add, the same sums of the errors; of the others, a few samples (stochastic arithmetic, J. Vignes, Mathematics
and Computers in Simulation 35, 1993). A bound is never less than what is likely, and usually a multiple of it; it depends on the clock,
on the number of threads and on what is judged in no way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.operand import Operand
from gradcli.graph.sweep import backward
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.spec import Op
from gradcli.reference.deadline import check as still_in_time

_SAFETY = 4.0
_SAMPLES, _SAMPLE_SAFETY = 3, 16.0
_ELEMENTARY = 4  # ulps beyond which an operation is as good as its operands, near its zeros
_PAIRWISE = 24  # additions that an entry goes through in a sum by pairs, beside two for each doubling
_BLOCK = 8_192  # entries that plans add up at a time
_SMALLEST, _SMALLEST_NORMAL = 2.0**-1074, 2.0**-1022
_A_FEW = 64
_FAR, _WITHIN = 0.1, (-0.73, -0.41, 0.29, 0.83)


class Bounded(Operand):
    """A float64 array that rules compute with, and how far its entries may be from the truth.

    error  a bound for each entry; of booleans, which may be either. 0.0 where nothing is rounded
    unit   the rounding error of the precision that is judged, relative to a number
    """

    __slots__ = ("error", "random", "unit", "value")
    __array_ufunc__ = None  # NumPy scalars and arrays leave mixed operators to the carrier

    def __init__(self, value: Any, error: Any, unit: float, random: np.random.Generator) -> None:
        self.value, self.error, self.unit, self.random = value, error, unit, random

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def ndim(self) -> int:
        return np.ndim(self.value)

    def is_zero(self) -> bool:
        return not np.any(self.value) and not np.any(self.error)

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        values = [o.value if isinstance(o, Bounded) else o for o in operands]
        errors = [o.error if isinstance(o, Bounded) else 0.0 for o in operands]
        result = op.forward(*values, **static)
        if isinstance(result, tuple):
            spread = self._sampled(op, values, errors, static, result)
            return tuple(self._like(part, off + self._rounding(op, values, static, part)) for part, off in zip(result, spread, strict=True))
        carried = self._carried(op, values, errors, static, result)
        return self._like(result, carried + self._rounding(op, values, static, result))

    def _like(self, value: Any, error: Any) -> Bounded:
        return Bounded(value, error, self.unit, self.random)

    def _carried(self, op: Op, values: list[Any], errors: list[Any], static: Mapping[str, Any], result: Any) -> Any:
        """What the errors of the operands make of a result."""
        if op.elementwise:
            if op.result == "int":  # which entry is meant, unless it is not certain
                return np.where(sum(errors[1:], errors[0]) < 0.5, 0.0, 1.0)
            if op.accuracy.ulps > _ELEMENTARY:
                errors = [e if v is None or not _is_float(v) else e + self.unit * np.abs(v) for v, e in zip(values, errors, strict=True)]
            if op.facts.linear:
                return sum(errors[1:], errors[0])
            if op is mul or op is chain:
                (x, y), (e, f) = values, errors
                return _product(np.abs(x), f) + _product(e, np.abs(y)) + _product(e, f)
            return _at_corners(op, values, errors, static, result)
        if op.accuracy.compounds:
            relative = errors[0] / np.abs(values[0])
            if np.all(np.isfinite(relative)):
                return np.abs(result) * np.sum(np.broadcast_to(relative, np.shape(values[0])))
        if op.core_dims is not None and op.accuracy.rounding != "terms":
            # backward stable: right for operands that are off by rounding, relative to their size
            errors = [e + self.unit * np.max(np.abs(v), initial=0.0) for v, e in zip(values, errors, strict=True)]
        if not any(np.any(e) for e in errors):
            return 0.0
        if any(np.any(e) and not _is_float(v) for v, e in zip(values, errors, strict=True)):
            return np.full(np.shape(result), np.inf)  # which entry is meant is not certain
        spread = [np.broadcast_to(e, np.shape(v)) if v is not None else None for v, e in zip(values, errors, strict=True)]
        if op.facts.linear:
            return op.forward(*[e if _is_float(v) else v for v, e in zip(values, spread, strict=True)], **static)
        if op.accuracy.rounding == "terms" and len(values) == 2 and all(_is_float(v) for v in values):  # a product
            x, y, e, f = np.abs(values[0]), np.abs(values[1]), *spread
            return op.forward(x, f, **static) + op.forward(e, y, **static) + op.forward(e, f, **static)
        return self._sampled(op, values, errors, static, (result,))[0]

    def _sampled(self, op: Op, values: list[Any], errors: list[Any], static: Mapping[str, Any], result: tuple[Any, ...]) -> list[Any]:
        """What the errors make of each result, by operands moved within them."""
        spread: list[Any] = [0.0] * len(result)
        if not any(np.any(e) for e in errors):
            return spread
        for _ in range(_SAMPLES):
            moved = [v + self._drawn(v) * e if _is_float(v) and np.any(e) else v for v, e in zip(values, errors, strict=True)]
            found = op.forward(*moved, **static)
            for i, (part, still) in enumerate(zip(found if isinstance(found, tuple) else (found,), result, strict=True)):
                spread[i] = np.maximum(spread[i], _distance(part, still))
        return [_SAMPLE_SAFETY * part for part in spread]

    def _drawn(self, value: Any) -> Any:
        return self.random.uniform(-1.0, 1.0, np.shape(value))

    def _rounding(self, op: Op, values: list[Any], static: Mapping[str, Any], result: Any) -> Any:
        """How far an operation's own rounding may take its result."""
        if not op.accuracy.ulps or not _is_float(result) or _is_exact(op, values, result, self.unit):
            return 0.0
        if op.accuracy.rounding == "partial sums":
            return self.unit * op.forward(np.abs(result), **static)
        size = _rounded_relative_to(op, values, static, result)
        error = self.unit * (op.accuracy.ulps + 0.5 + _additions(op, values, result)) * size
        return np.where(np.isfinite(result), error + (0.0 if op.facts.linear else _underflow(op, values, result)), 0.0)


def _underflow(op: Op, values: Sequence[Any], result: Any) -> Any:
    """What is lost beneath the normal numbers, though no operand is zero or infinite; adding loses nothing there."""
    lost = np.abs(result) < _SMALLEST_NORMAL
    if not np.any(lost):
        return 0.0
    factor: Any = 1.0  # of a product within the operation, such as that of silu
    for value in values:
        if _is_float(value):
            inside = np.isfinite(value) & (value != 0)
            lost = lost & (inside if op.elementwise else np.any(inside))
            factor = np.maximum(factor, np.abs(value)) if op.elementwise else factor
    return np.where(lost, 4 * _SMALLEST * factor, 0.0)


def _product(x: Any, y: Any) -> Any:
    """A product of sizes, where what is exactly right makes no error even beside an infinity."""
    product = x * y
    return product if np.all(np.isfinite(product)) else np.where(np.equal(x, 0) | np.equal(y, 0), 0.0, product)


def _is_float(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind == "f"


def _distance(x: Any, y: Any) -> Any:
    """How far values are apart; infinite where one of them is NaN, and 0 where both are the same."""
    off = np.where(np.equal(x, y), 0.0, np.abs(np.asarray(x, float) - np.asarray(y, float)))
    return np.where(np.isnan(off), np.where(np.isnan(np.asarray(x, float)), 0.0, np.inf), off)


def _at_corners(op: Op, values: list[Any], errors: list[Any], static: Mapping[str, Any], result: Any) -> Any:
    """The farthest that an operation gets from its result at the ends of the operands' intervals."""
    moving = [i for i, e in enumerate(errors) if np.any(e)]
    if not moving:
        return 0.0
    found: Any = 0.0
    for ends in _ends(len(moving), wide=any(np.any(np.greater(errors[i], _FAR)) for i in moving)):
        moved = list(values)
        for i, end in zip(moving, ends, strict=True):
            moved[i] = _end(values[i], errors[i], end)
        found = np.maximum(found, _distance(op.forward(*moved, **static), result))
    return found


def _ends(count: int, *, wide: bool) -> Iterator[tuple[float, ...]]:
    """The ends of intervals, and where these are wide enough for a function to turn in them, some points within."""
    yield from itertools.product((-1.0, 1.0), repeat=count)
    if wide:
        yield from ((part,) * count for part in _WITHIN)


def _end(value: Any, error: Any, sign: float) -> Any:
    if np.asarray(value).dtype == np.bool_:
        return value if sign < 0 else np.not_equal(value, error)  # the other truth, where it is not certain
    return np.where(np.isfinite(value), value + sign * error, value) if _is_float(value) else value


def _additions(op: Op, values: Sequence[Any], result: Any) -> float:
    """How many roundings of partial sums or products an entry of a result may have gone through."""
    if op.accuracy.compounds:
        return float(np.size(values[0]))
    if op.accuracy.rounding != "terms":
        return 0.0
    largest = max((np.size(v) for v in values if v is not None), default=1)
    if len(values) > 1:  # products: the length of what is added up
        return float(max((np.shape(v)[-1] if np.ndim(v) else 1) for v in values if v is not None))
    count = largest / max(1, np.size(result))
    return min(count, _PAIRWISE + 2 * math.log2(count) + count / _BLOCK) if np.size(result) == 1 and count > 1 else count


def _rounded_relative_to(op: Op, values: list[Any], static: Mapping[str, Any], result: Any) -> Any:
    """The size that an operation's rounding is relative to."""
    if op.accuracy.rounding == "terms":
        return op.forward(*[np.abs(v) if _is_float(v) else v for v in values], **static)
    sizes = [float(np.max(np.abs(v), initial=0.0)) for v in values if v is not None]
    if op.accuracy.rounding == "product":
        return np.full(np.shape(result), math.prod(sizes))
    largest = max(sizes, default=0.0)
    return np.abs(result) + (largest if op.accuracy.rounding == "operands" else 0.0)


def _is_exact(op: Op, values: list[Any], result: Any, unit: float) -> bool:
    """Whether arithmetic has not been rounded, such as the 2 - 1 of an exponent."""
    if not op.accuracy.exact:
        return False
    if np.size(result) <= _A_FEW and op is mul:
        wide = [np.asarray(v, np.longdouble) for v in values]
        return bool(np.all(wide[0] * wide[1] == result) and np.all(np.frexp(result)[0] % (2 * unit) == 0))
    return all(bool(np.all(v == np.rint(v)) and np.all(np.abs(v) < 1 / unit)) for v in [*values, result])


class Bounds(Domain[Bounded]):
    """Floats of the precision that is judged, each with a bound of its error."""

    def __init__(self, leaves: Mapping[Expr, Any], precision: str) -> None:
        self.leaves, self.dtype = leaves, np.dtype(precision)
        self.unit = float(np.finfo(self.dtype).eps) / 2
        self.random = np.random.default_rng(20)

    def leaf(self, node: Expr) -> Bounded:
        value = self.leaves[node]
        return self._bounded(value.astype(np.float64) if value.dtype.kind == "f" else value, 0.0)

    def constant(self, node: Expr) -> Bounded:
        value = constant_value(node.payload, self.dtype, node.kind)
        value = value.astype(np.float64) if node.kind == "float" else value
        return self._bounded(value, self.unit * np.abs(value) if isinstance(node.payload, Constant) else 0.0)

    def _bounded(self, value: Any, error: Any) -> Bounded:
        return Bounded(value, error, self.unit, self.random)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        first: Bounded = next(o for o in operands if o is not None)
        return first.apply_op(op, operands, node.static)


def bounded_table(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> dict[Expr, Any]:
    """One forward pass with a bound of each node's error."""
    return interpret(reachable([root]), Bounds(leaves, precision))


def error_bounds(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far rounding explains the value, and each gradient, to be from the truth; infinite where it may be anything."""
    info = np.finfo(np.dtype(precision))
    with np.errstate(all="ignore"):
        table = bounded_table(root, leaves, precision)
        top = table[root]
        start = Bounded(np.asarray(seed, np.float64)[()], 0.0, top.unit, top.random)
        found = backward(reachable([root]), {root: start}, wrt, table.__getitem__)
        parts = [top, *(found.get(x) for x in wrt)]
        shapes = [root.shape, *(x.shape for x in wrt)]
        bounds = [
            np.zeros(shape) if part is None else _allowed(part, shape, float(info.eps), float(info.smallest_subnormal))
            for part, shape in zip(parts, shapes, strict=True)
        ]
    return bounds[0], bounds[1:]


def _allowed(part: Bounded, shape: tuple[int, ...], epsilon: float, tiny: float) -> np.ndarray:
    if not _is_float(part.value):
        return np.zeros(shape)
    bound = _SAFETY * part.error + 2 * epsilon * np.abs(part.value) + 64 * tiny
    return np.broadcast_to(np.where(np.isnan(bound), np.inf, bound), shape)
