"""The command line: ``gradcli eval`` and its options. ``run`` is the console script."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from gradcli.cli.arguments import ExpressionCommand

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The gradient calculator: values, exact gradients, derivative formulas, and a verdict on them.",
    epilog="Example: gradcli eval '3*a**3 - b**2' a=2,3 b=6,4",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"gradcli {version('gradcli')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


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
    freeze: Annotated[
        list[str] | None, typer.Option(metavar="X,Y", help="Never differentiate with respect to these names.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape.")
    ] = None,
    jacobian: Annotated[bool, typer.Option("--jacobian", help="All partial derivatives instead of a gradient.")] = False,
    hessian: Annotated[bool, typer.Option("--hessian", help="All second derivatives of a scalar.")] = False,
    jvp: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="The derivative in this direction (repeatable).")
    ] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE.npy", help="Write a gradient ('value': the value) to a file instead of printing it."),
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check the result against sympy.")] = True,
    formula: Annotated[
        bool | None, typer.Option("--formula/--no-formula", help="Print derivative formulas (not in jsonl and csv by default).")
    ] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each cross-check.")] = None,
    output_format: Annotated[
        str, typer.Option("--format", metavar="text|json|jsonl|csv|latex", help="The form of the output.")
    ] = "text",
    dtype: Annotated[str, typer.Option(metavar="float64|float32", help="The precision of the calculation.")] = "float64",
    digits: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=17, help="Round printed numbers to N significant digits.")
    ] = None,
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
    from gradcli.cli.endings import until_pipe_closes
    from gradcli.cli.eval import run_eval
    from gradcli.cli.job import Request

    request = Request(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=wrt, freeze=freeze or [], seed=seed,
        jacobian=jacobian, hessian=hessian, jvp=jvp or [], save=save or [], check=check, formula=formula, timeout=timeout,
        output_format=output_format, dtype=dtype, digits=digits, random_state=random_state, fail_fast=fail_fast,
        limit=limit or [], quiet=quiet, color=color, precision=precision,
    )  # fmt: skip
    raise typer.Exit(until_pipe_closes(run_eval, request))


@app.command(
    "check",
    epilog="Exit codes: 0 nothing to report; 1 a verdict in --fail-on; 2 input that cannot be evaluated, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def check(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]... [NAME=VALUE]...", help="Programs or JSON Lines to check; bindings.")
    ] = None,
    expression: Annotated[str | None, typer.Option("-e", "--expression", metavar="EXPR", help="Check an expression.")] = None,
    grad: Annotated[
        list[str] | None, typer.Option(metavar="NAME=CLAIM", help="What somebody says its gradient is: a formula, numbers, @FILE.")
    ] = None,
    grad_formula: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FORMULA", help="The same, for a formula that mentions no name.")
    ] = None,
    function: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Check a Python function whose gradient is --gradient.")
    ] = None,
    gradient: Annotated[str | None, typer.Option(metavar="MODULE:NAME", help="The gradient of --function.")] = None,
    at: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An argument of --function; in the order of its parameters.")
    ] = None,
    file: Annotated[list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Another file to check.")] = None,
    input_format: Annotated[
        str | None, typer.Option("--input", "-i", metavar="text|jsonl", help="How to read files and standard input.")
    ] = None,
    wrt: Annotated[str | None, typer.Option(metavar="A,B", help="Differentiate with respect to these names only.")] = None,
    freeze: Annotated[list[str] | None, typer.Option(metavar="X,Y", help="Never differentiate with respect to these.")] = None,
    seed: Annotated[str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product.")] = None,
    fail_on: Annotated[
        str | None, typer.Option(metavar="VERDICTS", help="Verdicts that fail (default: mismatch,undetermined,undefined).")
    ] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of claims that are numbers (default by dtype).")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of claims that are numbers (default 0).")] = None,
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="torch|jax|min-norm", help="What is right at a kink, in claimed numbers and asserts (any value between both sides)."
        ),
    ] = None,
    points: Annotated[int | None, typer.Option(min=1, help="Points for names without values (default 16).")] = None,
    random_state: Annotated[int | None, typer.Option(metavar="N", min=0, help="The seed of these points, rand and randn.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes (default 1).")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each case.")] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE.npy", help="Write which entries of NAME are wrong, as booleans (with -e)."),
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=FILE", help="A report: text, json, jsonl, junit, github, gitlab, sarif or markdown; - is stdout."),
    ] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="KIND", help="The report on standard output.")] = "text",
    dtype: Annotated[str, typer.Option(metavar="float64|float32", help="The precision of the calculation.")] = "float64",
    update: Annotated[bool, typer.Option("--update", help="Record present results as expectations (refused under CI).")] = False,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Known failures, which do not fail.")] = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Nothing to check is fine.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Remember verdicts between runs.")] = True,
    limit: Annotated[list[str] | None, typer.Option(metavar="NAME=N", help="Raise a limit.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name passing cases, too.")] = False,
) -> None:
    """Decide whether gradients are right: cross-checks of every query, asserts, and claims.

    gradcli check gradients.grad cases.jsonl

    gradcli check -e '3*a**3 - b**2' --grad a='9*a**2' a=2,3 b=6,4
    """
    from gradcli.cli.check import CheckRequest, run_check
    from gradcli.cli.endings import until_pipe_closes

    request = CheckRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=wrt, freeze=freeze or [], seed=seed, jacobian=False,
        hessian=False, jvp=[], save=save or [], check=True, formula=False, timeout=timeout, output_format=output_format, dtype=dtype,
        digits=None, random_state=random_state, fail_fast=fail_fast, limit=limit or [], quiet=False, color="auto",
        expression=expression, grad=tuple(grad or ()), grad_formula=tuple(grad_formula or ()), fail_on=fail_on,
        rtol=rtol, atol=atol, convention=convention, points=points, jobs=jobs,
        reports=tuple(report or ()), update=update, baseline=baseline, allow_empty=allow_empty, verbose=verbose, cache=cache,
        function=function, gradient=gradient, at=tuple(at or ()),
    )  # fmt: skip
    raise typer.Exit(until_pipe_closes(run_check, request))


@app.command("functions")
def list_functions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A function, as NumPy or PyTorch calls it.")] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json", help="The form of the output.")] = "text",
) -> None:
    """Show what can be differentiated: all functions, or one with its derivative, domain, conventions and an example."""
    from gradcli.cli.endings import until_pipe_closes
    from gradcli.cli.functions import run_functions

    raise typer.Exit(until_pipe_closes(run_functions, name, output_format))


def run() -> None:
    """Entry point: every way in which the program can end has its exit code."""
    from gradcli.cli.endings import guarded

    gc.set_threshold(500_000, 20, 20)  # millions of tokens and nodes are made that are no garbage: looking for some took half the time
    sys.exit(guarded(app))


if __name__ == "__main__":
    run()
