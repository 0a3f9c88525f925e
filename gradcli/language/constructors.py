"""Constructors: arrays of a shape, of evenly spaced numbers, of given entries; and what else a program calls that is no operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language.names import dtype_of
from gradcli.language.scope import Builder
from gradcli.namespace import compositions
from gradcli.ops.arrays import shapes
from gradcli.ops.arrays.reshaping import movedim
from gradcli.ops.calling.prefixes import DTYPES, PRECISIONS
from gradcli.ops.calling.textbook import SPELLINGS
from gradcli.ops.elementwise import logic
from gradcli.ops.registry import named

_MANY = 2.0**63  # entries: no limit allows as many
_WHOLE = frozenset(name for name in DTYPES if name.startswith(("int", "long")))


def shape_of(builder: Builder, *extents: Any, place: str = "an extent of a shape") -> tuple[int, ...]:
    """The shape of a constructor: zeros(2, 3), zeros((2, 3)) and zeros([2, 3]) alike."""
    parts = [builder.static(e, place) for e in extents]
    if len(parts) == 1 and isinstance(parts[0], (tuple, list, np.ndarray)):
        parts = list(parts[0])
    shape = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (int, np.integer)) or part < 0:
            raise ArgumentError(f"an extent of a shape must be a whole number of at least 0, not {part!r}")
        shape.append(int(part))
    builder.graph.limits.check_shape(tuple(shape))
    return tuple(shape)


def _typed(builder: Builder, name: str, node: Expr, dtype: Any) -> Expr:
    """Entries that a dtype leaves as they are: the program's own, or one for whole numbers of whole numbers."""
    if dtype is None:
        return node
    kind = dtype_of(dtype)
    if kind is None:
        raise ArgumentError(f"{name}: dtype must be a dtype, such as np.float64")
    known = node
    while known.op is shapes.broadcast_to:
        known = known.operand
    if kind.name.startswith("bool"):
        if node.kind == "bool":
            return node
        if known.is_constant:
            made: Expr = logic.not_equal(node, 0)
            return made
    elif node.kind != "bool":
        whole = builder.is_integral(node) or (known.is_constant and bool(np.all(np.mod(np.asarray(known.payload, float), 1) == 0)))
        if PRECISIONS.get(kind.name) == builder.scope.precision or (kind.name in _WHOLE and whole):
            return node
    raise UnreadArgumentError(
        f"{name} does not support dtype={kind.name} here",
        help="leave it out: numbers have one precision, which --dtype chooses; comparisons (x != 0) give booleans",
    )


def _spread(builder: Builder, name: str, value: Any, shape: tuple[int, ...], dtype: Any) -> Expr:
    node = value if isinstance(value, Expr) else builder.graph.constant(value)
    filled: Expr = shapes.broadcast_to(node, shape=shape) if shape else node
    return _typed(builder, name, filled, dtype)


