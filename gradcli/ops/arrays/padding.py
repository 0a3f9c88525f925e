"""Arrays made longer at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.repeating import rows_of
from gradcli.ops.arrays.reshaping import inverse, permuted
from gradcli.ops.arrays.shapes import broadcast_to, getitem, part_of, scatter_add
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.quantiles import median
from gradcli.ops.reductions.sums import max_, mean, min_
from gradcli.ops.registry import composite, is_number
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED, Carrier

Widths = tuple[tuple[int, int], ...]


def _pairs(name: str, value: Any, ndim: int) -> tuple[tuple[Any, Any], ...]:
    """An argument of np.pad by axes and ends: a number, a pair for all axes, or a pair (or number) for each."""
    try:
        spread = np.broadcast_to(_objects(value), (ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad: {name} {value} does not fit an array of {ndim} axes") from None
    return tuple((before, after) for before, after in spread)


def _objects(value: Any) -> np.ndarray:
    """Numbers and what stands for them, by axes and ends."""
    if isinstance(value, Carrier):
        shape = getattr(value, "shape", ())
        if shape:
            return np.stack([_objects(getitem(value, index=(i,))) for i in range(shape[0])])
        cell = np.empty((), object)
        cell[()] = value
        return cell
    return np.array(value)


def _enlarged(x: Any, widths: Widths, fill: Any) -> Any:
    """x with other numbers around it; a negative width cuts entries off."""
    if any(width < 0 for pair in widths for width in pair):
        cut = tuple((max(0, -before), n - max(0, -after), None) for (before, after), n in zip(widths, x.shape, strict=True))
        if any(start > stop for start, stop, _ in cut):
            raise ShapeError(f"pad: the widths {widths} leave nothing of the shape {tuple(x.shape)}")
        x = getitem(x, index=cut)
        widths = tuple((max(0, before), max(0, after)) for before, after in widths)
    if not any(width for pair in widths for width in pair):
        return x
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, widths, strict=True))
    room_for(*shape)
    inside = tuple((before, before + n, None) for n, (before, _) in zip(x.shape, widths, strict=True))
    padded = scatter_add(x, index=inside, shape=shape)
    if is_number(fill) and not fill:
        return padded
    kept = np.zeros(shape, bool)
    kept[tuple(slice(*part) for part in inside)] = True
    return where(kept, padded, fill)


def _constant(x: Any, widths: Widths, values: Any) -> Any:
    ends = _pairs("constant_values", values, len(x.shape))
    if all(is_number(v) for pair in ends for v in pair):
        if len({v for pair in ends for v in pair}) <= 1:
            return _enlarged(x, widths, float(ends[0][0]) if ends else 0.0)
        return _enlarged(x, widths, np.pad(np.zeros(x.shape), widths, constant_values=ends))
    for axis, (width, pair) in enumerate(zip(widths, ends, strict=True)):  # as np.pad does, axis by axis
        for end, value in enumerate(pair):
            here = tuple((width[0], 0) if end == 0 and a == axis else (0, width[1]) if a == axis else (0, 0) for a in range(len(widths)))
            x = _enlarged(x, here, value)
    return x


def _moved(mode: Any) -> Function:
    """A mode whose entries are entries of x."""

    def along(x: Any, axis: int, width: tuple[int, int], **_: Any) -> Any:
        room_for(2, x.shape[axis] + sum(width))
        return rows_of(x, np.pad(np.arange(x.shape[axis]), width, mode=mode), axis)

    return along


def _odd(mode: Any) -> Function:
    """Reflections at the point of an end: integer combinations of entries."""

    def along(x: Any, axis: int, width: tuple[int, int], **_: Any) -> Any:
        n = x.shape[axis]
        room_for(2, n + sum(width), n)
        weights = np.pad(np.eye(n), (width, (0, 0)), mode=mode, reflect_type="odd")
        last = (*(a for a in range(len(x.shape)) if a != axis), axis)
        return permuted(matmul(permuted(x, last), weights.T), inverse(last))

    return along


def _statistic(reduce: Function) -> Function:
    """A mode that repeats a statistic of so many entries at each end."""

    def along(x: Any, axis: int, width: tuple[int, int], lengths: Any, **_: Any) -> Any:
        n = x.shape[axis]
        first, last = (n if length is None else min(length, n) for length in lengths)
        of_start, of_end = part_of(x, axis, 0, first), part_of(x, axis, n - last, n)
        return _between(x, axis, width, reduce(of_start, axis=axis, keepdims=True), reduce(of_end, axis=axis, keepdims=True))

    return along


def _between(x: Any, axis: int, width: tuple[int, int], before: Any, after: Any) -> Any:
    """x between numbers that are repeated at its ends."""
    before, after = (
        broadcast_to(v, shape=(*x.shape[:axis], k, *x.shape[axis + 1 :])) for v, k in zip((before, after), width, strict=True)
    )
    return concatenate(before, x, after, axis=axis)


def _ramp(x: Any, axis: int, width: tuple[int, int], ends: Any, **_: Any) -> Any:
    def line(edge: Any, end: float, steps: np.ndarray) -> Any:
        weights = steps.reshape(tuple(-1 if a == axis else 1 for a in range(len(x.shape))))
        return edge * weights + end * (1 - weights)

    n, (before, after) = x.shape[axis], width
    start = line(part_of(x, axis, 0, 1), ends[0], np.arange(before) / max(1, before))
    end = line(part_of(x, axis, n - 1, n), ends[1], np.arange(after)[::-1] / max(1, after))
    return concatenate(start, x, end, axis=axis)


_MODES = {
    **{mode: _moved(mode) for mode in ("edge", "reflect", "symmetric", "wrap")},
    "linear_ramp": _ramp,
    "maximum": _statistic(max_),
    "minimum": _statistic(min_),
    "mean": _statistic(mean),
    "median": _statistic(median),
}


# The parameters of np.pad that only some modes read, with their defaults.
_OF_MODES = {
    "constant_values": (0, ("constant",)), "reflect_type": ("even", ("reflect", "symmetric")),
    "stat_length": (None, ("maximum", "minimum", "mean", "median")), "end_values": (0, ("linear_ramp",)),
}  # fmt: skip


def _refuse_unread(mode: str, **given: Any) -> None:
    for name, value in given.items():
        default, modes = _OF_MODES[name]
        if mode not in modes and not (type(value) is type(default) and value == default):
            raise UnreadArgumentError(f"pad: the mode {mode!r} does not read {name}", help=f"{name} is for mode={modes[0]!r}")


def _pad(
    x: Any, pad_width: Any, mode: str, constant_values: Any, reflect_type: str, stat_length: Any, end_values: Any
) -> Any:
    widths = _pairs("pad_width", pad_width, len(x.shape))
    if any(not isinstance(k, int) or k < 0 for pair in widths for k in pair):
        raise ArgumentError(f"pad: widths are whole numbers of at least 0, not {pad_width}")
    _refuse_unread(mode, constant_values=constant_values, reflect_type=reflect_type, stat_length=stat_length, end_values=end_values)
    if mode == "constant":
        return _constant(x, widths, constant_values)
    if mode not in _MODES or reflect_type not in ("even", "odd"):
        modes = ", ".join(("constant", *_MODES))
        raise ArgumentError(f"pad: the mode must be one of {modes}, and reflect_type 'even' or 'odd', not {mode!r} and {reflect_type!r}")
    along = _odd(mode) if reflect_type == "odd" and mode in ("reflect", "symmetric") else _MODES[mode]
    lengths, ends = _pairs("stat_length", stat_length, len(x.shape)), _pairs("end_values", end_values, len(x.shape))
    for axis, width in enumerate(widths):
        if any(width):
            if not x.shape[axis]:
                raise ShapeError(f"pad: an axis without entries cannot be padded with the mode {mode!r}")
            x = along(x, axis, width, lengths=lengths[axis], ends=ends[axis])
    return x


def _reflected(n: int, before: int, after: int) -> np.ndarray:
    if max(before, after) >= n:
        raise ShapeError(f"pad: a reflection of {n} entries is shorter than {n}, not {max(before, after)} long")
    places: np.ndarray = n - 1 - np.abs(n - 1 - np.abs(np.arange(-before, n + after)))
    return places


def _replicated(n: int, before: int, after: int) -> np.ndarray:
    if not n:
        raise ShapeError("pad: an axis without entries has nothing to replicate")
    return np.clip(np.arange(-before, n + after), 0, n - 1)


def _circular(n: int, before: int, after: int) -> np.ndarray:
    if max(before, after) > n:
        raise ShapeError(f"pad: {n} entries cannot be wrapped around more than once")
    kept = np.arange(max(0, -before), n - max(0, -after))
    return np.pad(kept, (max(0, before), max(0, after)), mode="wrap")


_EXTENSIONS = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}


def _torch_pad(x: Any, pad: Any, mode: str, value: float | None) -> Any:
    ends = pad if isinstance(pad, tuple) else (pad,)
    if len(ends) % 2 or len(ends) > 2 * len(x.shape):
        raise ShapeError(f"pad: {len(ends)} widths do not fit an array of {len(x.shape)} axes, two for each from the last on")
    axes = len(x.shape) - 1 - np.arange(len(ends) // 2)
    widths = {int(a): (ends[2 * i], ends[2 * i + 1]) for i, a in enumerate(axes)}
    if mode == "constant":
        return _enlarged(x, tuple(widths.get(a, (0, 0)) for a in range(len(x.shape))), 0.0 if value is None else value)
    if mode not in _EXTENSIONS:
        raise ArgumentError(f"pad: the mode must be constant, {', '.join(_EXTENSIONS)}, not {mode!r}")
    if value is not None and not (is_number(value) and not value):
        raise ArgumentError(f"pad: the mode {mode!r} takes no value")
    for a, (before, after) in widths.items():
        room_for(2, max(0, x.shape[a] + before + after))
        if before or after:
            x = rows_of(x, _EXTENSIONS[mode](x.shape[a], before, after), a)
    return x


pad = composite(
    "pad", "x", _pad, examples=("pad(x, (1, 2))",),
    static={
        "pad_width": REQUIRED, "mode": "constant", "constant_values": 0, "reflect_type": "even", "stat_length": None, "end_values": 0,
    },
    scalars="constant_values end_values",
    doc="The array made longer at both ends of each axis, with constants, entries repeated or reflected, a ramp or a statistic.",
)  # fmt: skip
composite(
    "torch_pad", "x", _torch_pad, static={"pad": REQUIRED, "mode": "constant", "value": None}, scalars="value", public=False,
    doc="The array made longer (or shorter) at both ends of the last axes: constant, reflect, replicate or circular.",
)  # fmt: skip
declare(
    NUMPY,
    pad=signature("pad", "x|array, pad_width, mode, constant_values, reflect_type, stat_length, end_values"),
    constant_pad_nd=signature("torch_pad", "x, pad, value", mode="constant"),
)
declare(TORCH, pad=signature("torch_pad", "x, pad, mode, value"))
