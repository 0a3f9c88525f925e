"""Files that are replaced by something complete, or left as they are.

Everything that gradcli writes is written here. A temporary file in the same folder is filled, is
put on the disk, and then takes the place of the file, whose mode, owner and links stay. Whatever
happens, be it a full disk or the end of the process, either the old file or the new one is there.
Devices and pipes are written to directly.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

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


def write_whole(path: Path, data: bytes) -> None:
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
