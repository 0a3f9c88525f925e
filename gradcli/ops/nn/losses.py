"""Losses, and how they are reduced: averaged, summed, or left one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LabelError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import broadcast_to, getitem, part_of, reshape, stack, take_along
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.bounds import clip, maximum, minimum
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt, xlogy
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, less, logical_and, logical_or, not_equal, where
from gradcli.ops.nn.activations import relu
from gradcli.ops.nn.distances_and_similarities import held_at, pairwise_distance
from gradcli.ops.nn.softmax_and_attention import _log_softmax, log_softmax
from gradcli.ops.reductions.cumulative import cumprod, cumsum
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import (
    Function,
    Index,
    Number,
    Shape,
    composite,
    declare,
    flat,
    function,
    is_number,
    noted,
    room_for,
    signature_of,
    structural,
    witness,
)
from gradcli.ops.special.gamma import logaddexp, sigmoid, softplus
from gradcli.ops.structure import detach, to_float, to_int

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of 'mean', 'sum' and 'none', not {reduction!r}")


def total(losses: Any, reduction: str) -> Any:
    """Losses as the reduction says."""
    check_reduction(reduction)
    return losses if reduction == "none" else sum_(losses) if reduction == "sum" else mean(losses)


def loss(torch: str, **record: Any) -> Callable[[Function], Any]:
    """Register a loss by its definition, as `function` does; ``torch`` is PyTorch's order of all parameters.

    The definition gives the loss of every entry, or takes ``reduction`` itself. PyTorch's older size_average and reduce say what
    reduction says: mean, or else sum, or else none.
    """

    def define(body: Function) -> Any:
        static = body.__kwdefaults__ or {}
        reduces = "reduction" in static

        def reducing(*arrays: Any, reduction: str, size_average: bool | None, reduce: bool | None, **rest: Any) -> Any:
            if size_average is not None or reduce is not None:
                reduction = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
            return body(*arrays, reduction=reduction, **rest) if reduces else total(body(*arrays, **rest), reduction)

        made = composite(
            body.__name__, signature_of(body), reducing,
            doc=body.__doc__ or "", static={**static, "reduction": "mean", "size_average": None, "reduce": None},
            **record,
        )
        declare(f"torch:\n{made.name}({torch})")
        return made

    return define


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return total(losses, reduction)
    if weight.shape != losses.shape:
        raise ShapeError(f"the weight must have the input's shape {tuple(losses.shape)}, not {tuple(weight.shape)}")
    return sum_(weight * losses) / sum_(weight) if reduction == "mean" else total(weight * losses, reduction)


@loss("input, target, size_average, reduce, reduction, weight")
def mse_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The squared differences; with a weight, their weighted mean.

    >>> mse_loss(x, y)
    """
    return _weighted(square(input - target), weight, reduction)


_TIE = (noted("input = target", "0"),)


@loss("input, target, size_average, reduce, reduction, weight", kinks=_TIE)
def l1_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The absolute differences; with a weight, their weighted mean."""
    return _weighted(abs_(input - target), weight, reduction)


@loss("input, target, size_average, reduce, reduction, beta", kinks=_TIE)
def smooth_l1_loss(input: Any, target: Any, *, beta: Number = 1.0) -> Any:
    """d**2/(2*beta) of differences d up to beta, |d| - beta/2 of larger ones."""
    if is_number(beta) and beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta must be at least 0, not {beta}")
    size = abs_(input - target)
    if is_number(beta) and not beta:
        return size
    return where(greater(size, beta), size - beta / 2, square(input - target) / (2 * beta))


@loss("input, target, reduction, delta, weight, size_average, reduce")
def huber_loss(input: Any, target: Any, weight: Any = None, *, delta: Number = 1.0) -> Any:
    """d**2/2 of differences d up to delta, delta*(|d| - delta/2) of larger ones."""
    if is_number(delta) and delta <= 0:
        raise ArgumentError(f"huber_loss: delta must be more than 0, not {delta}")
    size = abs_(input - target)
    losses = where(greater(size, delta), delta * (size - delta / 2), square(input - target) / 2)
    return losses if weight is None else weight * losses


@loss("input, target, size_average, reduce, reduction, log_target")
def kl_div(input: Any, target: Any, *, log_target: bool = False, reduction: str = "mean") -> Any:
    """target*(log(target) - input), the input being log-probabilities, the target too if log_target; 'batchmean' divides by the first
    extent.
    """
    losses = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction != "batchmean":
        return total(losses, reduction)
    return sum_(losses) / input.shape[0] if input.shape else losses


@function(domain="x > 0 and y > 0")
def scipy_kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x*log(x/y) - x + y, entry by entry; y where x is 0."""
    none = equal(x, 0)
    inside = xlogy(x, x / where(none, 1, y)) - x + y
    return where(logical_or(less(x, 0), less(y, 0)), math.inf, where(none, y, inside))


