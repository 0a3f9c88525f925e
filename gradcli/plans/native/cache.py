"""Compiled code in the user's cache folder.

Code is loaded only from a folder that is the user's own and that nobody else can write to, from a file of which the same holds, and if
it is what was written: a name has a hash of what was compiled, for what and by what, and one of the content. So a file that is damaged is
never loaded, which might end the process, and two that write the same do no harm. Of too much, what was not used for the longest time goes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from gradcli.cache_folder import NEW, kept_in, write_whole

MOST_BYTES = 256 << 20
MOST_FILES = 4096
_DIGITS = 40  # of each of the two hashes


def kept(key: str) -> Path | None:
    """The file of compiled code under that key, if there is one that may be loaded."""
    where = _own_folder()
    if where is None:
        return None
    begin = f"{key[:_DIGITS]}-"
    with suppress(OSError):
        for name in sorted(os.listdir(where)):
            if name.startswith(begin):
                path = where / name
                if _content_is(path, name[len(begin) :].partition(".")[0]):
                    with suppress(OSError):
                        os.utime(path)  # used now, and so kept for longer
                    return path
                with suppress(OSError):
                    path.unlink()
    return None


def keep(key: str, content: bytes) -> Path | None:
    """Write compiled code under that key. None where there is no folder of one's own for it, or no room."""
    where = _own_folder(make=True)
    if where is None:
        return None
    path = where / f"{key[:_DIGITS]}-{_hash(content)}.so"
    try:
        write_whole(path, content)
        _remove_oldest(where, path)
    except OSError:
        return None
    return path


def files() -> list[Path]:
    """What is kept. Files that are not ours are not among them, whatever folder was named."""
    where = kept_in("native")
    return [] if where is None else [p for pattern in ("*-*.so", f"{NEW}*") for p in where.glob(pattern) if p.is_file()]


def clear() -> None:
    """Remove all of it. Raises OSError."""
    for path in files():
        path.unlink(missing_ok=True)
    where = kept_in("native")
    if where is not None:
        with suppress(OSError):
            where.rmdir()


def _own_folder(*, make: bool = False) -> Path | None:
    """The folder, if it is the user's own and nobody else can write to it, or put another in its place."""
    where = kept_in("native")
    if where is None:
        return None
    try:
        if make:
            where.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                where.mkdir(mode=0o700)
        there = where.lstat()
        if not stat.S_ISDIR(there.st_mode) or not _own(there):
            return None
        open_to_all = [p for p in where.resolve().parents if p.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH]
    except OSError:
        return None
    return None if open_to_all else where


def _own(there: os.stat_result) -> bool:
    """Whether a file or folder is the user's, and nobody else's to write to."""
    return there.st_uid == os.geteuid() and not there.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _content_is(path: Path, wanted: str) -> bool:
    """Whether a file is one's own and has the content of that hash."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            there = os.fstat(stream.fileno())
            return stat.S_ISREG(there.st_mode) and _own(there) and _hash(stream.read()) == wanted
    except OSError:
        return False


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def _remove_oldest(where: Path, newest: Path) -> None:
    """Remove what was not used for the longest time, down to three quarters, if all of it is too much."""
    there = []
    for path in where.iterdir():
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
