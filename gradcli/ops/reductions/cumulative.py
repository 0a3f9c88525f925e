"""Running sums and products, and their companions: the gradients of prod and cumprod, right with zeros too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import cutting
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import flip, getitem, reshape, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import chain
from gradcli.ops.elementwise.exponential import exp, log
from gradcli.ops.elementwise.logic import equal, greater_equal, isnan, not_equal, where
from gradcli.ops.extended import Whole
from gradcli.ops.facts import Function
from gradcli.ops.reductions import carried, extended
from gradcli.ops.registry import composite, find, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.writing import Shape, axes_of, one_axis, witness


def _cumsum(x: Any, axis: int | None) -> Any:
    return np.cumsum(x, axis=axis)


def _running_shape(old: Shape, axis: int | None) -> Shape:
    axes_of(axis, len(old))
    return (math.prod(old),) if axis is None or not old else old


def _cumsum_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: int | None) -> tuple[Any]:
    place = 0 if axis is None else axis
    back = flip(cumsum(flip(cotangent, axis=place), axis=place), axis=place)
    return (back if back.shape == x.shape else reshape(back, shape=x.shape),)


def _chosen_from(x: Any, axes: tuple[int, ...], relation: Op, rest: float) -> Any:
    """For each place along axes, the entries whose own places there stand in a relation to it, and a number for the others, last of all."""
    kept = tuple(a for a in range(len(x.shape)) if a not in axes)
    lead = tuple(x.shape[a] for a in kept)
    n = math.prod(x.shape[a] for a in axes)
    rows = reshape(transpose(x, axes=(*kept, *axes)), shape=(*lead, 1, n))
    count = x.graph.constant(np.arange(float(n)))
    return where(relation(reshape(count, shape=(n, 1)), count), rows, rest)


def _put_back(rows: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """An array of a shape from one whose given axes come last, as one."""
    order = (*(a for a in range(len(shape)) if a not in axes), *axes)
    return transpose(reshape(rows, shape=tuple(shape[a] for a in order)), axes=tuple(np.argsort(order).tolist()))


# What follows finds sum and prod by their names, as their file imports this one.


def _cumsum_composed(x: Any, axis: int | None) -> Any:
    if axis is None or not x.shape:
        x, axis = reshape(x, shape=(-1,)), 0
    axes = (axis % len(x.shape),)
    return _put_back(find("sum")(_chosen_from(x, axes, greater_equal, 0.0), axis=-1), x.shape, axes)


def _exclusive_composed(x: Any, axis: Any) -> Any:
    axes = axes_of(axis, len(x.shape))
    return _put_back(find("prod")(_chosen_from(x, axes, not_equal, 1.0), axis=-1), x.shape, axes)


cumsum = structural(
    "cumsum", "x", _cumsum, witness("reducing.cumsum"), vjp=_cumsum_vjp, shape=_running_shape, static={"axis": None}, linear=True,
    doc="Running sums along an axis (of all entries in order by default).", rounding="partial sums", ulps=8, integral=True,
    extended=extended.CUMSUM, across=cutting.moved, composed=_cumsum_composed,
    numpy=lambda shapes, axis: f"np.cumsum({{0}}, {axis})" if axis is not None and shapes[0] else "np.cumsum(np.ravel({0}), 0)",
)  # fmt: skip


def _exclusive(x: Any, axis: Any) -> Any:
    """Each entry's product of the others: running products from both ends, so that zeros do no harm."""
    x = np.asarray(x)
    axes = axes_of(axis, x.ndim)
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    one = np.ones((*rows.shape[:-1], 1), dtype=rows.dtype)
    before = np.cumprod(np.concatenate([one, rows[..., :-1]], axis=-1), axis=-1)
    after = np.flip(np.cumprod(np.concatenate([one, np.flip(rows[..., 1:], -1)], axis=-1), axis=-1), -1)
    others = (before * after).reshape(moved.shape) if rows.size else moved
    return np.moveaxis(others, range(-len(axes), 0), axes)[()]


def _exclusive_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any) -> tuple[Any]:
    # d/dx_j of sum_i c_i prod_{k != i} x_k: for each j, the sum over i of c_i times the product of all but i and j.
    axes = axes_of(axis, len(x.shape))
    n = math.prod(x.shape[a] for a in axes)
    kept = tuple(a for a in range(len(x.shape)) if a not in axes)
    order = (*kept, *axes)
    lead = tuple(x.shape[a] for a in kept)
    rows = reshape(transpose(x, axes=order), shape=(*lead, n)) if order else reshape(x, shape=(1,))
    weights = reshape(transpose(cotangent, axes=order), shape=(*lead, n)) if order else reshape(cotangent, shape=(1,))
    every = ((None, None, None),) * len(lead)
    total: Any = 0.0
    for i in range(n):
        before, after = getitem(rows, index=(*every, (None, i, None))), getitem(rows, index=(*every, (i + 1, None, None)))
        others = concatenate(before, after, axis=-1)
        part = getitem(weights, index=(*every, (i, i + 1, None))) * exclusive_products(others, axis=-1)
        zero = 0.0 * getitem(rows, index=(*every, (i, i + 1, None)))
        pieces = (getitem(part, index=(*every, (None, i, None))), zero, getitem(part, index=(*every, (i, None, None))))
        total = total + concatenate(*pieces, axis=-1)
    if not n:
        return (0.0 * x,)
    back = reshape(total, shape=tuple(x.shape[a] for a in order))
    return (transpose(back, axes=tuple(np.argsort(order).tolist())) if order else back,)


