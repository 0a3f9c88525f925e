"""Files that are replaced by something complete, or left as they are."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from gradcli.errors import OutputError


def temporary_beside(path: Path) -> tuple[int, str]:
    """A new file in the folder that a path leads to, open, and its name. Raises OSError."""
    return tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")


def put_in_place(temporary: str, path: Path) -> None:
    """Let a file take the place of another one, whose mode and links stay. Raises OSError."""
    os.chmod(temporary, stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
    os.replace(temporary, path.resolve())


def write_atomically(path: Path, data: bytes) -> None:
    """Replace what a file holds. Raises OutputError."""
    try:
        handle, temporary = temporary_beside(path)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            put_in_place(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