def _filled(name: str, value: float) -> Callable[..., Expr]:
    """Zeros, or ones, of a shape: a whole number or several of them, known beforehand; ArgumentError otherwise.

    A dtype may say what holds anyway: the program's own precision, whole numbers where the entries are; else UnreadArgumentError.
    """

    def make(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
        if isinstance(shape, tuple) and len(shape) > 1 and dtype is None and dtype_of(shape[-1]) is not None:
            shape, dtype = shape[:-1], shape[-1]  # np.zeros(3, float)
        extents = shape if isinstance(shape, tuple) else (shape,)
        return _spread(builder, name, value, shape_of(builder, *extents), dtype)

    make.__name__ = name
    return make


def _filled_alike(name: str, value: float) -> Callable[..., Expr]:
    """Zeros, or ones, of the shape of x."""

    def make(builder: Builder, x: Expr, dtype: Any = None) -> Expr:
        return _spread(builder, name, value, x.shape, dtype)

    make.__name__ = name
    return make


zeros, ones = _filled("zeros", 0.0), _filled("ones", 1.0)


def full(builder: Builder, shape: Any, value: Expr, dtype: Any = None) -> Expr:
    """An array of a shape whose entries are all a value, which keeps its derivative."""
    return _spread(builder, "full", value, shape_of(builder, shape), dtype)


def full_like(builder: Builder, x: Expr, value: Expr, dtype: Any = None) -> Expr:
    """An array of the shape of x whose entries are all a value, which keeps its derivative."""
    return _spread(builder, "full_like", value, x.shape, dtype)


def eye(builder: Builder, n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Expr:
    """A matrix of n rows and m columns (n by default) with ones on its k-th diagonal, to the right of the main one."""
    rows, columns = shape_of(builder, n, n if m is None else m)
    builder.graph.limits.check_array((rows, columns))
    return _typed(builder, "eye", builder.graph.constant(np.eye(rows, columns, builder.integer(k, "'k' of eye"))), dtype)


def identity(builder: Builder, n: Any, dtype: Any = None) -> Expr:
    """The identity matrix of n rows."""
    return eye(builder, n, dtype=dtype)


def array(builder: Builder, x: Any, dtype: Any = None) -> Expr:
    """A value or a nested list as an array."""
    return _typed(builder, "array", builder.value(list(x) if isinstance(x, tuple) else x), dtype)


def arange(builder: Builder, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Expr:
    """Numbers from start (0) up to stop, which is not among them, by step. How many there are is decided beforehand, of the bound values.

    Raises ArgumentError for bounds that are not finite and for a step of 0, LimitError for too many.
    """
    if stop is None or dtype_of(stop) is not None:
        dtype, start, stop = stop if dtype is None else dtype, 0, start
    step = 1 if step is None else step
    first, last, by = builder.number(start, None), builder.number(stop, "the end of arange"), builder.number(step, None)
    if by == 0 or not all(math.isfinite(v) for v in (first, last, by)):
        raise ArgumentError("arange needs finite bounds and a step other than 0")
    count = math.ceil(max(0.0, min((last - first) / by, _MANY)))
    builder.graph.limits.check_array((count,))
    if count and (builder.varies(start) or builder.varies(step)):
        along: Expr = builder.value(start) + builder.graph.constant(np.arange(count)) * builder.value(step)
    else:  # of an extent that is none, NumPy may say that it is too large
        along = builder.graph.constant(np.arange(first, last, by) if count else np.empty(0, np.result_type(first, last, by)))
    return _typed(builder, "arange", along, dtype)


def linspace(
    builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: Any = 0
) -> Any:  # fmt: skip
    """So many (50) evenly spaced numbers from start to stop, which broadcast, along a new axis: the first by default.

    With ``endpoint`` stop is the last of them; with ``retstep`` their distance comes, too. Raises ShapeError for ends that do not
    broadcast together, ArgumentError for a count that is no whole number.
    """
    numbers, step = _spaced(builder, "linspace", compositions.line, start, stop, num, endpoint, dtype, axis)
    return (numbers, step) if builder.flag(retstep, "'retstep' of linspace") else numbers


def logspace(
    builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:  # fmt: skip
    """Powers of a base (10) whose exponents are those of `linspace`."""

    def powers(*ends: Any) -> tuple[Any, Any]:
        return builder.value(base) ** compositions.line(*ends)[0], None

    return _spaced(builder, "logspace", powers, start, stop, num, endpoint, dtype, axis)[0]


def geomspace(builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    """Numbers of constant ratio from start to stop, both of one sign. Raises ArgumentError for ends of two signs, and for 0."""
    known = [np.asarray(builder.scope.evaluate(builder.value(end)), float) for end in (start, stop)]

    def ratios(first: Expr, last: Expr, count: int, ends: bool) -> tuple[Any, Any]:
        if np.any(np.sign(known[0]) * np.sign(known[1]) <= 0):
            raise ArgumentError("geomspace needs two ends of one sign, neither of them 0")
        if builder.varies([start, stop]):
            return compositions.ratios(first, last, count, ends), None
        return builder.graph.constant(np.geomspace(known[0], known[1], count, endpoint=ends)), None

    return _spaced(builder, "geomspace", ratios, start, stop, num, endpoint, dtype, axis)[0]


def _spaced(
    builder: Builder, name: str, make: Callable[..., tuple[Any, Any]], start: Any, stop: Any, num: Any, endpoint: Any, dtype: Any, axis: Any
) -> tuple[Any, Any]:  # fmt: skip
    """Evenly spaced numbers from start to stop, and their distance: constants, where nothing that they are made of varies."""
    if isinstance(num, (tuple, list)) or (isinstance(num, Expr) and num.shape):
        raise ArgumentError("how many numbers is one whole number")
    count = shape_of(builder, num, place=f"'num' of {name}")[0]
    first, last = builder.value(start), builder.value(stop)
    try:
        common = np.broadcast_shapes(first.shape, last.shape)
    except ValueError:
        raise ShapeError(f"{name}: ends of the shapes {first.shape} and {last.shape} do not broadcast together") from None
    builder.graph.limits.check_array((count, *common))
    rows, step = make(first, last, count, builder.flag(endpoint, f"'endpoint' of {name}"))
    numbers = movedim(rows, source=0, destination=builder.integer(axis, f"'axis' of {name}"))
    if not builder.varies(numbers):
        numbers, step = (part if part is None else builder.graph.constant(builder.scope.evaluate(part)) for part in (numbers, step))
    return _typed(builder, name, numbers, dtype), step


def _drawn(name: str) -> Callable[..., Expr]:
    """Random numbers of the program's generator; constants, so that nothing is differentiated through them."""

    def make(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
        drawn = shape_of(builder, *(shape if isinstance(shape, tuple) else (shape,)))
        builder.graph.limits.check_array(drawn)
        draw = builder.random.random if name == "rand" else builder.random.standard_normal
        return _typed(builder, name, builder.scope.drawn(np.asarray(draw(drawn))), dtype)

    make.__name__ = name
    return make


# -- Functions of the language that are compositions of operations ---------------------------------
#
# Each takes the lowering (for its graph, limits and random numbers), then arguments already
# lowered: nodes, and Python values for shapes, axes and the like.


def as_is(builder: Builder, x: Expr) -> Expr:
    """x itself, as a node: for methods that change no entry of a number in the program's precision."""
    return x


def maximum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    return reduce(logic.maximum, map(builder.value, values))


def minimum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed min: of several values the smallest, of one array its smallest entry."""
    return reduce(logic.minimum, map(builder.value, values))


def einsum(builder: Builder, arguments: Any) -> Any:
    """einsum('ij,jk->ik', a, b), and PyTorch's other forms: the operands as one list, before or after the subscripts."""
    first, *rest = arguments or (None,)
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    if not isinstance(first, (str, list, tuple)) and rest and all(isinstance(part, (list, tuple)) for part in rest[::2]):
        first, operands = compositions.lettered([first, *rest], partial(builder.integer, place="a label of einsum"))
    else:
        operands = [o for r in rest for o in (r if isinstance(r, (list, tuple)) and len(rest) == 1 else [r])]
    if not isinstance(first, str) or not operands:
        raise ArgumentError("einsum needs its subscripts as a string, and operands", help="write einsum('ij,jk->ik', a, b)")
    return named("einsum")(*map(builder.value, operands), subscripts=first)


def length(builder: Builder, x: Any) -> Any:
    """How many entries a tuple, a list or the first axis of an array has. Raises TypeMismatchError for a number, which has none."""
    if isinstance(x, (tuple, list)):
        return builder.graph.constant(len(x))
    node = builder.value(x)
    if not node.shape:
        raise TypeMismatchError("a number has no length")
    return builder.graph.constant(node.shape[0])


def item(builder: Builder, x: Expr) -> Any:
    """The number in an array of one entry. Raises ShapeError for any other."""
    if math.prod(x.shape) != 1:
        raise ShapeError(f"item() needs an array of one entry, not of shape {x.shape}")
    return shapes.reshape(x, shape=()) if x.shape else x


def cho_factor(builder: Builder, x: Expr, lower: Any = False) -> Any:
    """scipy.linalg.cho_factor: a Cholesky factor, and whether it is the lower one; for cho_solve."""
    return compositions.cho_factor(x, builder.flag(lower, "'lower' of cho_factor"))


def cho_solve(builder: Builder, c_and_lower: Any, y: Expr) -> Any:
    """scipy.linalg.cho_solve((c, lower), b): the solution with the matrix that has this factor. Raises ArgumentError for any other pair."""
    if not isinstance(c_and_lower, tuple) or len(c_and_lower) != 2:
        raise ArgumentError("cho_solve needs a factor and whether it is the lower one", help="write cho_solve((L, True), b)")
    return compositions.cho_solve(builder.value(c_and_lower[0]), builder.flag(c_and_lower[1], "'lower' of cho_solve"), y)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "zeros": zeros, "ones": ones, "zeros_like": _filled_alike("zeros_like", 0.0), "ones_like": _filled_alike("ones_like", 1.0),
    "rand": _drawn("rand"), "randn": _drawn("randn"),
    **{f.__name__: f for f in (full, full_like, eye, identity, arange, linspace, logspace, geomspace, array, einsum, item)},
    "len": length, "cho_factor": cho_factor, "cho_solve": cho_solve,
    **dict.fromkeys(("contiguous", "double", "float"), as_is),
}  # fmt: skip
ALIASES = {"random": "rand", "standard_normal": "randn", **SPELLINGS}
