"""The machine's C compiler, and C as loaded libraries: compiled once, and kept for the next time.

The compiler is what CC names, with its arguments, else the first of cc, gcc and clang that works. It reads C that we have written from its
standard input. Nothing depends on how long it takes, unless it hangs.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shlex
import shutil
import sys
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import NamedTuple

from gradcli.errors import NativeError, text_lines
from gradcli.plans.native.flags import FORBIDDEN, Kind, flags, libraries
from gradcli.plans.native.running import UnusableError, folder_for_a_while, told
from gradcli.storage.cache import NATIVE, digest

_NAMES = ("cc", "gcc", "clang")
_PATIENCE = 60  # seconds, for an answer without work
_COMPILING = 600
_FORMAT = "1"  # of keys
# The least that is to be compiled and run. Where a compiler does not keep NaN, one is no longer told from a number.
_PROBE = "#include <math.h>\nint gradcli_probe(double x) { return x != x && isnan(sqrt(x)); }\n"


class Compiler(NamedTuple):
    """A compiler that works, and what it is told."""

    command: tuple[str, ...]  # its path, and the arguments that CC has
    kind: Kind
    version: str  # as it says itself
    processor: str  # for what it takes this machine's
    flags: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def short(self) -> str:
        """In a word, as in names of files: gcc-12.2.0."""
        number = re.search(r"\d+(\.\d+)+", self.version)
        return f"{self.kind}-{number[0] if number else '0'}"


def found() -> Compiler | None:
    """The machine's compiler; None where none works (`missing` says why)."""
    compiler = _found(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))
    return compiler if isinstance(compiler, Compiler) else None


def missing() -> NativeError:
    """What to say where native code is asked for and no compiler works."""
    why = _found(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))
    return NativeError("there is no C compiler that works", help=_advice(), note=why if isinstance(why, str) else None)


def library(source: str) -> ctypes.CDLL:
    """C as a loaded library, compiled if it is not kept from another time. Raises NativeError."""
    compiler = found()
    if compiler is None:
        raise missing()
    try:
        return _library(compiler, source)
    except UnusableError as error:
        raise NativeError(f"the compiler '{compiler.command[0]}' fails", help="NumPy computes the same", note=str(error)) from None


# -- finding one ---------------------------------------------------------------------------------------------------------


@cache
def _found(said: str, path: str) -> Compiler | str:
    """The compiler for what CC and PATH say, or why there is none."""
    if os.name != "posix":
        return "native code is compiled by gcc and clang on Linux, macOS and other systems of their kind; MSVC is not supported"
    try:
        named = shlex.split(said)
    except ValueError as error:
        return f"CC={said}: {str(error).lower()}"
    problems = []
    for name, *arguments in [named] if named else [[name] for name in _NAMES]:
        try:
            return _tried(name, arguments, path)
        except UnusableError as error:
            problems.append(f"{'CC=' if named else ''}{name}: {error}")
    return "; ".join(problems)


def _tried(name: str, arguments: list[str], path: str) -> Compiler:
    """The compiler of that name. Raises UnusableError."""
    where = shutil.which(name, path=path)
    if where is None:
        raise UnusableError("not found")
    refused = sorted(FORBIDDEN.intersection(arguments))
    if refused:
        raise UnusableError(f"{refused[0]} changes what numbers are")
    if sys.platform == "darwin" and where.startswith("/usr/bin/"):  # where no tools are installed, what stands there would open a window
        told(["/usr/bin/xcode-select", "-p"], patience=_PATIENCE)
    command = (os.path.abspath(where), *arguments)
    version = told([*command, "--version"], patience=_PATIENCE)
    kind = _kind(version)
    *better, last = flags(kind, arguments)
    for those in better:
        with suppress(UnusableError):  # it is too old for some of them
            return _proved(command, kind, version, those)
    return _proved(command, kind, version, last)


def _kind(version: str) -> Kind:
    """Which compiler it is, by its own words. Others may have options of the same names and other meanings. Raises UnusableError."""
    if "clang version" in version:
        return "clang"
    if "Free Software Foundation" in version:
        return "gcc"
    raise UnusableError(f"neither gcc nor clang, but '{version.strip().partition(chr(10))[0][:80]}'")


