"""Running sums and products, and their companions.

The companions are the gradients of prod and cumprod, which are right with zeros, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops import carrying
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import axes_last, inverse, permute
from gradcli.ops.arrays.shapes import broadcast_to, flip, part_of, reshape, rows_of, vector_of
from gradcli.ops.elementwise.arithmetic import add, chain, mul
from gradcli.ops.elementwise.exponential import exp, log
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.extended import Whole
from gradcli.ops.registry import Function, Op, Shape, axes_of, declare, find, function, one_axis
from gradcli.ops.structure import clone


def _running_shape(old: Shape, axis: int | None) -> Shape:
    axes_of(axis, old)
    return (math.prod(old),) if axis is None or not old else old


def _cumsum_vjp(cotangent: Any, out: Any, x: Any, axis: int | None) -> Any:
    place = 0 if axis is None else axis
    back = flip(cumsum(flip(cotangent, axis=place), axis=place), axis=place)
    return back if back.shape == x.shape else reshape(back, shape=x.shape)


def rows_along(x: Any, axes: tuple[int, ...]) -> Any:
    """Return an array with the entries along ``axes`` in one axis, the last."""
    moved = permute(x, axes_last(x.shape, axes))
    lead = len(x.shape) - len(axes)
    return reshape(moved, shape=(*moved.shape[:lead], math.prod(moved.shape[lead:])))


def _put_back(rows: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return an array of a shape, made from its rows."""
    order = axes_last(shape, axes)
    return permute(reshape(rows, shape=tuple(shape[a] for a in order)), inverse(order))


