"""Functions of JAX's as the programs that JAX makes of them: each primitive is NumPy's function on traced arrays.

A ``jax.custom_vjp`` is its own function here; its rules play no part, so that they can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.places import Place, chosen, place_in
from gradcli.functions.tracing.jax_matrices import FACTORS, MATRICES
from gradcli.functions.tracing.jax_windows import WINDOWS
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.functions.tracing.passage import Passage
from gradcli.ops.structure import detach

Rule = Callable[..., Any]


class Untraceable(TypeError):
    """What has no rule."""


class Chosen(np.ndarray):
    """Whole numbers and truths that the arguments have had a part in: what is chosen by them is decided at the tested values."""


@dataclass(frozen=True, eq=False)
class _Run:
    """One run of a program: it tells the passage of numbers that leave it, and where its code stands.

    custom  whether it is within a custom function, whose rules say what is held constant
    """

    passage: Passage
    custom: bool = False
    place: Callable[[], Place | None] = lambda: None

    def evaluated(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results of a program at these arguments."""
        literal = import_module("jax.extend.core").Literal
        values: dict[Any, Any] = {}

        def read(x: Any) -> Any:
            return np.asarray(x.val)[()] if isinstance(x, literal) else values[x]

        values.update(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            self.passage.place = partial(_place, equation, self.place)
            operands = [read(x) for x in equation.invars]
            found = self._applied(equation, operands)
            if any(isinstance(x, (Traced, Chosen)) for x in operands):
                found = [x if isinstance(x, Traced) else np.asarray(x).view(Chosen) for x in found]
            values.update(zip(equation.outvars, found, strict=True))
        return [read(x) for x in jaxpr.outvars]

    def _applied(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """The results of a primitive."""
        name, parameters = equation.primitive.name, equation.params
        inner = next((parameters[key] for key in _INNER if key in parameters), None)
        if inner is not None and name in _CALLS:
            run = replace(self, custom=self.custom or name.startswith("custom"), place=self.passage.place)
            return run.evaluated(inner.jaxpr, inner.consts, operands) if hasattr(inner, "jaxpr") else run.evaluated(inner, (), operands)
        if name in _FLOWS:
            return _FLOWS[name](self, parameters, operands)
        if name == "stop_gradient":
            return [operands[0] if self.custom else _held(self.passage, operands[0])]
        if name in _PLACED:
            return [_PLACED[name](equation.primitive, *operands, **parameters)]
        if name in FACTORS and isinstance(operands[0], Traced):
            return list(FACTORS[name](equation.primitive, *operands, **parameters))
        if name not in RULES:
            return self._outside(equation, operands)
        try:
            found = RULES[name](*operands, **parameters)
        except Untraceable:
            return self._outside(equation, operands)
        return found if equation.primitive.multiple_results else [found]

    def _outside(self, equation: Any, operands: list[Any]) -> list[Any]:
        """A primitive without a rule, by JAX itself: what goes in leaves the graph."""
        operands = [_plain(x) for x in operands]
        if equation.primitive.name == "pure_callback":
            found = equation.params["callback"](*operands)
            return [np.asarray(part) for part in found]
        jax = import_module("jax")
        given = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
        found = equation.primitive.bind(*given, **equation.params)
        return [_plain(part) for part in (found if equation.primitive.multiple_results else [found])]

    def branched(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``cond`` and ``switch``: what the index says, which JAX holds to the branches there are."""
        index, *rest = operands
        if isinstance(index, Chosen):
            self.passage.decide()
        branches = parameters["branches"]
        branch = branches[min(max(int(index), 0), len(branches) - 1)]
        return self.evaluated(branch.jaxpr, branch.consts, rest)

    def looped(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``while_loop``: as long as its condition is true."""
        conditions, bodies = parameters["cond_nconsts"], parameters["body_nconsts"]
        asked, done, carried = operands[:conditions], operands[conditions : conditions + bodies], list(operands[conditions + bodies :])
        condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
        while bool(self.evaluated(condition.jaxpr, condition.consts, [*asked, *carried])[0]):
            carried = self.evaluated(body.jaxpr, body.consts, [*done, *carried])
        return carried

    def scanned(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``scan``: its body for each row."""
        constants, carries, body = parameters["num_consts"], parameters["num_carry"], parameters["jaxpr"]
        fixed, carried, rows = operands[:constants], list(operands[constants : constants + carries]), operands[constants + carries :]
        order = range(parameters["length"])
        given: list[list[Any]] = []
        for i in reversed(order) if parameters["reverse"] else order:
            found = self.evaluated(body.jaxpr, body.consts, [*fixed, *carried, *(row[i] for row in rows)])
            carried = found[:carries]
            given.append(found[carries:])
        if parameters["reverse"]:
            given.reverse()
        return [*carried, *(np.stack(column) for column in zip(*given, strict=True))]

    def solved(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``custom_linear_solve``: as its own solver does, of what it keeps for that."""
        counts, solve = parameters["const_lengths"], parameters["jaxprs"].solve
        begin = counts.matvec + counts.vecmat
        kept, right = operands[begin : begin + counts.solve], operands[begin + counts.solve + counts.transpose_solve :]
        return self.evaluated(solve.jaxpr, solve.consts, [*kept, *right])


_FLOWS: dict[str, Callable[[_Run, Any, Sequence[Any]], list[Any]]] = {
    "cond": _Run.branched, "while": _Run.looped, "scan": _Run.scanned, "linear_solve": _Run.solved, "custom_linear_solve": _Run.solved,
}  # fmt: skip


def evaluated(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any], passage: Passage) -> list[Any]:
    """The results of a program of JAX's at these arguments, of which those that are traced tell the passage."""
    return _Run(passage).evaluated(jaxpr, constants, arguments)


def _plain(x: Any) -> Any:
    """An array of NumPy's; keys of random numbers, which are none, as they are."""
    return x if str(getattr(x, "dtype", "")).startswith("key<") else np.asarray(x)


def _held(passage: Passage, x: Any) -> Any:
    """A value as a constant."""
    if not isinstance(x, Traced) or x.dtype.kind != "f":
        return x
    passage.hold()
    return Traced(x.tensor.apply_op(detach, (x.tensor,), {}), passage)


def _place(equation: Any, around: Callable[[], Place | None]) -> Place | None:
    """Where the code stands that a primitive is from; for one within JAX's own functions, where these are called."""
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback is None:
        return around()
    codes, instructions = traceback.raw_frames()
    number = chosen([code.co_filename for code in codes[::-1]])
    if number is None:
        return around()
    at = len(codes) - 1 - number
    return place_in(codes[at], instructions[at], traceback.frames[at].line_num)


_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "remat",
    "remat2", "checkpoint",
})  # fmt: skip


# -- rules: a primitive's operands and parameters ---------------------------------------------------------------------


def _of(function: Callable[..., Any]) -> Rule:
    """A function of the operands alone, entry by entry."""
    return lambda *operands, **_: function(*operands)


def _special(name: str) -> Rule:
    return lambda x, **_: getattr(import_module("scipy.special"), name)(x)


def _reduced(function: Callable[..., Any]) -> Rule:
    return lambda x, axes, **_: function(x, axis=tuple(axes)) if axes else x


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    kept = [1] * len(shape)
    for place, axis in enumerate(broadcast_dimensions):
        kept[axis] = np.shape(x)[place]
    return np.broadcast_to(np.reshape(x, kept), shape)


def _dot(x: Any, y: Any, dimension_numbers: Any, **_: Any) -> Any:
    (left, right), (left_batch, right_batch) = dimension_numbers
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    xs = [next(letters) for _ in np.shape(x)]
    ys = [next(letters) for _ in np.shape(y)]
    for i, j in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        ys[j] = xs[i]
    batch = [xs[i] for i in left_batch]
    free = [c for i, c in enumerate(xs) if i not in {*left, *left_batch}] + [c for i, c in enumerate(ys) if i not in {*right, *right_batch}]
    return np.einsum(f"{''.join(xs)},{''.join(ys)}->{''.join(batch + free)}", x, y)


def _convert(x: Any, new_dtype: Any, **_: Any) -> Any:
    kind = np.dtype(new_dtype)
    if hasattr(x, "tensor"):
        return x.astype(kind)
    return np.asarray(x).astype(kind)[()]


def _slice(x: Any, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (None,) * len(start_indices)
    return x[tuple(slice(*place) for place in zip(start_indices, limit_indices, steps, strict=True))]


def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any, **_: Any) -> Any:
    begins = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, np.shape(x), slice_sizes, strict=True)]
    return x[tuple(slice(b, b + size) for b, size in zip(begins, slice_sizes, strict=True))]


