"""Constructors of arrays, conversions, and other calls of programs that are no operations.

Arrays are made of a shape, of evenly spaced numbers or of given entries. Everything is computed in
the program's one precision. A conversion to it changes nothing. A conversion to whole numbers cuts
the fraction off, and no derivative flows through it. A conversion to booleans tells which entries
are not 0. A conversion to another precision of floats rounds known numbers, and is refused where it
would round a value that depends on a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language.names import FreeVariable, Indices, dtype_of
from gradcli.language.scope import Builder
from gradcli.namespace import compositions
from gradcli.namespace.generator import Generator
from gradcli.ops.arrays import shapes
from gradcli.ops.arrays.reshaping import movedim
from gradcli.ops.calling.inputs import BOOL, INT
from gradcli.ops.calling.prefixes import NUMPY, PRECISIONS, TORCH, DType
from gradcli.ops.calling.textbook import SPELLINGS
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import trunc
from gradcli.ops.registry import record_named
from gradcli.ops.spec import as_tuple
from gradcli.ops.structure import to_float
from gradcli.texts import read_float, words

_MANY = 2.0**63  # entries: more than any limit allows


def shape_of(
    builder: Builder, *extents: Any, place: str = "an extent of a shape"
) -> tuple[int, ...]:
    """Return the shape given to a constructor: zeros(2, 3), zeros((2, 3)) or zeros([2, 3])."""
    parts = [builder.static(e, place) for e in extents]
    if len(parts) == 1 and isinstance(parts[0], (tuple, list, np.ndarray)):
        parts = list(parts[0])
    shape = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (int, np.integer)) or part < 0:
            raise ArgumentError(
                f"an extent of a shape must be a whole number of at least 0, not {part!r}"
            )
        shape.append(int(part))
    builder.graph.limits.check_shape(tuple(shape))
    return tuple(shape)


def _as_dtype(builder: Builder, name: str, node: Expr, dtype: Any) -> Expr:
    """Entries as numbers of a dtype, if there is one."""
    if dtype is None:
        return node
    kind = dtype_of(dtype)
    if kind is None:
        raise ArgumentError(f"{name}: dtype must be a dtype, such as np.float64")
    made: Expr = convert(builder, node, kind, f"{name} with dtype={kind.name}")
    return made


def _spread(builder: Builder, name: str, value: Any, shape: tuple[int, ...], dtype: Any) -> Expr:
    node = _as_dtype(
        builder, name, value if isinstance(value, Expr) else builder.constant(value), dtype
    )
    return shapes.broadcast_to(node, shape=shape) if shape else node


def _filler(name: str, value: float) -> Callable[..., Expr]:
    """Return the constructor of zeros, or ones, of a shape.

    The shape is one whole number or several, known beforehand; anything else raises ArgumentError.

    A dtype may only state what holds anyway: the program's own precision, or whole numbers for
    whole entries. Any other raises UnreadArgumentError.
    """

    def make(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
        if (
            isinstance(shape, tuple)
            and len(shape) > 1
            and dtype is None
            and dtype_of(shape[-1]) is not None
        ):
            shape, dtype = shape[:-1], shape[-1]  # np.zeros(3, float)
        extents = as_tuple(shape)
        return _spread(builder, name, value, shape_of(builder, *extents), dtype)

    return make


def _alike(make: Callable[..., Expr]) -> Callable[..., Expr]:
    """Return the constructor of what another one makes, of the shape of x."""

    def alike(builder: Builder, x: Expr, dtype: Any = None) -> Expr:
        return make(builder, x.shape, dtype)

    return alike


zeros, ones = _filler("zeros", 0.0), _filler("ones", 1.0)


def full(builder: Builder, shape: Any, value: Expr, dtype: Any = None) -> Expr:
    """Make an array of a shape whose entries are all one value, which keeps its derivative."""
    return _spread(builder, "full", value, shape_of(builder, shape), dtype)


def full_like(builder: Builder, x: Expr, value: Expr, dtype: Any = None) -> Expr:
    """Make an array of the shape of x filled with one value, which keeps its derivative."""
    return full(builder, x.shape, value, dtype)


def eye(builder: Builder, n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Expr:
    """Make a matrix of n rows and m columns with ones on its k-th diagonal.

    ``m`` is n by default; diagonals are counted to the right of the main one.
    """
    rows, columns = shape_of(builder, n, n if m is None else m)
    builder.check_array((rows, columns))
    return _as_dtype(
        builder,
        "eye",
        builder.constant(np.eye(rows, columns, builder.integer(k, "'k' of eye"))),
        dtype,
    )


def array(builder: Builder, x: Any, dtype: Any = None) -> Expr:
    """Make an array of a value or a nested list."""
    return _as_dtype(builder, "array", builder.value(list(x) if isinstance(x, tuple) else x), dtype)


def arange(
    builder: Builder, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None
) -> Expr:
    """Numbers from start (0) up to stop, which is not among them, by step.

    How many there are is decided beforehand, of the bound values.

    Raises ArgumentError for bounds that are not finite and for a step of 0, LimitError for too
    many.
    """
    if stop is None or dtype_of(stop) is not None:
        dtype, start, stop = stop if dtype is None else dtype, 0, start
    step = 1 if step is None else step
    first, last, by = (
        builder.number(start, None),
        builder.number(stop, "the end of arange"),
        builder.number(step, None),
    )
    if by == 0 or not all(math.isfinite(v) for v in (first, last, by)):
        raise ArgumentError("arange needs finite bounds and a step other than 0")
    count = math.ceil(max(0.0, min((last - first) / by, _MANY)))
    builder.check_array((count,))
    if count and (builder.varies(start) or builder.varies(step)):
        along: Expr = builder.value(start) + builder.constant(np.arange(count)) * builder.value(
            step
        )
    else:  # for no entries, NumPy may still call the extent too large
        along = builder.constant(
            np.arange(first, last, by) if count else np.empty(0, np.result_type(first, last, by))
        )
    return _as_dtype(builder, "arange", along, dtype)


def _spaced(name: str) -> Callable[..., Any]:
    """Return the constructor of numbers from start to stop along a new axis.

    There are 50 numbers unless ``num`` says otherwise, and the new axis is the first by default.
    They are evenly spaced, powers of a base (10) with evenly spaced exponents, or in constant
    ratio.

    With ``endpoint``, stop is the last of them; with ``retstep``, their distance is returned, too.
    They are constants if nothing that they are made of varies. Raises ShapeError for ends that do
    not broadcast together, ArgumentError for a count that is not a whole number and for a constant
    ratio between two signs or to 0.
    """

    def make(
        builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, base: Any = 10.0,
        dtype: Any = None, axis: Any = 0,
    ) -> Any:  # fmt: skip
        if isinstance(num, (tuple, list)) or (isinstance(num, Expr) and num.shape):
            raise ArgumentError("how many numbers is one whole number")
        (count,) = shape_of(builder, num, place=f"'num' of {name}")
        ends = builder.value(start), builder.value(stop)
        try:
            common = np.broadcast_shapes(*[end.shape for end in ends])
        except ValueError:
            raise ShapeError(
                f"{name}: ends of the shapes {ends[0].shape} and {ends[1].shape} do not broadcast "
                "together"
            ) from None
        builder.check_array((count, *common))
        closed = builder.flag(endpoint, f"'endpoint' of {name}")
        step: Any = None
        if name == "geomspace":
            first, last = (np.asarray(builder.scope.evaluate(end), float) for end in ends)
            if 0 in first or 0 in last or np.any(np.sign(first) * np.sign(last) < 0):
                raise ArgumentError("geomspace needs two ends of one sign, neither of them 0")
            if builder.varies([*ends]):
                rows = compositions.ratios(*ends, count, closed)
            else:
                with np.errstate(all="ignore"):
                    points = np.geomspace(first, last, count, endpoint=closed)
                rows = builder.constant(points)
        else:
            rows, step = compositions.line(*ends, count, closed)
        if name == "logspace":
            rows = builder.value(base) ** rows
        numbers = movedim(rows, source=0, destination=builder.integer(axis, f"'axis' of {name}"))
        if not builder.varies(numbers):
            numbers, step = (
                part if part is None else builder.constant(builder.scope.evaluate(part))
                for part in (numbers, step)
            )
        numbers = _as_dtype(builder, name, numbers, dtype)
        return (numbers, step) if builder.flag(retstep, f"'retstep' of {name}") else numbers

    return make


def _drawer(name: str, library: str = NUMPY) -> Callable[..., Expr]:
    """Return the constructor of random numbers from the program's generator, or a seeded one.

    The seeded generator is the one that the program has seeded itself. The numbers are constants:
    nothing is differentiated through them.
    """

    def make(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
        drawn = shape_of(builder, *as_tuple(shape))
        builder.check_array(drawn)
        source = builder.scope.seeded.get(library, builder.scope.random)
        if isinstance(source, Generator):
            kind = np.float64 if dtype is not None and dtype.name == "float64" else np.float32
            numbers = (source.uniform if name == "rand" else source.normal)(drawn, kind)
        else:
            numbers = (source.random if name == "rand" else source.standard_normal)(drawn)
        return _as_dtype(builder, name, builder.scope.draw(np.asarray(numbers)), dtype)

    return make


def randint(builder: Builder, low: Any = 0, high: Any = None, shape: Any = None) -> Expr:
    """Random whole numbers from low to less than high; with one number before the shape, from 0."""
    if shape is None:
        low, high, shape = 0, low, high
    ends = builder.integer(low, "'low'"), builder.integer(high, "'high'")
    drawn = shape_of(builder, shape)
    builder.check_array(drawn)
    if ends[0] >= ends[1]:
        raise ArgumentError(f"randint draws from low to less than high, not {ends[0]}, {ends[1]}")
    source = builder.scope.seeded.get(TORCH)
    numbers = (
        builder.scope.random.integers(*ends, drawn)
        if source is None
        else source.whole(*ends, drawn)
    )
    return builder.constant(numbers)


def randperm(builder: Builder, n: Any) -> Expr:
    """Return the numbers from 0 up to, but without, n in random order."""
    count = builder.integer(n, "'n'")
    if count < 0:
        raise ArgumentError(f"randperm: n must be at least 0, not {count}")
    builder.check_array((count,))
    source = builder.scope.seeded.get(TORCH, builder.scope.random)
    return builder.constant(source.permutation(count))


# -- Numbers taken for numbers of another dtype: ``x.long()``, ``x.to(y)``, ``np.float32(2.)``


_WHOLE = words("int64 int32 long int")
_NARROW = words("int16 int8 uint8 short char byte")  # where numbers that do not fit wrap around
_BOOLEAN = frozenset({"bool", "bool_"})
_ROUNDED = words("float64 double float32 float16 half")
_DEVICE = re.compile(r"(cpu|cuda|mps|xpu|xla|gpu|tpu)(:\d+)?")


def dtype_in(builder: Builder, node: Expr) -> DType:
    """Return the dtype of a value: the program's precision, booleans, or whole numbers."""
    return DType(
        "bool" if node.kind == BOOL else "int64" if node.kind == INT else builder.scope.precision
    )


