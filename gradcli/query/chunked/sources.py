"""What chunks are read from: regions of stores, which are opened where they are read, in this process or on another machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.files.npy import unreadable
from gradcli.files.stores import Store, store_at

_OPEN = 32  # stores that a process keeps open


@dataclass(frozen=True)
class Described:
    """What is known of a store before it is read.

    stamp  its size and the time of its last change: it is to be the same to the end
    """

    path: str
    key: str | None
    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    stamp: tuple[int, ...]

    def whole(self) -> np.ndarray:
        """All of it."""
        return _opened(self.path, self.key, self.stamp).read((slice(None),) * len(self.shape))

    def read(self, axis: int, start: int, stop: int) -> np.ndarray:
        """Entries along one axis, whole along the others."""
        store = _opened(self.path, self.key, self.stamp)
        return store.read((slice(None),) * axis + (slice(start, stop),) + (slice(None),) * (len(self.shape) - axis - 1))


def described(path: str, key: str | None) -> Described:
    """The store that a file or folder is, as it is seen from here. Raises InputError."""
    try:
        stamp = _stamp(path)
        store = _opened(path, key, stamp)
    except OSError as error:
        raise unreadable(error, path) from None
    return Described(path, key, store.shape, store.dtype.str, store.chunks, stamp)


def _stamp(path: str) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


@lru_cache(_OPEN)
def _opened(path: str, key: str | None, stamp: tuple[int, ...]) -> Store:
    return store_at(Path(path), path, key)


@dataclass(frozen=True)
class Slice:
    """Entries of a store along one axis."""

    of: Described
    axis: int
    start: int
    stop: int

    def read(self) -> Any:
        return self.of.read(self.axis, self.start, self.stop)
