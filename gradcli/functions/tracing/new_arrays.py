"""Arrays that NumPy code makes to write into: ``out = np.zeros(3); out[0] = x[0]**2`` keeps what is traced.

An array of NumPy's cannot hold it. So while a function runs, NumPy's makers of new arrays give traced ones to the code that is asked
about (and to no library); code that wants an array of C's for it raises, and runs again without this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from gradcli.functions.places import is_theirs
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.functions.tracing.passage import Passage
from gradcli.tensors.core.tensor import Tensor

_EMPTY = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "eye", "identity")
_OF_OTHERS = ("array", "asarray", "asanyarray", "ascontiguousarray")


@contextmanager
def new_arrays(passage: Passage) -> Iterator[None]:
    """While it lasts, arrays of floats that code of theirs makes by NumPy's functions are traced."""
    before = {name: getattr(np, name) for name in (*_EMPTY, *_OF_OTHERS)}
    theirs = _Theirs()
    for name, function in before.items():
        setattr(np, name, wraps(function)((_empty if name in _EMPTY else _of_others)(function, passage, theirs)))
    try:
        yield
    finally:
        theirs.lasts = False  # a module that was imported meanwhile may have kept what was there
        for name, function in before.items():
            setattr(np, name, function)


class _Theirs:
    """Whether a maker is called by the code that is asked about, while it runs."""

    lasts = True

    def __call__(self) -> bool:
        return self.lasts and is_theirs(sys._getframe(2).f_code.co_filename)


def _empty(function: Callable[..., Any], passage: Passage, theirs: _Theirs) -> Callable[..., Any]:
    def made(*arguments: Any, **keywords: Any) -> Any:
        found = function(*arguments, **keywords)
        if isinstance(found, Tensor):
            return Traced(found, passage)
        if isinstance(found, np.ndarray) and found.dtype in (np.float64, np.float32) and theirs():
            return Traced(Tensor(found), passage)
        return found

    return made


def _of_others(function: Callable[..., Any], passage: Passage, theirs: _Theirs) -> Callable[..., Any]:
    def made(value: Any, dtype: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if not theirs() or not _holds_traced(value) or (dtype is not None and np.dtype(dtype).kind != "f"):
            return function(value, dtype, *arguments, **keywords)
        found = _stacked(value)
        if function.__name__ == "array" and keywords.get("copy", True):
            found = np.copy(found)
        return found if dtype is None or found.dtype == dtype else found.astype(dtype)

    return made


def _holds_traced(value: Any) -> bool:
    return isinstance(value, Traced) or (isinstance(value, (list, tuple)) and any(map(_holds_traced, value)))


def _stacked(value: Any) -> Any:
    """Nested lists as an array; the shapes are compared by NumPy."""
    return np.stack([_stacked(part) for part in value]) if isinstance(value, (list, tuple)) else value
