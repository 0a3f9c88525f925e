"""Reductions along axes, with ``axis`` (None, an integer or a tuple) and ``keepdims``."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.errors import (
    ArgumentError,
    MistypedArgumentError,
    ShapeError,
    TypeMismatchError,
)
from gradcli.ops import axes, carrying, extended, pytorch
from gradcli.ops.arrays.reshaping import one_number
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.carrying import count, reduced_shape
from gradcli.ops.constants import difference, exactly
from gradcli.ops.elementwise.arithmetic import abs_, add, mul, sign, square
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.elementwise.logic import (
    equal,
    greater,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    where,
)
from gradcli.ops.reductions.cumulative import exclusive_products
from gradcli.ops.registry import (
    SAME,
    Function,
    Kink,
    Number,
    Op,
    Shape,
    composite,
    declare,
    function,
    is_number,
    noted_kink,
    structural,
)
from gradcli.ops.text import product_in_torch, reduced_text

# -- Reductions as NumPy's keywords widen them: of the entries where a mask holds, beginning with a
# number, around a given mean.
#
# Each is the form that NumPy has of the operation, for calls with ``where``, ``initial`` or
# ``mean``.


def is_truth(mask: Any) -> bool:
    """Return whether a mask is one, whatever carries it."""
    kind = getattr(mask, "kind", None)
    if isinstance(kind, str):
        return kind == "bool"
    array = getattr(mask, "array", mask)
    return bool(np.asarray(array).dtype.kind == "b")


def mask_for(name: str, x: Any, mask: Any) -> Any:
    """Return a mask in the shape of x.

    Raises TypeMismatchError for a mask that is not booleans.
    """
    if not is_truth(mask):
        raise TypeMismatchError(f"{name}: where must be booleans, such as x > 0")
    return broadcast_to(mask, shape=tuple(x.shape)) if tuple(mask.shape) != tuple(x.shape) else mask


def _mask_of_counted(name: str, x: Any, mask: Any, without_nan: bool) -> Any:
    """Return the mask of the entries that count, or None where all do."""
    chosen = None if mask is None else mask_for(name, x, mask)
    if not without_nan:
        return chosen
    number = logical_not(isnan(x))
    return number if chosen is None else logical_and(chosen, number)


def _keep(x: Any, chosen: Any, otherwise: float) -> Any:
    return x if chosen is None else where(chosen, x, otherwise)


def _how_many(x: Any, chosen: Any, axis: Any, keepdims: bool) -> Any:
    return (
        count(tuple(x.shape), axis)
        if chosen is None
        else sum_(where(chosen, 1.0, 0.0), axis=axis, keepdims=keepdims)
    )


def _begin_with(
    reduce: Op,
    unit: float,
    combine: Function,
    x: Any,
    mask: Any,
    initial: Any,
    axis: Any,
    keepdims: bool,
    without_nan: bool,
) -> Any:
    """Reduce the chosen entries together with a first number.

    If no entry is chosen, the result is that number.
    """
    chosen = _mask_of_counted(reduce.name, x, mask, without_nan)
    start = initial if initial is None else one_number(reduce.name, initial)
    if math.isinf(unit):
        if start is None and not without_nan:
            raise ArgumentError(
                f"{reduce.name} of the entries where a mask holds needs initial=, its value where "
                "there are none"
            )
        if start is not None and not count(tuple(x.shape), axis):
            return broadcast_to(start, shape=reduced_shape(tuple(x.shape), axis, keepdims))
    result = reduce(_keep(x, chosen, unit), axis=axis, keepdims=keepdims)
    if start is None and without_nan and math.isinf(unit):  # NaN where there is no number
        return where(equal(_how_many(x, chosen, axis, keepdims), 0), math.nan, result)
    return result if start is None else combine(result, start)


def _average(name: str, x: Any, mask: Any, axis: Any, keepdims: bool, without_nan: bool) -> Any:
    """Return the mean of the chosen entries."""
    chosen = _mask_of_counted(name, x, mask, without_nan)
    return sum_(_keep(x, chosen, 0.0), axis=axis, keepdims=keepdims) / _how_many(
        x, chosen, axis, keepdims
    )


def variation(
    name: str,
    root: bool,
    x: Any,
    mask: Any,
    axis: Any,
    keepdims: bool,
    ddof: float,
    without_nan: bool = False,
) -> Any:
    """Return the variance, or its root, of the chosen entries."""
    chosen = _mask_of_counted(name, x, mask, without_nan)
    kept = _keep(x, chosen, 0.0)
    n = _how_many(x, chosen, axis, True)
    apart = _keep(kept - sum_(kept, axis=axis, keepdims=True) / n, chosen, 0.0)
    result = (
        norm(apart, axis=axis, keepdims=keepdims)
        if root
        else sum_(square(apart), axis=axis, keepdims=keepdims)
    )
    left = n - ddof if chosen is None else reshape(n - ddof, shape=tuple(result.shape))
    left = where(less_equal(left, 0), math.nan if without_nan else 0.0, left)
    return result / (sqrt(left) if root else left)


AXES = {"axis": None, "keepdims": False}


def spread(reduction: Any, shape: Shape, axis: Any) -> Any:
    """Reshape a reduction's result, or its cotangent, to broadcast against the operand."""
    if not reduction.shape or len(reduction.shape) == len(shape):  # its axes were kept
        return reduction
    return reshape(reduction, shape=reduced_shape(shape, axis, True))


