"""The machine's compiler and what it has compiled: found or missed in words, kept, and never loaded
from where others may have put it.
"""

from __future__ import annotations

import ctypes
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import NativeError
from gradcli.plans.native import compiler
from gradcli.storage import NATIVE

REAL = compiler.find_compiler()
needs_compiler = pytest.mark.skipif(REAL is None, reason="no compiler")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="native code is for POSIX systems")
TWICE = "int twice(int x) { return 2 * x; }\n"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has compiled nothing yet, with a cache and temporary files of its own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "_loaded", {})
    monkeypatch.setattr(compiler, "_failed", {})
    compiler._find.cache_clear()
    yield
    compiler._find.cache_clear()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "native"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


class Watched:
    """The real compiler, behind a script that writes down how it is called."""

    def __init__(self, folder: Path) -> None:
        assert REAL is not None
        self.log = folder / "calls"
        self.path = script(
            folder / "watched" / "cc",
            f'printf "%s\\n" "$*" >> {shlex.quote(str(self.log))}\nexec '
            f'{shlex.join(REAL.command)} "$@"',
        )

    @property
    def compiled(self) -> int:
        """How often something was compiled, beside what shows that it works."""
        return sum(" -o " in line for line in self.log.read_text().splitlines()) - 1


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    found = Watched(tmp_path)
    monkeypatch.setenv("CC", str(found.path))
    assert compiler.find_compiler() is not None
    return found


def twice_of_4(source: str = TWICE) -> int:
    found: int = compiler.library(source).twice(4)
    return found


def anew() -> None:
    """Forget what is loaded, as another process would know nothing of it."""
    compiler._loaded.clear()


# -- finding a compiler
# --------------------------------------------------------------------------------------------------

GNU = 'if [ "$1" = --version ]; then echo "gcc 1.2.3 Free Software Foundation"; exit; fi\n'
OUTPUT = 'while [ "$1" != -o ]; do [ $# = 0 ] && exit; shift; done\n'
BROKEN = {
    "fails": (
        "echo 'cc: fatal error: no licence'; exit 1",
        "cc: cc: fatal error: no licence; gcc: not found; clang: not found",
    ),
    "fails in silence": (
        "exit 3",
        "cc: it ends with code 3 and says nothing; gcc: not found; clang: not found",
    ),
    "another": (
        "echo 'tcc version 0.9'",
        "cc: neither gcc nor clang, but 'tcc version 0.9'; gcc: not found; clang: not found",
    ),
    "garbage": (
        "printf '\\377\\000\\n'",
        "cc: neither gcc nor clang, but '\ufffd\0'; gcc: not found; clang: not found",
    ),
    "hangs": (
        "exec /bin/sleep 100",
        "cc: it did not end within 1 seconds; gcc: not found; clang: not found",
    ),
    "makes nothing": (
        GNU,
        "cc: what it made cannot be loaded: [Errno 2] No such file or directory: ",
    ),
    "makes garbage": (f"{GNU}{OUTPUT}echo garbage > $2", "cc: what it made cannot be loaded: "),
    "knows no flag": (
        f"{GNU}echo error: unknown flag $1; exit 1",
        "cc: error: unknown flag -O3; gcc: not found; clang: not found",
    ),
    "no program": (
        None,
        "cc: it cannot be started: Exec format error; gcc: not found; clang: not found",
    ),
}


