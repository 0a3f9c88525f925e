"""What NumPy indexes in order to make arrays and indices: ``np.c_``, ``np.r_``, ``np.mgrid``, ``np.ogrid``, ``np.s_``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.constructors import arange
from gradcli.language.names import Indices, Thing
from gradcli.language.things import Range
from gradcli.ops.arrays.joining import concatenate
from gradcli.ops.arrays.shapes import reshape


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
    return _known(builder, item)


def _known(builder: Builder, item: Range) -> np.ndarray:
    made = arange(builder, *_bounds(item))
    return np.asarray(made.payload if made.is_constant else builder.scope.evaluate(made))


OBJECTS: dict[str, Thing] = {
    "r_": Rows(), "c_": Columns(), "mgrid": Grid("np.mgrid", False), "ogrid": Grid("np.ogrid", True), "s_": Index(), "index_exp": Index(),
}  # fmt: skip
