"""The reference for arrays of millions of entries: whole arrays in long double, by sums and derivatives of the judge's own.

It covers elementwise operations that NumPy computes in long double, and those whose records say what they are there (`extended`). Partials
of smooth operations are sympy's, as everywhere; accumulation, broadcasting and its transpose are done here, not by the engine's sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.ops.calling.promotion import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.extended import LONG_DOUBLE, WIDER, NotCovered, Reduced
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.reference.accumulation import accumulate
from gradcli.reference.algebra import Unsupported
from gradcli.reference.cotangents import along, back, summed
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.each_entry import on_entries
from gradcli.reference.single_entries import Wholes, by_entries
from gradcli.reference.stand_ins import StandIns

_WORSE = 4.0  # how many of its units an operation in long double may be off by where one of doubles is off by one of theirs


class Reference(NamedTuple):
    """The value and the vector-Jacobian products in long double, and how far rounding may have taken each of these beside its operands.

    errors  of the slopes of single operations, where these are computed of terms that cancel
    share   what else the reference may be off by, as a share of what the engine may: rounding goes the same ways, in smaller units
    wholes  what was found on the way
    held    what stood in for operations without a form
    source  what decided
    """

    value: Any
    slopes: list[np.ndarray]
    errors: list[np.ndarray]
    share: float
    wholes: Wholes
    held: StandIns
    source: str


def reference(
    root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str, held: StandIns | None = None
) -> Reference:
    """The derivative in long double, or in double where that is no longer or has no such operation. Raises Unsupported.

    A derivative inside of the expression is what the engine has expanded it to: `inner_derivatives` holds that against its definition.
    """
    try:
        return _reference(root, wrt, leaves, seed, precision, held or StandIns())
    except NotCovered as missing:
        raise Unsupported(str(missing)) from None


def _reference(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str, held: StandIns) -> Reference:
    order = reachable([root])
    with np.errstate(all="ignore"):
        table = interpret(order, LongDoubles(leaves, precision, held))
        adjoints, wholes = pulled(order, table, root, wrt, seed, held)
    nothing = [(np.zeros(x.shape, LONG_DOUBLE),) * 3 for x in wrt]
    found = [adjoints.get(x, none) for x, none in zip(wrt, nothing, strict=True)]
    return Reference(
        table[root],
        [np.asarray(f[0], LONG_DOUBLE) for f in found],
        [np.asarray(f[1], float) for f in found],
        _share(precision, np.float64 if held.narrow else LONG_DOUBLE),
        Wholes(table, {node: (slope, error) for node, (slope, error, _) in wholes.items()}),
        held,
        "long double" if WIDER else "double",
    )


def pulled(
    order: Sequence[Expr], table: Mapping[Expr, Any], root: Expr, wrt: Sequence[Expr], seed: Any, held: StandIns
) -> tuple[dict[Expr, Any], dict[Expr, Any]]:
    """The adjoints of the nodes on the way to ``wrt``, and what of them operations that are not entry by entry pass back."""
    start = np.broadcast_to(np.asarray(seed, LONG_DOUBLE), root.shape)
    needed = _needed(order, wrt)
    seeds: dict[Expr, Any] = {root: (start, np.broadcast_to(0.0, root.shape), np.broadcast_to(1.0, root.shape))}
    wholes: dict[Expr, Any] = dict(seeds)

    def pull(node: Expr, adjoint: Any) -> Iterator[tuple[Expr, Any]]:
        if node.op is None or node not in needed:
            return
        still_in_time()
        if node.op is output:
            yield node.operand, {node.static["place"]: adjoint}
            return
        operands = [None if o is None else table[o] for o in node.operands]
        wanted = [o in needed for o in node.operands]
        for operand, part in zip(node.operands, back(node, node.op, adjoint, table[node], operands, wanted, held), strict=True):
            if operand is not None and operand in needed and part is not None:
                slope, error, live = (summed(p, operand.shape) for p in part)
                yield operand, (slope, error, live)
                if not by_entries(node):
                    whole = slope, error, live
                    wholes[operand] = _plus(wholes[operand], whole) if operand in wholes else whole

    return accumulate(reversed(order), seeds, pull, _plus), wholes


def _share(precision: str, used: Any) -> float:
    """Of the engine's error, that of a reference whose numbers have smaller units, at most: it makes as many roundings, one for one."""
    return min(1.0, _WORSE * float(np.finfo(used).eps) / float(np.finfo(precision).eps))


def value(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> Any:
    """The value of an expression in long double. Raises Unsupported."""
    with np.errstate(all="ignore"):
        return interpret(reachable([root]), LongDoubles(leaves, precision, StandIns()))[root]


def _plus(x: Any, y: Any) -> Any:
    if isinstance(x, dict):  # of several results, by their places
        return {place: _plus(x[place], y[place]) if place in x and place in y else x.get(place, y.get(place)) for place in {**x, **y}}
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


def _needed(order: Sequence[Expr], wrt: Sequence[Expr]) -> set[Any]:
    needed: set[Any] = set(wrt)
    for node in order:
        if any(o in needed for o in node.operands):
            needed.add(node)
    return needed


class LongDoubles(Domain[Any]):
    """Whole arrays in long double."""

    def __init__(self, leaves: Mapping[Expr, Any], precision: str, held: StandIns) -> None:
        self.leaves, self.dtype, self.held = leaves, numpy_dtype("float", precision), held

    def leaf(self, node: Expr) -> Any:
        value = np.asarray(self.leaves[node])
        return value.astype(LONG_DOUBLE) if value.dtype.kind == "f" else value

    def constant(self, node: Expr) -> Any:
        if isinstance(node.payload, Constant):
            return _long(node.payload)
        value = np.asarray(constant_value(node.payload, self.dtype, node.kind))
        return value.astype(LONG_DOUBLE) if node.kind == "float" else value

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        try:
            return self._applied(node, op, operands)
        except Unsupported:
            return self.held.value(op, operands, node.static)

    def _applied(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        rule = op.extended
        try:
            if isinstance(rule, Reduced):
                kept, _, _ = rule.slopes(*along(node, operands))
                return np.reshape(kept, node.shape)
            if rule is not None and rule.value is not None:
                asked = {"epsilon": float(np.finfo(str(self.dtype)).eps)} if rule.epsilon else {}
                return rule.value(*operands, **node.static, **asked)
            if op.elementwise:
                return on_entries(op, operands, node.static)
        except NotCovered as missing:
            raise Unsupported(str(missing)) from None
        raise Unsupported(f"{op.name} of so many entries")


def _long(constant: Constant) -> Any:
    import mpmath

    with mpmath.workdps(40):
        return LONG_DOUBLE(mpmath.nstr(constant.reference(mpmath.mp), 30))
