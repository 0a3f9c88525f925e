"""The decisions of ``gradcli eval --on``: one expression on arrays past memory, chunk by chunk."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.check.verdicts import Check, Verdict
from gradcli.cli.commands import EvalRequest
from gradcli.cli.write.reports import ChunkProgress
from gradcli.errors import UsageError
from gradcli.files.arrays import split_reference
from gradcli.files.stores import SUFFIXES, Sink
from gradcli.limits import Limits
from gradcli.options import limits_of, names_of
from gradcli.query.chunked.executors import Here, executor_on
from gradcli.query.chunked.runs import (
    ChunkRun,
    Described,
    NotHeld,
    check_of_first,
    describe_store,
)
from gradcli.query.programs import Programs
from gradcli.query.specialized import Settings
from gradcli.report.records import Record
from gradcli.storage import real

_MANY = 10_000  # most chunks: more of them would only keep a scheduler busy, and could be larger
# How many chunks fit into the memory limit: a thread holds several at once, being read, computed
# and written.
_OF_MEMORY = 64


def chunked_record(
    request: EvalRequest,
    expression: str,
    bindings: dict[str, str],
    programs_of: Callable[[dict[str, str]], Programs],
    targets: dict[str, str],
) -> Record:
    """Return the record of an expression that is computed chunk by chunk in a place.

    programs_of  makes programs with bindings of arrays that are read whole

    Raises GradcliError.
    """
    limits = limits_of(request)
    with closing(executor_on(request.on or "here", request.threads)) as executor:
        values, seed = _values(bindings, programs_of, executor, request.seed)
        settings = Settings(
            expression,
            names_of(request.wrt),
            request.dtype,
            limits,
            request.dialect,
            request.backend,
            1,
            request.random_state,
        )
        at_once = _at_once(executor, values, limits)
        run = ChunkRun(settings, values, seed, executor, at_once)
        _refuse_targets(run, targets)
        said, check = _cross_check(run) if request.check else ("not cross-checked", None)
        record = Record(expression.strip(), seed=seed, seed_given=seed is not None)
        _compute(run, record, targets, limits)
        record.warnings.append(f"computed in {run.count} chunk{'s' * (run.count != 1)}; {said}")
        record.check = check
        return record


def _cross_check(run: ChunkRun) -> tuple[str, Check | None]:
    """Cross-check a part of the work before the work is done.

    Return what is said of it, and the verdict unless it is that all is right.
    """
    try:
        count, check = check_of_first(run)
    except NotHeld as reason:
        return f"not cross-checked: {reason}", None
    said = (
        f"cross-checked on the first {count:,} of {run.program.length:,} entries along the "
        f"cut: {check.worst.word}"
    )
    return said, None if check.worst is Verdict.AGREE else check


def _at_once(executor: Here, values: dict[str, Any], limits: Limits) -> int:
    """Return the number of bytes of a chunk."""
    whole = sum(
        8 * math.prod(value.shape) for value in values.values() if isinstance(value, Described)
    )
    return min(max(executor.at_once, whole // _MANY), limits.memory // _OF_MEMORY)


def _values(
    bindings: dict[str, str],
    programs_of: Callable[[dict[str, str]], Programs],
    executor: Here,
    seed: str | None,
) -> tuple[dict[str, Any], Any]:
    """Return the values of the bindings, and the seed.

    The contents of files of chunks are described by whoever will read them.
    """
    files = {
        name: split_reference(text[1:], None)
        for name, text in bindings.items()
        if text.startswith("@")
    }
    cut = {
        name: (path, key) for name, (path, key) in files.items() if path.lower().endswith(SUFFIXES)
    }
    programs = programs_of({k: v for k, v in bindings.items() if k not in cut})
    for name in programs.deviations:
        raise UsageError(
            f"'{name}' has a standard deviation, which --on does not propagate",
            help="leave ±, or --on, out",
        )
    values = {name: np.asanyarray(value) for name, value in programs.values.items()}
    for name, (path, key) in cut.items():
        values[name] = executor.once(
            describe_store, os.path.abspath(path) if os.path.exists(path) else path, key
        )
    return values, None if seed is None else np.asarray(
        programs.fresh(0, values={}).constant(seed, "<seed>")
    )


def _refuse_targets(run: ChunkRun, targets: Mapping[str, str]) -> None:
    """Raise UsageError for files that the results cannot go to."""
    results = run.results()
    for name, path in targets.items():
        if name not in results:
            raise UsageError(
                f"--save {name}: the result has no gradient of '{name}'",
                help=f"it has {', '.join(results)}",
            )
        if results[name][1] is not None and not path.lower().endswith(SUFFIXES):
            raise UsageError(
                f"--save {name}={path}: this is not written chunk by chunk",
                help=f"the suffixes are {', '.join(SUFFIXES)}",
            )


def _compute(run: ChunkRun, record: Record, targets: dict[str, str], limits: Limits) -> None:
    """Compute the results.

    Results that are cut and have a target go to files, and their targets are removed. The others go
    into the record. A run that fails or is interrupted leaves no files.
    """
    dtype = run.settings.float_dtype
    sinks: dict[str, Sink] = {}
    arrays: dict[str, np.ndarray] = {}
    takers: dict[str, Callable[..., object]] = {}
    try:
        for name, (shape, axis) in run.results().items():
            if axis is not None and name in targets:
                sinks[name] = sink = Sink(
                    Path(real(targets[name])), name, shape, dtype, run.chunks_of(name)
                )
                takers[name] = sink.write
            elif axis is not None:
                limits.check_array(shape)
                arrays[name] = array = np.empty(shape, dtype)
                takers[name] = array.__setitem__
        with ChunkProgress(sys.stderr.isatty(), run.steps) as progress:
            found = run.run(takers, progress.finish) | arrays
        record.value = found.pop("value", None)
        record.grad = found
        for name, sink in sinks.items():
            sink.finish()
            record.warnings.append(
                f"{'the value' if name == 'value' else f'the gradient of {name}'} is in "
                f"{targets.pop(name)}"
            )
    finally:
        for sink in sinks.values():
            sink.close()
