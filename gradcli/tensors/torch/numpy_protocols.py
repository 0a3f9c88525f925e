"""NumPy's protocols of tensors: ``np.sum(t, axis=1)``, ``np.sin(t)``, ``np.add.reduce(t)``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.meanings import qualified
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.registry import registry
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import known
from gradcli.tensors.torch.numpy_functions import (
    FUNCTIONS,
    called,
    inner_products,
    plain,
    refuse,
    tensor_of,
    written,
)
from gradcli.tensors.torch.scipy_functions import UFUNCS

_WRITING = ("put",)  # of the catalogue under that name, but with a new array as its result
_OF_WHOLE_NUMBERS = frozenset({
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
    "bitwise_count", "gcd", "lcm",
})  # fmt: skip


def function_on_tensors(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name, of_matrices = function.__name__, function.__module__ == "numpy.linalg"
    path = f"linalg.{name}" if of_matrices else name
    if path in FUNCTIONS:
        return FUNCTIONS[path](*arguments, **keywords)
    if name in _WRITING:
        raise TypeError(f"gradcli has no numpy.{name} on tensors; tensor.detach().numpy() is the array")
    return called(qualified(name, path, NUMPY) if of_matrices else name, arguments, keywords, function)


@cache
def _reduction(ufunc: str) -> str | None:
    """The operation that reduces by a ufunc, if there is one."""
    found = known(ufunc, NUMPY)
    folds = None if found is None else found[0].name
    return next((op.name for op in registry().values() if folds and op.facts.folds == folds), None)


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """A ufunc or one of its methods, recorded as the operations of that name."""
    out = keywords.pop("out", None)
    out = out if out is None or len(out) > 1 else out[0]
    name = f"np.{ufunc.__name__}"
    if isinstance(out, tuple):
        said = f"{name} of tensors does not support out= for several results"
        raise UnreadArgumentError(said, help="leave it out")
    if isinstance(out, Tensor):
        raise TypeError(f"{name}: tensors cannot be written to by out=; use the in-place methods")
    if how not in _METHODS:
        said = f"{name}.{how} of tensors is not supported"
        raise TypeError(f"{said}; tensor.detach().numpy() is the array")
    mask = keywords.pop("where", True) if how == "__call__" else True
    result = _METHODS[how](ufunc, *inputs, **keywords)
    if out is not None:
        return written(out, result, mask)
    if mask is not True:
        help = f"write np.where(mask, {name}(...), x), or give out="
        raise UnreadArgumentError(f"{name} does not support where= without out=", help=help)
    return result


def _call(
    ufunc: Any, *inputs: Any, order: str = "K", casting: Any = "same_kind", subok: bool = True,
    **keywords: Any,
) -> Any:  # fmt: skip
    name: str = ufunc.__name__
    whole = isinstance(inputs[0], Tensor) and inputs[0].array.dtype.kind in "iu"
    if name in _OF_WHOLE_NUMBERS or (name == "reciprocal" and whole):
        return Tensor(np.asarray(ufunc(*plain(inputs), casting=casting, **keywords)))
    refuse(f"np.{name}", order=None if order in ("K", "A", "C") else order)
    refuse(f"np.{name}", casting=None if casting == "same_kind" else casting)
    made = _MADE.get(name, UFUNCS.get(name))
    if made is not None and (name in _MADE or not keywords):
        return made(*inputs, **keywords)
    return called(name, inputs, keywords, ufunc)


def _scaled(x: Any, exponents: Any) -> Any:
    """x * 2**n by two powers, as 2**n alone may be too large or too small for a float."""
    whole = np.asarray(plain(exponents))
    if whole.dtype.kind in dtypes.FLOATS:
        raise TypeError("np.ldexp: the second argument is of whole numbers")
    x, half = tensor_of(x), whole // 2
    kind = np.result_type(x.array, 1.0)
    powers = (np.exp2(part.astype(kind)) for part in (half, whole - half))
    return functools.reduce(np.multiply, powers, x)


def _reduce(
    ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = np._NoValue, where: Any = True,
) -> Any:  # fmt: skip
    """One operation where there is one; else one application after the other along an axis."""
    name, given = _reduction(ufunc.__name__), tensor_of(x)
    given = given if dtype is None else given.astype(dtype)
    further = {"initial": initial} if initial is not np._NoValue and initial is not None else {}
    if name is not None:
        flags = {"keepdims": True} if keepdims else {}
        keywords = {"axis": axis, "where": where, **flags, **further}
        return called(name, (given,), keywords, ufunc)
    refuse(f"np.{ufunc.__name__}.reduce", where=None if where is True else where)
    if axis is None and given.ndim == 1:
        axis = 0
    if not isinstance(axis, int):
        said = f"np.{ufunc.__name__}.reduce of tensors takes one axis"
        raise UnreadArgumentError(said, help="reduce one axis after the other")
    rows = [*further.values(), *np.moveaxis(given, axis, 0)]
    if not rows:
        return tensor_of(ufunc.reduce(given.detach().array, axis=axis, keepdims=keepdims))
    result = functools.reduce(ufunc, rows)
    return np.expand_dims(result, axis) if keepdims else result


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    given = tensor_of(x) if dtype is None else tensor_of(x).astype(dtype)
    name = {"add": "cumsum", "multiply": "cumprod"}.get(ufunc.__name__)
    if name is not None:
        return called(name, (given,), {"axis": axis}, ufunc)
    rows = list(itertools.accumulate(np.moveaxis(given, axis, 0), ufunc))
    return np.stack(rows, axis=axis) if rows else given


def _outer(ufunc: Any, x: Any, y: Any, **keywords: Any) -> Any:
    left, right = tensor_of(x), tensor_of(y)
    return _call(ufunc, np.reshape(left, left.shape + (1,) * right.ndim), right, **keywords)


_MADE: dict[str, Callable[..., Any]] = {
    "ldexp": _scaled, "vecdot": inner_products,
    "conjugate": np.positive,
}  # fmt: skip
_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer,
}  # fmt: skip
