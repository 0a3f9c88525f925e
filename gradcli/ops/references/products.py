"""References of products: sums, over the indices that factors share, of products of entries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradcli.ops.references.scalar_algorithms import Matrix, over_batches

# -- Arrays of scalars as lists of their entries in order --------------------------------------------


Array = np.ndarray


def entries(x: Any) -> list[Any]:
    """The scalars of an array, the last axis first."""
    found: list[Any] = np.asarray(x, dtype=object).ravel().tolist()
    return found


def array(values: Iterable[Any], shape: Sequence[int]) -> Array:
    """An array of scalars from its entries in order."""
    return np.fromiter(values, dtype=object).reshape(tuple(shape))


def number(value: Any) -> Array:
    """An array of no axes."""
    return array([value], ())


def whole(x: Any) -> list[int]:
    """The entries of an array of indices."""
    return [int(v) for v in entries(x)]


def size_of(shape: Iterable[int]) -> int:
    total = 1
    for n in shape:
        total = total * n
    return total


def picked(x: Any, places: Iterable[int], shape: Sequence[int]) -> Array:
    """The entries at places, in another shape."""
    flat = entries(x)
    return array([flat[place] for place in places], shape)


def which(axis: Any, ndim: int) -> list[int]:
    """The axes that are meant, counted from the first; all of them by None. A number has no axis but that of its one entry."""
    if axis is None:
        return list(range(ndim))
    named = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return [a + ndim if a < 0 else a for a in named] if ndim else []


def rows(x: Any, axis: Any) -> tuple[list[list[Any]], list[int]]:
    """The entries along some axes, one list for each place on the others, and the order of axes in which these stand, the others first."""
    inside = sorted(which(axis, np.ndim(x)))
    kept = [a for a in range(np.ndim(x)) if a not in inside]
    moved = np.asarray(x, dtype=object).transpose([*kept, *inside])
    return moved.reshape(size_of(moved.shape[: len(kept)]), size_of(moved.shape[len(kept) :])).tolist(), [*kept, *inside]


def reduced(x: Any, axis: Any, keepdims: bool, make: Callable[[list[Any]], Any]) -> Array:
    """One scalar made of the entries along some axes."""
    lists, _ = rows(x, axis)
    inside = which(axis, np.ndim(x))
    shape = [1 if a in inside else n for a, n in enumerate(np.shape(x)) if keepdims or a not in inside]
    return array([make(row) for row in lists], shape)


def lined(x: Any, axis: Any, change: Callable[[list[Any]], list[Any]]) -> Array:
    """Each line along axes replaced by another, which may be shorter or longer where there is one axis."""
    lists, order = rows(x, axis)
    made = [change(row) for row in lists]
    shape = [np.shape(x)[a] for a in order]
    if len(which(axis, np.ndim(x))) == 1:
        shape[-1] = len(made[0]) if made else len(change([]))
    return array([v for row in made for v in row], shape).transpose([order.index(a) for a in range(len(order))])


def total(m: Any, values: Sequence[Any]) -> Any:
    """The sum of some scalars, one after the other."""
    return reduce(operator.add, values) if values else m.zero


def product(m: Any, values: Sequence[Any]) -> Any:
    return reduce(operator.mul, values) if values else m.one


def inner(m: Any, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """The sum of products of scalars, pair by pair."""
    return total(m, [v * w for v, w in zip(x, y, strict=True)])


def spread(x: Any, shape: Sequence[int]) -> list[Any]:
    """The entries of an array repeated to a shape, in order."""
    return entries(np.broadcast_arrays(np.asarray(x, object), np.empty(tuple(shape)))[0])


_MANY = 64  # products of entries from which on they are summed by products of whole matrices


def _of_matrices(m: Any, x: Matrix, y: Matrix) -> Matrix:
    if len(x) * y.size >= _MANY and (found := m.of_matrices("product", x, y)) is not None:
        whole: Matrix = found[0]
        return whole
    columns = y.T.tolist()
    return array([inner(m, row, column) for row in x.tolist() for column in columns], (len(x), len(columns)))


def matmul(m: Any, x: Any, y: Any) -> Any:
    """A vector before the @ is a row, one behind it a column."""
    left, right = x if np.ndim(x) > 1 else x[None, :], y if np.ndim(y) > 1 else y[:, None]
    found = over_batches(_of_matrices, lambda x, y: (x[0], y[1]))(m, left, right)
    found = found if np.ndim(y) > 1 else found[..., 0]
    return found if np.ndim(x) > 1 else found[..., 0, :] if np.ndim(y) > 1 else found[..., 0]


# -- References of single functions that take more than a line -------------------------------------


def machine_epsilon(m: Any, x: Any) -> Array:
    digits = {"float64": 53, "float32": 24}[m.precision]
    return number(m.one / 2 ** (digits - 1))


def bernoulli_nll(m: Any, x: Any, y: Any) -> Array:
    """The definition; very near 0 and 1 its value as a constant, and the slope that PyTorch chooses.

    PyTorch's bounds are -100 of a logarithm, and 1e-12, in float32, of the denominator of a slope.
    """
    narrowest = m.m.mpf(9223372) / 2**63  # 1e-12 to the 24 bits of a float32

    def held_log(p: Any) -> Any:
        return m.log(p) if m.plain(p) < 0 or m.plain(p) > m.m.exp(-100) else m.one * -100

    def definition(p: Any, t: Any) -> Any:
        return -(t * held_log(p) + (1 - t) * held_log(1 - p))

    def entry(p: Any, t: Any) -> Any:
        at = m.plain(p)
        if not 0 <= at <= 1 or at * (1 - at) >= narrowest:
            return definition(p, t)
        return definition(at, t) + (at - m.plain(t)) / narrowest * (p - at)

    return array([entry(p, t) for p, t in zip(entries(x), entries(y), strict=True)], np.shape(x))


def polygamma(m: Any, x: Any, n: int) -> Any:
    """The n-th derivative of digamma. Far to the left by reflection (DLMF 5.15.6), as mpmath counts every pole on the way."""
    if not n or x > -50 or not m.isfinite(x):
        return m.psi(n, x)
    if x == m.nint(x):
        return m.psi(n, -1)
    slopes = {1: 1}  # of the cotangent as a polynomial in it, by its powers: (c**k)' = -k*c**(k - 1) - k*c**(k + 1)
    for _ in range(n):
        before, slopes = slopes, {}
        for power, factor in before.items():
            for to in (power - 1, power + 1):
                slopes[to] = slopes.get(to, 0) - power * factor
    cotangent = m.cot(m.pi * (x - m.nint(x)))
    turned = sum((factor * cotangent**power for power, factor in slopes.items()), m.zero)
    return (-1) ** n * m.psi(n, 1 - x) - m.pi ** (n + 1) * turned
