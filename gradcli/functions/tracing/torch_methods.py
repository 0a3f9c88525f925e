"""Tensors of ours as code of PyTorch's takes them for its own: their dtypes, and what tells the passage that numbers leave the graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from gradcli.functions.arguments import of_torch
from gradcli.functions.places import is_own
from gradcli.functions.tracing.passage import Passage
from gradcli.ops.structure import detach
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.entries import Entries
from gradcli.tensors.core.entry_writing import write
from gradcli.tensors.core.tensor import Tensor

_OF_DTYPES = ("to", "type", "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor")  # which take dtypes and devices


def methods(passage: Passage) -> dict[str, Any]:
    """The methods and attributes of tensors that are others while code of PyTorch's runs."""

    def detached(x: Tensor) -> Tensor:
        return x if in_forward() else _held(passage, x)

    def counted(x: Tensor) -> int:
        passage.decide()
        return int(x.array)

    def branched(x: Tensor) -> bool:
        return passage.branch(x)

    by_data: set[str] = set()  # the places that have read it

    def read(x: Tensor) -> Tensor:
        before = set(passage.held)
        found = detached(x)
        by_data.update(set(passage.held) - before)
        return found

    def written(_: Tensor, __: Any) -> None:
        for place in by_data:  # what is put back behind the graph's back was no constant
            passage.held.pop(place, None)
        raise AttributeError("no trace follows what is written to .data")

    def detached_in_place(x: Tensor) -> Tensor:
        write(x, ..., detached(x))
        return x

    def with_theirs(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, *arguments, **keywords: method(x, *map(ours, arguments), **{name: ours(one) for name, one in keywords.items()})

    return {
        **{name: with_theirs(getattr(Tensor, name)) for name in _OF_DTYPES},
        "dtype": property(_dtype),
        "device": property(_device),
        "data": property(read, written),
        "detach": detached,
        "detach_": detached_in_place,
        "item": lambda x: passage.out(x).item(),
        "tolist": lambda x: passage.out(x).tolist(),
        "numpy": lambda x, **_: passage.out(x),
        "__array__": lambda x, dtype=None, copy=None: passage.out(x).astype(dtype or x.array.dtype, copy=False),
        "__float__": lambda x: float(passage.out(x)),
        "__int__": counted,
        "__bool__": branched,
    }


def _held(passage: Passage, x: Tensor) -> Tensor:
    """A value as a constant."""
    if x.array.dtype.kind not in dtypes.FLOATS:
        return x
    passage.hold()
    held: Tensor = x.apply_op(detach, (x,), {})
    return held


def in_forward() -> bool:
    """Whether the forward of a custom function runs."""
    apply = import_module("torch").autograd.Function.apply.__func__.__code__
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not apply:
        frame = frame.f_back
    return frame is not None


def records() -> bool:
    """Whether a gradient flows through what is computed now: not under ``torch.no_grad``, but for the forward of a custom function."""
    return bool(import_module("torch").is_grad_enabled()) or in_forward()


_OUR_DTYPE, _OUR_DEVICE = (vars(Entries)[name].fget for name in ("dtype", "device"))


def _dtype(x: Tensor) -> Any:
    """That of ours for us, and PyTorch's for everybody else."""
    found = _OUR_DTYPE(x)
    return found if is_own(sys._getframe(1).f_code.co_filename) else getattr(import_module("torch"), str(found).removeprefix("torch."))


def _device(x: Tensor) -> Any:
    return _OUR_DEVICE(x) if is_own(sys._getframe(1).f_code.co_filename) else import_module("torch").device("cpu")


def ours(value: Any) -> Any:
    """An argument with PyTorch's tensors and dtypes as ours."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(ours, value))
    torch = import_module("torch")
    if isinstance(value, torch.Tensor):
        return Tensor(np.array(of_torch(value)))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.dtype):
        return dtypes.NAMES[str(value).removeprefix("torch.")]
    return value
