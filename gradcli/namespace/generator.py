"""The source of random numbers: PyTorch's uniform, normal and whole ones of a CPU for the same seed.

PyTorch draws from the Mersenne Twister MT19937. Uniform float32 numbers take 24 bits of one draw,
float64 ones 53 bits of two. Normal numbers follow Box and Muller (Annals of Mathematical Statistics
29, 1958): fewer than 16 one pair at a time in float64, more in blocks of 16 whose first eight are
radii and last eight angles. What else is drawn is NumPy's, from the same state.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np


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
        """Return n draws of 32 bits."""
        return self.distributions.randint(0, 1 << 32, size=n, dtype=np.uint32)

    def _pairs(self, n: int) -> np.ndarray:
        """Return n draws of 64 bits; the first word is the high one."""
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
            drawn[drawn == 1] = 0  # rounding to 16 bits may give 1
        return drawn.reshape(shape)

    def normal(self, shape: tuple[int, ...], dtype: Any, in_blocks: bool = True) -> np.ndarray:
        """Draw standard normal numbers.

        Numbers for floats of 16 bits are not rounded to these. ``in_blocks`` tells whether sixteen
        or more are drawn in blocks, as for memory without gaps.
        """
        n = math.prod(shape)
        wide = np.float64 if dtype == np.float64 else np.float32
        if n < 16 or not in_blocks:
            return np.array([self._one() for _ in range(n)]).astype(wide).reshape(shape)
        out = np.empty(n, wide)
        first = n - n % 16 if np.dtype(dtype).itemsize == 2 else n  # 16 bits: no unused draws
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
            raise RuntimeError(
                f"whole numbers are drawn from low to less than high, not {low}, {high}"
            )
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
