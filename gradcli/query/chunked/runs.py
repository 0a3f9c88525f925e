"""An expression on arrays past memory: chunk by chunk, by whoever computes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gradcli.chunks.stages import Extents
from gradcli.errors import UsageError
from gradcli.graph.nodes import Expr
from gradcli.ops.cutting import Uncut
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.query.chunked.executors import Executor, Task
from gradcli.query.chunked.sources import Described, Program, Slice, program_of
from gradcli.query.specialized import Settings, Spec

# -- What is done for a stage in whatever process does it: the results of one chunk, what chunks
# come together to, what all have in common.


TOGETHER = 8  # results of chunks that come together at once


def of_chunk(program: Program, stage: int, extents: Extents, values: Sequence[Any]) -> list[Any]:
    """Return what a chunk gives to a stage, folds first; ``values`` are the stage's inputs, cut to the chunk."""
    lowered = program.lowered
    dtype = lowered.made.dtype
    values = [np.asarray(value) for value in values]
    values = [value if value.dtype.kind == "b" else value.astype(dtype, copy=False) for value in values]
    with np.errstate(all="ignore"):
        found = lowered.staged.chunk_plan(stage, extents)([value[()] for value in values])
    return [np.array(part) for part in found]  # a plan writes into its arrays again


def folded_all(names: Sequence[str], parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return what the results of all chunks come together to, as a tree of `folded`."""
    while names and len(parts) > 1:
        parts = [folded(names, parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    return list(parts[0]) if names else []


def folded(names: Sequence[str], parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return what the results of neighbouring chunks come together to, two at a time: rounding grows with the logarithm of their number."""
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


class Target(Protocol):
    """What takes a result by regions."""

    def write(self, region: tuple[slice, ...], array: np.ndarray) -> None: ...


class ChunkRun:
    """A function of values some of which are stores, cut along one axis.

    extents  of the chunks
    """

    def __init__(self, settings: Settings, values: Mapping[str, Any], seed: Any, state: int, at_once: int) -> None:
        """``at_once``: bytes that are read for a chunk, and as many that it gives. Raises UsageError for what needs all chunks at once."""
        self.settings, self.values, self.seed, self.state, self.at_once = settings, dict(values), seed, state, at_once
        stores = {name: value for name, value in values.items() if isinstance(value, Described) and value.shape}
        if not stores:
            raise UsageError("there is no array to go through chunk by chunk", help="bind one that a file holds: x=@x.zarr")
        self.program = self._program(stores, state)
        self.lowered = self.program.lowered
        self.extents = self._extents(stores)
        self.starts = np.cumsum([0, *self.extents[:-1]]).tolist()

    # -- the cut -------------------------------------------------------------------------------------------------------

    def _program(self, stores: Mapping[str, Described], state: int) -> Program:
        """The program cut along the first axis that will do."""
        first = max(stores.values(), key=lambda store: math.prod(store.shape))
        reasons: list[Uncut] = []
        for axis, length in enumerate(first.shape):
            axes = {name: axis if store is first else _axis_of(store, length) for name, store in stores.items()}
            try:
                return self._cut(axes, length, state)
            except Uncut as reason:
                reasons.append(reason)
        raise UsageError(f"this cannot be computed chunk by chunk: {reasons[0]}", help="leave --on out, if memory holds it")

    def _cut(self, axes: Mapping[str, int | None], length: int, state: int) -> Program:
        settings = self.settings
        values = tuple(Spec(name, tuple(value.shape), _kind(value.dtype, settings), axes.get(name)) for name, value in self.values.items())
        seeded = None if self.seed is None else (tuple(self.seed.shape), None)
        known = {name: value for name, value in self.values.items() if name not in axes}
        return program_of(settings, values, length, seeded, state, known)

    def _extents(self, stores: Mapping[str, Described]) -> list[int]:
        """As many entries along the cut as are some chunks of the stores, and no more bytes than are to be held at once."""
        cut = {value.name: value.axis for value in self.program.values if value.axis is not None}
        row = sum(math.prod(stores[name].shape) * 8 // max(1, stores[name].shape[axis]) for name, axis in cut.items())
        steps = max([stores[name].chunks[axis] for name, axis in cut.items()], default=1)
        most = max(1, self.at_once // max(1, row))
        step = max(1, most // steps) * steps if steps <= most else most
        length = self.program.length
        return [min(step, length - start) for start in range(0, length, step)] or [0]

    # -- the work ------------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """How many chunks are computed in all stages."""
        return len(self.extents) * sum(bool(stage.outputs) for stage in self.lowered.staged.stages)

    def results(self) -> dict[str, tuple[tuple[int, ...], int | None]]:
        """The results by name, ``value`` and the names differentiated by, with their shapes, and the axis along which each is cut."""
        staged = self.lowered.staged
        return {name: (node.shape, staged.axis_of(node)) for name, node in zip(["value", *self.lowered.wrt], staged.results, strict=True)}

    def chunks_of(self, name: str) -> tuple[int, ...]:
        """The extents of the regions in which a result comes."""
        shape, axis = self.results()[name]
        return shape if axis is None else (*shape[:axis], self.extents[0], *shape[axis + 1 :])

    def run(self, executor: Executor, targets: Mapping[str, Target], told: Any) -> dict[str, Any]:
        """The results that are not cut; those that are go to their targets. ``told`` is called for each chunk that is done.

        Raises LimitError for a result that is cut and has no target, and whatever computing raises.
        """
        staged, names = self.lowered.staged, ["value", *self.lowered.wrt]
        places = dict(zip(staged.results, names, strict=True))
        known = self._known(executor)
        for number, stage in enumerate(staged.stages):
            if not stage.outputs:
                continue
            wanted = [given.node for given in stage.inputs if staged.axis_of(given.node) is None]
            common = dict(zip(wanted, self._common(known, wanted), strict=True))
            sent = {node: executor.everywhere(value) for node, value in common.items()}
            parts: dict[int, list[Any]] = {}
            for chunk, found in executor.each(self._tasks(number, common, sent)):
                for node, array in zip(stage.cut, found[len(stage.folds) :], strict=True):
                    targets[places[node]].write(self._region(staged.axis_of(node), chunk, len(node.shape)), array)
                parts[chunk] = found[: len(stage.folds)]
                told()
            together = folded_all(list(stage.folds.values()), [parts[chunk] for chunk in range(len(self.extents))])
            known |= dict(zip(stage.folds, together, strict=True))
        whole = [node for node in staged.results if staged.axis_of(node) is None]
        return {places[node]: value[()] for node, value in zip(whole, self._common(known, whole), strict=True)}

    def _known(self, executor: Executor) -> dict[Expr, Any]:
        made, lowered = self.lowered.made, self.lowered
        taken = [*(self.values[name] for name in made.names), *made.fixed, *([] if self.seed is None else [self.seed])]
        self.cut: dict[Expr, Described] = {}
        known: dict[Expr, Any] = {}
        for leaf, value in zip(lowered.leaves, taken, strict=True):
            if leaf is None:
                continue
            if isinstance(value, Described) and lowered.staged.axis_of(leaf) is not None:
                self.cut[leaf] = value
            else:
                known[leaf] = executor.once(Described.whole, value) if isinstance(value, Described) else value
        return known

    def _common(self, known: Mapping[Expr, Any], wanted: Sequence[Expr]) -> list[Any]:
        staged = self.lowered.staged
        open_ = [node for node in dict.fromkeys(wanted) if node not in known]
        needed = staged.needed(open_, known)
        numbers = [node.index for node in open_], [node.index for node in needed]
        found = dict(zip(open_, in_common(self.program, *numbers, [known[n] for n in needed]), strict=True)) if open_ else {}
        return [np.asarray(found[node] if node in found else known[node]) for node in wanted]

    def _tasks(self, number: int, common: Mapping[Expr, Any], sent: Mapping[Expr, Any]) -> Iterator[Task]:
        staged = self.lowered.staged
        for chunk, (start, extent) in enumerate(zip(self.starts, self.extents, strict=True)):
            inputs: list[Any] = []
            for given in staged.stages[number].inputs:
                if given.node in self.cut:
                    assert given.axis is not None
                    inputs.append(Slice(self.cut[given.node], given.axis, start, start + extent))
                elif given.axis is None:
                    inputs.append(sent[given.node])
                else:
                    inputs.append(common[given.node][(slice(None),) * given.axis + (slice(start, start + extent),)])
            yield chunk, _of_chunk, (self.program, number, {self.program.length: extent}, *inputs)

    def _region(self, axis: int | None, chunk: int, rank: int) -> tuple[slice, ...]:
        assert axis is not None
        start, extent = self.starts[chunk], self.extents[chunk]
        return (slice(None),) * axis + (slice(start, start + extent),) + (slice(None),) * (rank - axis - 1)


def _of_chunk(program: Program, stage: int, extents: Extents, *inputs: Any) -> list[Any]:
    """The results of a chunk, wherever it is computed: what it takes from stores is read there."""
    return of_chunk(program, stage, extents, [given.read() if isinstance(given, Slice) else given for given in inputs])


def _axis_of(store: Described, length: int) -> int | None:
    return store.shape.index(length) if length in store.shape else None


def _kind(dtype: Any, settings: Settings) -> str:
    """The dtype in which a value is computed with."""
    found = np.dtype(dtype)
    return found.str if found.kind in "iub" else settings.float_dtype.str
