"""Derivations as plain data, and their lines, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradcli.inert import display_width, latex_text, pad, printable, xml_text
from gradcli.notation import mathml
from gradcli.report.data import Data
from gradcli.report.lines import EMPTY, Line, Part, latex_document


@dataclass(slots=True, eq=False, repr=False)
class Step(Data):
    """Line of a derivation.

    It has the rule by its usual name, and the whole derivative with ``d/dx(...)`` for what is still
    to do.

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

    @property
    def typeset(self) -> str:
        """The same in LaTeX."""
        return f"{'= ' if self.left is None else ''}{self.latex}"


Steps = dict[str, list[Step]]  # by the names differentiated by, joined by commas


def step_lines(heading: str, steps: list[Step]) -> Iterator[Line]:
    """Each rule with its equation beside it."""
    yield from (EMPTY, Line(None, [Part(printable(heading), "name")]))
    column = max(display_width(step.rule) for step in steps)
    for step in steps:
        rule = pad(printable(step.rule), column)
        yield Line(None, [Part(f"  {rule}  "), Part(step.equation, "formula")])


def steps_in_latex(steps: Steps, expr: str) -> str:
    """Return the lines as parts of a document; empty without LaTeX."""
    return "".join(
        latex_document(f"{expr}, by {names}", rows)
        for names, found in steps.items()
        if (rows := [f"  {row} && \\text{{{latex_text(rule)}}}" for row, rule in aligned(found)])
    )


def aligned(steps: list[Step]) -> list[tuple[str, str]]:
    """Return the equations in LaTeX, with a mark before each equals sign, and their rules."""
    return [
        (step.typeset.replace("= ", "&= ", 1), step.rule)
        for step in steps
        if step.latex is not None
    ]


def steps_in_html(steps: list[Step]) -> str:
    """Return the lines as a list, typeset where there is LaTeX."""
    rows = (
        f"<li><span>{xml_text(step.rule)}</span>"
        f"{mathml(step.typeset) if step.latex else f'<code>{xml_text(step.equation)}</code>'}</li>"
        for step in steps
    )
    return f'<ol class="derived">{"".join(rows)}</ol>'
