"""The reference R, operation by operation: values recomputed from the leaves in multi-precision, derivatives by
the judge's own tape. It reads the graph of the *function*: derivatives inside an expression are taken by the
judge from their definition, never from what the engine expanded them to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.interpret import Domain, forward, interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.scalars import Event, Traced, Tracing, Trouble, behind, plain

# -- Where a zero's minus sign counts: real numbers have none, and where an operation reads it,
# such a zero is a number just below 0.


_JUST_BELOW = -2000  # as a power of ten: nothing of it is left in any sum


class SignedZeros:
    """The entries of operands that are -0.0, by the floats that the engine has there, wherever an operation tells them from 0.0."""

    def __init__(self, root: Expr, values: Mapping[Expr, Any], precision: str) -> None:
        self._found: dict[tuple[Expr, int], np.ndarray] = {}
        readers = [node for node in reachable([root]) if node.op is not None and ":signed" in node.op.signature]
        if not readers:
            return
        table = forward([root], values, precision)
        for node in readers:
            for place, operand in enumerate(node.operands):
                if operand is None or node.op is None or node.op.operands[place] + ":signed" not in node.op.signature.split():
                    continue
                floats = np.asarray(table[operand])
                minus = (floats == 0) & np.signbit(floats)
                if minus.any():
                    self._found[node, place] = minus

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._found)

    def __contains__(self, node: Expr) -> bool:
        """Return whether there are any for this node."""
        return any(reader is node for reader, _ in self._found)

    def marked(self, m: Any, node: Expr, arrays: list[Any]) -> list[Any]:
        """The operands of a node, with each -0.0 in them just below 0."""
        if node not in self:
            return arrays
        below = m.mpf(10) ** _JUST_BELOW
        masks = [self._found.get((node, place)) for place in range(len(arrays))]
        return [a if minus is None else np.asarray(a - np.where(minus, below, m.zero)) for a, minus in zip(arrays, masks, strict=True)]


# -- Values of the program as multi-precision numbers, exactly -------------------------------------


Array = np.ndarray


def exact_array(m: Any, value: Any, kind: str) -> Array:
    """Binary floats as multi-precision numbers, exactly; booleans and indices as they are."""
    array = np.asarray(value)
    out = np.empty(array.size, dtype=object)
    make: Any = {"bool": bool, "int": int}.get(kind) or (lambda v: m.mpf(float(v)))
    out[:] = [make(v) for v in array.ravel()]
    return out.reshape(array.shape)


def constant_array(m: Any, node: Expr, precision: str) -> Array:
    """A constant node: pi and its like to full precision, literals as the binary numbers that the engine saw."""
    if isinstance(node.payload, Constant):
        out = np.empty((), dtype=object)
        out[()] = node.payload.reference(m)
        return out
    return exact_array(m, constant_value(node.payload, numpy_dtype("float", precision), node.kind), node.kind)


class Troubles(NamedTuple):
    """The first scalar operation that was not finite, and for each entry of an array the first that it is an origin of."""

    first: Trouble | None = None
    own: Mapping[int, Trouble | None] = {}

    def of(self, i: int) -> Trouble | None:
        return self.own.get(i) or self.first


class ReferenceTape(Domain[Any]):
    """The function on a tape of multi-precision scalars."""

    tracing: type[Tracing] = Tracing

    def __init__(self, m: Any, leaves: Mapping[Expr, Any], precision: str, zeros: SignedZeros | None = None) -> None:
        self.m = m
        self.scalars = self.tracing(m, precision)
        self.precision = precision
        self.zeros = zeros
        self.table: dict[Expr, Any] = {}
        for leaf, value in leaves.items():
            array = value if isinstance(value, np.ndarray) and value.dtype == object else exact_array(m, value, leaf.kind)
            self.table[leaf] = Algebra.map(self.scalars.variable, array) if leaf.kind == "float" else array

    def run(self, root: Expr, also: Sequence[Expr] = ()) -> Array:
        """The value of a node, an array of traced scalars (or of constants)."""
        result: Array = interpret(definition_order(root, also), self, self.table)[root]
        return result

    def constant(self, node: Expr) -> Array:
        return constant_array(self.m, node, self.precision)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        result = self.scalars.apply(op, node.static, operands)  # of zeros as they are, for the kinks there
        if self.zeros is not None and node in self.zeros:
            result = self.scalars.apply(op, node.static, self.zeros.marked(self.m, node, operands))
        self._watch(op, operands, result)
        return result

    def part(self, node: Expr, whole: Any, place: int) -> Array:
        return np.asarray(whole[place], dtype=object)

    def alias(self, node: Expr, x: Array) -> Array:
        return Algebra.map(self._named, x)  # an identity of its own: something may be differentiated with respect to it

    def detach(self, node: Expr, x: Array) -> Array:
        return Algebra.map(plain, x)

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        """A derivative inside of the expression, from its definition."""
        of: Derivation = node.static["of"]
        return self._inner(of, table[of.y], table[of.x], None if of.vector is None else table[of.vector])

    def _watch(self, op: Op, operands: list[Any], result: Any) -> None:
        """Note the kinks of norms and deviations, which their result tells; scalar operations note their own."""
        for kink in () if op.elementwise else op.kinks:
            if any(kink.where(plain(v)) for v in np.ravel(result)):
                reached = tuple(v for o in operands if o is not None for v in np.ravel(o))
                self.scalars.events.append(Event(op, kink, reached))

    def _named(self, x: Any) -> Any:
        return x * self.m.one if type(x) is Traced else self.scalars.variable(x)

    def gradient(self, y: Array, seed: Array, x: Array, traced: bool = False) -> Array:
        """The vector-Jacobian product of arrays of scalars."""
        seeds: dict[Traced, Any] = {}
        for node, weight in zip(np.ravel(y), np.ravel(seed), strict=True):
            if type(node) is Traced:
                seeds[node] = seeds[node] + weight if node in seeds else weight
        wrt = [v for v in np.ravel(x) if type(v) is Traced]
        found = iter(self.scalars.pull(seeds, wrt, traced))
        return Algebra.map(lambda v: next(found) if type(v) is Traced else self.m.zero, x)

    def slopes(self, y: Array, seed: Array, wrt: Sequence[Expr]) -> list[Array]:
        """The derivatives with respect to several nodes in one sweep; none at entries that are NaN themselves."""
        tables = [self.table[x] for x in wrt]
        flat = np.concatenate([np.ravel(t) for t in tables]) if tables else np.empty(0, dtype=object)
        found = Algebra.map(plain, self.gradient(y, seed, flat))
        for i, entry in enumerate(flat):
            if plain(entry) != plain(entry):
                found[i] = self.m.nan
        out, start = [], 0
        for table in tables:
            out.append(found[start : start + table.size].reshape(table.shape))
            start += table.size
        return out

    def troubles(self, y: Array, wrt: Sequence[Expr]) -> list[Troubles]:
        """Return what was not finite on the way to a result, for each of several nodes: values first, and then derivatives."""
        faults = self.scalars.faults
        if faults:  # those in a branch that was not taken are none
            taken = {id(node.arguments) for node in behind([v for v in np.ravel(y) if type(v) is Traced]).values()}
            faults = [trouble for trouble in faults if id(trouble.arguments) in taken]
        found = [*faults, *self.scalars.troubles]
        if faults:  # what has no value has no derivative either, which tells nothing of its own
            found = [trouble for trouble in found if all(map(self.m.isfinite, trouble.values))]
        made_of = [behind([a for a in trouble.arguments if type(a) is Traced]) for trouble in found]

        def own(scalar: Any) -> Trouble | None:
            if type(scalar) is not Traced:
                return None
            return next((trouble for trouble, serials in zip(found, made_of, strict=True) if scalar.serial in serials), None)

        first = found[0] if found else None
        return [Troubles(first, {} if first is None else dict(enumerate(map(own, np.ravel(self.table[x]))))) for x in wrt]

    def _inner(self, of: Derivation, y: Array, x: Array, vector: Any) -> Array:
        ones = Algebra.map(lambda _: self.m.one, y)
        if of.kind == "vjp":
            return self.gradient(y, ones if vector is None else vector, x, traced=True)
        if of.kind == "jacobian":
            return self._rows(y, x)
        if of.kind == "jvp":
            return np.asarray((self._rows(y, x).reshape(*y.shape, -1) * np.ravel(vector)).sum(axis=-1), dtype=object)
        slope = self.gradient(y, ones, x, traced=True)
        if of.kind == "hessian":
            return self._rows(slope, x)
        assert vector is not None
        return self.gradient(slope, vector, x, traced=True)

    def _rows(self, y: Array, x: Array) -> Array:
        rows = []
        for i in range(y.size):
            seed = Algebra.map(lambda _: self.m.zero, y)
            seed.reshape(-1)[i] = self.m.one
            rows.append(self.gradient(np.ravel(y)[i : i + 1], np.ravel(seed)[i : i + 1], x, traced=True))
        out = np.empty((len(rows), *x.shape), dtype=object)
        for i, row in enumerate(rows):
            out[i] = row[()]
        return out.reshape((*y.shape, *x.shape))
