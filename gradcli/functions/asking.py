"""Questions about a function, from the words of a command line or of settings.

They say its arguments, which of them it is differentiated by, and how it is judged. A function of
the settings is a case of its own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.verdicts import Check, Verdict
from gradcli.errors import (
    EvaluationError,
    GradcliError,
    UnknownNameError,
    UsageError,
    did_you_mean,
    one_of,
)
from gradcli.files.settings import FunctionSetting
from gradcli.functions.arguments import PRECISIONS, in_format, is_module
from gradcli.functions.calls import call_guarded, words_of_error
from gradcli.functions.checking import Question, names_to_differentiate
from gradcli.functions.differences import JVP
from gradcli.functions.frameworks import FORWARD, FRAMEWORKS
from gradcli.functions.implicit import ADJOINT, FIXED_POINT, RESIDUAL
from gradcli.functions.places import is_installed
from gradcli.functions.points import Arguments, gravest, text_of
from gradcli.options import Options, names_of
from gradcli.query.cases import outcome_of
from gradcli.query.programs import Programs
from gradcli.report.outcomes import Outcome, given_of
from gradcli.report.records import Record
from gradcli.storage import path_text

# -- Functions by the names that settings and command lines have for them: ``MODULE:NAME``,
# imported when they are asked for.


def refuse_unnamed(path: str) -> None:
    """Raise UsageError for what cannot name a function."""
    module, _, name = path.partition(":")
    help = "gradcli check --function pkg.losses:loss ..."
    if name and module.endswith(".py"):
        help = f"write {'.'.join(Path(module).with_suffix('').parts)}:{name}"
    elif name and module:
        return
    raise UsageError(f"a function is named MODULE:NAME, not '{path}'", help=help)


def load_function(path: str, folder: Path, *, interrupts: bool = True) -> Callable[..., Any]:
    """Return the object that ``MODULE:NAME`` names.

    The modules of the folder must be among those that Python finds. Raises GradcliError.

    interrupts  False where Ctrl-C is that of the person who waits, and goes through
    """
    module, _, name = path.partition(":")
    found = _import(module, folder, interrupts)
    for part in name.split("."):
        try:
            inner = call_guarded(partial(getattr, found, part))
        except EvaluationError:
            known = [known for known in dir(found) if callable(getattr(found, known, None))]
            raise UnknownNameError(
                f"'{path}' names nothing: {_name_of(found)} has no '{part}'",
                help=did_you_mean(part, known),
            ) from None
        found = inner
    if not callable(found):
        raise UnknownNameError(f"'{path}' is no function but {_name_of(type(found))}")
    function: Callable[..., Any] = found
    return function


def _import(module: str, folder: Path, interrupts: bool) -> Any:
    try:
        return importlib.import_module(module)
    except BaseException as error:  # a module may raise anything while it is imported
        if isinstance(error, KeyboardInterrupt) and not interrupts:
            raise
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            raise UnknownNameError(
                f"there is no module '{missing}' in {folder}, and none is installed",
                help="modules are found from the current folder, or from that of the settings; "
                "PYTHONPATH adds others",
            ) from None
        raise EvaluationError(
            f"cannot import '{module}': {words_of_error(error, 'the module')}"
        ) from None


def _name_of(thing: Any) -> str:
    kind = (
        "module"
        if inspect.ismodule(thing)
        else "class"
        if isinstance(thing, type)
        else type(thing).__name__
    )
    return f"the {kind} '{getattr(thing, '__name__', '?')}'"


def definition_of(function: Any) -> tuple[str, int] | None:
    """Return the file and the line of a function, or of the class of one; None for one of C."""
    with suppress(Exception):  # inspecting an arbitrary object may raise anything
        module = is_module(function)
        target = type(function).forward if module else inspect.unwrap(function)
        if not (inspect.isclass(target) or hasattr(target, "__code__")):
            target = type(target).__call__
        file, (_, line) = inspect.getsourcefile(target), inspect.getsourcelines(target)
        if file and not (module and is_installed(file)):
            return file, line or 1
    return None


def set_place(record: Record, definition: tuple[str, int] | None) -> None:
    """Set the place of a record to that of its function."""
    file, line = definition or ("", 1)
    if os.path.isfile(file):
        record.file = path_text(Path(file))
        record.line = line


def smallest_of(arguments: Mapping[str, Any]) -> list[str]:
    """Arguments as the command line takes them."""
    return [f"{name}={text_of(value)}" for name, value in arguments.items()]


def function_options(options: Options, said: Any) -> Options:
    """Return the options of a function: the given ones, replaced by what is said of it alone."""
    own: dict[str, Any] = {
        name.removeprefix("random_"): value
        for name in ("rtol", "atol", "timeout", "random_state")
        if (value := getattr(said, name)) is not None
    }
    return options.but(wrt=names_of(said.wrt), **own)


def arguments_of(
    given: Mapping[str, str], programs: Programs, state: int, dtype: str, folder: Path | None
) -> dict[str, Any]:
    """Return the arguments by their names; whole numbers stay whole."""
    if not given:
        raise UsageError(
            "--function needs its arguments",
            help="--at x='randn(5)' --at y=2, by the names of its parameters",
        )
    load = programs.loader(folder)
    calculator = programs.fresh(state)

    def value_of(name: str, text: str) -> Any:
        parts = _parts_of(name, text)
        if isinstance(parts, dict):
            return {key: value_of(f"{name}[{key!r}]", part) for key, part in parts.items()}
        if isinstance(parts, list):
            return [value_of(f"{name}[{i}]", part) for i, part in enumerate(parts)]
        return _as_argument(
            load(text[1:]) if text.startswith("@") else calculator.constant(text, f"<{name}>"),
            dtype,
        )

    return {name: value_of(name, text) for name, text in given.items()}


def _parts_of(name: str, text: str) -> dict[Any, str] | list[str] | None:
    """Return the texts in a dictionary, or in a list that has dictionaries.

    Any other text gives None. Values are texts of the language, or quoted texts of the language and
    names of files.
    """
    if "{" not in text or text.startswith("@"):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Dict) and all(isinstance(key, ast.Constant) for key in tree.keys):
            keys = [key.value for key in tree.keys if isinstance(key, ast.Constant)]
            return dict(
                zip(keys, [_text_of(text.strip(), value) for value in tree.values], strict=True)
            )
        if isinstance(tree, (ast.List, ast.Tuple)):
            return [_text_of(text.strip(), value) for value in tree.elts]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise UsageError(
        f"--at {name}: '{text}' is no dictionary", help='write {"w": [1, 2], "b": 0.5}'
    )


def _text_of(text: str, value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return ast.get_source_segment(text, value) or ""


def _as_argument(value: Any, dtype: str) -> Any:
    """Convert a value to an argument of a function.

    A number becomes Python's, and an array gets the precision that is asked for.
    """
    array = np.asarray(value)
    if array.dtype.kind == "f" and (array.ndim or dtype != "float64"):
        rounded = in_format(array, dtype)
        return rounded if array.ndim else rounded[()]
    return array.item() if not array.ndim else array


# -- What is asked about a function, in Python and on the command line: whose gradient, JVP or
# adjoint is held, and what it solves.


GRADIENT = "gradient"
_KINDS = {"gradient": GRADIENT, "jvp_of": JVP, "adjoint": ADJOINT}  # by the option that gives each
_EQUATIONS = {"implicit": RESIDUAL, "fixed_point": FIXED_POINT}
OPTIONS = (*_KINDS, *_EQUATIONS)


class Asked(NamedTuple):
    """One claim and, where the function solves an equation, that: functions, or what names them.

    claim  None where a framework's own is held
    """

    kind: str
    claim: Any
    solves: str | None = None
    equation: Any = None

    def title(self, by: str | None, order: int, name: Callable[[Any], str]) -> str:
        """Whose derivative it is, in words."""
        what = "Hessian" if order == 2 else "JVP" if self.kind == JVP else self.kind
        return f"{by}'s own {what}" if by is not None else f"the {what} {name(self.claim)}"


def questions_of(
    given: Mapping[str, Any],
    by: str | None,
    order: int,
    spelled: Callable[[str], str],
    forward: bool,
) -> Asked:
    """Return what some options ask, of those that are not None.

    Raises UsageError for what does not go together.

    spelled  an option as the user writes it
    forward  whether a framework's forward mode is held
    """
    if by is not None:
        one_of(spelled("by"), by, FRAMEWORKS)
    claims = [name for name in _KINDS if given[name] is not None]
    equations = [name for name in _EQUATIONS if given[name] is not None]
    if len(claims) + (by is not None) != 1:
        names = [spelled(name) for name in _KINDS]
        raise UsageError(
            "the gradient of a function is somebody's or a framework's: give one of "
            f"{', '.join(names)} and {spelled('by')}"
        )
    if forward and by not in FORWARD:
        raise UsageError(f"{spelled('forward')} goes with {spelled('by')} {' or '.join(FORWARD)}")
    kind = _KINDS[claims[0]] if claims else JVP if forward else GRADIENT
    exclusive = [
        *([] if kind == GRADIENT else claims or ["forward"]),
        *equations,
        *(["order"] if order == 2 else []),
    ]
    if len(exclusive) > 1:
        raise UsageError(f"{spelled(exclusive[0])} and {spelled(exclusive[1])} exclude each other")
    claim = given[claims[0]] if claims else None
    return Asked(
        kind, claim, *((_EQUATIONS[equations[0]], given[equations[0]]) if equations else ())
    )


class AskedFunction:
    """One Python function, the claim about its derivative, and the arguments at which it is held.

    Raises GradcliError for wrong words.

    said     the words: those of settings, or of a command line
    spelled  an option as the user writes it
    """

    def __init__(
        self, said: Any, at: Mapping[str, str], options: Options, programs: Programs, folder: Path | None,
        spelled: Callable[[str], str],
    ) -> None:  # fmt: skip
        what = questions_of(
            {name: getattr(said, name) for name in OPTIONS},
            said.by,
            said.order,
            spelled,
            said.forward,
        )
        self.dtype = one_of(spelled("dtype"), said.dtype or "float64", PRECISIONS)
        self.functions = said.function, what.claim, what.equation, said.parameters
        self.said = said
        self.at = at
        self.options = options
        self.programs = programs
        self.folder = folder
        arguments = self.draw(0)
        wrt = names_to_differentiate(list(arguments), options.wrt, options.freeze, said.by, spelled)
        seed = (
            None
            if said.seed is None
            else programs.fresh(options.state).constant(said.seed, f"<{spelled('seed')}>")
        )
        self.question = Question(
            arguments, wrt, options.rtol, options.atol, said.by, seed, options.state, said.order, what.kind, what.solves,
            options.wrt is None, tuple(options.freeze),
        )  # fmt: skip
        self.title = f"{said.function} with {what.title(said.by, said.order, str)}"
        self.given = given_of([*said.at, wrt])

    def draw(self, number: int) -> dict[str, Any]:
        """Return the arguments, drawn once more."""
        return arguments_of(
            self.at, self.programs, self.options.state + number, self.dtype, self.folder
        )

    def decide(
        self, record: Record, ask: Callable[[Question], tuple[Check, Any]]
    ) -> Arguments | None:
        """Fill in the verdict at one point, or the gravest of several.

        Returns the smallest arguments that fail, if several points were asked for.
        """
        points = self.said.points
        if points is None:
            record.check, record.value = ask(self.question)
            return None
        arguments, record.check, record.value = gravest(
            self.draw, lambda drawn: ask(replace(self.question, arguments=drawn)), points
        )
        record.points = points
        return arguments if record.check.verdict is Verdict.MISMATCH else None


# -- A function of the settings, decided about in this process: as a test.


@dataclass(frozen=True, eq=False)
class ListedCase:
    """A function and where the settings list it."""

    setting: FunctionSetting
    settings: Path
    options: Options
    line = 1  # of the settings

    @property
    def file(self) -> str:
        return path_text(self.settings)

    @property
    def seed(self) -> int:
        """Seed of what is drawn at random."""
        return function_options(self.options, self.setting).state

    def outcome(self, name: str) -> Outcome:
        """Return what becomes of it; an interrupt goes through."""
        setting = self.setting
        options = function_options(self.options, self.setting)
        folder = self.settings.parent
        record = Record(setting.function, id=setting.name, file=self.file, record_line=True)
        arguments: Arguments = {}
        try:
            at = {name: text for name, _, text in (given.partition("=") for given in setting.at)}
            case = AskedFunction(setting, at, options, Programs(), folder, str)
            record.expr = case.title
            record.given = case.given
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
            record.fail(error)
        outcome = outcome_of(record, name, options.fail_on)
        if arguments and outcome.bad:
            outcome.details.append(f"at {' '.join(smallest_of(arguments))}")
        return outcome

    def _load(self, path: str, folder: Path) -> Any:
        """Load a function.

        While its modules are imported, they may import others of the folder.
        """
        sys.path.insert(0, str(folder))
        try:
            return load_function(path, folder, interrupts=False)
        finally:
            sys.path.remove(str(folder))
