"""What NumPy, SciPy and Python's math have beside the catalogue and is made of it: blocks, polynomials, windows, counts.

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
from gradcli.language.names import Function, Thing
from gradcli.language.scope import Builder, Routine, routines
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import getitem, reshape, stack, swapaxes
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, TORCH
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import max_, sum_
from gradcli.ops.writing import one_axis

# -- Distances of two vectors, and of the rows of matrices, as scipy.spatial.distance has them -----


def _distance(of: Callable[[Expr, Expr], Any]) -> Callable[..., Any]:
    def distance(builder: Builder, u: Expr, v: Expr) -> Any:
        if u.ndim != 1 or v.ndim != 1:
            raise ShapeError("distances here are of two vectors", help="write scipy.spatial.distance.cdist(x, y) for all rows")
        if u.shape != v.shape:
            raise ShapeError(f"a distance of vectors of {u.shape[0]} and {v.shape[0]} entries")
        return of(u, v)

    return distance


def minkowski(builder: Builder, u: Expr, v: Expr, p: Any = 2) -> Any:
    """The norm of order p of the difference."""
    return _distance(lambda a, b: calls.result_of(calls.call(builder, "norm", NUMPY, [a - b, p], {})))(builder, u, v)


def _cosine(a: Expr, b: Expr) -> Any:
    return 1 - sum_(a * b) / sqrt(sum_(square(a)) * sum_(square(b)))


def _correlation(a: Expr, b: Expr) -> Any:
    n = a.shape[0]
    return _cosine(a - sum_(a) / n, b - sum_(b) / n)


def cdist(builder: Builder, XA: Expr, XB: Expr, metric: Any = "euclidean") -> Any:
    """The distances of each row from each, Euclidean ones or their squares."""
    kind = builder.static(metric, "a metric")
    if kind not in ("euclidean", "sqeuclidean", "cityblock", "chebyshev"):
        raise UnreadArgumentError(f"cdist does not support metric={kind!r}", help="leave it out, which is 'euclidean'")
    a, b = XA, XB
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(f"cdist takes two matrices with rows of one length, not shapes {a.shape} and {b.shape}")
    if kind == "euclidean":
        return calls.result_of(calls.call(builder, "cdist", TORCH, [a, b], {}))
    apart = reshape(a, shape=(a.shape[0], 1, a.shape[1])) - b
    if kind == "chebyshev":
        return max_(abs_(apart), axis=2)
    return sum_(square(apart) if kind == "sqeuclidean" else abs_(apart), axis=2)


def pdist(builder: Builder, X: Any, metric: Any = "euclidean") -> Any:
    """The Euclidean distances of the rows from each other, each pair once."""
    kind = builder.static(metric, "a metric")
    if kind != "euclidean":
        raise UnreadArgumentError(f"pdist does not support metric={kind!r}", help="leave it out, which is 'euclidean'")
    return calls.result_of(calls.call(builder, "pdist", TORCH, [X], {}))


_TWO = "u, v"
DISTANCES: dict[str, tuple[str, Callable[..., Any]]] = {
    "euclidean": (_TWO, _distance(lambda a, b: sqrt(sum_(square(a - b))))),
    "sqeuclidean": (_TWO, _distance(lambda a, b: sum_(square(a - b)))),
    "cityblock": (_TWO, _distance(lambda a, b: sum_(abs_(a - b)))),
    "chebyshev": (_TWO, _distance(lambda a, b: max_(abs_(a - b)))),
    "cosine": (_TWO, _distance(_cosine)),
    "correlation": (_TWO, _distance(_correlation)),
    "braycurtis": (_TWO, _distance(lambda a, b: sum_(abs_(a - b)) / sum_(abs_(a + b)))),
    "canberra": (_TWO, _distance(lambda a, b: sum_(abs_(a - b) / (abs_(a) + abs_(b))))),
    "minkowski": ("u, v, p", minkowski),
    "cdist": ("XA, XB, metric", cdist),
    "pdist": ("X, metric", pdist),
}


_MOST = 4_096  # rows to which a function is applied one by one


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


def apply_along_axis(builder: Builder, func1d: Any, axis: Any, arr: Expr) -> Any:
    """A function of a library applied to each row along an axis."""
    if not isinstance(func1d, Function) or func1d.base is not None:
        raise ArgumentError("apply_along_axis takes a function of a library", help="write sum(x, axis=0), which takes the axis itself")
    place: int = one_axis(builder.integer(axis, "an axis"), arr.ndim)
    moved = arr
    for at in range(place, arr.ndim - 1):
        moved = swapaxes(moved, axis1=at, axis2=at + 1)
    lead, n = moved.shape[:-1], moved.shape[-1]
    count = math.prod(lead)
    if not 0 < count <= _MOST:
        raise ShapeError(f"apply_along_axis takes 1 to {_MOST:,} rows here, not {count}")
    flat = reshape(moved, shape=(count, n))
    rows = [
        builder.value(calls.result_of(calls.call(builder, func1d.name, func1d.library, [getitem(flat, index=(i,))], {})))
        for i in range(count)
    ]
    made = stack(*rows, axis=0)
    made = reshape(made, shape=(*lead, *rows[0].shape))
    if rows[0].ndim > 1:
        raise ShapeError("apply_along_axis takes functions that give numbers or rows here")
    for at in range(made.ndim - 1, place, -1) if rows[0].ndim else ():
        made = swapaxes(made, axis1=at - 1, axis2=at)
    return made


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


# -- polynomials -------------------------------------------------------------------------------------------------------


def polyval(builder: Builder, x: Expr, c: Any) -> Any:
    """A polynomial by its coefficients, from that of the lowest power on."""
    numbers = builder.value(list(c) if isinstance(c, tuple) else c)
    if numbers.ndim != 1:
        raise ShapeError("polyval takes a list of coefficients here")
    return _powers(x, _terms(builder, numbers))


def _terms(builder: Builder, numbers: Expr) -> list[Expr]:
    if isinstance(numbers.payload, np.ndarray):
        return [builder.graph.constant(float(number)) for number in numbers.payload]
    return [getitem(numbers, index=(power,)) for power in range(numbers.shape[0])]


def _powers(x: Expr, terms: list[Expr]) -> Expr:
    result: Expr = terms[-1] + 0 * x
    for term in reversed(terms[:-1]):
        result = term + result * x
    return result


class Polynomial(Thing):
    """``np.poly1d(c)``, and ``np.polynomial.Polynomial(c)``, whose coefficients come in the other order."""

    def __init__(self, written: str, coefficients: Expr, falling: bool) -> None:
        self.written, self.parts, self.falling = written, [coefficients], falling

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if len(arguments) != 1 or keywords:
            raise ArgumentError(f"{self.written} is a function of one number", help="write p(2)")
        terms = _terms(builder, self.parts[0])
        return _powers(builder.value(arguments[0]), terms[::-1] if self.falling else terms)


def _polynomial(written: str, falling: bool) -> Callable[..., Any]:
    def polynomial(builder: Builder, c: Any) -> Any:
        numbers = builder.value(list(c) if isinstance(c, tuple) else c)
        if numbers.ndim != 1 or not numbers.shape[0]:
            raise ShapeError(f"{written} takes a list of coefficients", help=f"write np.{written}([1, 2])")
        return Polynomial(f"{written}(...)", numbers, falling)

    return polynomial


# -- windows and integrals ---------------------------------------------------------------------------------------------


def _length(builder: Builder, n: Any, what: str = "a number of entries") -> int:
    """So many entries as a program may make."""
    length = builder.integer(n, what)
    builder.graph.limits.check_array((max(0, length),))
    return length


def _window(name: str) -> Callable[..., Any]:
    def window(builder: Builder, n: Any) -> Any:
        return builder.graph.constant(np.asarray(getattr(np, name)(_length(builder, n))))

    return window


def kaiser(builder: Builder, n: Any, beta: Any) -> Any:
    """Kaiser's window, for a beta known beforehand."""
    return builder.graph.constant(np.kaiser(_length(builder, n), builder.number(beta, "'beta' of kaiser")))


