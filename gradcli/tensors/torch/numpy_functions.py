"""NumPy's functions on tensors that are made of other functions, through which gradients pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import clone_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.numpy_calls import called, plain, tensor_of
from gradcli.tensors.torch.numpy_places import PLACES


def _by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    return called(name, arguments, keywords, getattr(np, name))


def _refuse(name: str, **given: Any) -> None:
    """Refuse, by name, keywords that would change what is computed."""
    for keyword, value in given.items():
        if value is not None and value is not np._NoValue:
            raise UnreadArgumentError(f"{name} of tensors does not support {keyword}={value!r}", help="leave it out")


# -- arrays put together ----------------------------------------------------------------------------------------


def _block(arrays: Any) -> Any:
    """The innermost lists along the last axis, those around them along the axes before."""
    depth = _depth(arrays)
    rank = max(depth, *(np.ndim(leaf) for leaf in _leaves(arrays)))

    def put(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            if level != depth:
                raise ValueError("block: lists are nested to different depths")
            return np.reshape(leaf := tensor_of(part), (1,) * (rank - leaf.ndim) + tuple(leaf.shape))
        return np.concatenate([put(item, level + 1) for item in part], axis=level - depth)

    return put(arrays, 0)


def _depth(arrays: Any) -> int:
    depth = 0
    while isinstance(arrays, list):
        if not arrays:
            raise ValueError("block: a list is empty")
        depth, arrays = depth + 1, arrays[0]
    return depth


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for part in arrays for leaf in _leaves(part)] if isinstance(arrays, list) else [arrays]


def _split_in_depth(x: Any, indices_or_sections: Any) -> Any:
    if np.ndim(x) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return np.split(x, indices_or_sections, 2)


def _append(x: Any, values: Any, axis: int | None = None) -> Any:
    return _by_name("append", x, values, axis=axis)


def _steps(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    parts = [np.diff(np.ravel(tensor_of(x)))]
    if to_begin is not None:
        parts.insert(0, np.ravel(tensor_of(to_begin)))
    if to_end is not None:
        parts.append(np.ravel(tensor_of(to_end)))
    return np.concatenate(parts)


# -- entries chosen ---------------------------------------------------------------------------------------------


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return np.nonzero(plain(condition))
    return _by_name("where", condition, *choices)


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
    _refuse("choose", out=out)
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
    _refuse("partition", order=order)
    given = np.ravel(x) if axis is None else x
    axis = -1 if axis is None else axis
    return np.take_along_axis(given, np.argpartition(plain(given), kth, axis=axis, kind=kind), axis)


def _sort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _refuse("sort", order=order)
    return _by_name("sort", np.ravel(x) if axis is None else x, axis=-1 if axis is None else axis, kind=kind)


def _argsort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _refuse("argsort", order=order)
    return _by_name("argsort", np.ravel(x) if axis is None else x, axis=-1 if axis is None else axis, kind=kind)


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
    if isinstance(weights, Tensor) and weights.requires_grad:
        raise UnreadArgumentError("histogram of tensors does not support weights that require grad", help="write weights.detach()")
    counts, edges = np.histogram(plain(a), plain(bins), range, None, plain(weights))
    if isinstance(bins, int) and range is None and isinstance(a, Tensor) and a.requires_grad:
        edges = np.linspace(np.min(a), np.max(a), bins + 1)
    return (counts / counts.sum() / np.diff(edges) if density else counts), edges


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sums of its weights."""
    places = plain(x)
    if weights is None or not isinstance(weights, Tensor):
        return np.bincount(places, plain(weights), minlength)
    count = len(np.bincount(places, minlength=minlength))
    return np.matmul(tensor_of(np.arange(count)[:, None] == places).to(weights.dtype), weights)


# -- functions along axes ---------------------------------------------------------------------------------------


def _along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *arguments: Any, **keywords: Any) -> Any:
    """A function of each vector along an axis, in whose place its results stand."""
    moved = np.moveaxis(tensor_of(arr), axis, -1)
    lead = tuple(moved.shape[:-1])
    if not moved.array.size:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    found = [tensor_of(func1d(row, *arguments, **keywords)) for row in np.reshape(moved, (-1, moved.shape[-1]))]
    made = np.reshape(np.stack(found), lead + tuple(found[0].shape))
    start = axis % np.ndim(arr)
    for step in range(found[0].ndim):
        made = np.moveaxis(made, len(lead) + step, start + step)
    return made


def _over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    for axis in (axes,) if isinstance(axes, int) else axes:
        found = func(a, axis)
        a = found if np.ndim(found) == np.ndim(a) else np.expand_dims(found, axis)
    return a


def _transpose(a: Any, axes: Any = None) -> Any:
    return _by_name("transpose", a) if axes is None else _by_name("transpose", a, axes=axes)


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return clone_of(a) if axis == () else _by_name("roll", a, shift, axis=axis)


# -- numbers ----------------------------------------------------------------------------------------------------


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    kind = dtypes.of_numpy(np.dtype(dtype))
    return clone_of(x) if copy and x.dtype == kind else x.to(kind)


