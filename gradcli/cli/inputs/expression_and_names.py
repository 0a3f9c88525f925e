"""The positional arguments of ``gradcli diff``: an expression, the names to differentiate by, and bindings."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from gradcli.cli.inputs.positionals import BINDING, Inputs, argument_text, bind, refuse_idle_format
from gradcli.cli.request import DiffRequest
from gradcli.cli.write.streams import say
from gradcli.errors import UsageError
from gradcli.inert import shell_word
from gradcli.query.bindings import words
from gradcli.query.options import names_of

_NAMES = re.compile(r"\s*[^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*\s*\Z")
_EXAMPLE = "gradcli diff 'x^3*sin(x)'"


@dataclass(frozen=True, eq=False, repr=False)
class DiffInputs:
    """What there is to read, and the names to differentiate by; None for all."""

    inputs: Inputs
    names: tuple[str, ...] | None


def diff_inputs(request: DiffRequest) -> DiffInputs:
    """What ``gradcli diff`` reads: standard input, if nothing else is named. Raises UsageError.

    The first argument is the expression and those after it are names; beside files, names alone are names.
    """
    expression: str | None = None
    names: list[str] = [] if request.wrt is None else [*_listed(request.wrt)]
    bindings: dict[str, str] = {}
    files = list(request.files)
    for argument in request.arguments:
        text = argument_text(argument)
        if text == "-":
            files.append("-")
        elif (binding := BINDING.match(text)) is not None:
            bind(bindings, *binding.groups())
        elif _NAMES.match(text) and (expression is not None or files):
            names += _listed(text)
        elif expression is None:
            expression = text
        else:
            _refuse_second(expression, text)
    if expression is None and not files:
        _refuse_lost_expression(bindings)
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("nothing to differentiate", help=_EXAMPLE)
        if sys.stdin.isatty():
            say("reading expressions from the terminal; end with Ctrl-D")
        files.append("-")
    inputs = Inputs(expression, bindings, files, request.input_format)
    refuse_idle_format(inputs)
    return DiffInputs(inputs, tuple(dict.fromkeys(names)) if names else None)


def _listed(text: str) -> tuple[str, ...]:
    names = names_of(text) or ()
    if not names or not all(_NAMES.match(name) for name in names):
        raise UsageError(f"'{text.strip()}' is no name to differentiate by", help=_EXAMPLE + " x")
    return names


def _refuse_second(expression: str, text: str) -> None:
    """Raise UsageError for what is neither the expression nor a name."""
    raise UsageError(
        f"two expressions: '{expression.strip()}' and '{text.strip()}'",
        help="quote the expression as a whole; after it come the names to differentiate by",
    )


def _refuse_lost_expression(bindings: dict[str, str]) -> None:
    """Raise UsageError for a formula that was read as a binding."""
    for name, value in bindings.items():
        if words(value) and not value.startswith("@"):
            help = f"gradcli diff {shell_word(value.strip())}"
            raise UsageError(f"'{name}={value}' was read as a binding, and there is no expression", help=help)
