"""References of losses: what is lost at every place, and how losses are reduced."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, size_of
from gradcli.ops.references.entries import array, entries, number, total, whole
from gradcli.ops.references.reducing import logarithm_of_sum


def settled(m: Any, losses: Any, reduction: str, size_average: Any, reduce: Any, weights: Any = None) -> Any:
    """Losses one by one, their sum, or their mean (over the weights' sum if there are any); the older arguments overrule the word."""
    if reduce is not None or size_average is not None:
        word = {(False, True): "none", (False, False): "none"}.get((reduce, bool(size_average)))
        reduction = word or ("mean" if size_average in (None, True) else "sum")
    if reduction == "none":
        return losses
    whole_loss = total(m, entries(losses))
    if reduction == "sum":
        return number(whole_loss)
    return number(whole_loss / (np.size(losses) if weights is None else total(m, entries(weights))))


def lost(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A reference that gives losses one by one, reduced as its parameters say."""

    def marked(losses_of: Callable[..., Any]) -> Callable[..., Any]:
        def reference(m: Any, *operands: Any, reduction: str, size_average: Any, reduce: Any, **static: Any) -> Any:
            return settled(m, losses_of(m, *operands, **static), reduction, size_average, reduce)

        of(name)(reference)
        return losses_of

    return marked


def _times(losses: Any, weight: Any) -> Any:
    return losses if weight is None else each(lambda v, w: v * w, losses, weight)


@of("mse_loss")
def mse_loss(m: Any, x: Any, y: Any, weight: Any, reduction: str, size_average: Any, reduce: Any) -> Any:
    return settled(m, _times(each(lambda v, w: (v - w) * (v - w), x, y), weight), reduction, size_average, reduce, weight)


@of("l1_loss")
def l1_loss(m: Any, x: Any, y: Any, weight: Any, reduction: str, size_average: Any, reduce: Any) -> Any:
    return settled(m, _times(each(lambda v, w: size_of(v - w), x, y), weight), reduction, size_average, reduce, weight)


@lost("smooth_l1_loss")
def smooth_l1_loss(m: Any, x: Any, y: Any, beta: Any) -> Any:
    def one(v: Any, w: Any) -> Any:
        d = size_of(v - w)
        return d * d / 2 / beta if d < beta else d - m.one * beta / 2

    return each(one, x, y)


@lost("huber_loss")
def huber_loss(m: Any, x: Any, y: Any, weight: Any, delta: Any) -> Any:
    def one(v: Any, w: Any) -> Any:
        d = size_of(v - w)
        return d * d / 2 if d <= delta else d * delta - m.one * delta * delta / 2

    return _times(each(one, x, y), weight)


@of("kl_div")
def kl_div(m: Any, x: Any, y: Any, log_target: bool, reduction: str, size_average: Any, reduce: Any) -> Any:
    def one(v: Any, w: Any) -> Any:
        if log_target:
            return m.exp(w) * (w - v)
        return w * (m.log(w) - v) if m.plain(w) > 0 else -w * v

    losses = each(one, x, y)
    if reduction == "batchmean" and size_average is None and reduce is None:
        return number(total(m, entries(losses)) / (np.shape(x)[0] if np.ndim(x) else 1))
    return settled(m, losses, reduction, size_average, reduce)


@of("scipy_kl_div")
def scipy_kl_div(m: Any, x: Any, y: Any) -> Any:
    def one(v: Any, w: Any) -> Any:
        if m.plain(v) < 0 or m.plain(w) < 0:
            return m.inf
        return v * (m.log(v) - m.log(w)) - v + w if m.plain(v) > 0 else w

    return each(one, x, y)


def _held(m: Any, x: Any, low: Any) -> Any:
    """x, or the bound that it is below, with the derivative of x."""
    return x + (low - m.plain(x)) if x < low else x


@lost("gaussian_nll_loss")
def gaussian_nll_loss(m: Any, x: Any, y: Any, var: Any, full: bool, eps: Any) -> Any:
    if np.shape(var) == np.shape(x)[:-1] and np.ndim(var):
        var = np.asarray(var, dtype=object)[..., None]

    def one(v: Any, w: Any, s: Any) -> Any:
        held = _held(m, s, m.one * eps)
        return (m.log(held) + (v - w) * (v - w) / held + (m.log(2 * m.m.pi) if full else 0)) / 2

    return each(one, x, y, var)


@lost("poisson_nll_loss")
def poisson_nll_loss(m: Any, x: Any, y: Any, log_input: bool, full: bool, eps: Any) -> Any:
    def one(v: Any, w: Any) -> Any:
        loss = m.exp(v) - w * v if log_input else v - w * m.log(v + eps)
        return loss + w * m.log(w) - w + m.log(2 * m.m.pi * w) / 2 if full and m.plain(w) > 1 else loss

    return each(one, x, y)


@lost("binary_cross_entropy")
def binary_cross_entropy(m: Any, x: Any, y: Any, weight: Any) -> Any:
    lowest = -100 * m.one

    def log(v: Any) -> Any:
        return lowest if m.plain(v) == 0 or m.plain(m.log(v)) < lowest else m.log(v)

    return _times(each(lambda p, t: -(t * log(p) + (1 - t) * log(1 - p)), x, y), weight)


def _of_logits(m: Any, x: Any, y: Any, weight: Any, positive: Any) -> Any:
    def one(v: Any, t: Any, w: Any) -> Any:
        yes, no = m.log1p(m.exp(-v)), m.log1p(m.exp(v))
        return (t if w is None else t * w) * yes + (1 - t) * no

    return _times(each(one, x, y, positive), weight)


lost("torch_binary_cross_entropy_with_logits")(_of_logits)


@lost("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(m: Any, x: Any, y: Any, weight: Any) -> Any:
    losses = _of_logits(m, x, y, weight, None)
    last = np.ndim(x) - 1
    return losses if last < 0 else each(lambda v: v / np.shape(x)[last], np.asarray(losses.sum(axis=last), dtype=object))


def _by_class(x: Any) -> Any:
    """Scores with the classes along the last axis: they stand along the second one, or the only one."""
    return np.moveaxis(np.asarray(x, dtype=object), min(1, np.ndim(x) - 1), -1)


def _labelled(
    m: Any, logs: Any, labels: Any, weight: Any, ignored: Any, smoothing: Any, reduction: str, size_average: Any, reduce: Any
) -> Any:
    """Minus the logarithms of probabilities at labels, weighted by class."""
    rows, losses, masses = _by_class(logs), [], []
    classes = rows.shape[-1]
    share = [m.one] * classes if weight is None else entries(weight)
    flat = [rows[place] for place in np.ndindex(rows.shape[:-1])]
    for row, label in zip(flat, whole(labels), strict=True):
        if label == ignored:
            losses.append(m.zero)
            continue
        spread = total(m, [w * v for w, v in zip(share, row, strict=True)]) / classes
        losses.append(-(1 - m.one * smoothing) * share[label] * row[label] - m.one * smoothing * spread)
        masses.append(share[label])
    found = array(losses, np.shape(labels))
    return settled(m, found, reduction, size_average, reduce, masses)


@of("nll_loss")
def nll_loss(m: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, size_average: Any, reduce: Any) -> Any:
    return _labelled(m, x, target, weight, ignore_index, 0, reduction, size_average, reduce)


@of("cross_entropy")
def cross_entropy(
    m: Any, x: Any, target: Any, weight: Any, ignore_index: int, label_smoothing: Any, reduction: str, size_average: Any, reduce: Any
) -> Any:
    place = min(1, np.ndim(x) - 1)
    rows = _by_class(x)
    logs = np.empty(rows.shape, dtype=object)
    for at in np.ndindex(rows.shape[:-1]):
        logs[at] = rows[at] - logarithm_of_sum(m, list(rows[at]))
    if np.shape(target) != np.shape(x):
        back = np.moveaxis(logs, -1, place)
        return _labelled(m, back, target, weight, ignore_index, label_smoothing, reduction, size_average, reduce)
    classes, shares, losses = rows.shape[-1], _by_class(target), []
    scale = [m.one] * classes if weight is None else entries(weight)
    for at in np.ndindex(rows.shape[:-1]):
        smooth = [t * (1 - m.one * label_smoothing) + m.one * label_smoothing / classes for t in shares[at]]
        losses.append(-total(m, [w * t * v for w, t, v in zip(scale, smooth, logs[at], strict=True)]))
    settling = array(losses, rows.shape[:-1])
    return settled(m, settling, reduction, size_average, reduce)


@of("one_hot")
def one_hot(m: Any, x: Any, num_classes: int) -> Any:
    return array([m.one if k == label else m.zero for label in whole(x) for k in range(num_classes)], [*np.shape(x), num_classes])


def _collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    """A path with repetitions joined and blanks left out."""
    return [k for k, _ in itertools.groupby(path) if k != blank]


@of("ctc_loss")
def ctc_loss(
    m: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool, reduction: str,
    size_average: Any, reduce: Any,
) -> Any:  # fmt: skip
    """By definition: the probabilities of all paths through the classes that spell the labels, added up."""
    alone = np.ndim(log_probs) == 2
    table = np.asarray(log_probs, dtype=object)
    table = table[:, None] if alone else table
    labels, losses, start = np.asarray(targets, dtype=object), [], 0
    lengths = whole(target_lengths)
    for i, (steps, count) in enumerate(zip(whole(input_lengths), lengths, strict=True)):
        wanted = whole(labels[i][:count]) if labels.ndim == 2 else whole(labels[start : start + count])
        start += count
        paths = [p for p in itertools.product(range(table.shape[2]), repeat=steps) if _collapsed(p, blank) == wanted]
        ways = [m.exp(total(m, [table[t, i, k] for t, k in enumerate(path)])) for path in paths]
        losses.append(-m.log(total(m, ways)) if ways else m.zero if zero_infinity else m.inf)
    if reduction == "mean" and reduce is None and size_average in (None, True):
        return number(total(m, [loss / max(n, 1) for loss, n in zip(losses, lengths, strict=True)]) / len(losses))
    found = array(losses, [len(losses)])
    return settled(m, number(losses[0]) if alone else found, reduction, size_average, reduce)

