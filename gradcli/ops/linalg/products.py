"""Products of arrays: matrices, vectors, tables and tensors.

Sums of products over named axes are here, too.
"""

from __future__ import annotations

import math
import string
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops import axes, pytorch
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import diagonal, inverse, matrices_last, movedim, permute
from gradcli.ops.arrays.shapes import getitem, reshape, stack, vector_of
from gradcli.ops.carrying import multilinear
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import as_column, as_matrix, as_row, transpose_matrix
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import (
    Function,
    Op,
    Shape,
    axes_of,
    composite,
    declare,
    function,
    is_number,
    one_axis,
    room_for,
    structural,
)
from gradcli.ops.text import TERM, Form


def _matmul_shape(x: Shape, y: Shape) -> Shape:
    if not x or not y:
        raise ShapeError("matmul (@) needs arrays of at least one axis; use * with a number")
    if x[-1] != y[max(len(y) - 2, 0)]:
        raise ShapeError(
            f"matmul: shapes {x} and {y} do not fit ({x[-1]} columns against "
            f"{y[max(len(y) - 2, 0)]} rows)"
        )
    try:
        batch = np.broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        raise ShapeError(f"matmul: batch axes of shapes {x} and {y} do not broadcast") from None
    return (*batch, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


def _by_left(cotangent: Any, out: Any, x: Any, y: Any) -> Any:
    """Return the derivative of a product by its first factor, in a shorter form for vectors."""
    if len(x.shape) == len(y.shape) == 1:
        return cotangent * y
    if len(x.shape) == 1:
        return matmul(y, cotangent) if len(y.shape) == 2 else matvec(y, cotangent)
    if len(y.shape) == 1:
        return outer(cotangent, y) if len(x.shape) == 2 else as_column(cotangent) * y
    return matmul(cotangent, transpose_matrix(y))


def _by_right(cotangent: Any, out: Any, x: Any, y: Any) -> Any:
    if len(x.shape) == len(y.shape) == 1:
        return cotangent * x
    if len(x.shape) == 1:
        return outer(x, cotangent) if len(y.shape) == 2 else as_column(x) * as_row(cotangent)
    if len(y.shape) == 1:
        return matmul(cotangent, x) if len(x.shape) == 2 else vecmat(cotangent, x)
    return matmul(transpose_matrix(x), cotangent)


matmul: Op = structural(
    "matmul", "x y:alike", np.matmul, "arrays.matmul", vjp=(_by_left, _by_right), shape=_matmul_shape, saves="x: y; y: x",
    core_dims=(2, 2), doc="x @ y: the matrix product over the last two axes, broadcasting the "
    "others. "
    ">>> x @ w + b",
    rounding="terms", ulps=8, dtype="number",
    extended=Whole("MATMUL"),
    backward=pytorch.node_of_matmul, written="@",
    latex=Form("{x:term} {y:power}", TERM), algebra="matrix product",
    carries=multilinear, axes=axes.matrix_product,
    numpy="({0:term} @ {1:power})",
)


@function()
def dot(x: Any, y: Any) -> Any:
    """NumPy's dot: the inner product of vectors, the matrix product, or a product with a number."""
    if not x.shape or not y.shape:
        return x * y
    return matmul(x, y) if len(y.shape) < 3 else tensordot(x, y, axes=(-1, -2))


@function(
    "outer ger",
    vjp=(
        lambda cotangent, out, x, y: reshape(matmul(cotangent, vector_of(y)), shape=x.shape),
        lambda cotangent, out, x, y: reshape(matmul(vector_of(x), cotangent), shape=y.shape),
    ),
    forward=np.outer, saves="x: y; y: x", shape=lambda x, y: (int(np.prod(x)), int(np.prod(y))),
    ulps=1, dtype="number",
    carries=multilinear,
    numpy="np.outer({0}, {1})", torch="torch.outer(torch.ravel({0}), torch.ravel({1}))",
)
def outer(x: Any, y: Any) -> Any:
    """The table of all products of an entry of x and an entry of y.

    >>> outer(x, y)
    """
    return reshape(x, shape=(-1, 1)) * reshape(y, shape=(1, -1))


def _trace_vjp(cotangent: Any, out: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    order = matrices_last(x.shape, axis1, axis2)
    rows, columns = (x.shape[axis] for axis in order[-2:])
    room_for(rows, columns)
    return permute(as_matrix(cotangent) * np.eye(rows, columns, offset, dtype=int), inverse(order))


@function(
    vjp=_trace_vjp,
    shape=lambda x, offset, axis1, axis2: tuple(x[axis] for axis in matrices_last(x, axis1, axis2)[:-2]),
    dtype="number", rounding="terms", ulps=4,
    numpy="np.trace({0}, {offset}, {axis1}, {axis2})", torch="torch.diagonal({0}, {offset}, {axis1}, {axis2}).sum(-1)",
)
def trace(x: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal of a matrix, or of each one along two axes.

    >>> trace([x, y])
    """
    return sum_(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)


def _product(x: Any, y: Any, left: int, right: int) -> Any:
    """Compute a product that PyTorch has only for arrays of these numbers of axes."""
    batches = x.shape[: left - 2], y.shape[: right - 2]
    if (len(x.shape), len(y.shape)) != (left, right) or batches[0] != batches[1]:
        alike = ", in as many batches" if left == 3 else ""
        raise ShapeError(
            f"the product needs arrays of {left} and {right} axes{alike}, not the shapes "
            f"{tuple(x.shape)} and {tuple(y.shape)}"
        )
    return matmul(x, y)


_of_matrices, _of_batches = partial(_product, left=2, right=2), partial(_product, left=3, right=3)
_of_matrix_and_vector = partial(_product, left=2, right=1)
for _name, _multiply in (
    ("mm", _of_matrices),
    ("mv", _of_matrix_and_vector),
    ("bmm", _of_batches),
    ("dot", partial(_product, left=1, right=1)),
):
    composite(
        f"torch_{_name}",
        "x y:alike",
        _multiply,
        doc=f"torch.{_name}: the product of arrays of two numbers of axes.",
    )


@function()
def vdot(x: Any, y: Any) -> Any:
    """The inner product of all entries, in order."""
    return dot(vector_of(x), vector_of(y))


@function(torch="x, y|other, *, axis", numpy="x|x1, y|x2, axis")
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The inner products of vectors along an axis.

    >>> vecdot(x, y)
    """
    if (
        x.shape
        and y.shape
        and x.shape[one_axis(axis, x.shape)] != y.shape[one_axis(axis, y.shape)]
    ):
        raise ShapeError(
            f"vecdot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit along axis {axis}"
        )
    return sum_(x * y, axis=axis)


@function()
def kron(x: Any, y: Any) -> Any:
    """The Kronecker product: the blocks x[i, j]*y.

    >>> kron(x, y)
    """
    n = max(len(x.shape), len(y.shape))
    a, b = ((1,) * (n - len(v.shape)) + tuple(v.shape) for v in (x, y))
    spread_x = reshape(x, shape=tuple(m for extent in a for m in (extent, 1)))
    spread_y = reshape(y, shape=tuple(m for extent in b for m in (1, extent)))
    return reshape(spread_x * spread_y, shape=tuple(i * j for i, j in zip(a, b, strict=True)))


@function()
def matvec(x: Any, y: Any) -> Any:
    """The products of matrices with vectors along the last axis.

    >>> matvec([[1, 2, 3], [4, 5, 6]], x)
    """
    found = matmul(x, as_column(y))
    return reshape(found, shape=found.shape[:-1])


@function()
def vecmat(x: Any, y: Any) -> Any:
    """The products of vectors along the last axis with matrices.

    >>> vecmat(x, [[1], [2], [3]])
    """
    return matvec(transpose_matrix(y), x)


_TWO = "x|x1|input|self|vec1|mat1, y|x2|other|tensor|vec2|mat2|vec"


# -- PyTorch's fused forms


def _declare_sum(name: str, factors: str, multiply: Function, words: str) -> None:
    """Register a sum of an array and a product; with beta = 0 the array is not read."""

    def add(input: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
        product = multiply(x, y)
        scaled = product if is_number(alpha) and alpha == 1 else product * alpha
        if is_number(beta) and beta == 0:
            return scaled
        found = (input if is_number(beta) and beta == 1 else input * beta) + scaled
        if tuple(found.shape) != tuple(product.shape):
            raise ShapeError(
                f"an array of shape {tuple(input.shape)} cannot be added to a product of shape "
                f"{tuple(product.shape)}"
            )
        return found

    composite(
        name,
        f"input {factors} beta:number alpha:number",
        add,
        static={"beta": 1, "alpha": 1},
        doc=f"beta*input + alpha times {words}; with beta=0 the input is not read.",
    )
    declare(f"torch:\n{name}(input, {factors.replace(' ', ', ')}, *, beta, alpha)")


_declare_sum("addmm", "mat1 mat2", _of_matrices, "a product of matrices")
_declare_sum("addmv", "mat vec", _of_matrix_and_vector, "a product of a matrix and a vector")
_declare_sum("addbmm", "batch1 batch2", lambda x, y: sum_(_of_batches(x, y), axis=0), "the sum of "
"a batch's products of matrices")
_declare_sum("baddbmm", "batch1 batch2", _of_batches, "a batch's products of matrices")
_declare_sum("addr", "vec1 vec2", outer, "the outer product of vectors")


# -- The vector product of three-dimensional space -----------------------------------------------


def _cross_shape(x: Shape, y: Shape) -> Shape:
    if x[-1:] != (3,) or y[-1:] != (3,):
        raise ShapeError(f"cross needs vectors of 3 entries, not the shapes {x} and {y}")
    return np.broadcast_shapes(x, y)


def _cross_with_right(cotangent: Any, out: Any, x: Any, y: Any) -> Any:
    return vector_product(y, cotangent)


def _cross_with_left(cotangent: Any, out: Any, x: Any, y: Any) -> Any:
    return vector_product(cotangent, x)


@function(
    shape=_cross_shape, saves="x y", core_dims=(1, 1), public=False,
    vjp=(_cross_with_right, _cross_with_left),
    backward="LinalgCross", ulps=4,
    numpy="np.cross({0}, {1})", torch="torch.linalg.cross({0}, {1})",
)
def vector_product(x: Any, y: Any) -> Any:
    """The vector product of vectors along the last axis."""
    (a, b, c), (d, e, f) = ([getitem(v, index=(..., i)) for i in range(3)] for v in (x, y))
    return stack(b * f - c * e, c * d - a * f, a * e - b * d, axis=-1)


def _in_space(x: Any, y: Any) -> Any:
    """Return a vector of space; a vector of the plane gets 0 as its third entry."""
    if x.shape[-1] == 3:
        return x
    if x.shape[-1] != 2:
        raise ShapeError(f"cross needs vectors of 2 or 3 entries, not {x.shape[-1]}")
    return concatenate(x, np.zeros((*x.shape[:-1], 1)), axis=-1)


@function(numpy="x|a, y|b, axisa, axisb, axisc, axis")
def cross(
    x: Any, y: Any, *, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The vector product along an axis; of two vectors of the plane, its third entry.

    >>> cross(x, y)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x = movedim(x, source=axisa, destination=-1)
    y = movedim(y, source=axisb, destination=-1)
    result = vector_product(_in_space(x, y), _in_space(y, x))
    if x.shape[-1] == y.shape[-1] == 2:
        return getitem(result, index=(..., 2))
    return movedim(result, source=-1, destination=axisc)


@function(backward="LinalgCross")
def torch_cross(x: Any, y: Any, *, axis: int | None = None) -> Any:
    """torch.cross: the vector product along the first axis of 3 entries, or along dim."""
    if axis is None:
        axis = next((i for i, n in enumerate(x.shape) if n == 3), -1)
    place = one_axis(axis, x.shape)
    if len(x.shape) != len(y.shape) or (x.shape[place], y.shape[place]) != (3, 3):
        raise ShapeError(
            "linalg.cross needs vectors of 3 entries along one axis, not the shapes "
            f"{tuple(x.shape)} and {tuple(y.shape)}"
        )
    return cross(x, y, axis=place)


declare(f"""
    torch:
        mm = torch_mm({_TWO})
        mv = torch_mv({_TWO})
        bmm = torch_bmm({_TWO})
        dot = torch_dot({_TWO})
        vdot({_TWO})
        outer ger = outer({_TWO})
        trace(x)
        cross = torch_cross(x, y|other, axis)
        linalg.cross = torch_cross(x, y|other, *, axis=-1)
    numpy:
        dot vdot kron matmul outer(x|x1|a|input, y|x2|b|other, -out)
        trace(x, offset, axis1, axis2, -dtype, -out)
        linalg.trace = trace(x, offset, -dtype; axis1=-2, axis2=-1)
""")


# -- Sums of products over named axes, made of products of matrices ------------------------------


def parse_subscripts(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result.

    ``...`` is spelled out in letters of its own.
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ShapeError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(shapes)} operands")
    spare = [chr(c) for c in range(0x3B1, 0x3B1 + 24)]
    most = max(
        (
            len(s) - len(t.replace("...", ""))
            for t, s in zip(terms, shapes, strict=True)
            if "..." in t
        ),
        default=0,
    )
    named = []
    for written, shape in zip(terms, shapes, strict=True):
        term = written.replace("...", "".join(spare[most - (len(shape) - len(written) + 3) : most]))
        if len(term) != len(shape) or not all(c.isalpha() for c in term):
            raise ShapeError(
                f"einsum: {term!r} does not name the {len(shape)} axes of an operand of shape "
                f"{shape}"
            )
        named.append(term)
    letters = "".join(named)
    if arrow:
        result = right.replace("...", "".join(spare[:most]))
    else:
        result = "".join(spare[:most]) + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1 and c not in spare[:most])
        )
    if len(set(result)) != len(result) or not set(result) <= set(letters):
        raise ShapeError(
            f"einsum: the result {result!r} of {subscripts!r} does not fit its operands"
        )
    return named, result


def _extents(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            if extents.get(letter, 1) not in (1, n) and n != 1:
                raise ShapeError(
                    f"einsum: the axes called {letter!r} have {extents[letter]} and {n} entries"
                )
            extents[letter] = max(n, extents.get(letter, 1)) if n else 0
    return extents


class _Named(NamedTuple):
    """An array with the names of its axes."""

    array: Any
    letters: str


def _name_axes(x: Any, term: str, extents: dict[str, int], elsewhere: str) -> _Named:
    """Name the axes of an operand, with each letter once.

    A repeated letter reads a diagonal; one entry along an axis goes with any number of entries. A
    letter that stands twice here, and not elsewhere, is a trace.
    """
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            if x.shape[first] != x.shape[second]:
                raise ShapeError(
                    f"einsum: the axes called {letter!r} have {x.shape[first]} and "
                    f"{x.shape[second]} entries"
                )
            is_trace = term.count(letter) == 2 and letter not in elsewhere
            x = (trace if is_trace else diagonal)(x, axis1=first, axis2=second)
            term = (
                term[:first]
                + term[first + 1 : second]
                + term[second + 1 :]
                + letter * (not is_trace)
            )
    repeated = [letter for letter, n in zip(term, x.shape, strict=True) if n != extents[letter]]
    if not repeated:
        return _Named(x, term)
    kept = "".join(letter for letter in term if letter not in repeated)
    return _Named(reshape(x, shape=tuple(extents[letter] for letter in kept)), kept)


def _sum_letters(x: _Named, wanted: Collection[str]) -> _Named:
    axes = tuple(i for i, letter in enumerate(x.letters) if letter not in wanted)
    if not axes:
        return x
    kept = "".join(letter for letter in x.letters if letter in wanted)
    return _Named(sum_(x.array, axis=axes if kept else None), kept)


def _arrange_letters(x: _Named, letters: Iterable[str]) -> Any:
    return permute(x.array, tuple(map(x.letters.index, letters)))


def _in_shape(x: Any, shape: Shape) -> Any:
    return x if tuple(x.shape) == shape else reshape(x, shape=shape)


def _multiply_over(x: _Named, y: _Named, wanted: Collection[str]) -> _Named:
    """Sum the products of entries over the letters that are not wanted.

    It is a product of matrices if both have some of these letters.
    """
    x, y = _sum_letters(x, {*wanted, *y.letters}), _sum_letters(y, {*wanted, *x.letters})
    extents = {
        **dict(zip(x.letters, x.array.shape, strict=True)),
        **dict(zip(y.letters, y.array.shape, strict=True)),
    }
    both = [letter for letter in x.letters if letter in y.letters]
    batch = "".join(c for c in both if c in wanted)
    over = "".join(c for c in both if c not in wanted)
    rows = "".join(c for c in x.letters if c not in both)
    columns = "".join(c for c in y.letters if c not in both)

    def group(array: Any, *groups: str) -> Any:
        """Make each group of axes one axis, and omit groups for missing rows or columns."""
        sizes = [math.prod(extents[c] for c in group) for group in groups if group or batch]
        return _in_shape(array, (*(extents[c] for c in batch), *sizes))

    letters = batch + rows + columns
    if over:
        left = group(_arrange_letters(x, batch + rows + over), rows, over)
        right = group(_arrange_letters(y, batch + over + columns), over, columns)
        return _Named(_in_shape(matmul(left, right), tuple(extents[c] for c in letters)), letters)
    if not batch and len(rows) == len(columns) == 1:
        return _Named(outer(x.array, y.array), letters)
    left, right = (
        _in_shape(
            _arrange_letters(z, [c for c in letters if c in z.letters]),
            tuple(extents[c] if c in z.letters else 1 for c in letters),
        )
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
    left = [
        _name_axes(x, term, extents, others)
        for x, term, others in zip(operands, terms, elsewhere, strict=True)
    ]
    while len(left) > 1:
        x = left.pop(0)
        y = left.pop(
            next((i for i, other in enumerate(left) if set(other.letters) & set(x.letters)), 0)
        )
        left.insert(0, _multiply_over(x, y, set(result).union(*(part.letters for part in left))))
    return _arrange_letters(_sum_letters(left[0], result), result)


@function(numpy="x|a, y|b, axes|dims", torch="x|a|input, y|b|other, axes|dims")
def tensordot(x: Any, y: Any, *, axes: Any = 2) -> Any:
    """The sum of products over axes of both: the last of x with the first of y if axes is a number, or a pair of lists.

    >>> tensordot(x, y, axes=1)
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(x.shape), len(y.shape)):
            raise ShapeError(
                f"tensordot: there are no {axes} axes in both shapes {tuple(x.shape)} and "
                f"{tuple(y.shape)}"
            )
        over = tuple(range(len(x.shape) - axes, len(x.shape))), tuple(range(axes))
    elif not isinstance(axes, tuple) or len(axes) != 2:
        raise ArgumentError(
            "tensordot: axes must be a number or a pair",
            help="write axes=([1, 0], [0, 1]) or axes=2",
        )
    else:
        over = axes_of(axes[0], x.shape), axes_of(axes[1], y.shape)
    if [x.shape[a] for a in over[0]] != [y.shape[a] for a in over[1]]:
        raise ShapeError(
            f"tensordot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit along {axes}"
        )
    letters = iter(string.ascii_letters)
    terms = [[next(letters) for _ in z.shape] for z in (x, y)]
    for first, second in zip(*over, strict=True):
        terms[1][second] = terms[0][first]
    kept = [
        letter
        for term, gone in zip(terms, over, strict=True)
        for i, letter in enumerate(term)
        if i not in gone
    ]
    return einsum(x, y, subscripts=f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(kept)}")


@function(numpy="x|x1|a|input, y|x2|b|other, -out")
def inner(x: Any, y: Any) -> Any:
    """The inner products over the last axis of both; a product with a number."""
    return tensordot(x, y, axes=(-1, -1)) if x.shape and y.shape else x * y
