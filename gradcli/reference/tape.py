"""The reference R, operation by operation.

Values are recomputed from the leaves in multi-precision, and derivatives are taken by the judge's
own tape. It reads the graph of the *function*: the judge takes derivatives inside an expression
from their definition, never from the engine's expansion of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import (
    Domain,
    Expr,
    constant_value,
    definition_order,
    forward,
    interpret,
    reachable,
)
from gradcli.graph.transforms import Derivation
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra
from gradcli.reference.deadline import still_in_time
from gradcli.reference.scalars import Event, Traced, Tracing, Trouble, behind, plain

# -- Where a zero's minus sign counts: real numbers have none, and where an operation reads it,
# such a zero is a number just below 0.


_JUST_BELOW = -2000  # as a power of ten: too small to affect any sum


Zeros = Mapping[Expr, Mapping[int, np.ndarray]]  # by node and the operand's place
NO_ZEROS: Zeros = {}


def signed_zeros(root: Expr, values: Mapping[Expr, Any], precision: str) -> Zeros:
    """Return the entries of operands that are -0.0, where an operation tells them from 0.0.

    The engine's floats decide which entries these are.
    """
    readers = [
        node for node in reachable([root]) if node.op is not None and ":signed" in node.op.signature
    ]
    table, found = forward([root], values, precision) if readers else {}, {}
    for node in readers:
        op: Any = node.op
        minus = {}
        for i, (name, x) in enumerate(zip(op.operands, node.operands, strict=False)):
            if x is not None and f"{name}:signed" in op.signature.split():
                minus[i] = (table[x] == 0) & np.signbit(table[x])
        if any(map(np.any, minus.values())):
            found[node] = minus
    return found


# -- Values of the program as multi-precision numbers, exactly -----------------------------------


Array = np.ndarray


def exact_array(m: Any, value: Any, kind: str = "float") -> Array:
    """Binary floats as multi-precision numbers, exactly; booleans and indices as they are."""
    array = np.asarray(value)
    out = np.empty(array.size, dtype=object)
    make: Any = {"bool": bool, "int": int}.get(kind) or (lambda v: m.mpf(float(v)))
    out[:] = [make(v) for v in array.ravel()]
    return out.reshape(array.shape)


def as_numbers(m: Any, array: Any) -> Array:
    """Truths among scalars as the numbers that they are in an array of floats."""
    return Algebra.map(lambda x: m.mpf(x) if isinstance(x, bool) else x, array)


class Troubles(NamedTuple):
    """First scalar operation that was not finite, overall and for each entry of an array.

    For an entry, it is the first such operation that the entry is an origin of.
    """

    first: Trouble | None = None
    own: Mapping[int, Trouble | None] = {}

    def of(self, i: int) -> Trouble | None:
        return self.own.get(i) or self.first


class ReferenceTape(Domain[Any]):
    """The function on a tape of multi-precision scalars."""

    tracing: type[Tracing] = Tracing

    def __init__(
        self, m: Any, leaves: Mapping[Expr, Any], precision: str, zeros: Zeros = NO_ZEROS
    ) -> None:
        self.m = m
        self.scalars = self.tracing(m, precision)
        self.precision = precision
        self.zeros = zeros
        self.table: dict[Expr, Any] = {}
        for leaf, value in leaves.items():
            given = isinstance(value, np.ndarray) and value.dtype == object
            array = value if given else exact_array(m, value, leaf.kind)
            is_float = leaf.kind == "float"
            self.table[leaf] = Algebra.map(self.scalars.variable, array) if is_float else array

    def run(self, root: Expr, also: Sequence[Expr] = ()) -> Array:
        """Return the value of a node, an array of traced scalars (or of constants)."""
        result: Array = interpret(definition_order(root, also), self, self.table)[root]
        return as_numbers(self.m, result) if root.kind == "float" else result

    def constant(self, node: Expr) -> Array:
        """Return a constant as an array.

        pi and its like have full precision; literals are the binary numbers that the engine saw.
        """
        if isinstance(node.payload, Constant):
            return np.array(node.payload.reference(self.m), dtype=object)
        dtype = numpy_dtype("float", self.precision)
        return exact_array(self.m, constant_value(node, dtype), node.kind)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        # With plain zeros first, which records the kinks there.
        result = self.scalars.apply(op, node.static, operands)
        if minus := self.zeros.get(node):
            below = self.m.mpf(10) ** _JUST_BELOW
            marked = [
                np.asarray(a - np.where(minus[i], below, self.m.zero)) if i in minus else a
                for i, a in enumerate(operands)
            ]
            there = self.scalars.apply(op, node.static, marked)
            moved = Algebra.map(plain, there) - Algebra.map(plain, result)
            result = np.where(abs(moved) > self.m.sqrt(below), there, result)
        self._watch(op, operands, result)
        return result

    def part(self, node: Expr, whole: Any, place: int) -> Array:
        return np.asarray(whole[place], dtype=object)

    def alias(self, node: Expr, x: Array) -> Array:
        # an identity of its own: something may be differentiated with respect to it
        one, variable = self.m.one, self.scalars.variable
        return Algebra.map(lambda v: v * one if type(v) is Traced else variable(v), x)

    def detach(self, node: Expr, x: Array) -> Array:
        return Algebra.map(plain, x)

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        """Return a derivative inside of the expression, from its definition."""
        of: Derivation = node.static["of"]
        y, x = table[of.y], table[of.x]
        vector: Any = None if of.vector is None else table[of.vector]
        if of.kind == "jacobian":
            return self.rows(y, x)
        if of.kind == "jvp":
            found = self.rows(y, x).reshape(*y.shape, -1) * np.ravel(vector)
            return np.asarray(found.sum(axis=-1), dtype=object)
        ones = Algebra.map(lambda _: self.m.one, y)
        if of.kind == "vjp":
            return self.gradient(y, ones if vector is None else vector, x, traced=True)
        slope = self.gradient(y, ones, x, traced=True)
        if of.kind == "hessian":
            return self.rows(slope, x)
        return self.gradient(slope, vector, x, traced=True)

    def _watch(self, op: Op, operands: list[Any], result: Any) -> None:
        """Note the kinks of norms and deviations, which their result tells.

        Scalar operations note their own kinks.
        """
        for kink in () if op.elementwise or isinstance(result, tuple) else op.kinks:
            if any(type(v) is Traced and kink.where(v.value) for v in np.ravel(result)):
                reached = tuple(v for o in operands if o is not None for v in np.ravel(o))
                self.scalars.events.append(Event(op, kink, reached))

    def gradient(self, y: Any, seed: Any, x: Any, traced: bool = False) -> Array:
        """Return the vector-Jacobian product of arrays of scalars."""
        seeds: dict[Traced, Any] = {}
        for node, weight in zip(np.ravel(y), np.ravel(seed), strict=True):
            if type(node) is Traced:
                seeds[node] = seeds[node] + weight if node in seeds else weight
        wrt = [v for v in np.ravel(x) if type(v) is Traced]
        found = iter(self.scalars.pull(seeds, wrt, traced))
        return Algebra.map(lambda v: next(found) if type(v) is Traced else self.m.zero, x)

    def slopes(self, y: Array, seed: Array, wrt: Sequence[Expr]) -> list[Array]:
        """Return the derivatives with respect to several nodes, in one sweep.

        An entry that is NaN itself has the derivative NaN.
        """
        found = iter(
            self.gradient(y, seed, [entry for x in wrt for entry in np.ravel(self.table[x])])
        )

        def slope(entry: Any) -> Any:
            slope = plain(next(found))
            return slope if plain(entry) == plain(entry) else self.m.nan

        return [Algebra.map(slope, self.table[x]) for x in wrt]

    def troubles(self, y: Array, wrt: Sequence[Expr]) -> list[Troubles]:
        """Return, for each of several nodes, the operations before a result that were not finite.

        Values come first, and then derivatives.
        """
        taken = behind([v for v in np.ravel(y) if type(v) is Traced]) if self.scalars.faults else {}
        faults = [
            trouble for trouble in self.scalars.faults if trouble.node.serial in taken
        ]  # not in a branch that was not taken
        found = [*faults, *self.scalars.troubles]
        if faults:  # a missing value has no derivative either, so that one is not reported
            found = [trouble for trouble in found if all(map(self.m.isfinite, trouble.values))]
        if not found:
            return [Troubles()] * len(wrt)
        made_of = [(trouble, behind([trouble.node])) for trouble in found]

        def own(scalar: Any) -> Trouble | None:
            serial = getattr(scalar, "serial", None)
            origins = (trouble for trouble, nodes in made_of if serial in nodes)
            return next(origins, None)

        return [Troubles(found[0], dict(enumerate(map(own, np.ravel(self.table[x]))))) for x in wrt]

    def rows(self, y: Array, x: Array) -> Array:
        """Return the Jacobian of arrays of scalars, which may be differentiated again."""
        out = np.empty((y.size, *x.shape), dtype=object)
        for i, entry in enumerate(np.ravel(y)):
            out[i] = self.gradient([entry], [self.m.one], x, traced=True)[()]
        return out.reshape((*y.shape, *x.shape))


def reference_at(
    m: Any, root: Expr, wrt: Sequence[Expr], seed: Any, leaves: Mapping[Expr, Any], precision: str
) -> tuple[ReferenceTape, np.ndarray, list[np.ndarray]]:
    """Return the reference's value of a function at a point, its gradients, and their tape."""
    tape = ReferenceTape(m, leaves, precision)
    y = tape.run(root, wrt)
    slopes = tape.slopes(y, exact_array(m, seed), wrt) if wrt else []
    return tape, Algebra.map(plain, y), slopes
