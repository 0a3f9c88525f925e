"""How results are laid out in memory: as PyTorch has them, where that is not how NumPy's loops leave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core import storage
from gradcli.tensors.core.storage import repeats
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.kernels import shares_memory

Layout = Callable[[np.ndarray, Sequence[Any]], np.ndarray]


def of_its_own(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """As it was computed, in memory that no operand has."""
    return out.copy() if shares_memory(out, arrays) else out


def in_rows(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """Entry after entry in their order."""
    if not out.flags.c_contiguous or shares_memory(out, arrays):
        return out.copy()
    return out.copy() if out.base is not None and min(out.shape, default=2) < 2 else out  # steps along one entry, or none, are as they were


def in_columns(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """Matrices column by column, as LAPACK writes them, one after the other."""
    if out.ndim < 2:
        return of_its_own(out, arrays)
    turned = out.swapaxes(-1, -2).copy()
    return (turned if turned.size else storage.stepped(turned)).swapaxes(-1, -2)


def alike(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """As the first operand, without what is between its entries."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or first.shape != out.shape:
        return of_its_own(out, arrays)
    if first.flags.c_contiguous:
        return in_rows(out, arrays)
    laid = storage.alike(first, out.dtype)
    laid[...] = out
    return laid


def as_first(out: np.ndarray, first: Any, second: Any) -> np.ndarray:
    """Of two arrays entry by entry, as the first; NumPy's loops leave the order of entries to both."""
    if not isinstance(second, np.ndarray) or not out.flags.c_contiguous or first.shape != out.shape or repeats(first):
        return out
    return alike(out, (first,))


def with_new_axis(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """A view with an axis at the end, along which a step would be one entry."""
    return arrays[0][..., None] if len(arrays) == 1 and out.shape == (*arrays[0].shape, 1) else out


NAMED: dict[str, Layout] = {"": of_its_own, "rows": in_rows, "columns": in_columns, "alike": alike, "with a new axis": with_new_axis}


def relaid(x: Tensor, layout: str, arguments: Sequence[Any]) -> Tensor:
    """The result of a function that is made of operations, laid out as that function's; views and what was given stay as they are."""
    if (x._view is None or layout == "with a new axis") and not any(x is argument for argument in arguments):
        x.array = NAMED[layout](x.array, [a.array for a in arguments if isinstance(a, Tensor)])
    return x
