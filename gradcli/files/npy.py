"""Arrays in NumPy's format: a header says their type and shape, which are held to the limits before anything is made of that size."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass

import numpy as np

from gradcli.errors import InputError

MAGIC = b"\x93NUMPY"
CUT_OFF = "it ends before the array does, as a file that was cut off"
_LONGEST = 1 << 16  # bytes of a header; NumPy writes 128 and reads 10,000
_CHUNK = 1 << 20
MAPPED = 1 << 26  # bytes from which a file is mapped: a smaller one is read, and may change or go while it is in use

_TYPE = re.compile(r"[<>|=]?(?:[?biufcmMOSUVa]|[hlqpBHILQPefdgFDG])[0-9]{0,9}(?:\[\w{1,9}\])?", re.ASCII)
_ITEM = re.compile(
    r"""\s*+(?:'(?P<name>\w+)'|"(?P<named>\w+)")\s*+:\s*+"""
    r"""(?:'(?P<word>[^'\\]*+)'|"(?P<quoted>[^"\\]*+)"|(?P<flag>True|False)|\((?P<extents>[0-9L,\s]*+)\)|(?P<other>[\[(]))""",
    re.ASCII,
)
_NEXT = re.compile(r"\s*+(,?)\s*+(}\s*+\Z)?", re.ASCII)
_EXTENTS = re.compile(r"\s*+(?:[0-9]{1,20}L?\s*+,\s*+)*+(?:[0-9]{1,20}L?\s*+)?+", re.ASCII)


@dataclass(frozen=True, eq=False)
class Header:
    """What stands before the entries of an array."""

    dtype: np.dtype
    shape: tuple[int, ...]
    by_columns: bool
    size: int  # in bytes

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def header_of(stream: io.BufferedIOBase, name: str) -> Header:
    """The header of an array of real numbers, which is at the beginning of a stream. Raises InputError."""
    start = stream.read(8)
    if not start.startswith(MAGIC):
        found = f"it begins with {start[: len(MAGIC)]!r}"
        raise InputError(f"'{name}' is not an array in NumPy's format: {found}" if start else f"'{name}' is empty")
    wide = start[6:7] != b"\x01"
    if len(start) < 8 or start[6] not in (1, 2, 3):
        raise InputError(f"cannot read '{name}': " + (CUT_OFF if len(start) < 8 else f"it is of version {start[6]}, which NumPy has not"))
    length = stream.read(4 if wide else 2)
    count = int.from_bytes(length, "little")
    if count > _LONGEST:
        raise _broken(name)
    text = stream.read(count)
    if len(length) < (4 if wide else 2) or len(text) < count:
        raise InputError(f"cannot read '{name}': {CUT_OFF}")
    dtype, shape, by_columns = _read(text.decode("latin-1"), name)
    return Header(dtype, shape, by_columns, 8 + len(length) + count)


def _broken(name: str) -> InputError:
    return InputError(f"cannot read '{name}': its header is none that NumPy writes")


def _read(text: str, name: str) -> tuple[np.dtype, tuple[int, ...], bool]:
    """Type, shape and order from the text of a header, which is a dictionary as Python writes it."""
    items: dict[str, re.Match[str]] = {}
    at, done = text.find("{") + 1, False
    if text[:at].strip() != "{":
        raise _broken(name)
    while not done:
        item = _ITEM.match(text, at)
        key = item and (item["name"] or item["named"])
        if item is None or key is None or key in items:
            raise _broken(name)
        if key == "descr" and item["other"]:
            raise InputError(f"'{name}' holds structured data, not real numbers")
        items[key] = item
        after = _NEXT.match(text, item.end())
        assert after is not None  # it matches nothing, too
        at, done = after.end(), after[2] is not None
        if not (done or after[1]):
            raise _broken(name)
    if items.keys() != {"descr", "fortran_order", "shape"}:
        raise _broken(name)
    extents, flag = items["shape"]["extents"], items["fortran_order"]["flag"]
    if extents is None or flag is None or not _EXTENTS.fullmatch(extents) or (extents.strip() and "," not in extents):
        raise _broken(name)
    shape = tuple(int(part.strip(" \t\r\n\f\v").rstrip("L")) for part in extents.split(",") if part.strip())
    return _dtype(items["descr"]["word"] or items["descr"]["quoted"] or "", name), shape, flag == "True"


def _dtype(word: str, name: str) -> np.dtype:
    if not _TYPE.fullmatch(word):
        raise _broken(name)
    if word.lstrip("<>|=")[0] == "O":
        raise InputError(f"cannot read '{name}': it holds Python objects, not numbers")
    try:
        dtype = np.dtype(word.replace("a", "S"))
    except (TypeError, ValueError):
        raise _broken(name) from None
    if dtype.kind not in "fiub":
        raise InputError(f"'{name}' holds {dtype} data, not real numbers")
    return dtype


def mapped(file: io.BufferedIOBase, header: Header) -> np.ndarray | None:
    """The array of a file whose header was read, left where it is, if it is large."""
    if header.nbytes < MAPPED:
        return None
    return np.memmap(file, header.dtype, "r", header.size, header.shape, "F" if header.by_columns else "C")


def entries_of(stream: io.BufferedIOBase, header: Header, name: str) -> np.ndarray:
    """The array of a stream whose header was read: as many bytes as that says, and no more. Raises InputError."""
    array = np.empty(math.prod(header.shape), header.dtype)
    room, at = array.view(np.uint8).data, 0
    while at < len(room):
        count = stream.readinto(room[at : at + _CHUNK])
        if not count:
            raise InputError(f"cannot read '{name}': {CUT_OFF}")
        at += count
    return array.reshape(header.shape[::-1]).T if header.by_columns else array.reshape(header.shape)
