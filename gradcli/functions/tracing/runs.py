"""How a function of each library runs on tensors of ours."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.arguments import Subject, parts_of
from gradcli.functions.tracing.exact import Run
from gradcli.functions.tracing.numpy_arrays import Traced, new_arrays, new_tensors
from gradcli.functions.tracing.passage import Passage
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


def runs_of(subject: Subject, by: str | None) -> list[Run]:
    """A function that takes the libraries' own arrays, as one of tensors: ways to run it, the one that says most first."""
    if by == "jax":
        return [_jax(subject)]
    run, making = (_torch(subject), new_tensors) if by == "torch" else (_numpy(subject), new_arrays)

    def with_new_arrays(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        with making(passage):  # arrays that the function makes can hold what is traced
            return run(tensors, passage)

    return [with_new_arrays, run]


def _numpy(subject: Subject) -> Run:
    """NumPy's functions take traced arrays, and so do autograd's, which call them."""

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        def make(name: str, value: Any, numbers: np.ndarray) -> Any:
            return Traced(tensors[name], passage) if name in tensors else numbers.copy()

        result = subject(make=make)
        return [part.tensor if isinstance(part, Traced) else part for part in parts_of(result)]

    return run


def _torch(subject: Subject) -> Run:
    from gradcli.functions.tracing.torch_functions import numbers_of, torch_functions

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        def make(name: str, value: Any, numbers: np.ndarray) -> Any:
            return tensors[name] if name in tensors else subject.make(name, value, numbers)

        with torch_functions(passage) as chosen:
            result = [numbers_of(part) for part in parts_of(subject(make=make))]
        if state.recorder is not None:
            state.recorder.further |= chosen
        return result

    return run


def _jax(subject: Subject) -> Run:
    from gradcli.functions.tracing.jaxprs import evaluated

    programs: list[Any] = []

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        jax = import_module("jax")

        def flat(given: dict[str, Any]) -> list[Any]:
            def make(name: str, value: Any, numbers: Any) -> Any:
                return numbers if name in given else subject.make(name, value, numbers)

            return parts_of(subject(given, make))

        if not programs:  # which is the same for all numbers
            programs.append(jax.make_jaxpr(flat)({name: jax.numpy.asarray(x.array) for name, x in tensors.items()}))
        (program,) = programs
        # JAX sorts a dictionary by its names
        found = evaluated(program.jaxpr, program.consts, [Traced(tensors[name], passage) for name in sorted(tensors)], passage)
        return [part.tensor if isinstance(part, Traced) else part for part in found]

    return run
