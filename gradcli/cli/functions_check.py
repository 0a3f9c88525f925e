"""``gradcli check --function``: Python functions named on the command line, and only there."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.checking import outcome_of
from gradcli.errors import GradcliError, UsageError
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest


def function_outcome(request: CheckRequest, fail_on: tuple[str, ...]) -> Outcome:
    """The outcome of checking ``--gradient`` of ``--function`` at the arguments of ``--at``. Raises UsageError."""
    from gradcli.check.functions import check_function

    if not request.function or not request.gradient:
        raise UsageError("--function and --gradient go together", help="gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2")
    arguments, names = _arguments(request)
    sys.path.insert(0, os.getcwd())
    try:
        function, gradient = _loaded(request.function), _loaded(request.gradient)
    finally:
        sys.path.pop(0)
    record = Record(f"{request.function} with the gradient {request.gradient}", id=request.function)
    started = time.perf_counter()
    try:
        record.check, value = check_function(
            function, gradient, arguments, names, request.rtol if request.rtol is not None else 1e-6, request.atol or 0.0
        )
        record.value = np.float64(value)
    except Exception as error:  # the user's function may raise anything
        wrapped = GradcliError(f"{type(error).__name__}: {error}")
        record.error = Failure.of(wrapped)
    return outcome_of(record, request.function, time.perf_counter() - started, fail_on)


def _arguments(request: CheckRequest) -> tuple[list[Any], list[str]]:
    from gradcli.cli.job import assignment
    from gradcli.files.arrays import load_array
    from gradcli.language.program import Program
    from gradcli.language.scope import Scope
    from gradcli.limits import DEFAULT

    if not request.at:
        raise UsageError("--function needs its arguments", help="--at x='randn(5)' --at y=2, in the order of its parameters")
    program = Program(Scope(random_state=request.random_state or 0))
    arguments, names = [], []
    for text in request.at:
        name, value = assignment("--at", text)
        names.append(name)
        arguments.append(load_array(value[1:], DEFAULT) if value.startswith("@") else program.constant(value, f"<{name}>"))
    return arguments, names


def _loaded(path: str) -> Callable[..., Any]:
    module, colon, name = path.partition(":")
    if not colon or not name:
        raise UsageError(f"a function is named MODULE:NAME, not '{path}'")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"cannot find '{path}': {error}") from None
    if not callable(found):
        raise UsageError(f"'{path}' is no function")
    return found  # type: ignore[no-any-return]
