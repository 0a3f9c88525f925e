"""References of products: sums, over the indices that factors share, of products of entries."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np

# -- Arrays of scalars as lists of their entries in order ------------------------------------------


Array = np.ndarray
Matrix = np.ndarray


def over_batches(function: Callable[..., Any], shape: Callable[..., Any]) -> Callable[..., Any]:
    """Lift a function of matrices of scalars over leading axes.

    ``shape`` is the shape that it makes of those of its matrices, or a list of shapes where it has
    several results.
    """

    def reference(m: Any, *arrays: Any, **static: Any) -> Any:
        arrays = tuple(np.asarray(a, dtype=object) for a in arrays)
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
        alike = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
        shapes = shape(*(a.shape[-2:] for a in arrays), **static)
        several = isinstance(shapes, list)
        results = tuple(
            np.empty((*batch, *s), dtype=object) for s in (shapes if several else [shapes])
        )
        for place in np.ndindex(batch):
            found = function(m, *(a[place] for a in alike), **static)
            for result, part in zip(results, found if several else (found,), strict=True):
                result[place] = part
        return results if several else results[0]

    return reference


def entries(x: Any) -> list[Any]:
    """Return the scalars of an array; the index of the last axis changes fastest."""
    return np.asarray(x, dtype=object).ravel().tolist()


def array(values: Iterable[Any], shape: Sequence[int]) -> Array:
    """Make an array of scalars from its entries in order."""
    return np.fromiter(values, dtype=object).reshape(tuple(shape))


def number(value: Any) -> Array:
    """Make an array of no axes."""
    return array([value], ())


def pick(x: Any, places: Any) -> Array:
    """Return the entries of an array at places, which are numbers in the array's order."""
    return np.asarray(x, dtype=object).ravel()[np.ravel(places)].reshape(np.shape(places))


def which(axis: Any, ndim: int) -> list[int]:
    """Return the axes that are meant, counted from the first; None means all of them.

    A number has no axis except that of its one entry.
    """
    if axis is None:
        return list(range(ndim))
    named = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return [a + ndim if a < 0 else a for a in named] if ndim else []


def reduce_lines(x: Any, axis: Any, keepdims: bool, make: Callable[[list[Any]], Any]) -> Array:
    """One scalar made of the entries along some axes."""
    shape = np.shape(x)
    inside = sorted(which(axis, np.ndim(x)))
    others = [a for a in range(len(shape)) if a not in inside]
    lines = np.asarray(x, dtype=object).transpose([*others, *inside])
    lines = lines.reshape(math.prod(shape[a] for a in others), math.prod(shape[a] for a in inside))
    left = [1 if a in inside else n for a, n in enumerate(shape) if keepdims or a not in inside]
    return array([make(line) for line in lines.tolist()], left)


def replace_lines(x: Any, axis: int, change: Callable[[list[Any]], list[Any]]) -> Array:
    """Each line along an axis replaced by another, which may be shorter or longer."""
    lines = np.asarray(x, dtype=object).swapaxes(axis, -1)
    made = [
        change(line)
        for line in lines.reshape(math.prod(lines.shape[:-1]), lines.shape[-1]).tolist()
    ]
    length = len(made[0]) if made else lines.shape[-1]
    return array([v for line in made for v in line], (*lines.shape[:-1], length)).swapaxes(axis, -1)


def total(m: Any, values: Sequence[Any]) -> Any:
    """Return the sum of some scalars, added one after the other."""
    return reduce(operator.add, values) if values else m.zero


def product(m: Any, values: Sequence[Any]) -> Any:
    return reduce(operator.mul, values) if values else m.one


