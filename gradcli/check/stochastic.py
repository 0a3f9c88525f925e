"""Values that rounding has moved, as rules compute with them: stochastic arithmetic.

Every result is moved by as much as its own rounding may move it, up or down at random, entry by entry, on top of what the operands
were moved (D. S. Parker, Monte Carlo Arithmetic, 1997). How far a gradient gets in several passes tells how far code of that precision
may be off, of whatever order its steps are, with their correlations, which bounds that are carried along forget; so few bits have one.

A sum of n terms in one precision is moved by the square root of n times the rounding of its terms' sum of magnitudes: roundings of partial
sums are independent enough for that to hold but with tiny probability (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.bounded import Carried
from gradcli.check.bounded_arrays import Arrays
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.sweep import contributions, depending, guarded, sweep
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import add, div, mul, sub
from gradcli.ops.spec import Op

PASSES = 16
FACTOR = 2  # times the farthest of the passes
_SINGLE = 2.0**-24


@dataclass(frozen=True)
class Format:
    """A format of floats: its name, its unit roundoff, the least of its normal numbers and the largest of all."""

    name: str
    unit: float
    least: float
    largest: float


class Moved(Carried):
    """A value, and where rounding has moved it to; what of that is its own operation's rounding."""

    __slots__ = ("moved", "own")
    arithmetic: Stochastic

    def __init__(self, value: Any, moved: Any, arithmetic: Stochastic, own: Any = None) -> None:
        self.value, self.moved, self.arithmetic, self.own = value, moved, arithmetic, own

    def is_zero(self) -> bool:
        return not np.any(self.value) and not np.any(self.moved)  # what is zero by luck is moved, too


