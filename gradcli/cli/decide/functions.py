"""The Python functions of a check: the command line's, or those that the settings list, each decided in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.decide.function_case import FunctionCase, repeated
from gradcli.cli.decide.pieces import Called, Piece, most_processes, nobody
from gradcli.cli.inputs.option_values import check_options, limits_of
from gradcli.cli.inputs.positionals import Inputs, function_inputs
from gradcli.cli.request import REPORTS, CheckRequest
from gradcli.errors import GradcliError, UsageError
from gradcli.files.function_settings import FunctionSetting, line_of_function
from gradcli.files.settings import Configuration, shown
from gradcli.functions.arguments import PRECISIONS
from gradcli.functions.asking import judged
from gradcli.query.outcome import left_undecided, outcome_of
from gradcli.query.policy import CHECKING
from gradcli.query.unused_names import UsedNames
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record
from gradcli.storage.current_folder import here


class OneFunction:
    """The function of the command line. Raises GradcliError for what is wrong with the request."""

    def __init__(self, request: CheckRequest) -> None:
        limits = limits_of(request, REPORTS, PRECISIONS)
        self.inputs, self.names, self.processes, self.unchanged = function_inputs(request), UsedNames(), 1, 0
        self.begin: Callable[[int], object] = nobody
        self.policies = FilePolicies(request, check_options(request, CHECKING), Configuration(request.config))
        self.budget = Budget(self.policies.settings().budget)
        self.case = FunctionCase(request, limits, self.policies.of(None), self.budget)
        if request.changed_since is not None:
            from gradcli.cli.decide.changes import Changes, Left

            changes = Left(Changes(request.changed_since, here()))
            self.unchanged = int(not changes.function(self.case.functions, request.at, here()))

    def pieces(self) -> Iterator[Piece]:
        yield from () if self.unchanged else (Called(0),)

    def remarks(self) -> list[str]:
        return []  # its arguments are its own affair

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        yield self.case.outcome(self.case.functions[0])


class ListedFunctions:
    """The functions of a file of settings. What is wrong with one of them is an error of its own, and the others are decided."""

    def __init__(self, request: CheckRequest) -> None:
        self.request, self.limits = request, limits_of(request, REPORTS, PRECISIONS)
        self.inputs, self.names, self.unchanged = Inputs(None, {}, []), UsedNames(), 0
        self.begin: Callable[[int], object] = nobody
        self.policies = FilePolicies(request, check_options(request, CHECKING), Configuration(request.config))
        settings = self.policies.settings()
        if not settings.functions:
            where = "there is no pyproject.toml here" if settings.path is None else f"{shown(settings.path)} lists none"
            example = '[[tool.gradcli.functions]] with function = "pkg.losses:loss", gradient = "pkg.losses:slope", at = {x = "randn(5)"}'
            if not request.allow_empty:
                raise UsageError(f"--functions is about the functions of the settings: {where}", help=example)
        self.listed = settings.functions or ()
        self.path = settings.path
        self._flags = {name for name in ("rtol", "atol", "timeout", "random_state") if getattr(request, name) is not None}
        self.folder = here() if settings.path is None else settings.path.parent
        self.left: Sequence[int] = range(len(self.listed))  # the numbers of those that are decided
        if request.changed_since is not None:
            from gradcli.cli.decide.changes import Changes, Left

            self.left = Left(Changes(request.changed_since, self.folder)).functions(settings, self.folder)
            self.unchanged = len(self.listed) - len(self.left)
        self.processes = min(settings.jobs or 1, most_processes())
        self.budget = Budget(settings.budget)

    def pieces(self) -> Iterator[Piece]:
        for number in self.left:
            yield Called(number, str(self.path))

    def remarks(self) -> list[str]:
        return []

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        assert isinstance(piece, Called)
        setting, policy = self.listed[piece.number], self.policies.of(None)
        self.begin(piece.number + 1)
        record = Record(setting.function, id=setting.name, file=None if self.path is None else shown(self.path), record_line=True)
        record.line, record.xfail = self._line(setting), setting.xfail
        if piece.number + 1 in without:
            return
        if setting.skip is not None:
            record.skip = setting.skip
        elif self.budget.left == 0:
            left_undecided(record, self.budget.reason)
        else:
            try:
                case = FunctionCase(
                    _asked(self.request, setting), self.limits, judged(policy, setting, self._flags), self.budget, self.folder
                )
                outcome = case.outcome(setting.name, setting.xfail)
            except GradcliError as error:
                record = _with(record, error)
                outcome = outcome_of(record, setting.name, fail_on=policy.fail_on)
                outcome.repeat = repeated(_asked(self.request, setting), self.folder)
                yield outcome
                return
            else:
                if outcome.file is None:  # it could not be imported
                    outcome.record.file, outcome.record.line = record.file, record.line
                yield outcome
                return
        yield outcome_of(record, setting.name, fail_on=policy.fail_on)

    def _line(self, setting: FunctionSetting) -> int:
        """The line of the settings that names a function."""
        try:
            lines = [] if self.path is None else self.path.read_text("utf-8").split("\n")
        except (OSError, ValueError):
            lines = []
        return line_of_function(setting, lines)


def _with(record: Record, error: GradcliError) -> Record:
    told = Record.of_error(error, id=record.id, expr=record.expr)
    told.file, told.line, told.record_line, told.xfail = record.file, record.line, True, record.xfail
    return told


def _asked(request: CheckRequest, setting: FunctionSetting) -> CheckRequest:
    """What the command line would be that asks for one function: its options win, as against all settings."""
    own: dict[str, Any] = {
        "function": setting.function, "gradient": setting.gradient, "jvp_of": setting.jvp_of, "adjoint": setting.adjoint,
        "implicit": setting.implicit, "fixed_point": setting.fixed_point,
        "parameters": setting.parameters, "by": setting.by, "forward": setting.forward,
        "at": setting.at, "order": setting.order,
        "wrt": setting.wrt, "seed": setting.seed, "points": request.points or setting.points,
        "rtol": setting.rtol if request.rtol is None else request.rtol, "atol": setting.atol if request.atol is None else request.atol,
        "random_state": setting.random_state if request.random_state is None else request.random_state,
        "timeout": setting.timeout if request.timeout is None else request.timeout,
        "dtype": setting.dtype or request.dtype,
    }  # fmt: skip
    return request.but(**own)
