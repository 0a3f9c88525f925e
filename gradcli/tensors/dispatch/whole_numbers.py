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
    first = arguments[0] if arguments else None
    if name == "one_hot":
        return _one_hot(arguments, keywords)
    if rule == "value":
        return _of_its_dtype(arguments, keywords)
    if rule == "source":
        return _of_its_source(arguments, keywords)
    if rule == "double":
        return Settled(tuple([a.to(dtypes.float64) if isinstance(a, Tensor) else a for a in arguments]), dict(keywords), None)
    tensors = [a.array for a in arguments if isinstance(a, Tensor)]
    if rule == "promoted":
        common = dtypes.of_numpy(reduce(dtypes.joined, [a.dtype for a in tensors])) if tensors else None  # all are expanded before
        if common is None or not common.is_floating_point:
            return None
        return Settled(tuple([a.to(common) if isinstance(a, Tensor) else a for a in arguments]), dict(keywords), None)
    if scales(name):
        return _scaled(name, arguments, keywords)
    if rule is None or not tensors or any(a.dtype.kind in dtypes.FLOATS for a in tensors):
        return None
    if name in _DIVISIONS:
        if keywords.get("rounding_mode") != "trunc" or any(isinstance(a, float) for a in arguments):
            return None
        if not np.all(tensors[-1] if isinstance(arguments[-1], Tensor) else arguments[-1]):
            raise RuntimeError("ZeroDivisionError")
    if rule == "float":
        assert isinstance(first, Tensor)
        return Settled((first.to(dtypes.get_default_dtype()), *arguments[1:]), dict(keywords), None)
    keywords = {
        key: int(value) if key in TRUNCATED.get(name, ()) and isinstance(value, float) else value for key, value in keywords.items()
    }
    kind = np.dtype(np.int64)
    if rule != "long":
        kind = tensors[0].dtype if rule == "first" else dtypes.result_type([a.array if isinstance(a, Tensor) else a for a in arguments])
    given = [_as_float(a, name) if isinstance(a, Tensor) and place not in _indices(name) else a for place, a in enumerate(arguments)]
    return Settled(tuple(given), keywords, dtypes.of_numpy(kind))


def _of_its_source(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """A part that is put into the first tensor, in the dtype of that; so is the result."""
    if len(arguments) < 2 or not all(isinstance(a, Tensor) for a in arguments[:2]):
        return None
    first, source, *rest = arguments
    if first.array.dtype.kind == "f":
        return None if source.dtype is first.dtype else Settled((first, source.to(first.dtype), *rest), dict(keywords), None)
    floats = [_as_float(a.to(first.dtype), "scatter") for a in (first, source)]
    return Settled((*floats, *rest), dict(keywords), first.dtype)


def _indices(name: str) -> tuple[int, ...]:
    return (2,) if name == "scatter_add" else ()


def _one_hot(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """Labels, as many classes as there are of them unless their number is given, and a result of whole numbers."""
    labels, classes = arguments[0] if arguments else None, arguments[1] if len(arguments) > 1 else keywords.get("num_classes", -1)
    if not isinstance(labels, Tensor):
        return None
    if labels.array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if classes == -1:
        if not labels.array.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        classes = int(labels.array.max()) + 1
    return Settled((labels, classes), {}, dtypes.int64)


def _scaled(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """Whole numbers plus alpha times whole numbers: alpha is one, too, and the products are of the result's dtype."""
    alpha = keywords.get("alpha", 1)
    tensors = [a.array for a in arguments if isinstance(a, Tensor)]
    if type(alpha) not in (bool, int, float) or len(arguments) != 2:
        return None
    if any(not isinstance(a, (Tensor, bool, int, float)) for a in arguments) or (name == "rsub" and len(tensors) < 2):
        return None
    kind = dtypes.result_type([a.array if isinstance(a, Tensor) else a for a in arguments])
    if isinstance(alpha, bool) and kind.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind.kind in dtypes.FLOATS or not tensors:
        return None
    if isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if alpha == 1 and isinstance(arguments[0], Tensor):
        return None
    given = tuple([(a if isinstance(a, Tensor) else Tensor(np.asarray(a))).to(dtypes.of_numpy(kind)) for a in arguments])
    return Settled(given, {**keywords, "alpha": int(alpha)}, dtypes.of_numpy(kind))


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
    usual = first.array.dtype if isinstance(value, (bool, int, float)) else getattr(value, "array", first.array).dtype
    if first.array.dtype.kind in dtypes.FLOATS and usual is first.array.dtype:
        return None
    if first.array.dtype.kind not in dtypes.FLOATS and isinstance(keywords.get("alpha"), float):
        keywords = {**keywords, "alpha": int(keywords["alpha"])}  # as whole numbers are multiplied with it
    put: Any = value
    if isinstance(value, Tensor) and not value.array.ndim:
        put = value.to(first.dtype)
    elif isinstance(value, (bool, int, float)) and first.array.dtype.kind not in dtypes.FLOATS:
        put = np.asarray(value).astype(first.array.dtype).item()
    given = (*arguments[:-1], put) if name is None else tuple(arguments)
    return Settled(given, dict(keywords) if name is None else {**keywords, name: put}, first.dtype)
