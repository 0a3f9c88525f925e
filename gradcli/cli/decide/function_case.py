"""``gradcli check --function``: one Python function and its gradient, at the arguments of ``--at``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.function_process import FunctionProcess, Late
from gradcli.cli.decide.repeating import Repeating
from gradcli.cli.inputs.option_values import assignments
from gradcli.cli.inputs.positionals import Inputs
from gradcli.cli.request import CheckRequest
from gradcli.errors import GradcliError, UsageError, one_of
from gradcli.functions.arguments import PRECISIONS
from gradcli.functions.asked import OPTIONS, asked
from gradcli.functions.asking import arguments_of, differentiated, placed, smallest_of
from gradcli.functions.checking import Question
from gradcli.functions.frameworks import FRAMEWORKS
from gradcli.functions.loading import Definition, refuse_unnamed
from gradcli.functions.points import gravest
from gradcli.functions.remembering import Answer, key_of, recalled, remember
from gradcli.inert import shell_command
from gradcli.limits import Limits
from gradcli.query.options import Policy
from gradcli.query.outcome import left_undecided, outcome_of
from gradcli.query.programs import Programs
from gradcli.reference.deadline import REACHED
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.report.verdicts import Check, VariableCheck, Verdict
from gradcli.storage.current_folder import here


class FunctionCase:
    """One Python function and its gradient. Raises GradcliError for what is wrong with the request.

    folder  whose modules are found first, and whose data alone arguments may name; without one, the current folder, and any data
    """

    def __init__(self, request: CheckRequest, limits: Limits, policy: Policy, budget: Budget, folder: Path | None = None) -> None:
        if not request.function:
            example = "gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2, or --by torch for PyTorch's own"
            raise UsageError("whose gradient it is, --function names", help=example)
        what = asked(
            {name: getattr(request, name) for name in OPTIONS}, request.by, request.order, _option, alone=True, forward=request.forward
        )
        if request.by is not None:
            one_of("--by", request.by, FRAMEWORKS)
        one_of("--dtype", request.dtype, PRECISIONS)
        if request.parameters is not None and request.by != "torch":
            raise UsageError("--parameters are those of a torch.nn.Module", help="it goes with --by torch")
        self.functions = request.function, what.claim, what.equation, request.parameters
        for path in self.functions:
            if path is not None:
                refuse_unnamed(path)
        self.request, self.limits, self.policy, self.budget, self.state = request, limits, policy, budget, policy.state
        self.folder, self.is_alone = folder, what.claim is None and request.by is None
        arguments = self._drawn(self.state)
        self.wrt = differentiated(list(arguments), policy.options, request.by) if arguments else []
        self.question = Question(
            arguments, self.wrt, policy.options.rtol, policy.options.atol, request.by, self._seed(), self.state, request.order,
            what.kind, what.solves, policy.options.wrt is None, tuple(policy.options.freeze),
        )  # fmt: skip
        self.title = f"{request.function} with {what.title(request.by, request.order, str)}"
        self.given = given_of([*request.at, list(self.wrt)])

    def outcome(self, name: str, xfail: str | None = None) -> Outcome:
        """What becomes of it, by the name that it has among others."""
        started = time.perf_counter()
        record = Record(self.title, id=name, given=self.given, record_line=True, xfail=xfail)
        memory: str | None = None
        smallest: Mapping[str, Any] | None = None
        try:
            memory, smallest = self._decide(record)
        except UsageError:  # of the request, which only the function itself shows: it is no operator
            raise
        except GradcliError as error:
            record.error = Failure.of(error)
        except Late as late:
            if self.budget.left == 0:
                left_undecided(record, self.budget.reason)
            else:
                record.check = _undetermined(self.wrt, REACHED if late.place is None else f"{REACHED} at {late.place}")
        outcome = outcome_of(record, name, time.perf_counter() - started, self.policy.fail_on)
        outcome.memory, outcome.drawn = memory, self._seed_of_draws()
        if smallest is not None:
            outcome.details.append(f"at {' '.join(smallest_of(smallest))}")
        if outcome.bad:
            outcome.details += [] if outcome.drawn is None else [f"drawn: {outcome.drawn}"]
            once = self.request if smallest is None else self.request.but(at=tuple(smallest_of(smallest)), points=None)
            outcome.repeat = repeated(once, self.folder)
        return outcome

    def _decide(self, record: Record) -> tuple[str | None, Mapping[str, Any] | None]:
        """Fill in the verdict; gives what is said of its memory, and the smallest arguments that fail, if some were looked for."""
        folder = here() if self.folder is None else self.folder
        key = None
        if self.policy.options.remembering:
            key = key_of(self.functions, self.question, (self.request.at, self.request.points, self.request.dtype))
            answer = recalled(key, folder)
            if answer is not None:
                record.check, record.value, record.points = answer.check, answer.value, self.request.points or 0
                placed(record, Definition(answer.file, answer.line))
                return "remembered", None
        left = [seconds for seconds in (self.policy.options.timeout, self.budget.left) if seconds is not None]
        with FunctionProcess(self.functions, min(left, default=None), folder, watched=key is not None) as process:
            definition = process.load()
            placed(record, definition)
            smallest = self._ask(process, record)
            _say_where_nothing_is(record)
            if key is None or record.check is None:
                return None, smallest
            found = process.dependencies()
            if isinstance(found, str):
                return f"not remembered: {found}", smallest
            remember(key, folder, Answer(record.check, record.value, definition.file, definition.line), found)
        return None, smallest

    def _ask(self, process: FunctionProcess, record: Record) -> Mapping[str, Any] | None:
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
        return arguments_of(assignments("--at", self.request.at), Programs(self.limits), state, self.request.dtype, self.folder)

    def _seed_of_draws(self) -> str | None:
        """How what was drawn is drawn again."""
        if not any("rand" in text for text in self.request.at):
            return None
        count = "" if self.request.points is None else f"{self.request.points} point{'s' * (self.request.points != 1)}, "
        return f"{count}--random-state {self.state}"

    def _seed(self) -> Any:
        seed = self.request.seed
        return None if seed is None else Programs(self.limits).fresh(self.state).constant(seed, "<--seed>")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def repeated(request: CheckRequest, folder: Path | None) -> str | None:
    """The command that repeats a function's check, from where its modules are found."""
    command = Repeating(request, Inputs(None, {}, [])).command(Record(request.function or ""))
    return command if command is None or folder in (None, here()) else f"{shell_command('cd', str(folder))} && {command}"


def _say_where_nothing_is(record: Record) -> None:
    """Say why a gradient is undefined where the function itself has no value."""
    if record.check is not None and record.value is not None and not np.isfinite(record.value).all():
        for part in record.check.variables.values():
            if part.verdict is Verdict.UNDEFINED and part.reason is None:
                part.reason = "the function has no finite value there"


def _undetermined(names: list[str], reason: str) -> Check:
    """What is said of a gradient by some names, of which nothing was heard in time."""
    variables = {name: VariableCheck(Verdict.UNDETERMINED, reason=reason) for name in names}
    return Check(Verdict.UNDETERMINED, variables, reason=reason)
