"""Functions of NumPy, SciPy and Python's math beside the catalogue: distances, pieces, counts.

Functions whose entries stand in no order (``np.partition``), or whose number depends on values (``np.unique``), are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language import calls
from gradcli.language.index_makers import as_boolean
from gradcli.language.names import Function
from gradcli.language.scope import Builder, Routine, routines
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import flip, reshape
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, TORCH
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_

# -- Distances of two vectors, and of the rows of matrices, as scipy.spatial.distance has them -----


def _distance(of: Callable[[Expr, Expr], Any]) -> Callable[..., Any]:
    def distance(builder: Builder, u: Expr, v: Expr) -> Any:
        if u.ndim != 1 or v.ndim != 1:
            raise ShapeError("distances here are of two vectors", help="write scipy.spatial.distance.cdist(x, y) for all rows")
        if u.shape != v.shape:
            raise ShapeError(f"a distance of vectors of {u.shape[0]} and {v.shape[0]} entries")
        return of(u, v)

    return distance


def _cosine(a: Expr, b: Expr) -> Any:
    return 1 - sum_(a * b) / sqrt(sum_(square(a)) * sum_(square(b)))


def cdist(builder: Builder, XA: Expr, XB: Expr) -> Any:
    """The Euclidean distances of each row from each."""
    return calls.result_of(calls.call(builder, "cdist", TORCH, [XA, XB], {}))


_TWO = "u, v"
_DISTANCES: dict[str, tuple[str, Callable[..., Any]]] = {
    "euclidean": (_TWO, _distance(lambda a, b: sqrt(sum_(square(a - b))))),
    "sqeuclidean": (_TWO, _distance(lambda a, b: sum_(square(a - b)))),
    "cityblock": (_TWO, _distance(lambda a, b: sum_(abs_(a - b)))),
    "cosine": (_TWO, _distance(_cosine)),
    "cdist": ("XA, XB", cdist),
}


def block(builder: Builder, arrays: Any) -> Any:
    """Arrays in lists of lists put together: the innermost lists along the last axis, those around them along the axes before."""
    depth, inner = 0, arrays
    while isinstance(inner, (list, tuple)) and inner:
        depth, inner = depth + 1, inner[0]

    def leaves(part: Any, level: int) -> list[Expr]:
        if not isinstance(part, (list, tuple)):
            if level != depth:
                raise ArgumentError("block takes lists nested equally deep", help="write np.block([[x, y], [z, w]])")
            return [builder.value(part)]
        if not part or level >= depth:
            raise ArgumentError("block takes lists nested equally deep, none of them empty", help="write np.block([[x, y], [z, w]])")
        return [leaf for item in part for leaf in leaves(item, level + 1)]

    ndim = max(depth, *(leaf.ndim for leaf in leaves(arrays, 0)))

    def put(part: Any, level: int) -> Expr:
        if not isinstance(part, (list, tuple)):
            node = builder.value(part)
            return reshape(node, shape=(1,) * (ndim - node.ndim) + node.shape) if node.ndim < ndim else node
        rows = [put(item, level + 1) for item in part]
        joined: Expr = concatenate(*rows, axis=level - depth) if len(rows) > 1 else rows[0]
        return joined

    return put(arrays, 0)


def piecewise(builder: Builder, x: Expr, condlist: Any, funclist: Any) -> Any:
    """Numbers, or functions of x, where conditions hold; the last condition that holds counts, one more value is for none of them."""
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    values = list(funclist) if isinstance(funclist, (list, tuple)) else [funclist]
    if len(values) not in (len(conditions), len(conditions) + 1):
        raise ShapeError(
            f"piecewise: {len(values)} values for {len(conditions)} conditions", help="write np.piecewise(x, [x < 0], [-1, 1])"
        )

    def of(value: Any) -> Any:
        if isinstance(value, Function):
            return calls.result_of(calls.call(builder, value.name, value.library, [x], {}))
        made = builder.value(value)
        if made.shape:
            raise ShapeError("piecewise takes numbers and functions, no arrays", help="write np.select([x < 0], [x**2], x)")
        return made

    result = of(values[-1]) if len(values) > len(conditions) else builder.graph.constant(0.0)
    for condition, value in zip(conditions, values, strict=False):
        result = logic.where(as_boolean(builder.value(condition)), of(value), result)
    return result


def _unordered(written: str, help: str, why: str) -> Callable[..., Any]:
    def refuse(builder: Builder, x: Any, **_: Any) -> Any:
        raise UnreadArgumentError(f"{written} is not in the language: {why}", help=help)

    return refuse


def fsum(builder: Builder, x: Any) -> Any:
    """The sum of a list of numbers."""
    node = builder.value(list(x) if isinstance(x, tuple) else x)
    if node.ndim != 1:
        raise ShapeError("math.fsum takes a list of numbers", help="write np.sum(x)")
    return sum_(node)


def polyval(builder: Builder, x: Expr, c: Any) -> Any:
    """A polynomial by its coefficients, from that of the lowest power on."""
    falling = flip(builder.value(list(c) if isinstance(c, tuple) else c), axis=0)
    return calls.result_of(calls.call(builder, "polyval", NUMPY, [falling, x], {}))


def trapezoid(builder: Builder, y: Any, **given: Any) -> Any:
    """The rule of trapezoids, as NumPy has it."""
    return calls.result_of(calls.call(builder, "trapezoid", NUMPY, [y], given))


def _length(builder: Builder, n: Any, of: str = "a length") -> int:
    """So many entries as a program may make."""
    length = builder.integer(n, of)
    builder.graph.limits.check_array((max(0, length),))
    return length


# -- counts and segments -----------------------------------------------------------------------------------------------


def bincount(builder: Builder, x: Any, weights: Any = None, minlength: Any = 0, length: Any = None) -> Any:
    """How often each whole number occurs, or the sums of its weights."""
    places = np.asarray(builder.static(builder.whole(x)))
    if places.ndim != 1 or (places.size and places.min() < 0):
        raise ArgumentError("bincount takes a list of whole numbers of at least 0")
    least = _length(builder, max(int(places.max(initial=-1)) + 1, builder.integer(minlength, "a length")))
    count = least if length is None else _length(builder, length)
    if weights is None:
        return builder.graph.constant(np.bincount(places, minlength=count)[:count])
    return _summed(builder, builder.value(weights), places, count)


def segment_sum(builder: Builder, data: Expr, segment_ids: Any, num_segments: Any = None) -> Any:
    """The sums of the rows that have the same number."""
    places = np.asarray(builder.static(builder.whole(segment_ids)))
    length = _length(builder, int(places.max(initial=-1)) + 1 if num_segments is None else num_segments, "a number of segments")
    return _summed(builder, data, places, length)


def _summed(builder: Builder, rows: Expr, places: np.ndarray[Any, Any], length: int) -> Any:
    if places.ndim != 1 or rows.shape[:1] != places.shape:
        raise ShapeError(f"{places.size} places for an array of shape {rows.shape}")
    builder.graph.limits.check_array((max(0, length), places.size))
    chosen = builder.graph.constant((np.arange(length)[:, None] == places).astype(float))
    flat = reshape(rows, shape=(places.size, math.prod(rows.shape[1:])))
    return reshape(matmul(chosen, flat), shape=(length, *rows.shape[1:]))


_SORTED = "write sort(x)"
_ORDER, _COUNT = "it leaves open in which order entries stand", "how many entries there are would depend on values"
_NUMPYS: dict[str, tuple[str, Callable[..., Any]]] = {
    "block": ("arrays", block),
    "piecewise": ("x, condlist, funclist", piecewise),
    "bincount": ("x, weights, minlength", bincount),
    "partition": ("x|a, kth, axis", _unordered("partition", _SORTED, _ORDER)),
    "argpartition": ("x|a, kth, axis", _unordered("argpartition", "write argsort(x)", _ORDER)),
    "unique": (
        "x|ar, return_index, return_inverse, return_counts, axis",
        _unordered("unique", _SORTED, _COUNT),
    ),
}
TABLES: dict[str, dict[str, Routine]] = {
    NUMPY: routines(_NUMPYS),
    JAX: routines({**_NUMPYS, "bincount": ("x, weights, minlength, length", bincount)}),
    MATH: routines({"fsum": ("x|seq", fsum)}),
    TORCH: routines({
        "bincount": ("x|input, weights, minlength", bincount),
        "unique": ("x|input, sorted, return_inverse, return_counts, axis", _unordered("unique", _SORTED, _COUNT)),
    }),
}  # fmt: skip
# By the modules that have them.
OF_MODULES: dict[str, dict[str, Routine]] = {
    "scipy.spatial.distance": routines(_DISTANCES),
    "scipy.integrate": routines({"trapezoid": ("y, x, dx, axis", trapezoid)}),
    "numpy.polynomial.polynomial": routines({"polyval": ("x, c", polyval)}),
    "jax.ops": routines({"segment_sum": ("data, segment_ids, num_segments", segment_sum)}),
}  # fmt: skip
