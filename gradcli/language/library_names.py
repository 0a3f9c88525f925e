"""Library names outside of the catalogue of functions.

They are index makers, limits of floats, types and tests of entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr, definition_order
from gradcli.language import calls, constructors
from gradcli.language.constructors import (
    arange,
    as_boolean,
    as_float,
    as_whole,
    indices_by_numpy,
    known_number,
    mask_of,
    maximum_of,
    minimum_of,
    nonzero,
    nonzero_rows,
    shape_of,
    whole_numbers,
)
from gradcli.language.names import DERIVATIVES, Function, Results, Thing, dtype_of
from gradcli.language.routines import routines
from gradcli.language.scope import Builder, Range
from gradcli.namespace import compositions
from gradcli.ops import registry
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.binding import static_parameters
from gradcli.ops.calling.prefixes import JAX, NUMPY, TORCH, DType, library_of
from gradcli.ops.calling.signatures import declared_signature
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.facts import Fixed
from gradcli.ops.reductions.sums import sum_
from gradcli.texts import by_word, words

MISSING = object()

# -- Indices: constants of the program; a condition is taken at the bound values, as a mask between
# brackets is.


def flatnonzero(builder: Builder, x: Any) -> Any:
    """Return the indices, among all entries, of those that are not 0."""
    return indices_by_numpy(builder, "flatnonzero", mask_of(builder, x))


def _triangle(name: str, rows: bool = False) -> Callable[..., Any]:
    """Return the function for the indices of a triangle of n rows and m columns.

    The triangle begins at the k-th diagonal; ``m`` is n by default.
    """

    def indices(builder: Builder, n: Any, k: Any = 0, m: Any = None) -> Any:
        shape = shape_of(builder, n, n if m is None else m)
        builder.check_array(shape)
        return indices_by_numpy(
            builder, name, shape[0], builder.integer(k, "a diagonal"), shape[1], rows=rows
        )

    return indices


def _triangle_of_pytorch(name: str) -> Callable[..., Any]:
    of_rows = _triangle(name, rows=True)
    return lambda builder, row, col, offset=0: of_rows(builder, row, offset, col)


def ix_(builder: Builder, lists: Any) -> Any:
    """Combine lists of indices, each along an axis of its own.

    Together they index the entries at all their combinations.
    """
    known = [mask_of(builder, part) for part in lists]
    builder.graph.limits.check_shape((1,) * len(known))
    return indices_by_numpy(
        builder, "ix_", *(part if part.size else part.astype(np.int64) for part in known)
    )


def block(builder: Builder, arrays: Any) -> Any:
    """Nested lists of arrays, put together along the last axis and then along those before it."""
    try:
        return compositions.moving(np.block, builder.value)(arrays)
    except ValueError as error:
        raise ShapeError(f"block: {error}") from None


def range_(builder: Builder, start: Any, stop: Any = None, step: Any = None) -> Any:
    """Whole numbers from start (0) up to stop, by step."""
    first, last = (0, start) if stop is None else (start, stop)
    known = [
        builder.integer(first),
        builder.integer(last),
        1 if step is None else builder.integer(step),
    ]
    if known[2] == 0:
        raise ArgumentError("the step of a range cannot be 0")
    places = range(*known)
    builder.check_array((len(places),))
    return whole_numbers(builder, np.array(places, np.int64))


_TRIANGLES = words("triu_indices tril_indices")


# -- What NumPy indexes in order to join arrays: ``np.c_[x, y]``, ``np.r_[0, x, 1:4]`` -----------


class Joined(Thing, Fixed):
    """Joined arrays: ``np.r_[a, b, 1:4]`` in a row, ``np.c_[a, b]`` as columns side by side.

    ``np.r_`` puts everything one after the other; ``np.c_`` takes vectors as columns.
    """

    written: str
    columns: bool

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        nodes = [self._part(builder, item) for item in items]
        if self.columns:
            nodes = [x if x.ndim > 1 else reshape(x, shape=(*x.shape, 1)) for x in nodes]
        return concatenate(*nodes, axis=-1 if self.columns else 0)

    def _part(self, builder: Builder, item: Any) -> Expr:
        if isinstance(item, Range) and item.stop is not None:
            item = arange(builder, 0 if item.start is None else item.start, item.stop, item.step)
        node = builder.value(item)
        return node if node.ndim else reshape(node, shape=(1,))


OBJECTS = {"r_": Joined("np.r_", False), "c_": Joined("np.c_", True)}


# -- Whether entries hold, and how many: ``any``, ``all``, ``count_nonzero``, ``isclose``,
# ``allclose``. No derivative flows through them.


def _holding(
    builder: Builder, x: Expr, axis: Any, keepdims: Any, where: Any, counted: float
) -> Expr:
    """Count the chosen entries that are (or are not) 0."""
    ones = logic.where(as_boolean(x), counted, 1.0 - counted)
    if where is not None:
        ones = logic.where(as_boolean(builder.value(where)), ones, 0.0)
    static = static_parameters(
        sum_,
        {"axis": builder.static(axis, "an axis"), "keepdims": builder.static(keepdims, "a flag")},
    )
    made: Expr = sum_(ones, **static)
    return made


def count_nonzero(builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False) -> Any:
    """Count the entries that are not 0."""
    return _holding(builder, x, axis, keepdims, None, 1.0)


def _holds(compare: Callable[..., Any], counted: float) -> Callable[..., Any]:
    """Return the function that compares the count of entries, or of zeros, with 0."""

    def holds(
        builder: Builder, x: Expr, axis: Any = None, keepdims: Any = False, where: Any = None
    ) -> Any:
        return compare(_holding(builder, x, axis, keepdims, where, counted), 0.0)

    return holds


any_, all_ = _holds(logic.greater, 1.0), _holds(logic.equal, 0.0)


def isclose(
    builder: Builder, x: Expr, y: Expr, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False
) -> Any:
    """Return whether entries differ by no more than ``atol + rtol*abs(y)``."""
    near = logic.less_equal(abs_(x - y), builder.value(atol) + builder.value(rtol) * abs_(y))
    close = logic.logical_or(logic.equal(x, y), logic.logical_and(near, logic.isfinite(y)))
    if not builder.flag(equal_nan, "'equal_nan'"):
        return close
    return logic.logical_or(close, logic.logical_and(logic.isnan(x), logic.isnan(y)))


def allclose(
    builder: Builder, x: Expr, y: Expr, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False
) -> Any:
    """Return whether all entries are close."""
    return all_(builder, isclose(builder, x, y, rtol, atol, equal_nan))


def array_equal(builder: Builder, x: Expr, y: Expr) -> Any:
    """Return whether shapes and entries are equal."""
    return all_(builder, logic.equal(x, y)) if x.shape == y.shape else builder.constant(False)


# -- The names under which libraries have them ---------------------------------------------------


_PAIR = "x, y|other, rtol, atol, equal_nan"
SHARED: dict[str, tuple[str, Callable[..., Any]]] = {
    "nonzero": ("x, as_tuple", nonzero),
    "argwhere": ("x", nonzero_rows),
    "flatnonzero": ("x", flatnonzero),
    **{name: ("n, k, m", _triangle(name)) for name in _TRIANGLES},
    "ix_": ("***lists", ix_),
    "block": ("arrays", block),
    "any": ("x, axis, -out, keepdims, where", any_),
    "all": ("x, axis, -out, keepdims, where", all_),
    "count_nonzero": ("x, axis, keepdims", count_nonzero),
    "isclose": (_PAIR, isclose),
    "allclose": (_PAIR, allclose),
    "array_equal": ("x|a1, y|a2", array_equal),
}
OF_PYTORCH: dict[str, tuple[str, Callable[..., Any]]] = {
    **{name: SHARED[name] for name in words("argwhere count_nonzero isclose allclose")},
    "any": ("x, axis, keepdims", any_),
    "all": ("x, axis, keepdims", all_),
    "equal": ("x, y", array_equal),
    "nonzero": ("x, as_tuple", nonzero_rows),
    **{
        name: ("row, col, offset, -dtype, -device, -layout", _triangle_of_pytorch(name))
        for name in _TRIANGLES
    },
}


_LIMITS = words("eps max min tiny smallest_normal resolution")


def _limits(library: str) -> Callable[..., Any]:
    """Return ``np.finfo``: what is known of floats of a precision."""

    def limits(builder: Builder, dtype: Any = None) -> Any:
        usual = DType("float32" if library == TORCH else builder.scope.precision)
        kind = usual if dtype is None else dtype_of(dtype)
        try:
            info = np.finfo("" if kind is None else kind.name)
        except (TypeError, ValueError):
            raise ArgumentError(
                "finfo takes a dtype of floats", help="write np.finfo(float).eps"
            ) from None
        numbers = tuple(builder.constant(float(getattr(info, name))) for name in _LIMITS)
        return Results.of(numbers, tuple(_LIMITS))

    return limits


_FORMATS = words("contiguous_format preserve_format channels_last strided")


def divergence(builder: Builder, p: Any, q: Any) -> Any:
    """Return the divergence of a distribution from another one.

    Raises ArgumentError for pairs without a formula.
    """
    if not isinstance(p, calls.Instance) or not isinstance(q, calls.Instance):
        raise ArgumentError(
            "kl_divergence needs two distributions",
            help="write torch.distributions.kl_divergence(p, q)",
        )
    function = declared_signature(f"{p.of.name}.kl_{q.of.name}", TORCH)
    if function is None:
        raise ArgumentError(f"kl_divergence of a {p.of.name} and a {q.of.name} is not supported")
    given = {**p.kept, **{f"other_{key}": value for key, value in q.kept.items()}}
    return calls.result_of(calls.apply_named(builder, "kl_divergence", function, given))


def gradients(builder: Builder, outputs: Expr, inputs: Any, grad_outputs: Any = None) -> Any:
    """``torch.autograd.grad(y, [x, z])``: a tuple of derivatives."""
    seed = None if grad_outputs is None else builder.value(grad_outputs)
    names = [*map(builder.value, inputs if isinstance(inputs, (tuple, list)) else [inputs])]
    if not {*names} <= {*definition_order(outputs)}:
        raise ArgumentError("one of the inputs is not used in the graph", help="leave it out")
    return tuple(calls.differentiate("grad", outputs, x, seed) for x in names)


def _draw(name: str) -> Callable[..., Any]:
    """Return the function for random numbers around ``a`` of scale ``b``, or from a to b."""

    def draw(builder: Builder, a: Any = 0, b: Any = 1, size: Any = None) -> Any:
        start, end = builder.value(a), builder.value(b)
        shape = np.broadcast_shapes(start.shape, end.shape) if size is None else size
        numbers = constructors.FUNCTIONS[name](builder, shape)
        return start + (end - start if name == "rand" else end) * numbers

    return draw


# -- What libraries have beside the catalogue

_OF_NUMPY: dict[str, tuple[str, Callable[..., Any]]] = {
    **SHARED,
    "finfo": ("dtype", _limits(NUMPY)),
}
_TABLES = {
    NUMPY: routines({
        **_OF_NUMPY,
        "normal": ("a|loc, b|scale, size", _draw("randn")),
        "uniform": ("a|low, b|high, size", _draw("rand")),
    }),
    JAX: routines(_OF_NUMPY),
    TORCH: routines({
        **OF_PYTORCH,
        "finfo": ("dtype|type", _limits(TORCH)),
        "grad": ("outputs, inputs, grad_outputs, -retain_graph, -create_graph, -only_inputs, -allow_unused", gradients),
        "device": ("name|type, -index", lambda builder, name: name),
        "kl_divergence": ("p, q", divergence),
        "normal": ("a|mean, b|std, size", _draw("torch_randn")),
    }),
}  # fmt: skip


def of_library(builder: Builder, base: str, name: str) -> Any:
    """Return the object that a library's module has under a name besides the catalogue.

    `MISSING` is returned if there is none.
    """
    library = library_of(base)
    if name in DERIVATIVES and name not in _REFUSED and base in ("jax", "torch.func"):
        return Function(name, library)
    routine = _TABLES.get(library, {}).get(name)
    if routine is not None:
        return routine
    if library in (NUMPY, JAX) and name in OBJECTS:
        return OBJECTS[name]
    if name in ("empty", "empty_like"):
        raise UnknownNameError(
            f"the entries of '{name}' are whatever was in memory",
            help=f"write {name.replace('empty', 'zeros')}(x)",
        )
    return name if library == TORCH and name in _FORMATS else MISSING


# -- Names of libraries that are known and out of the language, with what is to be written for them
# --


_REFUSED = by_word({  # each with what to write instead
    "jacobian": "write jacobian(y, x)",
    "jvp": "write jvp(y, x, v)",
    "vjp": "write vjp(y, x, v)",
    "vmap pmap jit checkpoint remat vectorize compile": (
        "leave it out: functions, f(x), and their derivatives, f'(x), work on all entries at once"
    ),
    "manual_seed seed default_rng PRNGKey": "leave it out, and give --random-state 1",
    "scan fori_loop while_loop map": "write sum(x**2) for a sum over all entries",
    "cond": "write where(x > 0, x, 0)",
    "partition unique": "write sort(x)",
    "argpartition": "write argsort(x)",
    "bincount": "write zeros(3).at[x].add(1)",
    "piecewise": "write np.select([x < 0], [x**2], x)",
    "delete insert": "write np.concatenate([x[:1], x[2:]])",
    "mgrid ogrid": "write np.arange(3)[:, None] and np.arange(2)",
    "diag_indices": "write np.diagonal(A)",
    "unravel_index": "write np.ravel(A)[np.argmax(A)]",
    "wofz": "write exp(-x**2) for its real part, 2*dawsn(x)/sqrt(pi) for its imaginary part",
})  # fmt: skip


def refusal(path: str, name: str) -> UnknownNameError | None:
    """Return the error of a name known to be outside of the language, None for others."""
    if path.endswith(".fft"):
        return UnknownNameError(
            f"'{path}.{name}' is not in the language, which has no complex numbers",
            help="write sum(x*cos(w*t)) and sum(x*sin(w*t)) for its two parts",
        )
    if name in _REFUSED:
        return UnknownNameError(f"'{path}.{name}' is not in the language", help=_REFUSED[name])
    return None


# -- Python's own functions and names: ``int(x)``, ``range(n)``, ``abs``, ``divmod``, ``Ellipsis`` -


def _single(builder: Builder, x: Any, name: str) -> Expr:
    node = builder.value(x)
    if node.size != 1:
        raise TypeMismatchError(
            f"{name}() takes one number, not an array of shape {node.shape}",
            help=f"write x.astype({name})",
        )
    return reshape(node, shape=()) if node.shape else node


def float_(builder: Builder, x: Any = 0) -> Any:
    """Return a Python float: the number that a string spells, or the given number.

    The caller decides whether gradients stop there.
    """
    if isinstance(x, str):
        return builder.constant(known_number(x))
    return as_float(builder, _single(builder, x, "float"), "float", "float")


def int_(builder: Builder, x: Any = 0) -> Any:
    """Return the whole number, rounded towards 0."""
    if isinstance(x, str):
        return builder.constant(int(known_number(x)))
    return as_whole(builder, _single(builder, x, "int"))


def bool_(builder: Builder, x: Any = False) -> Any:
    """Return whether a number is not 0."""
    return as_boolean(_single(builder, x, "bool"))


def list_(builder: Builder, x: Any) -> Any:
    """Return the entries of a range, a tuple or an array, in order."""
    return list(x) if isinstance(x, (tuple, list)) else builder.value(x)


# -- Names as sympy spells them: ``Abs``, ``Max``, ``Piecewise``, ``Rational(1, 3)`` -------------


_PIECES = "write Piecewise((x, x > 0), (0, True))"


def first_holding(builder: Builder, pieces: Any) -> Expr:
    """Return the first of the values whose condition holds, or NaN if none does, as in sympy.

    Raises ArgumentError for anything that is not a pair.
    """
    if not pieces or any(not isinstance(piece, tuple) or len(piece) != 2 for piece in pieces):
        raise ArgumentError("Piecewise takes pairs of a value and a condition", help=_PIECES)
    result: Expr = builder.constant(float("nan"))
    for piece in reversed(pieces):
        value, condition = (builder.value(part) for part in piece)
        if condition.kind != "bool":
            raise ArgumentError("the second of a pair is a condition", help=_PIECES)
        always = condition.is_constant and condition.payload is True
        result = value if always else logic.where(condition, value, result)
    return result


def rational(builder: Builder, p: Expr, q: Any = 1) -> Any:
    """Compute a quotient."""
    return p / builder.value(q)


FUNCTIONS = routines({
    "float": ("x", float_),
    "int": ("x", int_),
    "bool": ("x", bool_),
    "range": ("start, stop, step", range_),
    "list tuple": ("x", list_),
    "Abs": ("x", lambda builder, x: abs_(builder.value(x))),
    "Max": ("***values", lambda builder, values: maximum_of(builder, *values)),
    "Min": ("***values", lambda builder, values: minimum_of(builder, *values)),
    "Heaviside": ("x, h0", lambda builder, x, h0=0.5: registry.find("heaviside")(*map(builder.value, (x, h0)))),
    "Piecewise piecewise": ("***pieces", first_holding),
    "Rational": ("p, q", rational),
})  # fmt: skip
