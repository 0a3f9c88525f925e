"""Functions of our own that refuse arguments of other types than PyTorch's, as their annotations say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import unwrap
from typing import Any, TypeVar, cast

import numpy as np

from gradcli.errors import ArgumentError, AxisError, GradcliError, ShapeError
from gradcli.ops.spec import Op
from gradcli.tensors.core.in_place import common_shape
from gradcli.tensors.core.tensor import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.array.ndim and value.array.dtype.kind in "iu"
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.array.ndim and not value.requires_grad
    return hasattr(value, "__float__")


_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": _is_int,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool),
}


def checked(function: _Function, name: str = "") -> _Function:
    """Return the function, or the method, with its arguments held to the annotations of its parameters."""
    own: Any = unwrap(function)
    name = name or own.__name__
    words = own.__code__.co_varnames[: own.__code__.co_argcount]
    kinds = {word: kind for word, kind in own.__annotations__.items() if kind.removesuffix(" | None") in _FITS}

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        for word, value in (*zip(words, arguments, strict=False), *keywords.items()):
            kind = kinds.get(word)
            if kind is None or (value is None and kind.endswith("None")):
                continue
            wanted = kind.removesuffix(" | None")
            if not _FITS[wanted](value):
                raise TypeError(f"{name}(): argument {word!r} must be {wanted}, not {type(value).__name__}")
        return function(*arguments, **keywords)

    return cast(_Function, run)


# -- Errors for operands that do not fit, of PyTorch's types ---------------------------------------


def explained(op: Op, arrays: Sequence[Any], static: Mapping[str, Any], error: Exception) -> Exception:
    """The error of an operation that failed."""
    shapes = [None if a is None else np.shape(a) for a in arrays]
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None and error.ndim is not None:
        return AxisError(error.axis, error.ndim)
    if op.elementwise:
        try:
            common_shape(*[shape for shape in shapes if shape is not None])
        except RuntimeError as apart:
            return apart
    try:
        if op.shape is not None:
            op.shape(*shapes, **static)
    except GradcliError as better:
        return better
    except Exception:  # the shape rule knows no more than the operation
        pass
    kind = next((kind for kind in (IndexError, TypeError) if isinstance(error, kind)), RuntimeError)
    return kind(f"{op.name}: {error}")


class ArgumentValueError(ArgumentError, ValueError):
    """A value that an argument may not have: PyTorch raises ValueError for some, RuntimeError for others."""


class ShapeValueError(ShapeError, ValueError):
    """Shapes that do not fit, of which the same is true."""


def also_value_error(error: ArgumentError | ShapeError) -> GradcliError:
    """The same error as a ValueError, too, unless it is one of another of Python's types."""
    if isinstance(error, (TypeError, LookupError, ValueError)):
        return error
    same = (ArgumentValueError if isinstance(error, ArgumentError) else ShapeValueError)(error.message)
    same.__dict__.update(error.__dict__)
    return same


def check_same_dtype(operands: Sequence[Any]) -> None:
    """Refuse products of several dtypes, which do not promote. Raises RuntimeError, as PyTorch."""
    kinds = [array.dtype.name for o in operands if isinstance(array := getattr(o, "array", None), np.ndarray)]
    if len(set(kinds)) > 1:
        raise RuntimeError(f"both factors must have one dtype, not {kinds[0]} and {kinds[1]}")
