"""PyTorch's fused forms: beta times an array plus alpha times a product. With beta = 0 the array is not read."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul, outer
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite, is_number


def _fused(name: str, product: Function, *ranks: int) -> Function:
    def body(x: Any, first: Any, second: Any, beta: float, alpha: float) -> Any:
        if (len(first.shape), len(second.shape)) != ranks:
            shapes = f"{tuple(first.shape)} and {tuple(second.shape)}"
            raise ShapeError(f"{name} needs arrays of {ranks[0]} and {ranks[1]} axes to multiply, not the shapes {shapes}")
        value = product(first, second)
        try:
            fits = np.broadcast_shapes(x.shape, value.shape) == tuple(value.shape)
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"{name}: an array of shape {tuple(x.shape)} cannot be added to a product of shape {tuple(value.shape)}")
        scaled = value if is_number(alpha) and alpha == 1 else value * alpha
        if is_number(beta) and beta == 0:
            return scaled
        added = x if is_number(beta) and beta == 1 else x * beta
        return added + scaled

    return body


for _name, _product, _ranks, _operands, _doc in (
    ("addmm", matmul, (2, 2), "mat1 mat2", "a product of matrices"),
    ("addmv", matmul, (2, 1), "mat vec", "a product of a matrix and a vector"),
    ("addbmm", lambda x, y: sum_(matmul(x, y), axis=0), (3, 3), "batch1 batch2", "the sum of a batch's products of matrices"),
    ("baddbmm", matmul, (3, 3), "batch1 batch2", "a batch's products of matrices"),
    ("addr", outer, (1, 1), "vec1 vec2", "the outer product of vectors"),
):
    composite(
        _name, f"input {_operands}", _fused(_name, _product, *_ranks), static={"beta": 1, "alpha": 1}, scalars="beta alpha",
        doc=f"beta*input + alpha times {_doc}; with beta=0 the input is not read.",
    )  # fmt: skip
    declare(TORCH, **{_name: signature(_name, f"input, {_operands.replace(' ', ', ')}, *, beta, alpha")})
