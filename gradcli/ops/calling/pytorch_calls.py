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
    bare = name.removeprefix("Tensor.").rstrip("_")
    return None if name != bare and bare in _OTHER_METHODS else _CHECKS.get(bare)


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


def _labels(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """Labels are whole numbers; of the input's shape, they are shares of the classes."""
    x, target = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 1, "target")
    kind = getattr(target, "dtype", None)
    if kind is None or not hasattr(x, "shape"):
        return None
    if x.shape == target.shape:
        said = f"Expected floating point type for target with class probabilities, got {kind.in_messages}"
        return None if kind.is_floating_point else RuntimeError(said)
    if kind.in_messages in ("Long", "Byte"):
        return None
    return RuntimeError(f"expected target dtype to be Long or Byte, but got {kind.in_messages}")


def _no_chances(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    for place, name in enumerate(("input", "target")):
        array = getattr(_given(arguments, keywords, place, name), "array", None)
        if array is not None and not ((array >= 0) & (array <= 1)).all():
            return RuntimeError(f"all elements of {name} should be between 0 and 1")
    return None


def _negative_variance(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    var = _given(arguments, keywords, 2, "var")
    if type(var) is int:
        return TypeError("any() received an invalid combination of arguments - got (bool), but expected one of: a tensor")
    array = getattr(var, "array", None)
    negative = bool((array < 0).any()) if array is not None else isinstance(var, float) and var < 0
    return ValueError("var has negative entry/entries") if negative else None


def _truths_for_exponents(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    x, other = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 1, "other")
    kind, power = getattr(x, "dtype", None), getattr(other, "dtype", None)
    if kind is None or power is None or power.in_messages != "Bool" or not kind.is_floating_point:
        return None
    return NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")


def _folded_whole_numbers(kernel: str) -> Check:
    def check(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
        kind = getattr(_given(arguments, keywords, 0, "input"), "dtype", None)
        if kind is None or kind.is_floating_point or kind.in_messages == "Bool":
            return None
        return NotImplementedError(f"\"{kernel}\" not implemented for '{kind.in_messages}'")

    return check


def _too_few_axes(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """Reflecting and the like are there for so many of the last axes as a tensor of such a rank has."""
    x, padding = _given(arguments, keywords, 0, "input"), _given(arguments, keywords, 1, "pad")
    mode, rank = _given(arguments, keywords, 2, "mode") or "constant", getattr(x, "ndim", None)
    if rank is None or not isinstance(padding, (tuple, list)) or mode not in ("reflect", "replicate", "circular"):
        return None
    axes = len(padding) // 2
    if len(padding) % 2 == 0 and axes <= rank and rank not in (axes + 1, axes + 2):
        return NotImplementedError(f"Padding size {len(padding)} is not supported for {rank}D input tensor.")
    if x.dtype.in_messages == "Bool" and mode != "circular":
        return NotImplementedError(f"\"{'reflection' if mode == 'reflect' else 'replication'}_pad{axes}d\" not implemented for 'Bool'")
    return None


_OTHER_METHODS = frozenset({"unfold"})  # methods that are something else than the function of their name
_CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("clamp", "clip"), _no_bounds), "roll": _unpaired, "take": _no_places, "interpolate": _between_whole_numbers,
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), _other_source),
    **dict.fromkeys(("quantile", "nanquantile"), _no_share),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "mode", "median", "nanmedian"), _of_a_number(1)),
    **dict.fromkeys(("topk", "kthvalue", "linalg.vector_norm"), _of_a_number(2)), "flatten": _of_a_number(1),
    **dict.fromkeys(("cross_entropy", "nll_loss"), _labels), "binary_cross_entropy": _no_chances,
    "gaussian_nll_loss": _negative_variance, "ldexp": _truths_for_exponents,
    "unfold": _folded_whole_numbers("im2col_out_cpu"), "pad": _too_few_axes,
}  # fmt: skip
