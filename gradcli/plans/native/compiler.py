"""The machine's C compiler, and C as loaded libraries: compiled once, and kept for the next time.

The compiler is what CC names, with its arguments, else the first of cc, gcc and clang that works.
It reads C that we have written from its standard input. Nothing depends on how long it takes,
unless it hangs.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np

from gradcli.errors import NativeError
from gradcli.storage import NATIVE, digest

# -- What compilers are told: flags with which loops are as fast as the processor, and NaN,
# infinities and signs of zeros stay NumPy's.


Kind = Literal["gcc", "clang"]

# None of these changes infinities, NaNs, the signs of zeros or the order of sums. At -O2, gcc 12
# does not vectorize loops of conversions.
_NEEDED = (
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fopenmp-simd",
    "-fPIC",
    "-shared",
)
# These would, even if they come from CC: for some, gcc links code that turns tiny numbers into
# zeros in the whole process.
FORBIDDEN = frozenset({
    "-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math", "-ffinite-math-only", "-freciprocal-math",
    "-fno-signed-zeros", "-ffp-model=fast", "-ffp-model=aggressive", "-mdaz-ftz",
})  # fmt: skip


def flags(kind: Kind, given: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the lists of flags for a compiler on this machine, the best first.

    The last list has only flags that old compilers know. ``given`` are the arguments in CC.
    """
    return [(*_NEEDED, *_processor(given), *_wide(kind)), _NEEDED]


def libraries() -> tuple[str, ...]:
    """Return what is linked: functions of vectors where the system has them."""
    return ("-Wl,--as-needed", "-lmvec", "-lm") if _has_libmvec() else ("-lm",)


def _processor(given: Sequence[str]) -> tuple[str, ...]:
    """Return what NumPy uses of this processor, unless CC names one.

    What is compiled is kept, and homes are shared by machines.
    """
    if not _x86() or any(argument.startswith("-march=") for argument in given):
        return ()
    features = (np.show_config(mode="dicts") or {}).get("SIMD Extensions", {})
    has = {*features.get("baseline", ()), *features.get("found", ())}
    level = 2
    if "X86_V3" in has or has >= {"AVX2", "FMA3"}:
        level = 4 if has & {"X86_V4", "AVX512_SKX"} else 3
    return f"-march=x86-64-v{level}", "-mtune=native"


def _wide(kind: Kind) -> tuple[str, ...]:
    """Return the flags for the widest vectors there are, and for direct calls of functions on them.

    Compilers avoid the widest vectors for some processors.
    """
    found = ["-fno-plt"]
    if kind == "gcc":
        # The ends of loops use functions of the same vectors as all other entries (double.h).
        found.append("--param=vect-epilogues-nomask=0")
    if _x86():
        found.append("-mprefer-vector-width=512")
    if kind == "clang" and _has_libmvec():
        found.append("-fveclib=libmvec")  # gcc has declarations instead (double.h)
    return tuple(found)


def _x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


@cache
def _has_libmvec() -> bool:
    """Return whether the C library has sines and the like of vectors, as glibc has."""
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and platform.libc_ver()[0] == "glibc"
    )


# -- Starting compilers: without a shell, with an end, and so that nothing of them stays, neither
# processes nor files.


class UnusableError(Exception):
    """Fault of a compiler, or of what it made."""