def _with_keywords(op: Op, operands: str, body: Function, **static: Any) -> None:
    """Register the form of a reduction that takes NumPy's further keywords."""
    signature = operands + " ddof:number" * bool(static)
    static = {**AXES, "without_nan": False, **static}
    composite(
        f"numpy_{op.name}",
        signature,
        body,
        static=static,
        doc=f"{op.doc} With NumPy's keywords, or without NaN.",
    )


def reduction(
    names: str, forward: Function, reference: Function | str, vjp: Function, **record: Any
) -> Op:
    static = {**AXES, **record.pop("static", {})}
    return structural(
        names,
        record.pop("signature", "x"),
        forward,
        reference,
        vjp=vjp,
        shape=reduced_shape,
        static=static,
        **record,
    )


_total: Function = np.add.reduce
sum_: Op = reduction(
    "sum", _total, "arrays.sum_",
    lambda cotangent, out, x, axis, keepdims: broadcast_to(spread(cotangent, x.shape, axis), shape=x.shape),
    dtype="number",
    doc="The sum of the entries. >>> sum(x**2, axis=0)", rounding="terms", ulps=4, algebra="total",
    axes=axes.Reduction(axes.SUM),
    numpy=partial(reduced_text, "np.sum"),
)
_with_keywords(sum_, "x where? initial?", partial(_begin_with, sum_, 0.0, add))


@function("sum_to_size", numpy="x, shape|size+", torch="x, shape|size+")
def sum_to(x: Any, *, shape: Shape) -> Any:
    """The sum over the axes along which broadcasting would have repeated an array of the given
    shape.
    """
    old, wanted = tuple(x.shape), tuple(shape)
    lead = len(old) - len(wanted)
    if lead < 0 or any(n not in (1, whole) for n, whole in zip(wanted, old[lead:], strict=True)):
        raise ShapeError(f"cannot broadcast an array of shape {wanted} to {old}")
    gone = axes.repeated_axes(old, wanted)
    if not gone:
        return x
    axis = None if len(gone) == len(old) else gone if len(gone) > 1 else gone[0]
    total = sum_(x, axis=axis, keepdims=not lead)
    return total if tuple(total.shape) == wanted else reshape(total, shape=wanted)


