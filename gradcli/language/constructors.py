"""Constructors: arrays of a shape, of evenly spaced numbers, of given entries.

What has a derivative keeps it: the ends of a range are operands, and only how many numbers it has is decided beforehand.
"""

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
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.prefixes import DTYPES, PRECISIONS, DType
from gradcli.ops.calling.textbook import SPELLINGS
from gradcli.ops.elementwise import bounds, logic
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.exponential import exp, log
from gradcli.ops.registry import find, named

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
    if PRECISIONS.get(kind.name) == builder.scope.precision and node.kind != "bool":
        return node
    if kind.name.startswith("bool"):
        if node.kind == "bool":
            return node
        if _known(node).is_constant:
            made: Expr = logic.not_equal(node, 0)
            return made
    elif node.kind != "bool" and ((kind.name in _WHOLE and builder.is_integral(node)) or _holds_whole(kind, node)):
        return node
    raise UnreadArgumentError(
        f"{name} does not support dtype={kind.name} here",
        help="leave it out: numbers have one precision, which --dtype chooses; comparisons (x != 0) give booleans",
    )


def _known(node: Expr) -> Expr:
    """Return what is repeated in an array, or the array."""
    while node.op is shapes.broadcast_to:
        node = node.operand
    return node


def _holds_whole(kind: DType, node: Expr) -> bool:
    """Return whether a dtype of whole numbers leaves these entries as they are, which are known."""
    node = _known(node)
    return kind.name in _WHOLE and node.is_constant and bool(np.all(np.mod(np.asarray(node.payload, float), 1) == 0))


def _filled(builder: Builder, name: str, value: Any, extents: tuple[Any, ...], dtype: Any) -> Expr:
    if extents and isinstance(extents[0], tuple) and len(extents) == 1:
        extents = extents[0]
    if len(extents) > 1 and dtype is None and dtype_of(extents[-1]) is not None:
        extents, dtype = extents[:-1], extents[-1]  # np.zeros(3, float)
    return _spread(builder, name, value, shape_of(builder, *extents), dtype)


def _spread(builder: Builder, name: str, value: Any, shape: tuple[int, ...], dtype: Any) -> Expr:
    node = value if isinstance(value, Expr) else builder.graph.constant(value)
    filled: Expr = shapes.broadcast_to(node, shape=shape) if shape else node
    return _typed(builder, name, filled, dtype)


