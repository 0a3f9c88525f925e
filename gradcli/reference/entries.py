"""Single entries of large arrays in balls or multi-precision: of elementwise functions, and of gradients in doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.spec import Op
from gradcli.ops.structure import alias, derivative, detach
from gradcli.reference.algebra import Unsupported, number
from gradcli.reference.ball import Ball, as_arb, made
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable, context
from gradcli.reference.deadline import in_time
from gradcli.reference.scalars import Traced, Tracing, plain
from gradcli.reference.tape import exact_array

# -- Functions entry by entry on arrays of long doubles: by NumPy's loops in long double where
# there are such, else one by one in balls.
#
# NumPy's loops are those of the forward pass, so they are held against the record's reference at
# some entries; where they differ, the reference computes all, if these are few. Derivatives are
# sympy's, and so are their sizes.


_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_SOME = 5 if WIDER else 200  # entries at which NumPy's loop is held against the reference
_UNITS = 64  # that it may be off by
_MOST_ENTRIES = 5_000  # entries that are computed one by one
_AT_ONCE = 64  # entries between two looks at the time
_DIGITS = 25, 50, 200  # the first that tell all bits of a long double

Static = Mapping[str, Any]


def on_entries(op: Op, operands: Sequence[Any], static: Static) -> Any:
    """The value of an elementwise operation. Raises Unsupported."""
    try:
        result = np.asarray(op.forward(*operands, **static))
    except (TypeError, ValueError, AttributeError):  # no loop for long doubles
        result = np.empty(0, object)
    if (result.dtype == LONG_DOUBLE or result.dtype.kind in "biu") and _confirmed(op, operands, static, result):
        return result
    return by_reference(op, operands, static)


def by_reference(op: Op, operands: Sequence[Any], static: Static) -> Any:
    """Return the value of an elementwise operation by its reference. Raises Unsupported."""
    return each(lambda m, *numbers: number(m, op, static, *numbers), operands, op.result)


def entries(operands: Sequence[Any], shape: tuple[int, ...], places: Any) -> list[Any]:
    """Return what operands that broadcast to a shape have at some of its places."""
    return [None if o is None else np.broadcast_to(o, shape).reshape(-1)[places] for o in operands]


def _confirmed(op: Op, operands: Sequence[Any], static: Static, result: Any) -> bool:
    """Return whether the reference gives the same at some entries."""
    if not result.size:
        return True
    places = np.unique(np.linspace(0, result.size - 1, _SOME).astype(int))
    expected = by_reference(op, entries(operands, result.shape, places), static)
    got = result.reshape(-1)[places]
    if result.dtype.kind in "biu":
        return bool(np.all(got == expected))
    near = np.abs(got - expected) <= _UNITS * _UNIT * np.abs(expected)
    return bool(np.all(near | (got == expected) | (np.isnan(got) & np.isnan(expected))))


def each(function: Callable[..., Any], operands: Sequence[Any], result: str = "float") -> Any:
    """Return ``function(m, *numbers)`` at every entry, exact to the last bit of long doubles. Raises Unsupported for too many."""
    shape = np.broadcast_shapes(*(np.shape(o) for o in operands if o is not None))
    size = math.prod(shape)
    if size > _MOST_ENTRIES:
        raise Unsupported(f"a function of {size:,} entries one by one")
    columns = [None if o is None else np.broadcast_to(o, shape).reshape(-1) for o in operands]
    try:
        found = _values([*_balls(), *_mpmath()], function, columns, size, result)
    except (AttributeError, TypeError):  # a function that is not made for balls
        found = _values(_mpmath(), function, columns, size, result)
    return found.reshape(shape)


def _values(contexts: Sequence[Any], function: Callable[..., Any], columns: Sequence[Any], size: int, result: str) -> Any:
    """Return the values at the entries of vectors, which are None for operands that are left out."""
    out = np.empty(size, {"bool": bool, "int": np.int64}.get(result, LONG_DOUBLE))
    first = contexts[0]
    with first.working():
        rows = zip(*(_numbers(first, column, size) for column in columns), strict=True)
        for i, numbers in enumerate(in_time(rows, _AT_ONCE)):
            out[i] = _of_one(contexts, function, numbers, result)
    return out


def _of_one(contexts: Sequence[Any], function: Callable[..., Any], numbers: Sequence[Any], result: str) -> Any:
    for m in contexts:
        with nullcontext() if m is contexts[0] else m.working():
            try:
                value = function(m, *(numbers if m is contexts[0] else [m.again(x) for x in numbers]))
            except m.undecidable:
                continue
            if result == "bool":
                return bool(value)
            if m.settled(value):
                return m.long_double(value)
    raise Unsupported("a function of an entry that no precision decides")


def _numbers(m: Any, column: Any, count: int) -> Iterator[Any]:
    if column is None:
        return (None for _ in range(count))
    if column.dtype.kind == "b":
        return (bool(x) for x in column)
    if column.dtype.kind in "iu":
        return (m.whole(int(x)) for x in column)
    high = column.astype(np.float64)
    low = np.where(np.isfinite(high), column - high, 0).astype(np.float64)
    huge = np.isinf(high) & np.isfinite(column)
    if huge.any():
        raise Unsupported("numbers beyond doubles")
    return (m.exact(a, b) for a, b in zip(high.tolist(), low.tolist(), strict=True))


@cache
def _mpmath() -> list[Any]:

    return [LongMpmath()]


@cache
def _balls() -> list[Any]:

    return [LongBalls(digits) for digits in _DIGITS]


def slope_by_reference(op: Op, operands: Sequence[Any], static: Static, place: int) -> Any:
    """Return the slope of a smooth operation by one operand, by sympy, in balls at every entry. Raises Unsupported."""
    partial = _smooth(op, operands, static).partial(place)
    return each(lambda m, *numbers: partial.value(m, numbers), operands)


def _smooth(op: Op, operands: Sequence[Any], static: Static) -> Any:
    if op.kind != "smooth" or not op.elementwise or any(o is None for o in operands):
        raise Unsupported(f"{op.name} of so many entries")
    from gradcli.reference.symbolic.translate import smooth_function

    return smooth_function(op, len(operands), static)


def slopes_of_entries(op: Op, out: Any, operands: Sequence[Any], static: Static, wanted: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The slopes of a smooth operation, by sympy, and the size of the terms that they are computed of; None where it is their own.

    out     the value, which slopes may be made of
    wanted  the operands by which
    Raises Unsupported.
    """
    smooth = _smooth(op, operands, static)
    from gradcli.reference.symbolic.on_arrays import Unknown, on_arrays

    slopes: list[Any] = []
    sizes: list[Any] = []
    known = {smooth.expression: out}
    for place, asked in enumerate(wanted):
        partial = smooth.partial(place)
        slope = size = None
        try:
            if asked:
                slope = on_arrays(partial.expression, partial.symbols, operands, known)
                size = on_arrays(partial.magnitude().expression, partial.symbols, operands, known)
        except Unknown:
            slope = slope_by_reference(op, operands, static, place)
        slopes.append(slope)
        sizes.append(size)
    return slopes, sizes


