"""NumPy's functions on tensors that choose, order and count entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.numpy_calls import by_name, plain, refuse, tensor_of


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return np.nonzero(plain(condition))
    return by_name("where", condition, *choices)


def _piecewise(x: Any, condlist: Any, funclist: Any, *arguments: Any, **keywords: Any) -> Any:
    """Values, or functions of the entries for which a condition is the last to hold."""
    given = tensor_of(x)
    conditions = [np.asarray(plain(c), bool) for c in (condlist if isinstance(condlist, (list, tuple)) else list(condlist))]
    if conditions and not conditions[0].ndim and given.ndim:
        conditions = [np.asarray(conditions)]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected")
    result: Any = Tensor(np.zeros(given.array.shape, given.array.dtype))
    if len(funclist) > len(conditions):
        conditions.append(~np.any(conditions, axis=0))
    for condition, function in zip(conditions, funclist, strict=True):
        mask = np.broadcast_to(condition, given.array.shape)
        if not mask.any():
            continue
        value = function(given[mask], *arguments, **keywords) if callable(function) else function
        place = np.cumsum(mask.ravel()).reshape(mask.shape) - 1
        spread = tensor_of(value).reshape(-1)[np.where(mask, place, 0)] if np.ndim(value) else value
        result = np.where(mask, spread, result)
    return result


def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """From several arrays, for each entry that of the array which a number names."""
    refuse("choose", out=out)
    places = np.asarray(plain(a))
    options = list(choices)
    if mode == "wrap":
        places = places % len(options)
    elif mode == "clip":
        places = np.clip(places, 0, len(options) - 1)
    elif mode != "raise":
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    if places.size and (places.min() < 0 or places.max() >= len(options)):
        raise ValueError("invalid entry in choice array")
    places, *spread = np.broadcast_arrays(places, *[tensor_of(option) for option in options])
    return np.take_along_axis(np.stack(list(spread)), np.asarray(plain(places))[None], 0)[0]


def _partition(x: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Any:
    refuse("partition", order=order)
    given = np.ravel(x) if axis is None else x
    axis = -1 if axis is None else axis
    return np.take_along_axis(given, np.argpartition(plain(given), kth, axis=axis, kind=kind), axis)


def _sort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    refuse("sort", order=order)
    return by_name("sort", np.ravel(x) if axis is None else x, axis=-1 if axis is None else axis, kind=kind)


def _argsort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    refuse("argsort", order=order)
    return by_name("argsort", np.ravel(x) if axis is None else x, axis=-1 if axis is None else axis, kind=kind)


def _unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, *,
    equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """Different entries, or slices: the first of each, whose gradient is theirs."""
    _, first, *found = np.unique(plain(x), True, return_inverse, return_counts, axis, equal_nan=equal_nan)  # type: ignore[call-overload]
    kept = np.ravel(x)[first] if axis is None else np.take(x, first, axis=axis)
    results = (kept, *([first] if return_index else []), *found)
    return results if len(results) > 1 else kept


def _trim(filt: Any, trim: str = "fb", axis: Any = -1) -> Any:
    if np.ndim(filt) != 1:
        raise UnreadArgumentError("trim_zeros takes a vector", help="take the slices")
    places = np.flatnonzero(plain(filt))
    start = places[0] if len(places) and "f" in trim.lower() else 0 if len(places) else len(filt)
    end = places[-1] + 1 if len(places) and "b" in trim.lower() else len(filt)
    return filt[int(start) : int(end)]


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Counts, and the edges of the bins, which lie between the smallest and the largest entry."""
    _refuse_weights("histogram", weights)
    counts, edges = np.histogram(plain(a), plain(bins), range, None, plain(weights))
    edges = _edges(a, bins, range, edges)
    return (counts / counts.sum() / np.diff(edges) if density else counts), edges


def _edges(a: Any, bins: Any, range: Any, edges: Any) -> Any:
    """The edges that NumPy has found: those between the smallest and the largest entry move with these."""
    if not (isinstance(a, Tensor) and a.requires_grad and range is None) or np.ndim(bins):
        return edges
    if isinstance(bins, str):
        raise UnreadArgumentError("edges that NumPy chooses by entries have no gradients", help="give the number of bins, or a.detach()")
    low, high = np.min(a), np.max(a)
    return np.linspace(low, high, bins + 1) if high.item() > low.item() else np.linspace(low - 0.5, high + 0.5, bins + 1)


def _bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    _refuse_weights("histogram_bin_edges", weights)
    return _edges(a, bins, range, np.histogram_bin_edges(plain(a), plain(bins), range, plain(weights)))


def _refuse_weights(name: str, weights: Any) -> None:
    if isinstance(weights, Tensor) and weights.requires_grad:
        raise UnreadArgumentError(f"{name} of tensors does not support weights that require grad", help="write weights.detach()")


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sums of its weights."""
    places = plain(x)
    if weights is None or not isinstance(weights, Tensor):
        return np.bincount(places, plain(weights), minlength)
    count = len(np.bincount(places, minlength=minlength))
    return np.matmul(tensor_of(np.arange(count)[:, None] == places).to(weights.dtype), weights)


SELECTION: dict[str, Callable[..., Any]] = {
    "where": _where, "piecewise": _piecewise, "choose": _choose, "partition": _partition, "sort": _sort, "argsort": _argsort,
    "unique": _unique, "trim_zeros": _trim, "bincount": _bincount, "histogram": _histogram, "histogram_bin_edges": _bin_edges,
}  # fmt: skip
