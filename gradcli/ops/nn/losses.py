"""Distances between points, and losses, averaged, summed, or left one by one.

Of equal points every distance has the gradient 0. By the largest coordinate (p = inf), coordinates
that are equally large share the gradient evenly; PyTorch's cdist and pdist give each of them all of
it, which no subgradient does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, LabelError, ShapeError
from gradcli.ops.arrays.reshaping import at_least_1d, expand_dims
from gradcli.ops.arrays.shapes import (
    StaticArray,
    broadcast_to,
    getitem,
    reshape,
    shape_with,
    take_along,
    vector_of,
)
from gradcli.ops.elementwise.arithmetic import abs_, sign, square
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt, xlogy
from gradcli.ops.elementwise.logic import (
    clip,
    equal,
    greater,
    greater_equal,
    maximum,
    minimum,
    where,
)
from gradcli.ops.linalg.matrices import as_row
from gradcli.ops.nn.activations import _log_softmax, log_softmax, relu
from gradcli.ops.reductions.cumulative import cumprod
from gradcli.ops.reductions.sums import mean, norm, sum_
from gradcli.ops.registry import (
    Function,
    Index,
    Number,
    Shape,
    axes_of,
    composite,
    declare,
    flat,
    function,
    is_number,
    need_axes,
    noted_kink,
    one_axis,
    room_for,
    signature_of,
    structural,
)
from gradcli.ops.special.gamma import sigmoid, softplus
from gradcli.ops.special.integrals import rel_entr
from gradcli.ops.structure import detach, not_negative, to_int, with_values


def held_at(x: Any, low: float) -> Any:
    """Return x raised to a bound, with the gradient of x itself.

    This is PyTorch's clamp under no_grad.
    """
    return with_values(x, maximum(x, low))


_KINKS = (noted_kink("equal points", "0"),)


def _length(difference: Any, p: float, axis: int | None = None) -> Any:
    # Without coordinates the distance is 0, whatever p is.
    return norm(difference, ord=None if 0 in difference.shape else float(p), axis=axis)


def _between(differences: Any, p: float) -> Any:
    """Return the distances of points.

    For p = 0 it is the number of coordinates that differ, whose gradient is 0.
    """
    return _length(differences, p, -1) if p else sum_(sign(abs_(differences)), axis=-1)


def _positive(p: float) -> None:
    if not p >= 0:
        raise ArgumentError(f"p must be a number of at least 0, not {p!r}")


@function(torch="x, y, p", kinks=_KINKS)
def dist(x: Any, y: Any, *, p: Any = 2) -> Any:
    """The p-norm of x - y, p any number, 0 or inf.

    >>> dist(x, y)
    """
    return _length(x - y, p)


@function(torch="x|x1, y|x2, p, -compute_mode", kinks=_KINKS)
def cdist(x: Any, y: Any, *, p: float = 2.0) -> Any:
    """The distances of each row of x from each row of y, in the p-norm.

    >>> cdist([x], [y, 2*x])
    """
    _positive(p)
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"cdist needs rows of equally many coordinates, not the shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )
    others = reshape(y, shape=(*y.shape[:-2], 1, *y.shape[-2:]))
    return _between(as_row(x) - others, p)


declare("""
    scipy:
        distance.euclidean = dist(x|u, y|v)
        distance.cityblock = dist(x|u, y|v; p=1)
        distance.sqeuclidean = mse_loss(input|u, target|v; reduction='sum')
        distance.cdist = cdist(x|XA, y|XB)
