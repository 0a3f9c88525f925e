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


def _labelled(result: Any, label: str) -> Any:
    """A result whose last node is called as PyTorch's one node for all of it."""
    if result.node is not None:
        result.node.label = label
    return result


def _embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
    mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or largest entries of the rows that bags of indices choose: the rows of a matrix, or from each offset on."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding_bag: max_norm, scale_grad_by_freq and sparse are not taken here: leave them out")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = np.asarray(offsets.array)
        if len(starts) and starts[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0.")
        starts = starts[:-1] if include_last_offset else starts
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    places = np.asarray(input.array).reshape(-1)
    kept = np.ones(len(places), bool) if padding_idx is None else places != padding_idx % weight.shape[0]
    bags = (np.searchsorted(starts, np.arange(len(places)), "right") - 1)[kept]
    rows = weight[Tensor(places[kept])]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1)[Tensor(np.flatnonzero(kept))].unsqueeze(-1)
    return _labelled(_reduced(rows, bags, len(starts), mode), "EmbeddingBagBackward0")


def _reduced(rows: Any, bags: np.ndarray, count: int, mode: str) -> Any:
    """Rows of each bag, reduced; zeros for a bag without any."""
    parts = []
    for bag in range(count):
        chosen = np.flatnonzero(bags == bag)
        part = rows[int(chosen[0]) : int(chosen[-1]) + 1] if len(chosen) else None
        parts.append(zeros(rows.shape[1:], dtype=rows.dtype) if part is None else getattr(part, "amax" if mode == "max" else mode)(0))
    return call("stack", TORCH, (parts,), {}) if parts else zeros((0, *rows.shape[1:]), dtype=rows.dtype)


OF_LAYERS: dict[str, Callable[..., Any]] = {"embedding_bag": checked(_embedding_bag, "embedding_bag")}
