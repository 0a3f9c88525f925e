"""Functions that are made of operations on floats, called with whole numbers: what they take, and which dtype their results have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.pytorch_types import RESULTS, TRUNCATED, bare, scales

_EXACT = 2**53  # whole numbers up to it are floats
_DIVISIONS = ("div", "divide", "true_divide")
_LAST = ("value", "source", "src")


class Settled(NamedTuple):
    """A call with floats in the place of whole numbers, and the dtype of its result, where it is not that of the call."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    kind: dtypes.dtype | None


def settle(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """What a call of one of PyTorch's functions becomes; None where it stays as it is."""
    name = bare(name)
    rule = "common" if name in _DIVISIONS else RESULTS.get(name)
    if rule == "value":
        return _of_its_dtype(arguments, keywords)
    if rule == "source":
        return _of_its_source(arguments, keywords)
    tensors = [a.array for a in arguments if isinstance(a, Tensor)]
    if scales(name):
        return _scaled(name, arguments, keywords)
    if rule in ("double", "promoted"):
        common = np.dtype(np.float64) if rule == "double" else reduce(dtypes.joined, [a.dtype for a in tensors])
        wanted = dtypes.of_numpy(common)
        return Settled(_in_dtype(arguments, wanted), dict(keywords), None) if wanted.is_floating_point else None
    if rule is None or not tensors or any(a.dtype.kind in dtypes.FLOATS for a in tensors):
        return None
    if name in _DIVISIONS:
        if keywords.get("rounding_mode") != "trunc" or any(isinstance(a, float) for a in arguments):
            return None
        if not np.all(tensors[-1] if isinstance(arguments[-1], Tensor) else arguments[-1]):
            raise RuntimeError("ZeroDivisionError")
    if rule == "float":
        return Settled((arguments[0].to(dtypes.get_default_dtype()), *arguments[1:]), dict(keywords), None)
    whole = TRUNCATED.get(name, ())
    keywords = {key: int(value) if key in whole and isinstance(value, float) else value for key, value in keywords.items()}
    kind = np.dtype(np.int64) if rule == "long" else tensors[0].dtype if rule == "first" else _common(arguments)
    index = 2 if name == "scatter_add" else -1  # which stays one of whole numbers
    given = [_as_float(a, name) if isinstance(a, Tensor) and place != index else a for place, a in enumerate(arguments)]
    return Settled(tuple(given), keywords, dtypes.of_numpy(kind))


def _in_dtype(arguments: Sequence[Any], kind: dtypes.dtype) -> tuple[Any, ...]:
    return tuple([a.to(kind) if isinstance(a, Tensor) else a for a in arguments])


def _common(arguments: Sequence[Any]) -> np.dtype[Any]:
    return dtypes.result_type([a.array if isinstance(a, Tensor) else a for a in arguments])


def _of_its_source(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """A part that is put into the first tensor, in the dtype of that; so is the result."""
    if len(arguments) < 2 or not all(isinstance(a, Tensor) for a in arguments[:2]):
        return None
    first, source, *rest = arguments
    if first.array.dtype.kind in dtypes.FLOATS:
        return Settled((first, source.to(first.dtype), *rest), dict(keywords), None)
    floats = [_as_float(a.to(first.dtype), "scatter") for a in (first, source)]
    return Settled((*floats, *rest), dict(keywords), first.dtype)


def _scaled(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """Whole numbers plus alpha times whole numbers: alpha is one, too, and so are the products."""
    alpha, tensors = keywords.get("alpha", 1), [a for a in arguments if isinstance(a, Tensor)]
    numbers = all(isinstance(a, (Tensor, bool, int, float)) for a in arguments)
    numbers = numbers and isinstance(alpha, (bool, int, float))
    if len(arguments) != 2 or not numbers or not tensors or (name == "rsub" and len(tensors) < 2):
        return None
    kind = dtypes.of_numpy(_common(arguments))
    if kind.is_floating_point and not isinstance(alpha, bool):
        return None
    if isinstance(alpha, float) or (isinstance(alpha, bool) and kind is not dtypes.bool_):
        raise RuntimeError(f"{name}: alpha is no number of {kind.name}, as the result is")
    if alpha == 1 and isinstance(arguments[0], Tensor):
        return None
    given = [a if isinstance(a, Tensor) else Tensor(np.asarray(a)) for a in arguments]
    return Settled(_in_dtype(given, kind), {**keywords, "alpha": int(alpha)}, kind)


def _as_float(argument: Tensor, name: str) -> Tensor:
    if argument.array.dtype.itemsize == 8 and argument.array.size and np.abs(argument.array).max() > _EXACT:
        raise RuntimeError(f"{name}(): whole numbers above 2**53 would be rounded here; .double() says that they may be")
    return cast(argument, np.dtype(np.float64))


def _of_its_dtype(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """A value that is put into the first tensor, in the dtype of that; so is the result."""
    first = arguments[0] if arguments else None
    name = next((key for key in _LAST if key in keywords), None)
    value = arguments[-1] if name is None else keywords[name]
    if not isinstance(first, Tensor):
        return None
    whole, number = not first.dtype.is_floating_point, isinstance(value, (bool, int, float))
    if not whole and (number or getattr(value, "dtype", first.dtype) is first.dtype):
        return None
    keywords = dict(keywords)
    if whole and isinstance(keywords.get("alpha"), float):
        keywords["alpha"] = int(keywords["alpha"])  # as whole numbers are multiplied with it
    if isinstance(value, Tensor) and not value.array.ndim:
        value = value.to(first.dtype)
    elif number:
        value = np.asarray(value).astype(first.array.dtype).item()
    if name is not None:
        return Settled(tuple(arguments), {**keywords, name: value}, first.dtype)
    return Settled((*arguments[:-1], value), keywords, first.dtype)
