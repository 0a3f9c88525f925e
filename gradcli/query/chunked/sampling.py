"""What of a run past memory is held to the reference: the same program on the first entries along the cut, at once and in chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.query.chunked.executors import Here
from gradcli.query.chunked.runs import ChunkRun
from gradcli.query.chunked.sources import Described
from gradcli.query.interface import evaluate, evaluated
from gradcli.report.verdicts import Check, Verdict

_ENTRIES = 1 << 10  # that are read along the cut, of all arrays together
_WHOLE = 1 << 20  # entries of an array that is read although it is not cut
_CHUNKS = 3
_ALIKE = {"float32": 1e-4, "float64": 1e-11}  # of the largest entry: sums are added in another order


@dataclass(frozen=True)
class Held(Described):
    """An array in the place of a store."""

    array: Any = field(default=None, compare=False)

    def read(self, axis: int, start: int, stop: int) -> np.ndarray:
        found: np.ndarray = self.array[(slice(None),) * axis + (slice(start, stop),)]
        return found


class NotHeld(Exception):
    """Why no part of a run can be held to the reference."""


def check_of_first(run: ChunkRun, expression: str, executor: Here, wrt: Iterable[str] | None, dialect: Any) -> tuple[int, Check]:
    """How many entries along the cut were held to the reference, and the verdict on them. Raises NotHeld."""
    settings, length = run.settings, run.program.length
    axes = {value.name: value.axis for value in run.program.values}
    row = sum(prod(value.shape) // max(1, length) for value in run.program.values if value.axis is not None)
    count = min(length, max(_CHUNKS, _ENTRIES // max(1, row)))
    values = {name: _first(value, axes[name], length, count, executor) for name, value in run.values.items()}
    seed = None if run.seed is None else _first(run.seed, None, length, count, executor)
    try:
        whole = evaluated(
            evaluate, expression, {}, at=values, seed=seed, wrt=None if wrt is None else list(wrt), dtype=settings.float_dtype.name,
            random_state=run.state, limits=run.program.lowered.made.scope.limits, dialect=dialect, formula=False,
        )  # fmt: skip
    except GradcliError as error:
        raise NotHeld(error.message) from None
    if whole.check is None:
        raise NotHeld("there is no reference of it")
    stores = {
        name: Held("", None, value.shape, value.dtype.str, value.shape, (), value) if axes[name] is not None else value
        for name, value in values.items()
    }
    in_chunks = _in_memory(ChunkRun(settings, stores, seed, run.state, max(8, 8 * row * count // _CHUNKS)))
    for name, found in {"value": whole.value, **(whole.grad or {})}.items():
        wanted = np.asarray(found, float)
        apart = np.abs(np.asarray(in_chunks[name], float) - wanted)
        if not np.all((apart <= _ALIKE[settings.float_dtype.name] * np.max(np.abs(wanted), initial=0)) | (apart != apart)):
            what = "the value" if name == "value" else f"the gradient of {name}"
            return count, Check(Verdict.MISMATCH, reason=f"{what} of the first {count:,} entries is another in chunks than at once")
    return count, whole.check


def _first(value: Any, axis: int | None, length: int, count: int, executor: Here) -> np.ndarray:
    """The first entries of a value along the cut; of one that all chunks have in common, along the axis that is as long."""
    if isinstance(value, Described):
        if axis is not None:
            return np.asarray(executor.once(Described.read, value, axis, 0, count))
        if prod(value.shape) > _WHOLE:
            raise NotHeld("an array that is not cut is large")
        return np.asarray(executor.once(Described.whole, value))
    along = value.shape.index(length) if length in value.shape else None
    found: np.ndarray = value if along is None else value[(slice(None),) * along + (slice(count),)]
    return found


def _in_memory(run: ChunkRun) -> dict[str, Any]:
    """The results of a run that memory holds."""
    cut = {name: Entries(np.empty(shape, run.settings.float_dtype)) for name, (shape, axis) in run.results().items() if axis is not None}
    with Here(1) as here:
        found = run.run(here, cut, lambda: None)
    return {**found, **{name: target.array for name, target in cut.items()}}


class Entries:
    """A result that memory holds, as what takes it by regions."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def write(self, region: tuple[slice, ...], array: np.ndarray) -> None:
        self.array[region] = array
