"""NumPy's reductions and sums on tensors, where its keywords or its axes mean more than the catalogue's functions have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.tensors.core import dtypes
from gradcli.tensors.torch.numpy_calls import by_name, plain, tensor_of


def _without_nan(name: str, reduction: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    """A reduction that leaves out NaN; with an initial value or a mask, the same with something neutral in the place of NaN."""

    def run(a: Any, *arguments: Any, initial: Any = np._NoValue, where: Any = np._NoValue, **keywords: Any) -> Any:
        if initial is np._NoValue and where is np._NoValue:
            return by_name(name, a, *arguments, **keywords)
        further = {key: value for key, value in (("initial", initial), ("where", where)) if value is not np._NoValue}
        given = tensor_of(a)
        filled = np.where(np.isnan(plain(given)), np.asarray(neutral, given.array.dtype), given) if given.dtype.is_floating_point else given
        return reduction(filled, *arguments, **keywords, **further)

    return run


def _angle(z: Any, deg: bool = False) -> Any:
    return np.degrees(by_name("angle", z)) if deg else by_name("angle", z)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    given = a if dtype is None else tensor_of(a).to(dtypes.of_numpy(np.dtype(dtype)))
    return by_name("trace", given, offset, axis1, axis2, **({} if out is None else {"out": out}))


def _area(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Where abscissae are given, NumPy does not read the distance."""
    return by_name("trapezoid", y, dx=dx, axis=axis) if x is None else by_name("trapezoid", y, x, axis=axis)


def inner_products(x1: Any, x2: Any, axis: int, **keywords: Any) -> Any:
    """``np.vecdot``: the axis is counted in each array by itself, and the others broadcast."""
    return by_name("vecdot", np.moveaxis(tensor_of(x1), axis, -1), np.moveaxis(tensor_of(x2), axis, -1), **keywords)


def _products_of_vectors(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """``np.linalg.vecdot``, which is the same."""
    return inner_products(x1, x2, axis)


def _places(obj: Any, arr: Any, axis: Any) -> Any:
    """A slice, or indices in any shape, as indices in a row."""
    if isinstance(obj, slice):
        return np.arange(np.size(plain(arr), axis))[obj]
    return np.ravel(obj) if np.ndim(obj) > 1 else obj


def _without(arr: Any, obj: Any, axis: Any = None) -> Any:
    return by_name("delete", arr, _places(plain(obj), arr, axis), axis)


def _inserted(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """What is put in takes the array's dtype, as in an assignment."""
    given, put = tensor_of(arr), tensor_of(values)
    if put.dtype != given.dtype:
        if put.requires_grad and not given.dtype.is_floating_point:
            raise UnreadArgumentError(
                "insert: floats that require grad cannot be put into whole numbers", help="make the array one of floats"
            )
        put = put.to(given.dtype)
    return by_name("insert", given, _places(plain(obj), arr, axis), put, axis)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "nanprod": _without_nan("nanprod", np.prod, 1.0), "nansum": _without_nan("nansum", np.sum, 0.0),
    "nanmax": _without_nan("nanmax", np.max, -np.inf), "nanmin": _without_nan("nanmin", np.min, np.inf),
    "angle": _angle, "trace": _trace, "trapezoid": _area, "linalg.vecdot": _products_of_vectors, "insert": _inserted, "delete": _without,
}  # fmt: skip
