"""``gradcli info``: its options, and what it does."""

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


@app.command("info", cls=OnceCommand)
def show_info(
    output_format: Annotated[str, typer.Option("--format", metavar="text|json", help="The form of the output.")] = "text",
) -> Callable[[], int]:
    """What runs here: versions, the processor, the width of long double, caches; and what results may depend on."""
    return partial(run, output_format)


def run(output_format: str) -> int:
    """Print it, and give the exit code."""
    from gradcli.cli.write.streams import prepare, put, put_text
    from gradcli.cli.write.surroundings import DEPENDS, surroundings
    from gradcli.inert import printable
    from gradcli.report.data import encoded

    if output_format not in ("text", "json"):
        raise UsageError(f"unknown format {output_format!r}", help="text or json")
    prepare(output_format)
    known = surroundings()
    if output_format == "json":
        put(encoded(known, 2) + "\n")
        return FINE
    lines = {name: " ".join(value) if isinstance(value, list) else str(value) for name, value in known.items()}
    width = max(map(len, lines))
    put_text("\n".join([*(f"{name:<{width}}  {printable(text)}" for name, text in lines.items()), "", DEPENDS, ""]))
    return FINE
