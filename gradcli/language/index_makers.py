"""Companions of mathematics in code: functions that make indices, conversions to other dtypes, and questions about entries.

Indices are constants of the program: a condition is taken at the bound values, as a mask between brackets is. Everything is computed in
the program's one precision. A conversion to it changes nothing; one to whole numbers cuts the fraction off, and no derivative flows
through it; one to booleans says what is not 0; one to another precision of floats rounds what is known beforehand, and is refused where
it would round what depends on a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language.constructors import arange, shape_of
from gradcli.language.names import FreeVariable, Indices, Thing, dtype_of
from gradcli.language.scope import Builder, Range
from gradcli.namespace import compositions
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.binding import static_parameters
from gradcli.ops.calling.inputs import BOOL, INT
from gradcli.ops.calling.prefixes import PRECISIONS, DType
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_, trunc
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.structure import to_float
from gradcli.spelling import words


def _whole(builder: Builder, array: Any) -> Expr:
    raw = np.asarray(array, np.int64)
    builder.graph.limits.check_array(raw.shape)
    return builder.graph.constant(raw if raw.ndim else int(raw))


def _numpy(builder: Builder, name: str, *given: Any, rows: bool = False) -> Any:
    """The indices that a function of NumPy's gives: an array for each axis, or, as rows of one matrix, together."""
    try:
        found = getattr(np, name)(*given)
    except ValueError as error:
        raise ShapeError(f"{name}: {error}") from None
    if rows:
        return _whole(builder, np.stack(found))
    return Indices(_whole(builder, part) for part in found) if isinstance(found, tuple) else _whole(builder, found)


def _known(builder: Builder, x: Any) -> Any:
    return np.asarray(builder.static(builder.value(x), "a mask"))


def _places(builder: Builder, x: Any) -> np.ndarray:
    known = np.asarray(builder.static(builder.value(x)))
    if known.dtype.kind not in "iu":
        raise ArgumentError("an index must be whole numbers")
    return known


def nonzero(builder: Builder, x: Any, as_tuple: Any = True) -> Any:
    """The indices of the entries that are not 0, an array for each axis; as rows of one matrix where they are asked for so."""
    if not builder.flag(as_tuple, "'as_tuple'"):
        return nonzero_rows(builder, x)
    return _numpy(builder, "nonzero", np.atleast_1d(_known(builder, x)))


def nonzero_rows(builder: Builder, x: Any, as_tuple: Any = False) -> Any:
    """The same as the rows of a matrix, which has a column for each axis."""
    return nonzero(builder, x) if builder.flag(as_tuple, "'as_tuple'") else _numpy(builder, "argwhere", _known(builder, x))


def flatnonzero(builder: Builder, x: Any) -> Any:
    """The indices, among all entries, of those that are not 0."""
    return _numpy(builder, "flatnonzero", _known(builder, x))


def _triangle(name: str, rows: bool = False) -> Callable[..., Any]:
    """The indices of a triangle of n rows and m columns (n), from the k-th diagonal on."""

    def indices(builder: Builder, n: Any, k: Any = 0, m: Any = None) -> Any:
        shape = shape_of(builder, n, n if m is None else m)
        builder.graph.limits.check_array(shape)
        return _numpy(builder, name, shape[0], builder.integer(k, "a diagonal"), shape[1], rows=rows)

    return indices


def _triangle_of_pytorch(name: str) -> Callable[..., Any]:
    of_rows = _triangle(name, rows=True)
    return lambda builder, row, col, offset=0: of_rows(builder, row, offset, col)


def diag_indices(builder: Builder, n: Any, ndim: Any = 2) -> Any:
    """The indices of the main diagonal of an array of equal extents."""
    (extent,), axes = shape_of(builder, n), builder.integer(ndim, "how many axes")
    builder.graph.limits.check_shape((1,) * min(max(0, axes), builder.graph.limits.dimensions + 1))
    builder.graph.limits.check_array((extent,))
    return _numpy(builder, "diag_indices", extent, axes)


def ix_(builder: Builder, lists: Any) -> Any:
    """Lists of indices, each along an axis of its own: the entries at all their combinations."""
    known = [_known(builder, part) for part in lists]
    builder.graph.limits.check_shape((1,) * len(known))
    return _numpy(builder, "ix_", *(part if part.size else part.astype(np.int64) for part in known))


