"""Colours of columns: those of one colour are found by one derivative in a direction, as no two of them meet where it would matter.

Columns of a Jacobian may share a colour if no row has both (A. Curtis, M. Powell, J. Reid, 1974). Of a Hessian, which is symmetric, one of
two entries is enough: a star colouring, in which no path of four vertices has two colours alone (T. Coleman, J. Moré, 1984; A. Gebremedhin,
F. Manne, A. Pothen, What Color Is Your Jacobian?, 2005). Both are greedy, in the order of columns; colours are bits of whole numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradcli.graph.patterns import Pattern


class Compression(NamedTuple):
    """How the entries of a pattern are read from derivatives in as many directions as there are colours.

    colors   of the entries of what moves: columns, or rows where derivatives are carried back
    number   how many there are
    color    of the direction from which each entry is read
    place    of the entry in that derivative
    """

    colors: np.ndarray
    number: int
    color: np.ndarray
    place: np.ndarray


def _first_free(taken: int) -> int:
    """The smallest colour that is not among the bits."""
    return (~taken & (taken + 1)).bit_length() - 1


def columns_apart(pattern: Pattern, most: int | None = None) -> np.ndarray | None:
    """Colours of columns, no two of which meet in a row; None where that takes more than ``most``."""
    rows, starts = pattern.transposed().columns.tolist(), pattern.transposed().starts.tolist()
    taken = [0] * pattern.shape[0]  # by row
    colors = np.zeros(pattern.shape[1], int)
    for column in range(pattern.shape[1]):
        own = rows[starts[column] : starts[column + 1]]
        union = 0
        for row in own:
            union |= taken[row]
        color = _first_free(union)
        if most is not None and color >= most:
            return None
        for row in own:
            taken[row] |= 1 << color
        colors[column] = color
    return colors


def star(pattern: Pattern) -> np.ndarray:
    """A star colouring of the graph of a symmetric pattern: neighbours differ, and no path of four vertices has two colours alone."""
    count = pattern.shape[0]
    starts, columns = pattern.starts.tolist(), pattern.columns.tolist()
    colors = [-1] * count
    once, twice = [0] * count, [0] * count  # colours of a vertex's neighbours: those that one has, those that two have
    ended = [0] * count  # colours of neighbours that have two neighbours of this vertex's colour: no further neighbour may have one
    first: list[dict[int, int]] = [{} for _ in range(count)]  # the neighbour that had a colour first
    for vertex in range(count):
        near = [other for other in columns[starts[vertex] : starts[vertex + 1]] if other != vertex]
        taken, met, repeated = 0, 0, 0
        for other in near:
            color = colors[other]
            if color >= 0:
                taken |= 1 << color | ended[other]
                repeated |= met & (1 << color)
                met |= 1 << color
        if repeated:
            for other in near:
                if colors[other] >= 0 and repeated >> colors[other] & 1:
                    taken |= once[other]
        color = colors[vertex] = _first_free(taken)
        bit = 1 << color
        for other in near:
            if colors[other] >= 0:
                if repeated >> colors[other] & 1:
                    ended[other] |= bit
                if once[other] & bit:
                    _end(other, first[other][color], vertex, colors, ended, known=twice[other] & bit)
            if once[other] & bit:
                twice[other] |= bit
            else:
                once[other] |= bit
                first[other][color] = vertex
    return np.array(colors, int)


def _end(hub: int, one: int, other: int, colors: list[int], ended: list[int], *, known: int) -> None:
    """A coloured vertex has neighbours of one colour: theirs may not have its colour any more."""
    ended[other] |= 1 << colors[hub]
    if not known:
        ended[one] |= 1 << colors[hub]


def of_jacobian(pattern: Pattern) -> tuple[bool, Compression]:
    """Whether derivatives are carried back, and how entries are read from them: by columns or by rows, whichever takes fewer colours."""
    if not pattern.columns.size:
        return False, _none(pattern.shape[1])
    back = pattern.transposed()
    forwards, backwards = _fullest(pattern), _fullest(back)
    if 2 * min(forwards, backwards) > min(pattern.shape):  # nothing is to be gained
        if pattern.shape[0] < pattern.shape[1]:
            return True, _each(pattern.rows, pattern.columns, pattern.shape[0])
        return False, _each(pattern.columns, pattern.rows, pattern.shape[1])
    if forwards <= backwards:
        colors = columns_apart(pattern)
        assert colors is not None
        others = columns_apart(back, _count(colors)) if backwards < _count(colors) else None
    else:
        others = columns_apart(back)
        assert others is not None
        colors = columns_apart(pattern, _count(others) + 1) if forwards <= _count(others) else None
    if others is not None and (colors is None or _count(others) < _count(colors)):
        return True, Compression(others, _count(others), others[pattern.rows], pattern.columns)
    assert colors is not None
    return False, Compression(colors, _count(colors), colors[pattern.columns], pattern.rows)


def of_hessian(pattern: Pattern) -> Compression:
    """How the entries of a symmetric pattern are read: from the column, or from that of the entry on the other side."""
    rows, columns = pattern.rows, pattern.columns
    if not columns.size:
        return _none(pattern.shape[1])
    if 2 * columns.size > pattern.shape[0] ** 2:
        return _each(columns, rows, pattern.shape[0])
    colors = star(pattern)
    keys = rows * max(_count(colors), 1) + colors[columns]
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    alone = counts[places] == 1  # no other entry of the row has this colour
    return Compression(colors, _count(colors), np.where(alone, colors[columns], colors[rows]), np.where(alone, rows, columns))


def _each(moving: np.ndarray, place: np.ndarray, number: int) -> Compression:
    """A colour for each column."""
    return Compression(np.arange(number), number, moving, place)


def _none(extent: int) -> Compression:
    """No colour at all, for columns that have no entries."""
    return Compression(np.full(extent, -1), 0, np.zeros(0, int), np.zeros(0, int))


def _fullest(pattern: Pattern) -> int:
    """How many entries a row has at most: as many colours are needed."""
    return int(np.diff(pattern.starts).max(initial=0))


def _count(colors: np.ndarray) -> int:
    return int(colors.max(initial=-1)) + 1
