"""Where programs come from: lines of files and pipes, as text, whatever bytes they hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from gradcli.errors import InputError
from gradcli.files.opening import opened, refuse_unnameable, unreadable

_CHUNK = 1 << 16
_PROMPT = "> "


def lines_of(path: str, limit: int, *, stream: bool = False) -> Iterator[str]:
    """The lines of a file ("-": standard input) as they come, decoded as UTF-8 with or without a BOM; of a pipe, too, if that is said.

    Bytes that are not UTF-8 stay as surrogates, so that the error names their place. A line longer than the limit
    is cut just beyond it, which is enough for the parser to refuse it; the rest of the line is skipped.
    Raises InputError for a file that cannot be read.
    """
    try:
        if path == "-" and (sys.stdin is None or sys.stdin.closed):
            raise InputError("standard input is closed", help="name a file, or give it something to read")
        if path == "-" and sys.stdin.isatty() and sys.stdout.isatty():
            yield from _typed()
        elif path == "-":
            yield from _decoded(sys.stdin.buffer, limit)
        else:
            refuse_unnameable(path)
            with opened(Path(path), path, stream=stream) as file:
                yield from _decoded(file, limit)
    except OSError as error:
        raise unreadable(error, "standard input" if path == "-" else path) from None


def _typed() -> Iterator[str]:
    """Lines as a person types them, with a prompt; they can be edited and called back where the system has readline."""
    with suppress(ImportError):
        import_module("readline")  # which input() uses where it has been imported
    while True:
        try:
            yield input(_PROMPT) + "\n"
        except EOFError:
            print()
            return


def _decoded(stream: BinaryIO, limit: int) -> Iterator[str]:
    first = True
    room = 4 * limit + 4  # bytes of the longest line within the limit
    while line := stream.readline(room):
        complete = line.endswith(b"\n")
        if not complete and len(line) == room:
            while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
        if first:
            line, first = line.removeprefix(b"\xef\xbb\xbf"), False
        yield line.decode("utf-8", "surrogateescape")
