"""How far rounding may take the engine: one ulp at every node, carried to the result.

The engine's own forward pass and sweep are run again in float64 with every result moved by its operation's error
bound at most, at random, a few times; the spread bounds what rounding explains (stochastic arithmetic,
J. Vignes, Mathematics and Computers in Simulation 35, 1993). `summed_terms` tells the loss of digits by summing
entries, which no calculation avoids, from a loss within the formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.engine.carrier import Operand
from gradcli.engine.graph import Expr, constant_value, reachable
from gradcli.engine.sweep import backward
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op

RUNS = 4
NO_NOISE: Any = 0.0
_SAFETY = 32.0
_ELEMENTARY = 4  # ulps beyond which an operation is as good as its operands, near its zeros


class _Floats(Operand):
    """A float64 array that rules compute with."""

    __slots__ = ("value",)
    __array_ufunc__ = None  # NumPy scalars and arrays leave mixed operators to the carrier
    value: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def ndim(self) -> int:
        return np.ndim(self.value)

    def is_zero(self) -> bool:
        return not np.any(self.value)


class Noisy(_Floats):
    """An array each of whose results is off by its rounding error."""

    __slots__ = ("epsilon", "random")

    def __init__(self, value: Any, random: np.random.Generator, epsilon: Any) -> None:
        self.value, self.random, self.epsilon = value, random, epsilon

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        values = [o.value if isinstance(o, Noisy) else o for o in operands]
        if op.core_dims is not None and op.name != "matmul":
            # backward stable: right for operands that are off by rounding, relative to their size
            values = [self._moved(v, np.max(np.abs(v), initial=0.0)) for v in values]
        elif op.elementwise and op.ulps > _ELEMENTARY:
            values = [v if v is None or np.asarray(v).dtype.kind != "f" else self._moved(v, np.abs(v)) for v in values]
        result = op.forward(*values, **static)
        if isinstance(result, tuple):
            # factors of a matrix: LAPACK hides what moves the operand by less than it drops itself
            sizes = [np.max(np.abs(part), initial=0.0) for part in result]
            return tuple(type(self)(self._moved(part, size), self.random, self.epsilon) for part, size in zip(result, sizes, strict=True))
        if op.ulps and result.dtype.kind == "f" and not _is_exact(op, values, result):
            size = _rounded_relative_to(op, values, static, result)
            result = self._moved(result, size, op.ulps + 0.5)
            if op.name in _UNDERFLOWS:
                result = self._underflown(result, values)
        return type(self)(result, self.random, self.epsilon)

    def _moved(self, value: Any, size: Any, ulps: float = 1.0) -> Any:
        if self.epsilon is NO_NOISE:
            return value
        moved = value + self._drawn(value) * (self.epsilon * ulps * size)
        return np.where(np.isfinite(value), moved, value)[()]


    def _underflown(self, result: Any, values: Sequence[Any]) -> Any:
        """A result that is too small for its digits, though no operand is zero or infinite, moved away from zero by the last of them."""
        lost = np.abs(result) < _SMALLEST_NORMAL
        if self.epsilon is NO_NOISE or not np.any(lost):
            return result
        for value in values:
            lost = lost & (value != 0) & np.isfinite(value)
        noise = np.abs(self._drawn(result)) * np.where(np.equal(self.epsilon, 0), 0.0, 4 * _SMALLEST)
        return np.where(lost, result + np.copysign(noise, result), result)[()]

    def _drawn(self, value: Any) -> Any:
        return self.random.uniform(-1.0, 1.0, np.shape(value))


class Lanes(Noisy):
    """A scalar in several runs at once, the first of them without noise."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0

    def _drawn(self, value: Any) -> Any:
        return self.random.uniform(-1.0, 1.0, RUNS + 1)


_SMALLEST, _SMALLEST_NORMAL = 2.0**-1074, 2.0**-1022
_UNDERFLOWS = frozenset(  # what is zero of operands that are not only where it is too small for a float
    {"mul", "chain", "div", "square", "reciprocal", "pow", "exp", "exp2", "exp_square", "sigmoid", "erfc", "softmax", "ndtr"}
)
_ALGEBRAIC = frozenset({"add", "sub", "mul", "neg", "square"})


def _rounded_relative_to(op: Op, values: list[Any], static: Mapping[str, Any], result: Any) -> Any:
    """The size that an operation's rounding is relative to."""
    if op.rounding == "terms":
        return op.forward(*[v if v is None or np.asarray(v).dtype.kind != "f" else np.abs(v) for v in values], **static)
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in values if v is not None), default=0.0)
    return np.abs(result) + (largest if op.rounding == "operands" else 0.0)


