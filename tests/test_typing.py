"""What editors and type checkers know of the package: users' calls and the manual's examples, read
by mypy and by pyright.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gradcli

pytestmark = pytest.mark.ci

HERE = Path(__file__).parent
PACKAGE = Path(gradcli.__file__).parent
CHECKOUT = PACKAGE.parent == HERE.parent
CALLS = HERE / "typed" / "calls.py"
MANUAL = [HERE.parent / name for name in ("README.md", "docs/python.md")]
# whether SciPy has stubs or not
UNREAD = "ignore_missing_imports = True\nfollow_imports = skip\nfollow_imports_for_stubs = True\n"
LENIENT = (
    "disallow_untyped_defs",
    "disallow_incomplete_defs",
    "disallow_untyped_calls",
    "disallow_untyped_decorators",
)
Errors = dict[str, dict[int, str]]  # by file and line


def examples(page: Path) -> dict[str, str]:
    """The Python of a page's prompts, line by line below each other: a module for each section,
    with the imports of those before it.
    """
    found, imports = {}, ""
    for number, section in enumerate(re.split("^## ", page.read_text("utf-8"), flags=re.MULTILINE)):
        sources = [example.source for example in doctest.DocTestParser().get_examples(section)]
        found[f"manual_{page.stem.lower()}_{number}"] = imports + "".join(sources)
        imports += "".join(source for source in sources if source.startswith(("import ", "from ")))
    return found


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the stubs as a build writes them."""
    where = tmp_path_factory.mktemp("stubs")
    subprocess.run([sys.executable, str(HERE.parent / "stubs.py"), str(where)], check=True)
    return where


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*.pyi")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, stubs: Path) -> Path:
    """Return a folder of the package with its stubs, the calls, and the examples as modules of
    their own.
    """
    where = tmp_path_factory.mktemp("typed")
    shutil.copytree(
        PACKAGE, where / "gradcli", ignore=shutil.ignore_patterns("__pycache__", "*.pyi")
    )
    shutil.copytree(stubs, where / "gradcli", dirs_exist_ok=True)
    shutil.copy(CALLS, where)
    modules = {name: text for page in MANUAL for name, text in examples(page).items()}
    assert sum(bool(text) for text in modules.values()) >= 5
    for name, text in modules.items():
        (where / f"{name}.py").write_text(text, "utf-8")
    lenient = "".join(f"{option} = False\n" for option in LENIENT)
    read = (
        "[mypy]\nstrict = True\n[mypy-gradcli.*]\nfollow_imports = "
        f"silent\n[mypy-{','.join(modules)}]\n{lenient}"
    )
    settings = f"{read}[mypy-scipy.*]\n{UNREAD}"
    (where / "mypy.ini").write_text(settings, "utf-8")
    return where


def by_mypy(folder: Path) -> Errors:
    pytest.importorskip("mypy", reason="mypy is a tool of development: pip install 'gradcli[dev]'")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--cache-dir",
        str(folder / ".cache"),
        *(path.name for path in sorted(folder.glob("*.py"))),
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Errors = {}
    for file, line, said in re.findall(
        r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.MULTILINE
    ):
        found.setdefault(file, {})[int(line)] = said
    return found


def by_pyright(folder: Path) -> Errors:
    program = shutil.which(
        "pyright", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    if program is None:
        pytest.skip("pyright is not installed: pip install pyright")
    command = [
        program,
        "--outputjson",
        "--pythonpath",
        sys.executable,
        *map(str, sorted(folder.glob("*.py"))),
    ]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("pyright does not begin: it may want to download Node.js")
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr[-200:]}")
    found: Errors = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found.setdefault(Path(one["file"]).name, {})[one["range"]["start"]["line"] + 1] = one[
                "message"
            ]
    return found


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_calls_of_users(checker, folder: Path) -> None:
    """Right calls are right, wrong ones are errors on their lines, and the manual's examples are
    right.
    """
    found = checker(folder)
    wanted = {
        number
        for number, line in enumerate(CALLS.read_text("utf-8").split("\n"), 1)
        if line.endswith("  # error")
    }
    assert len(wanted) >= 30
    said = found.pop("calls.py", {})
    assert {number: said[number] for number in said if number not in wanted} == {}, (
        "right calls that are errors to the checker"
    )
    assert [number for number in sorted(wanted) if number not in said] == [], (
        "wrong calls that the checker takes"
    )
    assert found == {}, "examples of the manual that are errors"


@pytest.mark.skipif(CHECKOUT, reason="a checkout has the stubs of its last build, or none")
def test_the_installed_stubs_are_of_this_version(stubs: Path) -> None:
    assert texts(PACKAGE) == texts(stubs)


@pytest.mark.parametrize(
    ("module", "stub"),
    [
        ("gradcli", "__init__"), ("gradcli", "tensors/torch/names"), ("gradcli.api", "api"), ("gradcli.linalg", "linalg"),
        ("gradcli.special", "special"), ("gradcli.nn.functional", "nn/functional"),
    ],
)  # fmt: skip
def test_every_name_of_a_stub_is_there(module: str, stub: str, stubs: Path) -> None:
    found: ModuleType = importlib.import_module(module)
    names = declared(ast.parse((stubs / f"{stub}.pyi").read_text("utf-8")).body)
    assert len(names) >= 4
    assert [name for name in sorted(names) if not hasattr(found, name)] == []


def test_every_method_of_a_stub_is_there(stubs: Path) -> None:
    text = (stubs / "tensors/core/catalogue_methods.pyi").read_text("utf-8")
    (kind,) = (part for part in ast.parse(text).body if isinstance(part, ast.ClassDef))
    assert len(kind.body) > 600
    assert [name for name in sorted(declared(kind.body)) if not hasattr(gradcli.Tensor, name)] == []


def declared(body: list[ast.stmt]) -> set[str]:
    """Return the names that a stub declares, or imports for others."""
    found: set[str] = set()
    for part in body:
        if isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
        elif isinstance(part, ast.ImportFrom):
            found |= {name.name for name in part.names if name.name == name.asname}
    return found


def test_names_that_a_prompt_completes() -> None:
    names = dir(gradcli)
    wanted = (
        "evaluate bound plot export value_and_grad autograd torch Record ParseError __version__"
    )
    assert {*wanted.split()} <= {*names}
    assert not {"Any", "report", "query", "errors_of", "tensor", "exp"} & {*names}
    assert {"tensor", "Tensor", "exp", "autograd", "nn", "float32"} <= {*dir(gradcli.torch)}
    assert gradcli.torch.tensor is gradcli.tensor
    for name in dir(gradcli.torch):
        assert getattr(gradcli.torch, name) is getattr(gradcli, name)
    assert names == sorted(names)
    for name in names:
        getattr(gradcli, name)
    assert "softmax" in dir(gradcli.nn.functional)
    assert "det" in dir(gradcli.linalg)
    assert "backward" in dir(gradcli.Tensor)
