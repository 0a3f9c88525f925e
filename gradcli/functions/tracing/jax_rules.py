"""JAX's primitives on traced arrays: a rule takes a primitive's operands, of which some are traced,
and its parameters.

A primitive that the catalogue has, as a function of ``jax.lax`` or entry by entry, is that. The
other rules are functions of NumPy's and PyTorch's on traced arrays. What only moves entries is told
by JAX itself, which is asked where it puts the numbers of places. Signs that mathematics leaves
open are LAPACK's in both.
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


def _take(entries: Any, places: np.ndarray) -> Any:
    """Entries by their places; not a number where the place is -1."""
    found = entries[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places >= 0, found, np.nan)


def _spread(x: Any, absent: float, dilation: Sequence[int], padding: Any) -> Any:
    """An array with holes between its entries, and with padding, along its last axes."""
    kept = [(0, 0, 0)] * (np.ndim(x) - len(dilation))
    around = [(low, high, step - 1) for (low, high), step in zip(padding, dilation, strict=True)]
    pad = import_module("jax").lax.pad_p
    return ASKING["pad"](pad, x, np.asarray(absent, x.dtype), padding_config=(*kept, *around))


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
        x = _spread(x, absent, base_dilation, padding)
        extents = [
            (size - 1) * step + 1
            for size, step in zip(window_dimensions, window_dilation, strict=True)
        ]
        places = np.arange(x.size).reshape(x.shape)
        windows = np.lib.stride_tricks.sliding_window_view(places, extents)
        steps = [slice(None, None, step) for step in (*window_strides, *window_dilation)]
        return reduce(np.ravel(x)[windows[tuple(steps)]], axis=tuple(range(-len(extents), 0)))

    return rule


def _convolution(
    x: Any, w: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any,
    feature_group_count: int, batch_group_count: int, **_: Any,
) -> Any:  # fmt: skip
    if batch_group_count != 1 or not 1 <= len(padding) <= 3:
        raise Untraceable("no rule for a convolution with groups of a batch, or of many axes")
    x, w = np.transpose(x, dimension_numbers.lhs_spec), np.transpose(w, dimension_numbers.rhs_spec)
    found = _on_tensors(
        function(f"conv{len(padding)}d", "torch.nn.functional"),
        _spread(x, 0.0, lhs_dilation, padding),
        w,
        stride=window_strides,
        dilation=rhs_dilation,
        groups=feature_group_count,
    )
    return np.transpose(found, np.argsort(dimension_numbers.out_spec))


def _moving_rule(*sources: int) -> Rule:
    """The rule of a primitive that moves entries of these operands, or of all; what is outside of
    them is not a number.
    """

    def rule(primitive: Any, *operands: Any, **parameters: Any) -> Any:
        numbered, count = list(operands), 0
        moved = sources or range(len(operands))
        for i in moved:
            size = int(np.prod(np.shape(operands[i]), dtype=int))
            numbered[i] = count + np.arange(size).reshape(np.shape(operands[i]))
            count += size
        if "fill_value" in parameters:
            parameters["fill_value"] = -1
        entries = np.concatenate([np.ravel(operands[i]) for i in moved])
        found = [_take(entries, places) for places in _own(primitive, *numbered, **parameters)]
        return found if primitive.multiple_results else found[0]

    return rule


def _add_at(primitive: Any, x: Any, indices: Any, new: Any, **parameters: Any) -> Any:
    """An array with entries added to some of its own; what flows back from numbered entries says
    where.
    """
    jax, size = import_module("jax"), int(np.prod(np.shape(x), dtype=int))
    add = partial(primitive.bind, np.zeros(np.shape(x)), np.asarray(indices))
    _, pull = jax.vjp(lambda given: add(given, **parameters), np.zeros(np.shape(new)))
    (places,) = pull(1.0 + np.arange(size).reshape(np.shape(x)))  # 0 is for what is added nowhere
    index = Tensor(np.ravel(places).astype(int))
    scatter_add = function("scatter_add")
    found = _on_tensors(
        lambda entries, added: scatter_add(entries, 0, index, added),
        np.concatenate([np.zeros(1), np.ravel(x)]),
        np.ravel(new),
    )
    return np.reshape(found[1:], np.shape(x))


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


def _eigh(a: Any, lower: bool = True, **_: Any) -> list[Any]:
    values, vectors = np.linalg.eigh(a, "L" if lower else "U")
    return [vectors, values]


def _svd(a: Any, compute_uv: bool, full_matrices: bool, **_: Any) -> list[Any]:
    if not compute_uv:
        return [np.linalg.svd(a, compute_uv=False)]
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    _refuse_bases(full_matrices and a.shape[-2] != a.shape[-1])
    return [s, u, vt]


def _qr(a: Any, full_matrices: bool, pivoting: bool = False, **_: Any) -> list[Any]:
    _refuse_bases(pivoting or (full_matrices and a.shape[-2] > a.shape[-1]))
    return list(np.linalg.qr(a))


def _refuse_bases(further: bool) -> None:
    if further:
        raise Untraceable("no rule for bases of a whole space, and columns in another order")


def _own(primitive: Any, *operands: Any, **parameters: Any) -> list[np.ndarray]:
    """JAX's own results."""
    found = primitive.bind(
        *(import_module("jax").numpy.asarray(np.asarray(x)) for x in operands), **parameters
    )
    return [np.asarray(part) for part in (found if primitive.multiple_results else [found])]


# -- Shapes, totals and choices ------------------------------------------------------------------


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    kept = [1] * len(shape)
    for place, axis in enumerate(broadcast_dimensions):
        kept[axis] = np.shape(x)[place]
    return np.broadcast_to(np.reshape(x, kept), shape)


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
    "broadcast_in_dim": _broadcast,
    "reduce_and": lambda x, axes, **_: np.all(x, tuple(axes)), "reduce_or": lambda x, axes, **_: np.any(x, tuple(axes)),
    "reduce_window_max": _window(np.max, -np.inf), "reduce_window_min": _window(np.min, np.inf), "reduce_window_sum": _window(np.sum, 0.0),
    **{name: _running(name) for name in words("cumsum cumprod cummax cummin")}, "cumlogsumexp": _running("logcumsumexp"),
    "sort": _sort, "top_k": _top, "conv_general_dilated": _convolution, "dot_general": _dot,
    "cholesky": lambda x, **_: np.linalg.cholesky(x), "triangular_solve": _triangular_solve,
    "eigh": _eigh, "svd": _svd, "qr": _qr,
}  # fmt: skip
ASKING: dict[str, Rule] = {  # which get the primitive, too, to ask JAX with it
    **dict.fromkeys(words("slice concatenate stack split tile"), _moving_rule()),
    **dict.fromkeys(words("gather dynamic_slice"), _moving_rule(0)), **dict.fromkeys(words("pad dynamic_update_slice"), _moving_rule(0, 1)),
    "scatter": _moving_rule(0, 2), "scatter-add": _add_at, "lu": _lu,
}  # fmt: skip
