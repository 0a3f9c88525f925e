"""Reference for large arrays.

Values, cotangents and inner derivatives are in long double or rounded doubles, whole arrays at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Domain, Expr, constant_value, dependents, interpret, reachable
from gradcli.graph.sweep import has_nan, plus
from gradcli.ops.axes import NoLoop, broadcast, move_entries, sum_to_shape
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.extended import BODY, LONG_DOUBLE, Entrywise, NotCovered, Reduced, Whole
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.ops.writing import axes_of
from gradcli.reference.algebra import Unsupported
from gradcli.reference.deadline import still_in_time
from gradcli.reference.stand_ins import StandIns

# -- How cotangents of whole arrays go back through an operation by its form, each with its own
# rounding error and with what of it flows.


_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_DRAWS, _SPREAD = (
    2,
    4.0,
)  # draws of random signs, and the bound on the sum of errors in terms of the largest of these


Part = tuple[
    Any, Any, Any
    # An adjoint, its own rounding error, None for none, and 0 where nothing flows (a branch not
    # taken, an entry not chosen), None where everything does.
]
Parts = Sequence[Part | None]
Pull = Callable[..., Sequence[Any]]  # takes a cotangent, a result and operands


def back(
    node: Expr,
    op: Op,
    adjoint: Any,
    out: Any,
    operands: list[Any],
    wanted: Sequence[bool],
    held: StandIns,
) -> Parts:
    """Pull a node's cotangent back to its operands.

    It is done by the operation's form, or by its rule where there is no form.
    """
    static, rule = node.static, op.extended
    try:
        if (
            op.body is not None
            and not _has_form(op)
            and (not op.elementwise or (op.kind == "piecewise" and op.kinks))
        ):
            root, leaves, table = _slope_parts(node, op, operands, held)
            given = [leaf for leaf in leaves if leaf is not None]
            found: dict[Any, Any] = adjoints_of(table, root, given, adjoint, held)
            return list(map(found.get, leaves))
        if isinstance(rule, Reduced):
            kept, slope = _slope_parts(node, op, operands, held)
            wide, off, live = _each(
                lambda part: broadcast(np.reshape(part, kept.shape), slope.shape), adjoint
            )
            # Flows to the entries whose value is the result.
            flows = live if op.ulps else _restriction(live, slope)
            return [(wide * slope, None if off is None else off * np.abs(slope), flows)]
        if op.elementwise:
            slopes = (
                [
                    (p(*operands, **static) if p and w else None, None)
                    for p, w in zip(rule.partials, wanted, strict=True)
                ]
                if isinstance(rule, Entrywise) and rule.partials
                else held.slopes_of_entries(op, out, operands, static, wanted)
            )
            return _by_entries(op, adjoint, slopes, held.follows_errors)
        parts = adjoint
        if isinstance(adjoint, dict):
            wholes, errors, _ = zip(
                *(adjoint.get(i, (np.zeros_like(part),) * 3) for i, part in enumerate(out)),
                strict=True,
            )
            parts = wholes, errors if held.follows_errors else None, None
        if isinstance(rule, Whole):
            _, *ways = rule.formulas
            pull, flows = (way and partial(way, **static) for way in ways)
            return _linear(pull, flows, parts, out, operands)
        move = held.made.get(node) or move_entries(op, operands, static)[1]
        through: Pull = lambda part, *_: move(part)  # noqa: E731
        return _linear(through, through, parts, out, operands)
    except (NotCovered, NoLoop, Unsupported):
        return held.pull(op, static, adjoint, out, operands)


def _slope_parts(node: Expr, op: Op, operands: list[Any], held: StandIns) -> Any:
    """Return the parts that the slopes of a value are made of, which are kept.

    For a function they are its body; a reduction states them itself.
    """
    if node not in held.made:
        if isinstance(op.extended, Reduced):
            (x,) = operands
            made = op.extended.slopes(x, axes_of(node.static["axis"], x.shape), held.round)
        else:
            made = _open_body(node, op, operands, held)
        held.made[node] = made
    return held.made[node]


def _has_form(op: Op) -> bool:
    return op.extended not in (None, BODY)


def _is_opened(op: Op) -> bool:
    """Return whether a function's value is what its body is, each operation of which has a form.

    Other functions of entries are opened for their slopes alone, where these have kinks: NumPy's
    loops have finer values.
    """
    return op.body is not None and (op.extended is BODY or not (op.elementwise or _has_form(op)))


def _open_body(
    node: Expr, op: Op, operands: list[Any], held: StandIns
) -> tuple[Expr, list[Expr | None], dict[Expr, Any]]:
    """Build a function's body on leaves in place of operands.

    Return its root, these leaves, and the values of all nodes of the body.
    """
    root, leaves = node.graph.known(_body_of, op.body, node)
    given = {leaf: value for leaf, value in zip(leaves, operands, strict=True) if leaf is not None}
    table = _evaluate(root, given, "float64", held)
    # For instance, a sum of exponentials has underflown. The function itself may be finite.
    if not np.isfinite(table[root]).all() and all(np.isfinite(x).all() for x in given.values()):
        raise NotCovered(
            f"the body of a function of so many entries, which is not finite: {op.name}"
        )
    return root, leaves, table


def _body_of(body: Any, node: Expr) -> tuple[Expr, list[Expr | None]]:
    leaf = node.graph.leaf
    leaves = [None if o is None else leaf("operand", o.shape, o.kind) for o in node.operands]
    return body(*leaves, **node.static), leaves


def _linear(pull: Any, flows: Any, adjoint: Any, out: Any, operands: list[Any]) -> Parts:
    """Cotangents go back as they are, errors with random signs, which add up as rounding does.

    flows  how what flows goes back; None where everything does
    """
    slope, error, live = adjoint
    slopes = pull(slope, out, *operands)
    errors: Sequence[Any] = [None] * len(slopes)
    reached = errors
    if error is not None:
        if flows is pull and all(
            s is None or np.max(s, initial=0) <= 1
            for s in pull(np.ones(np.shape(slope)), out, *operands)
        ):
            errors = pull(_rough(error), out, *operands)  # no errors add up here
        else:
            random = np.random.default_rng(7)
            draws = [pull(_with_random_signs(error, random), out, *operands) for _ in range(_DRAWS)]
            errors = [
                None if parts[0] is None else _SPREAD * np.max(np.abs(parts), axis=0)
                for parts in zip(*draws, strict=True)
            ]
    # Something flows to entries that are not zero.
    if flows is not None and not all(s is None or _has_no_zero(s) for s in slopes):
        live = np.broadcast_to(1.0, np.shape(slope)) if live is None else _rough(live)
        reached = flows(live, out, *operands)
    return [
        None if slope is None else (slope, *_each(broadcast, parts, np.shape(slope)))
        for slope, *parts in zip(slopes, errors, reached, strict=True)
    ]


def _with_random_signs(error: Any, random: np.random.Generator) -> Any:
    if isinstance(error, tuple):
        return tuple(_with_random_signs(part, random) for part in error)
    return _rough(0.0 if error is None else error) * random.choice((-1.0, 1.0), np.shape(error))


def _rough(x: Any) -> Any:
    return np.asarray(x, np.float64)


def _by_entries(
    op: Op, adjoint: Part, slopes: Sequence[tuple[Any, Any]], with_errors: bool
) -> Parts:
    """Cotangent times slope."""
    cotangent, error, live = adjoint
    found: list[Part | None] = []
    own = 4 * _UNIT * np.abs(_rough(cotangent)) if with_errors else None
    for slope, size in slopes:
        if slope is None:
            found.append(None)
            continue
        product = _product(cotangent, np.asarray(slope))
        off = None
        if own is not None:
            rough = np.abs(_rough(slope))
            off = own * (rough if size is None else _rough(size))
            off = off if error is None else error * rough + off
        flows = _restriction(live, slope) if op.selects else live
        if flows is not None:
            # Where nothing flows, one factor is 0, and the other does not matter. Any other zero
            # times infinity is NaN, which is left to a finer judge.
            product = np.where(flows, product, 0.0) if has_nan(product) else product
            off = None if off is None else np.where(flows, off, 0.0)
        found.append((product, off, flows))
    return found


def _product(x: Any, y: Any) -> Any:
    """Return a product of arrays; where one is 1 throughout, a view of the other."""
    for one, other in ((x, y), (y, x)):
        is_repeated = one.shape in ((), other.shape) and not any(one.strides)
        if is_repeated and one.dtype == other.dtype and np.all(one.flat[:1] == 1):
            return other[...]
    return np.asarray(x * y)


def _each(change: Callable[..., Any], parts: Iterable[Any], *given: Any) -> list[Any]:
    """Change parts of an adjoint, those that are there."""
    return [None if part is None else change(part, *given) for part in parts]


def _restriction(live: Any, slope: Any) -> Any:
    """Return what flows to the entries whose slope is not zero."""
    return (True if live is None else live) * np.not_equal(slope, 0)


def _has_no_zero(x: np.ndarray) -> bool:
    """Return whether no entry is zero, of which one is asked where it is repeated."""
    return bool(x.all() if any(x.strides) or not x.size else x.flat[0])


# -- The reference for arrays of millions of entries: whole arrays in long double, by sums and
# derivatives of the judge's own.
#
# It covers elementwise operations that NumPy computes in long double, and those whose records say
# what they are there (`extended`). Partials of smooth operations are sympy's, as everywhere;
# accumulation, broadcasting and its transpose are done here, not by the engine's sweep.


# How many units in its last place an operation in long double may be off by, where one in doubles
# is off by one unit of its own.
_WORSE = 4.0


class Reference(NamedTuple):
    """Value and vector-Jacobian products in long double, with bounds on their rounding.

    The bounds tell how far rounding may have taken each of these, apart from their operands.

    results  the value, and then each product
    errors   of the slopes of single operations, where these are computed of terms that cancel
    share    what else the reference may be off by, as a share of what the engine may: rounding goes
             the same ways, in smaller units
    source   what decided
    """

    results: list[np.ndarray]
    errors: list[Any]
    share: float
    source: str


def reference(
    root: Expr,
    wrt: Sequence[Expr],
    leaves: Mapping[Expr, Any],
    seed: Any,
    precision: str,
    held: StandIns,
) -> Reference:
    """Return the derivative in long double.

    It is in double where long double is no longer than double, or does not have such an operation.
    Raises Unsupported.
    """
    with np.errstate(all="ignore"):
        table = _evaluate(root, leaves, precision, held)
        start = broadcast(np.asarray(seed, held.dtype), root.shape), None, None
        adjoints = adjoints_of(table, root, wrt, start, held)
    slopes = (adjoints.get(x) or (np.zeros(x.shape), None, None) for x in wrt)
    found = [(table[root], None, None), *slopes]
    unit = np.finfo(np.float64 if held.narrow else held.dtype).eps
    return Reference(
        [np.asarray(f[0], held.dtype) for f in found],
        [0.0 if f[1] is None else np.asarray(f[1], float) for f in found],
        min(1.0, _WORSE * float(unit) / float(np.finfo(precision).eps)),
        "long double" if held.is_wide else "double",
    )


def adjoints_of(
    table: Mapping[Expr, Any], root: Expr, wrt: Sequence[Expr], start: Part, held: StandIns
) -> dict[Expr, Any]:
    """Return the adjoints of the nodes on the way to ``wrt``."""
    value_of: Callable[[Any], Any] = table.get  # None for an operand that was left out
    adjoints: dict[Expr, Any] = {root: start}
    for node, wanted in root.graph.known(_way_back, root, *wrt):
        adjoint = adjoints.get(node)
        if adjoint is None:
            continue
        still_in_time()
        parts: Sequence[Any] = ({node.static.get("place"): adjoint},)
        if node.op is not output:
            operands = [*map(value_of, node.operands)]
            parts = back(node, node.op, adjoint, table[node], operands, wanted, held)
        for operand, passed, wants in zip(node.operands, parts, wanted, strict=True):
            if not wants or passed is None:
                continue
            part = passed
            if node.op is not output:
                slope, *rest = _each(sum_to_shape, passed, operand.shape)
                part = held.round(held.widen(slope), True), *rest
            adjoints[operand] = _plus(adjoints[operand], part) if operand in adjoints else part
    return adjoints


def _way_back(root: Expr, *wrt: Expr) -> list[tuple[Expr, list[bool]]]:
    """Return the operations on the way to ``wrt``, the last first, with the operands on it."""
    order = reachable([root])
    needed = dependents(order, wrt)
    return [
        (node, [operand in needed for operand in node.operands])
        for node in reversed(order)
        if node.op is not None and node in needed
    ]


def value(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> Any:
    """Evaluate an expression in long double, or raise Unsupported."""
    with np.errstate(all="ignore"):
        return _evaluate(root, leaves, precision, StandIns())[root]


def _evaluate(
    root: Expr, leaves: Mapping[Expr, Any], precision: str, held: StandIns
) -> dict[Expr, Any]:
    order = root.graph.known(reachable, (root,))
    return interpret(order, LongDoubles(leaves, precision, held))


def _plus(x: Any, y: Any) -> Any:
    if isinstance(x, dict):  # several results, keyed by place
        return {**x, **y, **{place: _plus(x[place], y[place]) for place in x.keys() & y.keys()}}
    (slope, error, live), (other, more, flows) = x, y
    flows = None if live is None or flows is None else live + flows
    return slope + other, plus(error, more), flows


class LongDoubles(Domain[Any]):
    """Whole arrays in long double."""

    def __init__(self, leaves: Mapping[Expr, Any], precision: str, held: StandIns) -> None:
        self.leaves, self.dtype, self.held = leaves, numpy_dtype("float", precision), held

    def leaf(self, node: Expr) -> Any:
        value = np.asarray(self.leaves[node])
        return value.astype(self.held.dtype, copy=False) if value.dtype.kind == "f" else value

    def constant(self, node: Expr) -> Any:
        if isinstance(node.payload, Constant):
            import mpmath

            with mpmath.workdps(40):
                digits = mpmath.nstr(node.payload.reference(mpmath.mp), 30)
            return self.held.dtype(LONG_DOUBLE(digits))
        value = np.asarray(constant_value(node, self.dtype))
        return value.astype(self.held.dtype) if node.kind == "float" else value

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        held, rounds = self.held, op.ulps
        try:
            if _is_opened(op):
                root, _, table = _slope_parts(node, op, operands, held)
                found, rounds = table[root], False
            elif isinstance(op.extended, Reduced):
                found, _ = _slope_parts(node, op, operands, held)
            else:
                found = self._apply(node, op, operands)
        except (NotCovered, NoLoop, Unsupported):
            found = held.value(op, operands, node.static)
        held.note_kinks(op, operands, node.static, found)
        if isinstance(op.extended, Reduced):
            found = np.reshape(found, node.shape)
        return held.round(found, all(found is not o for o in operands)) if rounds else found

    def _apply(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        rule = op.extended
        if rule is not None and rule.value is not None:
            asked = dict(node.static)
            if isinstance(rule, Entrywise) and rule.epsilon:
                asked["epsilon"] = float(np.finfo(str(self.dtype)).eps)
            return self.held.widen(rule.value(*operands, **asked))
        if op.elementwise:
            return self.held.value_of_entries(op, operands, node.static, node.shape)
        value, self.held.made[node] = move_entries(op, operands, node.static)
        return value
