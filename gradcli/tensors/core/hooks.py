"""Hooks on gradients, and how they are removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Hooks = dict["RemovableHandle", Callable[..., Any]]  # in the order in which they were registered


class RemovableHandle:
    """Removes a hook."""

    def __init__(self, hooks: Hooks, hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[self] = hook

    def __repr__(self) -> str:
        return f"<torch.utils.hooks.RemovableHandle object at {hex(id(self))}>"

    def remove(self) -> None:
        self._hooks.pop(self, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class RemovableHandles(RemovableHandle):
    """Removes several hooks."""

    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        self._handles = list(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
