"""One entry of a gradient by itself, in multi-precision: what the judge of large arrays asks where long doubles cannot tell.

What an entry of a variable enters entry by entry is a tape of a few scalars: it is computed anew from the variables' exact numbers, and
differentiated, as the composed reference does with whole graphs. Around it stands what the pass in long double has found: values of sums
and other functions of whole arrays, and the cotangents that they pass back, each with its own error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.structure import alias, derivative, detach
from gradcli.reference.algebra import Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.scalars import Traced, Tracing, plain

_MOST = 2_000  # scalars on the tape of one entry
_MOST_OUTER = 64  # entries at which something comes back from whole arrays


class Wholes(NamedTuple):
    """What a pass over whole arrays has found.

    values     of every node
    cotangents of nodes, what comes back from operations that are not entry by entry, and from the seed: with their errors
    """

    values: Mapping[Expr, Any]
    cotangents: Mapping[Expr, tuple[Any, Any]]


def by_entries(node: Expr) -> bool:
    """Whether an entry of a node is made of the operands' entries at its place."""
    return node.op is not None and node.op is not derivative and (node.op in (alias, detach) or node.op.elementwise)


class Entry(NamedTuple):
    """An entry's derivative, how far the errors of cotangents may have taken it, and whether it was taken on a kink."""

    slope: Any
    error: float
    on_kink: bool


class SingleEntries:
    """Derivatives by single entries of variables. Raises Unsupported where too much depends on one."""

    def __init__(self, m: Any, root: Expr, leaves: Mapping[Expr, Any], precision: str, wholes: Wholes) -> None:
        self.m, self.leaves, self.precision, self.wholes = m, leaves, precision, wholes
        self.order = reachable([root])
        self.spent = 0  # nodes and scalars of the entry before

    def of(self, x: Expr, flat: int) -> Entry:
        """The derivative by one entry."""
        entered = self._entered(x, flat)
        wanted = self._wanted(entered)
        self.spent = len(self.order) + sum(map(len, wanted.values()))
        if self.spent > len(self.order) + _MOST:
            raise Unsupported("an entry that so much is made of")
        tape = Tracing(self.m, self.precision)
        table: dict[Expr, dict[int, Any]] = {}
        for node in self.order:
            places = wanted.get(node)
            if not places:
                continue
            if node is not x and by_entries(node):
                table[node] = self._computed(tape, node, places, table)
                continue
            table[node] = self._given(node, places)
            if node is x:
                table[node][flat] = tape.variable(table[node][flat])
        return self._pulled(tape, table, entered, table[x][flat])

    def _entered(self, x: Expr, flat: int) -> dict[Expr, set[int]]:
        """The entries of nodes that an entry is a part of, entry by entry."""
        entered: dict[Expr, set[int]] = {x: {flat}}
        for node in self.order:
            if node in entered or not by_entries(node) or node.op is detach:
                continue
            found: set[int] = set()
            for operand in node.operands:
                if operand in entered:
                    found |= _spread(operand.shape, entered[operand], node.shape)
            if len(found) > _MOST:
                raise Unsupported("an entry that so much is made of")
            if found:
                entered[node] = found
        return entered

    def _wanted(self, entered: Mapping[Expr, set[int]]) -> dict[Expr, set[int]]:
        """Those, and the entries beside them that they are computed of."""
        wanted = {node: set(places) for node, places in entered.items()}
        for node in reversed(self.order):
            places = wanted.get(node)
            if not places or not by_entries(node):
                continue
            for operand in node.operands:
                if operand is not None:
                    wanted.setdefault(operand, set()).update(_places(node.shape, places, operand.shape).tolist())
        return wanted

    def _given(self, node: Expr, places: set[int]) -> dict[int, Any]:
        """Entries of a variable or a constant, exactly; of a function of whole arrays, as the pass has found them."""
        order = sorted(places)
        if node.is_constant and isinstance(node.payload, Constant):
            return dict.fromkeys(order, node.payload.reference(self.m))
        entries = _at(self.leaves[node] if node in self.leaves else self.wholes.values[node], node.shape, order)
        if node.kind != "float":
            return dict(zip(order, exact_array(self.m, entries, node.kind), strict=True))
        return {i: _exactly(self.m, v) for i, v in zip(order, entries, strict=True)}

    def _computed(self, tape: Tracing, node: Expr, places: set[int], table: Mapping[Expr, Mapping[int, Any]]) -> dict[int, Any]:
        order = sorted(places)
        columns: list[Any] = []
        for operand in node.operands:
            if operand is None:
                columns.append(None)
                continue
            column = np.empty(len(order), dtype=object)
            column[:] = [table[operand][i] for i in _places(node.shape, order, operand.shape).tolist()]
            columns.append(column)
        if node.op is alias:
            result = columns[0]
        elif node.op is detach:
            result = [plain(v) for v in columns[0]]
        else:
            assert node.op is not None
            result = tape.apply(node.op, node.static, columns)
        return dict(zip(order, result, strict=True))

    def _pulled(self, tape: Tracing, table: Mapping[Expr, Mapping[int, Any]], entered: Mapping[Expr, set[int]], scalar: Any) -> Entry:
        m = self.m
        outer: list[tuple[Any, Any, Any]] = []
        for node, (cotangent, error) in self.wholes.cotangents.items():
            places = sorted(entered.get(node, ()))
            if not places:
                continue
            parts = _at(cotangent, node.shape, places), _at(error, node.shape, places)
            outer += [(table[node][i], _exactly(m, c), float(e)) for i, c, e in zip(places, *parts, strict=True) if c or e]
        if len(outer) > _MOST_OUTER:
            raise Unsupported("an entry that so much is made of")
        slope, off = m.zero, 0.0
        for scalar_out, cotangent, error in outer:
            if type(scalar_out) is not Traced:
                continue
            (part,) = tape.pull({scalar_out: m.one}, [scalar])
            slope += cotangent * part
            off += error * abs(float(part))
        return Entry(slope, off, bool(tape.events))


