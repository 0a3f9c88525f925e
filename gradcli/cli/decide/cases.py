"""Cases that `gradcli check` decides.

They are statements, records and expressions, each with its claims. Outcomes come one after the
other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.running import Inputs, is_stream, options_of, programs_of
from gradcli.cli.decide.subjects import check_inputs
from gradcli.errors import GradcliError, UsageError, as_gradcli_error
from gradcli.files.npy import folder_of, is_handed_over
from gradcli.files.settings import Configuration, Settings, checking_options, verdicts
from gradcli.inert import shell_command
from gradcli.language.python_hints import DRAWS
from gradcli.language.run import Program, statements
from gradcli.language.statements import parse_statements
from gradcli.language.syntax import Asked, Statement
from gradcli.limits import Limits
from gradcli.options import (
    CHECKING,
    ClaimInput,
    Options,
    assignment,
    assignments,
    limits_of,
    option_value,
)
from gradcli.plans.backend import require_compiler
from gradcli.plans.threads import cores
from gradcli.query.cases import (
    CheckedLines,
    check_statement,
    left_undecided,
    line_of,
    marks_of,
    name_of,
    outcome_of,
    records_with_claims,
    unrun,
)
from gradcli.query.programs import Programs, UsedNames, refuse_unknown_in
from gradcli.reference.deadline import OutOfTime, deadline
from gradcli.report.outcomes import Outcome, given_of
from gradcli.report.records import Record
from gradcli.storage import here, path_text
from gradcli.texts import text_lines, words

# -- How each file of a check is judged: by the options that are given, else by the settings of the
# project that the file is in.


_FLAGS = words(
    "convention rtol atol points random_state timeout jobs budget baseline backend threads"
)


class FileOptions:
    """The options of each file; None and "-" are the command line and standard input.

    Raises UsageError for settings that are wrong.
    """

    def __init__(self, request: CheckRequest, configuration: Configuration) -> None:
        options = check_options(request)
        self._configuration = configuration
        fail_on = None if request.fail_on is None else verdicts("--fail-on", [request.fail_on])
        if request.backend == "native":
            require_compiler()
        self._flags = Settings(fail_on=fail_on, **{name: getattr(request, name) for name in _FLAGS})
        self._made = cache(partial(checking_options, options=options))

    def of(self, path: str | None) -> Options:
        return self._made(self.settings(path))

    def settings(self, path: str | None = None) -> Settings:
        """Return the settings that hold for a file, with the options among them."""
        return self._configuration.of(None if path == "-" else path).overridden(self._flags)

    def lenient(self, paths: Iterable[str | None]) -> list[str]:
        """Return who says that no verdict fails, of those who judge these files."""
        if self._flags.fail_on is not None:
            return [] if self._flags.fail_on else ["--fail-on"]
        found = dict.fromkeys(map(self.settings, paths))
        return [
            f"fail-on of {path_text(settings.path)}"
            for settings in found
            if settings.fail_on == () and settings.path is not None
        ]


# -- ``--budget SECONDS``: the time of a whole run. What it leaves no time for is said case by
# case, and nothing of it passes.


T = TypeVar("T")


class Budget:
    """The time that is left of a run, which begins now; None is all the time there is."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.leave(seconds)

    def leave(self, seconds: float | None) -> None:
        """Say how much is left from now on: in another process, what was left when it was asked."""
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def time_left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def reason(self) -> str:
        """Why a case was not reached."""
        return f"not reached: the time of the run (--budget {self.seconds:g}) was spent"

    def within(self, decide: Callable[[], T], otherwise: Callable[[str], T]) -> T:
        """Decide in the time that is left, or else return what there is to say without deciding."""
        left = self.time_left
        if left is None:
            return decide()
        if left > 0:
            try:
                with deadline(left) as own:
                    return decide()
            except OutOfTime as late:
                if late is not own:
                    raise
        return otherwise(self.reason)


# -- How the work of a check is cut: pieces that are independent of each other, for one process or
# for several.


_WORTH_SHARING = 32  # fewest lines of a program that is shared among processes
_SHARES = 10  # parts of a program per process: the last one to finish keeps the others waiting
_BATCH = 16  # records that a process takes at once
_EVERY = range(sys.maxsize)


class Part(NamedTuple):
    """A program, or the statements of it that begin in some lines.

    The command line's expression may stand at its end.

    path  None of the expression alone
    """

    path: str | None
    lines: range = _EVERY
    with_expression: bool = False


