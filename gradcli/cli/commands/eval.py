"""``gradcli eval``: its options, and what it does: records as they come, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import (
    BACKEND,
    Color,
    Dialect,
    ExpressionCommand,
    FailFast,
    Files,
    Freeze,
    InputFormat,
    Limit,
    Precision,
    Threads,
    Wrt,
    joined,
)
from gradcli.cli.request import FORMATS, EvalRequest
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.inputs.positionals import Inputs
    from gradcli.cli.write.results import Writer
    from gradcli.cli.write.saving import SavedArrays
    from gradcli.limits import Limits


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
    file: Files = None,
    input_format: InputFormat = None,
    wrt: Wrt = None,
    freeze: Freeze = None,
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape.")
    ] = None,
    jacobian: Annotated[bool, typer.Option("--jacobian", help="All partial derivatives instead of a gradient.")] = False,
    hessian: Annotated[bool, typer.Option("--hessian", help="All second derivatives of a scalar.")] = False,
    jvp: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="The derivative in this direction (repeatable).")] = None,
    hvp: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="The Hessian of a scalar times this vector (repeatable).")
    ] = None,
    cov: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B=VALUE", help="The covariance of two uncertain names, or a matrix over the entries of those listed."),
    ] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Write a gradient ('value': the value) to a .npy, .npz, .csv, .tsv or .json file."),
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check the result against sympy.")] = True,
    formula: Annotated[
        bool | None, typer.Option("--formula/--no-formula", help="Print derivative formulas (not in jsonl and csv by default).")
    ] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each cross-check.")] = None,
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|json|jsonl|csv|latex",
            help="The form of the output. In csv, text that a spreadsheet would calculate has an apostrophe before it.",
        ),
    ] = "text",
    dialect: Dialect = None,
    dtype: Precision = "float64",
    digits: Annotated[int | None, typer.Option(metavar="N", min=1, max=17, help="Round printed numbers to N significant digits.")] = None,
    precision: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=100_000, help="Value and gradient to N certain digits, from the reference.")
    ] = None,
    backend: Annotated[str, BACKEND] = "auto",
    threads: Threads = None,
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of rand and randn.")] = 0,
    on: Annotated[
        str | None,
        typer.Option(metavar="here|local|tcp://HOST:PORT", help="Compute chunk by chunk: here, or by Dask on this machine or a cluster."),
    ] = None,
    fail_fast: FailFast = False,
    limit: Limit = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results that need attention: errors, mismatches, false asserts.")
    ] = False,
    color: Color = "auto",
) -> Callable[[], int]:
    """Evaluate expressions and their gradients.

    gradcli eval '3*a**3 - b**2' a=2,3 b=6,4

    Reads programs from standard input without an expression and without -f.
    """
    request = EvalRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=joined(wrt), freeze=freeze or [], seed=seed,
        jacobian=jacobian, hessian=hessian, jvp=jvp or [], hvp=hvp or [], save=save or [], check=check, formula=formula, timeout=timeout,
        output_format=output_format, dtype=dtype, digits=digits, random_state=random_state, fail_fast=fail_fast,
        limit=limit or [], dialect=dialect, quiet=quiet, color=color, precision=precision, backend=backend, threads=threads,
        cov=cov or [], on=on,
    )  # fmt: skip
    return partial(run, request)


def run(request: EvalRequest) -> int:
    """Evaluate everything that was asked for and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.decide.evaluation import Evaluation
    from gradcli.cli.inputs.option_values import eval_options, limits_of
    from gradcli.cli.inputs.positionals import eval_inputs, programs_of
    from gradcli.cli.write.results import write_all

    limits = limits_of(request, FORMATS)
    inputs = eval_inputs(request)
    if request.on is not None:
        return _chunk_by_chunk(request, request.on, inputs, limits)
    arrays = _saved_arrays(request.save)
    options = eval_options(request, None if arrays is None else arrays.place)
    programs = programs_of(inputs, limits, request.dtype, request.random_state or 0, request.dialect)
    if request.cov:
        from gradcli.cli.inputs.covariances import covariances_of

        options = replace(options, covariances=covariances_of(request.cov, programs, request.random_state or 0))
    evaluation = Evaluation(inputs, programs, options, request.random_state or 0)
    return write_all(
        evaluation.records(),
        _writer(request, arrays),
        UsageError("nothing to evaluate"),
        command="eval",
        inputs=inputs,
        remarks=evaluation.remarks,
        fail_fast=request.fail_fast,
    )


def _chunk_by_chunk(request: EvalRequest, place: str, inputs: "Inputs", limits: "Limits") -> int:
    """What is past memory, or past this machine."""
    from gradcli.cli.decide.chunked import chunked_record
    from gradcli.cli.inputs.option_values import eval_options
    from gradcli.cli.write.results import write_all
    from gradcli.cli.write.saving import SavedArrays, targets_of

    eval_options(request, None)
    targets = targets_of(request.save)
    record = chunked_record(request, place, inputs, targets, limits)
    whole = {name: path for name, path in targets.items() if name == "value" or name in (record.grad or {})}
    return write_all([record], _writer(request, SavedArrays(whole) if whole else None), UsageError("nothing to evaluate"))


def _writer(request: EvalRequest, arrays: "SavedArrays | None") -> "Writer":
    from gradcli.cli.write.results import Writer

    return Writer(
        request.output_format,
        request.color,
        request.digits,
        one_alone=False,
        quiet=request.quiet,
        save=None if arrays is None else arrays.save,
    )


def _saved_arrays(texts: list[str]) -> "SavedArrays | None":
    """What takes the arrays of ``--save``."""
    if not texts:
        return None
    from gradcli.cli.write.saving import SavedArrays, targets_of

    return SavedArrays(targets_of(texts))
