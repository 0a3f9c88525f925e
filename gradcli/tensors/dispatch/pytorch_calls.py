"""Calls that PyTorch refuses by what their arguments say, where the same call would be computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import AxisError
from gradcli.tensors.dispatch.pytorch_types import bare

Check = Callable[[Sequence[Any], Mapping[str, Any]], Exception | None]

# Functions that take the dtype which they compute in.
_WITH_DTYPE = frozenset({
    "sum", "prod", "mean", "nansum", "nanmean", "cumsum", "cumprod", "softmax", "log_softmax", "softmin", "norm",
    "vector_norm", "matrix_norm", "frobenius_norm", "nuclear_norm",
})  # fmt: skip


def takes_dtype(name: str) -> bool:
    """Tell whether a function of PyTorch's has a dtype among its parameters."""
    return name.rpartition(".")[2].rstrip("_") in _WITH_DTYPE


@cache
def check_of(name: str) -> Check | None:
    """The check of the arguments of a function of PyTorch's, if there is one."""
    return _CHECKS.get(bare(name).rstrip("_"))


def _given(arguments: Sequence[Any], keywords: Mapping[str, Any], place: int, *names: str) -> Any:
    if len(arguments) > place:
        return arguments[place]
    return next((keywords[name] for name in names if name in keywords), None)


def _no_bounds(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    unknown = not arguments or keywords.keys() - {"min", "max", "out"}  # of which the call itself says so
    if not unknown and _given(arguments, keywords, 1, "min") is None and _given(arguments, keywords, 2, "max") is None:
        return RuntimeError("clamp needs a bound, min or max")
    return None


def _unpaired(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    shifts, dims = _given(arguments, keywords, 1, "shifts"), _given(arguments, keywords, 2, "dims")
    if dims is None or dims == ():
        return None
    counts = [len(part) if isinstance(part, (tuple, list)) else 1 for part in (shifts, dims)]
    return None if counts[0] == counts[1] else RuntimeError("roll needs as many shifts as dims, not {} and {}".format(*counts))


def _no_share(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    q = _given(arguments, keywords, 1, "q")
    array = np.asarray(getattr(q, "array", q))
    outside = array.dtype.kind in "iuf" and not ((array >= 0) & (array <= 1)).all()
    return RuntimeError("quantile: q must be between 0 and 1") if outside else None


def _no_places(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    kind = getattr(_given(arguments, keywords, 1, "index"), "dtype", None)
    return None if kind is None or kind.name == "int64" else RuntimeError(f"take: places are int64, not {kind.name}")


def _of_a_number(place: int) -> Check:
    """Refuse axes of a tensor without any, but for 0, along which it has one entry."""

    def check(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
        axis = _given(arguments, keywords, place, "dim", "axis")
        if not arguments or getattr(arguments[0], "ndim", None) != 0 or type(axis) is not int or axis in (0, -1):
            return None
        return AxisError(axis, 0)

    return check


def _other_source(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    parts = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 3, "src")
    kinds = [getattr(part, "dtype", None) for part in parts]
    if None in kinds or kinds[0] is kinds[1]:
        return None
    return RuntimeError(f"the source of a scatter must have the dtype of the tensor, {kinds[0]}, not {kinds[1]}")


def _between_whole_numbers(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """Refuse what PyTorch would round; bytes are pictures, of which the nearest ones are chosen."""
    x, mode = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 3, "mode") or "nearest"
    kind = getattr(x, "dtype", None)
    if kind is None or kind.is_floating_point or (kind.name == "uint8" and mode.startswith("nearest")):
        return None
    return NotImplementedError(f"interpolate has no mode {mode!r} for {kind.name}; x.float() has one")


def _labels(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """Refuse labels that are not whole numbers; of the input's shape, they are shares of the classes."""
    x, target = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 1, "target")
    kind = getattr(target, "dtype", None)
    if kind is None or not hasattr(x, "shape"):
        return None
    shares = x.shape == target.shape
    if kind.is_floating_point if shares else kind.name in ("int64", "uint8"):
        return None
    wanted = "shares of the classes are floats" if shares else "labels are int64 or uint8"
    return RuntimeError(f"target: {wanted}, not {kind.name}")


def _no_chances(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    for place, name in enumerate(("input", "target")):
        array = getattr(_given(arguments, keywords, place, name), "array", None)
        if array is not None and not ((array >= 0) & (array <= 1)).all():
            return RuntimeError(f"{name}: all entries must be between 0 and 1")
    return None


def _negative_variance(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    var = _given(arguments, keywords, 2, "var")
    array = getattr(var, "array", None)
    negative = bool((array < 0).any()) if array is not None else isinstance(var, float) and var < 0
    return ValueError("var has negative entries") if negative else None


def _crossed_bounds(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    low, high = _given(arguments, keywords, 1, "lower"), _given(arguments, keywords, 2, "upper")
    crossed = isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high
    return RuntimeError(f"rrelu: lower, {low}, is above upper, {high}") if crossed else None


_CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("clamp", "clip"), _no_bounds), "roll": _unpaired, "take": _no_places, "interpolate": _between_whole_numbers,
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), _other_source),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "mode", "median", "nanmedian", "flatten"), _of_a_number(1)),
    **dict.fromkeys(("topk", "kthvalue", "linalg.vector_norm"), _of_a_number(2)),
    **dict.fromkeys(("cross_entropy", "nll_loss"), _labels), "binary_cross_entropy": _no_chances,
    **dict.fromkeys(("quantile", "nanquantile"), _no_share),
    "gaussian_nll_loss": _negative_variance, "rrelu": _crossed_bounds,
}  # fmt: skip