exclusive_products = structural(
    "exclusive_products", "x", _exclusive, witness("reducing.exclusive_products"), vjp=_exclusive_vjp, shape=lambda old, axis: old,
    static={"axis": None}, public=False, saves=("x",), doc="Each entry's product of all the others: the gradient of prod.", ulps=8,
    compounds=True, carries=carried.product_of_entries, composed=_exclusive_composed,
    numpy=lambda shapes, axis: f"_exclusive_products({{0}}, {axes_of(axis, len(shapes[0]))!r})",
)  # fmt: skip


def _cumprod(x: Any, axis: int | None) -> Any:
    return np.cumprod(x, axis=axis)


def _cumprod_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: int | None) -> tuple[Any]:
    # Linear in the entries and right with zeros: S_i = c_i + x_{i+1} S_{i+1} and dx_i = P_{i-1} S_i,
    # with P the running product; S is itself the registered operation `reversed_horner`.
    if axis is None or not x.shape:
        flat = reshape(x, shape=(-1,))
        return (reshape(_cumprod_vjp(wanted, cotangent, out, flat, 0)[0], shape=x.shape),)
    if not x.shape[axis]:
        return (cotangent,)
    lead = ((None, None, None),) * (axis % len(x.shape))
    first = getitem(x, index=(*lead, (0, 1, None))) * 0.0 + 1.0
    before = concatenate(first, getitem(out, index=(*lead, (None, -1, None))), axis=axis)
    return (before * reversed_horner(cotangent, x, axis=axis),)


cumprod = structural(
    "cumprod", "x", _cumprod, witness("reducing.cumprod"), vjp=_cumprod_vjp, shape=_running_shape, static={"axis": None},
    saves=("x", "out"),
    doc="Running products along an axis; its gradient is right with zeros among the entries.", ulps=8, compounds=True,
    carries=carried.product_of_entries, rounds=carried.product_rounds,
    integral=True, extended=Whole("running.CUMPROD"),
    numpy=lambda shapes, axis: f"np.cumprod({{0}}, {axis})" if axis is not None and shapes[0] else "np.cumprod(np.ravel({0}), 0)",
)  # fmt: skip


def _horner(c: Any, x: Any, axis: int) -> Any:
    c, x = np.moveaxis(np.asarray(c), axis, 0), np.moveaxis(np.asarray(x), axis, 0)
    out = np.empty(np.broadcast_shapes(c.shape, x.shape), dtype=np.result_type(c, x))
    if len(out):
        out[-1] = c[-1]
    for i in range(len(out) - 2, -1, -1):
        out[i] = c[i] + x[i + 1] * out[i + 1]
    return np.moveaxis(out, 0, axis)


def _horner_vjp(wanted: Any, cotangent: Any, out: Any, c: Any, x: Any, axis: int) -> tuple[Any, Any]:
    # The transpose runs forwards: T_i = t_i + x_i T_{i-1}; dc = T and dx_i = T_{i-1} S_i.
    back = flip(cotangent, axis=axis)
    lead = ((None, None, None),) * (axis % len(x.shape))
    first = getitem(x, index=(*lead, (0, 1, None))) * 0.0
    delayed = concatenate(first, getitem(flip(x, axis=axis), index=(*lead, (None, -1, None))), axis=axis)
    forwards = flip(reversed_horner(back, delayed, axis=axis), axis=axis)
    shifted = concatenate(first, getitem(forwards, index=(*lead, (None, -1, None))), axis=axis)
    return forwards, shifted * out


reversed_horner: Op = structural(
    "reversed_horner", "c x", _horner, witness("reducing.reversed_horner"), vjp=_horner_vjp,
    shape=lambda c, x, axis: np.broadcast_shapes(c, x), static={"axis": 0}, public=False, saves=("x", "out"), ulps=8,
    doc="S with S[i] = c[i] + x[i+1]*S[i+1], from the last entry backwards: the transpose of cumprod.",
    carries=carried.product_of_entries, rounds=carried.horner_rounds,
)  # fmt: skip


def _logcumsumexp(x: Any, axis: int) -> Any:
    return np.logaddexp.accumulate(x, axis=axis) if np.ndim(x) else x