""")


@function(kinks=_KINKS)
def pdist(x: Any, *, p: float = 2) -> Any:
    """The distances between all pairs of rows, in the p-norm.

    >>> pdist([x, y])
    """
    _positive(p)
    need_axes("pdist", x, 2, 2)
    room_for(2, x.shape[0] * x.shape[0] // 2)
    first, second = (StaticArray(index) for index in np.triu_indices(x.shape[0], 1))
    return _between(getitem(x, index=(first,)) - getitem(x, index=(second,)), p)


@function()
def renorm(x: Any, *, p: float, axis: int, maxnorm: float) -> Any:
    """The slices along an axis, those with a p-norm beyond maxnorm scaled down to it.

    >>> torch.renorm([x, y], 2, 0, 0.5)
    """
    need_axes("renorm", x, 2)
    if not p > 0 or not maxnorm >= 0:
        raise ArgumentError("renorm: p must be positive and maxnorm not negative")
    along = one_axis(axis, x.shape)
    lengths = norm(
        x, ord=float(p), axis=tuple(a for a in range(len(x.shape)) if a != along), keepdims=True
    )
    return x * where(greater(lengths, maxnorm), maxnorm / (lengths + 1e-7), 1.0)


# -- Directions and distances of vectors along an axis -------------------------------------------


_AT_ZERO = (noted_kink("a vector of zeros", "the length has the slope 0"),)


def _row_norm(x: Any, p: float, axis: Any, keepdims: bool = True) -> Any:
    return norm(
        at_least_1d(x), ord=None if p == 2 else p, axis=axis, keepdims=keepdims and bool(x.shape)
    )


@function(torch="x1, x2, axis, eps", kinks=_AT_ZERO)
def cosine_similarity(x1: Any, x2: Any, *, axis: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle of two vectors along an axis. A length below eps counts as eps, and its gradient is its own.

    >>> cosine_similarity(x, y, axis=0)
    """
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = (v if v.shape == shape else broadcast_to(v, shape=shape) for v in (x1, x2))
    first, second = (v / held_at(_row_norm(v, 2, axis), eps) for v in (x1, x2))
    return sum_(first * second, axis=axis)


@function(torch="x1, x2, p, eps, keepdims", kinks=_AT_ZERO)
def pairwise_distance(
    x1: Any, x2: Any, *, p: float = 2.0, eps: Number = 1e-6, keepdims: bool = False
) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> pairwise_distance(x, y)
    """
    return _row_norm(x1 - x2 + eps, p, -1, keepdims)


@function(torch="x, p, axis, eps, -out", kinks=_AT_ZERO)
def normalize(x: Any, *, p: float = 2.0, axis: Any = 1, eps: Number = 1e-12) -> Any:
    """x over its p-norm along an axis, which is at least eps.

    >>> normalize(x, axis=0)
    """
    axes_of(axis, x.shape)
    return x / clip(_row_norm(x, p, axis), eps, None)


# -- Losses --------------------------------------------------------------------------------------


REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of 'mean', 'sum' and 'none', not {reduction!r}")


def total(losses: Any, reduction: str) -> Any:
    """Losses as the reduction says."""
    check_reduction(reduction)
    return losses if reduction == "none" else sum_(losses) if reduction == "sum" else mean(losses)


def loss(torch: str, **record: Any) -> Callable[[Function], Any]:
    """Register a loss by its definition, as `function` does.

    ``torch`` is PyTorch's order of all parameters. The definition gives the loss of every entry, or
    takes ``reduction`` itself.
    """

    def define(body: Function) -> Any:
        static = body.__kwdefaults__ or {}
        reduces = "reduction" in static

        def reducing(*arrays: Any, reduction: str, **rest: Any) -> Any:
            return (
                body(*arrays, reduction=reduction, **rest)
                if reduces
                else total(body(*arrays, **rest), reduction)
            )

        made = composite(
            body.__name__,
            signature_of(body),
            reducing,
            doc=body.__doc__ or "",
            static={**static, "reduction": "mean"},
            **record,
        )
        declare(f"torch:\n{made.name}({torch})")
        return made

    return define


@loss("input, target, -size_average, -reduce, reduction")
def mse_loss(input: Any, target: Any) -> Any:
    """The squared differences.

    >>> mse_loss(x, y)
    """
    return square(input - target)


_TIE = (noted_kink("input = target", "0"),)


@loss("input, target, -size_average, -reduce, reduction", kinks=_TIE)
def l1_loss(input: Any, target: Any) -> Any:
    """The absolute differences."""
    return abs_(input - target)


@loss("input, target, -size_average, -reduce, reduction, beta", kinks=_TIE)
def smooth_l1_loss(input: Any, target: Any, *, beta: Number = 1.0) -> Any:
    """d**2/(2*beta) of differences d up to beta, |d| - beta/2 of larger ones."""
    if is_number(beta) and beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta must be at least 0, not {beta}")
    size = abs_(input - target)
    if is_number(beta) and not beta:
        return size
    return where(greater(size, beta), size - beta / 2, square(input - target) / (2 * beta))


@loss("input, target, reduction, delta")
def huber_loss(input: Any, target: Any, *, delta: Number = 1.0) -> Any:
    """d**2/2 of differences d up to delta, delta*(|d| - delta/2) of larger ones."""
    if is_number(delta) and delta <= 0:
        raise ArgumentError(f"huber_loss: delta must be more than 0, not {delta}")
    size = abs_(input - target)
    return where(greater(size, delta), delta * (size - delta / 2), square(input - target) / 2)


@loss("input, target, -size_average, -reduce, reduction, log_target")
def kl_div(input: Any, target: Any, *, log_target: bool = False, reduction: str = "mean") -> Any:
    """target*(log(target) - input), the input being log-probabilities, the target too if
    log_target; 'batchmean' divides by the first extent.
    """
    losses = (
        exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    )
    if reduction != "batchmean":
        return total(losses, reduction)
    return sum_(losses) / input.shape[0] if input.shape else losses


@function(domain="x > 0 and y > 0")
def scipy_kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x*log(x/y) - x + y, entry by entry; y where x is 0."""
    return rel_entr(x, y) - x + y


