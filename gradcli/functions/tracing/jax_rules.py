"""JAX's primitives as functions of NumPy's on traced arrays: a rule takes a primitive's operands and parameters."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.tracing.jax_matrices import MATRICES
from gradcli.functions.tracing.jax_windows import WINDOWS

Rule = Callable[..., Any]


class Untraceable(TypeError):
    """What has no rule."""


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
    if len(cases) == 2:  # which is a condition, that stays in the graph
        return np.where(which, cases[1], cases[0])
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
PLACED: dict[str, Rule] = {"gather": _gathered, "scatter": _put, "scatter-add": _added}
