"""Parts of ``.npz`` archives: what the archive and the part say of their sizes is looked at before anything is unpacked."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import cast

import numpy as np

from gradcli.errors import InputError, LimitError
from gradcli.files import npy
from gradcli.limits import Limits

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second of an empty one
_END = struct.Struct("<4s4H2LH")  # what stands at the end of an archive, before a comment
_COMMENT = 1 << 16
_READ_AS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as NumPy writes them
_ENCRYPTED = 1
_LARGEST = 1 << 24  # bytes of a directory: a hundred thousand parts and more
_LISTED = 20
_FAULTS = (ValueError, KeyError, IndexError, EOFError, RuntimeError, OverflowError, struct.error, zlib.error, zipfile.BadZipFile)


def is_archive(start: bytes) -> bool:
    return start.startswith(_ZIP)


def part(file: io.BufferedIOBase, name: str, write: str, key: str | None, limits: Limits) -> np.ndarray:
    """The array of an archive that has this key, or its only one; ``write`` is how the archive is named where it is asked for.

    Raises InputError, LimitError, OSError.
    """
    start = file.read(len(npy.MAGIC))
    if not is_archive(start):
        help = "it is one array; give it a name that ends in .npy" if start == npy.MAGIC else None
        raise InputError(f"'{name}' is not a .npz archive: it begins with {start[:4]!r}" if start else f"'{name}' is empty", help=help)
    try:
        _refuse_large_directory(file, name)
        with zipfile.ZipFile(file) as archive:
            info = _chosen(archive.infolist(), name, write, key)
            with archive.open(info) as member:
                return _unpacked(cast("zipfile.ZipExtFile", member), info, f"{name}:{_key(info)}", limits)
    except _FAULTS as error:
        raise InputError(f"cannot read '{name}': {str(error) or type(error).__name__}") from None


def _refuse_large_directory(file: io.BufferedIOBase, name: str) -> None:
    """Raise LimitError for an archive that lists so many parts that the list alone would fill the memory."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END.size - _COMMENT))
    tail = file.read(_END.size + _COMMENT)
    file.seek(0)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise InputError(f"cannot read '{name}': it has no directory at its end, as a file that was cut off")
    length = _END.unpack_from(tail, at)[5]
    if length == 0xFFFFFFFF:  # it stands in a wider field, which comes before
        wide = tail.rfind(b"PK\x06\x06", 0, at)
        length = int.from_bytes(tail[wide + 40 : wide + 48], "little") if wide >= 0 else size
    if min(length, size) > _LARGEST:
        raise LimitError(f"the directory of '{name}' has {length:,} bytes, over the limit of {_LARGEST:,}")


def _key(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _chosen(parts: list[zipfile.ZipInfo], name: str, write: str, key: str | None) -> zipfile.ZipInfo:
    """The part that a key names. Raises InputError if there is none, or if it cannot be read."""
    alone = key is None and len(parts) == 1
    found = parts if alone else [info for info in parts if key in (info.filename, _key(info))]
    if not found:
        missing = f"'{name}' needs a key" if key is None else f"'{name}' has no key '{key}'"
        keys = ", ".join(_key(info) for info in parts[:_LISTED])
        raise InputError(missing, help=f"write {write}:KEY with KEY one of {keys}" if parts else "it holds nothing")
    if len(found) > 1:
        raise InputError(f"'{name}' has the key '{key}' {len(found)} times")
    if found[0].flag_bits & _ENCRYPTED:
        raise InputError(f"cannot read '{name}:{_key(found[0])}': it is encrypted")
    if found[0].compress_type not in _READ_AS:
        help = "write it with numpy.savez_compressed"
        raise InputError(f"cannot read '{name}:{_key(found[0])}': it is compressed as NumPy does not", help=help)
    return found[0]


def _unpacked(member: zipfile.ZipExtFile, info: zipfile.ZipInfo, name: str, limits: Limits) -> np.ndarray:
    """The array of a part: what it unpacks to is known from its header, and no more is unpacked."""
    header = npy.header_of(member, name)
    if header.size + header.nbytes > info.file_size:
        raise InputError(f"cannot read '{name}': {npy.CUT_OFF}")
    limits.check_array(header.shape)
    array = npy.entries_of(member, header, name)
    member.read(1)  # at the end, the archive's sum of the part is compared
    return array
