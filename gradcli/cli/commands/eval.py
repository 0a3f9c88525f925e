"""``gradcli eval``: its options."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from typing import Annotated

import typer

from gradcli.cli.arguments import ExpressionCommand
from gradcli.cli.commands import STYLE

app = typer.Typer(**STYLE)


@app.command(
    "eval",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 1 a mismatch or a false assert; 2 input that cannot be evaluated, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def evaluate(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EXPRESSION] [NAME=VALUE]...", help="An expression and its bindings; - reads standard input."),
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Read programs from FILE; - is standard input.")
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="text|jsonl", help="How to read files and standard input (by suffix, else text)."),
    ] = None,
    wrt: Annotated[str | None, typer.Option(metavar="A,B", help="Differentiate with respect to these names only.")] = None,
    freeze: Annotated[list[str] | None, typer.Option(metavar="X,Y", help="Never differentiate with respect to these names.")] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape.")
    ] = None,
    jacobian: Annotated[bool, typer.Option("--jacobian", help="All partial derivatives instead of a gradient.")] = False,
    hessian: Annotated[bool, typer.Option("--hessian", help="All second derivatives of a scalar.")] = False,
    jvp: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="The derivative in this direction (repeatable).")] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE.npy", help="Write a gradient ('value': the value) to a file instead of printing it."),
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check the result against sympy.")] = True,
    formula: Annotated[
        bool | None, typer.Option("--formula/--no-formula", help="Print derivative formulas (not in jsonl and csv by default).")
    ] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each cross-check.")] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json|jsonl|csv|latex", help="The form of the output.")] = "text",
    dtype: Annotated[str, typer.Option(metavar="float64|float32", help="The precision of the calculation.")] = "float64",
    digits: Annotated[int | None, typer.Option(metavar="N", min=1, max=17, help="Round printed numbers to N significant digits.")] = None,
    precision: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1000, help="Value and gradient to N digits, from the reference.")
    ] = None,
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of rand and randn.")] = 0,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first error.")] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Raise a limit: length, entries, dimensions, nodes, calls or tangents."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results that need attention: errors, mismatches, false asserts.")
    ] = False,
    color: Annotated[str, typer.Option(metavar="auto|always|never", help="Colour of the output.")] = "auto",
) -> None:
    """Evaluate expressions and their gradients.

    gradcli eval '3*a**3 - b**2' a=2,3 b=6,4

    Reads programs from standard input without an expression and without -f.
    """
    from gradcli.cli.eval import run_eval
    from gradcli.cli.exit_codes import until_pipe_closes
    from gradcli.cli.request import Request

    request = Request(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=wrt, freeze=freeze or [], seed=seed,
        jacobian=jacobian, hessian=hessian, jvp=jvp or [], save=save or [], check=check, formula=formula, timeout=timeout,
        output_format=output_format, dtype=dtype, digits=digits, random_state=random_state, fail_fast=fail_fast,
        limit=limit or [], quiet=quiet, color=color, precision=precision,
    )  # fmt: skip
    raise typer.Exit(until_pipe_closes(run_eval, request))
