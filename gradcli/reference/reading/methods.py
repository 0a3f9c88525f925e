"""Attributes and methods of arrays: what libraries have beside the functions of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.reading.arrays import Arrays, kind
from gradcli.reference.reading.calls import Calls
from gradcli.reference.reading.libraries import DType
from gradcli.reference.reading.makers import typed
from gradcli.reference.scalars import plain

Array = np.ndarray


class Method(NamedTuple):
    """A method of a value, before its brackets."""

    name: str
    base: Any


def _last_two(x: Array) -> Array:
    if x.ndim < 2:
        raise Unsupported("the last two axes of fewer")
    return np.array(np.swapaxes(x, -1, -2))


_PROPERTIES: dict[str, Callable[[Array], Any]] = {
    "T": lambda x: x.T if x.ndim > 1 else x,
    "mT": _last_two, "mH": _last_two,
    "H": lambda x: x.T,
    "shape": lambda x: tuple(int(n) for n in x.shape),
    "ndim": lambda x: x.ndim,
    "size": lambda x: math.prod(x.shape),
    "real": lambda x: x,
    "flat": lambda x: x.reshape(-1), "A1": lambda x: x.reshape(-1),
    "data": lambda x: Algebra.map(plain, x),
    "device": lambda x: "cpu",
}  # fmt: skip
_ITSELF = frozenset((
    "clone", "contiguous", "copy", "conj", "conjugate", "resolve_conj", "resolve_neg", "block_until_ready", "pin_memory", "cpu", "cuda",
    "requires_grad_",
))  # fmt: skip
_COUNTS: dict[str, Callable[[Array], Any]] = {
    **dict.fromkeys(("numel", "nelement"), lambda x: math.prod(x.shape)), **dict.fromkeys(("ndimension", "dim"), lambda x: x.ndim),
}  # fmt: skip
_OF_NUMBERS = frozenset({"item", "tolist", "numpy"})  # in PyTorch they stop gradients
_REFUSED = frozenset({"any", "all", "nonzero", "argwhere", "type", "at", "new_tensor", "new_full", "new_zeros", "new_ones", "type_as"})


def attribute(arrays: Arrays, base: Any, name: str) -> Any:
    """``base.name`` of an array: a property, or a method to be called."""
    if name == "dtype":
        return DType({"float": arrays.precision}.get(kind(arrays.of(base)), kind(arrays.of(base))))
    if name in _PROPERTIES and not isinstance(base, tuple):
        return _PROPERTIES[name](arrays.of(base))
    return Method(name, base)


def called(calls: Calls, method: Method, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """What a method gives that is no function of the catalogue; `NotImplemented` if it is one."""
    name, arrays = method.name, calls.arrays
    if name in _REFUSED:
        raise Unsupported(f"the method {name!r}")
    if name in _ITSELF:
        return arrays.of(method.base)
    if name in _COUNTS and not arguments and not keywords:
        return _COUNTS[name](arrays.of(method.base))
    if name == "size":
        shape = arrays.of(method.base).shape
        given = [*arguments, *keywords.values()]
        return shape[arrays.integer(given[0])] if given else tuple(int(n) for n in shape)
    if name == "detach":
        return Algebra.map(plain, arrays.of(method.base))
    if name in _OF_NUMBERS:
        if arrays.varies(method.base) or arguments:
            raise Unsupported(f"the method {name!r} of what has a derivative")
        return arrays.of(method.base)
    if name in ("double", "float", "to", "astype"):
        given = [*arguments, *keywords.values()] or [DType("float64")]
        if name == "float":
            return arrays.floats(arrays.of(method.base))
        made = (
            arrays.floats(arrays.of(method.base))
            if name in ("double", "astype", "to") and _is_float(arrays, given[0])
            else arrays.of(method.base)
        )
        return typed(calls, made, given[0])
    if name == "flatten" and not arguments and not keywords:
        return arrays.of(method.base).reshape(-1)
    return NotImplemented


def _is_float(arrays: Arrays, dtype: Any) -> bool:
    return isinstance(dtype, DType) and dtype.name == arrays.precision
