"""Files that are whole or not there, and what is kept between runs.

Everything that gradcli writes is written here. A temporary file in the same folder is filled, is
put on the disk, and then takes the place of the file, whose mode, owner and links stay. Whatever
happens, be it a full disk or the end of the process, either the old file or the new one is there.
Devices and pipes are written to directly.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from gradcli.errors import OutputError

# -- The current folder, which may be gone: it was removed, or cannot be looked up. Nothing is
# found in it then, and all else works.


_GONE = Path(os.sep, "(the current folder is gone)")


def here() -> Path:
    """Return the current folder, or a path that leads nowhere if there is none."""
    try:
        return Path.cwd()
    except OSError:
        return _GONE


def absolute(path: str | Path) -> str:
    """Return a path from the root of the file system."""
    return os.path.normpath(os.path.join(here(), path))


def real(path: str | Path) -> str:
    """Return a path from the root of the file system, with links resolved."""
    return os.path.realpath(os.path.join(here(), path))


def path_text(path: Path) -> str:
    """Return the path from the current folder, if it is in or below it."""
    full, top = Path(absolute(path)), here()
    return str(full.relative_to(top)) if full.is_relative_to(top) else str(full)


_begun: set[str] = set()  # temporary files that are not yet in their final places


def abandon() -> None:
    """Remove what was begun and will not be finished any more."""
    for temporary in list(_begun):
        discard(temporary)


def is_device(path: str | Path) -> bool:
    """Return whether a path is that of a device or a pipe (or a folder), which is not replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def write_whole(path: str | Path, data: bytes) -> None:
    """Replace what a file holds. Raises OutputError."""
    try:
        with Replacement(path) as new:
            new.file.write(data)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: str | Path, error: OSError) -> OutputError:
    """Return what to say of a file that cannot be written."""
    return OutputError(f"cannot write '{path}': {error.strerror or error}")


class Replacement:
    """File that takes the place of a file at the end of the block.

    It does not if the block is left by an exception. All of it raises OSError.

    file   takes the content
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.temporary: str | None = None
        if is_device(path):
            self.file: BinaryIO = open(path, "wb")  # noqa: SIM115 - closed at the end
            return
        handle, self.temporary = temporary_beside(self.path)
        self.file = open(handle, "wb")  # noqa: SIM115 - closed at the end

    def __enter__(self) -> Replacement:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.leave()

    def finish(self) -> None:
        """Put the file in place; its content is complete."""
        try:
            self.file.close()
            if self.temporary is not None:
                put_in_place(self.temporary, self.path)
        finally:
            self.leave()

    def leave(self) -> None:
        """Let the file be what it was, if the new one has not taken its place."""
        if self.temporary is not None:
            discard(self.temporary)
        with suppress(OSError):  # the write that failed before fails again
            self.file.close()


# how the names of a cache's files begin that are being written; one that stays was interrupted
NEW = ".new."


def put_entry(path: Path, data: bytes) -> None:
    """Let a private file of these bytes stand at a path, whatever stood there.

    It need not survive a loss of power. Raises OSError.
    """
    handle, temporary = _new_in(path.parent, NEW, 0o600)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
        _begun.discard(temporary)
    finally:
        discard(temporary)


def temporary_beside(path: Path) -> tuple[int, str]:
    """Return a new open file in the folder that a path leads to, and its name.

    Raises OSError.
    """
    target = Path(real(path))
    known = _stat(target)
    return _new_in(target.parent, f".{path.name[:40]}.", 0o666 if known is None else 0o600)


def _new_in(folder: Path, prefix: str, mode: int) -> tuple[int, str]:
    name = str(folder / f"{prefix}{os.urandom(6).hex()}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    _begun.add(name)
    try:
        return os.open(name, flags, mode), name
    except BaseException:
        discard(name)
        raise


def put_in_place(temporary: str, path: Path) -> None:
    """Put a file that `temporary_beside` has made in the place of another one.

    The other file's mode, owner and links stay. Raises OSError.
    """
    target = real(path)
    known = _stat(Path(target))
    if known is not None:
        _dress(temporary, known)
    _sync(temporary)
    os.replace(temporary, target)
    _begun.discard(temporary)
    if os.name == "posix":
        with suppress(OSError):  # some folders cannot be synchronized
            _sync(os.path.dirname(target))


def _dress(temporary: str, known: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the mode of another one."""
    if sys.platform != "win32":
        now = os.stat(temporary)
        if (now.st_uid, now.st_gid) != (known.st_uid, known.st_gid):
            with suppress(OSError):
                os.chown(temporary, known.st_uid, known.st_gid)
    os.chmod(temporary, stat.S_IMODE(known.st_mode))


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems have no fsync
            raise
    finally:
        os.close(handle)


def _stat(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except OSError:
        return None


def discard(temporary: str) -> None:
    """Remove a temporary file, unless it has taken its place."""
    if temporary in _begun:
        with suppress(OSError):
            os.unlink(temporary)
        _begun.discard(temporary)


# -- Stores: files that gradcli has made and keeps for the next time, in a folder of the user's. Each
# store has a bound of files and bytes: of too much, what was not used for the longest time goes.
# Entries are written whole or not at all, whoever else writes them, have a digest of what they hold,
# and are a miss unless it is right: a file that is damaged, cut, of another version or no file at
# all harms nothing. The digest is no signature: who can write to the folder decides what is found
# there, so it is trusted as code is, and code that is loaded is taken only from a folder that nobody
# else can write to.


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


@dataclass
class Store(ABC):
    """A part of the cache.

    name     that of its folder
    holds    what it keeps, in words
    room     bytes in each of its folders
    largest  bytes of an entry
    """

    name: str
    holds: str
    room: int
    largest: int

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


# -- Digests of what answers depend on, which are the keys to them: values, and the code and the
# libraries that computed them.


_FORMAT = "4"
_SHORT = 64  # a value of at most this many bytes is its own hash


def version_of(package: str) -> str:
    """Return the version of a package, in words if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def versions() -> str:
    """Return what every verdict depends on besides the question.

    It is the libraries, gradcli's own code, and the machine.
    """
    found = [_FORMAT]
    for package in ("gradcli", "numpy", "sympy", "mpmath", "scipy", "python-flint"):
        found.append(f"{package} {version_of(package)}")
    found.append(code_digest(Path(__file__).parent))
    # References compute in long doubles, in balls, and by double-precision loops whose last bits
    # depend on the processor.
    found.append(
        f"{platform.system()} {platform.machine()}, long double of "
        f"{np.finfo(np.longdouble).nmant} bits"
    )
    return "; ".join(found)


def code_digest(root: Path) -> str:
    """Return a hash of the modules below a folder."""
    paths = sorted(root.rglob("*.py"))
    return digest_of(
        [
            (path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).digest())
            for path in paths
        ]
    )


def digest_of(*things: Any) -> str:
    """Return a digest of what things are in Python's text."""
    return hashlib.sha256(repr(things).encode()).hexdigest()


def content_key(value: Any) -> Hashable:
    """Return the kind, shape and bits of a value; of each part of a structure."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(content_key, value)
    array = np.asarray(value)
    bits = repr(value).encode() if array.dtype == object else array.tobytes()
    return (
        type(value).__name__,
        array.dtype.str,
        array.shape,
        bits if len(bits) <= _SHORT else hashlib.sha256(bits).digest(),
    )
