"""NumPy's functions on tensors whose results are places, counts and truths, which have no gradients: NumPy's own, of the entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.tensors.dispatch.call_arguments import requires_grad
from gradcli.tensors.torch.numpy_calls import plain


def _of_entries(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, of entries in the place of tensors, also in lists."""

    def run(*arguments: Any, **keywords: Any) -> Any:
        return function(*map(plain, arguments), **{name: plain(value) for name, value in keywords.items()})

    return run


def _of_entries_without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same where results are floats that follow the entries, whose gradients would be lost."""

    def run(*arguments: Any, **keywords: Any) -> Any:
        if requires_grad([*arguments, *keywords.values()]):
            raise TypeError(f"np.{function.__name__} of tensors that require grad loses the gradients of its edges: write x.detach()")
        return _of_entries(function)(*arguments, **keywords)

    return run


_NAMES = (
    "argwhere", "flatnonzero", "argpartition", "nanargmax", "nanargmin", "lexsort", "searchsorted", "digitize", "isin", "array_equiv",
    "iscomplex", "isreal", "common_type", "can_cast", "min_scalar_type", "any", "all", "count_nonzero", "nonzero", "result_type",
    "may_share_memory", "shares_memory", "ravel_multi_index", "unravel_index", "tril_indices_from", "triu_indices_from",
    "diag_indices_from", "einsum_path",
)  # fmt: skip

PLACES: dict[str, Callable[..., Any]] = {
    **{name: _of_entries(getattr(np, name)) for name in _NAMES},
    **{name: _of_entries_without_gradients(getattr(np, name)) for name in ("histogram2d", "histogramdd")},
    "linalg.matrix_rank": _of_entries(np.linalg.matrix_rank),
}
