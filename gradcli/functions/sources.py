"""Which files of a project a function is made of: its module, and the project's modules that it imports, read without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from gradcli.functions.places import is_installed


def sources_of(module: str, folder: Path) -> set[Path]:
    """The files of a module and of all that it imports of a project: below its folder, or where else Python finds what is not installed.

    Where a module might be, though it is not, counts as well: one that was removed is a change. Text is looked through for import
    statements wherever they stand; what a program imports by a name that it makes is not seen.
    """
    top = _origin(module.partition(".")[0], folder)
    found = set() if top is None or not is_installed(str(top)) else {top}  # of which nobody knows how it has changed
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        parts = name.split(".")
        waiting += [".".join(parts[:count]) for count in range(1, len(parts))]  # packages run first
        for root in _roots(parts[0], folder):
            for path in (root.joinpath(*parts[:-1], f"{parts[-1]}.py"), root.joinpath(*parts, "__init__.py")):
                found.add(path)
                waiting += _imported(path, name, is_package=path.name == "__init__.py")
            found.update(_extensions(root.joinpath(*parts)))
    return found


@cache
def _origin(name: str, folder: Path) -> Path | None:
    """The file of an outermost module, or the folder of a package without one."""
    try:
        spec = PathFinder.find_spec(name, [str(folder)]) or find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin in ("built-in", "frozen"):
        return None
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return Path(places[0]) if places else None


@cache
def _roots(name: str, folder: Path) -> tuple[Path, ...]:
    """The folders in which an outermost module is, or might be."""
    origin = _origin(name, folder)
    if origin is None or is_installed(str(origin)):
        return (folder,)
    root = origin.parent.parent if origin.name.startswith("__init__.") else origin.parent
    return (folder,) if root == folder else (folder, root)


def _imported(path: Path, name: str, is_package: bool) -> list[str]:
    """The modules that a file names in its imports, by their full names."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_names(tree, name if is_package else name.rpartition(".")[0]))


def _names(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".") if package else []
            kept = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*kept, *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names if alias.name != "*")


def _extensions(stem: Path) -> Iterator[Path]:
    """Compiled modules of this name."""
    with suppress(OSError):
        yield from (path for suffix in ("so", "pyd") for path in stem.parent.glob(f"{stem.name}.*{suffix}"))
