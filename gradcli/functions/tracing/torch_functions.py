"""PyTorch's functions on tensors of ours: ``torch.sin(x)`` records gradcli's operation of that name, by ``__torch_function__``.

The forward of a custom ``torch.autograd.Function`` runs as it is; its backward plays no part, so that it can be judged. What the code
detaches, or computes under ``torch.no_grad``, is held constant, but for what that forward does, in which nothing is recorded anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from gradcli.functions.tracing.passage import Passage
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.in_place import write
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.namespace import resolve

_PARTS = ("linalg", "special")  # whose functions carry the part in their name: linalg_inv
_PREFIXES = {"torch.nn.functional": "torch.nn.functional", "torch._C._nn": "torch.nn.functional"}
_PLACED = frozenset({"device", "layout", "pin_memory", "memory_format", "generator"})  # what says nothing about numbers


@contextmanager
def torch_functions(passage: Passage) -> Iterator[None]:
    """While it lasts, PyTorch's functions take tensors of ours, which tell the passage what numbers are taken out of them."""
    ours = {"__torch_function__": classmethod(partial(_dispatched, passage)), **_telling(passage)}
    before = {name: vars(Tensor).get(name) for name in ours}
    for name, method in ours.items():
        setattr(Tensor, name, method)
    recording = state.change(recorder=_Holding(state.recorder, passage))
    try:
        yield
    finally:
        state.change(**recording)
        for name, method in before.items():
            if method is None:
                delattr(Tensor, name)
            else:
                setattr(Tensor, name, method)


class _Holding:
    """The trace, which holds constant what is computed where PyTorch records nothing."""

    def __init__(self, trace: Any, passage: Passage) -> None:
        self._trace, self._passage = trace, passage
        self._records = import_module("torch").is_grad_enabled

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """An operation was applied."""
        self._trace.note(op, operands, static, result)
        if self._records() or _in_forward():
            return
        self._passage.hold()
        for part in result if isinstance(result, tuple) else (result,):
            if part.array.dtype.kind == "f":
                self._trace.hold(part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trace, name)


def _telling(passage: Passage) -> dict[str, Callable[..., Any]]:
    """The methods of tensors by which numbers leave the graph."""

    def detached(x: Tensor) -> Tensor:
        return x if _in_forward() else _held(passage, x)

    def decided(taken: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        def take(x: Tensor) -> Any:
            passage.decide()
            return taken(x)

        return take

    def detached_in_place(x: Tensor) -> Tensor:
        write(x, ..., detached(x))
        return x

    return {
        "detach": detached,
        "detach_": detached_in_place,
        "item": lambda x: passage.out(x).item(),
        "tolist": lambda x: passage.out(x).tolist(),
        "numpy": lambda x, **_: passage.out(x),
        "__array__": lambda x, dtype=None, copy=None: passage.out(x).astype(dtype or x.array.dtype, copy=False),
        "__float__": lambda x: float(passage.out(x)),
        "__int__": decided(Tensor.__int__),
        "__bool__": decided(Tensor.__bool__),
    }


def _held(passage: Passage, x: Tensor) -> Tensor:
    """A value as a constant."""
    if x.array.dtype.kind != "f":
        return x
    passage.hold()
    held: Tensor = x.apply_op(detach, (x,), {})
    return held


def _in_forward() -> bool:
    """Whether the forward of a custom function runs."""
    apply = import_module("torch").autograd.Function.apply.__func__.__code__
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not apply:
        frame = frame.f_back
    return frame is not None


def _dispatched(
    passage: Passage, cls: type[Tensor], function: Any, types: Any, arguments: tuple[Any, ...] = (),
    keywords: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """What a function of PyTorch's is of these arguments, among which is a tensor of ours."""
    torch = import_module("torch")
    if arguments and isinstance(arguments[0], torch.Tensor) and _writes(function.__name__):
        # a tensor of PyTorch's own is written into, which cannot hold what is recorded
        with torch._C.DisableTorchFunctionSubclass():
            return function(*_theirs(passage, arguments), **_theirs(passage, dict(keywords or {})))
    return _called(function, arguments, keywords or {})


def _writes(name: str) -> bool:
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE


_IN_PLACE = frozenset(f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "pow"))


def _theirs(passage: Passage, value: Any) -> Any:
    """An argument with PyTorch's tensors in the place of ours: numbers that leave the graph."""
    if isinstance(value, Tensor):
        return import_module("torch").from_numpy(passage.out(value))
    if isinstance(value, (tuple, list)):
        return type(value)(_theirs(passage, part) for part in value)
    return {name: _theirs(passage, part) for name, part in value.items()} if isinstance(value, dict) else value


def _called(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    name = function.__name__
    ours = tuple(_ours(a) for a in arguments)
    named = {key: _ours(value) for key, value in keywords.items() if key not in _PLACED}
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


def numbers_of(part: Any) -> Any:
    """A part of a result; of PyTorch's own tensors the numbers."""
    return part.detach().numpy() if isinstance(part, import_module("torch").Tensor) else part


def _ours(value: Any) -> Any:
    """An argument with PyTorch's tensors and dtypes as ours."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_ours, value))
    torch = import_module("torch")
    if isinstance(value, torch.Tensor):
        return Tensor(np.array(value.detach().numpy()))
    if isinstance(value, torch.dtype):
        return dtypes.NAMES[str(value).removeprefix("torch.")]
    return value