def convert(builder: Builder, given: Any, dtype: DType, written: str) -> Any:
    """Convert a value to a dtype.

    Raises UnreadArgumentError for a precision of floats that is not the program's.
    """
    node = builder.value(given)
    name = dtype.name
    if name in _BOOLEAN:
        return as_boolean(node)
    if name in _WHOLE:
        return as_whole(builder, node)
    if name in _NARROW:
        if node.kind == BOOL:
            return as_whole(builder, node)
        raise UnreadArgumentError(
            f"there are no numbers of {name} here", help="write .long() for whole numbers"
        )
    return as_float(builder, node, name, written)


def as_boolean(node: Expr) -> Expr:
    """Return what is not 0."""
    return node if node.kind == BOOL else logic.not_equal(node, 0)


def as_whole(builder: Builder, node: Expr) -> Expr:
    """Round to whole numbers towards 0, which are constants for every derivative."""
    if node.kind == INT:
        return node
    if node.kind == BOOL:
        truth: Expr = builder.graph.whole(_number(builder, node))
        return truth
    if (
        node.is_constant
        and not isinstance(node.payload, np.ndarray)
        and np.isfinite(float(node.payload))
    ):
        return builder.constant(int(node.payload))
    whole: Expr = builder.whole(node if builder.scope.is_integral(node) else trunc(node))
    return whole


