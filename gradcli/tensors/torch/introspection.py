"""Questions about tensors, outside of the graph: extents, what entries are, and where; limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.levels import by_example
from gradcli.tensors.core.modes import check_device
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import address
from gradcli.tensors.dispatch.checked_calls import checked


def array(x: Any) -> np.ndarray:
    """The entries of a tensor, or a number."""
    if not isinstance(x, (Tensor, bool, int, float, np.ndarray, np.generic)):
        raise TypeError(f"a tensor or a number is wanted, not {type(x).__name__}")
    return x.array if isinstance(x, Tensor) else np.asarray(x)


def check_shapes(*arrays: Any) -> None:
    """Raise RuntimeError for operands that do not broadcast together."""
    try:
        np.broadcast_shapes(*map(np.shape, arrays))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


# -- entries ----------------------------------------------------------------------------------------------------


def _is_close(x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    if x.dtype != other.dtype:
        raise RuntimeError(f"both tensors must have one dtype, not {x.dtype.name} and {other.dtype.name}")
    check_shapes(x.array, other.array)
    return Tensor(np.asarray(np.isclose(x.array, other.array, rtol, atol, equal_nan)))


def _all_close(*given: Any, **named: Any) -> bool:
    return bool(_is_close(*given, **named).array.all())


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    """Truth of any or all entries; of bytes, as bytes."""

    def run(x: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        found = reduce(x.array, axis=_axes(dim if axis is None else axis), keepdims=keepdim or keepdims)
        return Tensor(np.asarray(found, np.uint8 if x.array.dtype == np.uint8 else np.bool_))

    return run


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _equal(x: Tensor, other: Tensor) -> bool:
    return np.array_equal(x.array, other.array)


def _nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    places = np.nonzero(np.atleast_1d(x.array))
    if as_tuple:
        return tuple(map(Tensor, places))
    return Tensor(np.stack(places[: x.array.ndim] or [places[0][:0]], 1))


def _count_nonzero(x: Tensor, *dims: Any, dim: Any = None) -> Tensor:
    axis = dim if not dims else dims[0] if len(dims) == 1 else dims
    return Tensor(np.asarray(np.count_nonzero(x.array, axis=_axes(axis))))


def _unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    flags: Any = (False, return_inverse, return_counts, dim)
    found: Any = np.unique(x.array, *flags)
    return tuple(map(Tensor, found)) if isinstance(found, tuple) else Tensor(found)


def _bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if x.array.dtype.kind not in "iu":
        raise dtypes.untaken("bincount", x.array.dtype)
    return Tensor(np.bincount(x.array, None if weights is None else weights.array, minlength))


def _isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    given = (array(elements), array(test_elements))
    return Tensor(np.asarray(np.isin(*given, assume_unique=assume_unique, invert=invert)))


def _searchsorted(
    sorted_sequence: Tensor, values: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if side not in (None, "left", "right") or (side == "left" and right):
        raise RuntimeError(f"searchsorted: side is 'left' or 'right', as right says, not {side!r}")
    where: Any = side or ("right" if right else "left")
    sequence, wanted = sorted_sequence.array, array(values)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter.array, -1)
    if sequence.ndim <= 1:
        found = np.searchsorted(sequence, wanted, where)
    elif sequence.shape[:-1] != wanted.shape[:-1]:
        raise RuntimeError("searchsorted: all axes but the last are those of the sorted sequence")
    else:
        each = np.vectorize(lambda row, v: np.searchsorted(row, v, where), signature="(n),(m)->(m)")
        found = each(sequence, wanted)
    return Tensor(np.asarray(found, np.int32 if out_int32 else np.int64))


def _bucketize(x: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})")
    return _searchsorted(boundaries, x, out_int32=out_int32, right=right)


def _matrix_rank(
    A: Tensor, tol: float | None = None, hermitian: bool = False, *, atol: float | None = None, rtol: float | None = None
) -> Tensor:
    """How many singular values are above atol and above rtol times the largest."""
    if A.array.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: the input must have at least 2 dimensions.")
    values = np.linalg.svd(A.array, compute_uv=False, hermitian=hermitian)
    absolute = tol or atol or 0.0
    if rtol is None:
        rtol = 0.0 if absolute or tol is not None else np.finfo(values.dtype).eps * max(A.array.shape[-2:])
    bound = np.maximum(absolute, rtol * values.max(-1, initial=0))
    return Tensor(np.asarray((values > bound[..., None]).sum(-1)))


# -- indices and limits -----------------------------------------------------------------------------------------


def _triangle(indices: Callable[..., Any]) -> Callable[..., Tensor]:
    def make(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
        check_device(device)
        if row < 0 or col < 0:
            raise RuntimeError(f"a triangle has no negative extents: {row}, {col}")
        kind = np.int64 if dtype is None else dtypes.as_numpy(dtype)
        return Tensor(np.stack(indices(row, offset, col)).astype(kind))

    return make


class _Limits:
    """What NumPy knows of a dtype's numbers, under PyTorch's names."""

    fields: tuple[str, ...] = ("min", "max")
    kinds = "iu"
    other = "finfo"

    def __init__(self, kind: Any = None) -> None:
        found = dtypes.of_numpy(dtypes.as_numpy(dtypes.get_default_dtype() if kind is None else kind))
        if found.numpy.kind not in self.kinds:
            raise TypeError(f"torch.{type(self).__name__}() is not of {found}: use torch.{self.other}")
        self.dtype, self.bits = found.name, found.itemsize * 8
        limits: Any = dtypes.limits(found.numpy) if found.is_floating_point else np.iinfo(found.numpy)
        number: Any = float if found.is_floating_point else int
        self.max, self.min = number(limits.max), number(limits.min)
        if found.is_floating_point:
            self.eps, self.resolution = float(limits.eps), 10.0**-limits.precision
            self.tiny = self.smallest_normal = float(limits.tiny)

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name):{'g' if 'eps' in self.fields else ''}}" for name in self.fields]
        return f"{type(self).__name__}({', '.join(parts)}, dtype={self.dtype})"


class finfo(_Limits):
    """Limits of floats."""

    fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    kinds = dtypes.FLOATS
    other = "iinfo"


class iinfo(_Limits):
    """Limits of whole numbers."""


_OF_ENTRIES: dict[str, Callable[..., Any]] = {
    "allclose": _all_close, "isclose": _is_close, "equal": _equal, "all": _truth(np.all),
    "any": _truth(np.any), "nonzero": _nonzero, "argwhere": _nonzero, "unique": _unique,
    "count_nonzero": _count_nonzero, "bincount": _bincount,
}  # fmt: skip
_OF_TENSORS: dict[str, Callable[..., Any]] = {
    "numel": lambda x: x.array.size, "get_device": lambda x: -1, "is_complex": lambda x: False,
    "is_floating_point": lambda x: x.dtype.is_floating_point,
    "is_signed": lambda x: x.array.dtype.kind not in "ub", "is_inference": lambda x: x._inference,
}  # fmt: skip
PLAIN_METHODS: dict[str, Callable[..., Any]] = {
    **_OF_TENSORS, "size": lambda x, dim=None: x.shape if dim is None else x.array.shape[dim],
    **dict.fromkeys(("dim", "ndimension"), lambda x: x.array.ndim), "nelement": _OF_TENSORS["numel"],
    "element_size": lambda x: x.array.itemsize, "data_ptr": lambda x: address(x.array),
}  # fmt: skip
METHODS = {name: by_example(function) for name, function in _OF_ENTRIES.items()}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: checked(function, name) for name, function in {
        **METHODS, **_OF_TENSORS,
        "isin": by_example(_isin), "searchsorted": by_example(_searchsorted), "bucketize": by_example(_bucketize),
        "tril_indices": _triangle(np.tril_indices), "triu_indices": _triangle(np.triu_indices),
    }.items()},
    "finfo": finfo, "iinfo": iinfo,
}  # fmt: skip
OF_MATRICES: dict[str, Any] = {
    "matrix_rank": checked(by_example(_matrix_rank), "matrix_rank"),
    "LinAlgError": LinAlgError,
}
