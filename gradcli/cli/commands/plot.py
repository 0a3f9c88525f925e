"""``gradcli plot``: its options, and what it does: curves over a range, contours over two, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import Color, Dialect, ExpressionCommand, Files, Limit, joined
from gradcli.cli.request import PlotRequest
from gradcli.errors import UsageError

app = typer.Typer(**STYLE)


@app.command(
    "plot",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 1 a derivative that the cross-check refutes; 2 input that has no curve, or wrong usage; "
    "3 an internal error; 130 interrupted.",
)
def plot(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPRESSION]... [NAME=]BEGIN..END [NAME=BEGIN..END] [NAME=VALUE]...",
            help="Expressions, the range of one name or two, and values of others (a=1,2,3: a curve each); - reads standard input.",
        ),
    ] = None,
    file: Files = None,
    wrt: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Differentiate by these names (by those with ranges).")] = None,
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Rows of the table, evenly spaced (101); of two names, along each (65).")
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="x|y|xy", help="Logarithmic axes: of the name, of the value (of two names: theirs).")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write to FILE.svg, .png, .pdf, .html (pip install 'gradcli[plot]'), .csv or .json."
        ),
    ] = None,
    width: Annotated[int | None, typer.Option(metavar="N", help="Columns of a chart; pixels of a file.")] = None,
    height: Annotated[int | None, typer.Option(metavar="N", help="Rows of a chart; pixels of a file.")] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check the derivative at points of the range.")] = True,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of each check.")] = None,
    output_format: Annotated[
        str | None,
        typer.Option("--format", metavar="text|csv|json|jsonl", help="The form of the output (text, or as FILE's suffix says)."),
    ] = None,
    dialect: Dialect = None,
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of rand and randn.")] = 0,
    limit: Limit = None,
    color: Color = "auto",
) -> Callable[[], int]:
    """Draw a value and its derivative over a range, with kinks, jumps and poles; over two ranges, contours and gradients.

    gradcli plot 'x*sin(x)' x=-10..10

    gradcli plot 'sin(x)' 'cos(x)' 0..2pi

    gradcli plot 'a*exp(-x)' x=0..5 a=1,2,3 --out decay.svg

    gradcli plot '(1-x)^2 + 100*(y-x^2)^2' x=-2..2 y=-1..3
    """
    from gradcli.cli.inputs.option_values import plot_format

    request = PlotRequest(
        arguments=arguments or [], files=file or [], input_format=None, wrt=joined(wrt), freeze=[], seed=None, save=[], timeout=timeout,
        output_format=plot_format(output_format, out), dtype="float64",
        random_state=random_state, fail_fast=False, limit=limit or [], dialect=dialect,
        quiet=False, color=color, points=points, log=log, out=out, check=check, width=width, height=height,
    )  # fmt: skip
    return partial(run, request)


def run(request: PlotRequest) -> int:
    """Plot everything that was asked for and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.decide.plotting import Plotting
    from gradcli.cli.inputs.option_values import limits_of
    from gradcli.cli.inputs.ranges import PLOT_EXAMPLE, plot_inputs, refuse_idle
    from gradcli.cli.request import PLOT_FORMATS
    from gradcli.cli.write.plots import write
    from gradcli.cli.write.results import exit_code

    limits = limits_of(request, PLOT_FORMATS)
    refuse_idle(request)
    if request.out is not None and not request.out.lower().endswith((".csv", ".json")):
        from gradcli.report.plot_picture import insist

        insist()
    plotting = Plotting(plot_inputs(request, limits), request.check, request.timeout, request.random_state or 0)
    records = list(plotting.records())
    if not records:
        raise UsageError("nothing to plot", help=PLOT_EXAMPLE)
    write(records, request)
    return max(map(exit_code, records))
