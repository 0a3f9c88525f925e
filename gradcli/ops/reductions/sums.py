"""Reductions along axes, with ``axis`` (None, an integer or a tuple) and ``keepdims``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, ShapeError, TypeMismatchError
from gradcli.ops import axes, pytorch
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.carrying import entries
from gradcli.ops.constants import difference
from gradcli.ops.elementwise.arithmetic import abs_, sign, square
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.exponential import exp, log, sqrt
from gradcli.ops.elementwise.logic import equal, greater, isfinite, isnan, less, less_equal, logical_and, logical_not, logical_or, where
from gradcli.ops.facts import SAME, Function, Kink, noted
from gradcli.ops.looping import product_in_torch, reduced_text
from gradcli.ops.reductions import carried, extended
from gradcli.ops.reductions.carried import count, reduced
from gradcli.ops.reductions.cumulative import exclusive_products
from gradcli.ops.registry import composite, composition, function, is_number, structural
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import detach
from gradcli.ops.writing import Shape, witness

# -- Reductions as NumPy's keywords widen them: of the entries where a mask holds, beginning with a
# number, around a given mean.
#
# Each is what the operation of its name is, made of operations, for calls with ``where``,
# ``initial`` or ``mean``.


def is_truth(mask: Any) -> bool:
    """Return whether a mask is one, whatever carries it."""
    kind = getattr(mask, "kind", None)
    if isinstance(kind, str):
        return kind == "bool"
    array = getattr(mask, "array", mask)
    return bool(np.asarray(array).dtype.kind == "b")


def mask_for(name: str, x: Any, mask: Any) -> Any:
    """A mask in the shape of x."""
    if not is_truth(mask):
        raise TypeMismatchError(f"{name}: where must be booleans, such as x > 0")
    shape = tuple(x.shape)
    try:
        fits = np.broadcast_shapes(shape, tuple(mask.shape)) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{name}: a mask of shape {tuple(mask.shape)} does not fit an array of shape {shape}")
    return broadcast_to(mask, shape=shape) if tuple(mask.shape) != shape else mask


def _number(name: str, initial: Any) -> Any:
    if tuple(initial.shape):
        raise ShapeError(f"{name}: initial must be a number, not an array of shape {tuple(initial.shape)}")
    return initial


def _kept(name: str, x: Any, mask: Any, otherwise: float) -> Any:
    return x if mask is None else where(mask_for(name, x, mask), x, otherwise)


def how_many(name: str, x: Any, mask: Any, axis: Any, keepdims: bool, total: Function) -> Any:
    """How many entries a mask keeps."""
    return total(where(mask_for(name, x, mask), 1.0, 0.0), axis=axis, keepdims=keepdims)


def begun(name: str, reduce: Any, unit: float, combine: Function) -> Function:
    """A sum or a product of the chosen entries and a first number."""

    def body(x: Any, mask: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
        result = reduce(_kept(name, x, mask, unit), axis=axis, keepdims=keepdims)
        return result if initial is None else combine(result, _number(name, initial))

    return body


def extreme(name: str, reduce: Any, lowest: float, combine: Op) -> Function:
    """The largest (or smallest) of the chosen entries and a first number."""

    def body(x: Any, mask: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
        if initial is None:
            raise ArgumentError(f"{name} of the entries where a mask holds needs initial=, its value where there are none")
        start = _number(name, initial)
        if not count(tuple(x.shape), axis):
            return broadcast_to(start, shape=reduced(tuple(x.shape), axis, keepdims))
        return combine(reduce(_kept(name, x, mask, lowest), axis=axis, keepdims=keepdims), start)

    return body


def average(name: str, total: Function) -> Function:
    """The mean of the chosen entries."""

    def body(x: Any, mask: Any, axis: Any, keepdims: bool) -> Any:
        chosen = total(_kept(name, x, mask, 0.0), axis=axis, keepdims=keepdims)
        return chosen / how_many(name, x, mask, axis, keepdims, total)

    return body


def around(name: str, total: Function, length: Function, root: bool, without_nan: bool = False) -> Function:
    """The variance (or its root) of the chosen entries, around their mean or one that is given."""

    def body(x: Any, mask: Any, mean: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
        chosen = None if mask is None else mask_for(name, x, mask)
        if without_nan:
            number = logical_not(isnan(x))
            chosen = number if chosen is None else logical_and(chosen, number)
        kept = x if chosen is None else where(chosen, x, 0.0)
        n = count(tuple(x.shape), axis) if chosen is None else total(where(chosen, 1.0, 0.0), axis=axis, keepdims=True)
        centre = total(kept, axis=axis, keepdims=True) / n if mean is None else _centre(name, x, mean)
        apart = kept - centre
        apart = apart if chosen is None else where(chosen, apart, 0.0)
        result = length(apart, axis=axis, keepdims=keepdims) if root else total(square(apart), axis=axis, keepdims=keepdims)
        if chosen is None and is_number(ddof):
            size = np.float64(max(n - ddof, 0))
            return result / (np.sqrt(size) if root else size)
        left = n - ddof
        left = left if chosen is None else reshape(left, shape=tuple(result.shape))
        left = where(less_equal(left, 0), math.nan if without_nan else 0.0, left)
        return result / (sqrt(left) if root else left)

    return body


def _centre(name: str, x: Any, mean: Any) -> Any:
    try:
        fits = np.broadcast_shapes(tuple(x.shape), tuple(mean.shape)) == tuple(x.shape)
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: a mean of shape {tuple(mean.shape)} does not fit an array of shape {tuple(x.shape)}",
            help="mean(..., keepdims=True) keeps its axes",
        )
    return mean


_LARGEST_EXPONENT = 709.0  # whose exponential is finite


def log_of_scaled_sum(total: Function, plain: Function, largest: Function) -> Function:
    """log(sum(b*exp(x))) without overflow, and the sign of the sum: what has the factor 0 counts for nothing, however large."""

    def body(x: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
        if b is None and not return_sign:
            return plain(x, axis=axis, keepdims=keepdims)
        if b is not None:
            shape = np.broadcast_shapes(tuple(x.shape), tuple(b.shape))
            x, b = (v if tuple(v.shape) == shape else broadcast_to(v, shape=shape) for v in (x, b))
        counted = x if b is None else where(equal(b, 0), -math.inf, x)
        top = largest(counted, axis=axis, keepdims=True)
        top = detach(where(isfinite(top), top, 0.0))  # moving it changes nothing
        above = x - top
        if b is not None:
            above = where(equal(b, 0), minimum(above, _LARGEST_EXPONENT), above)
        scaled = total(exp(above) if b is None else b * exp(above), axis=axis, keepdims=True)
        size = reshape(log(abs_(scaled) if return_sign else scaled) + top, shape=reduced(tuple(x.shape), axis, keepdims))
        return (size, sign(reshape(scaled, shape=tuple(size.shape)))) if return_sign else size

    return body


AXES = {"axis": None, "keepdims": False}


def spread(reduction: Any, shape: Shape, axis: Any) -> Any:
    """A reduction's result (or its cotangent), reshaped so that it broadcasts against the operand."""
    if not reduction.shape or reduction.shape == shape:
        return reduction
    return reshape(reduction, shape=reduced(shape, axis, True))


