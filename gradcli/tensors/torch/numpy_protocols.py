"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=1)``, ``t @ array``, ``np.linalg.cholesky(t)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.registry import registry
from gradcli.tensors.core.casts import as_tensor, clone_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST
from gradcli.tensors.dispatch.library_calls import call, known
from gradcli.tensors.torch import creation
from gradcli.tensors.torch.catalogue_functions import einsum

_CONJUGATE = {"conjugate": "positive"}  # a ufunc's result is a new array


def _array(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def _shape(x: Tensor) -> tuple[int, ...]:
    return x.array.shape


def _ndim(x: Tensor) -> int:
    return x.array.ndim


def _size(x: Tensor, axis: int | None = None) -> int:
    return x.array.size if axis is None else x.array.shape[axis]


def _copy(x: Tensor, order: str = "K", subok: bool = False) -> Tensor:
    return clone_of(x)


def _all_close(x: Any, y: Any, *arguments: Any, **keywords: Any) -> bool:
    return bool(np.allclose(_array(x), _array(y), *arguments, **keywords))


def _array_equal(x: Any, y: Any, equal_nan: bool = False) -> bool:
    return bool(np.array_equal(_array(x), _array(y), equal_nan=equal_nan))


def _is_close(x: Any, y: Any, *arguments: Any, **keywords: Any) -> Any:
    return np.isclose(_array(x), _array(y), *arguments, **keywords)


def _real(x: Tensor) -> bool:
    return True


def _complex(x: Tensor) -> bool:
    return False


def _repr(x: Tensor, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    options = (max_line_width, precision, suppress_small)
    return repr(x) if _unset(*options) else np.array_repr(x.array, *options)


def _str(x: Tensor, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    options = (max_line_width, precision, suppress_small)
    return str(x) if _unset(*options) else np.array_str(x.array, *options)


def _unset(*options: Any) -> bool:
    return all(option is None for option in options)


def _on_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's own function, of the first argument's entries."""
    return lambda x, *arguments, **keywords: function(_array(x), *map(_array, arguments), **{k: _array(v) for k, v in keywords.items()})


def _on_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's own function, of the entries of all arguments."""
    return lambda *arguments: function(*map(_array, arguments))


# Functions that are about arrays, not about numbers in them.
_OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "shape": _shape, "ndim": _ndim, "size": _size, "copy": _copy,
    "zeros_like": creation.zeros_like, "ones_like": creation.ones_like, "full_like": creation.full_like, "empty_like": creation.empty_like,
    "allclose": _all_close, "array_equal": _array_equal, "isclose": _is_close,
    "any": _on_first(np.any), "all": _on_first(np.all), "count_nonzero": _on_first(np.count_nonzero), "nonzero": _on_first(np.nonzero),
    "result_type": _on_all(np.result_type), "isrealobj": _real, "iscomplexobj": _complex, "array_repr": _repr, "array_str": _str,
    "may_share_memory": _on_all(np.may_share_memory), "shares_memory": _on_all(np.shares_memory),
}  # fmt: skip


@cache
def _reduction(ufunc: str) -> str | None:
    """The operation that reduces by a ufunc, if there is one."""
    found = known(ufunc, NUMPY)
    return next((op.name for op in registry().values() if found is not None and op.facts.folds == found[0].name), None)


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """A ufunc, or its reduction, recorded as the operation of that name."""
    out = keywords.pop("out", None)
    name = ufunc.__name__
    reduction = _reduction(name) if how == "reduce" else None
    if reduction is not None:
        name = reduction
        keywords.setdefault("axis", 0)
        keywords = {k: v for k, v in keywords.items() if not (k == "where" and v is True)}
    elif how != "__call__":
        return NotImplemented
    if out is not None and any(isinstance(o, Tensor) for o in out):
        raise TypeError(f"np.{ufunc.__name__}: tensors cannot be written to by out=; use the in-place methods")
    result = _called(_CONJUGATE.get(name, name), inputs, keywords, ufunc)
    if out is not None:
        out[0][...] = result.detach().array  # array += tensor
        return out[0]
    return result


def function_on_tensors(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name = function.__name__
    if name in _OF_ARRAYS:
        return _OF_ARRAYS[name](*arguments, **keywords)
    if name == "einsum":
        return _einsum(*arguments, **keywords)
    return _called(name, arguments, keywords, function)


def _einsum(equation: Any, *operands: Any, optimize: Any = False, **keywords: Any) -> Any:
    for keyword, value in keywords.items():
        if value is not None:
            raise UnreadArgumentError(f"einsum of tensors does not support {keyword}=", help="leave it out")
    return einsum(equation, *[NUMPY_HOST.value(operand) for operand in operands])


def _called(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], function: Any) -> Any:
    if known(name, NUMPY) is None:
        module = getattr(function, "__module__", None) or "numpy"
        raise TypeError(f"gradcli has no {module}.{name} on tensors; tensor.detach().numpy() is the array")
    return call(name, NUMPY, tuple(_strong(a) for a in arguments), {k: _strong(v) for k, v in keywords.items() if v is not np._NoValue})


def _strong(argument: Any) -> Any:
    return as_tensor(argument) if isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub" else argument
