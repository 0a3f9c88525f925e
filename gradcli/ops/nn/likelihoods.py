"""Losses of classification: negative log-likelihoods of labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LabelError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import broadcast_to, getitem, part_of, reshape, stack
from gradcli.ops.domains import of
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.exponential import exp, log, log1p
from gradcli.ops.elementwise.logic import equal, less, logical_and, not_equal, where
from gradcli.ops.extended import Whole
from gradcli.ops.nn.losses import check_reduction, loss, total
from gradcli.ops.nn.softmax_and_attention import log_softmax
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import elementwise, function, is_number, structural
from gradcli.ops.room import room_for
from gradcli.ops.special.gamma import logaddexp, softplus
from gradcli.ops.structure import detach, to_float, to_int
from gradcli.ops.writing import Shape, witness

# PyTorch's bounds: of a logarithm, and (a float32 there) of the denominator x*(1 - x) of its slope
_LOWEST, _NARROWEST = -100.0, float(np.float32(1e-12))


def _same_shape(x: Shape, y: Shape) -> Shape:
    if x != y:
        raise ShapeError(f"target size {y} must be the same as input size {x}")
    return x


def _bernoulli(x: Any, y: Any) -> Any:
    return -(y * np.maximum(np.log(x), _LOWEST) + (1 - y) * np.maximum(np.log1p(-x), _LOWEST))


def _bernoulli_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    by_x = cotangent * ((x - y) / maximum((1 - x) * x, _NARROWEST)) if wanted[0] else None
    return by_x, cotangent * (maximum(log1p(-x), _LOWEST) - maximum(log(x), _LOWEST)) if wanted[1] else None


bernoulli_nll = structural(
    "bernoulli_nll", "input target", _bernoulli, witness("products.bernoulli_nll"), vjp=_bernoulli_vjp, shape=_same_shape,
    saves=("input", "target"), ulps=4, backward="BinaryCrossEntropy", domain=of(input="[0, 1]"), extended=Whole("running.BERNOULLI"),
    doc="-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y. As in PyTorch, a logarithm is at least -100, and the "
    "denominator of the slope (x - y)/(x*(1 - x)) at least 1e-12. The slope by y is that of the limited logarithms (PyTorch's is infinite "
    "at 0 and 1).",
    examples=("bernoulli_nll([0.2, 0.7], [0, 1])",),
    composed=lambda x, y: -(y * maximum(log(x), _LOWEST) + (1 - y) * maximum(log1p(-x), _LOWEST)),
)  # fmt: skip


@loss(
    "input, target, weight, size_average, reduce, reduction", domain=of(input="[0, 1]"),
    examples=("binary_cross_entropy([0.2, 0.7], [0, 1])",),
)  # fmt: skip
def binary_cross_entropy(input: Any, target: Any, weight: Any = None) -> Any:
    """-(y*log(x) + (1 - y)*log(1 - x)) of probabilities x and targets y, its logarithms and slopes limited as bernoulli_nll's."""
    losses = bernoulli_nll(input, target)
    return losses if weight is None else losses * weight


@loss(
    "input, target, weight, size_average, reduce, reduction, pos_weight", backward="BinaryCrossEntropyWithLogits",
    examples=("binary_cross_entropy_with_logits(x, y)",),
)  # fmt: skip
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None) -> Any:
    """-(y*log(sigmoid(x)) + (1 - y)*log(1 - sigmoid(x))) of logits x and targets y, stable for logits of any size; averaged, summed or
    not, by reduction.
    """
    _same_shape(input.shape, target.shape)
    positive = target if pos_weight is None else target * pos_weight
    losses = positive * softplus(-input) + (1 - target) * softplus(input)
    return losses if weight is None else losses * weight


@loss("input, target, weight, size_average, reduce, reduction")
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None) -> Any:
    """binary_cross_entropy_with_logits, averaged over the last axis."""
    losses = binary_cross_entropy_with_logits(input, target, weight, reduction="none")
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


