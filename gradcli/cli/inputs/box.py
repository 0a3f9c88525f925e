"""The positional arguments of ``gradcli bound``: an expression, the ranges of its names, and bindings."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.characters import normalized
from gradcli.cli.inputs.positionals import BINDING, Inputs, argument_text, bind, programs_of
from gradcli.cli.request import BoundRequest
from gradcli.cli.write.streams import say
from gradcli.errors import GradcliError, UsageError
from gradcli.limits import Limits
from gradcli.query.programs import Programs

EXAMPLE = "gradcli bound 'x*(1-x)' x=0..1"
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class BoundInputs:
    """What there is to read, the box, and the programs that are run, whose names of the box have a value inside of it."""

    inputs: Inputs
    box: dict[str, Ends]
    programs: Programs


def bound_inputs(request: BoundRequest, limits: Limits) -> BoundInputs:
    """What ``gradcli bound`` reads: standard input, if nothing else is named. Raises UsageError."""
    expression: str | None = None
    bindings: dict[str, str] = {}
    ranges: dict[str, str] = {}
    files = list(request.files)
    for argument in request.arguments:
        text = argument_text(argument)
        if text == "-":
            files.append("-")
        elif (binding := BINDING.match(text)) is not None:
            name, value = binding.groups()
            if name in bindings or name in ranges:
                raise UsageError(f"the name '{name}' is bound twice")
            bind(ranges if ".." in value else bindings, name, value)
        elif expression is None:
            expression = text
        else:
            raise UsageError(
                f"two expressions: '{expression.strip()}' and '{text.strip()}'",
                help="quote the expression as a whole; write a range without spaces around '='",
            )
    if not ranges:
        raise UsageError("no name has a range", help=EXAMPLE)
    if expression is None and not files:
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("nothing to bound", help=EXAMPLE)
        if sys.stdin.isatty():
            say("reading expressions from the terminal; end with Ctrl-D")
        files.append("-")
    inputs = Inputs(expression, bindings, files)
    programs = programs_of(inputs, limits, request.dtype, 0, request.dialect)
    box = {name: ends_of(name, text, programs) for name, text in ranges.items()}
    programs.values.update({name: np.float64(low + (high - low) / 2) for name, (low, high) in box.items()})
    return BoundInputs(inputs, box, programs)


def box_of(texts: Sequence[str], limits: Limits) -> dict[str, Ends]:
    """The box of ``--over NAME=BEGIN..END``. Raises UsageError."""
    box: dict[str, Ends] = {}
    for text in texts:
        found = BINDING.match(normalized(text))
        if found is None or ".." not in found["value"]:
            raise UsageError(f"--over takes NAME=BEGIN..END, not '{text}'", help="write --over x=0..1")
        if found["name"] in box:
            raise UsageError(f"--over {found['name']}=... is given twice")
        box[found["name"]] = ends_of(found["name"], found["value"], Programs(limits))
    return box


def ends_of(name: str, text: str, programs: Programs) -> Ends:
    """The ends of a range, each a constant expression. Raises UsageError."""
    begin, _, end = text.partition("..")
    if not begin.strip() or not end.strip() or ".." in end:
        raise UsageError(f"'{name}={text}' is no range", help=f"write {name}=0..1")
    calculator = programs.fresh()
    low, high = (_number(name, part, calculator) for part in (begin, end))
    if not low <= high:
        raise UsageError(f"the range '{name}={text}' ends before it begins", help=f"write {name}={end.strip()}..{begin.strip()}")
    return low, high


def _number(name: str, text: str, calculator: Any) -> float:
    try:
        found = calculator.constant(text, f"<{name}>")
    except GradcliError as error:
        error.note = error.note or f"it is an end of the range of {name}"
        raise
    if np.ndim(found) or not math.isfinite(float(found)):
        raise UsageError(f"an end of the range of '{name}' is no finite number: {text.strip()}")
    return float(found)
