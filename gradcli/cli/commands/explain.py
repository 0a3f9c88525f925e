"""``gradcli explain``: its options, and what it does: explanations as they come, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import (
    Color,
    Dialect,
    ExpressionCommand,
    FailFast,
    Files,
    Freeze,
    InputFormat,
    Limit,
    Precision,
    Wrt,
    joined,
)
from gradcli.cli.request import EXPLAIN_FORMATS, ExplainRequest
from gradcli.errors import UsageError

app = typer.Typer(**STYLE)


@app.command(
    "explain",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 1 a mismatch or a false assert; 2 input that cannot be evaluated, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def explain(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EXPRESSION] [NAME=VALUE]...", help="An expression and its bindings; - reads standard input."),
    ] = None,
    file: Files = None,
    input_format: InputFormat = None,
    wrt: Wrt = None,
    freeze: Freeze = None,
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape.")
    ] = None,
    why: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[INDEX]", help="Why an entry of a gradient, or 'value', is what it is: the story alone (repeatable)."),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="The derivative as a teacher finds it, rule by rule; names need no values.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The steps in LaTeX: as the output, or beside them in JSON.")] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check the result against sympy.")] = True,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each cross-check.")] = None,
    output_format: Annotated[
        str | None,
        typer.Option("--format", metavar="|".join(EXPLAIN_FORMATS), help="The form of the output (text, or as FILE's suffix says)."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Write to FILE.svg, .html, .json, .md, .tex or .txt.")
    ] = None,
    digits: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=17, help="Round numbers in text to N significant digits (6).")
    ] = None,
    dialect: Dialect = None,
    dtype: Precision = "float64",
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of rand and randn.")] = 0,
    fail_fast: FailFast = False,
    limit: Limit = None,
    color: Color = "auto",
) -> Callable[[], int]:
    """Where every number of a value and its gradient comes from: the forward pass, the backward pass, and the paths between.

    gradcli explain '3*a**3 - b**2' a=2,3 b=6,4

    Reads programs from standard input without an expression and without -f.
    """
    from gradcli.cli.inputs.option_values import explanation_format

    request = ExplainRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=joined(wrt), freeze=freeze or [], seed=seed, save=[],
        timeout=timeout, output_format=explanation_format(output_format, out, latex), dtype=dtype, random_state=random_state,
        fail_fast=fail_fast, limit=limit or [], dialect=dialect, quiet=False, color=color, check=check, digits=digits, out=out,
        why=why or [], steps=steps, latex=latex,
    )  # fmt: skip
    return partial(run, request)


def run(request: ExplainRequest) -> int:
    """Explain everything that was asked for and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.decide.explanations import Explanations
    from gradcli.cli.inputs.option_values import explain_options, limits_of
    from gradcli.cli.inputs.positionals import eval_inputs, programs_of
    from gradcli.cli.write.results import Writer, write_all
    from gradcli.explanations.explaining import AskedExplanation

    limits = limits_of(request, EXPLAIN_FORMATS)
    options = explain_options(request)
    inputs = eval_inputs(request)
    programs = programs_of(inputs, limits, request.dtype, request.random_state or 0, request.dialect)
    asked = AskedExplanation(request.why, request.steps, request.latex or request.output_format == "latex")
    explanations = Explanations(inputs, programs, options, request.random_state or 0, asked)
    return write_all(
        explanations.all(),
        Writer(request.output_format, request.color, request.digits, out=request.out),
        UsageError("nothing to explain"),
        command="explain",
        inputs=inputs,
        remarks=explanations.remarks,
        fail_fast=request.fail_fast,
    )
