"""What chunks are read from: regions of stores, which are opened where they are read, in this process or on another machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.chunks.stages import Staged
from gradcli.errors import EvaluationError, ShapeError
from gradcli.files.npy import unreadable
from gradcli.files.stores import Store, store_at
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
    version   of gradcli where it was made
    """

    settings: Settings
    values: tuple[Spec, ...]
    length: int
    seed: tuple[tuple[int, ...], int | None] | None = None
    state: int | None = None
    moves: bool = False
    version: str = ""

    @cached_property
    def lowered(self) -> Lowered:
        """Its stages here. Raises EvaluationError where gradcli is of another version."""
        ours = import_module("gradcli").__version__
        if ours != self.version:
            raise EvaluationError(f"this is gradcli {ours}, and the program is of gradcli {self.version}")
        return _lowered(self)

    def hold(self) -> None:
        """Make the stages, or raise what keeps them from being made."""
        _ = self.lowered

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lowered"}


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
    version = import_module("gradcli").__version__

    def make(values: tuple[Spec, ...]) -> Program:
        program = Program(settings, values, length, seed, state, moves, version)
        program.hold()
        return program

    return with_deciding(make, values, known)


class Lowered:
    """The stages of a program, and what they take and give by name."""

    def __init__(self, program: Program) -> None:
        self.made = made = Instance(program.settings, program.values, program.state)
        cut = {made.scope.leaves[v.name]: v.axis for v in program.values if v.axis is not None and v.name in made.names}
        self.wrt = list(made.wrt)
        seed = None
        if program.seed is not None:
            shape, axis = program.seed
            seed = made.scope.graph.leaf("seed", shape)
            if axis is not None:
                cut[seed] = axis
        elif self.wrt and made.root.shape not in ((), (1,)):
            raise ShapeError(
                f"the value has the shape {made.root.shape}; only a scalar has a gradient without a seed",
                help="give a seed of that shape, e.g. seed=np.ones(...)",
            )
        roots = Gradients(made.root, list(made.wrt.values()), seed).roots
        self.staged = Staged(roots, cut, program.length, program.settings.dtype, made.scope.limits, moves=program.moves)
        given = [*made.leaves, *([] if seed is None else [seed])]
        self.leaves = [self.staged.leaves.get(leaf) for leaf in given]  # None for what no result depends on


@lru_cache(_KEPT)
def _lowered(program: Program) -> Lowered:
    return Lowered(program)
