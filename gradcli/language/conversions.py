"""Numbers taken for numbers of another dtype: ``x.long()``, ``x.to(y)``, ``mask.astype(float)``, ``np.float32(2.)``.

Everything is computed in the program's one precision. A conversion to it changes nothing; one to whole numbers cuts the fraction off, and
no derivative flows through it; one to booleans says what is not 0; one to another precision of floats rounds what is known beforehand,
and is refused where it would round what depends on a name.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, TypeMismatchError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language.names import FreeVariable, dtype_of
from gradcli.language.scope import Builder
from gradcli.ops.calling.binding import static_parameters
from gradcli.ops.calling.inputs import BOOL, INT
from gradcli.ops.calling.prefixes import PRECISIONS, DType
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_, trunc
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.structure import to_float

_WHOLE = frozenset({"int64", "int32", "long", "int"})
_NARROW = frozenset({"int16", "int8", "uint8", "short", "char", "byte"})  # numbers that do not fit wrap around there
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
    """How many of the chosen entries are (or are not) 0."""
    ones = logic.where(as_boolean(x), counted, 1.0 - counted)
    if where is not None:
        ones = logic.where(as_boolean(builder.value(where)), ones, 0.0)
    static = static_parameters(sum_, {"axis": builder.static(axis, "an axis"), "keepdims": builder.static(keepdims, "a flag")})
    made: Expr = sum_(ones, **static)
    return made


def count_nonzero(builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False) -> Any:
    """How many entries are not 0."""
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
    close = logic.logical_or(logic.equal(x, y), logic.logical_and(near, logic.logical_and(logic.isfinite(x), logic.isfinite(y))))
    if not builder.flag(equal_nan, "'equal_nan'"):
        return close
    return logic.logical_or(close, logic.logical_and(logic.isnan(x), logic.isnan(y)))


def allclose(builder: Builder, x: Expr, y: Expr, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Return whether all entries are close."""
    return all_(builder, isclose(builder, x, y, rtol, atol, equal_nan))


def array_equal(builder: Builder, x: Expr, y: Expr) -> Any:
    """Return whether shapes and entries are equal."""
    return all_(builder, logic.equal(x, y)) if x.shape == y.shape else builder.graph.constant(False)
