"""How results are laid out in memory: as PyTorch has them, where that is not how NumPy's loops leave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    return out.swapaxes(-1, -2).copy().swapaxes(-1, -2) if out.ndim > 1 else of_its_own(out, arrays)


def alike(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """As the first operand, without what is between its entries."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or first.shape != out.shape:
        return of_its_own(out, arrays)
    if first.flags.c_contiguous:
        return in_rows(out, arrays)
    laid = np.empty_like(first, out.dtype)
    laid[...] = out
    return laid


NAMED: dict[str, Layout] = {"": of_its_own, "rows": in_rows, "columns": in_columns, "alike": alike}


def relaid(x: Tensor, layout: str, arguments: Sequence[Any]) -> Tensor:
    """The result of a function that is made of operations, laid out as that function's; views and what was given stay as they are."""
    if x._view is None and not any(x is argument for argument in arguments):
        x.array = NAMED[layout](x.array, [a.array for a in arguments if isinstance(a, Tensor)])
    return x