def _select(which: Any, *cases: Any, **_: Any) -> Any:
    found = cases[0]
    for number, case in enumerate(cases[1:], 1):
        found = np.where(np.asarray(which) == number, case, found)
    return found


def _running(function: Callable[..., Any]) -> Rule:
    """A running total, from the other end where it is reversed."""

    def run(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
        return np.flip(function(np.flip(x, axis), axis), axis) if reverse else function(x, axis)

    return run


def _of_truths(function: Callable[..., Any]) -> Rule:
    """What is bit by bit on whole numbers, on truths."""

    def rule(*operands: Any, **_: Any) -> Any:
        if any(np.asarray(x).dtype != bool for x in operands):
            raise Untraceable(f"no rule for {function.__name__} of whole numbers")
        return function(*operands)

    return rule


def _divided(x: Any, y: Any, **_: Any) -> Any:
    if np.asarray(x).dtype.kind in "iu":  # which JAX rounds towards zero
        return np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y)
    return x / y


def _power(x: Any, y: Any, **_: Any) -> Any:
    return x**y


RULES: dict[str, Rule] = {
    "add": _of(np.add), "add_any": _of(np.add), "sub": _of(np.subtract), "mul": _of(np.multiply), "div": _divided,
    "neg": _of(np.negative), "rem": _of(np.fmod), "pow": _power, "integer_pow": _power, "square": _of(np.square), "sqrt": _of(np.sqrt),
    "rsqrt": _of(lambda x: 1 / np.sqrt(x)), "cbrt": _of(np.cbrt), "exp": _of(np.exp), "exp2": _of(np.exp2), "expm1": _of(np.expm1),
    "log": _of(np.log), "log1p": _of(np.log1p), "sin": _of(np.sin), "cos": _of(np.cos), "tan": _of(np.tan), "asin": _of(np.arcsin),
    "acos": _of(np.arccos), "atan": _of(np.arctan), "atan2": _of(np.arctan2), "sinh": _of(np.sinh), "cosh": _of(np.cosh),
    "tanh": _of(np.tanh), "asinh": _of(np.arcsinh), "acosh": _of(np.arccosh), "atanh": _of(np.arctanh), "abs": _of(np.abs),
    "sign": _of(np.sign), "floor": _of(np.floor), "ceil": _of(np.ceil), "round": _of(np.round),
    "max": _of(np.maximum), "min": _of(np.minimum),
    "logistic": _special("expit"), "erf": _special("erf"), "erfc": _special("erfc"),
    "erf_inv": _special("erfinv"), "lgamma": _special("gammaln"), "digamma": _special("digamma"),
    "eq": _of(np.equal), "ne": _of(np.not_equal), "lt": _of(np.less), "le": _of(np.less_equal), "gt": _of(np.greater),
    "lt_to": _of(np.less), "le_to": _of(np.less_equal),
    "ge": _of(np.greater_equal), "and": _of_truths(np.logical_and), "or": _of_truths(np.logical_or),
    "not": _of_truths(np.logical_not), "is_finite": _of(np.isfinite), "clamp": _of(lambda low, x, high: np.clip(x, low, high)),
    "select_n": _select, "stop_gradient": _of(lambda x: x), "copy": _of(np.copy), "copy_p": _of(np.copy),
    "convert_element_type": _convert, "broadcast_in_dim": _broadcast, "dot_general": _dot,
    "reshape": lambda x, new_sizes, **_: np.reshape(x, new_sizes), "squeeze": lambda x, dimensions, **_: np.squeeze(x, tuple(dimensions)),
    "expand_dims": lambda x, dimensions, **_: np.expand_dims(x, tuple(dimensions)),
    "transpose": lambda x, permutation, **_: np.transpose(x, permutation), "rev": lambda x, dimensions, **_: np.flip(x, tuple(dimensions)),
    "reduce_sum": _reduced(np.sum), "reduce_max": _reduced(np.max), "reduce_min": _reduced(np.min), "reduce_prod": _reduced(np.prod),
    "reduce_and": _reduced(np.all), "reduce_or": _reduced(np.any),
    "argmax": lambda x, axes, **_: np.argmax(np.asarray(x), axis=axes[0]),
    "argmin": lambda x, axes, **_: np.argmin(np.asarray(x), axis=axes[0]),
    "cumsum": _running(np.cumsum), "cumprod": _running(np.cumprod),
    "concatenate": lambda *xs, dimension, **_: np.concatenate(xs, dimension),
    "slice": _slice, "dynamic_slice": _dynamic_slice, "iota": lambda *, dtype, shape, dimension, **_: np.broadcast_to(
        np.reshape(np.arange(shape[dimension], dtype=dtype), [-1 if i == dimension else 1 for i in range(len(shape))]), shape),
    "cholesky": lambda x, **_: np.linalg.cholesky(x),
    **WINDOWS, **MATRICES,
}  # fmt: skip


