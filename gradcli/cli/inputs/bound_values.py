"""The values of the command line's bindings, with which every program of a run begins."""

from __future__ import annotations

from typing import Any

from gradcli.cli.inputs.positionals import Inputs
from gradcli.errors import GradcliError, UsageError
from gradcli.limits import Limits
from gradcli.query.programs import Programs


def programs_of(inputs: Inputs, limits: Limits, precision: str, state: int) -> Programs:
    """The programs of a run: their bindings are constant expressions or data files, for which the limits make room. Raises GradcliError."""
    values: dict[str, Any] = {}
    calculator = Programs(limits, precision).fresh(state) if inputs.bindings else None
    for name, text in inputs.bindings.items():
        if text.startswith("@"):
            from gradcli.files.arrays import load_array

            values[name] = array = load_array(text[1:], limits)
            limits = limits.with_room_for(array.size)
            continue
        if not text.strip():
            raise UsageError(f"'{name}=' has no value", help=f"write {name}=2, {name}=2,3 or {name}=@data.npy")
        assert calculator is not None
        try:
            values[name] = calculator.constant(text, f"<{name}>")
        except GradcliError as error:
            if error.code in ("missing-value", "ambiguous"):
                raise _mentioning(error, name, text, inputs) from None
            raise
    return Programs(limits, precision, values)


def _mentioning(error: GradcliError, name: str, text: str, inputs: Inputs) -> GradcliError:
    """What is wrong with a value that mentions a name: perhaps it was meant as an expression."""
    if inputs.expression is None:
        return UsageError(
            f"'{name}={text}' was read as a binding whose value mentions another name: {error.message}",
            help=f"to evaluate the right side, write '{text}'; to bind in a program, put spaces: '{name} = {text}'",
        )
    error.note = f"'{name}={text}' was read as a binding; its value must be a constant expression"
    return error
