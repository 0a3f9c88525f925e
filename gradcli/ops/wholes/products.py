"""Products of matrices and tensors in long double; large ones by BLAS, on slices of the factors whose products are exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, Function

# -- Products of matrices, each the sum of two arrays of doubles, by BLAS: the largest parts of
# their entries without an error.


_LOST = 2.0**9  # by how much a term of the second slices must be above the units of doubles, to count in those of long doubles
_RANGE = 300  # of exponents within which no product of slices is lost beneath the normal numbers, nor too large

Doubles = tuple[np.ndarray, np.ndarray]  # of which the entries are the sums


class Slices(NamedTuple):
    """Doubles that add up to entries: the first of so few bits that sums of products of these are exact.

    largest  no less than the entries of a line are
    bits     of the first
    """

    first: np.ndarray
    rest: np.ndarray
    whole: np.ndarray
    largest: np.ndarray
    bits: int


def in_slices(x: Doubles, y: Doubles) -> Doubles | None:
    """A product by slices of which the first are multiplied without an error in doubles (K. Ozaki and others, 2012); BLAS does all.

    What the others are rounded by is a unit of the smaller ones, which is less than long doubles' own of all terms of a sum, unless a
    few entries are far above the others: what these leave too little of is added up by itself, or nothing is, and the result is None.
    """
    left, right = _sliced(*x, -1), _sliced(*y, -2)
    if left is None or right is None:
        return None
    sizes = np.abs(left.whole), np.abs(right.whole)
    terms = np.matmul(*sizes)
    above = sizes[0].sum(axis=-1, keepdims=True) * right.largest + left.largest * sizes[1].sum(axis=-2, keepdims=True)
    lost = terms * 2.0**left.bits < _LOST * above
    if lost.any() and (lost.mean() > 0.1 or terms.ndim > 2):
        return None
    total = np.matmul(left.first, right.first)
    rest = np.matmul(left.first, right.rest) + np.matmul(left.rest, right.whole)
    found = total + rest
    back = found - total
    low = (total - (found - back)) + (rest - back)
    if lost.any():
        _one_by_one(x, y, lost, found, low)
    return found, low


def _one_by_one(x: Doubles, y: Doubles, lost: np.ndarray, high: np.ndarray, low: np.ndarray) -> None:
    """Put some entries of a product right, in long double."""
    rows, columns = np.nonzero(lost)
    for start in range(0, len(rows), 1000):
        i, j = rows[start : start + 1000], columns[start : start + 1000]
        terms = (x[0][i].astype(LONG_DOUBLE) + x[1][i]) * (y[0][:, j].astype(LONG_DOUBLE) + y[1][:, j]).T
        total = terms.sum(axis=-1)
        high[i, j] = total.astype(np.float64)
        low[i, j] = (total - high[i, j]).astype(np.float64)


def _sliced(whole: np.ndarray, low: np.ndarray, axis: int) -> Slices | None:
    """The entries of lines that are added up; None where doubles do not hold their products."""
    size = np.abs(whole)
    largest = size.max(axis=axis, keepdims=True)
    top, least = largest.max(initial=0), size.min(initial=np.inf, where=size > 0)
    if not top < 2.0**_RANGE or not least > 2.0**-_RANGE:
        return None
    n = whole.shape[axis]
    bits = (53 - math.ceil(math.log2(n))) // 2 if n > 1 else 26
    largest = np.ldexp(1.0, np.frexp(largest)[1])
    # added to numbers so large, others leave what is no smaller than their last bit
    shift = largest * (1.5 * 2.0 ** (52 - bits))
    first = whole + shift
    first -= shift
    return Slices(first, whole - first + low, whole, largest, bits)


_PAIRED = 4  # multiplications in long double that take as long as to take an entry apart, or to put a result together


def product(x: Any, y: Any) -> Any:
    """x @ y of matrices, batch axes before them, as well as long doubles have it: off by no more than sums of products are."""
    if x.dtype == y.dtype == np.float64:
        return np.matmul(x, y)
    (m, n), p = x.shape[-2:], y.shape[-1]
    if m * n * p > _PAIRED * (m * n + n * p + m * p):
        found = in_slices(_doubles(x), _doubles(y))
        if found is not None:
            total = found[0].astype(LONG_DOUBLE)
            total += found[1]
            return total
    return np.matmul(x, y)


def _doubles(x: Any) -> Doubles:
    high = x.astype(np.float64)
    return high, (x - high).astype(np.float64)


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _as_matrices(x: Any, y: Any) -> tuple[Any, Any]:
    """A vector before the @ is a row, one behind it a column."""
    return (x if x.ndim > 1 else x[None, :]), (y if y.ndim > 1 else y[:, None])


def _matmul(x: Any, y: Any) -> Any:
    found = product(*_as_matrices(x, y))
    found = found if y.ndim > 1 else found[..., 0]
    return found if x.ndim > 1 else found[..., 0, :] if y.ndim > 1 else found[..., 0]


def _matmul_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    rows, columns = _as_matrices(x, y)
    c = c if y.ndim > 1 else c[..., None]
    c = c if x.ndim > 1 else c[..., None, :]
    by_x, by_y = product(c, turned(columns)), product(turned(rows), c)
    return by_x if x.ndim > 1 else by_x[..., 0, :], by_y if y.ndim > 1 else by_y[..., 0]


def _flowing(back: Function) -> Function:
    """Return where something flows, at all: to what is multiplied by anything."""

    def flows(live: Any, out: Any, *operands: Any, **static: Any) -> Any:
        live = np.asarray(live, np.float64)
        ones = [np.broadcast_to(1.0, np.shape(x)) for x in operands]
        if np.all(live):
            return ones
        return back(live, out, *ones, **static)

    return flows


MATMUL = Formulas(_matmul, _matmul_back, _flowing(_matmul_back))


def _letters(subscripts: str, arrays: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
    """The axes of each operand and of the result by names: letters, and numbers from the right for those of the dots."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms, most = [], 0
    for term, array in zip(left.split(","), arrays, strict=True):
        first, dots, last = term.partition("...")
        free = np.ndim(array) - len(first) - len(last)
        terms.append([*first, *range(-free if dots else 0, 0), *last])
        most = max(most, free if dots else 0)
    dotted = list(range(-most, 0))
    if arrow:
        first, dots, last = right.partition("...")
        return terms, [*first, *(dotted if dots else ()), *last]
    every = [name for term in terms for name in term]
    return terms, [*dotted, *sorted(name for name in set(every) if isinstance(name, str) and every.count(name) == 1)]


