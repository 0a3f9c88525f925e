"""``gradcli cache``: its options, and what it does."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
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
    """Where verdicts and compiled code are kept between runs, and how much of them; GRADCLI_CACHE_DIR names another folder."""
    return partial(run, clear)


def run(clear: bool) -> int:
    """Print where the cache is and what it holds, empty it if that is asked for, and give the exit code. Raises OutputError."""
    from gradcli.cache_folder import folder
    from gradcli.check import verdict_cache
    from gradcli.cli.write.streams import put_text
    from gradcli.inert import printable
    from gradcli.plans.native import cache

    where = folder()
    if where is None:
        put_text("there is no folder for a cache: set GRADCLI_CACHE_DIR\n")
        return FINE
    try:
        verdicts, code = verdict_cache.files(), cache.files()
        compilers = ", ".join(sorted({compiler for compiler in code.values() if compiler}))
        removed = "removed " if clear else ""
        lines = [f"verdicts: {removed}{_amount(verdicts)}", f"compiled code: {removed}{_amount(code)}{compilers and f' by {compilers}'}"]
        if cache.is_left_alone():
            lines.append("compiled code is not loaded from there: the folder, or one above it, is not yours alone to write to")
        if clear:
            verdict_cache.clear()
            cache.clear()
    except OSError as error:
        raise OutputError(f"cannot {'empty' if clear else 'read'} '{where}': {error.strerror or error}") from None
    put_text("\n".join(map(printable, [str(where), *lines])) + "\n")
    return FINE


def _amount(files: Collection[Path]) -> str:
    size = sum(path.stat().st_size for path in files if path.exists())
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size / 1024:.1f} kB"
