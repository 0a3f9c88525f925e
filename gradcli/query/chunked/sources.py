"""What chunks are read from: regions of stores, which are opened where they are read, in this process or on another machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.chunks.stages import Staged
from gradcli.files.npy import unreadable
from gradcli.files.stores import Store, store_at
from gradcli.graph.nodes import Expr
from gradcli.plans.source import Gradients
from gradcli.query.specialized import Instance, Settings, Spec, with_deciding

_OPEN = 32  # stores that a process keeps open


@dataclass(frozen=True)
class Described:
    """What is known of a store before it is read.

    stamp  its size and the time of its last change: it is to be the same to the end
    """

    path: str
    key: str | None
    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    stamp: tuple[int, ...]

    def whole(self) -> np.ndarray:
        """All of it."""
        return _opened(self.path, self.key, self.stamp).read((slice(None),) * len(self.shape))

    def read(self, axis: int, start: int, stop: int) -> np.ndarray:
        """Entries along one axis, whole along the others."""
        store = _opened(self.path, self.key, self.stamp)
        return store.read((slice(None),) * axis + (slice(start, stop),) + (slice(None),) * (len(self.shape) - axis - 1))


def described(path: str, key: str | None) -> Described:
    """The store that a file or folder is, as it is seen from here. Raises InputError."""
    try:
        stamp = _stamp(path)
        store = _opened(path, key, stamp)
    except OSError as error:
        raise unreadable(error, path) from None
    return Described(path, key, store.shape, store.dtype.str, store.chunks, stamp)


def _stamp(path: str) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


@lru_cache(_OPEN)
def _opened(path: str, key: str | None, stamp: tuple[int, ...]) -> Store:
    return store_at(Path(path), path, key)


@dataclass(frozen=True)
class Slice:
    """Entries of a store along one axis."""

    of: Described
    axis: int
    start: int
    stop: int

    def read(self) -> Any:
        return self.of.read(self.axis, self.start, self.stop)


# -- What a process is told so that it makes the same stages as every other: a program, shapes, and
# where its values are cut.


_KEPT = 64  # programs that a process remembers


@dataclass(frozen=True)
class Program:
    """A program to be computed chunk by chunk. Equal ones make equal stages in every process.

    settings  of its function, which is made again in another process
    values    of its names, in their order
    length    of the axis that is cut
    seed      the shape of the vector of the vector-Jacobian product, and the axis along which it is cut; None without one
    state     of random numbers
    moves     whether entries may go from chunk to chunk
    """

    settings: Settings
    values: tuple[Spec, ...]
    length: int
    seed: tuple[tuple[int, ...], int | None] | None = None
    state: int | None = None
    moves: bool = False

    @property
    def lowered(self) -> Lowered:
        """Its stages here, or what keeps them from being made."""
        return _lowered(self)


def program_of(
    settings: Settings,
    values: Sequence[Spec],
    length: int,
    seed: tuple[tuple[int, ...], int | None] | None,
    state: int | None,
    known: Mapping[str, Any],
    *,
    moves: bool = False,
) -> Program:
    """A program that has stages; values that are known become part of it where they decide what is computed.

    Raises Uncut for what needs all chunks at once, and GradcliError for what has no result.
    """

    def make(values: tuple[Spec, ...]) -> Program:
        program = Program(settings, values, length, seed, state, moves)
        _lowered(program)
        return program

    return with_deciding(make, values, known)


class Lowered:
    """The stages of a program, and what they take and give by name."""

    def __init__(self, program: Program) -> None:
        self.made = made = Instance(program.settings, program.values, program.state)
        cut = {made.scope.leaves[v.name]: v.axis for v in program.values if v.axis is not None and v.name in made.names}
        self.wrt = list(made.wrt)
        shape, axis = program.seed or (None, None)
        seed = made.seed(shape)
        if seed is not None and axis is not None:
            cut[seed] = axis
        roots = Gradients(made.root, list(made.wrt.values()), seed).roots
        self.staged = Staged(roots, cut, program.length, program.settings.dtype, made.scope.limits, moves=program.moves)
        self._leaves = [*made.leaves, *([] if seed is None else [seed])]

    def taken(self, given: Mapping[str, Any], seed: Any) -> list[tuple[Expr, Any]]:
        """The leaves that results depend on, as the stages have them, with what they take of values by name."""
        made = self.made
        values = [*(given[name] for name in made.names), *made.fixed, *([] if seed is None else [seed])]
        pairs = [(self.staged.leaves.get(leaf), value) for leaf, value in zip(self._leaves, values, strict=True)]
        return [
            (leaf, value if isinstance(value, Described) or value.dtype.kind not in "iu" else value.astype(made.dtype))
            for leaf, value in pairs
            if leaf is not None
        ]


@lru_cache(_KEPT)
def _lowered(program: Program) -> Lowered:
    return Lowered(program)
