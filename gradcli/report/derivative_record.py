"""Derivatives as formulas, and their derivations: what came of one query of ``gradcli diff``.

They are plain data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from gradcli.data import Data, data, data_in_slots
from gradcli.inert import latex_text, xml_text
from gradcli.notation import Formula, Path, fraction, mathml, operator
from gradcli.notation import name as spelled
from gradcli.report.records import (
    EMPTY,
    Answer,
    Line,
    Part,
    Table,
    labelled_line,
    latex_document,
    notes,
)
from gradcli.texts import ByName, display_width, normalize, pad, printable

_TOO_LONG = "(too long to be shown)"
_LONGER = "\\text{a longer formula}"

# -- Derivations, and their lines, LaTeX and HTML


@data_in_slots
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


# -- Derivatives, with their derivations


@data
class DerivativeRecord(Answer):
    """Derivatives of one expression, of one order, by every name or by the names asked for.

    The order of names does not matter. Each formula stands once, under its names in their order.
    """

    RESULT = "formulas picture steps check"
    SHOWN = "expr derivative check warnings error"
    JSON = (
        "schema id meta? source expr read_as dialect? order derivative=derivative_or_none "
        "latex? steps? check=check_at_points warnings error"
    )

    names: Path = ()
    absent: Path = ()  # names that do not occur in the expression
    known: Path = ()  # the names in the expression, and all others that are known
    order: int = 1
    formulas: dict[Path, Formula] = field(default_factory=dict)  # lower orders included
    picture: str | None = None  # the expression itself in LaTeX
    steps: Steps = field(default_factory=dict)
    # The name that an equation defines and whose derivatives these are; "" for a rate.
    dependent: str | None = None
    depending: tuple[str, ...] = ()

    def equations(self, digits: int | None = None) -> list[str]:
        """Return the formulas of the order that was asked for."""
        picture, of = self.picture or "f", spelled(self.dependent) if self.dependent else ""
        operand = "" if of else f" \\left({picture}\\right)" if self.picture else " f"
        rows = [
            f"{fraction(path, self.partial, of)}{operand} &= {formula.latex or _LONGER}"
            for path, formula in self.formulas.items()
            if len(path) == self.order
        ]
        return rows or [f"{picture} &= \\text{{a constant}}"]

    def to_latex(self, digits: int | None = None) -> str:
        """Return the steps, or else the formulas, as a part of a document in LaTeX."""
        return steps_in_latex(self.steps, self.expr) or super().to_latex(digits)

    @property
    def partial(self) -> bool:
        """Return whether the derivatives are partial ones: the expression has several names."""
        is_curve = self.dependent is not None and not self.depending
        return not is_curve and len({*self.names, *self.known} - {self.dependent}) > 1

    @property
    def derivative(self) -> dict[str, Any]:
        """Formulas by their names.

        ``{"x": "2*x"}``; of second order ``{"x": {"x": "2"}}``, and so on. It is empty if there is
        an error.
        """
        return {} if self.error is not None else self._nest(lambda formula: formula.text)

    @property
    def derivative_or_none(self) -> dict[str, Any] | None:
        """The formulas; None with an error."""
        return None if self.error is not None else self.derivative

    @property
    def latex(self) -> dict[str, Any]:
        """The same in LaTeX; empty where that was not asked for."""
        wanted = self.error is None and any(each.latex for each in self.formulas.values())
        return self._nest(lambda formula: formula.latex) if wanted else {}

    @property
    def verdict(self) -> str | None:
        """The verdict on the formulas in a word; None where they were not checked."""
        return None if self.check is None else self.check.worst.word

    def formula(self, *names: str) -> str | None:
        """Return the derivative by names, in any order.

        Raises KeyError for names other than those of the record.
        """
        return self.formulas[self._sort_names(tuple(map(normalize, names)))].text

    def _sort_names(self, names: Path) -> Path:
        return tuple(sorted(names, key=self.names.index)) if set(names) <= {*self.names} else names

    def _nest(self, what: Any, names: Path = ()) -> Any:
        """Formulas below every sequence of names."""
        if len(names) == self.order:
            return what(self.formulas[self._sort_names(names)])
        return ByName({name: self._nest(what, (*names, name)) for name in self.names})

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of the formulas, and of the verdict on them."""
        lines: list[Line | Table] = [*self._head()]
        for path, formula in self.formulas.items():
            name, steps = operator(path, self.partial, self.dependent or ""), ",".join(path)
            if steps in self.steps:
                lines += step_lines(name, self.steps[steps])
            elif len(path) == self.order:
                text = formula.text or _TOO_LONG
                lines.append(labelled_line(printable(name), text, "formula"))
        lines += [EMPTY] if self.steps and (self.check or self.warnings) else []
        return [*lines, *self._check_lines(), *notes(self.warnings)]
