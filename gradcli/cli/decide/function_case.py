"""``gradcli check --function``: Python functions named on the command line, and only there."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from gradcli.check.python_functions import check_function
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.decide.pieces import Alone, Piece, nobody
from gradcli.cli.inputs.option_values import assignments, check_options, limits_of
from gradcli.cli.inputs.positionals import function_inputs
from gradcli.cli.request import REPORTS, CheckRequest
from gradcli.errors import GradcliError, UsageError, suggestion
from gradcli.query.options import Options
from gradcli.query.outcome import outcome_of
from gradcli.query.policy import CHECKING
from gradcli.query.programs import Programs
from gradcli.query.unused_names import UsedNames
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.storage.current_folder import here


class FunctionCase:
    """One Python function and its gradient, at the arguments of ``--at``. Raises GradcliError for what is wrong with the request."""

    def __init__(self, request: CheckRequest) -> None:
        limits = limits_of(request, REPORTS)
        self.inputs, self.names, self.processes = function_inputs(request), UsedNames(), 1
        self.begin: Callable[[int], object] = nobody
        self.policies = FilePolicies(request, check_options(request, CHECKING))
        if not request.function or not request.gradient:
            example = "gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2"
            raise UsageError("--function and --gradient go together", help=example)
        policy = self.policies.of(None)
        self.function, self.gradient = _loaded(request.function), _loaded(request.gradient)
        self.arguments = _arguments(request.at, Programs(limits, request.dtype), policy.state)
        self.wrt = _differentiated(list(self.arguments), policy.options)
        self.title = f"{request.function} with the gradient {request.gradient}"
        self.name, self.given = request.function, given_of([*request.at, list(self.wrt)])

    def pieces(self) -> Iterator[Piece]:
        yield Alone()

    def remarks(self) -> list[str]:
        return []  # its arguments are its own affair

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        policy = self.policies.of(None)
        record = Record(self.title, id=self.name, given=self.given)
        rtol = 1e-6 if policy.options.rtol is None else policy.options.rtol
        names, values = list(self.arguments), list(self.arguments.values())
        started = time.perf_counter()
        try:
            record.check, value = check_function(self.function, self.gradient, values, names, rtol, policy.options.atol, self.wrt)
            record.value = np.float64(value)
        except Exception as error:  # the user's function may raise anything
            record.error = Failure.of(error if isinstance(error, GradcliError) else GradcliError(f"{type(error).__name__}: {error}"))
        yield outcome_of(record, self.name, time.perf_counter() - started, policy.fail_on)


def _arguments(texts: tuple[str, ...], programs: Programs, state: int) -> dict[str, Any]:
    """The arguments by their names, in the order in which the function takes them."""
    given = assignments("--at", texts)
    if not given:
        raise UsageError("--function needs its arguments", help="--at x='randn(5)' --at y=2, in the order of its parameters")
    load, calculator = programs.loader(), programs.fresh(state)
    return {name: load(value[1:]) if value.startswith("@") else calculator.constant(value, f"<{name}>") for name, value in given.items()}


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
    sys.path.insert(0, str(here()))
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
