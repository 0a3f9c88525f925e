"""A function of the settings, decided about in this process: as a test."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from gradcli.errors import GradcliError
from gradcli.files.settings import FunctionSetting
from gradcli.functions.asking import (
    AskedFunction,
    definition_of,
    function_options,
    load_function,
    set_place,
    smallest_of,
)
from gradcli.functions.calls import call_guarded
from gradcli.functions.places import is_installed
from gradcli.functions.points import Arguments
from gradcli.query.bindings import Programs
from gradcli.query.cases import outcome_of
from gradcli.query.options import Options
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.storage.whole_files import path_text


@dataclass(frozen=True, eq=False)
class ListedCase:
    """A function and where the settings list it."""

    setting: FunctionSetting
    settings: Path
    line: int
    options: Options

    @property
    def file(self) -> str:
        return path_text(self.settings)

    @property
    def seed(self) -> int:
        """Seed of what is drawn at random."""
        return function_options(self.options, self.setting).state

    def outcome(self, name: str) -> Outcome:
        """Return what becomes of it; an interrupt goes through."""
        setting, options, folder = (
            self.setting,
            function_options(self.options, self.setting),
            self.settings.parent,
        )
        record = Record(
            setting.function, id=setting.name, file=self.file, line=self.line, record_line=True
        )
        arguments: Arguments = {}
        try:
            at = {name: text for name, _, text in (given.partition("=") for given in setting.at)}
            case = AskedFunction(setting, at, options, Programs(), folder, str)
            record.expr, record.given = case.title, case.given
            functions: list[Any] = [
                None if path is None else self._load(path, folder) for path in case.functions
            ]
            set_place(record, definition_of(functions[0]))
            smallest = case.decide(
                record,
                lambda question: call_guarded(lambda: question.check(*functions), interrupts=False),
            )
            arguments = smallest or case.question.arguments
        except GradcliError as error:
            record.error = Failure.of(error)
        outcome = outcome_of(record, name, fail_on=options.fail_on)
        if arguments and outcome.bad:
            outcome.details.append(f"at {' '.join(smallest_of(arguments))}")
        return outcome

    def _load(self, path: str, folder: Path) -> Any:
        """A function, whose modules may import others of the folder while they are imported."""
        sys.path.insert(0, str(folder))
        try:
            return load_function(path, folder, interrupts=False)
        finally:
            sys.path.remove(str(folder))


# -- Which files of a project a function is made of: its module, and the project's modules that it
# imports, read without running anything.


def sources_of(module: str, folder: Path) -> set[Path]:
    """The files of a module and of all that it imports of a project: below its folder, or where
    else Python finds what is not installed.

    Where a module might be, though it is not, counts as well: one that was removed is a change.
    Text is looked through for import statements wherever they stand; what a program imports by a
    name that it makes is not seen.
    """
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        parts = name.split(".")
        waiting += [".".join(parts[:count]) for count in range(1, len(parts))]  # packages run first
        origin = _origin(parts[0], folder)
        roots = {folder}
        if origin is not None and not is_installed(str(origin)):
            roots.add(
                origin.parent.parent if origin.name.startswith("__init__.") else origin.parent
            )
        elif origin is not None and parts[0] == module.partition(".")[0]:
            found.add(origin)  # of which nobody knows how it has changed
        for path in (root.joinpath(*parts) for root in roots):
            found |= {path.with_name(f"{path.name}.py"), path / "__init__.py"}
            for suffix in ("so", "pyd"):  # compiled ones
                found.update(path.parent.glob(f"{path.name}.*{suffix}"))
            waiting += [
                *_imported_modules(path.with_name(f"{path.name}.py"), name.rpartition(".")[0]),
                *_imported_modules(path / "__init__.py", name),
            ]
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


def _imported_modules(path: Path, package: str) -> Iterator[str]:
    """The modules that a file of a package names in its imports, by their full names."""
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # beyond the outermost package
                    base = resolve_name("." * node.level + (node.module or ""), package)
                    yield from (base, *(f"{base}.{alias.name}" for alias in node.names))
