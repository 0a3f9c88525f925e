"""Moving and addressing entries: what PyTorch does at ties, at the last of several, without
entries; and what is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError

X, V = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 2.0, 3.0]
NAN = float("nan")


def gradients(text: str, seed: Any, **at: Any) -> dict[str, Any]:
    record = gradcli.evaluate(text, at=at, seed=np.array(seed), check=False, formula=False)
    return {name: np.asarray(slope).tolist() for name, slope in record.grad.items()}


@pytest.mark.parametrize(
    ("text", "at", "wanted"),
    [
        # PyTorch 2.13
        ("scatter_reduce(x, 0, [0, 0, 1], y, 'amax')", {"x": [2.0, 1.0], "y": [2.0, 2.0, 5.0]},
         {"x": [1 / 3, 0.0], "y": [1 / 3, 1 / 3, 1.0]}),
        ("scatter_reduce(x, 0, [0, 0], y, 'prod')", {"x": [0.0, 1.0], "y": [0.0, 3.0]}, {"x": [0.0, 1.0], "y": [0.0, 0.0]}),
        ("scatter_reduce(x, 0, [0, 0], y, 'mean', include_self=False)", {"x": [9.0, 1.0], "y": [0.0, 3.0]},
         {"x": [0.0, 1.0], "y": [0.5, 0.5]}),
        ("index_add(x, 0, [0], y, alpha=0)", {"x": V, "y": [1.0]}, {"x": [1.0, 1.0, 1.0], "y": [0.0]}),
        # an entry that is left out has no part in a tie
        ("scatter_reduce(x, 0, [0, 0], y, 'amax', include_self=False)", {"x": [2.0, 1.0], "y": [2.0, 1.0]},
         {"x": [0.0, 1.0], "y": [1.0, 0.0]}),
        # of several entries put to one place the last is there, and has the whole gradient
        ("scatter(x, 0, [1, 1], y)", {"x": V, "y": [5.0, 6.0]}, {"x": [1.0, 0.0, 1.0], "y": [0.0, 1.0]}),
        ("index_copy(x, 0, [1, 1], y)", {"x": V, "y": [5.0, 6.0]}, {"x": [1.0, 0.0, 1.0], "y": [0.0, 1.0]}),
        ("index_put(x, ([0, 0],), y)", {"x": V, "y": [5.0, 6.0]}, {"x": [0.0, 1.0, 1.0], "y": [0.0, 1.0]}),
        # what is not taken has no part, whatever its value
        ("tril(x)", {"x": [[1.0, NAN], [2.0, 3.0]]}, {"x": [[1.0, 0.0], [1.0, 1.0]]}),
        ("masked_fill(x, [True, False, False], 0)", {"x": [NAN, 1.0, 2.0]}, {"x": [0.0, 1.0, 1.0]}),
    ],
)  # fmt: skip
def test_gradient(text: str, at: dict[str, Any], wanted: dict[str, Any]) -> None:
    value = gradcli.evaluate(text, at=at, mode="jacobian", check=False, formula=False).value
    found = gradients(text, np.ones(np.shape(value)), **at)
    for name, slope in wanted.items():
        assert found[name] == pytest.approx(np.array(slope)), name


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


REFUSED = [
    ("torch.roll(x, (1, 2))", "roll: shifts (1, 2) need an axis each"),
    ("roll(x, 1.5)", "shift must be a whole number or a list of them, not 1.5"),
    ("rot90(x, 1, (0, 0))", "axis (0, 0) names an axis twice"),
    ("x.expand(3)", "expand: the shape (3,) has fewer axes than the array of shape (2, 3)"),
    ("unflatten(x, 1, (2, 2))", "unflatten: an axis of 3 entries cannot have the shape (2, 2)"),
    (
        "x.contiguous().repeat(2)",
        "repeat: an array of shape (2, 3) needs a number of repetitions for each axis, not (2,)",
    ),
    (
        "repeat_interleave(x, 2, 0, output_size=5)",
        "repeat: the result has 4 entries along the axis, not 5",
    ),
    ("v.unfold(0, 4, 1)", "unfold: no windows of 4 entries at steps of 1 in an axis of 3"),
    ("split(v, 2)", "split: 3 entries have no 2 equal parts"),
    ("torch.split(v, [1, 1])", "split: the sizes (1, 1) are not of 3 entries in all"),
    ("narrow(x, 0, 1, 2)", "narrow: no 2 entries from 1 on along an axis of 2"),
    ("torch.select(x, 0, 2)", "select: there is no entry 2 along an axis of 2"),
    ("hstack([])", "hstack needs a list of at least one array"),
    (
        "gather(x, 0, [0])",
        "an index of shape (1,) does not fit an array of shape (2, 3) along axis 0",
    ),
    ("gather(x, 0, [[5, 0, 0]])", "take_along: index 5 is out of bounds for axis 0 with size 2"),
    ("index_select(x, 0, [0.5])", "an index must be whole numbers"),
    (
        "scatter(x, 0, [[0, 0, 0]], v)",
        "x, the index and the source must have equally many axes, not the shapes (2, 3), (1, 3) "
        "and (3,)",
    ),
    (
        "scatter_add(x, 1, [[0], [0], [0]], x)",
        "the index reaches beyond x or the source: shapes (2, 3), (3, 1) and (2, 3)",
    ),
    (
        "scatter_reduce(x, 0, [[0, 0, 0]], x, 'max')",
        "reduce must be one of sum, prod, mean, amin, amax, not 'max'",
    ),
    ("index_add(x, 0, [0], v)", "index_add: the source has the shape (3,), not (1, 3)"),
    ("masked_fill(x, x > 1, v)", "masked_fill takes one number, not an array of shape (3,)"),
    ("masked_scatter(x, [True, False], x)", "shapes (2, 3) and (2,) do not broadcast together"),
    (
        "torch.nn.functional.pad(x, (3, 0), 'reflect')",
        "pad: widths of 3 and 0 do not fit an axis of 3 entries in the mode 'reflect'",
    ),
    (
        "torch.nn.functional.pad(x, (1, 2, 3))",
        "pad: 3 widths do not fit an array of 2 axes, two for each from the last on",
    ),
    ("pad(x, -1)", "pad: widths are whole numbers of at least 0, not -1"),
    ("reshape(x, (3, 2), order='G')", "the order must be 'C' or 'F', not 'G'"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(GradcliError) as error:
        gradcli.evaluate(text, at={"x": X, "v": V}, mode="jacobian", check=False, formula=False)
    assert error.value.message == message


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