declare("""
    scipy:
        kl_div = scipy_kl_div(x, y, -out)
""")


@loss("input, target, var, full, eps, reduction, size_average, reduce")
def gaussian_nll_loss(input: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6) -> Any:
    """(log(var) + (input - target)**2/var)/2, log(2*pi)/2 more if full. A variance below eps counts as eps, and its gradient is that at
    eps.
    """
    shape = input.shape
    if var.shape not in ((), shape):
        if var.shape == shape[:-1]:
            var = reshape(var, shape=(*var.shape, 1))
        elif len(var.shape) != len(shape) or sum(v for n, v in zip(shape, var.shape, strict=True) if n != v) != 1:
            raise ShapeError(f"gaussian_nll_loss: a variance of shape {tuple(var.shape)} does not fit an input of shape {tuple(shape)}")
    held = held_at(var, eps)
    losses = 0.5 * (log(held) + square(input - target) / held)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses


@loss("input, target, log_input, full, size_average, eps, reduce, reduction")
def poisson_nll_loss(input: Any, target: Any, *, log_input: bool = True, full: bool = False, eps: Number = 1e-8) -> Any:
    """exp(input) - target*input, or input - target*log(input + eps) where the input is no logarithm; if full, Stirling's approximation
    of log(target!) more where the target is above 1.
    """
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if not full:
        return losses
    above = greater(target, 1)
    safe = where(above, target, 1.0)
    return losses + where(above, safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0.0)


# -- Negative log-likelihoods of labels


# PyTorch's bounds: of a logarithm, and (a float32 there) of the denominator x*(1 - x) of its slope
_LOWEST, _NARROWEST = -100.0, float(np.float32(1e-12))


def _same_shape(x: Shape, y: Shape) -> Shape:
    if x != y:
        raise ShapeError(f"target size {y} must be the same as input size {x}")
    return x


def _bernoulli(x: Any, y: Any) -> Any:
    return -(y * maximum(log(x), _LOWEST) + (1 - y) * maximum(log1p(-x), _LOWEST))


def _bernoulli_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    by_x = cotangent * ((x - y) / maximum((1 - x) * x, _NARROWEST)) if wanted[0] else None
    return by_x, cotangent * (maximum(log1p(-x), _LOWEST) - maximum(log(x), _LOWEST)) if wanted[1] else None


bernoulli_nll = structural(
    "bernoulli_nll", "input target", _bernoulli, witness("arrays.bernoulli_nll"), vjp=_bernoulli_vjp, shape=_same_shape,
    saves="input target", ulps=4, backward="BinaryCrossEntropy", domain="0 <= input <= 1",
    doc="-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y. As in PyTorch, a logarithm is at least -100, and the "
    "denominator of the slope (x - y)/(x*(1 - x)) at least 1e-12. The slope by y is that of the limited logarithms (PyTorch's is infinite "
    "at 0 and 1). >>> bernoulli_nll([0.2, 0.7], [0, 1])",
    definition=_bernoulli,
)  # fmt: skip


@loss(
    "input, target, weight, size_average, reduce, reduction", domain="0 <= input <= 1",
)  # fmt: skip
def binary_cross_entropy(input: Any, target: Any, weight: Any = None) -> Any:
    """-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y, its logarithms and slopes limited as bernoulli_nll's.

    >>> binary_cross_entropy([0.2, 0.7], [0, 1])
    """
    losses = bernoulli_nll(input, target)
    return losses if weight is None else losses * weight


def _bernoulli_of_logits(x: Any, y: Any) -> Any:
    rest = np.log1p(np.exp(-np.abs(x)))
    return y * (np.maximum(-x, 0) + rest) + (1 - y) * (np.maximum(x, 0) + rest)


