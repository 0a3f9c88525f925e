"""Functions of tensors whose results have no gradients, or that are about the tensors: ranks, counts, places, kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.nested_lists import default_float
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked


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


def _is_nonzero(x: Tensor) -> bool:
    if x.array.size != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'more than one value' if x.array.size else 'no values'} is ambiguous")
    return bool(x)


def _is_same_size(x: Tensor, other: Tensor) -> bool:
    return x.array.shape == other.array.shape


def _is_real(x: Tensor) -> Tensor:
    return Tensor(np.ones_like(x.array, np.bool_))


def _nowhere(x: Tensor) -> bool:
    """What is true of complex tensors, and of those elsewhere, only."""
    return False


def _nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places of the first entries that are not zero; what is left of so many rows is filled."""
    places = np.argwhere(x.array)[:size]
    found = np.full((size, x.array.ndim), fill_value)
    found[: len(places)] = places
    return Tensor(found)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The places along each axis of entries counted in their order."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if indices.array.dtype.kind not in "iu":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    flat = np.asarray(indices.array, np.int64)
    if not all(n >= 0 for n in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {extents}")
    found = []
    for n in reversed(extents):
        found.append(flat % n)
        flat = flat // n
    places = np.stack(found[::-1], axis=-1)
    return tuple([Tensor(places[..., i]) for i in range(len(extents))])


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor that shares memory with something that has bytes."""
    if not len(buffer):
        raise ValueError(f"both buffer length ({len(buffer)}) and count ({count}) must not be 0")
    return Tensor(np.frombuffer(buffer, dtypes.as_numpy(dtype), count, offset)).requires_grad_(requires_grad)


def range_(start: float = 0, end: Any = None, step: float = 1, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """What ``arange`` once was: both ends are in it."""
    first, last = (0, start) if end is None else (start, end)
    count = int((last - first) / step) + 1
    kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
    return Tensor((first + step * np.arange(count)).astype(kind)).requires_grad_(requires_grad)


def typename(x: Any) -> str:
    """What the type of something is called."""
    return f"torch.{x.dtype.tensor_type}" if isinstance(x, Tensor) else f"{type(x).__module__}.{type(x).__qualname__}"


def _of_examples(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {name: checked(by_example(function), name) for name, function in functions.items()}


def _by_entry(x: Tensor, function: Callable[[Any], Any]) -> Tensor:
    """The entries replaced by what a function makes of each, in place and outside of the graph."""
    return _replaced(x, [function(entry) for entry in x.array.ravel().tolist()])


def _by_entries(x: Tensor, other: Tensor, function: Callable[[Any, Any], Any]) -> Tensor:
    pairs = zip(x.array.ravel().tolist(), np.broadcast_to(other.array, x.array.shape).ravel().tolist(), strict=True)
    return _replaced(x, [function(a, b) for a, b in pairs])


def _replaced(x: Tensor, entries: Sequence[Any]) -> Tensor:
    if x.requires_grad:
        raise TypeError("can't call apply_ on Variable that requires grad. Use var.detach().apply_() instead.")
    copied: Tensor = x.copy_(Tensor(np.array(entries, x.array.dtype).reshape(x.array.shape)))
    return copied


_METHODS: dict[str, Callable[..., Any]] = {
    **_of_examples({"is_nonzero": _is_nonzero, "nonzero_static": _nonzero_static}),
    "is_same_size": _is_same_size, "isreal": _is_real, "is_conj": _nowhere, "is_neg": _nowhere,
}  # fmt: skip
UNRECORDED: dict[str, Callable[..., Any]] = {
    **_METHODS, "unravel_index": unravel_index, "frombuffer": frombuffer, "range": range_, "typename": typename,
}  # fmt: skip
UNRECORDED_METHODS: dict[str, Callable[..., Any]] = {
    **_METHODS, "is_pinned": _nowhere, "is_shared": _nowhere, "apply_": _by_entry, "map_": _by_entries,
}  # fmt: skip
OF_MATRICES: dict[str, Any] = {
    "matrix_rank": checked(by_example(_matrix_rank), "matrix_rank", "torch.linalg"), "LinAlgError": LinAlgError,
}  # fmt: skip