declare("""
    scipy:
        kl_div = scipy_kl_div(x, y, -out)
""")


@loss("input, target, var, full, eps, reduction, -size_average, -reduce")
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6
) -> Any:
    """(log(var) + (input - target)**2/var)/2, log(2*pi)/2 more if full.

    A variance below eps counts as eps, and its gradient is that at eps.
    """
    if var.shape and var.shape == input.shape[:-1]:
        var = reshape(var, shape=(*var.shape, 1))
    # tangents are those of var itself, and may be negative
    held = with_values(var, maximum(not_negative(var), eps))
    losses = 0.5 * (log(held) + square(input - target) / held)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses


@loss("input, target, log_input, full, -size_average, eps, -reduce, reduction")
def poisson_nll_loss(
    input: Any, target: Any, *, log_input: bool = True, full: bool = False, eps: Number = 1e-8
) -> Any:
    """exp(input) - target*input, or input - target*log(input + eps) where the input is no
    logarithm; if full, Stirling's approximation of log(target!) more where the target is above 1.
    """
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if not full:
        return losses
    above = greater(target, 1)
    safe = where(above, target, 1.0)
    return losses + where(above, safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0.0)


# -- Negative log-likelihoods of labels


# PyTorch's bounds of a logarithm, and (a float32 there) of the denominator x*(1 - x) of its slope.
_LOWEST, _NARROWEST = -100.0, float(np.float32(1e-12))


def _same_shape(x: Shape, y: Shape) -> Shape:
    if x != y:
        raise ShapeError(f"target size {y} must be the same as input size {x}")
    return x


def _bernoulli(x: Any, y: Any) -> Any:
    return -(y * maximum(log(x), _LOWEST) + (1 - y) * maximum(log1p(-x), _LOWEST))


def _bernoulli_of_floats(x: Any, y: Any) -> Any:
    if not np.all((x >= 0) & (x <= 1)):
        raise EvaluationError("all elements of input should be between 0 and 1")
    return _bernoulli(x, y)


bernoulli_nll = structural(
    "bernoulli_nll", "input target", _bernoulli_of_floats, "arrays.bernoulli_nll",
    vjp=(
        lambda cotangent, out, x, y: cotangent * ((x - y) / maximum((1 - x) * x, _NARROWEST)),
        lambda cotangent, out, x, y: cotangent * (maximum(log1p(-x), _LOWEST) - maximum(log(x), _LOWEST)),
    ),
    shape=_same_shape,
    saves="input target", ulps=4, backward="BinaryCrossEntropy", domain="0 <= input <= 1",
    doc="-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y. As in PyTorch, a "
    "logarithm is at least -100, and the "
    "denominator of the slope (x - y)/(x*(1 - x)) at least 1e-12. The slope by y is that of the "
    "limited logarithms (PyTorch's is infinite "
    "at 0 and 1). >>> bernoulli_nll([0.2, 0.7], [0, 1])",
    definition=_bernoulli,
)