# -- Numbers that come from long doubles, and go back to them when all of their bits are certain:
# balls, or mpmath's where these do not do.


_BITS = 70  # that have to be certain
_DIGITS_OF_MPMATH = 40
_BEYOND = 1 << 20  # binary exponents that no long double has
_ORDINARY = 1e-290, 1e290  # sizes whose high and low parts are doubles


class LongBalls(Balls):
    """A context whose numbers are made of long doubles."""

    undecidable = Undecidable

    def exact(self, high: float, low: float) -> Any:
        return made(arb(high) + low) if low else Ball(high)

    def whole(self, n: int) -> Any:
        return Ball(n)

    def again(self, x: Any) -> Any:
        return x

    def settled(self, x: Any) -> bool:
        """Return whether all bits of a long double are certain, or no digits ever make them so."""
        ball = as_arb(x)
        return not ball.is_finite() or ball.is_exact() or ball.rel_accuracy_bits() >= _BITS

    def long_double(self, x: Any) -> Any:
        ball = as_arb(x).mid()
        if not ball.is_finite():
            return LONG_DOUBLE(float(ball))
        high = float(ball)
        if ball.is_zero() or _ORDINARY[0] < abs(high) < _ORDINARY[1]:
            return LONG_DOUBLE(high) + LONG_DOUBLE(float(ball - high))
        mantissa, exponent = ball.man_exp()
        high = float(int(mantissa))
        low = float(int(mantissa) - int(high)) if abs(high) < _ORDINARY[1] else 0.0
        return np.ldexp(LONG_DOUBLE(high) + LONG_DOUBLE(low), max(-_BEYOND, min(_BEYOND, int(exponent))))


