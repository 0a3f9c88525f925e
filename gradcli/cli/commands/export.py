"""``gradcli export``: its options, and what it does: functions of value and gradient in another language, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import Color, Dialect, ExpressionCommand, Files, Freeze, InputFormat, Limit, Precision, Wrt, joined
from gradcli.cli.exit_codes import FINE, code_of, say_remarks
from gradcli.cli.request import ExportRequest
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.exports.subject import Subject

app = typer.Typer(**STYLE)


@app.command(
    "export",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 2 input that has no value, what the target lacks, or wrong usage; 3 an internal error; 130 interrupted.",
)
def export(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPRESSION] [NAME=VALUE]...",
            help="An expression, and values that say shapes and dtypes (without one: a number); - reads standard input.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="latex|numpy|torch|jax|c|javascript|sympy",
            help="The language or library (numpy, or as FILE's suffix says); js is javascript.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the functions to FILE.py, .c, .js or .tex, as its suffix says.")
    ] = None,
    file: Files = None,
    input_format: InputFormat = None,
    wrt: Wrt = None,
    freeze: Freeze = None,
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape.")
    ] = None,
    dialect: Dialect = None,
    dtype: Precision = "float64",
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of rand and randn.")] = 0,
    limit: Limit = None,
    color: Color = "auto",
) -> Callable[[], int]:
    """A function of value and gradient, in another language.

    gradcli export 'sum((a*x - y)**2)' a=2 x=1,2,3 y=2,4,7 --to torch

    gradcli export 'exp(-x)*sin(y)' --out f.c

    Of several queries, each has a function: value_and_grad_1, value_and_grad_2, ...
    """
    from gradcli.cli.inputs.option_values import export_target

    request = ExportRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=joined(wrt), freeze=freeze or [], seed=seed, save=[],
        timeout=None, output_format="text", dtype=dtype, random_state=random_state, fail_fast=False, limit=limit or [], dialect=dialect,
        quiet=False, color=color, to=export_target(to, out), out=out,
    )  # fmt: skip
    return partial(run, request)


def run(request: ExportRequest) -> int:
    """Export everything that was asked for and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.decide.exporting import Exporting
    from gradcli.cli.inputs.option_values import export_options, limits_of
    from gradcli.cli.inputs.positionals import eval_inputs, helped, programs_of
    from gradcli.cli.write.streams import put, say
    from gradcli.exports.python import target_of
    from gradcli.report.records import Failure

    limits = limits_of(request, ("text",))
    target = target_of(request.to)
    inputs = eval_inputs(request)
    programs = programs_of(inputs, limits, request.dtype, request.random_state or 0, request.dialect)
    exporting = Exporting(inputs, programs, export_options(request), request.random_state or 0)
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
        from pathlib import Path

        from gradcli.storage.whole_files import write_whole

        write_whole(Path(request.out), text.encode("utf-8"))
    return FINE
