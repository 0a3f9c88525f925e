"""What is done for a stage in whatever process does it: the results of one chunk, what chunks come together to, what all have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.chunks.stages import Extents
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.query.chunked.programs import Program

TOGETHER = 8  # results of chunks that come together at once


def of_chunk(program: Program, stage: int, extents: Extents, values: Sequence[Any]) -> list[Any]:
    """What a chunk gives to a stage, folds first; ``values`` are the stage's inputs, cut to the chunk."""
    lowered = program.lowered
    dtype = lowered.made.dtype
    values = [np.asarray(value) for value in values]
    values = [value if value.dtype.kind == "b" else value.astype(dtype, copy=False) for value in values]
    with np.errstate(all="ignore"):
        found = lowered.staged.chunk_plan(stage, extents)([value[()] for value in values])
    return [np.array(part) for part in found]  # a plan writes into its arrays again


def folded_all(names: Sequence[str], parts: Sequence[Sequence[Any]]) -> list[Any]:
    """What the results of all chunks come together to, as a tree of `folded`."""
    while names and len(parts) > 1:
        parts = [folded(names, parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    return list(parts[0]) if names else []


def folded(names: Sequence[str], parts: Sequence[Sequence[Any]]) -> list[Any]:
    """What the results of neighbouring chunks come together to, two at a time: rounding grows with the logarithm of their number."""
    with np.errstate(all="ignore"):
        return [_pairwise(find(name), column) for name, column in zip(names, zip(*parts, strict=True), strict=False)]


def _pairwise(function: Op, parts: Sequence[Any]) -> Any:
    while len(parts) > 1:
        pairs = [function(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[len(parts) - len(parts) % 2 :]]
    return parts[0]


def in_common(program: Program, wanted: Sequence[int], known: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The values of nodes that all chunks have in common, by number (`Staged.numbered`), from those of others."""
    staged = program.lowered.staged
    with np.errstate(all="ignore"):
        found = staged.common_plan(staged.numbered(wanted), staged.numbered(known))([np.asarray(value)[()] for value in values])
    return [np.array(part) for part in found]
