"""Functions of PyTorch's beside the catalogue: norms of slices, channels in another order, names of Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import AxisError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import all_checked, checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.lapack_factors import GEQRF, GEQRF_METHOD
from gradcli.tensors.torch.random_fills import OF_NETWORKS


def _norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norms of the slices at each place along an axis, which keep that axis; for -1 one norm of all."""
    if dim == -1:
        return v.norm(pow)
    rank = v.ndim
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -rank <= dim < rank:
        raise AxisError(dim, rank)
    if dim == 0:
        return v.contiguous().view(v.shape[0], -1).norm(pow, 1).view(v.shape[0], *(1,) * (rank - 1))
    if dim == rank - 1:
        return v.contiguous().view(-1, v.shape[dim]).norm(pow, 0).view(*(1,) * (rank - 1), v.shape[dim])
    return _norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


def _adjoint(x: Any) -> Any:
    """The transposed matrix, whose numbers are real ones; a number is its own."""
    if x.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return x.mT if x.ndim else x


def _view_copy(x: Any, *size: Any, dtype: Any = None) -> Any:
    """The entries in another shape, or their memory as another dtype, copied; PyTorch's graph does not follow the latter."""
    kind = dtype if dtype is not None else size[0] if len(size) == 1 and isinstance(size[0], dtypes.dtype) else None
    if kind is None:
        copied = call("view_copy", TORCH, (x, *size), {})
        if copied.node is not None:
            copied.node.label = "ViewBackward0_copy"
        return copied
    return x.detach().view(kind).clone()


def _dropout(name: str) -> Callable[..., Tensor]:
    """One of PyTorch's functions at the top, of which every argument is given: the one of torch.nn.functional in training or not."""

    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        return OF_NETWORKS[name](input, p, train)

    return drop


def _native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """The result, and which entries are kept."""
    kept = OF_NETWORKS["dropout"](Tensor(np.ones(input.shape, input.array.dtype)), p, train is not False)
    return input * kept, kept.detach() != 0


def _native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    shuffled: Tensor = call("channel_shuffle", TORCH, (input, groups), {})
    return shuffled


def _chain_matmul(*matrices: Any) -> Any:
    """The product of matrices, in the order that takes the least work; of one, a copy."""
    return matrices[0].clone() if len(matrices) == 1 and matrices[0].ndim == 2 else call("chain_matmul", TORCH, matrices, {})


class classproperty:
    """A property of a class, which its instances have, too."""

    def __new__(cls, func: Any) -> Any:
        return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


class _ClassPropertyDescriptor:
    __module__ = "torch._utils"

    def __init__(self, getter: Any) -> None:
        self.fget = getter

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def _prepare_multiprocessing_environment(path: str) -> None:
    """What PyTorch has for its own builds; there is nothing to prepare."""


FURTHER: dict[str, Callable[..., Any]] = {
    **all_checked({"norm_except_dim": _norm_except_dim, "native_channel_shuffle": _native_channel_shuffle, "view_copy": _view_copy,
        "dropout": _dropout("dropout"), "alpha_dropout": _dropout("alpha_dropout"), "native_dropout": _native_dropout,
        "feature_alpha_dropout": _dropout("feature_alpha_dropout"), "feature_dropout": _dropout("dropout2d"), "adjoint": _adjoint}),
    "geqrf": GEQRF,
    "chain_matmul": checked(_chain_matmul, "chain_matmul"), "classproperty": classproperty,
    "prepare_multiprocessing_environment": _prepare_multiprocessing_environment,
}  # fmt: skip
FURTHER_METHODS: dict[str, Callable[..., Any]] = {
    "geqrf": GEQRF_METHOD,
    "adjoint": checked(_adjoint, "adjoint", "Tensor"),
}
