"""``gradcli diff``: its options, and what it does: derivatives as formulas as they come, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import Color, Dialect, ExpressionCommand, FailFast, Files, InputFormat, Limit, joined
from gradcli.cli.request import FORMULA_FORMATS, DiffRequest
from gradcli.errors import UsageError
from gradcli.query.options import MOST_TIMES

app = typer.Typer(**STYLE)


@app.command(
    "diff",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 1 a formula that its check refutes; 2 input that has no formula, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def differentiate(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPRESSION] [NAME]... [NAME=VALUE]...",
            help="An expression, the names to differentiate by (all without values), and constants; - reads standard input.",
        ),
    ] = None,
    order: Annotated[int, typer.Option(metavar="N", min=1, max=MOST_TIMES, help="How many times, by each combination of names.")] = 1,
    file: Files = None,
    input_format: InputFormat = None,
    wrt: Annotated[list[str] | None, typer.Option(metavar="A,B", help="The names to differentiate by, as after the expression.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX: as the output, or beside the formulas in JSON.")] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Hold each formula to the derivative at sampled points.")] = True,
    points: Annotated[int, typer.Option(metavar="N", min=1, help="At how many points formulas are held.")] = 16,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each check.")] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json|jsonl|latex", help="The form of the output.")] = "text",
    dialect: Dialect = None,
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of the points, and of rand and randn.")] = 0,
    fail_fast: FailFast = False,
    limit: Limit = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results that need attention: errors and mismatches.")] = False,
    color: Color = "auto",
) -> Callable[[], int]:
    """Derivatives as formulas, for all values of the names.

    gradcli diff 'x^3*sin(x)'

    gradcli diff 'x^2*y + y^3' x y --order 2

    Reads programs from standard input without an expression and without -f.
    """
    request = DiffRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=joined(wrt), freeze=[], seed=None, save=[],
        timeout=timeout, output_format=output_format, dtype="float64", random_state=random_state, fail_fast=fail_fast,
        limit=limit or [], dialect=dialect, order=order, check=check, latex=latex, points=points, quiet=quiet, color=color,
    )  # fmt: skip
    return partial(run, request)


def run(request: DiffRequest, *, only_last: bool = False) -> int:
    """Differentiate everything that was asked for, and give the exit code. Raises GradcliError for what is wrong with the request.

    only_last  whether bindings are no equations to differentiate, but what the last expression is made of
    """
    from gradcli.cli.decide.differentiation import Differentiation
    from gradcli.cli.inputs.option_values import diff_format, limits_of
    from gradcli.cli.inputs.positionals import diff_inputs, programs_of
    from gradcli.cli.write.results import Writer, write_all
    from gradcli.query.general_derivatives import Asked

    limits = limits_of(request, FORMULA_FORMATS)
    kind = diff_format(request)
    given = diff_inputs(request)
    asked = Asked(
        order=request.order, latex=request.latex or kind == "latex", check=request.check, points=request.points,
        state=request.random_state or 0, timeout=request.timeout,
    )  # fmt: skip
    programs = programs_of(given.inputs, limits, request.dtype, request.random_state or 0, request.dialect)
    differentiation = Differentiation(given, programs, asked)
    records = differentiation.records()
    return write_all(
        [*records][-1:] if only_last else records,
        Writer(kind, request.color, quiet=request.quiet),
        UsageError("nothing to differentiate", help="gradcli diff 'x^3*sin(x)'"),
        command="diff",
        inputs=given.inputs,
        remarks=list if only_last else differentiation.remarks,
        fail_fast=request.fail_fast,
    )
