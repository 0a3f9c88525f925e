"""Files that are opened to be read: regular ones, and pipes and terminals where these are streams or were handed over.

Whatever else a name leads to is refused before it is opened, for opening a pipe may wait for ever, and reading a device never ends.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from functools import cache
from pathlib import Path
from typing import BinaryIO

from gradcli.errors import InputError, LimitError
from gradcli.limits import Limits

STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_HANDED_OVER = re.compile(r"/(?:dev|proc/self)/fd/[0-9]+")
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_CHUNK = 1 << 20


def is_handed_over(path: str) -> bool:
    """Whether a path names what this process was given open, as a shell writes it for ``<(command)``."""
    return _HANDED_OVER.fullmatch(path) is not None


@cache
def folder_of(path: str) -> Path:
    """The folder of a file; for standard input and what a shell hands over, the current one."""
    return Path() if path in STANDARD_INPUT or is_handed_over(path) else Path(path).parent


def opened(path: Path, name: str, *, stream: bool = False) -> io.BufferedReader:
    """A regular file, open; where streams are read, also a pipe or a terminal. ``name`` is what messages call it.

    Raises InputError for what is neither, and OSError, which `unreadable` puts into words.
    """
    _refuse_special(os.stat(path), name, stream)
    file = open(path, "rb", opener=None if stream else _without_waiting)  # noqa: SIM115 - the caller closes it
    try:
        status = os.fstat(file.fileno())  # what was opened may be another by now
        _refuse_special(status, name, stream)
        if stat.S_ISCHR(status.st_mode) and not (file.isatty() or os.path.samestat(status, os.stat(os.devnull))):
            raise InputError(f"'{name}' is a device, not a file")
    except BaseException:
        file.close()
        raise
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _refuse_special(status: os.stat_result, name: str, stream: bool) -> None:
    mode = status.st_mode
    if stream and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        return
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is not None:
        raise InputError(f"'{name}' is {kind}, not a file")


def unreadable(error: Exception, name: str) -> InputError:
    """What the system says of a file that cannot be read, in words."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"there is no file '{name}'")
    if isinstance(error, IsADirectoryError):
        return InputError(f"'{name}' is a folder, not a file")
    if (
        isinstance(error, RuntimeError) or getattr(error, "errno", None) == errno.ELOOP
    ):  # a RuntimeError: of `Path.resolve` before Python 3.13
        return InputError(f"'{name}' is a link that leads back to itself")
    return InputError(f"cannot read '{name}': {getattr(error, 'strerror', None) or str(error) or type(error).__name__}")


def refuse_unnameable(name: str) -> None:
    """Raise InputError for a text that no file can have as its name."""
    try:
        fine = "\0" not in name and os.fsencode(name) != b""
    except UnicodeEncodeError:
        fine = False
    if not fine:
        raise InputError(f"no file can have the name '{name}'")


def read_within(stream: BinaryIO | io.BufferedIOBase, name: str, limits: Limits, held: int = 2, size: int | None = None) -> bytes:
    """What a stream holds, if memory has room for it; ``held`` is how many bytes are made of each at the most.

    The size that a file has is looked at before anything is read. Raises LimitError.
    """
    limits.check_memory(held * (size or 0), f"reading '{name}'")
    room = limits.memory // held
    data = io.BytesIO()
    while data.tell() <= room and (chunk := stream.read(min(_CHUNK, room + 1 - data.tell()))):
        data.write(chunk)
    if data.tell() > room:  # of a pipe, which has no size, or of a file that grew
        raise LimitError(f"'{name}' holds more than {room:,} bytes, over the memory limit", help="raise it with --limit memory=SIZE")
    return data.getvalue()