def as_float(builder: Builder, node: Expr, name: str, written: str) -> Expr:
    """Return a value as floats of a precision.

    Booleans and whole numbers stay as they are; known numbers are rounded to the precision.
    """
    if node.kind != "float":
        return _number(builder, node)
    if PRECISIONS.get(name) == builder.scope.precision or name == "float":
        return node
    if name in _ROUNDED and node.is_constant:
        with np.errstate(all="ignore"):
            rounded = np.asarray(node.payload, name).astype(np.float64)
        kept = node.payload is not None and np.array_equal(
            rounded, np.asarray(node.payload, np.float64), equal_nan=True
        )
        return node if kept else builder.constant(rounded[()])
    raise UnreadArgumentError(
        f"{written} would round to {name}",
        help="leave it out: numbers have one precision, which --dtype chooses",
    )


def _number(builder: Builder, node: Expr) -> Expr:
    """Booleans or whole numbers as floats."""
    if node.is_constant and not isinstance(node.payload, np.ndarray):
        return builder.constant(int(node.payload))
    return builder.graph.apply(to_float, (node,))


def like(builder: Builder, x: Any, other: Any) -> Any:
    """Convert a value to the dtype of another: booleans, whole numbers or floats."""
    return convert(builder, x, dtype_in(builder, builder.value(other)), "this conversion")


