"""A typer command that does nothing: what any typer command takes to start.

Names of modules in arguments are imported, too.
"""

from importlib import import_module

import typer

app = typer.Typer(add_completion=False)


@app.command()
def start(modules: list[str] = typer.Argument(None)) -> None:  # noqa: B008
    """Import modules."""
    for module in modules or []:
        import_module(module)


app()
