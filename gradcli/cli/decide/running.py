"""The way of all commands but `check` through programs and records.

``gradcli eval`` adds nothing to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gradcli.cli import endings
from gradcli.cli.endings import FINE, FOUND, code_of
from gradcli.cli.inputs import (
    Inputs,
    assignments,
    eval_inputs,
    is_stream,
    options_of,
    programs_of,
)
from gradcli.cli.request import EXAMPLE, EvalRequest
from gradcli.cli.write.results import Form, say_remarks, writer_for
from gradcli.errors import UsageError, as_gradcli_error
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.options import Options, names_of
from gradcli.plans.backend import require_compiler
from gradcli.query.evaluate import Script, records
from gradcli.query.programs import Programs, UsedNames, refuse_unknown_in
from gradcli.report.records import Answer, Record
from gradcli.texts import text_lines


def scripts(inputs: Inputs, programs: Programs, state: int) -> Iterator[Script]:
    """Every file, and then the expression; beside one file it sees that file's names.

    Raises InputError as the lines are read.
    """
    program: Program | None = None
    for path in inputs.files:
        lines = inputs.lines(path, programs.limits)
        if inputs.holds_records(path):
            yield Script(None, lines, path)
        else:
            program = programs.fresh(state, programs.loader(folder_of(path)))
            yield Script(program, lines, path, is_stream(path))
    if inputs.expression is None:
        return
    if program is None or len(inputs.files) > 1:
        program = programs.fresh(state, programs.loader())
    text = inputs.expression
    yield Script(
        program, text_lines(text.removeprefix(" ") if text.startswith(" -") else text) or [""]
    )


_BOUND = re.compile(r"(?:\A|;)\s*([^\W\d]\w*(?:\([\w, ]*\))?)\s*=(?!=)")
VERBS = {"eval": "evaluate", "eval --implicit": "evaluate", "diff": "differentiate"}


@dataclass(eq=False)
class Run:
    """The answers of a command to all inputs, in order, each as soon as it is there.

    ask      gives the answers to a text
    kind     of the answers
    example  of the command
    free     whether names that are asked for may do without values
    """

    command: str
    inputs: Inputs
    programs: Programs
    ask: Callable[[Script, Options], Iterator[Any]]
    options: Options
    kind: type[Answer] = Record
    example: str = EXAMPLE
    free: bool = False

    def __post_init__(self) -> None:
        self.names = UsedNames()
        inputs, programs = self.inputs, self.programs
        # the names of the whole run are known at once
        if inputs.expression is not None and not inputs.files:
            refuse_unknown_in(
                inputs.expression, self.options, programs.values, programs.limits, self.free
            )

    def answers(self) -> Iterator[Any]:
        """Yield the answers.

        Raises GradcliError for names that an expression alone does not have, and for records where
        a command reads none.
        """
        for script in scripts(self.inputs, self.programs, self.options.state):
            found = self._answers_or_errors(script)
            yield from found if self.inputs.files else self._with_remarks(found)

    def _answers_or_errors(self, script: Script) -> Iterator[Any]:
        found = (
            self.of_records(script) if script.program is None else self.ask(script, self.options)
        )
        try:
            yield from found
        except Exception as error:
            self.names.unread = True
            yield self.kind.of_error(as_gradcli_error(error))
        if script.program is not None:
            self.names.add(script.program.scope)

    def _with_remarks(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yield the answers to an expression alone.

        The last one carries the remarks that are known by then.
        """
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
                endings.raise_interrupt()
                writer.write(result)
                codes.add(
                    code_of(result.error)
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
        nothing = f"nothing to {VERBS.get(self.command, self.command)}"
        text = self.inputs.expression
        bound = [] if text is None else _BOUND.findall(text)
        help = f"add what is wanted: '{text}; {bound[-1]}'" if bound else self.example
        raise UsageError(nothing, help=help)

    def of_records(self, script: Script) -> Iterator[Any]:
        """Return the answers to JSON Lines records."""
        raise UsageError(f"'gradcli {self.command}' reads programs, not records")


# -- ``gradcli eval``


def evaluate(request: EvalRequest) -> int:
    """Evaluate everything that was asked for."""
    inputs = eval_inputs(request)
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
    run: Run
    if request.implicit is not None:
        from gradcli.query.related import Implicit

        run = Run(
            "eval --implicit", inputs, programs, Implicit(request.implicit).at_points, options
        )
    else:
        run = Evaluation("eval", inputs, programs, options)
    return run.write(writer, request.fail_fast)


class Evaluation(Run):
    """The results of `eval`."""

    def __init__(
        self, command: str, inputs: Inputs, programs: Programs, options: Options, *, free: bool = False
    ) -> None:  # fmt: skip
        # A single expression is not worth the imports of the cache.
        cache = programs.cache if inputs.files and options.bare else None
        ask = partial(records, cache=cache)
        super().__init__(command, inputs, programs, ask, options, free=free)

    def of_records(self, script: Script) -> Iterator[Record]:
        from gradcli.query.cases import RecordLines

        return RecordLines(self.programs, self.names).results(
            script.lines, script.path or "", self.options
        )


class ChunkedEvaluation(Evaluation):
    """The one result of ``--on``."""

    def __init__(self, request: EvalRequest, inputs: Inputs, targets: dict[str, str]) -> None:
        self.command, self.request, self.inputs, self.targets = "eval", request, inputs, targets

    def answers(self) -> Iterator[Record]:
        from gradcli.cli.decide.chunked import chunked_record

        yield chunked_record(self.request, self.inputs, self.targets)


def eval_options(request: EvalRequest) -> Options:
    """Return what ``gradcli eval`` computes.

    Raises UsageError, and NativeError without a compiler.
    """
    options = options_of(request, "modes eval")
    if request.backend == "native":
        require_compiler()
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
    """Return the options with the covariances of ``--cov A,B=VALUE``.

    The values are numbers, matrices of the language, or data files.

    Raises GradcliError.
    """
    calculator = programs.fresh(options.state, values={})
    found = [
        (
            names_of(listed) or (),
            programs.loader()(text[1:])
            if text.startswith("@")
            else calculator.constant(text, "<cov>"),
        )
        for listed, text in assignments("--cov", request.cov).items()
    ]
    return replace(options, covariances=found)
