"""How a function of each library runs on tensors of ours."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gradcli.functions.arguments import Subject
from gradcli.functions.tracing.exact import Run
from gradcli.functions.tracing.numpy_arrays import Traced, new_arrays, new_tensors
from gradcli.functions.tracing.passage import Passage
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


def runs_of(subject: Subject, by: str | None) -> list[Run]:
    """A function that takes the libraries' own arrays, as one of tensors: ways to run it, the one
    that says most first.
    """
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
        return [
            _tensor_of(part)
            for part in subject(instead={name: Traced(x, passage) for name, x in tensors.items()})
        ]

    return run


def _tensor_of(part: Any) -> Any:
    return part.tensor if isinstance(part, Traced) else part


def _torch(subject: Subject) -> Run:
    from gradcli.functions.tracing.torch_functions import numbers_of, torch_functions

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        with torch_functions(passage) as chosen:
            result = [numbers_of(part) for part in subject(instead=tensors)]
        if state.recorder is not None:
            state.recorder.further |= chosen
        return result

    return run


def _jax(subject: Subject) -> Run:
    from gradcli.functions.tracing.jaxprs import evaluate_jaxpr

    programs: list[Any] = []

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        jax = import_module("jax")
        if not programs:  # which is the same for all numbers
            flat = jax.make_jaxpr(lambda given: subject(instead=given))
            programs.append(flat({name: jax.numpy.asarray(x.array) for name, x in tensors.items()}))
        (program,) = programs
        # JAX sorts a dictionary by its names
        found = evaluate_jaxpr(
            program.jaxpr,
            program.consts,
            [Traced(tensors[name], passage) for name in sorted(tensors)],
            passage,
        )
        return [_tensor_of(part) for part in found]

    return run
