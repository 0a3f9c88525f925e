"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=1)``, ``t @ array``, ``np.linalg.cholesky(t)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.prefixes import NUMPY
from gradcli.tensors import creation
from gradcli.tensors.host import call, known
from gradcli.tensors.methods import PLAIN
from gradcli.tensors.tensor import Tensor

_UFUNCS = {
    "absolute": "abs", "true_divide": "div", "matmul": "matmul", "equal": "equal", "fabs": "abs", "rint": "round", "conjugate": "positive",
}  # fmt: skip
# Functions that are about arrays, not about numbers in them.
_PLAIN = {
    "shape": lambda x: x.array.shape, "ndim": lambda x: x.array.ndim, "size": lambda x, axis=None: x.array.size if axis is None else x.array.shape[axis],
    "copy": lambda x, **_: PLAIN["clone"](x), "zeros_like": creation.zeros_like, "ones_like": creation.ones_like, "full_like": creation.full_like,
    "empty_like": creation.empty_like, "allclose": lambda x, y, *a, **k: bool(np.allclose(_array(x), _array(y), *a, **k)),
    "array_equal": lambda x, y, **_: bool(np.array_equal(_array(x), _array(y))), "isclose": lambda x, y, *a, **k: np.isclose(_array(x), _array(y), *a, **k),
    "any": lambda x, *a, **k: np.any(_array(x), *a, **k), "all": lambda x, *a, **k: np.all(_array(x), *a, **k), "result_type": lambda *a: np.result_type(*map(_array, a)),
    "isrealobj": lambda x: True, "iscomplexobj": lambda x: False, "array_repr": lambda x, *a, **k: repr(x), "array_str": lambda x, *a, **k: str(x),
    "may_share_memory": lambda *a: np.may_share_memory(*map(_array, a)), "shares_memory": lambda *a: np.shares_memory(*map(_array, a)),
    "count_nonzero": lambda x, *a, **k: np.count_nonzero(_array(x), *a, **k), "nonzero": lambda x: np.nonzero(_array(x)),
}  # fmt: skip


def _array(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def ufunc_on_tensors(ufunc: Any, how: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A ufunc, or its reduction, recorded as the operation of that name."""
    out = keywords.pop("out", None)
    name = ufunc.__name__
    if how == "reduce" and name in ("add", "multiply", "maximum", "minimum"):
        name = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}[name]
        keywords = {k: v for k, v in keywords.items() if k in ("axis", "keepdims")}
        keywords.setdefault("axis", 0)
    elif how != "__call__":
        return NotImplemented
    if out is not None and any(isinstance(o, Tensor) for o in out):
        raise TypeError(f"np.{ufunc.__name__}: tensors cannot be written to by out=; use the in-place methods")
    result = _called(_UFUNCS.get(name, name), inputs, keywords, ufunc)
    if out is not None:
        out[0][...] = result.detach().array  # array += tensor
        return out[0]
    return result


def function_on_tensors(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name = function.__name__
    if name in _PLAIN:
        return _PLAIN[name](*arguments, **keywords)
    if name == "einsum":
        return call_einsum(arguments, keywords)
    return _called(name, arguments, keywords, function)


def call_einsum(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    from gradcli.tensors.functions import einsum

    return einsum(*arguments)


def _called(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], function: Any) -> Any:
    if known(name, NUMPY) is None:
        module = getattr(function, "__module__", None) or "numpy"
        raise TypeError(f"gradcli has no {module}.{name} on tensors; tensor.detach().numpy() is the array")
    return call(name, NUMPY, tuple(_strong(a) for a in arguments), {k: _strong(v) for k, v in keywords.items() if v is not np._NoValue})


def _strong(argument: Any) -> Any:
    return creation.as_tensor(argument) if isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub" else argument
