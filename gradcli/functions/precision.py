"""Errors of gradients that rounding in code of few bits explains.

They are propagated through the traced function.

The arguments are taken exactly as they are, and the derivative there is exact. The possible error
of the code is computed, not chosen: it is made of the roundings of every step of function and
gradient in the code's precision, by stochastic arithmetic.

Every result is moved by as much as its own rounding may move it, up or down at random, entry by
entry, on top of the moves of its operands (D. S. Parker, Monte Carlo Arithmetic, 1997). The
farthest move of a gradient in several passes tells how far code of that precision may be off,
whatever the order of its steps. It includes the correlations of the steps, which bounds that are
carried along forget. In this way even few bits have a bound.

A sum of n terms in one precision is moved by the square root of n times the rounding of its terms'
sum of magnitudes. Roundings of partial sums are independent enough for that to hold except with
tiny probability (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.rounding import (
    Arithmetic,
    ArithmeticDomain,
    Carried,
    Names,
    roots_each_way,
    without_nan,
)
from gradcli.check.verdicts import Claim, Verdict
from gradcli.functions.arguments import Subject, as_given, leaves_of
from gradcli.graph.nodes import Expr, constant_value, interpret, reachable
from gradcli.graph.sweep import plus, pull_back, scale_guarded, sweep, varied_nodes
from gradcli.ops.constants import Constant
from gradcli.ops.extended import is_float
from gradcli.ops.spec import Op, as_tuple
from gradcli.ops.special import gamma
from gradcli.tensors.core import dtypes

PASSES = 16
FACTOR = 2  # factor on the largest deviation in any pass
_SINGLE = 2.0**-24


@dataclass(frozen=True)
class Format:
    """Format of floats.

    It has a name, a unit roundoff, the smallest normal number and the largest number.

    accumulates  whether sums of 16 bits round each partial sum to these, as loops in Python do
    """

    name: str
    unit: float
    least: float
    largest: float
    accumulates: bool = False


@dataclass(eq=False, slots=True)
class Moved(Carried):
    """A value, and where rounding has moved it to; what of that is its own operation's rounding."""

    value: Any
    moved: Any
    arithmetic: Stochastic
    own: Any = None

    def is_zero(self) -> bool:
        # A value that is zero by chance has still moved.
        return not np.any(self.value) and not np.any(self.moved)


