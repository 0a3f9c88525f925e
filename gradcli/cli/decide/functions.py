"""Python functions of a check, each decided in a process of its own.

They are the command line's, or those that the settings list.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.check.verdicts import Check, VariableCheck, Verdict
from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.cases import Budget, Called, Piece, Repeating, Work
from gradcli.cli.decide.parallel import Worker, alone
from gradcli.cli.decide.running import Inputs
from gradcli.cli.decide.subjects import function_inputs
from gradcli.errors import EvaluationError, GradcliError, UsageError
from gradcli.files.settings import FunctionSetting
from gradcli.functions.asking import (
    OPTIONS,
    AskedFunction,
    definition_of,
    function_options,
    load_function,
    refuse_unnamed,
    set_place,
    smallest_of,
)
from gradcli.functions.calls import call_guarded
from gradcli.inert import shell_command
from gradcli.language.python_hints import DRAWS
from gradcli.limits import Limits
from gradcli.options import Options, assignments
from gradcli.query.cases import left_undecided, outcome_of
from gradcli.query.programs import Programs
from gradcli.reference.deadline import REACHED
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record
from gradcli.storage import here, path_text
from gradcli.texts import words

# -- Python functions in a process of their own: what they print, change, raise or end there harms
# nobody, and a time limit ends them.


_LONGEST = 1e6  # seconds; a longer time limit counts as none


class Late(Exception):
    """Nothing has been said within the time limit."""


class FunctionProcess(Worker):
    """The process of a function, of what is claimed about it, and of what it solves.

    functions  their names, the function's first
    seconds    the time for all that it is asked
    folder     whose modules it finds first
    """

    def __init__(
        self, among: list[Any], functions: Sequence[str | None], seconds: float | None, folder: Path
    ) -> None:
        super().__init__(among, _answer_questions, functions, folder)
        self._budget = Budget(None if seconds is None or seconds >= _LONGEST else seconds)

    def heard(self, question: Any = None) -> Any:
        """Its answer to a question, or what it says next. Raises GradcliError, and Late."""
        if question is not None:
            self.ask(question)
        if not self.pipe.poll(self._budget.time_left):
            raise Late
        try:
            answer = self.answer()
        except EOFError:
            raise EvaluationError(
                f"the process in which it was called came to its end ({self.ending()})"
            ) from None
        if isinstance(answer, GradcliError):
            raise answer
        return answer

    def end(self) -> None:
        """End it, whatever it is at, with what it has started, if that has a group of its own."""
        pid = self.process.pid
        if pid is not None:
            with suppress(OSError, AttributeError):
                if os.getpgid(pid) == pid:
                    os.killpg(pid, signal.SIGKILL)
            self.process.kill()
            self.process.join()
        self.pipe.close()


# -- in the process


def _answer_questions(
    pipe: Connection[Any, Any], names: Sequence[str | None], folder: Path
) -> None:
    """Import what is named, say where the first function stands, and answer."""
    _apart()
    # Old bytecode would run again if the source changed within the second, to the same size.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    first, *others = names
    called = load_function(first or "", folder)
    pipe.send(definition_of(called))
    functions = [
        called,
        *(None if name is None else load_function(name, folder) for name in others),
    ]
    while True:
        question = pipe.recv()
        try:
            answer: Any = call_guarded(partial(question.check, *functions))
        except GradcliError as error:
            answer = alone(error)
        with suppress(Exception):  # the function may have closed or replaced standard output
            sys.stdout.flush()  # what it has printed comes before what is reported of it
        pipe.send(answer)


def _apart() -> None:
    """Keep a function apart from our own process.

    The function's prints are not results, it does not read our input, and what it starts ends with
    it.
    """
    with suppress(OSError, AttributeError):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)


# -- ``gradcli check --function``: one Python function and its gradient, at the arguments of
# ``--at``.


class FunctionCase(AskedFunction):
    """One Python function and its gradient. Raises GradcliError for what is wrong with the request.

    folder  whose modules are found first, and whose data alone arguments may name; without one, the
            current folder, and any data
    """

    def __init__(
        self,
        request: CheckRequest,
        limits: Limits,
        options: Options,
        budget: Budget,
        folder: Path | None = None,
    ) -> None:
        if not request.function:
            raise UsageError(
                "--function names the function whose gradient this is",
                help="gradcli check --function pkg.mod:f --gradient pkg.mod:df --at x=1,2, or "
                "--by torch for PyTorch's own",
            )
        if request.parameters is not None and request.by != "torch":
            raise UsageError(
                "--parameters are those of a torch.nn.Module", help="it goes with --by torch"
            )
        for option in ("function", *OPTIONS, "parameters"):
            path = getattr(request, option)
            if path is not None:
                refuse_unnamed(path)
        self.request, self.budget = request, budget
        super().__init__(
            request,
            assignments("--at", request.at),
            options,
            Programs(limits),
            folder,
            _option,
        )

    def outcome(self, name: str, xfail: str | None = None) -> Outcome:
        """Return what becomes of it, by the name that it has among others."""
        started = time.perf_counter()
        record = Record(self.title, id=name, given=self.given, record_line=True, xfail=xfail)
        smallest: Mapping[str, Any] | None = None
        try:
            smallest = self._decide(record)
        except UsageError:  # of the request, which only the function itself shows
            raise
        except GradcliError as error:
            record.fail(error)
        except Late:
            if self.budget.time_left == 0:
                left_undecided(record, self.budget.reason)
            else:
                open_ = {
                    name: VariableCheck(Verdict.UNDETERMINED, reason=REACHED)
                    for name in self.question.wrt
                }
                record.check = Check(Verdict.UNDETERMINED, open_, reason=REACHED)
        outcome = outcome_of(record, name, self.options.fail_on, time.perf_counter() - started)
        outcome.drawn = self._seed_of_draws()
        if smallest is not None:
            outcome.details.append(f"at {' '.join(smallest_of(smallest))}")
        if outcome.bad:
            outcome.details += [] if outcome.drawn is None else [f"drawn: {outcome.drawn}"]
            once = (
                self.request
                if smallest is None
                else self.request.but(at=tuple(smallest_of(smallest)), points=None)
            )
            outcome.repeat = repeating_command(once, self.folder)
        return outcome

    def _decide(self, record: Record) -> Mapping[str, Any] | None:
        """Fill in the verdict; gives the smallest arguments that fail, if some were looked for."""
        folder = here() if self.folder is None else self.folder
        left = [
            seconds
            for seconds in (self.options.timeout, self.budget.time_left)
            if seconds is not None
        ]
        started: list[FunctionProcess] = []
        try:
            process = FunctionProcess(started, self.functions, min(left, default=None), folder)
            set_place(record, process.heard())
            smallest = self.decide(record, process.heard)
            _say_where_nothing_is(record)
            return smallest
        finally:
            for process in started:
                process.end()

    def _seed_of_draws(self) -> str | None:
        """Return how what was drawn is drawn again."""
        if not any(map(DRAWS.search, self.request.at)):
            return None
        count = (
            ""
            if self.request.points is None
            else f"{self.request.points} point{'s' * (self.request.points != 1)}, "
        )
        return f"{count}--random-state {self.options.state}"


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def repeating_command(request: CheckRequest, folder: Path | None) -> str | None:
    """Return the command that repeats a function's check, from where its modules are found."""
    command = Repeating(request, Inputs(None, {}, [])).command(Record(request.function or ""))
    return (
        command
        if command is None or folder in (None, here())
        else f"{shell_command('cd', str(folder))} && {command}"
    )


