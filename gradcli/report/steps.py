"""Derivations as plain data, and their lines, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from gradcli.inert import display_width, latex_text, pad, printable, xml_text
from gradcli.notation import mathml
from gradcli.report.data import Data
from gradcli.report.lines import Line, Part, latex_document

_NARROW = 16  # columns of the rules, at least
_PIECE = re.compile(r"(?:\*\*|d/d|[^\s*/(])*(?:[*/(]|\s+|$)")  # what is not broken: no name, no number


@dataclass(slots=True, eq=False, repr=False)
class Step(Data):
    """One line of a derivation: the rule by its usual name, and the whole derivative with
    ``d/dx(...)`` for what is still to do.

    left   of another equation: its left side
    latex  the formula in LaTeX; of another equation with its left side
    """

    JSON = "rule left? formula latex?"

    rule: str
    formula: str
    left: str | None = None
    latex: str | None = None

    @property
    def equation(self) -> str:
        """The line as an equation, whose left side is empty where it is the derivative."""
        return printable(f"{self.left or ''} = {self.formula}".lstrip())


Steps = dict[str, list[Step]]  # by the names that something is differentiated by, with commas


def step_lines(steps: list[Step], width: int) -> Iterator[Line]:
    """Each rule with its equation beside it, both broken where they are wider than their column."""
    rules = [printable(step.rule) for step in steps]
    column = min(max(map(display_width, rules)), max(width * 2 // 5, _NARROW))
    for rule, step in zip(rules, steps, strict=True):
        rows = zip_longest(
            _broken(rule, column), _broken(step.equation, width - column - 4), fillvalue=""
        )
        for place, (left, right) in enumerate(rows):
            yield Line(
                None,
                [Part("  " + pad(left, column)), Part("    " if place else "  "), Part(right, "formula")],
            )


def _broken(text: str, width: int) -> list[str]:
    """A text in lines, broken between names, numbers and signs only."""
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and display_width(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def steps_in_latex(steps: list[Step], title: str) -> str:
    """The lines of one derivation as a part of a document; empty without LaTeX."""
    rows = [
        f"  {row} && \\text{{{latex_text(step.rule)}}}"
        for step, row in zip(steps, aligned(steps), strict=True)
    ]
    return latex_document(title, rows) if rows else ""


def aligned(steps: list[Step]) -> list[str]:
    """The equations in LaTeX, with a mark before the sign of each."""
    return [
        step.latex.replace(" = ", " &= ", 1) if step.left is not None else f"&= {step.latex}"
        for step in steps
        if step.latex is not None
    ]


def steps_in_html(steps: list[Step]) -> str:
    """The lines as a list, typeset where there is LaTeX."""
    rows = "".join(
        f"<li><span>{xml_text(step.rule)}</span>"
        f"{_typeset(step)}</li>"
        for step in steps
    )
    return f'<ol class="derived">{rows}</ol>'


def _typeset(step: Step) -> str:
    if step.latex is None:
        return f"<code>{xml_text(step.equation)}</code>"
    return mathml(step.latex if step.left is not None else f"= {step.latex}")
