"""``gradcli check --function``: Python functions named on the command line, and only there."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.cli.cases import CheckJob
from gradcli.cli.words import assignments
from gradcli.errors import GradcliError, UsageError, suggestion
from gradcli.files.arrays import load_array
from gradcli.language.run import Program
from gradcli.query.options import Options
from gradcli.query.outcome import outcome_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest


class FunctionJob(CheckJob):
    """One Python function and its gradient, at the arguments of ``--at``."""

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request)
        if not request.function or not request.gradient:
            example = "gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2"
            raise UsageError("--function and --gradient go together", help=example)
        self.named = request.function
        self.function, self.gradient = _loaded(request.function), _loaded(request.gradient)
        self.arguments = self._arguments()
        self.wrt = _differentiated(list(self.arguments), self.way.options)

    def _positionals(self) -> tuple[str | None, dict[str, str], list[str]]:
        if self.request.arguments or self.request.expression or self.request.files:
            raise UsageError("--function is checked alone, without files or expressions")
        return None, {}, []

    def _arguments(self) -> dict[str, Any]:
        """The arguments by their names, in the order in which the function takes them."""
        given = assignments("--at", self.request.at)
        if not given:
            raise UsageError("--function needs its arguments", help="--at x='randn(5)' --at y=2, in the order of its parameters")
        program = Program(self._scope(self.way))
        found: dict[str, Any] = {}
        for name, value in given.items():
            found[name] = load_array(value[1:], self.limits) if value.startswith("@") else program.constant(value, f"<{name}>")
        return found

    def tasks(self) -> Iterator[Any]:
        yield "function", None

    def outcomes(self, task: Any) -> Iterator[Outcome]:
        from gradcli.check.python_functions import check_function

        record = Record(f"{self.named} with the gradient {self.request.gradient}", id=self.named)
        record.given = self.digest([*self.request.at, list(self.wrt)])
        way = self.way_of(None)
        rtol = 1e-6 if way.options.rtol is None else way.options.rtol
        started = time.perf_counter()
        try:
            record.check, value = check_function(
                self.function, self.gradient, list(self.arguments.values()), list(self.arguments), rtol, way.options.atol, self.wrt
            )
            record.value = np.float64(value)
        except Exception as error:  # the user's function may raise anything
            record.error = Failure.of(error if isinstance(error, GradcliError) else GradcliError(f"{type(error).__name__}: {error}"))
        yield outcome_of(record, self.named, time.perf_counter() - started, way.fail_on)


def _differentiated(names: list[str], options: Options) -> list[str]:
    """The arguments that the gradient is by. Raises UsageError for a name that is none of them."""
    for option, given in (("--wrt", options.wrt or ()), ("--freeze", options.freeze)):
        for name in given:
            if name not in names:
                close = suggestion(name, names)
                help = f"did you mean '{close}'?" if close else f"the arguments are {', '.join(names)}"
                raise UsageError(f"{option}: --at has no '{name}'", help=help)
    wanted = names if options.wrt is None else list(dict.fromkeys(options.wrt))
    left = [name for name in wanted if name not in options.freeze]
    if not left:
        raise UsageError("--freeze leaves nothing to differentiate with respect to")
    return left


def _loaded(path: str) -> Callable[..., Any]:
    """What ``MODULE:NAME`` names, a module of the current folder among them. Raises UsageError."""
    module, colon, name = path.partition(":")
    if not colon or not name:
        raise UsageError(f"a function is named MODULE:NAME, not '{path}'")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may raise anything while it is imported
        raise UsageError(f"cannot find '{path}': {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UsageError(f"'{path}' is no function")
    function: Callable[..., Any] = found
    return function
