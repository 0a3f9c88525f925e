"""JAX's primitives on traced arrays: a rule takes a primitive's operands, of which some are traced,
and its parameters.

A primitive that the catalogue has, as a function of ``jax.lax`` or entry by entry, is that. The
other rules are functions of NumPy's and PyTorch's on traced arrays. What only moves entries is told
by JAX itself, which is asked where it puts the numbers of places. Where mathematics leaves a sign
open, JAX's own result says which: columns of factors are turned as they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.spec import Op
from gradcli.spelling import words
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import caller, record_of
from gradcli.tensors.torch.namespace import function

Rule = Callable[..., Any]


class Untraceable(TypeError):
    """Something that has no rule."""


def rule_of(name: str) -> Rule | None:
    """Return the rule of a primitive, if it has one."""
    if name in RULES:
        return RULES[name]
    own = RENAMED.get(name, name)
    if record_of(f"lax.{own}", JAX) is not None:
        return partial(_call, caller(f"lax.{own}", JAX))
    found = record_of(own, JAX)
    if found is None or not (isinstance(found[0], Op) and found[0].elementwise):
        return None
    return partial(_call, caller(own, JAX))


RENAMED = {
    "add_any": "add", "and": "logical_and", "or": "logical_or", "not": "logical_not", "eq": "equal", "ne": "not_equal",
    "gt": "greater", "ge": "greater_equal", "lt": "less", "lt_to": "less", "le": "less_equal", "le_to": "less_equal",
    "regularized_incomplete_beta": "betainc",
}  # fmt: skip
_PLACED = ("accuracy", "sharding", "out_sharding")  # parameters that say nothing about numbers


def _call(function: Callable[..., Any], *operands: Any, **parameters: Any) -> Any:
    """Return what a function of the catalogue gives.

    Raises Untraceable for parameters that it has not.
    """
    given = {
        name: value
        for name, value in parameters.items()
        if name not in _PLACED and value is not None
    }
    try:
        return _on_tensors(function, *operands, **given)
    except UnreadArgumentError as error:
        raise Untraceable(error.message) from None


def _on_tensors(call: Callable[..., Any], *operands: Any, **static: Any) -> Any:
    """Return what a function of tensors makes of operands of which one at least is traced."""
    first = next(x for x in operands if isinstance(x, Traced))
    return first.trace_result(
        call(
            *(x.tensor if isinstance(x, Traced) else Tensor(np.array(x)) for x in operands),
            **static,
        )
    )


# -- Places of entries ---------------------------------------------------------------------------


def _take(x: Any, places: np.ndarray, absent: Any) -> Any:
    """Entries of an array by their places in its order; ``absent`` where the place is -1."""
    found = np.ravel(x)[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places >= 0, found, absent)


def _windows(shape: Sequence[int], *settings: Any) -> np.ndarray:
    """Places of the entries of windows, those of each along one last axis; -1 for padding and
    holes.
    """
    numbered = 1.0 + np.arange(np.prod(shape)).reshape(1, 1, *shape)
    found = np.asarray(import_module("jax").lax.conv_general_dilated_patches(numbered, *settings))
    places: np.ndarray = np.moveaxis(found[0], 0, -1).astype(int) - 1
    return places


def _window(reduce: Callable[..., Any], absent: float) -> Rule:
    """Windows reduced to a number each."""

    def rule(
        x: Any,
        window_dimensions: Any,
        window_strides: Any,
        padding: Any,
        base_dilation: Any,
        window_dilation: Any,
        **_: Any,
    ) -> Any:
        places = _windows(
            np.shape(x), window_dimensions, window_strides, padding, base_dilation, window_dilation
        )
        return reduce(_take(x, places, absent), axis=-1)

    return rule


def _convolution(
    x: Any, w: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any,
    feature_group_count: int, batch_group_count: int, **_: Any,
) -> Any:  # fmt: skip
    if batch_group_count != 1:
        raise Untraceable("no rule for a convolution with groups of a batch")
    x, w = np.transpose(x, dimension_numbers.lhs_spec), np.transpose(w, dimension_numbers.rhs_spec)
    (batch, channels, *extents), (filters, depth, *size), groups = (
        np.shape(x),
        np.shape(w),
        feature_group_count,
    )
    places = _windows(extents, size, window_strides, padding, lhs_dilation, rhs_dilation)
    flat = places.reshape(-1, places.shape[-1])
    starts = np.arange(batch * channels)[:, None, None] * int(np.prod(extents, dtype=int))
    taken = _take(x, np.where(flat < 0, -1, starts + flat), 0.0)
    taken = np.reshape(taken, (batch, groups, channels // groups, *flat.shape))
    found = np.einsum(
        "ngcpk,gock->ngop", taken, np.reshape(w, (groups, filters // groups, depth, -1))
    )
    found = np.reshape(found, (batch, filters, *places.shape[:-1]))
    return np.transpose(found, np.argsort(dimension_numbers.out_spec))


def _moving_rule(*sources: int) -> Rule:
    """The rule of a primitive that moves entries of these operands; what is outside of all of them
    is not a number.
    """

    def rule(primitive: Any, *operands: Any, **parameters: Any) -> Any:
        numbered, count = list(operands), 0
        for i in sources:
            size = int(np.prod(np.shape(operands[i]), dtype=int))
            numbered[i] = count + np.arange(size).reshape(np.shape(operands[i]))
            count += size
        if "fill_value" in parameters:
            parameters["fill_value"] = -1
        (places,) = _own(primitive, *numbered, **parameters)
        return _take(np.concatenate([np.ravel(operands[i]) for i in sources]), places, np.nan)

    return rule


def _add_at(primitive: Any, x: Any, indices: Any, new: Any, **parameters: Any) -> Any:
    """An array with entries added to some of its own."""
    size, count = int(np.prod(np.shape(x), dtype=int)), int(np.prod(np.shape(new), dtype=int))
    if size * count > _MOST:
        raise Untraceable(f"no rule for a scatter of {count} entries into {size}")
    # column j of the matrix is where an addition of 1 at entry j arrives
    ones = np.eye(count).reshape(count, *np.shape(new))
    columns = [
        np.ravel(_own(primitive, np.zeros(np.shape(x)), indices, one, **parameters)[0])
        for one in ones
    ]
    return x + np.reshape(np.stack(columns, axis=1) @ np.ravel(new), np.shape(x))


_MOST = 1_000_000  # entries of the matrix of an addition


def _sort(*xs: Any, dimension: int, num_keys: int = 1, **_: Any) -> list[Any]:
    order = np.lexsort([np.asarray(x) for x in xs[:num_keys]][::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _top(x: Any, k: int, axis: int = -1, **_: Any) -> list[Any]:
    order = np.take(np.argsort(-np.asarray(x), axis=axis, kind="stable"), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


# -- Matrices ------------------------------------------------------------------------------------


def _dot(x: Any, y: Any, dimension_numbers: Any, **_: Any) -> Any:
    (left, right), (left_batch, right_batch) = dimension_numbers
    xs = list(range(np.ndim(x)))
    ys = [len(xs) + i for i in range(np.ndim(y))]
    for i, j in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        ys[j] = xs[i]
    shared = {xs[i] for i in (*left, *left_batch)}
    return np.einsum(
        x,
        xs,
        y,
        ys,
        [*(xs[i] for i in left_batch), *(label for label in (*xs, *ys) if label not in shared)],
    )


def _triangular_solve(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    solve = function("solve_triangular", "torch.linalg")
    return _on_tensors(
        solve, a, b, upper=lower is transpose_a, left=left_side, unitriangular=unit_diagonal
    )


def _lu(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    _, *pivots = _own(primitive, a, **parameters)
    return [_on_tensors(function("lu_factor", "torch.linalg"), a)[0], *pivots]


def _eigh(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, _ = _own(primitive, a, **parameters)
    values, vectors = np.linalg.eigh(a, "L" if parameters.get("lower", True) else "U")
    return [vectors * _signs(vectors, theirs), values]


def _svd(
    primitive: Any, a: Any, compute_uv: bool, full_matrices: bool, **parameters: Any
) -> list[Any]:
    if not compute_uv:
        return [np.linalg.svd(a, compute_uv=False)]
    _, theirs, *_ = _own(
        primitive, a, compute_uv=compute_uv, full_matrices=full_matrices, **parameters
    )
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    sign = _signs(u, theirs)
    return [s, u * sign, vt * np.swapaxes(sign, -1, -2)]


def _qr(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    theirs, *_ = _own(primitive, a, **parameters)
    q, r = np.linalg.qr(a)
    if parameters.get("pivoting"):
        raise Untraceable("no rule for columns in another order")
    sign = _signs(q, theirs)
    return [q * sign, r * np.swapaxes(sign, -1, -2)]


def _own(primitive: Any, *operands: Any, **parameters: Any) -> list[np.ndarray]:
    """JAX's own results."""
    found = primitive.bind(
        *(import_module("jax").numpy.asarray(np.asarray(x)) for x in operands), **parameters
    )
    return [np.asarray(part) for part in (found if primitive.multiple_results else [found])]


