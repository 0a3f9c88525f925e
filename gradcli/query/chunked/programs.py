"""What a process is told so that it makes the same stages as every other: a program, shapes, and where its values are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradcli.chunks.stages import Staged
from gradcli.errors import EvaluationError, ShapeError, UsageError
from gradcli.plans.source import Gradients
from gradcli.query.instances import Asked, Instance

_KEPT = 64  # programs that a process remembers


class Value(NamedTuple):
    """What is known of a value everywhere: its name, shape and dtype, the axis along which it is cut, and where it decides what is
    computed, its bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    axis: int | None
    content: bytes | None = None

    def example(self) -> np.ndarray:
        """The value, or an array of zeros in its place, which takes no memory."""
        if self.content is not None:
            return np.frombuffer(self.content, self.dtype).reshape(self.shape)
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)


@dataclass(frozen=True)
class Program:
    """A program to be computed chunk by chunk. Equal ones make equal stages in every process.

    made_of   what its function is made of, which tells equal ones
    function  the function, which is made again in another process
    values    of its names, in their order
    length    of the axis that is cut
    seed      the shape of the vector of the vector-Jacobian product, and the axis along which it is cut; None without one
    state     of random numbers
    moves     whether entries may go from chunk to chunk
    version   of gradcli where it was made
    """

    made_of: tuple[Any, ...]
    function: Asked = field(compare=False)
    values: tuple[Value, ...]
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
    function: Asked,
    values: Sequence[Value],
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
    program = Program(function.made_of, function, tuple(values), length, seed, state, moves, version)
    try:
        program.hold()
    except UsageError:
        examples = {value.name: known.get(value.name, value.example()) for value in values}
        deciding = Instance(function, examples, [value.name for value in values if value.name not in known], state).consulted
        if not deciding:
            raise
        content = {name: known[name].tobytes() for name in deciding}
        program = replace(program, values=tuple(value._replace(content=content.get(value.name)) for value in values))
        program.hold()
    return program


class Lowered:
    """The stages of a program, and what they take and give by name."""

    def __init__(self, program: Program) -> None:
        function = program.function
        examples = {value.name: value.example() for value in program.values}
        unknown = [value.name for value in program.values if value.content is None]
        self.made = made = Instance(function, examples, unknown, program.state)
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
        self.staged = Staged(roots, cut, program.length, function.dtype, made.scope.limits, moves=program.moves)
        given = [*made.leaves, *([] if seed is None else [seed])]
        self.leaves = [self.staged.leaves.get(leaf) for leaf in given]  # None for what no result depends on


@lru_cache(_KEPT)
def _lowered(program: Program) -> Lowered:
    return Lowered(program)
