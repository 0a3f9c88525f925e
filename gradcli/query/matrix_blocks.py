"""A matrix of derivatives as blocks, one for each result and variable, and as SciPy's sparse arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.graph.sparsity import Pattern, pattern_of


class Sided(Protocol):
    """What has rows for the entries of results, and columns for those of variables."""

    outs: list[Expr]
    wrt: list[Expr]
    shape: tuple[int, int]


def entries_in(node: Expr) -> int:
    """How many numbers a node has."""
    return math.prod(node.shape)


def cut(of: Sided, whole: np.ndarray) -> list[Any]:
    """The blocks of a matrix, each an array of its own."""
    rows, columns = np.cumsum([0, *map(entries_in, of.outs)]), np.cumsum([0, *map(entries_in, of.wrt)])
    if len(of.outs) == len(of.wrt) == 1:
        return [whole.reshape((*of.outs[0].shape, *of.wrt[0].shape))[()]]
    return [
        whole[rows[i] : rows[i + 1], columns[j] : columns[j + 1]].reshape((*out.shape, *x.shape)).copy()[()]
        for i, out in enumerate(of.outs)
        for j, x in enumerate(of.wrt)
    ]


def parts_of(of: Sided, pattern: Pattern) -> list[tuple[np.ndarray, Pattern]]:
    """Which entries of the matrix's pattern each block has, and its own pattern."""
    if len(of.outs) == len(of.wrt) == 1:
        return [(np.arange(pattern.columns.size), pattern)]
    rows, columns = pattern.rows, pattern.columns
    begins, sides = (np.cumsum([0, *map(entries_in, nodes)]).tolist() for nodes in (of.outs, of.wrt))
    found = []
    for i in range(len(of.outs)):
        for j in range(len(of.wrt)):
            inside = (rows >= begins[i]) & (rows < begins[i + 1]) & (columns >= sides[j]) & (columns < sides[j + 1])
            chosen = np.flatnonzero(inside)
            shape = (begins[i + 1] - begins[i], sides[j + 1] - sides[j])
            found.append((chosen, pattern_of(rows[chosen] - begins[i], columns[chosen] - sides[j], shape)))
    return found


def csr(data: np.ndarray, pattern: Pattern) -> Any:
    """Entries of a pattern as SciPy's sparse array; places are copied, as its methods change them where they are."""
    from scipy.sparse import csr_array

    kind = np.int32 if max(*pattern.shape, pattern.columns.size) < 2**31 else np.int64
    made = csr_array((data, pattern.columns.astype(kind), pattern.starts.astype(kind)), shape=pattern.shape)
    made.has_canonical_format = True
    return made


def joined(of: Sided, blocks: Sequence[Any]) -> np.ndarray:
    """The matrix of blocks."""
    if len(blocks) == 1:
        return np.reshape(blocks[0], of.shape)
    count = len(of.wrt)
    rows = [
        np.concatenate(
            [np.reshape(block, (entries_in(out), entries_in(x))) for block, x in zip(blocks[i * count :], of.wrt, strict=False)], axis=1
        )
        for i, out in enumerate(of.outs)
    ]
    return np.concatenate(rows) if rows else np.zeros(of.shape)
