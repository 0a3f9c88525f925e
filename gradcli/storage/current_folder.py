"""The current folder, which may be gone: it was removed, or cannot be looked up. Nothing is found in it then, and all else works."""

from __future__ import annotations

import os
from pathlib import Path

_GONE = Path(os.sep, "(the current folder is gone)")


def here() -> Path:
    """The current folder, or a path that leads nowhere."""
    try:
        return Path.cwd()
    except OSError:
        return _GONE


def absolute(path: str | Path) -> str:
    """A path from the root of the file system."""
    return os.path.normpath(os.path.join(here(), path))


def real(path: str | Path) -> str:
    """The same, where links lead."""
    return os.path.realpath(os.path.join(here(), path))
