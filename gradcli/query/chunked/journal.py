"""What chunks have given so far, on disk: a run that was interrupted goes on after the last chunk that was done."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import UsageError

_HEAD = struct.Struct("<qqqq")  # stage, chunk, how many arrays, and bytes of these
_FIRST = struct.Struct("<64sq")  # the digest of what is computed, and the bytes of a chunk


class Journal:
    """Results of chunks, added one by one.

    done  by stage and chunk, the arrays that chunks came together with
    """

    def __init__(self, path: Path, digest: str, at_once: int, *, resume: bool) -> None:
        """``digest`` is of the program, its values and its chunks. Raises UsageError for a journal of something else."""
        self.done: dict[tuple[int, int], list[Any]] = {}
        size = 0
        if resume and path.exists():
            with path.open("rb") as file:
                size = self._read(file, digest, path)
        self.file = path.open("r+b" if size else "wb")
        if size:
            self.file.truncate(size)  # what the interrupted run had not finished
            self.file.seek(size)
        else:
            self.file.write(_FIRST.pack(digest.encode(), at_once))
            self.file.flush()

    def _read(self, file: io.BufferedReader, digest: str, path: Path) -> int:
        first = file.read(_FIRST.size)
        if len(first) < _FIRST.size:
            return 0
        if _FIRST.unpack(first)[0] != digest.encode():
            raise UsageError(
                f"'{path.parent}' is of another run: the expression, its values, its files or their chunks were others",
                help="remove that folder to begin anew",
            )
        size = file.tell()
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            stage, chunk, count, length = _HEAD.unpack(head)
            content = file.read(length)
            if len(content) < length:
                break
            stream = io.BytesIO(content)
            self.done[stage, chunk] = [np.load(stream, allow_pickle=False) for _ in range(count)]
            size = file.tell()
        return size

    def add(self, stage: int, chunk: int, arrays: Sequence[Any]) -> None:
        """Note a chunk that is done, what it wrote being on disk. Raises OSError."""
        stream = io.BytesIO()
        for array in arrays:
            np.save(stream, np.asarray(array), allow_pickle=False)
        content = stream.getvalue()
        self.file.write(_HEAD.pack(stage, chunk, len(arrays), len(content)) + content)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.done[stage, chunk] = list(arrays)

    def close(self) -> None:
        self.file.close()


def chunks_of(path: Path) -> int | None:
    """The bytes of a chunk of the run that a journal is of, if there is one: whoever goes on cuts alike."""
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST.size)
    except OSError:
        return None
    return int(_FIRST.unpack(first)[1]) if len(first) == _FIRST.size else None