def _bernoulli_of_logits_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """sigmoid(x) - y without its cancellation, for 1 - sigmoid(x) is sigmoid(-x); and softplus(-x) - softplus(x), which is -x."""
    by_x = cotangent * (sigmoid(x) * (1 - y) - sigmoid(-x) * y) if wanted[0] else None
    return by_x, -cotangent * x if wanted[1] else None


@function(vjp=_bernoulli_of_logits_vjp, forward=_bernoulli_of_logits, shape=_same_shape, saves="input target", ulps=8, public=False)
def bernoulli_nll_of_logits(input: Any, target: Any) -> Any:
    """bernoulli_nll(sigmoid(x), y), stable for logits x of any size."""
    return target * softplus(-input) + (1 - target) * softplus(input)


@loss(
    "input, target, weight, size_average, reduce, reduction, pos_weight", backward="BinaryCrossEntropyWithLogits",
)  # fmt: skip
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None) -> Any:
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


@loss("input, target, weight, size_average, reduce, reduction")
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None) -> Any:
    """binary_cross_entropy_with_logits, averaged over the last axis; the target is broadcast to the input."""
    losses = binary_cross_entropy_with_logits(input, broadcast_to(target, shape=input.shape), weight, reduction="none")
    axis = len(input.shape) - 1  # of the classes, which a weight may have more axes than
    return sum_(losses, axis=axis) / input.shape[axis] if input.shape else losses


def _class_labels(x: Any, classes: int, ignored: int | None) -> Any:
    given = np.asarray(x)
    labels = given.astype(np.int64)
    if given.dtype.kind == "f" and (parts := given[given != labels]).size:
        raise LabelError(f"the label {parts.flat[0]} is no whole number")
    if ignored is not None:
        labels = np.where(labels == ignored, 0, labels)
    if (wrong := labels[(labels < 0) | (labels >= classes)]).size:
        raise LabelError(f"the label {wrong.flat[0]} is none of the {classes} classes, which are counted from 0")
    return labels[()]


class_labels = flat(
    "class_labels", "x:index", _class_labels, lambda m, x, classes, ignored: 0 if x == ignored else x, None, dtype="int",
    static={"classes": 1, "ignored": None}, public=False,
    doc="Whole numbers from 0 to classes - 1, checked to be; an ignored one counts as 0.",
    numpy=lambda shapes, classes, ignored: "" if ignored is not None else "np.asarray({0}, np.int64)",
    torch=lambda shapes, classes, ignored: "" if ignored is not None else "torch.as_tensor({0}).to(torch.int64)",
)  # fmt: skip


def _class_axis(scores: Shape, labels: Shape) -> int:
    """The axis of the classes (the second one, or the only one), along which labels of shape () or (N, ...) are."""
    axis = min(1, len(scores) - 1)
    if not scores or labels != (*scores[:axis], *scores[axis + 1 :]):
        raise ShapeError(f"labels of shape {tuple(labels)} do not fit scores of shape {tuple(scores)}, with classes along axis 1")
    return axis


def label_places(x: Any, target: Any, ignored: int | None = None) -> tuple[int, Any]:
    """The axis of the classes, and labels along it."""
    axis = _class_axis(x.shape, target.shape)
    return axis, expand_dims(class_labels(target, classes=x.shape[axis], ignored=ignored), axis=axis)


def _by_class(axis: int, weight: Any, like: Any) -> Any:
    """One weight for each class, along the axis of the classes."""
    if weight.shape != (like.shape[axis],):
        raise ShapeError(f"one weight for each of {like.shape[axis]} classes is wanted, not an array of shape {tuple(weight.shape)}")
    return reshape(weight, shape=(-1, *(1,) * (len(like.shape) - axis - 1)))


def _of_class(x: Any, places: Any, axis: int) -> Any:
    return reshape(take_along(x, places, axis=axis), shape=(*x.shape[:axis], *x.shape[axis + 1 :]))


def _label_nll_shape(scores: Shape, labels: Shape, ignored: int, reduction: str) -> Shape:
    _class_axis(scores, labels)
    return labels if reduction == "none" else ()


def _label_nll(input: Any, target: Any, ignored: int, reduction: str) -> Any:
    axis = min(1, input.ndim - 1)
    kept, logarithms = np.not_equal(target, ignored), _log_softmax(input, axis)
    labels = _class_labels(np.where(kept, target, 0), input.shape[axis], None)
    rows = logarithms if axis == input.ndim - 1 else np.moveaxis(logarithms, axis, -1)
    losses = np.where(kept, -rows.reshape(-1, rows.shape[-1])[np.arange(labels.size), labels.ravel()].reshape(labels.shape), 0)
    if reduction == "none":
        return losses[()]
    loss = np.add.reduce(losses, axis=None)
    return loss if reduction == "sum" else loss / loss.dtype.type(np.count_nonzero(kept))


