"""What PyTorch's names say where there is one answer: tensors on the CPU, dense, of plain numbers; no automatic casts, no symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradcli.ops.arrays.striding import as_strided_scatter
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import storage
from gradcli.tensors.core.in_place import assign
from gradcli.tensors.core.storage import Storage
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.checked_calls import all_checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.dispatch.regions import region
from gradcli.tensors.torch.creation import empty
from gradcli.tensors.torch.memory_methods import MEMORY
from gradcli.tensors.torch.random_fills import OF_NETWORKS


def _no_imaginary_part(x: Tensor) -> NoReturn:
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


PROPERTIES: dict[str, property] = {"real": property(lambda x: x), "imag": property(_no_imaginary_part)}


# -- memory laid out as asked ------------------------------------------------------------------------------------------


def _empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, requires_grad: bool = False, **where: Any) -> Tensor:
    """Zeros with these strides."""
    sizes, steps = tuple(size), tuple(stride)
    kind = empty(0, dtype=dtype, **where).array.dtype
    reach = 0 if 0 in sizes else 1 + sum(step * (n - 1) for n, step in zip(sizes, steps, strict=True))
    return Tensor(storage.placed(np.zeros(reach, kind), sizes, steps, 0)).requires_grad_(requires_grad)


def _empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **given: Any) -> Tensor:
    """Zeros whose axes lie in memory in this order, from the outermost to the innermost."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)}")
    steps, step = [0] * len(size), 1
    for axis in reversed(physical_layout):
        steps[axis], step = step, step * size[axis]
    return _empty_strided(size, steps, **given)


def _new_empty_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **given: Any) -> Tensor:
    return _empty_strided(size, stride, dtype=dtype or x.dtype, **given)


def _as_strided_scatter(x: Any, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A tensor with a region of its memory replaced by another one's entries."""
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(size)}"
        )
    base = x.contiguous()
    offset = 0 if storage_offset is None else int(storage_offset) - storage.start(x.array)
    place = {"size": tuple(size), "stride": tuple(stride), "offset": offset, "source": storage.strides(base.array)}
    found: Tensor = apply(as_strided_scatter, (base, src), place)
    if found.node is not None:
        found.node.label = "AsStridedScatterBackward0"
    return found


def _as_strided_copy(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    copied: Tensor = MEMORY["as_strided"](x, size, stride, storage_offset).clone()
    return copied


def _as_subclass(x: Tensor, cls: type[Tensor]) -> Tensor:
    if cls is not Tensor:
        raise TypeError(f"as_subclass(): tensors of gradcli are of one class, not of {cls!r}")
    return region(x, x.array.view(), lambda tangent: _as_subclass(tangent, cls), "Alias")


def _resize_as(x: Any, other: Tensor) -> Tensor:
    if x.numel() != other.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, other.shape))} ({other.numel()} elements in total), but the given tensor has a size "
            f"of {'x'.join(map(str, x.shape))} ({x.numel()} elements). autograd's resize can only change the shape of a given tensor, "
            "while preserving the number of elements. "
        )
    resized: Tensor = x.reshape(other.shape)
    return resized


def _itself(x: Tensor) -> Tensor:
    return x


def _map2(x: Tensor, first: Tensor, second: Tensor, function: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Each entry replaced by what a function makes of it and of two others, outside of the graph."""
    if x.requires_grad:
        raise TypeError("can't call map2_ on Variable that requires grad. Use var.detach().map2_() instead.")
    others = [np.broadcast_to(part.array, x.array.shape).ravel().tolist() for part in (first, second)]
    entries = [function(*triple) for triple in zip(x.array.ravel().tolist(), *others, strict=True)]
    return assign(x, Tensor(np.array(entries, x.array.dtype).reshape(x.array.shape)))


# -- what is not here --------------------------------------------------------------------------------------------------


def _refusing(kind: type[Exception], said: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise kind(said)

    return refuse


_REMOVED = "This function was deprecated since version 1.9 and is now removed. torch.linalg.{} is in its place."
_DENSE = "tensors of gradcli are dense and strided: there is no {}()"
_REAL = "tensors of gradcli hold real numbers: there is no {}()"
_REFUSED: dict[str, Callable[..., Any]] = {
    "symeig": _refusing(RuntimeError, _REMOVED.format("eigh")), "eig": _refusing(RuntimeError, _REMOVED.format("eig")),
    "matrix_rank": _refusing(RuntimeError, _REMOVED.format("matrix_rank")),
}  # fmt: skip
_SPARSE = (
    "to_sparse",
    "to_sparse_coo",
    "to_sparse_csr",
    "to_sparse_csc",
    "to_sparse_bsr",
    "to_sparse_bsc",
    "to_mkldnn",
    "to_padded_tensor",
)
_COMPLEX = ("cfloat", "cdouble", "chalf", "stft", "istft")


# -- settings ----------------------------------------------------------------------------------------------------------


def _in_place(name: str) -> Callable[..., Tensor]:
    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        return OF_NETWORKS[name](input, p, train, True)

    return drop


def _sym_ite(b: bool, t: Any, f: Any) -> Any:
    return t if b else f


def _sym_int(a: float) -> int:
    return math.floor(a) if a > 0 else math.ceil(a)


def _affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    return call("affine_grid", TORCH, (theta, list(size)), {"align_corners": align_corners})


def _is_storage(obj: Any) -> bool:
    return isinstance(obj, Storage)


ANSWERS: dict[str, Callable[..., Any]] = {
    **_REFUSED, "empty_strided": _empty_strided, "empty_permuted": _empty_permuted, "is_storage": _is_storage,
    **all_checked({
        "as_strided_scatter": _as_strided_scatter, "as_strided_copy": _as_strided_copy, "affine_grid_generator": _affine_grid_generator,
        "dropout_": _in_place("dropout"), "feature_dropout_": _in_place("dropout2d"), "alpha_dropout_": _in_place("alpha_dropout"),
        "feature_alpha_dropout_": _in_place("feature_alpha_dropout"),
    }),
    "is_autocast_enabled": lambda device_type=None: False, "is_autocast_cpu_enabled": lambda: False,
    "is_warn_always_enabled": lambda: False, "get_float32_matmul_precision": lambda: "highest",
    "sym_max": max, "sym_min": min, "sym_int": _sym_int, "sym_float": float, "sym_not": lambda a: not a, "sym_ite": _sym_ite,
    "sym_sum": sum, "sym_sqrt": math.sqrt,
}  # fmt: skip
ANSWER_METHODS: dict[str, Callable[..., Any]] = {
    **_REFUSED, "share_memory_": _itself, "new_empty_strided": _new_empty_strided, "map2_": _map2,
    "reinforce": _refusing(RuntimeError, "reinforce() was removed. Use torch.distributions instead."),
    "cuda": _refusing(AssertionError, "Torch not compiled with CUDA enabled"),
    **{name: _refusing(NotImplementedError, _DENSE.format(name)) for name in _SPARSE},
    **{name: _refusing(NotImplementedError, _REAL.format(name)) for name in _COMPLEX},
    **all_checked({
        "as_strided_scatter": _as_strided_scatter, "as_subclass": _as_subclass, "resize_as": _resize_as,
    }, "Tensor"),
}  # fmt: skip
