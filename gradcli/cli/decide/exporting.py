"""``gradcli export``: the queries of expressions and programs, one function after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradcli.cli.decide.texts import texts
from gradcli.cli.exit_codes import FINE, code_of, say_remarks
from gradcli.cli.inputs.option_values import export_target, limits_of, options_of
from gradcli.cli.inputs.positionals import Inputs, eval_inputs, helped, programs_of
from gradcli.cli.request import ExportRequest
from gradcli.cli.write.streams import put, say
from gradcli.containment import contained
from gradcli.errors import GradcliError, UsageError
from gradcli.exports.python import target_of
from gradcli.exports.subject import Subject
from gradcli.query.bindings import Programs
from gradcli.query.exporting import subjects
from gradcli.query.options import Options
from gradcli.query.unused_names import UsedNames, refuse_unknown_in
from gradcli.report.records import Failure
from gradcli.storage.whole_files import write_whole


def export(request: ExportRequest) -> int:
    """Export everything that was asked for."""
    target = target_of(export_target(request))
    limits = limits_of(request, ("text",))
    inputs = eval_inputs(request)
    programs = programs_of(request, inputs, limits)
    exporting = Exporting(inputs, programs, options_of(request), request.random_state)
    codes = {FINE}
    found: list[Subject] = []
    for subject, error in exporting.subjects():
        if error is not None:
            if inputs.expression is not None:
                helped(Failure.of(error), "export", inputs)
            say(error.render())
            codes.add(code_of(error))
        elif subject is not None:
            found.append(subject)
    if max(codes) > FINE:
        return max(codes)
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


class Exporting:
    """What is exported of all inputs, in order."""

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int) -> None:
        self.inputs, self.programs, self.options, self.state = inputs, programs, options, state
        self.names = UsedNames()
        if inputs.expression is not None and not inputs.files:
            refuse_unknown_in(inputs.expression, options, programs.values, programs.limits, free=True)

    def subjects(self) -> Iterator[tuple[Subject | None, GradcliError | None]]:
        """What is exported, or an error in its place. Raises UsageError for records."""
        for text in texts(self.inputs, self.programs, self.state):
            if text.program is None:
                raise UsageError("'gradcli export' reads programs, not records")
            try:
                for found in subjects(text.program, text.lines, text.name, self.options):
                    yield (None, found) if isinstance(found, GradcliError) else (found, None)
            except Exception as error:
                yield None, contained(error)
            self.names.add(text.program.scope)

    def remarks(self) -> list[str]:
        """Warnings when all is done: of names that were given values and stand nowhere."""
        return self.names.unmentioned(self.programs.values, self.options)
