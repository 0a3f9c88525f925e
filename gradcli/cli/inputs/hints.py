"""What to type instead: commands that a mistake leads to, each valid as it stands."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from gradcli.errors import GradcliError
from gradcli.inert import shell_command

if TYPE_CHECKING:
    from gradcli.cli.inputs.positionals import Inputs
    from gradcli.report.records import Failure

_LONGEST = 200  # characters of an expression that is repeated


def one_word(text: str) -> str:
    """A text as one word of a line of a session."""
    return shlex.quote(text)


def helped(failure: Failure, command: str, inputs: Inputs) -> None:
    """Lead from the error of an expression to the file that has its name, or to formulas, if values are all that it lacks."""
    if inputs.expression is None or inputs.files or len(inputs.expression) > _LONGEST:
        return
    text = inputs.expression.strip()
    if os.path.isfile(text):
        help = f"to read the file: {_command(command, '-f', text, *_bindings(inputs))}"
    elif failure.message.startswith("no value for") and not inputs.bindings and has_formulas(text):
        first = f"{failure.help}; " if failure.help else ""
        help = f"{first}formulas need no values: {_command('diff', text)}"
    else:
        return
    failure.help = failure.error.help = help


def instead_of_nothing(inputs: Inputs) -> str | None:
    """What to type for a program that defines something and asks for nothing."""
    text = (inputs.expression or "").strip()
    if inputs.files or not text or len(text) > _LONGEST:
        return None
    return f"its derivatives: {_command('diff', text, *_bindings(inputs))}" if has_formulas(text) else None


def command_of(words: list[str]) -> str | None:
    """The command that somebody means who gives none: what reads the file, or calculates with the expression, of these words."""
    text, rest = words[0].strip(), words[1:]
    if os.path.isfile(text):
        return _command("eval", "-f", *words)
    if len(text) > _LONGEST or any(word.startswith("--") for word in rest):
        return None
    binds = any("=" in word for word in rest)
    if text.isidentifier() and rest and not all(map(_is_name, rest)):  # deriv 'x^3': a command that is none
        name = "eval" if binds else "diff"
        meant = command_of(rest)
        return None if meant is None else f"did you mean {_command(name, *rest)}?"
    if has_formulas(text) and not binds:
        return _command("diff", *words)
    return _command("eval", *words) if has_value(text, rest) else None


def _is_name(word: str) -> bool:
    return word.isidentifier()


def has_formulas(text: str) -> bool:
    """Whether a text has derivatives as formulas."""
    from gradcli.query.interface import differentiate

    try:
        return bool(differentiate(text, check=False).formulas)
    except GradcliError:
        return False


def has_value(text: str, bindings: list[str]) -> bool:
    """Whether a text has a value with bindings NAME=VALUE in front of it."""
    from gradcli.query.interface import evaluate

    try:
        evaluate("\n".join([*bindings, text]), check=False, formula=False, wrt=())
    except GradcliError:
        return False
    return True


def _bindings(inputs: Inputs) -> list[str]:
    return [f"{name}={value}" for name, value in inputs.bindings.items()]


def _command(*words: str) -> str:
    return shell_command("gradcli", *words)
