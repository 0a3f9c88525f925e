"""JAX's primitives as functions of NumPy's on traced arrays: a rule takes a primitive's operands and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

# -- JAX's primitives of linear algebra, and its special functions, by those of NumPy and SciPy on
# traced arrays.
#
# Where mathematics leaves a sign open, JAX's own result says which: columns of factors are turned
# as they are there.


Rule = Callable[..., Any]


def _triangular_solve(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:  # fmt: skip
    eye = np.eye(np.shape(a)[-1])
    a = np.tril(a) if lower else np.triu(a)
    a = a * (1 - eye) + eye if unit_diagonal else a
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    if left_side:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _lu(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    """Both factors in one matrix, by elimination of the rows in JAX's order."""
    _, pivots, order = _own(primitive, a, **parameters)
    n = np.shape(a)[-1]
    if np.shape(a)[-2] != n:
        raise TypeError("no rule for the factors of a matrix that is not square")
    rest = np.take_along_axis(a, order[..., None].astype(int) + np.zeros(n, int), -2)
    found = np.zeros(1)
    for k in range(n):
        row, column = rest[..., :1, :], rest[..., 1:, :1] / rest[..., :1, :1]
        found = found + _placed(row, n, k, k) + _placed(column, n, k + 1, k)
        rest = rest[..., 1:, 1:] - column * row[..., 1:]
    return [found, pivots, order]


def _placed(part: Any, n: int, above: int, before: int) -> Any:
    """A matrix of zeros with a part in it."""
    rows, columns = np.shape(part)[-2:]
    sides = [(above, n - above - rows), (before, n - before - columns)]
    return np.pad(part, [(0, 0)] * (np.ndim(part) - 2) + sides)