def _real(x: Any) -> Any:
    return x


def _real_if_close(a: Any, tol: float = 100) -> Any:
    return a


def _imaginary(x: Any) -> Any:
    return Tensor(np.zeros_like(x.array))


def _spaced(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Numbers in equal distances between tensors."""
    count = num - 1 if endpoint else num
    share = np.arange(num) / count if count > 0 else np.zeros(num)
    first, last = np.broadcast_arrays(tensor_of(start), tensor_of(stop))
    share = share.reshape(-1, *([1] * np.ndim(first)))
    made = first + (last - first) * tensor_of(share).to(_float_of(first, last))
    if endpoint and num > 1:
        made = np.where(share == 1, last, made)
    made = np.moveaxis(made, 0, axis) if axis else made
    made = made if dtype is None else _astype(made, dtype)
    return (made, (last - first) / count) if retstep else made


def _float_of(*tensors: Any) -> Any:
    found = next((t.dtype for t in tensors if isinstance(t, Tensor) and t.dtype.is_floating_point), None)
    return found or dtypes.float64


def _log_spaced(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    made = np.power(base, _spaced(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else _astype(made, dtype)


def _geometric(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first, last = tensor_of(start), tensor_of(stop)
    if np.any(np.sign(plain(first)) != np.sign(plain(last))) or np.any(plain(first) == 0):
        raise ValueError("Geometric sequence cannot include zero, nor numbers of both signs")
    made = np.sign(plain(first)) * np.exp(_spaced(np.log(np.abs(first)), np.log(np.abs(last)), num, endpoint, axis=axis))
    return made if dtype is None else _astype(made, dtype)


def _polynomial_of_roots(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these roots, or of a matrix's characteristic polynomial."""
    if np.ndim(seq_of_zeros) == 2:
        raise UnreadArgumentError("poly of tensors takes roots, not a matrix", help="np.poly(np.linalg.eigvalsh(x))")
    made: Any = tensor_of([1.0]).to(seq_of_zeros.dtype)
    for root in seq_of_zeros:
        made = np.convolve(made, np.stack([tensor_of(1.0).to(made.dtype), -root]))
    return made


def _fitted(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial of a degree with the smallest sum of squared distances."""
    _refuse("polyfit", rcond=rcond, full=full or None, cov=cov or None)
    rows, values = np.vander(tensor_of(x), int(deg) + 1), tensor_of(y)
    if w is not None:
        weights = tensor_of(w)
        rows, values = rows * weights[:, None], values * (weights[:, None] if values.ndim > 1 else weights)
    size = np.sqrt((rows * rows).sum(0))
    found = np.linalg.lstsq(rows / size, values)[0]
    return np.transpose(np.transpose(found) / size)


def _interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    if period is None:
        return _by_name("interp", x, xp, fp, left=left, right=right)
    length = abs(period)
    places = np.remainder(tensor_of(xp), length)
    order = np.argsort(plain(places))
    places, values = places[order], tensor_of(fp)[order]
    places = np.concatenate([places[-1:] - length, places, places[:1] + length])
    return _by_name("interp", np.remainder(tensor_of(x), length), places, np.concatenate([values[-1:], values, values[:1]]))


def _concatenated(arrays: Sequence[Any], /, axis: int | None = 0, **keywords: Any) -> Any:
    return _by_name("concatenate", arrays, axis=axis, **keywords)


def _unstacked(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(np.moveaxis(x, axis, 0))


def _of_triangle(name: str) -> Callable[..., Any]:
    """A function of symmetric matrices, which reads one triangle of them."""

    def run(a: Any, UPLO: str = "L") -> Any:
        if UPLO.upper() not in ("L", "U"):
            raise ValueError("UPLO argument must be 'L' or 'U'")
        given = tensor_of(a)
        part, strict = (np.tril(given), np.tril(given, -1)) if UPLO.upper() == "L" else (np.triu(given), np.triu(given, 1))
        whole = part + np.swapaxes(strict, -1, -2)
        return called(name, (whole,), {}, getattr(np.linalg, name))

    return run


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **PLACES, "transpose": _transpose, "roll": _roll,
    "block": _block, "dsplit": _split_in_depth, "ediff1d": _steps, "where": _where, "piecewise": _piecewise, "choose": _choose,
    "partition": _partition, "sort": _sort, "argsort": _argsort, "unique": _unique, "trim_zeros": _trim, "bincount": _bincount,
    "histogram": _histogram,
    "apply_along_axis": _along_axis, "apply_over_axes": _over_axes, "astype": _astype, "real": _real, "real_if_close": _real_if_close,
    "imag": _imaginary, "linspace": _spaced, "logspace": _log_spaced, "geomspace": _geometric, "poly": _polynomial_of_roots,
    "linalg.eigh": _of_triangle("eigh"), "linalg.eigvalsh": _of_triangle("eigvalsh"), "polyfit": _fitted, "interp": _interpolated,
    "concat": _concatenated, "unstack": _unstacked,
}  # fmt: skip
