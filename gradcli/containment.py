"""Unforeseen errors, as errors of the record in which they came up.

They harm nothing else.
"""

from __future__ import annotations

import os

from gradcli.errors import GradcliError, InternalError

# Environment variable that shows the traceback of an unforeseen error.
TRACEBACK = "GRADCLI_TRACEBACK"
_REPORT = (
    f"this is a bug in gradcli: please report it with the input, and with what {TRACEBACK}=1 adds"
)
_MEMORY = (
    "the machine has no more of it; a limit (--limit memory=1G) refuses what is too large "
    "before it is begun"
)


def as_gradcli_error(error: Exception) -> GradcliError:
    """Return an exception as an error that a record can have.

    A GradcliError stays as it is. Anything else becomes an InternalError with its place in gradcli.

    Raises the exception itself where its traceback is asked for by ``GRADCLI_TRACEBACK``.
    """
    if isinstance(error, GradcliError):
        return error
    if os.environ.get(TRACEBACK):
        raise error
    said = (
        "out of memory"
        if isinstance(error, MemoryError)
        else f"{type(error).__name__}: {error}".rstrip(": ")
    )
    found = InternalError(
        f"{said} (in {_place(error)})", help=_MEMORY if isinstance(error, MemoryError) else _REPORT
    )
    found.__cause__ = error
    return found


def _place(error: Exception) -> str:
    """Return the last place in gradcli that an exception came through."""
    from pathlib import Path
    from traceback import extract_tb

    home = Path(__file__).parent
    places = [
        place for place in extract_tb(error.__traceback__) if home in Path(place.filename).parents
    ]
    if not places:
        return "outside of gradcli"
    last = places[-1]
    return f"{Path(last.filename).relative_to(home.parent).as_posix()}:{last.lineno}, {last.name}"
