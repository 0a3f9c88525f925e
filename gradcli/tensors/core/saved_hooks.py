"""``saved_tensors_hooks``: what nodes keep of tensors is packed by a user's function, and unpacked when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor

Pack = Callable[[Tensor], Any]


class Hooks:
    """A pair of functions: of a tensor to anything, and back."""

    def __init__(self, pack: Pack, unpack: Callable[[Any], Tensor]) -> None:
        self.pack, self.unpack = pack, unpack


class Disabled:
    """No such hooks may be set: what is said to who tries."""

    def __init__(self, message: str) -> None:
        self.message = message


class Packed(list[Any]):
    """Values of which some are packed: they are unpacked each time that they are asked for."""

    def __init__(self, values: Sequence[Any], places: Iterable[int], hooks: Hooks, operands: Sequence[Any]) -> None:
        super().__init__(values)
        self.hooks, self.places = hooks, tuple(places)
        for place in self.places:
            operand = operands[place - 1] if place else None
            same = isinstance(operand, Tensor) and operand.is_leaf and operand.array is self[place]
            tensor: Any = operand if same else Tensor(self[place])
            if isinstance(operand, Tensor) and not same:
                tensor._version_counter = operand._version_counter
            self[place] = packed(hooks, tensor)

    def unpacked(self) -> list[Any]:
        """The values as arrays."""
        found = list(self)
        for place in self.places:
            found[place] = unpacked(self.hooks, self[place]).array
        return found


def packed(hooks: Hooks, tensor: Tensor) -> Any:
    """What a tensor is kept as."""
    before = state.change(saved_hooks=None, recording=False)
    try:
        return hooks.pack(tensor)
    finally:
        state.change(**before)


def unpacked(hooks: Hooks, kept: Any) -> Tensor:
    """The tensor of what it was kept as."""
    tensor = hooks.unpack(kept)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor)}")
    return tensor


def in_force() -> Hooks | None:
    """The hooks that are set."""
    hooks = state.saved_hooks
    return hooks if isinstance(hooks, Hooks) else None


def as_packed(values: list[Any], places: Iterable[int], operands: Sequence[Any]) -> list[Any]:
    """A node's values as the hooks that are set keep them; numbers and the results of several are kept as they are."""
    hooks = in_force()
    arrays = [place for place in places if isinstance(values[place], np.ndarray)]
    return values if hooks is None or not arrays else Packed(values, arrays, hooks, operands)
