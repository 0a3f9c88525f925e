"""Parameters of PyTorch's modules: further arguments of a function, by their dotted names.

While a function runs, its modules have what it is called with in the places of their parameters;
afterwards they have their own again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.functions.arguments import of_torch, to_torch
from gradcli.tensors.core.dtypes import FLOATS

_TRAINING = {  # what it does, by parts of the names of modules
    ("Dropout", "RReLU"): "draws the same in every call",
    ("BatchNorm",): "takes the statistics of the batch, and keeps none",
}

# Where a module keeps a tensor: a dictionary or list of its own, and the place there.
Slot = tuple[Any, Any]


def is_module(thing: Any) -> bool:
    """Return whether something is a module of PyTorch's, which is not imported for that."""
    return any(f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module" for kind in type(thing).__mro__)


def as_function(module: Any) -> Callable[..., Any]:
    """Return a module as a function of what its ``forward`` takes."""

    def called(*arguments: Any, **keywords: Any) -> Any:
        return module(*arguments, **keywords)

    called.__signature__ = inspect.signature(module.forward)  # type: ignore[attr-defined]
    return called


class Parameters:
    """The parameters of a module that are learned, and its other floats, in the dtype of the arguments.

    values  of those that are learned, by their names
    """

    def __init__(self, module: Any, dtype: np.dtype[Any]) -> None:
        if not is_module(module):
            raise ArgumentError(f"parameters are those of a torch.nn.Module, not of {type(module).__name__}")
        self.module, self.dtype = module, dtype
        self.values: dict[str, np.ndarray] = {}
        self._slots: dict[str, list[Slot]] = {}  # several of what modules share
        self._others: list[tuple[list[Slot], Any]] = []
        names: dict[int, list[Slot]] = {}
        for prefix, owner in module.named_modules():
            for table in (owner._parameters, owner._buffers):
                for key, tensor in table.items():
                    if tensor is None:
                        continue
                    places = names.setdefault(id(tensor), [])
                    places.append((table, key))
                    if len(places) > 1:
                        continue
                    name = f"{prefix}.{key}".removeprefix(".")
                    if tensor.requires_grad and table is owner._parameters:
                        self.values[name], self._slots[name] = self._cast(tensor), places
                    else:
                        self._others.append((places, tensor))

        for owner in module.modules():  # recurrent ones have a list of them beside
            for key, kept in vars(owner).items():
                if key not in ("_parameters", "_buffers") and isinstance(kept, (list, dict)):
                    inside = kept.items() if isinstance(kept, dict) else enumerate(kept)
                    for place, tensor in list(inside):
                        if id(tensor) in names:
                            names[id(tensor)].append((kept, place))
                elif id(kept) in names:
                    names[id(kept)].append((vars(owner), key))

    def _cast(self, tensor: Any) -> np.ndarray:
        numbers = of_torch(tensor)
        return np.array(numbers, self.dtype if numbers.dtype.kind in FLOATS else numbers.dtype)

    def taken_by(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes these parameters after its own arguments."""
        torch, count = import_module("torch"), len(self.values)

        def called(*values: Any) -> Any:
            own = values[: len(values) - count]
            with self._placed(torch, values[len(own) :]), torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)  # the same draws in every call
                return function(*own)

        return called

    @contextmanager
    def _placed(self, torch: Any, values: tuple[Any, ...]) -> Iterator[None]:
        pairs = [*zip(self._slots.values(), values, strict=True)]
        pairs += [(places, to_torch(torch, self._cast(tensor))) for places, tensor in self._others]
        before = [(table, key, table[key]) for places, _ in pairs for table, key in places]
        try:
            for places, value in pairs:
                for table, key in places:
                    table[key] = value
            yield
        finally:
            for table, key, value in before:
                table[key] = value

    @property
    def told(self) -> str | None:
        """Return what training mode does to the module, if it does something."""
        kinds = {type(part).__name__ for part in self.module.modules() if part.training}
        said = [
            f"{kind} {what}" for kind in sorted(kinds) for words, what in _TRAINING.items() if any(word in kind for word in words)
        ]  # fmt: skip
        return f"in training mode: {', '.join(said)}" if said else None
