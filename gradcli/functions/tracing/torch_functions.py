"""PyTorch's functions on tensors of ours: ``torch.sin(x)`` records gradcli's operation of that name, by ``__torch_function__``.

The forward of a custom ``torch.autograd.Function`` runs as it is; its backward plays no part, so that it can be judged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.arguments import of_torch
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.namespace import resolve

_PARTS = ("linalg", "special")  # whose functions carry the part in their name: linalg_inv
_PREFIXES = {"torch.nn.functional": "torch.nn.functional", "torch._C._nn": "torch.nn.functional"}
_PLACED = frozenset({"device", "layout", "pin_memory", "memory_format", "generator"})  # what says nothing about numbers


@contextmanager
def torch_functions() -> Iterator[set[np.dtype[Any]]]:
    """While it lasts, PyTorch's functions take tensors of ours, whose dtypes are its own to whom asks; the dtypes that autocast chooses."""
    autocast = import_module("torch").autocast
    entered, chosen = autocast.__enter__, set()

    def noted(self: Any) -> Any:
        if self._enabled:
            chosen.add(dtypes.as_numpy(self.fast_dtype))
        return entered(self)

    Tensor.__torch_function__ = classmethod(_dispatched)  # type: ignore[attr-defined]  # of no use but here
    Tensor.dtype, autocast.__enter__ = property(_dtype), noted  # type: ignore[assignment, method-assign]
    try:
        yield chosen
    finally:
        del Tensor.__torch_function__, Tensor.dtype  # type: ignore[attr-defined]
        autocast.__enter__ = entered


def _dtype(x: Tensor) -> Any:
    """PyTorch's dtype for a function of its, which hands it on to PyTorch; ours for us."""
    own = dtypes.of_numpy(x.array.dtype)
    asks = str(sys._getframe(1).f_globals.get("__name__", ""))
    return own if asks.partition(".")[0] == "gradcli" else getattr(import_module("torch"), own.name)


def _dispatched(
    cls: type[Tensor], function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: Mapping[str, Any] | None = None
) -> Any:
    """What a function of PyTorch's is of these arguments, among which is a tensor of ours."""
    name = function.__name__
    ours = tuple(_ours(a) for a in arguments)
    named = {key: _ours(value) for key, value in (keywords or {}).items() if key not in _PLACED}
    if name == "__get__":  # of an attribute
        return getattr(ours[0], _attribute(function))
    if name == "__set__":
        return setattr(ours[0], _attribute(function), ours[1])
    if isinstance(ours[0] if ours else None, Tensor) and _is_method(function) and hasattr(Tensor, name):
        return getattr(ours[0], name)(*ours[1:], **named)
    return _found(function, name)(*ours, **named)


def _attribute(function: Any) -> str:
    return str(getattr(function.__self__, "__name__", ""))


def _is_method(function: Any) -> bool:
    return getattr(function, "__objclass__", None) is not None or str(getattr(function, "__qualname__", "")).startswith("Tensor.")


def _found(function: Any, name: str) -> Callable[..., Any]:
    """The function of ours that bears the name. Raises AttributeError if there is none."""
    where = _PREFIXES.get(getattr(function, "__module__", None) or "", "torch")
    for part in _PARTS:
        if name.startswith(f"{part}_"):
            found: Callable[..., Any] = getattr(import_module(f"gradcli.{part}"), name.removeprefix(f"{part}_"))
            return found
    if where == "torch":
        function_of_ours: Callable[..., Any] = resolve(name)
        return function_of_ours
    there: Callable[..., Any] = getattr(import_module("gradcli.nn.functional"), name)
    return there


def _ours(value: Any) -> Any:
    """An argument with PyTorch's tensors and dtypes as ours."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_ours, value))
    torch = import_module("torch")
    if isinstance(value, torch.Tensor):
        return Tensor(np.array(of_torch(value)))
    if isinstance(value, torch.dtype):
        return dtypes.NAMES[str(value).removeprefix("torch.")]
    return value