@pytest.mark.parametrize(("text", "why"), BROKEN.values(), ids=BROKEN)
def test_why_there_is_no_compiler(
    text: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script(tmp_path / "bin" / "cc", text or "")
    if text is None:
        path.write_bytes(b"\x7fELF")
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(compiler, "_PATIENCE", 1)
    assert compiler.find_compiler() is None
    error = compiler.missing()
    assert (error.message, error.code) == ("there is no C compiler that works", "native")
    assert (error.note or "").startswith(why)
    with pytest.raises(NativeError, match="there is no C compiler that works"):
        compiler.library(TWICE)
    assert list((tmp_path / "temporary").iterdir()) == []


NAMED = {
    "not there": ("/nonexistent", "CC=/nonexistent: not found"),
    "no words": ("gcc 'x", "CC=gcc 'x: no closing quotation"),
    "other numbers": ("cc -Ofast", "CC=cc: -Ofast changes what numbers are"),
    "not executable": ("./data", "CC=./data: not found"),
}


@needs_compiler
@pytest.mark.parametrize(("said", "why"), NAMED.values(), ids=NAMED)
def test_a_compiler_that_is_named_and_does_not_work_stands_for_none(
    said: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("")
    monkeypatch.setenv("CC", said)
    assert compiler.find_compiler() is None
    assert compiler.missing().note == why


@pytest.mark.parametrize(
    ("platform", "advice"),
    [("linux", "install gcc or clang"), ("darwin", "xcode-select --install")],
)
def test_what_to_install(
    platform: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert compiler.missing().help == f"{advice}, or name a compiler in CC"


@pytest.mark.skipif(not Path("/usr/bin/cc").exists(), reason="no compiler there")
def test_no_window_opens_on_a_mac_without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def told(command: list[str], **_: Any) -> str:
        asked.append(command)
        raise compiler.UnusableError(
            "xcode-select: error: unable to get active developer directory"
        )

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(compiler, "run_compiler", told)
    assert compiler.find_compiler() is None
    assert {tuple(command) for command in asked} == {("/usr/bin/xcode-select", "-p")}


@needs_compiler
def test_the_first_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "cc", "exit 1")
    assert REAL is not None
    gcc = script(
        tmp_path / "bin" / "gcc", f'PATH={os.environ["PATH"]} exec {shlex.join(REAL.command)} "$@"'
    )
    monkeypatch.setenv("PATH", str(gcc.parent))
    found = compiler.find_compiler()
    assert found is not None
    assert (found.command, found.kind, found.version) == ((str(gcc),), REAL.kind, REAL.version)
    assert twice_of_4() == 8


@needs_compiler
def test_arguments_of_the_compiler_are_words_and_no_shell_sees_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path / "a folder; touch x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", f"'{watched.path}' -DFACTOR='(1 + 1)' '-DUNUSED=$(touch y); touch z'")
    source = "int twice(int x) { return FACTOR * x; } /* $(touch w) `touch v` */\n"
    assert twice_of_4(source) == 8
    assert [path.name for path in tmp_path.iterdir() if len(path.name) == 1] == []
    assert watched.compiled == 1
    assert "twice" not in watched.log.read_text()


@needs_compiler
def test_old_compilers_get_the_flags_that_they_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert REAL is not None
    refuses = 'for word; do [ "$word" = -fno-plt ] && echo "error: unknown $word" && exit 1; done\n'
    monkeypatch.setenv(
        "CC", str(script(tmp_path / "old", f'{refuses}exec {shlex.join(REAL.command)} "$@"'))
    )
    found = compiler.find_compiler()
    assert found is not None
    assert set(REAL.flags) - set(found.flags) >= {"-fno-plt"}
    assert "-ffp-contract=off" in found.flags


@needs_compiler
def test_what_does_not_compile(watched: Watched) -> None:
    for _ in range(2):
        with pytest.raises(NativeError) as told:
            compiler.library("int twice(int x) { return y; }\n")
        assert told.value.message == f"the compiler '{watched.path}' fails"
        assert "error: " in (told.value.note or "")
        assert watched.compiled == 1
    assert twice_of_4() == 8


@needs_compiler
def test_where_a_compiler_works_and_then_fails_numpy_computes_unless_native_code_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert REAL is not None
    read = tmp_path / "read"
    fails = (
        f"cat > {read}; grep -q gradcli_probe {read} || {{ echo error: no space left; exit 1; }}"
    )
    text = (
        f'case " $* " in *" - "*) {fails};; *) : > {read};; esac\nexec '
        f'{shlex.join(REAL.command)} "$@" < {read}'
    )
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", text)))
    x = np.linspace(-1, 1, 1 << 18)
    by_numpy, by_any, native = (
        gradcli.value_and_grad("sum(exp(-x*x)*sin(x))", backend=name)
        for name in ("numpy", "auto", "native")
    )
    assert by_any(x=x)[1]["x"].tolist() == by_numpy(x=x)[1]["x"].tolist()
    assert "C cannot be compiled" in by_any.plan()
    with pytest.raises(NativeError) as told:
        native(x=x)
    assert told.value.note == "error: no space left"


# -- flags
# ---------------------------------------------------------------------------------------------------------------

LEVELS = {
    "AVX-512": (["X86_V3", "X86_V4"], 4),
    "AVX-512 by another name": (["AVX2", "FMA3", "AVX512F", "AVX512_SKX"], 4),
    "AVX2 by its names": (["AVX", "FMA3", "AVX2"], 3),
    "not all of it": (["AVX", "AVX2"], 2),
    "AVX-512 where AVX2 is switched off": (["X86_V4"], 2),
}


@pytest.mark.parametrize(("found", "level"), LEVELS.values(), ids=LEVELS)
def test_the_processor_is_what_numpy_uses(
    found: list[str], level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        np,
        "show_config",
        lambda mode: {"SIMD Extensions": {"baseline": ["SSE"], "found": found, "not found": ["X"]}},
    )
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert f"-march=x86-64-v{level}" in compiler.flags("gcc", ())[0]
    assert not any(
        flag.startswith("-march") for flag in compiler.flags("gcc", ("-march=native",))[0]
    )


MACROS = {
    "X86_V4": "__AVX512F__",
    "AVX512_SKX": "__AVX512F__",
    "X86_V3": "__AVX__",
    "AVX2": "__AVX2__",
    "FMA3": "__FMA__",
}
SHOW = """
import subprocess
from gradcli.plans.native.compiler import find_compiler
compiler = find_compiler()
subprocess.run([*compiler.command, *compiler.flags, "-dM", "-E", "-x", "c", "/dev/null"], check=True)
"""


@needs_compiler
@pytest.mark.parametrize("feature", MACROS)
def test_the_compiler_leaves_them_out(feature: str) -> None:
    if feature not in np.show_config(mode="dicts")["SIMD Extensions"].get("found", []):
        pytest.skip(f"NumPy has no {feature} here to leave out")
    macros = {}
    for switched_off in ("", feature):
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": switched_off}
        done = subprocess.run(
            [sys.executable, "-c", SHOW],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        macros[switched_off] = {line.split()[1] for line in done.stdout.splitlines() if line}
    assert MACROS[feature] in macros[""] - macros[feature]


# -- what is kept
# --------------------------------------------------------------------------------------------------------


@needs_compiler
def test_what_was_compiled_is_kept_for_oneself(watched: Watched, kept: Path) -> None:
    assert twice_of_4() == twice_of_4() == 8
    anew()
    assert twice_of_4() == 8
    assert watched.compiled == 1
    assert (
        kept.stat().st_mode & 0o777,
        {path.stat().st_mode & 0o777 for path in kept.iterdir()},
    ) == (0o700, {0o600})


@needs_compiler
def test_what_makes_a_difference_is_in_the_key(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compiler.find_compiler()
    assert found is not None
    others = [
        found._replace(**change) for change in ({"version": "13"}, {"flags": (*found.flags, "-DX")})
    ]
    for other in (found, *others):
        assert compiler._library(other, TWICE).twice(4) == 8
    assert compiler._library(found, TWICE + "\n").twice(4) == 8
    monkeypatch.setattr(compiler, "_system", lambda: ("Linux", "x86_64", "glibc", "2.99"))
    assert compiler._library(found, TWICE).twice(4) == 8
    assert watched.compiled == 5


def other_content(path: Path, content: bytes) -> None:
    """In a file of its own: the library that is there is still loaded here."""
    path.unlink()
    path.write_bytes(content)
    path.chmod(0o600)


def halved(path: Path) -> None:
    other_content(path, path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    other_content(path, content)


def elsewhere(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere.so")
    path.symlink_to(path.parent.parent / "elsewhere.so")


def given_away(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(path, 65534, 65534)


def replaced(path: Path) -> None:
    """The library of another source, whole and one's own."""
    other = next(other for other in path.parent.iterdir() if other != path)
    other_content(path, other.read_bytes())


DAMAGE: dict[str, Callable[[Path], object]] = {
    "halved": halved, "empty": lambda path: other_content(path, b""), "a bit": flipped, "a link": elsewhere, "another's": given_away,
    "another": replaced, "for the group to write": lambda path: path.chmod(0o620), "for all to "
    "write": lambda path: path.chmod(0o602),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)), "gone": lambda path: path.unlink(),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_files_that_are_not_what_was_written_are_not_loaded(
    damage: Callable[[Path], object], watched: Watched, kept: Path
) -> None:
    before = set(kept.iterdir())
    assert twice_of_4() == 8
    (path,) = set(kept.iterdir()) - before
    whole = path.read_bytes()
    damage(path)
    anew()
    assert twice_of_4() == 8
    assert watched.compiled == 2
    assert [other.read_bytes() for other in set(kept.iterdir()) - before] == [whole]
    anew()
    assert twice_of_4() == 8
    assert watched.compiled == 2


def linked(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


FOLDERS: dict[str, Callable[[Path], object]] = {
    "another's": given_away, "a link": linked, "for the group to write": lambda folder: folder.chmod(0o770),
    "for all to write": lambda folder: folder.chmod(0o707), "where all may rename it": lambda folder: folder.parent.chmod(0o777),
    "in another's": lambda folder: given_away(folder.parent),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("damage", FOLDERS.values(), ids=FOLDERS)
def test_folders_that_others_can_write_to_are_left_alone(
    damage: Callable[[Path], object],
    watched: Watched,
    kept: Path,
    call_cli: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert twice_of_4() == 8
    before = [(path.name, path.stat().st_mtime_ns) for path in kept.iterdir()]
    damage(kept)
    anew()
    loaded: list[Path] = []
    monkeypatch.setattr(
        ctypes, "CDLL", lambda path, whole=ctypes.CDLL: (loaded.append(Path(path)), whole(path))[1]
    )
    assert twice_of_4() == 8
    assert watched.compiled == 2
    assert loaded
    assert not any(path.is_relative_to(kept) or path.exists() for path in loaded)
    assert before == [(path.name, path.stat().st_mtime_ns) for path in kept.iterdir()]
    assert "not yours alone" in " ".join(call_cli("cache").stdout.split())


def of_compiled_code(shown: str, further: int = 0) -> str:
    """What ``gradcli cache`` says of compiled code: its line, or one further."""
    lines = shown.splitlines()
    return lines[
        next(i for i, line in enumerate(lines) if line.startswith("compiled code")) + further
    ]


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


@needs_compiler
@pytest.mark.parametrize("room", ["no folder", "no room", "no user"])
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(
    room: str, watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    if room == "no folder":
        monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "file" / "below"))
    elif room == "no room":
        monkeypatch.setattr(os, "replace", full)
    else:
        monkeypatch.setattr(NATIVE, "folder", lambda: None)
    assert twice_of_4() == 8
    anew()
    assert twice_of_4() == 8
    assert watched.compiled == 2
    assert list((tmp_path / "temporary").iterdir()) == []
    assert [path.name for path in tmp_path.rglob(".new.*")] == []


def test_what_was_not_used_for_the_longest_time_goes(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NATIVE, "room", 1000)
    keys = [f"gcc-{number:040x}" for number in range(13)]
    for number, key in enumerate(keys[:10]):
        path = NATIVE.keep(key, b"x" * 100)
        assert path is not None
        os.utime(path, (number, number))
    assert NATIVE.path_of(keys[0]) is not None  # and so it is the youngest
    (kept / "mine.txt").touch()
    NATIVE.keep(keys[10], b"x" * 100)
    assert [number for number, key in enumerate(keys) if NATIVE.path_of(key)] == [
        0,
        5,
        6,
        7,
        8,
        9,
        10,
    ]
    NATIVE.keep(keys[12], b"x" * 2000)  # larger than all that may stay
    assert [number for number, key in enumerate(keys) if NATIVE.path_of(key)] == [12]
    assert (kept / "mine.txt").exists()


# -- several at once
# -----------------------------------------------------------------------------------------------------

COMPILE = f"""
from gradcli.plans.native.compiler import library
print(library({TWICE!r}).twice(4), library("int thrice(int x) {{ return 3 * x; }}").thrice(4))
"""


@needs_compiler
def test_processes_that_compile_the_same_at_once(tmp_path: Path, kept: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILE], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    assert [process.communicate()[0] for process in started] == ["8 12\n"] * 4
    names = [path.name for path in kept.iterdir()]
    assert (
        len({name.split("-")[2] for name in names}) == 3
    )  # with what shows that the compiler works
    assert all(name.endswith(".so") for name in names)
    assert list((tmp_path / "temporary").iterdir()) == []


@needs_compiler
def test_threads_that_want_the_same_compile_it_once(watched: Watched) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: twice_of_4(), range(8))) == [8] * 8
    assert watched.compiled == 1


@needs_compiler
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_is_forked_while_something_is_compiled(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[int] = []

    def forks(*given: Any, whole: Any = compiler._compile) -> Any:
        if not children:
            child = os.fork()
            if not child:
                os._exit(compiler.library(TWICE).twice(4))
            children.append(child)
        return whole(*given)

    monkeypatch.setattr(compiler, "_compile", forks)
    assert twice_of_4() == 8
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 8


@needs_compiler
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, kept: Path) -> None:
    assert REAL is not None
    os.mkfifo(tmp_path / "alive")
    text = (
        f'case " $* " in *" -o "*) ;; *) exec {shlex.join(REAL.command)} "$@" ;; esac\n'
        f"cat > /dev/null\nexec 3> {tmp_path}/alive\ntouch $TMPDIR/part.s "
        f"{tmp_path}/begun\n/bin/sleep 100 &\nwait\n"
    )
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path / "temporary"),
        "CC": str(script(tmp_path / "slow", text)),
    }
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-c", COMPILE], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "begun").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate()[1]
    assert select.select([alive], [], [], 30)[0], "the compiler runs on"
    assert os.read(alive, 1) == b""
    os.close(alive)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert list(kept.iterdir() if kept.exists() else ()) == []


# -- the command line
# ----------------------------------------------------------------------------------------------------


@needs_compiler
def test_the_cache_is_shown_and_emptied(call_cli: Any, kept: Path) -> None:
    assert of_compiled_code(call_cli("cache").stdout) == "compiled code: 0 files, 0.0 kB"
    assert twice_of_4() == 8
    (kept / "mine-1-2.so").touch()
    found = compiler.find_compiler()
    assert found is not None
    size = sum(path.stat().st_size for path in kept.iterdir()) / 1024
    assert of_compiled_code(call_cli("cache").stdout) == f"compiled code: 2 files, {size:.1f} kB"
    assert of_compiled_code(call_cli("cache", "--clear").stdout).startswith(
        "compiled code: removed 2 files, "
    )
    assert of_compiled_code(call_cli("cache").stdout) == "compiled code: 0 files, 0.0 kB"
    assert [path.name for path in kept.iterdir()] == ["mine-1-2.so"]
    anew()
    assert twice_of_4() == 8


def test_the_compiler_is_among_what_runs_here(
    call_cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    assert (
        "compiler         none: CC=/nonexistent: not found" in call_cli("info").stdout.splitlines()
    )