def _summed(terms: list[list[Any]], arrays: Sequence[Any], result: list[Any]) -> Any:
    """The sum of products; of two factors, by a product of matrices where axes are added up."""
    if len(arrays) > 2:
        return _two_at_a_time(terms, arrays, result)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for term in terms for name in term))}
    if len(arrays) == 1 or any(len(set(t)) < len(t) or 1 in a.shape for t, a in zip(terms, arrays, strict=True)):
        operands = [part for term, a in zip(terms, arrays, strict=True) for part in (a, [numbers[name] for name in term])]
        return np.einsum(*operands, [numbers[name] for name in result])
    (s, t), (x, y) = terms, arrays
    shared = [name for name in s if name in t and name in result]
    over = [name for name in s if name in t and name not in result]
    own = [[name for name in term if name not in other and name in result] for term, other in ((s, t), (t, s))]
    x, s = _without(x, s, {*shared, *over, *own[0]})
    y, t = _without(y, t, {*shared, *over, *own[1]})
    extents = {**dict(zip(s, x.shape, strict=True)), **dict(zip(t, y.shape, strict=True))}
    batch, n = [extents[name] for name in shared], math.prod(extents[name] for name in over)
    left = np.transpose(x, [s.index(name) for name in (*shared, *own[0], *over)]).reshape(*batch, -1, n)
    right = np.transpose(y, [t.index(name) for name in (*shared, *over, *own[1])]).reshape(*batch, n, -1)
    order = [*shared, *own[0], *own[1]]
    found = product(left, right).reshape([extents[name] for name in order])
    return np.transpose(found, [order.index(name) for name in result])


def _two_at_a_time(terms: list[list[Any]], arrays: Sequence[Any], result: list[Any]) -> Any:
    """Those first whose product is smallest, keeping the axes that are wanted yet."""
    extents = {name: n for term, a in zip(terms, arrays, strict=True) for name, n in zip(term, a.shape, strict=True) if n != 1}
    best = None
    for i, j in itertools.combinations(range(len(terms)), 2):
        wanted = {name for k, term in enumerate(terms) if k not in (i, j) for name in term} | set(result)
        kept = [name for name in dict.fromkeys(terms[i] + terms[j]) if name in wanted]
        size = math.prod(extents.get(name, 1) for name in kept)
        if best is None or size < best[0]:
            best = size, i, j, kept
    assert best is not None
    _, i, j, kept = best
    rest = [k for k in range(len(terms)) if k not in (i, j)]
    product_of_two = _summed([terms[i], terms[j]], [arrays[i], arrays[j]], kept)
    return _summed([kept, *(terms[k] for k in rest)], [product_of_two, *(arrays[k] for k in rest)], result)


def _without(x: Any, names: list[Any], kept: set[Any]) -> tuple[Any, list[Any]]:
    """Added up over the axes that only this factor has."""
    gone = tuple(i for i, name in enumerate(names) if name not in kept)
    return (x.sum(axis=gone) if gone else x), [name for name in names if name in kept]


def _einsum(*arrays: Any, subscripts: str) -> Any:
    terms, result = _letters(subscripts, arrays)
    return _summed(terms, [np.asarray(a) for a in arrays], result)


def _einsum_back(c: Any, out: Any, *arrays: Any, subscripts: str) -> list[Any]:
    """The cotangent in the place of the operand; what only this one has was added up, and what it repeats is read on a diagonal."""
    terms, result = _letters(subscripts, arrays)
    found = []
    for i, (term, x) in enumerate(zip(terms, arrays, strict=True)):
        others = [(t, np.asarray(a)) for j, (t, a) in enumerate(zip(terms, arrays, strict=True)) if j != i]
        own = list(dict.fromkeys(term))
        reached = [name for name in own if name in result or any(name in t for t, _ in others)]
        part = _summed([result, *(t for t, _ in others)], [c, *(a for _, a in others)], reached)
        extents = dict(zip(reached, part.shape, strict=True))
        part = part.reshape([extents.get(name, 1) for name in own])
        for axis, name in enumerate(own):  # an extent of 1 was repeated
            if x.shape[term.index(name)] == 1 and part.shape[axis] != 1:
                part = part.sum(axis=axis, keepdims=True)
        full = np.zeros(x.shape, part.dtype)
        grid = np.indices(x.shape, sparse=True)
        diagonal = np.ones((), bool)
        for axis, name in enumerate(term):
            diagonal = diagonal & (grid[axis] == grid[term.index(name)])
        spread = part.reshape([part.shape[own.index(name)] if term.index(name) == axis else 1 for axis, name in enumerate(term)])
        found.append(np.where(diagonal, spread, full))
    return found


EINSUM = Formulas(_einsum, _einsum_back, _flowing(_einsum_back))
