"""``gradcli functions``: its options."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from typing import Annotated

import typer

from gradcli.cli.commands import STYLE

app = typer.Typer(**STYLE)


@app.command("functions")
def list_functions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A function, as NumPy or PyTorch calls it.")] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json", help="The form of the output.")] = "text",
) -> None:
    """Show what can be differentiated: all functions, or one with its derivative, domain, conventions and an example."""
    from gradcli.cli.exit_codes import until_pipe_closes
    from gradcli.cli.functions import run_functions

    raise typer.Exit(until_pipe_closes(run_functions, name, output_format))
