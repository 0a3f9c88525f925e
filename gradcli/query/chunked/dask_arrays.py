"""Functions of Dask's arrays: a lazy value and lazy gradients, whose tasks are plans on chunks.

Dask runs them, here or on a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.chunks.stages import Stage
from gradcli.errors import InputTypeError, UsageError
from gradcli.graph.nodes import Expr
from gradcli.ops.calling.inputs import numbers
from gradcli.ops.cutting import Uncut
from gradcli.query.chunked.runs import Program, Walk, of_chunk, program_of
from gradcli.query.specialized import Settings, Spec

Given = dict[str, Any]
_SEED = ""  # key of the seed among the values


def lazily(
    settings: Settings, bindings: Mapping[str, Any], seed: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the value of a function and its gradients, as arrays of Dask's.

    One axis is cut, in every array that has it. Raises UsageError for arrays that are cut in
    another way, and for operations that need all chunks at once.
    """
    given = {name: _as_floats(value, settings.float_dtype) for name, value in bindings.items()}
    if seed is not None:
        given[_SEED] = _as_floats(
            seed if is_lazy(_SEED, seed) else numbers(seed, "the seed"), settings.float_dtype
        )
    axes = _axes(given)
    given, extents = _unify_chunks(given, axes)
    program = _program(settings, given, axes, sum(extents))
    tasks = _Tasks(program, extents, given, given.get(_SEED))
    tasks.go()
    value, *gradients = [tasks.result(node) for node in tasks.staged.results]
    return value, dict(zip(program.stages.wrt, gradients, strict=True))


def is_lazy(name: str, value: Any) -> bool:
    """Return whether a value is an array of Dask's. Raises InputTypeError for other collections."""
    if not hasattr(value, "__dask_graph__"):
        return False
    if not isinstance(getattr(value, "chunks", None), tuple):
        raise InputTypeError(
            f"{_printable_name(name)} is a {type(value).__name__} of Dask's, not an array",
            help="x.to_dask_array(lengths=True) or dask.array.from_delayed makes one",
        )
    return True


def _as_floats(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a value in the function's precision, as calls take it.

    Whole numbers and booleans stay as they are.
    """
    if value.dtype.kind not in "fiub":
        raise UsageError(f"arrays of {value.dtype} are no real numbers")
    return value if value.dtype.kind in "iub" or value.dtype == dtype else value.astype(dtype)


# -- where arrays are cut


def _axes(given: Given) -> dict[str, int]:
    """Return the axis along which each Dask array is cut, for those that are."""
    axes: dict[str, int] = {}
    lazy = {name: value for name, value in given.items() if is_lazy(name, value) and value.ndim}
    for name, value in lazy.items():
        if any(math.isnan(extent) for extents in value.chunks for extent in extents):
            raise UsageError(
                f"{_printable_name(name)} has chunks of unknown sizes",
                help=f"call {name or 'seed'}.compute_chunk_sizes() before",
            )
        cut = [axis for axis, count in enumerate(value.numblocks) if count > 1]
        if len(cut) > 1:
            raise UsageError(
                f"{_printable_name(name)} is cut along the axes {', '.join(map(str, cut))}, but "
                "only one axis can be",
                help=f"{name or 'seed'}.rechunk({{{cut[0]}: -1}}) is not cut along axis {cut[0]}",
            )
        if cut:
            axes[name] = cut[0]
    lengths = {given[name].shape[axis] for name, axis in axes.items()}
    if len(lengths) > 1:
        raise UsageError(
            f"arrays are cut along axes of {' and '.join(map(str, sorted(lengths)))} entries: "
            "only one axis can be cut",
            help="rechunk(-1) makes one chunk of an array",
        )
    return axes


def _printable_name(name: str) -> str:
    return f"'{name}'" if name else "the seed"


def _unify_chunks(given: Given, axes: Mapping[str, int]) -> tuple[Given, tuple[int, ...]]:
    """Return the arrays with the chunks of the one that has most, and the extents of the chunks.

    The extents are those along the cut.
    """
    if not axes:
        return given, ()
    finest = max(axes, key=lambda name: len(given[name].chunks[axes[name]]))
    extents = given[finest].chunks[axes[finest]]
    return {
        name: value.rechunk({axes[name]: extents})
        if name in axes and value.chunks[axes[name]] != extents
        else value
        for name, value in given.items()
    }, extents


# -- the program


def _program(settings: Settings, given: Given, axes: Mapping[str, int], length: int) -> Program:
    values = tuple(
        Spec(name, tuple(value.shape), value.dtype.str, axes.get(name))
        for name, value in given.items()
        if name != _SEED
    )
    seed = (tuple(given[_SEED].shape), axes.get(_SEED)) if _SEED in given else None
    known = {
        name: value for name, value in given.items() if name != _SEED and not is_lazy(name, value)
    }
    try:
        return program_of(settings, values, length, seed, known)
    except Uncut as reason:
        cut = next(iter(axes), "") or "seed"
        raise UsageError(
            f"this cannot be computed chunk by chunk: {reason}",
            help=f"cut another axis, or none: {cut}.rechunk(-1) is one chunk, if memory holds it",
        ) from None


# -- tasks


class _Tasks(Walk):
    """The stages of a program as Dask's tasks.

    Known values are tasks, and cut values are arrays of Dask's. ``results`` are the tasks that
    compute the chunks of results that are cut.
    """

    def __init__(self, program: Program, extents: Sequence[int], given: Given, seed: Any) -> None:
        super().__init__(program, extents, given, seed)
        self.dtype = program.stages.made.dtype
        self.delayed = import_module("dask").delayed
        self.sent = self.delayed(program, pure=True)
        # Delayed, so that each value is sent once, however many tasks take it.
        self.known = {leaf: self.delayed(value, pure=True) for leaf, value in self.known.items()}
        self.results: dict[Expr, list[Any]] = {}

    def call(self, function: Callable[..., list[Any]], results: int, *arguments: Any) -> Any:
        return self.delayed(function, pure=True, nout=results)(*arguments)

    def slices(self, node: Expr) -> list[Any]:
        return list(self.cut[node].to_delayed().ravel())

    def chunks(self, number: int, stage: Stage, inputs: list[list[Any]]) -> list[Any]:
        found = []
        for i in range(self.count):
            start, stop = self.ends[i]
            found.append(
                self.call(of_chunk, len(stage.outputs), self.sent, number, stop - start, inputs[i])
            )
        for place, node in enumerate(stage.cut, len(stage.folds)):
            self.results[node] = [chunk[place] for chunk in found]
        return found

    def result(self, node: Expr) -> Any:
        """Return a result as an array of Dask's."""
        da = import_module("dask.array")
        axis = self.staged.axis_of(node)
        if axis is None:
            (value,) = self.common([node])
            return da.from_delayed(value, node.shape, self.dtype)
        shapes = [
            (*node.shape[:axis], stop - start, *node.shape[axis + 1 :]) for start, stop in self.ends
        ]
        chunks = [
            da.from_delayed(chunk, shape, self.dtype)
            for chunk, shape in zip(self.results[node], shapes, strict=True)
        ]
        return da.concatenate(chunks, axis)
