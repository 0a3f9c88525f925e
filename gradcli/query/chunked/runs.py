"""An expression on arrays past memory: chunk by chunk, by whoever computes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.check.verdicts import Check
from gradcli.chunks.stages import Stage, Staged
from gradcli.errors import GradcliError, UsageError
from gradcli.files.npy import unreadable
from gradcli.files.stores import Store, store_at
from gradcli.graph.nodes import Expr
from gradcli.ops.cutting import Uncut
from gradcli.ops.registry import find
from gradcli.plans.source import Gradients
from gradcli.query.chunked.executors import Here
from gradcli.query.interface import evaluate
from gradcli.query.specialized import Instance, Settings, Spec, with_deciding

# -- What is done for a stage in whatever process does it: the results of one chunk, what chunks
# come together to, what all have in common.


TOGETHER = 8  # chunk results that are folded together at once


def of_chunk(program: Program, stage: int, extent: int, values: Sequence[Any]) -> list[Any]:
    """Return the results of a stage for a chunk, folds first.

    ``values`` are the stage's inputs, cut to the chunk, or functions that read them.
    """
    lowered = program.stages
    dtype = lowered.made.dtype
    values = [np.asarray(value() if callable(value) else value) for value in values]
    values = [
        value if value.dtype.kind == "b" else value.astype(dtype, copy=False) for value in values
    ]
    with np.errstate(all="ignore"):
        found = lowered.staged.chunk_plan(stage, extent)([value[()] for value in values])
    return [np.array(part) for part in found]  # copies, because a plan reuses its arrays


def fold_parts(names: Sequence[str], parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return what the results of neighbouring chunks come together to."""
    with np.errstate(all="ignore"):
        return [
            reduce(find(name), column)
            for name, column in zip(names, zip(*parts, strict=True), strict=False)
        ]


def in_common(
    program: Program, wanted: Sequence[int], known: Sequence[int], values: Sequence[Any]
) -> list[Any]:
    """Return the values of nodes that all chunks have in common, from those of others.

    The nodes are given by number (`Staged.nodes_numbered`).
    """
    staged = program.stages.staged
    with np.errstate(all="ignore"):
        found = staged.common_plan(staged.nodes_numbered(wanted), staged.nodes_numbered(known))(
            [np.asarray(value)[()] for value in values]
        )
    return [np.array(part) for part in found]


def region(axis: int, start: int | None, stop: int | None) -> tuple[slice, ...]:
    """Return the region of entries along one axis, whole along the others."""
    return (*(slice(None),) * axis, slice(start, stop))


class Walk:
    """The stages of a program, gone through in order.

    Whoever does it says how chunks are computed, and whether functions are called at once or later.

    ends    of the chunks along the cut, their begin and end
    cut     the nodes that chunks have parts of, each with its array
    known   what all chunks have in common, each with its value
    slices  gives the parts of a cut node's array that chunks take
    chunks  gives what the chunks of a stage give, folds first, from its number and its inputs
    """

    slices: Callable[[Expr], list[Any]]
    chunks: Callable[[int, Stage, list[list[Any]]], Sequence[Any]]

    def __init__(
        self, program: Program, extents: Sequence[int], given: Mapping[str, Any], seed: Any
    ) -> None:
        self.staged = program.stages.staged
        self.sent: Any = program  # the program, in the form that tasks take
        self.count = len(extents)
        self.ends = list(pairwise(accumulate(extents, initial=0)))
        self.cut: dict[Expr, Any] = {}
        self.known: dict[Expr, Any] = {}
        for leaf, value in program.stages.take(given, seed):
            (self.known if self.staged.axis_of(leaf) is None else self.cut)[leaf] = value

    def call(self, function: Callable[..., list[Any]], results: int, *arguments: Any) -> Any:
        """Return the results of a function; ``results`` is their number."""
        return function(*arguments)

    def share(self, value: Any) -> Any:
        """Return a value that all chunks take, as they take it."""
        return value

    def go(self) -> None:
        """Go through all stages."""
        for number, stage in enumerate(self.staged.stages):
            if not stage.outputs:
                continue
            columns = [self._column(given.node, given.axis) for given in stage.inputs]
            parts = self.chunks(
                number, stage, [[column[i] for column in columns] for i in range(self.count)]
            )
            names = list(stage.folds.values())
            while names and len(parts) > 1:  # fold as a tree: rounding grows with the logarithm
                parts = [
                    self.call(fold_parts, len(names), names, parts[i : i + TOGETHER])
                    for i in range(0, len(parts), TOGETHER)
                ]
            self.known |= {node: parts[0][place] for place, node in enumerate(stage.folds)}

    def _column(self, node: Expr, axis: int | None) -> list[Any]:
        """Return what each chunk takes for an input of its plan."""
        if node in self.cut:
            return self.slices(node)
        (value,) = self.common([node])
        if axis is None:
            return [self.share(value)] * self.count
        return [value[region(axis, *pair)] for pair in self.ends]

    def common(self, wanted: Sequence[Expr]) -> list[Any]:
        """Return the values of nodes that all chunks have in common."""
        open_ = [node for node in dict.fromkeys(wanted) if node not in self.known]
        if open_:
            needed = self.staged.needed_nodes(open_, self.known)
            numbers = [node.index for node in open_], [node.index for node in needed]
            found = self.call(
                in_common, len(open_), self.sent, *numbers, [self.known[node] for node in needed]
            )
            self.known |= {node: found[place] for place, node in enumerate(open_)}
        return [self.known[node] for node in wanted]