class Stochastic(Arrays):
    """Floats of a format, of which each operation rounds once; functions and sums of 16 bits compute in float32 inside.

    accumulates  whether sums of 16 bits round each partial sum to these instead, as loops in Python do
    """

    def __init__(self, kind: Format, accumulates: bool) -> None:
        super().__init__("float32")
        self.kind, self.unit, self.smallest_normal = kind, kind.unit, kind.least
        self.smallest = 2 * kind.unit * kind.least
        self.narrow, self.accumulates = kind.unit > _SINGLE, accumulates
        self.overflows = False
        self._known: list[tuple[Op, Any, Any]] = []  # what does not depend on the pass: results, and how far they are rounded
        self.start(0)

    def start(self, number: int) -> None:
        """Begin a pass, of which each is the same at any time."""
        self.random, self._next = np.random.default_rng(number), 0

    def own(self, op: Op, out: Any, values: Sequence[Any], static: Mapping[str, Any], additions: Callable[[], float]) -> Any:
        found = super().own(op, out, values, static, lambda: math.sqrt(additions()))
        if found is None or not self.narrow:
            return found
        if self.accumulates and op.accuracy.rounding == "terms":
            m = self.names(op, static)
            return found + self.unit * math.sqrt(additions()) * m.at(*[m.size(x) for x in values])
        return found + self.unit * np.abs(out)

    def _underflow(self, op: Op, out: Any, values: Sequence[Any]) -> Any:
        """What is lost beneath the normal numbers: of 16 bits by the result alone, since what is inside of an operation has more."""
        return np.where(np.abs(out) < self.smallest_normal, self.smallest, 0.0) if self.narrow else super()._underflow(op, out, values)

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        values = [o.value if isinstance(o, Moved) else o for o in operands]
        out, noise = self._unmoved(op, values, static)
        if isinstance(out, tuple):
            there = op.forward(*[self._moved(o) for o in operands], **static)
            return tuple(self._rounded(part, to, e) for part, to, e in zip(out, there, noise, strict=True))
        if np.asarray(out).dtype.kind != "f":  # what is near a limit may be decided otherwise
            return Moved(out, op.forward(*[self._apart(o) for o in operands], **static), self)
        return self._rounded(out, op.forward(*[self._moved(o) for o in operands], **static), noise)

    def _unmoved(self, op: Op, values: list[Any], static: Mapping[str, Any]) -> tuple[Any, Any]:
        """A result without rounding, and how far it is rounded: computed in the first pass."""
        place, self._next = self._next, self._next + 1
        if place < len(self._known) and self._known[place][0] is op:
            return self._known[place][1:]
        out = op.forward(*values, **static)
        if isinstance(out, tuple):
            noise: Any = [(self.unit + 8 * self.total) * np.abs(part) if _is_float(part) else None for part in out]
        else:
            noise = self._rounding(op, out, values, static)
        parts = out if isinstance(out, tuple) else (out,)
        self.overflows = self.overflows or any(_is_float(p) and bool(np.any(np.abs(p) > self.kind.largest)) for p in parts)
        del self._known[place:]
        self._known.append((op, out, noise))
        return out, noise

    def _rounded(self, out: Any, there: Any, noise: Any) -> Moved:
        if noise is None:
            return Moved(out, there, self)
        own = self._either_way(np.where(np.isfinite(out), noise, 0.0))
        return Moved(out, there + own, self, own)

    def _either_way(self, x: Any) -> Any:
        """Each entry with one of both signs."""
        bits = np.unpackbits(np.frombuffer(self.random.bytes(np.size(x) // 8 + 1), np.uint8), count=np.size(x))
        return np.where(bits.reshape(np.shape(x)), x, np.negative(x))[()]

    def _moved(self, operand: Any) -> Any:
        if isinstance(operand, Moved):
            return operand.moved
        rounded = isinstance(operand, Constant) or (isinstance(operand, float) and float(np.float32(operand)) != operand)
        return operand * (1 + float(self._either_way(_SINGLE))) if rounded else operand

    def _apart(self, operand: Any) -> Any:
        if not isinstance(operand, Moved) or not _is_float(operand.value):
            return operand.moved if isinstance(operand, Moved) else operand
        return operand.value + FACTOR * (operand.moved - operand.value)


class _Passing(Domain[Moved]):
    """One pass forwards."""

    def __init__(self, leaves: Mapping[Expr, Any], arithmetic: Stochastic) -> None:
        self.leaves, self.arithmetic = leaves, arithmetic

    def leaf(self, node: Expr) -> Moved:
        value = np.asarray(self.leaves[node])[()]
        return Moved(value, value, self.arithmetic)

    def constant(self, node: Expr) -> Moved:
        value = constant_value(node.payload, np.dtype(np.float64), node.kind)
        if node.kind != "float":
            return Moved(value, value, self.arithmetic)
        unit = self.arithmetic.unit
        off = unit * np.abs(value) * (np.frexp(value)[0] % (2 * unit) != 0)  # unless the format has it
        return self.arithmetic._rounded(value, value, off if np.any(off) else None)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.arithmetic.apply(op, operands, node.static)


def reaches(
    root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any], kind: Format, accumulates: bool
) -> tuple[dict[str, np.ndarray], bool]:
    """How far rounding in a format may take each gradient of a number; and whether something is larger than its largest number."""
    arithmetic = Stochastic(kind, accumulates)
    order = reachable([root])
    needed = depending(order, set(wrt.values()))
    farthest = {name: np.zeros(x.shape) for name, x in wrt.items()}
    with np.errstate(all="ignore"):
        for number in range(PASSES):
            arithmetic.start(number)
            found = _gradients(root, order, needed, set(wrt.values()), interpret(order, _Passing(leaves, arithmetic)), arithmetic)
            for name, x in wrt.items():
                if x in found:
                    there, here = np.asarray(found[x].moved), np.asarray(found[x].value)
                    far = np.where(np.equal(there, here), 0.0, np.abs(there - here))
                    farthest[name] = np.maximum(farthest[name], np.where(np.isnan(far), np.inf, far))
    rooms = {
        name: FACTOR * _not_by_luck(farthest[name], np.abs(found[x].value)) + 2 * kind.unit * np.abs(found[x].value) + arithmetic.smallest
        if x in found
        else farthest[name]
        for name, x in wrt.items()
    }
    return rooms, arithmetic.overflows


def _not_by_luck(far: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Of many entries some are moved little in all passes: none is taken for better than half as uncertain as most are."""
    known = (size > 0) & np.isfinite(far)
    shares = far[known] / size[known]
    return far if not shares.size else np.maximum(far, np.median(shares) / 2 * size)


def _gradients(
    root: Expr, order: Sequence[Expr], needed: set[Expr], targets: set[Expr], table: Mapping[Expr, Any], arithmetic: Stochastic
) -> dict[Expr, Any]:
    """One sweep backwards."""
    found: dict[Expr, Any] = {}
    again = _read_back(order, needed, table)

    def value_of(node: Expr | None) -> Any:
        if node is None:
            return None
        known, shift = table[node], again.get(node)
        return known if shift is None else Moved(known.value, known.moved + shift, arithmetic)

    def pull(node: Expr, cotangent: Any) -> Sequence[Any]:
        if node in targets:
            found[node] = cotangent
        wanted = tuple([operand in needed for operand in node.operands])
        if True not in wanted:
            return ()
        return contributions(node, wanted, cotangent, [value_of(node), *map(value_of, node.operands)], guarded)

    sweep(order, {root: Moved(np.float64(1), np.float64(1), arithmetic)}, pull)
    return found


def _read_back(order: Sequence[Expr], needed: set[Expr], table: Mapping[Expr, Any]) -> dict[Expr, Any]:
    """How far values are moved that code takes from what was made of them and rounded: 1 - y*y from y = tanh(x), s*(1 - s) from a sigmoid.

    A sigmoid may be written as one, or with the sum and the quotient that it is made of.
    """
    shifts: dict[Expr, Any] = {}
    for node in reversed(order):
        op = node.op
        if op is None or op.partials is None or node not in needed:
            continue
        moving = [i for i, operand in enumerate(node.operands) if operand in needed]
        if len(moving) != 1 or not (op.accuracy.by_result or op in (add, sub, mul, div)):
            continue
        (place,) = moving
        operand, partial, made = node.operands[place], op.partials[place], table[node]
        off = _plus(made.own, shifts.get(node))
        if operand is None or operand.shape != node.shape or partial is None or off is None:
            continue
        slope = partial(made.value, *[None if o is None else table[o].value for o in node.operands], **node.static)
        shift = np.where(np.equal(slope, 0), 0.0, off / np.where(np.equal(slope, 0), 1.0, slope))
        if op.accuracy.by_result:  # whose derivatives fall like exponentials, and the error of 1 - y*y is linear in that of y
            shift = np.sign(shift) * np.log1p(np.abs(shift))
        shifts[operand] = _plus(shifts.get(operand), np.where(np.isfinite(shift), shift, 0.0))
    return shifts


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _is_float(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind == "f"
