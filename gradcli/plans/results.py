"""Arrays for results, taken again when nobody has them any more.

Memory that comes from the system costs a page fault for each of its pages: more than most of what is computed there. A plan keeps the
arrays of its last two calls (the results of one are mostly at hand while the next one runs), and writes into one again once it is the only
one that refers to it. Whoever has an array, a view of it or a buffer on it refers to it. All plans together keep so much and no more: those
that have made no array for the longest time let go of theirs.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

RETURNED = 1 << 16  # bytes from which on memory is given back to the system, to be taken page by page the next time
_CALLS = 2  # whose arrays are kept
_MOST = 1 << 28  # bytes that are kept in all, beside those of the plan that runs


def _references_of_one() -> int:
    """What counts as nobody: the references that looking makes."""
    kept = [np.empty(0)]
    array = kept.pop(0)
    return sys.getrefcount(array)


def _counts_references() -> bool:
    """Whether references are counted, and by one thread at a time."""
    return sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


_NOBODY = _references_of_one() if _counts_references() else 0


class Results:
    """The memory of a program's results."""

    def __init__(self) -> None:
        self._most: dict[Any, int] = {}
        self._kept: dict[Any, list[np.ndarray]] = {}

    def expect(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Keep room for one more result of this shape in each call."""
        key = shape, dtype
        self._most[key] = self._most.get(key, 0) + (_CALLS if _NOBODY else 0)
        self._kept.setdefault(key, [])

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array that nobody else has, with any entries."""
        key = shape, dtype
        kept = self._kept[key]
        for _ in range(len(kept)):
            try:
                array = kept.pop(0)  # so that no other thread looks at the same time
            except IndexError:
                break
            if array.shape != shape or array.dtype != dtype or not (array.flags.carray and array.flags.owndata):
                continue  # somebody has changed what it is
            is_free = sys.getrefcount(array) <= _NOBODY
            kept.append(array)
            if is_free:
                return array
        array = np.empty(shape, dtype)
        if self._most[key]:
            del kept[: max(0, len(kept) + 1 - self._most[key])]
            kept.append(array)
            _keepers.count(self, array.nbytes)
        return array

    def held(self) -> int:
        """The bytes that are kept."""
        return sum(array.nbytes for kept in list(self._kept.values()) for array in list(kept))

    def let_go(self) -> None:
        """Keep nothing of what there is."""
        for kept in list(self._kept.values()):
            kept.clear()


class Keepers:
    """The plans that keep arrays, in the order in which they made their last one."""

    def __init__(self) -> None:
        self._counted = 0  # bytes made since all was counted, and what there was then: what is kept is no more
        self._references: dict[int, weakref.ref[Results]] = {}

    def count(self, results: Results, made: int) -> None:
        """Note that a plan keeps an array more, and let the others go that are too many."""
        self._references.pop(id(results), None)
        self._references[id(results)] = weakref.ref(results)
        self._counted += made
        if self._counted <= _MOST:
            return
        total = 0
        for key, reference in reversed(list(self._references.items())):
            other = reference()
            held = 0 if other is None else other.held()
            if other is None or (total + held > _MOST and other is not results):
                self._references.pop(key, None)
                if other is not None:
                    other.let_go()
            else:
                total += held
        self._counted = total


_keepers = Keepers()