def _label_nll_vjp(wanted: Any, cotangent: Any, out: Any, input: Any, target: Any, ignored: int, reduction: str) -> tuple[Any, None]:
    axis = min(1, len(input.shape) - 1)
    skipped, logarithms = equal(target, ignored), log_softmax(input, axis=axis)
    share = cotangent / sum_(where(skipped, 0.0, 1.0)) if reduction == "mean" else cotangent
    column, classes = (*input.shape[:axis], 1, *input.shape[axis + 1 :]), np.arange(input.shape[axis])
    labels = equal(reshape(target, shape=column), classes.reshape(-1, *(1,) * (len(input.shape) - axis - 1)))
    return reshape(where(skipped, 0.0, share), shape=column) * where(labels, expm1(logarithms), exp(logarithms)), None


@function(
    vjp=_label_nll_vjp, forward=_label_nll, shape=_label_nll_shape, saves="input target", public=False,
    rounding=lambda m, out, input, target, **_: (12 + m.size(target)) * m.abs(out),
)  # fmt: skip
def label_nll(input: Any, target: Index, *, ignored: int, reduction: str) -> Any:
    """nll_loss of log_softmax(input), without weights."""
    return _nll(log_softmax(input, axis=_class_axis(input.shape, target.shape)), target, None, ignored, reduction)


def _nll(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: Any = 0.0) -> Any:
    """The losses of log-probabilities; their mean is weighted by the classes' weights, without ignored labels."""
    check_reduction(reduction)
    axis, places = label_places(x, target, ignore_index)
    weighted = x if weight is None else x * _by_class(axis, weight, x)
    losses, ignored = -_of_class(weighted, places, axis), equal(target, ignore_index)
    if not (is_number(smoothing) and not smoothing):
        losses = losses * (1 - smoothing) - sum_(weighted, axis=axis) * (smoothing / x.shape[axis])
    losses = where(ignored, 0.0, losses)
    if reduction != "mean":
        return total(losses, reduction)
    masses = 1.0 if weight is None else reshape(take_along(weight, reshape(places, shape=(-1,)), axis=0), shape=target.shape)
    return sum_(losses) / sum_(where(ignored, 0.0, masses))


