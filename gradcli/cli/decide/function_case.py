"""``gradcli check --function``: Python functions named on the command line, and only there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.decide.function_process import FunctionProcess, Late
from gradcli.cli.decide.pieces import Alone, Piece, nobody
from gradcli.cli.decide.repeating import Repeating
from gradcli.cli.inputs.option_values import assignments, check_options, limits_of
from gradcli.cli.inputs.positionals import function_inputs
from gradcli.cli.request import REPORTS, CheckRequest
from gradcli.errors import GradcliError, UsageError, one_of, suggestion
from gradcli.files.settings import Configuration
from gradcli.functions.asked import OPTIONS, asked
from gradcli.functions.checking import Question
from gradcli.functions.frameworks import FRAMEWORKS
from gradcli.functions.points import gravest, text_of
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
        if not request.function:
            raise UsageError(
                "whose gradient it is, --function names", help="gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2"
            )
        what = asked({name: getattr(request, name) for name in OPTIONS}, request.by, request.order, _option, alone=True)
        if request.by is not None:
            one_of("--by", request.by, FRAMEWORKS)
        policy = self.policies.of(None)
        self.budget = Budget(self.policies.settings().budget)
        self.request, self.limits, self.state = request, limits, policy.state
        self.functions = request.function, what.claim, what.equation
        limits_in_time = [seconds for seconds in (policy.options.timeout, self.budget.seconds) if seconds is not None]
        self.seconds = min(limits_in_time, default=None)
        self.is_alone = what.claim is None and request.by is None
        arguments = self._drawn(self.state)
        self.wrt = _differentiated(list(arguments), policy.options) if arguments else []
        self.question = Question(
            arguments, self.wrt, policy.options.rtol, policy.options.atol, request.by, self._seed(), self.state, request.order,
            what.kind, what.solves,
        )  # fmt: skip
        self.title = f"{request.function} with {what.title(request.by, request.order, str)}"
        self.name, self.given = request.function, given_of([*request.at, list(self.wrt)])

    def pieces(self) -> Iterator[Piece]:
        yield Alone()

    def remarks(self) -> list[str]:
        return []  # its arguments are its own affair

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        policy = self.policies.of(None)
        record = Record(self.title, id=self.name, given=self.given)
        smallest: Mapping[str, Any] | None = None
        started = time.perf_counter()
        try:
            with FunctionProcess(self.functions, self.seconds) as process:
                process.load()
                smallest = self._decide(process, record)
        except UsageError:
            raise
        except GradcliError as error:
            record.error = Failure.of(error)
        except Late:
            if self.budget.left == 0:
                left_undecided(record, self.budget.reason)
            else:
                record.check = _undetermined(self.wrt)
        outcome = outcome_of(record, self.name, time.perf_counter() - started, policy.fail_on)
        if smallest is not None:
            outcome.details.append(f"at {' '.join(_at(smallest))}")
            once = self.request.but(at=tuple(_at(smallest)), points=None)
            outcome.repeat = Repeating(once, self.inputs).command(record)
        yield outcome

    def _decide(self, process: FunctionProcess, record: Record) -> Mapping[str, Any] | None:
        """The verdict at one point, or the gravest of several; then the smallest arguments that fail, if some do."""
        points = self.request.points
        if points is None:
            record.check, record.value = process.ask(self.question)
            return None
        arguments, record.check, record.value = gravest(
            lambda number: self._drawn(self.state + number),
            lambda drawn: process.ask(replace(self.question, arguments=drawn)),
            points,
        )
        record.points = points
        return arguments if record.check.verdict is Verdict.MISMATCH else None

    def _drawn(self, state: int) -> dict[str, Any]:
        if self.is_alone and not self.request.at:
            return {}  # an operator knows its own
        return _arguments(self.request.at, Programs(self.limits, self.request.dtype), state, self.request.dtype)

    def _seed(self) -> Any:
        seed = self.request.seed
        return None if seed is None else Programs(self.limits, self.request.dtype).fresh(self.state).constant(seed, "<--seed>")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _at(arguments: Mapping[str, Any]) -> list[str]:
    return [f"{name}={text_of(value)}" for name, value in arguments.items()]


def _undetermined(names: list[str]) -> Check:
    """What is said of a gradient by some names, of which nothing was heard in time."""
    variables = {name: VariableCheck(Verdict.UNDETERMINED, reason=REACHED) for name in names}
    return Check(Verdict.UNDETERMINED, variables, reason=REACHED)


def _arguments(texts: tuple[str, ...], programs: Programs, state: int, dtype: str) -> dict[str, Any]:
    """The arguments by their names, in the order in which the function takes them; whole numbers stay whole."""
    given = assignments("--at", texts)
    if not given:
        raise UsageError("--function needs its arguments", help="--at x='randn(5)' --at y=2, in the order of its parameters")
    load, calculator = programs.loader(), programs.fresh(state)
    found = {name: load(value[1:]) if value.startswith("@") else calculator.constant(value, f"<{name}>") for name, value in given.items()}
    return {name: _as_argument(value, dtype) for name, value in found.items()}


def _as_argument(value: Any, dtype: str) -> Any:
    """A value as a function is called with it: Python's numbers, and arrays in the precision that is asked for."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and (array.ndim or dtype != "float64"):
        return array.astype(dtype) if array.ndim else array.astype(dtype)[()]
    return array.item() if not array.ndim else array


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
