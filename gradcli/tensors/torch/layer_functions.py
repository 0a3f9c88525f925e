"""Layers of torch.nn.functional that the catalogue does not have: bags of embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.creation import zeros


def _embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
    mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or largest entries of the rows that bags of indices choose: the rows of a matrix, or from each offset on."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding_bag: max_norm, scale_grad_by_freq and sparse are not taken here: leave them out")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights is only supported for mode='sum', not {mode!r}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    places = np.asarray(input.array).reshape(-1)
    if input.ndim == 2 and offsets is None:
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim == 1 and offsets is not None and offsets.ndim == 1:
        starts = offsets.array[:-1] if include_last_offset else offsets.array
        if len(starts) and starts[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence has to start from position 0")
    else:
        raise ValueError("embedding_bag takes a matrix of indices, or a vector of them with a vector of offsets")
    kept = np.ones(len(places), bool) if padding_idx is None else places != padding_idx % weight.shape[0]
    bags = (np.searchsorted(starts, np.arange(len(places)), "right") - 1)[kept]
    rows = weight[Tensor(places[kept])]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1)[Tensor(np.flatnonzero(kept))].unsqueeze(-1)
    reduce = "amax" if mode == "max" else mode
    none = zeros(rows.shape[1:], dtype=rows.dtype)  # of a bag without any row
    parts = [rows[Tensor(np.flatnonzero(bags == bag))] for bag in range(len(starts))]
    reduced = [getattr(part, reduce)(0) if len(part) else none for part in parts]
    result = call("stack", TORCH, (reduced,), {}) if reduced else zeros((0, *none.shape), dtype=rows.dtype)
    if result.node is not None:
        result.node.label = "EmbeddingBagBackward0"
    return result


OF_LAYERS: dict[str, Callable[..., Any]] = {"embedding_bag": checked(_embedding_bag, "embedding_bag")}