@loss(
    "input, target, weight, -size_average, -reduce, reduction", domain="0 <= input <= 1",
)
def binary_cross_entropy(input: Any, target: Any, weight: Any = None) -> Any:
    """-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y, its logarithms and slopes limited as bernoulli_nll's.

    >>> binary_cross_entropy([0.2, 0.7], [0, 1])
    """
    _same_shape(input.shape, target.shape)
    losses = bernoulli_nll(input, target)
    return losses if weight is None else losses * weight


def _bernoulli_of_logits(x: Any, y: Any) -> Any:
    rest = np.log1p(np.exp(-np.abs(x)))
    return y * (np.maximum(-x, 0) + rest) + (1 - y) * (np.maximum(x, 0) + rest)


# sigmoid(x) - y without its cancellation, as 1 - sigmoid(x) is sigmoid(-x). And softplus(-x) -
# softplus(x) is -x.
@function(
    vjp=(
        lambda cotangent, out, x, y: cotangent * (sigmoid(x) * (1 - y) - sigmoid(-x) * y),
        lambda cotangent, out, x, y: -cotangent * x,
    ),
    forward=_bernoulli_of_logits, shape=_same_shape, saves="input target", ulps=8, public=False,
)
def bernoulli_nll_of_logits(input: Any, target: Any) -> Any:
    """bernoulli_nll(sigmoid(x), y), stable for logits x of any size."""
    return target * softplus(-input) + (1 - target) * softplus(input)


@loss(
    "input, target, weight, -size_average, -reduce, reduction, pos_weight", backward="BinaryCrossEntropyWithLogits",
)
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None
) -> Any:
    """-(y*log(sigmoid(x)) + (1 - y)*log(1 - sigmoid(x))) of logits x and targets y, stable for logits of any size; averaged, summed or
    not, by reduction.

    >>> binary_cross_entropy_with_logits(x, y)
    """
    _same_shape(input.shape, target.shape)
    if pos_weight is None:
        losses = bernoulli_nll_of_logits(input, target)
    else:
        losses = target * pos_weight * softplus(-input) + (1 - target) * softplus(input)
    return losses if weight is None else losses * weight


@loss("input, target, weight, -size_average, -reduce, reduction")
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None) -> Any:
    """binary_cross_entropy_with_logits, averaged over the last axis; the target is broadcast to the
    input.
    """
    losses = binary_cross_entropy_with_logits(
        input, broadcast_to(target, shape=input.shape), weight, reduction="none"
    )
    axis = len(input.shape) - 1  # of the classes in the input; a weight may have more axes
    return sum_(losses, axis=axis) / input.shape[axis] if input.shape else losses


def _class_labels(x: Any, classes: int, ignored: int | None) -> Any:
    given = np.asarray(x)
    labels = given.astype(np.int64)
    if given.dtype.kind == "f" and (parts := given[given != labels]).size:
        raise LabelError(f"the label {parts.flat[0]} is no whole number")
    if ignored is not None:
        labels = np.where(labels == ignored, 0, labels)
    if (wrong := labels[(labels < 0) | (labels >= classes)]).size:
        raise LabelError(
            f"the label {wrong.flat[0]} is none of the {classes} classes, which are counted from 0"
        )
    return labels[()]


class_labels = flat(
    "class_labels", "x:index", _class_labels, lambda m, x, classes, ignored: 0 if x == ignored else x, None, dtype="int",
    static={"classes": 1, "ignored": None}, public=False,
    doc="Whole numbers from 0 to classes - 1, checked to be; an ignored one counts as 0.",
    numpy=lambda shapes, classes, ignored:
    ("{0}" if ignored is None else f"np.where(np.equal({{0}}, {ignored}), 0, {{0}})") + ".astype(np.int64)",
    torch=lambda shapes, classes, ignored:
    ("torch.as_tensor({0})" if ignored is None else f"torch.where(torch.as_tensor({{0}}) == {ignored}, 0, torch.as_tensor({{0}}))")
    + ".to(torch.int64)",
)