def _signs(ours: Any, theirs: np.ndarray) -> np.ndarray:
    """The signs that make columns of ours theirs."""
    if np.shape(ours) != np.shape(theirs):
        raise Untraceable("no rule for bases of a whole space")
    return np.where(np.sum(np.asarray(ours) * theirs, axis=-2, keepdims=True) < 0, -1.0, 1.0)


# -- Shapes, totals and choices ------------------------------------------------------------------


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    kept = [1] * len(shape)
    for place, axis in enumerate(broadcast_dimensions):
        kept[axis] = np.shape(x)[place]
    return np.broadcast_to(np.reshape(x, kept), shape)


def _slice(x: Any, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (None,) * len(start_indices)
    return x[
        tuple(slice(*place) for place in zip(start_indices, limit_indices, steps, strict=True))
    ]


def _select(which: Any, *cases: Any, **_: Any) -> Any:
    if len(cases) == 2:  # which is a condition, that stays in the graph
        return np.where(which, cases[1], cases[0])
    found = cases[0]
    for number, case in enumerate(cases[1:], 1):
        found = np.where(np.asarray(which) == number, case, found)
    return found


def _running(name: str) -> Rule:
    """Return what a function of PyTorch's gives along an axis, from the other end where it is
    reversed.
    """

    def run(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
        found = _on_tensors(function(name), np.flip(x, axis) if reverse else x, axis)
        found = found[0] if isinstance(found, tuple) else found  # an extreme comes with its place
        return np.flip(found, axis) if reverse else found

    return run


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("copy copy_p name reduce_precision"), lambda x, **_: x), "optimization_barrier": lambda *xs, **_: list(xs),
    "select_n": _select, "convert_element_type": lambda x, new_dtype, **_: x.astype(new_dtype),
    "broadcast_in_dim": _broadcast, "slice": _slice, "tile": lambda x, reps, **_: np.tile(x, reps),
    "concatenate": lambda *xs, dimension, **_: np.concatenate(xs, dimension), "stack": lambda *xs, axis=0, **_: np.stack(xs, axis),
    "split": lambda x, sizes, axis, **_: np.split(x, np.cumsum(sizes)[:-1], axis),
    "reduce_and": lambda x, axes, **_: np.all(x, tuple(axes)), "reduce_or": lambda x, axes, **_: np.any(x, tuple(axes)),
    "reduce_window_max": _window(np.max, -np.inf), "reduce_window_min": _window(np.min, np.inf), "reduce_window_sum": _window(np.sum, 0.0),
    **{name: _running(name) for name in words("cumsum cumprod cummax cummin")}, "cumlogsumexp": _running("logcumsumexp"),
    "sort": _sort, "top_k": _top, "conv_general_dilated": _convolution, "dot_general": _dot,
    "cholesky": lambda x, **_: np.linalg.cholesky(x), "triangular_solve": _triangular_solve,
}  # fmt: skip
ASKING: dict[str, Rule] = {  # which get the primitive, too, to ask JAX with it
    "gather": _moving_rule(0), "dynamic_slice": _moving_rule(0), "pad": _moving_rule(0, 1), "dynamic_update_slice": _moving_rule(0, 1),
    "scatter": _moving_rule(0, 2),
    "scatter-add": _add_at, "lu": _lu, "eigh": _eigh, "svd": _svd, "qr": _qr,
}  # fmt: skip
