"""Functions of whole tensors outside of the graph: where entries lie among others, how often they are there, indices of triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.device import check_device
from gradcli.tensors.core.in_place import check_writable
from gradcli.tensors.core.storage import start, strides
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.introspection import INTROSPECTION


def _array(x: Any) -> np.ndarray:
    """Entries of a tensor, or a number."""
    if not isinstance(x, (Tensor, bool, int, float)):
        raise TypeError(f"a tensor or a number is wanted, not {type(x).__name__}")
    return x.array if isinstance(x, Tensor) else np.asarray(x)


def _isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    return Tensor(np.asarray(np.isin(_array(elements), _array(test_elements), assume_unique=assume_unique, invert=invert)))


def _searchsorted(
    sorted_sequence: Tensor, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    where: Any = side or ("right" if right else "left")
    sequence, wanted = sorted_sequence.array, _array(values)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter.array, -1)
    if sequence.ndim <= 1:
        found = np.asarray(np.searchsorted(sequence, wanted, where))
    else:
        if sequence.shape[:-1] != wanted.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                f"value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor {list(wanted.shape)}"
            )
        rows = zip(sequence.reshape(-1, sequence.shape[-1]), wanted.reshape(-1, wanted.shape[-1]), strict=True)
        found = np.array([np.searchsorted(row, v, where) for row, v in rows]).reshape(wanted.shape)
    return Tensor(found.astype(np.int32 if out_int32 else np.int64))


def _bucketize(x: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})")
    return _searchsorted(boundaries, x, out_int32=out_int32, right=right)


def _argwhere(x: Tensor) -> Tensor:
    found: Tensor = INTROSPECTION["nonzero"](x)
    return found


def _unique_consecutive(x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    rows = x.array.reshape(-1) if dim is None else np.moveaxis(x.array, dim, 0)
    if len(rows) and not rows.size:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    flat = rows.reshape(len(rows), rows.size // max(len(rows), 1))
    new = np.ones(len(rows), bool)
    new[1:] = (flat[1:] != flat[:-1]).any(1)
    entries = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    inverse, starts = np.cumsum(new) - 1, np.flatnonzero(new)
    parts = [Tensor(np.ascontiguousarray(entries))]
    if return_inverse:
        parts.append(Tensor((inverse.reshape(x.array.shape) if dim is None else inverse).astype(np.int64)))
    if return_counts:
        parts.append(Tensor(np.diff([*starts, len(rows)]).astype(np.int64)))
    return parts[0] if len(parts) == 1 else tuple(parts)


def _triangle(indices: Callable[..., Any]) -> Callable[..., Tensor]:
    def make(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
        check_device(device)
        for name, extent in (("row", row), ("col", col)):
            if extent < 0:
                raise RuntimeError(f"{name} must be non-negative, got{extent}")
        return Tensor(np.stack(indices(row, offset, col)).astype(np.int64 if dtype is None else dtypes.as_numpy(dtype)))

    return make


def _fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    check_writable(x)
    if x.array.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if x.array.ndim > 2 and len(set(x.array.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = x.array.shape[:2]
    steps, size = strides(x.array), min(x.array.shape)
    x.as_strided((size,), (sum(steps),)).fill_(fill_value)
    if wrap and x.array.ndim == 2 and rows > columns + 1:
        beyond = -(-x.array.size // (columns + 1)) - size
        x.as_strided((beyond,), (sum(steps),), start(x.array) + steps[0] * (columns + 1)).fill_(fill_value)
    return x


class _Limits:
    """What NumPy knows of a dtype's numbers, under PyTorch's names."""

    def __init__(self, kind: Any) -> None:
        self._dtype = dtypes.of_numpy(dtypes.as_numpy(kind))
        self.dtype = self._dtype.name
        self.bits = self._dtype.itemsize * 8


class finfo(_Limits):
    """Limits of floats."""

    def __init__(self, kind: Any = None) -> None:
        super().__init__(dtypes.get_default_dtype() if kind is None else kind)
        if not self._dtype.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{self.dtype}'")
        found = dtypes.limits(self._dtype.numpy)
        self.eps, self.max, self.min = (float(x) for x in (found.eps, found.max, found.min))
        self.resolution = 10.0**-found.precision
        self.tiny = self.smallest_normal = float(found.tiny)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({fields}, dtype={self.dtype})"


class iinfo(_Limits):
    """Limits of whole numbers."""

    def __init__(self, kind: Any) -> None:
        super().__init__(kind)
        if self._dtype.numpy.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{self.dtype}'")
        found = np.iinfo(self._dtype.numpy)
        self.max, self.min = int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def _new(x: Tensor, *given: Any) -> Tensor:
    """PyTorch's old constructor: a tensor of the same dtype, of extents or entries."""
    if not given:
        return Tensor(np.empty(0, x.array.dtype))
    first = given[0]
    if type(first) is int or isinstance(first, dtypes.Size):
        shape = tuple(first) if isinstance(first, dtypes.Size) else given
        for place, extent in enumerate(shape, 1):
            if type(extent) is not int:
                kind = type(extent).__name__
                said = f'failed to unpack the object at pos {place} with error "type must be tuple of ints,but got {kind}"'
                raise TypeError(f"new(): argument 'size' {said}")
        return Tensor(np.zeros(shape, x.array.dtype))
    if len(given) > 1 or not isinstance(first, (Tensor, list, tuple, np.ndarray)):
        got = ", ".join(type(part).__name__ for part in given)
        raise TypeError(f"new() received an invalid combination of arguments - got ({got}), but expected one of: sizes, data, or a tensor")
    if isinstance(first, Tensor) and first.dtype != x.dtype:
        kinds = [f"TensorOptions(dtype={kind.name.removeprefix('torch.')}, device=cpu)" for kind in (x.dtype, first.dtype)]
        raise TypeError(f"expected {kinds[0]} (got {kinds[1]})")
    return as_tensor(first, x.dtype)


SEARCHING: dict[str, Callable[..., Any]] = {
    **{name: checked(by_example(function), name) for name, function in (
        ("isin", _isin), ("searchsorted", _searchsorted), ("bucketize", _bucketize), ("argwhere", _argwhere),
        ("unique_consecutive", _unique_consecutive),
    )},
    "tril_indices": checked(_triangle(np.tril_indices), "tril_indices"),
    "triu_indices": checked(_triangle(np.triu_indices), "triu_indices"), "finfo": finfo, "iinfo": iinfo,
}  # fmt: skip
SEARCHING_METHODS: dict[str, Callable[..., Any]] = {
    **{name: SEARCHING[name] for name in ("argwhere", "unique_consecutive")},
    "fill_diagonal_": _fill_diagonal_, "new": _new,
}  # fmt: skip