def _say_where_nothing_is(record: Record) -> None:
    """Say why a gradient is undefined where the function itself has no value."""
    if (
        record.check is not None
        and record.value is not None
        and not np.isfinite(record.value).all()
    ):
        for part in record.check.variables.values():
            if part.verdict is Verdict.UNDEFINED and part.reason is None:
                part.reason = "the function has no finite value there"


class OneFunction(Work):
    """The function of the command line."""

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request, function_inputs(request))
        self.processes = 1
        self.case = FunctionCase(request, self.limits, self.file_options.of(None), self.budget)
        if request.changed_since is not None:
            from gradcli.cli.decide.changes import Changes

            changes = Changes(request.changed_since, here())
            self.unchanged = int(not changes.function(self.case.functions, request.at, here()))

    def pieces(self) -> Iterator[Piece]:
        yield from () if self.unchanged else (Called(0),)

    def outcomes(self, piece: Piece) -> Iterator[Outcome]:
        yield self.case.outcome(self.case.functions[0])


class ListedFunctions(Work):
    """The functions of a file of settings.

    What is wrong with one of them is an error of its own, and the others are decided.
    """

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request, Inputs(None, {}, []))
        settings = self.settings
        if not settings.functions and not request.allow_empty:
            where = (
                "there is no pyproject.toml here"
                if settings.path is None
                else f"{path_text(settings.path)} lists none"
            )
            raise UsageError(
                f"--functions is about the functions of the settings: {where}",
                help='[[tool.gradcli.functions]] with function = "pkg.losses:loss", gradient = '
                '"pkg.losses:slope", at = {x = "randn(5)"}',
            )
        self.listed, self.path = settings.functions or (), settings.path
        self.folder = here() if settings.path is None else settings.path.parent
        self.left: Sequence[int] = range(len(self.listed))  # numbers of the functions to decide
        if request.changed_since is not None:
            from gradcli.cli.decide.changes import Changes

            self.left = Changes(request.changed_since, self.folder).functions(settings, self.folder)
            self.unchanged = len(self.listed) - len(self.left)

    def pieces(self) -> Iterator[Piece]:
        for number in self.left:
            yield Called(number, str(self.path))

    def outcomes(self, piece: Piece) -> Iterator[Outcome]:
        assert isinstance(piece, Called)
        setting, options = self.listed[piece.number], self.file_options.of(None)
        record = Record(
            setting.function,
            id=setting.name,
            file=None if self.path is None else path_text(self.path),
            record_line=True,
            xfail=setting.xfail,
            skip=setting.skip,
        )
        if record.skip is None and self.budget.time_left == 0:
            left_undecided(record, self.budget.reason)
        if record.skip is not None or record.unreached:
            yield outcome_of(record, setting.name, options.fail_on)
            return
        asked = _request_for(self.request, setting)
        try:
            case = FunctionCase(
                asked,
                self.limits,
                function_options(options, asked),
                self.budget,
                self.folder,
            )
            outcome = case.outcome(setting.name, setting.xfail)
            if outcome.file is None:  # its import failed
                outcome.record.file = record.file
        except GradcliError as error:
            outcome = outcome_of(record.fail(error), setting.name, options.fail_on)
            outcome.repeat = repeating_command(asked, self.folder)
        yield outcome


_OWN = words(
    "function gradient jvp_of adjoint implicit fixed_point parameters by forward at order wrt seed"
)


def _request_for(request: CheckRequest, setting: FunctionSetting) -> CheckRequest:
    """Return the request that the command line would make for one function.

    The options of the command line win, as they do against all settings.
    """
    said: dict[str, Any] = {name: getattr(setting, name) for name in _OWN}
    for name in ("points", "rtol", "atol", "random_state", "timeout"):
        said[name] = getattr(setting if getattr(request, name) is None else request, name)
    return request.but(**said, dtype=setting.dtype or request.dtype)
