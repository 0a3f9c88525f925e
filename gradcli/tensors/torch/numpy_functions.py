"""NumPy's functions on tensors that are made of other functions, through which gradients pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import clone_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.numpy_calls import by_name, called, plain, refuse, tensor_of
from gradcli.tensors.torch.numpy_places import PLACES
from gradcli.tensors.torch.numpy_reductions import REDUCTIONS
from gradcli.tensors.torch.numpy_selection import SELECTION

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


def _parts(name: str) -> Callable[..., Any]:
    """Parts along an axis, in a list as NumPy has them."""
    return lambda ary, indices_or_sections, *axis, **keywords: list(by_name(name, ary, indices_or_sections, *axis, **keywords))


def _steps(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    parts = [np.diff(np.ravel(tensor_of(x)))]
    if to_begin is not None:
        parts.insert(0, np.ravel(tensor_of(to_begin)))
    if to_end is not None:
        parts.append(np.ravel(tensor_of(to_end)))
    return np.concatenate(parts)


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
    return (
        by_name("transpose", a) if axes is None else by_name("transpose", a, axes=(axes,) if isinstance(axes, (int, np.integer)) else axes)
    )


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    nowhere = (isinstance(axis, tuple) and not axis) or (isinstance(shift, tuple) and not shift)
    return clone_of(a) if nowhere else by_name("roll", a, shift, axis=axis)


def _shifted(direction: int) -> Callable[..., Any]:
    """``np.fft.fftshift`` and its inverse: half of each axis to the other end."""

    def run(x: Any, axes: Any = None) -> Any:
        places = tuple(range(np.ndim(x))) if axes is None else (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
        return _roll(x, tuple([direction * (np.shape(x)[axis] // 2) for axis in places]), places)

    return run


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
    signs = np.sign(plain(first))
    signs = np.expand_dims(np.broadcast_arrays(signs, plain(last))[0], axis) if np.ndim(first) or np.ndim(last) else signs
    made = signs * np.exp(_spaced(np.log(np.abs(first)), np.log(np.abs(last)), num, endpoint, axis=axis))
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
    refuse("polyfit", rcond=rcond, full=full or None, cov=cov or None)
    rows, values = np.vander(tensor_of(x), int(deg) + 1), tensor_of(y)
    if w is not None:
        weights = tensor_of(w)
        rows, values = rows * weights[:, None], values * (weights[:, None] if values.ndim > 1 else weights)
    size = np.sqrt((rows * rows).sum(0))
    found = np.linalg.lstsq(rows / size, values)[0]
    return np.transpose(np.transpose(found) / size)


def _interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    if period is None:
        return by_name("interp", x, xp, fp, left=left, right=right)
    length = abs(period)
    places = np.remainder(tensor_of(xp), length)
    order = np.argsort(plain(places))
    places, values = places[order], tensor_of(fp)[order]
    places = np.concatenate([places[-1:] - length, places, places[:1] + length])
    return by_name("interp", np.remainder(tensor_of(x), length), places, np.concatenate([values[-1:], values, values[:1]]))


def _concatenated(arrays: Sequence[Any], /, axis: int | None = 0, **keywords: Any) -> Any:
    return by_name("concatenate", arrays, axis=axis, **keywords)


def _unstacked(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(np.moveaxis(x, axis, 0))


def _of_triangle(name: str) -> Callable[..., Any]:
    """A function of symmetric matrices, which reads one triangle of them."""

    def run(a: Any, UPLO: str = "L") -> Any:
        if UPLO.upper() not in ("L", "U"):
            raise ValueError("UPLO argument must be 'L' or 'U'")
        given, function = tensor_of(a), getattr(np.linalg, name)
        part, strict = (np.tril(given), np.tril(given, -1)) if UPLO.upper() == "L" else (np.triu(given), np.triu(given, 1))
        found = called(name, (part + np.swapaxes(strict, -1, -2),), {}, function)
        if UPLO.upper() == "L" or not isinstance(found, tuple):
            return found
        same = np.sum(function(plain(given), "U").eigenvectors * plain(found[1]), axis=-2, keepdims=True) >= 0
        kind: Any = type(found)
        return kind(found[0], found[1] * np.where(same, 1.0, -1.0))  # LAPACK leaves their signs open, and has others there

    return run


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **PLACES, **SELECTION, **REDUCTIONS,
    "transpose": _transpose, "roll": _roll, "block": _block, "dsplit": _split_in_depth, "ediff1d": _steps,
    "apply_along_axis": _along_axis, "apply_over_axes": _over_axes, "astype": _astype, "real": _real, "real_if_close": _real_if_close,
    "imag": _imaginary, "linspace": _spaced, "logspace": _log_spaced, "geomspace": _geometric, "poly": _polynomial_of_roots,
    "linalg.eigh": _of_triangle("eigh"), "linalg.eigvalsh": _of_triangle("eigvalsh"), "polyfit": _fitted, "interp": _interpolated,
    "fftshift": _shifted(1), "ifftshift": _shifted(-1), "concat": _concatenated, "unstack": _unstacked,
    **{name: _parts(name) for name in ("split", "array_split", "hsplit", "vsplit")},
}  # fmt: skip
