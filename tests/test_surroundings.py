"""Whatever the process has set:

NumPy's error state, warnings as errors, locales, ways to start processes. Results are the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from multiprocessing import get_all_start_methods
from pathlib import Path

import numpy as np
import pytest
from conftest import COMMAND
from recorded import DATA

pytestmark = pytest.mark.ci

RESULTS = """
import json, sys
import numpy as np
import gradcli
SETTINGS
before = np.geterr()

def shown(x):
    return np.asarray(x, float).tobytes().hex()

def array(x):
    return np.arange(x["from"], x["to"])/x["over"] if isinstance(x, dict) else np.array(x)

found = []
for text, names in map(dict.values, map(json.loads, sys.argv[1].splitlines())):
    given = {name: array(value) for name, value in names.items()}
    record = gradcli.evaluate(text, **given, seed=None)
    found.append([shown(record.value), {k: shown(v) for k, v in record.grad.items()}, record.check.verdict.word, record.derivative])
    value, gradients = gradcli.value_and_grad(text)(**given)
    found.append([shown(value), {k: shown(v) for k, v in gradients.items()}])
    single, _ = gradcli.value_and_grad(text, dtype="float32")(**given)
    found.append(shown(single))
x = gradcli.tensor([0.0, 1e300, -1e-300, 5.0], requires_grad=True)
for function in (lambda x: (x * x).sum(), lambda x: gradcli.log(x).sum(), lambda x: gradcli.exp(x).sum(), lambda x: (x / x).sum(),
                 lambda x: gradcli.sqrt(x).sum(), lambda x: gradcli.softmax(x, 0).sum(), lambda x: x.float().sum()):
    x.grad = None
    result = function(x)
    result.backward()
    found.append([shown(result.item()), shown(x.grad.numpy())])
assert np.geterr() == before, "the user's error state has changed"
print(json.dumps(found))
"""
ASKED = (DATA / "surroundings.jsonl").read_text("utf-8")
SETTINGS = {
    "raise": ([], 'np.seterr(all="raise")'),
    "warn, and warnings are errors": (["-W", "error"], 'np.seterr(all="warn")'),
    "development": (["-X", "dev", "-W", "error"], ""),
    "call": ([], 'np.seterr(all="call"); np.seterrcall(lambda *_: sys.exit("called"))'),
}


@cache
def results(setting: str | None) -> str:
    options, line = SETTINGS[setting] if setting else ([], "")
    program = RESULTS.replace("SETTINGS", line)
    done = subprocess.run(
        [sys.executable, *options, "-c", program, ASKED],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{setting}:\n{done.stderr[-3000:]}"
    return done.stdout


def environment(**names: str) -> dict[str, str]:
    return {
        k: v
        for k, v in os.environ.items()
        if k not in ("LC_ALL", "LANG", "PYTHONUTF8", "PYTHONWARNINGS")
    } | names


@pytest.mark.parametrize("setting", SETTINGS)
def test_results_do_not_depend_on_the_error_state_nor_on_warnings(setting: str) -> None:
    assert results(setting) == results(None)


LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "tr_TR.UTF-8"},
    {"LC_ALL": "de_DE.UTF-8"},
]
PROGRAM = (
    "# größer als ½\nα = 2.5\nİ = 1e3\nı = 3\nassert α*İ == 2500\nf(x) = x**2*ı\nf(α)\n'schön'\n"
)


def checked(names: dict[str, str], folder: Path, *arguments: str) -> tuple[int, bytes]:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(**names, NO_COLOR="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


READ = (["eval", "-f", "p.grad"], ["eval", "-f", "d.grad"], ["check", "."])


@pytest.fixture(scope="module")
def in_utf8(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, bytes]]]:
    """A folder of files, and what commands say of them where the locale is of UTF-8."""
    folder = tmp_path_factory.mktemp("read")
    (folder / "p.grad").write_text(PROGRAM, encoding="utf-8")
    (folder / "t.csv").write_text("größe,b\n1.5,2\n2.5,3\n", encoding="utf-8")
    (folder / "d.grad").write_text("x = @t.csv:größe\nsum(x**2)\n", encoding="utf-8")
    return folder, [
        checked({"LC_ALL": "C.UTF-8"}, folder, *arguments, "--format", "jsonl")
        for arguments in READ
    ]


@pytest.mark.parametrize("names", LOCALES, ids=lambda names: names["LC_ALL"])
def test_files_are_read_alike_in_every_locale(
    names: dict[str, str], in_utf8: tuple[Path, list[tuple[int, bytes]]]
) -> None:
    """Numbers have points, files are UTF-8, letters fold as Unicode says."""
    folder, wanted = in_utf8
    for arguments, (code, output) in zip(READ, wanted, strict=True):
        other, found = checked(names, folder, *arguments, "--format", "jsonl")
        assert (other, json_lines(found)) == (code, json_lines(output))


def json_lines(output: bytes) -> list[object]:
    return [json.loads(line) for line in output.decode("utf-8").splitlines()]


STARTED = """
import json, multiprocessing, pickle, sys
import numpy as np
import gradcli

