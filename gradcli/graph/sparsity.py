"""Dependence of each entry of a result on entries of variables.

It is a reading of the graph in sets of entries.

The record of an operation says what it does with sets. An elementwise operation unites the sets of
its operands, entry by entry. An operation on axes (`Op.axes`) says what it adds up. An operation
that moves entries shows where by moving their numbers. With an ``axis``, the entries along it mix.
For all other operations each entry may depend on all. Therefore a pattern is that of the
derivative, or has more entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, count, islice
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, Reached, forward, interpret, reachable
from gradcli.ops.axes import Arrays, Fold, NoLoop, add_up, entry_numbers, sources
from gradcli.ops.carrying import reduced_shape
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, axes_of

# -- Patterns of matrices, and sets of entries: many entries of a graph's nodes depend on one and
# the same set.


_MOST = 4_000_000  # most entries in all unions together


class Pattern(NamedTuple):
    """The places of entries that may be other than zero, row by row.

    starts   where each row begins among the columns, and where the last one ends
    columns  of the entries, in order in each row
    """

    starts: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]

    @property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))

    def transpose(self) -> Pattern:
        return pattern_of(self.columns, self.rows, self.shape[::-1])


def pattern_of(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Pattern:
    """Return the pattern of places, which may come in any order and more than once."""
    keys = np.unique(rows * max(shape[1], 1) + columns)
    rows, columns = np.divmod(keys, max(shape[1], 1))
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    return Pattern(starts, columns, shape)


def symmetric(pattern: Pattern) -> Pattern:
    """Return a pattern with the places of its transpose added."""
    rows, columns = pattern.rows, pattern.columns
    return pattern_of(
        np.concatenate((rows, columns)), np.concatenate((columns, rows)), pattern.shape
    )


_Set = frozenset[int]
_NOTHING: _Set = frozenset()


class Sets:
    """Unions of sets of entries in arrays.

    Where they have become too many, they hold all entries: a pattern may have more.
    """

    def __init__(self, entries: int) -> None:
        self._whole: _Set = frozenset(range(entries))
        self._left = _MOST

    def union(self, sets: Iterable[_Set]) -> _Set:
        distinct = {id(one): one for one in sets if one}
        if len(distinct) < 2:
            return next(iter(distinct.values()), _NOTHING)
        if self._left < 0:
            return self._whole
        found = _NOTHING.union(*distinct.values())
        self._left -= len(found)
        return found

    def both(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the unions two by two, broadcasting.

        The same two sets have a single union.
        """
        known: dict[tuple[int, int], _Set] = {}

        def join(one: _Set, other: _Set) -> _Set:
            key = id(one), id(other)
            if key not in known:
                known[key] = self.union((one, other))
            return known[key]

        return np.asarray(np.frompyfunc(join, 2, 1)(x, y), object)

    def along(self, x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Return the unions along axes, which stay with an extent of 1."""
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        return self.gather(
            np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), x.shape), x, shape
        )

    def gather(self, places: np.ndarray, x: np.ndarray, shape: Shape) -> np.ndarray:
        """Return the unions of the sets that come to each place of an array."""
        groups: list[list[_Set]] = [[] for _ in range(math.prod(shape))]
        for place, one in zip(places.ravel().tolist(), x.ravel(), strict=True):
            groups[place].append(one)
        return _array(map(self.union, groups), shape)


def _array(sets: Iterable[_Set], shape: Shape) -> np.ndarray:
    found = np.empty(math.prod(shape), object)
    found[:] = list(sets)
    return found.reshape(shape)


# -- Colours of columns: those of one colour are found by one derivative in a direction, as no two
# of them meet where it would matter.
#
# Columns of a Jacobian may share a colour if no row has both (A. Curtis, M. Powell, J. Reid,
# 1974). Of a Hessian, which is symmetric, one of two entries is enough (M. Powell, P. Toint, 1979).
# Colours are chosen greedily, in the order of columns; they are bits of whole numbers.


class Compression(NamedTuple):
    """Way to read the entries of a pattern from derivatives in as many directions as colours.

    colors   of the entries of what moves: columns, or rows where derivatives are carried back
    number   how many there are
    color    of the direction from which each entry is read
    place    of the entry in that derivative
    """

    colors: np.ndarray
    number: int
    color: np.ndarray
    place: np.ndarray


def color_columns(pattern: Pattern) -> np.ndarray:
    """Colours of columns, no two of which meet in a row."""
    rows, starts = pattern.transpose().columns.tolist(), pattern.transpose().starts.tolist()
    taken = [0] * pattern.shape[0]  # colours used in each row, as bits
    colors = np.zeros(pattern.shape[1], int)
    for column in range(pattern.shape[1]):
        own = rows[starts[column] : starts[column + 1]]
        union = 0
        for row in own:
            union |= taken[row]
        color = (~union & (union + 1)).bit_length() - 1  # the smallest that is not among the bits
        for row in own:
            taken[row] |= 1 << color
        colors[column] = color
    return colors


def compress_jacobian(pattern: Pattern) -> tuple[bool, Compression]:
    """Return whether derivatives are carried back, and how entries are read from them.

    They are read by columns or by rows, whichever takes fewer colours.
    """
    if not pattern.columns.size:
        return False, _none(pattern.shape[1])
    back = pattern.transpose()
    if 2 * min(_fullest(pattern), _fullest(back)) > min(pattern.shape):  # colouring gains nothing
        if pattern.shape[0] < pattern.shape[1]:
            return True, _each(pattern.rows, pattern.columns, pattern.shape[0])
        return False, _each(pattern.columns, pattern.rows, pattern.shape[1])
    forwards, backwards = color_columns(pattern), color_columns(back)
    if _count(backwards) < _count(forwards):
        return True, Compression(
            backwards, _count(backwards), backwards[pattern.rows], pattern.columns
        )
    return False, Compression(forwards, _count(forwards), forwards[pattern.columns], pattern.rows)


def compress_hessian(pattern: Pattern) -> Compression:
    """Return how the entries of a symmetric pattern are read.

    Entries of the fullest rows are read from their own columns. All others are read from columns
    that are apart when these rows are left out.
    """
    rows = pattern.rows
    columns = pattern.columns
    size = pattern.shape[0]
    if not columns.size:
        return _none(size)
    if 2 * columns.size > size**2:
        return _each(columns, rows, size)
    counts = np.diff(pattern.starts)
    order = np.argsort(-counts, kind="stable")
    full = order[: np.argmin(np.arange(size) + counts[order])]
    is_full = np.isin(np.arange(size), full)
    others = ~(is_full[rows] | is_full[columns])
    colors = color_columns(pattern_of(rows[others], columns[others], pattern.shape)) + full.size
    colors[full] = np.arange(full.size)
    turned = is_full[rows] & ~is_full[columns]
    moving = np.where(turned, rows, columns)
    place = np.where(turned, columns, rows)
    return Compression(colors, _count(colors), colors[moving], place)


def _each(moving: np.ndarray, place: np.ndarray, number: int) -> Compression:
    """Give each column a colour of its own."""
    return Compression(np.arange(number), number, moving, place)


def _none(extent: int) -> Compression:
    """No colour at all, for columns that have no entries."""
    return Compression(np.full(extent, -1), 0, np.zeros(0, int), np.zeros(0, int))


def _fullest(pattern: Pattern) -> int:
    """Return how many entries a row has at most: as many colours are needed."""
    return int(np.diff(pattern.starts).max(initial=0))


def _count(colors: np.ndarray) -> int:
    return int(colors.max(initial=-1)) + 1


# Most entries multiplied in a sum of products; a larger one is treated as dense.
_PRODUCTS = 4_000_000


def dependence(roots: Sequence[Expr], variables: Sequence[Expr]) -> Pattern:
    """Return the pattern of derivatives of results by variables.

    It says which entries of the results may have a derivative by which entries of the variables,
    one variable after the other.
    """
    entries = count()
    table: dict[Expr, Any] = {
        x: _array((frozenset((i,)) for i in islice(entries, x.size)), x.shape) for x in variables
    }
    size = next(entries)
    interpret(reachable(roots), Dependence(Sets(size)), table)
    rows = [
        one
        for root in roots
        for one in (np.ravel(table[root]) if table[root] is not None else [_NOTHING] * root.size)
    ]
    members = {one: sorted(one) for one in rows}
    starts = np.concatenate(([0], np.cumsum(list(map(len, rows)), dtype=int)))
    return Pattern(
        starts,
        np.array(list(chain.from_iterable(map(members.__getitem__, rows))), int),
        (len(rows), size),
    )


class Dependence(Reached):
    """The set that each entry of a node depends on; None for nodes that depend on nothing."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        moving = [i for i, x in enumerate(operands) if x is not None]
        if op.partials is not None:
            moving = [i for i in moving if op.partials[i] is not None]
        if not moving or (op.partials is None and op.vjp is None):
            return None
        if op.elementwise:
            return np.broadcast_to(
                reduce(self.sets.both, [operands[i] for i in moving]), node.shape
            )
        for reading in (self._by_axes, self._move, self._by_axis):
            found = reading(node, op, operands)
            if found is not None:
                return found
        return self._dense(node, operands)

    def _dense(self, node: Expr, operands: Sequence[Any]) -> Any:
        """Each entry of everything: what is always right."""
        whole = self.sets.union(one for x in operands if x is not None for one in x.ravel())
        if node.op is not None and node.op.outputs > 1:
            return tuple(np.full(shape, whole) for shape in node.shape)
        return np.full(node.shape, whole)

    def _by_axes(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Return what the record says of axes."""
        if op.axes is None or None in node.operands:
            return None
        known = known_indices(node, op)
        if known is None:
            return None
        views = [
            known[o] if o in known else np.full(o.shape, _NOTHING) if x is None else x
            for o, x in zip(node.operands, operands, strict=True)
            if o is not None
        ]
        try:
            found = np.asarray(op.axes(Along(self.sets), *views, **node.static), object)
        except NoLoop:
            return None
        return found if found.shape == node.shape else None

    def _move(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Each entry of a result is one of an operand's, or nothing."""
        if not op.moves:
            return None
        shapes = [o.shape for o in node.given_operands]
        sets = [
            np.full(shape, _NOTHING) if x is None else x
            for x, shape in zip(operands, shapes, strict=True)
        ]
        return np.asarray(
            np.concatenate([[_NOTHING], *(x.ravel() for x in sets)])[
                sources(op, shapes, node.static)
            ],
            object,
        )

    def _by_axis(self, node: Expr, op: Op, operands: Sequence[Any]) -> Any:
        """Entries mix along an axis only, which is reduced or stays."""
        if "axis" not in node.static or op.outputs > 1 or len(node.operands) != 1:
            return None
        x = node.operand
        axis = node.static["axis"]
        if axis is None or not x.shape:
            return None
        mixed = self.sets.along(operands[0], axes_of(axis, x.shape))
        if node.shape == x.shape:
            return np.broadcast_to(mixed, x.shape)
        shapes = [reduced_shape(x.shape, axis, keepdims) for keepdims in (True, False)]
        return mixed.reshape(node.shape) if node.shape in shapes else None


class Along(Arrays):
    """The reading of declared axes (`gradcli.ops.axes`) on arrays of sets."""

    def __init__(self, sets: Sets) -> None:
        super().__init__()
        self.sets = sets

    def fold_axes(self, x: np.ndarray, fold: Fold, axis: Any, keepdims: bool) -> np.ndarray:
        gone = axes_of(axis, x.shape)
        found = self.sets.along(x, gone)
        return (
            found
            if keepdims
            else found.reshape([n for i, n in enumerate(x.shape) if i not in gone])
        )

    def product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if math.prod(np.broadcast_shapes(x.shape, y.shape)) > _PRODUCTS:
            raise NoLoop
        return self.sets.both(x, y)

    def _scatter(self, x: np.ndarray, places: np.ndarray, shape: Shape) -> np.ndarray:
        return self.sets.gather(places, np.broadcast_to(x, places.shape), shape)


# -- Places to which operations move or add entries ------------------------------------------------


def sources_of_entries(node: Expr, op: Op) -> tuple[np.ndarray, list[int]] | None:
    """Return where each entry of a result comes from.

    Gives None where an entry is more than an entry of an operand.

    The places are counted from 1 among the entries of all operands, one operand after the other.
    The list has the number of entries of each. 0 stands for zeros.
    """
    if not op.moves:
        return None
    shapes = [o.shape for o in node.given_operands]
    return sources(op, shapes, node.static), list(map(math.prod, shapes))


def targets_of_entries(node: Expr, op: Op) -> np.ndarray | None:
    """Return the entry of the result that each entry of the only operand is added to.

    Entries of the result are counted from 1, and 0 stands for none. Gives None where the operand's
    entries are changed.

    The numbers of the result's entries are carried back, and give the places if nothing else comes
    back. Whole numbers in the operand then show whether its entries are only added.
    """
    if not op.linear or op.outputs > 1 or len(node.operands) != 1 or op.vjp is None:
        return None
    entries = np.random.default_rng(0).integers(1, 1 << 30, node.operand.shape) * 1.0
    numbers = entry_numbers(node.shape, 1) * 1.0
    (back,) = op.pull((True,), numbers, np.zeros_like(numbers), entries, **node.static)
    if back is None or not (np.isin(back, numbers) | np.equal(back, 0)).all():
        return None
    places = np.broadcast_to(back, entries.shape).astype(int)
    added = add_up(entries, places, (numbers.size + 1,))[1:].reshape(node.shape)
    return places if np.array_equal(added, op.forward(entries, **node.static)) else None


def known_indices(node: Expr, op: Op) -> Mapping[Expr, Any] | None:
    """Return the whole numbers by which an operation addresses entries.

    Gives None where a value decides them.
    """
    chosen = [node.operands[place] for place in op.index_places if place < len(node.operands)]
    indices = [index for index in chosen if index is not None]
    if any(part.is_leaf for part in reachable(indices)):
        return None
    table = forward(indices, {})
    return {index: table[index] for index in indices}
