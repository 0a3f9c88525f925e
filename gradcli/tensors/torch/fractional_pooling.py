"""Pooling whose windows begin at random places, so many that the result has a size (B. Graham: "Fractional max-pooling", 2014)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.creation import rand


def _fractional(axes: int, always: bool) -> Callable[..., Any]:
    def pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        """The largest entries of windows; with their places among all entries of these axes."""
        name = f"fractional_max_pool{axes}d"
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if input.ndim not in (axes + 1, axes + 2):
            raise RuntimeError(f"{name}: Expected {axes + 1}D or {axes + 2}D tensor, but got: {list(input.shape)}")
        extents = tuple(input.shape[-axes:])
        if output_size is None:
            if len(output_ratio) != axes:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(n * ratio) for n, ratio in zip(extents, output_ratio, strict=True)]
        windows, wanted = _each(kernel_size, axes), _each(output_size, axes)
        for n, size, window in zip(extents, wanted, windows, strict=True):
            if size + window - 1 > n:
                raise RuntimeError(f"{name}: pool size ({window}) too large relative to input size ({n})")
        batch = input.shape[0] if input.ndim == axes + 2 else 1
        planes = input.shape[-axes - 1]
        samples = rand(batch, planes, axes, dtype=input.dtype) if _random_samples is None else _random_samples
        values, places = _pooled(input, windows, wanted, np.asarray(samples.array).reshape(-1, axes))
        return (values, places) if return_indices or always else values

    return pool


def _each(given: Any, axes: int) -> tuple[int, ...]:
    return (given,) * axes if isinstance(given, int) else tuple(given)


def _starts(extent: int, window: int, count: int, sample: float) -> list[int]:
    """Where windows begin: as far from each other as whole numbers allow, the last one at the end."""
    if count == 1:
        return [extent - window]
    step = np.asarray(sample).dtype.type(extent - window) / np.asarray(sample).dtype.type(count - 1)
    return [int((i + sample) * step) - int(sample * step) for i in range(count - 1)] + [extent - window]


def _pooled(x: Any, windows: Sequence[int], wanted: Sequence[int], samples: np.ndarray) -> tuple[Any, Tensor]:
    axes = len(windows)
    extents = tuple(x.shape[-axes:])
    order = range(axes) if axes == 3 else range(axes - 1, -1, -1)  # in two dimensions the first number is that of the last axis
    flat = np.asarray(x.array).reshape(-1, *extents)
    places = np.empty((len(flat), *wanted), np.int64)
    for plane, (entries, sample) in enumerate(zip(flat, samples, strict=True)):
        starts = [_starts(n, w, k, sample[i]) for n, w, k, i in zip(extents, windows, wanted, order, strict=True)]
        for place in np.ndindex(*wanted):
            corner = [along[i] for along, i in zip(starts, place, strict=True)]
            part = entries[tuple(slice(c, c + w) for c, w in zip(corner, windows, strict=True))]
            offset = np.unravel_index(int(np.argmax(part)), part.shape)
            places[(plane, *place)] = np.ravel_multi_index([c + o for c, o in zip(corner, offset, strict=True)], extents)
    lead = tuple(x.shape[:-axes])
    index = Tensor(places.reshape(*lead, -1))
    values = x.reshape(*lead, -1).gather(-1, index).reshape(*lead, *wanted)
    if values.node is not None:
        values.node.label = f"FractionalMaxPool{axes}DBackward0"
    return values, Tensor(places.reshape(*lead, *wanted))


FRACTIONAL: dict[str, Callable[..., Any]] = {
    f"fractional_max_pool{axes}d{ending}": checked(_fractional(axes, bool(ending)), f"fractional_max_pool{axes}d", "torch.nn.functional")
    for axes in (2, 3)
    for ending in ("", "_with_indices")
}
