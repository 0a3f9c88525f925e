"""The one way of all commands but `check` through programs and records; ``gradcli eval``, which
adds nothing to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from gradcli.cli import interrupts
from gradcli.cli.exit_codes import FINE, FOUND, code_of, say_remarks
from gradcli.cli.inputs import (
    Inputs,
    add_file_help,
    assignments,
    eval_inputs,
    instead_of_nothing,
    is_stream,
    options_of,
    programs_of,
)
from gradcli.cli.request import EvalRequest
from gradcli.cli.write.results import Form, writer_for
from gradcli.containment import as_gradcli_error
from gradcli.errors import UsageError, text_lines
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.plans.backend import insist
from gradcli.query.bindings import Programs
from gradcli.query.evaluate import records
from gradcli.query.names import UsedNames, refuse_unknown_in
from gradcli.query.options import Options, Policy, names_of
from gradcli.report.records import Answer, Record


class Text(NamedTuple):
    """The lines of a program, or of records, which have none of their own."""

    program: Program | None
    lines: Iterable[str]
    path: str | None  # of a file; None for the expression of the command line
    stream: bool = False  # whether lines are answered as they come

    @property
    def name(self) -> str | None:
        """Return what messages call it."""
        return None if self.path == "-" else self.path


def texts(inputs: Inputs, programs: Programs, state: int) -> Iterator[Text]:
    """Every file, and then the expression; beside one file it sees that file's names.

    Raises InputError as the lines are read.
    """
    program: Program | None = None
    for path in inputs.files:
        lines = inputs.lines(path, programs.limits)
        if inputs.holds_records(path):
            yield Text(None, lines, path)
        else:
            program = programs.fresh(state, programs.loader(folder_of(path)))
            yield Text(program, lines, path, is_stream(path))
    if inputs.expression is None:
        return
    if program is None or len(inputs.files) > 1:
        program = programs.fresh(state, programs.loader())
    text = inputs.expression
    yield Text(
        program, text_lines(text.removeprefix(" ") if text.startswith(" -") else text) or [""], None
    )


class Run(ABC):
    """The answers of a command to all inputs, in order, each as soon as it is there."""

    kind: ClassVar[type[Answer]]
    command: ClassVar[str]
    nothing: ClassVar[str]  # what is said where there are no answers
    example: ClassVar[str | None] = None
    free = False  # whether names that are asked for may do without values

    def __init__(
        self, inputs: Inputs, programs: Programs, options: Options, state: int = 0
    ) -> None:
        self.inputs, self.programs, self.options, self.state = inputs, programs, options, state
        self.names = UsedNames()
        if (
            inputs.expression is not None and not inputs.files
        ):  # the names of the whole run are known at once
            refuse_unknown_in(
                inputs.expression, options, programs.values, programs.limits, self.free
            )

    def answers(self) -> Iterator[Any]:
        """The answers.

        Raises GradcliError for names that an expression alone does not have, and for records where
        there are none.
        """
        for text in texts(self.inputs, self.programs, self.state):
            found = self._answers_or_errors(text)
            yield from found if self.inputs.files else self._with_remarks(found)

    def _answers_or_errors(self, text: Text) -> Iterator[Any]:
        found = (
            self.of_records(text) if text.program is None else self.of_program(text, text.program)
        )
        try:
            yield from found
        except Exception as error:
            self.names.unread = True
            yield self.kind.of_error(as_gradcli_error(error))
        if text.program is not None:
            self.names.add(text.program.scope)

    def _with_remarks(self, found: Iterator[Any]) -> Iterator[Any]:
        """The answers to an expression alone, of which the last one says what is known then."""
        last: Any = None
        for each in found:
            if last is not None:
                yield last
            last = each
        if last is not None:
            if last.error is None:
                last.warnings += self.remarks()
            yield last

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done.

        Raises an error for names that are asked for and that nobody has.
        """
        return self.names.remarks(
            self.programs.values, self.options, several=bool(self.inputs.files)
        )

    def write(self, writer: Form, fail_fast: bool = False) -> int:
        """Write the answers as they come, and give the exit code. Raises UsageError for none."""
        codes: set[int] = set()
        said = FINE
        try:
            for result in self.answers():
                interrupts.check()
                if result.error is not None:
                    add_file_help(result.error, self.command, self.inputs)
                writer.write(result)
                codes.add(
                    code_of(result.error.error)
                    if result.error is not None
                    else FOUND
                    if result.failed
                    else FINE
                )
                if fail_fast and max(codes):
                    break
            else:
                said = say_remarks(self.remarks) if self.inputs.files else FINE
        finally:
            if codes:
                writer.close()
        if codes:
            return max(*codes, said)
        raise UsageError(self.nothing, help=self.example or instead_of_nothing(self.inputs))

    @abstractmethod
    def of_program(self, text: Text, program: Program) -> Iterator[Any]:
        """The answers to a program."""

    def of_records(self, text: Text) -> Iterator[Any]:
        """The answers to JSON Lines records."""
        raise UsageError(f"'gradcli {self.command}' reads programs, not records")


