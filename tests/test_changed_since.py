"""``--changed-since REF``: what is decided is what has changed by content, with all that it is made
of; the rest is counted.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SETTINGS = """
[tool.gradcli]
rtol = 1e-6

[[tool.gradcli.functions]]
function = "pkg.losses:loss"
gradient = "pkg.losses:slope"
at = { w = [1, 2], x = "@x.npy" }
wrt = "w"

[[tool.gradcli.functions]]
function = "pkg.other:cube"
gradient = "pkg.other:slope"
at = { w = [1, 2] }
"""
LOSSES = """
import numpy as np

def loss(w, x):
    from . import middle
    return middle.scaled(np.sum(w*x))

def slope(w, x): return 2*x
"""
OTHER = "import numpy as np\ndef cube(w): return np.sum(w**3)\ndef slope(w): return 3*w**2\n"


def git(folder: Path, *words: str) -> None:
    who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("git is not installed")
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    (tmp_path / "pkg").mkdir()
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    for name, text in {
        "pyproject.toml": SETTINGS, "pkg/__init__.py": "", "pkg/losses.py": LOSSES, "pkg/other.py": OTHER,
        "pkg/middle.py": "import pkg.deep\ndef scaled(y): return pkg.deep.FACTOR*y\n", "pkg/deep.py": "FACTOR = 2\n",
        "a.grad": "x = 2\nx**2 + sin(x)\n", "b.grad": "x = @x.npy\nsum(x**3)\n", "c.jsonl": '{"expr": "x**2", "at": {"x": "@x.npy"}}\n',
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text, "utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda project: (project / name).write_text(text, "utf-8") and None


def move(old: str, new: str) -> Callable[[Path], None]:
    return lambda project: git(project, "mv", old, new)


def committed(act: Callable[[Path], None]) -> Callable[[Path], None]:
    def done(project: Path) -> None:
        act(project)
        git(project, "add", "-A")
        git(project, "commit", "-qm", "two")
        git(project, "tag", "two")
        git(project, "checkout", "-q", "-b", "work")
        git(project, "branch", "-f", "main", "HEAD~1")

    return done


def both(*acts: Callable[[Path], None]) -> Callable[[Path], None]:
    def done(project: Path) -> None:
        for act in acts:
            act(project)

    return done


A, B, C, LOSS, CUBE = "a.grad:2:1", "b.grad:2:1", "c.jsonl:1", "pkg/losses.py:4", "pkg/other.py:2"
# what is done, and what is decided then
CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "nothing": (lambda project: [path.touch() for path in project.rglob("*.py")], []),
    "a program": (write("a.grad", "x = 2\nx**3\n"), [A]),
    "a program, committed": (committed(write("a.grad", "x = 2\nx**3\n")), [A]),
    "a program that is new": (write("d.grad", "x = 2\nx**4\n"), ["d.grad:2:1"]),
    "a program that was moved": (move("a.grad", "d.grad"), ["d.grad:2:1"]),
    "a program that was moved and changed": (both(move("a.grad", "d.grad"), write("d.grad", "x = "
    "2\nx**2 + sin(x) \n#\n")), ["d.grad:2:1"]),
    "data": (lambda project: np.save(project / "x.npy", np.array([1.0, 3.0])), [B, C, LOSS]),
    "the module of a function": (write("pkg/other.py", OTHER + "#\n"), [LOSS, CUBE]),
    "a helper, two imports away": (write("pkg/deep.py", "FACTOR = 2.0\n"), [LOSS, CUBE]),
    "a helper, committed": (committed(write("pkg/deep.py", "FACTOR = 2.0\n")), [LOSS, CUBE]),
    "a helper in the place of another": (
        both(lambda project: (project / "pkg/deep").mkdir(), write("pkg/deep/__init__.py", "FACTOR = 2.0\n")), [LOSS, CUBE]
    ),
    "a module in a folder that git ignores": (
        both(write(".gitignore", "*\n"), write("pkg/alone.py", "#\n")), [LOSS, CUBE]
    ),
    "a package that is installed in a folder of the project": (
        both(lambda project: (project / "site-packages").mkdir(), write("site-packages/a.py", "#\n")), []
    ),
    "a module that is new": (write("pkg/alone.py", "#\n"), [LOSS, CUBE]),
    "how all is judged": (write("pyproject.toml", SETTINGS.replace("1e-6", "1e-5")), [A, B, C, LOSS, CUBE]),
    "what the settings say of one function": (write("pyproject.toml", SETTINGS.replace("[1, 2] }", "[1, 3] }")), [A, B, C, LOSS, CUBE]),
    "what the settings say of others": (write("pyproject.toml", SETTINGS + "[tool.mine]\nx = 1\n"), [A, B, C, LOSS, CUBE]),
}  # fmt: skip


@pytest.mark.parametrize(("change", "decided"), CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_decided(
    call_cli: Callable[..., Any],
    project: Path,
    change: Callable[[Path], object],
    decided: list[str],
) -> None:
    change(project)
    files = sorted(path.name for path in project.iterdir() if path.suffix in (".grad", ".jsonl"))
    done = call_cli("check", "--functions", *files, "--changed-since", "main", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("passed")]
    assert [line.split()[1] for line in lines] == decided
    left = len(files) + 2 - len(decided)
    told = f"({left} unchanged since main)" if left else " s"
    assert done.stdout.splitlines()[-1].endswith(told)


def test_a_function_of_the_command_line_and_bound_data(
    call_cli: Callable[..., Any], project: Path
) -> None:
    words = [
        "check",
        "--function",
        "pkg.losses:loss",
        "--gradient",
        "pkg.losses:slope",
        "--at",
        "w=1,2",
        "--at",
        "x=@x.npy",
        "--wrt",
        "w",
    ]
    since = ["--changed-since", "main"]
    assert call_cli(*words, *since).stdout.endswith("(1 unchanged since main)\n")
    assert call_cli("check", "a.grad", "y=@x.npy", *since).stdout.endswith(
        "(1 unchanged since main)\n"
    )
    np.save(project / "x.npy", np.array([1.0, 5.0]))
    assert call_cli(*words, *since).stdout.startswith("1 passed")
    assert call_cli("check", "a.grad", "y=@x.npy", *since).stdout.startswith("1 passed")


def test_a_missing_file_is_no_unchanged_one(call_cli: Callable[..., Any], project: Path) -> None:
    (project / "a.grad").unlink()
    done = call_cli("check", "a.grad", "--changed-since", "main")
    assert (done.returncode, "there is no file 'a.grad'" in done.stdout) == (2, True)


def test_what_git_cannot_tell(
    call_cli: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(ref: str) -> str:
        done = call_cli("check", "a.grad", "--changed-since", ref)
        assert (done.returncode, done.stdout) == (2, "")
        return str(done.stderr)

    for ref in ("mian", "--all"):
        assert told(ref).startswith(f"error[usage]: --changed-since {ref}: git says: fatal: ")
        assert "git fetch --unshallow" in told(ref)
    monkeypatch.setenv("PATH", str(project / "nowhere"))
    assert told("main") == (
        "error[usage]: --changed-since main needs git, which is not found\n"
        " = help: install it, or leave --changed-since out: everything is checked\n"
    )


def test_outside_of_a_repository(run_cli: Callable[..., Any], project: Path) -> None:
    (project / ".git").rename(project / "git")
    done = run_cli("check", "a.grad", "--changed-since", "main", cwd=project)
    assert "--changed-since main: git says: fatal: not a git repository" in done.stderr


@pytest.mark.ci
def test_of_a_part_of_the_history_it_is_said_how_to_get_the_rest(
    run_cli: Callable[..., Any], project: Path
) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", "two")
    shallow = project / "shallow"
    git(project, "clone", "-q", "--depth", "1", project.as_uri(), str(shallow))
    done = run_cli("check", "a.grad", "--changed-since", "HEAD~1", cwd=shallow)
    assert "git fetch --unshallow" in done.stderr
    assert (
        "1 unchanged since HEAD"
        in run_cli("check", "a.grad", "--changed-since", "HEAD", cwd=shallow).stdout
    )