class Stochastic(Arithmetic):
    """Arithmetic on floats of a format, each operation of which rounds once.

    Functions, and sums that do not accumulate, compute in float32 inside.
    """

    def __init__(self, kind: Format) -> None:
        super().__init__("float32")
        self.kind = kind
        self.unit = kind.unit
        self.smallest_normal = kind.least
        self.narrow = kind.unit > _SINGLE
        self.smallest = 2 * kind.unit * kind.least
        self.overflows = False
        self.random = np.random.default_rng(0)

    def own(
        self,
        op: Op,
        out: Any,
        values: Sequence[Any],
        static: Mapping[str, Any],
        additions: Callable[[], float],
    ) -> Any:
        found = super().own(op, out, values, static, lambda: math.sqrt(additions()))
        if found is None or not self.narrow:
            return found
        if self.kind.accumulates and op.rounding == "terms":
            at = Names(self, op, static).at
            return found + self.unit * math.sqrt(additions()) * at(
                *[np.abs(x) if is_float(x) else x for x in values]
            )
        return found + self.unit * np.abs(out)

    def underflow(self, op: Op, out: Any, values: Sequence[Any]) -> Any:
        """Return the error of results below the normal numbers.

        In 16 bits it depends on the result alone, since the inside of an operation has more bits.
        """
        return (
            np.where(np.abs(out) < self.smallest_normal, self.smallest, 0.0)
            if self.narrow
            else super().underflow(op, out, values)
        )

    def apply(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        # Each operation of the definition rounds by itself.
        if self.narrow and op.definition is not None and not op.elementwise and not op.public:
            return op.definition(*operands, **static)
        values = [o.value if isinstance(o, Moved) else o for o in operands]
        out = op.forward(*values, **static)
        noise = self._own_rounding(op, out, values, static)
        # A comparison near its threshold may turn out either way.
        decides = not isinstance(out, tuple) and np.asarray(out).dtype.kind != "f"
        there = op.forward(*map(self._apart if decides else self._move, operands), **static)
        if isinstance(out, tuple):
            return tuple(map(self._round, out, there, noise))
        return self._round(out, there, noise)

    def _own_rounding(self, op: Op, out: Any, values: list[Any], static: Mapping[str, Any]) -> Any:
        """Return how far a result is rounded by its own operation; for each part of several."""
        parts = as_tuple(out)
        self.overflows = self.overflows or any(
            is_float(p) and bool(np.any(np.abs(p) > self.kind.largest)) for p in parts
        )
        if isinstance(out, tuple):
            return [
                (self.unit + 8 * self.total) * np.abs(part) if is_float(part) else None
                for part in out
            ]
        return self.rounding(op, out, values, static)

    def _round(self, out: Any, there: Any, noise: Any) -> Moved:
        if noise is None:
            return Moved(out, there, self)
        own = self._either_way(np.where(np.isfinite(out), noise, 0.0))
        return Moved(out, there + own, self, own)

    def _either_way(self, x: Any) -> Any:
        """Each entry with one of both signs."""
        bits = np.unpackbits(
            np.frombuffer(self.random.bytes(np.size(x) // 8 + 1), np.uint8), count=np.size(x)
        )
        return np.where(bits.reshape(np.shape(x)), x, np.negative(x))[()]

    def _move(self, operand: Any) -> Any:
        if isinstance(operand, Moved):
            return operand.moved
        rounded = isinstance(operand, Constant) or (
            isinstance(operand, float) and float(np.float32(operand)) != operand
        )
        return operand * (1 + float(self._either_way(_SINGLE))) if rounded else operand

    def _apart(self, operand: Any) -> Any:
        if not isinstance(operand, Moved) or not is_float(operand.value):
            return operand.moved if isinstance(operand, Moved) else operand
        off = operand.moved - operand.value
        # What has turned to another whole number is no rounding to enlarge.
        return operand.value + off * np.where(np.abs(off) < 0.5, FACTOR, 1)


class _Passing(ArithmeticDomain):
    """One pass forwards."""

    def leaf(self, node: Expr) -> Moved:
        value = np.asarray(self.leaves[node])[()]
        return Moved(value, value, self.arithmetic)

    def constant(self, node: Expr) -> Any:
        value = constant_value(node, np.dtype(np.float64))
        if node.kind != "float":
            return Moved(value, value, self.arithmetic)
        unit = self.arithmetic.unit
        # Zero if the format can represent the constant.
        off = unit * np.abs(value) * (np.frexp(value)[0] % (2 * unit) != 0)
        return self.arithmetic._round(value, value, off if np.any(off) else None)


class Reach(NamedTuple):
    """Distance to which rounding may take the gradients of a number.

    rooms      of each entry
    terms      the size of what each entry is the sum of, which may cancel
    overflows  whether something is larger than the format's largest number
    """

    rooms: dict[str, np.ndarray]
    terms: dict[str, np.ndarray]
    overflows: bool


def reaches(
    root: Expr,
    wrt: Mapping[str, Expr],
    leaves: Mapping[Expr, Any],
    kind: Format,
) -> Reach:
    """Return how far rounding may take each gradient of a number that is computed in a format."""
    arithmetic = Stochastic(kind)
    order = reachable([root])
    needed = varied_nodes(order, set(wrt.values()))
    farthest = {name: np.zeros(x.shape) for name, x in wrt.items()}
    targets = set(wrt.values())
    forwards: list[dict[Expr, Any]] = []
    seed = Moved(np.float64(1), np.float64(1), arithmetic)

    def read() -> Mapping[Expr, Any]:
        # The values that a rule reads need not be those that were passed on. Kernels pass on more
        # bits than they keep, as PyTorch's normalisations do with the mean, and gradients that
        # people write compute the values anew.
        return forwards[int(arithmetic.random.integers(len(forwards)))]

    with np.errstate(all="ignore"):
        for number in range(PASSES):  # each draws the same numbers every time
            arithmetic.random = np.random.default_rng(number)
            table = interpret(order, _Passing(leaves, arithmetic))
            forwards = [*forwards[-1:], table | _read_back(order, needed, table)]
            found = _sweep(order, needed, targets, seed, read)
            for name, x in wrt.items():
                if x in found:
                    farthest[name] = np.maximum(farthest[name], _distance(found[x]))
        terms = _terms(
            order, needed, wrt, {node: _without_rounding(x) for node, x in table.items()}
        )
    for name, x in wrt.items():
        if x in found:
            farthest[name] = (
                FACTOR * farthest[name]
                + 2 * kind.unit * np.abs(found[x].value)
                + 2 * kind.unit * kind.least
            )
    return Reach(farthest, terms, arithmetic.overflows)


def _distance(x: Moved) -> Any:
    """Return how far a value is moved: infinitely far, where it has become none."""
    far = np.where(
        np.equal(x.moved, x.value), 0.0, np.abs(np.subtract(x.moved, x.value, dtype=np.float64))
    )
    return without_nan(far)


def _terms(
    order: Sequence[Expr],
    needed: set[Expr],
    wrt: Mapping[str, Expr],
    values: Mapping[Expr, Any],
) -> dict[str, np.ndarray]:
    """Return the sizes of the terms whose sums are the entries of gradients.

    A size is the root mean square of the sum when all terms have random signs.
    """
    squares = {name: np.zeros(x.shape) for name, x in wrt.items()}
    for number in range(PASSES):
        signed = partial(_signed_at_random, random=np.random.default_rng(number))
        found = _sweep(order, needed, set(wrt.values()), np.float64(1), lambda: values, signed)
        for name, x in wrt.items():
            squares[name] += np.square(found.get(x, 0.0))
    return {name: np.sqrt(square / PASSES) for name, square in squares.items()}


def _without_rounding(x: Any) -> Any:
    """Return the value of a number, or of several results, without rounding."""
    return (
        tuple(map(_without_rounding, x))
        if isinstance(x, tuple)
        else x.value
        if isinstance(x, Moved)
        else x
    )


def _signed_at_random(x: Any, random: np.random.Generator) -> Any:
    """Give each entry of a contribution a random sign.

    The contribution may be one to several results.
    """
    if isinstance(x, tuple):
        signed = type(x)(_signed_at_random(part, random) for part in x)
        vars(signed).update(vars(x))
        return signed
    return None if x is None else np.asarray(x) * random.choice([-1.0, 1.0], np.shape(x))


def _sweep(
    order: Sequence[Expr],
    needed: set[Expr],
    targets: set[Expr],
    seed: Any,
    read: Callable[[], Mapping[Expr, Any]],
    passed: Callable[[Any], Any] = lambda part: part,
) -> dict[Expr, Any]:
    """Return the adjoints that reach some nodes in a sweep from the last node.

    read    gives the values that a rule reads
    passed  what becomes of a cotangent that a node passes to an operand
    """
    found: dict[Expr, Any] = {}

    def pull(node: Expr, cotangent: Any) -> Sequence[Any]:
        if node in targets:  # leaves
            found[node] = cotangent
            return ()
        parts = pull_back(node, needed, cotangent, read().__getitem__, scale_guarded)
        return [*map(passed, parts)]

    sweep(order, {order[-1]: seed} if order[-1] in needed else {}, pull)
    return found


def _read_back(
    order: Sequence[Expr], needed: set[Expr], table: Mapping[Expr, Any]
) -> dict[Expr, Moved]:
    """Return the values, moved further, that code recovers from their rounded results.

    An example is 1 - y*y from y = tanh(x).
    """
    shifts: dict[Expr, Any] = {}
    for node in reversed(order):
        op = node.op
        if (
            op is None
            or op not in gamma.BY_RESULT
            or op.partials is None
            or node not in needed
            or table[node].own is None
        ):
            continue
        x = node.operand
        made = table[node]
        assert op.partials[0] is not None
        slope = op.partials[0](made.value, table[x].value, **node.static)
        shift = np.where(
            np.equal(slope, 0), 0.0, made.own / np.where(np.equal(slope, 0), 1.0, slope)
        )
        # Shifts are taken logarithmically: derivatives fall like exponentials, and the error of 1 -
        # y*y is linear in that of y.
        shift = np.sign(shift) * np.log1p(np.abs(shift))
        shifts[x] = plus(shifts.get(x), np.where(np.isfinite(shift), shift, 0.0))
    return {
        x: Moved(table[x].value, table[x].moved + shift, table[x].arithmetic)
        for x, shift in shifts.items()
    }


# -- What rounding explains of a claim --------------------------------------------------------


def format_of(kind: np.dtype[Any]) -> Format:
    """Return the format of a dtype of floats."""
    limits = dtypes.limits(kind)
    return Format(
        dtypes.of_numpy(kind).name,
        float(limits.eps) / 2,
        float(limits.smallest_normal),
        float(limits.max),
    )


_FLOAT32 = format_of(np.dtype(np.float32))
# The rounding of float32 with the range of float64.
_WIDE_FLOAT32 = replace(format_of(np.dtype(np.float64)), name="float32", unit=_FLOAT32.unit)
_BOUNDED = {"bfloat16": "float16"}  # stand-ins for formats that NumPy lacks
_WIDE = 0.5  # share of the gradient's length: if rounding explains more, a claim may be anything


class Room(NamedTuple):
    """Distance that rounding in a format explains for each entry of a gradient.

    The right gradient comes with it.
    """

    kind: Format
    reach: Reach
    right: Mapping[str, np.ndarray]

    def judge(self, claim: Claim) -> None:
        """Make of the verdict on a claim what can be known, and say what rounding explains.

        Where terms cancel, rounding is held against them: a claim as near to the sum as their
        rounding is right.
        """
        room, terms = self.reach.rooms[claim.of], self.reach.terms[claim.of]
        right = np.abs(self.right[claim.of])
        share = _share(room, right)
        of_terms = _share(room, np.maximum(terms, right))
        told = f"rounding in {self.kind.name} explains {_percent(share)} of it"
        if share > _WIDE >= of_terms:
            told = (
                f"its terms cancel: rounding in {self.kind.name} explains {_percent(of_terms)} "
                "of them"
            )
        if claim.verdict is Verdict.MISMATCH and self.reach.overflows:
            claim.verdict = Verdict.UNDETERMINED
            told = (
                f"more than {self.kind.largest:.6g} is met on the way, which {self.kind.name} "
                "does not hold"
            )
        elif claim.verdict is Verdict.AGREE and of_terms > _WIDE:
            claim.verdict = Verdict.UNDETERMINED
            told = f"{told}: nothing can be told"
        claim.reason = told if claim.reason is None else f"{claim.reason}; {told}"


def room_of(
    root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any], right: Mapping[str, np.ndarray],
    kind: Format,
) -> Room:  # fmt: skip
    """Room that rounding explains of the gradients of a traced number, which are right without it.

    Where rounding decides a branch, that is what it explains on one way or another.
    """
    ways = [
        reaches(way, wrt, leaves, kind)
        for way in roots_each_way(root, leaves, bounded_in(kind.name))
    ]
    rooms = {name: np.maximum.reduce([way.rooms[name] for way in ways]) for name in wrt}
    terms = {name: np.maximum.reduce([way.terms[name] for way in ways]) for name in wrt}
    return Room(kind, Reach(rooms, terms, any(way.overflows for way in ways)), right)


def bounded_in(kind: str) -> str:
    """Return the dtype of NumPy's in which errors are bounded of what is computed in a format."""
    return _BOUNDED.get(kind, kind)


def room_at_zeros(
    root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any], right: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return how far claims in float64 may be off where terms cancel: as far as their roundings go.

    Where a derivative is no larger than that, as at a stationary point, its formula says something
    that is no larger, either; other entries get no room. To first order roundings are proportional
    to those of float32, which are propagated.
    """
    room = reaches(root, wrt, leaves, _WIDE_FLOAT32).rooms
    rounding = {name: room[name] * (2.0**-53 / _FLOAT32.unit) for name in wrt}
    return {
        name: np.where(np.abs(right[name]) <= there, there, 0.0) for name, there in rounding.items()
    }


def epsilon_of(kind: np.dtype[Any]) -> float:
    """Return the distance from 1 to the next number of a dtype of floats.

    It is 0 for whole numbers and truths.
    """
    return float(dtypes.limits(kind).eps) if kind.kind in dtypes.FLOATS else 0.0


def precision_of(
    subject: Subject, claims: Iterable[np.ndarray], inside: Iterable[np.dtype[Any]], by: str | None
) -> Format | None:
    """Return the format with the fewest digits, or None for float64.

    The formats are those of arguments, results, claims and the values that the function computes.

    The result also says whether sums of 16 bits round their partial sums to 16 bits. Code that
    people write may do that, while frameworks add up in float32.
    """
    kinds = {x.dtype for x in (*subject.floats.values(), *subject.value, *claims)} | set(inside)
    narrow = [kind for kind in kinds if kind.kind in dtypes.FLOATS and kind.itemsize < 8]
    if not narrow:
        return None
    return replace(
        max(map(format_of, narrow), key=lambda found: found.unit), accumulates=by is None
    )


def widen(subject: Subject) -> Subject:
    """Return the same function at the same arguments in float64.

    All floats of fewer bits are among those of float64. A function in float64 is returned itself.
    """
    if all(x.dtype.itemsize == 8 for x in subject.floats.values()):
        return subject
    wide = {
        leaf.name: leaf.numbers.astype(np.float64)
        for name, value in subject.arguments.items()
        for leaf in leaves_of(name, value)
    }
    return replace(subject, arguments=subject.arguments_with(wide, as_given))


def _share(room: np.ndarray, size: np.ndarray) -> float:
    return _length(room) / _length(size) if np.any(size) else 0.0 if not np.any(room) else np.inf


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(np.ravel(x).astype(np.float64)))


def _percent(share: float) -> str:
    return "any part" if not np.isfinite(share) else f"{100 * share:.2g} %"
