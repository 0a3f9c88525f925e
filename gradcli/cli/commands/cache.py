"""``gradcli cache``: its options, and what it does."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import OnceCommand
from gradcli.cli.exit_codes import FINE
from gradcli.errors import OutputError

app = typer.Typer(**STYLE)


@app.command("cache", cls=OnceCommand)
def show_cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove what is kept.")] = False,
) -> Callable[[], int]:
    """Where verdicts and compiled code are kept between runs, and how much of them; GRADCLI_CACHE_DIR names another folder."""
    return partial(run, clear)


def run(clear: bool) -> int:
    """Print where the cache is and what it holds, empty it if that is asked for, and give the exit code. Raises OutputError."""
    from gradcli.cli.write.streams import put_text
    from gradcli.inert import printable
    from gradcli.storage.cache import NATIVE, STORES, folder

    where = folder()
    if where is None:
        put_text("there is no folder for a cache: set GRADCLI_CACHE_DIR\n")
        return FINE
    try:
        removed = "removed " if clear else ""
        by = {NATIVE.name: "".join(f" by {compilers}" for compilers in [", ".join(NATIVE.compilers())] if compilers)}
        lines = [f"{store.holds}: {removed}{_amount(store.files())}{by.get(store.name, '')}" for store in STORES]
        if NATIVE.is_left_alone():
            lines.append("compiled code is not loaded from there: the folder, or one above it, is not yours alone to write to")
        for store in STORES if clear else ():
            store.clear()
    except OSError as error:
        raise OutputError(f"cannot {'empty' if clear else 'read'} '{where}': {error.strerror or error}") from None
    put_text("\n".join(map(printable, [str(where), *lines])) + "\n")
    return FINE


def _amount(files: Collection[Path]) -> str:
    size = sum(path.lstat().st_size for path in files if path.exists())
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size / 1024:.1f} kB"
