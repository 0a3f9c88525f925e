"""How a function of each library runs on tensors of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.subject import Subject, parts_of
from gradcli.functions.tracing.exact import Run
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor

Decisions = dict[str, None]


def run_of(subject: Subject, by: str | None) -> Run:
    """A function that takes the libraries' own arrays, as one of tensors."""
    runs = {"torch": _torch, "jax": _jax}
    return runs.get(by or "", _numpy)(subject)


def _numpy(subject: Subject) -> Run:
    """NumPy's functions take traced arrays, and so do autograd's, which call them."""

    def run(tensors: Mapping[str, Tensor]) -> tuple[list[Any], Sequence[str]]:
        decisions: Decisions = {}

        def make(name: str, value: Any, numbers: np.ndarray) -> Any:
            return Traced(tensors[name], decisions) if name in tensors else numbers.copy()

        result = subject(make=make)
        return [part.tensor if isinstance(part, Traced) else part for part in _together(parts_of(result), decisions)], list(decisions)

    return run


def _together(parts: list[Any], decisions: Decisions) -> list[Any]:
    """Parts of a result; an array of objects that NumPy has made of traced numbers is an array of these."""
    found = []
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype == object and all(isinstance(x, Traced) for x in part.ravel()):
            found.append(np.reshape(np.stack(list(part.ravel())), part.shape))
        else:
            found.append(part)
    return found


def _torch(subject: Subject) -> Run:
    from gradcli.functions.tracing.torch_functions import torch_functions

    def run(tensors: Mapping[str, Tensor]) -> tuple[list[Any], Sequence[str]]:
        def make(name: str, value: Any, numbers: np.ndarray) -> Any:
            return tensors[name] if name in tensors else subject.make(name, value, numbers)

        with torch_functions() as chosen:
            result = parts_of(subject(make=make))
        if state.recorder is not None:
            state.recorder.further |= chosen
        return result, ()

    return run


def _jax(subject: Subject) -> Run:
    from gradcli.functions.tracing.jaxprs import evaluated

    def run(tensors: Mapping[str, Tensor]) -> tuple[list[Any], Sequence[str]]:
        jax = import_module("jax")
        decisions: Decisions = {}

        def flat(given: dict[str, Any]) -> list[Any]:
            def make(name: str, value: Any, numbers: Any) -> Any:
                return numbers if name in given else subject.make(name, value, numbers)

            return parts_of(subject(given, make))

        program = jax.make_jaxpr(flat)({name: jax.numpy.asarray(x.array) for name, x in tensors.items()})
        # JAX sorts a dictionary by its names
        found = evaluated(program.jaxpr, program.consts, [Traced(tensors[name], decisions) for name in sorted(tensors)])
        return [part.tensor if isinstance(part, Traced) else part for part in found], list(decisions)

    return run
