"""``gradcli export``: the queries of expressions and programs, one function after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.exit_codes import FINE, code_of, say_remarks
from gradcli.cli.inputs.option_values import export_target, limits_of, options_of
from gradcli.cli.inputs.positionals import Inputs, eval_inputs, helped, programs_of
from gradcli.cli.request import ExportRequest
from gradcli.cli.write.streams import put, say
from gradcli.errors import GradcliError, UsageError
from gradcli.exports.python import target_of
from gradcli.exports.subject import Subject
from gradcli.language.run import Program
from gradcli.query.bindings import Programs
from gradcli.query.exporting import subjects
from gradcli.query.options import Options
from gradcli.query.unused_names import refuse_unknown_in
from gradcli.report.records import Failure
from gradcli.storage.whole_files import write_whole


def export(request: ExportRequest) -> int:
    """Export everything that was asked for."""
    target = target_of(export_target(request))
    limits = limits_of(request)
    inputs = eval_inputs(request)
    programs = programs_of(request, inputs, limits)
    exporting = Exporting(inputs, programs, options_of(request), request.random_state)
    code = FINE
    found: list[Subject] = []
    for subject in exporting.records():
        if isinstance(subject, GradcliError):
            helped(Failure.of(subject), "export", inputs)
            say(subject.render())
            code = max(code, code_of(subject))
        else:
            found.append(subject)
    if code != FINE:
        return code
    say_remarks(exporting.remarks)
    if not found:
        raise UsageError("nothing to export", help="gradcli export 'x**2*sin(y)' x=1 y=2 --to numpy")
    if len(found) > 1:
        for number, subject in enumerate(found, 1):
            subject.function = f"{subject.function}_{number}"
    text = target.file(found)
    if request.out is None:
        put(text)
    else:
        write_whole(Path(request.out), text.encode("utf-8"))
    return FINE


class Exporting(Answers[Subject | GradcliError]):
    """The exported texts of all inputs, in order, or an error in the place of one."""

    command = "export"

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int) -> None:
        super().__init__(inputs, programs, state)
        self.options = options
        if inputs.expression is not None and not inputs.files:
            refuse_unknown_in(inputs.expression, options, programs.values, programs.limits, free=True)

    def of_program(self, text: Text, program: Program) -> Iterator[Subject | GradcliError]:
        return subjects(program, text.lines, text.name, self.options)

    def failed(self, error: GradcliError) -> GradcliError:
        return error

    def remarks(self) -> list[str]:
        """Warnings when all is done: of names that were given values and stand nowhere."""
        return self.names.unmentioned(self.programs.values, self.options)