def is_device(argument: Any) -> bool:
    """Return whether an argument names the place where numbers are kept.

    All numbers are kept in one place, so moving them changes nothing.
    """
    if isinstance(argument, FreeVariable):
        return argument.name in ("device", "dev", "DEVICE")
    return isinstance(argument, str) and _DEVICE.fullmatch(argument) is not None


def to(
    builder: Builder,
    x: Expr,
    first: Any = None,
    second: Any = None,
    dtype: Any = None,
    device: Any = None,
    other: Any = None,
) -> Any:
    """``x.to(dtype)``, ``x.to(device)``, ``x.to(device, dtype)``, ``x.to(other)``."""
    if device is not None and not is_device(device):
        raise ArgumentError(
            "to: device must be a device, such as 'cpu'",
            help="leave it out: everything is computed in one place",
        )
    for given in (first, second, dtype, other):
        if given is None or is_device(given):
            continue
        kind = dtype_of(given)
        if kind is not None:
            x = convert(builder, x, kind, f"to({kind.name})")
        elif isinstance(given, str):
            raise ArgumentError(
                f"to: {given!r} is neither a dtype nor a device",
                help="leave it out: numbers have one precision",
            )
        else:
            x = like(builder, x, given)
    return x


def astype(builder: Builder, x: Any, dtype: Any) -> Any:
    """``x.astype(dtype)``, ``x.type(dtype)``."""
    kind = dtype_of(dtype)
    if kind is None:
        raise ArgumentError("a dtype is wanted here", help="write x.astype(float)")
    return convert(builder, x, kind, f"astype({kind.name})")


def known_number(text: str) -> float:
    """Return the number that Python makes of a string, as in ``float('-inf')``.

    Raises TypeMismatchError.
    """
    try:
        return read_float(text)
    except (ValueError, OverflowError):
        raise TypeMismatchError(f"the string {text!r} is no number") from None


def whole_numbers(builder: Builder, array: Any) -> Expr:
    raw = np.asarray(array, np.int64)
    builder.check_array(raw.shape)
    return builder.constant(raw if raw.ndim else int(raw))


def indices_by_numpy(builder: Builder, name: str, *given: Any, rows: bool = False) -> Any:
    """Return the indices that a function of NumPy gives.

    They are an array for each axis, or one matrix if ``rows`` is set.
    """
    try:
        found = getattr(np, name)(*given)
    except ValueError as error:
        raise ShapeError(f"{name}: {error}") from None
    if rows:
        return whole_numbers(builder, np.stack(found))
    return (
        Indices(whole_numbers(builder, part) for part in found)
        if isinstance(found, tuple)
        else whole_numbers(builder, found)
    )


def mask_of(builder: Builder, x: Any) -> Any:
    return np.asarray(builder.static(builder.value(x), "a mask"))