def _class_axis(scores: Shape, labels: Shape) -> int:
    """Return the axis of the classes: the second one, or the only one.

    Labels lie along it and have the shape () or (N, ...). Raises ShapeError for labels of another
    shape.
    """
    axis = min(1, len(scores) - 1)
    if not scores or labels != shape_with(scores, axis):
        raise ShapeError(
            f"labels of shape {tuple(labels)} do not fit scores of shape {tuple(scores)}, with "
            "classes along axis 1"
        )
    return axis


def label_places(x: Any, target: Any, ignored: int | None = None) -> tuple[int, Any]:
    """Return the axis of the classes, and labels along it."""
    axis = _class_axis(x.shape, target.shape)
    return axis, expand_dims(
        class_labels(target, classes=x.shape[axis], ignored=ignored), axis=axis
    )


def _one_label(x: Any, target: Any) -> Any:
    """Return labels; that of a single vector of scores may be in a vector, too, as in PyTorch."""
    return reshape(target, shape=()) if len(x.shape) == 1 and target.shape == (1,) else target


def _by_class(axis: int, weight: Any, like: Any) -> Any:
    """One weight for each class, along the axis of the classes."""
    if weight.shape != (like.shape[axis],):
        raise ShapeError(
            f"one weight for each of {like.shape[axis]} classes is wanted, not an array of shape "
            f"{tuple(weight.shape)}"
        )
    return reshape(weight, shape=(-1, *(1,) * (len(like.shape) - axis - 1)))


def _label_nll_shape(scores: Shape, labels: Shape, ignored: int, reduction: str) -> Shape:
    _class_axis(scores, labels)
    return labels if reduction == "none" else ()


def _label_nll(input: Any, target: Any, ignored: int, reduction: str) -> Any:
    axis = _class_axis(input.shape, np.shape(target))
    kept = np.not_equal(target, ignored)
    logarithms = _log_softmax(input, axis)
    labels = _class_labels(np.where(kept, target, 0), input.shape[axis], None)
    rows = np.moveaxis(logarithms, axis, -1)
    chosen = rows.reshape(-1, rows.shape[-1])[np.arange(labels.size), labels.ravel()]
    losses = np.where(kept, -chosen.reshape(labels.shape), 0)
    if reduction == "none":
        return losses[()]
    loss = np.add.reduce(losses, axis=None)
    return loss if reduction == "sum" else loss / loss.dtype.type(np.count_nonzero(kept))


def _label_nll_slope(
    cotangent: Any, out: Any, input: Any, target: Any, ignored: int, reduction: str
) -> Any:
    axis = min(1, len(input.shape) - 1)
    skipped = equal(target, ignored)
    logarithms = log_softmax(input, axis=axis)
    share = cotangent / sum_(where(skipped, 0.0, 1.0)) if reduction == "mean" else cotangent
    column = shape_with(input.shape, axis, 1)
    classes = np.arange(input.shape[axis])
    labels = equal(
        reshape(target, shape=column), classes.reshape(-1, *(1,) * (len(input.shape) - axis - 1))
    )
    return reshape(where(skipped, 0.0, share), shape=column) * where(
        labels, expm1(logarithms), exp(logarithms)
    )


@function(
    vjp=(_label_nll_slope, None), forward=_label_nll, shape=_label_nll_shape, saves="input target", public=False,
    rounding=lambda m, out, input, target, **_: (12 + m.size(target)) * m.abs(out),
)
def label_nll(input: Any, target: Index, *, ignored: int, reduction: str) -> Any:
    """nll_loss of log_softmax(input), without weights."""
    return _nll(
        log_softmax(input, axis=_class_axis(input.shape, target.shape)),
        target,
        None,
        ignored,
        reduction,
    )