@function(
    vjp=lambda cotangent, out, x, axis, keepdims: broadcast_to(spread(cotangent, x.shape, axis) / count(x.shape, axis), shape=x.shape),
    shape=reduced_shape, algebra="mean", rounding="terms", ulps=4,
    refuses=pytorch.only_floats,
)
def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the entries.

    >>> mean(x, axis=1)
    """
    return sum_(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)


_with_keywords(mean, "x where?", partial(_average, "mean"))


def deviations(x: Any, axis: Any) -> Any:
    """Return x minus its mean along axes."""
    return x - mean(x, axis=axis, keepdims=True)


def _var_vjp(cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    n = count(x.shape, axis)
    return spread(cotangent, x.shape, axis) * (
        2 * deviations(x, axis) / max(difference(n, ddof), 0)
    )


@function(
    vjp=_var_vjp, shape=reduced_shape, saves="x", refuses=pytorch.only_floats,
    ulps=8,
)
def var(x: Any, *, axis: Any = None, keepdims: bool = False, ddof: Number = 0) -> Any:
    """The variance: the mean squared deviation, divided by n - ddof (NumPy: 0; PyTorch's
    correction: 1).
    """
    n = count(x.shape, axis)
    deviation = x - sum_(x, axis=axis, keepdims=True) / n
    return sum_(square(deviation), axis=axis, keepdims=keepdims) / max(difference(n, ddof), 0)


def _std_vjp(cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool, ddof: float) -> Any:
    n = count(x.shape, axis)
    spread_out = spread(out, x.shape, axis)
    slope = deviations(x, axis) / (max(difference(n, ddof), 0) * spread_out)
    return spread(cotangent, x.shape, axis) * where(equal(spread_out, 0), 0.0, slope)


@function(
    vjp=_std_vjp, forward=lambda x, **static: sqrt(var(x, **static)), shape=reduced_shape, saves="x out", ulps=8,
    refuses=pytorch.only_floats,
    kinks=Kink(lambda out: out == 0, "all entries equal", "0"),
)
def std(x: Any, *, axis: Any = None, keepdims: bool = False, ddof: Number = 0) -> Any:
    """The standard deviation, the square root of var."""
    return sqrt(var.definition(x, axis=axis, keepdims=keepdims, ddof=ddof))


_with_keywords(var, "x where?", partial(variation, "var", False), ddof=0)
_with_keywords(std, "x where?", partial(variation, "std", True), ddof=0)


prod: Op = reduction(
    "prod", np.prod, "arrays.prod",
    lambda cotangent, out, x, axis, keepdims: spread(cotangent, x.shape, axis) * exclusive_products(x, axis=axis),
    saves="x", doc="The product of the entries; its gradient is right with zeros among them.", ulps=8,
    carries=carrying.product_of_entries, rounding=carrying.product_rounds,
    algebra="product of entries", dtype="number", extended=extended.PROD,
    axes=axes.Reduction(axes.PRODUCT),
    numpy=partial(reduced_text, "np.prod"),
    torch=product_in_torch,
)
_with_keywords(prod, "x where? initial?", partial(_begin_with, prod, 1.0, mul))


def equal_to_result_vjp(cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the gradient of a result that is one of the entries.

    The entries equal to the result share it evenly.
    """
    best = spread(out, x.shape, axis)
    chosen = logical_or(equal(x, best), logical_and(isnan(x), isnan(best)))
    return _share(spread(cotangent, x.shape, axis), chosen, axis)


def _share(cotangent: Any, chosen: Any, axis: Any) -> Any:
    """Share a cotangent evenly among the chosen entries.

    The others receive nothing, however large the cotangent is.
    """
    return where(chosen, cotangent / sum_(where(chosen, 1.0, 0.0), axis=axis, keepdims=True), 0.0)


def _extreme(
    name: str,
    word: str,
    forward: Function,
    rule: Any,
    unit: float,
    pair: Op,
    example: str = "",
    **record: Any,
) -> Op:
    made: Op = reduction(
        f"{name} a{name}",
        forward,
        f"arrays.{name}_",
        equal_to_result_vjp,
        saves="x out",
        ulps=0,
        dtype="number",
        kinks=noted_kink(f"several {word}est entries", "shared evenly among them", SAME),
        doc=f"The {word}est entry. {name}(x, y) of two values is the {word}er one, as in Python. "
        f"{example}",
        axes=axes.Reduction(rule),
        carries=(),
        numpy=partial(reduced_text, f"np.a{name}"),
        **record,
    )
    _with_keywords(made, "x where? initial?", partial(_begin_with, made, unit, pair))
    return made


max_ = _extreme("max", "larg", np.max, axes.LARGEST, -math.inf, maximum, ">>> max(abs(x))", extended=extended.MAX)
min_ = _extreme("min", "small", np.min, axes.SMALLEST, math.inf, minimum, extended=extended.MIN)


def _scaled_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """Compute the norm from entries that are divided by the largest one.

    Their squares neither overflow nor vanish.
    """
    if ord not in (None, 2) or 0 in x.shape:
        return norm.definition(x, ord=ord, axis=axis, keepdims=keepdims)
    top = max_(abs_(x), axis=axis, keepdims=True)
    top = where(logical_and(greater(top, 0.0), less(top, math.inf)), top, 1.0)
    root = sqrt(sum_(square(x / top), axis=axis, keepdims=True)) * top
    return root if keepdims else reshape(root, shape=reduced_shape(x.shape, axis, False))


