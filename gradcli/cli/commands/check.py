"""``gradcli check``: its options, and what it does: cases to outcomes to reports, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

import os
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli import interrupts
from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import BACKEND, Color, Dialect, ExpressionCommand, Freeze, Threads, Wrt, joined
from gradcli.cli.exit_codes import FINE, INTERNAL, say_remarks
from gradcli.cli.request import CheckRequest
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.decide.cases import Work
    from gradcli.cli.inputs.positionals import Inputs
    from gradcli.report.outcomes import Outcome


class RememberingCommand(ExpressionCommand):
    """A command that knows its arguments as they were typed, for messages that repeat them."""

    key = "gradcli.words"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[self.key] = list(args)
        return super().parse_args(ctx, args)


app = typer.Typer(**STYLE)


@app.command(
    "check",
    cls=RememberingCommand,
    epilog="Exit codes: 0 nothing to report; 1 a verdict in --fail-on; 2 input that cannot be evaluated, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def check(
    context: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]... [EXPRESSION] [NAME=VALUE]...",
            help="Programs, JSON Lines, or folders of them (.grad, .jsonl); an expression; bindings.",
        ),
    ] = None,
    expression: Annotated[
        str | None, typer.Option("-e", "--expression", metavar="EXPR", help="Check an expression, whatever files are called.")
    ] = None,
    grad: Annotated[
        list[str] | None, typer.Option(metavar="NAME=CLAIM", help="What somebody says its gradient is: a formula, numbers, @FILE.")
    ] = None,
    grad_formula: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FORMULA", help="The same, for a formula that mentions no name.")
    ] = None,
    function: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Check a Python function whose gradient is --gradient, or is computed --by.")
    ] = None,
    gradient: Annotated[str | None, typer.Option(metavar="MODULE:NAME", help="The gradient of --function.")] = None,
    jvp_of: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="The JVP of --function: takes its arguments, then a tangent for each of --wrt."),
    ] = None,
    adjoint: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="The adjoint of a linear --function; an operator with rmatvec needs none.")
    ] = None,
    implicit: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="residual(x, ...) that --function solves: implicit differentiation decides.")
    ] = None,
    fixed_point: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="The same of g(x, ...) whose fixed point --function gives.")
    ] = None,
    parameters: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="A torch.nn.Module that --function uses: its parameters are held, too.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="torch|jax|autograd", help="Whose own backward of --function is checked, custom rules in it.")
    ] = None,
    forward: Annotated[bool, typer.Option("--forward", help="With --by torch or jax: its forward mode is checked.")] = False,
    functions: Annotated[bool, typer.Option("--functions", help="Check the functions that the settings list, too: it runs them.")] = False,
    order: Annotated[int, typer.Option(min=1, max=2, help="2: the gradient of --function is its Hessian.")] = 1,
    at: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An argument of --function, by the name of its parameter.")
    ] = None,
    changed_since: Annotated[
        str | None, typer.Option(metavar="REF", help="Only files and functions whose sources changed since a commit or branch of git.")
    ] = None,
    file: Annotated[list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Another file to check.")] = None,
    input_format: Annotated[
        str | None, typer.Option("--input", "-i", metavar="text|jsonl", help="How to read files and standard input.")
    ] = None,
    line: Annotated[int | None, typer.Option(metavar="N", min=1, help="Check what stands in this line of the file alone.")] = None,
    wrt: Wrt = None,
    freeze: Freeze = None,
    seed: Annotated[str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product.")] = None,
    fail_on: Annotated[
        str | None, typer.Option(metavar="VERDICTS", help="Verdicts that fail (default: mismatch,undetermined,undefined), or none.")
    ] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of claims that are numbers (default by dtype).")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of claims that are numbers (default 0).")] = None,
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="torch|jax|min-norm", help="What is right at a kink, in claimed numbers and asserts (any value between both sides)."
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=BEGIN..END", help="Hold asserts, formula claims, else the rules, for all numbers of a range."),
    ] = None,
    points: Annotated[int | None, typer.Option(min=1, help="Points for names without values (16); draws of --at.")] = None,
    random_state: Annotated[int | None, typer.Option(metavar="N", min=0, help="The seed of these points, rand and randn.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes (default 1).")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each case.")] = None,
    budget: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of the run; what is not reached fails.")] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Write which entries of NAME are wrong, as booleans (with -e)."),
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=FILE", help="A report: text, json, jsonl, junit, github, gitlab, sarif, markdown or html; - is stdout."),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--format", metavar="KIND", help="The report on standard output (default text).")
    ] = None,
    dialect: Dialect = None,
    dtype: Annotated[
        str, typer.Option(metavar="float64|float32", help="The precision of the calculation (with --function float16|bfloat16, too).")
    ] = "float64",
    backend: Annotated[str | None, BACKEND] = None,
    threads: Threads = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take the settings from FILE, not from the pyproject.toml above what is checked.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Record present results as expectations (refused under CI).")] = False,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Known failures, which do not fail.")] = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Nothing to check is fine.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Remember verdicts between runs.")] = True,
    limit: Annotated[list[str] | None, typer.Option(metavar="NAME=SIZE", help="Set a limit, such as memory=500M.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name passing cases, too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing if nothing fails.")] = False,
    color: Color = "auto",
) -> Callable[[], int]:
    """Decide whether gradients are right: cross-checks of every query, asserts, and claims.

    gradcli check gradients.grad cases.jsonl

    gradcli check '3*a**3 - b**2' --grad a='9*a**2' a=2,3 b=6,4

    Without files and an expression: the files of the settings; without those, what is piped in.
    """
    request = CheckRequest(
        arguments=arguments or [], files=file or [], input_format=input_format, wrt=joined(wrt), freeze=freeze or [], seed=seed,
        save=save or [], timeout=timeout, output_format=output_format or "text", dtype=dtype, random_state=random_state,
        fail_fast=fail_fast, limit=limit or [], dialect=dialect, quiet=quiet, color=color,
        expression=expression, grad=tuple(grad or ()), grad_formula=tuple(grad_formula or ()), fail_on=fail_on,
        rtol=rtol, atol=atol, convention=convention, over=tuple(over or ()), points=points, jobs=jobs,
        reports=tuple(report or ()), update=update, baseline=baseline, allow_empty=allow_empty, verbose=verbose, cache=cache,
        function=function, gradient=gradient, jvp_of=jvp_of, adjoint=adjoint, implicit=implicit, fixed_point=fixed_point, by=by,
        parameters=parameters,
        forward=forward, order=order, at=tuple(at or ()), config=config, format_given=output_format is not None,
        functions=functions, changed_since=changed_since, backend=backend, threads=threads, line=line, budget=budget,
        words=tuple(context.meta[RememberingCommand.key]),
    )  # fmt: skip
    return partial(run, request)


def run(request: CheckRequest) -> int:
    """Check everything that was asked for, write the reports, and give the exit code. Raises GradcliError for what is wrong there."""
    from gradcli.cli.decide.repeating import Repeating, Results
    from gradcli.cli.decide.work import work_of
    from gradcli.cli.inputs.positionals import expression_apart
    from gradcli.cli.write.progress import Progress
    from gradcli.cli.write.reports import Reports
    from gradcli.query.baseline import Baseline

    request = expression_apart(request)
    work = work_of(request)
    settings = work.policies.settings()
    known = settings.baseline if request.line is None else None
    _refuse_update(request, known, work.inputs)
    baseline = Baseline.load(known, request.update, request.words)
    _update_expectations(request, known, work)
    reports = Reports(request, settings, work.inputs.files)
    _say_who_is_lenient(work)
    results = Results(baseline, Repeating(request, work.inputs))
    results.summary.unchanged, results.summary.since = work.unchanged, request.changed_since
    try:
        with closing(_outcomes(work, request)) as outcomes, Progress(_shows_progress(request)) as progress:
            for outcome in outcomes:
                interrupts.check()
                counted = results.add(outcome)
                progress.add(counted)
                reports.add(counted)
                if request.fail_fast and results.code:
                    break
            else:
                results.met(say_remarks(work.remarks))
    except KeyboardInterrupt:
        results.interrupt()
    results.end(partial=work.unchanged > 0 or (request.fail_fast and results.code != FINE))
    results.met(INTERNAL if reports.unwritten else FINE)
    reports.close(results.summary)
    if results.is_empty and not request.allow_empty and not work.unchanged:
        if request.line is not None:
            raise UsageError(f"there is nothing to check in line {request.line} of '{work.inputs.files[0]}'")
        raise UsageError("nothing to check; --allow-empty makes that fine")
    return results.code


def _outcomes(work: "Work", request: CheckRequest) -> Generator["Outcome", None, None]:
    if work.processes > 1:
        from gradcli.cli.decide.parallel import in_parallel
        from gradcli.cli.decide.work import work_of

        return in_parallel(work, request.but(changed_since=None), work_of)
    return (outcome for piece in work.pieces() for outcome in work.outcomes(piece))


def _refuse_update(request: CheckRequest, baseline: str | None, inputs: "Inputs") -> None:
    if not request.update:
        return
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError("--update is refused under CI: expectations are recorded by people, for review")
    partial = {
        "--fail-fast": request.fail_fast,
        "--budget": request.budget is not None,
        "--changed-since": request.changed_since is not None,
    }
    for option, given in partial.items():
        if given:
            raise UsageError(f"--update and {option} exclude each other", help=f"leave {option} out: all cases are recorded")
    if baseline is None and not inputs.record_files():
        raise UsageError("--update records expectations in JSON Lines files, or failures in --baseline: there is neither")


def _update_expectations(request: CheckRequest, baseline: str | None, work: "Work") -> None:
    if not request.update or baseline is not None:
        return
    from gradcli.cli.decide.cases import Cases
    from gradcli.cli.write.expectations import update

    if isinstance(work, Cases):
        update(work.inputs.record_files(), work.result)


def _say_who_is_lenient(work: "Work") -> None:
    from gradcli.cli.write.streams import say
    from gradcli.inert import printable

    files, expression = work.inputs.files, work.inputs.expression
    for who in work.policies.lenient([*files, *([] if files and expression is None else [None])]):
        say(f"note: {printable(who)} is empty: no verdict fails here, only errors and false asserts do")


def _shows_progress(request: CheckRequest) -> bool:
    """Whether standard error is a terminal that can show it, and no report is being written to the same screen."""
    from gradcli.cli.inputs.option_values import assignment

    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    kinds = [kind for kind, path in (assignment("--report", text) for text in request.reports) if path == "-"] or [request.output_format]
    return not sys.stdout.isatty() or (kinds == ["text"] and not request.verbose)
