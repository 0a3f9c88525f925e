"""Arrays put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.reshaping import at_least_1d, atleast_2d, atleast_3d
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED


def _joined(*arrays: Any, axis: int | None) -> Any:
    if axis is None:
        return concatenate(*(reshape(x, shape=(-1,)) for x in arrays), axis=0)
    if any(len(x.shape) != 1 for x in arrays):
        # PyTorch joins empty vectors with anything
        arrays = tuple(x for x in arrays if tuple(x.shape) != (0,))
    return concatenate(*arrays, axis=axis)


def _stacked(name: str, along: int, raised: Function, doc: str, *aliases: str) -> None:
    def body(*arrays: Any) -> Any:
        parts = [raised(x) for x in arrays]
        return concatenate(*parts, axis=min(along, len(parts[0].shape) - 1))

    composite(name, "*arrays", body, aliases=aliases, doc=doc)
    declare(NUMPY, **dict.fromkeys((name, *aliases), signature(name, "*arrays|tup|tensors, -dtype, -casting")))


def _column(x: Any) -> Any:
    return x if len(x.shape) > 1 else reshape(x, shape=(-1, 1))


composite(
    "joined", "*arrays", _joined, static={"axis": REQUIRED}, public=False, backward="Cat",
    doc="np.concatenate and torch.cat: arrays joined along an axis, or all their entries (axis=None).",
)  # fmt: skip
_stacked("hstack", 1, at_least_1d, "Arrays joined along the second axis, vectors along the first.")
_stacked("vstack", 0, atleast_2d, "Arrays joined along the first axis, vectors as rows.", "row_stack")
_stacked("dstack", 2, atleast_3d, "Arrays joined along the third axis.")
_stacked("column_stack", 1, _column, "Arrays joined along the second axis, vectors as columns.")


def _block_diag(*arrays: Any) -> Any:
    if any(len(x.shape) > 2 for x in arrays):
        raise ShapeError("block_diag needs matrices")
    blocks = [atleast_2d(x) for x in arrays]
    width = sum(b.shape[1] for b in blocks)
    room_for(sum(b.shape[0] for b in blocks), width)
    rows, before = [], 0
    for block in blocks:
        height, columns = block.shape
        sides = np.zeros((height, before)), block, np.zeros((height, width - before - columns))
        rows.append(concatenate(*(side for side in sides if side is block or side.shape[1]), axis=1))
        before += columns
    return concatenate(*rows, axis=0)


def _append(x: Any, y: Any, axis: int | None) -> Any:
    return _joined(x, y, axis=axis)


block_diag = composite(
    "block_diag", "*arrays", _block_diag, doc="A matrix with matrices along its diagonal and zeros elsewhere.",
    examples=("block_diag(x, y)",),
)  # fmt: skip
composite("append", "x y", _append, static={"axis": None}, doc="x and y joined along an axis, or all their entries.")

declare(
    NUMPY,
    **dict.fromkeys(("concatenate", "cat", "concat"), signature("joined", "*arrays|tensors, axis, -out, -dtype, -casting", axis=0)),
    stack=signature("stack", "*arrays|tensors, axis, -out, -dtype, -casting"),
    append=signature("append", "x|arr, y|values, axis"),
    block_diag=signature("block_diag", "**arrays|tensors"),
)
