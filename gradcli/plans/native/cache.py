"""Compiled code in the user's cache folder.

Code is loaded only from a folder that is the user's own and that nobody else can write to, from a file of which the same holds, and if
it is what was written: a name has a hash of what was compiled, for what and by what, and one of the content. So a file that is damaged is
never loaded, which might end the process, and two that write the same do no harm. Of too much, what was not used for the longest time goes.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from gradcli.cache_folder import NEW, kept_in, write_whole

MOST_BYTES = 256 << 20
MOST_FILES = 4096
_NAME = re.compile(r"(?P<compiler>\w+-[\d.]+)-[0-9a-f]{40}-(?P<content>[0-9a-f]{40})\.so")


def digest(content: bytes) -> str:
    """What names have of a content, or of all that a key stands for: short enough for every file system."""
    return hashlib.sha256(content).hexdigest()[:40]


def kept(key: str) -> Path | None:
    """The file of compiled code under that key, if there is one that may be loaded. Keys begin with the compiler: gcc-12.2.0-1a2b..."""
    where = folder()
    if where is None:
        return None
    with suppress(OSError):
        for name in sorted(os.listdir(where)):
            if name.startswith(f"{key}-") and (parts := _NAME.fullmatch(name)):
                path = where / name
                if _content_is(path, parts["content"]):
                    with suppress(OSError):
                        os.utime(path)  # used now, and so kept for longer
                    return path
                with suppress(OSError):
                    path.unlink()
    return None


def keep(key: str, content: bytes) -> Path | None:
    """Write compiled code under that key. None where there is no folder of one's own for it, or no room."""
    where = folder(make=True)
    if where is None:
        return None
    path = where / f"{key}-{digest(content)}.so"
    try:
        write_whole(path, content)
        _remove_oldest(path)
    except OSError:
        return None
    return path


def files() -> dict[Path, str]:
    """What is kept, and the compiler that made it. Files that are not ours are not among them, whatever folder was named."""
    where = kept_in("native")
    found = {}
    for path in sorted(where.iterdir()) if where is not None and where.is_dir() else ():
        parts = _NAME.fullmatch(path.name)
        if parts or path.name.startswith(NEW):
            found[path] = parts["compiler"] if parts else ""
    return found


def clear() -> None:
    """Remove all of it. Raises OSError."""
    for path in files():
        path.unlink(missing_ok=True)
    where = kept_in("native")
    if where is not None:
        with suppress(OSError):
            where.rmdir()


def folder(*, make: bool = False) -> Path | None:
    """Where compiled code is kept, if it is the user's own and nobody else can write to it, or put another in its place."""
    where = kept_in("native")
    if where is None:
        return None
    try:
        if make:
            where.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                where.mkdir(mode=0o700)
        there = where.lstat()
        is_own = stat.S_ISDIR(there.st_mode) and _own(there) and not any(_open(above.stat()) for above in where.resolve().parents)
    except OSError:
        return None
    return where if is_own else None


def is_left_alone() -> bool:
    """Whether there is a folder that is not used, since it is not the user's alone."""
    where = kept_in("native")
    return where is not None and where.exists() and folder() is None


def _own(there: os.stat_result) -> bool:
    """Whether a file or folder is the user's, and nobody else's to write to."""
    return there.st_uid == os.geteuid() and not there.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _open(there: os.stat_result) -> bool:
    """Whether others may put something else in the place of what is in a folder: its owner may, and all if they may write to any of it."""
    return there.st_uid not in (0, os.geteuid()) or there.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH


def _content_is(path: Path, wanted: str) -> bool:
    """Whether a file is one's own and has the content of that hash."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            there = os.fstat(stream.fileno())
            return _own(there) and digest(stream.read()) == wanted
    except OSError:
        return False


def _remove_oldest(newest: Path) -> None:
    """Remove what was not used for the longest time, down to three quarters, if all of it is too much."""
    there = []
    for path in files():
        with suppress(OSError):  # another process removed it
            found = path.lstat()
            there.append((found.st_mtime_ns, found.st_size, path))
    size, count = sum(size for _, size, _ in there), len(there)
    if size <= MOST_BYTES and count <= MOST_FILES:
        return
    for _, own, path in sorted(there):
        if size <= 3 * MOST_BYTES // 4 and count <= 3 * MOST_FILES // 4:
            return
        if path != newest:
            with suppress(OSError):
                path.unlink()
            size, count = size - own, count - 1
