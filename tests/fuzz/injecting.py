"""Faults: the n-th read, write, import or allocation of a run fails, once or from then on."""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

WRITING, READING, IMPORTING, COMPUTING, ALLOCATING = KINDS = (
    "write",
    "read",
    "import",
    "memory",
    "allocation",
)
_WRITES = (
    "replace",
    "rename",
    "fsync",
    "write",
    "mkdir",
    "chmod",
    "link",
)  # to take a file away needs no room
_READS = ("read", "listdir", "scandir", "stat")


@dataclass
class Fault:
    """What fails: the ``place``-th point of a kind, counted from 1; where ``lasting``, all after
    it, too.
    """

    kind: str
    place: int
    lasting: bool = False
    number: int = errno.EIO
    seen: int = 0  # points that were reached

    @property
    def reached(self) -> bool:
        return self.seen >= self.place

    def point(self, kind: str) -> None:
        """A point at which something of a kind may fail."""
        if kind != self.kind:
            return
        self.seen += 1
        if self.seen == self.place or (self.lasting and self.seen > self.place):
            raise self.error()

    def error(self) -> BaseException:
        if self.kind == IMPORTING:
            return ImportError("no such module: a fault was injected")
        if self.kind in (COMPUTING, ALLOCATING):
            return MemoryError()
        return OSError(self.number, os.strerror(self.number))

    def __str__(self) -> str:
        what = errno.errorcode[self.number] if self.kind in (WRITING, READING) else ""
        return (
            f"{self.kind} {self.place}{' and all after it' if self.lasting else ''} {what}".rstrip()
        )


class Raw(io.RawIOBase):
    """A standard stream over bytes in memory, every transfer of which is a point."""

    def __init__(self, fault: Fault, given: bytes = b"") -> None:
        self.fault, self.rest, self.taken = fault, given, bytearray()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.fault.point(READING)
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def write(self, data: Any) -> int:
        self.fault.point(WRITING)
        self.taken += bytes(data)
        return len(data)


class Proxy:
    """An open file, whose transfers are points."""

    def __init__(self, file: Any, fault: Fault) -> None:
        self._file, self._fault = file, fault

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        if name in ("write", "writelines", "flush", "truncate"):
            return self._with(found, WRITING)
        return (
            self._with(found, READING)
            if name in ("read", "readline", "readinto", "readlines")
            else found
        )

    def _with(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def made(*arguments: Any, **keywords: Any) -> Any:
            self._fault.point(kind)
            return function(*arguments, **keywords)

        return made

    def __enter__(self) -> Proxy:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __iter__(self) -> Iterator[Any]:
        for line in self._file:
            self._fault.point(READING)
            yield line

    def __next__(self) -> Any:
        self._fault.point(READING)
        return next(self._file)


@contextmanager
def injected(fault: Fault) -> Iterator[None]:
    """Let a fault happen in what is run inside."""
    if fault.kind == ALLOCATING:
        with _allocations(fault):
            yield
        return
    before: list[tuple[Any, str, Any]] = []

    def patch(owner: Any, name: str, made: Any) -> None:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, made)

    if fault.kind == COMPUTING:
        _patch_operations(fault)
    elif fault.kind == IMPORTING:
        patch(builtins, "__import__", _importing(fault, builtins.__import__))
    else:
        opened = _opening(fault, io.open)
        patch(builtins, "open", opened)
        patch(io, "open", opened)
        patch(os, "fdopen", _opening(fault, os.fdopen))
        patch(tempfile, "mkstemp", _before(fault, WRITING, tempfile.mkstemp))
        patch(os, "open", _os_open(fault, os.open))
        for kind, names in ((WRITING, _WRITES), (READING, _READS)):
            for name in names:
                if hasattr(os, name):
                    patch(os, name, _before(fault, kind, getattr(os, name)))
    try:
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


def _before(fault: Fault, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any, **keywords: Any) -> Any:
        fault.point(kind)
        return function(*arguments, **keywords)

    return made


def _opening(fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
    def made(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        fault.point(WRITING if any(letter in mode for letter in "wax+") else READING)
        return Proxy(function(file, mode, *arguments, **keywords), fault)

    return made


def _os_open(fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
    def made(path: Any, flags: int, *arguments: Any, **keywords: Any) -> Any:
        fault.point(WRITING if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else READING)
        return function(path, flags, *arguments, **keywords)

    return made


def _importing(fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
    """Imports that gradcli asks for and that are not there yet."""

    def made(name: str, globals: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if name not in sys.modules and str((globals or {}).get("__name__", "")).startswith(
            "gradcli"
        ):
            fault.point(IMPORTING)
        return function(name, globals, *arguments, **keywords)

    return made


def _patch_operations(fault: Fault) -> None:
    """Every computation of an operation's value is a point.

    The process ends after the run: nothing is put back.
    """
    from gradcli.ops.registry import registry

    for op in registry().values():
        for name in ("forward", "operator"):
            function = getattr(op, name)
            if function is not None:
                object.__setattr__(op, name, _before(fault, COMPUTING, function))


@contextmanager
def _allocations(fault: Fault) -> Iterator[None]:
    """CPython's own allocator fails, where this Python was built with its tests."""
    import _testcapi

    _testcapi.set_nomemory(fault.place, 0 if fault.lasting else fault.place + 1)
    try:
        yield
    finally:
        with suppress(MemoryError):
            _testcapi.remove_mem_hooks()
        fault.seen = fault.place
