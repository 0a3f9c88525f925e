"""Options and their values, wherever they are given: on the command line, in settings and records,
in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError, UsageError, one_of
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.plans.backend import BACKENDS


class Number(NamedTuple):
    """Range of a number: from the least to the most, or above the least."""

    whole: bool = False
    least: float = 0
    most: float = math.inf
    above: bool = False

    def __str__(self) -> str:
        most = "" if math.isinf(self.most) else f" to {self.most:,}"
        return (
            f"a {'whole ' * self.whole}number {'above' if self.above else 'from'} "
            f"{self.least:g}{most}"
        )

    def holds(self, value: Any) -> bool:
        """Return whether a value is such a number."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, Integral if self.whole else Real
        ):
            return False
        try:
            return (
                math.isfinite(value)
                and self.least <= float(value) <= self.most
                and not (self.above and value == self.least)
            )
        except OverflowError:  # an integer beyond all floats
            return False


_COUNT, _SECONDS, _TOLERANCE = Number(True, 1), Number(above=True), Number()
CONVENTIONS = ("torch", "jax", "min-norm")
REPORTS = ("text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown", "html")

# The values of options by their names; those of one command, which go before, by COMMAND.NAME.
VALUES: dict[str, Number | tuple[str, ...] | type[bool]] = {
    "atol": _TOLERANCE, "rtol": _TOLERANCE, "timeout": _SECONDS, "budget": _SECONDS, "jobs": _COUNT, "threads": _COUNT, "line": _COUNT,
    "points": _COUNT, "plot.points": Number(True, 2, 1_000_000), "random_state": Number(True),
    "digits": Number(True, 1, 17), "precision": Number(True, 1, 100_000), "order": Number(True, 1, 10), "check.order": Number(True, 1, 2),
    "bound.width": _SECONDS, "plot.width": Number(True, 20, 10_000), "plot.height": Number(True, 8, 10_000),
    "backend": BACKENDS, "convention": CONVENTIONS, "dialect": DIALECTS, "dtype": ("float64", "float32"),
    "check.dtype": ("float64", "float32", "float16", "bfloat16"), "input_format": ("text", "jsonl"), "log": ("x", "y", "xy"),
    "color": ("auto", "always", "never"), "mode": ("grad", "jacobian", "hessian", "jvp", "hvp"),
    "eval.output_format": ("text", "json", "jsonl", "csv", "latex"), "diff.output_format": ("text", "json", "jsonl", "latex"),
    "explain.output_format": ("text", "json", "jsonl", "mermaid", "svg", "html", "latex"), "bound.output_format": ("text", "json", "jsonl"),
    "plot.output_format": ("text", "csv", "json", "jsonl"), "check.output_format": REPORTS,
    **dict.fromkeys(("functions.output_format", "info.output_format"), ("text", "json")),
    **dict.fromkeys(("check", "formula", "forward", "latex", "sparse", "steps"), bool),
}  # fmt: skip

# Options that have no effect beside others: each on the left excludes each on the right.
_EXCLUSIVE = {
    "modes": "jacobian hessian jvp hvp | jacobian hessian jvp hvp seed precision backend threads",
    "evaluate": "jvp hvp | latex; formula=False | latex",
    "all": """
        check=False | timeout; output_format=json,jsonl | digits
        output_format=csv,json,jsonl,latex,mermaid,svg,html,junit,github,gitlab,sarif,markdown | color=always""",
    "eval": """
        jvp | formula wrt freeze; output_format=csv | formula; output_format=csv,latex | precision
        on | jacobian hessian jvp hvp cov formula precision freeze timeout backend""",
    "explain": """
        output_format=mermaid,svg | steps why; output_format=latex latex | why; output_format=text,mermaid,svg | latex
        out | color=always""",
    "plot": "output_format=csv,json,jsonl | width height",
    "check": """
        verbose | quiet; line | update baseline; update | fail_fast budget changed_since
        functions | function gradient by at wrt freeze seed line
        function gradient by | input_format grad grad_formula convention save backend threads line""",
}


def option_value(name: str, value: Any, written: str, kind: type[GradcliError] = UsageError) -> Any:
    """Return the value of an option, ``written`` by its user in this way.

    Raises an error of the kind for what it cannot be.

    name  NAME, or COMMAND.NAME
    """
    values = VALUES.get(name) or VALUES.get(name.partition(".")[2])
    if isinstance(values, Number):
        if values.holds(value):
            return int(value) if values.whole else float(value)
        raise kind(f"{written} must be {values}, not {value!r}", help=_as_number(value, values))
    if values is not bool:
        return value if values is None else one_of(written, value, values, kind)
    if not (isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1))):
        raise kind(f"{written} must be True or False, not {value!r}")
    return bool(value)


def typed_value(name: str, text: Any, written: str) -> Any:
    """Return the value of an option from its text on the command line. Raises UsageError."""
    values = VALUES.get(name) or VALUES.get(name.partition(".")[2])
    if isinstance(values, Number) and isinstance(text, str):
        with suppress(ValueError):
            return option_value(name, int(text) if values.whole else float(text), written)
    return option_value(name, text, written)


def _as_number(value: Any, values: Number) -> str | None:
    """Return the number that a text holds, to be written in its place."""
    try:
        number = int(value) if values.whole else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return (
        f"write the number {number:g}" if isinstance(value, str) and values.holds(number) else None
    )


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
