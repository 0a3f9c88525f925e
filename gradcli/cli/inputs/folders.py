"""What there is to check in folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path

from gradcli.errors import UsageError
from gradcli.files.settings import shown
from gradcli.storage.whole_files import absolute

_SUFFIXES = (".grad", ".jsonl")


def found_in(paths: list[str], allow_empty: bool) -> list[str]:
    """The files to check, each once: of a folder, programs and records in and below it, in order; not in hidden or linked folders."""
    found: dict[str, str] = {}
    for path in paths:
        files = [path]
        if path != "-" and os.path.isdir(path):
            files = sorted(str(Path(folder, name)) for folder, names in _walk(path) for name in names if name.endswith(_SUFFIXES))
            if not files and not allow_empty:
                raise UsageError(f"there is no .grad or .jsonl file in '{path}'", help="--allow-empty makes that fine")
        for file in files:
            found.setdefault(file if file == "-" else absolute(file), file)
    return list(found.values())


def matching(patterns: Iterable[str], said_by: Path | None) -> list[str]:
    """The files and folders that settings name, or mean by ``*`` and ``**``, from the current folder. Raises UsageError."""
    found: list[str] = []
    for pattern in patterns:
        there = [pattern] if os.path.exists(pattern) else sorted(glob(pattern, recursive=True))
        if not there:
            where = "" if said_by is None else f"{shown(said_by)}: "
            raise UsageError(f"{where}[tool.gradcli] files: there is no '{shown(Path(pattern))}'")
        found += [shown(Path(path)) for path in there]
    return found


def _walk(path: str) -> Iterator[tuple[str, list[str]]]:
    """The folders in and below one, without following links, and the names of their files."""

    def fail(error: OSError) -> None:
        raise UsageError(f"cannot read '{error.filename}': {error.strerror or error}")

    for folder, folders, names in os.walk(path, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield folder, names