# -- primitives that move entries: JAX itself says where, asked for numbers of places ---------------------------------------


def _gathered(primitive: Any, x: Any, *indices: Any, **parameters: Any) -> Any:
    """Entries of an array; what lies outside of it is not a number."""
    size = int(np.prod(np.shape(x), dtype=int))
    places = _asked(primitive, np.arange(size).reshape(np.shape(x)), *indices, **{**parameters, "fill_value": -1})
    found = np.ravel(x)[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places < 0, np.nan, found)


def _put(primitive: Any, x: Any, indices: Any, new: Any, **parameters: Any) -> Any:
    """An array with entries replaced."""
    size, count = int(np.prod(np.shape(x), dtype=int)), int(np.prod(np.shape(new), dtype=int))
    places = _asked(primitive, np.arange(size).reshape(np.shape(x)), indices, size + np.arange(count).reshape(np.shape(new)), **parameters)
    return np.concatenate([np.ravel(x), np.ravel(new)])[places]


def _added(primitive: Any, x: Any, indices: Any, new: Any, **parameters: Any) -> Any:
    """An array with entries added to some of its own."""
    size, count = int(np.prod(np.shape(x), dtype=int)), int(np.prod(np.shape(new), dtype=int))
    if size * count > _MOST:
        raise Untraceable(f"no rule for a scatter of {count} entries into {size}")
    # column j of the matrix is where an addition of 1 at entry j arrives
    ones = np.eye(count).reshape(count, *np.shape(new))
    columns = [np.ravel(_asked(primitive, np.zeros(np.shape(x)), indices, one, **parameters)) for one in ones]
    return x + np.reshape(np.stack(columns, axis=1) @ np.ravel(new), np.shape(x))


def _asked(primitive: Any, *operands: Any, **parameters: Any) -> np.ndarray:
    jax = import_module("jax")
    return np.asarray(primitive.bind(*(jax.numpy.asarray(np.asarray(operand)) for operand in operands), **parameters))


_MOST = 1_000_000  # entries of the matrix of an addition
_PLACED: dict[str, Rule] = {"gather": _gathered, "scatter": _put, "scatter-add": _added}
