"""Zero times infinity in the backward sweep.

The product depends on which zeros are zero all around the point, and on which factor vanishes
faster than the other grows.

The sweep multiplies cotangents by partials. Where one factor is 0 and the other infinite, the
product tells nothing (NaN). Nothing flows back if the zero stays zero around the point, like that
of a branch not taken, of an operation that is flat there, or of a factor that does not depend on
the variable. If it is zero at the point only, the product tends to 0 where the zero is of higher
order than the infinity (``x*sqrt(x)``). Otherwise it stays NaN (``sqrt(x)**2``, whose derivative is
1, or ``cos(sqrt(x))``, where it is -1/2).

The sweep therefore runs first with plain products (`gradients` in `graph/sweep.py`). Only where
that gives NaN, it runs again on `Germ` objects, once for each variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.graph.nodes import Domain, dependents, interpret
from gradcli.ops.elementwise.arithmetic import add, div, mul, sub
from gradcli.ops.elementwise.exponential import pow_
from gradcli.ops.elementwise.logic import where
from gradcli.ops.elementwise.trigonometric import hypot
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Carrier, Op

# -- Germs: values near a point, of which it is known what stays as it is while a variable moves,
# and how fast entries vanish or grow.


_ALWAYS = math.inf  # the order of a zero that stays zero
_SMALLEST, _LARGEST = 2.0**-1074, np.finfo(float).max
_FAR_OUT = 1e4  # a function that is not 0 out here vanishes no faster than a power
_FAST = 1e9  # the order of what vanishes faster than any power
_NUDGE = 1e-3

Table = Callable[[Any], Any]


class Germ(Operand):
    """Values near a point.

    value  at the point
    still  which entries stay as they are while the variable moves
    order  to which order in the variable's distance from the point entries vanish: 0 for those that
           do not, negative for infinite ones, NaN where it is not known, infinite for zeros that
           stay
    far    which entries are 0 or infinite only because floats end, as exp(1000) is
    """

    __slots__ = ("far", "order", "still_", "value")
    __array_ufunc__ = None  # makes NumPy scalars and arrays leave mixed operators to this class

    def __init__(self, value: Any, still: Any, order: Any = None, far: Any = False) -> None:
        self.value = value
        self.far = far
        self.still_ = np.broadcast_to(still, np.shape(floats(value)))
        self.order = orders(value, self.still_) if order is None else order

    @staticmethod
    def still(value: Any) -> Germ:
        return Germ(value, True)

    @property
    def facts(self) -> tuple[Any, Any, Any]:
        return self.order, self.still_, self.far

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.still_.shape)

    @property
    def ndim(self) -> int:
        return int(self.still_.ndim)

    def is_zero(self) -> bool:
        return bool((self.order == _ALWAYS).all())

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        value = op(*[o.value if isinstance(o, Germ) else o for o in operands], **static)
        germs = [o if o is None or isinstance(o, Germ) else Germ.still(o) for o in operands]
        return _parts(germs, value) if isinstance(value, tuple) else _germ(op, germs, static, value)


class Germs(Domain[Any]):
    """Germs of nodes near a point, at which their values are known."""

    def __init__(self, value_of: Table) -> None:
        self.value_of = value_of

    def constant(self, node: Any) -> Germ:
        return Germ.still(self.value_of(node))

    def operation(self, node: Any, op: Op, operands: list[Any]) -> Any:
        value = self.value_of(node)
        return (
            _parts(operands, value)
            if isinstance(value, tuple)
            else _germ(op, operands, node.static, value)
        )

    def detach(self, node: Any, x: Germ) -> Germ:
        return Germ(self.value_of(node), _all_still(x))


class Near(dict[Any, Any]):
    """Germs of nodes; those that it is not told stay as they are."""

    def __init__(self, value_of: Table) -> None:
        super().__init__()
        self.value_of = value_of

    def __missing__(self, node: Any) -> Any:
        value = self.value_of(node)
        self[node] = found = (
            tuple(map(Germ.still, value)) if isinstance(value, tuple) else Germ.still(value)
        )
        return found


def _parts(operands: Sequence[Any], values: tuple[Any, ...]) -> tuple[Germ, ...]:
    """Return the germs of several results.

    Nothing is known of them but whether they move.
    """
    still = all(o is None or _all_still(o) for o in operands)
    return tuple(Germ(part, still) for part in values)


def _all_still(operand: Any) -> bool:
    return (
        all(map(_all_still, operand)) if isinstance(operand, tuple) else bool(operand.still_.all())
    )


def _germ(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> Germ:
    """Return the germ of an operation's result, whose value at the point is known."""
    if op is mul:
        x, y = operands
        never = (x.order == _ALWAYS) | (y.order == _ALWAYS)
        with np.errstate(invalid="ignore"):
            order = np.where(never, _ALWAYS, x.order + y.order)
        # An infinity that is mere overflow does not outgrow a zero that is none.
        outgrown = np.not_equal(x.far, y.far) & (
            ((floats(x.value) == 0) & y.far) | ((floats(y.value) == 0) & x.far)
        )
        value = replace_where(value, np.isnan(floats(value)) & ((order > 0) | outgrown), None)
        still = never | (x.still_ & y.still_)
        return Germ(value, still, order, _far(op, operands, static, value))
    if op.algebra in ("product of entries", "matrix product"):
        return _germ_of_product(op, operands, static, value)
    if all(o is None or _all_still(o) for o in operands):
        return Germ.still(value)
    if op is add:
        for x, y in (
            operands,
            operands[::-1],
        ):  # infinity outweighs a product that is finite but unknown
            value = replace_where(
                value,
                np.isinf(floats(x.value)) & np.isnan(floats(y.value)) & (y.order == 0),
                x.value,
            )
    if not op.elementwise:
        return _germ_of_whole(op, operands, static, value)
    return _entrywise(op, operands, static, value)