def _nll(
    x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: Any = 0.0
) -> Any:
    """Return the losses of log-probabilities.

    Their mean is weighted by the classes' weights and leaves out ignored labels.
    """
    check_reduction(reduction)
    axis, places = label_places(x, target, ignore_index)
    weighted = x if weight is None else x * _by_class(axis, weight, x)
    chosen = take_along(weighted, places, axis=axis)
    losses = -reshape(chosen, shape=shape_with(x.shape, axis))
    ignored = equal(target, ignore_index)
    if not (is_number(smoothing) and not smoothing):
        losses = losses * (1 - smoothing) - sum_(weighted, axis=axis) * (smoothing / x.shape[axis])
    losses = where(ignored, 0.0, losses)
    if reduction != "mean":
        return total(losses, reduction)
    masses = (
        1.0
        if weight is None
        else reshape(take_along(weight, vector_of(places), axis=0), shape=target.shape)
    )
    return sum_(losses) / sum_(where(ignored, 0.0, masses))


@loss("input, target, weight, -size_average, ignore_index, -reduce, reduction")
def nll_loss(
    input: Any,
    target: Index,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """-input at the labels, the input being log-probabilities with the classes along the second
    axis; the mean is weighted by the classes' weights, and leaves out the label ignore_index.
    """
    return _nll(input, target, weight, ignore_index, reduction)


@loss(
    "input, target, weight, -size_average, ignore_index, -reduce, reduction, label_smoothing",
    backward="NllLoss",
)
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: Number = 0.0,
) -> Any:
    """nll_loss of log_softmax(input): the target holds labels, or, in the input's shape, probabilities of all classes. label_smoothing is
    shared evenly by all classes.

    >>> cross_entropy([1.5, -0.3, 0.2], 0)
    """
    if is_number(label_smoothing) and not 0 <= label_smoothing <= 1:
        raise ArgumentError(
            f"cross_entropy: label_smoothing must be from 0 to 1, not {label_smoothing}"
        )
    if not input.shape:
        raise ShapeError("cross_entropy: an input with an axis of classes is wanted")
    if target.shape != input.shape:
        target = _one_label(input, target)
    axis = min(1, len(input.shape) - 1)
    plain = is_number(label_smoothing) and not label_smoothing
    if weight is None and plain and target.shape != input.shape:
        check_reduction(reduction)
        return label_nll(input, target, ignored=ignore_index, reduction=reduction)
    scores = log_softmax(input, axis=axis)
    if target.shape != input.shape:
        return _nll(scores, target, weight, ignore_index, reduction, label_smoothing)
    shares = (
        target if plain else target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    )
    weighted = scores if weight is None else scores * _by_class(axis, weight, input)
    return total(-sum_(shares * weighted, axis=axis), reduction)


@function()
def one_hot(x: Index, *, num_classes: int) -> Any:
    """1 at the label and 0 at the other classes, along a new last axis.

    >>> one_hot([2, 0], 3)
    """
    room_for(*x.shape, num_classes)
    labels = expand_dims(class_labels(x, classes=num_classes, ignored=None), axis=-1)
    return where(equal(labels, np.arange(num_classes)), 1.0, 0.0)


# -- Losses that want scores or distances apart by a margin


_REDUCED = "-size_average, -reduce, reduction"
_FREE = (noted_kink("exactly at the margin", "the slope of what is within it"),)


def _above(x: Any, low: float = 0.0) -> Any:
    """Limit x from below; at the limit the slope is still 1, as in PyTorch's until 2.13."""
    return clip(x, low, None)


@loss(f"input, target, margin, {_REDUCED}", kinks=_FREE)
def hinge_embedding_loss(input: Any, target: Any, *, margin: Number = 1.0) -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    target = detach(target)
    return where(equal(target, 1), 0.0, _above(margin - input)) + where(
        equal(target, -1), 0.0, input
    )


@loss(f"input1, input2, target, margin, {_REDUCED}", kinks=_FREE)
def margin_ranking_loss(input1: Any, input2: Any, target: Any, *, margin: Number = 0.0) -> Any:
    """max(0, margin - target*(input1 - input2))."""
    return _above(margin - target * (input1 - input2))


@loss(f"input, target, {_REDUCED}")
def soft_margin_loss(input: Any, target: Any) -> Any:
    """log(1 + exp(-target*input)), without overflow."""
    return softplus(-target * input)