def zeros(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
    """Zeros of a shape. The shape of a constructor is a whole number or several of them, known beforehand; ArgumentError otherwise.

    A dtype may say what holds anyway: the program's own precision, whole numbers where the entries are; else UnreadArgumentError.
    """
    return _filled(builder, "zeros", 0.0, (shape,), dtype)


def ones(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
    """Ones of a shape."""
    return _filled(builder, "ones", 1.0, (shape,), dtype)


def full(builder: Builder, shape: Any, value: Expr, dtype: Any = None) -> Expr:
    """An array of a shape whose entries are all a value, which keeps its derivative."""
    return _spread(builder, "full", value, shape_of(builder, shape), dtype)


def zeros_like(builder: Builder, x: Expr, dtype: Any = None) -> Expr:
    """Zeros of the shape of x."""
    return _spread(builder, "zeros_like", 0.0, x.shape, dtype)


def ones_like(builder: Builder, x: Expr, dtype: Any = None) -> Expr:
    """Ones of the shape of x."""
    return _spread(builder, "ones_like", 1.0, x.shape, dtype)


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
    # of an extent that is none, NumPy may say that it is too large
    fixed = np.arange(first, last, by) if count else np.empty(0, np.result_type(first, last, by))
    if not (count and (builder.varies(start) or builder.varies(step))):
        return _typed(builder, "arange", builder.graph.constant(fixed), dtype)
    along: Expr = builder.value(start) + builder.graph.constant(np.arange(count)) * builder.value(step)
    return _typed(builder, "arange", along, dtype)


def _count(builder: Builder, name: str, num: Any) -> int:
    if isinstance(num, (tuple, list)) or (isinstance(num, Expr) and num.shape):
        raise ArgumentError("how many numbers is one whole number")
    return shape_of(builder, num, place=f"'num' of {name}")[0]


def _moved(builder: Builder, name: str, rows: Expr, axis: Any) -> Expr:
    """Rows as the entries along another axis."""
    place, ndim = builder.integer(axis, f"'axis' of {name}"), rows.ndim
    if not -ndim <= place < ndim:
        raise ArgumentError(f"axis {place} is out of range for an array of {ndim} axes")
    others = list(range(1, ndim))
    others.insert(place % ndim, 0)
    moved: Expr = shapes.transpose(rows, axes=tuple(others)) if place % ndim else rows
    return moved


def _common_shape(name: str, first: Expr, last: Expr) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(first.shape, last.shape)
    except ValueError:
        raise ShapeError(f"{name}: ends of the shapes {first.shape} and {last.shape} do not broadcast together") from None


def _line(builder: Builder, start: Expr, stop: Expr, count: int, endpoint: bool) -> tuple[Expr, Expr]:
    """Evenly spaced numbers along a new first axis, with both ends exactly as they are; and the step."""
    parts = count - 1 if endpoint else count
    step: Expr = (stop - start) / parts if parts > 0 else (stop - start) * math.nan
    places = np.arange(count).reshape(-1, *(1,) * step.ndim)
    if parts <= 0:
        return shapes.broadcast_to(start, shape=(count, *step.shape)), step
    line: Expr = start + builder.graph.constant(places) * step
    if endpoint:
        line = logic.where(builder.graph.constant(places == parts), stop, line)
    return line, step


def linspace(
    builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: Any = 0
) -> Any:  # fmt: skip
    """So many (50) evenly spaced numbers from start to stop, which broadcast, along a new axis: the first by default.

    With ``endpoint`` stop is the last of them; with ``retstep`` their distance comes, too. Raises ShapeError for ends that do not
    broadcast together, ArgumentError for a count that is no whole number.
    """
    return _spaced(
        builder, "linspace", start, stop, num, endpoint, dtype, axis, None, retstep=builder.flag(retstep, "'retstep' of linspace")
    )


def logspace(
    builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Expr:  # fmt: skip
    """Powers of a base (10) whose exponents are those of `linspace`."""

    def raised(first: Expr, last: Expr, count: int, ends: bool) -> Expr:
        made: Expr = builder.value(base) ** _line(builder, first, last, count, ends)[0]
        return made

    fixed = None if builder.varies(base) else partial(np.logspace, base=builder.number(base, None))
    made: Expr = _spaced(builder, "logspace", start, stop, num, endpoint, dtype, axis, raised, fixed)
    return made


def geomspace(builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Expr:
    """Numbers of constant ratio from start to stop, both of one sign. Raises ArgumentError for ends of two signs, and for 0."""

    def multiplied(first: Expr, last: Expr, count: int, ends: bool) -> Expr:
        exponents, _ = _line(builder, log(abs_(first)), log(abs_(last)), count, ends)
        made: Expr = sign(first) * exp(exponents)
        places = np.arange(count).reshape(-1, *(1,) * (made.ndim - 1))
        made = logic.where(builder.graph.constant(places == 0), first, made)
        return logic.where(builder.graph.constant(places == count - 1), last, made) if ends and count > 1 else made

    nodes = [builder.value(end) for end in (start, stop)]
    _common_shape("geomspace", *nodes)
    first, last = (np.asarray(builder.scope.evaluate(node), float) for node in nodes)
    if np.any(np.sign(first) * np.sign(last) <= 0):
        raise ArgumentError("geomspace needs two ends of one sign, neither of them 0")
    made: Expr = _spaced(builder, "geomspace", start, stop, num, endpoint, dtype, axis, multiplied, np.geomspace)
    return made


def _spaced(
    builder: Builder, name: str, start: Any, stop: Any, num: Any, endpoint: Any, dtype: Any, axis: Any,
    between: Callable[[Expr, Expr, int, bool], Expr] | None, fixed: Callable[..., Any] | None = np.linspace, retstep: bool = False,
) -> Any:  # fmt: skip
    """So many numbers from start to stop: as NumPy computes them where both are known, and else made of operations."""
    count, ends = _count(builder, name, num), builder.flag(endpoint, f"'endpoint' of {name}")
    first, last = builder.value(start), builder.value(stop)
    builder.graph.limits.check_array((count, *_common_shape(name, first, last)))
    if fixed is not None and not (builder.varies(start) or builder.varies(stop)):
        given = [np.asarray(builder.scope.evaluate(node), float)[()] for node in (first, last)]
        at = {} if not (first.shape or last.shape) else {"axis": builder.integer(axis, f"'axis' of {name}")}
        if not at:
            _moved(builder, name, builder.graph.constant(np.zeros(1)), axis)
        with np.errstate(all="ignore"):
            line = builder.graph.constant(fixed(*given, count, endpoint=ends, **at))
            step = builder.graph.constant(fixed(*given, count, endpoint=ends, retstep=True)[1]) if retstep else None
    elif between is None:
        line, step = _line(builder, first, last, count, ends)
        line = _moved(builder, name, line, axis)
    else:
        line, step = _moved(builder, name, between(first, last, count, ends), axis), None
    line = _typed(builder, name, line, dtype)
    return (line, step) if retstep else line


def rand(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
    """Random numbers, uniform on [0, 1), from the program's generator; constants, so that nothing is differentiated through them."""
    return _drawn(builder, "rand", builder.random.random, shape, dtype)


def randn(builder: Builder, shape: Any = (), dtype: Any = None) -> Expr:
    """Random numbers of the standard normal distribution, from the program's generator."""
    return _drawn(builder, "randn", builder.random.standard_normal, shape, dtype)


def _drawn(builder: Builder, name: str, draw: Callable[[tuple[int, ...]], Any], shape: Any, dtype: Any) -> Expr:
    extents = shape if isinstance(shape, tuple) else (shape,)
    drawn = shape_of(builder, *extents)
    builder.graph.limits.check_array(drawn)
    return _typed(builder, name, builder.scope.drawn(np.asarray(draw(drawn))), dtype)


CONSTRUCTORS = {
    f.__name__: f
    for f in (
        zeros, ones, full, zeros_like, ones_like, full_like, eye, identity, arange, linspace, logspace, geomspace, rand, randn, array,
    )
}  # fmt: skip


# -- Functions of the language that are compositions of operations ---------------------------------
#
# Each takes the lowering (for its graph, limits and random numbers), then arguments already
# lowered: nodes, and Python values for shapes, axes and the like.


def as_is(builder: Builder, x: Expr) -> Expr:
    """x itself, as a node: for methods that change no entry of a number in the program's precision."""
    return x


def maximum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    return reduce(bounds.maximum, map(builder.value, values))


def minimum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed min: of several values the smallest, of one array its smallest entry."""
    return reduce(bounds.minimum, map(builder.value, values))


def einsum(builder: Builder, arguments: Any) -> Any:
    """einsum('ij,jk->ik', a, b), and PyTorch's other forms: the operands as one list, before or after the subscripts."""
    first, *rest = arguments or (None,)
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    if not isinstance(first, (str, list, tuple)) and rest and all(isinstance(part, (list, tuple)) for part in rest[::2]):
        first, rest = labelled(builder, [first, *rest])
        return named("einsum")(*map(builder.value, rest), subscripts=first)
    operands = [o for r in rest for o in (r if isinstance(r, (list, tuple)) and len(rest) == 1 else [r])]
    if not isinstance(first, str) or not operands:
        raise ArgumentError("einsum needs its subscripts as a string, and operands", help="write einsum('ij,jk->ik', a, b)")
    return named("einsum")(*map(builder.value, operands), subscripts=first)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def labelled(builder: Builder, arguments: list[Any]) -> tuple[str, list[Any]]:
    """einsum's subscripts and operands of ``a, [0, 1], b, [1, 2], [0, 2]``. Raises ArgumentError for labels that are no whole numbers."""
    operands, lists = list(arguments[: len(arguments) // 2 * 2 : 2]), list(arguments[1::2])
    output = arguments[-1] if len(arguments) % 2 else None
    text = ",".join(_labels(builder, labels) for labels in lists)
    return (text if output is None else f"{text}->{_labels(builder, output)}"), operands


def _labels(builder: Builder, labels: Any) -> str:
    if not isinstance(labels, (list, tuple)):
        raise ArgumentError("einsum's labels are lists of whole numbers", help="write einsum('ij,jk->ik', a, b)")
    text = []
    for label in labels:
        number = None if label is ... else builder.integer(label, "a label of einsum")
        if number is not None and not 0 <= number < len(_LETTERS):
            raise ArgumentError(f"a label of einsum is from 0 to {len(_LETTERS) - 1}, not {number}")
        text.append("..." if number is None else _LETTERS[number])
    return "".join(text)


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
    below = builder.flag(lower, "'lower' of cho_factor")
    factor = builder.call_op(find("cholesky"), [x], {"upper": not below})
    rest = builder.call_op(find("triu" if below else "tril"), [x], {"k": 1 if below else -1})  # which SciPy leaves as it was
    return factor + rest, below


def cho_solve(builder: Builder, c_and_lower: Any, y: Expr) -> Any:
    """scipy.linalg.cho_solve((c, lower), b): the solution with the matrix that has this factor. Raises ArgumentError for any other pair."""
    if not isinstance(c_and_lower, tuple) or len(c_and_lower) != 2:
        raise ArgumentError("cho_solve needs a factor and whether it is the lower one", help="write cho_solve((L, True), b)")
    factor, below = builder.value(c_and_lower[0]), builder.flag(c_and_lower[1], "'lower' of cho_solve")
    triangle = builder.call_op(find("tril" if below else "triu"), [factor], {"k": 0})
    column = shapes.reshape(y, shape=(*y.shape, 1)) if y.ndim == 1 else y
    found = builder.call_op(find("cholesky_solve"), [column, triangle], {"upper": not below})
    return shapes.reshape(found, shape=y.shape) if y.ndim == 1 else found


FUNCTIONS = {
    **CONSTRUCTORS, "einsum": einsum, "item": item, "len": length, "cho_factor": cho_factor, "cho_solve": cho_solve,
    **dict.fromkeys(("contiguous", "double", "float"), as_is),
}  # fmt: skip
ALIASES = {"random": "rand", "standard_normal": "randn", **SPELLINGS}
