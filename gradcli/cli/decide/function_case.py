"""``gradcli check --function``: Python functions named on the command line, and only there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.decide.function_process import FunctionProcess, Late, Question, loaded
from gradcli.cli.decide.pieces import Alone, Piece, nobody
from gradcli.cli.inputs.option_values import assignments, check_options, limits_of
from gradcli.cli.inputs.positionals import function_inputs
from gradcli.cli.request import REPORTS, CheckRequest
from gradcli.errors import GradcliError, UsageError, suggestion
from gradcli.files.settings import Configuration
from gradcli.query.options import Options
from gradcli.query.outcome import left_undecided, outcome_of
from gradcli.query.policy import CHECKING
from gradcli.query.programs import Programs
from gradcli.query.unused_names import UsedNames
from gradcli.reference.deadline import REACHED
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.report.verdicts import Check, VariableCheck, Verdict


class FunctionCase:
    """One Python function and its gradient, at the arguments of ``--at``. Raises GradcliError for what is wrong with the request."""

    def __init__(self, request: CheckRequest) -> None:
        limits = limits_of(request, REPORTS)
        self.inputs, self.names, self.processes = function_inputs(request), UsedNames(), 1
        self.begin: Callable[[int], object] = nobody
        self.policies = FilePolicies(request, check_options(request, CHECKING), Configuration(request.config))
        if not request.function or not request.gradient:
            example = "gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2"
            raise UsageError("--function and --gradient go together", help=example)
        policy = self.policies.of(None)
        self.budget = Budget(self.policies.settings().budget)
        limits_in_time = [seconds for seconds in (policy.options.timeout, self.budget.seconds) if seconds is not None]
        self.paths, self.seconds = (request.function, request.gradient), min(limits_in_time, default=None)
        self.functions = None if self.seconds is not None else (loaded(request.function), loaded(request.gradient))
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
        question = Question(list(self.arguments), list(self.arguments.values()), self.wrt, rtol, policy.options.atol)
        started = time.perf_counter()
        try:
            record.check, value = self._answer(question)
            record.value = np.float64(value)
        except UsageError:
            raise
        except GradcliError as error:
            record.error = Failure.of(error)
        except Late:
            if self.budget.left == 0:
                left_undecided(record, self.budget.reason)
            else:
                record.check = _undetermined(self.wrt)
        yield outcome_of(record, self.name, time.perf_counter() - started, policy.fail_on)

    def _answer(self, question: Question) -> tuple[Check, float]:
        """The verdict and the value, in another process where there is a time limit. Raises GradcliError, and Late."""
        if self.functions is not None:
            return question.answer(*self.functions)
        assert self.seconds is not None
        with FunctionProcess(*self.paths, self.seconds) as process:
            process.load()
            return process.ask(question)


def _undetermined(names: list[str]) -> Check:
    """What is said of a gradient by some names, of which nothing was heard in time."""
    variables = {name: VariableCheck(Verdict.UNDETERMINED, reason=REACHED) for name in names}
    return Check(Verdict.UNDETERMINED, variables, reason=REACHED)


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
