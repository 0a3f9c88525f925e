"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=1)``, ``t @ array``, ``np.linalg.cholesky(t)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.tensors.core.casts import clone_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST
from gradcli.tensors.torch.catalogue_functions import einsum
from gradcli.tensors.torch.numpy_calls import called, plain
from gradcli.tensors.torch.numpy_functions import FUNCTIONS


def _array(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def _shape(x: Tensor) -> tuple[int, ...]:
    return x.array.shape


def _ndim(x: Tensor) -> int:
    return x.array.ndim


def _size(x: Tensor, axis: Any = None) -> int:
    return int(np.size(x.array, axis))


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    """A new tensor in the shape of another one, which has no part in it."""

    def make(x: Any, *arguments: Any, **keywords: Any) -> Tensor:
        for given in (*arguments, *keywords.values()):
            if isinstance(given, Tensor) and given.requires_grad:
                raise TypeError(f"np.{function.__name__}: a tensor that requires grad is no number: its gradient would be lost")
        return Tensor(np.asarray(function(plain(x), *map(plain, arguments), **{k: plain(v) for k, v in keywords.items()})))

    return make


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


# Functions that are about arrays, not about numbers in them.
_OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "shape": _shape, "ndim": _ndim, "size": _size, "copy": _copy,
    **{name: _like(getattr(np, name)) for name in ("zeros_like", "ones_like", "full_like", "empty_like")},
    "allclose": _all_close, "array_equal": _array_equal, "isclose": _is_close,
    "isrealobj": _real, "iscomplexobj": _complex, "array_repr": _repr, "array_str": _str,
}  # fmt: skip


_WRITING = ("put",)  # of the catalogue under that name, but with a new array as its result


def function_on_tensors(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name = function.__name__
    if name in _OF_ARRAYS:
        return _OF_ARRAYS[name](*arguments, **keywords)
    if name in _WRITING:
        raise TypeError(f"gradcli has no numpy.{name} on tensors; tensor.detach().numpy() is the array")
    if name == "einsum":
        return _einsum(*arguments, **keywords)
    path = f"linalg.{name}" if function.__module__ == "numpy.linalg" else name
    if path in FUNCTIONS:
        return FUNCTIONS[path](*arguments, **keywords)
    if function.__module__ == "numpy.linalg":
        name = qualified(name, f"linalg.{name}", NUMPY)
    return called(name, arguments, keywords, function)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _lettered(labels: Any) -> str:
    return "".join("..." if label is ... else _LETTERS[label] for label in labels)


def _einsum(equation: Any, *operands: Any, optimize: Any = False, **keywords: Any) -> Any:
    """With letters, or with lists of labels: ``np.einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    if not isinstance(equation, str):
        given = (equation, *operands)
        pairs = len(given) // 2 * 2
        operands = given[:pairs:2]
        equation = ",".join(map(_lettered, given[1:pairs:2])) + (f"->{_lettered(given[-1])}" if len(given) % 2 else "")
    for keyword, value in keywords.items():
        if value is not None:
            raise UnreadArgumentError(f"einsum of tensors does not support {keyword}=", help="leave it out")
    return einsum(equation, *[NUMPY_HOST.value(operand) for operand in operands])
