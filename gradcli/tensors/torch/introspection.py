"""Methods that ask something of a tensor, outside of the graph: its extents, what its entries are, and where they are what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.ops.pytorch import unbroadcastable
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked


def _size(x: Tensor, dim: int | None = None) -> Any:
    return x.shape if dim is None else x.array.shape[dim]


def _rank(x: Tensor) -> int:
    return x.array.ndim


def _count(x: Tensor) -> int:
    return x.array.size


def _element_size(x: Tensor) -> int:
    return x.array.itemsize


def _device(x: Tensor) -> int:
    return -1


def _is_floating_point(x: Tensor) -> bool:
    return x.dtype.is_floating_point


def _is_complex(x: Tensor) -> bool:
    return False


def _is_signed(x: Tensor) -> bool:
    return x.array.dtype.kind not in "ub"


def _is_inference(x: Tensor) -> bool:
    return x._inference


def _check_alike(x: Tensor, other: Tensor) -> None:
    if x.dtype != other.dtype:
        raise RuntimeError(f"both tensors must have one dtype, not {x.dtype.name} and {other.dtype.name}")
    said = unbroadcastable([x.array.shape, other.array.shape])
    if said:
        raise RuntimeError(said)


def _all_close(x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    _check_alike(x, other)
    return bool(np.allclose(x.array, other.array, rtol, atol, equal_nan))


def _is_close(x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    _check_alike(x, other)
    return Tensor(np.asarray(np.isclose(x.array, other.array, rtol, atol, equal_nan)))


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    """Whether any or all entries are true; of bytes, as bytes."""

    def run(x: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        axis = dim if axis is None else axis
        found = np.asarray(reduce(x.array, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdim or keepdims), order="C")
        return Tensor(found.astype(np.uint8) if x.array.dtype == np.uint8 else found)

    return run


def _equal(x: Tensor, other: Tensor) -> bool:
    return x.array.shape == other.array.shape and bool((x.array == other.array).all())


def _nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    places = np.nonzero(np.atleast_1d(x.array))
    if as_tuple:
        return tuple(Tensor(p.copy()) for p in places)
    return Tensor(np.stack(places).T if x.array.ndim else np.zeros((len(places[0]), 0), np.int64))


def _unique(x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    if not (return_inverse or return_counts):
        return Tensor(np.unique(x.array, axis=dim))
    entries, inverse, counts = (Tensor(part) for part in np.unique(x.array, return_inverse=True, return_counts=True, axis=dim))
    return (entries, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def _count_nonzero(x: Tensor, *dims: Any, dim: Any = None) -> Tensor:
    axis = dim if not dims else dims[0] if len(dims) == 1 else dims
    return Tensor(np.asarray(np.count_nonzero(x.array, axis=tuple(axis) if isinstance(axis, list) else axis), order="C"))


def _bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if x.array.dtype.kind not in "iu":
        raise dtypes.untaken("bincount", x.array.dtype)
    return Tensor(np.bincount(x.array, None if weights is None else weights.array, minlength))


def _matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values of a matrix are more than rounding: above atol and above rtol times the largest."""
    array, eps = A.array, np.finfo(A.array.dtype if A.array.dtype.kind == "f" else np.float32).eps
    if array.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    atol, rtol = (getattr(v, "array", v) for v in (tol if tol is not None else atol, 0.0 if tol is not None and rtol is None else rtol))
    values = np.abs(np.linalg.eigvalsh(array)) if hermitian else np.linalg.svd(array, compute_uv=False)
    if rtol is None:
        rtol = 0.0 if atol is not None and np.all(np.asarray(atol) > 0) else eps * max(array.shape[-2:])
    bound = np.maximum(0.0 if atol is None else atol, rtol * values.max(-1, initial=0))
    return Tensor(np.asarray((values > np.asarray(bound)[..., None]).sum(-1)))


OF_ENTRIES: dict[str, Callable[..., Any]] = {
    "allclose": _all_close, "isclose": _is_close, "equal": _equal, "all": _truth(np.all), "any": _truth(np.any),
    "nonzero": _nonzero, "count_nonzero": _count_nonzero, "unique": _unique, "bincount": _bincount,
}  # fmt: skip
INTROSPECTION: dict[str, Callable[..., Any]] = {
    "size": _size, "dim": _rank, "ndimension": _rank, "numel": _count, "nelement": _count, "element_size": _element_size,
    "get_device": _device,
    "is_floating_point": _is_floating_point, "is_complex": _is_complex, "is_signed": _is_signed, "is_inference": _is_inference,
    **{name: by_example(function) for name, function in OF_ENTRIES.items()},
}  # fmt: skip
OF_MATRICES: dict[str, Any] = {
    "matrix_rank": checked(by_example(_matrix_rank), "matrix_rank"), "LinAlgError": LinAlgError,
}  # fmt: skip