def _is_exact(op: Op, values: list[Any], result: Any) -> bool:
    """Whether arithmetic on whole numbers has not been rounded, such as the 2 - 1 of an exponent."""
    return op.name in _ALGEBRAIC and all(bool(np.all(v == np.rint(v)) and np.all(np.abs(v) < 2**53)) for v in [*values, result])


def noisy_table(
    root: Expr, leaves: Mapping[Expr, Any], random: np.random.Generator, epsilon: Any, precision: str, carrier: type[Noisy] = Noisy
) -> dict[Expr, Any]:
    """One forward pass with every node off by its rounding."""
    table: dict[Expr, Any] = {}
    dtype = np.dtype(precision)
    for node in reachable([root]):
        if node in leaves:
            value = leaves[node]
            table[node] = carrier(value.astype(np.float64) if value.dtype.kind == "f" else value, random, epsilon)
        elif node.op is None:
            value = constant_value(node.payload, dtype, node.kind)
            value = value.astype(np.float64) if node.kind == "float" else value
            noisy = carrier(value, random, epsilon)
            if isinstance(node.payload, Constant):
                noisy.value = noisy._moved(value, np.abs(value))
            table[node] = noisy
        elif node.op.name == "output":
            table[node] = table[node.operand][node.static["place"]]
        else:
            operands = [None if o is None else table[o] for o in node.operands]
            first = next(o for o in operands if o is not None)
            table[node] = first.apply_op(node.op, operands, node.static)
    return table


def allowances(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far rounding explains the value, and each gradient, to be from the truth; infinite where it may be anything.

    The spread is that around a run without noise, never around what is being judged.
    """
    epsilon = float(np.finfo(np.dtype(precision)).eps)
    tiny = float(np.finfo(np.dtype(precision)).smallest_subnormal)
    random = np.random.default_rng(20)
    order = reachable([root])

    def run(noise: Any, carrier: type[Noisy] = Noisy) -> list[Any]:
        table = noisy_table(root, leaves, random, noise, precision, carrier)
        start = carrier(np.asarray(seed, np.float64)[()], random, noise)
        found = backward(order, {root: start}, wrt, table.__getitem__)
        return [table[root].value, *(found[x].value if x in found else np.zeros(x.shape) for x in wrt)]

    with np.errstate(all="ignore"):
        if all(node.shape == () and (node.op is None or node.op.elementwise) for node in order):
            together = [np.broadcast_to(part, RUNS + 1) for part in run(np.array([0.0] + RUNS * [epsilon]), Lanes)]
            still, runs = [part[0] for part in together], [[part[i + 1] for part in together] for i in range(RUNS)]
        else:
            still, runs = run(NO_NOISE), [run(epsilon) for _ in range(RUNS)]
        spread = [np.zeros(np.shape(value)) for value in still]
        for noisy in runs:
            for i, (moved, fixed) in enumerate(zip(noisy, still, strict=True)):
                if np.asarray(fixed).dtype.kind == "f":
                    off = np.where(moved == fixed, 0.0, np.abs(moved - fixed))
                    spread[i] = spread[i] + np.where(np.isnan(off), np.inf, off)
        bounds = [_SAFETY * s + 4 * epsilon * np.abs(fixed) + 64 * tiny for s, fixed in zip(spread, still, strict=True)]
        bounds = [np.where(np.isnan(bound), np.inf, bound) for bound in bounds]
    return bounds[0], bounds[1:]


class Massed(_Floats):
    """A cotangent with the size of the terms that were summed over entries to make it."""

    __slots__ = ("mass",)

    def __init__(self, value: Any, mass: Any) -> None:
        self.value, self.mass = value, mass

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        values = [o.value if isinstance(o, Massed) else o for o in operands]
        result = op.forward(*values, **static)
        size = np.abs(result)
        if op.name in ("add", "sub"):
            extra: Any = 0.0
            for o in operands:
                if isinstance(o, Massed):
                    extra = extra + (o.mass - np.abs(o.value))
            mass = size + extra
        elif op.linear or op.name in ("mul", "chain", "div", "where", "neg", "matmul", "dot", "outer"):
            sizes = [o.mass if isinstance(o, Massed) else _size(o, op, i) for i, o in enumerate(operands)]
            mass = np.abs(op.forward(*sizes, **static))
        else:
            mass = size
        return Massed(result, np.maximum(mass, size))


def _size(operand: Any, op: Op, place: int) -> Any:
    return operand if op.name == "where" and place == 0 else np.abs(operand)


def summed_terms(root: Expr, wrt: Sequence[Expr], values: Mapping[Expr, Any], seed: Any) -> list[np.ndarray]:
    """For each gradient, the size of the terms summed over entries."""
    with np.errstate(all="ignore"):
        start = Massed(seed, np.abs(seed))
        found = backward(reachable([root]), {root: start}, wrt, values.__getitem__)
    return [np.asarray(found[x].mass if x in found else np.zeros(x.shape)) for x in wrt]
