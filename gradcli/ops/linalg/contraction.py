"""Sums of products over axes that have names, made of products of matrices: einsum, tensordot and inner."""

from __future__ import annotations

import math
import string
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.reshaping import diagonal
from gradcli.ops.arrays.shapes import reshape, transpose
from gradcli.ops.linalg.products import matmul, outer, trace
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import Shape, axes_of, declare, function


def parse_subscripts(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with "..." spelled out in letters of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ShapeError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(shapes)} operands")
    spare = [chr(c) for c in range(0x3B1, 0x3B1 + 24)]
    most = max((len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True) if "..." in t), default=0)
    named = []
    for written, shape in zip(terms, shapes, strict=True):
        term = written.replace("...", "".join(spare[most - (len(shape) - len(written) + 3) : most]))
        if len(term) != len(shape) or not all(c.isalpha() for c in term):
            raise ShapeError(f"einsum: {term!r} does not name the {len(shape)} axes of an operand of shape {shape}")
        named.append(term)
    letters = "".join(named)
    if arrow:
        result = right.replace("...", "".join(spare[:most]))
    else:
        result = "".join(spare[:most]) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in spare[:most]))
    if len(set(result)) != len(result) or not set(result) <= set(letters):
        raise ShapeError(f"einsum: the result {result!r} of {subscripts!r} does not fit its operands")
    return named, result