def _norm_vjp(cotangent: Any, out: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    best, scale = spread(out, x.shape, axis), spread(cotangent, x.shape, axis)
    if ord == 0:
        return None
    if ord == 1:
        return scale * sign(x)
    if ord in (math.inf, -math.inf):
        return _share(scale * sign(x), equal(abs_(x), best), axis)
    slope = x / best
    if ord not in (None, 2):
        slope = where(equal(x, 0), 0.0, sign(x) * abs_(slope) ** difference(ord, 1))
    return scale * where(equal(best, 0), 0.0, slope)


@function(
    vjp=_norm_vjp, forward=lambda x, **static: _scaled_norm(x, **static)[()], shape=reduced_shape, parts=_scaled_norm,
    saves="x out", ulps=4, carries=carrying.norm_errors, rounding=carrying.norm_rounds,
    kinks=Kink(lambda out: out == 0, "x = 0", "0"), backward="LinalgVectorNorm",
)
def norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = None) -> Any:
    """The vector norm of the entries along axes: Euclidean by default, ord any number, inf or -inf. Of a matrix without ord,
    the Frobenius norm.

    >>> norm(x - a)
    """
    if ord in (None, 2):
        return sqrt(sum_(square(x), axis=axis, keepdims=keepdims))
    if ord in (math.inf, -math.inf):
        return (max_ if ord > 0 else min_)(abs_(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum_(where(equal(x, 0), 0.0, 1.0), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_(abs_(x), axis=axis, keepdims=keepdims)
    return sum_(abs_(x) ** ord, axis=axis, keepdims=keepdims) ** exactly(
        f"(1/{ord!r})", lambda m: 1 / m.mpf(ord)
    )


def _correct(
    op: Op, x: Any, axis: Any, unbiased: bool | None, keepdims: bool, correction: float | None
) -> Any:
    if unbiased is not None and correction is not None:
        raise MistypedArgumentError(f"{op.name}: give unbiased or correction, not both")
    ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    if not is_number(ddof):
        return variation(op.name, op is std, x, None, axis, keepdims, ddof)
    return op(x, axis=axis, keepdims=keepdims, ddof=ddof)


def _with_mean(
    op: Op, x: Any, axis: Any, unbiased: bool | None, keepdims: bool, correction: float | None
) -> Any:
    spread = _correct(op, x, axis, unbiased, keepdims, correction)
    return spread, mean(x, axis=axis, keepdims=keepdims)


for _op in (var, std):
    _parameters: dict[str, Any] = {
        "axis": None,
        "unbiased": None,
        "keepdims": False,
        "correction": None,
    }
    composite(
        f"torch_{_op.name}",
        "x correction:number",
        partial(_correct, _op),
        static=_parameters,
        doc=f"torch.{_op.name}: divided by n - correction (1 by default).",
    )
    composite(
        f"{_op.name}_mean",
        "x correction:number",
        partial(_with_mean, _op),
        static=_parameters,
        doc=f"{_op.name} and mean in one, as in PyTorch.",
    )
_SPREAD = "x, axis~@unbiased, unbiased, keepdims, *, correction"
_VARIED = "x, axis, -dtype, -out, ddof|correction, keepdims, where, -mean; without_nan=True"
declare(f"""
    numpy:
        nansum = numpy_sum(x, axis, -dtype, -out, keepdims, initial, where; without_nan=True)
        nanprod = numpy_prod(x, axis, -dtype, -out, keepdims, -initial, -where; without_nan=True)
        nanmax = numpy_max(x, axis, -out, keepdims, -initial, -where; without_nan=True)
        nanmin = numpy_min(x, axis, -out, keepdims, -initial, -where; without_nan=True)
        nanmean = numpy_mean(x, axis, -dtype, -out, keepdims, where; without_nan=True)
        nanvar = numpy_var({_VARIED})
        nanstd = numpy_std({_VARIED})
    torch:
        nansum = numpy_sum(x, axis~, keepdims, -dtype, -out; without_nan=True)
        nanmean = numpy_mean(x, axis~, keepdims, -dtype, -out; without_nan=True)
        var = torch_var({_SPREAD})
        std = torch_std({_SPREAD})
        var_mean std_mean({_SPREAD})
""")
