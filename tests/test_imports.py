"""Imports point downwards, and what is heavy is imported late and from one place."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import plain_environment
from recorded import LISTS

import gradcli
from gradcli import __main__
from gradcli.cli import process

ROOT = Path(gradcli.__file__).parent
OUTSIDE = (
    "sympy",
    "scipy",
    "mpmath",
    "rich",
    "typer",
    "msgspec",
    "matplotlib",
    "fast_sugiyama",
    "ml_dtypes",
)
BELOW_CLI = (
    "inert", "texts", "errors", "data", "limits", "options", "notation", "ops", "graph", "formulas", "plans", "language",
    "namespace", "reference", "check", "chunks", "plots", "query", "files", "report", "storage", "exports",
)  # fmt: skip

# What each room may import of gradcli: rooms, or single modules of them.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "texts": (),
    "inert": ("texts",),
    "errors": ("texts",),
    "limits": ("errors",),
    "data": ("inert", "texts", "errors"),
    "storage": ("errors",),
    "notation": ("inert", "texts"),
    "ops": ("ops", "errors", "texts"),
    "graph": ("graph", "ops", "errors", "limits"),
    "plans": ("plans", "graph", "ops", "errors", "storage"),
    "options": ("ops.calling.prefixes", "ops.facts", "texts", "errors", "limits"),
    "chunks": ("chunks", "plans", "graph", "ops", "limits"),
    "namespace": ("namespace", "ops", "errors"),
    "language": ("language", "namespace", "graph", "ops", "texts", "errors", "limits"),
    "formulas": ("formulas", "language.scope", "graph", "ops", "notation", "inert", "errors"),
    "tensors": ("tensors", "namespace", "graph", "ops", "errors", "texts"),
    "reference": ("reference", "plans.native", "language", "graph", "ops", "errors"),
    "check": (
        "check", "reference", "tensors", "formulas", "plans", "options", "language", "graph", "ops", "data", "texts", "errors", "storage",
    ),
    "exports": (
        "exports", "texts", "plans.folding", "plans.index_form", "formulas", "reference.symbolic",
        "graph", "ops", "errors",
        "notation", "inert",
    ),
    "report": ("report", "check.verdicts", "data", "storage", "texts", "errors", "notation", "inert"),
    "files": ("files", "storage", "check.verdicts", "options", "texts", "errors", "limits"),
    "plots": ("plots", "language", "graph", "ops", "errors"),
    "query": BELOW_CLI,
    "functions": ("functions", "tensors", *BELOW_CLI),
    "explanations": ("explanations", *BELOW_CLI),
    "cli": ("cli", "explanations", "functions", *BELOW_CLI),
    # the doors that people import, which have no logic
    "autograd": ("autograd", "tensors", "functions.gradchecks"),
    "func": ("func", "tensors"),
    "nn": ("nn", "tensors", "texts"),
    "linalg": ("tensors",),
    "scipy": ("tensors",),
    "special": ("tensors",),
    "torch": ("tensors.torch.namespace",),
    "api": ("query.interface", "explanations.explaining"),
    "testing": ("functions.testing", "tensors.torch.own_methods"),
    "__init__": ("api", "errors", "query.functions", "storage", "tensors.torch.namespace"),
    "__main__": ("cli.process",),
    "pytest_plugin": ("testing", "functions.asking", *BELOW_CLI),
}  # fmt: skip
ONLY_IN = {
    "sympy": "reference",
    "typer": "cli",
    "rich": "cli",
    "msgspec": "data",
    "fast_sugiyama": "report",
    "matplotlib": "report",
    "ml_dtypes": "tensors",
}
AT_MODULE_LEVEL = {("reference", "sympy"), ("cli", "typer"), ("cli", "rich")}


class Import(NamedTuple):
    line: int
    module: str  # dotted, e.g. gradcli.ops.spec
    late: bool  # inside a function, or for type checkers only


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of gradcli, rather than something in one."""
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@cache
def imports_of(text: str) -> tuple[Import, ...]:
    """Every import of a module, wherever it stands. Each file is read for several tests."""
    return tuple(_imports_of(ast.parse(text)))


