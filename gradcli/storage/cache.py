"""Files that gradcli has made and keeps for the next time: named stores in a folder of the user's.

Each store has a bound of files and bytes: of too much, what was not used for the longest time goes.
Entries are written whole or not at all, whoever else writes them, have a digest of what they hold,
and are a miss unless it is right: a file that is damaged, cut, of another version or no file at all
harms nothing. The digest is no signature: who can write to the folder decides what is found there,
so it is trusted as code is, and code that is loaded is taken only from a folder that nobody else
can write to.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from gradcli.storage.whole_files import NEW, put_entry

_READING = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
)


def folder() -> Path | None:
    """Return the folder of the stores.

    It is GRADCLI_CACHE_DIR, or gradcli in the user's cache folder. It is None if the user has no
    folder.
    """
    own = os.environ.get("GRADCLI_CACHE_DIR")
    if own:
        return Path(own)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):  # the XDG standard says to ignore relative paths
        return Path(caches) / "gradcli"
    try:
        home = Path() if os.environ.get("HOME") == "" else Path.home()
    except (RuntimeError, KeyError):
        return None
    return home / ".cache" / "gradcli" if home.is_absolute() else None


class Store(ABC):
    """A part of the cache.

    name     that of its folder
    holds    what it keeps, in words
    room     bytes in each of its folders
    largest  bytes of an entry
    """

    def __init__(self, name: str, holds: str, *, room: int, largest: int) -> None:
        self.name, self.holds, self.room, self.largest = name, holds, room, largest

    def folder(self) -> Path | None:
        where = folder()
        return None if where is None else where / self.name

    @abstractmethod
    def is_ours(self, name: str) -> bool:
        """Return whether that is what an entry is called."""

    def files(self) -> list[Path]:
        """Return what is kept.

        Files that are not ours are not among them, whatever folder was named. Raises OSError.
        """
        where = self.folder()
        if where is None or not where.is_dir():
            return []
        found = [path for place in self._places(where) for path in place.iterdir()]
        return sorted(
            path
            for path in found
            if self._is_entry(path) and (path.is_symlink() or not path.is_dir())
        )

    def _is_entry(self, path: Path) -> bool:
        return self.is_ours(path.name) or path.name.startswith(NEW)

    def clear(self) -> None:
        """Remove all of it, and the folders that are empty then. Raises OSError."""
        where = self.folder()
        for path in self.files():
            path.unlink(missing_ok=True)
        for place in [] if where is None or not where.is_dir() else [*self._places(where), where]:
            with suppress(OSError):
                place.rmdir()

    def _places(self, where: Path) -> list[Path]:
        """Return the folders among which its entries are."""
        return [where]

    def _keep(self, path: Path, content: bytes) -> bool:
        """Write an entry, and make room if there are too many. Whether there is one now."""
        if len(content) > self.largest:
            return False
        try:
            make_private(path.parent)
            put_entry(path, content)
            self._make_room(path)
        except OSError:
            return False
        return True

    def _make_room(self, newest: Path) -> None:
        """Remove what was not used for the longest time, down to three quarters of the room.

        Nothing is removed unless the whole is too large.
        """
        aged = []
        for path in newest.parent.iterdir():
            if self._is_entry(path):
                with suppress(OSError):  # another process has removed it
                    found = path.lstat()
                    aged.append((found.st_mtime_ns, found.st_size, path))
        size = sum(size for _, size, _ in aged)
        if size <= self.room:
            return
        for _, own, path in sorted(aged):
            if size <= 3 * self.room // 4:
                return
            if path != newest:
                with suppress(OSError):
                    path.unlink()
                size -= own


class Entries(Store):
    """Store of bytes under keys, which are hexadecimal digests.

    Each entry begins with a digest of its key and content. Entries are in a folder named by the
    beginning of their keys.
    """

    def _places(self, where: Path) -> list[Path]:
        return [
            place
            for place in where.iterdir()
            if re.fullmatch("[0-9a-f]{2}", place.name) and place.is_dir()
        ]

    def read(self, key: str) -> bytes | None:
        """Return what is kept under a key, if it is there and whole."""
        path = self.path_of(key)
        content = None if path is None else content_of(path, self.largest)
        if content is None:
            return None
        head, _, rest = content.partition(b"\n")
        return rest if head == self._head(key, rest) else None

    def keep(self, key: str, content: bytes) -> None:
        """Keep something under a key, if there is a folder, permission and room."""
        path = self.path_of(key)
        if path is not None:
            self._keep(path, self._head(key, content) + b"\n" + content)

    def is_ours(self, name: str) -> bool:
        return re.fullmatch("[0-9a-f]{62,64}", name) is not None

    def path_of(self, key: str) -> Path | None:
        where = self.folder()
        return None if where is None else where / key[:2] / key[2:]

    def _head(self, key: str, content: bytes) -> bytes:
        return (
            f"gradcli {self.name} 1 {hashlib.sha256(key.encode() + content).hexdigest()}".encode()
        )


class Libraries(Store):
    """Store of compiled code, which the system loads from its file.

    Names of files have the digests. Only what is the user's own is found.
    """

    NAME = re.compile(r"\w+-[0-9a-f]{40}-([0-9a-f]{40})\.so")

    def path_of(self, key: str) -> Path | None:
        """Return the file of compiled code under a key, if there is one that may be loaded.

        Keys begin with the compiler: gcc-1a2b...
        """
        where = self.own_folder()
        if where is None:
            return None
        with suppress(OSError):
            for name in sorted(os.listdir(where)):
                if name.startswith(f"{key}-") and (parts := self.NAME.fullmatch(name)):
                    content = content_of(where / name, self.largest, owned=True)
                    if content is not None and digest(content) == parts[1]:
                        return where / name
                    with suppress(OSError):
                        (where / name).unlink()
        return None

    def keep(self, key: str, content: bytes) -> Path | None:
        """Write compiled code under a key.

        None where there is no folder of one's own for it, or no room.
        """
        where = self.own_folder(make=True)
        path = None if where is None else where / f"{key}-{digest(content)}.so"
        return path if path is not None and self._keep(path, content) else None

    def is_ours(self, name: str) -> bool:
        return self.NAME.fullmatch(name) is not None

    def own_folder(self, *, make: bool = False) -> Path | None:
        """Return the folder of compiled code, if it is the user's own, else None.

        Nobody else may write to it, or put another folder in its place.
        """
        where = self.folder()
        if where is None:
            return None
        try:
            if make:
                make_private(where)
            there = where.lstat()
            is_own = (
                stat.S_ISDIR(there.st_mode)
                and _own(there)
                and not any(_open(above.stat()) for above in where.resolve().parents)
            )
        except OSError:
            return None
        return where if is_own else None

    def is_left_alone(self) -> bool:
        """Return whether there is a folder that is not used, since it is not the user's alone."""
        where = self.folder()
        return where is not None and where.exists() and self.own_folder() is None