@loss("input, target, weight, size_average, ignore_index, reduce, reduction")
def nll_loss(input: Any, target: Index, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """-input at the labels, the input being log-probabilities with the classes along the second axis; the mean is weighted by the
    classes' weights, and leaves out the label ignore_index.
    """
    return _nll(input, target, weight, ignore_index, reduction)


@loss(
    "input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing",
    backward="NllLoss",
)  # fmt: skip
def cross_entropy(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: Number = 0.0
) -> Any:
    """nll_loss of log_softmax(input): the target holds labels, or, in the input's shape, probabilities of all classes. label_smoothing is
    shared evenly by all classes.

    >>> cross_entropy([1.5, -0.3, 0.2], 0)
    """
    if is_number(label_smoothing) and not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy: label_smoothing must be from 0 to 1, not {label_smoothing}")
    if not input.shape:
        raise ShapeError("cross_entropy: an input with an axis of classes is wanted")
    axis, plain = min(1, len(input.shape) - 1), is_number(label_smoothing) and not label_smoothing
    if weight is None and plain and target.shape != input.shape:
        check_reduction(reduction)
        return label_nll(input, target, ignored=ignore_index, reduction=reduction)
    scores = log_softmax(input, axis=axis)
    if target.shape != input.shape:
        return _nll(scores, target, weight, ignore_index, reduction, label_smoothing)
    shares = target if plain else target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
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


# -- Connectionist temporal classification: the likelihood of a labelling, summed over its
# alignments to a sequence.


_NEVER = -1e30  # the logarithm of next to nothing: finite, so that nothing becomes inf - inf


def _rows(targets: Any, lengths: Any, batch: int) -> Any:
    """Labels as a row for each sequence: padded rows as they are, joined ones taken apart."""
    if len(targets.shape) == 2:
        return targets
    longest = targets.shape[0]
    if not longest:
        return reshape(targets, shape=(batch, 0))
    starts = reshape(cumsum(lengths, axis=0) - lengths, shape=(batch, 1))
    places = minimum(starts + np.arange(float(longest)), longest - 1.0)
    return reshape(take_along(targets, to_int(reshape(places, shape=(-1,))), axis=0), shape=(batch, longest))


def _shifted(x: Any, by: int, fill: float) -> Any:
    """Entries moved along the last axis, the first ones filled."""
    filler = np.full((x.shape[0], min(by, x.shape[1])), fill)
    return concatenate(filler, part_of(x, 1, 0, max(0, x.shape[1] - by)), axis=1)


def _log_likelihood(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """The forward algorithm over labels with a blank before, between and after them."""
    steps, batch, classes = log_probs.shape
    labels = _rows(targets, target_lengths, batch)
    width = labels.shape[1]
    known = less(np.arange(float(width)), reshape(target_lengths, shape=(batch, 1)))
    labels = to_float(class_labels(to_int(where(known, labels, float(blank))), classes=classes, ignored=None))
    blanks = np.full((batch, width), float(blank))
    spelled = reshape(stack(blanks, labels, axis=-1), shape=(batch, 2 * width))
    spelled = concatenate(spelled, np.full((batch, 1), float(blank)), axis=1)
    may_skip = logical_and(not_equal(spelled, blank), not_equal(spelled, _shifted(spelled, 2, float(blank))))
    index = broadcast_to(expand_dims(to_int(spelled), axis=0), shape=(steps, batch, 2 * width + 1))
    scores = take_along(where(less(log_probs, _NEVER), _NEVER, log_probs), index, axis=2)

    reached = where(np.arange(2 * width + 1) < 2, getitem(scores, index=(0,)), _NEVER)
    for step in range(1, steps):
        stay_or_next = logaddexp(reached, _shifted(reached, 1, _NEVER))
        ways = logaddexp(stay_or_next, where(may_skip, _shifted(reached, 2, _NEVER), _NEVER))
        within = less(float(step), reshape(input_lengths, shape=(batch, 1)))
        reached = where(within, ways + getitem(scores, index=(step,)), reached)

    last = reshape(2 * target_lengths, shape=(batch, 1))
    at_label = take_along(reached, to_int(maximum(last - 1.0, 0.0)), axis=1)
    ends = logaddexp(take_along(reached, to_int(last), axis=1), where(equal(last, 0), _NEVER, at_label))
    return reshape(ends, shape=(batch,))


@loss(
    "log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity, size_average, reduce",
)  # fmt: skip
def ctc_loss(
    log_probs: Any, targets: Index, input_lengths: Index, target_lengths: Index, *, blank: int = 0, zero_infinity: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Minus the logarithm of the probability of the labels, over all their alignments to the sequence; the mean is over losses by the
    number of labels. As in PyTorch the gradient takes log_probs to come from log_softmax: exp(log_probs) is added to it.
    """
    check_reduction(reduction)
    if len(log_probs.shape) not in (2, 3) or len(targets.shape) not in (1, 2) or not log_probs.shape[0]:
        raise ShapeError("ctc_loss: log_probs of the shape (T, N, C) or (T, C) are wanted, and targets (N, S) or joined in one row")
    if not 0 <= blank < log_probs.shape[-1]:
        raise ArgumentError(f"ctc_loss: blank must be one of the {log_probs.shape[-1]} classes, not {blank}")
    alone = len(log_probs.shape) == 2
    log_probs = expand_dims(log_probs, axis=1) if alone else log_probs
    steps, batch = log_probs.shape[:2]
    input_lengths, target_lengths = (
        reshape(to_float(v), shape=(batch,)) for v in (input_lengths, target_lengths)
    )
    likelihood = _log_likelihood(log_probs, targets, input_lengths, target_lengths, blank)
    # as PyTorch, the gradient of log-probabilities that are normalized: their sum stays 1
    within = less(reshape(np.arange(float(steps)), shape=(steps, 1)), input_lengths)
    masses = sum_(where(within, sum_(exp(log_probs), axis=2), 0.0), axis=0)
    losses = where(less(likelihood, _NEVER / 2), 0.0 if zero_infinity else math.inf, masses - detach(masses) - likelihood)
    if reduction == "mean":
        return mean(losses / maximum(target_lengths, 1.0))
    return reshape(losses, shape=()) if alone and reduction == "none" else total(losses, reduction)


# -- Losses that want scores or distances apart by a margin


_REDUCED = "size_average, reduce, reduction"
_FREE = (noted("exactly at the margin", "the slope of what is within it"),)


def _above(x: Any, low: float = 0.0) -> Any:
    """x limited from below; at the limit it still has the slope 1, as PyTorch's clamp_min."""
    return clip(x, low, None)


@loss(f"input, target, margin, {_REDUCED}", kinks=_FREE)
def hinge_embedding_loss(input: Any, target: Any, *, margin: Number = 1.0) -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    target = detach(target)
    return where(equal(target, 1), 0.0, _above(margin - input)) + where(equal(target, -1), 0.0, input)


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
    anchor: Any, positive: Any, negative: Any, *, margin: Number = 1.0, p: float = 2.0, eps: Number = 1e-6, swap: bool = False
) -> Any:
    """max(0, margin + |anchor - positive| - |anchor - negative|); with swap the nearer of anchor and positive counts."""
    if is_number(margin) and margin <= 0:
        raise ArgumentError(f"triplet_margin_loss: the margin must be greater than 0, not {margin}")
    if not len(anchor.shape) == len(positive.shape) == len(negative.shape):
        raise ShapeError("triplet_margin_loss: anchor, positive and negative must have as many axes as each other")
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
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1; 1e-12 is added to squared lengths."""
    x, y = input1, input2
    if len(x.shape) not in (1, 2) or len(target.shape) != len(x.shape) - 1 or len(y.shape) != len(x.shape):
        raise ShapeError("cosine_embedding_loss: rows of vectors and a target for each are wanted, or two vectors and a number")
    lengths = sqrt((sum_(x * x, axis=-1) + _EPSILON) * (sum_(y * y, axis=-1) + _EPSILON))
    cosine = sum_(x * y, axis=-1) / lengths
    target = detach(target)
    return where(equal(target, 1), 1 - cosine, 0.0) + where(equal(target, -1), _above(cosine - margin), 0.0)


_AT_MARGIN = (noted("exactly at the margin", "0"),)


@loss(f"input, target, p, margin, weight, {_REDUCED}", kinks=_AT_MARGIN)
def multi_margin_loss(input: Any, target: Index, weight: Any = None, *, p: int = 1, margin: Number = 1.0) -> Any:
    """The sum of max(0, margin - x[label] + x[i])**p over the other classes i, over the number of classes."""
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p must be 1 or 2, not {p}")
    x = input if input.shape else reshape(input, shape=(1,))
    target = reshape(target, shape=()) if len(x.shape) == 1 and target.shape == (1,) else target
    axis, places = label_places(x, target)
    others = where(equal(places, np.arange(x.shape[axis])), 0.0, relu(margin - take_along(x, places, axis=axis) + x))
    terms = others if p == 1 else others * others
    if weight is not None:
        terms = terms * reshape(take_along(weight, reshape(places, shape=(-1,)), axis=0), shape=places.shape)
    return sum_(terms, axis=axis) / x.shape[axis]


@loss(f"input, target, {_REDUCED}", kinks=_AT_MARGIN)
def multilabel_margin_loss(input: Any, target: Index) -> Any:
    """The sum of max(0, 1 - x[j] + x[i]) over labels j (those before the first negative one) and classes i that are no label, over the
    number of classes.
    """
    x, target = (v if v.shape else reshape(v, shape=(1,)) for v in (input, target))
    if target.shape != x.shape or len(x.shape) > 2:
        raise ShapeError(f"labels of shape {tuple(target.shape)} do not fit scores of shape {tuple(x.shape)}")
    classes = x.shape[-1]
    listed = cumprod(where(greater_equal(target, 0), 1.0, 0.0), axis=-1)  # up to the first negative label
    labels = class_labels(to_int(where(equal(listed, 0), 0.0, target)), classes=classes, ignored=None)
    listed = expand_dims(listed, axis=-1)
    matches = where(equal(expand_dims(labels, axis=-1), np.arange(classes)), listed, 0.0)
    others = where(equal(sum_(matches, axis=-2, keepdims=True), 0), listed, 0.0)
    short = relu(1 - expand_dims(take_along(x, labels, axis=-1), axis=-1) + expand_dims(x, axis=-2))
    return sum_(others * short, axis=(-2, -1)) / classes