def nonzero(builder: Builder, x: Any, as_tuple: Any = True) -> Any:
    """Return the indices of the entries that are not 0, an array for each axis.

    They are the rows of one matrix if ``as_tuple`` is false.
    """
    mask = mask_of(builder, x)
    if builder.flag(as_tuple, "'as_tuple'"):
        return indices_by_numpy(builder, "nonzero", np.atleast_1d(mask))
    return indices_by_numpy(builder, "argwhere", mask)


def nonzero_rows(builder: Builder, x: Any, as_tuple: Any = False) -> Any:
    """Return the indices of the entries that are not 0, as the rows of a matrix.

    The matrix has a column for each axis.
    """
    return nonzero(builder, x, as_tuple)


# -- Functions of the language that are compositions of operations -------------------------------
#
# Each takes the lowering (for its graph, limits and random numbers), then arguments already
# lowered: nodes, and Python values for shapes, axes and the like.


def as_is(builder: Builder, x: Expr) -> Expr:
    """Return x itself, as a node.

    This serves methods that change no entry of a number in the program's precision.
    """
    return x


def maximum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    return reduce(logic.maximum, map(builder.value, values))


def minimum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed min: of several values the smallest, of one array its smallest entry."""
    return reduce(logic.minimum, map(builder.value, values))


def einsum(builder: Builder, arguments: Any) -> Any:
    """Compute sums of products, also in PyTorch's other forms.

    There, the operands are one list, before or after the subscripts.
    """
    first, *rest = arguments or (None,)
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    operands = [
        o for r in rest for o in (r if isinstance(r, (list, tuple)) and len(rest) == 1 else [r])
    ]
    if not isinstance(first, str) or not operands:
        raise ArgumentError(
            "einsum needs its subscripts as a string, and operands",
            help="write einsum('ij,jk->ik', a, b)",
        )
    return record_named("einsum")(*map(builder.value, operands), subscripts=first)


def length(builder: Builder, x: Any) -> Any:
    """Return how many entries a tuple, a list or the first axis of an array has.

    Raises TypeMismatchError for a number, which has none.
    """
    if isinstance(x, (tuple, list)):
        return builder.constant(len(x))
    node = builder.value(x)
    if not node.shape:
        raise TypeMismatchError("a number has no length")
    return builder.constant(node.shape[0])


def item(builder: Builder, x: Expr) -> Any:
    """Return the number in an array of one entry.

    Raises ShapeError for any other array.
    """
    if x.size != 1:
        raise ShapeError(f"item() needs an array of one entry, not of shape {x.shape}")
    return shapes.reshape(x, shape=()) if x.shape else x


def cho_factor(builder: Builder, x: Expr, lower: Any = False) -> Any:
    """Return a Cholesky factor, and whether it is the lower one, for cho_solve.

    This is scipy.linalg.cho_factor.
    """
    return compositions.cho_factor(x, builder.flag(lower, "'lower' of cho_factor"))


def cho_solve(builder: Builder, c_and_lower: Any, y: Expr) -> Any:
    """scipy.linalg.cho_solve((c, lower), b): the solution with the matrix that has this factor.

    Raises ArgumentError for any other pair.
    """
    if not isinstance(c_and_lower, tuple) or len(c_and_lower) != 2:
        raise ArgumentError(
            "cho_solve needs a factor and whether it is the lower one",
            help="write cho_solve((L, True), b)",
        )
    return compositions.cho_solve(
        builder.value(c_and_lower[0]), builder.flag(c_and_lower[1], "'lower' of cho_solve"), y
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "zeros": zeros, "ones": ones, "zeros_like": _alike(zeros), "ones_like": _alike(ones),
    **{name: _drawer(name) for name in words("rand randn")},
    **{f"torch_{name}": _drawer(name, TORCH) for name in words("rand randn")},
    **{f"{name}_like": _alike(_drawer(name, TORCH)) for name in words("rand randn")},
    **{f.__name__: f for f in (full, full_like, eye, arange, array, einsum, item, randint, randperm)},
    **{name: _spaced(name) for name in words("linspace logspace geomspace")},
    "Tensor.contiguous": as_is, "ndarray.nonzero": nonzero, "Tensor.nonzero": nonzero_rows, "len": length,
    "cho_factor": cho_factor, "cho_solve": cho_solve,
}  # fmt: skip
ALIASES = {"random": "rand", "standard_normal": "randn", **SPELLINGS}
