"""Options and their values on the command line, in settings, in records and in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, UsageError, one_of
from gradcli.limits import Number
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.plans.backend import BACKENDS
from gradcli.texts import words

_COUNT, _SECONDS, _TOLERANCE = Number(True, 1), Number(above=True), Number()
CONVENTIONS = ("torch", "jax", "min-norm")

# The values of options that can be given in several ways, by name. COMMAND.NAME is for one command,
# and takes precedence. All other options belong to the command line, which declares their values.
Values = Number | Sequence[str] | type[bool]
VALUES: dict[str, Values] = {
    "atol": _TOLERANCE, "rtol": _TOLERANCE, "timeout": _SECONDS, "budget": _SECONDS, "jobs": _COUNT, "threads": _COUNT,
    "points": _COUNT, "random_state": Number(True), "digits": Number(True, 1, 17), "precision": Number(True, 1, 100_000),
    "order": Number(True, 1, 10), "check.order": Number(True, 1, 2),
    "backend": BACKENDS, "convention": CONVENTIONS, "dialect": DIALECTS, "dtype": ("float64", "float32"),
    "check.dtype": ("float64", "float32", "float16", "bfloat16"), "mode": [*words("grad jacobian hessian jvp hvp")],
    "bound.width": Number(above=True), "plot.points": Number(True, 2, 1_000_000),
    **dict.fromkeys(words("check formula forward latex lipschitz sparse steps"), bool),
}  # fmt: skip

# Options that have no effect together: each on the left excludes each on the right.
_EXCLUSIVE = {
    "modes": "jacobian hessian jvp hvp | jacobian hessian jvp hvp seed precision backend threads",
    "evaluate": "jvp hvp | latex; formula=False | latex",
    "all": """
        check=False | timeout; output_format=json,jsonl,value,grad | digits
        output_format=csv,json,jsonl,latex,value,grad,mermaid,svg,html,junit,github,gitlab,sarif,markdown | color=always""",
    "eval": """
        jvp | formula wrt freeze; output_format=csv,value,grad | formula; output_format=csv,latex,value,grad | precision
        output_format=grad | jacobian hessian jvp hvp
        implicit | jacobian hessian jvp hvp cov seed freeze precision save on backend threads
        on | jacobian hessian jvp hvp cov formula precision freeze timeout backend""",
    "explain": """
        output_format=mermaid,svg | steps why; output_format=latex latex | why; output_format=text,mermaid,svg | latex
        out | color=always""",
    "plot": "output_format=csv,json,jsonl | width height",
    "check": """
        verbose | quiet; line | update baseline; update | fail_fast budget changed_since
        functions | function gradient by at wrt freeze seed line
        function gradient by | input_format grad grad_formula convention backend threads line""",
}


def values_of(name: str) -> Values | None:
    """Return what an option may be, by NAME or COMMAND.NAME; None for anything."""
    return VALUES.get(name) or VALUES.get(name.partition(".")[2])


def option_value(name: str, value: Any, written: str, kind: type[GradcliError] = UsageError) -> Any:
    """Return the value of an option, ``written`` by its user in this way.

    Raises an error of the kind for what it cannot be.
    """
    return _held(values_of(name), value, written, kind)


def typed_value(values: Values | None, text: Any, written: str) -> Any:
    """Return the value of an option from its text on the command line. Raises UsageError."""
    if isinstance(values, Number) and isinstance(text, str):
        with suppress(ValueError):
            text = int(text) if values.whole else float(text)
    return _held(values, text, written, UsageError)


def _held(values: Values | None, value: Any, written: str, kind: type[GradcliError]) -> Any:
    if isinstance(values, Number):
        if values.holds(value):
            return int(value) if values.whole else float(value)
        raise kind(f"{written} must be {values}, not {value!r}")
    if not isinstance(values, type):
        return value if values is None else one_of(written, value, values, kind)
    if not (isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1))):
        raise kind(f"{written} must be True or False, not {value!r}")
    return bool(value)


def refuse_together(groups: str, typed: Callable[[str], str]) -> None:
    """Raise UsageError for two options that exclude each other.

    groups  names of groups of options
    typed   returns how an option was written, or nothing for one that was not given (or not with
            one of these values, after "=")
    """
    for group in groups.split():
        for line in _EXCLUSIVE.get(group, "").replace(";", "\n").strip().split("\n"):
            ones, _, others = line.partition("|")
            for first, one in ((word, typed(word)) for word in ones.split()):
                other = next(
                    (
                        other
                        for word in others.split()
                        if one and word != first and (other := typed(word))
                    ),
                    None,
                )
                if other is not None:
                    raise UsageError(
                        f"{one} and {other} exclude each other", help="leave one of them out"
                    )