class_labels = elementwise(
    "class_labels", "x", _class_labels, lambda m, x, classes, ignored: 0 if x == ignored else x, None, kind="flat", result="int",
    static={"classes": 1, "ignored": None}, indices=frozenset({"x"}), public=False, ulps=0,
    doc="Whole numbers from 0 to classes - 1, checked to be; an ignored one counts as 0.",
    numpy=lambda shapes, classes, ignored: "" if ignored is not None else "np.asarray({0}, np.int64)",
    torch=lambda shapes, classes, ignored: "" if ignored is not None else "torch.as_tensor({0}).to(torch.int64)",
)  # fmt: skip


def label_places(x: Any, target: Any, ignored: int | None = None) -> tuple[int, Any]:
    """The axis of the classes (the second one, or the only one), and labels of shape () or (N, ...) along it."""
    axis = min(1, len(x.shape) - 1)
    if not x.shape or target.shape != (*x.shape[:axis], *x.shape[axis + 1 :]):
        raise ShapeError(f"labels of shape {tuple(target.shape)} do not fit scores of shape {tuple(x.shape)}, with classes along axis 1")
    return axis, expand_dims(class_labels(target, classes=x.shape[axis], ignored=ignored), axis=axis)


def _along(axis: int, weight: Any, like: Any) -> Any:
    """One weight for each class, along the axis of the classes."""
    if weight.shape != (like.shape[axis],):
        raise ShapeError(f"one weight for each of {like.shape[axis]} classes is wanted, not an array of shape {tuple(weight.shape)}")
    return reshape(weight, shape=(-1, *(1,) * (len(like.shape) - axis - 1)))


def _of_class(x: Any, places: Any, axis: int) -> Any:
    return reshape(take_along(x, places, axis=axis), shape=(*x.shape[:axis], *x.shape[axis + 1 :]))


def _nll(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float = 0.0) -> Any:
    """The losses of log-probabilities; their mean is weighted by the classes' weights, without ignored labels."""
    check_reduction(reduction)
    axis, places = label_places(x, target, ignore_index)
    weighted = x if weight is None else x * _along(axis, weight, x)
    ignored = equal(target, ignore_index)
    losses = -_of_class(weighted, places, axis)
    if not (is_number(smoothing) and not smoothing):
        losses = losses * (1 - smoothing) - sum_(weighted, axis=axis) * (smoothing / x.shape[axis])
    losses = where(ignored, 0.0, losses)
    if reduction != "mean":
        return total(losses, reduction)
    masses = 1.0 if weight is None else take_along(weight, reshape(places, shape=(-1,)), axis=0)
    masses = masses if weight is None else reshape(masses, shape=target.shape)
    return sum_(losses) / sum_(where(ignored, 0.0, masses))


@loss("input, target, weight, size_average, ignore_index, reduce, reduction", indices=frozenset({"target"}))
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """-input at the labels, the input being log-probabilities with the classes along the second axis; the mean is weighted by the
    classes' weights, and leaves out the label ignore_index.
    """
    return _nll(input, target, weight, ignore_index, reduction)


@loss(
    "input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing", scalars="label_smoothing",
    backward="NllLoss", examples=("cross_entropy([1.5, -0.3, 0.2], 0)",),
)  # fmt: skip
def cross_entropy(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: Any = 0.0
) -> Any:
    """nll_loss of log_softmax(input): the target holds labels, or, in the input's shape, probabilities of all classes. label_smoothing is
    shared evenly by all classes.
    """
    if is_number(label_smoothing) and not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy: label_smoothing must be from 0 to 1, not {label_smoothing}")
    if not input.shape:
        raise ShapeError("cross_entropy: an input with an axis of classes is wanted")
    axis = min(1, len(input.shape) - 1)
    scores = log_softmax(input, axis=axis)
    if target.shape != input.shape:
        return _nll(scores, target, weight, ignore_index, reduction, label_smoothing)
    if not (is_number(label_smoothing) and not label_smoothing):
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    weighted = scores if weight is None else scores * _along(axis, weight, input)
    return total(-sum_(target * weighted, axis=axis), reduction)


@function(indices=frozenset({"x"}), examples=("one_hot([2, 0], 3)",))
def one_hot(x: Any, *, num_classes: int) -> Any:
    """1 at the label and 0 at the other classes, along a new last axis."""
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
    indices=frozenset({"targets", "input_lengths", "target_lengths"}),
)  # fmt: skip
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *, blank: int = 0, zero_infinity: bool = False,
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