class ChunkRun(Walk):
    """Function of values some of which are stores.

    The stores are cut along one axis, and an executor computes their chunks now.
    """

    def __init__(
        self,
        settings: Settings,
        values: Mapping[str, Any],
        seed: Any,
        executor: Here,
        at_once: int,
    ) -> None:
        """``at_once``: bytes that are read for a chunk, and as many that it gives.

        Raises UsageError for what needs all chunks at once.
        """
        self.settings = settings
        self.values = dict(values)
        self.seed = seed
        self.executor = executor
        stores = {
            name: value
            for name, value in values.items()
            if isinstance(value, Described) and value.shape
        }
        if not stores:
            raise UsageError(
                "there is no array to go through chunk by chunk",
                help="bind one that a file holds: x=@x.zarr",
            )
        self.program = self._program(stores)
        self.axes = {value.name: value.axis for value in self.program.values}
        self.values |= {
            name: executor.once(value.read)
            for name, value in self.values.items()
            if isinstance(value, Described) and self.axes[name] is None
        }
        super().__init__(self.program, self._extents(stores, at_once), self.values, seed)

    # -- the cut

    def _program(self, stores: Mapping[str, Described]) -> Program:
        """Return the program, cut along the first axis that is possible."""
        first = max(stores, key=lambda name: math.prod(stores[name].shape))
        reasons: list[Uncut] = []
        known = {name: value for name, value in self.values.items() if name not in stores}
        seed = None if self.seed is None else (tuple(self.seed.shape), None)
        for axis, length in enumerate(stores[first].shape):
            axes = {
                name: store.shape.index(length)
                for name, store in stores.items()
                if length in store.shape
            } | {first: axis}
            values = [
                Spec(name, tuple(value.shape), _kind(value.dtype, self.settings), axes.get(name))
                for name, value in self.values.items()
            ]
            try:
                return program_of(self.settings, values, length, seed, known)
            except Uncut as reason:
                reasons.append(reason)
        raise UsageError(
            f"this cannot be computed chunk by chunk: {reasons[0]}",
            help="leave --on out, if memory holds it",
        )

    def _extents(self, stores: Mapping[str, Described], at_once: int) -> list[int]:
        """Return the extents of chunks along the cut.

        Each covers some whole chunks of the stores, and no more bytes than may be held at once.
        """
        cut = {name: axis for name, axis in self.axes.items() if axis is not None}
        row = sum(
            math.prod(stores[name].shape) * 8 // max(1, stores[name].shape[axis])
            for name, axis in cut.items()
        )
        steps = max([stores[name].chunks[axis] for name, axis in cut.items()], default=1)
        most = max(1, at_once // max(1, row))
        step = max(1, most // steps) * steps if steps <= most else most
        length = self.program.length
        return [min(step, length - start) for start in range(0, length, step)] or [0]

    # -- the work

    @property
    def steps(self) -> int:
        """Return how many chunks are computed in all stages."""
        return self.count * sum(bool(stage.outputs) for stage in self.staged.stages)

    def named_results(self) -> list[tuple[str, Expr]]:
        """Return the results: ``value``, and the names to differentiate by."""
        return list(zip(["value", *self.program.stages.wrt], self.staged.results, strict=True))

    def results(self) -> dict[str, tuple[tuple[int, ...], int | None]]:
        """Return the results by name with their shapes, and the axis along which each is cut."""
        return {
            name: (node.shape, self.staged.axis_of(node)) for name, node in self.named_results()
        }

    def chunks_of(self, name: str) -> tuple[int, ...]:
        """Return the extents of the regions in which a result comes."""
        shape, axis = self.results()[name]
        return shape if axis is None else (*shape[:axis], self.ends[0][1], *shape[axis + 1 :])

    def run(
        self,
        targets: Mapping[str, Callable[[tuple[slice, ...], np.ndarray], object]],
        told: Callable[[], None],
    ) -> dict[str, Any]:
        """Compute everything, and return the results that are not cut.

        Results that are cut go to their targets. ``told`` is called for each chunk that is done.
        Raises LimitError for a result that is cut and has no target, and any error of the
        computation.
        """
        self.targets = targets
        self.told = told
        self.go()
        whole = [
            (name, node) for name, node in self.named_results() if self.staged.axis_of(node) is None
        ]
        found = self.common([node for _, node in whole])
        return {name: np.asarray(value)[()] for (name, _), value in zip(whole, found, strict=True)}

    def share(self, value: Any) -> Any:
        return self.executor.everywhere(value)

    def slices(self, node: Expr) -> list[Any]:
        axis = self.staged.axis_of(node)
        assert axis is not None
        return [partial(self.cut[node].read, axis, *ends) for ends in self.ends]

    def chunks(self, number: int, stage: Stage, inputs: list[list[Any]]) -> list[Any]:
        tasks = (
            (of_chunk, self.sent, number, stop - start, inputs[i])
            for i, (start, stop) in enumerate(self.ends)
        )
        found = []
        for i, results in enumerate(self.executor.each(tasks)):
            for node, array in zip(stage.cut, results[len(stage.folds) :], strict=True):
                axis = self.staged.axis_of(node)
                assert axis is not None
                for name, result in self.named_results():
                    if result is node:
                        self.targets[name](region(axis, *self.ends[i]), array)
            found.append(results[: len(stage.folds)])
            self.told()
        return found


def _kind(dtype: Any, settings: Settings) -> str:
    """Return the dtype in which a value is used in computations."""
    found = np.dtype(dtype)
    return found.str if found.kind in "iub" else settings.float_dtype.str


# -- What chunks are read from: regions of stores, which are opened where they are read, in this
# process or on another machine.


_OPEN = 32  # stores that a process keeps open, at most


@dataclass(frozen=True)
class Described:
    """Facts about a store that are known before it is read.

    stamp  its size and the time of its last change: it is to be the same to the end
    """

    path: str
    key: str | None
    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    stamp: tuple[int, ...]

    def read(self, axis: int = 0, start: int | None = None, stop: int | None = None) -> np.ndarray:
        """Entries along one axis, whole along the others: all of it, unless some are asked for."""
        store = _open(self.path, self.key, self.stamp)
        return store.read(region(axis, start, stop) if self.shape else ())


def describe_store(path: str, key: str | None) -> Described:
    """Return the store in a file or folder, as it is seen from here; raise InputError."""
    try:
        stamp = _stamp(path)
        store = _open(path, key, stamp)
    except OSError as error:
        raise unreadable(error, path) from None
    return Described(path, key, store.shape, store.dtype.str, store.chunks, stamp)


def _stamp(path: str) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


@lru_cache(_OPEN)
def _open(path: str, key: str | None, stamp: tuple[int, ...]) -> Store:
    return store_at(Path(path), path, key)


# -- What a process is told so that it makes the same stages as every other: a program, shapes, and
# where its values are cut.


_KEPT = 64  # programs that a process remembers, at most


@dataclass(frozen=True)
class Program:
    """A program to be computed chunk by chunk. Equal ones make equal stages in every process.

    settings  of its function, which is made again in another process
    values    of its names, in their order
    length    of the axis that is cut
    seed      the shape of the vector of the vector-Jacobian product, and the axis along which it is
              cut; None without one
    """

    settings: Settings
    values: tuple[Spec, ...]
    length: int
    seed: tuple[tuple[int, ...], int | None] | None = None

    @property
    def stages(self) -> Lowered:
        """Its stages here, or what keeps them from being made."""
        return _lower(self)


def program_of(
    settings: Settings,
    values: Sequence[Spec],
    length: int,
    seed: tuple[tuple[int, ...], int | None] | None,
    known: Mapping[str, Any],
) -> Program:
    """Return a program that has stages.

    Known values become part of it where they decide the computation. Raises Uncut for operations
    that need all chunks at once, and GradcliError for a program without a result.
    """

    def make(values: tuple[Spec, ...]) -> Program:
        program = Program(settings, values, length, seed)
        _lower(program)
        return program

    return with_deciding(make, values, known)


class Lowered:
    """The stages of a program, and what they take and give by name."""

    def __init__(self, program: Program) -> None:
        self.made = made = Instance(program.settings, program.values)
        cut = {
            made.scope.leaves[v.name]: v.axis
            for v in program.values
            if v.axis is not None and v.name in made.names
        }
        self.wrt = list(made.wrt)
        shape, axis = program.seed or (None, None)
        seed = made.seed(shape)
        if seed is not None and axis is not None:
            cut[seed] = axis
        roots = Gradients(made.root, list(made.wrt.values()), seed).roots
        self.staged = Staged(roots, cut, program.length, program.settings.dtype, made.scope.limits)
        self._leaves = [*made.leaves, *([] if seed is None else [seed])]

    def take(self, given: Mapping[str, Any], seed: Any) -> list[tuple[Expr, Any]]:
        """Return the leaves of the stages that results depend on, each with its value.

        The values are given by name.
        """
        made = self.made
        values = [
            *(given[name] for name in made.names),
            *made.fixed,
            *([] if seed is None else [seed]),
        ]
        pairs = [
            (self.staged.leaves.get(leaf), value)
            for leaf, value in zip(self._leaves, values, strict=True)
        ]
        return [
            (
                leaf,
                value
                if isinstance(value, Described) or value.dtype.kind not in "iu"
                else value.astype(made.dtype),
            )
            for leaf, value in pairs
            if leaf is not None
        ]


_lower = lru_cache(_KEPT)(Lowered)


# -- What of a run past memory is held to the reference: the same program on the first entries along
# the cut.


_ENTRIES = 1 << 10  # entries read along the cut, over all arrays together
_WHOLE = 1 << 20  # most entries of an uncut array that is held to the reference


class NotHeld(Exception):
    """Why no part of a run can be held to the reference."""


def check_of_first(run: ChunkRun) -> tuple[int, Check]:
    """Return how many entries along the cut were held to the reference, and the verdict on them.

    Raises NotHeld.
    """
    settings: Any = run.settings
    length = run.program.length
    row = sum(
        math.prod(value.shape) // max(1, length)
        for value in run.program.values
        if value.axis is not None
    )
    count = min(length, max(1, _ENTRIES // max(1, row)))
    values = {name: _first(run, value, run.axes[name], count) for name, value in run.values.items()}
    seed = None if run.seed is None else _first(run, run.seed, None, count)
    try:
        whole: Any = evaluate(
            settings.expression, at=values, seed=seed, wrt=settings.wrt, dtype=settings.dtype, random_state=settings.random_state,
            limits=run.program.stages.made.scope.limits, dialect=settings.dialect, formula=False,
        )  # fmt: skip
    except GradcliError as error:
        raise NotHeld(error.message) from None
    if whole.check is None:
        raise NotHeld("there is no reference of it")
    return count, whole.check


def _first(run: ChunkRun, value: Any, axis: int | None, count: int) -> np.ndarray:
    """Return the first entries of a value along the cut.

    If all chunks have the value in common, they are those along the axis that is as long as the
    cut. Raises NotHeld for a large one.
    """
    if axis is not None:
        return np.asarray(run.executor.once(value.read, axis, 0, count))
    length = run.program.length
    along = value.shape.index(length) if length in value.shape else None
    found: np.ndarray = value if along is None else value[region(along, 0, count)]
    if found.size > _WHOLE:
        raise NotHeld("an array that is not cut is large")
    return found
