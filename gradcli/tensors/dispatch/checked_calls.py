"""Functions of our own that refuse arguments of other types than PyTorch's, as their annotations say."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any, TypeVar, cast

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
