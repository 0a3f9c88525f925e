"""Arrays that NumPy's functions take for their own, and that record what is done with them.

A traced array has NumPy's operators, methods and attributes, with NumPy's meaning, on a tensor.
Where a number is taken out of it (a branch, `float(x)`, a library in C) it gives the number, and
its passage is told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import numpy as np

from gradcli.functions.places import is_theirs, name_called
from gradcli.functions.tracing.passage import Passage
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.in_place import cast, get, rows, write
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.numpy_functions import function_on_tensors, ufunc_on_tensors
from gradcli.tensors.transforms.vectorizing import map_ends
from gradcli.texts import words

# Methods that differ from NumPy's functions of the same name.
_IN_PLACE = words("partition put resize sort")

_OF_FORM = words("shape ndim size dtype")


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose operations are recorded."""

    __slots__ = ("passage", "tensor")
    __array_priority__ = 2000
    shape: tuple[int, ...]
    ndim: int
    size: int
    dtype: np.dtype[Any]

    def __init__(self, tensor: Tensor, passage: Passage) -> None:
        self.tensor = tensor
        self.passage = passage

    # -- NumPy's functions

    def __array_ufunc__(
        self,
        ufunc: Any,
        how: str,
        *inputs: Any,
        out: tuple[Any, ...] | None = None,
        **keywords: Any,
    ) -> Any:
        operands = _plain(inputs)
        first = next((x for x in operands if isinstance(x, Tensor)), self.tensor)
        result = self.trace_result(
            ufunc_on_tensors(first, ufunc, how, *operands, **_plain(keywords))
        )
        if out is None or result is NotImplemented:
            return result
        (target,) = out
        # A plain array cannot hold what is recorded.
        target[...] = result if isinstance(target, Traced) else np.asarray(result)
        return target

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return self.trace_result(
            function_on_tensors(self.tensor, function, types, *_plain((arguments, keywords)))
        )

    def trace_result(self, result: Any) -> Any:
        """Return a result, in which tensors are traced arrays."""
        return map_ends(
            lambda part: Traced(part, self.passage) if isinstance(part, Tensor) else part, result
        )

    # -- entries

    def __getitem__(self, index: Any) -> Traced:
        return Traced(get(self.tensor, _plain(index)), self.passage)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self.tensor, _plain(index), _plain(value))

    def __iter__(self) -> Iterator[Traced]:
        return (Traced(row, self.passage) for row in rows(self.tensor))

    def __len__(self) -> int:
        return len(self.tensor)

    # -- numbers taken out of it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.passage.out(self.tensor).astype(dtype or self.dtype, copy=False)

    def __bool__(self) -> bool:
        return self.passage.branch(self.tensor)

    def __float__(self) -> float:
        return float(self.passage.out(self.tensor))

    def __int__(self) -> int:
        self.passage.decide()
        return int(self.tensor.array)

    def __index__(self) -> int:
        self.passage.decide()
        return self.tensor.__index__()

    def __format__(self, spec: str) -> str:
        return format(self.tensor.array[()], spec)

    def __repr__(self) -> str:
        return repr(self.tensor.array)

    def item(self, *index: Any) -> Any:
        return self.passage.out(self.tensor).item(*index)

    def tolist(self) -> Any:
        return self.passage.out(self.tensor).tolist()

    # -- NumPy's attributes and methods

    @property
    def real(self) -> Traced:
        return self

    @property
    def T(self) -> Any:  # noqa: N802
        return np.transpose(self)

    def copy(self, order: str = "C") -> Any:
        return np.copy(self)  # no operation depends on the memory layout

    def flatten(self, order: str = "C") -> Any:
        return np.copy(self.ravel(order))

    def ravel(self, order: str = "C") -> Any:
        _refuse_order(order)
        return np.ravel(self)

    def astype(self, dtype: Any, **keywords: Any) -> Any:
        kind = np.dtype(dtype)
        if kind.kind in FLOATS:
            return Traced(cast(self.tensor, kind), self.passage)
        if self.dtype.kind in FLOATS:
            self.passage.decide()
        return self.tensor.array.astype(kind)

    def fill(self, value: Any) -> None:
        self[...] = value

    def reshape(self, *shape: Any, order: str = "C", **keywords: Any) -> Any:
        _refuse_order(order)
        return np.reshape(self, shape if len(shape) > 1 else shape[0], **keywords)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, axes if len(axes) > 1 else axes[0] if axes else None)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of an array's form, or a method that calls NumPy's function.

        That function has the method's name.
        """
        if name in _OF_FORM:
            return getattr(self.tensor.array, name)
        if name in _IN_PLACE or not (hasattr(np.ndarray, name) and hasattr(np, name)):
            raise AttributeError(name)
        return partial(getattr(np, name), self)


def _refuse_order(order: str) -> None:
    """Raise ValueError for entries in another order than that of the indices."""
    if order != "C":
        raise ValueError("the order of the memory of a traced array")


def _plain(value: Any) -> Any:
    """Return what holds traced arrays, with their tensors in it."""
    return map_ends(lambda part: part.tensor if isinstance(part, Traced) else part, value)


# -- Arrays that code makes to write into: ``out = np.zeros(3); out[0] = x[0]**2`` keeps what is
# traced.
#
# An array of NumPy's cannot hold it. So while a function runs, NumPy's makers of new arrays give
# traced ones to the code that is asked about (and to no library); code that wants NumPy's own
# raises, and runs again without this.


_EMPTY = words("zeros ones empty full zeros_like ones_like empty_like full_like eye identity")
_OF_OTHERS = words("array asarray asanyarray ascontiguousarray")


@contextmanager
def new_arrays(passage: Passage) -> Iterator[None]:
    """Trace the arrays of floats that the user's code makes by NumPy's functions.

    This lasts as long as the context.
    """
    makers = {name: partial(_empty, passage) for name in _EMPTY} | {
        name: partial(_of_others, passage) for name in _OF_OTHERS
    }
    before = {name: getattr(np, name) for name in makers}
    theirs = _Theirs()
    for name, function in before.items():
        setattr(np, name, wraps(function)(makers[name](function, theirs)))
    try:
        yield
    finally:
        theirs.lasts = False  # a module imported meanwhile may have kept the replacements
        for name, function in before.items():
            setattr(np, name, function)


class _Theirs:
    """Test of whether the user's code calls a maker of this name, while it runs.

    Calls by compiled code that the user's code calls do not count.
    """

    lasts = True

    def __call__(self, name: str) -> bool:
        frame = sys._getframe(2)
        return (
            self.lasts
            and is_theirs(frame.f_code.co_filename)
            and name_called(frame.f_code, frame.f_lasti) == name
        )


def _empty(passage: Passage, function: Callable[..., Any], theirs: _Theirs) -> Callable[..., Any]:
    def make(*arguments: Any, **keywords: Any) -> Any:
        found = function(*arguments, **keywords)
        if isinstance(found, Tensor):
            return Traced(found, passage)
        if (
            isinstance(found, np.ndarray)
            and found.dtype in (np.float64, np.float32)
            and theirs(function.__name__)
        ):
            if function.__name__.startswith("empty"):
                found.fill(0)  # so that every run gives the same
            return Traced(Tensor(found), passage)
        return found

    return make


def _of_others(
    passage: Passage, function: Callable[..., Any], theirs: _Theirs
) -> Callable[..., Any]:
    def make(value: Any, dtype: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if (
            not _holds_traced(value)
            or (dtype is not None and np.dtype(dtype).kind != "f")
            or not theirs(function.__name__)
        ):
            return function(value, dtype, *arguments, **keywords)
        found = _stack(value)
        if function.__name__ == "array" and keywords.get("copy", True):
            found = np.copy(found)
        return found if dtype is None or found.dtype == dtype else found.astype(dtype)

    return make


def _holds_traced(value: Any) -> bool:
    return isinstance(value, Traced) or (
        isinstance(value, (list, tuple)) and any(map(_holds_traced, value))
    )


def _stack(value: Any) -> Any:
    """Nested lists as an array; the shapes are compared by NumPy."""
    return np.stack([_stack(part) for part in value]) if isinstance(value, (list, tuple)) else value
