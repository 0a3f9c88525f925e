"""Functions that a project lists in its settings: what misbehaves is its own error in every
report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gradcli.files.settings import checking_options, read
from gradcli.functions.asking import ListedCase

FUNCTIONS = """
import os, signal, subprocess, sys, time
import numpy as np

def right(x): return np.sum(x**2)
def double(x): return 2*x
def half(x): return x
def raises(x): raise ValueError("no such luck")
def exits(x): sys.exit(3)
def dies(x): os._exit(7)
def killed(x): os.kill(os.getpid(), signal.SIGKILL)
def recurses(x): return recurses(x)
def interrupts(x): raise KeyboardInterrupt
def nothing(x): return None
def complex_value(x): return 1j*np.sum(x)
def shape(x): return np.zeros(3)
def wanting(x, y): return np.sum(x*y)
def swapped(y, x): return np.sum(x*y)
def sleeps(x):
    time.sleep(600)
def talks(x):
    print("to standard output", flush=True)
    os.write(1, b"by the system\\n")
    subprocess.run(["echo", "by a child"])
    return np.sum(x**2)
def moves(x):
    os.chdir("/")
    return np.sum(x**2)
def writes(x):
    x *= 2
    return np.sum(x**2)/4
def closes(x):
    sys.stdout.close()
    return np.sum(x**2)
def listens(x): return float(input())*np.sum(x)
class Mute(Exception):
    def __str__(self): raise RuntimeError
