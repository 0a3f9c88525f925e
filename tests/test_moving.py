"""Moving and addressing entries: what PyTorch does at ties, at the last of several, without
entries; and what is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli

X, V = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "x", "shape"),
    [
        ("torch.index_select(x, 0, [0])", 1.0, ()),
        ("torch.gather(x, 0, [0, 0])", 1.0, (2,)),
        ("torch.index_add(x, 0, [0], x)", 1.0, ()),
        ("torch.scatter(x, 0, 0, 2.5)", 1.0, ()),
        ("x.unfold(0, 1, 1)", 1.0, (1,)),
        ("x.unfold(0, 0, 1)", V, (4, 0)),
        ("torch.unflatten(x, 0, (2, 2))", np.zeros((4, 0)), (2, 2, 0)),
        ("torch.chunk(x, 2)[1]", np.zeros((0, 3)), (0, 3)),
        ("torch.split(x, 0)[0]", np.zeros((0, 3)), (0, 3)),
        ("x.contiguous().repeat(0, 2)", 1.0, (0, 2)),
        ("torch.combinations(x, 4)", V, (0, 4)),
        ("torch.diag(x, 5)", X, (0,)),
        ("torch.diag_embed(x, -1)", np.zeros((2, 0)), (2, 1, 1)),
        ("torch.roll(x, 2, 0)", np.zeros((0, 3)), (0, 3)),
        ("torch.masked_select(x, x > 7)", V, (0,)),
        ("torch.block_diag(x, zeros(0, 2))", V, (1, 5)),
        ("torch.swapaxes(x, 0, -1)", 1.0, ()),
        ("torch.nn.functional.pad(x, (0, 2))", np.zeros((2, 0)), (2, 2)),
        ("torch.index_put(x, (zeros(0) > 1,), x)", np.zeros(0), (0,)),
    ],
)
def test_numbers_and_arrays_without_entries(text: str, x: Any, shape: tuple[int, ...]) -> None:
    record = gradcli.evaluate(text, x=x, seed=np.ones(shape), formula=False)
    assert np.shape(record.value) == shape
    assert np.shape(record.grad["x"]) == np.shape(x)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("torch.meshgrid([x, y])[0]", "np.meshgrid(x, y, indexing='ij')[0]"),
        ("np.meshgrid([1, 2], x)[1]", "np.meshgrid(np.array([1, 2]), x)[1]"),
        ("torch.atleast_1d([x, y])[0]", "np.atleast_1d(x, y)[0]"),
        ("np.atleast_1d([x, y])", "stack([x, y])"),
        ("torch.split(x, 2)[1]", "x.split(2)[1]"),
        ("split(x, 2)[1]", "tensor_split(x, [2])[1]"),
        ("x.contiguous().repeat(2)", "tile(x, 2)"),
        ("x.repeat((2, 3))", "tile(x, (2, 3))"),
        ("x.repeat(2, axis=0)", "repeat(x, 2)"),
        ("torch.cat((x, y))", "np.concatenate([x, y], axis=0)"),
        ("vstack(stack([x, y]))", "stack([x, y])"),
        ("x.where(x > 2, y)", "torch.where(x > 2, x, y)"),
        ("torch.narrow(x, dim=0, start=1, length=2)", "x[1:3]"),
        ("x.index_fill(0, [1], 5)", "torch.index_fill(x, dim=0, index=[1], value=5.0)"),
        ("torch.roll(x, shifts=1, dims=0)", "roll(x, 1)"),
        ("torch.constant_pad_nd(x, (1, 0), 2)", "pad(x, (1, 0), constant_values=2)"),
    ],
)
def test_ways_to_call(text: str, same: str) -> None:
    values = {"x": [3.0, 1.0, 2.5, 4.0], "y": [0.5, 7.0, -1.0, 2.0]}
    one, other = (
        gradcli.evaluate(t, at=values, mode="jacobian", check=False, formula=False)
        for t in (text, same)
    )
    assert np.asarray(one.value).tolist() == np.asarray(other.value).tolist()
    assert np.asarray(one.jacobian["x"]).tolist() == np.asarray(other.jacobian["x"]).tolist()