def _eigh(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, _ = _own(primitive, a, **parameters)
    values, vectors = np.linalg.eigh(a, "L" if parameters.get("lower", True) else "U")
    return [vectors * _turned(vectors, theirs), values]


def _svd(primitive: Any, a: Any, compute_uv: bool, full_matrices: bool, **parameters: Any) -> list[Any]:
    if not compute_uv:
        return [np.linalg.svd(a, compute_uv=False)]
    _, theirs, *_ = _own(primitive, a, compute_uv=compute_uv, full_matrices=full_matrices, **parameters)
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    if np.shape(theirs) != np.shape(u):
        raise TypeError("no rule for bases of a whole space")
    sign = _turned(u, theirs)
    return [s, u * sign, vt * np.swapaxes(sign, -1, -2)]


def _qr(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, *_ = _own(primitive, a, **parameters)
    q, r = np.linalg.qr(a)
    if np.shape(theirs) != np.shape(q) or parameters.get("pivoting"):
        raise TypeError("no rule for a whole basis, or one of columns in another order")
    sign = _turned(q, theirs)
    return [q * sign, r * np.swapaxes(sign, -1, -2)]


def _own(primitive: Any, a: Any, **parameters: Any) -> list[np.ndarray]:
    """JAX's own results."""
    return [np.asarray(part) for part in primitive.bind(import_module("jax").numpy.asarray(np.asarray(a)), **parameters)]


def _turned(ours: Any, theirs: np.ndarray) -> np.ndarray:
    """The signs that make columns of ours theirs."""
    return np.where(np.sum(np.asarray(ours) * theirs, axis=-2, keepdims=True) < 0, -1.0, 1.0)


def _special(name: str) -> Rule:
    """A function of SciPy's."""
    return lambda *operands, **_: getattr(import_module("scipy.special"), name)(*operands)


def _precise(x: Any, exponent_bits: int, mantissa_bits: int, **_: Any) -> Any:
    if exponent_bits < 11 or mantissa_bits < 52:
        raise TypeError("no rule for numbers that are rounded")
    return x


MATRICES: dict[str, Rule] = {
    "triangular_solve": _triangular_solve,
    "reduce_precision": _precise,
    "optimization_barrier": lambda *xs, **_: list(xs),
}
MATRICES |= {
    "bessel_i0e": _special("i0e"), "bessel_i1e": _special("i1e"), "igamma": _special("gammainc"),
    "igammac": _special("gammaincc"), "regularized_incomplete_beta": _special("betainc"),
}  # fmt: skip
FACTORS: dict[str, Rule] = {"lu": _lu, "eigh": _eigh, "svd": _svd, "qr": _qr}  # which get the primitive, too


# -- JAX's primitives that slide windows over arrays, pad and sort them: told by the places from
# which each result takes its entries.


def _taken(x: Any, places: np.ndarray, absent: Any) -> Any:
    """Entries of an array by their places in its order; ``absent`` where the place is -1."""
    found = np.ravel(x)[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places >= 0, found, absent)


def _along(n: int, size: int, stride: int, padding: tuple[int, int], base: int, spread: int) -> np.ndarray:
    """Which entries of an axis each place of a window takes: a row for each window, -1 for padding and holes."""
    whole = 0 if n == 0 else (n - 1) * base + 1
    reach = (size - 1) * spread + 1
    count = max(0, (whole + sum(padding) - reach) // stride + 1)
    at = np.arange(count)[:, None] * stride + np.arange(size) * spread - padding[0]
    return np.where((at >= 0) & (at < whole) & (at % base == 0), at // base, -1)


def _windows(shape: Sequence[int], axes: Sequence[np.ndarray]) -> np.ndarray:
    """Places of the entries of windows over all axes: shaped as the windows are, and along one last axis within them."""
    found = np.zeros((1, 1), int)
    for n, along in zip(shape, axes, strict=True):
        at = found[:, None, :, None] * n + along[None, :, None, :]
        found = np.where((found[:, None, :, None] < 0) | (along[None, :, None, :] < 0), -1, at)
        found = found.reshape(found.shape[0] * found.shape[1], -1)
    return found.reshape(*(len(along) for along in axes), -1)


def _window(reduce: Callable[..., Any], absent: float) -> Rule:
    """Windows reduced to a number each."""

    def rule(
        x: Any, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any = None, window_dilation: Any = None, **_: Any
    ) -> Any:
        ones = (1,) * len(window_dimensions)
        settings = (window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones)
        axes = [_along(n, *setting) for n, *setting in zip(np.shape(x), *settings, strict=True)]
        return reduce(_taken(x, _windows(np.shape(x), axes), absent), axis=-1)

    return rule


def _convolution(
    x: Any, w: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any,
    feature_group_count: int, batch_group_count: int, **_: Any,
) -> Any:  # fmt: skip
    if batch_group_count != 1:
        raise TypeError("no rule for a convolution with groups of a batch")
    x, w = np.transpose(x, dimension_numbers.lhs_spec), np.transpose(w, dimension_numbers.rhs_spec)
    (batch, channels, *extents), (filters, depth, *size), groups = np.shape(x), np.shape(w), feature_group_count
    settings = (size, window_strides, padding, lhs_dilation, rhs_dilation)
    places = _windows(extents, [_along(n, *setting) for n, *setting in zip(extents, *settings, strict=True)])
    whole = int(np.prod(extents, dtype=int))
    starts = np.arange(batch * channels)[:, None, None] * whole
    flat = places.reshape(-1, places.shape[-1])
    taken = _taken(x, np.where(flat < 0, -1, starts + flat), 0.0)
    taken = np.reshape(taken, (batch, groups, channels // groups, *flat.shape))
    found = np.einsum("ngcpk,gock->ngop", taken, np.reshape(w, (groups, filters // groups, depth, -1)))
    found = np.reshape(found, (batch, filters, *places.shape[:-1]))
    return np.transpose(found, np.argsort(dimension_numbers.out_spec))


def _sort(*xs: Any, dimension: int, num_keys: int = 1, **_: Any) -> list[Any]:
    order = np.lexsort([np.asarray(x) for x in xs[:num_keys]][::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _top(x: Any, k: int, axis: int = -1, **_: Any) -> list[Any]:
    order = np.take(np.argsort(-np.asarray(x), axis=axis, kind="stable"), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


def _extreme(function: np.ufunc) -> Rule:
    """A running extreme: the entry that it is at each place."""

    def rule(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
        x = np.flip(x, axis) if reverse else x
        numbers = np.moveaxis(np.asarray(x), axis, -1)
        first = np.where(numbers == function.accumulate(numbers, -1), np.arange(numbers.shape[-1]), 0)
        found = np.take_along_axis(x, np.moveaxis(np.maximum.accumulate(first, -1), -1, axis), axis)
        return np.flip(found, axis) if reverse else found

    return rule


def _running_sum_of_exponentials(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
    rows = list(np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0))
    for i in range(1, len(rows)):
        rows[i] = np.logaddexp(rows[i - 1], rows[i])
    found = np.moveaxis(np.stack(rows), 0, axis)
    return np.flip(found, axis) if reverse else found


WINDOWS: dict[str, Rule] = {
    "reduce_window_max": _window(np.max, -np.inf), "reduce_window_min": _window(np.min, np.inf), "reduce_window_sum": _window(np.sum, 0.0),
    "conv_general_dilated": _convolution, "sort": _sort, "top_k": _top,
    "cummax": _extreme(np.maximum), "cummin": _extreme(np.minimum), "cumlogsumexp": _running_sum_of_exponentials,
    "tile": lambda x, reps, **_: np.tile(x, reps), "stack": lambda *xs, axis=0, **_: np.stack(xs, axis),
    "split": lambda x, sizes, axis, **_: np.split(x, np.cumsum(sizes)[:-1], axis),
}  # fmt: skip


class Untraceable(TypeError):
    """What has no rule."""


def _of(function: Callable[..., Any]) -> Rule:
    """A function of the operands alone, entry by entry."""
    return lambda *operands, **_: function(*operands)


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
    """Return what is bit by bit on whole numbers, on truths."""

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
    "slice": _slice, "iota": lambda *, dtype, shape, dimension, **_: np.broadcast_to(
        np.reshape(np.arange(shape[dimension], dtype=dtype), [-1 if i == dimension else 1 for i in range(len(shape))]), shape),
    "cholesky": lambda x, **_: np.linalg.cholesky(x),
    **WINDOWS, **MATRICES,
}  # fmt: skip


# -- primitives that move entries: JAX itself says where, asked for numbers of places ---------------------------------------


def _moved(*sources: int) -> Rule:
    """The rule of a primitive that moves entries of these operands; what is outside of all of them is not a number."""

    def rule(primitive: Any, *operands: Any, **parameters: Any) -> Any:
        numbered, count = list(operands), 0
        for i in sources:
            size = int(np.prod(np.shape(operands[i]), dtype=int))
            numbered[i] = count + np.arange(size).reshape(np.shape(operands[i]))
            count += size
        if "fill_value" in parameters:
            parameters["fill_value"] = -1
        return _taken(np.concatenate([np.ravel(operands[i]) for i in sources]), _asked(primitive, *numbered, **parameters), np.nan)

    return rule


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
PLACED: dict[str, Rule] = {
    "gather": _moved(0), "dynamic_slice": _moved(0), "pad": _moved(0, 1), "dynamic_update_slice": _moved(0, 1), "scatter": _moved(0, 2),
    "scatter-add": _added,
}  # fmt: skip
