"""Functions by the names that settings and command lines have for them: ``MODULE:NAME``, imported when they are asked for."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.errors import EvaluationError, UnknownNameError, UsageError, suggestion
from gradcli.functions.calls import guarded, told
from gradcli.functions.linear import is_operator
from gradcli.functions.parameters import is_module
from gradcli.functions.places import is_installed


class Definition(NamedTuple):
    """Where a function is defined; no file for one of C."""

    file: str | None = None
    line: int = 1


def refuse_unnamed(path: str) -> None:
    """Raise UsageError for what cannot name a function."""
    module, colon, name = path.partition(":")
    if name and module.endswith(".py"):
        dotted = ".".join(Path(module).with_suffix("").parts)
        raise UsageError(f"a function is named MODULE:NAME, not '{path}'", help=f"write {dotted}:{name}")
    if not colon or not name or not module:
        raise UsageError(f"a function is named MODULE:NAME, not '{path}'", help="gradcli check --function pkg.losses:loss ...")


def loaded(path: str, folder: Path, *, interrupts: bool = True) -> Callable[..., Any]:
    """What ``MODULE:NAME`` names; the modules of the folder have to be among those that Python finds. Raises GradcliError.

    interrupts  False where Ctrl-C is that of the person who waits, and goes through
    """
    module, _, name = path.partition(":")
    found = _imported(module, folder, interrupts)
    for part in name.split("."):
        try:
            inner = guarded(partial(getattr, found, part))
        except EvaluationError:
            close = suggestion(part, [known for known in dir(found) if callable(getattr(found, known, None))])
            help = None if close is None else f"did you mean '{close}'?"
            raise UnknownNameError(f"'{path}' names nothing: {_called(found)} has no '{part}'", help=help) from None
        found = inner
    if not callable(found) and not is_operator(found):
        raise UnknownNameError(f"'{path}' is no function but {_called(type(found))}")
    function: Callable[..., Any] = found
    return function


def _imported(module: str, folder: Path, interrupts: bool) -> Any:
    try:
        return importlib.import_module(module)
    except BaseException as error:  # a module may raise anything while it is imported
        if isinstance(error, KeyboardInterrupt) and not interrupts:
            raise
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            help = "modules are found from the current folder, or from that of the settings; PYTHONPATH adds others"
            raise UnknownNameError(f"there is no module '{missing}' in {folder}, and none is installed", help=help) from None
        raise EvaluationError(f"cannot import '{module}': {told(error, 'the module')}") from None


def _called(thing: Any) -> str:
    kind = "module" if inspect.ismodule(thing) else "class" if isinstance(thing, type) else type(thing).__name__
    return f"the {kind} '{getattr(thing, '__name__', '?')}'"


def definition_of(function: Any) -> Definition:
    """Where a function, or the class of one, is defined; an operator has only that of a library."""
    if is_operator(function):
        return Definition()
    with suppress(Exception):  # a function may be any object
        if is_module(function):
            forward = definition_of(type(function).forward)
            return forward if forward.file is not None and not is_installed(forward.file) else Definition()
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            return Definition(code.co_filename, code.co_firstlineno)
        if inspect.isclass(function):
            return Definition(inspect.getsourcefile(function), inspect.getsourcelines(function)[1] or 1)
        return definition_of(type(function).__call__) if hasattr(type(function).__call__, "__code__") else Definition()
    return Definition()
