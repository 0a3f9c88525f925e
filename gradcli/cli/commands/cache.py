"""``gradcli cache``: its options, and what it does."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.exit_codes import FINE
from gradcli.errors import OutputError

app = typer.Typer(**STYLE)


@app.command("cache")
def show_cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove what is kept.")] = False,
) -> Callable[[], int]:
    """Where verdicts are remembered between runs of check, and how many; GRADCLI_CACHE_DIR names another folder."""
    return partial(run, clear)


def run(clear: bool) -> int:
    """Print where the cache is and what it holds, empty it if that is asked for, and give the exit code. Raises OutputError."""
    from gradcli import cache_folder
    from gradcli.check import verdict_cache

    folder = cache_folder.folder()
    if folder is None:
        print("there is no folder for a cache: set GRADCLI_CACHE_DIR")
        return FINE
    files = verdict_cache.files()
    size = sum(path.stat().st_size for path in files if path.exists())
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    if clear:
        try:
            verdict_cache.clear()
        except OSError as error:
            raise OutputError(f"cannot empty '{folder}': {error.strerror or error}") from None
    print(f"{folder}\n{'removed ' if clear else ''}{count}, {size / 1024:.1f} kB")
    return FINE
