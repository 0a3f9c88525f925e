"""Connectionist temporal classification: the likelihood of a labelling, summed over its alignments to a sequence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import broadcast_to, getitem, part_of, reshape, stack
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.exponential import exp
from gradcli.ops.elementwise.logic import equal, less, logical_and, not_equal, where
from gradcli.ops.nn.likelihoods import class_labels
from gradcli.ops.nn.losses import check_reduction, loss, total
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.special.gamma import logaddexp
from gradcli.ops.structure import detach, to_float, to_int

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


def _ctc(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, reduction: str, zero_infinity: bool
) -> Any:
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


ctc_loss = loss(
    "ctc_loss", "log_probs targets input_lengths target_lengths", _ctc,
    "log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity, size_average, reduce",
    static={"blank": 0, "zero_infinity": False}, indices=frozenset({"targets", "input_lengths", "target_lengths"}),
    doc="Minus the logarithm of the probability of the labels, over all their alignments to the sequence; the mean is over losses "
    "by the number of labels. As in PyTorch the gradient takes log_probs to come from log_softmax: exp(log_probs) is added to it.",
)  # fmt: skip