def _logcumsumexp_reference(m: Any, x: Any, axis: int) -> Any:
    def joined(low: Any, high: Any) -> Any:
        if m.surely(lambda: m.plain(low) > m.plain(high)):
            low, high = high, low
        return high if not -math.inf < m.plain(high) < math.inf else high + m.log1p(m.exp(low - high))

    if not x.ndim:
        return x
    along = np.moveaxis(x, axis, 0)
    rows = along.reshape(len(along), along[:1].size).copy()
    for i in range(1, len(rows)):
        rows[i] = [joined(before, entry) for before, entry in zip(rows[i - 1], rows[i], strict=True)]
    return np.moveaxis(rows.reshape(along.shape), 0, axis)


def _logcumsumexp_of_entries(x: Any, axis: int) -> Any:
    if not x.shape:
        return x
    top = find("max")(x, axis=axis, keepdims=True)
    return top + log(cumsum(exp(x - top), axis=axis))


def _logcumsumexp_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: int) -> tuple[Any]:
    # dx_i = exp(x_i - y_i) S_i with S_i = c_i + exp(y_i - y_{i+1}) S_{i+1}: no exponent is positive.
    if not x.shape or not x.shape[axis]:
        return (cotangent,)
    lead = ((None, None, None),) * (axis % len(x.shape))
    before = concatenate(getitem(out, index=(*lead, (0, 1, None))), getitem(out, index=(*lead, (None, -1, None))), axis=axis)
    fall = where(equal(before, out), 0.0, before - out)
    return (chain(reversed_horner(cotangent, exp(fall), axis=axis), exp(x - out)),)


def _along(old: Shape, axis: int) -> Shape:
    axes_of(axis, len(old))
    return old


logcumsumexp = structural(
    "logcumsumexp", "x", _logcumsumexp, _logcumsumexp_reference, vjp=_logcumsumexp_vjp, shape=_along, static={"axis": REQUIRED},
    saves=("x", "out"), between=(), rounds=carried.running_rounds, ulps=8,
    doc="log(cumsum(exp(x))) along an axis, without overflow.",
    definition=_logcumsumexp_of_entries, examples=("logcumsumexp(x, 0)",),
)  # fmt: skip


def _in_place(op: Op) -> Function:
    """PyTorch's: along an axis that must be named, a number staying a number."""

    def body(x: Any, axis: int) -> Any:
        one_axis(axis, max(len(x.shape), 1))
        return op(x, axis=axis) if x.shape else x

    return body


def _without_nan(op: Op, unit: float) -> Function:
    return lambda x, axis: op(where(isnan(x), unit, x), axis=axis)


def _initial(op: Op, unit: float) -> Function:
    """The Python array API's: the axis must be named unless there is but one, and an empty sum may come first."""

    def body(x: Any, axis: int | None, include_initial: bool) -> Any:
        if axis is None and len(x.shape) != 1:
            raise ShapeError("the axis must be given for an array of other than one axis")
        axis = 0 if axis is None else axis
        out = op(x, axis=axis)
        if not include_initial:
            return out
        first = tuple(1 if i == axis % len(x.shape) else n for i, n in enumerate(x.shape))
        return concatenate(np.full(first, unit), out, axis=axis)

    return body


torch_cumsum = composite(
    "torch_cumsum", "x", _in_place(cumsum), copied=True, static={"axis": REQUIRED}, public=False, doc="torch.cumsum.",
)
torch_cumprod = composite(
    "torch_cumprod", "x", _in_place(cumprod), copied=True, static={"axis": REQUIRED}, public=False,
    doc="torch.cumprod.",
)
nancumsum = composite("nancumsum", "x", _without_nan(cumsum, 0.0), static={"axis": None}, doc="Running sums, NaN counting as 0.")
nancumprod = composite("nancumprod", "x", _without_nan(cumprod, 1.0), static={"axis": None}, doc="Running products, NaN counting as 1.")
cumulative_sum = composite(
    "cumulative_sum", "x", _initial(cumsum, 0.0), static={"axis": None, "include_initial": False},
    doc="Running sums along an axis, with 0 before them if include_initial.",
)
cumulative_prod = composite(
    "cumulative_prod", "x", _initial(cumprod, 1.0), static={"axis": None, "include_initial": False},
    doc="Running products along an axis, with 1 before them if include_initial.",
)

declare(NUMPY, **{name: signature(name, "x, axis, -dtype, -out") for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")},
        **{name: signature(name, "x, axis, -dtype, -out, include_initial") for name in ("cumulative_sum", "cumulative_prod")},
        logcumsumexp=signature("logcumsumexp", "x, axis"))  # fmt: skip
declare(TORCH, cumsum=signature("torch_cumsum", "x, axis, -dtype"), cumprod=signature("torch_cumprod", "x, axis, -dtype"))
