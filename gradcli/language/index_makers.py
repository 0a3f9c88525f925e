"""Functions that make indices: where a condition holds, triangles, diagonals, grids, products of lists.

Indices are constants of the program. A condition is taken at the bound values, as a mask between brackets is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.constructors import arange, shape_of
from gradcli.language.names import Indices, Thing
from gradcli.language.scope import Builder, Range
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import reshape

_MASK = "a mask"


def _whole(builder: Builder, array: Any) -> Expr:
    raw = np.asarray(array, np.int64)
    builder.graph.limits.check_array(raw.shape)
    return builder.graph.constant(raw)


def _each(builder: Builder, arrays: Any) -> Indices:
    return Indices(_whole(builder, array) for array in arrays)


def _rows(builder: Builder, arrays: Any) -> Expr:
    return _whole(builder, np.stack([np.asarray(a) for a in arrays]))


def _known(builder: Builder, x: Any) -> Any:
    return np.asarray(builder.static(builder.value(x), _MASK))


def _places(builder: Builder, x: Any) -> np.ndarray:
    known = np.asarray(builder.static(builder.value(x)))
    if known.dtype.kind not in "iu":
        raise ArgumentError("an index must be whole numbers")
    return known


def nonzero(builder: Builder, x: Any, as_tuple: Any = True) -> Any:
    """The indices of the entries that are not 0, an array for each axis; as rows of one matrix where they are asked for so."""
    if not builder.flag(as_tuple, "'as_tuple'"):
        return nonzero_rows(builder, x)
    known = _known(builder, x)
    return _each(builder, np.nonzero(known if known.ndim else known.reshape(1)))


def nonzero_rows(builder: Builder, x: Any, as_tuple: Any = False) -> Any:
    """The same as the rows of a matrix, which has a column for each axis."""
    if builder.flag(as_tuple, "'as_tuple'"):
        return nonzero(builder, x)
    return _whole(builder, np.argwhere(_known(builder, x)))


def flatnonzero(builder: Builder, x: Any) -> Any:
    """The indices, among all entries, of those that are not 0."""
    return _whole(builder, np.flatnonzero(_known(builder, x)))


def _extent(builder: Builder, n: Any) -> int:
    return shape_of(builder, n)[0]


def _shift(builder: Builder, k: Any) -> int:
    return builder.integer(k, "a diagonal")


def _triangle(choose: Callable[..., Any]) -> Callable[..., Any]:
    """The indices of a triangle of n rows and m columns (n), from the k-th diagonal on."""

    def indices(builder: Builder, n: Any, k: Any = 0, m: Any = None) -> Any:
        rows = _extent(builder, n)
        columns = rows if m is None else _extent(builder, m)
        builder.graph.limits.check_array((rows, columns))
        return _each(builder, choose(rows, _shift(builder, k), columns))

    return indices


def _triangle_from(choose: Callable[..., Any]) -> Callable[..., Any]:
    def indices(builder: Builder, x: Expr, k: Any = 0) -> Any:
        if x.ndim != 2:
            raise ShapeError(f"a triangle is of a matrix, not of an array of {x.ndim} axes")
        return _each(builder, choose(x.shape[0], _shift(builder, k), x.shape[1]))

    return indices


def _triangle_of_pytorch(choose: Callable[..., Any]) -> Callable[..., Any]:
    def indices(builder: Builder, row: Any, col: Any, offset: Any = 0) -> Any:
        rows, columns = _extent(builder, row), _extent(builder, col)
        builder.graph.limits.check_array((rows, columns))
        return _rows(builder, choose(rows, _shift(builder, offset), columns))

    return indices


def diag_indices(builder: Builder, n: Any, ndim: Any = 2) -> Any:
    """The indices of the main diagonal of an array of equal extents."""
    extent, axes = _extent(builder, n), builder.integer(ndim, "how many axes")
    builder.graph.limits.check_shape((1,) * min(max(0, axes), builder.graph.limits.dimensions + 1))
    builder.graph.limits.check_array((extent,))
    return _each(builder, (np.arange(extent),) * axes)


def diag_indices_from(builder: Builder, x: Expr) -> Any:
    shape = x.shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(f"all axes must be equally long, not of the shape {shape}")
    return _each(builder, (np.arange(shape[0]),) * len(shape))


def ix_(builder: Builder, lists: Any) -> Any:
    """Lists of indices, each along an axis of its own: the entries at all their combinations."""
    known = [_known(builder, part) for part in lists]
    builder.graph.limits.check_shape((1,) * len(known))
    if any(part.ndim != 1 for part in known):
        raise ShapeError("ix_ takes lists of indices")
    return _each(builder, np.ix_(*(part if part.size else part.astype(np.int64) for part in known)))


def unravel_index(builder: Builder, indices: Any, shape: Any) -> Any:
    """The index along each axis of what is at a place among all entries."""
    known = np.asarray(_places(builder, indices))
    try:
        found = np.unravel_index(known, shape_of(builder, shape))
    except ValueError as error:
        raise ShapeError(f"unravel_index: {error}") from None
    return Indices(builder.graph.constant(int(part)) if not np.ndim(part) else _whole(builder, part) for part in found)


def ravel_multi_index(builder: Builder, multi_index: Any, dims: Any) -> Any:
    """The place among all entries of what is at an index along each axis."""
    known = [np.asarray(_places(builder, part)) for part in multi_index]
    try:
        found = np.ravel_multi_index(tuple(known), shape_of(builder, dims))
    except ValueError as error:
        raise ShapeError(f"ravel_multi_index: {error}") from None
    return builder.graph.constant(int(found)) if not np.ndim(found) else _whole(builder, found)


def indices(builder: Builder, dimensions: Any, sparse: Any = False) -> Any:
    """The indices of all entries of an array of a shape, an array for each axis."""
    shape = shape_of(builder, dimensions)
    builder.graph.limits.check_array((len(shape), *shape))
    if builder.flag(sparse, "'sparse'"):
        return _each(builder, np.indices(shape, sparse=True))
    return _whole(builder, np.indices(shape))


def range_(builder: Builder, start: Any, stop: Any = None, step: Any = None) -> Any:
    """Whole numbers from start (0) up to stop, by step."""
    first, last = (0, start) if stop is None else (start, stop)
    known = [builder.integer(first), builder.integer(last), 1 if step is None else builder.integer(step)]
    if known[2] == 0:
        raise ArgumentError("the step of a range cannot be 0")
    places = range(*known)
    builder.graph.limits.check_array((len(places),))
    return _whole(builder, np.array(places, np.int64))


def slice_(builder: Builder, parts: Any) -> Any:
    """``slice(stop)``, ``slice(start, stop)``, ``slice(start, stop, step)`` as what stands between brackets."""
    if not 1 <= len(parts) <= 3:
        raise ArgumentError("a slice has one to three parts", help="write slice(0, 2)")
    return Range(*(None, *parts, None) if len(parts) == 1 else (*parts, None)[:3])


triu_indices, tril_indices = _triangle(np.triu_indices), _triangle(np.tril_indices)
triu_indices_from = _triangle_from(np.triu_indices)
tril_indices_from = _triangle_from(np.tril_indices)
triu_of_pytorch, tril_of_pytorch = _triangle_of_pytorch(np.triu_indices), _triangle_of_pytorch(np.tril_indices)


# -- What NumPy indexes in order to make arrays and indices: ``np.c_``, ``np.r_``, ``np.mgrid``,
# ``np.ogrid``, ``np.s_``.


class Rows(Thing):
    """``np.r_[a, b, 1:4]``: everything one after the other, along the first axis."""

    written = "np.r_"

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        nodes = [_part(builder, item) for item in items]
        depth = max(node.ndim for node in nodes)
        return concatenate(*[reshape(node, shape=(1,) * (depth - node.ndim) + node.shape) for node in nodes], axis=0)


class Columns(Thing):
    """``np.c_[a, b]``: vectors as columns, side by side."""

    written = "np.c_"

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        nodes = [_part(builder, item) for item in items]
        depth = max(2, *(node.ndim for node in nodes)) if len(nodes) > 1 else max(2, nodes[0].ndim)
        parts = [reshape(node, shape=node.shape + (1,) * (depth - node.ndim)) for node in nodes]
        return concatenate(*parts, axis=-1)


class Grid(Thing):
    """``np.mgrid[0:3, 0:2]`` and ``np.ogrid``: the coordinates of a grid along each axis, whole or as lines."""

    def __init__(self, written: str, sparse: bool) -> None:
        self.written, self.sparse = written, sparse

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        lines = [_line(builder, item) for item in items]
        shape = tuple(line.size for line in lines)
        if self.sparse:
            builder.graph.limits.check_shape((len(shape), *shape))
        else:
            builder.graph.limits.check_array((len(shape), *shape))
        if len(lines) == 1:
            return builder.graph.constant(lines[0])
        grids = np.meshgrid(*lines, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return Indices(builder.graph.constant(grid) for grid in grids)
        return builder.graph.constant(np.stack(grids))


class Index(Thing):
    """``np.s_[1:, 0]``: an index by itself."""

    written = "np.s_"

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        return items[0] if len(items) == 1 else Indices(items)


def _part(builder: Builder, item: Any) -> Expr:
    if isinstance(item, str):
        raise TypeMismatchError(f"the string {item!r} is not read between these brackets", help="write concatenate([x, y], axis=0)")
    if isinstance(item, Range):
        item = arange(builder, *_bounds(item))
    node = builder.value(item)
    if not node.ndim:
        node = reshape(node, shape=(1,))
    if not all(node.shape):
        raise ShapeError("an empty array cannot be joined here")
    return node


def _bounds(item: Range) -> tuple[Any, Any, Any]:
    if item.stop is None:
        raise ArgumentError("a range needs an end here", help="write np.r_[0:4]")
    return 0 if item.start is None else item.start, item.stop, item.step


def _line(builder: Builder, item: Any) -> np.ndarray:
    if not isinstance(item, Range):
        raise ArgumentError("a grid is made of ranges", help="write np.mgrid[0:3, 0:2]")
    return _range_entries(builder, item)


def _range_entries(builder: Builder, item: Range) -> np.ndarray:
    made = arange(builder, *_bounds(item))
    return np.asarray(made.payload if made.is_constant else builder.scope.evaluate(made))


OBJECTS: dict[str, Thing] = {
    "r_": Rows(), "c_": Columns(), "mgrid": Grid("np.mgrid", False), "ogrid": Grid("np.ogrid", True), "s_": Index(), "index_exp": Index(),
}  # fmt: skip
