"""The machine's C compiler, and C as libraries that are loaded: compiled once, and kept for the next time.

The compiler is what CC names, with its arguments, else the first of cc, gcc and clang that works. It is started without a shell, and reads
C that we have written from its standard input. Nothing depends on how long it takes, unless it hangs.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from gradcli.errors import NativeError
from gradcli.plans.native import cache as kept_code
from gradcli.plans.native.flags import FORBIDDEN, flags, libraries

_NAMES = ("cc", "gcc", "clang")
_PATIENCE = 600  # seconds, after which a compiler hangs
_FORMAT = "1"
# The least that is to be compiled and to be run. A NaN is told from a number only where a compiler keeps NaN.
_PROBE = "#include <math.h>\nint gradcli_probe(double x) { return x != x && isnan(sqrt(x)); }\n"


class Compiler(NamedTuple):
    """A compiler that works, and what it is told."""

    command: tuple[str, ...]  # its path, and the arguments that CC has
    kind: str  # gcc or clang
    version: str  # as it says itself
    processor: str  # what it takes this machine's for
    flags: tuple[str, ...]
    libraries: tuple[str, ...]


class _Unusable(Exception):
    """What is wrong with a compiler."""


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
    except _Unusable as error:
        raise NativeError("generated C cannot be compiled here", help="--backend numpy computes the same", note=str(error)) from None


# -- finding one ---------------------------------------------------------------------------------------------------------


@cache
def _found(said: str, path: str) -> Compiler | str:
    """The compiler, or why there is none. Environments differ in tests only."""
    if os.name != "posix":
        return "native code is compiled on Linux, macOS and other systems of their kind; not by MSVC"
    try:
        named = shlex.split(said)
    except ValueError as error:
        return f"CC={said!r}: {str(error).lower()}"
    problems = []
    for name, *arguments in [named] if named else [[name] for name in _NAMES]:
        try:
            return _tried(name, arguments, path)
        except _Unusable as error:
            problems.append(f"{'CC=' if named else ''}{name}: {error}")
    return "; ".join(problems)


def _tried(name: str, arguments: list[str], path: str) -> Compiler:
    """The compiler of that name. Raises _Unusable."""
    where = shutil.which(name, path=path)
    if where is None:
        raise _Unusable("not found")
    refused = sorted(FORBIDDEN.intersection(arguments))
    if refused:
        raise _Unusable(f"{refused[0]} changes what numbers are")
    command = (where, *arguments)
    version = _run([*command, "--version"])
    kind = "clang" if "clang" in version else "gcc" if "Free Software Foundation" in version else None
    if kind is None:
        raise _Unusable(f"neither gcc nor clang: {version.strip().splitlines()[0] if version.strip() else 'it says nothing'}")
    told = flags(kind)
    processor = _processor(_run([*command, *told, "-E", "-x", "c", "-###", os.devnull]))
    compiler = Compiler(command, kind, version.splitlines()[0].strip(), processor, told, libraries(kind))
    if _library(compiler, _PROBE).gradcli_probe(ctypes.c_double(float("nan"))) != 1:
        raise _Unusable("it takes NaN for a number")
    return compiler


def _processor(said: str) -> str:
    """What a compiler takes this machine's processor for: the names of it and of its features that it hands to its own parts."""
    words = [word for line in said.splitlines() if "cc1" in line for word in _split(line)]
    after = {place + 1 for place, word in enumerate(words) if word in ("--param", "-target-cpu", "-target-feature", "-tune-cpu")}
    return " ".join(word for place, word in enumerate(words) if place in after or word.startswith("-m"))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _advice() -> str:
    system = {"darwin": "xcode-select --install", "win32": "--backend numpy computes the same"}.get(sys.platform)
    if system is None:
        installers = {"apt": "apt install gcc", "dnf": "dnf install gcc", "apk": "apk add gcc musl-dev", "pacman": "pacman -S gcc",
                      "zypper": "zypper install gcc", "pkg": "pkg install gcc"}  # fmt: skip
        system = next((text for name, text in installers.items() if shutil.which(name)), "install gcc or clang")
    return f"{system}, or set CC to a compiler" if sys.platform != "win32" else system


# -- compiling -----------------------------------------------------------------------------------------------------------

_loaded: dict[str, ctypes.CDLL] = {}
_failed: dict[str, str] = {}
_locks: dict[str, Lock] = {}  # of what is being compiled
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_locks.clear)  # threads do not live on in a forked process, their locks would


def _library(compiler: Compiler, source: str) -> ctypes.CDLL:
    """The library of a source, loaded once in a process. Raises _Unusable, each time in the same words."""
    key = hashlib.sha256("\0".join(map(str, (_FORMAT, platform.machine(), compiler, source))).encode()).hexdigest()
    if key not in _loaded:
        with _locks.setdefault(key, Lock()):  # another thread may be at it
            if key in _failed:
                raise _Unusable(_failed[key])
            if key not in _loaded:
                try:
                    _loaded[key] = _kept(key) or _compiled(compiler, source, key)
                except _Unusable as error:
                    _failed[key] = str(error)
                    raise
    return _loaded[key]


def _kept(key: str) -> ctypes.CDLL | None:
    path = kept_code.kept(key)
    if path is not None:
        with suppress(OSError):
            return ctypes.CDLL(str(path))
    return None


def _compiled(compiler: Compiler, source: str, key: str) -> ctypes.CDLL:
    """Compile and load, from the cache where there is one, since other folders may be mounted so that nothing runs from there."""
    with tempfile.TemporaryDirectory(prefix="gradcli.", ignore_cleanup_errors=True) as folder:
        made = Path(folder, "made.so")
        _run([*compiler.command, *compiler.flags, "-x", "c", "-", "-o", str(made), *compiler.libraries], source)
        try:
            kept = kept_code.keep(key, made.read_bytes())
            with suppress(OSError):
                if kept is not None:
                    return ctypes.CDLL(str(kept))
            return ctypes.CDLL(str(made))  # which may be removed once it is loaded
        except OSError as error:
            raise _Unusable(f"what it compiles cannot be loaded: {error}") from None


def _run(command: list[str], text: str = "") -> str:
    """What a compiler says, given a text to read. Raises _Unusable; nothing of it runs any more then, in any case."""
    try:
        started = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
            env={**os.environ, "LC_ALL": "C"}, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise _Unusable(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None
    with started:
        try:
            said, _ = started.communicate(text, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            _end(started)
            raise _Unusable(f"it did not end within {_PATIENCE} seconds") from None
        except BaseException:
            _end(started)
            raise
    if started.returncode:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        shown = [line for line in lines if "error" in line.lower()] or lines
        raise _Unusable("; ".join(shown[:5]) or f"it ends with code {started.returncode} and says nothing")
    return said


def _end(started: subprocess.Popen[str]) -> None:
    """End a compiler and all that it has started."""
    with suppress(OSError):
        os.killpg(started.pid, signal.SIGKILL)
    started.kill()
