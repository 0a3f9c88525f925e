"""Random numbers in tensors: methods that fill in place, functions that draw, and training dropout.

`uniform_` and `normal_` draw as PyTorch does; all others are NumPy's distributions, which go on
from the same state. Nothing that is drawn has a derivative.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.elementwise.exponential import log
from gradcli.ops.nn.softmax_and_attention import softmax
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.in_place import assign, check_places, check_writable, replace
from gradcli.tensors.core.levels import check_no_examples
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked

# -- The source of random numbers: PyTorch's uniform and normal ones of a CPU for the same seed ----
#
# PyTorch draws from the Mersenne Twister MT19937. Uniform float32 numbers take 24 bits of one
# draw, float64 ones 53 bits of two. Normal numbers follow Box and Muller (Annals of Mathematical
# Statistics 29, 1958): fewer than 16 one pair at a time in float64, more in blocks of 16 whose
# first eight are radii and last eight angles. What else is drawn is NumPy's, from the same state.


class Generator:
    """A source of random numbers with a seed of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        self.seed()

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed)
        self.distributions = np.random.RandomState(self._seed & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        self.manual_seed(secrets.randbits(53))
        return self._seed

    def _words(self, n: int) -> np.ndarray:
        """n draws of 32 bits."""
        return self.distributions.randint(0, 1 << 32, size=n, dtype=np.uint32)

    def _pairs(self, n: int) -> np.ndarray:
        """n draws of 64 bits: the first word is the high one."""
        words = self._words(2 * n).astype(np.uint64)
        return (words[0::2] << np.uint64(32)) | words[1::2]

    def uniform(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Numbers from 0 to less than 1; floats of 16 bits are those of 32 bits, rounded."""
        n = math.prod(shape)
        if dtype == np.float64:
            drawn = (self._pairs(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        else:
            bits = self._words(n) & np.uint32((1 << 24) - 1)
            drawn = (bits.astype(np.float32) * np.float32(2.0**-24)).astype(dtype)
            drawn[drawn == 1] = 0  # what 16 bits round up to the end
        return drawn.reshape(shape)

    def normal(self, shape: tuple[int, ...], dtype: Any, in_blocks: bool = True) -> np.ndarray:
        """Standard normal numbers; those for floats of 16 bits are not rounded to these.

        in_blocks  whether sixteen or more are drawn in blocks, as for memory without gaps
        """
        n, wide = math.prod(shape), np.float64 if dtype == np.float64 else np.float32
        if n < 16 or not in_blocks:
            return np.array([self._one() for _ in range(n)]).astype(wide).reshape(shape)
        out = np.empty(n, wide)
        first = n - n % 16 if np.dtype(dtype).itemsize == 2 else n  # of 16 bits none in vain
        out[:first] = self.uniform((first,), wide)
        for start in range(0, n - 15, 16):
            out[start : start + 16] = _block(out[start : start + 16])
        if n % 16:
            out[n - 16 :] = _block(self.uniform((16,), wide))  # the last sixteen are drawn anew
        return out.reshape(shape)

    def uniform_like(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        return in_memory_order(x, lambda shape: self.uniform(shape, dtype))

    def normal_like(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        whole = x.flags.c_contiguous
        return in_memory_order(x, lambda shape: self.normal(shape, dtype, whole))

    def _one(self) -> float:
        if self._spare is not None:
            value, self._spare = self._spare, None
            return value
        u1, u2 = self.uniform((2,), np.float64)
        radius, angle = np.sqrt(-2.0 * np.log1p(-u2)), 2.0 * np.pi * u1
        self._spare = float(radius * np.sin(angle))
        return float(radius * np.cos(angle))

    def whole(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
        """Whole numbers from low to less than high."""
        if high <= low:
            raise RuntimeError(f"whole numbers are drawn from low to less than high, not {low}, {high}")
        span, n = high - low, math.prod(shape)
        draws = self._words(n).astype(np.uint64) if span < 1 << 28 else self._pairs(n)
        return (draws % np.uint64(span)).astype(np.int64).reshape(shape) + low

    def permutation(self, n: int) -> np.ndarray:
        out = np.arange(n)
        for i, draw in enumerate(self._words(max(n - 1, 0)).tolist()):
            j = i + draw % (n - i)
            out[i], out[j] = out[j], out[i]
        return out


def in_memory_order(x: np.ndarray, draw: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """Numbers for an array, drawn in the order in which its entries are in memory."""
    axes = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    return draw(tuple([x.shape[axis] for axis in axes])).transpose(np.argsort(axes))


def _block(uniform: np.ndarray) -> np.ndarray:
    one, two = uniform.dtype.type(1), uniform.dtype.type(2)
    radius = np.sqrt(-two * np.log(one - uniform[:8]))
    angle = two * uniform.dtype.type(np.pi) * uniform[8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])


default_generator = Generator()
manual_seed = default_generator.manual_seed
initial_seed = default_generator.initial_seed
seed = default_generator.seed


def _require(holds: Any, said: str) -> None:
    if not holds:
        raise RuntimeError(said)


def _check_floats(name: str, x: Tensor) -> None:
    if x.array.dtype.kind not in dtypes.FLOATS:
        raise dtypes.untaken(name, x.array.dtype)


# -- methods that fill ------------------------------------------------------------------------------------------


def _fills(draw: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """The method that writes what a function draws for an array into a tensor."""
    node = "".join(word.capitalize() for word in draw.__name__.split("_")) + "Backward0"
    held = checked(draw)

    def fill(x: Tensor, *given: Any, generator: Generator | None = None, **named: Any) -> Tensor:
        check_no_examples()
        check_writable(x)
        check_places(x)
        drawn = held(generator or default_generator, x.array, *given, **named)
        return replace(x, Tensor(np.asarray(drawn).astype(x.array.dtype)), node)

    fill.__name__ = draw.__name__
    return fill


@_fills
def uniform_(source: Generator, x: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    _check_floats("uniform_", Tensor(x))
    _require(low <= high, f"uniform_ expects [from, to), but found from={low:g} > to={high:g}")
    kind: Any = np.float64 if x.dtype == np.float64 else np.float32
    drawn = source.uniform_like(x, kind)
    # rounded once, as PyTorch's loops do
    return drawn.astype(np.float64) * float(kind(high - low)) + float(kind(low))


@_fills
def normal_(source: Generator, x: np.ndarray, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    _check_floats("normal_", Tensor(x))
    _require(std >= 0, f"normal expects std >= 0.0, but found std {std:g}")
    return source.normal_like(x, x.dtype) * std + mean


@_fills
def bernoulli_(source: Generator, x: np.ndarray, p: Any = 0.5) -> np.ndarray:
    return source.distributions.random_sample(x.shape) < _probabilities(p)


def _probabilities(p: Any) -> np.ndarray:
    chances = np.asarray(p.array if isinstance(p, Tensor) else p)
    _require(((chances >= 0) & (chances <= 1)).all(), f"probabilities are from 0 to 1, not {p}")
    return chances


@_fills
def exponential_(source: Generator, x: np.ndarray, lambd: float = 1.0) -> np.ndarray:
    _require(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return source.distributions.standard_exponential(x.shape) / lambd


@_fills
def random_(source: Generator, x: np.ndarray, low: Any = None, high: Any = None) -> np.ndarray:
    """Draw from low to high, or from all whole numbers from 0 on that the dtype holds."""
    if low is None:
        low, high = 0, 2 if x.dtype.kind == "b" else _most(x.dtype) + 1
    low, high = (0, low) if high is None else (low, high)
    return source.distributions.randint(low, high, x.shape, np.int64)


def _most(kind: np.dtype[Any]) -> int:
    if kind.kind in dtypes.FLOATS:
        bits: int = dtypes.limits(kind).nmant
        return 1 << (bits + 1)
    return min(int(np.iinfo(kind).max), 2**63 - 1)


# -- functions that draw ----------------------------------------------------------------------------------------


def _draws(draw: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """The function whose result is drawn for the entries of a tensor of floats."""

    def run(x: Tensor, *given: Any, generator: Generator | None = None, **named: Any) -> Tensor:
        check_no_examples()
        _check_floats(draw.__name__, x)
        drawn = draw((generator or default_generator).distributions, x.array, *given, **named)
        return Tensor(np.asarray(drawn, np.int64 if draw is multinomial else x.array.dtype))

    run.__name__ = draw.__name__
    return run


def bernoulli(source: np.random.RandomState, x: np.ndarray, p: Any = None) -> np.ndarray:
    """1 with the probability that each entry says (or p), else 0."""
    return source.random_sample(x.shape) < _probabilities(x if p is None else p)


def poisson(source: np.random.RandomState, x: np.ndarray) -> np.ndarray:
    """A count for each mean."""
    _require((x >= 0).all(), "invalid Poisson rate, expected rate to be non-negative")
    return np.asarray(source.poisson(x))


def binomial(source: np.random.RandomState, count: np.ndarray, prob: Tensor) -> np.ndarray:
    """How many of each count of trials succeed, each with a probability."""
    _require(np.isfinite(count).all() and (count >= 0).all(), "binomial expects finite counts")
    return np.asarray(source.binomial(count.astype(np.int64), _probabilities(prob)))


def multinomial(source: np.random.RandomState, x: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """Places drawn with the probabilities that the last axis is in proportion to."""
    _require(x.ndim in (1, 2), "prob_dist must be 1 or 2 dim")
    _require(num_samples > 0, "cannot sample n_sample <= 0 samples")
    positive = (np.isfinite(x) & (x >= 0)).all() and (x.sum(-1) > 0).all()
    _require(positive, "probability tensor contains either `inf`, `nan` or element < 0, or no other")
    enough = replacement or num_samples <= np.count_nonzero(x, -1).min()
    _require(enough, "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    places, rows = np.arange(x.shape[-1]), x.reshape(-1, x.shape[-1]).astype(np.float64)
    drawn = [source.choice(places, num_samples, replacement, row / row.sum()) for row in rows]
    return np.reshape(drawn, (*x.shape[:-1], num_samples))


# -- dropout ----------------------------------------------------------------------------------------------------


def _dropping(lead: Callable[[Tensor], int]) -> Callable[..., Tensor]:
    """A function that drops entries, or whole channels, with probability p while it trains; what stays is larger by 1/(1 - p).

    lead  how many axes number what stays or goes as a whole
    """

    def drop(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        if not isinstance(training, bool):
            raise TypeError(f"training is True or False, not {training!r}")
        if not training or p == 0:
            return x
        axes = lead(x)
        check_no_examples()
        _check_floats("dropout", x)
        drawn = default_generator.distributions.random_sample(x.shape[:axes]) >= p
        spread = drawn.reshape(*x.shape[:axes], *(1,) * (x.ndim - axes))
        result: Tensor = x * Tensor((spread / (1 - p) if p < 1 else spread).astype(x.array.dtype))
        return assign(x, result) if inplace else result

    return drop


def _channels(axes: int) -> Callable[[Tensor], int]:
    """How many axes number channels of so many axes: one without a batch, but in two dimensions."""

    def lead(x: Tensor) -> int:
        fits = x.ndim > 1 and (axes > 1 or x.ndim < 4)
        _require(fits, f"dropout{axes}d: channels are axes of at least 2, not of {x.ndim}")
        return 1 if axes != 2 and x.ndim == axes + 1 else 2

    return lead


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution.

    hard  whether it is one of the unit vectors, with the gradient of the soft one
    """
    check_no_examples()
    waits = default_generator.distributions.standard_exponential(logits.shape)
    noise = log(Tensor(waits.astype(logits.array.dtype)))
    soft: Tensor = softmax((logits - noise) / tau, axis=dim)
    if not hard:
        return soft
    rows = np.zeros_like(soft.array)
    np.put_along_axis(rows, soft.array.argmax(dim, keepdims=True), 1.0, dim)
    found: Tensor = Tensor(rows) - soft.detach() + soft
    return found


_IN_PLACE = (uniform_, normal_, bernoulli_, exponential_, random_)
RANDOM_IN_PLACE = {fill.__name__: fill for fill in _IN_PLACE}
RANDOM = {draw.__name__: checked(_draws(draw)) for draw in (bernoulli, multinomial)}
COUNTS = {draw.__name__: checked(_draws(draw)) for draw in (poisson, binomial)}
OF_NETWORKS: dict[str, Callable[..., Tensor]] = {
    "dropout": _dropping(lambda x: x.ndim),
    **{f"dropout{n}d": _dropping(_channels(n)) for n in (1, 2, 3)},
    "gumbel_softmax": gumbel_softmax,
}
