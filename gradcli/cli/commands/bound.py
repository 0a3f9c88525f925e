"""``gradcli bound``: its options, and what it does: ranges of values and gradients over a box, and the exit code."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import Color, Dialect, ExpressionCommand, Files, Limit
from gradcli.cli.request import BoundRequest
from gradcli.errors import UsageError

app = typer.Typer(**STYLE)


@app.command(
    "bound",
    cls=ExpressionCommand,
    epilog="Exit codes: 0 fine; 2 input that has no range, or wrong usage; 3 an internal error; 130 interrupted.",
)
def bound(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPRESSION] NAME=BEGIN..END... [NAME=VALUE]...",
            help="An expression, the box that its names run through, and values of other names; - reads standard input.",
        ),
    ] = None,
    width: Annotated[
        float, typer.Option(metavar="W", help="How much wider than the true range a range may be, relative to its width.")
    ] = 0.01,
    lipschitz: Annotated[bool, typer.Option("--lipschitz", help="Bound the norms 1, 2 and inf of the gradient, too.")] = False,
    file: Files = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json|jsonl", help="The form of the output.")] = "text",
    dialect: Dialect = None,
    limit: Limit = None,
    color: Color = "auto",
) -> Callable[[], int]:
    """Ranges of a value and its gradient over a box, proved by interval arithmetic.

    gradcli bound 'x*(1-x)' x=0..1

    gradcli bound 'exp(x)*sin(y)' x=-1..1 y=0..pi --lipschitz
    """
    request = BoundRequest(
        arguments=arguments or [], files=file or [], input_format=None, wrt=None, freeze=[], seed=None, save=[], timeout=None,
        output_format=output_format, dtype="float64", random_state=0, fail_fast=False, limit=limit or [], dialect=dialect, quiet=False,
        color=color, width=width, lipschitz=lipschitz,
    )  # fmt: skip
    return partial(run, request)


def run(request: BoundRequest) -> int:
    """Bound everything that was asked for and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.decide.bounding import Bounding
    from gradcli.cli.inputs.option_values import bound_width, limits_of
    from gradcli.cli.inputs.ranges import bound_inputs
    from gradcli.cli.request import BOUND_FORMATS
    from gradcli.cli.write.results import Writer, write_all
    from gradcli.query.bounds import AskedBounds

    limits = limits_of(request, BOUND_FORMATS)
    given = bound_inputs(request, limits)
    asked = AskedBounds(given.box, bound_width(request), request.lipschitz)
    nothing = UsageError("nothing to bound", help="gradcli bound 'x*(1-x)' x=0..1")
    return write_all(Bounding(given, asked).records(), Writer(request.output_format, request.color), nothing)