def run_compiler(
    command: list[str], text: str = "", *, patience: int, files: Path | None = None
) -> str:
    """Return what a compiler says, given a text to read.

    Its own files go into a folder, if one is given. Raises UnusableError.

    patience  seconds, after which it hangs
    """
    own = {"LC_ALL": "C"} if files is None else {"LC_ALL": "C", "TMPDIR": str(files)}
    try:
        started = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
            env={**os.environ, **own}, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise UnusableError(
            f"it cannot be started: {getattr(error, 'strerror', None) or error}"
        ) from None
    with (
        started
    ):  # if an interrupt comes before this line, the compiler has no input and ends by itself
        try:
            said, _ = started.communicate(text, timeout=patience)
        except subprocess.TimeoutExpired:
            raise UnusableError(f"it did not end within {patience} seconds") from None
        finally:
            if started.poll() is None:
                _end(started)
    if started.returncode:
        raise UnusableError(
            said.strip()[:2000] or f"it ends with code {started.returncode} and says nothing"
        )
    return said


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a private folder that is removed in any case; raise UnusableError if none can be made."""
    try:
        made = tempfile.mkdtemp(prefix=".gradcli.")
    except OSError as error:
        raise UnusableError(f"no temporary folder can be made: {error.strerror or error}") from None
    # Done by hand: tempfile's own means would also remove the folder at the end of a process that
    # was forked meanwhile.
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _end(started: subprocess.Popen[str]) -> None:
    """End a compiler and all that it has started: they are a session of their own."""
    with suppress(OSError):
        os.killpg(started.pid, signal.SIGKILL)
    started.kill()


_NAMES = ("cc", "gcc", "clang")
_PATIENCE = 60  # seconds for an answer that takes no work
_COMPILING = 600
_FORMAT = "1"  # format of keys
# The smallest program to compile and run. Where a compiler does not preserve NaN, it cannot tell
# NaN from a number.
_PROBE = "#include <math.h>\nint gradcli_probe(double x) { return x != x && isnan(sqrt(x)); }\n"


class Compiler(NamedTuple):
    """A compiler that works, and what it is told."""

    command: tuple[str, ...]  # its path, and the arguments in CC
    kind: Kind
    version: str  # as the compiler reports it
    flags: tuple[str, ...]
    libraries: tuple[str, ...]


def find_compiler() -> Compiler | None:
    """Return the machine's compiler, or None where none works (`missing` says why)."""
    compiler = _find_here()
    return compiler if isinstance(compiler, Compiler) else None


def missing() -> NativeError:
    """Return what to say where native code is asked for and no compiler works."""
    why = _find_here()
    return NativeError(
        "there is no C compiler that works",
        help=_advice(),
        note=why if isinstance(why, str) else None,
    )


def library(source: str) -> ctypes.CDLL:
    """C as a loaded library, compiled if it is not kept from another time. Raises NativeError."""
    compiler = find_compiler()
    if compiler is None:
        raise missing()
    try:
        return _library(compiler, source)
    except UnusableError as error:
        raise NativeError(
            f"the compiler '{compiler.command[0]}' fails",
            help="NumPy computes the same",
            note=str(error),
        ) from None


# -- finding one -----------------------------------------------------------------------------------


def _find_here() -> Compiler | str:
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


@cache
def _find(said: str, path: str) -> Compiler | str:
    """Return the compiler that CC and PATH name, or the reason why there is none."""
    if os.name != "posix":
        return (
            "native code is compiled by gcc and clang on Linux, macOS and other systems of "
            "their kind; MSVC is not supported"
        )
    try:
        named = shlex.split(said)
    except ValueError as error:
        return f"CC={said}: {str(error).lower()}"
    problems = []
    for name, *arguments in [named] if named else [[name] for name in _NAMES]:
        try:
            return _try(name, arguments, path)
        except UnusableError as error:
            problems.append(f"{'CC=' if named else ''}{name}: {error}")
    return "; ".join(problems)


def _try(name: str, arguments: list[str], path: str) -> Compiler:
    """Return the compiler of that name; raise UnusableError if it does not work."""
    where = shutil.which(name, path=path)
    if where is None:
        raise UnusableError("not found")
    refused = sorted(FORBIDDEN.intersection(arguments))
    if refused:
        raise UnusableError(f"{refused[0]} changes what numbers are")
    if sys.platform == "darwin" and where.startswith(
        "/usr/bin/"
    ):  # without installed tools, the program there would open a window
        run_compiler(["/usr/bin/xcode-select", "-p"], patience=_PATIENCE)
    command = (os.path.abspath(where), *arguments)
    version = run_compiler([*command, "--version"], patience=_PATIENCE)
    kind = _kind(version)
    *better, last = flags(kind, arguments)
    for those in better:
        with suppress(UnusableError):  # the compiler may be too old for some of them
            return _prove(command, kind, version, those)
    return _prove(command, kind, version, last)


