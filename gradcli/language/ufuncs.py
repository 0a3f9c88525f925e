"""Methods of NumPy's functions of two arrays: ``np.add.reduce(x, axis=1)``, ``.accumulate``, ``.outer``, ``.reduceat``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language import calls
from gradcli.language.names import Function
from gradcli.language.scope import Builder, Routine
from gradcli.ops import registry
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import getitem, reshape, stack
from gradcli.ops.axes import folds
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import JAX, NUMPY
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.reductions.cumulative import cumprod, cumsum
from gradcli.ops.writing import one_axis

METHODS = ("reduce", "accumulate", "outer", "reduceat", "at")
_MOST = 4_096  # entries along an axis that are folded one by one


def is_ufunc(function: Function) -> bool:
    """Return whether a function has methods of its own: NumPy knows."""
    return function.base is None and function.library in (NUMPY, JAX) and _ufunc(function) is not None


def _ufunc(function: Function) -> np.ufunc | None:
    found = getattr(np, function.name, None)
    return found if isinstance(found, np.ufunc) and (found.nin, found.nout) == (2, 1) else None


def _reduction(function: Function) -> str | None:
    """The name of the reduction that puts entries together by a function."""
    found = lookup(function.name, function.library)
    joins = registry.named(found.target).name if found is not None else ""
    return next((record.name for record in registry.registry().values() if joins and folds(record) == joins), None)


def method(function: Function, name: str) -> Routine:
    """``np.add.reduce`` and its kin. Raises UnknownNameError for other names, TypeMismatchError for ``at``, which stores."""
    if name == "at":
        raise TypeMismatchError("the language has no stores: a value stays as it is", help="write y = x.at[0].add(1) for a new one")
    if name not in METHODS:
        raise UnknownNameError(f"'{function.name}' has no attribute '{name}'", help="it has reduce, accumulate, outer and reduceat")
    written = f"{function.name}.{name}"
    if name == "outer":
        return Routine(written, "a, b", _outer(function))
    if name == "reduce":
        return Routine(written, "array|x, axis, -dtype, -out, keepdims, initial, where", _reduce(function))
    if name == "accumulate":
        return Routine(written, "array|x, axis, -dtype, -out", _accumulate(function))
    return Routine(written, "array|x, indices, axis, -dtype, -out", _reduce_at(function))


def _called(builder: Builder, name: str, library: str, *arguments: Any, **keywords: Any) -> Any:
    return calls.result_of(calls.call(builder, name, library, list(arguments), keywords))


def _outer(function: Function) -> Callable[..., Any]:
    def outer(builder: Builder, a: Expr, b: Expr) -> Any:
        return _called(builder, function.name, function.library, reshape(a, shape=(*a.shape, *(1,) * b.ndim)), b)

    return outer


def _reduce(function: Function) -> Callable[..., Any]:
    """Along the first axis, if no other is given."""

    def reduce(builder: Builder, array: Expr, axis: Any = 0, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
        given = {key: value for key, value in (("initial", initial), ("where", where)) if value is not None}
        reduction = _reduction(function)
        if reduction is not None:
            return _called(builder, reduction, NUMPY, array, axis=axis, keepdims=keepdims, **given)
        if given:
            raise ArgumentError(f"{function.name}.reduce does not support {next(iter(given))}", help="leave it out")
        return _folded(builder, function, array, axis, keepdims)

    return reduce


def _folded(builder: Builder, function: Function, node: Expr, axis: Any, keepdims: Any) -> Any:
    if axis is None:
        ufunc = _ufunc(function)
        if node.ndim > 1 and (ufunc is None or ufunc.identity is None):
            raise ArgumentError(f"{function.name}.reduce takes one axis: its result depends on the order", help="write axis=0")
        axis, node = 0, reshape(node, shape=(-1,))
    place = _place(builder, node, axis)
    kept = builder.static(keepdims, "a flag")
    result = _running(builder, function, node, place)[-1]
    return reshape(result, shape=tuple(1 if a == place else n for a, n in enumerate(node.shape))) if kept else result


def _place(builder: Builder, node: Expr, axis: Any) -> int:
    if not node.ndim:
        raise ShapeError("a number has no axis to go along")
    place: int = one_axis(builder.integer(axis, "an axis"), node.ndim)
    return place


def _running(builder: Builder, function: Function, node: Expr, place: int) -> list[Expr]:
    """The results so far, entry by entry along an axis."""
    n = node.shape[place]
    if not 0 < n <= _MOST:
        raise ShapeError(f"{function.name} goes along 1 to {_MOST:,} entries here, not {n}")
    lead = ((None, None, None),) * place
    rows = [getitem(node, index=(*lead, i)) for i in range(n)]
    results = rows[:1]
    for row in rows[1:]:
        results.append(_called(builder, function.name, function.library, results[-1], row))
    return results


def _accumulate(function: Function) -> Callable[..., Any]:
    def accumulate(builder: Builder, array: Expr, axis: Any = 0) -> Any:
        place = _place(builder, array, axis)
        found = lookup(function.name, function.library)
        record = None if found is None else registry.named(found.target)
        if record is arithmetic.add or record is arithmetic.mul:
            return (cumsum if record is arithmetic.add else cumprod)(array, axis=place)
        return stack(*_running(builder, function, array, place), axis=place)

    return accumulate


def _reduce_at(function: Function) -> Callable[..., Any]:
    def reduceat(builder: Builder, array: Expr, indices: Expr, axis: Any = 0) -> Any:
        """From each index up to the next, if that is larger; else the one entry."""
        place = _place(builder, array, axis)
        length = array.shape[place]
        bounds = np.asarray(builder.static(indices)).reshape(-1)
        if bounds.dtype.kind not in "iu" or not bounds.size:
            raise ArgumentError("reduceat takes whole numbers as indices")
        if np.any((bounds < 0) | (bounds >= length)):
            raise ShapeError(f"an index is out of bounds for {length} entries")
        lead, reduce, parts = ((None, None, None),) * place, _reduce(function), []
        for first, last in zip(bounds.tolist(), [*bounds[1:].tolist(), length], strict=True):
            stop = last if last > first else first + 1
            parts.append(reduce(builder, getitem(array, index=(*lead, (first, stop, None))), place, keepdims=True))
        return concatenate(*parts, axis=place)

    return reduceat