def _entrywise(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> Germ:
    shape = np.shape(floats(value))
    if op is where:
        condition, x, y = operands
        chosen = np.asarray(floats(condition.value), bool)
        order, still, far = (
            np.broadcast_to(np.where(chosen, a, b), shape)
            for a, b in zip(x.facts, y.facts, strict=True)
        )
        return Germ(value, still, order, far)
    still = np.ones(shape, bool)
    for operand, flat in zip(operands, _flatness(op, operands, static, value), strict=True):
        if operand is not None:
            still = still & (operand.still_ | flat)
    order = orders(value, still)
    known = _known_order(op, operands, static, value)
    if known is not None:
        order = np.where(still, order, np.where(np.isnan(order), known, order))
    return Germ(value, still, order, _far(op, operands, static, value))


def _far(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> Any:
    """Return which entries of a result are 0 or infinite only because floats end.

    They are 0 or infinite near the point, too.
    """
    # a difference of zero is no underflow
    ends = ((floats(value) == 0) & (not op.linear)) | np.isinf(floats(value))
    if op.kind == "flat" or not np.any(ends) or isinstance(value, Carrier):
        return False
    if any(
        operand is None for operand in operands
    ):  # an operation with an operand left out is never evaluated beside the point
        return False
    for operand in operands:
        inside = np.isfinite(operand.value) & (operand.value != 0)
        ends = ends & (inside | operand.far | operand.still_)
    for nudge in (1 - _NUDGE, 1 + _NUDGE):
        beside = [
            a * a.dtype.type(nudge ** (i + 1)) if a.dtype.kind == "f" else a
            for i, a in enumerate(np.asarray(o.value) for o in operands)
        ]
        ends = ends & np.equal(op.forward(*beside, **static), value)
    return ends


def _flatness(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> list[Any]:
    """For each operand, where the result does not move with it."""
    if op.kind == "flat":
        # Except for a zero that is a jump, as for the sign of 0 but not for the trunc of 0.
        if len(operands) == 1 and not any(kink.where(0.0, **static) for kink in op.kinks):
            return [True]
        jumps = [
            floats(o.value) == 0 if o is not None and op.result == "float" else False
            for o in operands
        ]
        return [~((floats(value) == 0) & jump) for jump in jumps]
    if op.kind != "piecewise" or op.linear or op.partials is None or op is div:
        return [False] * len(operands)
    partials = [
        None if p is None else p(Germ(value, False), *operands, **static) for p in op.partials
    ]
    return [
        True
        if p is None
        else (p.order == _ALWAYS if isinstance(p, Germ) else bool(np.all(np.equal(p, 0))))
        for p in partials
    ]


def _known_order(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> Any:
    """Return the order of a result that is 0 or infinite, where it follows from the operands'."""
    if op.degree is not None:
        return op.degree * operands[0].order
    if (
        op.kind == "smooth"
        and len(operands) == 1
        and op.partials is not None
        and op.partials[0] is not None
    ):
        (x,) = operands
        with np.errstate(all="ignore"):
            vanished = np.equal(op.forward(np.copysign(_FAR_OUT, floats(x.value)), **static), 0)
        if np.any(vanished):
            # Where the operand has a pole, but not where a logarithm ends.
            return np.where((floats(value) == 0) & (x.order < 0) & vanished, _FAST, np.nan)
        slope = floats(op.partials[0](value, x.value, **static))
        # A simple zero, such as that of sin.
        simple = (floats(x.value) == 0) & np.isfinite(slope) & (slope != 0)
        return np.where(simple, x.order, np.nan)
    with np.errstate(invalid="ignore"):
        if op is pow_:
            x, y = operands
            fast = (floats(value) == 0) & x.still_ & (y.order < 0)  # as exp at a pole
            power = floats(y.value) * x.order
            return np.where(y.still_, power, np.where(fast, _FAST, np.nan))
        if op is div:
            return operands[0].order - operands[1].order
        if op is hypot:
            return np.minimum(*[o.order for o in operands])
        if op in (add, sub):
            x, y = operands
            return np.where(x.order == y.order, np.nan, np.minimum(x.order, y.order))
    return None


def _germ_of_whole(op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any) -> Germ:
    """Return the germ of an operation on whole arrays.

    Its facts are known for operations that move and sum entries.
    """
    if not op.linear or any(isinstance(o, tuple) for o in operands):
        return Germ(value, False)

    def carry(facts: Sequence[Any]) -> Any:
        return np.asarray(op.forward(*facts, **static))

    still = carry([None if o is None else (~o.still_).astype(float) for o in operands]) == 0
    if op.ulps:
        return Germ(value, still, far=_far_sum(operands, value))
    # Entries are moved and not changed, and their facts move along.
    far = carry([None if o is None else np.broadcast_to(o.far, o.shape) for o in operands])
    return Germ(value, still, carry([None if o is None else o.order for o in operands]), far)


def _germ_of_product(
    op: Op, operands: Sequence[Any], static: Mapping[str, Any], value: Any
) -> Germ:
    """Return the germ of products of entries, or of sums of them.

    A product with a zero that stays is itself such a zero, whatever the other factors do.
    """
    alive = [(o.order != _ALWAYS).astype(float) for o in operands]
    never = np.equal(op.forward(*alive, **static), 0)
    if op.algebra == "product of entries":
        moved = np.greater(op.forward(*[2.0 - o.still_ for o in operands], **static), 1)
    else:
        places = range(len(operands))
        terms = [
            [(~o.still_).astype(float) if i == k else alive[k] for k, o in enumerate(operands)]
            for i in places
        ]
        moved = sum(np.not_equal(op.forward(*term, **static), 0) for term in terms) > 0
    value = replace_where(value, np.isnan(floats(value)) & never, None)
    still = never | ~moved
    return Germ(value, still, far=_far_sum(operands, value))


def _far_sum(operands: Sequence[Any], value: Any) -> Any:
    """Return which sums are infinite only because floats end, as all that is infinite in them."""
    far = all(np.all(o.far | np.isfinite(floats(o.value))) for o in operands if o is not None)
    return np.isinf(floats(value)) & far


def orders(value: Any, still: Any) -> Any:
    """Orders by the values alone: not known of zeros that move, nor of infinities."""
    numbers = floats(value)
    zero = np.where(still, _ALWAYS, np.nan)
    infinite = np.where(still, -_ALWAYS, np.nan)
    rest = np.where(np.isinf(numbers), infinite, np.where(np.isnan(numbers), np.nan, 0.0))
    return np.where(numbers == 0, zero, rest)


def floats(value: Any) -> Any:
    """Return a value as floats that are zero, infinite and NaN where the value is."""
    array = value.array if hasattr(value, "array") else np.asarray(value)
    if array.dtype != object:
        return array
    return np.array([_like(v) for v in array.ravel()], dtype=float).reshape(array.shape)


def _like(v: Any) -> float:
    """Return a float that is zero only where v is, and infinite only where v is."""
    found = float(v)
    if found == 0 and v != 0:
        return math.copysign(_SMALLEST, v)
    return math.copysign(_LARGEST, found) if math.isinf(found) and v - v == 0 else found


def replace_where(value: Any, mask: np.ndarray, other: Any) -> Any:
    """Replace the masked entries of a value by those of another, or by zeros without another."""
    if not mask.any():
        return value
    if hasattr(value, "array"):
        array = value.array.copy()
        array[mask] = value.m.zero if other is None else other.array[mask]
        return type(value)(value.m, array)
    zeros = np.asarray(value).dtype.type(0)
    return np.where(mask, zeros if other is None else other, value)[()]


_MOST = 40_000  # most nodes visited for all variables together, which takes some seconds
_ONE_BY_ONE = 64  # most open entries of a variable that are decided one by one


def decide(
    found: dict[Any, Any],
    order: Sequence[Any],
    seeds: Mapping[Any, Any],
    wrt: Sequence[Any],
    value_of: Table,
    backward: Callable[..., dict[Any, Any]],
    decided: list[Any],
) -> None:
    """Decide zero times infinity in the adjoints that plain products have given.

    backward  the sweep
    decided   takes the variables of which some entries were NaN before
    """
    left = _MOST
    for x in wrt:
        part = found.get(x)
        if part is None:
            continue
        open_ = np.isnan(floats(part))
        if open_.any():
            moved = dependents(order, {x})
            near = [node for node in order if node in moved]
            left -= len(near)
            if left < 0:
                break  # what is still open stays NaN
            decided.append(x)
            sweep = partial(_sweep, near, seeds, x, value_of, backward)
            found[x] = _decide_adjoint(x, part, open_, sweep)


def _decide_adjoint(
    x: Any, part: Any, open_: np.ndarray, sweep: Callable[[np.ndarray], Germ]
) -> Any:
    """Return the adjoint of x, where ``open_`` says which of its entries are NaN."""
    moving = [np.ones(x.shape, bool)]  # all entries at once, then those still open one by one
    while moving:
        mask = moving.pop()
        found = sweep(mask)
        asked = open_ & mask & ~np.isnan(floats(found.value))
        part = replace_where(part, asked, found.value)
        open_ = open_ & ~asked
        if mask.all() and mask.size > 1 and np.count_nonzero(open_) <= _ONE_BY_ONE:
            moving = [_only(x.shape, place) for place in np.argwhere(open_)]
    return part


def _only(shape: Any, place: np.ndarray) -> np.ndarray:
    mask = np.zeros(shape, bool)
    mask[tuple(place)] = True
    return mask


def _sweep(
    order: Sequence[Any],
    seeds: Mapping[Any, Any],
    x: Any,
    value_of: Table,
    backward: Callable[..., dict[Any, Any]],
    moving: np.ndarray,
) -> Germ:
    """Return the adjoint of x on germs, for a point some of whose entries move.

    ``order`` has the nodes that depend on x.
    """
    value = value_of(x)
    near = np.where(
        moving, np.where(floats(value) == 0, 1.0, orders(value, moving)), orders(value, ~moving)
    )
    table = Near(value_of)
    table[x] = Germ(value, ~moving, near)
    interpret(order, Germs(value_of), table)
    start = {node: Germ.still(seed) for node, seed in seeds.items()}
    found = backward(order, start, [x], table.__getitem__, bare=True).get(x)
    value = value_of(x)
    return (
        Germ.still(replace_where(value, np.ones(np.shape(floats(value)), bool), None))
        if found is None
        else found
    )