def _at(array: Any, shape: tuple[int, ...], places: Sequence[int]) -> Any:
    """Entries of an array that broadcasts to a shape, by their places in it."""
    return np.broadcast_to(array, shape)[np.unravel_index(np.asarray(places), shape)] if shape else np.reshape(array, 1)


def _exactly(m: Any, x: Any) -> Any:
    """A long double as a multi-precision number."""
    high = float(x)
    if not np.isfinite(x):
        return m.mpf(high)
    if np.isfinite(high) and (high or not x):
        return m.mpf(high) + m.mpf(float(x - np.longdouble(high)))
    mantissa, exponent = np.frexp(x)  # beyond the doubles
    return m.ldexp(_exactly(m, mantissa), int(exponent))


def _spread(shape: Sequence[int], places: set[int], over: Sequence[int]) -> set[int]:
    """The places of an array that broadcasting makes of some of an operand."""
    if tuple(shape) == tuple(over):
        return places
    axes = [1] * (len(over) - len(shape)) + list(shape)
    found: set[int] = set()
    for place in places:
        index = [0] * (len(over) - len(shape)) + [int(i) for i in np.unravel_index(place, shape)] if shape else [0] * len(over)
        ranges = [np.arange(n) if axes[k] == 1 else np.array([index[k]]) for k, n in enumerate(over)]
        count = int(np.prod([len(r) for r in ranges]))
        if len(found) + count > _MOST:
            raise Unsupported("an entry that so much is made of")
        found.update(np.ravel(np.ravel_multi_index(np.meshgrid(*ranges, indexing="ij"), tuple(over))).tolist() if over else [0])
    return found


def _places(over: Sequence[int], places: Iterable[int], shape: Sequence[int]) -> np.ndarray:
    """Where in an operand the entries at some places of a result come from."""
    listed = np.fromiter(places, dtype=np.int64)
    if tuple(over) == tuple(shape):
        return listed
    if not shape:
        return np.zeros(len(listed), np.int64)
    index = np.unravel_index(listed, tuple(over))[len(over) - len(shape) :]
    return np.ravel_multi_index([i if n != 1 else np.zeros_like(i) for i, n in zip(index, shape, strict=True)], tuple(shape))
