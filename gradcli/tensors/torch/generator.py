"""Random numbers, the same as PyTorch's on a CPU for the same seed.

PyTorch draws from the Mersenne Twister MT19937. Uniform float32 numbers take 24 bits of one draw, float64 ones 53 bits of two.
Normal numbers follow Box and Muller (Annals of Mathematical Statistics 29, 1958): fewer than 16 one pair at a time in float64, more
in blocks of 16 whose first eight are radii and last eight angles.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradcli.tensors.core.tensor import Tensor

_WORD = (1 << 64) - 1
_LAYOUT = np.dtype([
    ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("key", "<u8", 624), ("x", "<f8"), ("spare", "<f8"),
    ("rho", "<f8"),
    ("has_spare", "<i4"), ("unused", "<i4"), ("float_spare", "<f4"), ("has_float_spare", "<i4"),
])  # fmt: skip


class Generator:
    """A source of random numbers with a seed of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        self.manual_seed(secrets.randbits(53))

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed)
        self._state = np.random.RandomState(self._seed & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        self.manual_seed(secrets.randbits(53))
        return self._seed

    def get_state(self) -> Tensor:
        """All that the next numbers depend on, in the layout of PyTorch's own."""
        _, key, place, *_ = cast(tuple[Any, ...], self._state.get_state(legacy=True))
        state = np.zeros(1, _LAYOUT)
        state["seed"], state["left"], state["seeded"], state["next"] = self._seed & _WORD, 625 - place, 1, place % 624
        state["key"][0] = key
        if self._spare is not None:
            state["spare"], state["has_spare"] = self._spare, 1
        return Tensor(np.frombuffer(state.tobytes(), np.uint8).copy())

    def set_state(self, state: Tensor) -> Generator:
        """Go on from a state."""
        if state.array.dtype != np.uint8 or state.array.size != _LAYOUT.itemsize:
            raise TypeError(f"RNG state must be a torch.ByteTensor. It has {_LAYOUT.itemsize} entries")
        found = np.frombuffer(state.array.tobytes(), _LAYOUT)[0]
        place = 625 - int(found["left"])
        if not 0 < place <= 624:
            raise RuntimeError("Invalid mt19937 state")
        self._seed = int(found["seed"])
        self._state.set_state(("MT19937", found["key"].astype(np.uint32), place, 0, 0.0))
        self._spare = float(found["spare"]) if found["has_spare"] else None
        return self

    def poisson(self, means: np.ndarray) -> np.ndarray:
        """Counts of Poisson's distribution, as NumPy draws them."""
        return np.asarray(self._state.poisson(means))

    def binomial(self, trials: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """Counts of the binomial distribution, as NumPy draws them."""
        return np.asarray(self._state.binomial(trials, chances))

    def words(self, n: int) -> np.ndarray:
        """n draws of 32 bits."""
        return self._state.randint(0, 1 << 32, size=n, dtype=np.uint32)

    def pairs(self, n: int) -> np.ndarray:
        """n draws of 64 bits: the first word is the high one."""
        words = self.words(2 * n).astype(np.uint64)
        return (words[0::2] << np.uint64(32)) | words[1::2]

    def uniform(self, n: int, dtype: Any) -> np.ndarray:
        if dtype == np.float64:
            return (self.pairs(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        draws = (self.words(n) & np.uint32((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)
        return draws if dtype == np.float32 else below(1.0, draws.astype(dtype), 0.0)

    def normal(self, n: int, dtype: Any, in_blocks: bool = True, few_bits: bool = False) -> np.ndarray:
        """n draws: in blocks of sixteen, if there are as many, or one by one, as for memory that has gaps.

        few_bits  whether they are for floats of 16 bits, whatever they are drawn in
        """
        if n >= 16 and in_blocks:
            few_bits = few_bits or np.dtype(dtype).itemsize == 2
            return self._blocks(n, np.float64 if dtype == np.float64 else np.float32, n - n % 16 if few_bits else n).astype(dtype)
        return np.array([self._one() for _ in range(n)], np.float64).astype(dtype)

    def one_by_one(self, n: int) -> np.ndarray:
        """Normal numbers that are drawn alone, however many there are."""
        return np.array([self._one() for _ in range(n)], np.float64)

    def _one(self) -> float:
        if self._spare is not None:
            value, self._spare = self._spare, None
            return value
        u1, u2 = self.uniform(2, np.float64)
        radius, angle = np.sqrt(-2.0 * np.log1p(-u2)), 2.0 * np.pi * u1
        self._spare = float(radius * np.sin(angle))
        return float(radius * np.cos(angle))

    def _blocks(self, n: int, dtype: Any, drawn: int) -> np.ndarray:
        """Blocks of sixteen, for which so many numbers are drawn first: of floats of 16 bits none that would be drawn anew."""
        out = np.empty(n, dtype)
        out[:drawn] = self.uniform(drawn, dtype)
        for start in range(0, n - 15, 16):
            out[start : start + 16] = _block(out[start : start + 16])
        if n % 16:
            out[n - 16 :] = _block(self.uniform(16, dtype))  # the last sixteen are drawn anew
        return out


def below(high: float, drawn: np.ndarray, low: float) -> np.ndarray:
    """Numbers from low to less than high in a dtype in which some of them were rounded to high: to these PyTorch gives the other end."""
    drawn[drawn == high] = low
    return drawn


def _block(uniform: np.ndarray) -> np.ndarray:
    one, two = uniform.dtype.type(1), uniform.dtype.type(2)
    radius = np.sqrt(-two * np.log(one - uniform[:8]))
    angle = two * uniform.dtype.type(np.pi) * uniform[8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Make what follows reproducible: the same numbers as PyTorch's for the same seed."""
    return default_generator.manual_seed(seed)


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    default_generator.set_state(new_state)


def initial_seed() -> int:
    return default_generator.initial_seed()


def seed() -> int:
    return default_generator.seed()


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def in_memory_order(array: np.ndarray, draw: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """Numbers for the entries of an array, drawn in the order in which these are in memory, as PyTorch's loops go through them."""
    if array.flags.c_contiguous:
        return draw(array.shape)
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    return draw(tuple([array.shape[axis] for axis in axes])).transpose(np.argsort(axes))


def uniform(shape: tuple[int, ...], dtype: Any, source: Generator | None = None) -> np.ndarray:
    return (source or default_generator).uniform(_count(shape), dtype).reshape(shape)


def normal(
    shape: tuple[int, ...], dtype: Any, source: Generator | None = None, in_blocks: bool = True, few_bits: bool = False
) -> np.ndarray:  # fmt: skip
    return (source or default_generator).normal(_count(shape), dtype, in_blocks, few_bits).reshape(shape)


def whole(low: int, high: int, shape: tuple[int, ...], source: Generator | None = None) -> np.ndarray:
    generator = source or default_generator
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    span = high - low
    draws = generator.words(_count(shape)).astype(np.uint64) if span < 1 << 28 else generator.pairs(_count(shape))
    return (draws % np.uint64(span)).astype(np.int64).reshape(shape) + low


def permutation(n: int, source: Generator | None = None) -> np.ndarray:
    generator = source or default_generator
    out = np.arange(n)
    for i, draw in enumerate(generator.words(max(n - 1, 0)).tolist()):
        j = i + draw % (n - i)
        out[i], out[j] = out[j], out[i]
    return out
