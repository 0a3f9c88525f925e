"""``gradcli functions``: its options, and what it does."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import OnceCommand
from gradcli.cli.exit_codes import FINE
from gradcli.errors import UsageError

app = typer.Typer(**STYLE)


@app.command("functions", cls=OnceCommand)
def list_functions(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]|[WORD]...", help="A function, as NumPy or PyTorch calls it; or words to search for."),
    ] = None,
    output_format: Annotated[str, typer.Option("--format", metavar="text|json", help="The form of the output.")] = "text",
) -> Callable[[], int]:
    """Show what can be differentiated: all functions, those with a word, or one with its derivative, domain, conventions and an example."""
    return partial(run, words or [], output_format)


def run(words: list[str], output_format: str) -> int:
    """Print a list, or one entry, and give the exit code."""
    from gradcli.cli.write import catalogue_text
    from gradcli.cli.write.streams import prepare, put, put_text

    if output_format not in ("text", "json"):
        raise UsageError(f"unknown format {output_format!r}", help="text or json")
    prepare(output_format)
    text = catalogue_text.searched(words, output_format) if words else catalogue_text.all_functions(output_format)
    put(text + "\n") if output_format == "json" else put_text(text + "\n")
    return FINE