def _proved(command: tuple[str, ...], kind: Kind, version: str, those: tuple[str, ...]) -> Compiler:
    """A compiler with flags, if it works with them. Raises UnusableError."""
    processor = _processor(told([*command, *those, "-E", "-x", "c", "-###", os.devnull], patience=_PATIENCE))
    compiler = Compiler(command, kind, version.partition("\n")[0].strip(), processor, those, libraries())
    if _library(compiler, _PROBE).gradcli_probe(ctypes.c_double(float("nan"))) != 1:
        raise UnusableError("it takes NaN for a number")
    return compiler


def _processor(said: str) -> str:
    """For what a compiler takes this machine's processor: the names of it and of its features that it hands to its own parts."""
    words: list[str] = []
    for line in text_lines(said):
        with suppress(ValueError):
            words += shlex.split(line) if "cc1" in line else []
    named = {place + 1 for place, word in enumerate(words) if word in ("--param", "-target-cpu", "-target-feature", "-tune-cpu")}
    return " ".join(word for place, word in enumerate(words) if place in named or word.startswith("-m"))


_INSTALLERS = {
    "apt": "apt install gcc libc6-dev", "dnf": "dnf install gcc", "apk": "apk add gcc musl-dev", "pacman": "pacman -S gcc",
    "zypper": "zypper install gcc", "pkg": "pkg install gcc",
}  # fmt: skip


def _advice() -> str:
    """What to install, in the words of the system."""
    if os.name != "posix":
        return "NumPy computes the same"
    words = "xcode-select --install" if sys.platform == "darwin" else None
    words = words or next((words for name, words in _INSTALLERS.items() if shutil.which(name)), "install gcc or clang")
    return f"{words}, or name a compiler in CC"


# -- compiling -----------------------------------------------------------------------------------------------------------

_loaded: dict[str, ctypes.CDLL] = {}
_failed: dict[str, str] = {}
_locks: dict[str, Lock] = {}  # of what is being compiled
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_locks.clear)  # threads do not live on in a forked process, but what they hold would


def _library(compiler: Compiler, source: str) -> ctypes.CDLL:
    """The library of a source, loaded once in a process. Raises UnusableError, each time in the same words."""
    key = f"{compiler.short}-{digest(repr((_FORMAT, _system(), compiler, source)).encode())}"
    if key not in _loaded:
        with _locks.setdefault(key, Lock()):  # another thread may be at it
            if key in _failed:
                raise UnusableError(_failed[key])
            if key not in _loaded:
                try:
                    _loaded[key] = _kept(key) or _compiled(compiler, source, key)
                except UnusableError as error:
                    _failed[key] = str(error)
                    raise
    return _loaded[key]


@cache
def _system() -> tuple[str, ...]:
    """What a library needs, beside the processor, to be loaded: homes may be shared by machines that differ."""
    return platform.system(), platform.machine(), *platform.libc_ver()


def _kept(key: str) -> ctypes.CDLL | None:
    path = NATIVE.path_of(key)
    if path is not None:
        with suppress(OSError):
            return ctypes.CDLL(os.path.abspath(path))
    return None


def _compiled(compiler: Compiler, source: str, key: str) -> ctypes.CDLL:
    """Compile and load: from the cache, where there is one, since temporary folders may be mounted so that nothing runs from there."""
    where = NATIVE.own_folder(make=True)
    with folder_for_a_while(*[where] if where is not None else []) as place:
        made = place / "made.so"
        command = [*compiler.command, *compiler.flags, "-x", "c", "-", "-o", str(made), *compiler.libraries]
        told(command, source, patience=_COMPILING, files=place)
        try:
            content = made.read_bytes()
            kept = NATIVE.keep(key, content)
            with suppress(OSError):
                if kept is not None:
                    return ctypes.CDLL(os.path.abspath(kept))
            return ctypes.CDLL(str(made))  # a file that is loaded may be removed
        except OSError as error:
            raise UnusableError(f"what it made cannot be loaded: {error}") from None
