"""Imports point downwards, and what is heavy is imported late and from one place."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import plain_environment

import gradcli

ROOT = Path(gradcli.__file__).parent
OUTSIDE = ("sympy", "scipy", "mpmath", "rich", "typer")
EVERYTHING_BUT_CLI = (
    "errors", "limits", "notation", "ops", "engine", "exact", "language", "tensors", "symbolic", "check", "files", "report",
    "evaluation", "unbound", "checking", "formulas", "documentation", "api", "compiled", "large",
    "nonfinite", "differentiated", "unused", "alike", "long_sums", "options", "derivatives", "settings", "bindings",
)  # fmt: skip

# What each room may import of gradcli: rooms, or single modules of them.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "limits": ("errors",),
    "notation": (),
    "ops": ("ops", "errors"),
    "engine": ("engine", "ops", "errors", "limits"),
    "exact": ("exact", "ops", "engine"),
    "language": ("language", "ops", "engine", "errors", "limits", "notation"),
    "tensors": ("tensors", "engine", "ops", "errors"),
    "symbolic": ("symbolic", "ops", "engine", "exact"),
    "check": ("check", "tensors", "engine", "symbolic", "language", "exact", "ops", "report.records", "report.verdicts", "errors"),
    "files": ("files", "language", "errors", "limits"),
    "report": ("report", "errors", "notation"),
    "cli": ("cli", *EVERYTHING_BUT_CLI),
    # PyTorch's namespaces
    "autograd": ("autograd", "tensors", "check.gradcheck"),
    "nn": ("nn", "tensors"),
    "linalg": ("tensors",),
    "special": ("tensors",),
    # the top, where rooms meet
    "documentation": EVERYTHING_BUT_CLI,
    "checking": EVERYTHING_BUT_CLI,
    "__init__": EVERYTHING_BUT_CLI,
    "api": EVERYTHING_BUT_CLI,
    "compiled": EVERYTHING_BUT_CLI,
    "alike": EVERYTHING_BUT_CLI,
    "bindings": ("ops", "errors", "limits"),
    "differentiated": EVERYTHING_BUT_CLI,
    "unused": EVERYTHING_BUT_CLI,
    "options": ("large",),
    "derivatives": ("options", "language", "engine", "ops", "report.records", "errors"),
    "long_sums": EVERYTHING_BUT_CLI,
    "large": ("language", "engine", "ops", "errors"),
    "nonfinite": ("language", "engine", "errors"),
    "evaluation": EVERYTHING_BUT_CLI,
    "formulas": EVERYTHING_BUT_CLI,
    "unbound": EVERYTHING_BUT_CLI,
    "settings": ("report.verdicts", "errors"),
    "pytest_plugin": EVERYTHING_BUT_CLI,
}
ONLY_IN = {"sympy": "symbolic", "typer": "cli", "rich": "cli"}
AT_MODULE_LEVEL = {("symbolic", "sympy"), ("cli", "typer"), ("cli", "rich")}


class Import(NamedTuple):
    line: int
    module: str  # dotted, e.g. gradcli.ops.spec
    late: bool  # inside a function, or for type checkers only


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports_of(text: str) -> Iterator[Import]:
    """Every import of a module, wherever it stands."""
    stack: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while stack:
        node, late = stack.pop()
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: a relative import"
            module = node.module or ""
            inner = [alias.name for alias in node.names] if module == "gradcli" else []
            yield from (Import(node.lineno, f"{module}.{name}", late) for name in inner)
            if not inner:
                yield Import(node.lineno, module, late)
        inside = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        inside = inside or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def upward(room: str, text: str) -> list[str]:
    """The imports of gradcli that a room may not have."""
    wrong = []
    for line, module, _ in imports_of(text):
        if module.split(".")[0] != "gradcli":
            continue
        target = module.removeprefix("gradcli").lstrip(".") or "__init__"
        if not any(target == allowed or target.startswith(allowed + ".") for allowed in MAY_IMPORT[room]):
            wrong.append(f"line {line}: {module}")
    return sorted(wrong)


def heavy(room: str, text: str) -> list[str]:
    """The imports of heavy packages from the wrong place, or too early."""
    wrong = []
    for line, module, late in imports_of(text):
        package = module.split(".")[0]
        if package in OUTSIDE and (ONLY_IN.get(package, room) != room or not (late or (room, package) in AT_MODULE_LEVEL)):
            wrong.append(f"line {line}: {module}")
    return sorted(wrong)


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in modules()} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    assert upward(room_of(path), path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_are_imported_late_and_from_one_place(path: Path) -> None:
    assert heavy(room_of(path), path.read_text("utf-8")) == []


FORBIDDEN = [
    ("errors", "import gradcli", 1, 0),
    ("errors", "from gradcli import limits", 1, 0),
    ("ops", "from gradcli.engine.graph import Expr", 1, 0),
    ("ops", "def f():\n    from gradcli.engine import graph", 1, 0),
    ("engine", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import gradcli.check.exact", 1, 0),
    ("check", "from gradcli.report.text import text_record", 1, 0),
    ("check", "from gradcli.report.records import Record", 0, 0),
    ("report", "from gradcli.language import latex, names", 1, 0),
    ("api", "from gradcli.cli.main import app", 1, 0),
    ("ops", "from gradcli.errors_of_mine import x", 1, 0),
    ("check", "def f():\n    import sympy", 0, 1),
    ("ops", "import scipy.special", 0, 1),
    ("ops", "try:\n    from scipy import special\nexcept ImportError:\n    pass", 0, 1),
    ("ops", "def f():\n    from scipy import special", 0, 0),
    ("check", "class A:\n    import mpmath", 0, 1),
    ("report", "def f():\n    from rich.text import Text", 0, 1),
    ("cli", "import typer\nimport rich.console", 0, 0),
    ("symbolic", "import sympy", 0, 0),
]


@pytest.mark.parametrize(("room", "text", "directions", "weights"), FORBIDDEN)
def test_the_reading_of_imports(room: str, text: str, directions: int, weights: int) -> None:
    assert (len(upward(room, text)), len(heavy(room, text))) == (directions, weights)


LOADED = [
    ("eval x**2+exp(x) x=2 --no-check --no-formula", ()),
    ("eval sum(tanh(x)@x) x=1,2 --no-check --no-formula --format json", ()),
    ("eval x**2 x=2 --no-check", ()),
    ("eval erf(x) x=2 --no-check --no-formula", ("scipy",)),
    ("eval x**2 x=2 --format json", ("mpmath", "sympy")),
]


@pytest.mark.parametrize(("arguments", "needed"), LOADED, ids=[a for a, _ in LOADED])
def test_the_command_line_loads_what_it_needs(arguments: str, needed: tuple[str, ...], tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from gradcli.cli.main import run\n"
        "try:\n"
        "    run()\n"
        "except SystemExit as end:\n"
        "    loaded = {m.split('.')[0] for m in sys.modules}\n"
        "    print(end.code, *sorted(loaded & {'sympy', 'scipy', 'mpmath', 'rich'}), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=plain_environment(), timeout=60, check=False)
    assert done.stdout.strip()
    assert done.stderr.splitlines()[-1].split() == ["0", *needed]


@pytest.mark.parametrize("statement", ["import gradcli", "import gradcli.evaluation", "import gradcli.cli.main, gradcli.cli.eval"])
def test_importing_loads_nothing_heavy(statement: str, tmp_path: Path) -> None:
    program = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=plain_environment(), timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert "gradcli" in loaded
    assert loaded.isdisjoint({"sympy", "scipy", "mpmath", "rich"})
