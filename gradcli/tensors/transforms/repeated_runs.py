"""A function of tensors run several times as if it ran once: what it has written of its arguments is put back before it runs again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.tensors.core.batched import Batched, batched_in
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.storage import writable
from gradcli.tensors.core.tensor import Tensor

_FIELDS = ("array", "node", "_requires_grad", "_tangents", "_view")


class Written:
    """The arguments that are written to inside of a block, as they were before.

    Tensors are told apart by their memory, whose version counter all that show it share. What is written to else was made inside.
    """

    def __init__(self, *arguments: Any) -> None:
        self._arguments = [x._version_counter for x in batched_in(arguments)]
        self._kept: list[tuple[Tensor, dict[str, Any], np.ndarray]] = []

    def __enter__(self) -> Written:
        self._outer = state.before_writing
        self._before = state.change(before_writing=self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        state.change(**self._before)

    def _note(self, x: Tensor) -> None:
        if self._outer is not None:
            self._outer(x)
        bare = x.physical if isinstance(x, Batched) else x
        counter = bare._version_counter
        if any(counter is other for other in self._arguments):
            for part in (bare,) if bare._view is None else (bare, bare._view.base):  # whose history goes through what is written
                self._kept.append((part, {name: getattr(part, name) for name in _FIELDS}, part.array.copy()))

    def put_back(self) -> None:
        """Make the arguments so again, the last one that was written to first."""
        while self._kept:
            x, fields, entries = self._kept.pop()
            for name, value in fields.items():
                setattr(x, name, value)
            if writable(x.array):  # what could not be is only arranged in another way
                x.array[...] = entries
            x._version_counter[0] += 1
