"""Patterns of matrices, and sets of entries by numbers: many entries of a graph's nodes depend on one and the same set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_MOST = 20_000_000  # entries of sets that are united at once: what has more is taken for dense


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

    def transposed(self) -> Pattern:
        return pattern_of(self.columns, self.rows, self.shape[::-1])


def pattern_of(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Pattern:
    """The pattern of places, which may come in any order and more than once."""
    keys = np.unique(rows * max(shape[1], 1) + columns)
    rows, columns = np.divmod(keys, max(shape[1], 1))
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    return Pattern(starts, columns, shape)


def symmetric(pattern: Pattern) -> Pattern:
    """A pattern with the places of its transpose."""
    rows, columns = pattern.rows, pattern.columns
    return pattern_of(np.concatenate((rows, columns)), np.concatenate((columns, rows)), pattern.shape)


class Sets:
    """Sets of entries, by numbers: 0 is the empty one, the next ones have one entry each."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self._starts = np.concatenate(([0], np.arange(entries)))
        self._lengths = np.concatenate(([0], np.ones(entries, int)))
        self._members = np.arange(entries)

    def pattern(self, numbers: np.ndarray) -> Pattern:
        """A row for each set."""
        starts = np.concatenate(([0], np.cumsum(self._lengths[numbers])))
        return Pattern(starts, self._of(numbers), (numbers.size, self.entries))

    def _of(self, numbers: np.ndarray) -> np.ndarray:
        """The members of sets, in a row."""
        lengths = self._lengths[numbers]
        begins = np.cumsum(lengths) - lengths
        found: np.ndarray = self._members[np.arange(lengths.sum()) + np.repeat(self._starts[numbers] - begins, lengths)]
        return found

    def united(self, groups: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
        """The union of the sets of each group: the numbers of as many new sets as there are groups."""
        if groups.size == 0:
            return np.zeros(count, int)
        if int(self._lengths[numbers].sum()) > _MOST:
            whole = self._added(np.zeros(1, int), np.array([self._all(numbers).size]), self._all(numbers))
            found = np.zeros(count, int)
            found[groups[self._lengths[numbers] > 0]] = whole
            return found
        keys = np.unique(np.repeat(groups, self._lengths[numbers]) * self.entries + self._of(numbers))
        rows, members = np.divmod(keys, max(self.entries, 1))
        lengths = np.bincount(rows, minlength=count)
        return self._added(np.cumsum(lengths) - lengths, lengths, members)

    def _all(self, numbers: np.ndarray) -> np.ndarray:
        present = np.zeros(self.entries, bool)
        for number in np.unique(numbers):
            present[self._members[self._starts[number] : self._starts[number] + self._lengths[number]]] = True
        return np.flatnonzero(present)

    def _added(self, starts: np.ndarray, lengths: np.ndarray, members: np.ndarray) -> np.ndarray:
        first = self._starts.size
        self._starts = np.concatenate((self._starts, starts + self._members.size))
        self._lengths = np.concatenate((self._lengths, lengths))
        self._members = np.concatenate((self._members, members))
        return np.where(lengths > 0, np.arange(first, first + lengths.size), 0)

    def both(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The unions of sets two by two, the arrays of their numbers broadcasting."""
        x, y = np.broadcast_arrays(x, y)
        found = np.where(x == 0, y, x)
        open_ = (x != y) & (x != 0) & (y != 0)
        if not open_.any():
            return found
        base = int(self._starts.size)
        keys, places = np.unique(x[open_] * base + y[open_], return_inverse=True)
        groups = np.tile(np.arange(keys.size), 2)
        found[open_] = self.united(groups, np.concatenate(np.divmod(keys, base)), keys.size)[places]
        return found

    def along(self, x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """The unions along axes, which stay with an extent of 1."""
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        groups = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), x.shape)
        return self.gathered(groups, x, int(np.prod(shape))).reshape(shape)

    def gathered(self, groups: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
        """The unions of the sets of each group, of which many may be the same."""
        base = int(self._starts.size)
        parts, sets = np.divmod(np.unique(groups.ravel() * base + numbers.ravel()), base)
        return self.united(parts, sets, count)