def simpson(builder: Builder, y: Expr, dx: Any = 1.0, axis: Any = -1) -> Any:
    """Simpson's rule for points in equal distances; of an even number of points the last interval is Cartwright's."""
    place: int = one_axis(builder.integer(axis, "an axis"), y.ndim)
    n = y.shape[place]
    if n < 2:
        raise ShapeError("simpson takes at least 2 points")
    weights = np.zeros(n)
    odd = n if n % 2 else n - 1
    if odd > 1:
        weights[:odd:2], weights[1:odd:2] = 2 / 3, 4 / 3
        weights[0] = weights[odd - 1] = 1 / 3
    if n == 2:
        weights[:] = 1 / 2
    elif n > odd:
        weights[-3:] += [-1 / 12, 2 / 3, 5 / 12]
    shape = tuple(n if at == place else 1 for at in range(y.ndim))
    return sum_(y * builder.graph.constant(weights.reshape(shape)), axis=place) * builder.value(dx)


def trapezoid(builder: Builder, y: Any, **given: Any) -> Any:
    """The rule of trapezoids, as NumPy has it."""
    return calls.result_of(calls.call(builder, "trapezoid", NUMPY, [y], given))


# -- counts and segments -----------------------------------------------------------------------------------------------


def bincount(builder: Builder, x: Any, weights: Any = None, minlength: Any = 0, length: Any = None) -> Any:
    """How often each whole number occurs, or the sums of its weights."""
    places = np.asarray(builder.static(builder.whole(x)))
    if places.ndim != 1 or (places.size and places.min() < 0):
        raise ArgumentError("bincount takes a list of whole numbers of at least 0")
    least = _length(builder, max(int(places.max(initial=-1)) + 1, builder.integer(minlength, "a length")))
    count = least if length is None else _length(builder, length, "a length")
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
    flat = reshape(rows, shape=(places.size, -1)) if rows.ndim > 1 else rows
    made = matmul(chosen, flat)
    return reshape(made, shape=(length, *rows.shape[1:])) if rows.ndim > 2 else made


_SORTED = "write sort(x)"
_ORDER, _COUNT = "it leaves open in which order entries stand", "how many entries there are would depend on values"
_NUMPYS: dict[str, tuple[str, Callable[..., Any]]] = {
    "block": ("arrays", block),
    "piecewise": ("x, condlist, funclist", piecewise),
    "apply_along_axis": ("func1d, axis, arr", apply_along_axis),
    "poly1d": ("c|c_or_r", _polynomial("poly1d", True)),
    "bincount": ("x, weights, minlength", bincount),
    **{name: ("n|M", _window(name)) for name in ("hanning", "hamming", "blackman", "bartlett")},
    "kaiser": ("n|M, beta", kaiser),
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
    "scipy.spatial.distance": routines(DISTANCES),
    "scipy.integrate": routines({"simpson": ("y, dx, axis", simpson), "trapezoid": ("y, x, dx, axis", trapezoid)}),
    "numpy.polynomial": routines({"Polynomial": ("c|coef", _polynomial("polynomial.Polynomial", False))}),
    "numpy.polynomial.polynomial": routines({
        "polyval": ("x, c", polyval), "Polynomial": ("c|coef", _polynomial("polynomial.Polynomial", False)),
    }),
    "jax.ops": routines({"segment_sum": ("data, segment_ids, num_segments", segment_sum)}),
}  # fmt: skip