class LongMpmath:
    """mpmath's context, at so many digits that the last of a long double is right in all but name."""

    undecidable = ()

    def __init__(self) -> None:
        self.context = context()
        self.context.dps = _DIGITS_OF_MPMATH

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def working(self) -> Any:
        return nullcontext()

    def exact(self, high: float, low: float) -> Any:
        return self.context.mpf(high) + low

    def whole(self, n: int) -> Any:
        return self.context.mpf(n)

    def again(self, x: Any) -> Any:
        """A number of another context."""
        if not isinstance(x, Ball):
            return x
        if not x.ball.is_finite():
            return self.context.mpf(float(x.ball.mid()))
        mantissa, exponent = x.ball.mid().man_exp()
        return self.context.mpf((int(mantissa), int(exponent)))

    def settled(self, x: Any) -> bool:
        return True

    def long_double(self, x: Any) -> Any:
        return LONG_DOUBLE(self.context.nstr(self.context.mpf(x), 25))


# -- One entry of a gradient by itself, in multi-precision: what the judge of large arrays asks
# where long doubles cannot tell.
#
# What an entry of a variable enters entry by entry is a tape of a few scalars: it is computed
# anew from the variables' exact numbers, and differentiated, as the composed reference does with
# whole graphs. Around it stands what the pass in long double has found: values of sums and other
# functions of whole arrays, and the cotangents that they pass back, each with its own error.


_MOST_SCALARS = 2_000  # scalars on the tape of one entry
_MOST_OUTER = 64  # entries at which something comes back from whole arrays


class Wholes(NamedTuple):
    """What a pass over whole arrays has found.

    values     of every node
    cotangents of nodes, what comes back from operations that are not entry by entry, and from the seed: with their errors
    """

    values: Mapping[Expr, Any]
    cotangents: Mapping[Expr, tuple[Any, Any]]


def by_entries(node: Expr) -> bool:
    """Return whether an entry of a node is made of the operands' entries at its place."""
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
        if self.spent > len(self.order) + _MOST_SCALARS:
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
            if len(found) > _MOST_SCALARS:
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
        if len(found) + count > _MOST_SCALARS:
            raise Unsupported("an entry that so much is made of")
        found.update(np.ravel(np.ravel_multi_index(np.meshgrid(*ranges, indexing="ij"), tuple(over))).tolist() if over else [0])
    return found


def _places(over: Sequence[int], places: Iterable[int], shape: Sequence[int]) -> np.ndarray:
    """Return where in an operand the entries at some places of a result come from."""
    listed = np.fromiter(places, dtype=np.int64)
    if tuple(over) == tuple(shape):
        return listed
    if not shape:
        return np.zeros(len(listed), np.int64)
    index = np.unravel_index(listed, tuple(over))[len(over) - len(shape) :]
    return np.ravel_multi_index([i if n != 1 else np.zeros_like(i) for i, n in zip(index, shape, strict=True)], tuple(shape))