def _imports_of(tree: ast.Module) -> Iterator[Import]:
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, late = stack.pop()
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: a relative import"
            module = node.module or ""
            names = {f"{module}.{alias.name}" for alias in node.names}
            inner = {name for name in names if module == "gradcli" or is_module(name)}
            yield from (Import(node.lineno, name, late) for name in sorted(inner))
            if len(inner) < len(names):
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
        if not any(
            target == allowed or target.startswith(allowed + ".") for allowed in MAY_IMPORT[room]
        ):
            wrong.append(f"line {line}: {module}")
    return sorted(wrong)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, each sorted (Tarjan's strongly connected
    components).
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in imports[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in imports:
        if module not in index:
            visit(module)
    return sorted(found)


def heavy(room: str, text: str) -> list[str]:
    """The imports of heavy packages from the wrong place, or too early."""
    wrong = []
    for line, module, late in imports_of(text):
        package = module.split(".")[0]
        if package in OUTSIDE and (
            ONLY_IN.get(package, room) != room or not (late or (room, package) in AT_MODULE_LEVEL)
        ):
            wrong.append(f"line {line}: {module}")
    return sorted(wrong)


# Rooms within a room, from the lowest up: each imports those before it.
STOREYS = {"tensors": ("core", "dispatch", "transforms", "torch")}


def above(room: str, path: Path) -> list[str]:
    """The imports of a file that are of rooms above its own within its room."""
    storeys = STOREYS[room]
    own = path.relative_to(ROOT / room).parts[0]
    higher = storeys[storeys.index(own) + 1 :]
    names = [f"gradcli.{room}.{storey}" for storey in higher]
    return [
        f"line {line}: {module}"
        for line, module, _ in imports_of(path.read_text("utf-8"))
        if module.startswith(tuple(names))
    ]


@pytest.mark.ci
@pytest.mark.parametrize(
    "path",
    [p for room in STOREYS for p in sorted((ROOT / room).glob("*/*.py"))],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_imports_point_downwards_inside_of_a_room(path: Path) -> None:
    assert above(path.relative_to(ROOT).parts[0], path) == []


@pytest.mark.ci
def test_a_room_imports_those_before_it() -> None:
    """Of a later one, single modules that are named."""
    rooms = list(MAY_IMPORT)
    for place, room in enumerate(rooms):
        later = {*MAY_IMPORT[room]} & {*rooms[place + 1 :]}
        assert not later, f"{room} may import {', '.join(later)}, which come after it"


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in modules()} == set(MAY_IMPORT)


@pytest.mark.ci
@pytest.mark.parametrize("faults", [upward, heavy])
def test_imports_point_downwards_and_heavy_packages_are_imported_late(
    faults: Callable[[str, str], list[str]],
) -> None:
    found = {
        str(path.relative_to(ROOT)): faults(room_of(path), path.read_text("utf-8"))
        for path in modules()
    }
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.ci
def test_no_imports_go_in_a_circle() -> None:
    """Inside of rooms neither, late ones and those for type checkers included; a package has what
    its modules have.
    """
    names = {name_of(path): path for path in modules()}
    imports = {}
    for name, path in names.items():
        targets = {
            module for _, module, _ in imports_of(path.read_text("utf-8")) if module in names
        }
        imports[name] = {
            t
            for t in targets
            if t != name and not t.startswith(f"{name}.") and not name.startswith(f"{t}.")
        }
    assert circles(imports) == []


def test_the_finding_of_circles() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"d"}}) == [
        ["a", "b", "c"]
    ]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


FORBIDDEN = LISTS["imports"]


@pytest.mark.parametrize(("room", "text", "directions", "weights"), FORBIDDEN)
def test_the_reading_of_imports(room: str, text: str, directions: int, weights: int) -> None:
    assert (len(upward(room, text)), len(heavy(room, text))) == (directions, weights)


OURS = "{m.split('.')[0] for m in sys.modules} | {'gradcli.tensors'} & {*sys.modules}"
HEAVY = {"gradcli.tensors", "sympy", "scipy", "mpmath", "rich"}


def loaded_by(program: str, folder: Path, *words: str) -> tuple[str, set[str]]:
    """What a program prints, and the heavy packages that are loaded when it ends."""
    text = (
        f"import atexit, sys\natexit.register(lambda: print(*{OURS}, file=sys.stderr))\n{program}"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=plain_environment(),
        timeout=60,
        check=True,
    )
    return done.stdout, HEAVY & {*done.stderr.splitlines()[-1].split()}


LOADED = [
    ("eval x**2+exp(x) x=2 --no-check --no-formula", set()),
    ("eval sum(tanh(x)@x) x=1,2 --no-check --no-formula --format json", set()),
    ("eval x**2 x=2 --no-check", set()),
    ("eval erf(x) x=2 --no-check --no-formula", {"scipy"}),
    ("eval x**2 x=2 --format json", {"mpmath", "sympy"}),
]


@pytest.mark.parametrize(("arguments", "needed"), LOADED, ids=[a for a, _ in LOADED])
def test_the_command_line_loads_what_it_needs(
    arguments: str, needed: set[str], tmp_path: Path
) -> None:
    run = "from gradcli.cli.process import run\nrun()"
    printed, loaded = loaded_by(run, tmp_path, *arguments.split())
    assert printed.strip()
    assert loaded == needed


@pytest.mark.parametrize(("given", "wanted"), [(None, "4"), ("20", "20")])
def test_threads_of_a_library_sleep_while_they_wait(
    given: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the user says how long they are to spin."""
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT")
    monkeypatch.setattr(process, "take_over", sys.exit)
    with pytest.raises(SystemExit):
        __main__.run()
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == wanted


LIGHT = [
    "import gradcli, gradcli.language.syntax, gradcli.query.programs",
    "import gradcli.cli.main, gradcli.cli.decide.running",
]


@pytest.mark.parametrize("statement", LIGHT)
def test_importing_loads_nothing_heavy(statement: str, tmp_path: Path) -> None:
    assert loaded_by(statement, tmp_path)[1] == set()
