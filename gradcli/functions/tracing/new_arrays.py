"""Arrays that code makes to write into: ``out = np.zeros(3); out[0] = x[0]**2`` keeps what is traced.

An array of NumPy's cannot hold it. So while a function runs, NumPy's makers of new arrays give traced ones to the code that is asked
about (and to no library), and PyTorch's give tensors of ours; code that wants the library's own raises, and runs again without this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.arguments import of_torch
from gradcli.functions.places import is_theirs, name_called
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.functions.tracing.passage import Passage
from gradcli.tensors.core.tensor import Tensor

_EMPTY = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "eye", "identity")
_OF_TORCH = ("zeros", "ones", "empty", "full", "eye")
_OF_OTHERS = ("array", "asarray", "asanyarray", "ascontiguousarray")


@contextmanager
def new_arrays(passage: Passage) -> Iterator[None]:
    """While it lasts, arrays of floats that code of theirs makes by NumPy's functions are traced."""
    makers = {name: partial(_empty, passage) for name in _EMPTY} | {name: partial(_of_others, passage) for name in _OF_OTHERS}
    with _replaced(np, makers):
        yield


@contextmanager
def new_tensors() -> Iterator[None]:
    """While it lasts, tensors of floats that code of theirs makes by PyTorch's functions are ours."""
    with _replaced(import_module("torch"), dict.fromkeys(_OF_TORCH, _tensor)):
        yield


class _Theirs:
    """Whether a maker of this name is called by the code that is asked about, while it runs: not by compiled code that this one calls."""

    lasts = True

    def __call__(self, name: str) -> bool:
        frame = sys._getframe(2)
        return self.lasts and is_theirs(frame.f_code.co_filename) and name_called(frame.f_code, frame.f_lasti) == name


Maker = Callable[[Callable[..., Any], _Theirs], Callable[..., Any]]


@contextmanager
def _replaced(module: Any, makers: Mapping[str, Maker]) -> Iterator[None]:
    """While it lasts, functions of a module are others."""
    before = {name: getattr(module, name) for name in makers}
    theirs = _Theirs()
    for name, function in before.items():
        setattr(module, name, wraps(function)(makers[name](function, theirs)))
    try:
        yield
    finally:
        theirs.lasts = False  # a module that was imported meanwhile may have kept what was there
        for name, function in before.items():
            setattr(module, name, function)


def _empty(passage: Passage, function: Callable[..., Any], theirs: _Theirs) -> Callable[..., Any]:
    def made(*arguments: Any, **keywords: Any) -> Any:
        found = function(*arguments, **keywords)
        if isinstance(found, Tensor):
            return Traced(found, passage)
        if isinstance(found, np.ndarray) and found.dtype in (np.float64, np.float32) and theirs(function.__name__):
            if function.__name__.startswith("empty"):
                found.fill(0)  # the same in every run
            return Traced(Tensor(found), passage)
        return found

    return made


def _of_others(passage: Passage, function: Callable[..., Any], theirs: _Theirs) -> Callable[..., Any]:
    def made(value: Any, dtype: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if not _holds_traced(value) or (dtype is not None and np.dtype(dtype).kind != "f") or not theirs(function.__name__):
            return function(value, dtype, *arguments, **keywords)
        found = _stacked(value)
        if function.__name__ == "array" and keywords.get("copy", True):
            found = np.copy(found)
        return found if dtype is None or found.dtype == dtype else found.astype(dtype)

    return made


def _tensor(function: Callable[..., Any], theirs: _Theirs) -> Callable[..., Any]:
    def made(*arguments: Any, **keywords: Any) -> Any:
        found = function(*arguments, **keywords)
        if not found.is_floating_point() or found.requires_grad or not theirs(function.__name__):
            return found
        numbers = of_torch(found)
        return Tensor(np.zeros_like(numbers) if function.__name__ == "empty" else numbers)

    return made


def _holds_traced(value: Any) -> bool:
    return isinstance(value, Traced) or (isinstance(value, (list, tuple)) and any(map(_holds_traced, value)))


def _stacked(value: Any) -> Any:
    """Nested lists as an array; the shapes are compared by NumPy."""
    return np.stack([_stacked(part) for part in value]) if isinstance(value, (list, tuple)) else value