def work(f):
    value, gradients = f(x=[1.0, 2.0])
    return float(value), np.asarray(gradients["x"]).tolist()

if __name__ == "__main__":
    f = gradcli.value_and_grad("sum(exp(x)*x)")
    called = gradcli.value_and_grad("sum(exp(x)*x)")
    called(x=[1.0, 2.0])
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(json.dumps([work(f), pool.map(work, [f, called, pickle.loads(pickle.dumps(called))])]))
"""
METHODS = [
    pytest.param(
        m, marks=pytest.mark.skipif(m not in get_all_start_methods(), reason=f"no {m} here")
    )
    for m in ("spawn", "forkserver")
]


@pytest.mark.parametrize("method", METHODS)
def test_compiled_functions_go_to_other_processes(method: str, tmp_path: Path) -> None:
    """Whether they were called or not."""
    (tmp_path / "work.py").write_text(STARTED)
    done = subprocess.run(
        [sys.executable, "work.py", method],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    here, there = json.loads(done.stdout)
    assert there == [here] * 3


AS_ELSEWHERE = """
import multiprocessing, sys
from gradcli.__main__ import run
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv.pop(1))
    run()
"""


@pytest.mark.parametrize("method", METHODS)
def test_checks_in_several_processes_however_they_start(method: str, tmp_path: Path) -> None:
    """As on Windows and macOS, and from Python 3.14 on."""
    (tmp_path / "gradcli_as_elsewhere.py").write_text(AS_ELSEWHERE)
    for i in range(4):
        (tmp_path / f"{i}.grad").write_text(f"x = {i}.\nx**2\nassert x == {i if i != 2 else 9}\n")
    (tmp_path / "mine.py").write_text(
        "def loss(x):\n    return (x**2).sum()\n\n\ndef slope(x):\n    return 2*x\n"
    )
    runs: list[tuple[list[str], int, str]] = [
        (["check", ".", "-j", "2"], 1, "1 failed, 7 passed"),
        (
            [
                "check",
                "--function",
                "mine:loss",
                "--gradient",
                "mine:slope",
                "--at",
                "x=1,2",
                "--no-cache",
            ],
            0,
            "1 passed",
        ),
    ]
    for arguments, code, counts in runs:
        done = subprocess.run(
            [sys.executable, "gradcli_as_elsewhere.py", method, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=environment(PYTHONPATH="."),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (code, ""), done.stderr
        assert done.stdout.splitlines()[-1].startswith(counts)


WINDOWS = """
import builtins, multiprocessing, os, signal, sys
multiprocessing.set_start_method("spawn")
for name in ("SIGPIPE", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGALRM", "SIGUSR1",
             "setitimer", "alarm", "pthread_sigmask", "sigwait", "pthread_kill"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "posix_fallocate", "killpg", "sysconf", "mkfifo",
             "getpgid", "setsid", "statvfs",
             "wait4", "waitid", "pread"):
    if hasattr(os, name):
        delattr(os, name)
absent = {"fcntl", "resource", "termios", "tty", "pwd", "grp", "readline", "curses"}
found = builtins.__import__
def imported(name, globals=None, *rest):
    if name in absent and (globals or {}).get("__name__", "").startswith("gradcli"):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return found(name, globals, *rest)
builtins.__import__ = imported
from gradcli.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("eval x**2 x=3 --format jsonl --no-check", ""), ("eval sum(sin(x)) x=@x.npy --format jsonl", ""),
        ("eval x**2 x=@x.npy --seed 1,1 --save x=x.npy", ""), ("check a.grad", "2 passed"),
        ("check a.grad -j 2 --report junit=out.xml", "2 passed"), ("diff x**3 x", ""), ("explain x*y x=1 y=2", ""), ("info", ""),
        ("cache", ""), ("bound x**2 x=0..1", ""), ("help unknown-name", ""), ("functions sine", ""),
    ],
)  # fmt: skip
def test_commands_need_nothing_that_only_posix_has(words: str, last: str, tmp_path: Path) -> None:
    """Neither its signals and modules, nor a fork."""
    (tmp_path / "a.grad").write_text("x = 3.\nx**2\nassert x == 3\n")
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(GRADCLI_CACHE_DIR=str(tmp_path / "cache")),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith(last)


REPLACED = """
import os, sys, types
def refused(source, target, **_):
    raise PermissionError(13, "The process cannot access the file because it is being used by another process", source, 32, target)
os.replace = refused
from gradcli import storage
storage.sys = types.SimpleNamespace(platform="win32")
from gradcli.__main__ import run
run()
"""


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    """As on Windows, where one that is mapped or open is held: nothing is lost, and nothing is left
    beside it.
    """
    path = tmp_path / "x.npy"
    np.save(path, np.array([1.0, 2.0]))
    before = path.read_bytes()
    arguments = ["eval", "sum(x**2)", "x=@x.npy", "--save", "x=x.npy", "--no-check"]
    done = subprocess.run(
        [sys.executable, "-c", REPLACED, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2, "error[output]: cannot write 'x.npy': The process cannot access the file because it is "
        "being used by another process\n",
    )  # fmt: skip
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]
