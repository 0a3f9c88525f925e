"""How many entries lie between edges: ``torch.histogram``, ``histogramdd`` and ``histc``, none of which PyTorch has a derivative of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.named_results import named_results
from gradcli.tensors.torch.creation import linspace
from gradcli.tensors.torch.no_derivatives import underived

_FIELDS = ("hist", "bin_edges")


def _histogram(
    x: Tensor, bins: Any = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Any:  # fmt: skip
    """How many entries (or which weights of them) lie between edges, and the edges."""
    _check_kind(x)
    points = Tensor(x.array.reshape(-1, 1))
    edges = _edges("histogram", points, [bins], range)
    weights = None if weight is None else _weights(x, weight, tuple(x.shape))
    hist = _density(_counted(points.array, edges, weights), edges) if density else _counted(points.array, edges, weights)
    made = (Tensor(hist.astype(x.array.dtype)), Tensor(edges[0]))
    return named_results("histogram", _FIELDS, underived("aten::histogram", made, [x, bins, weight]))


def _histogramdd(
    x: Tensor, bins: Any, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Any:  # fmt: skip
    """How many points, whose coordinates stand along the last axis, lie in the boxes between edges, and the edges along each axis."""
    if x.array.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    _check_kind(x)
    count = x.array.shape[-1]
    wanted = [bins] * count if isinstance(bins, int) else list(bins)
    if len(wanted) != count:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    points = Tensor(x.array.reshape(-1, count))
    edges = _edges("histogramdd", points, wanted, range)
    weights = None if weight is None else _weights(x, weight, tuple(x.shape[:-1]))
    hist = _density(_counted(points.array, edges, weights), edges) if density else _counted(points.array, edges, weights)
    made = (Tensor(hist.astype(x.array.dtype)), *map(Tensor, edges))
    found = underived("aten::histogramdd", made, [x, *wanted, weight])
    return named_results("histogramdd", _FIELDS, (found[0], found[1:]))


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many entries lie in intervals of one length: which one it is, is computed of the entry, and not looked up among edges."""
    array = x.array
    if array.dtype.kind not in dtypes.FLOATS:
        raise dtypes.untaken("histc", x.array.dtype)
    low, high = (array.min(), array.max()) if min == max and array.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    if bins <= 0 or not low < high:
        at_least = f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0"
        raise RuntimeError(at_least if bins <= 0 else "torch.histc: max must be larger than min")
    kind = np.float64 if array.dtype == np.float64 else np.float32
    array = array.astype(kind)
    inside = array[(array >= low) & (array <= high)]
    places = np.minimum(((inside - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(np.int64), bins - 1)
    return Tensor(np.bincount(places, minlength=bins).astype(x.array.dtype))


def _check_kind(x: Tensor) -> None:
    if x.array.dtype not in (np.float32, np.float64):
        raise dtypes.untaken("histogram", x.array.dtype)


def _edges(name: str, points: Tensor, bins: Sequence[Any], limits: Sequence[float] | None) -> list[np.ndarray]:
    """The edges along each axis: those that are given, or of so many intervals between limits, or between the ends of the points."""
    count, kind = len(bins), points.array.dtype
    if limits is not None and len(limits) != 2 * count:
        raise RuntimeError(
            f"torch.histogramdd: for a {count}-dimensional histogram range should have {2 * count} elements, but got {len(limits)}"
        )
    edges = []
    for axis, wanted in enumerate(bins):
        if isinstance(wanted, Tensor):
            edges.append(_checked(wanted, axis, kind))
            continue
        if wanted <= 0:
            raise RuntimeError(f"torch.{name}(): bins must be > 0, but got {wanted} for dimension {axis}")
        low, high = _ends(points.array[:, axis]) if limits is None else (float(limits[2 * axis]), float(limits[2 * axis + 1]))
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {axis}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(linspace(low, high, wanted + 1, dtype=dtypes.of_numpy(kind)).array)
    return edges


def _checked(edges: Tensor, axis: int, kind: np.dtype[Any]) -> np.ndarray:
    if edges.array.ndim != 1:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have one dimension, but got "
            f"{edges.array.ndim} dimensions in the bins tensor for dimension {axis}"
        )
    if edges.array.dtype != kind:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{dtypes.of_numpy(kind)} and bins for dimension {axis} with dtype {edges.dtype}"
        )
    return edges.array


def _ends(entries: np.ndarray) -> tuple[float, float]:
    return (float(entries.min()), float(entries.max())) if entries.size else (0.0, 1.0)


def _weights(x: Tensor, weight: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    if weight.array.shape != shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape {list(x.shape)} and weight with shape {list(weight.shape)}"
        )
    if weight.dtype is not x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({x.dtype}), and weight({weight.dtype})"
        )
    return weight.array.reshape(-1)


def _counted(points: np.ndarray, edges: Sequence[np.ndarray], weights: np.ndarray | None) -> np.ndarray:
    shape = tuple(len(along) - 1 for along in edges)
    inside = np.ones(len(points), bool)
    places = []
    for coordinate, along in zip(points.T, edges, strict=True):
        inside &= (coordinate >= along[0]) & (coordinate <= along[-1])
        places.append(np.minimum(np.searchsorted(along, coordinate, "right") - 1, len(along) - 2))  # the last edge belongs to its interval
    flat = np.ravel_multi_index([place[inside] for place in places], shape)
    chosen = None if weights is None else weights[inside]
    return np.bincount(flat, chosen, minlength=int(np.prod(shape))).reshape(shape)


def _density(hist: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
    """Counts as a density, whose integral is one."""
    with np.errstate(all="ignore"):
        found: np.ndarray = hist / hist.sum()
        for axis, along in enumerate(edges):
            found = found / np.diff(along).reshape([-1 if i == axis else 1 for i in range(len(edges))])
    return found


_FUNCTIONS: dict[str, Callable[..., Any]] = {"histogram": _histogram, "histogramdd": _histogramdd, "histc": _histc}
HISTOGRAMS: dict[str, Callable[..., Any]] = {name: checked(by_example(f), name) for name, f in _FUNCTIONS.items()}
HISTOGRAM_METHODS: dict[str, Callable[..., Any]] = {
    name: checked(by_example(f), name, "Tensor") for name, f in _FUNCTIONS.items() if name != "histogramdd"
}
