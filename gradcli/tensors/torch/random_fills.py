"""Random numbers of further distributions, each the same as PyTorch's on a CPU for the same seed; training dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.elementwise.exponential import log
from gradcli.ops.nn.softmax import softmax
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import check_no_examples
from gradcli.tensors.core.in_place import assign, check_places, check_writable, replace
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.generator import Generator, default_generator, in_memory_order

_LARGEST = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # the bits of whole numbers that all are there
_BITS = {"int64": 63, "int32": 31, "int16": 15, "int8": 7, "uint8": 8, "bool": 1}


@checked
def bernoulli(x: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each entry says (or p), else 0."""
    source = generator or default_generator
    if p is not None:
        return _drawn(x.detach().contiguous(), lambda shape: source.uniform(math.prod(shape), np.float64).reshape(shape) < _probability(p))

    if x.array.dtype.kind != "f":
        raise dtypes.untaken("bernoulli", x.array.dtype)

    check_no_examples()
    probabilities = x.array
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    kind = np.float64 if probabilities.dtype == np.float64 else np.float32
    ones = source.uniform(probabilities.size, kind).reshape(probabilities.shape) < probabilities
    return _made(ones, x)


def _made(drawn: np.ndarray, like: Tensor) -> Tensor:
    return Tensor(np.asarray(drawn, like.array.dtype))


def _drawn(x: Tensor, draw: Callable[[tuple[int, ...]], np.ndarray]) -> Tensor:
    check_no_examples()
    return _made(in_memory_order(x.array, draw), x)


def _probability(p: Any) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return float(p)