def inner(m: Any, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """Return the sum of products of scalars, pair by pair."""
    return total(m, [v * w for v, w in zip(x, y, strict=True)])


_MANY = 64  # products of entries from which whole matrices are multiplied


def _of_matrices(m: Any, x: Matrix, y: Matrix) -> Matrix:
    if len(x) * y.size >= _MANY and (found := m.of_matrices("product", x, y)) is not None:
        whole: Matrix = found[0]
        return whole
    columns = y.T.tolist()
    return array(
        [inner(m, row, column) for row in x.tolist() for column in columns], (len(x), len(columns))
    )


def matmul(m: Any, x: Any, y: Any) -> Any:
    """Multiply matrices; a vector before the @ is a row, one after it a column."""
    left, right = x if np.ndim(x) > 1 else x[None, :], y if np.ndim(y) > 1 else y[:, None]
    found = over_batches(_of_matrices, lambda x, y: (x[0], y[1]))(m, left, right)
    found = found if np.ndim(y) > 1 else found[..., 0]
    return found if np.ndim(x) > 1 else found[..., 0, :] if np.ndim(y) > 1 else found[..., 0]


# -- References of single functions that take more than a line -----------------------------------


def machine_epsilon(m: Any, x: Any) -> Array:
    digits = {"float64": 53, "float32": 24}[m.precision]
    return number(m.one / 2 ** (digits - 1))


def bernoulli_nll(m: Any, x: Any, y: Any) -> Array:
    """Compute the loss by its definition, and very near 0 and 1 as PyTorch does.

    There, the value is a constant, and the slope is the one that PyTorch chooses. PyTorch's bounds
    are -100 for a logarithm, and 1e-12, in float32, for the denominator of a slope.
    """
    narrowest = m.m.mpf(9223372) / 2**63  # 1e-12 rounded to float32

    def held_log(p: Any) -> Any:
        return m.log(p) if p > m.m.exp(-100) else -100

    def entry(p: Any, t: Any) -> Any:
        at = m.plain(p)
        if not 0 <= at <= 1 or at * (1 - at) >= narrowest:
            return -(t * m.log(p) + (1 - t) * m.log(1 - p))
        return -(t * held_log(at) + (1 - t) * held_log(1 - at)) + (at - m.plain(t)) / narrowest * (
            p - at
        )

    return array([entry(p, t) for p, t in zip(entries(x), entries(y), strict=True)], np.shape(x))


def polygamma(m: Any, x: Any, n: int) -> Any:
    """Compute the n-th derivative of digamma.

    Far to the left it is computed by reflection (DLMF 5.15.6), because mpmath counts every pole on
    the way.
    """
    if not n or x > -50 or not m.isfinite(x):
        return m.psi(n, x)
    if x == m.nint(x):
        return m.psi(n, -1)
    slopes = {
        1: 1
        # The n-th derivative of the cotangent c as a polynomial in c, by its powers: (c**k)' =
        # -k*c**(k - 1) - k*c**(k + 1).
    }
    for _ in range(n):
        before = slopes
        slopes = {}
        for power, factor in before.items():
            for to in (power - 1, power + 1):
                slopes[to] = slopes.get(to, 0) - power * factor
    cotangent = m.cot(m.pi * (x - m.nint(x)))
    turned = sum((factor * cotangent**power for power, factor in slopes.items()), m.zero)
    return (-1) ** n * m.psi(n, 1 - x) - m.pi ** (n + 1) * turned


# -- Operations that move entries: which entry stands where --------------------------------------


def same(m: Any, x: Any, **_: Any) -> Any:
    return x


def reshape(m: Any, x: Any, shape: Any) -> Array:
    return np.asarray(x, dtype=object).reshape(shape)


def broadcast_to(m: Any, x: Any, shape: Any) -> Array:
    return np.broadcast_to(np.asarray(x, dtype=object), tuple(shape))


def transpose(m: Any, x: Any, axes: Any) -> Array:
    return np.asarray(x, dtype=object).transpose(axes)


def concatenate(m: Any, *arrays: Any, axis: int) -> Array:
    """Join arrays along an axis, in their order."""
    lined = [np.moveaxis(np.asarray(x, object), axis, 0) for x in arrays]
    joined = array(
        [v for x in lined for v in entries(x)], [sum(map(len, lined)), *lined[0].shape[1:]]
    )
    return np.moveaxis(joined, 0, axis)


def _numbers(shape: Sequence[int], index: Sequence[Any]) -> Any:
    """Return the numbers of the entries of x[index] among those of x.

    NumPy defines what an index means.
    """
    numbers = np.arange(math.prod(shape)).reshape(tuple(shape))
    return numbers[
        tuple(
            slice(*part) if isinstance(part, tuple) else getattr(part, "array", part)
            for part in index
        )
    ]


def _sums(m: Any, places: Any, values: Any, shape: Sequence[int]) -> Array:
    """Zeros of a shape with values added at the numbers of their places."""
    sums: dict[int, Any] = {}
    for place, value in zip(
        np.ravel(places).tolist(), entries(broadcast_to(m, values, np.shape(places))), strict=True
    ):
        sums[place] = sums[place] + value if place in sums else value
    return array([sums.get(place, m.zero) for place in range(math.prod(shape))], shape)


def getitem(m: Any, x: Any, index: Any) -> Array:
    return pick(x, _numbers(np.shape(x), index))


def scatter_add(m: Any, x: Any, index: Any, shape: Any) -> Array:
    return _sums(m, _numbers(shape, index), x, shape)


def _columns(index: Any, shape: Sequence[int], axis: int) -> Any:
    """Return where in an array of a shape the entry of each index along an axis stands."""
    if not shape:
        return np.asarray(index, int) * 0
    cut = [(None if a == axis % len(shape) else n,) for a, n in enumerate(np.shape(index))]
    return np.take_along_axis(_numbers(shape, cut), np.asarray(index, int), axis)


def take_along(m: Any, x: Any, index: Any, axis: int) -> Array:
    return pick(x, _columns(index, np.shape(x), axis))


def add_along(m: Any, x: Any, index: Any, axis: int, shape: Any) -> Array:
    return _sums(m, _columns(index, shape, axis), x, shape)


# -- Reductions: what one scalar is made of many, line by line -----------------------------------


def by_rows(make: Callable[[Any, list[Any]], Any]) -> Callable[..., Array]:
    """Return the reference of a reduction, by what it makes of the scalars of a row."""
    return lambda m, x, axis, keepdims: reduce_lines(x, axis, keepdims, lambda row: make(m, row))


sum_, prod = by_rows(total), by_rows(product)
max_, min_ = by_rows(lambda m, row: m.extreme("max", row)), by_rows(lambda m, row: m.extreme("min", row))


def first_largest(m: Any, row: list[Any]) -> int:
    """Return the index of the first NaN, or of the first largest entry if there is no NaN."""
    values = [m.plain(v) for v in row]
    best = 0
    for i, value in enumerate(values):
        if value != value:
            return i
        if value > values[best]:
            best = i
    m.tied("argmax", [v for v, value in zip(row, values, strict=True) if value == values[best]])
    return best


argmax = by_rows(first_largest)


def order(m: Any, row: list[Any], descending: bool = False) -> list[int]:
    """Return the indices of entries in order.

    Equal entries keep their order. NaN is larger than any number.
    """
    values = [m.plain(v) for v in row]
    numbers = [i for i, v in enumerate(values) if v == v]
    others = [i for i, v in enumerate(values) if v != v]
    numbers.sort(key=lambda i: -values[i] if descending else values[i])
    for _, alike in groupby(numbers, key=values.__getitem__):
        m.tied("argsort", [row[i] for i in alike])
    return others + numbers if descending else numbers + others


def argsort(m: Any, x: Any, axis: int | None, descending: bool) -> Array:
    if axis is None:
        return array(order(m, entries(x), descending), [np.size(x)])
    if not np.ndim(x):
        return number(0)
    return replace_lines(x, axis, lambda row: order(m, row, descending))


def running_best(m: Any, row: list[Any]) -> list[int]:
    """Return the index of the last largest entry so far, for each entry.

    From a NaN on, it is the index of the last NaN.
    """
    found: list[int] = []
    values = [m.plain(v) for v in row]
    for i, value in enumerate(values):
        best = values[found[-1]] if found else value
        better = value != value or (best == best and value >= best)
        if found and value == best:
            m.tied("argcummax", [row[found[-1]], row[i]])
        found.append(i if better or not found else found[-1])
    return found


def argcummax(m: Any, x: Any, axis: int) -> Array:
    return replace_lines(x, axis, lambda row: running_best(m, row)) if np.ndim(x) else number(0)


def logarithm_of_sum(m: Any, row: list[Any]) -> Any:
    """log(sum(exp(v))), the largest taken out where that may overflow."""
    if not m.overflows:
        return m.log(total(m, [m.exp(v) for v in row]))
    rest = list(row)
    values = [m.plain(v) for v in rest]
    top = rest.pop(values.index(max(values)))
    return top + m.log1p(total(m, [m.exp(v - top) for v in rest]))


logsumexp = by_rows(logarithm_of_sum)


def median_from_below(m: Any, x: Any, ignore_nan: bool) -> Array:
    """Return the lower one of the middle entries among those that are numbers.

    The result is NaN if no entry is a number, or if one is NaN and NaN is not ignored.
    """
    numbers = sorted((v for v in entries(x) if m.plain(v) == m.plain(v)), key=m.plain)
    if not numbers or not (ignore_nan or len(numbers) == np.size(x)):
        return number(m.nan)
    middle = numbers[(len(numbers) - 1) // 2]
    m.tied("lower_median", [v for v in numbers if m.plain(v) == m.plain(middle)])
    return number(middle)
