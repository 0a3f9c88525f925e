"""A function of tensors run several times as if it ran once: what it has written is put back before it runs again."""

from __future__ import annotations

import weakref
from typing import Any

from gradcli.tensors.core.batched import Batched, batched_in
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.storage import writable
from gradcli.tensors.core.tensor import Tensor

_FIELDS = ("array", "node", "_requires_grad", "_tangents", "_view")


class _Before:
    """A tensor, and the memory that it shows, before it was written to. It is not held: what a run has made ends with it."""

    def __init__(self, x: Tensor) -> None:
        self.tensor, self.owner = weakref.ref(x), weakref.ref(x if x._view is None else x._view.base)
        self.counter, self.array, self.entries = x._version_counter, x.array, x.array.copy()
        self.fields = {name: getattr(x, name) for name in _FIELDS}


class Written:
    """The tensors that are written to inside of a block, as they were before.

    Those that were made there are forgotten with it, unless they show an argument's memory: a graph may have kept what they became.
    """

    def __init__(self, *arguments: Any) -> None:
        self._counters = [x._version_counter for x in batched_in(arguments)]
        self._kept: list[_Before] = []

    def __enter__(self) -> Written:
        self._outer = state.before_writing
        self._before = state.change(before_writing=self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        state.change(**self._before)

    def _note(self, x: Tensor) -> None:
        if self._outer is not None:
            self._outer(x)
        self._kept.append(_Before(x.physical if isinstance(x, Batched) else x))

    def put_back(self) -> None:
        """Make those that are still there so again, the last one that was written to first."""
        while gone := [kept for kept in self._kept if kept.fields and kept.tensor() is None]:
            for kept in gone:  # which may be all that held others
                kept.fields = {}
        while self._kept:
            kept = self._kept.pop()
            for name, value in kept.fields.items():
                setattr(kept.tensor(), name, value)
            owned = kept.owner() is not None or any(kept.counter is counter for counter in self._counters)
            if owned and writable(kept.array):  # what could not be is only arranged in another way
                kept.array[...] = kept.entries
                kept.counter[0] += 1
