"""Where gradcli keeps what it has made for the next time: a folder of the user's, and files in it that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

NEW = ".new."  # how the names of files begin that are being written; one that stays was interrupted


def folder() -> Path | None:
    """Where entries are kept: GRADCLI_CACHE_DIR, or gradcli in the user's cache folder. None where the user has no folder."""
    own = os.environ.get("GRADCLI_CACHE_DIR")
    if own:
        return Path(own)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):  # the standard has others ignored
        return Path(caches) / "gradcli"
    home = _home()
    return home / ".cache" / "gradcli" if home is not None and home.is_absolute() else None


def kept_in(*parts: str) -> Path | None:
    """The path of that name in the folder; None where there is none."""
    where = folder()
    return None if where is None else where.joinpath(*parts)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of a folder that is there, whole or not at all, whoever else writes it. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=NEW)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _home() -> Path | None:
    """The user's folder: by the list of users where HOME is empty, which is not the root of the file system."""
    try:
        if os.environ.get("HOME") == "" and os.name == "posix":
            from pwd import getpwuid

            return Path(getpwuid(os.getuid()).pw_dir)
        return Path.home()
    except (RuntimeError, KeyError):
        return None