def _late(name: str) -> Function:
    """A reduction of this file, for what stands above it."""

    def run(x: Any, **static: Any) -> Any:
        return globals()[name](x, **static)

    return run


def _wider(name: str, operands: str, body: Function, **static: Any) -> Composite:
    return composition(name, operands, body, static={**AXES, **static}, scalars="ddof" if static else "")


def reduction(name: str, forward: Function, reference: Function, vjp: Function, **record: Any) -> Op:
    static = {**AXES, **record.pop("static", {})}
    return structural(name, "x", forward, reference, vjp=vjp, shape=reduced, static=static, **record)


def _sum_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    return (broadcast_to(spread(cotangent, x.shape, axis), shape=x.shape),)


sum_ = reduction(
    "sum", np.add.reduce, witness("reducing.sum_"), _sum_vjp, linear=True, integral=True,
    doc="The sum of the entries.", examples=("sum(x**2, axis=0)",), rounding="terms", ulps=4, algebra="total", adds="entries",
    axes=axes.Reduction(axes.SUM),
    wider=_wider("sum", "x where? initial?", begun("sum", _late("sum_"), 0.0, lambda x, y: x + y)),
    numpy=lambda shapes, axis, keepdims: reduced_text("np.sum", shapes, axis, keepdims),
)


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims) / count(np.shape(x), axis)