def digest(content: bytes) -> str:
    """Return the digest in a file's name, of a content or of all that a key stands for.

    It is short enough for every file system.
    """
    return hashlib.sha256(content).hexdigest()[:40]


def content_of(path: Path, largest: int, *, owned: bool = False) -> bytes | None:
    """Return a file's content, and mark it as used now.

    It is None if the file is not a regular file, cannot be read, is too large or, if ``owned`` is
    asked for, is not the user's.
    """
    try:
        handle = os.open(path, _READING)
    except (OSError, ValueError):
        return None
    try:
        there = os.fstat(handle)
        if (
            not stat.S_ISREG(there.st_mode)
            or there.st_size > largest
            or (owned and not _own(there))
        ):
            return None
        with open(handle, "rb", closefd=False) as stream:
            content = stream.read(largest + 1)
        with suppress(OSError):
            # Marks the entry as used, so that it is kept for longer.
            os.utime(handle if os.utime in os.supports_fd else path)
        return content if len(content) <= largest else None
    except OSError:
        return None
    finally:
        os.close(handle)


def make_private(where: Path) -> None:
    """Make a folder, with those above it up to that of all stores, for the user alone."""
    top = folder() or where
    top.parent.mkdir(parents=True, exist_ok=True)
    for place in (
        *(above for above in reversed(where.parents) if above.is_relative_to(top)),
        where,
    ):
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)


def _own(there: os.stat_result) -> bool:
    """Return whether a file or folder is the user's, and nobody else's to write to."""
    return os.name != "posix" or (
        there.st_uid == os.geteuid() and not there.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _open(there: os.stat_result) -> bool:
    """Return whether others may replace what is in a folder.

    Its owner may, and so may everyone if they may write to any of it.
    """
    return (
        there.st_uid not in (0, os.geteuid())
        or there.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH
    )


VERDICTS = Entries("verdicts", "verdicts", room=1 << 18, largest=64 << 10)
NATIVE = Libraries("native", "compiled code", room=256 << 20, largest=64 << 20)
STORES = (VERDICTS, NATIVE)
