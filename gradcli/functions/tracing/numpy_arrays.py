"""Arrays that NumPy's functions take for their own, and that record what is done with them.

A traced array has NumPy's operators, methods and attributes, with NumPy's meaning, on a tensor. Where a number is taken out of it (a
branch, `float(x)`, a library in C) it gives the number: the trace shows afterwards whether anything depended on it.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.entry_writing import write
from gradcli.tensors.core.subscripts import get, rows
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.numpy_protocols import function_on_tensors
from gradcli.tensors.torch.ufunc_calls import ufunc_on_tensors

_OWN = f"{Path(__file__).parent}{os.sep}"
_NUMPY = f"{Path(np.__file__).parent}{os.sep}"
_IN_PLACE = ("partition", "put", "resize", "sort")  # methods of arrays that are not NumPy's function of their name


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose operations are recorded."""

    __slots__ = ("decisions", "tensor")
    __array_priority__ = 2000

    def __init__(self, tensor: Tensor, decisions: dict[str, None]) -> None:
        """Of a tensor; ``decisions`` is told the places in the user's code that branch on it."""
        self.tensor = tensor
        self.decisions = decisions

    # -- NumPy's functions -------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, how: str, *inputs: Any, out: tuple[Any, ...] | None = None, **keywords: Any) -> Any:
        operands = [_plain(x) for x in inputs]
        first = next((x for x in operands if isinstance(x, Tensor)), self.tensor)
        keywords = {name: _plain(value) for name, value in keywords.items()}
        result = ufunc_on_tensors(first, ufunc, how, *operands, **keywords)
        if out is None or result is NotImplemented:
            return self._traced(result)
        (target,) = out
        if not isinstance(target, Traced):  # an array of NumPy's cannot hold what is recorded
            target[...] = np.asarray(self._traced(result))
            return target
        target[...] = self._traced(result)
        return target

    def __array_function__(self, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        plain = _plain(arguments), {name: _plain(value) for name, value in keywords.items()}
        return self._traced(function_on_tensors(self.tensor, function, types, *plain))

    def _traced(self, result: Any) -> Any:
        if isinstance(result, Tensor):
            return Traced(result, self.decisions)
        if isinstance(result, (tuple, list)):
            return type(result)(*map(self._traced, result)) if hasattr(result, "_fields") else type(result)(map(self._traced, result))
        return result

    # -- entries -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Traced:
        return Traced(get(self.tensor, _plain(index)), self.decisions)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self.tensor, _plain(index), _plain(value))

    def __iter__(self) -> Iterator[Traced]:
        return (Traced(row, self.decisions) for row in rows(self.tensor))

    def __len__(self) -> int:
        return len(self.tensor)

    # -- numbers taken out of it: the trace shows whether something depends on them -------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.tensor.array, dtype)

    def __bool__(self) -> bool:
        if place := _place():
            self.decisions[place] = None
        return bool(self.tensor.array)

    def __float__(self) -> float:
        return float(self.tensor.array)

    def __int__(self) -> int:
        return int(self.tensor.array)

    def __index__(self) -> int:
        return self.tensor.__index__()

    def __format__(self, spec: str) -> str:
        return format(self.tensor.array[()], spec)

    def __repr__(self) -> str:
        return repr(self.tensor.array)

    def item(self, *index: Any) -> Any:
        return self.tensor.array.item(*index)

    def tolist(self) -> Any:
        return self.tensor.array.tolist()

    # -- NumPy's attributes and methods --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.array.shape

    @property
    def ndim(self) -> int:
        return self.tensor.array.ndim

    @property
    def size(self) -> int:
        return self.tensor.array.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.tensor.array.dtype

    @property
    def real(self) -> Traced:
        return self

    @property
    def T(self) -> Any:
        return np.transpose(self)

    def copy(self, order: str = "C") -> Any:
        return np.copy(self)

    def flatten(self, order: str = "C") -> Any:
        return np.copy(np.ravel(self))

    def astype(self, dtype: Any, **keywords: Any) -> Any:
        kind = np.dtype(dtype)
        return Traced(cast(self.tensor, kind), self.decisions) if kind.kind == "f" else self.tensor.array.astype(kind)

    def fill(self, value: Any) -> None:
        self[...] = value

    def reshape(self, *shape: Any, **keywords: Any) -> Any:
        return np.reshape(self, shape if len(shape) > 1 else shape[0], **keywords)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, axes if len(axes) > 1 else axes[0] if axes else None)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The other methods of arrays are NumPy's functions of their names."""
        if name in _IN_PLACE or not (hasattr(np.ndarray, name) and hasattr(np, name)):
            raise AttributeError(name)
        return partial(getattr(np, name), self)


def _plain(value: Any) -> Any:
    """What holds traced arrays, with their tensors in it."""
    if isinstance(value, Traced):
        return value.tensor
    if isinstance(value, (tuple, list)) and any(isinstance(part, (Traced, tuple, list)) for part in value):
        return type(value)(*map(_plain, value)) if hasattr(value, "_fields") else type(value)(map(_plain, value))
    return value


def _place() -> str | None:
    """Where the user's code asks for a truth: the text and the line. A loop of JAX's, which jaxprs.py runs, has no place there."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(("<", _NUMPY)):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    if name.startswith(_OWN):
        return None
    text = linecache.getline(name, line).strip()
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if text and place[0] == place[1] == line and place[2] is not None and place[3] is not None:
        text = linecache.getline(name, line).encode()[place[2] : place[3]].decode("utf-8", "replace").strip()
    return f"`{text}` at {Path(name).name}:{line}" if text else None