# -- ``gradcli eval``
# ----------------------------------------------------------------------------------------------------


def evaluate(request: EvalRequest) -> int:
    """Evaluate everything that was asked for."""
    inputs = eval_inputs(request, equation=request.implicit is not None)
    options = eval_options(request)
    targets: dict[str, str] = {}
    save = None
    if request.save:
        from gradcli.cli.write.saving import SavedArrays, targets_of

        targets = targets_of(request.save)
        arrays = SavedArrays(targets)
        options, save = replace(options, place=arrays.place), arrays.save
    writer = writer_for(request, one_alone=False, save=save)
    if request.on is not None:
        return ChunkedEvaluation(request, inputs, targets).write(writer)
    programs = programs_of(request, inputs)
    if request.cov:
        options = covariances_of(request, programs, options)
    if request.implicit is not None:
        run: Run = Slopes(inputs, programs, options, request)
    else:
        run = Evaluation(inputs, programs, options, request.random_state)
    return run.write(writer, request.fail_fast)


class Evaluation(Run):
    """The results of `eval`."""

    kind, command, nothing = Record, "eval", "nothing to evaluate"

    def of_program(self, text: Text, program: Program) -> Iterator[Record]:
        cache = (
            self.programs.cache if self.inputs.files and self.options.bare else None
        )  # one expression is not worth its imports
        return records(program, text.lines, text.name, self.options, cache, text.stream)

    def of_records(self, text: Text) -> Iterator[Record]:
        from gradcli.query.cases import RecordLines

        return RecordLines(self.programs, self.names).results(
            text.lines, text.path or "", Policy(self.options, self.state)
        )


class Slopes(Run):
    """The results of ``eval --implicit NAME``."""

    kind, command, nothing = Record, "eval --implicit", "nothing to evaluate"

    def __init__(
        self, inputs: Inputs, programs: Programs, options: Options, request: EvalRequest
    ) -> None:
        from gradcli.query.related import Implicit

        assert request.implicit is not None
        self.of = Implicit(request.implicit)
        super().__init__(inputs, programs, options, request.random_state)

    def of_program(self, text: Text, program: Program) -> Iterator[Record]:
        return self.of.at_points(program, program.statements(text.lines, text.name), self.options)


class ChunkedEvaluation(Evaluation):
    """The one result of ``--on``."""

    def __init__(self, request: EvalRequest, inputs: Inputs, targets: dict[str, str]) -> None:
        self.request, self.inputs, self.targets = request, inputs, targets

    def answers(self) -> Iterator[Record]:
        from gradcli.cli.decide.chunked import chunked_record

        yield chunked_record(self.request, self.inputs, self.targets)


def eval_options(request: EvalRequest) -> Options:
    """Return what ``gradcli eval`` computes.

    Raises UsageError, and NativeError without a compiler.
    """
    options = options_of(request, "modes eval")
    insist(request.backend)
    mode = next(
        (
            option.removeprefix("--")
            for option, _ in request.given_options("jacobian hessian jvp hvp")
        ),
        "grad",
    )
    kind = request.output_format
    return replace(
        options, mode=mode, tangents=assignments(f"--{mode}", request.jvp or request.hvp),
        formula=kind in ("text", "json", "latex") if request.formula is None else request.formula, latex=kind == "latex",
        precision=request.precision, at=kind == "csv", backend=request.backend, threads=request.threads,
    )  # fmt: skip


def covariances_of(request: EvalRequest, programs: Programs, options: Options) -> Options:
    """The options with ``--cov A,B=VALUE``: numbers, matrices of the language, or data files.

    Raises GradcliError.
    """
    calculator = programs.fresh(request.random_state, values={})
    found: list[tuple[tuple[str, ...], object]] = []
    for text in request.cov:
        listed, equals, value = text.partition("=")
        names = names_of(listed) or ()
        sound = equals and names and value.strip() and all(name.isidentifier() for name in names)
        if not sound:
            raise UsageError(
                f"--cov takes NAMES=VALUE, not '{text}'",
                help="write --cov a,b=0.02, or --cov a,b=@matrix.npy",
            )
        if any({*names} == {*other} for other, _ in found):
            raise UsageError(f"--cov {listed}=... is given twice")
        given = value.strip()
        found.append(
            (
                names,
                programs.loader()(given[1:])
                if given.startswith("@")
                else calculator.constant(given, "<cov>"),
            )
        )
    return replace(options, covariances=found)