def _running(combine: Function, x: Any, axis: int | None) -> Any:
    """Compute a running reduction.

    The running reduction of pairs of neighbours gives every other place, and each place between
    takes one entry more.
    """
    if axis is None or not x.shape:
        return _running(combine, vector_of(x), 0)
    place = axis % len(x.shape)
    n = x.shape[axis]
    if n < 2:
        return x
    pairs = _running(
        combine,
        combine(part_of(x, place, None, n - n % 2, 2), part_of(x, place, 1, None, 2)),
        place,
    )
    between = combine(part_of(pairs, place, None, (n - 1) // 2), part_of(x, place, 2, None, 2))
    order = np.argsort([*range(0, n, 2), *range(1, n, 2)])
    return rows_of(
        concatenate(part_of(x, place, None, 1), between, pairs, axis=place), order, place
    )


def _running_text(function: str) -> Function:
    return lambda shapes, axis: (
        f"{function}({{0}}, {axis})"
        if axis is not None and shapes[0]
        else f"{function}(np.ravel({{0}}), 0)"
    )


@function(
    vjp=_cumsum_vjp, forward=np.cumsum, shape=_running_shape, parts=None, rounding="partial sums", ulps=8, dtype="number",
    extended=Whole("CUMSUM"), numpy=_running_text("np.cumsum"),
)
def cumsum(x: Any, *, axis: int | None = None) -> Any:
    """Running sums along an axis (of all entries in order by default)."""
    return _running(add, x, axis)


def exclusive_products(x: Any, axis: Any) -> Any:
    """Return for each entry the product of all the others along axes.

    It is made of running products from both ends, so zeros do no harm.
    """
    axes = axes_of(axis, x.shape)
    rows = rows_along(x, axes)
    if not rows.shape[-1]:
        return x
    one = part_of(rows, -1, 0, 1) ** 0
    before = _delay(cumprod(rows, axis=-1), -1, one)
    behind = _delay(cumprod(flip(rows, axis=-1), axis=-1), -1, one)
    # A copy, so that no formula writes this out.
    return clone(_put_back(before * flip(behind, axis=-1), x.shape, axes))


def _delay(x: Any, axis: int, first: Any) -> Any:
    """Entries moved by one along an axis, behind a first one."""
    return concatenate(first, part_of(x, axis, 0, x.shape[axis] - 1), axis=axis)


def _cumprod_vjp(cotangent: Any, out: Any, x: Any, axis: int | None) -> Any:
    # Linear in the number of entries, and right with zeros: S_i = c_i + x_{i+1} S_{i+1} and dx_i =
    # P_{i-1} S_i, where P is the running product. S is the registered operation `reversed_horner`.
    if axis is None or not x.shape:
        flat = vector_of(x)
        return reshape(_cumprod_vjp(cotangent, out, flat, 0), shape=x.shape)
    if not x.shape[axis]:
        return cotangent
    return _delay(out, axis, part_of(x, axis, 0, 1) ** 0) * reversed_horner(cotangent, x, axis=axis)


@function(
    vjp=_cumprod_vjp, forward=np.cumprod, shape=_running_shape, parts=None, saves="x out", ulps=8, algebra="product of entries",
    carries=carrying.product_of_entries, rounding=carrying.product_rounds, dtype="number", numpy=_running_text("np.cumprod"),
)
def cumprod(x: Any, *, axis: int | None = None) -> Any:
    """Running products along an axis; its gradient is right with zeros among the entries."""
    return _running(mul, x, axis)


def _horner(c: Any, x: Any, axis: int) -> Any:
    c, x = np.moveaxis(np.asarray(c), axis, 0), np.moveaxis(np.asarray(x), axis, 0)
    out = np.empty(np.broadcast_shapes(c.shape, x.shape), dtype=np.result_type(c, x))
    if len(out):
        out[-1] = c[-1]
    for i in range(len(out) - 2, -1, -1):
        out[i] = c[i] + x[i + 1] * out[i + 1]
    return np.moveaxis(out, 0, axis)


def _horner_vjp(cotangent: Any, out: Any, c: Any, x: Any, axis: int) -> tuple[Any, Any]:
    # The transpose runs forwards: T_i = t_i + x_i T_{i-1}; dc = T and dx_i = T_{i-1} S_i.
    none = part_of(x, axis, 0, 1) * 0.0
    forwards = flip(
        reversed_horner(
            flip(cotangent, axis=axis), _delay(flip(x, axis=axis), axis, none), axis=axis
        ),
        axis=axis,
    )
    return forwards, _delay(forwards, axis, none) * out


@function(
    vjp=_horner_vjp, forward=_horner, shape=lambda c, x, axis: np.broadcast_shapes(c, x), parts=None, public=False, saves="x out",
    ulps=8, carries=carrying.product_of_entries, rounding=lambda m, out, c, x, axis: m.at(2 * m.abs(out) + m.abs(c), m.abs(x)),
)
def reversed_horner(c: Any, x: Any, *, axis: int = 0) -> Any:
    """S with S[i] = c[i] + x[i+1]*S[i+1], from the last entry backwards: the transpose of
    cumprod.
    """
    shape = np.broadcast_shapes(c.shape, x.shape)
    c, x = broadcast_to(c, shape=shape), broadcast_to(x, shape=shape)
    n = shape[axis]
    found = [part_of(c, axis, n - 1, n)]
    for i in range(n - 1, 0, -1):
        found.append(part_of(c, axis, i - 1, i) + part_of(x, axis, i, i + 1) * found[-1])
    return concatenate(*found[::-1], axis=axis)


def _logcumsumexp_of_entries(x: Any, axis: int) -> Any:
    if not x.shape:
        return x
    top = find("max")(x, axis=axis, keepdims=True)
    return top + log(cumsum(exp(x - top), axis=axis))


def _logcumsumexp_vjp(cotangent: Any, out: Any, x: Any, axis: int) -> Any:
    # dx_i = exp(x_i - y_i) S_i with S_i = c_i + exp(y_i - y_{i+1}) S_{i+1}: no exponent is
    # positive.
    if not x.shape or not x.shape[axis]:
        return cotangent
    before = _delay(out, axis, part_of(out, axis, 0, 1))
    fall = where(equal(before, out), 0.0, before - out)
    return chain(reversed_horner(cotangent, exp(fall), axis=axis), exp(x - out))


@function(
    vjp=_logcumsumexp_vjp,
    forward=lambda x, axis: np.logaddexp.accumulate(x, axis=axis) if np.ndim(x) else x,
    shape=carrying.ordered_shape, parts=_logcumsumexp_of_entries,
    saves="x out", carries=(), ulps=8,
    rounding=carrying.running_rounds,
)
def logcumsumexp(x: Any, *, axis: int) -> Any:
    """log(cumsum(exp(x))) along an axis, without overflow.

    >>> logcumsumexp(x, 0)
    """
    return log(cumsum(exp(x), axis=axis)) if x.shape else x


def _of_pytorch(op: Op) -> None:
    """Register PyTorch's form: along an axis that must be named, a number staying a number."""

    def body(x: Any, *, axis: int) -> Any:
        one_axis(axis, x.shape or (1,))
        return op(x, axis=axis) if x.shape else x

    body.__doc__ = f"torch.{op.name}."
    function(f"torch_{op.name}", memory="own")(body)


_of_pytorch(cumsum)
_of_pytorch(cumprod)


declare("""
    numpy:
        cumsum cumprod(x, axis, -dtype, -out)
        logcumsumexp(x, axis)
    torch:
        cumsum = torch_cumsum(x, axis, -dtype)
        cumprod = torch_cumprod(x, axis, -dtype)
""")
