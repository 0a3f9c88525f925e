"""Layers of networks: linear and bilinear maps, and tables of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import broadcast_to, reshape, swapaxes, transpose
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.nn.likelihoods import class_labels
from gradcli.ops.registry import composite
from gradcli.ops.structure import detach


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    product = matmul(x, swapaxes(weight, axis1=0, axis2=1) if len(weight.shape) == 2 else weight)
    return product if bias is None else product + bias


linear = composite(
    "linear", "x weight bias?", _linear, backward="Addmm",
    doc="x @ weight.T + bias.", examples=("linear(x, w, b)",),
)  # fmt: skip


def _bilinear(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    outputs, rows, columns = weight.shape if len(weight.shape) == 3 else (0, 0, 0)
    if x.shape[-1:] != (rows,) or y.shape[-1:] != (columns,) or x.shape[:-1] != y.shape[:-1]:
        raise ShapeError(f"bilinear: shapes {tuple(x.shape)}, {tuple(y.shape)} and {tuple(weight.shape)} do not fit")
    flat = reshape(transpose(weight, axes=(1, 0, 2)), shape=(rows, outputs * columns))
    half = reshape(matmul(x, flat), shape=(*x.shape[:-1], outputs, columns))
    product = reshape(matmul(half, expand_dims(y, axis=-1)), shape=(*x.shape[:-1], outputs))
    return product if bias is None else product + bias


bilinear = composite(
    "bilinear", "input1 input2 weight bias?", _bilinear, doc="input1 @ weight[k] @ input2 for each k, plus bias.",
    examples=("bilinear(x, y, w)",),
)  # fmt: skip


def _embedding(
    input: Any, weight: Any, padding_idx: int | None, max_norm: float | None, norm_type: float, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if max_norm is not None or scale_grad_by_freq:
        raise ArgumentError("embedding: max_norm and scale_grad_by_freq are not supported")
    if len(weight.shape) != 2:
        input, weight = weight, input
    if len(weight.shape) != 2:
        raise ShapeError("embedding: a weight of two axes is wanted, a row for each index")
    rows, width = weight.shape
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ArgumentError(f"embedding: padding_idx must be an index of the {rows} rows, not {padding_idx}")
        weight = where(np.arange(rows)[:, None] == padding_idx % rows, detach(weight), weight)
    index = reshape(class_labels(input, classes=rows, ignored=None), shape=(-1, 1))
    chosen = take_along(weight, broadcast_to(index, shape=(index.shape[0], width)), axis=0)
    return reshape(chosen, shape=(*input.shape, width))


embedding = composite(
    "embedding", "input weight", _embedding,
    static={"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False},
    doc="The rows of the weight at indices; the row padding_idx has no gradient.", examples=("embedding([0, 2], w)",),
)  # fmt: skip

declare(
    TORCH,
    linear=signature("linear", "x, weight, bias"),
    bilinear=signature("bilinear", "input1, input2, weight, bias"),
    embedding=signature("embedding", "input@weight, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse"),
)