def _bernoulli_(x: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    check_writable(x)
    check_places(x)
    if isinstance(p, Tensor):
        drawn = bernoulli(Tensor(np.broadcast_to(p.array, x.array.shape).copy()), generator=generator)
        return replace(x, Tensor(drawn.array.astype(x.array.dtype)), "BernoulliBackward1")
    return replace(x, _chosen(x, p, generator), "BernoulliBackward2")


def _chosen(x: Tensor, p: float, generator: Generator | None = None) -> Tensor:
    """1 with probability p, else 0, drawn for a tensor's entries in the order in which they are in memory."""
    source = generator or default_generator
    return _drawn(x, lambda shape: source.uniform(math.prod(shape), np.float64).reshape(shape) < _probability(p))


def exponential(shape: tuple[int, ...], source: Generator | None = None) -> np.ndarray:
    """By the inverse of the distribution function, of numbers of 53 bits."""
    draws = (source or default_generator).uniform(math.prod(shape), np.float64)
    waits: np.ndarray = -np.log1p(-draws).reshape(shape)
    return waits


def _exponential_(x: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    check_writable(x)
    check_places(x)
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return replace(x, _drawn(x, lambda shape: exponential(shape, generator) / lambd), "ExponentialBackward0")


def _random_(x: Tensor, low: Any = None, high: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Whole numbers from low to high (all that the dtype holds, if neither is given)."""
    check_writable(x)
    check_places(x)
    source = generator or default_generator
    name = x.dtype.name
    if low is None:
        span, start = (1 << _BITS[name] if name in _BITS else (1 << _LARGEST[name]) + 1), 0
    else:
        start, stop = (0, low) if high is None else (low, high)
        if stop <= start:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={start} >= to={stop}")
        span = stop - start

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        count = math.prod(shape)
        long = name in ("int64", "float64") if low is None else span >= 1 << 28
        draws = source.pairs(count) if long else source.words(count).astype(np.uint64)
        found: np.ndarray = (draws % np.uint64(span)).astype(np.int64).reshape(shape) + start
        return found

    return replace(x, _drawn(x, draw), f"RandomBackward{2 if low is None else int(high is None)}")


@checked
def multinomial(x: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> Tensor:
    """Places drawn with the probabilities that the entries along the last axis are in proportion to."""
    check_no_examples()
    array = x.array
    if array.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if array.dtype.kind != "f":
        raise RuntimeError(f"multinomial takes probabilities of floats, not of {x.dtype.name}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (array.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > array.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement or num_samples == 1:
        races = array / in_memory_order(array, lambda shape: exponential(shape, generator)).astype(array.dtype)
        return Tensor(np.argsort(-races, axis=-1, kind="stable")[..., :num_samples].astype(np.int64))
    rows = array.reshape(-1, array.shape[-1])
    sums = np.cumsum(rows, axis=-1)
    sums = sums / sums[:, -1:]
    draws = (generator or default_generator).uniform(len(rows) * num_samples, np.float64).reshape(len(rows), num_samples)
    places = [np.searchsorted(row, u, side="left") for row, u in zip(sums, draws, strict=True)]
    return Tensor(np.array(places, np.int64).reshape(*array.shape[:-1], num_samples))


def _check_dropout(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each entry zero with probability p, the others larger by 1/(1 - p)."""
    _check_dropout(p)
    if not training or p == 0:
        return x
    return _masked(x, _kept(x.detach(), p), p, inplace)


_RANKS = (
    "dropout1d: Expected 2D or 3D input, but received a {}D input. Note that dropout1d exists to provide channel-wise dropout on inputs "
    "with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
)


def _by_channel(axes: int) -> Callable[..., Tensor]:
    """The same for whole channels."""

    def drop(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        _check_dropout(p)
        if axes == 1 and x.ndim not in (2, 3):
            raise RuntimeError(_RANKS.format(x.ndim))
        if axes == 2 or x.ndim == axes + 2:  # PyTorch takes what has another rank as one example, but in two dimensions
            return _dropped(x, p, training, inplace)
        return _dropped(x.unsqueeze(0), p, training, inplace).squeeze(0)

    return drop


def _dropped(x: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not training or p == 0 or 0 in x.shape:
        return x
    if x.array.dtype.kind in "iub" and p < 1:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {x.dtype.in_messages}")
    return _masked(x, _kept_channels(x, p) if p < 1 else _kept(x, p), p, inplace)


def _kept_channels(x: Tensor, p: float) -> Tensor:
    """What stays of channels, which stand along the second axis."""
    if x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _kept(Tensor(np.zeros((*x.shape[:2], *(1,) * (x.ndim - 2)), x.array.dtype)), p)


def _kept(x: Tensor, p: float) -> Tensor:
    """What stays of a tensor; where nothing does, nothing is drawn."""
    return Tensor(np.zeros(x.shape, x.array.dtype)) if p == 1 else _chosen(x, 1 - p)


def _masked(x: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    scaled = kept if p == 1 else kept * (1 / (1 - p))
    result: Tensor = x * scaled
    return assign(x, result) if inplace else result


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; hard ones are one of the unit vectors, with the gradient of the soft one."""
    waits = _drawn(logits.detach().contiguous(), exponential)
    soft: Tensor = softmax((logits - log(waits)) / tau, axis=dim)
    if not hard:
        return soft
    rows = np.zeros_like(soft.array)
    np.put_along_axis(rows, soft.array.argmax(dim, keepdims=True), 1.0, dim)
    found: Tensor = Tensor(rows) - soft.detach() + soft
    return found


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Each entry the negative saturation of selu with probability p; then mean and variance are those of before."""
    _check_dropout(p)
    return x if not training or p == 0 else _saturated(x, _kept(x.detach(), p), p, inplace)


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """The same for whole channels."""
    _check_dropout(p)
    return x if not training or p == 0 else _saturated(x, _kept_channels(x, p), p, inplace)


def _saturated(x: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    saturation = _SATURATION
    scale = 0.0 if p == 1 else 1 / math.sqrt((saturation**2 * p + 1) * (1 - p))
    result: Tensor = x * (kept * scale) + ((kept - 1) * (saturation * scale) + saturation * scale * p)
    return assign(x, result) if inplace else result


_SATURATION = 1.7580993408473766  # of selu: its scale times its alpha


def _cauchy_(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    check_writable(x)
    check_places(x)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return replace(x, _drawn(x, lambda shape: median + sigma * np.tan(np.pi * (_fractions(shape, generator) - 0.5))), "CauchyBackward0")


def _geometric_(x: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    check_writable(x)
    check_places(x)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return replace(x, _drawn(x, lambda shape: np.ceil(np.log(_fractions(shape, generator)) / np.log1p(-p))), "GeometricBackward0")


def _log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    check_writable(x)
    check_places(x)
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    source = generator or default_generator

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return np.exp(source.one_by_one(math.prod(shape)).reshape(shape) * std + mean)

    return replace(x, _drawn(x, draw), "LogNormalBackward0")


def _fractions(shape: tuple[int, ...], source: Generator | None) -> np.ndarray:
    return (source or default_generator).uniform(math.prod(shape), np.float64).reshape(shape)


RANDOM: dict[str, Callable[..., Any]] = {"bernoulli": bernoulli, "multinomial": multinomial}
RANDOM_IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "bernoulli_": _bernoulli_,
    "exponential_": _exponential_,
    "random_": _random_,
    "cauchy_": _cauchy_,
    "geometric_": _geometric_,
    "log_normal_": _log_normal_,
}
OF_NETWORKS: dict[str, Callable[..., Tensor]] = {
    "dropout": dropout, "dropout1d": _by_channel(1), "dropout2d": _by_channel(2), "dropout3d": _by_channel(3),
    "gumbel_softmax": gumbel_softmax, "alpha_dropout": alpha_dropout,
    "feature_alpha_dropout": feature_alpha_dropout,
}  # fmt: skip
