"""``gradcli export``: the queries of expressions and programs, one function after the other."""

from __future__ import annotations

from gradcli.cli.commands import ExportRequest
from gradcli.cli.decide.running import Run, eval_inputs, kind_by_suffix, options_of, programs_of
from gradcli.cli.process import put, say
from gradcli.exports.python import SUFFIXES, target_named, target_of
from gradcli.query.exporting import Export, file_of, subjects
from gradcli.storage import write_whole


def export(request: ExportRequest) -> int:
    """Export everything that was asked for."""
    functions, options = Functions(request), options_of(request)
    inputs = eval_inputs(request)
    run = Run(
        "export", inputs, programs_of(request, inputs), subjects, options,
        kind=Export, example="gradcli export 'x**2*sin(y)' x=1 y=2 --to numpy", free=True,
    )  # fmt: skip
    return run.write(functions)


class Functions:
    """Takes functions as they come, and writes them all, or none where one has an error."""

    def __init__(self, request: ExportRequest) -> None:
        given = request.to and target_named(request.to)
        target = kind_by_suffix(request.out, SUFFIXES, "--to", given) or "numpy"
        self.target, self.out = target_of(target), request.out
        self.found: list[Export] = []

    def write(self, result: Export) -> None:
        self.found.append(result)
        for warning in result.warnings:
            say(f"warning: {warning}")
        if result.error is not None:
            say(result.error_text())

    def close(self) -> None:
        if any(each.subject is None for each in self.found):
            return
        text = file_of(self.target, self.found)
        if self.out is None:
            put(text)
        else:
            write_whole(self.out, text.encode("utf-8"))