def _extents(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            if extents.get(letter, 1) not in (1, n) and n != 1:
                raise ShapeError(f"einsum: the axes called {letter!r} have {extents[letter]} and {n} entries")
            extents[letter] = max(n, extents.get(letter, 1)) if n else 0
    return extents


class _Named(NamedTuple):
    """An array with the names of its axes."""

    array: Any
    letters: str


def _named(x: Any, term: str, extents: dict[str, int], elsewhere: str) -> _Named:
    """Each letter once: a repeated one reads a diagonal, and one entry along an axis goes with any number of them.

    A letter that stands twice here, and not elsewhere, is that of a trace.
    """
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            if x.shape[first] != x.shape[second]:
                raise ShapeError(f"einsum: the axes called {letter!r} have {x.shape[first]} and {x.shape[second]} entries")
            is_trace = term.count(letter) == 2 and letter not in elsewhere
            x = (trace if is_trace else diagonal)(x, axis1=first, axis2=second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter * (not is_trace)
    repeated = [letter for letter, n in zip(term, x.shape, strict=True) if n != extents[letter]]
    if not repeated:
        return _Named(x, term)
    kept = "".join(letter for letter in term if letter not in repeated)
    return _Named(reshape(x, shape=tuple(extents[letter] for letter in kept)), kept)


def _summed(x: _Named, wanted: Collection[str]) -> _Named:
    axes = tuple(i for i, letter in enumerate(x.letters) if letter not in wanted)
    if not axes:
        return x
    kept = "".join(letter for letter in x.letters if letter in wanted)
    return _Named(sum_(x.array, axis=axes if kept else None), kept)


def _arranged(x: _Named, letters: Iterable[str]) -> Any:
    order = tuple(x.letters.index(letter) for letter in letters)
    return x.array if order == tuple(range(len(order))) else transpose(x.array, axes=order)


def _in_shape(x: Any, shape: Shape) -> Any:
    return x if tuple(x.shape) == shape else reshape(x, shape=shape)


def _multiplied(x: _Named, y: _Named, wanted: Collection[str]) -> _Named:
    """The sum of products of entries over the letters that are not wanted: a product of matrices where both have some of them."""
    x, y = _summed(x, {*wanted, *y.letters}), _summed(y, {*wanted, *x.letters})
    extents = {**dict(zip(x.letters, x.array.shape, strict=True)), **dict(zip(y.letters, y.array.shape, strict=True))}
    both = [letter for letter in x.letters if letter in y.letters]
    batch, over = "".join(c for c in both if c in wanted), "".join(c for c in both if c not in wanted)
    rows, columns = "".join(c for c in x.letters if c not in both), "".join(c for c in y.letters if c not in both)

    def grouped(array: Any, *groups: str) -> Any:
        """The axes of each group as one, and none for rows or columns that there are not."""
        sizes = [math.prod(extents[c] for c in group) for group in groups if group or batch]
        return _in_shape(array, (*(extents[c] for c in batch), *sizes))

    letters = batch + rows + columns
    if over:
        left = grouped(_arranged(x, batch + rows + over), rows, over)
        right = grouped(_arranged(y, batch + over + columns), over, columns)
        return _Named(_in_shape(matmul(left, right), tuple(extents[c] for c in letters)), letters)
    if not batch and len(rows) == len(columns) == 1:
        return _Named(outer(x.array, y.array), letters)
    left, right = (
        _in_shape(_arranged(z, [c for c in letters if c in z.letters]), tuple(extents[c] if c in z.letters else 1 for c in letters))
        for z in (x, y)
    )
    return _Named(left * right, letters)


@function()
def einsum(*operands: Any, subscripts: str = "") -> Any:
    """Sums of products over named axes: einsum('ij,jk->ik', a, b) is the matrix product.

    >>> einsum('i,j->ij', x, y)
    """
    shapes = [tuple(x.shape) for x in operands]
    terms, result = parse_subscripts(subscripts, shapes)
    extents = _extents(terms, shapes)
    elsewhere = [result + "".join((*terms[:i], *terms[i + 1 :])) for i in range(len(terms))]
    left = [_named(x, term, extents, others) for x, term, others in zip(operands, terms, elsewhere, strict=True)]
    while len(left) > 1:
        x = left.pop(0)
        y = left.pop(next((i for i, other in enumerate(left) if set(other.letters) & set(x.letters)), 0))
        left.insert(0, _multiplied(x, y, set(result).union(*(part.letters for part in left))))
    return _arranged(_summed(left[0], result), result)


def _tensordot(x: Any, y: Any, axes: Any) -> Any:
    over = _contracted(x, y, axes)
    letters = iter(string.ascii_letters)
    terms = [[next(letters) for _ in z.shape] for z in (x, y)]
    for first, second in zip(*over, strict=True):
        terms[1][second] = terms[0][first]
    kept = [letter for term, gone in zip(terms, over, strict=True) for i, letter in enumerate(term) if i not in gone]
    return einsum(x, y, subscripts=f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(kept)}")


def _contracted(x: Any, y: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of x and of y that a tensordot sums over."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(x.shape), len(y.shape)):
            raise ShapeError(f"tensordot: there are no {axes} axes in both shapes {tuple(x.shape)} and {tuple(y.shape)}")
        return tuple(range(len(x.shape) - axes, len(x.shape))), tuple(range(axes))
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise ArgumentError("tensordot: axes must be a number or a pair", help="write axes=([1, 0], [0, 1]) or axes=2")
    return axes_of(axes[0], len(x.shape)), axes_of(axes[1], len(y.shape))


@function(numpy="x|a, y|b, axes|dims")
def tensordot(x: Any, y: Any, *, axes: Any = 2) -> Any:
    """The sum of products over axes of both: the last of x with the first of y if axes is a number, or a pair of lists.

    >>> tensordot(x, y, axes=1)
    """
    over_x, over_y = _contracted(x, y, axes)
    if [x.shape[a] for a in over_x] != [y.shape[a] for a in over_y]:
        raise ShapeError(f"tensordot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit along {axes}")
    return _tensordot(x, y, axes)


@function()
def torch_tensordot(x: Any, y: Any, *, axes: Any = 2) -> Any:
    """torch.tensordot: as tensordot, and one entry along an axis goes with any number of them."""
    return _tensordot(x, y, axes)


@function(numpy="x|x1|a|input, y|x2|b|other, -out")
def inner(x: Any, y: Any) -> Any:
    """The inner products over the last axis of both; a product with a number."""
    return tensordot(x, y, axes=(-1, -1)) if x.shape and y.shape else x * y


declare("""
    torch:
        tensordot = torch_tensordot(x|a|input, y|b|other, axes|dims)
""")
