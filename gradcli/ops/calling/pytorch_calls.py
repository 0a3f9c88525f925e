"""Calls that PyTorch refuses by what their arguments say, where the same call of another library means something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

Check = Callable[[Sequence[Any], Mapping[str, Any]], Exception | None]

# Functions that take the dtype which they compute in.
_WITH_DTYPE = frozenset({
    "sum", "prod", "mean", "nansum", "nanmean", "cumsum", "cumprod", "softmax", "log_softmax", "softmin", "norm", "vector_norm",
    "matrix_norm", "frobenius_norm", "nuclear_norm",
})  # fmt: skip


def takes_dtype(name: str) -> bool:
    """Whether a function of PyTorch's has a dtype among its parameters."""
    return name.rpartition(".")[2].rstrip("_") in _WITH_DTYPE


@cache
def check_of(name: str) -> Check | None:
    """What is asked of the arguments of a function of PyTorch's, if anything is."""
    return _CHECKS.get(name.removeprefix("Tensor.").rstrip("_"))


def _given(arguments: Sequence[Any], keywords: Mapping[str, Any], place: int, *names: str) -> Any:
    if len(arguments) > place:
        return arguments[place]
    return next((keywords[name] for name in names if name in keywords), None)


def _no_bounds(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    if _given(arguments, keywords, 1, "min") is None and _given(arguments, keywords, 2, "max") is None:
        return RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return None


def _unpaired(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    shifts, dims = _given(arguments, keywords, 1, "shifts"), _given(arguments, keywords, 2, "dims")
    if dims is None or dims == ():
        return None
    counts = [len(part) if isinstance(part, (tuple, list)) else 1 for part in (shifts, dims)]
    if counts[0] == counts[1]:
        return None
    return RuntimeError(f"shifts and dimensions must align. shifts: {counts[0]}, dims:{counts[1]}")


def _no_share(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    q = _given(arguments, keywords, 1, "q")
    if isinstance(q, (int, float)) and not 0 <= q <= 1:
        return RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    array = getattr(q, "array", None)
    if array is not None and not ((array >= 0) & (array <= 1)).all():
        return RuntimeError("quantile() q values must be in the range [0, 1]")
    return None


def _no_places(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    index = _given(arguments, keywords, 1, "index")
    name = getattr(getattr(index, "dtype", None), "in_messages", "Long")
    return None if name == "Long" else RuntimeError(f"take(): Expected a long tensor for index, but got {name}")


def _other_source(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    kinds = [getattr(part, "dtype", None) for part in (_given(arguments, keywords, 0, "input"), _given(arguments, keywords, 3, "src"))]
    if None in kinds or kinds[0] is kinds[1]:
        return None
    return RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")


def _between_whole_numbers(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """Bytes are pictures, whose nearest ones are chosen; what PyTorch rounds between them is not what floats are."""
    x, mode = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 3, "mode") or "nearest"
    kind = getattr(x, "dtype", None)
    if kind is None or kind.is_floating_point or (kind.in_messages == "Byte" and mode.startswith("nearest")):
        return None
    if kind.in_messages == "Byte":
        return NotImplementedError(f"gradcli has no interpolation of bytes by the mode {mode!r}; x.float() has one")
    return NotImplementedError(f"\"upsample_{mode}\" not implemented for '{kind.in_messages}'")


def _of_a_number(place: int) -> Check:
    """A tensor without axes has one of its entries along the axis 0, and no other axis."""

    def check(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
        axis = _given(arguments, keywords, place, "dim", "axis")
        of_a_number = bool(arguments) and getattr(arguments[0], "ndim", None) == 0
        if not of_a_number or not isinstance(axis, int) or isinstance(axis, bool) or axis in (0, -1):
            return None
        return IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got {axis})")

    return check


_CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("clamp", "clip"), _no_bounds), "roll": _unpaired, "take": _no_places, "interpolate": _between_whole_numbers,
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), _other_source),
    **dict.fromkeys(("quantile", "nanquantile"), _no_share),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "mode", "median", "nanmedian"), _of_a_number(1)),
    **dict.fromkeys(("topk", "kthvalue"), _of_a_number(2)),
}  # fmt: skip