def _kind(version: str) -> Kind:
    """Return which compiler it is, by its own words.

    Others may have options of the same names and other meanings. Raises UnusableError.
    """
    if "clang version" in version:
        return "clang"
    if "Free Software Foundation" in version:
        return "gcc"
    raise UnusableError(
        f"neither gcc nor clang, but '{version.strip().partition(chr(10))[0][:80]}'"
    )


def _prove(command: tuple[str, ...], kind: Kind, version: str, those: tuple[str, ...]) -> Compiler:
    """Return a compiler with flags; raise UnusableError if it does not work with them."""
    compiler = Compiler(command, kind, version.partition("\n")[0].strip(), those, libraries())
    if _library(compiler, _PROBE).gradcli_probe(ctypes.c_double(float("nan"))) != 1:
        raise UnusableError("it takes NaN for a number")
    return compiler


def _advice() -> str:
    """Return what to install, in the words of the system."""
    if os.name != "posix":
        return "NumPy computes the same"
    words = "xcode-select --install" if sys.platform == "darwin" else "install gcc or clang"
    return f"{words}, or name a compiler in CC"


# -- compiling -------------------------------------------------------------------------------------

_loaded: dict[str, ctypes.CDLL] = {}
_failed: dict[str, str] = {}
_locks: dict[str, Lock] = {}  # locks of libraries that are being compiled
if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork, but the locks that they hold would.
    os.register_at_fork(after_in_child=_locks.clear)


def _library(compiler: Compiler, source: str) -> ctypes.CDLL:
    """Return the library of a source, loaded once in a process.

    Raises UnusableError, each time in the same words.
    """
    key = f"{compiler.kind}-{digest(repr((_FORMAT, _system(), compiler, source)).encode())}"
    if key not in _loaded:
        with _locks.setdefault(key, Lock()):  # another thread may be compiling it
            if key in _failed:
                raise UnusableError(_failed[key])
            if key not in _loaded:
                try:
                    _loaded[key] = _load_kept(key) or _compile(compiler, source, key)
                except UnusableError as error:
                    _failed[key] = str(error)
                    raise
    return _loaded[key]


@cache
def _system() -> tuple[str, ...]:
    """Return the properties of the system that a library needs to be loaded.

    The processor is not among them. Machines that differ may share a home folder.
    """
    return platform.system(), platform.machine(), *platform.libc_ver()


def _load_kept(key: str) -> ctypes.CDLL | None:
    path = NATIVE.path_of(key)
    if path is not None:
        with suppress(OSError):
            return ctypes.CDLL(os.path.abspath(path))
    return None


def _compile(compiler: Compiler, source: str, key: str) -> ctypes.CDLL:
    """Compile a source and load its library.

    It is loaded from the cache, where there is one, since a temporary folder may be mounted such
    that nothing runs from there.
    """
    with _folder() as place:
        made = place / "made.so"
        command = [
            *compiler.command,
            *compiler.flags,
            "-x",
            "c",
            "-",
            "-o",
            str(made),
            *compiler.libraries,
        ]
        run_compiler(command, source, patience=_COMPILING, files=place)
        try:
            content = made.read_bytes()
            kept = NATIVE.keep(key, content)
            with suppress(OSError):
                if kept is not None:
                    return ctypes.CDLL(os.path.abspath(kept))
            return ctypes.CDLL(str(made))  # a loaded file may be removed
        except OSError as error:
            raise UnusableError(f"what it made cannot be loaded: {error}") from None