@loss(f"anchor, positive, negative, margin, p, eps, swap, {_REDUCED}", kinks=_FREE)
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    margin: Number = 1.0,
    p: float = 2.0,
    eps: Number = 1e-6,
    swap: bool = False,
) -> Any:
    """max(0, margin + |anchor - positive| - |anchor - negative|); with swap the nearer of anchor
    and positive counts.
    """
    if is_number(margin) and margin <= 0:
        raise ArgumentError(f"triplet_margin_loss: the margin must be greater than 0, not {margin}")
    near, far = (pairwise_distance(anchor, other, p=p, eps=eps) for other in (positive, negative))
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p=p, eps=eps))
    return _above(margin + near - far)


declare("""
    torch:
        triplet_margin_with_distance_loss = triplet_margin_loss(anchor, positive, negative, *, margin, swap, reduction)
""")
_EPSILON = float(np.float32(1e-12))  # a float32 in PyTorch


@loss(f"input1, input2, target, margin, {_REDUCED}", kinks=_FREE)
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, *, margin: Number = 0.0) -> Any:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1; 1e-12 is added to
    squared lengths.
    """
    x, y = input1, input2
    if (
        len(x.shape) not in (1, 2)
        or len(target.shape) != len(x.shape) - 1
        or len(y.shape) != len(x.shape)
    ):
        raise ShapeError(
            "cosine_embedding_loss: rows of vectors and a target for each are wanted, or two "
            "vectors and a number"
        )
    lengths = sqrt((sum_(x * x, axis=-1) + _EPSILON) * (sum_(y * y, axis=-1) + _EPSILON))
    cosine = sum_(x * y, axis=-1) / lengths
    target = detach(target)
    return where(equal(target, 1), 1 - cosine, 0.0) + where(
        equal(target, -1), _above(cosine - margin), 0.0
    )


_AT_MARGIN = (noted_kink("exactly at the margin", "0"),)


@loss(f"input, target, p, margin, weight, {_REDUCED}", kinks=_AT_MARGIN)
def multi_margin_loss(
    input: Any, target: Index, weight: Any = None, *, p: int = 1, margin: Number = 1.0
) -> Any:
    """The sum of max(0, margin - x[label] + x[i])**p over the other classes i, over the number of
    classes.
    """
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p must be 1 or 2, not {p}")
    x = at_least_1d(input)
    axis, places = label_places(x, _one_label(x, target))
    others = where(
        equal(places, np.arange(x.shape[axis])),
        0.0,
        relu(margin - take_along(x, places, axis=axis) + x),
    )
    terms = others if p == 1 else others * others
    if weight is not None:
        terms = terms * reshape(take_along(weight, vector_of(places), axis=0), shape=places.shape)
    return sum_(terms, axis=axis) / x.shape[axis]


@loss(f"input, target, {_REDUCED}", kinks=_AT_MARGIN)
def multilabel_margin_loss(input: Any, target: Index) -> Any:
    """The sum of max(0, 1 - x[j] + x[i]) over labels j (those before the first negative one) and
    classes i that are no label, over the number of classes.
    """
    x, target = map(at_least_1d, (input, target))
    if target.shape != x.shape or len(x.shape) > 2:
        raise ShapeError(
            f"labels of shape {tuple(target.shape)} do not fit scores of shape {tuple(x.shape)}"
        )
    classes = x.shape[-1]
    # Labels count up to the first negative one.
    listed = cumprod(where(greater_equal(target, 0), 1.0, 0.0), axis=-1)
    labels = class_labels(
        to_int(where(equal(listed, 0), 0.0, target)), classes=classes, ignored=None
    )
    listed = expand_dims(listed, axis=-1)
    matches = where(equal(expand_dims(labels, axis=-1), np.arange(classes)), listed, 0.0)
    others = where(equal(sum_(matches, axis=-2, keepdims=True), 0), listed, 0.0)
    short = relu(1 - expand_dims(take_along(x, labels, axis=-1), axis=-1) + expand_dims(x, axis=-2))
    return sum_(others * short, axis=(-2, -1)) / classes