class Batch(NamedTuple):
    """Records with the numbers of their lines, and the error of what comes after them."""

    path: str
    lines: list[tuple[int, str]]
    error: GradcliError | None = None


class Called(NamedTuple):
    """A Python function: the command line's, or one of those that a file of settings lists."""

    number: int
    path: str | None = None  # of the settings file


Piece = Part | Batch | Called


class Work:
    """The pieces that a check decides: files and expressions, and Python functions.

    names      of what is decided so far
    processes  that share it
    unchanged  files and functions that are left out, as nothing of them has changed
    pieces     yields the work, cut for the number of processes, in order
    outcomes   yields the outcomes of one piece of work
    """

    pieces: Callable[[], Iterator[Piece]]
    outcomes: Callable[[Piece], Iterator[Outcome]]

    def __init__(self, request: CheckRequest, inputs: Inputs) -> None:
        self.request, self.inputs, self.limits = request, inputs, limits_of(request)
        self.file_options = FileOptions(request, Configuration(request.config))
        self.settings = self.file_options.settings()
        self.processes = (
            min(self.settings.jobs or 1, most_processes()) if request.line is None else 1
        )
        self.budget = Budget(None if request.update else self.settings.budget)
        self.names, self.unchanged = UsedNames(), 0

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done.

        Raises an error for names in wrt and freeze that nobody has.
        """
        return []


def most_processes() -> int:
    """More would only wait for each other; Windows cannot wait for more than 61."""
    return min(cores(), 61)


def _pieces(inputs: Inputs, limits: Limits, processes: int) -> Iterator[Piece]:
    """Yield the pieces of all inputs, in order."""
    together = (
        inputs.expression is not None
        and len(inputs.files) == 1
        and not inputs.holds_records(inputs.files[0])
    )
    for path in inputs.files:
        if inputs.holds_records(path):
            # A single process answers a slow pipe line by line.
            yield from _batches(inputs, path, limits, _BATCH if processes > 1 else 1)
        elif together or is_stream(path) or processes == 1:  # a stream can be read only once
            yield Part(path, with_expression=together)
        else:
            yield from _parts(inputs, path, limits, _SHARES * processes)
    if inputs.expression is not None and not together:
        yield Part(None, with_expression=True)


def _piece_of_line(inputs: Inputs, limits: Limits, number: int) -> Piece:
    """Return what stands in one line of a file."""
    path = inputs.files[0]
    if not inputs.holds_records(path):
        return Part(path, range(number, number + 1))
    try:
        lines = islice(inputs.lines(path, limits), number - 1, number)
        return Batch(path, [(number, line) for line in lines if line.strip()])
    except GradcliError as error:
        return Batch(path, [], error)


def _parts(inputs: Inputs, path: str, limits: Limits, shares: int) -> Iterator[Part]:
    """Yield a program in stretches of lines whose queries are decided separately.

    Each process runs the bindings before its stretch itself.
    """
    try:
        lines = list(inputs.lines(path, limits))
    except GradcliError:
        lines = []  # whoever reads the file as a whole reports the error, once
    # Random numbers are drawn in the order of the program.
    if len(lines) < _WORTH_SHARING or DRAWS.search("".join(lines)):
        yield Part(path)
        return
    size = -(-len(lines) // shares)
    for start in range(1, len(lines) + 1, size):
        yield Part(path, range(start, start + size))


def _batches(inputs: Inputs, path: str, limits: Limits, size: int) -> Iterator[Batch]:
    batch: list[tuple[int, str]] = []
    error: GradcliError | None = None
    try:
        for number, line in enumerate(inputs.lines(path, limits), 1):
            if line.strip():
                batch.append((number, line))
            if len(batch) == size:
                yield Batch(path, batch)
                batch = []
    except GradcliError as unreadable:
        error = unreadable
    if batch or error is not None:
        yield Batch(path, batch, error)


def _claims_of(request: CheckRequest, programs: Programs) -> Iterator[ClaimInput]:
    """Return what is said of the gradient of the command line's expression.

    Raises UsageError for two claims of one name.
    """
    met: set[str] = set()
    for option, text in [("--grad", text) for text in request.grad] + [
        ("--grad-formula", text) for text in request.grad_formula
    ]:
        name, claim = assignment(option, text)
        if name in met:
            raise UsageError(
                f"two claims of the gradient by '{name}'",
                help=f"{option} {text} is the second: leave one out",
            )
        met.add(name)
        if claim.startswith("@") and option == "--grad":
            yield ClaimInput(name, numbers=programs.loader()(claim[1:]))
        else:
            yield ClaimInput(name, claim, formula=option == "--grad-formula")


class Cases(Work):
    """The cases of all inputs, and perhaps the functions of the settings after them.

    Raises GradcliError for a wrong request.
    """

    def __init__(self, request: CheckRequest, functions: Work | None = None) -> None:
        usual = Configuration(request.config).of()
        super().__init__(request, check_inputs(request, usual))
        options = self.file_options.of(None)
        for path in self.inputs.files:
            # Reports errors in a project's settings before anything is done.
            self.file_options.of(path)
        if request.changed_since is not None:
            from gradcli.cli.decide.changes import Changes

            left = Changes(request.changed_since, here()).files(
                self.inputs, self.file_options.settings
            )
            self.unchanged, self.inputs = (
                len(self.inputs.files) - len(left),
                replace(self.inputs, files=left),
            )
        self.programs = programs_of(request, self.inputs, options.state)
        for name in options.over:
            if name in self.programs.values:
                raise UsageError(
                    f"'{name}' has a value, {name}={self.inputs.bindings[name]}, and a range, by "
                    "--over",
                    help="leave one of them out",
                )
        self.claims = tuple(_claims_of(request, self.programs))
        if self.inputs.expression is not None and not self.inputs.files:
            refuse_unknown_in(
                self.inputs.expression,
                options.but(claims=self.claims),
                self.programs.values,
                self.programs.limits,
                free=True,
            )
        if self.claims and request.expression is None:
            raise UsageError("--grad is about an expression", help="give it with -e")
        self.record_lines = CheckedLines(
            self.programs, self.names, None, request.rtol, request.atol
        )
        self.functions = functions
        if functions is not None:
            functions.budget = self.budget
            self.unchanged += functions.unchanged

    def pieces(self) -> Iterator[Piece]:
        if self.request.line is not None:
            self.names.unread = True
            yield _piece_of_line(self.inputs, self.programs.limits, self.request.line)
            return
        yield from _pieces(self.inputs, self.programs.limits, self.processes)
        if self.functions is not None:
            yield from self.functions.pieces()

    def outcomes(self, piece: Piece) -> Iterator[Outcome]:
        if isinstance(piece, Called):
            assert self.functions is not None
            yield from self.functions.outcomes(piece)
            return
        options = self.file_options.of(piece.path)
        started = time.perf_counter()
        try:
            for record in self._records(piece, options):
                seconds = time.perf_counter() - started
                yield outcome_of(record, name_of(record), options.fail_on, seconds)
                started = time.perf_counter()
        except Exception as error:  # an error in reading or naming a record
            seconds = time.perf_counter() - started
            record = _unreadable(as_gradcli_error(error), piece.path)
            yield outcome_of(record, name_of(record), options.fail_on, seconds)

    def remarks(self) -> list[str]:
        options = self.file_options.of(None).but(claims=self.claims)
        return self.names.remarks(
            self.programs.values, options, several=bool(self.inputs.files), free=True
        )

    def result(self, line: str, path: str, number: int, unreached: str | None = None) -> Record:
        """Return the result of one record of a file.

        If the record was not reached, return what it says of itself.
        """
        return self.record_lines.result(
            line, path, number, self.file_options.of(path), unreached=unreached
        )

    def _records(self, piece: Part | Batch, options: Options) -> Iterator[Record]:
        if isinstance(piece, Batch):
            for number, line in piece.lines:
                decide = partial(self.result, line, piece.path, number)
                yield self.budget.within(decide, decide)
            if piece.error is not None:
                self.names.unread = True
                yield _unreadable(piece.error, piece.path)
            return
        folder = None if piece.path is None else folder_of(piece.path)
        program = self.programs.fresh(
            options.state, self.programs.loader(folder), usual=options.dialect
        )
        if piece.path is not None:
            yield from self._of_program(program, piece, piece.path, options)
        if piece.with_expression:
            yield from self._of_expression(program, self.file_options.of(None))

    def _of_program(
        self, program: Program, piece: Part, path: str, options: Options
    ) -> Iterator[Record]:
        """Yield the records of a program, or of the statements in some of its lines."""
        limits, ours = self.programs.limits, piece.lines
        drawing: object = None
        try:
            lines = self.inputs.lines(path, limits)
            for source in program.sources(
                lines, None if path == "-" else path, stream=is_stream(path)
            ):
                if source.first_line >= ours.stop:
                    break
                # From the first draw on, queries before the wanted lines run, too: random numbers
                # are drawn in the order of the program.
                drawing = drawing or DRAWS.search(source.text)
                for statement in parse_statements(source, limits.length):
                    line = line_of(statement)
                    wanted = line in ours
                    asked = isinstance(statement, Asked | GradcliError)
                    if asked and not wanted and not drawing:
                        continue
                    record = self._check(program, statement, options)
                    if record is not None and wanted:
                        yield record
        except Exception as unforeseen:
            error = as_gradcli_error(unforeseen)
            self.names.unread = True
            if line_of(error) in ours:
                yield _unreadable(error, path)
        self.names.add(program.scope)

    def _check(
        self,
        program: Program,
        statement: Statement | GradcliError,
        options: Options,
        *,
        id: Any = None,
    ) -> Record | None:
        """Return the record of one statement, decided in the time that is left of the run."""
        decide = partial(check_statement, program, statement, options, id=id)
        if isinstance(statement, GradcliError) or marks_of(statement)[0] is not None:
            return decide()
        asked = statement if isinstance(statement, Asked) else None
        return self.budget.within(
            decide,
            lambda reason: None if asked is None else left_undecided(unrun(asked, id), reason),
        )

    def _of_expression(self, program: Program, options: Options) -> Iterator[Record]:
        text = self.inputs.expression or ""
        parsed = list(statements(text_lines(text) or [""], None, self.programs.limits))
        program.foresee(text_lines(text))
        options = options.but(claims=self.claims)
        given = given_of([*self.request.grad, *self.request.grad_formula])
        for record in records_with_claims(program, parsed, text, options, decide=self._check):
            record.given = given
            yield record
        self.names.add(program.scope)


def _unreadable(error: GradcliError, path: str | None) -> Record:
    record = Record.of_error(error)
    record.file = record.file or (None if path == "-" else path)
    return record


def box_of(texts: Sequence[str], limits: Limits) -> dict[str, tuple[float, float]]:
    """Return the box of ``--over NAME=BEGIN..END``.

    Raises UsageError.
    """
    from gradcli.query.bounds import within

    return within(assignments("--over", texts), Programs(limits))


def check_options(request: CheckRequest) -> Options:
    """Return what ``gradcli check`` computes: as in every check, but for what is asked for.

    Raises UsageError.
    """
    options = options_of(request, "check")
    if not any(request.given_options("function gradient by")):
        for option, _ in request.given_options("order forward"):
            raise UsageError(f"{option} is about --function", help="leave it out")
        if not request.functions:
            option_value("dtype", request.dtype, "--dtype")
    return CHECKING.but(
        wrt=options.wrt, freeze=options.freeze, seed=options.seed, remembering=request.cache,
        over=box_of(request.over, limits_of(request)),
    )  # fmt: skip


# -- One command for each case that is wrong, which repeats it alone: the options that decide it,
# and where it stands.


_LONGEST = 2_000  # characters beyond which no command is given


class Repeating:
    """The commands of a run.

    Reports, processes, baselines and limits of the whole run have no part in what one case gives.
    """

    def __init__(self, request: CheckRequest, inputs: Inputs) -> None:
        self._inputs = inputs
        self._options = [*_options_as_words(request, _OPTIONS)]
        self._bindings = [f"{name}={text}" for name, text in inputs.bindings.items()]
        self._reads_once = "@-" in inputs.bindings.values()
        self._alone = [*_options_as_words(request, _ALONE)]

    def command(self, record: Record) -> str | None:
        """Return the command, as run from the folder that this one runs in.

        Return None where there is none: standard input and pipes are read once.
        """
        files = self._inputs.files if record.file is None else [record.file]
        if (
            self._reads_once
            or any(is_stream(path) or is_handed_over(path) for path in files)
            or (record.file is None and not self._alone)
        ):
            return None
        line = ["--line", str(record.line)] if record.has_line else []
        where = self._alone if record.file is None else line
        named = [
            word for path in files for word in (["-f", path] if path.startswith("-") else [path])
        ]
        command = shell_command("gradcli", "check", *named, *where, *self._bindings, *self._options)
        return command if len(command) <= _LONGEST else None


def _options_as_words(request: CheckRequest, names: str) -> Iterator[str]:
    """Options as words, in this order."""
    for option, value in request.given_options(names):
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from (option,) if value is True else (option, str(each))


# The options that say what is decided, and those that affect its result or its verdict.
_ALONE = (
    "expression grad grad_formula function gradient jvp_of adjoint by implicit fixed_point "
    "parameters at forward order"
)
_OPTIONS = (
    "input_format wrt seed fail_on rtol atol convention points random_state timeout "
    "dialect dtype backend threads config freeze over limit"
)
