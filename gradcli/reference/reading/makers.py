"""Functions that are no operations: arrays of a shape, of evenly spaced numbers, of given entries; einsum; conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.reading.arrays import Arrays, as_object, kind
from gradcli.reference.reading.libraries import DType
from gradcli.reference.scalars import plain

Array = np.ndarray
_WORDS = {"float": "float64", "float64": "float64", "double": "float64", "float32": "float32", "int": "int", "bool": "bool"}


class Maker(Protocol):
    """Who makes arrays, and applies operations to them."""

    arrays: Arrays

    def operation(self, name: str, *operands: Any, **static: Any) -> Any: ...


def _shape(of: Maker, shape: Any) -> tuple[int, ...]:
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    if len(parts) == 1 and isinstance(parts[0], (tuple, list)):
        parts = parts[0]
    return tuple(of.arrays.whole(list(parts)).ravel().tolist()) if len(parts) else ()


def typed(of: Maker, array: Array, dtype: Any) -> Array:
    """Entries that a dtype leaves as they are. Raises `Unsupported` for one that would change them."""
    if dtype is None:
        return array
    name = dtype.name if isinstance(dtype, DType) else _WORDS.get(getattr(dtype, "name", dtype), "")
    if name == of.arrays.precision and kind(array) == "float":
        return array
    if name == "bool" and kind(array) == "bool":
        return array
    if name == "int" and kind(array) != "bool" and all(plain(v) == int(plain(v)) for v in array.flat):
        return array
    raise Unsupported("a dtype that changes entries")


def _filled(of: Maker, value: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    entry = of.arrays.of(value)
    return typed(of, np.array(np.broadcast_to(entry, shape), dtype=object), dtype)


def zeros(of: Maker, shape: Any = (), dtype: Any = None) -> Array:
    return _filled(of, 0.0, _shape(of, shape), dtype)


def ones(of: Maker, shape: Any = (), dtype: Any = None) -> Array:
    return _filled(of, 1.0, _shape(of, shape), dtype)


def full(of: Maker, shape: Any, value: Any, dtype: Any = None) -> Array:
    return _filled(of, value, _shape(of, shape), dtype)


def zeros_like(of: Maker, x: Any, dtype: Any = None) -> Array:
    return _filled(of, 0.0, of.arrays.of(x).shape, dtype)


def ones_like(of: Maker, x: Any, dtype: Any = None) -> Array:
    return _filled(of, 1.0, of.arrays.of(x).shape, dtype)


def full_like(of: Maker, x: Any, value: Any, dtype: Any = None) -> Array:
    return _filled(of, value, of.arrays.of(x).shape, dtype)


def eye(of: Maker, n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Array:
    rows = of.arrays.integer(n)
    columns, place = rows if m is None else of.arrays.integer(m), of.arrays.integer(k)
    entries = [[1.0 if j - i == place else 0.0 for j in range(columns)] for i in range(rows)]
    return typed(of, of.arrays.numbers(np.array(entries).reshape(rows, columns)), dtype)


def identity(of: Maker, n: Any, dtype: Any = None) -> Array:
    return eye(of, n, dtype=dtype)


def array(of: Maker, x: Any, dtype: Any = None) -> Array:
    return typed(of, of.arrays.of(list(x) if isinstance(x, tuple) else x), dtype)


def arange(of: Maker, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    if stop is None or isinstance(stop, DType) or getattr(stop, "name", None) in _WORDS:
        dtype, start, stop = stop if dtype is None else dtype, 0, start
    step = 1 if step is None else step
    first, last, by = (of.arrays.static(part) for part in (start, stop, step))
    if not (of.arrays.varies(start) or of.arrays.varies(step)):
        return typed(of, of.arrays.numbers(np.asarray(np.arange(first, last, by), dtype=float)), dtype)
    count = max(0, math.ceil((last - first) / by))
    begin, along = of.arrays.of(start), of.arrays.of(step)
    return typed(of, np.array([begin[()] + i * along[()] for i in range(count)], dtype=object), dtype)


def linspace(
    of: Maker, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: Any = 0
) -> Any:  # fmt: skip
    if retstep is not False or axis not in (0, None):
        raise Unsupported("linspace with its step, or along another axis")
    return typed(of, _spaced(of, start, stop, num, endpoint, np.linspace), dtype)


def logspace(
    of: Maker, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:  # fmt: skip
    if axis not in (0, None) or type(base) not in (int, float):
        raise Unsupported("logspace along another axis, or of a base that varies")
    if of.arrays.varies(start) or of.arrays.varies(stop):
        return typed(of, of.operation("pow", base, _spaced(of, start, stop, num, endpoint, np.linspace)), dtype)
    return typed(of, _spaced(of, start, stop, num, endpoint, partial(np.logspace, base=base)), dtype)


def _spaced(of: Maker, start: Any, stop: Any, num: Any, endpoint: Any, fixed: Callable[..., Any]) -> Array:
    """So many numbers from start to stop; as NumPy has them where both are known beforehand."""
    count, ends = of.arrays.integer(num), bool(of.arrays.static(endpoint))
    if not (of.arrays.varies(start) or of.arrays.varies(stop)):
        first, last = (np.asarray(of.arrays.static(end), dtype=float)[()] for end in (start, stop))
        return of.arrays.numbers(fixed(first, last, count, endpoint=ends))
    first, last = np.broadcast_arrays(of.arrays.of(start), of.arrays.of(stop))
    parts = count - 1 if ends else count
    if parts <= 0:
        raise Unsupported("a line of one number")
    out = np.empty((count, *first.shape), dtype=object)
    for i in range(count):
        row = last if ends and i == parts else as_object(first + i * ((last - first) / parts))
        out[i] = row if row.ndim else row[()]
    return out


def einsum(of: Maker, arguments: Any) -> Array:
    first, *rest = arguments
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    if not isinstance(first, str):
        raise Unsupported("einsum with lists of labels")
    operands = list(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
    made: Array = of.operation("einsum", *operands, subscripts=first)
    return made


def item(of: Maker, x: Any) -> Array:
    found = of.arrays.of(x)
    if found.size != 1:
        raise Unsupported("item() of several entries")
    return found.reshape(())


def length(of: Maker, x: Any) -> int:
    if isinstance(x, (tuple, list)):
        return len(x)
    shape = of.arrays.of(x).shape
    if not shape:
        raise Unsupported("the length of a number")
    return int(shape[0])


def itself(of: Maker, x: Any) -> Array:
    return of.arrays.of(x)


def cho_factor(of: Maker, x: Any, lower: Any = False) -> Any:
    below, matrix = bool(of.arrays.static(lower)), of.arrays.of(x)
    factor = of.operation("cholesky", matrix, upper=not below)
    out = Algebra.map(lambda v: v, matrix)
    for i, j in np.ndindex(*matrix.shape) if matrix.ndim == 2 else ():
        if (j <= i) if below else (j >= i):
            out[i, j] = factor[i, j]
    if matrix.ndim != 2:
        raise Unsupported("several matrices to factor")
    return out, below


def cho_solve(of: Maker, c_and_lower: Any, y: Any) -> Array:
    factor, below = c_and_lower
    matrix = of.arrays.of(factor)
    keep = np.tril(np.ones(matrix.shape)) if of.arrays.static(below) else np.triu(np.ones(matrix.shape))
    zero = of.arrays.m.zero
    triangle = np.array(
        [[v if k else zero for v, k in zip(row, kept, strict=True)] for row, kept in zip(matrix, keep, strict=True)], object
    )
    lower = triangle if of.arrays.static(below) else triangle.T
    right = of.arrays.of(y)
    column = right.reshape(-1, 1) if right.ndim == 1 else right
    solved = of.operation("solve", as_object(lower.dot(lower.T)), column)
    return as_object(solved).reshape(right.shape)


MAKERS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (
        zeros, ones, full, zeros_like, ones_like, full_like, eye, identity, array, arange, linspace, logspace, einsum, item, cho_factor,
        cho_solve,
    )},
    "len": length, **dict.fromkeys(("contiguous", "double", "float"), itself),
}  # fmt: skip
