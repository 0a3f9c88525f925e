"""NumPy's ufuncs on tensors: calls with their keywords, and their methods ``reduce``, ``accumulate``, ``outer`` and ``reduceat``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import known
from gradcli.tensors.torch.numpy_calls import called, plain, tensor_of
from gradcli.tensors.torch.numpy_reductions import inner_products
from gradcli.tensors.torch.scipy_functions import UFUNCS

_OF_WHOLE_NUMBERS = frozenset({
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count", "gcd", "lcm",
})  # fmt: skip
_CONJUGATE = {"conjugate": "positive"}  # a ufunc's result is a new array
_NO_GRADIENT = "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@cache
def _reduction(ufunc: str) -> str | None:
    """The operation that reduces by a ufunc, if there is one."""
    found = known(ufunc, NUMPY)
    return next((op.name for op in registry().values() if found is not None and op.facts.folds == found[0].name), None)


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """A ufunc or one of its methods, recorded as the operations of that name."""
    out = keywords.pop("out", None)
    out = out if out is None or len(out) > 1 else out[0]
    if isinstance(out, tuple):
        raise UnreadArgumentError(f"np.{ufunc.__name__} of tensors does not support out= for several results", help="leave it out")
    if isinstance(out, Tensor):
        raise TypeError(f"np.{ufunc.__name__}: tensors cannot be written to by out=; use the in-place methods")
    mask = keywords.pop("where", True) if how == "__call__" else True
    result = _METHODS[how](ufunc, *inputs, **keywords) if how in _METHODS else NotImplemented
    if result is NotImplemented:
        raise TypeError(f"np.{ufunc.__name__}.{how} of tensors is not supported; tensor.detach().numpy() is the array")
    if out is None:
        if mask is not True:
            help = f"write np.where(mask, np.{ufunc.__name__}(...), x), or give out="
            raise UnreadArgumentError(f"np.{ufunc.__name__} does not support where= without out=", help=help)
        return result
    return _written(out, result, mask)


def _written(out: np.ndarray, result: Any, mask: Any) -> np.ndarray:
    """``array += tensor``: what is written to an array has no graph."""
    if isinstance(result, Tensor) and result.requires_grad:
        raise RuntimeError(_NO_GRADIENT)
    np.copyto(out, result.array, where=mask.array if isinstance(mask, Tensor) else mask)
    return out


def _call(ufunc: Any, *inputs: Any, order: str = "K", casting: Any = "same_kind", subok: bool = True, **keywords: Any) -> Any:
    name = ufunc.__name__
    if name in _OF_WHOLE_NUMBERS or (name == "reciprocal" and _is_whole(inputs[0])):
        return Tensor(np.asarray(ufunc(*map(plain, inputs), order=order, casting=casting, subok=subok, **keywords)))
    if name == "ldexp" and not keywords:
        return _scaled(*inputs)
    if casting not in _CASTINGS or order not in ("K", "A", "C", "F"):
        raise ValueError(f"np.{name}: casting must be one of {', '.join(_CASTINGS)}, order of K, A, C, F, not {casting!r}, {order!r}")
    if order == "F":
        raise UnreadArgumentError(f"np.{name} of tensors does not support order='F'", help="leave it out")
    kind = keywords.get("dtype")
    if kind is not None:
        for given in inputs:
            found = given.array if isinstance(given, Tensor) else given
            if isinstance(found, np.ndarray) and not np.can_cast(found.dtype, kind, casting):
                raise TypeError(
                    f"Cannot cast ufunc '{name}' input from {found.dtype!r} to {np.dtype(kind)!r} with casting rule {casting!r}"
                )
    if name == "vecdot" and np.ndim(inputs[0]) != np.ndim(inputs[1]) and keywords.get("axis", -1) != -1:
        return inner_products(*inputs, **keywords)
    made = UFUNCS.get(name)
    if made is not None and not keywords:
        return made(*inputs)
    return called(_CONJUGATE.get(name, name), inputs, keywords, ufunc)


def _is_whole(x: Any) -> bool:
    return isinstance(x, Tensor) and x.array.dtype.kind in "iu"


def _scaled(x: Any, exponents: Any) -> Any:
    """x * 2**n by two powers, as 2**n alone may be too large or too small for a float."""
    if isinstance(exponents, Tensor) and exponents.array.dtype.kind in dtypes.FLOATS:
        raise TypeError("np.ldexp: the second argument is of whole numbers")
    x, whole = tensor_of(x), np.asarray(plain(exponents))
    half = whole // 2
    kind = x.array.dtype if x.array.dtype.kind in dtypes.FLOATS else np.dtype(np.float64)
    return np.multiply(np.multiply(x, np.exp2(half.astype(kind))), np.exp2((whole - half).astype(kind)))


def _reduce(
    ufunc: Any,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """One operation where there is one; else one application after the other along an axis."""
    name = _reduction(ufunc.__name__)
    given = tensor_of(x) if dtype is None else tensor_of(x).to(dtypes.of_numpy(np.dtype(dtype)))
    if name is not None:
        keywords = {"axis": axis, **({"keepdims": True} if keepdims else {})}
        if initial is not np._NoValue and initial is not None:
            keywords["initial"] = initial
        if where is not True:
            keywords["where"] = where
        return called(name, (given,), keywords, ufunc)
    if where is not True:
        raise UnreadArgumentError(f"np.{ufunc.__name__}.reduce does not support where=", help="leave it out")
    if axis is None or isinstance(axis, (tuple, list)):
        axes = tuple(range(given.ndim)) if axis is None else axis
        if len(axes) != 1 and given.ndim > 1:
            raise UnreadArgumentError(f"np.{ufunc.__name__}.reduce of tensors takes one axis", help="reduce one axis after the other")
        axis = axes[0] if axes else 0
    rows = list(np.moveaxis(given, axis, 0))
    if initial is not np._NoValue and initial is not None:
        rows.insert(0, initial)
    if not rows:
        return tensor_of(ufunc.reduce(given.detach().array, axis=axis, keepdims=keepdims))
    result = functools.reduce(ufunc, rows)
    return np.expand_dims(result, axis) if keepdims else result


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    given = tensor_of(x) if dtype is None else tensor_of(x).to(dtypes.of_numpy(np.dtype(dtype)))
    name = f"cum{_reduction(ufunc.__name__)}"  # cumsum, cumprod
    found = known(name, NUMPY)
    if found is not None and isinstance(found[0], Op) and found[0].outputs == 1:
        return called(name, (given,), {"axis": axis}, ufunc)
    rows = list(itertools.accumulate(np.moveaxis(given, axis, 0), ufunc))
    return np.stack(rows, axis=axis) if rows else given


def _outer(ufunc: Any, x: Any, y: Any, **keywords: Any) -> Any:
    left, right = tensor_of(x), tensor_of(y)
    return _call(ufunc, np.reshape(left, left.shape + (1,) * right.ndim), right, **keywords)


def _reduceat(ufunc: Any, x: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """The reduction between each index and the next, or the entry where the next is no larger."""
    given = tensor_of(x)
    places = [int(i) for i in np.asarray(indices.array if isinstance(indices, Tensor) else indices)]
    moved, rows = np.moveaxis(given, axis, 0), []
    for place, (start, end) in enumerate(zip(places, [*places[1:], len(moved)], strict=True)):
        if not 0 <= start < len(moved):
            raise IndexError(f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {len(moved)})")
        if place == len(places) - 1 or start < end:
            rows.append(_reduce(ufunc, moved[start:end], 0, dtype))
        else:
            rows.append(moved[start])
    return np.stack(rows, axis=axis)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "reduceat": _reduceat,
}  # fmt: skip