def mute(x): raise Mute
def short(x): return x[:1]
def no_slope(x): return None
def bad_slope(x): return 1/0
"""
# what becomes of each, and what is said
MISBEHAVING: dict[str, tuple[str, str, dict[str, str]]] = {
    "right": ("passed", "", {}),
    "wrong": ("failed", "[0] computed 1.0, true 2.0", {"function": "right", "gradient": "half"}),
    "raises": ("error", "ValueError: no such luck (at mine.py:8, in raises)", {}),
    "exits": ("error", "the function ends the program: SystemExit: 3 (at mine.py:9, in exits)", {}),
    "dies": ("error", "the process in which it was called came to its end (exit code 7)", {}),
    "killed": ("error", "the process in which it was called came to its end (SIGKILL)", {}),
    "recurses": ("error", "the function calls itself without end: RecursionError: maximum "
    "recursion depth exceeded", {}),
    "interrupts": ("error", "KeyboardInterrupt (at mine.py:13, in interrupts)", {}),
    "nothing": ("error", "the function returns None", {}),
    "complex_value": ("error", "the function must return real numbers, not complex128", {}),
    "shape": ("error", "a Jacobian of shape (2,) does not begin with the result's shape (3,)", {}),
    "wanting": ("error", "the function cannot be called with x: missing a required argument: 'y'", {}),
    "swapped": ("error", "the argument 'y' stands where the function takes 'x'", {"at": "{z = [1, "
    "2], y = [3, 4]}"}),
    "sleeps": ("failed", "the time limit that was given (--timeout) was reached", {"timeout": "0.5"}),
    "talks": ("passed", "", {}),
    "moves": ("passed", "", {}),
    "writes": ("passed", "", {}),
    "closes": ("passed", "", {}),
    "listens": ("error", "EOFError: EOF when reading a line (at mine.py:35, in listens)", {}),
    "mute": ("error", "Mute: its message cannot be made (at mine.py:38, in mute)", {}),
    "short slope": ("error", "the gradient of 'x' has the shape (1,), its argument (2,)", {"function": "right", "gradient": "short"}),
    "no slope": ("error", "the gradient is None", {"function": "right", "gradient": "no_slope"}),
    "bad slope": ("error", "ZeroDivisionError: division by zero (at mine.py:41, in bad_slope)", {"function": "right", "gradient": "bad_slope"}),
    "no such gradient": ("error", "'mine:duble' names nothing: the module 'mine' has no 'duble'", {"function": "right", "gradient": "duble"}),
    "no module": ("error", "there is no module 'absent' in ", {"module": "absent"}),
    "lacks a module": ("error", "cannot import 'lacking': ModuleNotFoundError: No module named "
    "'not_there' (at lacking.py:2, in <module>)",
                       {"module": "lacking"}),
    "ends at import": ("error", "cannot import 'ending': the module ends the program: SystemExit: "
    "1 (at deeper.py:2, in stop)", {"module": "ending"}),
    "no Python": ("error", "cannot import 'unread': SyntaxError: '(' was never closed (at "
    "unread.py:2)", {"module": "unread"}),
    "bad argument": ("error", "'(' is never closed", {"function": "right", "at": '{x = "randn(2"}'}),
    "not of the project": ("error", "'@../x.npy' leads out of the folder", {"function": "right", "at": '{x = "@../x.npy"}'}),
    "strange name": ("error", "--wrt: --at has no 'z'", {"function": "right", "wrt": '"z"'}),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(FUNCTIONS, "utf-8")
    (tmp_path / "lacking.py").write_text("import os\nimport not_there\n", "utf-8")
    (tmp_path / "ending.py").write_text("import deeper\ndeeper.stop()\n", "utf-8")
    (tmp_path / "deeper.py").write_text("def stop():\n    raise SystemExit(1)\n", "utf-8")
    (tmp_path / "unread.py").write_text("x = 1\ndef f(x:\n    pass\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def entry(name: str, options: dict[str, str]) -> str:
    module = options.get("module", "mine")
    said = {
        "id": f'"{name}"', "function": f'"{module}:{options.get("function", name)}"', "gradient": f'"mine:{options.get("gradient", "double")}"',
        "at": options.get("at", "{x = [1, 2.0]}"), **{key: options[key] for key in ("wrt", "timeout") if key in options},
    }  # fmt: skip
    return "[[tool.gradcli.functions]]\n" + "".join(
        f"{key} = {value}\n" for key, value in said.items()
    )


def test_what_misbehaves_is_an_error_of_its_own_in_every_report(
    run_cli: Callable[..., Any], project: Path
) -> None:
    (project / "pyproject.toml").write_text(
        "\n".join(entry(name, options) for name, (_, _, options) in MISBEHAVING.items()), "utf-8"
    )
    reports = ["--report", "json=-", "--report", "text=told.txt", "--report", "junit=told.xml"]
    done = run_cli("check", "--functions", "-j", "2", *reports, cwd=project)
    assert done.returncode == 2, done.stderr
    records = {record["id"]: record for record in json.loads(done.stdout)}
    assert list(records) == list(MISBEHAVING), "in the order of the settings"
    cases = {
        case.get("name"): case for case in ElementTree.parse(project / "told.xml").iter("testcase")
    }
    text = (project / "told.txt").read_text("utf-8")
    for name, (status, words, _) in MISBEHAVING.items():
        record = records[name]
        told = (
            record["error"]["message"]
            if record["error"]
            else " ".join(record["outcome"]["details"])
        )
        assert (record["outcome"]["status"], words in told) == (status, True), f"{name}: {told}"
        body = [part for part in cases[name] if part.tag != "system-out"]
        assert [part.tag for part in body] == {
            "passed": [],
            "failed": ["failure"],
            "error": ["error"],
        }[status], name
        assert not words or (
            words in text and words in "".join(part.text or "" for part in body)
        ), name
        place = record["source"]["file"], record["source"]["line"]
        where = (
            "pyproject.toml"
            if record["expr"].startswith(("absent", "lacking", "ending", "unread"))
            else "mine.py"
        )
        assert place[0] == (
            where
            if words
            not in (
                "'(' is never closed",
                "'@../x.npy' leads out of the folder",
                "--wrt: --at has no 'z'",
            )
            else "pyproject.toml"
        ), name
        source = (project / place[0]).read_text("utf-8").split("\n")[place[1] - 1]
        begins = ("def ", "class ", "[[tool.gradcli.functions]]")
        assert source.startswith(begins), f"{name} is said to be at {source!r}"
    assert "standard output" in done.stderr, "what a function prints is a message"
    assert "by a child" in done.stderr


def test_a_whole_report(call_cli: Callable[..., Any], project: Path) -> None:
    (project / "pyproject.toml").write_text(
        entry("the slope", {"function": "right", "gradient": "half"}), "utf-8"
    )
    done = call_cli("check", "--functions")
    assert done.stdout.rpartition(" in ")[0] == (
        "mismatch: d/dx: [0] computed 1.0, true 2.0 (off by 1, relative 0.5, 2.25e+15 ulp), 2 of "
        "2 entries, it is half the derivative\n"
        "  --> mine.py:5 (the slope)\n"
        "1 | mine:right with the gradient mine:half\n"
        "  = repeat: gradcli check --function mine:right --gradient mine:half --at 'x=[1, 2.0]'\n"
        "\n"
        "1 failed"
    )


def test_what_was_drawn_is_said_with_its_seed(call_cli: Callable[..., Any], project: Path) -> None:
    asked = ["check", "--function", "mine:right", "--at", "x=randn(3)", "--random-state", "4"]
    done = call_cli(*asked, "--gradient", "mine:double", "--points", "2", "-v")
    assert done.stdout.splitlines()[0].endswith("agree, 2 points, --random-state 4")
    (record,) = json.loads(call_cli(*asked, "--gradient", "mine:half", "--format", "json").stdout)
    assert record["outcome"]["drawn"] == "--random-state 4"
    assert record["outcome"]["details"][-1] == "drawn: --random-state 4"
    assert "--random-state 4" in record["outcome"]["repeat"]


def test_where_there_is_no_value(call_cli: Callable[..., Any], project: Path) -> None:
    (project / "logs.py").write_text(
        "import numpy as np\ndef f(x): return np.sum(np.log(x))\ndef g(x): return 1/x\n", "utf-8"
    )
    done = call_cli("check", "--function", "logs:f", "--gradient", "logs:g", "--at", "x=-1,2")
    assert done.stdout.startswith(
        "undefined: d/dx: undefined, the function has no finite value there\n  --> logs.py:2 "
        "(logs:f)\n"
    )


def test_a_derivative_entry_by_entry_is_no_jacobian(
    call_cli: Callable[..., Any], project: Path
) -> None:
    (project / "logs.py").write_text(
        "import numpy as np\ndef f(x): return np.log(x)\ndef g(x): return 1/x\n", "utf-8"
    )
    done = call_cli("check", "--function", "logs:f", "--gradient", "logs:g", "--at", "x=1,2")
    assert done.stdout.startswith(
        "error[shape]: a gradient of shape (2,) is no Jacobian of a result of that shape\n"
    )


def test_functions_run_where_somebody_says_so(call_cli: Callable[..., Any], project: Path) -> None:
    """A file of settings may come from anybody: gradcli check alone reads it and runs nothing that
    it names.
    """
    (project / "pyproject.toml").write_text(
        '[tool.gradcli]\nfiles = ["a.grad"]\n' + entry("right", {}), "utf-8"
    )
    (project / "mine.py").write_text("open('ran', 'w').close()", "utf-8")
    (project / "a.grad").write_text("x = 2\nx**2\n", "utf-8")
    done = call_cli("check")
    assert (done.returncode, (project / "ran").exists()) == (0, False)
    assert (
        done.stderr
        == "note: 1 function of pyproject.toml left out: --functions checks them, too, and so "
        "runs them\n"
    )
    (project / "mine.py").write_text(FUNCTIONS, "utf-8")
    both = call_cli("check", "--functions", "-v")
    assert [line.split()[:2] for line in both.stdout.splitlines()[:2]] == [
        ["passed", "a.grad:2:1"],
        ["passed", "mine.py:5"],
    ]
    (project / "pyproject.toml").write_text(entry("right", {}), "utf-8")
    done = call_cli("check")
    assert done.stderr == (
        "error[usage]: nothing to check\n = help: the settings list functions: gradcli check "
        "--functions imports and runs them\n"
    )


def test_options_win_and_strangers_are_refused(call_cli: Callable[..., Any], project: Path) -> None:
    (project / "pyproject.toml").write_text(
        entry("off", {"function": "right", "gradient": "half"}) + "rtol = 1.0\n", "utf-8"
    )
    assert call_cli("check", "--functions", "-q").returncode == 0
    assert call_cli("check", "--functions", "-q", "--rtol", "1e-3").returncode == 1
    done = call_cli("check", "--functions", "--wrt", "x")
    assert "--functions and --wrt exclude each other" in done.stderr


# -- settings
# -----------------------------------------------------------------------------------------------------------------


def test_values_of_toml_are_texts_of_the_language(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    at = '{a = 1, b = 0.1, c = [[1, 2.5]], d = "randn(3)", e = "@x.npy", f = true}'
    path.write_text(
        f'[[tool.gradcli.functions]]\nfunction = "a:f"\nby = "torch"\nat = {at}\nwrt = ["b", '
        '"c"]\n',
        "utf-8",
    )
    (found,) = read(path).functions or ()
    assert found.at == ("a=1", "b=0.1", "c=[[1, 2.5]]", "d=randn(3)", "e=@x.npy", "f=True")
    assert (found.wrt, found.by, found.name) == ("b,c", "torch", "a:f")


# -- what is claimed
# -----------------------------------------------------------------------------------------------------------

SLOPES = """
import numpy as np
def f(x): return np.tanh(x)
def slope(x): return 1 - np.tanh(x)**2
def twice(x): return 2*(1 - np.tanh(x)**2)
def jvp(x, t): return slope(x)*t
def back(x, g): return slope(x)*g
def residual(y, x): return np.arctanh(y) - x
def other(y, x): return np.arctanh(y) - 2*x
def map(y, x): return y - residual(y, x)
"""
# claims about one function at the same arguments, the first of each pair of which is right
OTHERS = {
    "implicit": (
        ["--gradient", "mine:back", "--implicit", "mine:residual"],
        ["--gradient", "mine:back", "--implicit", "mine:other"],
    ),
    "fixed point": (
        ["--gradient", "mine:back", "--fixed-point", "mine:map"],
        ["--gradient", "mine:twice", "--fixed-point", "mine:map"],
    ),
    "jvp": (["--gradient", "mine:back"], ["--jvp-of", "mine:twice"]),
    "order": (["--jvp-of", "mine:jvp"], ["--adjoint", "mine:jvp"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_claimed_is_part_of_the_question(
    call_cli: Callable[..., Any], project: Path, name: str
) -> None:
    (project / "mine.py").write_text(SLOPES, "utf-8")

    def ask(further: list[str]) -> Any:
        (record,) = json.loads(
            call_cli(
                "check", "--function", "mine:f", "--at", "x=0.5,0.2", *further, "--format", "json"
            ).stdout
        )
        return record["check"] and record["check"]["verdict"]

    right, wrong = OTHERS[name]
    assert ask(right) == "agree"
    assert ask(wrong) != "agree"


LISTED = """
[[tool.gradcli.functions]]
id = "jvp"
function = "mine:f"
jvp-of = "mine:jvp"
at = {x = [0.5, 0.2]}
[[tool.gradcli.functions]]
id = "wrong"
function = "mine:f"
jvp-of = "mine:twice_jvp"
at = {x = [0.5, 0.2]}
[[tool.gradcli.functions]]
id = "adjoint"
function = "mine:doubled"
adjoint = "mine:doubled"
at = {x = [0.5, 0.2]}
[[tool.gradcli.functions]]
id = "solved"
function = "mine:f"
gradient = "mine:back"
implicit = "mine:residual"
at = {x = [0.5, 0.2]}
[[tool.gradcli.functions]]
id = "refused"
function = "mine:f"
jvp-of = "mine:jvp"
implicit = "mine:residual"
at = {x = [0.5, 0.2]}
"""


def test_more_than_gradients_is_listed(call_cli: Callable[..., Any], project: Path) -> None:
    """On the command line, and as tests of pytest's."""
    (project / "mine.py").write_text(
        f"{SLOPES}def twice_jvp(x, t): return 2*jvp(x, t)\ndef doubled(x): return 2*x\n", "utf-8"
    )
    (project / "pyproject.toml").write_text(LISTED, "utf-8")
    found = json.loads(call_cli("check", "--functions", "--format", "json", "--no-cache").stdout)
    assert {record["id"]: record["outcome"]["status"] for record in found} == {
        "jvp": "passed", "wrong": "failed", "adjoint": "passed", "solved": "passed", "refused": "error",
    }  # fmt: skip
    sys.modules.pop("mine", None)
    settings = read(project / "pyproject.toml")
    cases = [
        ListedCase(setting, project / "pyproject.toml", checking_options(settings))
        for setting in settings.functions or ()
    ]
    assert [case.outcome("it").status for case in cases] == [
        record["outcome"]["status"] for record in found
    ]
    sys.modules.pop("mine")  # which other tests import, too
