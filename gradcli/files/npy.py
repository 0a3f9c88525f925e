"""Arrays in NumPy's format.

A header gives their type and shape, which are held to the limits before anything of that size is
allocated.
"""

from __future__ import annotations

import errno
import io
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from gradcli.errors import InputError, LimitError, did_you_mean
from gradcli.limits import Limits

# -- Files that are opened to be read: regular ones, and pipes and terminals where these are
# streams or were handed over.
#
# Whatever else a name leads to is refused before it is opened, for opening a pipe may wait for
# ever, and reading a device never ends.


STANDARD_INPUT = "standard input"
STREAMS = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})  # names of standard input
_HANDED_OVER = re.compile(r"/(?:dev|proc/self)/fd/[0-9]+")
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a "
    "device", stat.S_IFBLK: "a device",
}  # fmt: skip
_CHUNK = 1 << 20


def is_handed_over(path: str) -> bool:
    """Return whether a path is an open file that a shell hands over for ``<(command)``."""
    return _HANDED_OVER.fullmatch(path) is not None


@cache
def folder_of(path: str) -> Path:
    """Return the folder of a file.

    For standard input and files that a shell hands over, it is the current folder.
    """
    return Path() if path in STREAMS or is_handed_over(path) else Path(path).parent


def open_data(path: Path, name: str, *, stream: bool = False) -> io.BufferedReader:
    """Open a regular file or, with ``stream``, also a pipe or a terminal.

    ``name`` is the file's name in messages.

    Raises InputError for any other kind of file, and OSError, which `unreadable` puts into words.
    """
    _refuse_special(os.stat(path), name, stream)
    file = open(path, "rb", opener=None if stream else _without_waiting)  # noqa: SIM115 - the caller closes it
    try:
        status = os.fstat(file.fileno())  # the file may have been replaced since its stat
        _refuse_special(status, name, stream)
        if stat.S_ISCHR(status.st_mode) and not (
            file.isatty() or os.path.samestat(status, os.stat(os.devnull))
        ):
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
    """Return what the system says of a file that cannot be read, in words."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"there is no file '{name}'")
    if isinstance(error, IsADirectoryError):
        return InputError(f"'{name}' is a folder, not a file")
    # `Path.resolve` raises RuntimeError before Python 3.13
    if isinstance(error, RuntimeError) or getattr(error, "errno", None) == errno.ELOOP:
        return InputError(f"'{name}' is a link that leads back to itself")
    return InputError(
        f"cannot read '{name}': "
        f"{getattr(error, 'strerror', None) or str(error) or type(error).__name__}"
    )


def refuse_unnameable(name: str) -> None:
    """Raise InputError for a text that no file can have as its name."""
    try:
        fine = "\0" not in name and os.fsencode(name) != b""
    except UnicodeEncodeError:
        fine = False
    if not fine:
        raise InputError(f"no file can have the name '{name}'")


def read_within(
    stream: BinaryIO | io.BufferedIOBase,
    name: str,
    limits: Limits,
    held: int = 2,
    size: int | None = None,
) -> bytes:
    """Return the content of a stream if memory has room for it.

    ``held`` is the largest number of bytes made of each byte. A file's size is checked before
    anything is read. Raises LimitError.
    """
    limits.check_memory(held * (size or 0), f"reading '{name}'")
    room = limits.memory // held
    data = io.BytesIO()
    while data.tell() <= room and (chunk := stream.read(min(_CHUNK, room + 1 - data.tell()))):
        data.write(chunk)
    if data.tell() > room:  # a pipe, which has no size, or a file that grew
        raise LimitError(
            f"'{name}' holds more than {room:,} bytes, over the memory limit",
            help="raise it with --limit memory=SIZE",
        )
    return data.getvalue()


MAGIC = b"\x93NUMPY"
CUT_OFF = "it ends before the array does, as a file that was cut off"
_LONGEST = 10_000  # most bytes of a header; NumPy writes 128
_HEADERS = {
    1: np.lib.format.read_array_header_1_0,
    **dict.fromkeys((2, 3), np.lib.format.read_array_header_2_0),
}
MAPPED = (
    1 << 26
    # Bytes from which a file is mapped: a smaller one is read, and may change or disappear while it
    # is in use.
)


class Header(NamedTuple):
    """Text that stands before the entries of an array."""

    dtype: np.dtype
    shape: tuple[int, ...]
    by_columns: bool
    size: int  # in bytes

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def header_of(stream: io.BufferedIOBase, name: str, size: int) -> Header:
    """Read the header of an array of real numbers at the beginning of a stream.

    ``size`` is the number of bytes in the stream. Raises InputError.
    """
    start = stream.read(len(MAGIC))
    if start != MAGIC:
        raise InputError(
            f"'{name}' is not an array in NumPy's format: it begins with {start!r}"
            if start
            else f"'{name}' is empty"
        )

    def read(count: int) -> bytes:
        if count > _LONGEST:
            raise ValueError
        data = stream.read(count)
        if len(data) < count:
            raise InputError(f"cannot read '{name}': {CUT_OFF}")
        return data

    try:
        shape, by_columns, dtype = _HEADERS[read(2)[0]](SimpleNamespace(read=read), _LONGEST)
        if any(type(extent) is not int or extent < 0 for extent in shape):
            raise ValueError
    except InputError:
        raise
    except Exception:  # a damaged header makes Python's literal and token readers raise anything
        raise InputError(f"cannot read '{name}': its header is none that NumPy writes") from None
    if dtype.hasobject:
        raise InputError(f"cannot read '{name}': it holds Python objects, not numbers")
    if dtype.kind not in "fiub":
        kind = "structured" if dtype.fields else dtype
        raise InputError(f"'{name}' holds {kind} data, not real numbers")
    header = Header(dtype, shape, by_columns, stream.tell())
    if header.size + header.nbytes > size:
        raise InputError(f"cannot read '{name}': {CUT_OFF}")
    return header


def map_array(file: io.BufferedIOBase, header: Header) -> np.ndarray:
    """Map the array of a file whose header was read, without loading it."""
    return np.memmap(
        file, header.dtype, "r", header.size, header.shape, "F" if header.by_columns else "C"
    )


def entries_of(stream: io.BufferedIOBase, header: Header, name: str) -> np.ndarray:
    """Read the array of a stream whose header was read.

    As many bytes are read as the header says, and no more. Raises InputError.
    """
    data = stream.read(header.nbytes)
    if len(data) < header.nbytes:
        raise InputError(f"cannot read '{name}': {CUT_OFF}")
    return np.frombuffer(data, header.dtype).reshape(
        header.shape, order="F" if header.by_columns else "C"
    )


def has_no_parts(name: str) -> InputError:
    """Return the error of a key of one array."""
    return InputError(f"'{name}' is one array; it has no parts", help=f"write {spell_file(name)}")


def has_no_key(name: str, key: str | None, keys: Sequence[str]) -> InputError:
    """Return the error of a key that a file lacks, or of a missing key.

    A key is needed where a file has several arrays.
    """
    listed = (
        f"write {spell_file(name)}:KEY with KEY one of {', '.join(keys[:_LISTED])}"
        if keys
        else "it holds nothing"
    )
    said = f"'{name}' needs a key" if key is None else f"'{name}' has no key '{key}'"
    return InputError(said, help=did_you_mean(key or "", keys, listed))


def spell_file(name: str) -> str:
    """Return how one names a file of data."""
    return "@-" if name == STANDARD_INPUT else f"@{name}"


# -- Parts of ``.npz`` archives: what the archive and the part say of their sizes is looked at
# before anything is unpacked.


_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second begins an empty archive
_ENCRYPTED = 1
_LARGEST = 1 << 24  # most bytes of a directory: more than a hundred thousand parts
_LISTED = 20
_FAULTS = (
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    RuntimeError,
    OverflowError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


def is_archive(start: bytes) -> bool:
    return start.startswith(_ZIP)


def part(file: io.BufferedIOBase, name: str, key: str | None, limits: Limits) -> np.ndarray:
    """Read the array of an archive that has this key, or its only array.

    Raises InputError, LimitError, OSError.
    """
    start = file.read(len(MAGIC))
    if not is_archive(start):
        help = "it is one array; give it a name that ends in .npy" if start == MAGIC else None
        raise InputError(
            f"'{name}' is not a .npz archive: it begins with {start[:4]!r}"
            if start
            else f"'{name}' is empty",
            help=help,
        )
    try:
        _refuse_large_directory(file, name)
        with zipfile.ZipFile(file) as archive:
            info = _choose_part(archive.infolist(), name, key)
            with archive.open(info) as member:
                return _unpack(
                    cast("zipfile.ZipExtFile", member), info, f"{name}:{_key(info)}", limits
                )
    except _FAULTS as error:
        raise InputError(f"cannot read '{name}': {str(error) or type(error).__name__}") from None


def _refuse_large_directory(file: io.BufferedIOBase, name: str) -> None:
    """Raise LimitError if an archive's list of parts alone would fill the memory.

    An archive without such a list raises InputError.
    """
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # what zipfile itself reads first
    file.seek(0)
    if end is None:
        raise InputError(
            f"cannot read '{name}': it has no directory at its end, as a file that was cut off"
        )
    if end[5] > _LARGEST:
        raise LimitError(
            f"the directory of '{name}' has {end[5]:,} bytes, over the limit of {_LARGEST:,}"
        )


def _key(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _choose_part(parts: list[zipfile.ZipInfo], name: str, key: str | None) -> zipfile.ZipInfo:
    """Return the part that a key names.

    Raises InputError if there is no such part, or if it cannot be read.
    """
    alone = key is None and len(parts) == 1
    found = parts if alone else [info for info in parts if key in (info.filename, _key(info))]
    if not found:
        raise has_no_key(name, key, [*map(_key, parts)])
    if len(found) > 1:
        raise InputError(f"'{name}' has the key '{key}' {len(found)} times")
    if found[0].flag_bits & _ENCRYPTED:
        raise InputError(f"cannot read '{name}:{_key(found[0])}': it is encrypted")
    return found[0]


def _unpack(
    member: zipfile.ZipExtFile, info: zipfile.ZipInfo, name: str, limits: Limits
) -> np.ndarray:
    """Unpack the array of a part.

    Its header gives the unpacked size, and no more is unpacked.
    """
    header = header_of(member, name, info.file_size)
    limits.check_array(header.shape)
    array = entries_of(member, header, name)
    member.read(1)  # reaching the end makes zipfile compare the checksum of the part
    return array