def unravel_index(builder: Builder, indices: Any, shape: Any) -> Any:
    """The index along each axis of what is at a place among all entries."""
    return _numpy(builder, "unravel_index", _places(builder, indices), shape_of(builder, shape))


def block(builder: Builder, arrays: Any) -> Any:
    """Nested lists of arrays, put together along the last axis and then along those before it."""
    return _moved(builder, "block", np.block, arrays)


def delete(builder: Builder, x: Any, obj: Any, axis: Any = None) -> Any:
    """An array without the entries at indices along an axis."""
    at, along = builder.static(obj), builder.static(axis, "an axis")
    return _moved(builder, "delete", lambda places: np.delete(places, at, along), x)


def insert(builder: Builder, x: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """An array with values put in before indices along an axis."""
    at, along = builder.static(obj), builder.static(axis, "an axis")
    return _moved(builder, "insert", lambda pair: np.insert(pair[0], at, pair[1], along), [x, values])


def _moved(builder: Builder, name: str, function: Callable[..., Any], entries: Any) -> Any:
    try:
        return compositions.moving(function, builder.value)(entries)
    except (ValueError, IndexError) as error:
        raise ShapeError(f"{name}: {error}") from None


def range_(builder: Builder, start: Any, stop: Any = None, step: Any = None) -> Any:
    """Whole numbers from start (0) up to stop, by step."""
    first, last = (0, start) if stop is None else (start, stop)
    known = [builder.integer(first), builder.integer(last), 1 if step is None else builder.integer(step)]
    if known[2] == 0:
        raise ArgumentError("the step of a range cannot be 0")
    places = range(*known)
    builder.graph.limits.check_array((len(places),))
    return _whole(builder, np.array(places, np.int64))


triu_indices, tril_indices = _triangle("triu_indices"), _triangle("tril_indices")
triu_of_pytorch, tril_of_pytorch = _triangle_of_pytorch("triu_indices"), _triangle_of_pytorch("tril_indices")


# -- What NumPy indexes in order to make arrays and indices: ``np.c_``, ``np.r_``, ``np.mgrid``,
# ``np.ogrid``.


class Joined(Thing):
    """``np.r_[a, b, 1:4]``, everything one after the other; ``np.c_[a, b]``, vectors as columns, side by side."""

    def __init__(self, written: str, columns: bool) -> None:
        self.written, self.columns = written, columns

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        nodes = [_part(builder, item) for item in items]
        depth = max(2 if self.columns else 1, *(node.ndim for node in nodes), 0)
        shapes = [(node.shape, (1,) * (depth - node.ndim)) for node in nodes]
        parts = [reshape(x, shape=own + more if self.columns else more + own) for x, (own, more) in zip(nodes, shapes, strict=True)]
        return concatenate(*parts, axis=-1 if self.columns else 0)


class Grid(Thing):
    """``np.mgrid[0:3, 0:2]`` and ``np.ogrid``: the coordinates of a grid along each axis, whole or as lines."""

    def __init__(self, written: str, sparse: bool) -> None:
        self.written, self.sparse = written, sparse

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        lines = [_line(builder, item) for item in items]
        shape, limits = tuple(line.size for line in lines), builder.graph.limits
        (limits.check_shape if self.sparse else limits.check_array)((len(shape), *shape))
        if len(lines) == 1:
            return builder.graph.constant(lines[0])
        grids = np.meshgrid(*lines, indexing="ij", sparse=self.sparse)
        return Indices(map(builder.graph.constant, grids)) if self.sparse else builder.graph.constant(np.stack(grids))


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
    made = arange(builder, *_bounds(item))
    return np.asarray(made.payload if made.is_constant else builder.scope.evaluate(made))


OBJECTS: dict[str, Thing] = {
    "r_": Joined("np.r_", False), "c_": Joined("np.c_", True), "mgrid": Grid("np.mgrid", False), "ogrid": Grid("np.ogrid", True),
}  # fmt: skip


# -- Numbers taken for numbers of another dtype: ``x.long()``, ``x.to(y)``, ``np.float32(2.)`` --------


_WHOLE = words("int64 int32 long int")
_NARROW = words("int16 int8 uint8 short char byte")  # numbers that do not fit wrap around there
_BOOLEAN = frozenset({"bool", "bool_"})
_ROUNDED = {"float64": np.float64, "double": np.float64, "float32": np.float32, "float16": np.float16, "half": np.float16}
_DEVICE = re.compile(r"(cpu|cuda|mps|xpu|xla|gpu|tpu)(:\d+)?")


def dtype_in(builder: Builder, node: Expr) -> DType:
    """The dtype that a value has: the program's precision, booleans, or whole numbers."""
    return DType("bool" if node.kind == BOOL else "int64" if node.kind == INT else builder.scope.precision)


def converted(builder: Builder, given: Any, dtype: DType, written: str) -> Any:
    """A value as one of a dtype. Raises UnreadArgumentError for another precision of floats than the program's."""
    node = builder.value(given)
    name = dtype.name
    if name in _BOOLEAN:
        return as_boolean(node)
    if name in _WHOLE:
        return as_whole(builder, node)
    if name in _NARROW:
        if node.kind == BOOL:
            return as_whole(builder, node)
        raise UnreadArgumentError(f"there are no numbers of {name} here", help="write .long() for whole numbers")
    return as_float(builder, node, name, written)


def as_boolean(node: Expr) -> Expr:
    """Return what is not 0."""
    made: Expr = node if node.kind == BOOL else logic.not_equal(node, 0)
    return made


def as_whole(builder: Builder, node: Expr) -> Expr:
    """The whole numbers towards 0, as constants to every derivative."""
    if node.kind == INT:
        return node
    if node.kind == BOOL:
        truth: Expr = builder.graph.whole(_number(builder, node))
        return truth
    if node.is_constant and not isinstance(node.payload, np.ndarray) and np.isfinite(float(node.payload)):
        return builder.graph.constant(int(node.payload))
    whole: Expr = builder.whole(node if builder.is_integral(node) else trunc(node))
    return whole


def as_float(builder: Builder, node: Expr, name: str, written: str) -> Expr:
    """Floats of a precision: booleans and whole numbers as they are, known numbers rounded to it."""
    if node.kind != "float":
        return _number(builder, node)
    if PRECISIONS.get(name) == builder.scope.precision or name == "float":
        return node
    if name in _ROUNDED and node.is_constant:
        with np.errstate(all="ignore"):
            rounded = np.asarray(node.payload, _ROUNDED[name]).astype(np.float64)
        kept = node.payload is not None and np.array_equal(rounded, np.asarray(node.payload, np.float64), equal_nan=True)
        return node if kept else builder.graph.constant(rounded[()] if rounded.ndim == 0 else rounded)
    raise UnreadArgumentError(f"{written} would round to {name}", help="leave it out: numbers have one precision, which --dtype chooses")


def _number(builder: Builder, node: Expr) -> Expr:
    """Booleans or whole numbers as floats."""
    if node.is_constant and not isinstance(node.payload, np.ndarray):
        return builder.graph.constant(int(node.payload))
    made: Expr = builder.graph.apply(to_float, (node,))
    return made


def like(builder: Builder, x: Any, other: Any) -> Any:
    """A value in the dtype of another: booleans, whole numbers or floats."""
    return converted(builder, x, dtype_in(builder, builder.value(other)), "this conversion")


def is_device(argument: Any) -> bool:
    """Return whether an argument names where numbers are kept: all are kept in one place, so that moving them changes nothing."""
    if isinstance(argument, FreeVariable):
        return argument.name in ("device", "dev", "DEVICE")
    return isinstance(argument, str) and _DEVICE.fullmatch(argument) is not None


def to(builder: Builder, x: Expr, first: Any = None, second: Any = None, dtype: Any = None, device: Any = None, other: Any = None) -> Any:
    """``x.to(dtype)``, ``x.to(device)``, ``x.to(device, dtype)``, ``x.to(other)``."""
    if device is not None and not is_device(device):
        raise ArgumentError("to: device must be a device, such as 'cpu'", help="leave it out: everything is computed in one place")
    for given in (first, second, dtype, other):
        if given is None or is_device(given):
            continue
        kind = dtype_of(given)
        if kind is not None:
            x = converted(builder, x, kind, f"to({kind.name})")
        elif isinstance(given, str):
            raise ArgumentError(f"to: {given!r} is neither a dtype nor a device", help="leave it out: numbers have one precision")
        else:
            x = like(builder, x, given)
    return x


def astype(builder: Builder, x: Any, dtype: Any) -> Any:
    """``x.astype(dtype)``, ``x.type(dtype)``."""
    kind = dtype_of(dtype)
    if kind is None:
        raise ArgumentError("a dtype is wanted here", help="write x.astype(float)")
    return converted(builder, x, kind, f"astype({kind.name})")


def known_number(text: str) -> float:
    """The number that a string is for Python: ``float('-inf')``. Raises TypeMismatchError."""
    try:
        return float(text)
    except ValueError:
        raise TypeMismatchError(f"the string {text!r} is no number") from None


# -- Whether entries hold, and how many: ``any``, ``all``, ``count_nonzero``, ``isclose``,
# ``allclose``. No derivative flows through them.


def _holding(builder: Builder, x: Expr, axis: Any, keepdims: Any, where: Any, counted: float) -> Expr:
    """Count the chosen entries that are (or are not) 0."""
    ones = logic.where(as_boolean(x), counted, 1.0 - counted)
    if where is not None:
        ones = logic.where(as_boolean(builder.value(where)), ones, 0.0)
    static = static_parameters(sum_, {"axis": builder.static(axis, "an axis"), "keepdims": builder.static(keepdims, "a flag")})
    made: Expr = sum_(ones, **static)
    return made


def count_nonzero(builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False) -> Any:
    """Count the entries that are not 0."""
    return _holding(builder, x, axis, keepdims, None, 1.0)


def any_(builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """Return whether an entry is not 0."""
    return logic.greater(_holding(builder, x, axis, keepdims, where, 1.0), 0.0)


def all_(builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """Return whether no entry is 0."""
    return logic.equal(_holding(builder, x, axis, keepdims, where, 0.0), 0.0)


def isclose(builder: Builder, x: Expr, y: Expr, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Return whether entries differ by no more than ``atol + rtol*abs(y)``."""
    near = logic.less_equal(abs_(x - y), builder.value(atol) + builder.value(rtol) * abs_(y))
    close = logic.logical_or(logic.equal(x, y), logic.logical_and(near, logic.isfinite(y)))
    if not builder.flag(equal_nan, "'equal_nan'"):
        return close
    return logic.logical_or(close, logic.logical_and(logic.isnan(x), logic.isnan(y)))


def allclose(builder: Builder, x: Expr, y: Expr, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Return whether all entries are close."""
    return all_(builder, isclose(builder, x, y, rtol, atol, equal_nan))


def array_equal(builder: Builder, x: Expr, y: Expr) -> Any:
    """Return whether shapes and entries are equal."""
    return all_(builder, logic.equal(x, y)) if x.shape == y.shape else builder.graph.constant(False)


# -- The names under which libraries have them -----------------------------------------------------


_PAIR = "x, y|other, rtol, atol, equal_nan"
SHARED: dict[str, tuple[str, Callable[..., Any]]] = {
    "nonzero": ("x, as_tuple", nonzero),
    "argwhere": ("x", nonzero_rows),
    "flatnonzero": ("x", flatnonzero),
    "triu_indices": ("n, k, m", triu_indices),
    "tril_indices": ("n, k, m", tril_indices),
    "diag_indices": ("n, ndim", diag_indices),
    "ix_": ("***lists", ix_),
    "unravel_index": ("indices, shape|dims, -memory_order|order", unravel_index),
    "block": ("arrays", block),
    "delete": ("x|arr, obj, axis", delete),
    "insert": ("x|arr, obj, values, axis", insert),
    "any": ("x, axis, -out, keepdims, where", any_),
    "all": ("x, axis, -out, keepdims, where", all_),
    "count_nonzero": ("x, axis, keepdims", count_nonzero),
    "isclose": (_PAIR, isclose),
    "allclose": (_PAIR, allclose),
    "array_equal": ("x|a1, y|a2", array_equal),
}
OF_PYTORCH: dict[str, tuple[str, Callable[..., Any]]] = {
    **{name: SHARED[name] for name in words("argwhere any all count_nonzero isclose allclose unravel_index")},
    "any": ("x, axis, keepdims", any_),
    "all": ("x, axis, keepdims", all_),
    "equal": ("x, y", array_equal),
    "nonzero": ("x, as_tuple", nonzero_rows),
    "triu_indices": ("row, col, offset, -dtype, -device, -layout", triu_of_pytorch),
    "tril_indices": ("row, col, offset, -dtype, -device, -layout", tril_of_pytorch),
}
