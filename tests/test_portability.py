"""Other systems, as far as they can be emulated here: pipes, paths and drives of Windows, float
formats, folders without a home.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import ntpath
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import Check, Verdict, storage
from gradcli.check import verdict_cache
from gradcli.cli import process
from gradcli.cli.decide import cases, parallel
from gradcli.report.machine_reports import _artifact, _class
from gradcli.storage import Entries, folder

# -- processes, pipes, paths
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cores", "most"), [(1, 1), (8, 8), (1000, 61)])
def test_there_are_no_more_processes_than_cores(
    cores: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert cases.most_processes() == most


@pytest.mark.parametrize(
    ("jobs", "most", "processes"),
    [("1000000", 3, 3), ("50", 40, 5), ("1000000", 1, 0), ("2", 40, 2)],
)
def test_there_are_no_more_processes_than_tasks(
    call_cli: Any,
    tmp_path: Path,
    jobs: str,
    most: int,
    processes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    whole = parallel.Worker
    monkeypatch.setattr(parallel, "Worker", lambda *given: (asked.append(1), whole(*given))[1])
    monkeypatch.setattr(cases, "most_processes", lambda: most)
    names = [f"{i}.grad" for i in range(5)]
    for name in names:
        (tmp_path / name).write_text("x = 3\nx**2\n")
    done = call_cli("check", *names, "-j", jobs)
    assert (done.returncode, done.stdout.split(" in ")[0]) == (0, "5 passed")
    assert len(asked) == processes


@pytest.mark.parametrize(
    ("platform", "number", "code"),
    [("win32", errno.EINVAL, 0), ("linux", errno.EINVAL, 2), ("win32", errno.ENOSPC, 2)],
)
def test_a_closed_pipe_on_windows(
    platform: str, number: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise OSError(number, os.strerror(number))

    errors = io.StringIO()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", errors)
    assert process.run_guarded(lambda **_: 0) == code
    assert errors.getvalue() == (
        "" if code == 0 else f"error[output]: cannot write the output: {os.strerror(number)}\n"
    )

    def writes() -> int:
        raise OSError(number, os.strerror(number))

    assert process.run_guarded(lambda **_: writes) == code


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("//server/share/a b.grad", "file://server/share/a%20b.grad"),
        ("C:/a b/c.grad", "file:///C:/a%20b/c.grad"),
    ],
)
def test_addresses_of_files_on_windows(
    path: str, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "isabs", ntpath.isabs)
    assert _artifact(path) == {"uri": uri}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("C:/a/b.grad", "a.b.grad"),
        ("//server/share/a/b.grad", "a.b.grad"),
        ("a/b.grad", "a.b.grad"),
    ],
)
def test_classes_have_no_drive(path: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcli.report.machine_reports.relative", lambda suite: suite)
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    assert _class(path) == name


# -- numbers
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_what_is_too_large_for_single_precision_is_infinite_without_a_warning() -> None:
    with np.errstate(all="raise"):
        assert (
            gradcli.evaluate("x", x=1e300, dtype="float32", check=False, formula=False).value
            == np.inf
        )
        assert gradcli.value_and_grad("x", dtype="float32")(x=1e300)[0] == np.inf
        assert gradcli.value_and_grad("x", dtype="float32")(x=1.0, seed=1e300)[1]["x"] == np.inf


@pytest.mark.filterwarnings("error")
@pytest.mark.skipif(
    not np.isfinite(np.longdouble("1e4000")), reason="long doubles are no longer than doubles here"
)
def test_what_is_too_large_for_all_floats_is_refused_without_a_warning() -> None:
    value, refused = (
        np.longdouble("1e4000"),
        r"must be real numbers: 1e\+4000 is too large for a float",
    )
    with np.errstate(all="raise"):
        for call in (
            lambda: gradcli.evaluate("x", x=value),
            lambda: gradcli.value_and_grad("x")(x=value),
            lambda: gradcli.value_and_grad("x")(x=1.0, seed=value),
        ):
            with pytest.raises(gradcli.GradcliError, match=refused):
                call()


CLOCKS = re.compile(
    r"^\s*(?:import|from) time\b|\b(?:perf_counter|monotonic|process_time)\b|/sys/|/proc/",
    re.MULTILINE,
)


def test_who_looks_at_a_clock_or_at_the_machine() -> None:
    """What it took is reported and shown, and the user's own time limits are kept: nothing else may
    depend on it.
    """
    root = Path(gradcli.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if CLOCKS.search(path.read_text(encoding="utf-8"))
    }
    assert found <= {
        "reference/deadline.py", "cli/decide/cases.py", "cli/decide/functions.py", "cli/decide/checking.py",
        "cli/process.py", "cli/write/reports.py", "limits.py", "files/npy.py",
        "functions/places.py",  # which leaves the system's files alone
    }  # fmt: skip


# -- verdicts that are kept
# ------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def installed(place: Path, content: str = "x = 1\n") -> Path:
    (place / "part").mkdir(parents=True)
    (place / "part" / "module.py").write_text(content)
    (place / "other.py").write_text("")
    return place


def test_the_same_code_is_the_same_wherever_and_whenever_it_was_installed(tmp_path: Path) -> None:
    one, two, other = (
        installed(tmp_path / "one"),
        installed(tmp_path / "two"),
        installed(tmp_path / "other", "x = 2\n"),
    )
    os.utime(two / "other.py", (1, 1))
    assert (
        storage.code_digest(one)
        == storage.code_digest(one)
        == storage.code_digest(two)
        != storage.code_digest(other)
    )
    (one / "part" / "module.py").write_text("x = 2\n")
    assert storage.code_digest(one) == storage.code_digest(other)
    (one / "other.py").rename(one / "another.py")
    assert storage.code_digest(one) != storage.code_digest(other)


def test_the_key_has_the_format_of_long_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.finfo(np.longdouble).nmant
    storage.versions.cache_clear()
    assert f"long double of {bits} bits" in storage.versions()
    storage.versions.cache_clear()


def test_the_key_has_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for system in ("Linux", "Darwin"):
        monkeypatch.setattr(storage.platform, "system", lambda system=system: system)
        storage.versions.cache_clear()
        found.append(storage.versions())
    storage.versions.cache_clear()
    assert len(set(found)) == 2


@pytest.mark.ci
def test_a_folder_of_verdicts_that_is_restored_is_hit_by_another_installation(
    cache: Path, tmp_path: Path
) -> None:
    package = Path(verdict_cache.__file__).parents[1]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport gradcli, gradcli.check.verdict_cache "
        "as v\n"
        "assert gradcli.__file__.startswith(sys.argv[1])\nmet, recalled = [], v.recall\n"
        "v.recall = lambda key: met.append(recalled(key)) or met[-1]\n"
        "from gradcli.cli.process import run_guarded\nfrom gradcli.cli.main import app\n"
        "sys.argv = ['gradcli', 'check', '-e', 'x**2*sin(x)', 'x=3']\nassert run_guarded(app) == 0\n"
        "print([None if m is None else m.verdict.word for m in met])\n"
    )
    said = []
    for place in (tmp_path / "one", tmp_path / "two"):
        shutil.copytree(
            package,
            place / "gradcli",
            copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(place)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        said.append(done.stdout.splitlines()[-1:] or done.stderr)
    assert said == [["[None]"], ["['agree']"]]


def key(number: int) -> str:
    """Of entries that come into one folder."""
    return "ab" + hashlib.sha256(str(number).encode()).hexdigest()[2:]


@pytest.mark.usefixtures("cache")
def test_the_oldest_entries_are_removed() -> None:
    store = Entries("some", "some", room=10_000, largest=2_000)
    for number in range(10):
        store.keep(key(number), b"x" * 900)
        os.utime(store.path_of(key(number)) or "", (number, number))
    assert store.read(key(0)) is not None  # and so it is the youngest
    store.keep(key(10), b"x" * 900)
    left = [number for number in range(11) if store.read(key(number)) is not None]
    assert left[0] == 0
    assert left[1:] == [*range(12 - len(left), 11)]
    assert len(left) < 9


@pytest.mark.skipif(os.name != "posix", reason="HOME")
def test_where_entries_are_kept_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    for name in ("GRADCLI_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert folder() == Path.home() / ".cache" / "gradcli"
    monkeypatch.setenv("HOME", "")
    assert folder() is None
    monkeypatch.setattr(pwd, "getpwuid", lambda _: {}["nobody"])
    assert folder() is None
    monkeypatch.delenv("HOME")
    assert folder() is None
    assert verdict_cache.recall(key(0)) is None
    verdict_cache.remember(key(0), Check(Verdict.AGREE, {}, None, [], None, [], None))
    assert len(storage.code_digest(Path(verdict_cache.__file__).parent)) == 64


# -- a machine without FLINT
# -------------------------------------------------------------------------------------------

WITHOUT_FLINT = """
import json, sys
sys.modules["flint"] = None
import gradcli
for text, names in json.loads(sys.argv[1]):
    record = gradcli.evaluate(text, **names)
    print(json.dumps({name: [check.verdict.word, check.certified] for name, check in record.check.variables.items()}))
from gradcli.cli.process import run
sys.argv = ["gradcli", "eval", "exp(x)", "x=1", "--precision", "40", "--format", "jsonl", "--no-check"]
run()
"""


def test_without_flint_the_verdicts_are_the_same_and_nothing_is_certified() -> None:
    asked = [
        ("sin(x)**2*y", {"x": 0.5, "y": 2.0}),
        ("abs(x)", {"x": 0.0}),
        ("(1 - cos(x))/x**2", {"x": 1e-8}),
        ("log(x)", {"x": -1.0}),
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FLINT, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=True,
    )
    *verdicts, digits = done.stdout.splitlines()
    for line, (text, names) in zip(verdicts, asked, strict=True):
        with_flint = gradcli.evaluate(text, **names).check.variables
        assert json.loads(line) == {
            name: [check.verdict.word, None] for name, check in with_flint.items()
        }, text
    record = json.loads(digits)
    assert (record["precise"]["value"], record["precise_certified"]) == (
        "2.718281828459045235360287471352662497757",
        False,
    )