def _mean_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    return (broadcast_to(spread(cotangent, x.shape, axis) / count(x.shape, axis), shape=x.shape),)


@function(
    vjp=_mean_vjp, forward=_mean, shape=reduced, linear=True, algebraic=True, extended=extended.MEAN, adds="entries",
    examples=("mean(x, axis=1)",), rounding="terms", ulps=4, wider=_wider("mean", "x where?", average("mean", _late("sum_"))),
    refuses=pytorch.only_floats("mean"),
)  # fmt: skip
def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the entries."""
    return sum_(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)


def _var(x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    n = count(np.shape(x), axis)
    deviation = x - np.sum(x, axis=axis, keepdims=True) / n
    return np.sum(np.square(deviation), axis=axis, keepdims=keepdims) / max(n - ddof, 0)


def _var_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> tuple[Any]:
    n = count(x.shape, axis)
    return (spread(cotangent, x.shape, axis) * (2 * (x - mean(x, axis=axis, keepdims=True)) / max(difference(n, ddof), 0)),)


@function(
    vjp=_var_vjp, forward=_var, shape=reduced, saves=("x",), refuses=pytorch.only_floats("std and var"),
    ulps=8,
    wider=_wider("var", "x where? mean?", around("var", _late("sum_"), _late("norm"), root=False), ddof=0),
)  # fmt: skip
def var(x: Any, *, axis: Any = None, keepdims: bool = False, ddof: float = 0) -> Any:
    """The variance: the mean squared deviation, divided by n - ddof (NumPy: 0; PyTorch's correction: 1)."""
    n = count(x.shape, axis)
    deviation = x - sum_(x, axis=axis, keepdims=True) / n
    return sum_(square(deviation), axis=axis, keepdims=keepdims) / max(difference(n, ddof), 0)


def _std(x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    return np.sqrt(_var(x, axis, keepdims, ddof))


def _std_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> tuple[Any]:
    n = count(x.shape, axis)
    spread_out = spread(out, x.shape, axis)
    slope = (x - mean(x, axis=axis, keepdims=True)) / (max(difference(n, ddof), 0) * spread_out)
    return (spread(cotangent, x.shape, axis) * where(equal(spread_out, 0), 0.0, slope),)


std = reduction(
    "std", _std, witness("reducing.std"), _std_vjp, static={"ddof": 0}, saves=("x", "out"), ulps=8,
    parts=lambda x, **static: sqrt(var.loops.parts(x, **static)),
    extended=extended.STD, refuses=pytorch.only_floats("std and var"),
    kinks=(Kink(lambda out: out == 0, "all entries equal", "0"),),
    doc="The standard deviation, the square root of var.",
    wider=_wider("std", "x where? mean?", around("std", _late("sum_"), _late("norm"), root=True), ddof=0),
)


def _prod_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    return (spread(cotangent, x.shape, axis) * exclusive_products(x, axis=axis),)


prod = reduction(
    "prod", np.prod, witness("reducing.prod"), _prod_vjp,
    saves=("x",), doc="The product of the entries; its gradient is right with zeros among them.", ulps=8,
    carries=carried.product_of_entries, rounds=carried.product_rounds,
    compounds=True, integral=True, extended=extended.PROD,
    axes=axes.Reduction(axes.PRODUCT),
    wider=_wider("prod", "x where? initial?", begun("prod", _late("prod"), 1.0, lambda x, y: x * y)),
    numpy=lambda shapes, axis, keepdims: reduced_text("np.prod", shapes, axis, keepdims),
    torch=product_in_torch,
)


def equal_to_result_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    """The gradient of a result that is one of the entries: shared evenly by the entries equal to it."""
    best = spread(out, x.shape, axis)
    chosen = logical_or(equal(x, best), logical_and(isnan(x), isnan(best)))
    return (_shared(spread(cotangent, x.shape, axis), chosen, axis),)


def _shared(cotangent: Any, chosen: Any, axis: Any) -> Any:
    """A cotangent in even parts to the entries chosen; to the others nothing goes back, however large it is."""
    return where(chosen, cotangent / sum_(where(chosen, 1.0, 0.0), axis=axis, keepdims=True), 0.0)


def _extreme(forward: Function) -> Function:
    def checked(x: Any, axis: Any, keepdims: bool) -> Any:
        if not np.size(x) and not count(np.shape(x), axis):
            raise EvaluationError("the largest or smallest of no entries does not exist")
        return forward(x, axis=axis, keepdims=keepdims)

    return checked


max_ = reduction(
    "max", _extreme(np.max), witness("reducing.max_"), equal_to_result_vjp, saves=("x", "out"), aliases=("amax",), ulps=0, integral=True,
    extended=extended.MAX, kinks=(noted("several largest entries", "shared evenly among them", SAME),),
    doc="The largest entry. max(x, y) of two values is the larger one, as in Python.", examples=("max(abs(x))",), sign=r"\max",
    axes=axes.Reduction(axes.LARGEST),
    wider=_wider("max", "x where? initial?", extreme("max", _late("max_"), -math.inf, maximum)),
    between=(), among=entries,
    numpy=lambda shapes, axis, keepdims: reduced_text("np.amax", shapes, axis, keepdims),
)
min_ = reduction(
    "min", _extreme(np.min), witness("reducing.min_"), equal_to_result_vjp, saves=("x", "out"), aliases=("amin",), ulps=0, integral=True,
    extended=extended.MIN, kinks=(noted("several smallest entries", "shared evenly among them", SAME),),
    doc="The smallest entry. min(x, y) of two values is the smaller one, as in Python.", sign=r"\min",
    axes=axes.Reduction(axes.SMALLEST),
    wider=_wider("min", "x where? initial?", extreme("min", _late("min_"), math.inf, minimum)),
    between=(), among=entries,
    numpy=lambda shapes, axis, keepdims: reduced_text("np.amin", shapes, axis, keepdims),
)


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if np.ndim(x) == 0:
        x, axis, keepdims = np.reshape(x, (1,)), None, False
    if ord in (None, 2):
        # scaled by the largest entry, so that squares neither overflow nor vanish
        top = np.max(np.abs(x), axis=axis, keepdims=True, initial=0)
        top = np.where(np.isfinite(top) & (top > 0), top, 1)
        total = np.sqrt(np.sum(np.square(x / top), axis=axis, keepdims=True)) * top
        return np.reshape(total, reduced(np.shape(x), axis, keepdims))[()]
    size = np.abs(x)
    if ord == math.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(np.result_type(x))
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    return np.power(np.sum(np.power(size, ord), axis=axis, keepdims=keepdims), 1 / ord)


def _norm_of_entries(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord not in (None, 2):
        return norm(x, ord=ord, axis=axis, keepdims=keepdims)
    top = max_(abs_(x), axis=axis, keepdims=True)
    top = where(logical_and(greater(top, 0.0), less(top, math.inf)), top, 1.0)
    root = sqrt(sum_(square(x * (1 / top)), axis=axis, keepdims=True)) * top
    return root if keepdims else reshape(root, shape=reduced(x.shape, axis, False))


def _norm_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    best, scale = spread(out, x.shape, axis), spread(cotangent, x.shape, axis)
    if ord == 0:
        return (None,)
    if ord == 1:
        return (scale * sign(x),)
    if ord in (math.inf, -math.inf):
        return (_shared(scale * sign(x), equal(abs_(x), best), axis),)
    slope = x / best
    if ord not in (None, 2):
        slope = where(equal(x, 0), 0.0, sign(x) * abs_(slope) ** difference(ord, 1))
    return (scale * where(equal(best, 0), 0.0, slope),)


def _norm_composed(x: Any, axis: Any, keepdims: bool, ord: float | None) -> Any:
    if ord in (None, 2, 2.0):
        return _norm_of_entries(x, axis=axis, keepdims=keepdims, ord=ord)
    if ord == math.inf or ord == -math.inf:
        return (max_ if ord > 0 else min_)(abs_(x), axis=axis, keepdims=keepdims)
    if not ord:
        return sum_(where(equal(x, 0), 0.0, 1.0), axis=axis, keepdims=keepdims)
    return sum_(abs_(x) ** ord, axis=axis, keepdims=keepdims) ** (1 / ord)


norm = reduction(
    "norm", _norm, witness("reducing.norm"), _norm_vjp, static={"ord": None}, saves=("x", "out"), ulps=4, extended=extended.NORM,
    carries=carried.norm, rounds=carried.norm_rounds, among=lambda x, ord, **_: abs_(x) if ord in (math.inf, -math.inf) else None,
    kinks=(Kink(lambda out: out == 0, "x = 0", "0"),),
    doc="The vector norm of the entries along axes: Euclidean by default, ord any number, inf or -inf. "
    "Of a matrix without ord, the Frobenius norm.",
    examples=("norm(x - a)",), backward="LinalgVectorNorm", parts=_norm_of_entries, composed=_norm_composed,
)


def _deviation(op: Op, and_mean: bool) -> Function:
    def body(x: Any, axis: Any, unbiased: bool | None, keepdims: bool, correction: float | None) -> Any:
        ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
        axis = None if axis == () else axis
        function = op if is_number(ddof) or op.wider is None else op.wider
        result = function(x, axis=axis, keepdims=keepdims, ddof=ddof)
        return (result, mean(x, axis=axis, keepdims=keepdims)) if and_mean else result

    return body


_CORRECTED = {"axis": None, "unbiased": None, "keepdims": False, "correction": None}
for _op in (var, std):
    composite(
        f"torch_{_op.name}", "x", _deviation(_op, False), static=_CORRECTED, scalars="correction", public=False,
        doc=f"torch.{_op.name}: divided by n - correction (1 by default).",
    )  # fmt: skip
    composite(
        f"{_op.name}_mean", "x", _deviation(_op, True), static=_CORRECTED, scalars="correction",
        doc=f"{_op.name} and mean in one, as in PyTorch.",
    )  # fmt: skip


def _nansum(x: Any, mask: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
    """The sum of the entries that are numbers, where a mask holds, and of a first number."""
    kept = where(isnan(x), 0.0, x)
    if mask is None and initial is None:
        return sum_(kept, axis=axis, keepdims=keepdims)
    return begun("nansum", sum_, 0.0, lambda x, y: x + where(isnan(y), 0.0, y))(kept, mask, initial, axis, keepdims)


def _nanmean(x: Any, mask: Any, axis: Any, keepdims: bool) -> Any:
    number = logical_not(isnan(x))
    chosen = number if mask is None else logical_and(number, mask_for("nanmean", x, mask))
    total = sum_(where(chosen, x, 0.0), axis=axis, keepdims=keepdims)
    return total / sum_(where(chosen, 1.0, 0.0), axis=axis, keepdims=keepdims)


nansum = composite(
    "nansum", "x where? initial?", _nansum, static=AXES, doc="The sum of the entries that are numbers.",
    examples=("nansum(x)",),
)  # fmt: skip
nanmean = composite("nanmean", "x where?", _nanmean, static=AXES, doc="The mean of the entries that are numbers.")


_SPREAD = "x, axis@unbiased, unbiased, keepdims, *, correction"
declare(
    TORCH,
    **{name: signature(f"torch_{name}", _SPREAD) for name in ("var", "std")},
    **{name: signature(name, _SPREAD) for name in ("var_mean", "std_mean")},
    **{name: signature(name, "x, axis, keepdims, -dtype, -out") for name in ("nansum", "nanmean")},
)
declare(
    NUMPY,
    nansum=signature("nansum", "x, axis, -dtype, -out, keepdims, initial, where"),
    nanmean=signature("nanmean", "x, axis, -dtype, -out, keepdims, where"),
)
